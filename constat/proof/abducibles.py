"""Which facts may be supposed, or taken away, to prove a goal, and at which cost.

In: the declarations of a program, ``@[abducible(cost = 2)]`` and ``@[removable(cost = 1)]``, and
further ones by name.  Out: ``Abducibles``.  Invariant: nothing is abducible unless somebody says
so; costs are exact decimals above 0, so that a search by cost ends.

Example: ``@[removable(cost = 1)] .decl blocked(c: symbol)`` lets "unblock C004" be an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis.abducing import ABDUCIBLE, REMOVABLE, cost_from, declared_cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from constat.analysis import AnalysedProgram


@dataclass(frozen=True, slots=True)
class Abducibles:
    """Costs by predicate: of a fact that is supposed, of one that is taken away."""

    added: Mapping[str, Decimal]
    removed: Mapping[str, Decimal]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def abducibles(
    program: AnalysedProgram,
    added: Iterable[tuple[str, Decimal]] = (),
    removed: Iterable[tuple[str, Decimal]] = (),
) -> Abducibles:
    """Collect what is declared and what is named besides, which wins."""
    found: tuple[dict[str, Decimal], dict[str, Decimal]] = ({}, {})
    for predicate in program.program.predicates.values():
        if predicate.name not in program.external:
            continue
        for name, costs in zip((ABDUCIBLE, REMOVABLE), found, strict=True):
            text = declared_cost(predicate.attributes, name)
            cost = None if text is None else cost_from(text)
            if cost is not None:
                costs[predicate.name] = cost
    return Abducibles({**found[0], **dict(added)}, {**found[1], **dict(removed)})
