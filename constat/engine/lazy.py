"""The in-memory engine: goal-directed, lazy, three-valued, semi-naive.

Example: `LazyEngine().evaluate(program, goal, externals, Limits())` gives an outcome whose
`strength(goal)` is 3 when the goal is certain.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Final

from constat.analysis import AnalysedProgram
from constat.engine.evaluation import Evaluation, strength_of
from constat.engine.state import FAR, Earlier, State
from constat.engine.witness import Witnesses
from constat.evaluation import (
    ACCEPTED,
    Call,
    DemandEntry,
    Derivation,
    Externals,
    Failure,
    LimitReachedError,
    Limits,
    Observer,
    RelationPredicate,
    ignore_event,
)
from constat.logic import Atom, OpenRow, Row
from constat.plan import Plan, plan_program


class LazyOutcome:
    """What one evaluation found; derivations are looked for when they are asked for."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._state = evaluation.state

    @property
    def program(self) -> AnalysedProgram:
        """The program that was evaluated."""
        return self._evaluation.program

    @property
    def goal(self) -> Atom:
        """The goal that was evaluated."""
        return self._evaluation.goal

    @property
    def calls(self) -> tuple[Call, ...]:
        """All demands made outside, in order."""
        return tuple(self._state.calls)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Rule instances that erred."""
        return tuple(self._state.failures)

    @property
    def stopped(self) -> str:
        """Why evaluation stopped before the end: empty, `settled`, or the limit."""
        return self._evaluation.stopped

    @cached_property
    def demands(self) -> tuple[DemandEntry, ...]:
        """What was asked of derived predicates."""
        procedures = self._evaluation.procedures.known
        entries: list[DemandEntry] = []
        for (predicate, columns), procedure in procedures.items():
            orders = {rule.rule: rule.order for rule in procedure.rules}
            orders.update((fact.rule, ()) for fact in procedure.facts)
            for served, keys in self._state.served(predicate).entries():
                if served == columns and keys:
                    entries.append(DemandEntry(predicate, columns, orders, keys))
        return tuple(entries)

    def strength(self, atom: Atom) -> int:
        """The greatest strength of the rows that match.

        What was never asked for counts as possible.
        """
        return strength_of(self._state, atom)

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """The rows of a predicate with at least that strength."""
        return self._state.relation(predicate).rows(least)

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """One well-founded derivation of a row."""
        if least < ACCEPTED:
            raise ValueError("only rows that hold in a reading have derivations")
        return self._witnesses.derivation(predicate, row, least)

    @cached_property
    def _witnesses(self) -> Witnesses:
        return Witnesses(self._evaluation)


_MUCH: Final = 20_000
"""Of sources with more rows nothing is asked whole on the chance that it leaves less open."""


def _is_much(state: State, externals: Externals) -> bool:
    """Whether a source that was asked is large, as far as it can tell without reading rows."""
    for name in {call.demand.predicate.name for call in state.calls}:
        one = externals.get(name)
        if isinstance(one, RelationPredicate) and one.cost < FAR:
            rows = one.estimate()
            if rows is not None and rows > _MUCH:
                return True
    return False


class LazyEngine:
    """Evaluates goals by demand, in memory. Holds nothing between evaluations."""

    def evaluate(
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        exhaust: bool = False,
        observe: Observer = ignore_event,
    ) -> LazyOutcome:
        """Evaluate a goal; see `evaluation.Engine`."""
        plan = self.plan(program, goal, externals)
        near = frozenset(name for name in plan.component if plan.costs[name] < FAR)
        state = State(program, externals, limits, observe)
        evaluation = Evaluation(program, goal, plan, state, exhaust=exhaust)
        evaluation.run()
        # Where there is no time to leave less open, what an earlier one says stands.
        with suppress(LimitReachedError):
            for whole in (False, True):
                if not (state.nulls if whole else state.narrowed) or not evaluation.is_open:
                    continue
                if whole and _is_much(state, externals):
                    break
                earlier = Earlier(state, near, whole)
                state = State(program, externals, limits, observe, earlier=earlier)
                again = Evaluation(program, goal, plan, state, exhaust=exhaust)
                again.run()
                if again.says_more_than(evaluation):
                    evaluation = again
        # What was asked in vain was asked all the same.
        evaluation.state.calls = state.calls
        evaluation.state.finish()
        return LazyOutcome(evaluation)

    def plan(self, program: AnalysedProgram, goal: Atom, externals: Externals) -> Plan:
        """The plan that `evaluate` would execute."""
        return plan_program(program, goal, {name: one.cost for name, one in externals.items()})
