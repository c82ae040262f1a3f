"""Which facts may be supposed, or taken away, to prove a goal, and at which cost.

In: the declarations of a program, ``@[abducible(cost = 2)]`` and ``@[removable(cost = 1)]``, and
further ones by name.  Out: ``Abducibles``.  Invariant: nothing is abducible unless somebody says
so; costs are exact decimals above 0, so that a search by cost ends.

What is named and derived stands for what it rests on: see ``leaves_below``.

Example: ``@[removable(cost = 1)] .decl blocked(c: symbol)`` lets "unblock C004" be an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis.abducing import ABDUCIBLE, REMOVABLE, cost_from, declared_cost
from constat.logic import Aggregate, Negative, Positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal

    from constat.analysis import AnalysedProgram
    from constat.logic import Literal


@dataclass(frozen=True, slots=True)
class Abducibles:
    """Costs by predicate: of a fact that is supposed, of one that is taken away."""

    added: Mapping[str, Decimal]
    removed: Mapping[str, Decimal]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def abducibles(program: AnalysedProgram) -> Abducibles:
    """Collect what is declared."""
    found: tuple[dict[str, Decimal], dict[str, Decimal]] = ({}, {})
    for predicate in program.program.predicates.values():
        if predicate.name not in program.external:
            continue
        for name, costs in zip((ABDUCIBLE, REMOVABLE), found, strict=True):
            text = declared_cost(predicate.attributes, name)
            cost = None if text is None else cost_from(text)
            if cost is not None:
                costs[predicate.name] = cost
    return Abducibles(*found)


def leaves_below(program: AnalysedProgram, name: str) -> tuple[tuple[str, bool], ...]:
    """Name the predicates of outside that a conclusion rests on, however deep.

    With each comes whether more of it can mean more conclusions; below an odd number of negations
    it means fewer, and below an aggregate it is either.
    """
    found: dict[tuple[str, bool], None] = {}
    seen = {(name, True)}
    waiting = [(name, True)]
    while waiting:
        above, sign = waiting.pop(0)
        for rule in program.program.rules_for(above):
            for one, signs in _signed(rule.body):
                for same in {sign is each for each in signs}:
                    if one in program.external:
                        found[one, same] = None
                    if (one, same) not in seen:
                        seen.add((one, same))
                        waiting.append((one, same))
    return tuple(sorted(found))


def _signed(body: Iterable[Literal]) -> Iterator[tuple[str, tuple[bool, ...]]]:
    for literal in body:
        match literal:
            case Positive(atom):
                yield atom.predicate, (True,)
            case Negative(atom):
                yield atom.predicate, (False,)
            case Aggregate(body=inner):
                yield from ((one, (True, False)) for one, _ in _signed(inner))
            case _:
                pass
