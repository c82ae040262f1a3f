"""Give every type and every column its base kind.

In: the draft's type definitions and declarations. Out: `Draft.types` and `Draft.predicates`,
whose columns have their kinds. Invariant: a name that means nothing is reported once per place
and counts as unknown from then on. Example: `.decl p(c: Custmer)` with `.type Customer <: symbol`
is C0212, and the help names `Customer`. Records and algebraic data types are filled in by
`structure_types`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis import structure_types
from constat.analysis.type_table import BASE_KINDS, MAX_DEPTH, TypeTable, definition_order
from constat.diagnostics import Diagnostic, Related, nearest
from constat.logic import Kind
from constat.syntax import Mode
from constat.syntax.words import STAND_INS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis.draft import Draft
    from constat.diagnostics import Span
    from constat.logic import Column, Predicate, TypeDefinition


def resolve_types(draft: Draft) -> None:
    """Fill the type table and the kinds of all columns."""
    definitions = {name: one for name, one in draft.program.types.items() if name not in BASE_KINDS}
    draft.types = TypeTable()
    for names in definition_order(definitions):
        if len(names) > 1 or names[0] in definitions[names[0]].members:
            draft.diagnostics.append(_cycle([definitions[name] for name in names]))
        else:
            _resolve(draft, definitions[names[0]])
    structure_types.fill(draft, definitions, lambda name, place: _unknown(draft, name, place))
    for name, predicate in draft.program.predicates.items():
        draft.predicates[name] = _with_kinds(draft, predicate)


def _resolve(draft: Draft, definition: TypeDefinition) -> None:
    table = draft.types
    if definition.branches:
        table.add_structure(definition)
        return
    kinds: dict[str, Kind | None] = {}
    for member in definition.members:
        if member not in table.kinds and member not in draft.program.types:
            draft.diagnostics.append(_unknown(draft, member, definition.span))
        kinds[member] = table.kinds.get(member)
    known = {kind for kind in kinds.values() if kind is not None}
    if Kind.STRUCTURE in known and definition.form != "alias":
        draft.diagnostics.append(structure_types.no_base(definition, kinds))
    elif len(known) > 1:
        draft.diagnostics.append(_mixed_union(definition, kinds))
    elif None not in kinds.values():
        table.add(definition, known.pop())
        if table.depths[definition.name] == MAX_DEPTH + 1:
            draft.diagnostics.append(_too_deep(definition))


def _with_kinds(draft: Draft, predicate: Predicate) -> Predicate:
    columns: list[Column] = []
    for column in predicate.columns:
        kind = draft.types.kinds.get(column.type_name)
        if kind is None and column.type_name not in draft.program.types:
            place = column.span or predicate.span
            draft.diagnostics.append(_unknown(draft, column.type_name, place))
        columns.append(draft.types.typed(column))
    if all(new is old for new, old in zip(columns, predicate.columns, strict=True)):
        return predicate
    return replace(predicate, columns=tuple(columns))


def _unknown(draft: Draft, name: str, place: Span | None) -> Diagnostic:
    plain = name.removesuffix("_")
    if draft.mode is Mode.SOUFFLE and plain in STAND_INS:
        return _of_constat_only(plain, place)
    near = nearest(name, [*BASE_KINDS, *draft.program.types])
    edit = f"write `{near}`" if near else f"declare it: `.type {name} <: symbol`"
    return Diagnostic(
        "C0212",
        f"there is no type `{name}`",
        place,
        label="this type is not declared",
        note="built in are " + ", ".join(BASE_KINDS) + "; others are declared by `.type`",
        help=edit,
    )


def _of_constat_only(name: str, place: Span | None) -> Diagnostic:
    """Say that Souffle's language, in which the program is read, lacks a type of ours."""
    return Diagnostic(
        "C0212",
        f"there is no type `{name}` in Souffle's language",
        place,
        label="this type is not declared",
        note="this program is read as Souffle reads it; Constat's own language has the type",
        help='begin the file with `.pragma "constat" "0.1"`, or declare it: '
        f"`.type {name} <: {STAND_INS[name]}`",
    )


def _cycle(definitions: list[TypeDefinition]) -> Diagnostic:
    first = definitions[0]
    path = " -> ".join(f"`{one.name}`" for one in [*definitions, first])
    return Diagnostic(
        "C0213",
        f"type `{first.name}` is defined by itself",
        first.span,
        label=path,
        note="a type leads to one of the built-in types in the end",
        help=f"write `.type {first.name} <: symbol`",
        related=tuple(
            Related(one.span, f"`{one.name}` is defined here")
            for one in definitions[1:]
            if one.span
        ),
    )


def _too_deep(definition: TypeDefinition) -> Diagnostic:
    return Diagnostic(
        "C0213",
        f"type `{definition.name}` is more than {MAX_DEPTH} steps away from a built-in type",
        definition.span,
        note="the limit keeps generated types from filling the memory",
        help=f"write `.type {definition.name} <: symbol`",
    )


def _mixed_union(definition: TypeDefinition, kinds: Mapping[str, Kind | None]) -> Diagnostic:
    shown = ", ".join(f"`{one}` is {kind.value}" for one, kind in kinds.items() if kind)
    return Diagnostic(
        "C0214",
        f"the types of the union `{definition.name}` have different base types",
        definition.span,
        label=shown,
        note="a column holds values of one base type; a union joins subtypes of one base type",
        help=f"write `.type {definition.name} = {definition.members[0]}`, and a second type "
        "for the other values",
    )
