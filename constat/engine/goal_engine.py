"""The goal-directed engine: lazy, three-valued, semi-naive; why a row holds is found on demand."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import Final, cast

from constat.analysis import AnalysedProgram
from constat.engine.batch import Batch, Binding, reads_hole, slot_of, value_of
from constat.engine.component import Component, heads, start
from constat.engine.relation import Relation, has_hole, told_apart, tuple_getter
from constat.engine.state import FAR, Earlier, Procedures, Served, State
from constat.engine.steps import Request, Steps, inside
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    POSSIBLE,
    Call,
    DemandEntry,
    Derivation,
    Externals,
    FactDerivation,
    Failure,
    LimitReachedError,
    Limits,
    Observer,
    RelationPredicate,
    RuleDerivation,
    ignore_event,
)
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Aggregate,
    Atom,
    Constant,
    EvaluationError,
    Kind,
    Literal,
    OpenRow,
    Positive,
    Row,
    Rule,
    Slot,
    Term,
    Value,
    Variable,
    add_exactly,
    is_beyond,
    is_wildcard,
    local_names,
)
from constat.plan import (
    Beyond,
    Expression,
    Fold,
    Plan,
    Procedure,
    RulePlan,
    compile_rule,
    expression_of,
    plan_program,
    predicate_costs,
    rules_by_head,
    unproductive,
)

# Tabling with batches of keys (query-subquery): a request asks for many keys of one predicate at
# once; its rules run on the whole batch, and what they ask of lower components is completed before
# they go on. The pending requests are a list, not the call stack. See Vieille, Recursive axioms in
# deductive databases: the query/subquery approach (1986).

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
        for name in _known_to_be_empty(self.program, self.goal):
            # Nothing needs to be asked to know all of its rows.
            self.state.ask(name, (), [()])
            self.state.complete(name, (), [()])
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
            self._fetch(request, tuple(plain))
        procedure = self.procedures.find(predicate, columns)
        if procedure is not None:
            yield from self._run_rules(procedure, keys)
        self.state.complete(predicate, columns, keys)

    def _fetch(self, request: Request, keys: tuple[Row, ...]) -> None:
        predicate, columns, beside = request.predicate, request.columns, request.beside
        state = self.state
        if columns and len(keys) == 1 and not beside and state.fetch_whole(predicate):
            return
        if request.packs and not beside:
            state.fetch_packed(predicate, columns, keys)
            return
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


def _known_to_be_empty(program: AnalysedProgram, goal: Atom) -> list[str]:
    """Give the predicates that no rule can begin, in order, where the goal's own is one of them."""
    empty = unproductive(program)
    return sorted(empty) if goal.predicate in empty else []


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


# Each premise of an assignment has a smaller stamp than the row, so that following premises ends;
# where older rows do not reach the bound, this instance is not what made the row.

Number = int | Decimal


@frozen
class Listed:
    """The listed assignments of a threshold, and their total."""

    assignments: tuple[Mapping[str, Value], ...]
    total: Number


@frozen
class Listing:
    """Lists what carries the thresholds of one rule, over relations that nobody adds to."""

    state: State
    steps: Steps
    rule: Rule
    plan: RulePlan

    def of(self, binding: Binding, least: int, stamp: int) -> dict[int, Listed] | None:
        """Give the listed assignments by place in the body; `None` where a bound is not reached."""
        found: dict[int, Listed] = {}
        for place, step, threshold in self._thresholds():
            listed = self._listed(place, step, threshold, binding, (least, stamp))
            if listed is None:
                return None
            found[place] = listed
        return found

    def _thresholds(self) -> Iterator[tuple[int, Fold, Beyond]]:
        """The steps of thresholds, each with its place: both stand in the order of the plan."""
        folds = (step for step in self.plan.steps if isinstance(step, Fold))
        places = (one for one in self.plan.order if isinstance(self.rule.body[one], Aggregate))
        for place, step in zip(places, folds, strict=True):
            if step.threshold is not None:
                yield place, step, step.threshold

    def _listed(
        self, place: int, step: Fold, threshold: Beyond, binding: Binding, wanted: tuple[int, int]
    ) -> Listed | None:
        bound = _number(threshold.bound, binding)
        if bound is None:
            return None
        literal = cast("Aggregate", self.rule.body[place])
        local = frozenset(local_names(self.rule, literal))
        total: Number = 0
        assignments: list[Mapping[str, Value]] = []
        for value, names in self._candidates(step, literal, binding, wanted):
            if is_beyond(total, threshold.operator, bound):
                break
            total = add_exactly(total, value)
            assignments.append({name: one for name, one in names.items() if name in local})
        reached = is_beyond(total, threshold.operator, bound)
        return Listed(tuple(assignments), total) if reached else None

    def _candidates(
        self, step: Fold, literal: Aggregate, binding: Binding, wanted: tuple[int, int]
    ) -> list[tuple[Number, dict[str, Value]]]:
        """The assignments whose premises are old enough, the greatest summand first."""
        distinct = tuple_getter(step.distinct)
        found: dict[Binding, Number] = {}
        over = self.state.clock.over
        for one in over(self._inner(step, binding, wanted[0])):
            value = 1 if step.target is None else _number(step.target, one)
            if value is not None:
                found[distinct(one)] = value
        named = [
            (one, cast("dict[str, Value]", dict(zip(step.names, one, strict=True))))
            for one in over(found)
        ]
        old = {one: names for one, names in over(named) if self._older(literal, names, *wanted)}
        if self.state.nulls:
            old = {one: old[one] for one in told_apart({one: found[one] for one in old})}
        pairs = [(-found[one], str(names), names) for one, names in over(old.items())]
        return [(-value, names) for value, _, names in sorted(pairs, key=itemgetter(0, 1))]

    def _inner(self, step: Fold, binding: Binding, least: int) -> list[Binding]:
        start = Batch([tuple_getter(step.group)(binding) + step.constants])
        runner = self.steps.run(step.steps, start, inside(self.plan), inner=True)
        try:
            request = next(runner)
        except StopIteration as finished:
            batch: Batch = finished.value
        else:
            raise AssertionError(f"a closed evaluation asked for {request.predicate}")
        weak = [one for one, strength in batch.weak if least == ACCEPTED and strength >= ACCEPTED]
        return [one for one in (*batch.sure, *weak) if OPEN not in one]

    def _older(
        self, literal: Aggregate, names: Mapping[str, Value], least: int, stamp: int
    ) -> bool:
        for inner in literal.body:
            if isinstance(inner, Positive):
                row = self._row(inner.atom, names)
                reached = self.state.relation(inner.atom.predicate).stamp(row, least)
                if reached is None or reached >= stamp:
                    return False
        return True

    def _row(self, atom: Atom, names: Mapping[str, Value]) -> tuple[Value, ...]:
        kinds: Mapping[str, Kind] = self.state.program.variable_kinds[self.plan.rule]
        slots = {name: place for place, name in enumerate(names)}
        values = tuple(names.values())
        return tuple(
            cast("Value", slot_of(expression_of(term, slots, kinds), values, self.state.texts))
            for term in atom.terms
        )


def _number(expression: Expression, binding: Binding) -> Number | None:
    """Compute a bound or a summand; one that errs or is null is unknown: it carries nothing."""
    if reads_hole(expression, binding):
        return None
    try:
        return cast("Number", value_of(expression)(binding))
    except EvaluationError:
        return None


# A derived row has a stamp; some rule instance made it from rows with smaller stamps. That
# instance is found again by running the predicate's rules with the whole head bound over the
# relations as they are, and taking the first instance whose premises are all older. Following
# premises therefore ends. Negation and aggregates are decided over what was asked during
# evaluation; what was not asked counts as open, so that no derivation rests on a question that
# nobody put.

_LAST = 1_000_000


class Witnesses:
    """Finds derivations in a finished evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._state = evaluation.state
        self._steps = Steps(evaluation.state, closed=True)
        program = evaluation.program
        self._heads = program.remembered("heads", lambda: rules_by_head(program))
        self._plans: dict[int, RulePlan] = {}
        self._costs = predicate_costs(evaluation.program, {})
        # With the head bound, what is not recursive is most selective; recursive literals then
        # only confirm. The other way round a proof of n steps would look at n rows in each.
        for component in evaluation.program.components:
            if component.recursive:
                self._costs.update(dict.fromkeys(component.predicates, _LAST))

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """One well-founded derivation; raises `KeyError` when the row is not that strong."""
        stamp = self._state.relation(predicate).stamp(row, least)
        if stamp is None:
            raise KeyError((predicate, row))
        fact = self._fact(predicate, row, least)
        if fact is not None and fact.assumption is None:
            return fact
        stated = self._state.stated.get(predicate, {}).get(row)
        if stated is not None:
            return RuleDerivation(predicate, row, stated, {}, ())
        for number in self._heads.get(predicate, ()):
            rule = self._evaluation.program.rules[number]
            if rule.assumed and least == CERTAIN:
                continue
            for derivation in self._firings(number, rule, row, least, stamp):
                return derivation
        if fact is not None:
            return fact
        raise KeyError((predicate, row))

    def _fact(self, predicate: str, row: Row, least: int) -> FactDerivation | None:
        portion = self._state.fact(predicate, row)
        if portion is None or (portion.assumption is not None and least == CERTAIN):
            return None
        return FactDerivation(predicate, row, portion.evidence, portion.assumption)

    def _firings(
        self, number: int, rule: Rule, row: Row, least: int, stamp: int
    ) -> Iterator[RuleDerivation]:
        plan = self._plan(number, rule)
        for binding in self._bindings(plan, row, least):
            premises = tuple(self._premise(literal, plan, binding) for literal in rule.body)
            if not self._older(rule, premises, least, stamp):
                continue
            carried = Listing(self._state, self._steps, rule, plan).of(binding, least, stamp)
            if carried is not None:
                values = {name: binding[place] for name, place in plan.variables.items()}
                values |= {_result(rule, place): one.total for place, one in carried.items()}
                listed = {place: one.assignments for place, one in carried.items()}
                yield RuleDerivation(rule.head.predicate, row, number, values, premises, listed)  # type: ignore[arg-type]  # no placeholder

    def _premise(self, literal: Literal, plan: RulePlan, binding: Binding) -> Row | None:
        if not isinstance(literal, Positive):
            return None
        kinds = self._evaluation.program.variable_kinds[plan.rule]
        terms = literal.atom.terms
        return tuple(
            slot_of(expression_of(term, plan.variables, kinds), binding, self._state.texts)  # type: ignore[misc]  # it holds
            for term in terms
        )

    def _plan(self, number: int, rule: Rule) -> RulePlan:
        plan = self._plans.get(number)
        if plan is None:
            columns = tuple(range(len(rule.head.terms)))
            kinds = self._evaluation.program.variable_kinds[number]
            # An aggregate has to ask what it asked during evaluation: its own order stays.
            asked = self._evaluation.plan.costs
            plan = compile_rule(
                number, rule, columns, kinds, self._costs, keep_all=True, inside=asked
            )
            self._plans[number] = plan
        return plan

    def _bindings(self, plan: RulePlan, row: Row, least: int) -> list[Binding]:
        runner = self._steps.run(plan.steps, start(plan, [row]), plan)
        try:
            request = next(runner)
        except StopIteration as finished:
            batch = finished.value
        else:
            raise AssertionError(f"a closed evaluation asked for {request.predicate}")
        found: list[Binding] = [one for one in batch.sure if OPEN not in one]
        if least == ACCEPTED:
            found += [
                one for one, strength in batch.weak if strength >= ACCEPTED and OPEN not in one
            ]
        return [one for one in found if self._makes(plan, one, row)]

    def _makes(self, plan: RulePlan, binding: Binding, row: Row) -> bool:
        """A head with functions does not pin its variables: the instance may make another row."""
        sure, weak = heads(plan, Batch([binding]), self._state)
        return row in sure or any(row == other for other, _ in weak)

    def _older(self, rule: Rule, premises: tuple[Row | None, ...], least: int, stamp: int) -> bool:
        for literal, premise in zip(rule.body, premises, strict=True):
            if premise is None or not isinstance(literal, Positive):
                continue
            reached = self._state.relation(literal.atom.predicate).stamp(premise, least)
            if reached is None or reached >= stamp:
                return False
        return True


def _result(rule: Rule, place: int) -> str:
    return cast("Aggregate", rule.body[place]).result.name


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
        procedures = self._evaluation.procedures
        for name in _known_to_be_empty(self.program, self.goal):
            procedures.get(name, ())
        entries: list[DemandEntry] = []
        for (predicate, columns), procedure in procedures.known.items():
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
        if state.wholes and strength_of(state, goal) < CERTAIN:
            # Each answer to a key is shown as it came where that is what a "no" rests on.
            keyed = State(program, externals, limits, observe, keyed=state)
            again = Evaluation(program, goal, plan, keyed, exhaust=exhaust)
            again.run()
            if again.stopped in {"", SETTLED}:
                state, evaluation = keyed, again
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
        evaluation.state.finish()
        # What was asked in vain was asked all the same, and what it gave is known.
        with suppress(LimitReachedError):
            evaluation.state.learn(state.calls[len(evaluation.state.calls) :])
        return LazyOutcome(evaluation)

    def plan(self, program: AnalysedProgram, goal: Atom, externals: Externals) -> Plan:
        """The plan that `evaluate` would execute."""
        return plan_program(program, goal, {name: one.cost for name, one in externals.items()})
