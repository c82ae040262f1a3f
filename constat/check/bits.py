"""Bitwise and logical operators on numbers of 64 bits.

In: an operator, ``number`` or ``unsigned``, and values of it.  Out: the spelled result, or ``None``
for ⚡.  Invariant: only arithmetic on patterns from 0 to 2^64 - 1; a negative number is its pattern
less 2^64, as two's complement says.  FORMAT.md, section 4.

Example: ``bitwise("bshru", "number", -1, 63) == "1"``.
"""

from __future__ import annotations

from typing import Final

from .values import spell

WIDTH: Final = 64
UNARY: Final = frozenset({"bnot", "lnot"})
LOGICAL: Final = frozenset({"land", "lor", "lxor", "lnot"})
SHIFTS: Final = frozenset({"bshl", "bshr", "bshru"})
BINARY: Final = frozenset({"band", "bor", "bxor", "land", "lor", "lxor"}) | SHIFTS

_PATTERNS: Final = 2**WIDTH


def bitwise(name: str, kind: str, *values: int) -> str | None:
    """Return what the operator gives."""
    if name in LOGICAL:
        return str(int(_truth(name, *(value != 0 for value in values))))
    if name in SHIFTS:
        return _shift(name, kind, *values)
    return _from_pattern(kind, _combine(name, *(value % _PATTERNS for value in values)))


def _truth(name: str, left: bool, right: bool = True) -> bool:  # noqa: FBT001, FBT002 - operands
    match name:
        case "land":
            return left and right
        case "lor":
            return left or right
        case "lxor":
            return left != right
        case _:
            return not left


def _combine(name: str, left: int, right: int = 0) -> int:
    match name:
        case "band":
            return left & right
        case "bor":
            return left | right
        case "bxor":
            return left ^ right
        case _:
            return _PATTERNS - 1 - left


def _shift(name: str, kind: str, value: int, bits: int) -> str | None:
    if not 0 <= bits < WIDTH:
        return None
    factor = 2**bits
    match name:
        case "bshl":
            return _from_pattern(kind, value * factor % _PATTERNS)
        case "bshr":
            # Floor division keeps the sign, as a shift of two's complement does.
            return str(value // factor)
        case _:
            return _from_pattern(kind, value % _PATTERNS // factor)


def _from_pattern(kind: str, pattern: int) -> str | None:
    negative = kind == "number" and pattern >= _PATTERNS // 2
    return spell(kind, pattern - _PATTERNS if negative else pattern)
