"""Answers to questions as text for people, and what was exchanged on the way.

In: an answer, or the record of a question. Out: lines. Invariant: the goal in words, and who says
that it is what was asked, stand before the verdict, because the verdict is about the goal and not
about the question; a draft is never shown without the words that nobody has approved it. Example:
`in words: C001 is a VIP`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.cli.confirming_options import translation_lines
from constat.cli.output import counted, write
from constat.cli.tables import Table
from constat.cli.verdict_text import print_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.model import Usage
    from constat.session.asking import Answered, Listed
    from constat.store.drafts import Draft

_LONGEST: Final = 600
_MOST_ROWS: Final = 20
_SETTLED: Final = MappingProxyType(
    {
        "SETTLED": "There are no others.",
        "SETTLED_UNDER": "Under the assumptions there are no others.",
        "OPEN": "There may be more.",
    }
)


def print_answered(found: Answered, *, depth: int | None, quiet: bool, told: bool) -> None:
    """Print an answer: the question as it was read, the draft, the verdict, what it took."""
    if not quiet:
        write(f"question: {found.question}")
    for line in translation_lines(found.translation):
        write(line)
    if not quiet:
        write(f"reused: {', '.join(found.reused) or 'nothing'}")
        for line in _drafted(found):
            write(line)
        for line in _listed(found.listed):
            write(line)
        write("")
    print_result(found.result, depth=depth, quiet=quiet)
    if not quiet:
        write("")
        used = _usage(found.usage, found.currency)
        write(f"usage: {used}, {counted(found.rounds, 'proposal')}")
    if told:
        print_record(found.record)


def _drafted(found: Answered) -> Iterator[str]:
    draft = found.draft
    if draft is None:
        yield "drafted: nothing"
    else:
        yield f"drafted: {counted(len(found.drafted), 'rule')}, which nobody has approved"
        yield from (f"  {line}" for line in _rules(draft))
        yield f"  review: constat rules review {draft.short}"
    for remark in found.remarks:
        yield f"note: {remark.message} [{remark.code}]"


def _listed(listed: Listed | None) -> Iterator[str]:
    """Yield the first answers of a goal with variables, and how many there are."""
    if listed is None:
        return
    shown = listed.rows[:_MOST_ROWS]
    cells = [(*values, verdict.label) for values, verdict in shown]
    table = Table((*listed.columns, "verdict"), (False,) * (len(listed.columns) + 1), None)
    table.fit(cells)
    yield ""
    if cells:
        yield table.heading()
    yield from (table.line(row) for row in cells)
    more = listed.total - len(shown)
    left = f", {more:,} of them not shown" if more else ""
    yield f"{counted(listed.total, 'answer')}{left}. {_SETTLED[listed.settled.value]}"


def _rules(draft: Draft) -> Iterator[str]:
    """Yield the lines of a draft, without what every file begins with."""
    for line in draft.text.splitlines():
        if line.strip() and not line.startswith((".pragma", ".include")):
            yield line


def _usage(usage: Usage, currency: str) -> str:
    read = usage.read + usage.cached + usage.stored
    parts = [counted(usage.calls, "call"), f"{read:,} tokens read", f"{usage.written:,} written"]
    if usage.cost:
        parts.append(f"{usage.cost:f} {currency}")
    return ", ".join(parts)


def print_record(record: Mapping[str, Any]) -> None:
    """Print a transcript."""
    write(f"transcript {record['id']} of {record['at']}: {record['question']}")
    for entry in record["entries"]:
        for line in _entry(entry):
            write(f"  {line}")
    outcome = record["outcome"]
    if "verdict" in outcome:
        write(f"  outcome: {outcome['verdict']}: {outcome['goal']}")
    elif "error" in outcome:
        write(f"  outcome: {_mistakes(outcome['error'])}")


def _entry(entry: Mapping[str, Any]) -> Iterator[str]:
    match entry["kind"]:
        case "told":
            yield f"told: {_short(entry['text'])}"
        case "reply":
            shown = f" {_short(entry['text'])}" if entry["text"] else ""
            yield f"{entry['model']}:{shown}"
            for call in entry["calls"]:
                yield f"  calls {call['name']}"
                for name, value in (call["arguments"] or {}).items():
                    yield f"    {name}: {_short(str(value))}"
        case "lookup":
            failed = " failed" if entry["failed"] else ""
            yield f"{entry['call']['name']}{failed}: {_short(entry['text'])}"
        case "check":
            yield f"proposal {entry['round']}: {_verdict(entry)}"


def _verdict(entry: Mapping[str, Any]) -> str:
    if entry["passed"]:
        return "passed every check"
    return _mistakes(entry["diagnostics"])


def _mistakes(diagnostics: object) -> str:
    if not isinstance(diagnostics, list):
        return str(diagnostics)
    return "; ".join(f"{one['code']}: {one['message']}" for one in diagnostics)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."
