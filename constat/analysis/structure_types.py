"""What records and algebraic data types are made of.

In: type definitions whose names are in the type table. Out: the branches of every structure type,
each field with its kind, and diagnostics C0232, C0233 and C0248. Invariant: a branch name belongs
to one type, and every field that drew no diagnostic has a kind. Example: after `.type Expr =
Number { x: number } | Add { l: Expr, r: Expr }` the constructor `$Add` has two fields of type
`Expr`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Related, Severity
from constat.logic import RECORD, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from constat.analysis.draft import Draft
    from constat.diagnostics import Span
    from constat.logic import Branch, TypeDefinition


def fill(
    draft: Draft,
    definitions: Mapping[str, TypeDefinition],
    unknown: Callable[[str, Span | None], Diagnostic],
) -> None:
    """Type the fields of all branches, and report names that are taken or mean nothing."""
    table = draft.types
    seen: dict[str, tuple[TypeDefinition, Branch]] = {}
    for definition in definitions.values():
        if not definition.branches:
            continue
        for branch in definition.branches:
            for column in branch.fields:
                known = column.type_name in table.kinds
                if not known and column.type_name not in draft.program.types:
                    place = column.span or branch.span or definition.span
                    draft.diagnostics.append(unknown(column.type_name, place))
            first, earlier = seen.setdefault(branch.constructor, (definition, branch))
            if first is not definition and branch.constructor != RECORD:
                draft.diagnostics.append(_taken(definition, branch, first, earlier))
        typed = [_typed(draft, branch) for branch in definition.branches]
        table.fill(definition.name, tuple(typed))
    for definition in definitions.values():
        name = table.structure(definition.name)
        if name and name != definition.name:
            table.fill(definition.name, table.structures.branches.get(name, ()))
    draft.diagnostics.extend(_without_values(draft, definitions))


def _typed(draft: Draft, branch: Branch) -> Branch:
    return replace(branch, fields=tuple(map(draft.types.typed, branch.fields)))


def _taken(
    definition: TypeDefinition, branch: Branch, first: TypeDefinition, earlier: Branch
) -> Diagnostic:
    name = branch.constructor[1:]
    place = earlier.span or first.span
    return Diagnostic(
        "C0232",
        f"`{name}` is a branch of `{first.name}` already",
        branch.span or definition.span,
        label=f"a branch of `{definition.name}` cannot have this name",
        note="a branch name belongs to one type of a program, so that `$Name` tells the type",
        help=f"rename the branch: `{_declared(definition, branch)}`",
        related=() if place is None else (Related(place, f"`{name}` of `{first.name}` is here"),),
    )


def _declared(definition: TypeDefinition, branch: Branch) -> str:
    """Write the definition with its branch renamed, for a help."""
    parts = [
        (f"{one.constructor[1:]}Of{definition.name}" if one is branch else one.constructor[1:])
        + " {"
        + ", ".join(f"{column.name}: {column.type_name}" for column in one.fields)
        + "}"
        for one in definition.branches
    ]
    return f".type {definition.name} = {' | '.join(parts)}"


def no_base(definition: TypeDefinition, kinds: Mapping[str, Kind | None]) -> Diagnostic:
    """Report a subtype or a union of a record or an algebraic data type."""
    name = next(member for member, kind in kinds.items() if kind is Kind.STRUCTURE)
    what = "subtype" if definition.form == "subtype" else "union"
    note = "a record or an algebraic data type has no subtypes and is no member of a union"
    return Diagnostic(
        "C0233",
        f"`{definition.name}` is a {what} of `{name}`, which is made of fields",
        definition.span,
        label=f"`{name}` is a record or an algebraic data type",
        note=f"{note}; another name for the same type is allowed",
        help=f"write `.type {definition.name} = {name}`, or give one type a branch for each case",
    )


def _without_values(
    draft: Draft, definitions: Mapping[str, TypeDefinition]
) -> Iterator[Diagnostic]:
    """Yield a warning for each type of which no value can ever be written down.

    A branch has values once its fields have: forward chaining in linear time, as for Horn clauses.
    """
    made: set[str] = set()
    waiting: dict[str, list[list[object]]] = {}
    ready: list[str] = []
    for name, definition in definitions.items():
        for branch in definition.branches:
            needs = _needed(draft, branch)
            if not needs:
                ready.append(name)
            cell: list[object] = [len(needs), name]
            for needed in needs:
                waiting.setdefault(needed, []).append(cell)
    while ready:
        name = ready.pop()
        made.add(name)
        for cell in waiting.pop(name, ()):
            cell[0] -= 1  # type: ignore[operator]  # a counter beside its type
            if not cell[0]:
                ready.append(cell[1])  # type: ignore[arg-type]  # the type
    for name, definition in definitions.items():
        if definition.branches and name not in made:
            yield _endless(definition)


def _needed(draft: Draft, branch: Branch) -> set[str]:
    """Give the algebraic data types of the fields; a record is never missing: there is `nil`."""
    if branch.constructor == RECORD:
        return set()
    types = {draft.types.structure(column.type_name) for column in branch.fields}
    return {name for name in types if name and draft.types.branch(name, RECORD) is None}


def _endless(definition: TypeDefinition) -> Diagnostic:
    return Diagnostic(
        "C0248",
        f"no value of type `{definition.name}` can be written down",
        definition.span,
        label="every branch needs another value of a type like this",
        note="values are finite, so some branch ends: it has no fields, or others of other types",
        help=f"add a branch that ends: `.type {definition.name}End = {definition.name}End {{}}`",
        severity=Severity.WARNING,
    )
