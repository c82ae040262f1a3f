"""Summaries of aggregates over more than 1,000 rows of sources (FORMAT.md, section 6).

In: an exact aggregate with its assignments.  Out: the JSON of a summary: chunks of assignments with
count, exact sum, least, greatest and hash.  Invariant: the chunks add up to the value that the
proof used.  Example: 2,055 assignments give chunks of 1,024, 1,024 and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.proof.canonical import sha256
from constat.proof.chunks import Assignments, chunks_of
from constat.proof.instances import AggregateCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.evaluation import Evidence
    from constat.logic import Kind
    from constat.proof.canonical import Json, TextRow
    from constat.proof.groups import Exact
    from constat.proof.instances import Cell, RuleCode


def summarise(  # noqa: PLR0917  # what it encodes, and how
    code: RuleCode,
    place: int,
    group: Sequence[Cell],
    exact: Exact,
    source: Callable[[str, Evidence], int],
    speller: Callable[[Sequence[Kind]], Callable[[Sequence[object]], TextRow]],
) -> dict[str, Json]:
    """Encode one summary; ``rule`` is left as the program's number for the caller to replace."""
    literal = code.body[place]
    if not isinstance(literal, AggregateCode):
        raise TypeError(literal)
    kind = None if literal.target is None else literal.target.kind
    inner = [code.kinds[slot] for slot in literal.inner]
    chunks = chunks_of(Assignments(exact.assignments, inner, exact.targets, kind))
    kinds = [code.kinds[slot] for slot in literal.outer]
    return {
        "rule": code.number,
        "literal": place,
        "group": list(speller(kinds)(group)),
        "count": len(exact.assignments),
        "chunks": [[one.count, one.total, one.least, one.greatest, one.hash] for one in chunks],
        "hash": sha256("".join(f"{one.hash}\n" for one in chunks)),
        "sources": sorted({source(predicate, evidence) for predicate, evidence in exact.sources}),
    }
