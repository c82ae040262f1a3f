"""Ask sources whose columns have types: only what their types make comparable is sent.

In: the family of each output column, the demanded columns and keys. Out: pushes, and a `Question`
with one placeholder per value. Invariant (semantics 24): equality in the source includes ours, so
no row is lost: integers against numeric columns, text against text columns whatever the collation.
Columns of other types are not sent; their rows are filtered here. Example, two keys:
`WITH q(c0, c1) AS (...) SELECT c0, c1 FROM q WHERE c0 IN (?, ?)`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from constat.catalog.connection import Question
from constat.catalog.keyed import Comparand, Push, pushable, query_prefix
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlglot import exp

    from constat.catalog.connection import Parameter
    from constat.catalog.guard import Guarded
    from constat.evaluation import Demand
    from constat.logic import Row, Value


class Family(Enum):
    """What an output column can be compared with."""

    NUMERIC = "numeric"
    TEXT = "text"
    OTHER = "other"


def typed_pushes(
    families: Sequence[Family], demand: Demand, nulls_matter: Collection[int]
) -> tuple[Push, ...]:
    """Choose the columns to send; `families` has one entry per output column."""
    kinds = demand.predicate.kinds
    return tuple(
        Push(position, Comparand.BARE, nullable=position in nulls_matter)
        for place, position in enumerate(demand.columns)
        if pushable(kinds[position], demand.keys, place)
        and families[position]
        is (Family.TEXT if kinds[position] is Kind.SYMBOL else Family.NUMERIC)
    )


def typed_whole(guarded: Guarded, arity: int) -> Question:
    """Ask for all rows."""
    return Question(query_prefix(guarded, arity) + _outer(arity, None, guarded.dialect))


def typed_question(
    guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
) -> Question:
    """Ask for some keys (distinct, one value per push), each value a parameter."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    operands = [_column(push.position) for push in pushes]
    condition: exp.Expr
    if len(keys) == 1:
        condition = exp.and_(*(exp.EQ(this=one, expression=exp.Placeholder()) for one in operands))
    elif len(operands) == 1:
        condition = exp.In(this=operands[0], expressions=[exp.Placeholder() for _ in keys])
    else:
        listed = [exp.Tuple(expressions=[exp.Placeholder() for _ in operands]) for _ in keys]
        condition = exp.In(this=exp.Tuple(expressions=list(operands)), expressions=listed)
    nulls = [_column(push.position).is_(exp.null()) for push in pushes if push.nullable]
    text = query_prefix(guarded, arity) + _outer(arity, exp.or_(condition, *nulls), guarded.dialect)
    return Question(text, tuple(_parameter(value) for key in keys for value in key))


def _parameter(value: Value) -> Parameter:
    return value if isinstance(value, int) else str(value)


def _outer(arity: int, condition: exp.Expr | None, dialect: str) -> str:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    outer = exp.select(*(_column(position) for position in range(arity))).from_(exp.to_table("q"))
    if condition is not None:
        outer = outer.where(condition)
    return outer.sql(dialect=dialect, normalize_functions=False)


def _column(position: int) -> exp.Column:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.column(f"c{position}")
