"""SELECTs over the tables that an exploration has made.

In: the store of an exploration and one SELECT. Out: a `Table`. Invariants: the SELECT passes the
guard and reads tables of this exploration only; DuckDB holds copies, in memory, and is locked down
before it runs; time and rows are bounded. Example:
`query_tables(store, "SELECT region, amount FROM sales ORDER BY amount DESC")`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from constat.catalog import QueryMistakeError, guard
from constat.catalog.deadline import Deadline
from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.sandbox.databases import table_of_cells
from constat.store.tables_cells import Offered

if TYPE_CHECKING:
    from constat.store.tables import DataStore
    from constat.store.tables_format import Table

_SECONDS: Final = 30.0
MOST_ROWS: Final = 10_000
_MEMORY: Final = "1GB"


def query_tables(
    store: DataStore, query: str, *, seconds: float = _SECONDS, rows: int = MOST_ROWS
) -> Table:
    """Run a SELECT. Raises `ConstatError` for one that may not or cannot run."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    try:
        guarded = guard(query, "duckdb")
        tables = _named(store, guarded.tables)
        with contextlib.closing(_opened(tables)) as connection:
            with Deadline(seconds, connection.interrupt):
                found = connection.execute(guarded.text)
                names = [column[0] for column in found.description or ()]
                cells = found.fetchmany(rows + 1)
            _check_count(len(cells), rows)
            return table_of_cells(names, cells)
    except QueryMistakeError as problem:
        raise _mistake(problem.code, problem.reason, problem.help) from None
    except duckdb.InterruptException:
        raise _mistake("C0521", f"it did not finish within {seconds:g} s", "") from None
    except duckdb.Error as problem:
        raise _mistake("C0515", str(problem).splitlines()[0][:300], "") from None


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise QueryMistakeError(f"it gives more than {most:,} rows; add a LIMIT")


def _named(store: DataStore, wanted: frozenset[str]) -> dict[str, Table]:
    known = {one.name.lower(): one.name for one in store.tables()}
    missing = sorted(wanted - known.keys())
    if missing:
        shown = ", ".join(sorted(known.values())) or "none"
        raise ConstatError(
            [Diagnostic("C0916", f"there is no table `{missing[0]}`", note=f"there are: {shown}")]
        )
    return {known[name]: store.table(known[name]) for name in wanted}


def _opened(tables: dict[str, Table]) -> Any:  # noqa: ANN401  a connection of a lazy library
    """Open a DuckDB that holds the tables and can reach nothing else."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "memory_limit": _MEMORY,
    }
    connection = duckdb.connect(":memory:", config=settings)
    try:
        for name, table in tables.items():
            query = Offered(connection, "constat_offered", table).query()
            # A name of the store is letters, digits and `_`: it needs no quoting but case.
            connection.execute(f'CREATE TABLE "{name}" AS {query}').fetchall()
            connection.unregister("constat_offered")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _mistake(code: str, message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic(code, f"the query cannot be answered: {message}", help=hint)])
