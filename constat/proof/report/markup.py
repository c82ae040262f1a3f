"""Pieces of HTML: the one place where data becomes markup.

In: texts of data.  Out: HTML.  Invariant: what ``text`` and ``code`` give holds no character that
HTML takes for its own, and none that hides or turns what stands around it.

Example: ``text("<b>") == "&lt;b&gt;"``.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from constat.proof.export.document import (
    isolated,
    origin_of,
    rule_title,
    said_of,
    shortened,
    shortened_lines,
    tier_of,
)
from constat.proof.levels import CLOSING, DECLARED
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.proof.export.account import Account
    from constat.proof.export.document import Document, Members
    from constat.proof.export.steps import Step
    from constat.proof.sentences import Speech


def text(data: str, most: int = 4_000) -> str:
    """Return data as text of a page."""
    return escape(isolated(shortened(data, most)))


def prose(data: str) -> str:
    """Return data as text of a page, with code where it has backticks."""
    parts = enumerate(shortened(data).split("`"))
    return "".join(code(one) if place % 2 else text(one) for place, one in parts)


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


def listed(items: Sequence[str], most: int, speech: Speech = PLAIN) -> str:
    """Return the first items of a list, and how many more there are."""
    more = len(items) - most
    rest = speech.say(" and {0} more", " und {0} weitere", speech.number(more)) if more > 0 else ""
    return ", ".join(items[:most]) + rest


def source_name(source: Members, speech: Speech = PLAIN) -> str:
    """Return the name of a source, or of its tier where it has none."""
    return text(source["name"] or tier_of(source, speech), 120)


def source_kind(source: Members, speech: Speech = PLAIN) -> str:
    """Return the origin of a source in words."""
    return text(origin_of(source, speech))


def source_said(source: Members, speech: Speech = PLAIN, *, whose: bool = True) -> str:
    """Return the name and origin of a source, and who stands behind its rows."""
    said = f", {text(said_of(source, speech), 300)}" if whose and source["author"] else ""
    return f"{source_name(source, speech)} ({source_kind(source, speech)}){said}"


def moment(time: str | None, speech: Speech = PLAIN) -> str:
    """Return a time in whole seconds, as certificates have it but for the ``T``."""
    return text(speech.moment(time)) if time else ""


def rule_name(rule_id: str, speech: Speech = PLAIN) -> str:
    """Return a rule's name as text of a page."""
    return text(rule_title(rule_id, speech))


def said_of_approval(document: Document, place: int) -> str:
    """Say who approved a rule, and when, or that nobody did; empty for what is no rule."""
    digest = document.rule_digests[place]
    given = [one for one in document.header["approvals"] if one["rule"] == digest]
    speech = document.speech
    if not given:
        nobody = speech.say("nobody approved this rule", "niemand hat diese Regel gebilligt")
        return nobody if document.rules[place]["body"] else ""
    return "; ".join(
        speech.say(
            "approved by {0} on {1}, {2}",
            "gebilligt von {0} am {1}, {2}",
            text(one["by"]),
            moment(one["at"], speech),
            signed_with(one["key"], speech),
        )
        for one in given
    )


def signed_with(key: str | None, speech: Speech) -> str:
    """Say with which key an approval is signed."""
    if key is None:
        return speech.say("not signed", "nicht unterschrieben")
    return speech.say("signed with {0}", "unterschrieben mit {0}", code(key))


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
    said = text(account.document.assumption(place))
    return f"<a href=#as{place}>{said}</a>"


def step_link(account: Account, place: int) -> str:
    """Return a link to a step in the explanation."""
    number = account.numbers[place]
    return f"<a href=#s{number}>{number}</a>"


# The second checker as one script: it sits in a report, so that the report checks itself.

CHECKER_FILES: Final = (
    "rejection.js",  # how a check ends early
    "sha256.js",
    "text.js",  # order, bytes and spelling of texts
    "reading.js",  # canonical JSON: rejection, sha256, text
    "decimals.js",  # whole numbers and decimals
    "floats.js",  # decimals
    "powers.js",  # floats
    "dates.js",  # decimals
    "structures.js",  # text, decimals, floats
    "values.js",  # decimals, floats, dates, structures
    "pattern.js",  # decimals (ERROR)
    "functions.js",  # all values, pattern
    "schema.js",  # rejection, values
    "cells.js",  # schema, structures
    "redaction.js",  # cells, sha256
    "program.js",  # schema, functions
    "safety.js",  # program
    "strata.js",  # program, safety
    "attestations.js",  # schema, sha256
    "commitments.js",  # schema, sha256
    "evidence.js",  # attestations, commitments, program
    "relations.js",  # rows and how they are found
    "world.js",  # evidence, relations
    "terms.js",  # functions, relations (budget)
    "joins.js",  # terms
    "groups.js",  # joins, world
    "folds.js",  # values
    "summaries.js",  # folds, groups
    "totals.js",  # summaries
    "nodes.js",  # totals
    "levels.js",  # world
    "closure.js",  # totals, levels
    "verdict.js",  # world
    "undecided.js",  # closure, verdict
    "checking.js",  # everything
)

_BEGIN: Final = '(() => {\n"use strict";\n'
_END: Final = "globalThis.constatCheck = constatCheck;\n})();\n"


def checker_parts(names: tuple[str, ...] = CHECKER_FILES) -> str:
    """Return files of the checker, all unless told, as one text without comments."""
    folder = files(__package__) / "checker"
    return "".join(_without_comments((folder / name).read_text(encoding="utf-8")) for name in names)


def checker_source() -> str:
    """Return the script that defines ``globalThis.constatCheck``."""
    return _BEGIN + checker_parts() + _END


def _without_comments(text: str) -> str:
    """Drop comment lines and indentation; no text of the checker goes over a line."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        bare = line.strip()
        inside = inside or bare.startswith("/*")
        if not inside and bare and not bare.startswith("//"):
            kept.append(bare)
        inside = inside and not bare.endswith("*/")
    return "\n".join(kept) + "\n"
