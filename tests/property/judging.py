"""Judges an engine's rows: against the oracle, and where they differ against every completion.

The oracle works bottom-up and may lose a correlation that an engine keeps, because it binds the
goal's constants first; and an engine may lose one that the oracle keeps, because it does not ask
for rows with an unknown key.  Both are allowed (semantics 7); to be wrong is not.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from tests.oracle.worlds import Facts, completions, model
from tests.property.coverage import uncovered, under
from tests.property.rules import DOMAIN
from tests.property.running import Truth, truth

if TYPE_CHECKING:
    from constat.evaluation import Outcome
    from constat.logic import Atom
    from tests.property.strategies import Case

HARD = (CERTAIN, CONCEIVABLE)


def contradict(left: int, right: int) -> bool:
    """Tell whether two strengths decide one reading in opposite ways."""
    weak, strong = sorted((left, right))
    hard = weak == ABSENT and strong == CERTAIN
    return hard or (weak <= CONCEIVABLE and strong >= ACCEPTED)


class Judge:
    """Knows the truth about one case."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def truth(self) -> Truth:
        """What the oracle says."""
        return truth(self.case.program, self.case.world)

    @cached_property
    def hard(self) -> list[Facts]:
        """The models of completions in the hard reading."""
        return self._models(accepted=False)

    @cached_property
    def accepted(self) -> list[Facts]:
        """The models of completions in the accepted reading."""
        return self._models(accepted=True)

    def _models(self, *, accepted: bool) -> list[Facts]:
        program, world = self.case.program, self.case.world
        found = completions(program, world, DOMAIN, accepted=accepted)
        return [model(program, one, DOMAIN) for one in found]

    def models(self, least: int) -> list[Facts]:
        """Return the models that decide what this strength means."""
        return self.hard if least in HARD else self.accepted

    def certain_rows_are_true(self, outcome: Outcome) -> None:
        """Check that each row an engine takes for certain is so in every completion."""
        for least in (CERTAIN, ACCEPTED):
            for name in self.case.program.program.predicates:
                for row in set(outcome.rows(name, least)) - self.truth.rows(name, least):
                    wrong = [facts for facts in self.models(least) if row not in facts[name]]
                    assert not wrong, f"{name}{row} has strength {least}, but see {wrong[0]}"

    def true_rows_are_possible(self, outcome: Outcome, goal: Atom) -> None:
        """Check that the engine's rows allow every row of the goal that some completion has."""
        name = goal.predicate
        for least in (POSSIBLE, CONCEIVABLE):
            there = under(goal, outcome.rows(name, least))
            if uncovered(under(goal, self.truth.rows(name, least)), there):
                for facts in self.models(least):
                    missing = uncovered(under(goal, facts[name]), there)
                    assert not missing, f"{name}{missing} may be, strength {least}"

    def strength_is_right(self, strength: int) -> None:
        """Check that what a strength decides for the goal is so in every completion."""
        if strength == self.truth.strength(self.case.goal):
            return
        name = self.case.goal.predicate
        decisions = {CERTAIN: (CERTAIN,), ACCEPTED: (ACCEPTED,), ABSENT: (CERTAIN,)}
        for least in decisions.get(strength, (ACCEPTED,) if strength == CONCEIVABLE else ()):
            for facts in self.models(least):
                true = bool(under(self.case.goal, facts[name]))
                assert true == (strength >= ACCEPTED), (strength, facts)
