"""Mistakes in records and algebraic data types, in terms and types. Codes C0191 to C0197."""

from __future__ import annotations

from constat.diagnostics import Diagnostic, Related, Span
from constat.syntax.mistakes.spelling import shown

_RECORD_NOTE = "a record is its fields in square brackets, in the order of its type"
_TYPE_NOTE = (
    "a record type is `[x: number, y: symbol]`; an algebraic data type is "
    "`Circle { r: number } | Point {}`, each branch with braces"
)


def no_branch(span: Span) -> Diagnostic:
    """`$(1)`, `$`."""
    return Diagnostic(
        "C0191",
        "`$` stands before the name of a branch",
        span,
        note="a value of an algebraic data type is `$Name(fields)`, or `$Name` without fields",
        help="write the name of a branch behind `$`, for example `$Circle(5)`",
    )


def branch_brackets(span: Span, name: str) -> Diagnostic:
    """`$Circle { r: 5 }`, `$Circle[5]`."""
    return Diagnostic(
        "C0191",
        f"the fields of `${shown(name)}` stand in parentheses",
        span,
        note="braces stand in the type only; a value is `$Name(fields)`",
        help=f"write `${shown(name)}(...)` with the values alone, in the order of the type",
    )


def nil_arguments(span: Span) -> Diagnostic:
    """`nil(1)`."""
    return Diagnostic(
        "C0191",
        "`nil` has no arguments",
        span,
        note="`nil` is the value of every record type that is no record",
        help="write `nil`",
    )


def tuple_habit(span: Span) -> Diagnostic:
    """`p((1, 2))`."""
    return Diagnostic(
        "C0192",
        "parentheses make no record",
        span,
        note=_RECORD_NOTE,
        help="write `[` and `]` around the fields: `[1, 2]`",
    )


def braces_habit(span: Span) -> Diagnostic:
    """`p({x: 1})`."""
    return Diagnostic(
        "C0192",
        "braces make no record",
        span,
        note=_RECORD_NOTE,
        help="write the values alone, in square brackets: `[1, 2]`",
    )


def list_habit(span: Span) -> Diagnostic:
    """`[?h | ?t]`."""
    return Diagnostic(
        "C0192",
        "`|` does not part a record",
        span,
        note=f"{_RECORD_NOTE}; a list is a record of its head and its tail, and ends in `nil`",
        help="write `,`: `[?head, ?tail]`",
    )


def named_field(span: Span, name: str) -> Diagnostic:
    """`[x: 1]`, `$Circle(r = 5)`."""
    return Diagnostic(
        "C0192",
        f"`{shown(name)}` names a field",
        span,
        note="the fields of a value go by their position, as the type lists them",
        help=f"write the value alone, in the place of `{shown(name)}`, and `_` for the others",
    )


def no_field(span: Span, bracket: str) -> Diagnostic:
    """`[1, ]`."""
    return Diagnostic(
        "C0192",
        f"a field is missing before `{bracket}`",
        span,
        note="fields are separated by commas, and none stands behind the last",
        help="write the field here, or delete the comma",
    )


def odd_type(span: Span, reason: str, edit: str) -> Diagnostic:
    """`.type T = A | B { x: number }`, `.type T = { x: number }`."""
    return Diagnostic("C0193", reason, span, note=_TYPE_NOTE, help=edit)


def field_twice(span: Span, name: str, owner: str, first: Span | None) -> Diagnostic:
    """`[x: number, x: symbol]`."""
    related = () if first is None else (Related(first, "the first field of that name"),)
    return Diagnostic(
        "C0194",
        f"two fields of {owner} are named `{shown(name)}`",
        span,
        note="the fields of a record or of a branch have different names",
        help=f"write `{shown(name)}_2`",
        related=related,
    )


def branch_twice(span: Span, name: str, first: Span | None) -> Diagnostic:
    """`A {} | A { x: number }`."""
    related = () if first is None else (Related(first, "the first branch of that name"),)
    return Diagnostic(
        "C0195",
        f"two branches are named `{shown(name)}`",
        span,
        note="the name of a branch tells which it is, also without its type",
        help=f"write `{shown(name)}_2`",
        related=related,
    )


def field_attribute(span: Span) -> Diagnostic:
    """`[@[null = skip] x: number]`."""
    return Diagnostic(
        "C0196",
        "a field has no attributes",
        span,
        note="attributes belong to columns, which have a source; a field is part of one value",
        help="delete it, or write it before `.type` or before the column",
    )


def open_structure(span: Span, name: str) -> Diagnostic:
    """`p([?x, 1])` as a goal."""
    return Diagnostic(
        "C0197",
        f"`{shown(name)}` stands inside a structure of a goal",
        span,
        note="in a goal a structure is one value; a pattern of values is a condition",
        help="write a variable for the whole value, or a rule: `found(?x) :- p([?x, _]).`",
    )
