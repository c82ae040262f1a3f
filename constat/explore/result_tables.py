"""Read a result of DuckDB as a table, column by column, where that is exact.

In: a table in a connection, the declared output. Out: its rows as a `Table` in the order of their
values, or nothing. Invariant: where a table is given, reading cell by cell (`fit_rows`) would have
given the same values; what is missing, of another kind or only nearly a value is left to that way,
which says what is wrong. Example: a BIGINT column is a column of numbers as it is, one of DOUBLE is
read cell by cell for decimals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.catalog.duck_canonical import Spelling, spelling
from constat.catalog.duck_types import DuckColumn
from constat.logic import Kind
from constat.store.tables_cells import canonical_stored, fetched

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from constat.explore.plan import Output
    from constat.store.tables_format import Table

_WHOLE: Final = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
)


def result_table(
    connection: duckdb.DuckDBPyConnection, source: str, output: Output, kinds: Sequence[Kind]
) -> Table | None:
    """Give the table; `None` where rows have to be read one by one. `source` is quoted already."""
    described = connection.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608  our name
    columns = [DuckColumn(name, kind.id, str(kind)) for name, kind, *_ in described.description]
    described.fetchall()
    if not columns or len(columns) != len(kinds):
        return None
    pairs = enumerate(zip(columns, kinds, strict=True))
    found = [_spelling(column, kind, place) for place, (column, kind) in pairs]
    spellings = [one for one in found if one is not None]
    if len(spellings) < len(found):
        return None
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    renamed = f"(SELECT * FROM {source}) AS q({names})"  # noqa: S608  our name
    wrong = " OR ".join(f"c{place} IS NULL OR {one.wrong}" for place, one in enumerate(spellings))
    if connection.execute(f"SELECT bool_or({wrong}) FROM {renamed}").fetchall()[0][0]:  # noqa: S608  our names
        return None
    values = ", ".join(f"{one.value} AS v{place}" for place, one in enumerate(spellings))
    order = ", ".join(f"v{place}" for place in range(len(columns)))
    relation = connection.sql(f"SELECT {values} FROM {renamed} ORDER BY {order}")  # noqa: S608  our names
    wanted = [(name, kind.value) for (name, _), kind in zip(output.columns, kinds, strict=True)]
    stored = [canonical_stored(f"v{place}", kind) for place, (_, kind) in enumerate(wanted)]
    return fetched(relation, wanted, stored)


def _spelling(column: DuckColumn, kind: Kind, place: int) -> Spelling | None:
    if kind is not Kind.DECIMAL:
        return spelling(column, kind, place)
    # A table spells each decimal by itself, so that their places need not fit one type.
    if column.kind == "decimal":
        return Spelling(f"c{place}", "false")
    return Spelling(f"CAST(c{place} AS DECIMAL(38, 0))", "false") if column.kind in _WHOLE else None
