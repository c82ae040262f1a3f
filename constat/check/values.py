"""The kinds of values and their only spellings.

In: a kind and a text.  Out: whether the text spells a value of that kind, the value, and back.
Invariant: two values of one kind are equal exactly when their spellings are, so rows are compared
as texts.  FORMAT.md, section 2.

Example: ``is_spelled("number", "-7")`` but not ``"-0"`` nor ``"007"``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias, TypeGuard

from .canonical import is_text
from .structures import LARGEST, Structure, Structures

Number: TypeAlias = int | float | Decimal

STRUCTURE: Final = "structure"
KINDS: Final = frozenset(
    {"number", "unsigned", "float", "symbol", "Date", "Timestamp", "Decimal", "Bool", STRUCTURE}
)
NUMERIC: Final = frozenset({"number", "unsigned", "float", "Decimal"})
ORDERED: Final = NUMERIC | {"symbol", "Date", "Timestamp"}
DIGITS: Final = 38

_RANGE_OF: Final = (("number", -(2**63), 2**63 - 1), ("unsigned", 0, 2**64 - 1))
_LONGEST_INTEGER: Final = 20
_LONGEST_FLOAT: Final = 30
# A sign, a zero, a point and all digits behind it.
_LONGEST_DECIMAL: Final = DIGITS + 3
_SHORT_DECIMAL: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,17})(?:\.[0-9]{0,17}[1-9])?\Z")


class Hole(Enum):
    """What can stand where a value is expected: ⋆, nothing yet, or an evaluation that erred."""

    STAR = "some value nobody knows"
    UNBOUND = "not bound"
    ERROR = "an error"
    ANY = "not read"


@dataclass(frozen=True, slots=True)
class Label:
    """A value that is there and that nobody knows: the one with this number in the ``labels``."""

    number: int


@dataclass(frozen=True, slots=True)
class Null:
    """A cell of a fact row without a value: there is none, or (with an ordinal) perhaps none."""

    ordinal: int | None


NONE: Final = Null(None)

Known: TypeAlias = str | Structure
Cell: TypeAlias = Known | Label | Null
"""What a row can hold; rules carry values and labels only."""
Value: TypeAlias = Cell | Hole
Row: TypeAlias = tuple[Cell, ...]
OpenRow: TypeAlias = tuple[Value, ...]


def is_spelled(kind: str, text: str) -> bool:
    """Tell whether the text is the spelling of a value of this kind."""
    match kind:
        case "symbol":
            return is_text(text)
        case "number" | "unsigned":
            return len(text) <= _LONGEST_INTEGER and _is_integer(kind, text)
        case "float":
            return _is_float(text)
        case "Decimal":
            return is_decimal(text) and spell(kind, Decimal(text)) == text
        case "Date":
            return _is_date(text)
        case "Timestamp":
            return _is_timestamp(text)
        case "structure":
            return _is_structure(text)
        case _:
            return kind == "Bool" and text in {"true", "false"}


def _is_integer(kind: str, text: str) -> bool:
    try:
        return spell(kind, int(text)) == text
    except ValueError:
        return False


def _is_float(text: str) -> bool:
    if len(text) > _LONGEST_FLOAT or not text.isascii():
        return False
    try:
        return spell("float", float.fromhex(text)) == text
    except (ValueError, OverflowError):
        return False


def is_decimal(text: str) -> bool:
    """Tell whether the text is a sign or none, digits, and perhaps a point with digits."""
    whole, point, fraction = text.removeprefix("-").partition(".")
    return text.isascii() and whole.isdigit() and (fraction.isdigit() if point else not fraction)


def _is_date(text: str) -> bool:
    # `fromisoformat` alone would also take 20260101 and 2026-W01-1.
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_timestamp(text: str) -> bool:
    if not text.endswith("Z"):
        return False
    try:
        moment = datetime.fromisoformat(text[:-1])
    except ValueError:
        return False
    return moment.isoformat(timespec="microseconds") == text[:-1] and moment.tzinfo is None


def _is_structure(text: str) -> bool:
    return len(text) <= LARGEST and is_text(text) and read_structure(Structures(), text) is not None


def read_structure(structures: Structures, text: str) -> Structure | None:
    """Return the structure that a text spells."""
    return structures.read(text, is_number_field)


def is_number_field(text: str) -> bool:
    """Tell whether a field without quotes is a number; whole ones of every kind are Decimals."""
    if len(text) > _LONGEST_DECIMAL:
        return False
    # Most numbers are short, and lists of them are long.
    if _SHORT_DECIMAL.match(text):
        return True
    return is_spelled("Decimal", text) or is_spelled("float", text)


def is_known(value: Value) -> TypeGuard[Known]:
    """Tell whether a value is there and known."""
    return type(value) is str or type(value) is Structure


def is_vague(value: Value) -> bool:
    """Tell whether the value may be another one: ⋆, a label, or perhaps none."""
    return value is Hole.STAR or type(value) is Label or (type(value) is Null and value != NONE)


def surely(pattern: OpenRow, row: OpenRow) -> bool:
    """Tell whether a row without ⋆ is an instance of a pattern, whatever is unknown."""
    return all(
        wanted is Hole.ANY
        or (type(value) is not Null and (wanted is Hole.UNBOUND or wanted == value))
        for wanted, value in zip(pattern, row, strict=True)
    )


def perhaps(pattern: OpenRow, row: OpenRow) -> bool:
    """Tell whether some values of what is unknown make a row an instance of a pattern."""
    return all(
        wanted is Hole.ANY
        or (value != NONE and (not is_known(wanted) or not is_known(value) or wanted == value))
        for wanted, value in zip(pattern, row, strict=True)
    )


@lru_cache(maxsize=65536)
def parse(kind: str, text: str) -> Number:
    """Return the value of a spelled number, unsigned, float or Decimal."""
    if kind == "float":
        return float.fromhex(text)
    return Decimal(text) if kind == "Decimal" else int(text)


def spell(kind: str, value: Number) -> str | None:
    """Return the spelling of a numeric value, ``None`` where the kind has no such value."""
    if kind == "float":
        return (float(value) + 0.0).hex() if math.isfinite(value) else None
    if kind == "Decimal":
        return _spell_decimal(Decimal(value))
    lowest, highest = next((low, high) for name, low, high in _RANGE_OF if name == kind)
    return str(value) if lowest <= value <= highest else None


def _spell_decimal(value: Decimal) -> str | None:
    if not value:
        return "0"
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return None
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    exponent += len(text) - len(kept)
    # Bounds first: a hostile exponent must not be written out.
    if exponent < -DIGITS or len(kept) + exponent > DIGITS or len(kept) > DIGITS:
        return None
    if exponent >= 0:
        return "-" * sign + kept + "0" * exponent
    padded = kept.rjust(1 - exponent, "0")
    return "-" * sign + padded[:exponent] + "." + padded[exponent:]
