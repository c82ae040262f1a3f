"""Ask a guarded query for the rows of some keys only.

In: a guarded query, the columns to push and how. Out: SQL with parameters that gives every row the
keys could mean, and perhaps more. Invariant (semantics 24): the user's query stands verbatim inside
`WITH q(c0, ...) AS (...)`; values are parameters, never text; equality in the source includes
ours, so no row is lost, and the caller filters exactly. Example, one key of a text column:
`WITH q(c0) AS (SELECT id FROM t) SELECT c0 FROM q WHERE c0 = ?`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.catalog.guard import Guarded
    from constat.logic import Row

_LARGEST_INTEGER: Final = (1 << 63) - 1


class Comparand(Enum):
    """What is compared with a key. A bare column can use an index, a cast one cannot.

    The traps are all about stored types: the text `012` is the number 12, and SQLite finds it by
    `c0 = 12` only if the column's affinity made a number of it when it was stored.
    """

    BARE = "bare"
    AS_INTEGER = "INTEGER"
    AS_TEXT = "TEXT"


@dataclass(frozen=True, slots=True)
class Push:
    """A column (its position) whose keys are sent to the source.

    `nullable` when rows with NULL there must come too, because the null policy speaks of them.
    """

    position: int
    comparand: Comparand
    nullable: bool


def pushable(kind: Kind, keys: Sequence[Row], place: int) -> bool:
    """Tell whether keys of that kind may be sent: integers of 64 signed bits, and text."""
    if kind is Kind.SYMBOL or kind is Kind.NUMBER:
        return True
    return kind is Kind.UNSIGNED and all(int(key[place]) <= _LARGEST_INTEGER for key in keys)


def whole_query(guarded: Guarded, arity: int) -> str:
    """Give the SQL that reads all rows."""
    return query_prefix(guarded, arity) + _outer(arity, None)


def keyed_query(guarded: Guarded, arity: int, pushes: Sequence[Push], *, single: bool) -> str:
    """Give the SQL for one key (a parameter per column), or for many (one parameter, JSON)."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if single:
        wanted: list[exp.Expr] = [
            exp.EQ(this=_operand(push), expression=exp.Placeholder()) for push in pushes
        ]
        condition: exp.Expr = exp.and_(*wanted)
    else:
        operands = [_operand(push) for push in pushes]
        left = operands[0] if len(operands) == 1 else exp.Tuple(expressions=operands)
        condition = exp.In(this=left, query=exp.Subquery(this=_listed(len(pushes))))
    nulls = [_column(push.position).is_(exp.null()) for push in pushes if push.nullable]
    return query_prefix(guarded, arity) + _outer(arity, exp.or_(condition, *nulls))


def key_parameters(keys: Sequence[Row], *, single: bool) -> tuple[str | int, ...]:
    """Give the parameters: the values of the one key, or all keys as a JSON text.

    A number is sent as a number. As text it would count on the column's affinity, which an
    expression as slight as `+n` has lost.
    """
    if single:
        return tuple(value if isinstance(value, int) else str(value) for value in keys[0])
    plain: list[object] = [key[0] if len(key) == 1 else list(key) for key in keys]
    return (json.dumps(plain, ensure_ascii=False, separators=(",", ":")),)


def query_prefix(guarded: Guarded, arity: int) -> str:
    """Give what every query on this one begins with: the user's text, named `q`, verbatim."""
    # The line breaks keep a closing comment of the user's from swallowing the parenthesis.
    names = ", ".join(f"c{position}" for position in range(arity))
    return f"WITH q({names}) AS (\n{guarded.text}\n)\n"


def _outer(arity: int, condition: exp.Expr | None) -> str:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    outer = exp.select(*(_column(position) for position in range(arity))).from_(exp.to_table("q"))
    if condition is not None:
        outer = outer.where(condition)
    return outer.sql(dialect="sqlite", normalize_functions=False)


def _operand(push: Push) -> exp.Expr:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    column = _column(push.position)
    if push.comparand is Comparand.BARE:
        return column
    return exp.cast(column, push.comparand.value)


def _column(position: int) -> exp.Column:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.column(f"c{position}")


def _listed(width: int) -> exp.Select:
    """Give `SELECT value FROM json_each(?)`, or the members of each value where keys are wide."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    value = exp.column("value")
    chosen: list[exp.Expr] = [value]
    if width > 1:
        chosen = [
            exp.Anonymous(this="json_extract", expressions=[value.copy(), _member(place)])
            for place in range(width)
        ]
    listing = exp.Anonymous(this="json_each", expressions=[exp.Placeholder()])
    return exp.select(*chosen).from_(exp.Table(this=listing))


def _member(place: int) -> exp.Literal:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Literal.string(f"$[{place}]")
