"""On what a "no" rests: the level of completeness of what was looked up.

In: what a walk used of the outside.  Out: one word, the weakest that occurs.  Invariant: ``inline``
is said only where every row that the source answered is among those looked at.

* ``declared``: somebody vouches that nothing is missing, or a silent tier was passed over (C0);
* ``re-runnable``: the source's query answered more than is shown here, and can be run again (C1);
* ``inline``: all rows that the sources answered are shown (C3);
* ``derived``: only conclusions were looked up; no rule gives more of them (C4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.logic import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.proof.outside import Outside, Usage

LEVELS: Final = ("declared", "re-runnable", "inline", "derived")


def level_of(outside: Outside, usage: Usage) -> str:
    """Return the weakest level of what was used."""
    if any(one.kind in {"closure", "fall-through"} for one in usage.assumptions):
        return "declared"
    levels = set()
    for predicate, columns, key in usage.covered:
        rows = outside.side(predicate).rows.matching(columns, key)
        shown = sum(OPEN not in row for row in rows)
        for evidence in outside.sources((predicate, columns, key)):
            levels.add("inline" if evidence.row_count <= shown else "re-runnable")
    return weakest(levels or {"derived"})


def weakest(levels: Iterable[str]) -> str:
    """Return the weakest of some levels; empty where there is none."""
    known = [LEVELS.index(level) for level in levels if level]
    return LEVELS[min(known)] if known else ""
