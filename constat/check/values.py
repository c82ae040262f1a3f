"""The kinds of values, structures among them, their only spellings, and strict JSON."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

from .canonical import MAX_INTEGER, Json, Rejected, is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# A `Structures` makes each structure once, so two are equal exactly where they are the same
# object, a field is found and a list is made longer in constant time, and a walk over a list takes
# linear time however often a certificate says "the rest of it".  Nothing recurses: a structure may
# nest as deep as its text is long.  FORMAT.md, section 2.

RECORD: Final = "[]"
LARGEST: Final = 1_048_576
"""Bytes of a structure's text in UTF-8."""

QUOTED: Final = r'"[^"\\]*+(?:\\["\\][^"\\]*+)*+"'
_NAME: Final = r"\$[A-Za-z_][A-Za-z0-9_]*+"
# What opens, what closes, what stands between two fields, and what is a value by itself.
_SIGN: Final = re.compile(
    rf"(\[|{_NAME}\()|([\])])|(, )|(nil|{_NAME})|({QUOTED}|[-0-9][-+.0-9a-fpx]*+)"
)
QUOTED_TEXT: Final = re.compile(rf"{QUOTED}\Z")
_BRANCH: Final = re.compile(rf"{_NAME}\Z")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class Structure:
    """One structure; its fields are structures, or the spellings of numbers and of texts in quotes.

    ``size`` is that of its text in bytes, ``place`` the index in the table of shared values.
    """

    __slots__ = ("constructor", "fields", "place", "size", "spelled")

    def __init__(self, constructor: str, fields: tuple[Field, ...], size: int) -> None:
        self.constructor = constructor
        self.fields = fields
        self.size = size
        self.place: int | None = None
        self.spelled = ""

    def __str__(self) -> str:
        """Return the text; it is written out anew unless it was read as one."""
        return self.spelled or "".join(_pieces(self))

    @property
    def indicator(self) -> str:
        """The constructor and the number of fields: ``nil/0``, ``[]/2``, ``$Add/2``."""
        return f"{self.constructor}/{len(self.fields)}"


Field: TypeAlias = "str | Structure"


def _pieces(whole: Structure) -> list[str]:
    found: list[str] = []
    waiting: list[str | Structure] = [whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif part.fields:
            closer = "]" if part.constructor == RECORD else ")"
            found.append("[" if part.constructor == RECORD else f"{part.constructor}(")
            waiting.append(closer)
            for field in reversed(part.fields):
                waiting += (field, ", ")
            waiting.pop()
        else:
            found.append(part.constructor)
    return found


def is_constructor(name: str) -> bool:
    """Tell whether the function makes structures."""
    return name == RECORD or _BRANCH.match(name) is not None


class Structures:
    """Makes structures, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[Field, ...]], Structure] = {}
        self.nil = Structure("nil", (), len("nil"))
        self._known["nil", ()] = self.nil

    def made(self, constructor: str, fields: tuple[Field, ...]) -> Structure | None:
        """Return the structure with these fields, ``None`` where its text would be too long."""
        found = self._known.get((constructor, fields))
        if found is None:
            size = _size(constructor, fields)
            if size > LARGEST:
                return None
            found = self._known[constructor, fields] = Structure(constructor, fields, size)
        return found

    def read(self, text: str, is_number: Callable[[str], bool]) -> Structure | None:
        """Return the structure that a text spells; ``is_number`` knows the numbers in it."""
        if len(text) > LARGEST or len(text.encode()) > LARGEST:
            return None
        reading = _Reading(self, is_number)
        position, end = 0, len(text)
        while position < end:
            sign = _SIGN.match(text, position)
            if sign is None or not reading.take(sign):
                return None
            position = sign.end()
        found = reading.whole
        if found is not None:
            found.spelled = text
        return found


def _size(constructor: str, fields: tuple[Field, ...]) -> int:
    if not fields:
        return len(constructor)
    around = 2 if constructor == RECORD else len(constructor) + 2
    inner = sum(len(f.encode()) if isinstance(f, str) else f.size for f in fields)
    return around + inner + 2 * (len(fields) - 1)


class _Reading:
    """A text that is read sign by sign; ``whole`` is set when its last bracket is closed."""

    def __init__(self, owner: Structures, is_number: Callable[[str], bool]) -> None:
        self.owner = owner
        self.is_number = is_number
        self.open: list[tuple[str, list[Field]]] = []
        self.whole: Structure | None = None
        self.wants_value = True

    def take(self, sign: re.Match[str]) -> bool:
        """Go on by one sign; tell whether it may stand here."""
        opening, closing, comma, bare, field = sign.groups()
        if self.whole is not None:
            return False
        if closing is not None:
            return self.close(closing)
        if comma is not None:
            allowed, self.wants_value = not self.wants_value and bool(self.open), True
            return allowed
        if not self.wants_value:
            return False
        if opening is not None:
            self.open.append((RECORD if opening == "[" else opening[:-1], []))
            return True
        if bare is not None:
            return self.add(self.owner.made(bare, ()))
        if not self.open or not (field[0] == '"' or self.is_number(field)):
            return False
        return self.add(field)

    def close(self, closing: str) -> bool:
        if not self.open:
            return False
        constructor, fields = self.open.pop()
        # Only the record without fields has nothing between its brackets.
        empty = self.wants_value and not fields and constructor == RECORD
        if (closing == "]") != (constructor == RECORD) or (self.wants_value and not empty):
            return False
        return self.add(self.owner.made(constructor, tuple(fields)))

    def add(self, field: Field | None) -> bool:
        self.wants_value = False
        if field is None:
            return False
        if self.open:
            self.open[-1][1].append(field)
        elif isinstance(field, Structure):
            self.whole = field
        return True


def quoted(text: str) -> str:
    """Return a text as a field."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(field: str) -> str | None:
    """Return the text that a field is, ``None`` where the field is no text."""
    return _ESCAPED.sub(r"\1", field[1:-1]) if field[0] == '"' else None


# Two values of one kind are equal exactly when their spellings are, so rows are compared as texts.
# FORMAT.md, section 2.

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

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("a hole is neither true nor false")


@dataclass(frozen=True, slots=True)
class Label:
    """A value that is there and that nobody knows: the one with this number in the ``labels``.

    With ``made`` it is what a total function makes of that value: the function and its arguments,
    spelled, and ``None`` where the label stands.
    """

    number: int
    made: tuple[str, tuple[str | None, ...]] | None = None

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("a label is neither true nor false")


@dataclass(frozen=True, slots=True)
class Null:
    """A cell of a fact row without a value: there is none, or (with an ordinal) perhaps none.

    Of a cell that is not ``read`` nothing is known and nothing is asked.
    """

    ordinal: int | None
    read: bool = True

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("a cell without a value is neither true nor false")


HIDDEN: Final = "\0"
"""How a hidden value begins: no text has this character, so it is like no other value."""

NONE: Final = Null(None)
UNREAD: Final = Null(None, read=False)

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


def is_hidden(value: object) -> bool:
    """Tell whether a value is there and hidden: FORMAT.md, section 5c."""
    return type(value) is str and value.startswith(HIDDEN)


def is_known(value: Value) -> TypeGuard[Known]:
    """Tell whether a value is there and known."""
    return type(value) is str or type(value) is Structure


def is_vague(value: Value) -> bool:
    """Tell whether the value may be another one: ⋆, a label, or perhaps none."""
    return (
        value is Hole.STAR
        or type(value) is Label
        or (type(value) is Null and value.ordinal is not None)
    )


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
        or (
            value not in {NONE, UNREAD}
            and (not is_known(wanted) or not is_known(value) or wanted == value)
        )
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


# Nothing is ignored; a member that this version does not know is an error, so nothing can hide in
# one.

MILLION: Final = 1_000_000
_LONGEST_CONFIDENCE: Final = len("0.123456")
_HEX: Final = frozenset("0123456789abcdef")
_SHA256: Final = "sha256:"


def members(value: Json, names: tuple[str, ...]) -> list[Json]:
    """Return the members of an object in the order of ``names``."""
    if not isinstance(value, dict):
        raise Rejected("schema", "an object is expected")
    if len(value) == len(names):
        try:
            return [value[name] for name in names]
        except KeyError:
            pass
    odd = sorted(value.keys() ^ set(names))
    raise Rejected("schema", f"missing or unknown members: {', '.join(map(repr, odd[:5]))}")


def array(value: Json, length: int | None = None) -> list[Json]:
    """Return the elements of an array, of ``length`` elements where one is given."""
    if not isinstance(value, list):
        raise Rejected("schema", "an array is expected")
    if length is not None and len(value) != length:
        raise Rejected("schema", f"an array of {length} is expected")
    return value


def text(value: Json) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise Rejected("schema", "a string is expected")
    return value


def text_or_null(value: Json) -> str | None:
    """Return a string or ``None``."""
    return None if value is None else text(value)


def index(value: Json, below: int = MAX_INTEGER + 1) -> int:
    """Return an integer from 0 to ``below`` - 1."""
    # A truth value is an `int` in Python, and no index.
    if type(value) is not int or not 0 <= value < below:
        raise Rejected("schema", f"an integer from 0 to {below - 1} is expected")
    return value


def index_or_null(value: Json, below: int) -> int | None:
    """Return an integer below ``below``, or ``None``."""
    return None if value is None else index(value, below)


def one_of(value: Json, allowed: Iterable[str]) -> str:
    """Return one of the allowed strings."""
    found = text(value)
    if found not in allowed:
        raise Rejected("schema", f"{found[:40]!r} is not allowed here")
    return found


def sha(value: Json) -> str:
    """Return a ``sha256:`` reference."""
    found = text(value)
    if not (found.startswith(_SHA256) and len(found) == len(_SHA256) + 64):
        raise Rejected("schema", "sha256:<64 digits> is expected")
    if not set(found[len(_SHA256) :]) <= _HEX:
        raise Rejected("schema", "sha256: is followed by lower-case hexadecimal digits")
    return found


def sha_or_null(value: Json) -> str | None:
    """Return a ``sha256:`` reference or ``None``."""
    return None if value is None else sha(value)


def nothing(values: Iterable[Json]) -> None:
    """Reject a value where the format has none yet."""
    if any(value is not None for value in values):
        raise Rejected("schema", "this is null until a later version says what it means")


def confidence(value: Json) -> int:
    """Return a confidence in millionths, 0 to 1,000,000."""
    if value == "1":
        return MILLION
    found = text(value)
    if len(found) > _LONGEST_CONFIDENCE or not is_decimal(found):
        raise Rejected("schema", "a confidence is a decimal with at most 6 places")
    whole, _, places = found.partition(".")
    millionths = int(whole) * MILLION + int(places.ljust(6, "0"))
    if not 0 <= millionths <= MILLION or show_confidence(millionths) != found:
        raise Rejected("schema", "a confidence lies between 0 and 1 and has one spelling")
    return millionths


def show_confidence(millionths: int) -> str:
    """Return the spelling of a confidence in millionths."""
    whole, places = divmod(millionths, MILLION)
    return f"{whole}.{places:06}".rstrip("0").rstrip(".")


def moment(value: Json) -> str:
    """Return a time in UTC."""
    found = text(value)
    if not is_spelled("Timestamp", found):
        raise Rejected("value", "a time is spelled YYYY-MM-DDTHH:MM:SS.ffffffZ")
    return found
