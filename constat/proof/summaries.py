"""Summaries of aggregates over more than 1,000 rows of sources (FORMAT.md, section 6).

In: an exact aggregate with its assignments.  Out: the JSON of a summary: chunks of 1,024
assignments with count, exact sum, least, greatest and hash.  Invariant: the chunks add up to the
value that the proof used.  Example: 2,055 assignments give chunks of 1,024, 1,024 and 7.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from constat.logic import format_value
from constat.proof.canonical import rows_hash, sha256, sort_key, speller
from constat.proof.instances import AggregateCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.evaluation import Evidence
    from constat.logic import Kind, Value
    from constat.proof.canonical import Json, TextRow
    from constat.proof.groups import Exact
    from constat.proof.instances import Cell, RuleCode

CHUNK: Final = 1024


def summarise(
    code: RuleCode,
    place: int,
    group: Sequence[Cell],
    exact: Exact,
    source: Callable[[str, Evidence], int],
) -> dict[str, Json]:
    """Encode one summary; ``rule`` is left as the program's number for the caller to replace."""
    literal = code.body[place]
    if not isinstance(literal, AggregateCode):
        raise TypeError(literal)
    kind = None if literal.target is None else literal.target.kind
    spelled = _assignments(code, literal, exact)
    chunks = [_chunk(spelled[at : at + CHUNK], kind) for at in range(0, len(spelled), CHUNK)]
    kinds = [code.kinds[slot] for slot in literal.outer]
    return {
        "rule": code.number,
        "literal": place,
        "group": [format_value(v, one) for v, one in zip(group, kinds, strict=True)],  # type: ignore[arg-type]
        "count": len(spelled),
        "chunks": chunks,
        "hash": sha256("".join(f"{chunk[4]}\n" for chunk in chunks)),
        "sources": sorted({source(predicate, evidence) for predicate, evidence in exact.sources}),
    }


def _assignments(
    code: RuleCode, literal: AggregateCode, exact: Exact
) -> list[tuple[TextRow, Value | None]]:
    spell = speller([code.kinds[slot] for slot in literal.inner])
    targets: Sequence[Value | None] = exact.targets or [None] * len(exact.assignments)
    pairs = [(spell(row), target) for row, target in zip(exact.assignments, targets, strict=True)]
    return sorted(pairs, key=lambda pair: sort_key(pair[0]))


def _chunk(part: list[tuple[TextRow, Value | None]], kind: Kind | None) -> list[Json]:
    hashed = rows_hash(row for row, _ in part)
    targets = [target for _, target in part if target is not None]
    if kind is None:
        return [len(part), None, None, None, hashed]
    least, greatest = min(targets), max(targets)
    total: Json = None
    if kind.numeric:
        added = sum((Fraction(target) for target in targets), Fraction())
        total = f"{added.numerator}/{added.denominator}"
    return [len(part), total, format_value(least, kind), format_value(greatest, kind), hashed]
