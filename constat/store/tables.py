"""The store of tables: what the steps of an exploration leave, and the only thing they share."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation.processor import set_up_duckdb
from constat.store import clock
from constat.store.state_file import WAIT_SECONDS, Form, NotOursError, StateFile, lock_within
from constat.store.table_columns import NEW, read_parquet, write_parquet
from constat.store.table_forms import Table, TableError, decode, encode
from constat.store.table_values import (
    Artifact,
    Json,
    Kept,
    Note,
    StepResult,
    StoredState,
    StoredTable,
    check_result,
    json_text,
    next_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

# Columns only ever get added, under a higher `VERSION`.

APPLICATION: Final = 0x434E5442  # "CNTB"
VERSION: Final = 1
SQLITE: Final = "sqlite"
DUCKDB: Final = "duckdb"
POSTGRESQL: Final = "postgresql"

_BYTES: Final = MappingProxyType({SQLITE: "BLOB", DUCKDB: "BLOB", POSTGRESQL: "BYTEA"})
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS constat_contents (
    sha256 TEXT PRIMARY KEY,
    content {bytes} NOT NULL
);
CREATE TABLE IF NOT EXISTS constat_tables (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    step BIGINT NOT NULL,
    step_name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    row_count BIGINT NOT NULL,
    columns TEXT NOT NULL,
    size BIGINT NOT NULL,
    reference TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, name, version)
);
CREATE TABLE IF NOT EXISTS constat_state (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    step BIGINT NOT NULL,
    value TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, name, version)
);
CREATE TABLE IF NOT EXISTS constat_notes (
    session TEXT NOT NULL,
    number BIGINT NOT NULL,
    step BIGINT NOT NULL,
    text TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, number)
);
CREATE TABLE IF NOT EXISTS constat_artifacts (
    session TEXT NOT NULL,
    number BIGINT NOT NULL,
    step BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    media TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, number)
)
"""


def statements(dialect: str) -> tuple[str, ...]:
    """Give the statements of a dialect, each for itself."""
    return tuple(one.strip() for one in _SCHEMA.format(bytes=_BYTES[dialect]).split(";"))


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
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
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
                is_new = not self._path.exists()
                driver = duckdb.connect(str(self._path), config=settings)
                if is_new:
                    # DuckDB takes no empty file for a new one.
                    self._path.chmod(0o600)
                return set_up_duckdb(driver)
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


LOCK: Final = ".files.lock"
_MARK: Final = ".adding-"
_WAIT_SECONDS: Final = 60.0
_DIGITS: Final = 8
DEFAULT_ADDRESS: Final = "sqlite:///tables.sqlite"
"""Where tables lie unless a project says otherwise; its files have no more in their names."""


class Adding:
    """One commit that may add files."""

    def __init__(self, folder: Path, ending: str, named: Callable[[], frozenset[str]]) -> None:
        self._folder = folder
        self._ending = ending
        self._named = named
        self._lock = -1
        self._marks: list[Path] = []

    def write(self, table: Table, sha256: str) -> str:
        """Have the file of a table and give its name. Raises `OSError`."""
        if self._lock < 0:
            self._begin()
        target = self._folder / f"{sha256}{self._ending}"
        if not target.exists():
            mark = self._folder / f"{_MARK}{target.name}"
            mark.touch(mode=0o600)
            self._marks.append(mark)
        write_parquet(table, target, sha256)
        return target.name

    def settle(self) -> None:
        """Take the marks away: the rows are kept."""
        for mark in self._marks:
            # What cannot be unmarked is looked at again by the next one who adds.
            with contextlib.suppress(OSError):
                mark.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others sweep."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _begin(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        options = os.O_RDWR | os.O_CREAT
        self._lock = os.open(self._folder / LOCK, options, 0o600)
        self._sweep()
        if not lock_within(self._lock, _WAIT_SECONDS, shared=True):
            raise OSError("another program sweeps its files and does not end")

    def _sweep(self) -> None:
        """Take away what crashes have left, unless somebody writes now."""
        if not lock_within(self._lock, 0.0, shared=False):
            return
        own = re.compile(f"{re.escape(_MARK)}([0-9a-f]{{64}}{re.escape(self._ending)})")
        with os.scandir(self._folder) as entries:
            left = [one.name for one in entries if one.name.startswith((NEW, _MARK))]
        files = [found[1] for one in left if (found := own.fullmatch(one))]
        named = self._named() if files else frozenset()
        for file in files:
            if file not in named:
                self._remove(file)
            self._remove(f"{_MARK}{file}")
        for one in left:
            if one.startswith(NEW):
                self._remove(one)

    def _remove(self, name: str) -> None:
        # Waste that cannot be removed is still no more than waste.
        with contextlib.suppress(OSError):
            (self._folder / name).unlink(missing_ok=True)


@contextlib.contextmanager
def adding(folder: Path, address: str, named: Callable[[], frozenset[str]]) -> Iterator[Adding]:
    """Add files for one commit; the block ends when their rows are kept.

    `named` gives the files that the database names, of all sessions.
    """
    store = hashlib.sha256(address.encode()).hexdigest()[:_DIGITS]
    ending = ".parquet" if address == DEFAULT_ADDRESS else f"-{store}.parquet"
    found = Adding(folder, ending, named)
    try:
        yield found
        found.settle()
    finally:
        found.close()


FOLDER: Final = "explored"
INLINE_BYTES: Final = 1 << 20
_TABLE: Final = (
    "SELECT name, version, step, step_name, sha256, row_count, columns, size, reference, kept_at"
    " FROM constat_tables"
)
_ARTIFACT: Final = (
    "SELECT number, step, attempt, kind, name, media, sha256, size, kept_at FROM constat_artifacts"
)
_NO_LIMIT: Final = (1 << 62) - 1


class DataStore:
    """What one session keeps. Reading creates nothing.

    `folder` is that of the project's state. `address` says where the tables lie when it is not a
    file of SQLite in that folder: `duckdb:///FILE` or `postgresql://...`. Tables above
    `inline_bytes` become Parquet files in the folder, by reference.
    """

    def __init__(
        self,
        folder: Path,
        session: str,
        *,
        address: str = "",
        inline_bytes: int = INLINE_BYTES,
    ) -> None:
        self.session = session
        self.folder = folder / FOLDER
        self._inline = inline_bytes
        self._address = address or DEFAULT_ADDRESS
        with _failures("opened"):
            self._backend = backend_at(self._address, self.folder)

    def commit(self, result: StepResult) -> Kept:
        """Keep what a step leaves, as a whole. Raises `ConstatError`; then nothing was kept."""
        check_result(result)
        with _failures("written"), adding(self.folder, self._address, self._files) as files:
            # Files first: a file without a row is waste, a row without a file would be a loss.
            kept = {name: self._content(table, files) for name, table in result.tables.items()}
            now = clock.now()
            with self._backend.writing() as transaction:
                return Kept(
                    self._keep_tables(transaction, result, kept, now),
                    self._keep_state(transaction, result, now),
                    self._keep_notes(transaction, result, now),
                    self._keep_artifacts(transaction, result, now),
                )

    def tables(self, *, at: int | None = None, history: bool = False) -> tuple[StoredTable, ...]:
        """Give the latest version of each table, by name; as of the end of step `at`, or all."""
        found = self._read(
            f"{_TABLE} WHERE session = ? AND step <= ? ORDER BY name, version",
            (self.session, _NO_LIMIT if at is None else at),
        )
        listed = tuple(map(_stored_table, found))
        return listed if history else tuple({one.name: one for one in listed}.values())

    def stored(
        self, name: str, *, version: int | None = None, at: int | None = None
    ) -> StoredTable | None:
        """Give what is known of a table: its latest version, that of a step, or a given one."""
        for one in reversed(self.tables(at=at, history=True)):
            if one.name == name and version in {None, one.version}:
                return one
        return None

    def table(self, name: str, *, version: int | None = None, at: int | None = None) -> Table:
        """Read a table. Raises `ConstatError` where there is none, or its content is damaged."""
        found = self.stored(name, version=version, at=at)
        if found is None:
            names = ", ".join(one.name for one in self.tables(at=at)) or "none"
            message = "there is no such table in this session"
            raise ConstatError([Diagnostic("C0916", message, note=f"there are: {names}")])
        with _failures("read"):
            if found.reference:
                path = self.folder / found.reference
                return read_parquet(path, found.columns, found.sha256)
            content = self._blob(found.sha256)
            return decode(content)

    def path(self, stored: StoredTable) -> Path | None:
        """Give the Parquet file of a large table; `None` where it lies in the database."""
        return self.folder / stored.reference if stored.reference else None

    def state(self, *, at: int | None = None) -> dict[str, Json]:
        """Give the state variables, as of the end of step `at` or now."""
        return {one.name: one.value for one in self.state_history(at=at)}

    def state_history(self, *, at: int | None = None) -> tuple[StoredState, ...]:
        """Give every version of every state variable, by name."""
        found = self._read(
            "SELECT name, version, step, value, kept_at FROM constat_state"
            " WHERE session = ? AND step <= ? ORDER BY name, version",
            (self.session, _NO_LIMIT if at is None else at),
        )
        return tuple(
            StoredState(name, int(version), int(step), json.loads(value), when)
            for name, version, step, value, when in found
        )

    def notes(self) -> tuple[Note, ...]:
        """Give the scratchpad."""
        found = self._read(
            "SELECT number, step, text, kept_at FROM constat_notes WHERE session = ?"
            " ORDER BY number",
            (self.session,),
        )
        return tuple(
            Note(int(number), int(step), json.loads(text), when)
            for number, step, text, when in found
        )

    def artifacts(
        self, *, step: int | None = None, kind: str | None = None
    ) -> tuple[Artifact, ...]:
        """Give the artifacts in the order in which they were kept."""
        found = self._read(f"{_ARTIFACT} WHERE session = ? ORDER BY number", (self.session,))
        listed = (Artifact(*row) for row in found)
        return tuple(one for one in listed if step in {None, one.step} and kind in {None, one.kind})

    def content(self, artifact: Artifact) -> bytes:
        """Read an artifact."""
        with _failures("read"):
            return self._blob(artifact.sha256)

    def last_step(self) -> int:
        """Give the highest number of a step that left anything; 0 before the first."""
        highest = 0
        for name in ("tables", "state", "notes", "artifacts"):
            statement = f"SELECT max(step) FROM constat_{name} WHERE session = ?"  # noqa: S608  our names
            for (step,) in self._read(statement, (self.session,)):
                highest = max(highest, step or 0)
        return highest

    def _read(self, statement: str, parameters: tuple[object, ...]) -> Rows:
        if not self._backend.exists():
            return []
        with _failures("read"), self._backend.reading() as transaction:
            return transaction.rows(statement, parameters)

    def _blob(self, sha256: str) -> bytes:
        statement = "SELECT content FROM constat_contents WHERE sha256 = ?"
        with self._backend.reading() as transaction:
            found = transaction.rows(statement, (sha256,))
        content = bytes(found[0][0]) if found else b""
        if hashlib.sha256(content).hexdigest() != sha256:
            raise TableError("a content has another hash than it was kept with")
        return content

    def _files(self) -> frozenset[str]:
        """Name the files of all sessions."""
        statement = "SELECT DISTINCT reference FROM constat_tables WHERE reference <> ''"
        return frozenset(str(name) for (name,) in self._read(statement, ()))

    def _content(self, table: Table, files: Adding) -> tuple[str, str, bytes]:
        """Give the hash of a table, its file or nothing, and its bytes or none."""
        content = encode(table)
        sha256 = hashlib.sha256(content).hexdigest()
        if len(content) <= self._inline or not table.columns:
            return sha256, "", content
        return sha256, files.write(table, sha256), b""

    def _keep_tables(
        self,
        transaction: Transaction,
        result: StepResult,
        kept: dict[str, tuple[str, str, bytes]],
        now: str,
    ) -> tuple[StoredTable, ...]:
        versions = next_numbers(transaction, "constat_tables", self.session)
        made = []
        for name, table in result.tables.items():
            sha256, reference, content = kept[name]
            columns = tuple(zip(table.names, table.kinds, strict=True))
            one = StoredTable(
                *(name, versions(name), result.step, result.name, sha256, table.rows),
                *(columns, table.size, reference, now),
            )
            if not reference:
                _keep_content(transaction, sha256, content)
            transaction.rows(
                f"INSERT INTO constat_tables VALUES ({', '.join('?' * 11)})",  # noqa: S608  marks
                (
                    *(self.session, name, one.version, one.step, one.step_name, sha256, one.rows),
                    *(json_text(list(map(list, columns))), one.size, reference, now),
                ),
            )
            made.append(one)
        return tuple(made)

    def _keep_state(
        self, transaction: Transaction, result: StepResult, now: str
    ) -> tuple[StoredState, ...]:
        versions = next_numbers(transaction, "constat_state", self.session)
        made = []
        for name, value in result.state.items():
            one = StoredState(name, versions(name), result.step, value, now)
            transaction.rows(
                "INSERT INTO constat_state VALUES (?, ?, ?, ?, ?, ?)",
                (self.session, name, one.version, one.step, json_text(value), now),
            )
            made.append(one)
        return tuple(made)

    def _keep_notes(
        self, transaction: Transaction, result: StepResult, now: str
    ) -> tuple[Note, ...]:
        first = _count(transaction, "constat_notes", self.session) + 1
        made = tuple(
            Note(first + place, result.step, text, now) for place, text in enumerate(result.notes)
        )
        for one in made:
            transaction.rows(
                "INSERT INTO constat_notes VALUES (?, ?, ?, ?, ?)",
                (self.session, one.number, one.step, json_text(one.text), now),
            )
        return made

    def _keep_artifacts(
        self, transaction: Transaction, result: StepResult, now: str
    ) -> tuple[Artifact, ...]:
        first = _count(transaction, "constat_artifacts", self.session) + 1
        made = []
        for place, new in enumerate(result.artifacts):
            sha256 = hashlib.sha256(new.content).hexdigest()
            one = Artifact(
                *(first + place, result.step, new.attempt, new.kind, new.name, new.media),
                *(sha256, len(new.content), now),
            )
            _keep_content(transaction, sha256, new.content)
            transaction.rows(
                f"INSERT INTO constat_artifacts VALUES ({', '.join('?' * 10)})",  # noqa: S608  marks
                (
                    *(self.session, one.number, one.step, one.attempt, one.kind, one.name),
                    *(one.media, one.sha256, one.size, now),
                ),
            )
            made.append(one)
        return tuple(made)


def _keep_content(transaction: Transaction, sha256: str, content: bytes) -> None:
    transaction.rows(
        "INSERT INTO constat_contents VALUES (?, ?) ON CONFLICT DO NOTHING", (sha256, content)
    )


def _count(transaction: Transaction, table: str, session: str) -> int:
    statement = f"SELECT count(*) FROM {table} WHERE session = ?"  # noqa: S608  our names
    return int(transaction.rows(statement, (session,))[0][0])


def _stored_table(row: tuple[Any, ...]) -> StoredTable:
    name, version, step, step_name, sha256, rows, columns, size, reference, when = row
    listed = tuple((str(column), str(kind)) for column, kind in json.loads(columns))
    return StoredTable(name, version, step, step_name, sha256, rows, listed, size, reference, when)


@contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except StoreFailureError as problem:
        reason = problem.reason
    except TableError as problem:
        reason = str(problem)
    except OSError as problem:
        reason = problem.strerror or str(problem) or type(problem).__name__
    else:
        return
    message = f"the store of tables cannot be {what}: {reason}"
    raise ConstatError([Diagnostic("C0915", message, note="nothing was changed or deleted")])
