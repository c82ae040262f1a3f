"""Where the store of tables lies: SQLite, DuckDB or PostgreSQL behind one small interface.

In: an address. Out: transactions that take statements with `?` for parameters. Invariants: a
transaction that writes is the only one at its time and is kept as a whole or not at all; whoever
waits for another program waits so long and no longer; no message shows an address. Example:
`backend_at("sqlite:///tables.sqlite", folder)`. The drivers of DuckDB and PostgreSQL load when one
of theirs is opened.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.store.locking import lock_within
from constat.store.state_file import WAIT_SECONDS, Form, NotOursError, StateFile
from constat.store.tables_schema import (
    APPLICATION,
    DUCKDB,
    POSTGRESQL,
    SQLITE,
    VERSION,
    statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Rows = list[tuple[Any, ...]]
_PAUSE_SECONDS: Final = 0.02
# Any number will do, as long as all programs that write here take the same one.
_LOCK: Final = 0x434E5354
_FORM: Final = Form("store of tables", APPLICATION, VERSION, statements(SQLITE))


class StoreFailureError(Exception):
    """The database of tables cannot be used; `reason` holds no address."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Transaction(Protocol):
    """Statements that see one state, and are kept together."""

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """Run a statement and give its rows; none for one that has no rows."""
        ...


class Backend(Protocol):
    """A database that holds tables."""

    def exists(self) -> bool:
        """Tell whether anything can be there; reading creates nothing."""
        ...

    def reading(self) -> AbstractTransaction:
        """Open a transaction that reads."""
        ...

    def writing(self) -> AbstractTransaction:
        """Open a transaction that writes, and is alone."""
        ...


if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    AbstractTransaction = AbstractContextManager[Transaction]


def backend_at(address: str, folder: Path) -> Backend:
    """Choose the backend; a relative path is one below the folder."""
    scheme, _, rest = address.partition(":///")
    if scheme == "sqlite" and rest:
        return SqliteBackend(folder / rest)
    if scheme == "duckdb" and rest:
        return DuckBackend(folder / rest)
    if address.startswith(("postgresql://", "postgresql+psycopg://", "postgres://")):
        return PostgresBackend(address)
    raise StoreFailureError("its address is none of sqlite:///, duckdb:/// and postgresql://")


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        return self._connection.execute(statement, tuple(parameters)).fetchall()


class _Nothing:
    @staticmethod
    def rows(statement: str, parameters: Sequence[object] = ()) -> Rows:  # noqa: ARG004  the protocol
        return []


class SqliteBackend:
    """A file of SQLite, with a write-ahead log and full synchronisation."""

    def __init__(self, path: Path) -> None:
        self._file = StateFile(path, _FORM)

    def exists(self) -> bool:
        """Tell whether the file is there."""
        return self._file.path.exists()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Read one state of the file."""
        with _sqlite_failures(), self._file.reading() as connection:
            yield _Nothing() if connection is None else _SqliteTransaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Write alone."""
        with _sqlite_failures(), self._file.writing() as connection:
            yield _SqliteTransaction(connection)


@contextmanager
def _sqlite_failures() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, NotOursError) as problem:
        raise StoreFailureError(str(problem)[:200]) from problem
    except OSError as problem:
        raise StoreFailureError(problem.strerror or type(problem).__name__) from problem


class _DuckTransaction:
    def __init__(self, connection: Any) -> None:  # noqa: ANN401  a connection of a lazy library
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        found: Rows = self._connection.execute(statement, list(parameters)).fetchall()
        return found


class DuckBackend:
    """A file of DuckDB. One program has it open at a time, so it is open only while it is used."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        """Tell whether the file is there."""
        return self._path.exists()

    def reading(self) -> AbstractTransaction:
        """Read one state of the file."""
        return self._transaction()

    def writing(self) -> AbstractTransaction:
        """Write alone."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        try:
            with self._alone(), closing(self._connected()) as connection:
                for statement in statements(DUCKDB):
                    connection.execute(statement)
                connection.begin()
                try:
                    yield _DuckTransaction(connection)
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
        except (duckdb.Error, OSError) as problem:
            raise StoreFailureError(_duck_reason(problem)) from problem

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for the others of this program, whom DuckDB itself lets in, and of all programs."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not lock_within(descriptor, WAIT_SECONDS, shared=False):
                raise StoreFailureError("another program has it open")
            yield
        finally:
            os.close(descriptor)

    def _connected(self) -> Any:  # noqa: ANN401  a connection of a lazy library
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return duckdb.connect(str(self._path), config=settings)
            except duckdb.IOException as problem:
                if "lock" not in str(problem).lower() or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_SECONDS)


def _duck_reason(problem: Exception) -> str:
    # DuckDB's own messages name the file; only their kind is told.
    if "lock" in str(problem).lower():
        return "another program has it open"
    kind = type(problem).__name__.removesuffix("Exception")
    return f"DuckDB says: {kind}"


class _ServerTransaction:
    def __init__(self, connection: Any) -> None:  # noqa: ANN401  a connection of a lazy library
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        written = statement.replace("?", "%s")
        found = self._connection.exec_driver_sql(written, tuple(parameters))
        return [tuple(row) for row in found] if found.returns_rows else []


class PostgresBackend:
    """Tables on a PostgreSQL server, by SQLAlchemy; several machines may share it."""

    def __init__(self, address: str) -> None:
        # psycopg is the driver that Constat declares.
        self._address = "postgresql+psycopg://" + address.partition("://")[2]

    def exists(self) -> bool:
        """A server is there or fails."""
        return True

    def reading(self) -> AbstractTransaction:
        """Read one state."""
        return self._transaction("REPEATABLE READ", "SELECT 1")

    def writing(self) -> AbstractTransaction:
        """Write alone: others who write wait."""
        # What is read after the lock was waited for must be newer than the beginning.
        return self._transaction("READ COMMITTED", f"SELECT pg_advisory_xact_lock({_LOCK})")

    @contextmanager
    def _transaction(self, isolation: str, first: str) -> Iterator[Transaction]:
        import sqlalchemy  # noqa: PLC0415  heavy library, loaded on first use
        from sqlalchemy import pool  # noqa: PLC0415  heavy library, loaded on first use

        try:
            engine = sqlalchemy.create_engine(
                self._address,
                poolclass=pool.NullPool,
                hide_parameters=True,
                connect_args={
                    "connect_timeout": int(WAIT_SECONDS),
                    "options": f"-c lock_timeout={int(WAIT_SECONDS * 1000)}",
                },
            )
            with engine.connect() as link:
                self._create(link)
                link.execution_options(isolation_level=isolation)
                with link.begin():
                    link.exec_driver_sql(first)
                    yield _ServerTransaction(link)
        except sqlalchemy.exc.SQLAlchemyError as problem:
            raise StoreFailureError(_server_reason(problem)) from None

    @staticmethod
    def _create(link: Any) -> None:  # noqa: ANN401  a connection of a lazy library
        known = "SELECT to_regclass('constat_artifacts') IS NOT NULL"
        with link.begin():
            if link.exec_driver_sql(known).scalar():
                return
        with link.begin():
            link.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            for statement in statements(POSTGRESQL):
                link.exec_driver_sql(statement)


def _server_reason(problem: Exception) -> str:
    # Messages of drivers quote addresses and values; the code of SQL quotes neither.
    code = getattr(getattr(problem, "orig", None), "sqlstate", None)
    return f"PostgreSQL says: SQLSTATE {code}" if code else "the server did not answer"
