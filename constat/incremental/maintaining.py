"""Relations of a program that stay current while facts change.

In: a program, the predicates that are wanted, the rows of its inputs; later, rows that come and
go. Out: what is derived, always what a full evaluation gives, and which of its rows have changed.
Invariant: what cannot be kept current exactly is evaluated anew, and the answer says why; a change
that fails leaves everything as it was. Example: `Maintained(program, ["path"], inputs)`, then
`update([Fact("edge", (1, 2))])`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from heapq import heappop, heappush
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, assert_never, cast

import numpy as np

from constat.engine.batch import value_of
from constat.evaluation import Resources, StrategyError
from constat.evaluation.processor import set_up_duckdb
from constat.forward import Frame, Options, Rows, evaluate
from constat.frozen import frozen, slotted
from constat.incremental.relations import Change, Codes, Kept, Overlay, difference
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    comparison,
    fold,
    literal_variables,
    outer_names,
    term_variables,
)
from constat.plan.compilation import compile_rule, predicates_of, rules_by_head
from constat.plan.forward import Strategy
from constat.plan.operators import Absence, Compute, Filter, Fold, Join, Slot

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.forward import Input, Results
    from constat.incremental.relations import Array
    from constat.logic import Row, Value
    from constat.plan.operators import Columns, Expression, RulePlan, Step

# Rules as steps over rows that change: from a change, from a row backwards, and groups of sums.

GROUPS: Final = "groups"
"""The relation that holds the groups of an aggregate that a change touches."""
_MANY: Final = float(1 << 40)
Binding: TypeAlias = "tuple[Value, ...]"


class TooMuchError(Exception):
    """A change that touches so much that everything is better computed anew."""


@slotted
class Budget:
    """How many more bindings may be made before everything is computed anew."""

    left: float

    def spend(self, count: int) -> None:
        """Take from what is left. Raises `TooMuchError` where it is not enough."""
        self.left -= count
        if self.left < 0:
            raise TooMuchError


class Reader(Protocol):
    """The rows of all relations at one moment."""

    def find(self, name: str, columns: Columns, key: Row) -> Iterable[Row]:
        """Give the rows of a relation that have the key in these columns."""
        ...

    def count(self, name: str, columns: Columns, key: Row) -> int:
        """How many rows have the key in these columns."""
        ...

    def fan(self, name: str, columns: Columns) -> float:
        """About how many rows have the same key in these columns."""
        ...


@frozen
class Reading:
    """What steps read: relations at one moment, at one literal the rows of a change instead."""

    reader: Reader
    budget: Budget
    delta: Overlay | None = None


_Taken: TypeAlias = "Callable[[list[Binding], Reading], list[Binding]]"


def getter(places: Sequence[int]) -> Callable[[Binding], Binding]:
    """Give a function that takes these places out of a tuple, as a tuple."""
    if not places:
        return lambda _: ()
    if len(places) == 1:
        (only,) = places
        return lambda one: (one[only],)
    return itemgetter(*places)


# --------------------------------------------------------------------------------------- steps


def taken(step: Step, delta: int | None) -> _Taken:
    """Give the function of a step; the literal `delta` reads the rows of the change."""
    match step:
        case Join():
            return _joined(step, changed=delta is not None and step.literal == delta)
        case Absence():
            return _absent(step)
        case Filter():
            left, right = value_of(step.left), value_of(step.right)
            holds = comparison(step.operator, step.kind)
            return lambda bindings, _: [one for one in bindings if holds(left(one), right(one))]
        case Compute():
            value = value_of(step.expression)
            return lambda bindings, _: [(*one, value(one)) for one in bindings]
        case Fold():
            return _folded(step)
        case _:
            assert_never(step)


def _joined(step: Join, *, changed: bool) -> _Taken:
    key, kept = getter(step.key), getter(step.kept)
    name, columns, same = step.predicate, step.columns, step.same
    exists = not step.kept and not same and not changed

    def join(bindings: list[Binding], reading: Reading) -> list[Binding]:
        found: list[Binding] = []
        reader = reading.reader
        if exists:
            return [one for one in bindings if reader.count(name, columns, key(one))]
        for one in bindings:
            if changed and reading.delta is not None:
                rows = reading.delta.find(columns, key(one))
            else:
                rows = reader.find(name, columns, key(one))
            if same:
                rows = [row for row in rows if all(row[a] == row[b] for a, b in same)]
            found += [one + kept(row) for row in rows]
        reading.budget.spend(len(found))
        return found

    return join


def _absent(step: Absence) -> _Taken:
    key, name, columns = getter(step.key), step.predicate, step.columns

    def absence(bindings: list[Binding], reading: Reading) -> list[Binding]:
        count = reading.reader.count
        return [one for one in bindings if not count(name, columns, key(one))]

    return absence


def _folded(step: Fold) -> _Taken:
    group = getter(step.group)
    total = _total(step)

    def folding(bindings: list[Binding], reading: Reading) -> list[Binding]:
        known: dict[Binding, Value | None] = {}
        found: list[Binding] = []
        for one in bindings:
            place = group(one)
            if place not in known:
                known[place] = total(place, reading)
            value = known[place]
            if value is not None:
                found.append((*one, value))
        return found

    return folding


def _total(step: Fold) -> Callable[[Binding, Reading], Value | None]:
    """Give the function that aggregates over one group."""
    (first, *more) = step.steps
    if step.function == "count" and not more and isinstance(first, Join) and not first.same:
        name, columns, key = first.predicate, first.columns, getter(first.key)
        constants = step.constants
        return lambda group, reading: reading.reader.count(name, columns, key(group + constants))
    steps = [taken(one, None) for one in step.steps]
    distinct = getter(step.distinct)
    target = None if step.target is None else value_of(step.target)

    def total(group: Binding, reading: Reading) -> Value | None:
        bindings = _through(steps, [group + step.constants], reading)
        members = {distinct(one): one for one in bindings}.values()
        values = [1 if target is None else target(one) for one in members]
        return fold(step.function, step.kind, values)

    return total


def _through(steps: Iterable[_Taken], bindings: list[Binding], reading: Reading) -> list[Binding]:
    for step in steps:
        if not bindings:
            break
        bindings = step(bindings, reading)
    return bindings


class Run:
    """A plan of one rule that can be run."""

    def __init__(self, plan: RulePlan, delta: int | None = None) -> None:
        self._plan = plan
        self._steps = [taken(one, delta) for one in plan.steps]
        self._head = _row_of(plan.head)

    def heads(self, reading: Reading) -> set[Row]:
        """Give the heads of all bindings."""
        bindings = _through(self._steps, [self._plan.constants], reading)
        return set(map(self._head, bindings))

    def gives(self, row: Row, reading: Reading) -> bool:
        """Whether a row follows; its columns are those that the plan takes as bound."""
        start = row + self._plan.constants
        if any(start[one] != start[other] for one, other in self._plan.checks):
            return False
        return self._deep(start, 0, row, reading)

    def _deep(self, binding: Binding, place: int, row: Row, reading: Reading) -> bool:
        """Take the steps binding by binding, so that the first that holds ends it."""
        if place == len(self._steps):
            return self._head(binding) == row
        found = self._steps[place]([binding], reading)
        return any(self._deep(one, place + 1, row, reading) for one in found)


def _row_of(head: Sequence[Expression]) -> Callable[[Binding], Row]:
    if all(isinstance(one, Slot) for one in head):
        return getter([one.place for one in head if isinstance(one, Slot)])
    values = [value_of(one) for one in head]
    return lambda binding: tuple([value(binding) for value in values])


# --------------------------------------------------------------------------------------- plans


@frozen
class Begun:
    """A rule begun at a change: of `source` its rows that came, or those that went.

    Where `negated`, what comes takes heads away and what goes gives them.
    """

    source: str
    negated: bool
    run: Run


@frozen
class Counted:
    """A rule begun at the groups of one of its aggregates that a change touches."""

    touched: tuple[Begun, ...]
    run: Run


@slotted
class PreparedRule:
    """One rule of the program, with its plans as they are first needed."""

    rule: Rule
    kinds: Mapping[str, Kind]
    reader: Reader
    _begun: tuple[Begun, ...] | None = None
    _counted: tuple[Counted, ...] | None = None
    _backward: Run | None = field(default=None)

    def begun(self) -> tuple[Begun, ...]:
        """Give the rule begun at each literal that names a relation."""
        if self._begun is None:
            self._begun = tuple(_begun(self.rule, self.kinds, self.reader))
        return self._begun

    def counted(self) -> tuple[Counted, ...]:
        """Give the rule begun at the groups of each of its aggregates."""
        if self._counted is None:
            places = [
                place for place, one in enumerate(self.rule.body) if isinstance(one, Aggregate)
            ]
            self._counted = tuple(self._counting(place) for place in places)
        return self._counted

    def backward(self) -> Run:
        """Give the rule with all columns of its head bound."""
        if self._backward is None:
            columns = tuple(range(len(self.rule.head.terms)))
            self._backward = Run(_plan(self.rule, columns, self.kinds, self.reader, None))
        return self._backward

    def _counting(self, place: int) -> Counted:
        aggregate = self.rule.body[place]
        if not isinstance(aggregate, Aggregate):
            raise TypeError(place)
        inner, names = _of_groups(aggregate, set(outer_names(self.rule)))
        touched = tuple(one for rule in inner for one in _begun(rule, self.kinds, self.reader))
        groups = Positive(Atom(GROUPS, tuple(Variable(name) for name in names)))
        rule = replace(self.rule, body=(*self.rule.body, groups))
        plan = _plan(rule, (), self.kinds, self.reader, groups)
        return Counted(touched, Run(plan, len(self.rule.body)))


def _begun(rule: Rule, kinds: Mapping[str, Kind], reader: Reader) -> Iterable[Begun]:
    for place, literal in enumerate(rule.body):
        match literal:
            case Positive(atom):
                plan = _plan(rule, (), kinds, reader, literal)
                yield Begun(atom.predicate, negated=False, run=Run(plan, place))
            case Negative(atom):
                changed = Positive(_renamed(atom, _names_beside(rule, place)))
                wider = replace(rule, body=(*rule.body, changed))
                plan = _plan(wider, (), kinds, reader, changed)
                yield Begun(atom.predicate, negated=True, run=Run(plan, len(rule.body)))
            case Comparison() | Aggregate():
                pass
            case _:
                assert_never(literal)


def _of_groups(aggregate: Aggregate, outer: set[str]) -> tuple[list[Rule], list[str]]:
    """Give rules for the groups of an aggregate, and the variables of their heads.

    What is compared with values from outside of the aggregate is left out: more groups are found
    than change. Where an atom cannot be read without them every group is touched.
    """
    bound: set[str] = set()
    kept: list[Positive | Negative | Comparison] = []
    left = list(aggregate.body)
    while ready := [one for one in left if _is_ready(one, bound, outer)]:
        kept += ready
        for one in ready:
            bound |= _bound_by(one, bound)
        left = [one for one in left if one not in ready]
    if any(not isinstance(one, Comparison) for one in left):
        atoms = [one.atom for one in aggregate.body if not isinstance(one, Comparison)]
        head = Atom(GROUPS, ())
        return [Rule("", head, (Positive(_renamed(one, set())),)) for one in atoms], []
    names = sorted(outer & bound & {one.name for one in literal_variables(aggregate)})
    head = Atom(GROUPS, tuple(Variable(name) for name in names))
    return [Rule("", head, tuple(kept))], names


def _is_ready(literal: Positive | Negative | Comparison, bound: set[str], outer: set[str]) -> bool:
    names = {one.name for one in literal_variables(literal)}
    match literal:
        case Positive(atom):
            return _applied(atom) <= bound
        case Negative(atom):
            return names & outer <= bound and _applied(atom) <= bound
        case Comparison():
            return names <= bound | _bound_by(literal, bound)


def _bound_by(literal: Literal, bound: set[str]) -> set[str]:
    match literal:
        case Positive(atom):
            return {term.name for term in atom.terms if isinstance(term, Variable)}
        case Comparison("=", Variable(name), other) | Comparison("=", other, Variable(name)):
            names = {one.name for one in term_variables(other)}
            return {name} if names <= bound else set()
        case _:
            return set()


def _applied(atom: Atom) -> set[str]:
    return {
        one.name for term in atom.terms if isinstance(term, Apply) for one in term_variables(term)
    }


def _names_beside(rule: Rule, place: int) -> set[str]:
    found = {one.name for term in rule.head.terms for one in term_variables(term)}
    for number, literal in enumerate(rule.body):
        if number == place:
            continue
        found |= {one.name for one in literal_variables(literal)}
    return found


def _renamed(atom: Atom, shared: set[str]) -> Atom:
    """Give an atom whose variables that nothing else names have names of their own.

    With nothing shared what is computed has such a name, too: the atom stands for itself.
    """

    def term(place: int, one: Term) -> Term:
        if isinstance(one, Variable) and one.name not in shared:
            return Variable(f"{one.name}'")
        return Variable(f"'{place}") if isinstance(one, Apply) and not shared else one

    return Atom(atom.predicate, tuple(term(place, one) for place, one in enumerate(atom.terms)))


def _plan(
    rule: Rule,
    columns: Columns,
    kinds: Mapping[str, Kind],
    reader: Reader,
    first: Literal | None,
) -> RulePlan:
    plain = replace(rule, attributes={})

    def rank(literal: Literal, known: set[str]) -> tuple[float, ...]:
        if literal is first:
            return (0.0,)
        match literal:
            case Comparison():
                return (1.0,)
            case Positive(atom):
                bound = _bound(atom.terms, known)
                if len(bound) == len(atom.terms):
                    return (2.0,)
                return (3.0, reader.fan(atom.predicate, bound) if bound else _MANY)
            case Negative():
                return (2.5,)
            case Aggregate():
                return (4.0,)

    return compile_rule(0, plain, columns, kinds, rank)


def _bound(terms: Sequence[Term], known: set[str]) -> Columns:
    return tuple(
        place
        for place, term in enumerate(terms)
        if isinstance(term, Constant) or {one.name for one in term_variables(term)} <= known
    )


# ------------------------------------------------------------------------- what is not maintained


def refusal(rule: Rule) -> str:
    """Why rows of a rule cannot be kept current one by one; empty where they can."""
    if rule.assumed:
        return f"rule {rule.id} is an assumption"
    for literal in rule.body:
        if isinstance(literal, Aggregate) and literal.recursive:
            return f"rule {rule.id} adds up its own recursion"
    return ""


def prepare(
    rules: Sequence[Rule], kinds: Sequence[Mapping[str, Kind]], reader: Reader
) -> dict[str, list[PreparedRule]]:
    """Give the rules by the predicate of their heads."""
    found: dict[str, list[PreparedRule]] = {}
    for rule, known in zip(rules, kinds, strict=True):
        found.setdefault(rule.head.predicate, []).append(PreparedRule(rule, known, reader))
    return found


# A row of a recursive relation has a mark: the round in which it came. Each row that is there has a
# derivation whose premises in its own stage came in earlier rounds, so no circle of rows supports
# itself. Rows that may have lost a derivation are looked at in the order of their marks: what has
# another derivation from earlier rows stays, without a look at anything else. What has none goes,
# and with it come those into doubt that came later by it. Rows that went are then tried again with
# everything that is left, as new rows with later marks.
# See Motik, Nenov, Piro and Horrocks, "Incremental update of Datalog materialisation: the
# backward/forward algorithm" (2015), and Gupta, Mumick and Subrahmanian, "Maintaining views
# incrementally" (1993).

_SHARE: Final = 0.02
"""Of the rows of everything, so many bindings may be made; above that all is evaluated anew."""
LEAST: Final = 20_000.0
"""So many bindings may be made however few rows there are."""


class NotKeptError(Exception):
    """What cannot be kept current: `str()` says why."""


@frozen
class Fact:
    """A row of an input that comes, or with `gone` one that goes."""

    predicate: str
    row: Row = field(hash=False)
    gone: bool = False


@frozen
class Changed:
    """Which rows of one relation came and went."""

    plus: Sequence[Row]
    minus: Sequence[Row]


@slotted
class Update:
    """What an update has changed, by predicate; `anew` says why everything was evaluated anew."""

    changed: Mapping[str, Changed]
    anew: str = ""
    touched: int = 0
    """How many bindings were made."""


@slotted
class _Stage:
    """A component: its predicates; `ranked` where the marks of its rows are rounds."""

    predicates: tuple[str, ...]
    recursive: bool
    ranked: bool = False
    top: int = 0


class Maintained:
    """The relations below some predicates, kept current. Not for several threads at once."""

    def __init__(
        self,
        program: AnalysedProgram,
        wanted: Sequence[str],
        inputs: Mapping[str, Iterable[Row]] | None = None,
        resources: Resources | None = None,
        least: float = LEAST,
    ) -> None:
        """Evaluate everything once, or nothing without inputs. Raises `NotKeptError`."""
        self.least = least
        self.wanted = tuple(wanted)
        self.codes = Codes()
        self._resources = resources or Resources()
        below = _below(program, wanted)
        why = next(iter(reasons(program, below)), "")
        if why:
            raise NotKeptError(why)
        # What nobody asks for may be open.
        self.program = program = _restricted(program, below)
        predicates = program.program.predicates
        heads = rules_by_head(program)
        self.inputs = tuple(name for name in sorted(below) if name not in heads)
        self.derived = tuple(name for name in sorted(below) if name in heads)
        self.relations = {
            name: Kept(name, predicates[name].kinds, self.codes) for name in sorted(below)
        }
        self.stages = [_Stage(one.predicates, one.recursive) for one in program.components]
        self._changes: dict[str, Change] = {}
        self.marked_anew: dict[str, dict[Row, int]] = {}
        self._now: Reader = _Now(self.relations)
        self._before: Reader = _Before(self.relations, self._changes)
        self._rules = prepare(program.rules, program.variable_kinds, self._now)
        if inputs is not None:
            for name in self.inputs:
                self._fill(name, inputs.get(name, ()))
            self._evaluate()

    def _fill(self, name: str, rows: Iterable[Row]) -> None:
        kept = self.relations[name]
        listed = list(dict.fromkeys(rows))
        columns = [
            self.codes.numbers(kind, [row[place] for row in listed])
            for place, kind in enumerate(kept.kinds)
        ]
        kept.put(columns, np.zeros(len(listed), dtype=np.int64))

    def rows(self, name: str) -> Iterator[Row]:
        """Give the rows of a relation, in no particular order."""
        return iter(self.relations[name])

    @property
    def size(self) -> int:
        """How many rows there are in all relations."""
        return sum(map(len, self.relations.values()))

    # --------------------------------------------------------------------------------- updates

    def update(self, facts: Iterable[Fact]) -> Update:
        """Take changes of inputs in their order, and bring everything up to date.

        Raises `NotKeptError` where what follows cannot be kept; then everything is as it was.
        """
        self._changes.clear()
        self.marked_anew.clear()
        for fact in facts:
            self._take(fact)
        given = max(_SHARE * self.size, self.least)
        budget = Budget(given)
        try:
            for stage in self.stages:
                self._settle(stage, budget)
        except TooMuchError:
            why = "the change touches much of what is kept"
        except EvaluationError as problem:
            why = f"a rule errs: {problem}"
        else:
            return Update(self._told(), touched=int(given - budget.left))
        return self._anew(why)

    def _take(self, fact: Fact) -> None:
        if fact.predicate not in self.inputs:
            raise KeyError(fact.predicate)
        if fact.gone:
            if self.relations[fact.predicate].has(fact.row):
                self._remove(fact.predicate, fact.row)
        elif not self.relations[fact.predicate].has(fact.row):
            self._add(fact.predicate, fact.row, 0)

    def _told(self) -> dict[str, Changed]:
        return {
            name: Changed(list(one.plus.rows), list(one.minus.rows))
            for name, one in self._changes.items()
            if one
        }

    def marks(self, name: str) -> Iterator[tuple[Row, int | None, int | None]]:
        """Give the rows that the last update altered, each with the mark it had and has."""
        change = self._changes.get(name, Change())
        for row, mark in change.plus.rows.items():
            yield row, None, mark
        for row, mark in change.minus.rows.items():
            yield row, mark, None
        kept = self.relations[name]
        for row, mark in self.marked_anew.get(name, {}).items():
            if row not in change.plus.rows and row not in change.minus.rows:
                yield row, mark, kept.mark(row)

    def _change(self, name: str) -> Change:
        found = self._changes.get(name)
        if found is None:
            found = self._changes[name] = Change()
        return found

    def _add(self, name: str, row: Row, mark: int) -> None:
        self.relations[name].add(row, mark)
        change = self._change(name)
        if row in change.minus.rows:
            before = change.minus.remove(row)
            if before != mark:
                self.marked_anew.setdefault(name, {}).setdefault(row, before)
        else:
            change.plus.add(row, mark)

    def _remove(self, name: str, row: Row) -> None:
        mark = self.relations[name].remove(row)
        change = self._change(name)
        if row in change.plus.rows:
            change.plus.remove(row)
        else:
            mark = self.marked_anew.get(name, {}).pop(row, mark)
            change.minus.add(row, mark)

    # ---------------------------------------------------------------------------------- stages

    def _settle(self, stage: _Stage, budget: Budget) -> None:
        lost = self._touched(stage, budget, lost=True)
        if stage.recursive:
            gone = self._delete(stage, lost, budget)
            # What a stage gains is found once nothing is in it that has gone.
            self._insert(stage, gone, self._touched(stage, budget, lost=False), budget)
            return
        gained = self._touched(stage, budget, lost=False)
        (name,) = stage.predicates
        for row in lost[name] - gained[name]:
            if self.relations[name].has(row) and not self._follows(name, row, budget):
                self._remove(name, row)
        for row in gained[name]:
            if not self.relations[name].has(row):
                self._add(name, row, 0)

    def _touched(self, stage: _Stage, budget: Budget, *, lost: bool) -> dict[str, set[Row]]:
        """Give the rows that changes of other stages may take away, or those that they give."""
        found: dict[str, set[Row]] = {name: set() for name in stage.predicates}
        own = set(stage.predicates) if stage.recursive else set[str]()
        before, now = Reading(self._before, budget), Reading(self._now, budget)
        reading = before if lost else now
        for name, rows in found.items():
            for rule in self._rules.get(name, ()):
                if not self._may_touch(rule):
                    continue
                for begun in rule.begun():
                    if begun.source not in own:
                        minus, plus = self._sides(begun)
                        _run(begun.run, reading, minus if lost else plus, rows)
                for counted in rule.counted():
                    groups = self._groups(counted.touched, before, now)
                    _run(counted.run, reading, groups, rows)
        return found

    def _may_touch(self, rule: PreparedRule) -> bool:
        """Whether a relation that a rule reads has changed, before plans are made for it."""
        return any(self._changes.get(name) for one in rule.rule.body for name in predicates_of(one))

    def _sides(self, begun: Begun) -> tuple[Overlay, Overlay]:
        change = self._changes.get(begun.source)
        if change is None:
            return Overlay(), Overlay()
        return (change.plus, change.minus) if begun.negated else (change.minus, change.plus)

    def _groups(self, touched: Sequence[Begun], before: Reading, now: Reading) -> Overlay:
        found: set[Row] = set()
        for begun in touched:
            minus, plus = self._sides(begun)
            _run(begun.run, before, minus, found)
            _run(begun.run, now, plus, found)
        groups = Overlay()
        for row in found:
            groups.add(row, 0)
        return groups

    def _follows(self, name: str, row: Row, budget: Budget, reader: Reader | None = None) -> bool:
        reading = Reading(reader or self._now, budget)
        return any(rule.backward().gives(row, reading) for rule in self._rules.get(name, ()))

    def _delete(
        self, stage: _Stage, lost: Mapping[str, set[Row]], budget: Budget
    ) -> dict[str, set[Row]]:
        """Take away what has no derivation from earlier rows; give what went."""
        gone: dict[str, set[Row]] = {name: set() for name in stage.predicates}
        doubted = _Doubted(stage.ranked)
        for name, rows in lost.items():
            for row in rows:
                doubted.add(name, row, self.relations[name].mark(row))
        before = Reading(self._before, budget)
        while doubted:
            mark, rows_of = doubted.next()
            went = self._lost_at(stage, mark, rows_of, budget)
            for name, overlay in went.items():
                for row in overlay.rows:
                    self._remove(name, row)
                    gone[name].add(row)
            for name, heads in self._led(stage, went, before).items():
                for row in heads:
                    doubted.add(name, row, self.relations[name].mark(row), after=mark)
        return gone

    def _lost_at(
        self, stage: _Stage, mark: int, rows_of: Mapping[str, set[Row]], budget: Budget
    ) -> dict[str, Overlay]:
        """Give those of some rows of one round that follow no more from earlier ones."""
        went: dict[str, Overlay] = defaultdict(Overlay)
        earlier = _Earlier(self.relations, stage.predicates, mark)
        for name, rows in rows_of.items():
            budget.spend(len(rows))
            for row in rows:
                if not self.relations[name].has(row):
                    continue
                if not stage.ranked or not self._follows(name, row, budget, earlier):
                    went[name].add(row, 0)
        return went

    def _led(
        self, stage: _Stage, delta: Mapping[str, Overlay], reading: Reading
    ) -> dict[str, set[Row]]:
        """Give what rows of the stage itself lead to in one step."""
        found: dict[str, set[Row]] = {name: set() for name in stage.predicates}
        for name in stage.predicates:
            for rule in self._rules.get(name, ()):
                for begun in rule.begun():
                    if begun.source in delta:
                        _run(begun.run, reading, delta[begun.source], found[name])
        return found

    def _insert(
        self,
        stage: _Stage,
        gone: Mapping[str, set[Row]],
        gained: Mapping[str, set[Row]],
        budget: Budget,
    ) -> None:
        """Add what follows now, round by round; what went is tried again first."""
        now = Reading(self._now, budget)
        heads = {
            name: gained[name]
            | {row for row in gone[name] - gained[name] if self._follows(name, row, budget)}
            for name in stage.predicates
        }
        while True:
            delta: dict[str, Overlay] = {}
            for name, rows in heads.items():
                fresh = [row for row in rows if not self.relations[name].has(row)]
                if fresh:
                    delta[name] = Overlay()
                for row in fresh:
                    delta[name].add(row, 0)
            if not delta:
                return
            stage.top += 1
            for name, overlay in delta.items():
                for row in overlay.rows:
                    self._add(name, row, stage.top)
            heads = self._led(stage, delta, now)

    # -------------------------------------------------------------------------------- all anew

    def _anew(self, why: str) -> Update:
        """Evaluate everything anew over the changed inputs, and tell what is different."""
        self._undo(self.derived)
        before = {name: self.relations[name].arrays()[0] for name in self.derived}
        sizes = {name: len(self.relations[name]) for name in self.derived}
        inputs = {name: one for name, one in self._changes.items() if name in self.inputs}
        told = {
            name: Changed(list(one.plus.rows), list(one.minus.rows))
            for name, one in inputs.items()
            if one
        }
        try:
            self._evaluate(plain=not self._is_linear())
        except BaseException:
            self._undo(self.inputs)
            raise
        for name in self.derived:
            changed = self._difference(name, before[name], sizes[name])
            if changed.plus or changed.minus:
                told[name] = changed
        self._changes.clear()
        self.marked_anew.clear()
        return Update(told, anew=why, touched=self.size)

    def _undo(self, names: Iterable[str]) -> None:
        for name in names:
            kept = self.relations[name]
            for row, mark in self.marked_anew.pop(name, {}).items():
                kept.remove(row)
                kept.add(row, mark)
            change = self._changes.pop(name, None)
            if change is None:
                continue
            for row in change.plus.rows:
                kept.remove(row)
            for row, mark in change.minus.rows.items():
                kept.add(row, mark)

    def _difference(self, name: str, before: Sequence[Array], size: int) -> Changed:
        kept = self.relations[name]
        if not kept.kinds:
            return Changed([()] * (len(kept) > size), [()] * (size > len(kept)))
        after = kept.arrays()[0]
        gone, came = difference(before, after)
        return Changed(_Spelled(self, name, after, came), _Spelled(self, name, before, gone))

    def _evaluate(self, *, plain: bool = False) -> None:
        """Evaluate everything. Raises `NotKeptError` where it is more than rows that are sure.

        With `plain` without rounds, which is faster: then what may have lost a derivation goes, and
        is tried again.
        """
        predicates = self.program.program.predicates
        atoms = [
            Atom(name, tuple(Variable(one.name) for one in predicates[name].columns))
            for name in self.derived
        ]
        inputs = {name: self._input(name) for name in self.inputs}
        recursive = any(stage.recursive for stage in self.stages) and not plain
        options = Options(
            self._resources,
            strategy=Strategy.BITMAP if recursive else None,
            magic=False,
            stamps=recursive,
            rewrite=plain,
        )
        with evaluate(self.program, atoms, inputs, options) as results:
            why = next(_openings(results), "")
            if why:
                raise NotKeptError(why)
            found = {name: self._read(results, place) for place, name in enumerate(self.derived)}
            stamped = set(results.database.stamped)
            ranked = [name for n, name in enumerate(self.derived) if results.relation(n) in stamped]
        for name, (columns, marks) in found.items():
            self.relations[name].put(columns, marks)
        self.rank(ranked)

    def _is_linear(self) -> bool:
        """Whether no rule reads its own stage twice: then rounds cost next to nothing."""
        return all(
            sum(name in stage.predicates for one in rule.rule.body for name in predicates_of(one))
            <= 1
            for stage in self.stages
            for name in stage.predicates
            for rule in self._rules.get(name, ())
        )

    def rank(self, names: Iterable[str]) -> None:
        """Say which relations have marks that are rounds."""
        marked = set(names)
        for stage in self.stages:
            stage.ranked = stage.recursive and set(stage.predicates) <= marked
            tops = [_highest(self.relations[name]) for name in stage.predicates]
            stage.top = max(tops, default=0)

    def _input(self, name: str) -> Input:
        kept = self.relations[name]
        if kept.kinds and all(kind is Kind.NUMBER for kind in kept.kinds):
            return Frame(_Numbers(kept.arrays()[0]))
        return Rows(list(kept))

    def _read(self, results: Results, place: int) -> tuple[list[Array], Array | None]:
        """Take a relation out of the results, with the rounds in which its rows came."""
        name = results.relation(place)
        database = results.database
        relation = database.relation(name)
        kinds = self.relations[self.derived[place]].kinds
        integers = all(
            encoded or kind is Kind.NUMBER
            for kind, encoded in zip(relation.kinds, relation.encoded, strict=True)
        )
        if integers and kinds:
            stamped = name in database.stamped
            arrays = list(database.stamped_columns(name) if stamped else database.columns(name))
            marks = arrays.pop() if stamped else None
            columns = [
                self._numbered(results, kind, array) if encoded else array
                for kind, encoded, array in zip(kinds, relation.encoded, arrays, strict=True)
            ]
            return columns, marks
        pairs = _stamped_rows(results, name)
        rows = [row for row, _ in pairs]
        columns = [
            self.codes.numbers(kind, [row[n] for row in rows]) for n, kind in enumerate(kinds)
        ]
        return columns, np.array([mark for _, mark in pairs], dtype=np.int64)

    def _numbered(self, results: Results, kind: Kind, array: Array) -> Array:
        """Give our numbers for those of the dictionary of an evaluation."""
        numbers, places = np.unique(array, return_inverse=True)
        texts = results.database.texts(numbers.tolist())
        return self.codes.numbers(kind, texts)[places]


def _run(run: Run, reading: Reading, delta: Overlay, into: set[Row]) -> None:
    if delta.rows:
        into |= run.heads(Reading(reading.reader, reading.budget, delta))


def _stamped_rows(results: Results, name: str) -> list[tuple[Row, int]]:
    try:
        batches = list(results.database.rounds(name))
    except StrategyError:
        return [(row, 0) for batch in results.database.rows(name) for row in batch]
    return [pair for batch in batches for pair in batch]


def _highest(kept: Kept) -> int:
    base = int(kept.marks.max()) if len(kept.marks) else 0
    return max(base, *kept.added.rows.values(), 0)


class _Doubted:
    """Rows that may have lost a derivation, in the order of their marks."""

    def __init__(self, ranked: bool) -> None:  # noqa: FBT001  the one thing that there is to say
        self._ranked = ranked
        self._levels: dict[int, dict[str, set[Row]]] = {}
        self._order: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._order)

    def add(self, name: str, row: Row, mark: int | None, after: int = -1) -> None:
        """Take a row; one that is not there, or came no later than what went, is in no doubt."""
        if mark is None or (self._ranked and mark <= after):
            return
        level = mark if self._ranked else 0
        if level not in self._levels:
            self._levels[level] = {}
            heappush(self._order, level)
        self._levels[level].setdefault(name, set()).add(row)

    def next(self) -> tuple[int, dict[str, set[Row]]]:
        """Give the rows of the earliest round."""
        level = heappop(self._order)
        return level, self._levels.pop(level)


@frozen
class _Now:
    """The rows as they are."""

    relations: Mapping[str, Kept]

    def find(self, name: str, columns: Columns, key: Row) -> Iterable[Row]:
        return self.relations[name].find(columns, key)

    def count(self, name: str, columns: Columns, key: Row) -> int:
        return self.relations[name].count(columns, key)

    def fan(self, name: str, columns: Columns) -> float:
        return self.relations[name].fan(columns)


@frozen
class _Before:
    """The rows as they were before the update."""

    relations: Mapping[str, Kept]
    changes: Mapping[str, Change]

    def find(self, name: str, columns: Columns, key: Row) -> Iterable[Row]:
        found = self.relations[name].find(columns, key)
        change = self.changes.get(name)
        if not change:
            return found
        plus = change.plus.rows
        if plus:
            found = [row for row in found if row not in plus]
        return [*found, *change.minus.find(columns, key)]

    def count(self, name: str, columns: Columns, key: Row) -> int:
        found = self.relations[name].count(columns, key)
        change = self.changes.get(name)
        if not change:
            return found
        return found - change.plus.count(columns, key) + change.minus.count(columns, key)

    def fan(self, name: str, columns: Columns) -> float:
        return self.relations[name].fan(columns)


@frozen
class _Earlier:
    """The rows as they are; of a stage's own relations those that came before a round."""

    relations: Mapping[str, Kept]
    own: tuple[str, ...]
    mark: int

    def find(self, name: str, columns: Columns, key: Row) -> Iterable[Row]:
        kept = self.relations[name]
        found = kept.find(columns, key)
        if name not in self.own:
            return found
        return [row for row in found if cast("int", kept.mark(row)) < self.mark]

    def count(self, name: str, columns: Columns, key: Row) -> int:
        if name not in self.own:
            return self.relations[name].count(columns, key)
        kept = self.relations[name]
        return sum(cast("int", kept.mark(row)) < self.mark for row in kept.find(columns, key))

    def fan(self, name: str, columns: Columns) -> float:
        return self.relations[name].fan(columns)


class _Spelled(Sequence["Row"]):
    """Rows of arrays that are spelled when somebody looks at them."""

    def __init__(
        self, owner: Maintained, name: str, columns: Sequence[Array], chosen: np.ndarray
    ) -> None:
        self._owner = owner
        self._kinds = owner.relations[name].kinds
        self._columns = [one[chosen] for one in columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, place: int | slice) -> Row | list[Row]:  # type: ignore[override]
        if isinstance(place, slice):
            return self._rows([one[place] for one in self._columns])
        (row,) = self._rows([one[place : place + 1 or None] for one in self._columns])
        return row

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows(self._columns))

    def _rows(self, columns: Sequence[Array]) -> list[Row]:
        codes = self._owner.codes
        spelled = [codes.values(kind, one) for kind, one in zip(self._kinds, columns, strict=True)]
        return list(zip(*spelled, strict=True))


class _Numbers:
    """Arrays as an Arrow stream."""

    def __init__(self, columns: Sequence[Array]) -> None:
        self._columns = columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        connection = set_up_duckdb(duckdb.connect())
        connection.register("rows", {f"c{n}": one for n, one in enumerate(self._columns)})
        return connection.sql("SELECT * FROM rows").__arrow_c_stream__(requested_schema)


# --------------------------------------------------------------------------------- what is kept


def _below(program: AnalysedProgram, wanted: Iterable[str]) -> set[str]:
    heads = rules_by_head(program)
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for number in heads.get(name, ()):
                for literal in program.rules[number].body:
                    waiting += predicates_of(literal)
    return found


def _restricted(program: AnalysedProgram, below: set[str]) -> AnalysedProgram:
    numbers = [n for n, one in enumerate(program.rules) if one.head.predicate in below]
    rules = tuple(program.rules[n] for n in numbers)
    return replace(
        program,
        program=replace(program.program, rules=rules),
        rules=rules,
        variable_kinds=tuple(program.variable_kinds[n] for n in numbers),
        components=tuple(one for one in program.components if below & set(one.predicates)),
    )


def reasons(program: AnalysedProgram, below: Iterable[str]) -> Iterator[str]:
    """Say what of a program cannot be kept current row by row."""
    names = set(below)
    heads = rules_by_head(program)
    for name in sorted(names):
        predicate = program.program.predicates[name]
        if predicate.given:
            yield f"`{name}` has columns that are given"
        if name in heads and name in program.external:
            yield f"`{name}` has rules and rows from outside"
        for number in heads.get(name, ()):
            why = refusal(program.rules[number])
            if why:
                yield why


def _openings(results: Results) -> Iterator[str]:
    """Say what of an evaluation is more than rows that are there for certain."""
    yield from (f"`{name}`: {why}" for name, why in results.left.items())
    yield from (f"`{name}` is not settled for certain" for name in results.erring)
    yield from (f"`{name}`: {why}" for name, why in results.loose.items())
    for place, atom in enumerate(results.wanted):
        if not results.is_closed(place):
            yield f"`{atom.predicate}` is not settled for certain"
