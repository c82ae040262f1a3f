"""What a structure type is made of, as plain data: for hashes, kept answers and comparisons.

In: columns, definitions. Out: values that JSON can spell. Invariant: two columns have the same form
exactly when the same texts are values of both and mean the same: names of fields count, for whoever
swaps two fields of one kind leaves every text a value and changes what it says. A column of any
other kind has the name of its kind, as before there were structures. Example: a column of
`.type Pair = [a: number, b: symbol]` has a form that `.type Pair = [b: number, a: symbol]` has not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.logic.structure_text import NIL, RECORD, STRING, unquoted
from constat.logic.structures import is_constructor
from constat.logic.terms import Aggregate, Apply, Comparison, Negative, Positive
from constat.logic.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.logic.program import Branch, Column, Rule, Structures, TypeDefinition
    from constat.logic.terms import Literal, Term
    from constat.logic.values import Value

_NAMED: Final = re.compile(rf"{STRING}|\$[A-Za-z0-9_]+")
_PIECE: Final = re.compile(rf"{STRING}|(?<![$A-Za-z0-9_])-?[0-9][0-9a-fx.p+-]*")
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
