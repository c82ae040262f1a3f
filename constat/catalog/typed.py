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

    from constat.catalog.connection import Parameter
    from constat.catalog.guard import Guarded
    from constat.evaluation import Demand
    from constat.logic import Row, Value


class Family(Enum):
    """What an output column can be compared with."""

    NUMERIC = "numeric"
    TEXT = "text"
    # Its values are read as the text that a cast gives, and that text is what is compared.
    CAST = "cast"
    OTHER = "other"


def typed_pushes(
    families: Sequence[Family], demand: Demand, nulls_matter: Collection[int]
) -> tuple[Push, ...]:
    """Choose the columns to send; `families` has one entry per output column."""
    kinds = demand.predicate.kinds
    found = []
    for place, position in enumerate(demand.columns):
        family, text = families[position], kinds[position] is Kind.SYMBOL
        wanted = {Family.TEXT, Family.CAST} if text else {Family.NUMERIC}
        if family in wanted and pushable(kinds[position], demand.keys, place):
            comparand = Comparand.AS_TEXT if family is Family.CAST else Comparand.BARE
            found.append(Push(position, comparand, nullable=position in nulls_matter))
    return tuple(found)


def typed_whole(
    guarded: Guarded,
    arity: int,
    *,
    outputs: Sequence[str] = (),
    spelled: frozenset[int] = frozenset(),
) -> Question:
    """Ask for all rows. `outputs` says how each column is selected, `spelled` which as text."""
    text = query_prefix(guarded, arity) + _outer(arity, outputs)
    return Question(text, spelled=spelled, tables=guarded.tables)


def typed_question(
    guarded: Guarded,
    arity: int,
    pushes: Sequence[Push],
    keys: Sequence[Row],
    *,
    outputs: Sequence[str] = (),
    spelled: frozenset[int] = frozenset(),
) -> Question:
    """Ask for some keys (distinct, one value per push), each value a parameter."""
    operands = [_operand(push, guarded.dialect) for push in pushes]
    if len(keys) == 1:
        wanted = " AND ".join(f"{operand} = ?" for operand in operands)
    else:
        # Written here and not by a tree of thousands of nodes, which takes twenty times as long.
        wide = len(operands) > 1
        one = _tuple(["?"] * len(operands)) if wide else "?"
        left = _tuple(operands) if wide else operands[0]
        wanted = f"{left} IN {_tuple([one] * len(keys))}"
    nulls = [f" OR c{push.position} IS NULL" for push in pushes if push.nullable]
    if nulls and len(operands) > 1 and len(keys) == 1:
        wanted = f"({wanted})"
    text = f"{query_prefix(guarded, arity)}{_outer(arity, outputs)} WHERE {wanted}{''.join(nulls)}"
    sent = tuple(_parameter(value) for key in keys for value in key)
    return Question(text, sent, spelled, guarded.tables)


def _parameter(value: Value) -> Parameter:
    return value if isinstance(value, int) else str(value)


def _outer(arity: int, outputs: Sequence[str]) -> str:
    listed = outputs or [f"c{position}" for position in range(arity)]
    return f"SELECT {', '.join(listed)} FROM q"  # noqa: S608  names of this module's own


def _operand(push: Push, dialect: str) -> str:
    column = f"c{push.position}"
    if push.comparand is Comparand.BARE:
        return column
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.cast(exp.column(column), push.comparand.value).sql(dialect=dialect)


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)})"
