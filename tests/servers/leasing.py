"""Real servers for tests: one of each kind for all test processes, a fresh database for each test.

See `keeper` for how a server is started, and why it never stays behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
import pymysql

from tests.servers import keeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS_TO_START = 90.0


@dataclass(frozen=True)
class Server:
    """A server on the loopback interface, and its one account."""

    kind: str
    folder: Path
    port: int
    password: str
    pid: int

    @property
    def user(self) -> str:
        return "postgres" if self.kind == "postgresql" else "keeper"

    def uri(self, name: str, user: str = "", password: str = "") -> str:
        account = f"{quote(user or self.user)}:{quote(password or self.password)}"
        return f"{self.kind}://{account}@127.0.0.1:{self.port}/{name}"

    def link(self, name: str = "") -> Any:  # noqa: ANN401  two drivers
        """Connect with the driver itself, each statement for itself."""
        if self.kind == "postgresql":
            return psycopg.connect(
                host="127.0.0.1", port=self.port, user=self.user, password=self.password,
                dbname=name or "postgres", autocommit=True, connect_timeout=10,
            )  # fmt: skip
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=self.user, password=self.password,
            database=name or None, autocommit=True, charset="utf8mb4", connect_timeout=10,
        )  # fmt: skip

    @contextmanager
    def fresh(self) -> Iterator[ServedDatabase]:
        """Give an empty database; what the last test left is gone, whoever still reads it."""
        link = self.link()
        try:
            name = f"test_{os.getpid()}"
            self._clear(link.cursor(), name)
            yield ServedDatabase(self, name)
        finally:
            link.close()

    def _clear(self, cursor: Any, name: str) -> None:  # noqa: ANN401  as in `link`
        if self.kind == "mariadb":
            # A reader's transaction would keep MariaDB waiting.
            cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (name,))
            for (number,) in cursor.fetchall():
                with suppress(pymysql.err.OperationalError):
                    cursor.execute(f"KILL {number}")
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")
            cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
            return
        # PostgreSQL takes long to make a database, and is quick to empty one.
        with suppress(psycopg.errors.DuplicateDatabase):
            cursor.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            (name,),
        )
        cursor.execute(f"ALTER DATABASE {name} RESET ALL")
        ServedDatabase(self, name).run(
            """DO $$ DECLARE one name; BEGIN
                FOR one IN SELECT nspname FROM pg_namespace
                    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
                LOOP EXECUTE format('DROP SCHEMA %I CASCADE', one); END LOOP;
                CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO public;
            END $$"""
        )


@dataclass(frozen=True)
class ServedDatabase:
    """A database of a server."""

    server: Server
    name: str

    @property
    def uri(self) -> str:
        return self.server.uri(self.name)

    def run(self, *statements: str) -> None:
        """Run statements of a test's own."""
        link = self.server.link(self.name)
        try:
            cursor = link.cursor()
            for statement in statements:
                cursor.execute(statement)
        finally:
            link.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query of a test's own."""
        link = self.server.link(self.name)
        try:
            cursor = link.cursor()
            cursor.execute(query)
            return list(cursor.fetchall())
        finally:
            link.close()

    def insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows, each value as the driver sends it."""
        if not rows:
            return
        marks = ", ".join(["%s"] * len(rows[0]))
        link = self.server.link(self.name)
        try:
            link.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", list(rows))
        finally:
            link.close()


@contextmanager
def leased(kind: str, place: Path) -> Iterator[Server]:
    """Use the server that all processes with this place share; the first one starts it."""
    place.mkdir(parents=True, exist_ok=True)
    record, lease_path = place / f"{kind}.json", place / f"{kind}.lease"
    with (place / f"{kind}.start").open("w") as start, lease_path.open("a") as lease:
        fcntl.flock(start, fcntl.LOCK_EX)
        fcntl.flock(lease, fcntl.LOCK_SH)
        if not record.exists():
            program = [sys.executable, str(Path(keeper.__file__)), kind, str(place)]
            with (place / f"{kind}.log").open("ab") as log:
                subprocess.run(
                    program, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            _await(record, place / f"{kind}.failed")
        fcntl.flock(start, fcntl.LOCK_UN)
        told = json.loads(record.read_text())
        server = Server(kind, Path(told["folder"]), told["port"], told["password"], told["pid"])
        _greet(server)
        yield server


def _greet(server: Server) -> None:
    """Wait until the server lets somebody in, which is a little after it listens."""
    until = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            server.link().close()
        except (psycopg.OperationalError, pymysql.err.OperationalError):
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def _await(record: Path, failed: Path) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while not record.exists():
        if failed.exists() or time.monotonic() > until:
            said = failed.read_text() if failed.exists() else "no answer"
            raise RuntimeError(f"the test server did not start: {said}")
        time.sleep(0.02)
