"""Which values columns can hold, exact arithmetic over them, and dense numbers for far values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import pairwise
from types import MappingProxyType
from typing import Final, assert_never

import numpy as np

from constat.columnar.arrays import Array, Batch, Columns, Domain, Mask, distinct
from constat.evaluation import StrategyError
from constat.frozen import frozen, slotted
from constat.logic import Kind, Value
from constat.logic.arithmetic import unwrapped
from constat.plan import (
    Absence,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    Slot,
    Step,
    slots_of,
)
from constat.plan.forward import Pipeline, Stage

# No result has wrapped around 64 bits; where one would, or a divisor is zero, `StrategyError` is
# raised, because what such a row means is for the reference engine to say.

NumberOf = Callable[[str], int]

_LOWEST: Final = -(1 << 63)
_HIGHEST: Final = (1 << 63) - 1


def encode(value: Value, number_of: NumberOf) -> int:
    """The integer that stands for a constant in a column."""
    if isinstance(value, str):
        return number_of(value)
    if not isinstance(value, int) or not _LOWEST <= value <= _HIGHEST:
        raise StrategyError("a constant is no integer of 64 bits with a sign")
    return value


def evaluate(expression: Expression, batch: Batch, number_of: NumberOf) -> Array:
    """The values of an expression, one for each binding."""
    match expression:
        case Slot(place):
            return batch.column(place)
        case Literally(value):
            return np.full(batch.count, encode(value, number_of), np.int64)
        case Call(function, arguments, _, result):
            values = [evaluate(one, batch, number_of) for one in arguments]
            found = column_function(function, result)(*values)
            if result is Kind.UNSIGNED and len(found) and int(found.min()) < 0:
                raise StrategyError("a result is below zero and its type is unsigned")
            return found
        case _:
            assert_never(expression)


def holds(step: Filter, batch: Batch, number_of: NumberOf) -> Mask:
    """For which bindings a comparison is true."""
    left = evaluate(step.left, batch, number_of)
    right = evaluate(step.right, batch, number_of)
    return COMPARISONS[step.operator](left, right)


def _overflow() -> StrategyError:
    return StrategyError("a result does not fit in 64 bits")


def _add(left: Array, right: Array) -> Array:
    total: Array = left + right
    # An addition overflowed where both signs differ from the sign of the sum.
    if np.any(((left ^ total) & (right ^ total)) < 0):
        raise _overflow()
    return total


def _subtract(left: Array, right: Array) -> Array:
    rest: Array = left - right
    if np.any(((left ^ right) & (left ^ rest)) < 0):
        raise _overflow()
    return rest


def _multiply(left: Array, right: Array) -> Array:
    product: Array = left * right
    if _magnitude(left) * _magnitude(right) <= _HIGHEST:
        return product
    # Division is exact, so it gives the factor back unless the product wrapped.
    factors = left != 0
    if np.any((left == -1) & (right == _LOWEST)) or np.any((left == _LOWEST) & (right == -1)):
        raise _overflow()
    back = product[factors] // left[factors]
    rest = product[factors] % left[factors]
    if np.any(back != right[factors]) or np.any(rest != 0):
        raise _overflow()
    return product


def _magnitude(values: Array) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0


def _negate(values: Array) -> Array:
    if np.any(values == _LOWEST):
        raise _overflow()
    return -values


def _divide(left: Array, right: Array) -> Array:
    rest = _remainder(left, right)
    # Without the rest the division is exact, and its rounding downward makes no difference.
    return (left - rest) // right


def _remainder(left: Array, right: Array) -> Array:
    if np.any(right == 0):
        raise StrategyError("a division by zero")
    if np.any((left == _LOWEST) & (right == -1)):
        raise _overflow()
    # As `%` of the language: the sign of the dividend, which is C's rule and `fmod`'s.
    return np.fmod(left, right)


COMPARISONS: Final[Mapping[str, Callable[[Array, Array], Mask]]] = MappingProxyType(
    {
        "=": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
)
FUNCTIONS: Final[Mapping[str, Callable[..., Array]]] = MappingProxyType(
    {
        "+": _add,
        "-": _subtract,
        "*": _multiply,
        "/": _divide,
        "%": _remainder,
        "neg": _negate,
    }
)


# No round can give a value outside a closed domain.

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


_WRAPPING: Final = frozenset({"+", "-", "*", "/", "%", "neg"})
_MODULAR: Final[Mapping[str, Callable[..., Array]]] = MappingProxyType(
    {"+": np.add, "-": np.subtract, "*": np.multiply}
)
_WORD: Final = 64
_NARROW: Final = 32


def column_function(function: str, kind: Kind) -> Callable[..., Array]:
    """Give what computes a function on columns. Raises `KeyError` where nothing does."""
    plain, width = unwrapped(function)
    if not width:
        return FUNCTIONS[plain]
    if plain not in _WRAPPING:
        raise KeyError(function)
    if width == _WORD:
        # Integers of numpy wrap at 64 bits by themselves; what is unsigned has no sign to lose.
        return _MODULAR.get(plain, FUNCTIONS[plain]) if kind is Kind.NUMBER else FUNCTIONS[plain]
    exact = FUNCTIONS[plain]
    return lambda *values: wrap_words(exact(*values), kind, width)


def wrap_words(values: Array, kind: Kind, width: int) -> Array:
    """Give the integers of a width that have the same low bits."""
    if width != _NARROW:
        return values
    low = values & ((1 << _NARROW) - 1)
    if kind is Kind.UNSIGNED:
        return low
    half = 1 << (_NARROW - 1)
    signed: Array = (low ^ half) - half
    return signed


# The results are the same with and without.

# A class is renumbered when its range is at least so many times the values in its columns.
_SPARSE = 4


@frozen
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
    classes = _RenumberingClasses()
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


@slotted
class _RenumberingClasses:
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


def _walk(pipeline: Pipeline, classes: _RenumberingClasses) -> None:
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


def _step(step: Step, name: str, width: int, classes: _RenumberingClasses) -> int:
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


def _lookup(step: Join | Absence, name: str, width: int, classes: _RenumberingClasses) -> int:
    for column, slot in zip(step.columns, step.key, strict=True):
        classes.join((step.predicate, column), (name, slot))
    if isinstance(step, Absence):
        return width
    for one, other in step.same:
        classes.join((step.predicate, one), (step.predicate, other))
    for number, column in enumerate(step.kept):
        classes.join((step.predicate, column), (name, width + number))
    return width + len(step.kept)


def _filter(step: Filter, name: str, width: int, classes: _RenumberingClasses) -> int:
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


def _fix_all(step: Fold, classes: _RenumberingClasses) -> None:
    """Inside an aggregate values are summed and compared: all its columns stay as they are."""
    for inner in step.steps:
        if isinstance(inner, Join | Absence):
            for column in range(inner.arity):
                classes.fix((inner.predicate, column))
