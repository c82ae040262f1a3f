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
    return query_prefix(guarded, arity) + _outer(arity)


def keyed_query(guarded: Guarded, arity: int, pushes: Sequence[Push], *, single: bool) -> str:
    """Give the SQL for one key (a parameter per column), or for many (one parameter, JSON)."""
    if single:
        condition = " AND ".join(f"{_operand(push)} = ?" for push in pushes)
    else:
        operands = ", ".join(map(_operand, pushes))
        left = operands if len(pushes) == 1 else f"({operands})"
        condition = f"{left} IN ({_listed(len(pushes))})"
    nulls = [f"c{push.position} IS NULL" for push in pushes if push.nullable]
    if nulls and single and len(pushes) > 1:
        condition = f"({condition})"
    where = " OR ".join([condition, *nulls])
    return f"{whole_query(guarded, arity)} WHERE {where}"


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


def _outer(arity: int) -> str:
    columns = ", ".join(f"c{position}" for position in range(arity))
    return f"SELECT {columns} FROM q"  # noqa: S608  positions alone


def _operand(push: Push) -> str:
    column = f"c{push.position}"
    bare = push.comparand is Comparand.BARE
    return column if bare else f"CAST({column} AS {push.comparand.value})"


def _listed(width: int) -> str:
    """Give `SELECT value FROM json_each(?)`, or the members of each value where keys are wide."""
    members = (f"json_extract(value, '$[{place}]')" for place in range(width))
    chosen = "value" if width == 1 else ", ".join(members)
    return f"SELECT {chosen} FROM json_each(?)"  # noqa: S608  places alone
