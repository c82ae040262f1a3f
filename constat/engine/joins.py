"""Joins: bindings with the rows of a relation.

And the rows that came last with the bindings that wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from constat.engine.batch import Batch, Binding, Weak, unify
from constat.engine.null_cells import grade, has_hole, has_null, is_hole, unify_nulls
from constat.engine.relation import Key, Relation, assign, key_getter, tuple_getter
from constat.engine.served import Served
from constat.evaluation import (
    ABSENT,
    CERTAIN,
    POSSIBLE,
    UNTIMED,
    Clock,
    LimitReachedError,
    Limits,
)
from constat.logic import OPEN, OpenRow, Row, Slot
from constat.plan import Join

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
