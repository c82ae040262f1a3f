"""Kinds, values and null cells: what a column can hold, and its one canonical spelling."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from itertools import pairwise, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.frozen import frozen
from constat.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from constat.logic.program import Predicate


class EvaluationError(ValueError):
    """A rule instance errs. `str()` is the reason; it never quotes text that came from outside.

    What follows is the engine's business: an instance that errs is unknown, it is never dropped.
    """


# Two structures are equal exactly when their texts are, and a text shows where each field ends
# without knowing its type: texts stand in quotes, numbers do not. Nothing here recurses, so that a
# list may be as long as a text.
# A record is `[1, "a"]`, a branch `$Name(1, "a")` or `$Name`; in quotes only `\"` and `\\` are
# escapes. Dates, times and truth values are texts; numbers have the spelling of certificates.

NIL: Final = "nil"
RECORD: Final = "[]"
"""The constructor of all records; that of a branch is its name with the dollar sign."""

STRING: Final = r'"[^"\\]*(?:\\["\\][^"\\]*)*"'
"""The pattern of a text in its quotes."""
_TOKEN: Final = regex(rf"{STRING}|\$[A-Za-z_][A-Za-z0-9_]*|[\[\]()]|, |[-A-Za-z0-9.+]+", re.ASCII)
_WHOLE: Final = regex(r"-?(?:0|[1-9][0-9]{0,37})\Z")
_POINTED: Final = regex(r"-?(?:0|[1-9][0-9]{0,37})\.[0-9]{0,37}[1-9]\Z")
_HEXADECIMAL: Final = regex(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}\Z")
_MOST_DIGITS: Final = 38
_BETWEEN: Final = ", "
# Outside of quotes these signs stand nowhere else; what lies between them is skipped at once.
_MARK: Final = regex(rf"{STRING}|[\[\]()]|{_BETWEEN}")
# Fields that go no deeper than this, at once. Possessive: what does not match is not tried again.
_SHALLOW: Final = 4


def _group(depth: int) -> str:
    inner = _group(depth - 1) if depth else STRING
    return rf'[\[(](?:[^\[\]()"]++|{STRING}|{inner})*+[\])]'


_FIELDS: Final = regex(
    rf'{STRING}|(?:\$[A-Za-z0-9_]++)?{_group(_SHALLOW)}|[^\[\]()", ]++', re.ASCII
)
_OPENING: Final = regex(rf"{STRING}|\$[A-Za-z_][A-Za-z0-9_]*\(|[\[\])]|{_BETWEEN}", re.ASCII)
_FLOAT: Final = regex(rf"{STRING}|-?0x[0-9a-f.]+p[+-][0-9]+")


def quoted(text: str) -> str:
    """Write a text as a field."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(field: str) -> str:
    """Give the text of a field in quotes."""
    plain = field[1:-1]
    return re.sub(r"\\(.)", r"\1", plain, flags=re.DOTALL) if "\\" in plain else plain


def is_structure(text: str) -> bool:
    """Tell whether a text is the spelling of a structure."""
    closers: list[str] = []
    wants_value, may_close = True, False
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            return False
        piece, position = found[0], found.end()
        if piece in {"]", ")"}:
            if not closers or closers.pop() != piece or (wants_value and not may_close):
                return False
            wants_value, may_close = False, False
        elif piece == ", ":
            if wants_value or not closers:
                return False
            wants_value, may_close = True, False
        elif not wants_value:
            return False
        elif piece == "[" or (piece[0] == "$" and text.startswith("(", position)):
            position += piece != "["
            closers.append("]" if piece == "[" else ")")
            # `[]` is the record without fields; `$A()` is spelled `$A`.
            may_close = piece == "["
        elif piece[0] == "$" or piece == NIL or (closers and _is_leaf(piece)):
            wants_value, may_close = False, False
        else:
            return False
    return not closers and not wants_value


def _is_leaf(piece: str) -> bool:
    """Tell whether a piece is a text in quotes or a number in its one spelling."""
    if piece[0] == '"':
        return True
    if _WHOLE.match(piece):
        return piece != "-0"
    if _POINTED.match(piece):
        whole, _, places = piece.lstrip("-").partition(".")
        return len(whole.lstrip("0")) + len(places) <= _MOST_DIGITS or whole == "0"
    if _HEXADECIMAL.match(piece):
        return _is_hexadecimal(piece)
    return False


def _is_hexadecimal(piece: str) -> bool:
    try:
        value = float.fromhex(piece)
    except OverflowError:
        return False
    return value.hex() == piece and piece != "-0x0.0p+0"


def constructor_and_fields(structure: str) -> tuple[str, tuple[str, ...]]:
    """Give the constructor of a structure and the spellings of its fields."""
    if structure[-1] not in "])":
        return structure, ()
    start = 1 if structure[0] == "[" else structure.index("(") + 1
    name = RECORD if start == 1 else structure[: start - 1]
    inner = structure[start:-1]
    fields = tuple(_FIELDS.findall(inner))
    return name, fields if _BETWEEN.join(fields) == inner else _fields(structure, start)


def _fields(structure: str, start: int) -> tuple[str, ...]:
    """Give the fields of a structure of any depth; they begin at `start`."""
    cuts = [start - len(_BETWEEN)]
    depth = 0
    for found in _MARK.finditer(structure, start, len(structure) - 1):
        piece = found[0]
        if piece == _BETWEEN:
            if not depth:
                cuts.append(found.start())
        elif piece in "[(":
            depth += 1
        elif piece in "])":
            depth -= 1
    cuts.append(len(structure) - 1)
    return parts_between(structure, cuts)


def parts_between(text: str, cuts: Sequence[int]) -> tuple[str, ...]:
    """Give the fields of a structure: what stands between two cuts, behind the sign between."""
    width = len(_BETWEEN)
    if len(cuts) == 2 and cuts[0] + width == cuts[1]:  # noqa: PLR2004  a structure without fields
        return ()
    return tuple([text[one + width : end] for one, end in pairwise(cuts)])


def all_cuts(structure: str) -> dict[int, tuple[int, ...]]:
    """Say where the fields of a structure, and of all structures in it, are cut.

    By the place where a structure begins. One pass over the text, however deep it goes.
    """
    found: dict[int, tuple[int, ...]] = {}
    waiting: list[tuple[int, list[int]]] = []
    for mark in _OPENING.finditer(structure):
        piece = mark[0]
        if piece == _BETWEEN:
            waiting[-1][1].append(mark.start())
        elif piece[-1] in "[(":
            waiting.append((mark.start(), [mark.end() - len(_BETWEEN)]))
        elif piece in "])":
            start, cuts = waiting.pop()
            found[start] = (*cuts, mark.start())
    return found


def shown(structure: str) -> str:
    """Write a structure for people: its floats in short decimal form."""
    if "0x" not in structure:
        return structure
    return _FLOAT.sub(lambda found: _shown(found[0]), structure)


def _shown(piece: str) -> str:
    return piece if piece[0] == '"' else repr(float.fromhex(piece))


# At run time a value is an `int` (number, unsigned), a `float`, a `Decimal`, or a `str` (symbol,
# Date, Timestamp, Bool: canonical ISO text, so that text order is time order; structure: the text
# of `structure_text`). Columns are typed, so 1 and 1.0 never meet. The spelling is the one
# certificates use.
# Except for floats, which are spelled in hexadecimal, `parse_value(format_value(v, k), k) == v`.


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

    # Each is there once, and asked for some hundred times in a proof: its name need not be hashed.
    __hash__ = object.__hash__

    @property
    def numeric(self) -> bool:
        """Whether arithmetic and sums are defined."""
        return self in _NUMERIC


_NUMERIC: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})

Value = int | float | str | Decimal
Row = tuple[Value, ...]


class Open(Enum):
    """The placeholder for "some value nobody knows"; it joins with anything."""

    OPEN = "⋆"

    def __repr__(self) -> str:
        return "⋆"

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("an open value is neither true nor false")


OPEN = Open.OPEN
Slot = Value | Open
OpenRow = tuple[Slot, ...]

MAX_DIGITS = 38
MAX_TEXT = 1 << 20
_INTEGER = regex(r"-?[0-9]{1,25}\Z")
_DECIMAL = regex(r"[+-]?[0-9]{1,60}(\.[0-9]{1,60})?\Z")
_VALUES_FLOAT = regex(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?\Z")
_DATE = regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIMESTAMP = regex(
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
        if not _VALUES_FLOAT.match(text):
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


# Rows that hold them are made in `constat.tiers.database` alone. A cell is no value: nothing orders
# it, and `known` of the row besides makes it a label that stays the same however it was fetched.


class NullPolicy(Enum):
    """What a NULL says of the row, where the row stays certain; the words are those of `null`."""

    NONE = "none"
    """There is no value."""
    MAYBE = "maybe"
    """There is a value or none."""
    UNKNOWN = "unknown"
    """There is a value, and nobody knows which."""
    UNREAD = "unread"
    """Nobody asks: no rule and no goal reads the column, so it was not fetched."""

    @property
    def is_empty(self) -> bool:
        """Whether the cell stands for no value at all."""
        return self is NullPolicy.NONE or self is NullPolicy.UNREAD


NULL_POLICIES: Final = ("error", "skip", "none", "maybe", "unknown")
"""What `null` may say of a column; under the first two no null is in a row."""


def null_words(predicate: Predicate) -> tuple[str, ...]:
    """Give the word for nulls of each column: its own, else its `.input`'s, else `error`."""
    parameters = predicate.source.parameters if predicate.source else {}
    whole = parameters.get("null", predicate.attributes.get("null", "error"))
    return tuple(column.attributes.get("null", whole) for column in predicate.columns)


def null_policies(predicate: Predicate) -> tuple[NullPolicy | None, ...]:
    """Give what a null cell means in each column; `None` where a row holds none."""
    policies = {policy.value: policy for policy in NullPolicy}
    return tuple(map(policies.get, null_words(predicate)))


@frozen
class MadeBy:
    """The total function that made a label, and its arguments: `None` where the label stood.

    It takes a label that no function made; else rules could make labels without end.
    """

    function: str
    arguments: tuple[Value | None, ...]


_COMMITMENT: Final = "sha256:"


@frozen
class NullCell:
    """A cell of a certain row that holds no value.

    `known` are the cells of the row, as its predicate declares them, `None` where they are null;
    `ordinal` counts rows that are equal in these. Cells are equal where they are one label. Under
    `none` and `unread` there is nothing to tell apart: `known` is empty, and the ordinal 0.
    `made` is there where a total function made a label of a label, which the other fields name.
    """

    policy: NullPolicy
    predicate: str
    column: int
    known: tuple[Value | None, ...] = ()
    ordinal: int = 0
    made: MadeBy | None = None

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("a cell without a value is neither true nor false")

    @property
    def source(self) -> NullCell:
        """The cell of a row that this one is, or was made of."""
        return self if self.made is None else replace(self, made=None)

    @property
    def is_label(self) -> bool:
        """Whether it stands for a value: one that is there, but that nobody knows."""
        return self.policy is NullPolicy.UNKNOWN

    @property
    def is_hidden(self) -> bool:
        """Whether it stands for a value that a view hides."""
        return self.predicate.startswith(_COMMITMENT)

    def __str__(self) -> str:
        if self.is_hidden:
            return f"hidden({self.predicate[len(_COMMITMENT) :][:8]})"
        return "none" if self.policy is NullPolicy.NONE else "unknown"


def hidden_cell(commitment: str) -> NullCell:
    """Give the cell of a value that a view hides: a label, named by the commitment.

    No predicate has such a name, so it is like no other label.
    """
    return NullCell(NullPolicy.UNKNOWN, commitment, 0)


@frozen(eq=False)
class UnreadCell(NullCell):
    """What stands in each column that nobody reads: one object, `UNREAD_CELL`.

    It is of a type of its own, so that a row with it counts as one without null cells: nothing
    looks at the column. Rows of a large table have many, which are compared and hashed as the
    object they are.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __reduce__(self) -> str:
        """Copy it as the one that there is."""
        return "UNREAD_CELL"

    def __str__(self) -> str:
        return "(not read)"


UNREAD_CELL: Final = UnreadCell(NullPolicy.UNREAD, "", 0)


def with_null_cells(
    predicate: str,
    cells: Sequence[Value | None],
    policies: Sequence[NullPolicy | None],
    ordinal: int = 0,
) -> Row:
    """Put null cells for `None`; `policies` and cells are those of the predicate's columns."""
    known = tuple(cells)
    row: list[Value | NullCell] = []
    for column, (cell, policy) in enumerate(zip(cells, policies, strict=True)):
        if cell is not None:
            row.append(cell)
        elif policy is None:
            raise ValueError(f"column {column} of {predicate} may hold no null")
        elif policy is NullPolicy.UNREAD:
            row.append(UNREAD_CELL)
        elif policy.is_empty:
            row.append(NullCell(policy, predicate, column))
        else:
            row.append(NullCell(policy, predicate, column, known, ordinal))
    return cast("Row", tuple(row))


def null_cells(row: OpenRow) -> list[NullCell]:
    """Give the null cells of a row, in the order of its columns; what nobody reads is none."""
    cells: Iterable[object] = row
    return [cell for cell in cells if type(cell) is NullCell]


def has_null_cells(row: Row) -> bool:
    """Tell whether a cell of the row is null."""
    return NullCell in map(type, row)


def may_agree(one: Sequence[object], other: Sequence[object]) -> bool:
    """Tell whether two rows differ in no column where that is certain.

    A cell of `none` equals itself, may be one of `maybe`, and is nothing that has a value.
    """
    return all(map(_may_be_equal, one, other))


def _may_be_equal(one: object, other: object) -> bool:
    if one == other:
        return True
    nulls = [cell for cell in (one, other) if isinstance(cell, NullCell)]
    if any(cell.policy.is_empty for cell in nulls):
        return any(cell.policy is NullPolicy.MAYBE for cell in nulls)
    return bool(nulls)


def row_order(row: Row) -> tuple[object, ...]:
    """Give what sorts the rows of a relation: values first, null cells after them, by content."""
    return tuple(map(_cell_order, row))


def display_value(value: Slot | NullCell, kind: Kind) -> str:
    """Write a value for people: floats in short decimal form, times without needless digits."""
    if isinstance(value, Open):
        return "?"
    if isinstance(value, NullCell):
        return str(value)
    if kind is Kind.FLOAT:
        return repr(value)
    text = format_value(value, kind)
    if kind is Kind.STRUCTURE:
        return shown(text)
    if kind is Kind.TIMESTAMP and text.endswith(".000000Z"):
        return text[:-8] + "Z"
    return text


def _cell_order(cell: object) -> tuple[object, ...]:
    if not isinstance(cell, NullCell):
        return (0, cell)
    known = tuple((1, "") if one is None else (0, one) for one in cell.known)
    made = () if cell.made is None else (cell.made.function, str(cell.made.arguments))
    return (1, cell.policy.value, cell.predicate, cell.column, known, cell.ordinal, made)


# Equal to the JSON of each row by itself, whatever its texts hold; only faster, by working on
# columns.

_BETWEEN_VALUES: Final = "\0"
_BETWEEN_ROWS: Final = "\x80"
_NULL: Final = "\x01"
_TEXTS: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
_CANONICAL_WHOLE: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
# The encoder of a block holds a few copies of it.
_BLOCK: Final = 65_536


def unread_columns(rows: Iterable[OpenRow]) -> frozenset[int]:
    """Give the columns of a relation that nobody reads: in every row, as in the first."""
    first: Iterable[object] = next(iter(rows), ())
    return frozenset(place for place, cell in enumerate(first) if cell is UNREAD_CELL)


def canonical_lines(
    rows: Collection[Row], kinds: Sequence[Kind], nulls: Collection[int] = ()
) -> list[str]:
    """Write each row as one text, in the order of the rows; `nulls` are columns without values."""
    if not kinds:
        return [""] * len(rows)
    if not nulls and all(kind in _TEXTS for kind in kinds):
        return list(map(_BETWEEN_VALUES.join, rows))  # type: ignore[arg-type]  # all texts
    columns = (
        repeat(_NULL, len(rows)) if n in nulls else map(_speller(kind), map(itemgetter(n), rows))
        for n, kind in enumerate(kinds)
    )
    return list(map(_BETWEEN_VALUES.join, zip(*columns, strict=True)))


def line_before_null(texts: Sequence[str | None], nulls: Collection[int] = ()) -> str:
    """Give the least line of rows with the cells that a row has before its first own null."""
    line = ""
    for place, text in enumerate(texts):
        if text is None and place not in nulls:
            break
        line += f"{_NULL if text is None else text}{_BETWEEN_VALUES}"
    return line


def _speller(kind: Kind) -> Callable[[Value], str]:
    if kind in _TEXTS or kind in _CANONICAL_WHOLE:
        return str
    if kind is Kind.FLOAT:
        return lambda value: format_value(value, kind)
    return "{:f}".format


def canonical_bytes(
    lines: Sequence[str], width: int, nulls: Collection[int] = ()
) -> Iterable[bytes]:
    """Give the bytes of lines: each the JSON array of its values, and a newline."""
    for start in range(0, len(lines), _BLOCK):
        yield _block(lines[start : start + _BLOCK], width, nulls)


def _block(lines: Sequence[str], width: int, nulls: Collection[int]) -> bytes:
    joined = _BETWEEN_ROWS.join(lines)
    # With other letters, or with backslashes, what is looked for below could be part of a value.
    odd = not width or "\\" in joined or not all(map(str.isascii, lines))
    if odd or (nulls and joined.count(_NULL) != len(nulls) * len(lines)):
        return "".join(f"{_array(line, width, nulls)}\n" for line in lines).encode()
    written = json.dumps(joined).replace("\\u0000", '","').replace("\\u0080", '"]\n["')
    if nulls:
        written = written.replace('"\\u0001"', "null")
    return f"[{written}]\n".encode()


def _array(line: str, width: int, nulls: Collection[int]) -> str:
    texts = line.split(_BETWEEN_VALUES) if width else []
    values = [None if place in nulls else text for place, text in enumerate(texts)]
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))
