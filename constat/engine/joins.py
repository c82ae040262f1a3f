"""Joins of bindings with the rows of a relation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from constat.engine.batch import Batch, Binding, Weak, unify, value_of
from constat.engine.relation import (
    Key,
    Relation,
    Texts,
    assign,
    grade,
    has_hole,
    has_null,
    is_hole,
    key_getter,
    tuple_getter,
    unify_nulls,
)
from constat.engine.state import Served
from constat.evaluation import ABSENT, CERTAIN, POSSIBLE, UNTIMED, Clock, LimitReachedError, Limits
from constat.logic import CONSTRUCTOR_OF, FIELD_OF, OPEN, OpenRow, Row, Slot, Value
from constat.logic import Slot as Held
from constat.plan import Call, Compute, Expression, Filter, Join, Literally, Step, slots_of
from constat.plan import Slot as PlanSlot

# And the rows that came last with the bindings that wait for them.

_CHUNK = 4096
_NONE: tuple[tuple[Slot, ...], ...] = ()


def join(
    step: Join,
    batch: Batch,
    relation: Relation,
    served: Served,
    limits: Limits,
    *,
    nulls: bool = False,
) -> Batch:
    """Extend every binding with the rows that match it; `nulls` tells that cells may be null."""
    out = Batch(_join_sure(step, batch.sure, relation, limits))
    over = relation.clock.over
    if nulls:
        _join_nulls(step, batch, relation, served, out)
        return out
    if relation.weak:
        for binding in over(batch.sure):
            values = assign(step.columns, [binding[place] for place in step.key])
            out.weak.extend(
                _extended(
                    step, binding, CERTAIN, relation.matching(values, served.completed, sure=False)
                )
            )
    for binding, strength in over(batch.weak):
        rows = _rows_for_weak(step, binding, relation, served)
        out.weak.extend(_extended(step, binding, strength, rows))
    return out


def _join_sure(
    step: Join, bindings: Sequence[Binding], relation: Relation, limits: Limits
) -> list[Binding]:
    if not bindings:
        return []
    get = relation.lookup(step.columns, step.kept, step.same, step.read).get
    key = key_getter(step.key)
    out: list[Binding] = []
    for chunk in relation.clock.blocks(bindings, _CHUNK):
        # Count before building: a cross product must end as a limit, not as exhausted memory.
        if len(out) + sum(len(get(key(binding), _NONE)) for binding in chunk) > limits.rows:
            message = f"a rule joins more than {limits.rows:,} rows{limits.raising('rows')}"
            raise LimitReachedError(message)
        out += [binding + row for binding in chunk for row in get(key(binding), _NONE)]
    return out


def _join_nulls(step: Join, batch: Batch, relation: Relation, served: Served, out: Batch) -> None:
    """Extend the bindings with the rows that may match, besides those that match for certain."""
    for binding in batch.sure:
        values = assign(step.columns, [binding[place] for place in step.key])
        if has_null(values.values()):
            rows = _rows_for_weak(step, binding, relation, served)
            weak = [(row, strength) for row, strength in rows if strength < CERTAIN]
        elif relation.weak or relation.nulled:
            found = relation.matching(
                values, served.completed, sure=False, read=step.read, same=step.same
            )
            weak = list(found)
        else:
            continue
        out.weak.extend(_extended(step, binding, CERTAIN, weak, nulls=True))
    for binding, strength in batch.weak:
        rows = _rows_for_weak(step, binding, relation, served)
        out.weak.extend(_extended(step, binding, strength, rows, nulls=True))


def _rows_for_weak(
    step: Join, binding: Binding, relation: Relation, served: Served
) -> Iterable[tuple[OpenRow, int]]:
    values = assign(step.columns, [binding[place] for place in step.key])
    known = {column: value for column, value in values.items() if not is_hole(value)}
    key: Row = tuple(known.values())  # type: ignore[arg-type]  # no hole
    if len(known) == len(values) or served.covers(tuple(known), key):
        return relation.matching(
            values, served.completed, sure=True, read=step.read, same=step.same
        )
    # Nobody can be asked for a value that nobody knows: anything may match.
    row: OpenRow = tuple(known.get(column, OPEN) for column in range(step.arity))
    return ((row, POSSIBLE),)


def _extended(
    step: Join,
    binding: Binding,
    strength: int,
    rows: Iterable[tuple[OpenRow, int]],
    *,
    nulls: bool = False,
) -> Iterator[Weak]:
    meet = unify_nulls if nulls else unify
    for row, other in rows:
        extended = meet(binding, row, step)
        if extended is not None:
            yield extended, min(strength, other)


class Waiting:
    """The bindings that stand before a recursive literal, indexed by the key they wait for.

    This is the supplementary relation of the rule at that literal.
    """

    def __init__(self, step: Join, clock: Clock = UNTIMED) -> None:
        self.step = step
        self._over = clock.over
        self._key = key_getter(step.key)
        self._key_tuple = tuple_getter(step.key)
        self._row_key = key_getter(step.columns)
        self._kept = tuple_getter(step.kept)
        self._sure: set[Binding] = set()
        self._index: dict[Key, list[Binding]] = {}
        self._weak: dict[Binding, int] = {}
        self._weak_index: dict[Key, list[Binding]] = {}
        self._weak_open: list[Binding] = []
        self._labelled: list[Binding] = []
        """Certain bindings whose key holds a label."""

    def add(self, batch: Batch, *, nulls: bool = False) -> Batch:
        """Add bindings; give those that are new or stronger."""
        new = Batch(
            [
                binding
                for binding in dict.fromkeys(self._over(batch.sure))
                if binding not in self._sure
            ]
        )
        self._sure.update(new.sure)
        for binding in self._over(new.sure):
            self._index.setdefault(self._key(binding), []).append(binding)
            self._weak.pop(binding, None)
        if nulls:
            self._labelled += [one for one in new.sure if has_null(self._key_tuple(one))]
        for binding, strength in self._over(batch.weak):
            if binding in self._sure or strength <= self._weak.get(binding, -1):
                continue
            if binding not in self._weak:
                self._index_weak(binding)
            self._weak[binding] = strength
            new.weak.append((binding, strength))
        return new

    def _index_weak(self, binding: Binding) -> None:
        if has_hole(self._key_tuple(binding)):
            self._weak_open.append(binding)
        else:
            self._weak_index.setdefault(self._key(binding), []).append(binding)

    def meet(
        self, sure: Sequence[Row], weak: Sequence[tuple[OpenRow, int]], *, nulls: bool = False
    ) -> Batch:
        """Extend the waiting bindings by rows that came last."""
        step = self.step
        if nulls:
            return self._meet_nulls([*((row, CERTAIN) for row in sure), *weak])
        rows = sure
        if step.same:
            rows = [row for row in sure if all(row[one] == row[other] for one, other in step.same)]
        out = Batch(self._meet_sure(rows))
        if self._weak:
            out.weak.extend(self._meet_weak(((row, CERTAIN) for row in sure), sure_too=False))
        if weak:
            out.weak.extend(self._meet_weak(weak, sure_too=True))
        return out

    def _meet_nulls(self, rows: Iterable[tuple[OpenRow, int]]) -> Batch:
        """Extend the waiting bindings by rows where either may hold null cells."""
        out, step = Batch(), self.step
        for row, strength in rows:
            for binding in self._candidates(row, sure_too=True):
                values = assign(step.columns, [binding[place] for place in step.key])
                found = grade(row, strength, values, step.read, step.same)
                found = min(found, self._weak.get(binding, CERTAIN))
                extended = unify_nulls(binding, row, step) if found > ABSENT else None
                if extended is None:
                    continue
                if found == CERTAIN:
                    out.sure.append(extended)
                else:
                    out.weak.append((extended, found))
        return out

    def _meet_sure(self, rows: Sequence[Row]) -> list[Binding]:
        get, key = self._index.get, self._row_key
        kept: Callable[[Sequence[Slot]], tuple[Slot, ...]] = self._kept
        return [binding + kept(row) for row in self._over(rows) for binding in get(key(row), _NONE)]

    def _meet_weak(self, rows: Iterable[tuple[OpenRow, int]], *, sure_too: bool) -> Iterator[Weak]:
        for row, strength in self._over(rows):
            for binding in self._candidates(row, sure_too=sure_too):
                extended = unify(binding, row, self.step)
                if extended is not None:
                    yield extended, min(strength, self._weak.get(binding, CERTAIN))

    def _candidates(self, row: OpenRow, *, sure_too: bool) -> Iterator[Binding]:
        if any(is_hole(row[column]) for column in self.step.columns):
            yield from self._weak
            if sure_too:
                yield from self._sure
            return
        key = self._row_key(row)
        yield from self._weak_index.get(key, ())
        yield from self._weak_open
        if sure_too:
            yield from self._index.get(key, ())
            yield from self._labelled


# The steps behind the join are run all the same, so this drops nothing that they would keep.

_TOTAL: Final = frozenset({CONSTRUCTOR_OF, FIELD_OF})
"""What errs for no value: only such functions are computed before their turn."""
_MANY: Final = 32
"""From this many rows on it pays to file them."""


def pairs(
    bindings: Sequence[Binding],
    rows: Sequence[tuple[Held, ...]],
    later: Sequence[Step],
    texts: Texts,
    most: int,
    *,
    clock: Clock = UNTIMED,
) -> list[Binding] | None:
    """Give the bindings extended by those rows that an equation lets pass."""
    if len(bindings) < 2 or len(rows) < 2:  # noqa: PLR2004  nothing to gain
        return None
    width = len(bindings[0])
    equation = _equation(later, width, len(rows[0]))
    if equation is None:
        return None
    left, right = equation
    of_binding, of_row = value_of(left, texts), value_of(right, texts)
    by_value: dict[Value, list[tuple[Held, ...]]] = {}
    padding = bindings[0]
    for row in clock.over(rows):
        # Nothing of the padding is read.
        by_value.setdefault(of_row(padding + row), []).append(row)
    keyed = [(one, by_value.get(of_binding(one), ())) for one in clock.over(bindings)]
    if sum(len(found) for _, found in keyed) > most:
        raise LimitReachedError(f"a rule joins more than {most:,} rows")
    return [one + row for one, found in clock.over(keyed) for row in found]


class Finder:
    """Finds the rows that a binding meets by the equation behind a join.

    For relations that change no more: of a step and a key the rows are filed once, however many
    bindings come. A proof that goes down a list looks for each premise among all of them.
    """

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        # The step is kept, so that no other one gets its identity.
        self._equations: dict[int, tuple[Join, tuple[Expression, Expression] | None]] = {}
        self._filed: dict[tuple[int, Key], tuple[int, dict[Value, list[tuple[Held, ...]]]]] = {}

    def rows(
        self,
        step: Join,
        later: Sequence[Step],
        binding: Binding,
        key: Key,
        rows: Sequence[tuple[Held, ...]],
    ) -> Sequence[tuple[Held, ...]]:
        """Give those of the rows with a key that the equation lets pass, or all of a few."""
        if len(rows) < _MANY:
            return rows
        known = self._equations.get(id(step))
        if known is None:
            equation = _equation(later, len(binding), len(rows[0]))
            known = self._equations[id(step)] = (step, equation)
        if known[1] is None:
            return rows
        left, right = known[1]
        count, filed = self._filed.get((id(step), key), (-1, {}))
        if count != len(rows):
            filed, of_row = {}, value_of(right, self._texts)
            for row in rows:
                filed.setdefault(of_row(binding + row), []).append(row)
            self._filed[id(step), key] = (len(rows), filed)
        return filed.get(value_of(left, self._texts)(binding), ())


def _equation(
    later: Sequence[Step], width: int, added: int
) -> tuple[Expression, Expression] | None:
    """Find an equation of something known before with something of the row."""
    made: dict[int, Expression] = {place: PlanSlot(place) for place in range(width + added)}
    for step in later:
        match step:
            case Compute(expression):
                made[len(made)] = _spelled(expression, made)
            case Filter("=", one, other):
                sides = _spelled(one, made), _spelled(other, made)
                for left, right in (sides, sides[::-1]):
                    if _is_of(left, 0, width) and _is_of(right, width, width + added):
                        return left, right
            case Filter():
                pass
            case _:
                break
    return None


def _spelled(expression: Expression, made: Mapping[int, Expression]) -> Expression:
    match expression:
        case PlanSlot(place):
            return made[place]
        case Literally():
            return expression
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(_spelled(one, made) for one in arguments))


def _is_of(expression: Expression, first: int, end: int) -> bool:
    """Whether an expression reads some of these slots, no others, and never errs."""
    places = slots_of(expression)
    return bool(places) and all(first <= one < end for one in places) and _is_total(expression)


def _is_total(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return True
    return expression.function in _TOTAL and all(map(_is_total, expression.arguments))
