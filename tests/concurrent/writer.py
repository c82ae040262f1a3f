"""Change a shop all the time, until stdin ends: `python -m tests.concurrent.writer KIND PLACE`.

Prints a line when the first change is made, and at the end how many there were.
"""

from __future__ import annotations

import os
import random
import select
import sqlite3
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tests.concurrent.worlds import FILE_ROWS, FILES, MANY, POSTGRESQL, SLOW, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAUSE: Final = 0.0005
# Of what changes faster than it is read no state is ever seen, and how fast that is nobody knows.
LONGEST_PAUSE: Final = 0.6
RICH: Final = ("UPDATE orders SET amount = 1000 WHERE id = 2",)
POOR: Final = ("UPDATE orders SET amount = 1 WHERE id = 2",)
BLOCK: Final = ("DELETE FROM blocked", "INSERT INTO blocked VALUES ('C1')")
FREE: Final = ("DELETE FROM blocked",)
# What sets both states; the order of the writes is the one that no moment of a file may see wrong.
STATES: Final = ((*POOR, *FREE), (*BLOCK, *RICH))


def main(kind: str, place: str) -> None:
    """Write until stdin ends."""
    step, count = _steps(kind, place), 0
    seldom = random.Random(0) if kind in SLOW else None
    # Both states come, however soon the readers are done.
    while count < len(STATES) or not select.select([sys.stdin], [], [], 0)[0]:
        step(count % 2)
        count += 1
        if count == 1:
            sys.stdout.write("writing\n")
            sys.stdout.flush()
        time.sleep(seldom.uniform(0, LONGEST_PAUSE) if seldom else PAUSE)
    sys.stdout.write(f"{count}\n")


def _steps(kind: str, place: str) -> Callable[[int], None]:
    if kind in FILES:
        return _file_steps(kind, Path(place))
    if kind == "duckdb":
        return lambda state: _duckdb(place, state)
    if "://" in place:
        return _server_steps(kind, place)
    if kind == MANY:
        first, second = (
            _sqlite(place, "delete"),
            _sqlite(str(Path(place).with_name("other.sqlite")), "wal"),
        )
        return lambda state: _in_order(state, first, second)
    return _sqlite_steps(_sqlite(place, kind))


def _sqlite(place: str, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(place, timeout=60, isolation_level=None)
    while _journal(connection, mode) != mode:
        time.sleep(0.001)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _journal(connection: sqlite3.Connection, mode: str) -> str:
    """Ask for a kind of journal; SQLite changes it at once or not at all, and waits for nobody."""
    try:
        found: tuple[str] = connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
    except sqlite3.OperationalError:
        return ""
    return found[0]


def _sqlite_steps(connection: sqlite3.Connection) -> Callable[[int], None]:
    def step(state: int) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement in STATES[state]:
                connection.execute(statement)
            connection.execute("COMMIT")
        except sqlite3.OperationalError:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    return step


def _in_order(state: int, shop: sqlite3.Connection, other: sqlite3.Connection) -> None:
    for statement in STATES[state]:
        # On a busy machine one writer may wait for another longer than its patience.
        with suppress(sqlite3.OperationalError):
            (other if "blocked" in statement else shop).execute(statement)


def _duckdb(place: str, state: int) -> None:
    import duckdb

    while True:
        try:
            with duckdb.connect(place) as connection:
                connection.begin()
                for statement in STATES[state]:
                    connection.execute(statement)
                connection.commit()
        except duckdb.IOException:
            time.sleep(0.001)
        else:
            return


def _file_steps(kind: str, folder: Path) -> Callable[[int], None]:
    ending, _, in_place = kind.partition("-")

    def put(name: str, **columns: Sequence[object]) -> None:
        path = folder / f"{name}.{ending}"
        written = path if in_place else path.with_name(f".{os.getpid()}.{ending}")
        write_file(written, {**FILE_ROWS[name], **columns})
        written.replace(path)

    def step(state: int) -> None:
        if state:
            put("blocked", c=["C0", "C1"])
            put("orders", amount=[10, 1000])
        else:
            put("orders", amount=[10, 1])
            put("blocked", c=["C0"])

    return step


def _server_steps(kind: str, place: str) -> Callable[[int], None]:
    link = _linked(kind, place)

    def step(state: int) -> None:
        try:
            with link.cursor() as cursor:
                for statement in _server_statements(kind, state):
                    cursor.execute(statement)
        except Exception as problem:  # noqa: BLE001  a deadlock of two writers, in two drivers' words
            sys.stderr.write(f"{problem}\n")
            link.rollback()

    return step


def _linked(kind: str, place: str) -> Any:  # noqa: ANN401  two drivers
    parts = urlsplit(place)
    said: dict[str, Any] = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
        "autocommit": True,
    }
    name = parts.path.lstrip("/")
    if kind in POSTGRESQL:
        import psycopg

        return psycopg.connect(**said, dbname=name)
    import pymysql

    return pymysql.connect(**said, database=name)


def _server_statements(kind: str, state: int) -> Sequence[str]:
    """Give what one change says to a server, as programs that load tables anew say it."""
    amount, blocked = ((1, "WHERE c <> 'C1'"), (1000, ""))[state]
    orders = f"VALUES ('C1', 1, 10), ('C1', 2, {amount})"
    who = f"SELECT c FROM customers {blocked}"
    changes: Sequence[str]
    match kind:
        case "postgresql-truncate":
            changes = (
                "TRUNCATE orders, blocked",
                f"INSERT INTO orders {orders}",
                f"INSERT INTO blocked {who}",
            )
        case "postgresql-swap":
            changes = (
                "LOCK TABLE customers IN EXCLUSIVE MODE",
                "CREATE TABLE new_orders (c VARCHAR(9), id INTEGER, amount INTEGER)",
                f"INSERT INTO new_orders {orders}",
                f"CREATE TABLE new_blocked AS {who}",
                "DROP TABLE orders, blocked",
                "ALTER TABLE new_orders RENAME TO orders",
                "ALTER TABLE new_blocked RENAME TO blocked",
            )
        case "mariadb-swap" | "mariadb-plain":
            renamed = (
                "orders TO old_orders, new_orders TO orders",
                "blocked TO old_blocked, new_blocked TO blocked",
            )
            return (
                "DROP TABLE IF EXISTS old_orders, old_blocked, new_orders, new_blocked",
                "CREATE TABLE new_orders LIKE orders",
                f"INSERT INTO new_orders {orders}",
                "CREATE TABLE new_blocked LIKE blocked",
                f"INSERT INTO new_blocked {who}",
                f"RENAME TABLE {', '.join(renamed)}",
            )
        case "mariadb-myisam":
            return STATES[state]
        case _:
            changes = STATES[state]
    return ("BEGIN", *changes, "COMMIT")


if __name__ == "__main__":
    main(*sys.argv[1:3])
