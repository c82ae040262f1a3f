"""Mistakes in directives and attributes. Codes C0126 to C0128, C0139 to C0148, C0156."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Related, Severity, Span, nearest
from constat.syntax.mistakes.spelling import shown
from constat.syntax.words import DIRECTIVES

LANGUAGE_VERSION = "0.1"


def unknown_directive(span: Span, word: str) -> Diagnostic:
    """`.dcl`."""
    near = nearest(word, DIRECTIVES) or "decl"
    known = " ".join(f".{name}" for name in sorted(DIRECTIVES))
    return Diagnostic(
        "C0126",
        f"`.{shown(word)}` is not a directive",
        span,
        note=f"the directives are: {known}",
        help=f"write `.{near}`",
    )


def declared_twice(span: Span, what: str, name: str, first: Span | None) -> Diagnostic:
    """A second declaration of one name."""
    related = () if first is None else (Related(first, "declared here first"),)
    return Diagnostic(
        "C0127",
        f"{what} `{shown(name)}` is declared twice",
        span,
        note="a name is declared once in all the files of a program",
        help=f"delete one of the two, or write `{shown(name)}_2` for the other",
        related=related,
    )


def built_in_type(span: Span, name: str) -> Diagnostic:
    """`.type Date = ...`."""
    return Diagnostic(
        "C0127",
        f"type `{name}` is built in",
        span,
        note="number, unsigned, float, symbol, Date, Timestamp, Decimal and Bool are built in",
        help=f"write `.type My{name.capitalize()} <: {name}`",
    )


def odd_attribute(span: Span, reason: str, edit: str = "") -> Diagnostic:
    """`@[...]` in a form that does not exist; `edit` is what was meant, where that is known."""
    return Diagnostic(
        "C0128",
        reason,
        span,
        note="an attribute is `@[key = value]`, `@[key]` or `@[key(name = value)]` before an item "
        "or a column; values are names, numbers or texts",
        help=f"write `{edit}`" if edit else 'write, for example, `@[owner = "compliance"]`',
    )


def odd_confidence(span: Span) -> Diagnostic:
    """A confidence outside (0, 1]."""
    return Diagnostic(
        "C0139",
        "a confidence is a decimal above 0 and at most 1",
        span,
        note="1 is certain; below 1 every conclusion of the rule rests on an assumption",
        help="write, for example, `@[confidence = 0.9]`",
    )


def id_twice(span: Span, name: str, first: Span | None) -> Diagnostic:
    """Two rules of one id."""
    related = () if first is None else (Related(first, "the first rule of that id"),)
    return Diagnostic(
        "C0140",
        f"two rules have the id `{shown(name)}`",
        span,
        note="an id names one rule in proofs and approvals; rules without one are numbered",
        help=f"write `@[id = {shown(name).replace('.', '_')}_2]`",
        related=related,
    )


def column_twice(span: Span, name: str, first: Span | None) -> Diagnostic:
    """Two columns of one name."""
    related = () if first is None else (Related(first, "the first column of that name"),)
    return Diagnostic(
        "C0142",
        f"two columns are named `{shown(name)}`",
        span,
        note="the columns of a predicate have different names",
        help=f"write `{shown(name)}_2`",
        related=related,
    )


def undeclared(span: Span, directive: str, name: str, known: list[str]) -> Diagnostic:
    """`.input` or `.output` of something that was never declared."""
    near = nearest(name, known)
    edit = (
        f"write `.{directive} {near}`" if near else f"declare it: `.decl {shown(name)}(x: symbol)`"
    )
    return Diagnostic(
        "C0144",
        f"`.{directive}` names `{shown(name)}`, which is not declared",
        span,
        note="a predicate is declared by `.decl` in one of the files",
        help=edit,
    )


def odd_pragma(span: Span) -> Diagnostic:
    """`.pragma constat`."""
    return Diagnostic(
        "C0145",
        "a pragma has one or two texts",
        span,
        note="the marker of this language is a pragma with the language's version",
        help=f'write `.pragma "constat" "{LANGUAGE_VERSION}"`',
    )


def other_version(span: Span, version: str) -> Diagnostic:
    """A file for another version of the language."""
    return Diagnostic(
        "C0146",
        f"this file is written for version `{shown(version)}` of the language",
        span,
        note=f"this program reads version {LANGUAGE_VERSION}",
        help=f'write `.pragma "constat" "{LANGUAGE_VERSION}"` once the file has been checked',
    )


def attribute_twice(span: Span, key: str) -> Diagnostic:
    """One key twice on one item."""
    return Diagnostic(
        "C0147",
        f"`{shown(key)}` is given twice",
        span,
        note="each attribute or parameter is given once",
        help=(
            "join the goals with `; `, or repeat the `.output` line between the two"
            if key.startswith("expect.")
            else "delete one of the two"
        ),
    )


def lost_attribute(span: Span) -> Diagnostic:
    """`@[...]` before something that has no attributes."""
    return Diagnostic(
        "C0148",
        "this attribute belongs to nothing",
        span,
        note="an attribute stands directly before `.decl`, `.input`, `.output`, a rule or a column",
        help="move it there, or delete it",
    )


def hint(span: Span, spelling: str) -> Diagnostic:
    """A hint for another engine."""
    return Diagnostic(
        "C0156",
        f"`{shown(spelling)}` is accepted and ignored",
        span,
        note="this hint tells stock Souffle how to evaluate; it never changes what is true",
        help="delete it, or keep it for use with Souffle",
        severity=Severity.NOTE,
    )


def untyped(span: Span, name: str) -> Diagnostic:
    """`.decl big(c)`."""
    return Diagnostic(
        "C0130",
        f"column `{shown(name)}` has no type",
        span,
        note="types are number, unsigned, float, symbol, Date, Timestamp, Decimal, Bool, and those"
        " that `.type` declares",
        help=f"write `{shown(name)}: symbol`, or another type",
    )


_MEASURED: Final = MappingProxyType(
    {
        **dict.fromkeys(("decimal", "numeric", "dec", "number", "money"), "Decimal"),
        **dict.fromkeys(("int", "integer", "bigint", "smallint", "tinyint"), "number"),
        **dict.fromkeys(("datetime", "timestamp"), "Timestamp"),
        **dict.fromkeys(("float", "double", "real"), "float"),
    }
)


def type_with_length(span: Span, name: str) -> Diagnostic:
    """`c: varchar(20)`."""
    return Diagnostic(
        "C0130",
        f"`{shown(name)}` has a length, and no type has one",
        span,
        note="types are number, unsigned, float, symbol, Date, Timestamp, Decimal, Bool, and those"
        " that `.type` declares",
        help=f"write `{_MEASURED.get(name.casefold(), 'symbol')}`",
    )


# Mistakes in records and algebraic data types, in terms and types. Codes C0191 to C0197.

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
