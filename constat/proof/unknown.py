"""The outcome that knows nothing: what remains to be said where evaluation stopped early.

In: the outcome that was stopped.  Out: an ``Outcome`` in which every row is possible and none is
certain.  Invariant: it is an upper bound of every outcome, so "unresolved" follows from it whatever
the limit cut off, and its certificate is as small as the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import POSSIBLE, DemandEntry
from constat.logic import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Call, Derivation, Failure, Outcome
    from constat.logic import Atom, OpenRow, Row


class UnknownOutcome:
    """Everything is possible."""

    def __init__(self, stopped: Outcome) -> None:
        self._stopped = stopped
        self._derived = dict.fromkeys(rule.head.predicate for rule in stopped.program.rules)

    @property
    def program(self) -> AnalysedProgram:
        """The program that was evaluated."""
        return self._stopped.program

    @property
    def goal(self) -> Atom:
        """The goal that was evaluated."""
        return self._stopped.goal

    @property
    def calls(self) -> tuple[Call, ...]:
        """Nothing that was answered counts here."""
        return ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The instances that erred before evaluation stopped."""
        return self._stopped.failures

    @property
    def stopped(self) -> str:
        """Why evaluation stopped."""
        return self._stopped.stopped

    @property
    def demands(self) -> tuple[DemandEntry, ...]:
        """Every derived predicate as a whole."""
        every: frozenset[Row] = frozenset({()})
        return tuple(DemandEntry(name, (), {}, every) for name in self._derived)

    def strength(self, atom: Atom) -> int:  # noqa: ARG002  the same for every atom
        """Every atom may hold."""
        return POSSIBLE

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """One row that stands for all, where possible rows are asked for."""
        if least > POSSIBLE or predicate not in self._derived:
            return ()
        return ((OPEN,) * self.program.program.predicates[predicate].arity,)

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:  # noqa: ARG002
        """Nothing is known to hold."""
        raise KeyError((predicate, row))
