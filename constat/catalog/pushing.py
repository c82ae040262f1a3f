"""Choose which columns of a demand are sent to SQLite, and how they are compared.

In: a guarded query, the source's tables, the demanded columns. Out: a `Push` for each column that
may be sent. Invariant: whatever types the rows are stored in, each row that equals a key here is
also found there. So a column is compared bare only where its declared type has made all stored
values comparable (its affinity is known); otherwise it is cast, which finds at least as much:
`CAST(x AS INTEGER)` turns `012`, `12` and 12.0 into 12. Reference: https://www.sqlite.org/datatype3.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.catalog.keyed import Comparand, Push, pushable
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from constat.catalog.connection import SourceColumn, SourceTable
    from constat.catalog.guard import Guarded
    from constat.evaluation import Demand


def choose_pushes(
    guarded: Guarded,
    tables: Mapping[str, SourceTable],
    demand: Demand,
    nulls_matter: Collection[int],
) -> tuple[Push, ...]:
    """Give the columns to send. `nulls_matter` are positions whose NULLs the caller must see."""
    kinds = demand.predicate.kinds
    found = []
    for place, position in enumerate(demand.columns):
        if not pushable(kinds[position], demand.keys, place):
            continue
        column = _column(guarded, tables, position)
        safe = column is not None and column.never_null and not guarded.joined
        nullable = position in nulls_matter and not safe
        found.append(Push(position, _comparand(kinds[position], column), nullable))
    return tuple(found)


def _column(
    guarded: Guarded, tables: Mapping[str, SourceTable], position: int
) -> SourceColumn | None:
    """Give the stored column behind an output, where there is exactly one."""
    output = guarded.outputs[position] if guarded.outputs else None
    if output is None or not all(name in tables and tables[name].plain for name in output.tables):
        return None
    found = [
        column
        for name in output.tables
        for column in tables[name].columns
        if column.name == output.column
    ]
    return found[0] if len(found) == 1 else None


def _comparand(kind: Kind, column: SourceColumn | None) -> Comparand:
    affinity = None if column is None else _affinity(column.declared)
    if kind is Kind.SYMBOL:
        return Comparand.BARE if affinity in {"TEXT", "BLOB"} else Comparand.AS_TEXT
    numeric = affinity in {"INTEGER", "REAL", "NUMERIC"}
    return Comparand.BARE if numeric else Comparand.AS_INTEGER


def _affinity(declared: str) -> str | None:
    """Give a column's affinity by the five rules; `None` for ANY, which depends on STRICT."""
    name = declared.upper()
    if name == "ANY":
        return None
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    return "REAL" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"
