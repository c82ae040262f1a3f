"""What one attempt of an evaluation computes: a divided program, graded where it is not closed.

In: a division, and the program that was compiled for it. Out: the atoms to compute, and to which
predicate each made relation belongs. Invariant: `left` names what earlier attempts, or the passes
before them, have left to the reference engine, and why. Example: for the wanted atom `safe(?c)`
with one grade the atoms are `safe(?c)` and `safe.possible(?c)`, and the guards of its aggregates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.forward.division import free_atom
from constat.logic import Atom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.forward.division import Division
    from constat.forward.erring import Erring
    from constat.forward.grading import GradedProgram
    from constat.plan.forward import ForwardPlan
    from constat.sql import Database


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt; without `graded` everything that is computed is closed."""

    division: Division
    program: AnalysedProgram
    graded: GradedProgram | None = None
    left: Mapping[str, str] = field(default_factory=dict, hash=False)

    def origin(self, name: str) -> str:
        """Name the predicate of the original program that a relation belongs to."""
        return name if self.graded is None else self.graded.origin.get(name, name)

    def atoms(self) -> list[Atom]:
        """Give the atoms to compute."""
        found: dict[Atom, None] = {}
        for atom in self.division.bulk:
            found[atom] = None
            if self.graded is not None:
                found |= dict.fromkeys(self.graded.atoms(atom).values())
        predicates = self.program.program.predicates
        found |= dict.fromkeys(free_atom(predicates[name]) for name in self.erring())
        return [*found, *(Atom(name, ()) for name in self._guards())]

    def erring(self) -> dict[str, Erring]:
        """Name the relations that list the instances that err."""
        listed = {} if self.graded is None else self.graded.erring
        below = self.division.below
        return {name: one for name, one in listed.items() if one.rule.head.predicate in below}

    def loose(self) -> dict[str, str]:
        """Name the predicates of which the reference engine may decide more, with reasons."""
        found = {} if self.graded is None else self.graded.loose
        return {name: why for name, why in found.items() if name in self.division.below}

    def doubted(self, plan: ForwardPlan, database: Database) -> dict[str, str]:
        """Name the predicates whose guards are not empty."""
        guards = self._guards()
        relations = {one.atom.predicate: one.relation for one in plan.wanted}
        why = "an open row may be one that is there"
        return {owner: why for name, owner in guards.items() if database.count(relations[name])}

    def _guards(self) -> dict[str, str]:
        guards = {} if self.graded is None else self.graded.guards
        return {name: owner for name, owner in guards.items() if owner in self.division.below}
