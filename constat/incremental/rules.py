"""Rules as steps over rows that change: from a change, from a row backwards, and groups of sums.

In: a rule, and relations that are read as they are now or as they were before. Out: the heads that
a change touches, and whether a row still follows. Invariants: what a change touches is never less
than what it alters; what is computed is computed by the functions of the language, and what errs
raises `EvaluationError`. Example: of `path(a, c) :- path(a, b), edge(b, c).` a change of `edge`
gives the rule begun at its second literal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, assert_never

from constat.engine.batch import value_of
from constat.frozen import frozen
from constat.incremental.relations import Overlay
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
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
from constat.plan.compilation import compile_rule
from constat.plan.operators import Absence, Compute, Filter, Fold, Join, Slot

if TYPE_CHECKING:
    from constat.logic import Row, Value
    from constat.plan.operators import Columns, Expression, RulePlan, Step

GROUPS: Final = "groups"
"""The relation that holds the groups of an aggregate that a change touches."""
_MANY: Final = float(1 << 40)
Binding: TypeAlias = "tuple[Value, ...]"


class TooMuchError(Exception):
    """A change that touches so much that everything is better computed anew."""


@dataclass(slots=True)
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


@dataclass(slots=True)
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
