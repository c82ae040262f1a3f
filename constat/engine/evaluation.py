"""Goal-directed evaluation: complete what is demanded, and what that demands, callees first.

Tabling with batches of keys (query-subquery): a request asks for many keys of one predicate at
once; its rules run on the whole batch, and what they ask of lower components is completed before
they go on. The pending requests are a list, not the call stack. See Vieille, Recursive axioms in
deductive databases: the query/subquery approach (1986).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from constat.analysis import AnalysedProgram
from constat.engine.component import Component, heads, start
from constat.engine.relation import Columns, Relation, has_hole
from constat.engine.state import Procedures, Served, State
from constat.engine.steps import Request, Steps
from constat.evaluation import ABSENT, CERTAIN, POSSIBLE, LimitReachedError
from constat.logic import Atom, Constant, OpenRow, Row, Slot, Term, Variable, is_wildcard
from constat.plan import Plan, Procedure

SETTLED = "settled"


class Evaluation:
    """One evaluation of one goal."""

    def __init__(
        self, program: AnalysedProgram, goal: Atom, plan: Plan, state: State, *, exhaust: bool
    ) -> None:
        self.program = program
        self.goal = goal
        self.plan = plan
        self.procedures = Procedures(program, plan)
        self.state = state
        self.stopped = ""
        self._exhaust = exhaust
        self._steps = Steps(state)
        self._components: dict[int, Component] = {}
        self._open: list[Request] = []

    def run(self) -> None:
        """Evaluate until the goal is settled or everything it needs is known.

        Or a limit is reached.
        """
        predicate, columns = self.plan.goal
        key = tuple(term.value for term in self.goal.terms if isinstance(term, Constant))
        if self.state.is_whole(predicate):
            columns, key = (), ()
        try:
            self._drive(Request(predicate, columns, (key,)))
        except LimitReachedError as limit:
            self.stopped = str(limit)
            self._forget()

    @property
    def is_open(self) -> bool:
        """Whether evaluation came to its end and something about the goal stayed undecided."""
        return not self.stopped and any(strength < CERTAIN for _, strength in self._rows())

    def says_more_than(self, other: Evaluation) -> bool:
        """Whether this one came to its end and leaves less open.

        Of all answers an open row stays where it would be spelled out as many.
        """
        if self.stopped not in {"", SETTLED}:
            return False
        if not self._exhaust:
            return _decidedness(self) > _decidedness(other)
        before, now = dict(other._rows()), dict(self._rows())
        left = {row: strength for row, strength in now.items() if strength < CERTAIN}
        relation = other.state.relation(self.goal.predicate)
        return (
            len(left) < sum(strength < CERTAIN for strength in before.values())
            and all(now.get(row) == CERTAIN for row, one in before.items() if one == CERTAIN)
            and all(
                strength <= before.get(row, ABSENT) or relation.says(row, strength)
                for row, strength in left.items()
            )
        )

    def _rows(self) -> Iterator[tuple[OpenRow, int]]:
        """The rows that match the goal, with their strengths."""
        relation = self.state.relation(self.goal.predicate)
        served = self.state.served(self.goal.predicate)
        for row, strength in _matching(relation, self.goal, served):
            if matches(self.goal, row):
                yield row, strength

    def _drive(self, root: Request) -> None:
        stack = [self._complete(root)]
        self._open.append(root)
        while stack:
            try:
                request = next(stack[-1])
            except StopIteration:
                stack.pop()
                self._open.pop()
                continue
            stack.append(self._complete(request))
            self._open.append(request)

    def _forget(self) -> None:
        """What was under way is incomplete: it must not count as asked."""
        for request in self._open:
            number = self.plan.component.get(request.predicate)
            names = [name for name, one in self.plan.component.items() if one == number]
            for name in names if number is not None else [request.predicate]:
                self.state.forget(name)

    def _complete(self, request: Request) -> Generator[Request, None, None]:
        predicate, columns = request.predicate, request.columns
        number = self.plan.component.get(predicate)
        if number is not None and number in self.plan.recursive:
            yield from self._complete_recursive(request, number)
            return
        keys = self.state.missing(predicate, columns, dict.fromkeys(request.keys))
        if not keys:
            return
        plain = self.state.ask(predicate, columns, keys)
        if plain and predicate in self.program.external:
            self._fetch(predicate, columns, tuple(plain), request.beside)
        procedure = self.procedures.find(predicate, columns)
        if procedure is not None:
            yield from self._run_rules(procedure, keys)
        self.state.complete(predicate, columns, keys)

    def _fetch(
        self, predicate: str, columns: Columns, keys: tuple[Row, ...], beside: tuple[Request, ...]
    ) -> None:
        state = self.state
        # What is asked ahead never makes an evaluation reach its limit.
        beside = beside[: max(0, state.limits.calls - len(state.calls) - 1)]
        wanted = [(predicate, columns, keys)]
        wanted += [(other.predicate, other.columns, other.keys) for other in beside]
        state.fetch_together(wanted)
        for other in beside:
            state.served(other.predicate).add(other.columns, other.keys)
            state.complete(other.predicate, other.columns, other.keys)

    def _complete_recursive(self, request: Request, number: int) -> Generator[Request, None, None]:
        component = self._components.get(number)
        if component is None:
            component = Component(number, self.procedures, self.state, self._steps)
            self._components[number] = component
        component.demand(request.predicate, request.columns, request.keys)
        yield from component.run(self._goal_settled)

    def _run_rules(self, procedure: Procedure, keys: list[Row]) -> Generator[Request, None, None]:
        relation = self.state.relation(procedure.predicate)
        ground = len(procedure.columns) == relation.arity
        self.state.state_facts(procedure.predicate, procedure.facts)
        for rule in procedure.rules:
            if ground and not self._exhaust:
                # A ground key that is certain needs no further rule: nothing dearer is called.
                keys = [key for key in keys if key not in relation.sure]
            if self._goal_settled() or not keys:
                return
            batch = yield from self._steps.run(rule.steps, start(rule, keys), rule)
            self.state.add(procedure.predicate, *heads(rule, batch, self.state))
        self._goal_settled()

    def _goal_settled(self) -> bool:
        """Whether the goal itself is being worked on and is certain by now."""
        if self._exhaust or len(self._open) > 1:
            return False
        if strength_of(self.state, self.goal) < CERTAIN:
            return False
        self.stopped = SETTLED
        # The goal's own predicate was left half done: only what lies below it is complete.
        self._forget()
        return True


def _decidedness(evaluation: Evaluation) -> int:
    """How far the goal is decided: in both readings, in one, or in none."""
    found = strength_of(evaluation.state, evaluation.goal)
    return {CERTAIN: 2, ABSENT: 2, POSSIBLE: 0}.get(found, 1)


def constants(goal: Atom) -> dict[int, Slot]:
    """The values of a goal, by column."""
    return {
        place: term.value for place, term in enumerate(goal.terms) if isinstance(term, Constant)
    }


def strength_of(state: State, goal: Atom) -> int:
    """The greatest strength of the rows that match an atom; what was not asked for is possible."""
    values = constants(goal)
    best = ABSENT
    served = state.served(goal.predicate)
    for row, strength in _matching(state.relation(goal.predicate), goal, served):
        if strength > best and matches(goal, row):
            best = strength
            if best == CERTAIN:
                return best
    key = tuple(values.values())
    if not served.covers(tuple(values), key):  # type: ignore[arg-type]  # constants are values
        best = max(best, POSSIBLE)
    return best


def _matching(relation: Relation, goal: Atom, served: Served) -> Iterator[tuple[OpenRow, int]]:
    """The rows that may match a goal, each as strong as it is and as surely as it matches."""
    values = constants(goal)
    terms = enumerate(goal.terms)
    read = tuple(one for one, term in terms if one not in values and not is_wildcard(term))
    first: dict[Term, int] = {}
    same = [(first.setdefault(goal.terms[place], place), place) for place in read]
    pairs = tuple(pair for pair in same if pair[0] != pair[1])
    return relation.matching(values, served.completed, sure=True, read=read, same=pairs)


def matches(goal: Atom, row: OpenRow) -> bool:
    """Whether a row agrees with the goal where a variable of the goal occurs twice."""
    seen: dict[str, Slot] = {}
    for term, value in zip(goal.terms, row, strict=True):
        if isinstance(term, Variable):
            first = seen.setdefault(term.name, value)
            if first != value and not has_hole((first, value)):
                return False
    return True
