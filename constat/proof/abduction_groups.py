"""Aggregates in a search for missing facts: their value, and what another row would make of it.

In: an aggregate whose group has values, in a state.  Out: states in which its result is bound: to
what it is, to what it is with rows supposed besides (a sum is then linear in the value to be
chosen), or without rows taken away.  Invariant: the present value is the engine's, in the state's
world.

Example: over orders of 400 in all, one more order of ``x`` makes the sum ``400 + x``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from constat.logic import (
    Aggregate,
    Constant,
    Kind,
    Positive,
    Variable,
    literal_variables,
    local_names,
)
from constat.proof.abduction_state import (
    Equate,
    Show,
    State,
    constants_of,
    unified,
    with_holes,
)
from constat.proof.substituting import substituted
from constat.proof.symbolic import Hole, UnsolvedError, is_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.logic import Row, Term, Value
    from constat.proof.abducibles import Abducibles
    from constat.proof.symbolic import Binding
    from constat.proof.worlds import Worlds

MOST_COUNTED: Final = 8
_MOST_REMOVED: Final = 16


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
    yield from group.as_it_is()
    yield from group.with_rows()
    yield from group.without_rows()


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
        return rows[0][0] if rows else None

    def as_it_is(self) -> Iterator[State]:
        """Take the present value."""
        if self.now is not None:
            found = unified(
                self.state, (Hole(self.task.env[self.literal.result.name]),), (self.now,)
            )
            if found is not None:
                yield found

    def with_rows(self) -> Iterator[State]:
        """Suppose rows that take part."""
        for place, inner in enumerate(self.literal.body):
            if not isinstance(inner, Positive):
                continue
            name = inner.atom.predicate
            if name in self.searching.relevant:
                self.searching.unsolved.add(
                    f"more rows of {name} in an aggregate of {self.rule.id}"
                )
            if name in self.searching.costs.added:
                most = MOST_COUNTED if self.literal.function == "count" else 1
                self.searching.bounded.add(
                    f"more than {most} more rows of {name} in an aggregate of {self.rule.id}"
                )
                for count in range(1, most + 1):
                    yield from self.with_fresh(place, count)

    def with_fresh(self, place: int, count: int) -> Iterator[State]:
        """Suppose so many rows of one literal of the body."""
        state, env = self.state, self.task.env
        tasks: list[Show | Equate] = []
        for _ in range(count):
            holes, state = with_holes(state, {name: self.kinds[name] for name in self.locals})
            env = {**self.task.env, **holes}
            # The new row first: the rest of the body then speaks about it.
            tasks.append(Show(self.literal.body[place], env, self.task.rule, fresh=True))
            tasks += [
                Show(inner, env, self.task.rule, self.task.above)
                for at, inner in enumerate(self.literal.body)
                if at != place
            ]
        tasks.append(self.result(env, count))
        yield replace(state, tasks=(*tasks, *state.tasks))

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

    def without_rows(self) -> Iterator[State]:
        """Take one row away, then look again; rows are taken in one order, each set once."""
        for inner in self.ground.body:
            if not isinstance(inner, Positive):
                continue
            name = inner.atom.predicate
            cost = self.searching.costs.removed.get(name)
            if cost is None:
                continue
            last = max(
                (row for one, row in self.state.removed if one == name), key=str, default=None
            )
            for row in self.removable(inner):
                if last is not None and str(row) <= str(last):
                    continue
                yield replace(
                    self.state,
                    cost=self.state.cost + cost,
                    removed=self.state.removed | {(name, row)},
                    tasks=(self.task, *self.state.tasks),
                )

    def removable(self, inner: Positive) -> list[Row]:
        """Return rows of one literal that take part in the group."""
        body = self.ground.body
        rows = self.searching.worlds.assignments(body, self.locals, self.kinds, self.state.delta)
        found: dict[Row, None] = {}
        for values in rows:
            known = dict(zip(self.locals, values, strict=True))
            cells = tuple(_cell_of(term, known) for term in inner.atom.terms)
            row = tuple(cell for cell in cells if cell is not None)
            if len(row) == len(cells):
                found[row] = None
        listed = sorted(found, key=str)
        if len(listed) > _MOST_REMOVED:
            self.searching.unsolved.add(
                f"rows of {inner.atom.predicate} beyond the first {_MOST_REMOVED} of a group"
            )
        return listed[:_MOST_REMOVED]


def _cell_of(term: Term, known: Mapping[str, Value]) -> Value | None:
    """Return the value of a term; ``None`` for a calculation, whose row another literal tells."""
    match term:
        case Constant(value=value):
            return value
        case Variable(name=name):
            return known.get(name)
        case _:
            return None
