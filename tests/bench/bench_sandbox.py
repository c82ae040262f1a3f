"""The sandbox and the store of tables: what a step costs beside its own work.

In: nothing. Out: figures, for each level that the machine has: the start of a confined Python, an
empty step in a copy of it, the same in a fresh process, tables in and out, a query; then what it
costs to keep a step. Example: `python -m tests.bench.bench_sandbox`.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.catalog import SqliteConnection
from constat.explore.sandbox import Code, Level, Sandbox, unavailable
from constat.explore.sandbox.databases import Reader
from constat.store.table_forms import table_of
from constat.store.table_values import StepResult
from constat.store.tables import DataStore
from tests.bench.measuring import once, several

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.store.table_forms import Table
    from tests.bench.measuring import Timing

ROWS: Final = 100_000
LARGE: Final = 1_000_000
ASKED: Final = 10_000
ROUNDS: Final = 15
_LEVELS: Final = (Level.BUBBLEWRAP, Level.KERNEL, Level.NONE)
_SUM: Final = "frame = store.get('t')\nstore.put('s', frame.groupby('k')['n'].sum())"


def table(rows: int) -> Table:
    """Make a table of numbers and texts."""
    cells = [range(rows), [f"k{number % 100}" for number in range(rows)]]
    return table_of([("n", "number"), ("k", "symbol")], cells)


def shop(folder: Path) -> SqliteConnection:
    """Make a database of as many rows as a step asks for."""
    path = folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (n INTEGER, k TEXT)")
        rows = ((number, f"k{number % 100}") for number in range(ASKED))
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()
    return SqliteConnection(path, wait_seconds=1)


def levels(folder: Path) -> list[tuple[str, ...]]:
    """Measure each level."""
    given = table(ROWS)
    found = []
    with closing(shop(folder)) as connection:
        sources = {"shop": Reader(lambda: connection, 10 * ASKED)}
        for level in _LEVELS:
            if unavailable(level):
                continue
            with Sandbox(level, sources=sources, allow_none=True) as box:
                start = once(lambda: box.run(Code("1")))
                empty = several(lambda: _well(box, Code("1")), ROUNDS)
                summed = Code(_SUM, inputs={"t": given})
                tables = several(lambda: _well(box, summed), ROUNDS)  # noqa: B023
                asked = Code("db.sql('SELECT n, k FROM t')", databases=("shop",))
                queried = several(lambda: _well(box, asked), ROUNDS)  # noqa: B023
            fresh = several(lambda: _fresh(level), 3)  # noqa: B023
            found.append((level.value, *map(_middle, ([start], empty, fresh, tables, queried))))
    return found


def _well(box: Sandbox, code: Code) -> None:
    run = box.run(code)
    if run.error is not None:
        raise AssertionError(run.error)


def _fresh(level: Level) -> None:
    with Sandbox(level, allow_none=True) as box:
        _well(box, Code("1"))


def keeping(folder: Path) -> list[tuple[str, ...]]:
    """Measure what it costs to keep a step and to read its table again."""
    found = []
    small, large = table(100), table(LARGE)
    for name, address in (("SQLite", ""), ("DuckDB", "duckdb:///t.duckdb")):
        store = DataStore(folder / name, "s", address=address)

        def keep(which: Table, kept: DataStore = store) -> Callable[[], object]:
            return lambda: kept.commit(StepResult(1, tables={"t": which}, state={"n": 1}))

        times = [several(keep(small), ROUNDS), [once(keep(large))], several(keep(large), 3)]
        reading = several(lambda kept=store: kept.table("t"), 3)  # type: ignore[misc]
        found.append((name, *map(_middle, (*times, reading))))
    return found


def _middle(timings: list[Timing]) -> str:
    value = statistics.median(timing.clock for timing in timings) * 1000
    return f"{value:,.1f} ms" if value < 100 else f"{value / 1000:,.2f} s"


def main() -> int:
    """Write the tables."""
    with tempfile.TemporaryDirectory() as name:
        _write("level", "start", "empty step", "in a fresh process", "100,000 rows", "query")
        for row in levels(Path(name)):
            _write(*row)
        _write("store", "100 rows", "1,000,000 rows, new", "the same again", "read")
        for row in keeping(Path(name)):
            _write(*row)
    return 0


def _write(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")


if __name__ == "__main__":
    sys.exit(main())
