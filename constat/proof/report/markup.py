"""Pieces of HTML: the one place where data becomes markup.

In: texts of data.  Out: HTML.  Invariant: what ``text`` and ``code`` give holds no character that
HTML takes for its own, and none that hides or turns what stands around it.

Example: ``text("<b>") == "&lt;b&gt;"``.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from constat.proof.export.document import isolated, origin_of, shortened, shortened_lines
from constat.proof.levels import CLOSING, DECLARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.proof.export.account import Account
    from constat.proof.export.document import Document, Members
    from constat.proof.export.steps import Step


def text(data: str, most: int = 4_000) -> str:
    """Return data as text of a page."""
    return escape(isolated(shortened(data, most)))


def code(data: str, most: int = 4_000) -> str:
    """Return data as code."""
    return f"<code>{text(data, most)}</code>"


def block(data: str, most: int = 4_000) -> str:
    """Return data of several lines as a block of code that can be scrolled with the keyboard."""
    return f'<pre tabindex="0">{escape(isolated(shortened_lines(data, most)))}</pre>'


def terms(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of terms with their HTML; empty ones are left out."""
    rows = "".join(f"<dt>{name}<dd>{said}" for name, said in pairs if said)
    return f"<dl>{rows}</dl>" if rows else ""


def listed(items: Sequence[str], most: int) -> str:
    """Return the first items of a list, and how many more there are."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")


def source_name(source: Members) -> str:
    """Return the name of a source, or of its tier where it has none."""
    return text(source["name"] or source["tier"], 120)


def source_kind(source: Members) -> str:
    """Return the origin of a source in words."""
    return text(origin_of(source))


def moment(time: str | None) -> str:
    """Return a time in whole seconds, as certificates have it but for the ``T``."""
    if not time:
        return ""
    return text(f"{time[:10]} {time[11:19]} UTC" if time.endswith("Z") else time)


def said_of_approval(document: Document, place: int) -> str:
    """Say who approved a rule, and when, or that nobody did; empty for what is no rule."""
    digest = document.rule_digests[place]
    given = [one for one in document.header["approvals"] if one["rule"] == digest]
    if not given:
        return "nobody approved this rule" if document.rules[place]["body"] else ""
    return "; ".join(
        f"approved by {text(one['by'])} on {moment(one['at'])}, "
        + ("not signed" if one["key"] is None else f"signed with {code(one['key'])}")
        for one in given
    )


def checked_by(account: Account, step: Step) -> str:
    """Return the attribute that names the node whose check covers a step.

    Where a page verifies itself it marks each step; one that cannot makes no marks.
    """
    node = owner(account, step)
    return "" if node is None else f" data-n={node}"


def kinds(account: Account, place: int) -> str:
    """Return the classes of a step, quoted where there are several."""
    kind = account.steps[place].kind
    return f'"{kind} assumed"' if account.taken[place] else kind


def owner(account: Account, step: Step) -> int | None:
    """Return the node whose check covers a step: its own, or the one it stands in the body of."""
    node = account.place(step)
    if node is not None:
        return node
    number = step.name.removeprefix("absence").removeprefix("aggregate").partition("_")[0]
    return int(number) if number.isdecimal() else None


def level_of(account: Account, place: int) -> str:
    """Return the level of completeness of a step: what is declared there is no better than that."""
    step = account.steps[place]
    kinds_taken = {account.document.assumptions[one]["kind"] for one in account.taken[place]}
    return DECLARED if step.level and not CLOSING.isdisjoint(kinds_taken) else step.level


def assumption_link(account: Account, place: int) -> str:
    """Return a link to an assumption, with its text."""
    said = text(account.document.assumptions[place]["text"])
    return f"<a href=#as{place}>{said}</a>"


def step_link(account: Account, place: int) -> str:
    """Return a link to a step in the explanation."""
    number = account.numbers[place]
    return f"<a href=#s{number}>{number}</a>"
