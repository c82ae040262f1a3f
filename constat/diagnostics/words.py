"""Find the name somebody probably meant, and write a count with its noun.

In: a name and the names there are. Out: the nearest one, or nothing when none is near. Invariant:
the result is one of the candidates and does not depend on their order. Example: `custmer` among
`customer`, `order` is `customer`. See Damerau, "A technique for computer detection and correction
of spelling errors", 1964.
"""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 64


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate within a third of the name's length in edits, or `None`.

    One letter is no misspelling of another: only its case may differ.
    """
    folded = name[:_LONGEST].casefold()
    limit = max(len(folded) // 3, min(1, len(folded) - 1))
    best: tuple[int, str] | None = None
    for candidate in candidates:
        if abs(len(candidate) - len(folded)) > limit or candidate == name:
            continue
        distance = _edits(folded, candidate.casefold(), limit)
        if distance <= limit and (best is None or (distance, candidate) < best):
            best = (distance, candidate)
    return None if best is None else best[1]


def counted(count: int, noun: str) -> str:
    """Write a count with what is counted: `1 row`, `2,000 rows`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _edits(left: str, right: str, limit: int) -> int:
    """Count insertions, deletions, replacements, swaps of neighbours; not exact above `limit`."""
    before, row = [0] * (len(right) + 1), list(range(len(right) + 1))
    for place, letter in enumerate(left, 1):
        older, before, row = before, row, [place] + [0] * len(right)
        for other, partner in enumerate(right, 1):
            row[other] = min(
                before[other] + 1, row[other - 1] + 1, before[other - 1] + (letter != partner)
            )
            swapped = place > 1 and other > 1 and letter == right[other - 2]
            if swapped and left[place - 2] == partner:
                row[other] = min(row[other], older[other - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return row[-1]
