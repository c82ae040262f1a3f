"""Find the cheapest sets of facts that would prove a goal: abduction, by uniform cost.

In: a goal, the world it does not hold in, and what may be supposed or taken away at which cost.
Out: ``Found`` sets, the cheapest first, and how far the search got.  Invariants: states are taken
in the order of their cost, so no cheaper set of those the search can find is missed; each set is
tried in the world it supposes, with values for what is left open, and dropped if it does not prove
the goal there or a part of it does; a construct that is not searched is named, never passed over.

A state is what remains to be shown. A row is taken from the world, or supposed; a conclusion is
taken from the world, or its rules are tried; an absence that fails takes a row away, or a premise
of each derivation. See Kakas, Kowalski and Toni, Abductive logic programming (1992).
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import field, replace
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from constat.evaluation import ABSENT, CONCEIVABLE, LimitReachedError, RuleDerivation
from constat.frozen import frozen, slotted
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    OPEN,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    NullCell,
    Positive,
    Variable,
    implementation,
    is_constructor,
    is_wildcard,
    literal_variables,
    local_names,
    term_variables,
)
from constat.proof.obstacles import substituted
from constat.proof.suppositions import (
    Demanded,
    Deny,
    Equate,
    Grouped,
    Made,
    Show,
    State,
    Supposed,
    Task,
    constants_of,
    constrained,
    start_state,
    unified,
    with_holes,
    with_rule,
)
from constat.proof.symbolic import (
    Binding,
    Cell,
    Hole,
    Linear,
    UnsolvedError,
    as_linear,
    evaluated,
    is_value,
    kind_of,
    scaled,
)
from constat.proof.worlds import Chosen, Delta, witnesses
from constat.proof.written import LEFT_OUT, as_written, pattern_sides
from constat.syntax import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Column, Literal, OpenRow, Row, Rule, Structures, Term, Value
    from constat.proof.suppositions import Abducibles, Conclusion
    from constat.proof.worlds import Worlds

# One step of abduction: take the readiest task of a state, give the states in which it is done.

# The present value is the engine's, in the state's world.

MOST_COUNTED: Final = 8
_MOST_CHANGED: Final = 16


class Searching(Protocol):
    """What an aggregate needs of the search."""

    worlds: Worlds
    costs: Abducibles
    unsolved: set[str]
    bounded: set[str]
    relevant: frozenset[str]


def group_names(literal: Aggregate, env: Mapping[str, int]) -> tuple[str, ...]:
    """Return the variables that an aggregate takes from outside."""
    names = dict.fromkeys(one.name for one in literal_variables(literal))
    return tuple(name for name in names if name in env and name != literal.result.name)


def is_group_bound(literal: Aggregate, env: Mapping[str, int], binding: Binding) -> bool:
    """Tell whether the variables that an aggregate takes from outside have values."""
    cells = [binding.follow(Hole(env[name])) for name in group_names(literal, env)]
    return all(map(is_value, cells))


def grouped(searching: Searching, literal: Aggregate, task: Show, state: State) -> Iterator[State]:
    """Yield the states in which an aggregate has its value, now or with other rows."""
    group = _Group(searching, literal, task, state)
    if task.empty and group.now is None:
        yield group.taken(state, 0)
    elif not task.empty:
        if not task.fresh:
            yield from group.as_it_is()
        yield from group.with_rows()
    yield from group.changed()


class _Group:
    """One aggregate for one group."""

    def __init__(self, searching: Searching, literal: Aggregate, task: Show, state: State) -> None:
        self.searching = searching
        self.literal = literal
        self.task = task
        self.state = state
        self.program = searching.worlds.program
        self.rule = self.program.rules[task.rule]
        self.kinds: dict[str, Kind] = dict(self.program.variable_kinds[task.rule])
        values = constants_of(task.env, state, group_names(literal, task.env))
        body = tuple(substituted(inner, values) for inner in literal.body)
        target = literal.target
        if isinstance(target, Variable) and target.name in values:
            target = values[target.name]
        self.ground = replace(literal, body=body, target=target)  # type: ignore[arg-type]
        self.locals = local_names(self.rule, literal)
        self.now = self.value(self.ground)
        if self.now is None and literal.function in {"count", "sum"}:
            told = f"an aggregate of {self.rule.id} over rows that are not all known"
            searching.unsolved.add(told)

    def value(self, aggregate: Aggregate) -> Value | None:
        """Return the value in the state's world; ``None`` where there is none."""
        rows = self.searching.worlds.group(aggregate, self.kinds, self.state.delta)
        known = rows and not isinstance(rows[0][0], NullCell)
        return rows[0][0] if known else None

    def as_it_is(self) -> Iterator[State]:
        """Take the present value."""
        if self.now is not None:
            found = unified(
                self.state, (Hole(self.task.env[self.literal.result.name]),), (self.now,)
            )
            if found is not None:
                yield self.taken(found, 0)

    def taken(self, state: State, rows: int) -> State:
        """Note that the value was taken, with so many supposed rows that take part."""
        return replace(state, grouped=(*state.grouped, Grouped(self.ground, rows)))

    def with_rows(self) -> Iterator[State]:
        """Suppose rows that take part."""
        for place, inner in enumerate(self.literal.body):
            if not isinstance(inner, Positive):
                continue
            name = inner.atom.predicate
            if name in self.searching.costs.added or name in self.searching.relevant:
                most = MOST_COUNTED if self.literal.function == "count" else 1
                self.searching.bounded.add(
                    f"more than {most} more rows of {name} in an aggregate of {self.rule.id}"
                )
                for count in range(1, most + 1):
                    yield from self.with_fresh(place, count)

    def with_fresh(self, place: int, count: int) -> Iterator[State]:
        """Suppose so many rows of one literal of the body."""
        state, env, above = self.state, self.task.env, self.task.above
        tasks: list[Show | Equate] = []
        for _ in range(count):
            holes, state = with_holes(state, {name: self.kinds[name] for name in self.locals})
            env = {**self.task.env, **holes}
            # The new row first: the rest of the body then speaks about it.
            tasks.append(Show(self.literal.body[place], env, self.task.rule, above, fresh=True))
            tasks += [
                Show(inner, env, self.task.rule, above)
                for at, inner in enumerate(self.literal.body)
                if at != place
            ]
        tasks.append(self.result(env, count))
        yield self.taken(replace(state, tasks=(*tasks, *state.tasks)), count)

    def result(self, env: Mapping[str, int], count: int) -> Equate:
        """Say what the aggregate becomes."""
        hole, target = self.task.env[self.literal.result.name], self.literal.target
        match self.literal.function:
            case "count":
                return Equate(hole, None, env, offset=Fraction(self.number() + count))
            case "sum":
                return Equate(hole, target, env, offset=Fraction(self.number()))
            case "min" | "max" as function:
                beyond = "<" if function == "min" else ">"
                than = None if self.now is None else (beyond, self.now)
                return Equate(hole, target, env, than=than)
            case _:
                rows = self.counted()
                total = self.number() * rows
                return Equate(hole, target, env, Fraction(1, rows + 1), total / (rows + 1))

    def number(self) -> Fraction:
        """Return the present value as a number, 0 where there is none."""
        if self.now is None:
            return Fraction(0)
        if isinstance(self.now, str):
            raise UnsolvedError("a sum of what is no number")
        return Fraction(self.now)

    def counted(self) -> int:
        """Return how many assignments a mean is made of."""
        counting = replace(self.ground, function="count", target=None)
        kinds = {**self.kinds, counting.result.name: Kind.NUMBER}
        rows = self.searching.worlds.group(counting, kinds, self.state.delta)
        return int(rows[0][0]) if rows else 0

    def changed(self) -> Iterator[State]:
        """Let one row that is known come or go, then look again; each set in one order."""
        changes: dict[str, Show | Deny] = {}
        for place, inner in enumerate(self.ground.body):
            if isinstance(inner, Positive | Negative):
                changes.update(self.changes(place, inner))
        for key, change in sorted(changes.items()):
            if key > self.task.beyond:
                again = replace(self.task, fresh=False, beyond=key)
                yield replace(self.state, tasks=(change, again, *self.state.tasks))

    def changes(self, place: int, inner: Positive | Negative) -> Iterator[tuple[str, Show | Deny]]:
        """Yield what changes the assignments by one literal: a row of it that comes or goes."""
        name, costs = inner.atom.predicate, self.searching.costs
        goes = name in costs.removed or name in self.searching.relevant
        comes = name in costs.added or name in self.searching.relevant
        body = self.ground.body
        if goes and isinstance(inner, Positive):
            for row in self.rows_of(inner, body):
                yield f"{name}{row}", Deny(name, row)
        elif goes:
            held: tuple[Literal, ...] = (*body[:place], Positive(inner.atom), *body[place + 1 :])
            for row in self.rows_of(inner, held):
                yield f"{name}{row}", Deny(name, row)
        if comes and isinstance(inner, Negative):
            kinds = self.program.program.predicates[name].kinds
            for row in self.rows_of(inner, body):
                terms = tuple(map(Constant, row, kinds))
                shown = Positive(replace(inner.atom, terms=terms))
                yield f"{name}{row}", Show(shown, {}, self.task.rule, self.task.above)

    def rows_of(self, inner: Positive | Negative, body: tuple[Literal, ...]) -> list[Row]:
        """Return the rows of one literal in the assignments of a body."""
        rows = self.searching.worlds.assignments(body, self.locals, self.kinds, self.state.delta)
        found: dict[Row, None] = {}
        for values in rows:
            known = dict(zip(self.locals, values, strict=True))
            cells = tuple(_cell_of(term, known) for term in inner.atom.terms)
            row = tuple(cell for cell in cells if cell is not None)
            if len(row) == len(cells):
                found[row] = None
            else:
                self.searching.unsolved.add(
                    f"calculated rows of {inner.atom.predicate} in an aggregate of {self.rule.id}"
                )
        listed = sorted(found, key=str)
        if len(listed) > _MOST_CHANGED:
            self.searching.unsolved.add(
                f"rows of {inner.atom.predicate} beyond the first {_MOST_CHANGED} of a group"
            )
        return listed[:_MOST_CHANGED]


def _cell_of(term: Term, known: Mapping[str, Value]) -> Value | None:
    """Return the value of a term; ``None`` for a calculation."""
    match term:
        case Constant(value=value):
            return value
        case Variable(name=name):
            return known.get(name)
        case _:
            return None


# What a structure is made of is bound, or becomes a value to be chosen; where nobody knows the
# kind of a field that a pattern leaves out, it makes none.


def completed(
    body: Sequence[Literal], structures: Structures | None
) -> tuple[list[Literal], dict[str, Kind]]:
    """Give names to the fields that patterns leave out, and the kinds of these names."""
    named: dict[str, Kind] = {}
    found: list[Literal] = []
    for place, literal in enumerate(body):
        sides = pattern_sides(literal) if isinstance(literal, Comparison) else None
        fields = None if sides is None else _fields(sides[1], structures)
        if sides is None or fields is None or not isinstance(literal, Comparison):
            found.append(literal)
            continue
        terms = list(sides[1].arguments)
        for at, (term, column) in enumerate(zip(terms, fields, strict=True)):
            if term == LEFT_OUT:
                terms[at] = Variable(f".{place}.{column.name}")
                named[f".{place}.{column.name}"] = column.kind
        pattern = replace(sides[1], arguments=tuple(terms))
        found.append(replace(literal, left=sides[0], right=pattern))
    return found, named


def _fields(pattern: Apply, structures: Structures | None) -> tuple[Column, ...] | None:
    """Return the fields of a pattern, where all branches that it may be have the same kinds."""
    branches = [
        branch
        for found in ({} if structures is None else structures.branches).values()
        for branch in found
        if (branch.constructor, len(branch.fields)) == (pattern.function, len(pattern.arguments))
    ]
    kinds = {tuple(field.kind for field in one.fields) for one in branches}
    return branches[0].fields if len(kinds) == 1 else None


def is_matchable(structure: Term, pattern: Apply, env: Mapping[str, int], binding: Binding) -> bool:
    """Tell whether an equation can be done: one of its sides is known, as far as it must be."""
    cells = _abduction_steps_parts(pattern, env, binding)
    if _is_known(evaluated(structure, env, binding)):
        left_out = [one == LEFT_OUT for one in pattern.arguments]
        return all(out or cell is not None for out, cell in zip(left_out, cells, strict=True))
    return all(map(_is_known, cells))


def matched(structure: Term, pattern: Apply, env: Mapping[str, int], state: State) -> State | None:
    """Take a known structure apart, or make one of known values."""
    whole = evaluated(structure, env, state.binding)
    if whole is None:
        raise UnsolvedError("a structure before its variables are bound")
    if isinstance(whole, NullCell):
        return None
    if is_value(whole):
        return _taken_apart(str(whole), pattern, env, state)
    if not all(map(_is_known, _abduction_steps_parts(pattern, env, state.binding))):
        return _made(whole, pattern, env, state)
    cells = _abduction_steps_parts(pattern, env, state.binding)
    kinds = tuple(kind_of(one, env, state.binding) for one in pattern.arguments)
    try:
        made = implementation(pattern.function, kinds, Kind.STRUCTURE)(*cells)
    except EvaluationError as problem:
        raise UnsolvedError(str(problem)) from None
    return unified(state, (whole,), (made,))


def is_makeable(structure: Term, pattern: Apply, env: Mapping[str, int], state: State) -> bool:
    """Tell whether a structure that is to be chosen can be made of values to be chosen."""
    whole = evaluated(structure, env, state.binding)
    parts = _abduction_steps_parts(pattern, env, state.binding)
    made = {one.hole for one in state.made}
    fresh = isinstance(whole, Hole) and whole.number not in made
    return fresh and None not in parts


def _made(whole: Cell, pattern: Apply, env: Mapping[str, int], state: State) -> State:
    """Leave the parts of a structure to be chosen, each by itself."""
    parts = tuple(
        one for one in _abduction_steps_parts(pattern, env, state.binding) if one is not None
    )
    if not isinstance(whole, Hole) or len(parts) < len(pattern.arguments):
        raise UnsolvedError("a structure that is to be chosen")
    kinds = tuple(kind_of(one, env, state.binding) for one in pattern.arguments)
    names = tuple(_name(one) for one in pattern.arguments)
    free = state.free | {one.number for one in (whole, *parts) if isinstance(one, Hole)}
    made = Made(whole.number, pattern.function, parts, kinds, names)
    return replace(state, free=free, made=(*state.made, made))


def _name(term: Term) -> str:
    return term.name.rpartition(".")[2] if isinstance(term, Variable) else ""


def _abduction_steps_parts(
    pattern: Apply, env: Mapping[str, int], binding: Binding
) -> list[Cell | None]:
    return [None if one == LEFT_OUT else evaluated(one, env, binding) for one in pattern.arguments]


def _taken_apart(whole: str, pattern: Apply, env: Mapping[str, int], state: State) -> State | None:
    constructor_of = implementation(CONSTRUCTOR_OF, (Kind.STRUCTURE,), Kind.SYMBOL)
    if constructor_of(whole) != f"{pattern.function}/{len(pattern.arguments)}":
        return None
    found: State | None = state
    for place, part in enumerate(pattern.arguments):
        if found is None or part == LEFT_OUT:
            continue
        cell = evaluated(part, env, found.binding)
        if cell is None:
            raise UnsolvedError("a function before its variables are bound")
        kind = kind_of(part, env, found.binding)
        field_of = implementation(FIELD_OF, (Kind.STRUCTURE, Kind.NUMBER), kind)
        found = unified(found, (cell,), (field_of(whole, place),))
    return found


def _is_known(cell: Cell | None) -> bool:
    return cell is not None and is_value(cell)


# A state's world is the real one with the facts it supposes and without those it takes away; a
# literal that depends on what is still to be chosen becomes a condition.  What cannot be searched
# ends the branch and is named in `unsolved`.

MOST_ROWS: Final = 50
MOST_DEPTH: Final = 30

# Ranks of tasks: what tests or binds comes first, what has many answers late.
_TEST, _BINDING, _ABSENCE, _ATOM, _UNBOUND, _CONDITION, _GROUP, _LATE = 0, 1, 2, 3, 20, 30, 40, 99
_SETTLED: Final = 90

_FAILING: Final = MappingProxyType(
    {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
)


@slotted
class Expander:
    """Expands states; ``relevant`` conclusions may change by what may be supposed.

    ``unsolved`` names what was not searched; ``bounded`` what matters only where nothing is found.
    """

    worlds: Worlds
    costs: Abducibles
    unsolved: set[str] = field(default_factory=set)
    bounded: set[str] = field(default_factory=set)
    relevant: frozenset[str] = field(init=False)
    structures: Structures | None = field(init=False)

    def __post_init__(self) -> None:
        declared = self.worlds.program.program.predicates.values()
        columns = (one.structures for predicate in declared for one in predicate.columns)
        # There is one for the whole program.
        self.structures = next((one for one in columns if one is not None), None)
        wanted = {*self.costs.added, *self.costs.removed}
        self.relevant = _reaching(self.worlds.program, wanted)

    def expanded(self, state: State) -> Iterator[State]:
        """Yield the states in which the readiest task is done."""
        try:
            place = self.readiest(state)
            rest = state.tasks[:place] + state.tasks[place + 1 :]
            yield from self.done(state.tasks[place], replace(state, tasks=rest))
        except UnsolvedError as problem:
            self.unsolved.add(str(problem))

    def done(self, task: Task, state: State) -> Iterator[State]:
        """Yield the states in which a task is done."""
        if isinstance(task, Deny):
            yield from self.denied(task, state)
            return
        if isinstance(task, Equate):
            yield from _only(self.equated(task, state))
            return
        match task.literal:
            case Comparison() as literal:
                yield from _only(self.compared(literal, task, state))
            case Negative(atom):
                if not task.fresh or self.holds(atom, task.env, state):
                    yield self.absent(atom, task.env, state)
            case Aggregate() as literal:
                yield from grouped(self, literal, task, state)
            case Positive(atom):
                cells = _cells(atom, task.env, state)
                if task.fresh:
                    yield from self.anew(atom.predicate, cells, task, state)
                else:
                    yield from self.shown(atom, cells, task, state)
            case _:
                assert_never(task.literal)

    # ------------------------------------------------------------------ which task is next

    def readiest(self, state: State) -> int:
        """Choose the task of least rank, the first of equal ones."""
        rank, place = min((self.rank(task, state), at) for at, task in enumerate(state.tasks))
        task = state.tasks[place]
        if rank >= _LATE:
            # Nothing else binds it: what a pattern is made of becomes a value to be chosen.
            patterns = (at for at, one in enumerate(state.tasks) if self.is_makeable(one, state))
            place = next(patterns, place)
            task = state.tasks[place]
        if rank >= _LATE and isinstance(task, Show) and not self.is_makeable(task, state):
            shown = print_literal(task.literal)
            raise UnsolvedError(f"`{shown}` for values that are to be chosen")
        return place

    @staticmethod
    def is_makeable(task: Task, state: State) -> bool:
        """Tell whether a task is a pattern whose structure can be made of values to be chosen."""
        if not isinstance(task, Show) or not isinstance(task.literal, Comparison):
            return False
        sides = pattern_sides(task.literal)
        return sides is not None and is_makeable(*sides, task.env, state)

    def rank(self, task: Task, state: State) -> int:
        """Rank a task; `_LATE` where it cannot be done yet."""
        binding = state.binding
        match task:
            case Deny(late=late):
                return _SETTLED if late else _ABSENCE
            case Equate(target=target, env=env):
                ready = target is None or _is_ready(evaluated(target, env, binding), binding)
                return _TEST if ready else _LATE
            case Show(literal=Comparison() as literal, env=env):
                return _rank_of_comparison(literal, env, binding)
            case Show(literal=Aggregate() as literal, env=env):
                return _GROUP if is_group_bound(literal, env, binding) else _LATE
            case Show(literal=Negative(atom) | Positive(atom) as literal, env=env):
                if isinstance(literal, Negative):
                    ready = all(_is_chosen(term, env, binding) for term in atom.terms)
                    return _ABSENCE if ready else _LATE
                cells = [evaluated(term, env, binding) for term in atom.terms]
                return self.rank_of_atom(atom.predicate, cells)
            case _:
                return _LATE

    def rank_of_atom(self, predicate: str, cells: list[Cell | None]) -> int:
        """Rank an atom: the fewer unbound columns the better, sources before conclusions."""
        known = [cell for cell in cells if cell is not None]
        if len(known) != len(cells):
            return _LATE
        unbound = sum(not is_value(cell) for cell in known)
        if known and unbound == len(known):
            return _UNBOUND + (predicate in self.relevant)
        return _ATOM + 2 * min(unbound, 7) + (predicate in self.relevant)

    # ------------------------------------------------------------------ comparisons

    def compared(self, literal: Comparison, task: Show, state: State) -> State | None:
        """Test a comparison, bind a side of ``=``, or note a condition."""
        sides = pattern_sides(literal)
        if sides is not None:
            return matched(*sides, task.env, state)
        left = _cell(evaluated(literal.left, task.env, state.binding))
        right = _cell(evaluated(literal.right, task.env, state.binding))
        if literal.operator == "=":
            return unified(state, (left,), (right,))
        kind = kind_of(literal.left, task.env, state.binding)
        return constrained(state, literal.operator, left, right, kind)

    def equated(self, task: Equate, state: State) -> State | None:
        """Bind the value of an aggregate in which a supposed row takes part."""
        kind = state.kinds[task.hole]
        if task.target is None:
            return unified(state, (Hole(task.hole),), (int(task.offset),))
        cell = as_linear(_cell(evaluated(task.target, task.env, state.binding)), state.binding)
        found: State | None = state
        if task.than is not None:
            found = constrained(state, task.than[0], cell, task.than[1], kind)
        if found is None:
            return None
        return unified(found, (Hole(task.hole),), (scaled(cell, task.factor, task.offset, kind),))

    # ------------------------------------------------------------------ atoms

    def shown(
        self, atom: Atom, cells: tuple[Cell, ...], task: Show, state: State
    ) -> Iterator[State]:
        """Take rows of the world, rows supposed before, a new row, or the rules."""
        name = atom.predicate
        found = self.worlds.rows(name, _shape(cells), state.delta)
        rows = [row for row in found if _is_read(atom, row)]
        if len(rows) > MOST_ROWS:
            self.unsolved.add(f"rows of {name} beyond the first {MOST_ROWS}")
        for row in rows[:MOST_ROWS]:
            taken = unified(state, cells, row)
            if taken is not None:
                yield self.demanding(taken, Positive, name, row)
        if rows and all(map(is_value, cells)):
            # It holds: nothing that shows it otherwise costs less.
            return
        for one in state.added:
            if one.predicate == name:
                yield from _only(unified(state, cells, one.cells))
        yield from _only(self.supposed(name, cells, state))
        if name in self.relevant:
            yield from self.by_rules(name, cells, task, state)

    def anew(self, name: str, cells: tuple[Cell, ...], task: Show, state: State) -> Iterator[State]:
        """Suppose a row that is not there, or conclude it by a premise that is new."""
        if all(map(is_value, cells)) and self.worlds.rows(name, _shape(cells), state.delta):
            return
        yield from _only(self.supposed(name, cells, state))
        if name in self.relevant:
            yield from self.by_rules(name, cells, task, state)

    def supposed(self, name: str, cells: tuple[Cell, ...], state: State) -> State | None:
        """Suppose a row; columns that nothing binds become values to be chosen."""
        cost = self.costs.added.get(name)
        if cost is None:
            return None
        if any(isinstance(cell, Linear) and not cell.plain for cell in cells):
            raise UnsolvedError("a supposed row with a value that is made of another")
        free = state.free | {cell.number for cell in cells if isinstance(cell, Hole)}
        filled = self.filling(name, cells, state)
        denied = () if filled is not None else self.in_its_way(name, cells, state)
        if denied is None:
            return None
        state = filled or state
        return replace(
            state,
            cost=state.cost + cost,
            free=free,
            added=(*state.added, Supposed(name, cells)),
            tasks=(*denied, *state.tasks),
        )

    def in_its_way(
        self, name: str, cells: tuple[Cell, ...], state: State
    ) -> tuple[Task, ...] | None:
        """Return what has to be taken away so that a supposed row counts: others with its key.

        ``None`` where they cannot be (semantics 40): a source's value stands against a stated one.
        """
        key = self.worlds.key(name)
        if key is None or not all(is_value(cells[place]) for place in key):
            # A value that is chosen later is one that no row has.
            return ()
        shape = _shape(tuple(c if at in key else Hole(-1) for at, c in enumerate(cells)))
        for one in state.added:
            others = tuple(map(state.binding.follow, one.cells))
            if one.predicate == name and all(others[at] == cells[at] for at in key):
                return None
        rows = self.worlds.told(name, shape, state.delta)
        if rows and name not in self.costs.removed:
            return None
        return tuple(Deny(name, row) for row in rows)

    def filling(self, name: str, cells: tuple[Cell, ...], state: State) -> State | None:
        """Let a supposed row fill the null cells of the one row of its key (semantics 26e).

        ``None`` where there is no such row, or the two cannot be one.
        """
        key = self.worlds.key(name)
        if key is None or not all(is_value(cells[place]) for place in key):
            return None
        shape = _shape(tuple(c if at in key else Hole(-1) for at, c in enumerate(cells)))
        rows = self.worlds.told(name, shape, state.delta)
        if len(rows) != 1 or not any(isinstance(cell, NullCell) for cell in rows[0]):
            return None
        (row,) = rows
        is_none = (isinstance(one, NullCell) and one.policy.is_empty for one in row)
        if any(is_none) or any((name, row) == one for one in state.removed):
            return None
        known = [at for at, cell in enumerate(row) if not isinstance(cell, NullCell)]
        return unified(state, [cells[at] for at in known], [row[at] for at in known])

    def by_rules(
        self, name: str, cells: tuple[Cell, ...], task: Show, state: State
    ) -> Iterator[State]:
        """Try the rules of a conclusion; one that serves itself is not tried again."""
        here = (name, tuple(cell if is_value(cell) else None for cell in cells))
        if here in task.above:
            return
        if len(task.above) >= MOST_DEPTH:
            raise UnsolvedError(f"rules nested more than {MOST_DEPTH} deep")
        for number in self.worlds.program.rule_numbers(name):
            for anew in self.changing(number) if task.fresh else (None,):
                env, opened = with_rule(state, self.worlds.program, number)
                above = (*task.above, here)
                yield from _only(self.by_rule(number, (env, opened, anew), cells, above))

    def changing(self, number: int) -> Iterator[int]:
        """Yield the places of a rule's body that may come to hold."""
        for place, one in enumerate(as_written(self.worlds.program.rules[number].body)):
            match one:
                case Positive(atom):
                    may = atom.predicate in self.costs.added or atom.predicate in self.relevant
                case Negative(atom):
                    may = atom.predicate in self.costs.removed or atom.predicate in self.relevant
                case Aggregate():
                    may = self.may_change(one)
                case _:
                    may = False
            if may:
                yield place

    def by_rule(
        self,
        number: int,
        opening: tuple[dict[str, int], State, int | None],
        cells: tuple[Cell, ...],
        above: tuple[Conclusion, ...],
    ) -> State | None:
        """Take over the body of one rule, its head joined with what is to be shown.

        The literal at the place that the opening names has to be new.
        """
        rule = self.worlds.program.rules[number]
        env, state, anew = opening
        kinds = self.worlds.program.program.predicates[rule.head.predicate].kinds
        # The head may calculate: then its value is compared once its variables are bound.
        named = {
            f".{place}": kind
            for place, (term, kind) in enumerate(zip(rule.head.terms, kinds, strict=True))
            if not isinstance(term, Variable)
        }
        body, left_out = completed(as_written(rule.body), self.structures)
        heads, state = with_holes(state, named)
        others, state = with_holes(state, left_out)
        sides = [
            Hole(env[term.name] if isinstance(term, Variable) else heads[f".{place}"])
            for place, term in enumerate(rule.head.terms)
        ]
        equal = [Comparison("=", Variable(name), rule.head.terms[int(name[1:])]) for name in heads]
        env = {**env, **heads, **others}
        tasks = [Show(one, env, number, above) for one in equal]
        tasks += [
            Show(one, env, number, above, fresh=place == anew) for place, one in enumerate(body)
        ]
        joined = unified(state, sides, cells)
        return None if joined is None else replace(joined, tasks=(*joined.tasks, *tasks))

    # ------------------------------------------------------------------ absence

    @staticmethod
    def absent(atom: Atom, env: Mapping[str, int], state: State) -> State:
        """See to it that a row is absent."""
        cells = [evaluated(term, env, state.binding) for term in atom.terms]
        if not all(cell is not None and is_value(cell) for cell in cells):
            # It depends on what is chosen: the choice is told with it as a condition.
            return replace(state, demanded=(*state.demanded, Demanded(Negative(atom), env)))
        denied = Deny(atom.predicate, tuple(cells))  # type: ignore[arg-type]  # values only
        return replace(state, tasks=(denied, *state.tasks))

    def holds(self, atom: Atom, env: Mapping[str, int], state: State) -> bool:
        """Tell whether a row holds that is known: one that is to be chosen is not there."""
        row = tuple(evaluated(term, env, state.binding) for term in atom.terms)
        if not all(cell is not None and is_value(cell) for cell in row):
            return False
        strength = self.worlds.strength(atom.predicate, row, state.delta)  # type: ignore[arg-type]  # values only
        return strength not in {ABSENT, CONCEIVABLE}

    def demanding(
        self, state: State, literal: type[Positive | Negative], name: str, row: Row
    ) -> State:
        """Note that a row holds, or none does, where what may be supposed can turn it round."""
        leaves = self.worlds.leaves(name)
        signs = {leaf for leaf, more in leaves if more is (literal is Negative)}
        if signs.isdisjoint(self.costs.added):
            return state
        kinds = self.worlds.program.program.predicates[name].kinds
        terms = tuple(map(Constant, row, kinds))
        demanded = Demanded(literal(Atom(name, terms)), {})
        return replace(state, demanded=(*state.demanded, demanded))

    def is_calculated(self, name: str) -> bool:
        """Tell whether a conclusion has one derivation: what broke it is all that is to be said."""
        numbers = self.worlds.program.rule_numbers(name)
        bodies = [self.worlds.program.rules[number].body for number in numbers]
        return len(bodies) == 1 and not any(isinstance(one, Positive) for one in bodies[0])

    def denied(self, task: Deny, state: State) -> Iterator[State]:
        """Take a row away, or one premise of its derivation, until nothing gives it."""
        name, row = task.predicate, task.row
        delta = witnesses(state, self.worlds).delta if task.late else state.delta
        if (name, row) in delta.added:
            return
        if self.worlds.strength(name, row, delta) in {ABSENT, CONCEIVABLE}:
            gone = (name, row) in state.removed
            settled = gone or (task.late and self.is_calculated(name))
            yield state if settled else self.demanding(state, Negative, name, row)
            return
        again = replace(state, tasks=(task, *state.tasks))
        derivation = self.worlds.derivation(name, row, delta)
        if isinstance(derivation, RuleDerivation):
            yield from self.broken(derivation, again)
        elif name in self.costs.removed and (name, row) not in state.removed:
            cost = state.cost + self.costs.removed[name]
            yield replace(again, cost=cost, removed=state.removed | {(name, row)})
        elif derivation is None and (name in self.costs.removed or name in self.relevant):
            self.unsolved.add(f"how to rule out {name}, of which not everything is known")

    def broken(self, derivation: RuleDerivation, state: State) -> Iterator[State]:
        """Break one literal of a derivation."""
        program = self.worlds.program
        rule = program.rules[derivation.rule]
        for literal, premise in zip(rule.body, derivation.premises, strict=True):
            if isinstance(literal, Positive) and premise is not None:
                name = literal.atom.predicate
                if name in self.costs.removed or name in self.relevant:
                    yield replace(state, tasks=(Deny(name, premise), *state.tasks))
            elif isinstance(literal, Negative):
                env, opened = with_rule(_late(state), program, derivation.rule)
                bound = {env[one]: value for one, value in derivation.bindings.items()}
                shown = Show(Positive(literal.atom), env, derivation.rule)
                tasks = (shown, *opened.tasks)
                yield replace(opened, bound={**opened.bound, **bound}, tasks=tasks)
            elif isinstance(literal, Aggregate) and self.may_change(literal):
                yield from self.turned(literal, derivation, _late(state))

    def turned(
        self, literal: Aggregate, derivation: RuleDerivation, state: State
    ) -> Iterator[State]:
        """Give an aggregate another value, with which a comparison of its rule fails, or none."""
        program, result = self.worlds.program, literal.result
        rule = program.rules[derivation.rule]
        depending, calculated, compared = _resting_on(result.name, rule)
        ways: list[list[Literal]] = []
        for one in compared:
            if one.operator in _FAILING:
                ways.append([*calculated, replace(one, operator=_FAILING[one.operator])])
            else:
                text = print_literal(one)
                self.unsolved.add(f"an aggregate of {rule.id} with which `{text}` fails")
        if _is_told(rule, depending):
            kind = program.variable_kinds[derivation.rule][result.name]
            now = Constant(derivation.bindings[result.name], kind)
            ways.append([Comparison("!=", result, now)])
        env, opened = with_rule(state, program, derivation.rule)
        known = derivation.bindings.items()
        bound = {env[name]: value for name, value in known if name not in depending}
        opened = replace(opened, bound={**opened.bound, **bound})
        if literal.function not in {"count", "sum"}:
            empty = Show(literal, env, derivation.rule, empty=True)
            yield replace(opened, tasks=(empty, *opened.tasks))
        for way in ways:
            shown = [Show(one, env, derivation.rule) for one in (literal, *way)]
            yield replace(opened, tasks=(*shown, *opened.tasks))

    def may_change(self, literal: Aggregate) -> bool:
        """Tell whether what may be supposed can change an aggregate."""
        names = {one.atom.predicate for one in literal.body if not isinstance(one, Comparison)}
        return bool(names & {*self.costs.added, *self.costs.removed, *self.relevant})


def _is_read(atom: Atom, row: Row) -> bool:
    """Tell whether an atom certainly reads a row: of a label, or no null cell (semantics 26)."""
    return not any(
        isinstance(cell, NullCell) and not cell.is_label and not is_wildcard(term)
        for term, cell in zip(atom.terms, row, strict=True)
    )


def _late(state: State) -> State:
    """Look at the row that is denied, the first task, once what is shown for it has values."""
    first, *rest = state.tasks
    if not isinstance(first, Deny):
        return state
    return replace(state, tasks=(replace(first, late=True), *rest))


def _resting_on(name: str, rule: Rule) -> tuple[set[str], list[Literal], list[Comparison]]:
    """Follow a result through a body: what rests on it, how that is calculated, what tests it."""
    told = {
        one.name
        for literal in rule.body
        if isinstance(literal, Positive)
        for one in literal_variables(literal)
    }
    depending = {name}
    calculated: list[Literal] = []
    tests = [one for one in rule.body if isinstance(one, Comparison)]
    found = True
    while found:
        found = False
        for one in tests:
            made = None if one.operator != "=" else _made_of(one, depending, told)
            if made is not None:
                depending.add(made)
                calculated.append(one)
                tests.remove(one)
                found = True
                break
    resting = [one for one in tests if _names(one.left, one.right) & depending]
    return depending, calculated, resting


def _made_of(literal: Comparison, depending: set[str], told: set[str]) -> str | None:
    """Return the variable that an equation calculates from what rests on a result."""
    for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(side, Variable) and side.name not in depending | told:
            return side.name if _names(other) & depending else None
    return None


def _is_told(rule: Rule, names: set[str]) -> bool:
    """Tell whether values stand in the head or in another literal than a comparison."""
    others = (
        one.name
        for literal in rule.body
        if not isinstance(literal, Comparison | Aggregate)
        for one in literal_variables(literal)
    )
    groups = (
        one.name
        for literal in rule.body
        if isinstance(literal, Aggregate)
        for one in literal_variables(literal)
        if one.name != literal.result.name
    )
    return bool(names & {*_names(*rule.head.terms), *others, *groups})


def _names(*terms: Term) -> set[str]:
    return {one.name for term in terms for one in term_variables(term)}


def _only(state: State | None) -> Iterator[State]:
    if state is not None:
        yield state


def _cell(cell: Cell | None) -> Cell:
    if cell is None:
        raise UnsolvedError("a function before its variables are bound")
    return cell


def _cells(atom: Atom, env: Mapping[str, int], state: State) -> tuple[Cell, ...]:
    return tuple(_cell(evaluated(term, env, state.binding)) for term in atom.terms)


def _shape(cells: tuple[Cell, ...]) -> OpenRow:
    return tuple(cell if is_value(cell) else OPEN for cell in cells)  # type: ignore[misc]


def _is_ready(cell: Cell | None, binding: Binding) -> bool:
    return cell is not None and (is_value(cell) or binding.is_free(cell))


def _is_chosen(term: Term, env: Mapping[str, int], binding: Binding) -> bool:
    """Tell whether what a term is made of is known or to be chosen; a structure may be both."""
    return _is_ready(evaluated(term, env, binding), binding) or (
        isinstance(term, Apply)
        and is_constructor(term.function)
        and all(_is_chosen(one, env, binding) for one in term.arguments)
    )


def _rank_of_comparison(literal: Comparison, env: Mapping[str, int], binding: Binding) -> int:
    sides = pattern_sides(literal)
    if sides is not None:
        return _BINDING if is_matchable(*sides, env, binding) else _LATE
    left = evaluated(literal.left, env, binding)
    right = evaluated(literal.right, env, binding)
    if left is None or right is None:
        return _LATE
    ready = (_is_ready(left, binding), _is_ready(right, binding))
    if all(ready):
        # A condition on what is chosen waits: a row of the world may still bind it.
        return _TEST if is_value(left) and is_value(right) else _CONDITION
    return _BINDING if literal.operator == "=" and any(ready) else _LATE


def _reaching(program: AnalysedProgram, wanted: set[str]) -> frozenset[str]:
    """Return the conclusions whose rules mention the wanted predicates, however deep."""
    users: dict[str, set[str]] = {}
    for rule in program.rules:
        for literal in rule.body:
            for name in _mentioned(literal):
                users.setdefault(name, set()).add(rule.head.predicate)
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        for name in users.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def _mentioned(literal: Literal) -> Iterator[str]:
    inner = literal.body if isinstance(literal, Aggregate) else (literal,)
    return (one.atom.predicate for one in inner if not isinstance(one, Comparison | Aggregate))


MOST_STATES: Final = 20_000
_MOST_SUBSETS: Final = 8


@frozen
class Found:
    """One set of facts: its cost, and the facts with values chosen for what is open."""

    cost: Decimal
    chosen: Chosen


@frozen
class Abduction:
    """What a search found.

    ``bound`` is the cost from which on there may be other sets, ``None`` where the search ended
    by itself; ``dropped`` counts sets that did not prove the goal when they were tried;
    ``unsolved`` names what was not searched, so that sets which need it may be missing;
    ``stopped`` says why the search ended before everything was looked at, if it did.
    """

    found: tuple[Found, ...]
    bound: Decimal | None
    dropped: int
    unsolved: tuple[str, ...]
    stopped: str = ""


@slotted
class Search:
    """One search; ``top`` sets are wanted within so many seconds."""

    worlds: Worlds
    goal: Atom
    costs: Abducibles
    top: int
    seconds: float
    most: int = MOST_STATES
    found: list[Found] = field(default_factory=list)
    dropped: int = 0
    tried: set[Delta] = field(default_factory=set)

    def run(self) -> Abduction:
        """Take states by cost until enough sets are found or the budget is spent."""
        expander = Expander(self.worlds, self.costs)
        until = time.monotonic() + self.seconds
        order = itertools.count()
        waiting: list[tuple[Decimal, int, State]] = []

        def put(state: State) -> None:
            # Of equally dear states the newest: it has the least left to show.
            heapq.heappush(waiting, (state.cost, -next(order), state))

        put(start_state(self.goal, self.worlds.program))
        taken = 0
        stopped = ""
        while waiting and len(self.found) < self.top:
            if taken >= self.most:
                stopped = f"after {taken:,} steps, which is the most that are taken"
                break
            if time.monotonic() > until:
                stopped = f"after {self.seconds:g} s, which is the time it has"
                break
            taken += 1
            _, _, state = waiting[0]
            try:
                made = list(expander.expanded(state)) if state.tasks else []
                if not state.tasks:
                    self.finish(state, expander)
            except LimitReachedError as limit:
                stopped = f"because {limit}"
                break
            heapq.heappop(waiting)
            for one in reversed(made):
                put(one)
        bound = waiting[0][0] if waiting else None
        self.found.sort(key=_for_people)
        unsolved = sorted(
            expander.unsolved
            | (set() if self.found else expander.bounded)
            | {f"values of {name} that contradict each other" for name in self.worlds.contradicted}
        )
        if waiting and not stopped:
            stopped = f"with {len(self.found)} sets, which is how many are wanted"
        return Abduction(tuple(self.found), bound, self.dropped, tuple(unsolved), stopped)

    def finish(self, state: State, expander: Expander) -> None:
        """Choose values for a set, try it, and keep it if no part of it proves the goal."""
        try:
            chosen = witnesses(state, self.worlds)
        except UnsolvedError as problem:
            expander.unsolved.add(str(problem))
            return
        if chosen.delta in self.tried or any(_is_part(one.chosen, chosen) for one in self.found):
            return
        self.tried.add(chosen.delta)
        if not self.worlds.proves(self.goal, chosen.delta):
            self.dropped += 1
            return
        part = next(
            (one for one in _parts(chosen.delta) if self.worlds.proves(self.goal, one)), None
        )
        if part is None:
            self.found.append(Found(state.cost, chosen))
        else:
            # A part of it is enough, and the search may not come by that part alone.
            self.finish(self._narrowed(state, chosen, part), expander)

    def _narrowed(self, state: State, chosen: Chosen, part: Delta) -> State:
        """Return a state with the facts of a part only."""
        added = tuple(
            one
            for one, row in zip(state.added, chosen.rows, strict=True)
            if (one.predicate, row) in part.added
        )
        cost = sum((self.costs.added[name] for name, _ in part.added), Decimal(0))
        cost += sum((self.costs.removed[name] for name, _ in part.removed), Decimal(0))
        return replace(state, added=added, removed=part.removed, cost=cost)


def _for_people(found: Found) -> tuple[Decimal, int, int, list[tuple[str, str]]]:
    """Order sets: the cheapest first, then those with fewer facts and less left to choose."""
    shapes = sorted(found.chosen.shapes)
    return found.cost, len(shapes), sum("?" in text for _, text in shapes), shapes


def _is_part(one: Chosen, other: Chosen) -> bool:
    """Tell whether a set found before says as much with no more."""
    return one.shapes <= other.shapes


def _parts(delta: Delta) -> Iterator[Delta]:
    """Yield the proper parts of a set: all of a small one, of a large one each with one less."""
    facts = [(fact, True) for fact in sorted(delta.added, key=str)]
    facts += [(fact, False) for fact in sorted(delta.removed, key=str)]
    sizes = range(len(facts)) if len(facts) <= _MOST_SUBSETS else (len(facts) - 1,)
    for size in sizes:
        for kept in itertools.combinations(facts, size):
            yield Delta(
                frozenset(fact for fact, is_added in kept if is_added),
                frozenset(fact for fact, is_added in kept if not is_added),
            )
