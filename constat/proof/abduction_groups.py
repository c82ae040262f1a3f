"""Aggregates in a search for missing facts: their value, and what another row would make of it.

In: an aggregate whose group has values, in a state.  Out: states in which its result is bound: to
what it is, to what it is with rows supposed besides (a sum is then linear in the value to be
chosen), or after rows came or went that are known.  Invariant: the present value is the engine's,
in the state's world.

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
    Negative,
    Positive,
    Variable,
    literal_variables,
    local_names,
)
from constat.proof.abduction_state import (
    Deny,
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

    from constat.logic import Literal, Row, Term, Value
    from constat.proof.abducibles import Abducibles
    from constat.proof.symbolic import Binding
    from constat.proof.worlds import Worlds

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
        yield state
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
