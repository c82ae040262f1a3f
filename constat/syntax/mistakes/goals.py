"""Mistakes in goals and facts on the command line. Codes C0180 to C0189."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Related, Span, nearest
from constat.logic import Column, Kind, Predicate
from constat.syntax.mistakes.spelling import quoted, shown

_EXAMPLES: Final = MappingProxyType(
    {
        Kind.NUMBER: "5",
        Kind.UNSIGNED: "5",
        Kind.FLOAT: "1.5",
        Kind.SYMBOL: '"gold"',
        Kind.DATE: "2025-01-31",
        Kind.TIMESTAMP: "2025-01-31T10:00:00Z",
        Kind.DECIMAL: "10.50",
        Kind.BOOL: "true",
    }
)


def example(predicate: Predicate) -> str:
    """A goal of that predicate with every column open."""
    return f"{predicate.name}({', '.join(f'?{column.name}' for column in predicate.columns)})"


def malformed(span: Span, reason: str, edit: str) -> Diagnostic:
    """A goal that is no atom."""
    return Diagnostic(
        "C0180",
        reason,
        span,
        note="a goal is one atom: a predicate and its arguments in parentheses",
        help=edit,
    )


def unknown_predicate(span: Span, name: str, known: list[str]) -> Diagnostic:
    """A predicate that the rules do not declare."""
    near = nearest(name, known)
    names = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")  # noqa: PLR2004  a line full
    return Diagnostic(
        "C0181",
        f"there is no predicate `{shown(name)}`",
        span,
        note=f"the rules declare: {names}" if known else "the rules declare no predicate",
        help=f"write `{near}`" if near else f"declare it: `.decl {shown(name)}(x: symbol)`",
    )


def wrong_arity(span: Span, predicate: Predicate, found: int) -> Diagnostic:
    """Too many or too few arguments."""
    columns = ", ".join(f"{column.name}: {column.type_name}" for column in predicate.columns)
    plural = "" if predicate.arity == 1 else "s"
    return Diagnostic(
        "C0182",
        f"`{predicate.name}` has {predicate.arity} column{plural}, not {found}",
        span,
        note=f"its columns are ({columns})",
        help=f"write `{example(predicate)}`",
        related=() if predicate.span is None else (Related(predicate.span, "declared here"),),
    )


def unknown_column(span: Span, name: str, predicate: Predicate) -> Diagnostic:
    """A named argument that is no column."""
    names = [column.name for column in predicate.columns]
    near = nearest(name, names) or (names[0] if names else "")
    return Diagnostic(
        "C0183",
        f"`{predicate.name}` has no column `{shown(name)}`",
        span,
        note=f"its columns are {', '.join(names) or 'none'}",
        help=f"write `{near} = ...`" if near else f"write `{predicate.name}()`",
    )


def column_again(span: Span, name: str) -> Diagnostic:
    """One column given twice."""
    return Diagnostic(
        "C0184",
        f"column `{shown(name)}` is given twice",
        span,
        note="each column is given at most once; those left out are free",
        help="delete one of the two",
    )


def mixed_arguments(span: Span) -> Diagnostic:
    """Named and positional arguments in one goal."""
    return Diagnostic(
        "C0185",
        "named and unnamed arguments stand in one goal",
        span,
        note="either all arguments are named, or they go by position",
        help="name them all, for example `tier(c = C001, t = gold)`",
    )


def wrong_value(span: Span, column: Column, reason: str) -> Diagnostic:
    """A value that is none of the column's type."""
    return Diagnostic(
        "C0186",
        f"the value of column `{column.name}` {reason}",
        span,
        note=f"column `{column.name}` is of type {column.type_name}"
        + ("" if column.type_name == column.kind.value else f", a {column.kind.value}"),
        help=f"write, for example, `{_EXAMPLES[column.kind]}`, or `?{column.name}` for any value",
    )


def quoted_number(span: Span, column: Column, text: str) -> Diagnostic:
    """`"5"` for a column of numbers."""
    return Diagnostic(
        "C0186",
        f"the value of column `{column.name}` is a quoted text",
        span,
        note=f"column `{column.name}` is of type {column.type_name}: its values are not quoted",
        help=f"write `{shown(text)}`",
    )


def repeated_variable(span: Span, name: str) -> Diagnostic:
    """One variable twice in a goal."""
    return Diagnostic(
        "C0187",
        f"`?{shown(name)}` stands twice in the goal",
        span,
        note="each variable of a goal is a question of its own",
        help=f"name the second `?{shown(name)}_2`, or write a rule: `same(?x) :- p(?x, ?x).`",
    )


def open_fact(span: Span, name: str) -> Diagnostic:
    """A variable in a fact."""
    return Diagnostic(
        "C0188",
        f"a fact has a value in each column; `{shown(name)}` has none",
        span,
        note="a fact is ground: it says something about particular values",
        help=f"write a value for `{shown(name)}`, as in `customer_tier(C009, gold)`",
    )


def too_long(span: Span, limit: int) -> Diagnostic:
    """A goal of absurd length."""
    return Diagnostic(
        "C0189",
        f"the goal is longer than {limit} characters",
        span,
        note="a goal is one atom; tables of values belong into facts or a source",
        help="write a rule that names what is asked, and prove its head",
    )


def needs_quotes(span: Span, text: str) -> Diagnostic:
    """A bare token with a character that only a quoted text may hold."""
    return malformed(
        span,
        "this value needs quotes",
        f"write `{quoted(shown(text))}`",
    )
