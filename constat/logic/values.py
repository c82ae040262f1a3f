"""Kinds and values: what a column can hold, and its one canonical spelling.

At run time a value is an `int` (number, unsigned), a `float`, a `Decimal`, or a `str` (symbol,
Date, Timestamp, Bool: canonical ISO text, so that text order is time order; structure: the text of
`structure_text`). Columns are typed, so 1 and 1.0 never meet. The spelling is the one certificates
use. Invariant: except for floats, which are spelled in hexadecimal,
`parse_value(format_value(v, k), k) == v`.

>>> parse_value("10.50", Kind.DECIMAL)
Decimal('10.5')
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from types import MappingProxyType

from constat.logic.structure_text import is_structure


class Kind(Enum):
    """A base type."""

    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    SYMBOL = "symbol"
    DATE = "Date"
    TIMESTAMP = "Timestamp"
    DECIMAL = "Decimal"
    BOOL = "Bool"
    STRUCTURE = "structure"
    """A record or an algebraic data type. No type is called so: each has a name of its own."""

    @property
    def numeric(self) -> bool:
        """Whether arithmetic and sums are defined."""
        return self in {Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL}


Value = int | float | str | Decimal
Row = tuple[Value, ...]


class Open(Enum):
    """The placeholder for "some value nobody knows"; it joins with anything."""

    OPEN = "⋆"

    def __repr__(self) -> str:
        return "⋆"


OPEN = Open.OPEN
Slot = Value | Open
OpenRow = tuple[Slot, ...]

MAX_DIGITS = 38
MAX_TEXT = 1 << 20
_INTEGER = re.compile(r"-?[0-9]{1,25}\Z")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,60}(\.[0-9]{1,60})?\Z")
_FLOAT = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?\Z"
)
_RANGES = MappingProxyType(
    {Kind.NUMBER: (-(1 << 63), (1 << 63) - 1), Kind.UNSIGNED: (0, (1 << 64) - 1)}
)


def parse_value(text: str, kind: Kind) -> Value:
    """Read a value of that kind from text as people and sources write it.

    Accepts what is unambiguous (`10.50`, `2025-01-01 10:00:00`) and gives the canonical value.
    Raises `ValueError` with a reason that does not quote the text.
    """
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _integer(text, kind)
        case Kind.FLOAT | Kind.DECIMAL:
            return _fraction(text, kind)
        case Kind.DATE:
            return _date(text)
        case Kind.TIMESTAMP:
            return _timestamp(text)
        case Kind.BOOL:
            if text not in {"true", "false"}:
                raise ValueError("is neither true nor false")
            return text
        case Kind.SYMBOL:
            return check_symbol(text)
        case Kind.STRUCTURE:
            return check_structure(text)


def format_value(value: Value, kind: Kind) -> str:
    """Write a value in the canonical spelling of certificates."""
    match kind:
        case Kind.FLOAT:
            return float(value).hex()
        case Kind.DECIMAL:
            return f"{value:f}"
        case _:
            return str(value)


def check_symbol(text: str) -> str:
    """Give the text back, or raise `ValueError` when it cannot be a symbol."""
    if "\0" in text:
        raise ValueError("contains a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("contains half a surrogate pair") from None
    if len(text) > MAX_TEXT:
        raise ValueError(f"is longer than {MAX_TEXT} characters")
    return text


def check_structure(text: str) -> str:
    """Give the spelling of a structure back, or raise `ValueError`; its type is not looked at."""
    if not is_structure(check_symbol(text)):
        raise ValueError('is no structure such as [1, "a"]')
    if len(text.encode()) > MAX_TEXT:
        raise ValueError(f"is longer than {MAX_TEXT} bytes")
    return text


def check_integer(value: int, kind: Kind) -> int:
    """Give the integer back, or raise `ValueError` outside the 64 bits of that kind."""
    low, high = _RANGES[kind]
    if not low <= value <= high:
        raise ValueError(f"is outside {low} to {high}")
    return value


def canonical_float(value: float) -> float:
    """Give a finite float with one zero, or raise `ValueError`."""
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    return value or 0.0


def canonical_decimal(value: Decimal) -> Decimal:
    """Strip trailing zeros and the exponent; raise `ValueError` above 38 significant digits."""
    if not value.is_finite():
        raise ValueError("is not a finite number")
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or not any(digits):
        return Decimal(0)
    number = list(digits)
    while number[-1] == 0:
        number.pop()
        exponent += 1
    if exponent > MAX_DIGITS or len(number) + max(exponent, 0) > MAX_DIGITS:
        raise ValueError(f"has more than {MAX_DIGITS} digits")
    if exponent < -MAX_DIGITS:
        raise ValueError(f"has more than {MAX_DIGITS} places")
    if exponent > 0:
        number.extend([0] * exponent)
        exponent = 0
    return Decimal((sign, tuple(number), exponent))


def parse_decimal(text: str) -> Decimal:
    """Read a decimal for confidences: plain notation only; raises `ValueError`."""
    try:
        value = parse_value(text, Kind.DECIMAL)
    except InvalidOperation:
        raise ValueError("is not a decimal number") from None
    return Decimal(value)


def _integer(text: str, kind: Kind) -> int:
    if not _INTEGER.match(text):
        raise ValueError("is not an integer")
    return check_integer(int(text), kind)


def _fraction(text: str, kind: Kind) -> Value:
    if kind is Kind.FLOAT:
        if not _FLOAT.match(text):
            raise ValueError("is not a decimal number")
        return canonical_float(float(text))
    if not _DECIMAL.match(text):
        raise ValueError("is not a decimal number such as 10.50")
    return canonical_decimal(Decimal(text))


def _date(text: str) -> str:
    if not _DATE.match(text):
        raise ValueError("is not a date such as 2025-01-31")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("is not a day of the calendar") from None


def _timestamp(text: str) -> str:
    found = _TIMESTAMP.match(text)
    if found is None:
        raise ValueError("is not a time such as 2025-01-31T10:00:00Z")
    try:
        moment = datetime.fromisoformat(text.replace(" ", "T"))
    except ValueError:
        raise ValueError("is not a time of the calendar") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is not a time of the calendar") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
