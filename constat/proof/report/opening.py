"""The first screen of a report: the question, the verdict, and what it rests on.

In: an ``Account``.  Out: HTML.  Invariant: verdict, confidence, every accepted assumption, every
source with its time, conflicts, and whether the page has verified itself are on it.

Example: "Is it true that C001 is a VIP?", PROVED, confidence 1, sales (database), 4 readings.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.proof.export.wording import counted
from constat.proof.report.markup import (
    assumption_link,
    capital,
    code,
    listed,
    moment,
    source_kind,
    source_name,
    step_link,
    text,
)

if TYPE_CHECKING:
    from constat.proof.export.account import Account

LABELS: Final = MappingProxyType(
    {
        "PROVED": ("good", "✓", "PROVED"),
        "PROVED_UNDER": ("warn", "▲", "PROVED UNDER assumptions"),
        "DISPROVED": ("bad", "✗", "DISPROVED"),
        "DISPROVED_UNDER": ("warn", "▲", "DISPROVED UNDER assumptions"),
        "UNRESOLVED": ("open", "?", "UNRESOLVED"),
    }
)
_MOST_WEAK: Final = 5
_MOST_CONFLICTS: Final = 8


def opening(account: Account, *, paper: bool = False) -> str:
    """Return the first screen; on paper it says how to verify, for nothing runs there."""
    document = account.document
    tone, sign, label = LABELS.get(document.header["verdict"], ("open", "?", "UNKNOWN"))
    facts = "".join(
        f"<div><dt>{name}</dt><dd>{said}</dd></div>"
        for name, said in (
            ("Confidence", _confidence(account)),
            ("Assumptions", _assumptions(account)),
            ("Conflicts", _conflicts(account)),
            ("Rests on", _sources(account)),
            ("Verification", _state(paper=paper)),
        )
        if said
    )
    return (
        f'<section class="opening {tone}" aria-labelledby="question">'
        f'<p class="eyebrow">Question</p><h1 id="question">{text(capital(account.question))}</h1>'
        f'<p class="verdict"><span class="badge"><span aria-hidden="true">{sign}</span> {label}'
        f"</span> <span>{text(account.answer)}</span></p>"
        f'<p class="quiet">As a goal: {code(document.goal())}. Decided '
        f"{_time(document.record['created'])} by {text(document.record['engine'])}.</p>"
        f'<dl class="facts">{facts}</dl></section>'
    )


def _confidence(account: Account) -> str:
    header = account.document.header
    if header["verdict"] == "UNRESOLVED":
        return "None: nothing is concluded."
    value = header["confidence"]
    sure = header["search"] == "exhausted" or value == "1"
    shown = f"<b>{text(value)}</b>" if sure else f"at least <b>{text(value)}</b>"
    links = _weakest(account) if value != "1" else []
    where = f" It is that of step {listed(links, _MOST_WEAK)}." if links else ""
    return f"{shown}, the weakest link: no step is weaker. It is not a probability.{where}"


def _weakest(account: Account) -> list[str]:
    """Return links to the steps at which the confidence comes in."""
    value = account.document.header["confidence"]
    return [
        step_link(account, place)
        for place in account.order
        if account.steps[place].confidence == value
        and not any(
            account.steps[one.step].confidence == value for one in account.steps[place].premises
        )
    ]


def _assumptions(account: Account) -> str:
    under = account.document.header["under"]
    if not under:
        return "None."
    items = "".join(f"<li>{assumption_link(account, place)}" for place in under)
    many = "this holds" if len(under) == 1 else f"these {len(under):,} hold"
    return f"The verdict stands if {many}:<ul>{items}</ul>"


def _conflicts(account: Account) -> str:
    """List who says another value for a key, and what counts."""
    told = account.document.conflicts
    items = "".join(f"<li>{text(one)}" for one in told[:_MOST_CONFLICTS])
    more = len(told) - _MOST_CONFLICTS
    return f"<ul>{items}{f'<li>and {more:,} more' if more > 0 else ''}</ul>" if told else ""


def _sources(account: Account) -> str:
    """List the sources by name, with the time of their last reading."""
    document = account.document
    read: dict[str, list[str]] = {}
    for source, time in zip(document.sources, document.record["executed"], strict=True):
        name = f"{source_name(source)} ({source_kind(source)})"
        read.setdefault(name, []).append(time or "")
    items = []
    for name, times in read.items():
        last = _time(max(times))
        when = f", {'read' if len(times) == 1 else 'last read'} {last}" if last else ""
        items.append(f"<li>{name}: {counted(len(times), 'reading')}{when}")
    if not items:
        return "Nothing outside: the rules alone."
    several = document.header["snapshot"] == "not one snapshot"
    note = "<p>The sources were not read in one snapshot.</p>" if several else ""
    return (
        f'<ul>{"".join(items)}</ul><p><a href="#boundary">Whose word is taken for it</a></p>{note}'
    )


def _time(time: str) -> str:
    """Return a time that is not broken over lines."""
    shown = moment(time)
    return f"<time>{shown}</time>" if shown else ""


def _state(*, paper: bool) -> str:
    how = "Save the certificate that is in this file and run <code>constat verify FILE</code>."
    if paper:
        how = (
            "The certificate is attached to this file; <code>constat verify FILE</code> checks it."
        )
    return (
        '<div id="state" role="status"><span class="m">○ not verified here</span> '
        f"{'' if paper else 'Scripts are off, or the check has not run. '}{how}</div>"
    )
