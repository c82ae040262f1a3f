"""Which facts may be supposed at which cost, and the states of a search for them."""

from __future__ import annotations

from dataclasses import field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from constat.analysis.attributes import ABDUCIBLE, REMOVABLE, cost_from, declared_cost
from constat.frozen import frozen
from constat.logic import Aggregate, Constant, Kind, Negative, Positive, Variable, outer_names
from constat.proof.symbolic import (
    Binding,
    Cell,
    Condition,
    Hole,
    Linear,
    UnsolvedError,
    condition,
    is_value,
    number_of,
)
from constat.proof.worlds import Delta

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, Literal, Row, Term, Value

# Nothing is abducible unless somebody says so; costs are exact decimals above 0, so that a search
# by cost ends.
# What is named and derived stands for what it rests on: see `leaves_below` of the worlds.


@frozen
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


# Conditions speak of values to be chosen that are not bound; binding such a value tests its
# conditions or hands them on.

Conclusion = tuple[str, tuple[object, ...]]


@frozen
class Show:
    """A literal of a rule to show, with the holes of its variables.

    ``above`` are the conclusions it serves, so that recursion ends. With ``fresh`` it must not
    hold yet: a row has to be supposed, or one premise of its rule is new. ``beyond`` is the last
    change that was made for an aggregate, so that each set of changes is made in one order; with
    ``empty`` the aggregate must have no value.
    """

    literal: Literal
    env: Mapping[str, int]
    rule: int = -1
    above: tuple[Conclusion, ...] = ()
    fresh: bool = False
    beyond: str = ""
    empty: bool = False


@frozen
class Deny:
    """A row that must not hold.

    With ``late`` that is looked at once everything else is shown, with values for what is open.
    """

    predicate: str
    row: Row
    late: bool = False


@frozen
class Equate:
    """A hole that becomes ``factor * target + offset``; without a target, the offset.

    ``than`` requires the target to be beyond what there is: an operator and a value.
    """

    hole: int
    target: Term | None
    env: Mapping[str, int]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    than: tuple[str, Value] | None = None


Task = Show | Deny | Equate


@frozen
class Supposed:
    """A row that is supposed; its cells may be values to be chosen."""

    predicate: str
    cells: tuple[Cell, ...]


@frozen
class Made:
    """A structure that is made of values to be chosen: the hole it fills, and its parts.

    ``names`` are those of the variables in the pattern, empty for other parts.
    """

    hole: int
    constructor: str
    parts: tuple[Cell, ...]
    kinds: tuple[Kind, ...]
    names: tuple[str, ...]


@frozen
class Demanded:
    """A literal that was found to hold, with the holes of its variables.

    Where values are still to be chosen it may hold for some of them only.
    """

    literal: Positive | Negative
    env: Mapping[str, int]


@frozen
class Grouped:
    """An aggregate whose value was taken, with so many supposed rows that take part."""

    literal: Aggregate
    rows: int


@frozen
class State:
    """What is left to show, and what was supposed to get there."""

    cost: Decimal
    tasks: tuple[Task, ...]
    bound: Mapping[int, Cell]
    kinds: Mapping[int, Kind]
    free: frozenset[int] = frozenset()
    added: tuple[Supposed, ...] = ()
    removed: frozenset[tuple[str, Row]] = frozenset()
    conditions: tuple[Condition, ...] = ()
    made: tuple[Made, ...] = ()
    demanded: tuple[Demanded, ...] = ()
    grouped: tuple[Grouped, ...] = ()
    binding: Binding = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "binding", Binding(self.bound, self.kinds, self.free))

    @property
    def delta(self) -> Delta:
        """What is supposed, as far as it has all its values."""
        rows = set()
        for one in self.added:
            cells = tuple(self.binding.follow(cell) for cell in one.cells)
            if all(map(is_value, cells)):
                rows.add((one.predicate, cells))
        return Delta(frozenset(rows), self.removed)  # type: ignore[arg-type]  # values only


def start_state(goal: Atom, program: AnalysedProgram) -> State:
    """Return the state in which a goal is to be shown."""
    kinds: dict[int, Kind] = {}
    env: dict[str, int] = {}
    columns = program.program.predicates[goal.predicate].kinds
    for term, kind in zip(goal.terms, columns, strict=True):
        if isinstance(term, Variable):
            env[term.name] = len(kinds)
            kinds[env[term.name]] = kind
    return State(Decimal(0), (Show(Positive(goal), env),), {}, kinds)


def with_holes(state: State, named: Mapping[str, Kind]) -> tuple[dict[str, int], State]:
    """Give fresh holes for variables."""
    first = len(state.kinds)
    env = {name: first + place for place, name in enumerate(named)}
    kinds = {**state.kinds, **{env[name]: kind for name, kind in named.items()}}
    return env, replace(state, kinds=kinds)


def with_rule(state: State, program: AnalysedProgram, number: int) -> tuple[dict[str, int], State]:
    """Give fresh holes for the variables of a rule that are not local to an aggregate."""
    kinds = program.variable_kinds[number]
    return with_holes(state, {name: kinds[name] for name in outer_names(program.rules[number])})


def unified(state: State, cells: Sequence[Cell], others: Sequence[Cell]) -> State | None:
    """Make two rows equal; ``None`` where they cannot be."""
    found: State | None = state
    for one, other in zip(cells, others, strict=True):
        if found is None:
            return None
        found = _equal(found, found.binding.follow(one), found.binding.follow(other))
    return found


def _equal(state: State, left: Cell, right: Cell) -> State | None:
    if left == right:
        return state
    if is_value(left) and is_value(right):
        return None
    if is_value(left) or (isinstance(right, Hole) and not state.binding.is_free(right)):
        left, right = right, left
    if isinstance(left, Hole) and not (isinstance(right, Linear) and right.hole == left.number):
        return bind(state, left.number, right)
    if isinstance(right, Hole):
        return bind(state, right.number, left)
    if isinstance(left, Linear) and is_value(right):
        chosen = (Fraction(right) - left.offset) / left.factor  # type: ignore[arg-type]  # a number
        try:
            return bind(state, left.hole, number_of(chosen, state.kinds[left.hole]))
        except UnsolvedError:
            return None
    raise UnsolvedError("two values that are to be chosen and depend on each other")


def bind(state: State, hole: int, cell: Cell) -> State | None:
    """Bind a hole that stands for itself; its conditions are tested or handed on."""
    own = [one for one in state.conditions if one.hole == hole]
    rest = tuple(one for one in state.conditions if one.hole != hole)
    found: State | None = replace(
        state, bound={**state.bound, hole: cell}, conditions=rest if own else state.conditions
    )
    for one in own:
        if found is not None:
            kind = state.kinds[hole]
            found = constrained(found, one.operator, found.binding.follow(cell), one.bound, kind)
    return found


def constrained(state: State, operator: str, left: Cell, right: Cell, kind: Kind) -> State | None:
    """Require a comparison; ``None`` where it is false."""
    found = condition(operator, left, right, kind, state.kinds)
    if isinstance(found, bool):
        return state if found else None
    if found in state.conditions:
        return state
    return replace(state, conditions=(*state.conditions, found))


def constants_of(env: Mapping[str, int], state: State, names: Sequence[str]) -> dict[str, Constant]:
    """Return the values of variables as constants; each of them has one."""
    found = {}
    for name in names:
        cell = state.binding.follow(Hole(env[name]))
        if not is_value(cell):
            raise UnsolvedError("an aggregate for a group that is to be chosen")
        found[name] = Constant(cell, state.kinds[env[name]])  # type: ignore[arg-type]  # a value
    return found
