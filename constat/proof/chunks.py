"""Chunks of the assignments of a large aggregate, made from whole columns (FORMAT.md, section 6).

In: the assignments of an aggregate with what each adds.  Out: for each chunk its count, exact sum,
least and greatest value, and hash.  Invariant: the same chunks whichever way they are made; whole
numbers go through DuckDB, which spells and sorts on all cores, everything else through Python.

Example: 1,000,000 assignments give 489 chunks of 2,048, so a summary is never much over 50 kB.
"""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from constat.logic import Kind, canonical_bytes, canonical_lines, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.logic import Value

CHUNK: Final = 1024
MOST_CHUNKS: Final = 512
# Below this many, Python is done before DuckDB has started.
_MANY: Final = 50_000
_WHOLE: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})


@dataclass(frozen=True, slots=True)
class Chunk:
    """Assignments that come one after another; texts as certificates have them."""

    count: int
    total: str | None
    least: str | None
    greatest: str | None
    hash: str


@dataclass(frozen=True, slots=True)
class Assignments:
    """Distinct values of local variables, and what each adds (nothing where rows are counted)."""

    rows: Sequence[tuple[Value, ...]]
    kinds: Sequence[Kind]
    targets: Sequence[Value]
    kind: Kind | None


def chunk_size(count: int) -> int:
    """Return how many assignments a chunk has where there are so many in all."""
    size = CHUNK
    while size * MOST_CHUNKS < count:
        size *= 2
    return size


def chunks_of(given: Assignments, *, many: int = _MANY) -> list[Chunk]:
    """Return the chunks of assignments, in order."""
    size = chunk_size(len(given.rows))
    whole = given.kinds and {*given.kinds, given.kind or Kind.NUMBER} <= _WHOLE
    if whole and len(given.rows) >= many:
        return _by_duckdb(given, size)
    return _by_python(given, size)


def _by_python(given: Assignments, size: int) -> list[Chunk]:
    lines = canonical_lines(given.rows, given.kinds)
    order = sorted(range(len(lines)), key=lines.__getitem__)
    found = []
    for start in range(0, len(order), size):
        part = order[start : start + size]
        digest = hashlib.sha256()
        for block in canonical_bytes([lines[place] for place in part], len(given.kinds)):
            digest.update(block)
        targets = [given.targets[place] for place in part] if given.kind else []
        found.append(_chunk(len(part), targets, given.kind, digest.hexdigest()))
    return found


def _chunk(count: int, targets: list[Value], kind: Kind | None, digest: str) -> Chunk:
    if kind is None:
        return Chunk(count, None, None, None, f"sha256:{digest}")
    total = None
    if kind in _WHOLE:
        total = f"{sum(targets)}/1"  # type: ignore[arg-type]  # whole numbers
    elif kind.numeric:
        added = sum(map(Fraction, targets), Fraction())
        total = f"{added.numerator}/{added.denominator}"
    least, greatest = format_value(min(targets), kind), format_value(max(targets), kind)
    return Chunk(count, total, least, greatest, f"sha256:{digest}")


def _by_duckdb(given: Assignments, size: int) -> list[Chunk]:
    # Only sums over very many rows need numpy, which takes a tenth of a second to load.
    sorting = importlib.import_module("constat.proof.sorted_columns")
    lines: list[str]
    targets: list[Value]
    lines, targets = sorting.sorted_lines(given.rows, given.kinds, given.targets, given.kind)
    return [
        _chunk(
            len(lines[start : start + size]),
            targets[start : start + size],
            given.kind,
            hashlib.sha256("".join(lines[start : start + size]).encode()).hexdigest(),
        )
        for start in range(0, len(lines), size)
    ]
