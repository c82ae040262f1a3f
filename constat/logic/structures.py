"""Structures as values: made, taken apart, spelled, and described for hashes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.frozen import frozen
from constat.logic.program import Aggregate, Apply, Comparison, Negative, Positive
from constat.logic.values import (
    MAX_TEXT,
    NIL,
    RECORD,
    STRING,
    EvaluationError,
    Kind,
    Value,
    all_cuts,
    canonical_float,
    check_integer,
    check_structure,
    constructor_and_fields,
    format_value,
    parse_value,
    parts_between,
    quoted,
    unquoted,
)
from constat.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic.program import (
        Branch,
        Column,
        Literal,
        Rule,
        Structures,
        Term,
        TypeDefinition,
    )

# `field_of` is total: where there is no such field of that kind it gives the value that stands for
# nothing, so the order of literals decides no error; rules that analysis makes ask for the
# constructor beside it.

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


_CONSTRUCTOR: Final = regex(r"\$[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NIL: Final = regex(r"nil(?![A-Za-z0-9_])", re.ASCII)
_QUOTED: Final = regex(STRING)
# As Souffle writes a text: without quotes, up to what ends the field.
_RAW_FIELD: Final = regex(r'[^",\]][^,\]]*|(?=[,\]])')
_RAW_ARGUMENT: Final = regex(r'[^",)][^,)]*|(?=[,)])')
_HEXADECIMAL: Final = regex(r"-?0x")


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


# Two columns have the same form exactly when the same texts are values of both and mean the same:
# names of fields count, for whoever swaps two fields of one kind leaves every text a value and
# changes what it says. A column of any other kind has the name of its kind, as before there were
# structures.

_NAMED: Final = regex(rf"{STRING}|\$[A-Za-z0-9_]+")
_PIECE: Final = regex(rf"{STRING}|(?<![$A-Za-z0-9_])-?[0-9][0-9a-fx.p+-]*")
_LEAVES: Final = MappingProxyType(
    {
        Kind.NUMBER: "5",
        Kind.UNSIGNED: "5",
        Kind.FLOAT: "0.5",
        Kind.DECIMAL: "10.5",
        Kind.SYMBOL: '"text"',
        Kind.DATE: '"2026-01-31"',
        Kind.TIMESTAMP: '"2026-01-31T10:00:00Z"',
        Kind.BOOL: '"true"',
    }
)


def column_form(column: Column) -> object:
    """Give the name of the kind, or of a structure all that its types are made of."""
    if column.kind is not Kind.STRUCTURE:
        return column.kind.value
    return [column.kind.value, column.type_name, types_form([column])]


def types_form(columns: Iterable[Column]) -> list[object]:
    """Give what the structure types of columns and of their fields are made of, by name."""
    found: dict[str, object] = {}
    waiting = list(columns)
    while waiting:
        column = waiting.pop()
        structures = column.structures
        if column.kind is not Kind.STRUCTURE or structures is None or column.type_name in found:
            continue
        branches = structures.branches.get(column.type_name, ())
        found[column.type_name] = [_branch_form(one) for one in branches]
        waiting += [_known(field, structures) for one in branches for field in one.fields]
    return [[name, found[name]] for name in sorted(found)]


def leaves_of(structure: str) -> Iterator[tuple[Value, Kind]]:
    """Yield the texts and numbers in a structure; without its type, dates are texts."""
    for piece in _PIECE.findall(structure):
        if piece[0] == '"':
            yield unquoted(piece), Kind.SYMBOL
        elif "x" in piece:
            yield float.fromhex(piece), Kind.FLOAT
        elif "." in piece:
            yield Decimal(piece), Kind.DECIMAL
        else:
            yield int(piece), Kind.NUMBER


def branches_of(structure: str) -> tuple[str, ...]:
    """Give the names of the branches in a structure, without the dollar sign."""
    found = (piece[1:] for piece in _NAMED.findall(structure) if piece[0] == "$")
    return tuple(dict.fromkeys(found))


def structure_names(types: Mapping[str, TypeDefinition]) -> frozenset[str]:
    """Give the names of structure types, those of their aliases too; for types not yet analysed."""
    found = {name for name, one in types.items() if one.branches}
    size = -1
    while size < len(found):
        size = len(found)
        found |= {
            name for name, one in types.items() if one.members and found.issuperset(one.members)
        }
    return frozenset(found)


def referred_types(definition: TypeDefinition) -> tuple[str, ...]:
    """Give the types that a definition rests on: its members, and the types of its fields."""
    fields = (field.type_name for one in definition.branches for field in one.fields)
    return (*definition.members, *dict.fromkeys(fields))


def constructions(rules: Iterable[Rule]) -> Iterator[Apply]:
    """Yield the structures that rules make or, before analysis, take apart."""
    literals: list[Literal] = []
    for rule in rules:
        literals += (Positive(rule.head), *rule.body)
    terms: list[Term] = []
    while literals:
        match literals.pop():
            case Positive(atom) | Negative(atom):
                terms += atom.terms
            case Comparison(left=left, right=right):
                terms += (left, right)
            case Aggregate(body=inner, target=target):
                literals += inner
                terms += [] if target is None else [target]
    while terms:
        term = terms.pop()
        if isinstance(term, Apply):
            terms += term.arguments
            if is_constructor(term.function):
                yield term


def is_same_definition(one: TypeDefinition, other: TypeDefinition) -> bool:
    """Tell whether two definitions of a type say the same, wherever they stand."""
    return _definition_form(one) == _definition_form(other)


def _definition_form(one: TypeDefinition) -> tuple[object, ...]:
    # Kinds are left out: before analysis nobody knows them.
    branches = [
        (branch.constructor, [(field.name, field.type_name) for field in branch.fields])
        for branch in one.branches
    ]
    return one.form, one.members, branches


def _branch_form(branch: Branch) -> list[object]:
    fields = [[field.name, field.type_name, field.kind.value] for field in branch.fields]
    return [branch.constructor, fields]


def _known(field: Column, structures: Structures) -> Column:
    """Give a field with what its type is made of, which only columns are bound to have."""
    if field.structures is not None or field.type_name not in structures.branches:
        return field
    return replace(field, structures=structures)


def types_text(columns: Iterable[Column]) -> list[str]:
    """Write the structure types of columns and of their fields as rule files do, one each."""
    return [_written(str(name), branches) for name, branches in _listed(types_form(columns))]


def example_of(column: Column) -> str:
    """Give a short value of a structure's type; empty where it has none that ends."""
    types = dict(_listed(types_form([column])))
    found: dict[str, str] = {}
    # A type has an example once a branch of it has: after so many rounds none is left to find.
    for _ in range(2 * len(types)):
        before = len(found)
        for name, branches in types.items():
            texts = [text for one in branches if (text := _example(one, types, found))]
            if name not in found and texts:
                found[name] = texts[0]
        if len(found) == before:
            records = [one for one in types if one not in found and types[one][0][0] == RECORD]
            found.update(dict.fromkeys(records[:1], NIL))
    return found.get(column.type_name, "")


_Branches = list[tuple[str, list[tuple[str, str, str]]]]


def _listed(form: Iterable[object]) -> Iterator[tuple[str, _Branches]]:
    return (cast("tuple[str, _Branches]", tuple(cast("list[object]", one))) for one in form)


def _written(name: str, branches: _Branches) -> str:
    texts = []
    for constructor, fields in branches:
        listed = ", ".join(f"{field}: {type_name}" for field, type_name, _ in fields)
        braced = f"{{ {listed} }}" if listed else "{}"
        plain = constructor == RECORD
        texts.append(f"[{listed}]" if plain else f"{constructor.removeprefix('$')} {braced}")
    return f".type {name} = {' | '.join(texts)}"


def _example(
    branch: tuple[str, list[tuple[str, str, str]]],
    types: Mapping[str, _Branches],
    found: Mapping[str, str],
) -> str:
    constructor, fields = branch
    texts = []
    for _, type_name, kind in fields:
        text = found.get(type_name, "") if type_name in types else _LEAVES.get(Kind(kind), "")
        if not text:
            return ""
        texts.append(text)
    if constructor == RECORD:
        return f"[{', '.join(texts)}]"
    return f"{constructor}({', '.join(texts)})" if texts else constructor


# What is given is what `structures` gives, whatever was asked before; what is remembered is
# bounded. The parts of a long structure are found in one pass over it, and each part remembers
# where it came from: the tail of a list of 10,000 cells is cut without looking at its cells again.

_LONG: Final = 512
"""From this length on the parts of the parts are found as well."""
_MOST_TEXT: Final = 1 << 29
"""Room for a list of 10,000 cells, with all that end it: a proof meets them from the end."""
_MOST: Final = 1 << 16


@frozen
class _Within:
    """Where a structure stands in a longer one, and the cuts of all structures there."""

    text: str
    start: int
    cuts: Mapping[int, tuple[int, ...]]


class Parts:
    """What one evaluation has taken apart; single-threaded."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._within: dict[str, _Within] = {}
        self._size = 0

    def constructor_of(self, structure: str) -> str:
        """Give the constructor and the number of fields."""
        return self._taken(structure)[0]

    def field_of(self, kind: Kind) -> Callable[[str, int], Value]:
        """Give what reads a field of that kind, counted from 0."""
        field, taken = field_reader(kind), self._taken

        def read(structure: str, place: int) -> Value:
            fields = taken(structure)[1]
            return field(fields[place]) if 0 <= place < len(fields) else NOTHING[kind]

        return read

    def _taken(self, structure: str) -> tuple[str, tuple[str, ...]]:
        known = self._known.get(structure)
        if known is None:
            known = self._known[structure] = self._take(structure)
        return known

    def _take(self, structure: str) -> tuple[str, tuple[str, ...]]:
        self._size += len(structure)
        if self._size > _MOST_TEXT or len(self._known) > _MOST:
            self._known.clear()
            self._within.clear()
            self._size = len(structure)
        if len(structure) < _LONG or structure[-1] not in "])":
            constructor, fields = constructor_and_fields(structure)
            return indicator_of(constructor, len(fields)), fields
        within = self._within.pop(structure, None)
        if within is None:
            within = _Within(structure, 0, all_cuts(structure))
        return self._cut(within)

    def _cut(self, within: _Within) -> tuple[str, tuple[str, ...]]:
        text, cuts = within.text, within.cuts[within.start]
        fields = parts_between(text, cuts)
        for field, cut in zip(fields, cuts, strict=False):
            if len(field) >= _LONG and field[0] != '"':
                self._within[field] = _Within(text, cut + 2, within.cuts)
        first = cuts[0] + 2
        name = RECORD if text[within.start] == "[" else text[within.start : first - 1]
        return indicator_of(name, len(fields)), fields
