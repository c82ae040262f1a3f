"""Read any other source that SQLAlchemy has a dialect for, with what all drivers share.

In: a target. Out: a `Connection`. Such a source is read whole and filtered here, because nothing is
known of its types; it has no state with a name ("not one snapshot"); beside the guard, what keeps
it from being written is a transaction that is always rolled back, and the account's own rights.
SQLite's file is opened read-only; it is here so that both ways to read SQLite can be compared.
Reference: PEP 249.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from constat.catalog.connection import (
    QueryMistakeError,
    SourceColumn,
    SourceFailureError,
    SourceTable,
)
from constat.catalog.keyed import Family
from constat.catalog.server_reading import ServerConnection, Trouble, driver_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Inspector

    from constat.catalog.connection import Parameter, Question, RawRow, ReadBounds
    from constat.catalog.drivers import Target

_BATCH: Final = 1_000
_STYLES: Final = frozenset({"qmark", "format", "pyformat"})
_NO_COLUMN: Final = "no such column: "
_Found = TypeVar("_Found")


def connect(target: Target, seconds: float) -> OtherConnection:
    """Open a connection."""
    return OtherConnection(target, seconds)


class OtherConnection(ServerConnection[Any]):
    """A connection of any driver that follows PEP 249."""

    def __init__(self, target: Target, seconds: float) -> None:
        # Each driver has exceptions of its own, below an `Error` that PEP 249 names.
        self.errors = (target.dialect.loaded_dbapi.Error, OSError)
        super().__init__(target, seconds)

    def _open(self) -> Any:  # noqa: ANN401  whatever a driver's connection is
        dialect = self._target.dialect
        places, named = dialect.create_connect_args(self._target.url)
        # A session may be closed in another thread than it was opened in.
        ours = {"check_same_thread": False} if self._target.backend == "sqlite" else {}
        link = dialect.connect(*places, **{**named, **ours})
        if isinstance(link, sqlite3.Connection):
            link.isolation_level = None
            link.execute("PRAGMA query_only = ON")
            link.text_factory = _read_text
        return link

    def _start(self) -> None:
        # Where this fails the connection is dead, and a new one is opened.
        with self._cursor() as cursor:
            cursor.execute("BEGIN" if self._target.backend == "sqlite" else self._probe())

    def _probe(self) -> str:
        return "SELECT 1 FROM DUAL" if self._target.backend == "oracle" else "SELECT 1"

    def _end(self) -> None:
        self._link.rollback()

    def _cursor(self) -> _Closing:
        return _Closing(self._link.cursor())

    def _rows(self, question: Question, _: ReadBounds) -> Generator[list[RawRow]]:
        text, parameters = driver_text(question, self._target.dialect.paramstyle)
        with self._cursor() as cursor:
            if parameters is None:
                cursor.execute(text)
            else:
                cursor.execute(text, parameters)
            while True:
                batch: list[RawRow] = []
                try:
                    while len(batch) < _BATCH and (row := cursor.fetchone()) is not None:
                        batch.append(tuple(row))
                except self.errors:
                    yield batch
                    raise
                if not batch:
                    return
                yield batch

    def _told(
        self, statement: str, parameters: Sequence[Parameter] | None = None
    ) -> list[tuple[object, ...]]:
        with self._cursor() as cursor:
            cursor.execute(statement, *([] if parameters is None else [parameters]))
            return [tuple(row) for row in cursor.fetchall()]

    def inspected(self, ask: Callable[[Inspector], _Found], seconds: float) -> _Found:
        """Have SQLAlchemy's inspector look at the tables, for so long at most."""

        def looked() -> _Found:
            with self._inspector() as looking:
                return ask(looking)

        return self._timed(looked, seconds)

    @contextmanager
    def _inspector(self) -> Iterator[Inspector]:
        from sqlalchemy import create_engine, inspect  # noqa: PLC0415  heavy library, loaded on first use
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  heavy library, loaded on first use
        from sqlalchemy.pool import StaticPool  # noqa: PLC0415  heavy library, loaded on first use

        # The engine must leave the transaction of the connection that it borrows alone.
        engine = create_engine(
            self._target.url,
            poolclass=StaticPool,
            creator=lambda: self._link,
            pool_reset_on_return=None,
        )
        try:
            with engine.connect() as connection:
                yield inspect(connection)
        except SQLAlchemyError as problem:
            driver = getattr(problem, "orig", None)
            if isinstance(driver, self.errors):
                raise driver from None
            # Its own words may hold names and values.
            raise SourceFailureError(f"SQLAlchemy says: {type(problem).__name__}") from None

    def goes_on(self, problem: Exception) -> bool:
        """Tell whether more can be asked after an error: the connection is there, the time not up.

        `problem` is SQLAlchemy's or the driver's.
        """
        driver = getattr(problem, "orig", None) or problem
        return not self._is_lost(driver) and self._meaning(driver).code != "C0521"

    def _list_tables(self) -> Mapping[str, SourceTable]:
        with self._inspector() as looking:
            names = [*looking.get_table_names(), *looking.get_view_names()]
            return {
                name.lower(): SourceTable(
                    name,
                    tuple(
                        SourceColumn(
                            str(one["name"]).lower(), str(one["type"]), not one["nullable"]
                        )
                        for one in looking.get_columns(name)
                    ),
                    plain=False,
                )
                for name in names
            }

    def _describe(self, query: str) -> tuple[tuple[str, ...], tuple[Family, ...]]:
        with self._cursor() as cursor:
            cursor.execute(f"SELECT * FROM (\n{query}\n) q WHERE 1 = 0")  # noqa: S608  guarded
            names = tuple(column[0] for column in cursor.description or ())
        return names, (Family.OTHER,) * len(names)

    def _interrupt(self) -> None:
        stop = getattr(self._link, "interrupt", None) or getattr(self._link, "cancel", None)
        if stop is not None:
            with suppress(*self.errors):
                stop()

    def _hang_up(self) -> None:
        self._interrupt()

    def _recover(self) -> None:
        """Nothing can be said about a driver that is not known: only whether it goes on."""

    def _is_lost(self, problem: Exception) -> bool:
        dialect = self._target.dialect
        return bool(dialect.is_disconnect(problem, self._link, None))  # type: ignore[arg-type]

    def _meaning(self, problem: Exception) -> Trouble:
        kind, said = type(problem).__name__, str(problem)
        if isinstance(problem, sqlite3.Error):
            if said == "interrupted":
                return SourceFailureError("the query was stopped", "C0521")
            if said.startswith(_NO_COLUMN):
                return QueryMistakeError(said[:200])
            number = getattr(problem, "sqlite_errorcode", None)
            if number == sqlite3.SQLITE_READONLY:
                return QueryMistakeError("the query writes, and it may only read", "C0516")
            if number == sqlite3.SQLITE_ERROR:
                return QueryMistakeError("the source cannot run the query")
        # A driver's own words may hold an address or values.
        if kind == "ProgrammingError":
            return QueryMistakeError("the source cannot run the query")
        return SourceFailureError(f"the driver says: {kind}")

    def _shut(self) -> None:
        with suppress(*self.errors):
            self._link.close()


class _Closing:
    """A cursor that is closed at the end; not every driver's can do that itself."""

    def __init__(self, cursor: Any) -> None:  # noqa: ANN401  whatever a driver's cursor is
        self._cursor = cursor

    def __enter__(self) -> Any:  # noqa: ANN401  as above
        return self._cursor

    def __exit__(self, *_: object) -> None:
        self._cursor.close()


def _read_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
