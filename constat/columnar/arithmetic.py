"""Expressions and comparisons over whole columns of integers, exact or refused.

In: an expression of a plan and a batch. Out: one array. Invariant: no result has wrapped around
64 bits; where one would, or a divisor is zero, `StrategyError` is raised, because what such a row
means is for the reference engine to say. Example: `?d + 1` for `[1, 2]` is `[2, 3]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, assert_never

import numpy as np

from constat.columnar.arrays import Array, Mask
from constat.columnar.batches import Batch
from constat.evaluation.bulk import StrategyError
from constat.logic import Kind, Value
from constat.plan import Call, Expression, Filter, Literally, Slot

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
            found = FUNCTIONS[function](*values)
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
