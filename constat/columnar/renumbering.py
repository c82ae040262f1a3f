"""Far apart values become numbers from 0, for the time of one stage.

In: a stage and its inputs. Out: the inputs with some columns renumbered, and how to turn the
results back. Columns whose values a join compares are one class; a class of which nothing but
equality is ever asked, and whose values are few in a wide range, is renumbered by the order of its
values. Keys then have fewer bits and bitmaps are small: numbers of texts in a dictionary that
many relations share are such values. Invariant: the results are the same with and without.

Example: edges over the nodes 7, 900000 and 12345678 are computed over 0, 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import assert_never

import numpy as np

from constat.columnar.arrays import Array, Columns, distinct
from constat.plan import Absence, Compute, Filter, Fold, Join, Slot, Step, slots_of
from constat.plan.forward import Pipeline, Stage

Column = tuple[str, int]
# A class is renumbered when its range is at least so many times the values in its columns.
_SPARSE = 4


@dataclass(frozen=True, slots=True)
class Renumbering:
    """The inputs of a stage renumbered; `values` are the values of each renumbered column."""

    inputs: Mapping[str, Columns]
    values: Mapping[Column, Array]

    def back(self, name: str, columns: Columns) -> Columns:
        """The values of a result."""
        return tuple(
            self.values[name, place][column] if (name, place) in self.values else column
            for place, column in enumerate(columns)
        )


def renumber(stage: Stage, inputs: Mapping[str, Columns]) -> Renumbering:
    """Renumber the classes of columns where that pays."""
    classes = _Classes()
    for pipeline in (*stage.base, *stage.recursive):
        _walk(pipeline, classes)
    for name, rows in stage.stated.items():
        for place in range(len(rows[0]) if rows else 0):
            classes.fix((name, place))
    values: dict[Column, Array] = {}
    for members in classes.free():
        found = [inputs[name][place] for name, place in members if name in inputs]
        numbered = _numbered([one for one in found if len(one)])
        if numbered is not None:
            values.update(dict.fromkeys(members, numbered))
    changed = {
        name: tuple(
            np.searchsorted(values[name, place], column) if (name, place) in values else column
            for place, column in enumerate(columns)
        )
        for name, columns in inputs.items()
    }
    return Renumbering(changed, values)


def _numbered(columns: list[Array]) -> Array | None:
    """The values of a class, rising, if they are few in a wide range."""
    if not columns:
        return None
    low = min(int(one.min()) for one in columns)
    high = max(int(one.max()) for one in columns)
    if high - low < _SPARSE * sum(len(one) for one in columns):
        return None
    return distinct(np.concatenate([distinct(one) for one in columns]))


@dataclass(slots=True)
class _Classes:
    """Columns and slots that are compared with each other."""

    parent: dict[Column, Column] = field(default_factory=dict)
    fixed: set[Column] = field(default_factory=set)

    def root(self, column: Column) -> Column:
        """The representative of a column."""
        self.parent.setdefault(column, column)
        while self.parent[column] != column:
            self.parent[column] = self.parent[self.parent[column]]
            column = self.parent[column]
        return column

    def join(self, one: Column, other: Column) -> None:
        """Both have values of one class."""
        one, other = self.root(one), self.root(other)
        if one != other:
            self.parent[other] = one

    def fix(self, column: Column) -> None:
        """The value itself matters here."""
        self.root(column)
        self.fixed.add(column)

    def free(self) -> Iterator[list[Column]]:
        """The columns of each class of which only equality is asked."""
        fixed = {self.root(one) for one in self.fixed}
        members: dict[Column, list[Column]] = {}
        for column in self.parent:
            root = self.root(column)
            if root not in fixed and not column[0].startswith(_SLOT):
                members.setdefault(root, []).append(column)
        yield from members.values()


# No predicate has such a name; slots of a pipeline are columns of a nameless relation.
_SLOT = "\0"


def _walk(pipeline: Pipeline, classes: _Classes) -> None:
    plan = pipeline.plan
    name = f"{_SLOT}{id(pipeline)}"
    width = len(plan.constants)
    for slot in range(width):
        classes.fix((name, slot))
    for step in plan.steps:
        width = _step(step, name, width, classes)
    for place, expression in enumerate(plan.head):
        if isinstance(expression, Slot):
            classes.join((pipeline.head, place), (name, expression.place))
        else:
            classes.fix((pipeline.head, place))
            for slot in slots_of(expression):
                classes.fix((name, slot))


def _step(step: Step, name: str, width: int, classes: _Classes) -> int:
    """Take one step; give how many slots there are after it."""
    match step:
        case Join() | Absence():
            return _lookup(step, name, width, classes)
        case Filter():
            return _filter(step, name, width, classes)
        case Compute():
            read = slots_of(step.expression)
        case Fold():
            read = step.group
            if step.threshold is not None:
                read = (*read, *slots_of(step.threshold.bound))
            _fix_all(step, classes)
        case _:
            assert_never(step)
    for slot in (*read, width):
        classes.fix((name, slot))
    return width + 1


def _lookup(step: Join | Absence, name: str, width: int, classes: _Classes) -> int:
    for column, slot in zip(step.columns, step.key, strict=True):
        classes.join((step.predicate, column), (name, slot))
    if isinstance(step, Absence):
        return width
    for one, other in step.same:
        classes.join((step.predicate, one), (step.predicate, other))
    for number, column in enumerate(step.kept):
        classes.join((step.predicate, column), (name, width + number))
    return width + len(step.kept)


def _filter(step: Filter, name: str, width: int, classes: _Classes) -> int:
    sides = (step.left, step.right)
    slots = [slot for one in sides for slot in slots_of(one)]
    plain = step.operator in {"=", "!="} and all(isinstance(one, Slot) for one in sides)
    if plain:
        for one, other in pairwise(slots):
            classes.join((name, one), (name, other))
    else:
        for slot in slots:
            classes.fix((name, slot))
    return width


def _fix_all(step: Fold, classes: _Classes) -> None:
    """Inside an aggregate values are summed and compared: all its columns stay as they are."""
    for inner in step.steps:
        if isinstance(inner, Join | Absence):
            for column in range(inner.arity):
                classes.fix((inner.predicate, column))
