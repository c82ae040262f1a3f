"""Mistakes in goals and facts on the command line. Codes C0180 to C0189."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Related, Span, nearest
from constat.logic import NIL, RECORD, Branch, Column, Kind, Predicate, parse_value
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


_DEEPEST: Final = 3
_MOST: Final = 8


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
    edit = f"write `{near}`"
    if not near:
        edit = f"declare it, `.decl {shown(name)}(x: symbol)`, and write a rule that gives it"
    if not known:
        edit = f"name the rule files under `rules:` in constat.yaml; else {edit}"
    return Diagnostic(
        "C0181",
        f"there is no predicate `{shown(name)}`",
        span,
        note=f"the rules declare: {names}" if known else "no rule file declares any predicate",
        help=edit,
    )


def wrong_arity(span: Span, predicate: Predicate, written: Sequence[str]) -> Diagnostic:
    """Too many or too few arguments; those of the first columns keep what was written."""
    named = ", ".join(
        f"{column.name} = {one}" for column, one in zip(predicate.columns, written, strict=False)
    )
    few = 0 < len(written) < predicate.arity
    columns = ", ".join(f"{column.name}: {column.type_name}" for column in predicate.columns)
    plural = "" if predicate.arity == 1 else "s"
    return Diagnostic(
        "C0182",
        f"`{predicate.name}` has {predicate.arity} column{plural}, not {len(written)}",
        span,
        note=f"its columns are ({columns})",
        help=f"write `{shown(f'{predicate.name}({named})') if few else example(predicate)}`"
        + ("; columns that are not named may be anything" if few else ""),
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


def mixed_arguments(span: Span, edit: str) -> Diagnostic:
    """Named and positional arguments in one atom."""
    return Diagnostic(
        "C0185",
        "named and unnamed arguments stand in one atom",
        span,
        note="either all arguments are named, or they go by position",
        help=f"write `{edit}`",
    )


def incomplete_head(span: Span, missing: list[str]) -> Diagnostic:
    """A fact or the head of a rule without some of the columns."""
    names = ", ".join(f"`{shown(name)}`" for name in missing)
    return Diagnostic(
        "C0159",
        f"a fact or head has every column; {names} {'is' if len(missing) == 1 else 'are'} left out",
        span,
        note="columns can be left out in bodies and goals, where any value will do",
        help=f"add `{missing[0]} = ` and its value",
    )


def wrong_value(span: Span, column: Column, reason: str) -> Diagnostic:
    """A value that is none of the column's type."""
    return Diagnostic(
        "C0186",
        f"the value of column `{column.name}` {reason}",
        span,
        note=f"column `{column.name}` is of type {column.type_name}{_made_of(column)}",
        help=f"write{_for_example(column)} `?{column.name}` for any value",
    )


def _made_of(column: Column) -> str:
    """What the type of a column is, where its name does not tell."""
    if column.structures is not None:
        branches = column.structures.branches.get(column.type_name, ())
        shapes = [f"`{shown(_shape(branch))}`" for branch in branches[:3]]
        return f", which is {' or '.join(shapes)}{' …' if len(branches) > len(shapes) else ''}"
    return "" if column.type_name == column.kind.value else f", a {column.kind.value}"


def _shape(branch: Branch) -> str:
    fields = ", ".join(f"{one.name}: {one.type_name}" for one in branch.fields)
    if branch.constructor == RECORD:
        return f"[{fields}]"
    return f"{branch.constructor}({fields})" if fields else branch.constructor


def _for_example(column: Column) -> str:
    value = _example(column, 0)
    return "" if value is None else f", for example, `{value}`, or"


def _example(column: Column, depth: int) -> str | None:
    """A value of a column; nothing where a structure needs many levels."""
    if column.structures is None or column.kind is not Kind.STRUCTURE:
        return _EXAMPLES.get(column.kind)
    if depth and column.structures.is_record(column.type_name):
        return NIL
    if depth > _DEEPEST:
        return None
    branches = column.structures.branches.get(column.type_name, ())
    # Each level tries what needs least, and one branch only: types may be large.
    for branch in sorted(branches, key=lambda one: _parts(one, column.type_name))[:1]:
        fields = [_example(one, depth + 1) for one in branch.fields[:_MOST]]
        texts = [one for one in fields if one is not None]
        if len(texts) < len(branch.fields):
            return None
        if branch.constructor == RECORD:
            return f"[{', '.join(texts)}]"
        return f"{branch.constructor}({', '.join(texts)})" if texts else branch.constructor
    return None


def _parts(branch: Branch, type_name: str) -> tuple[bool, int]:
    """How much a branch needs: one that holds its own type needs another branch."""
    own = any(one.type_name == type_name for one in branch.fields)
    return own, sum(one.kind is Kind.STRUCTURE for one in branch.fields)


def quoted_number(span: Span, column: Column, text: str, name: str = "") -> Diagnostic:
    """`"5"` for a column of numbers."""
    try:
        parse_value(text, column.kind)
    except ValueError as error:
        return wrong_value(span, column, str(error))
    return Diagnostic(
        "C0186",
        f"the value of column `{column.name}` is a quoted text",
        span,
        note=f"column `{column.name}` is of type {column.type_name}: its values are not quoted",
        help=f"write `{f'{name} = ' if name else ''}{shown(text)}`",
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


def left_out(predicate: Predicate) -> str:
    """Why columns of what is stated may not be left out."""
    if not predicate.key:
        name = shown(predicate.name)
        return f"columns are left out only where a key names the row; `{name}` has no `@[key]`"
    names = (f"`{shown(predicate.columns[place].name)}`" for place in predicate.key)
    return f"columns are left out only where the key of the row is given: {', '.join(names)}"


def open_fact(span: Span, name: str, note: str = "") -> Diagnostic:
    """A variable in a fact, or a column that may not be left out."""
    return Diagnostic(
        "C0188",
        f"a fact has a value in each column; `{shown(name)}` has none",
        span,
        note=note or "a fact is ground: it says something about particular values",
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
