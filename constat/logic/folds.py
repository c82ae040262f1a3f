"""Aggregate functions over a sequence of values, one per assignment, repetitions included.

In: a function name, the kind of the values, the values. Out: one value, or `None` for `min`, `max`
and `mean` of nothing. Invariant: the result does not depend on the order of the values; sums are
exact, and what is not representable is rounded once. Example: `fold("sum", Kind.NUMBER, [1, 1]) ==
2`.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import TYPE_CHECKING, cast

from constat.logic.arithmetic import exact_decimal, finite_float, rounded_ratio, within
from constat.logic.failure import EvaluationError
from constat.logic.values import Kind, Value
from constat.logic.wrapping import machine_fold, unwrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

# 38 digits before the point, 38 after it, and room for 10^24 summands: every sum is exact.
_SUMS = Context(prec=100, Emax=999, Emin=-999)


def aggregate_kind(function: str, kind: Kind | None) -> Kind | None:
    """Give the kind of an aggregate over values of that kind, `None` where it is not defined.

    `count` takes no kind. `min` and `max` need an order, which Bool and structures have not.
    """
    match unwrapped(function)[0]:
        case "count":
            return Kind.NUMBER
        case "sum" if kind is not None and kind.numeric:
            return kind
        case "min" | "max" if kind not in {Kind.BOOL, Kind.STRUCTURE}:
            return kind
        case "mean" if kind is Kind.DECIMAL:
            return Kind.DECIMAL
        case "mean" if kind is not None and kind.numeric:
            return Kind.FLOAT
        case _:
            return None


def fold(function: str, kind: Kind | None, values: Sequence[Value]) -> Value | None:
    """Fold the values of one group. Raises `EvaluationError` where the result does not fit."""
    plain, width = unwrapped(function)
    if width:
        return machine_fold(plain, kind, values, width, fold)
    match function:
        case "count":
            return len(values)
        case "sum":
            return _sum(cast("Kind", kind), values)
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)
        case "mean":
            return _mean(cast("Kind", kind), values) if values else None
        case _:
            raise KeyError(function)


def _sum(kind: Kind, values: Sequence[Value]) -> Value:
    match kind:
        case Kind.FLOAT:
            return _float_sum(cast("Sequence[float]", values))
        case Kind.DECIMAL:
            return exact_decimal(_decimal_sum(cast("Sequence[Decimal]", values)))
        case _:
            return within(sum(cast("Sequence[int]", values)), kind)


def _mean(kind: Kind, values: Sequence[Value]) -> Value:
    match kind:
        case Kind.FLOAT:
            top, bottom = _exact_sum(cast("Sequence[float]", values))
            return _nearest(top, bottom * len(values))
        case Kind.DECIMAL:
            top, bottom = _decimal_sum(cast("Sequence[Decimal]", values)).as_integer_ratio()
            return rounded_ratio(top, bottom * len(values))
        case _:
            return _nearest(sum(cast("Sequence[int]", values)), len(values))


def _decimal_sum(values: Sequence[Decimal]) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = _SUMS.add(total, value)
    return total


def _float_sum(values: Sequence[float]) -> float:
    try:
        return finite_float(math.fsum(values))
    except OverflowError:
        # `fsum` gives up on an intermediate overflow even where the sum itself is finite.
        return _nearest(*_exact_sum(values))


def _exact_sum(values: Sequence[float]) -> tuple[int, int]:
    """Give the sum as a numerator and a denominator."""
    ratios = [value.as_integer_ratio() for value in values]
    # Denominators are powers of two, so the greatest is a multiple of all.
    common = max(bottom for _, bottom in ratios)
    return sum(top * (common // bottom) for top, bottom in ratios), common


def _nearest(numerator: int, denominator: int) -> float:
    try:
        # True division of integers is rounded once, however large they are.
        return finite_float(numerator / denominator)
    except OverflowError:
        raise EvaluationError("the result is not a finite float") from None
