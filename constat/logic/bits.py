"""Bitwise and logical operations on integers of 64 bits.

In: an operator and `number` or `unsigned`. Out: a function on values that gives a value of that
kind or raises `EvaluationError`. Invariant: a `number` is its 64 bits in two's complement, so an
operation never leaves the kind; bits that a shift moves out are gone. Example: `bit_operation(
"bshr", Kind.NUMBER)(-8, 1) == -4`, and `bshru` fills with zeros instead of the sign.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import MappingProxyType

from constat.logic.failure import EvaluationError
from constat.logic.values import Kind, Value

_WIDTH = 64
_ALL = (1 << _WIDTH) - 1
_SIGN = 1 << (_WIDTH - 1)


def bit_operation(function: str, kind: Kind) -> Callable[..., Value]:
    """Give the function of a bitwise or logical operator on `number` or `unsigned`."""
    if kind is Kind.UNSIGNED and function in _UNSIGNED:
        return _UNSIGNED[function]
    return _SIGNED[function]


def _count(bits: int) -> int:
    # Souffle takes the count modulo the width of its build, so `1 bshl 64` is 1 in one and
    # something else in another: nobody means that, and here it is an error.
    if 0 <= bits < _WIDTH:
        return bits
    raise EvaluationError("a shift is by 0 to 63 bits")


def _signed(bits: int) -> int:
    return bits - 2 * _SIGN if bits & _SIGN else bits


def _shift_left(value: int, bits: int) -> int:
    return _signed(value << _count(bits) & _ALL)


def _shift_right(value: int, bits: int) -> int:
    return value >> _count(bits)


def _shift_right_with_zeros(value: int, bits: int) -> int:
    return _signed((value & _ALL) >> _count(bits))


def _shift_unsigned_left(value: int, bits: int) -> int:
    return value << _count(bits) & _ALL


def _unsigned_complement(value: int) -> int:
    return value ^ _ALL


def _both(left: int, right: int) -> int:
    return int(left != 0 and right != 0)


def _either(left: int, right: int) -> int:
    return int(left != 0 or right != 0)


def _one_of_two(left: int, right: int) -> int:
    return int((left != 0) is not (right != 0))


def _neither(value: int) -> int:
    return int(value == 0)


_SIGNED = MappingProxyType[str, Callable[..., int]](
    {
        "band": operator.and_,
        "bor": operator.or_,
        "bxor": operator.xor,
        "bnot": operator.invert,
        "bshl": _shift_left,
        "bshr": _shift_right,
        "bshru": _shift_right_with_zeros,
        "land": _both,
        "lor": _either,
        "lxor": _one_of_two,
        "lnot": _neither,
    }
)
# What is not listed here is the same on both kinds.
_UNSIGNED = MappingProxyType[str, Callable[..., int]](
    {
        "bnot": _unsigned_complement,
        "bshl": _shift_unsigned_left,
        "bshru": _shift_right,
    }
)
