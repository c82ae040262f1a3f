"""What to say where records and branches of algebraic data types do not fit.

In: constructors, types, and what told them. Out: diagnostics C0234 to C0238, C0244 and C0248.
Invariant: what stands in backquotes in a help parses. Example: "`$Add` has 2 fields, given 1".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Related, nearest
from constat.logic import NIL, RECORD, Apply
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.analysis.kind_classes import Origin
    from constat.analysis.type_table import TypeTable
    from constat.logic import Branch, Comparison, Variable

_SHOWN = 5
_LOOKED_AT = 1000
_NOMINAL = "structures of different types never meet, not even with the same fields"


def pattern(branch: Branch) -> str:
    """Write a constructor with variables named after its fields."""
    fields = ", ".join(f"?{column.name}" for column in branch.fields)
    if branch.constructor == RECORD:
        return f"[{fields}]"
    if not branch.fields:
        return branch.constructor
    return f"{branch.constructor}({fields})"


def unknown_branch(term: Apply, constructors: Sequence[str]) -> Diagnostic:
    """Report a branch that no type has."""
    names = [one[1:] for one in constructors[:_LOOKED_AT]]
    near = nearest(term.function[1:], names)
    fields = ", ".join(f"x{place}: symbol" for place in range(1, len(term.arguments) + 1))
    edit = f"declare it: `.type {term.function[1:]}Type = {term.function[1:]} {{{fields}}}`"
    shown = ", ".join(f"`${one}`" for one in names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)
    return Diagnostic(
        "C0234",
        f"no algebraic data type has the branch `{term.function}`",
        term.span,
        label="not declared",
        note=f"the branches are {shown}" if names else "no algebraic data type is declared",
        help=f"write `${near}`" if near else edit,
    )


def wrong_fields(term: Apply, name: str, branch: Branch) -> Diagnostic:
    """Report a constructor with too few or too many fields."""
    what = name if branch.constructor == RECORD else branch.constructor
    wanted, given = len(branch.fields), len(term.arguments)
    fields = ", ".join(f"{one.name}: {one.type_name}" for one in branch.fields) or "none"
    place = branch.span
    return Diagnostic(
        "C0235",
        f"`{what}` has {wanted} field{'s' * (wanted != 1)}, given {given}",
        term.span,
        label=f"the fields are {fields}",
        note="a structure has all the fields of its declaration, in their order; in a pattern `_` "
        "stands for a value that does not matter",
        help=f"write `{pattern(branch)}` with your terms in these places",
        related=() if place is None else (Related(place, "declared here"),),
    )


def which_record(term: Apply, types: TypeTable) -> Diagnostic:
    """Report a record of which nothing tells the type."""
    records = [name for name in types.structures.branches if types.structures.is_record(name)]
    shown = ", ".join(f"`{one}`" for one in records[:_SHOWN]) + ", ..." * (len(records) > _SHOWN)
    name = records[0] if records else "Pair"
    return Diagnostic(
        "C0236",
        f"nothing tells which record `{print_term(term)}` is",
        term.span,
        label="its type is not known",
        note=f"records are written alike, whatever their type; declared are {shown}"
        if records
        else "no record type is declared",
        help=f"use it, or what it is equal to, in a column of the type: `.decl known(r: {name})`"
        if records
        else "declare one: `.type Pair = [a: symbol, b: number]`",
    )


def no_record(
    term: Apply, name: str, branches: Sequence[Branch], origin: Origin | None
) -> Diagnostic:
    """Report `[..]` or `nil` in place of a branch of an algebraic data type."""
    what = "`nil`" if term.function == NIL else f"a record, `{print_term(term)}`,"
    forms = " or ".join(f"`{pattern(one)}`" for one in branches[:_SHOWN])
    return Diagnostic(
        "C0237",
        f"{what} stands for a value of {name}, which is no record",
        term.span or (None if origin is None else origin.used),
        label=f"{told_by(origin)} {name}" if origin is not None else "",
        note="`nil` and `[...]` are values of record types; the branches of an algebraic data "
        "type are written with `$`",
        help=f"write {forms}",
        related=_declared(origin),
    )


def two_types(names: tuple[str, str], first: Origin | None, second: Origin | None) -> Diagnostic:
    """Report two structure types for what must have one."""
    where = next((one.used for one in (second, first) if one is not None and one.used), None)
    related = dict.fromkeys((*_declared(first), *_declared(second)))
    return Diagnostic(
        "C0237",
        f"{told_by(first)} {names[0]}, but {told_by(second)} {names[1]}",
        where,
        label=f"{names[1]} here",
        note=_NOMINAL,
        help="use two variables, or take one apart by a pattern such as `?r = [?x, ?y]` and make "
        "the other of its parts",
        related=tuple(related),
    )


def told_by(origin: Origin | None) -> str:
    """Say what tells a structure type, up to its name: "column `x` of `p` is"."""
    if origin is None:
        return "one side is"
    if origin.branch is not None:
        return f"{field_name(origin)} is"
    if origin.predicate is not None:
        column = origin.predicate.columns[origin.column]
        return f"column `{column.name}` of `{origin.predicate.name}` is"
    if isinstance(origin.term, Apply):
        return f"`{print_term(origin.term)}` is"
    return "one side is"


def field_name(origin: Origin) -> str:
    """Name the field that an origin is about: "field `x` of `$Number`"."""
    branch = origin.branch
    if branch is None:
        return "one side"
    owner = "the record" if branch.constructor == RECORD else f"`{branch.constructor}`"
    return f"field `{branch.fields[origin.column].name}` of {owner}"


def _declared(origin: Origin | None) -> tuple[Related, ...]:
    if origin is None or origin.declared is None:
        return ()
    return (Related(origin.declared, "declared here"),)


def no_order(comparison: Comparison) -> Diagnostic:
    """Report `<` and its like on structures."""
    return Diagnostic(
        "C0225",
        f"`{comparison.operator}` is not defined on records and algebraic data types",
        comparison.span,
        label="structures have no order",
        note="on structures there are only `=` and `!=`",
        help="compare a field: match it by a pattern such as `?r = [?x, _]` first",
    )


def too_long(term: Apply, reason: str) -> Diagnostic:
    """Report a structure whose text is too long."""
    return Diagnostic(
        "C0238",
        f"{reason}",
        term.span,
        label="this structure is written out in full",
        note="a structure is kept as its text, and a text has at most a million bytes",
        help="keep the parts as rows of a predicate: `.decl part(whole: symbol, n: number)`",
    )


def any_value(variable: Variable, where: str) -> Diagnostic:
    """Report `_` in a structure that is made, where nothing can stand for any value."""
    return Diagnostic(
        "C0244",
        f"`{print_term(variable)}` stands for any value in a structure {where}",
        variable.span,
        label="this part of the structure has no value",
        note="only a structure that is taken apart has parts that do not matter: in a positive "
        "atom of the body, or on a side of `=` whose other side is known",
        help="give the part a value; to ask whether there is one like it, declare a predicate for "
        "the parts that matter, with a rule such as `has_first(?x) :- pair([?x, _]).`",
    )
