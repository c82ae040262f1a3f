"""Read the constants of the language: numbers and texts.

In: the spelling of a token. Out: a value and what it looks like, or a reason why it is none.
Invariant: a number with a point is a `Decimal` where 38 digits hold it, and a float only with an
exponent beyond that, so that printing and reading give the same constant. Example: `10.50` is
`(Decimal("10.5"), Kind.DECIMAL)`.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Final

from constat.logic import Kind, Value, canonical_decimal, canonical_float, check_integer

_ESCAPES: Final = MappingProxyType(
    {
        '"': '"',
        "'": "'",
        "\\": "\\",
        "a": "\a",
        "b": "\b",
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
        "v": "\v",
    }
)
_LONGEST_INTEGER: Final = 70
_LONGEST_DECIMAL: Final = 400
_BASES: Final = MappingProxyType({"0x": 16, "0b": 2})


def read_number(spelling: str, *, negative: bool) -> tuple[Value, Kind]:
    """Read a number token. Raises `ValueError` with the range where the number is too large."""
    if "." in spelling:
        return _fraction(("-" if negative else "") + spelling)
    unsigned = spelling.endswith("u")
    kind = Kind.UNSIGNED if unsigned else Kind.NUMBER
    digits = spelling[:-1] if unsigned else spelling
    base = _BASES.get(digits[:2], 10)
    digits = digits[2:] if base != 10 else digits  # noqa: PLR2004  the base of plain numbers
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError("a number has at most 64 bits")
    value = int(digits or "0", base)
    try:
        return check_integer(-value if negative else value, kind), kind
    except ValueError as error:
        raise ValueError(f"a {kind.value} {error}".replace("is outside", "lies within")) from None


def _fraction(spelling: str) -> tuple[Value, Kind]:
    if len(spelling) > _LONGEST_DECIMAL:
        raise ValueError("a decimal has at most 38 digits")
    try:
        return canonical_decimal(Decimal(spelling)), Kind.DECIMAL
    except (ValueError, InvalidOperation):
        if "e" not in spelling.casefold():
            raise ValueError("a decimal has at most 38 digits") from None
    try:
        value = canonical_float(float(spelling))
    except ValueError:
        raise ValueError("a float is at most 1.7976931348623157e308") from None
    return (value, Kind.FLOAT) if value else (Decimal(0), Kind.DECIMAL)


def read_text(spelling: str) -> tuple[str, str | None]:
    """Give the text between the quotes, and the first escape that has no meaning."""
    inner = spelling[1:-1]
    if "\\" not in inner:
        return inner, None
    parts: list[str] = []
    wrong: str | None = None
    position = 0
    while True:
        place = inner.find("\\", position)
        if place < 0 or place + 1 >= len(inner):
            parts.append(inner[position:])
            return "".join(parts), wrong
        escape = inner[place + 1]
        if escape not in _ESCAPES:
            wrong = wrong or escape
        parts.extend((inner[position:place], _ESCAPES.get(escape, escape)))
        position = place + 2
