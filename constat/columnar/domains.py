"""Which values each column of a stage can ever hold.

In: a stage and the columns it reads. Out: a `Domain` for each column of its own relations. Values
flow from the columns a join keeps, through slots, into heads; columns that are connected so form
one class, whose bounds are those of everything that enters it. A class into which a computed value
flows is open. Invariant: no round can give a value outside a closed domain.

Example: in `path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).` column 1 of `path` and of `edge` are one
class. This is constant propagation by union and find (Tarjan, 1975).
"""

from __future__ import annotations

from collections.abc import Mapping

from constat.columnar.arithmetic import NumberOf, encode
from constat.columnar.arrays import Columns
from constat.columnar.packing import Domain
from constat.logic import Value
from constat.plan import Absence, Compute, Filter, Fold, Join, Literally, Slot
from constat.plan.forward import Pipeline, Stage

Column = tuple[str, int]
Domains = Mapping[Column, Domain]


def find_domains(
    stage: Stage, arity: Mapping[str, int], relations: Mapping[str, Columns], number_of: NumberOf
) -> Domains:
    """The domains of the columns of the stage's own relations."""
    classes = _Classes(relations, number_of)
    for pipeline in (*stage.base, *stage.recursive):
        _flow(pipeline, classes)
    for predicate in stage.predicates:
        for place in range(arity[predicate]):
            classes.read((predicate, place))
        for row in stage.stated.get(predicate, ()):
            for place, value in enumerate(row):
                classes.enter((predicate, place), value)
    return {
        (predicate, place): classes.domain((predicate, place))
        for predicate in stage.predicates
        for place in range(arity[predicate])
    }


def _flow(pipeline: Pipeline, classes: _Classes) -> None:
    plan = pipeline.plan
    sources: list[Column | Value | None] = list(plan.constants)
    for step in plan.steps:
        match step:
            case Join(predicate=predicate, kept=kept):
                sources.extend((predicate, column) for column in kept)
            case Compute(Slot(place)):
                sources.append(sources[place])
            case Compute(Literally(value)):
                sources.append(value)
            case Compute() | Fold():
                sources.append(None)
            case Absence() | Filter():
                pass
    for place, expression in enumerate(plan.head):
        head = (pipeline.head, place)
        match expression:
            case Slot(slot):
                classes.connect(head, sources[slot])
            case Literally(value):
                classes.connect(head, value)
            case _:
                classes.connect(head, None)


class _Classes:
    """Connected columns, with the bounds of each class at its representative."""

    def __init__(self, relations: Mapping[str, Columns], number_of: NumberOf) -> None:
        self._relations = relations
        self._number_of = number_of
        self._parent: dict[Column, Column] = {}
        self._bounds: dict[Column, tuple[int, int]] = {}
        self._open: set[Column] = set()

    def connect(self, head: Column, source: Column | Value | None) -> None:
        """Say what flows into a column: another column, a constant, or something computed."""
        if source is None:
            self._open.add(self.read(head))
        elif isinstance(source, tuple):
            self._unite(self.read(head), self.read(source))
        else:
            self.enter(head, source)

    def enter(self, column: Column, value: Value) -> None:
        """A constant flows into a column."""
        number = encode(value, self._number_of)
        self._widen(self.read(column), number, number)

    def read(self, column: Column) -> Column:
        """The representative of a column; its rows are looked at when it is first seen."""
        if column not in self._parent:
            self._parent[column] = column
            rows = self._relations.get(column[0])
            if rows is not None and len(rows[column[1]]):
                found = rows[column[1]]
                self._widen(column, int(found.min()), int(found.max()))
        while self._parent[column] != column:
            self._parent[column] = self._parent[self._parent[column]]
            column = self._parent[column]
        return column

    def domain(self, column: Column) -> Domain:
        """The domain of a column's class."""
        root = self.read(column)
        low, high = self._bounds.get(root, (0, 0))
        return Domain(low, high, root not in self._open)

    def _unite(self, one: Column, other: Column) -> None:
        if one == other:
            return
        self._parent[other] = one
        if other in self._bounds:
            self._widen(one, *self._bounds[other])
        if other in self._open:
            self._open.add(one)

    def _widen(self, root: Column, low: int, high: int) -> None:
        known = self._bounds.get(root, (low, high))
        self._bounds[root] = (min(known[0], low), max(known[1], high))
