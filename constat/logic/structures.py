r"""Structures as values: functions that make them and take them apart, and texts of a given type.

In: spellings (see `structure_text`), kinds, types. Out: functions for engines, and the canonical
text of what people and files write. Invariant: `field_of` is total: where there is no such field
of that kind it gives the value that stands for nothing, so the order of literals decides no error;
rules that analysis makes ask for the constructor beside it.

>>> construct("$Add", (Kind.NUMBER, Kind.SYMBOL))(1, "a")
'$Add(1, "a")'
>>> constructor_of('$Add(1, "a")')
'$Add/2'
>>> field_of(Kind.SYMBOL)('$Add(1, "a")', 1)
'a'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic.failure import EvaluationError
from constat.logic.structure_text import (
    NIL,
    RECORD,
    STRING,
    constructor_and_fields,
    quoted,
    unquoted,
)
from constat.logic.values import (
    MAX_TEXT,
    Kind,
    Value,
    canonical_float,
    check_integer,
    check_structure,
    format_value,
    parse_value,
)

if TYPE_CHECKING:
    from constat.logic.program import Branch, Column, Structures

CONSTRUCTOR_OF: Final = "constructor_of"
FIELD_OF: Final = "field_of"

_TEXTS: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL})
NOTHING: Final = MappingProxyType[Kind, Value](
    {
        Kind.NUMBER: 0,
        Kind.UNSIGNED: 0,
        Kind.FLOAT: 0.0,
        Kind.DECIMAL: Decimal(0),
        Kind.SYMBOL: "",
        Kind.DATE: "0001-01-01",
        Kind.TIMESTAMP: "0001-01-01T00:00:00.000000Z",
        Kind.BOOL: "false",
        Kind.STRUCTURE: NIL,
    }
)
"""What `field_of` gives where there is no such field."""


def is_constructor(function: str) -> bool:
    """Tell whether a function makes structures."""
    return function == RECORD or function.startswith("$")


def construct(constructor: str, kinds: tuple[Kind, ...]) -> Callable[..., Value]:
    """Give what makes a structure of values of those kinds; it raises `EvaluationError`."""
    opening, closing = ("[", "]") if constructor == RECORD else (f"{constructor}(", ")")
    spell = tuple(_speller(kind) for kind in kinds)

    def make(*values: Value) -> Value:
        fields = ", ".join([write(one) for write, one in zip(spell, values, strict=True)])
        text = f"{opening}{fields}{closing}"
        if (len(text) if text.isascii() else len(text.encode())) > MAX_TEXT:
            raise EvaluationError(f"the structure is longer than {MAX_TEXT} bytes")
        return text

    return make if kinds or constructor == RECORD else lambda: constructor


def _speller(kind: Kind) -> Callable[[Value], str]:
    if kind is Kind.STRUCTURE:
        return str
    if kind in _TEXTS:
        return lambda value: quoted(str(value))
    return lambda value: format_value(value, kind)


def indicator_of(constructor: str, arity: int) -> str:
    """Write a constructor with the number of its fields: `nil/0`, `[]/2`, `$Add/2`."""
    return f"{constructor}/{arity}"


def constructor_of(structure: str) -> str:
    """Give the constructor of a structure and the number of its fields."""
    constructor, fields = constructor_and_fields(structure)
    return indicator_of(constructor, len(fields))


def field_of(kind: Kind) -> Callable[[str, int], Value]:
    """Give what reads a field of that kind, counted from 0."""
    field = field_reader(kind)

    def read(structure: str, place: int) -> Value:
        _, fields = constructor_and_fields(structure)
        return field(fields[place]) if 0 <= place < len(fields) else NOTHING[kind]

    return read


def field_reader(kind: Kind) -> Callable[[str], Value]:
    """Give what reads the spelling of a field, or gives what stands for nothing."""
    nothing = NOTHING[kind]
    match kind:
        case Kind.STRUCTURE:
            # A part of a structure is one, or it is a leaf, which begins with none of these.
            return lambda field: field if field[0] in "[$" or field == NIL else nothing
        case Kind.SYMBOL:
            return lambda field: unquoted(field) if field[0] == '"' else nothing
        case Kind.NUMBER | Kind.UNSIGNED:
            return lambda field: _integer(field, kind)
        case _:
            return lambda field: _read(field, kind)


def _integer(field: str, kind: Kind) -> Value:
    if field[0] == '"' or not (field.isascii() and field.removeprefix("-").isdigit()):
        return NOTHING[kind]
    try:
        return check_integer(int(field), kind)
    except ValueError:
        return NOTHING[kind]


def _read(field: str, kind: Kind) -> Value:
    try:
        value = _spelled(field, kind)
    except ValueError:
        return NOTHING[kind]
    return value if _speller(kind)(value) == field else NOTHING[kind]


def _spelled(field: str, kind: Kind) -> Value:
    if kind is Kind.FLOAT:
        return _float(field)
    return parse_value(unquoted(field) if field[0] == '"' else field, kind)


def _float(field: str) -> float:
    try:
        return canonical_float(float.fromhex(field))
    except OverflowError:
        raise ValueError("is not a finite number") from None


class _Reader:
    """Reads a structure of a type as people and fact files write it; blanks do not matter."""

    def __init__(self, text: str, structures: Structures) -> None:
        self.text = text
        self.structures = structures
        self.position = 0

    def blank(self) -> None:
        while self.position < len(self.text) and self.text[self.position] in " \t\n\r":
            self.position += 1

    def accept(self, sign: str) -> bool:
        self.blank()
        found = self.text.startswith(sign, self.position)
        self.position += len(sign) * found
        return found

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise ValueError(f"lacks `{sign}` at character {self.position + 1}")

    def branch(self, type_name: str) -> Branch | None:
        """Read a constructor; nothing for `nil`."""
        self.blank()
        record = self.structures.branch(type_name, RECORD)
        if record is None:
            found = _CONSTRUCTOR.match(self.text, self.position)
            branch = self.structures.branch(type_name, found[0]) if found else None
            if found is None or branch is None:
                raise ValueError(f"names no branch of {type_name} at character {self.position + 1}")
            self.position = found.end()
            return branch
        if _NIL.match(self.text, self.position):
            self.position += len(NIL)
            return None
        return record

    def leaf(self, column: Column, closer: str) -> str:
        self.blank()
        string = _QUOTED.match(self.text, self.position)
        raw = _RAW_FIELD if closer == "]" else _RAW_ARGUMENT
        found = string or raw.match(self.text, self.position)
        if found is None:
            raise ValueError(f"holds a text without an end at character {self.position + 1}")
        self.position = found.end()
        text = unquoted(found[0]) if string else found[0].rstrip(" \t\n\r")
        if column.kind is Kind.FLOAT and _HEXADECIMAL.match(text):
            return _speller(Kind.FLOAT)(_float(text))
        if string and column.kind.numeric:
            raise ValueError(f"holds a text in the field {column.name}")
        try:
            return _speller(column.kind)(parse_value(text, column.kind))
        except ValueError as problem:
            raise ValueError(f"has a field {column.name} that {problem}") from None


_CONSTRUCTOR: Final = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NIL: Final = re.compile(r"nil(?![A-Za-z0-9_])", re.ASCII)
_QUOTED: Final = re.compile(STRING)
# As Souffle writes a text: without quotes, up to what ends the field.
_RAW_FIELD: Final = re.compile(r'[^",\]][^,\]]*|(?=[,\]])')
_RAW_ARGUMENT: Final = re.compile(r'[^",)][^,)]*|(?=[,)])')
_HEXADECIMAL: Final = re.compile(r"-?0x")


def read_structure(text: str, type_name: str, structures: Structures) -> str:
    """Give the canonical text of a structure of that type; raises `ValueError` with a reason.

    Texts may stand without quotes up to the next `,` or the bracket that closes their constructor,
    as Souffle writes them.
    """
    reader = _Reader(text, structures)
    parts: list[str] = []
    waiting: list[tuple[Branch, int]] = []
    pending: str | None = type_name
    while pending is not None or waiting:
        if pending is not None:
            branch = reader.branch(pending)
            pending = None
            parts.append(_opening(reader, branch, waiting))
            continue
        branch_now, place = waiting.pop()
        if place == len(branch_now.fields):
            reader.expect("]" if branch_now.constructor == RECORD else ")")
            parts.append("]" if branch_now.constructor == RECORD else ")")
            continue
        if place:
            reader.expect(",")
            parts.append(", ")
        waiting.append((branch_now, place + 1))
        column = branch_now.fields[place]
        if column.kind is Kind.STRUCTURE:
            pending = column.type_name
        else:
            closer = "]" if branch_now.constructor == RECORD else ")"
            parts.append(reader.leaf(column, closer))
    reader.blank()
    if reader.position < len(text):
        raise ValueError(f"goes on behind its end at character {reader.position + 1}")
    return check_structure("".join(parts))


def _opening(reader: _Reader, branch: Branch | None, waiting: list[tuple[Branch, int]]) -> str:
    """Read what stands before the fields, and put the branch among those that wait for them."""
    if branch is None:
        return NIL
    if branch.constructor == RECORD:
        reader.expect("[")
        waiting.append((branch, 0))
        return "["
    if not branch.fields:
        if reader.accept("("):
            reader.expect(")")
        return branch.constructor
    reader.expect("(")
    waiting.append((branch, 0))
    return f"{branch.constructor}("


def read_as(text: str, column: Column) -> Value:
    """Read a value of a column as people write it; raises `ValueError` as `parse_value` does."""
    if column.kind is Kind.STRUCTURE and column.structures is not None:
        return read_structure(text, column.type_name, column.structures)
    return parse_value(text, column.kind)


def is_of_type(value: Value, column: Column) -> bool:
    """Tell whether a canonical value is one of the column's type; only structures can differ."""
    if column.kind is not Kind.STRUCTURE or column.structures is None:
        return True
    try:
        text = read_structure(str(value), column.type_name, column.structures)
    except ValueError:
        return False
    return text == value
