"""The few forms of SQL that plans need, as sqlglot trees.

In: names, values, other trees. Out: trees. Invariant: every name is quoted and every constant is a
literal that sqlglot writes, so no text from outside is ever read as SQL. Example: `call("least",
column("t0", "c1"), integer(5))`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.logic import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp

PLACES: Final = 12
"""How many places a Decimal column keeps; what needs more is refused, never rounded."""
_DIGITS: Final = 38
_TYPES: Final = (
    (Kind.NUMBER, "BIGINT"),
    (Kind.UNSIGNED, "UBIGINT"),
    (Kind.FLOAT, "DOUBLE"),
)


def name(text: str) -> exp.Identifier:
    """A quoted name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Identifier(this=text, quoted=True)


def column(table: str, text: str) -> exp.Column:
    """A column of a table or of its alias."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Column(this=name(text), table=name(table))


def bare(text: str) -> exp.Column:
    """A column of the only table there is."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Column(this=name(text))


def table(text: str, alias: str = "") -> exp.Table:
    """A table, perhaps under another name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    named = exp.TableAlias(this=name(alias)) if alias else None
    return exp.Table(this=name(text), alias=named)


def nested(query: exp.Query, alias: str) -> exp.Subquery:
    """A query in the place of a table."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Subquery(this=query, alias=exp.TableAlias(this=name(alias)))


def type_of(kind: Kind) -> exp.DataType:
    """The type of a column of that kind."""
    if kind is Kind.DECIMAL:
        return decimal_type(PLACES)
    return typed(dict(_TYPES).get(kind, "VARCHAR"))


def typed(text: str) -> exp.DataType:
    """A type without parameters."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.DataType(this=exp.DataType.Type[text])


def decimal_type(places: int) -> exp.DataType:
    """The widest decimal type with that many places."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (_DIGITS, places)]
    return exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=sizes)


def cast(node: exp.Expr, to: exp.DataType) -> exp.Expr:
    """A value as another type; fails where it does not fit."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Cast(this=node, to=to)


def in_utc(node: exp.Expr) -> exp.Expr:
    """A moment with a time zone as the time of day there is in UTC then."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.AtTimeZone(this=node, zone=text("UTC"))


def try_cast(node: exp.Expr, to: exp.DataType) -> exp.Expr:
    """A value as another type, NULL where it does not fit."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.TryCast(this=node, to=to)


def integer(value: int) -> exp.Expr:
    """An integer as it is written."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if value < 0:
        return exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))
    return exp.Literal.number(value)


def text(value: str) -> exp.Expr:
    """A text."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Literal.string(value)


def null() -> exp.Expr:
    """No value."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Null()


def constant(value: Value, kind: Kind) -> exp.Expr:
    """A value of a kind, with the type of its columns."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return cast(integer(int(value)), type_of(kind))
        case Kind.FLOAT:
            # The shortest text that reads back as this float; read as text, it never is a decimal.
            return cast(text(repr(float(value))), type_of(kind))
        case Kind.DECIMAL:
            return cast(text(f"{checked_decimal(Decimal(value)):f}"), type_of(kind))
        case _:
            return text(str(value))


def checked_decimal(value: Decimal) -> Decimal:
    """Give a Decimal back, or raise where a column cannot hold it exactly."""
    exponent = value.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) else _DIGITS
    if places > PLACES or value.adjusted() >= _DIGITS - PLACES:
        raise StrategyError(f"a Decimal needs more than {PLACES} places or is too large")
    return value


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function by the name that the dialect has for it."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Anonymous(this=function, expressions=list(arguments))


def binary(operator: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """An operator between two values, in parentheses."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    operators: dict[str, type[exp.Binary]] = {
        "+": exp.Add,
        "-": exp.Sub,
        "*": exp.Mul,
        "/": exp.Div,
        "//": exp.IntDiv,
        "%": exp.Mod,
        "&": exp.BitwiseAnd,
        "|": exp.BitwiseOr,
        "||": exp.DPipe,
        "=": exp.EQ,
        "!=": exp.NEQ,
        "<": exp.LT,
        "<=": exp.LTE,
        ">": exp.GT,
        ">=": exp.GTE,
        "and": exp.And,
        "or": exp.Or,
    }
    return exp.Paren(this=operators[operator](this=left, expression=right))


def opposite(condition: exp.Expr) -> exp.Expr:
    """The negation."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Not(this=exp.Paren(this=condition))


def is_null(node: exp.Expr) -> exp.Expr:
    """Whether there is no value."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Paren(this=exp.Is(this=node, expression=exp.Null()))


def choose(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    """One of two values; only that one is computed."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Case(ifs=[exp.If(this=condition, true=then)], default=otherwise)


def exists(query: exp.Query) -> exp.Expr:
    """Whether a query has a row."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Exists(this=query)


def conjunction(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """All of the conditions, or nothing where there are none."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found: exp.Expr | None = None
    for one in conditions:
        found = one if found is None else exp.And(this=found, expression=one)
    return found


def select(
    outputs: Iterable[tuple[str, exp.Expr]],
    *,
    source: exp.Expr | None = None,
    where: Sequence[exp.Expr] = (),
    distinct: bool = False,
) -> exp.Select:
    """A query: its outputs by name, where its rows come from, which of them."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    listed = [exp.Alias(this=node, alias=name(label)) for label, node in outputs]
    query = exp.Select(expressions=listed)
    if source is not None:
        query.set("from_", exp.From(this=source))
    condition = conjunction(where)
    if condition is not None:
        query.set("where", exp.Where(this=condition))
    if distinct:
        query.set("distinct", exp.Distinct())
    return query


def add_join(
    query: exp.Select, source: exp.Expr, on: Sequence[exp.Expr], *, outer: bool = False
) -> None:
    """Join one more source to a query; without conditions, each row with each."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    condition = conjunction(on)
    if condition is None:
        join = exp.Join(this=source, kind="CROSS")
    else:
        join = exp.Join(this=source, on=condition, side="LEFT" if outer else None)
    query.append("joins", join)


def group(query: exp.Select, keys: Sequence[exp.Expr]) -> None:
    """Group the rows of a query."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if keys:
        query.set("group", exp.Group(expressions=list(keys)))


def union(queries: Sequence[exp.Query], *, distinct: bool = False) -> exp.Query:
    """The rows of all queries; balanced, so that the tree stays flat."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found = list(queries)
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [
            exp.Union(this=pair[0], expression=pair[1], distinct=distinct)
            if len(pair) == 2  # noqa: PLR2004  the last may stand alone
            else pair[0]
            for pair in pairs
        ]
    return found[0]


def with_table(query: exp.Query, label: str, rows: exp.Query, *, kept: bool = True) -> None:
    """Give a query a common table; `kept` says that it is computed once."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    entry = exp.CTE(this=rows, alias=exp.TableAlias(this=name(label)), materialized=kept or None)
    known = query.args.get("with_")
    if known is None:
        query.set("with_", exp.With(expressions=[entry]))
    else:
        known.append("expressions", entry)


def recursive(query: exp.Query, label: str, columns: Sequence[str], rows: exp.Query) -> None:
    """Give a query a recursive common table."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    alias = exp.TableAlias(this=name(label), columns=[name(one) for one in columns])
    entry = exp.CTE(this=rows, alias=alias)
    query.set("with_", exp.With(expressions=[entry], recursive=True))


def everything(source: exp.Expr) -> exp.Select:
    """All columns of all rows of a source."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Select(expressions=[exp.Star()]).from_(source)


def row_number() -> exp.Expr:
    """The place of a row, from 1, in no particular order."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Window(this=exp.RowNumber())


def distinct_rows(query: exp.Select) -> exp.Select:
    """The same query without repeated rows."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    query.set("distinct", exp.Distinct())
    return query


def renamed(source: str, alias: str, columns: Sequence[str]) -> exp.Table:
    """A table under another name, and with other names for its columns."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    labels = [name(one) for one in columns]
    return exp.Table(this=name(source), alias=exp.TableAlias(this=name(alias), columns=labels))


def with_outputs(query: exp.Select, outputs: Iterable[tuple[str, exp.Expr]]) -> exp.Select:
    """A query with further outputs."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    for label, node in outputs:
        query.append("expressions", exp.Alias(this=node, alias=name(label)))
    return query


def scalar(query: exp.Query) -> exp.Expr:
    """The one value of a query."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Subquery(this=query)


def wide_integer(digits: int) -> exp.DataType:
    """A decimal without places, for integers that a dialect has no type for."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (digits, 0)]
    return exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=sizes)
