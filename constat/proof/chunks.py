"""Chunks of the assignments of a large aggregate, made from whole columns (FORMAT.md, section 6).

In: the assignments of an aggregate with what each adds.  Out: for each chunk its count, exact sum,
least and greatest value, and hash.  Invariant: the same chunks whichever way they are made; whole
numbers go through columns, which spell and sort all at once, everything else through Python.

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
# Below this many, Python is done before numpy is loaded.
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
    if given.kinds and {*given.kinds} <= _WHOLE and len(given.rows) >= max(1, many):
        found = _by_numpy(given, size)
        if found is not None:
            return found
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
        added = _exact_sum(targets)
        total = f"{added.numerator}/{added.denominator}"
    least, greatest = format_value(min(targets), kind), format_value(max(targets), kind)
    return Chunk(count, total, least, greatest, f"sha256:{digest}")


def _exact_sum(targets: list[Value]) -> Fraction:
    """Add decimals or floats exactly: over one denominator, which is reduced but once."""
    ratios = [value.as_integer_ratio() for value in targets]  # type: ignore[union-attr]  # numbers
    by_denominator: dict[int, int] = {}
    for above, below in ratios:
        by_denominator[below] = by_denominator.get(below, 0) + above
    return sum((Fraction(above, below) for below, above in by_denominator.items()), Fraction())


def _by_numpy(given: Assignments, size: int) -> list[Chunk] | None:
    # Only sums over very many rows need numpy, which takes a tenth of a second to load.
    sorting = importlib.import_module("constat.proof.sorted_columns")
    found: list[tuple[str, list[Value]]] | None = sorting.sorted_hashes(
        given.rows, given.kinds, given.targets, size
    )
    if found is None:
        return None
    sizes = [min(size, len(given.rows) - start) for start in range(0, len(given.rows), size)]
    return [
        _chunk(count, targets, given.kind, digest)
        for count, (digest, targets) in zip(sizes, found, strict=True)
    ]
