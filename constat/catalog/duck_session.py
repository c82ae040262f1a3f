"""An open DuckDB that is locked down: it reads what it was opened for, and changes nothing."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from constat.catalog.connection import (
    LEFT_BEHIND,
    QueryMistakeError,
    Single,
    SourceFailureError,
    Spelled,
    preparing,
)
from constat.catalog.duck_queries import DuckColumn
from constat.catalog.interruptible import Deadline, Heap, StuckError, Worker
from constat.evaluation.processor import WRONG_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from constat.catalog.connection import Cell, Question, RawRow, ReadBounds

# DuckDB's messages quote lines of files, values and paths; of messages about data only the number
# of a line is kept.

_ABOUT_THE_QUERY: Final = frozenset(
    {"BinderException", "CatalogException", "ParserException", "SyntaxException"}
)
_ABOUT_VALUES: Final = frozenset(
    {"ConversionException", "OutOfRangeException", "TypeMismatchException", "InvalidInputException"}
)
_NO_COLUMN: Final = re.compile(
    r"(?:Referenced|Table) \"([^\"]{1,60})\" does not have a column named \"([^\"]{1,60})\"|"
    r"Referenced column \"([^\"]{1,60})\" (?:was )?not found"
)
_PATH: Final = re.compile(r"/|\\")
_LONGEST: Final = 160
NEEDS_MEMORY: Final = "it needs more memory than DuckDB is given here"


def trouble(
    problem: duckdb.Error, *, cancelled: bool = False, seconds: float = 0
) -> SourceFailureError | QueryMistakeError:
    """Give the error to raise for one of the driver's; `seconds` is how long the query had."""
    kind = type(problem).__name__
    if kind == "InterruptException":
        return stopped(seconds, cancelled=cancelled)
    if kind in _ABOUT_THE_QUERY:
        return QueryMistakeError(f"DuckDB says: {_about_the_query(str(problem))}")
    if kind == "PermissionException":
        return QueryMistakeError("the query does something that is not allowed", "C0516")
    if kind == "OutOfMemoryException":
        return SourceFailureError(NEEDS_MEMORY)
    if "Failed to read file" in str(problem):
        return SourceFailureError("a file of it is damaged", "C0543")
    if kind in _ABOUT_VALUES:
        reason = "DuckDB cannot convert or compute a value that the query meets"
        return SourceFailureError(reason, "C0544")
    return SourceFailureError(f"DuckDB cannot read it ({kind.removesuffix('Exception')})")


def stopped(seconds: float, *, cancelled: bool) -> SourceFailureError:
    """Give the failure of what was interrupted."""
    reason = "it was cancelled" if cancelled else f"it did not finish within {seconds:g} s"
    return SourceFailureError(reason, "C0521")


def cannot_open(problem: duckdb.Error) -> SourceFailureError:
    """Say why a file could not be opened."""
    said = str(problem)
    if "lock" in said.lower():
        return SourceFailureError("another program has it open for writing")
    if "different configuration" in said:
        return SourceFailureError("this program has it open for writing")
    if "newer" in said or "version" in said:
        return SourceFailureError("another version of DuckDB has written it")
    if "not a valid DuckDB" in said:
        return SourceFailureError("it is not a database of DuckDB")
    return SourceFailureError("it cannot be opened, or is damaged")


def _about_the_query(said: str) -> str:
    """Give the first line, with an unknown column named as for other sources."""
    first = said.partition("\n")[0].partition(": ")[2]
    found = _NO_COLUMN.search(first)
    if found is not None:
        table = f"{found[1]}." if found[1] else ""
        return f"no such column: {table}{found[2] or found[3]}"
    return "it cannot be bound" if _PATH.search(first) else first[:_LONGEST]


_Result = TypeVar("_Result")
_BATCH: Final = 1_000
_DIGESTS: Final = 20_000
_MEMORY: Final = "2GB"
# Beside what DuckDB counts itself, the values that functions make while they run.
_HEAP: Final = 5 << 29
_MOST_THREADS: Final = 4
_SECONDS_TO_PREPARE: Final = 5.0


class _Stream:
    """A stream and nothing else: DuckDB refuses relations of its own from other connections."""

    def __init__(self, source: object) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # asked for before


class DuckSession:
    """One connection to one DuckDB; closed when its reading ends."""

    def __init__(
        self, database: Path | None, readable: Sequence[Path] = (), folder: Path | None = None
    ) -> None:
        """Open a file, or an empty database that reads files, and those of a folder of ours."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        self._duckdb = duckdb
        self._deadline: Deadline | None = None
        self._guard = threading.Lock()
        self._in_transaction = False
        self._worker = Worker(self._stop, self._leave, Heap(_HEAP))
        try:
            self._connection = duckdb.connect(
                ":memory:" if database is None else str(database),
                read_only=database is not None,
                config=_settings(),
            )
        except duckdb.Error as problem:
            raise cannot_open(problem) from None
        try:
            self._lock_down(readable, folder)
        except BaseException:
            self._connection.close()
            raise

    def _lock_down(self, readable: Sequence[Path], folder: Path | None) -> None:
        asked = "SELECT current_setting('lock_configuration'), current_setting('{}')"
        locked, external = self.own(asked.format("enable_external_access"))[0]
        if locked and not external:
            return  # this program reads the file already, under the same settings
        # Without GLOBAL the next connection to the same file would have the machine's zone.
        self.own("SET GLOBAL TimeZone = 'UTC'")
        self.own("SET enable_external_file_cache = false")
        if readable:
            self.own(f"SET allowed_paths = [{', '.join(quoted(str(path)) for path in readable)}]")
        if folder is not None:
            self.own(f"SET allowed_directories = [{quoted(str(folder))}]")
        self.own("SET enable_external_access = false")
        self.own("SET lock_configuration = true")

    def begin(self) -> None:
        """Start a transaction, in which one state is read."""
        try:
            self._connection.begin()
        except self._duckdb.Error as problem:
            raise self._told(problem) from None
        self._in_transaction = True

    def own(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement of ours and give its rows."""
        try:
            return self._worker.run(lambda: self._connection.execute(statement).fetchall())
        except StuckError:
            raise SourceFailureError(LEFT_BEHIND, "C0555") from None
        except self._duckdb.Error as problem:
            raise self._told(problem) from None

    def rows(
        self, statement: str, seconds: float, explain: Callable[[str], SourceFailureError | None]
    ) -> list[tuple[object, ...]]:
        """Run a statement of ours that may take long and meets data from outside.

        `explain` gets what DuckDB says of a failure, and may give a better one than ours.
        """
        try:
            with self.bounded(seconds) as connection:
                try:
                    return self._run(lambda: connection.execute(statement).fetchall())
                except self._duckdb.Error as problem:
                    raise explain(str(problem)) or problem from None
        except QueryMistakeError as problem:
            raise SourceFailureError(problem.reason) from None

    def append(self, table: str, rows: Sequence[tuple[str | None, ...]]) -> None:
        """Add rows to a table of ours."""
        try:
            appender = self._connection.appender(f'"{table}"')
            try:
                with appender:
                    appender.append_rows(rows)
            except BaseException:
                # What was ended in the middle would warn of the rows that it drops.
                appender.clear()
                raise
        except self._duckdb.Error as problem:
            raise self._told(problem) from None

    def take(self, table: str, source: object, seconds: float, columns: Sequence[str] = ()) -> None:
        """Make a table of what a frame or an Arrow stream gives; without `columns` of all."""
        with self.bounded(seconds) as connection:
            self._run(lambda: self._relation(connection, source, columns).create(named(table)))

    def frame_columns(
        self, frame: object, columns: Sequence[str], seconds: float
    ) -> tuple[DuckColumn, ...]:
        """Give the columns of a frame; without `columns` all of them."""
        with self.bounded(seconds) as connection:
            found = self._run(lambda: self._relation(connection, frame, columns))
            return tuple(
                DuckColumn(name, kind.id, str(kind))
                for name, kind in zip(found.columns, found.types, strict=True)
            )

    def frame_mark(
        self, frame: object, columns: Sequence[str], seconds: float
    ) -> tuple[object, ...]:
        """Count the rows of a frame, or of a table of ours by its name, and add up their hashes.

        Two contents have one mark with a probability of 1 in 2^64, in whatever order the rows are.
        """
        functions, column = self._duckdb.FunctionExpression, self._duckdb.ColumnExpression
        hashed = functions("hash", *(column(one) for one in columns)).cast("HUGEINT")
        with self.bounded(seconds) as connection:
            found = self._run(
                lambda: (
                    self._relation(connection, frame, columns)
                    .aggregate([functions("count_star"), functions("sum", hashed)])
                    .fetchall()
                )
            )
        return found[0]

    def row_digests(self, table: str, columns: Sequence[str], seconds: float) -> Iterator[bytes]:
        """Yield the SHA-256 of each row of a table, in their own order, in blocks."""
        texts = (f"CAST({named(one)} AS VARCHAR)" for one in columns)
        spelled = " || ".join(f"coalesce(strlen({one}) || ':' || {one}, '-')" for one in texts)
        query = f"SELECT sha256({spelled}) AS h FROM {named(table)} ORDER BY h"  # noqa: S608  quoted
        with self.bounded(seconds) as connection:
            self._run(lambda: connection.execute(query))
            while rows := self._run(lambda: connection.fetchmany(_DIGESTS)):
                yield "".join(row[0] for row in rows).encode()

    def _relation(
        self, connection: duckdb.DuckDBPyConnection, frame: object, columns: Sequence[str] = ()
    ) -> duckdb.DuckDBPyRelation:
        # The streams of pandas need a further package; DuckDB reads its frames by itself.
        if isinstance(frame, str):
            found = connection.table(named(frame))
        elif type(frame).__module__.partition(".")[0] == "pandas":
            pandas_frame: Any = frame
            try:
                found = connection.from_df(pandas_frame)
            except self._duckdb.Error:
                # DuckDB cannot read columns that lie backwards; a copy lies in order.
                found = connection.from_df(pandas_frame.copy())
        else:
            found = connection.from_arrow(_Stream(frame))
        column, empty = self._duckdb.ColumnExpression, '"NULL"'
        kinds = zip(found.columns, found.types, strict=True)
        # No table can have a column without a type.
        text = {n: column(n).cast("VARCHAR").alias(n) for n, kind in kinds if str(kind) == empty}
        return found.select(*(text.get(one, column(one)) for one in columns or found.columns))

    def load(self, table: str, arrays: Mapping[str, object], seconds: float) -> None:
        """Add the rows of arrays, one for each column, to a table of ours."""
        statement = f'INSERT INTO "{table}" SELECT * FROM loaded'  # noqa: S608  a name of ours
        with self.bounded(seconds) as connection:
            connection.register("loaded", arrays)
            try:
                self._run(lambda: connection.execute(statement))
            finally:
                connection.unregister("loaded")

    @preparing()
    def columns(self, query: str) -> tuple[DuckColumn, ...]:
        """Give the output columns of a query by preparing it behind `LIMIT 0`."""
        self._check_kind(query)
        prepared = f"SELECT * FROM (\n{query}\n) LIMIT 0"  # noqa: S608  guarded
        with self.bounded(_SECONDS_TO_PREPARE) as connection:
            described = self._run(lambda: connection.execute(prepared).description)
        return tuple(DuckColumn(name, kind.id, str(kind)) for name, kind, *_ in described)

    def stream(self, query: str) -> ArrowRows:
        """Give the rows of a query as an object with `__arrow_c_stream__`."""
        self._check_kind(query)
        try:
            return ArrowRows(self._connection.sql(query))
        except self._duckdb.Error as problem:
            raise self._told(problem) from None

    @preparing()
    def estimate(self, query: str) -> float | None:
        """Give the optimizer's guess of how many rows a query gives, which costs next to nothing.

        The largest number among the operators: a join may be guessed wildly, a table is known.
        """
        self._check_kind(query)
        with self.bounded(_SECONDS_TO_PREPARE) as connection:
            # A query cannot close the parenthesis: it was parsed as one SELECT by itself.
            explained = f"EXPLAIN (FORMAT json) {query}"
            told = self._run(lambda: connection.execute(explained).fetchall())
        guesses = re.findall(r'"Estimated Cardinality": "~?([0-9]+)"', str(told[0][-1]))
        return max(map(float, guesses), default=None)

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; raises at its bounds, after the rows that came before them."""
        left = bounds.rows
        self.bear(bounds)
        with self.bounded(bounds.seconds) as connection:
            self._run(lambda: connection.execute(question.text, question.parameters))
            convert = _conversions(connection.description, question.spelled)
            rows = iter(connection.fetchone, None)
            while True:
                batch: list[RawRow] = []
                try:
                    # Unlike `fetchmany`, this keeps the rows that came before an interruption.
                    self._run(partial(batch.extend, islice(rows, _BATCH)))
                except self._duckdb.Error:
                    yield _converted(batch[:left], convert)
                    raise
                if not batch:
                    return
                yield _converted(batch[:left], convert)
                if len(batch) > left:
                    raise SourceFailureError(f"it gives more than {bounds.rows} rows", "C0522")
                left -= len(batch)

    def bear(self, bounds: ReadBounds) -> None:
        """Take over how long a query may go on behind its time."""
        self._worker.patience = bounds.patience

    def cancel(self) -> None:
        """Interrupt what runs; without anything, nothing happens."""
        with self._guard:
            if self._deadline is not None:
                self._deadline.cancel()

    def _stop(self) -> None:
        """Interrupt what runs, and nobody has cancelled: its time is up."""
        with self._guard:
            if self._deadline is not None:
                self._deadline.end()

    def _interrupt(self) -> None:
        # What was left behind may have ended, and be closed.
        with suppress(self._duckdb.Error):
            self._connection.interrupt()

    def _leave(self) -> None:
        """Close behind a query that was left behind: an open file keeps writers out."""
        self._roll_back()
        self._connection.close()

    @property
    def lost(self) -> bool:
        """Whether a query was left behind: nothing can be asked here any more."""
        return self._worker.stuck

    def check_lost(self) -> None:
        """Raise where a query was left behind: nothing can be asked here any more."""
        if self.lost:
            raise SourceFailureError(LEFT_BEHIND, "C0555")

    def check_time(self) -> None:
        """Raise where a block of `bounded` ought to have ended, for what DuckDB does not run."""
        deadline = self._deadline
        if deadline is not None and deadline.late:
            raise stopped(deadline.seconds, cancelled=deadline.cancelled)

    def close(self) -> None:
        """End the transaction and close, unless a query is still running."""
        if not self.lost:
            self._leave()
        self._worker.close()

    def _run(self, work: Callable[[], _Result]) -> _Result:
        """Work within the time of the block of `bounded`."""
        deadline = self._deadline
        seconds = _SECONDS_TO_PREPARE if deadline is None else deadline.left
        try:
            return self._worker.run(work, seconds)
        except StuckError:
            told = seconds if deadline is None else deadline.seconds
            raise stopped(told, cancelled=False) from None

    @contextmanager
    def bounded(self, seconds: float) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give the connection for a block that may take that long; errors are told as ours."""
        deadline = Deadline(seconds, self._interrupt)
        with self._guard:
            self._deadline = deadline
        try:
            with deadline:
                yield self._connection
        except self._duckdb.Error as problem:
            self._restart()
            raise trouble(problem, cancelled=deadline.cancelled, seconds=seconds) from None
        except MemoryError:
            self._restart()
            raise SourceFailureError(NEEDS_MEMORY) from None
        except KeyboardInterrupt:
            self._restart()
            raise
        finally:
            with self._guard:
                self._deadline = None

    def _told(self, problem: duckdb.Error) -> SourceFailureError | QueryMistakeError:
        """Give our error for one inside a block of `bounded`, or outside of any."""
        deadline = self._deadline
        if deadline is None:
            return trouble(problem)
        return trouble(problem, cancelled=deadline.cancelled, seconds=deadline.seconds)

    def _check_kind(self, query: str) -> None:
        """The second line of defence: DuckDB says itself what the text is."""
        try:
            statements = self._connection.extract_statements(query)
        except self._duckdb.Error as problem:
            raise trouble(problem) from None
        if [one.type.name for one in statements] != ["SELECT"]:
            raise QueryMistakeError("the query is not a SELECT", "C0516")
        if statements[0].named_parameters:
            raise QueryMistakeError("a parameter may not stand in a query", "C0516")

    def _restart(self) -> None:
        """Begin anew after an error, which ends a transaction; nobody can have written since."""
        if self._in_transaction and not self.lost:
            self._roll_back()
            self.begin()

    def _roll_back(self) -> None:
        if self._in_transaction:
            self._in_transaction = False
            # Where the database has broken down there is no transaction any more.
            with suppress(self._duckdb.Error):
                self._connection.rollback()


class ArrowRows:
    """The rows of a query as an Arrow stream and as nothing else.

    Another DuckDB refuses a relation of this one, and takes a stream.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def quoted(text: str) -> str:
    """Give a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(text: str) -> str:
    """Give a text as the name of a table or column in SQL."""
    return '"' + text.replace('"', '""') + '"'


_LONG_TEXT: Final = 1 << 16
_MOST_TEXT: Final = 1 << 30
_MOST_TIMES: Final = 20
_SMALL_FILE: Final = 64 << 20


def long_repeats(
    ask: Callable[[str], list[tuple[Any, ...]]], file: Path, described: Sequence[tuple[Any, ...]]
) -> tuple[int, int] | None:
    """Tell of a small file of Parquet that it has long texts once and says them in very many rows.

    There each row takes the room of its text: gives the bytes of all rows, and those of the footer.
    `described` are names and types of columns. Where no dictionary is long nothing is counted; what
    a footer hides, or lies in lists, is left to the bounds of memory and time.
    """
    sizes = MappingProxyType({"VARCHAR": "strlen", "BLOB": "octet_length"})
    texts = [f"{sizes[one[1]]}({named(str(one[0]))})" for one in described if one[1] in sizes]
    if not texts or file.stat().st_size > _SMALL_FILE:
        return None
    told = quoted(str(file))
    dictionary = "max(total_uncompressed_size) FILTER (encodings LIKE '%DICTIONARY%')"
    footer = f"SELECT sum(total_uncompressed_size), {dictionary} FROM parquet_metadata({told})"  # noqa: S608  quoted
    declared, longest = (int(one or 0) for one in ask(footer)[0])
    if longest <= _LONG_TEXT:
        return None
    sums = " + ".join(f"coalesce(sum({one}), 0)" for one in texts)
    counts = f"SELECT {sums}, max(greatest({', '.join(texts)})) FROM read_parquet({told})"  # noqa: S608  quoted
    spelled, longest = (int(one or 0) for one in ask(counts)[0])
    if longest > _LONG_TEXT and spelled > max(_MOST_TEXT, _MOST_TIMES * declared):
        return spelled, declared
    return None


def _settings() -> dict[str, str | bool | int | float | list[str]]:
    return {
        "python_enable_replacements": "false",
        "allow_persistent_secrets": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": _MEMORY,
        "temp_directory": "",
        "threads": str(min(_MOST_THREADS, os.cpu_count() or 1)),
        "disabled_optimizers": WRONG_OPTIMIZERS,
    }


def _conversions(
    described: Sequence[Sequence[Any]], spelled: frozenset[int]
) -> dict[int, Callable[[Any], Cell]]:
    """Give what is done to the cells of some columns."""
    found: dict[int, Callable[[Any], Cell]] = dict.fromkeys(spelled, Spelled)
    singles = [place for place, column in enumerate(described) if column[1].id == "float"]
    return found | dict.fromkeys(singles, Single)


def _converted(
    batch: list[RawRow], conversions: Mapping[int, Callable[[Any], Cell]]
) -> list[RawRow]:
    if not conversions:
        return batch
    found = []
    for raw in batch:
        row = list(raw)
        for place, convert in conversions.items():
            if row[place] is not None:
                row[place] = convert(row[place])
        found.append(tuple(row))
    return found
