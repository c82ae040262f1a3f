"""Joins: bindings with the rows of a relation.

And the rows that came last with the bindings that wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from constat.engine.batch import Batch, Binding, Weak, unify
from constat.engine.relation import Key, Relation, assign, key_getter, tuple_getter
from constat.engine.served import Served
from constat.evaluation import CERTAIN, POSSIBLE, Limits
from constat.logic import OPEN, OpenRow, Row, Slot
from constat.plan import Join

_CHUNK = 4096
_NONE: tuple[tuple[Slot, ...], ...] = ()


class LimitReachedError(Exception):
    """Evaluation ran into one of its limits; the text names it."""


def join(step: Join, batch: Batch, relation: Relation, served: Served, limits: Limits) -> Batch:
    """Extend every binding with the rows that match it."""
    out = Batch(_join_sure(step, batch.sure, relation, limits))
    if relation.weak:
        for binding in batch.sure:
            values = assign(step.columns, [binding[place] for place in step.key])
            out.weak.extend(
                _extended(
                    step, binding, CERTAIN, relation.matching(values, served.completed, sure=False)
                )
            )
    for binding, strength in batch.weak:
        rows = _rows_for_weak(step, binding, relation, served)
        out.weak.extend(_extended(step, binding, strength, rows))
    return out


def _join_sure(
    step: Join, bindings: Sequence[Binding], relation: Relation, limits: Limits
) -> list[Binding]:
    if not bindings:
        return []
    get = relation.lookup(step.columns, step.kept, step.same).get
    key = key_getter(step.key)
    out: list[Binding] = []
    for start in range(0, len(bindings), _CHUNK):
        chunk = bindings[start : start + _CHUNK]
        # Count before building: a cross product must end as a limit, not as exhausted memory.
        if len(out) + sum(len(get(key(binding), _NONE)) for binding in chunk) > limits.rows:
            message = f"a rule joins more than {limits.rows:,} rows{limits.raising('rows')}"
            raise LimitReachedError(message)
        out += [binding + row for binding in chunk for row in get(key(binding), _NONE)]
    return out


def _rows_for_weak(
    step: Join, binding: Binding, relation: Relation, served: Served
) -> Iterable[tuple[OpenRow, int]]:
    values = assign(step.columns, [binding[place] for place in step.key])
    known = {column: value for column, value in values.items() if value is not OPEN}
    key = tuple(known.values())
    if len(known) == len(values) or served.covers(tuple(known), key):
        return relation.matching(known, served.completed, sure=True)
    # Nobody can be asked for a value that nobody knows: anything may match.
    row: OpenRow = tuple(known.get(column, OPEN) for column in range(step.arity))
    return ((row, POSSIBLE),)


def _extended(
    step: Join, binding: Binding, strength: int, rows: Iterable[tuple[OpenRow, int]]
) -> Iterator[Weak]:
    for row, other in rows:
        extended = unify(binding, row, step)
        if extended is not None:
            yield extended, min(strength, other)


class Waiting:
    """The bindings that stand before a recursive literal, indexed by the key they wait for.

    This is the supplementary relation of the rule at that literal.
    """

    def __init__(self, step: Join) -> None:
        self.step = step
        self._key = key_getter(step.key)
        self._key_tuple = tuple_getter(step.key)
        self._row_key = key_getter(step.columns)
        self._kept = tuple_getter(step.kept)
        self._sure: set[Binding] = set()
        self._index: dict[Key, list[Binding]] = {}
        self._weak: dict[Binding, int] = {}
        self._weak_index: dict[Key, list[Binding]] = {}
        self._weak_open: list[Binding] = []

    def add(self, batch: Batch) -> Batch:
        """Add bindings; give those that are new or stronger."""
        new = Batch([binding for binding in dict.fromkeys(batch.sure) if binding not in self._sure])
        self._sure.update(new.sure)
        for binding in new.sure:
            self._index.setdefault(self._key(binding), []).append(binding)
            self._weak.pop(binding, None)
        for binding, strength in batch.weak:
            if binding in self._sure or strength <= self._weak.get(binding, -1):
                continue
            if binding not in self._weak:
                self._index_weak(binding)
            self._weak[binding] = strength
            new.weak.append((binding, strength))
        return new

    def _index_weak(self, binding: Binding) -> None:
        if OPEN in self._key_tuple(binding):
            self._weak_open.append(binding)
        else:
            self._weak_index.setdefault(self._key(binding), []).append(binding)

    def meet(self, sure: Sequence[Row], weak: Sequence[tuple[OpenRow, int]]) -> Batch:
        """Extend the waiting bindings by rows that came last."""
        step = self.step
        rows = sure
        if step.same:
            rows = [row for row in sure if all(row[one] == row[other] for one, other in step.same)]
        out = Batch(self._meet_sure(rows))
        if self._weak:
            out.weak.extend(self._meet_weak(((row, CERTAIN) for row in sure), sure_too=False))
        if weak:
            out.weak.extend(self._meet_weak(weak, sure_too=True))
        return out

    def _meet_sure(self, rows: Sequence[Row]) -> list[Binding]:
        get, key = self._index.get, self._row_key
        kept: Callable[[Sequence[Slot]], tuple[Slot, ...]] = self._kept
        return [binding + kept(row) for row in rows for binding in get(key(row), _NONE)]

    def _meet_weak(self, rows: Iterable[tuple[OpenRow, int]], *, sure_too: bool) -> Iterator[Weak]:
        for row, strength in rows:
            for binding in self._candidates(row, sure_too=sure_too):
                extended = unify(binding, row, self.step)
                if extended is not None:
                    yield extended, min(strength, self._weak.get(binding, CERTAIN))

    def _candidates(self, row: OpenRow, *, sure_too: bool) -> Iterator[Binding]:
        if any(row[column] is OPEN for column in self.step.columns):
            yield from self._weak
            if sure_too:
                yield from self._sure
            return
        key = self._row_key(row)
        yield from self._weak_index.get(key, ())
        yield from self._weak_open
        if sure_too:
            yield from self._index.get(key, ())
