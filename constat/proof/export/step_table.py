"""The step table for auditors: one row for each step, and what it rests on, as text.

In: a ``Document``.  Out: tables of texts, each with a heading.  Invariant: no cell is a formula to
a spreadsheet, whatever the data are; rows are numbered from 1, and premises name earlier rows.
Reference: OWASP, "CSV injection".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.proof.export.steps import steps_of
from constat.proof.export.taken import taken_by
from constat.proof.render import defused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.proof.export.document import Document
    from constat.proof.export.steps import Step

STEP_COLUMNS: Final = (
    *("step", "kind", "fact", "sentence", "rule", "premises", "source", "query", "parameters"),
    *("rows", "hash", "time", "confidence", "level", "assumption"),
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``rows`` have as many cells as ``columns``."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def step_table(document: Document) -> Table:
    """Return the steps of the proof."""
    steps = steps_of(document).steps
    taken = zip(steps, taken_by(document, steps), strict=True)
    rows = (_row(document, number, *one) for number, one in enumerate(taken, 1))
    return Table("Steps", STEP_COLUMNS, tuple(tuple(map(defused, row)) for row in rows))


def _row(document: Document, number: int, step: Step, taken: tuple[int, ...]) -> tuple[str, ...]:
    sources = [document.sources[place] for place in step.sources]
    times = [document.record["executed"][place] for place in step.sources]
    rule = "" if step.rule is None else _named_rule(document, step.rule)
    return (
        str(number),
        step.kind,
        step.fact,
        step.reasoning or step.sentence,
        rule,
        "; ".join(str(premise.step + 1) for premise in step.premises),
        _joined(f"{one['origin']} {one['name']}".strip() for one in sources),
        _joined(_one_line(one["query"]) for one in sources),
        _joined(", ".join(one["parameters"]) for one in sources),
        _joined(str(one["rows"]) for one in sources),
        _joined(one["hash"] for one in sources),
        _joined(time or "" for time in times),
        step.confidence,
        step.level,
        _joined(document.assumptions[place]["text"] for place in taken),
    )


def _named_rule(document: Document, place: int) -> str:
    text = " ".join(document.rule_texts[place].split())
    return f"{document.rules[place]['id']}: {text}"


def _one_line(query: str | None) -> str:
    # Queries have lines; an escape in the place of each would be harder to read than a blank.
    return "" if query is None else query.replace("\n", " ")


def _joined(texts: Iterable[str]) -> str:
    # A step that many sources speak for mostly has one query and one time.
    return " | ".join(dict.fromkeys(texts))


def decision_table(document: Document) -> Table:
    """Return what was decided, and the hashes that name the proof."""
    header, members = document.header, document.members
    told = (
        ("goal", document.goal()),
        ("verdict", header["verdict"].replace("_", " ")),
        ("confidence", header["confidence"]),
        ("level of completeness", header["level"] or ""),
        ("decided at", document.record["created"]),
        ("engine", document.record["engine"]),
        ("as of", header["as_of"] or ""),
        ("snapshot", header["snapshot"] or ""),
        ("proof", document.identity),
        ("certificate", members["digest"]),
        ("rules", header["program"]),
        *(("missing", document.atom(*missing)) for missing in members["missing"]),
    )
    rows = tuple((name, defused(text)) for name, text in told)
    return Table("Decision", ("item", "value"), rows)


def source_table(document: Document) -> Table:
    """Return every answer of a source."""
    columns = (
        *("source", "origin", "name", "tier", "query", "parameters", "rows", "hash"),
        *("snapshot", "time", "author", "confidence"),
    )
    rows = (
        (
            str(number),
            source["origin"],
            source["name"],
            source["tier"],
            _one_line(source["query"]),
            ", ".join(source["parameters"]),
            str(source["rows"]),
            source["hash"],
            source["snapshot"] or "",
            document.record["executed"][number - 1] or "",
            source["author"] or "",
            source["confidence"],
        )
        for number, source in enumerate(document.sources, 1)
    )
    return Table("Sources", columns, tuple(tuple(map(defused, row)) for row in rows))


def assumption_table(document: Document) -> Table:
    """Return every assumption, and whether the verdict accepts it."""
    under = frozenset(document.header["under"])
    rows = (
        (
            str(place + 1),
            one["kind"],
            one["text"],
            one["confidence"],
            "yes" if place in under else "no",
        )
        for place, one in enumerate(document.assumptions)
    )
    columns = ("assumption", "kind", "text", "confidence", "accepted")
    return Table("Assumptions", columns, tuple(tuple(map(defused, row)) for row in rows))
