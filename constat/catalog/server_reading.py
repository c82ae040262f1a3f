"""What sources behind SQLAlchemy share: one state at a time, bounds, cancelling, reconnecting."""

from __future__ import annotations

import math
import re
import threading
import time
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from constat.catalog.connection import QueryMistakeError, Question, SourceFailureError, preparing
from constat.catalog.interruptible import PATIENCE, Deadline, Heap
from constat.catalog.keyed import Push, origin, ranged, typed_pushes, typed_question, typed_whole
from constat.catalog.plain_query import recognised
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence

    from constat.catalog.connection import (
        Parameter,
        RawRow,
        ReadBounds,
        SourceTable,
        Stream,
        Whole,
    )
    from constat.catalog.drivers import Target
    from constat.catalog.guard import Guarded, Output
    from constat.catalog.keyed import Compared, Family
    from constat.catalog.row_streams import RowStreams
    from constat.evaluation import Demand, Range
    from constat.logic import Row

# The user's query reaches the server verbatim, whatever `%`, `:name`, `?` or backslash stands in
# it. Example, style `format`: `... LIKE '5%' ... c0 = ?` becomes `... LIKE '5%%' ... c0 = %s`, of
# which the driver makes one `%`. Reference: PEP 249, `paramstyle`.


def driver_text(question: Question, style: str) -> tuple[str, tuple[Parameter, ...] | None]:
    """Give the text and the parameters. `None` tells the driver not to look for placeholders.

    Styles that have names or numbers (`named`, `numeric`) cannot be told apart from what a query
    may hold; sources with such drivers are never asked for keys.
    """
    if not question.parameters:
        return question.text, None
    if style == "qmark":
        return question.text, question.parameters
    if style not in {"format", "pyformat"}:
        raise ValueError(f"no parameters in the style {style}")
    # Our own part of the text stands last and has nothing but placeholders that looks like one.
    pieces = question.text.rsplit("?", len(question.parameters))
    return "%s".join(piece.replace("%", "%%") for piece in pieces), question.parameters


def of_one_table(guarded: Guarded, column: int) -> Output | None:
    """Give what an output is, where it is a column of the one table that the query names."""
    output = None if guarded.outputs is None else guarded.outputs[column]
    if output is None or guarded.joined or origin(guarded.origins, column):
        return None
    # A name with a schema is another one.
    return output if guarded.tables == set(output.tables) else None


def _is_told(value: Decimal) -> bool:
    """Tell whether every server holds a number exactly."""
    return int(value.as_tuple().exponent) >= -_MOST_PLACES and value.adjusted() < _MOST_WHOLE


Link = TypeVar("Link")
Trouble = SourceFailureError | QueryMistakeError

LOST: Final = "the connection was lost while its state was read"
_KILLED: Final = "somebody else, or the server for reasons of its own, stopped the query"
_DEAF: Final = "the server did not end it when told to, and the connection was cut"
_TOO_LONG: Final = "its values need more memory than a query is given here"
# What the texts of a query may hold together, and what a single batch may take meanwhile.
_MOST_LETTERS: Final = 1 << 30
_ROOM: Final = 1 << 29
SECONDS_TO_PREPARE: Final = 10.0
LONGEST_WAIT: Final = 10.0
_SECONDS_BETWEEN_INTERRUPTS: Final = 1.0

_Told = TypeVar("_Told")
_Raw = TypeVar("_Raw")
# So many rows are read cell by cell before columns are worth their start.
FEW: Final = 20_000
# What a server would round, or cut, is compared here.
_MOST_PLACES: Final = 30
_MOST_WHOLE: Final = 35
_EXPLAIN: Final = MappingProxyType(
    {"postgres": "EXPLAIN (FORMAT JSON)", "mysql": "EXPLAIN FORMAT=JSON"}
)
_PLANNED_ROWS: Final = re.compile(r"\W(?:Plan Rows|rows|rows_examined_per_scan)\W+?([0-9]+)")
_SECONDS_TO_EXPLAIN: Final = 5.0


class ServerConnection(ABC, Generic[Link]):
    """A read-only connection; implements `Connection` over one kind of driver's connection."""

    most_keys = 5_000
    errors: tuple[type[Exception], ...]

    def __init__(self, target: Target, seconds: float) -> None:
        self.dialect = target.sql
        self.snapshot: str | None = None
        self._target = target
        self._wait = min(max(seconds, 1.0), LONGEST_WAIT)
        self._reading = False
        self._lost = False
        self._state: str | None = None
        self._running: Deadline | None = None
        self._tables: Mapping[str, SourceTable] | None = None
        self._families: dict[str, tuple[Family, ...]] = {}
        self._uniques: dict[str, Sequence[frozenset[str]]] = {}
        self._guesses: dict[str, float | None] = {}
        self._answered: dict[str, bool] = {}
        self._streams: RowStreams | None = None
        self._link = self._guarding(self._open)

    def replaced(self) -> bool:
        """Tell whether the connection was lost; never while reading a state."""
        return self._lost and not self._reading

    def begin(self) -> bool:
        """Start a transaction that reads one state, on a new connection if the old one is dead."""
        if self._reading:
            if self._lost:
                raise SourceFailureError(LOST, "C0555")
            return False
        try:
            if self._lost:
                self._reopen()
            self._bounded(self._start)
        except self.errors:
            # Nothing of this state has been read: a connection that has died meanwhile is no loss.
            self._reopen()
            self._guarding(lambda: self._bounded(self._start))
        self._reading = True
        changed = self.snapshot is None or self.snapshot != self._state
        self._state = self.snapshot
        if changed:
            self._tables = None
            self._families.clear()
            self._guesses.clear()
            self._uniques.clear()
            self._answered.clear()
        return changed

    def release(self) -> None:
        """End the transaction."""
        reading, self._reading = self._reading, False
        if self._streams is not None:
            self._streams.forget()
        if reading and not self._lost:
            try:
                self._bounded(self._end)
            except self.errors:
                self._lost = True

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the tables and views, read once for each state."""
        if self._tables is None:
            self._tables = self._timed(self._list_tables)
        return self._tables

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement of Constat's own about the tables, for so long at most."""
        return self._timed(lambda: self._told(statement), seconds)

    @preparing()
    def columns(self, query: str) -> tuple[str, ...]:
        """Give the column names; their types are remembered for `pushes`."""
        names, families = self._timed(lambda: self._describe(query))
        self._families[query] = families
        return names

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the columns to send by the types that the server says the query gives."""
        if guarded.text not in self._families:
            self.columns(guarded.text)
        watched = {one for one in nulls_matter if self._may_be_null(guarded, one)}
        return typed_pushes(self._families[guarded.text], demand, watched)

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for some keys, each value a parameter."""
        return typed_question(guarded, arity, pushes, keys)

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        return typed_whole(guarded, arity)

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess how many rows a query gives, without running it; `None` where nobody knows.

        The largest number among the operators: a join may be guessed wildly, a table is known.
        """
        explain = _EXPLAIN.get(self.dialect)
        if explain is None:
            return None
        if guarded.text not in self._guesses:
            told = self.look(f"{explain} {guarded.text}", _SECONDS_TO_EXPLAIN)
            found = max(map(float, _PLANNED_ROWS.findall(str(told))), default=None)
            self._guesses[guarded.text] = found
        return self._guesses[guarded.text]

    def guess(self, whole: Whole) -> float | None:
        """As `estimate`, of the rows within the ranges that the server can be told."""
        told = self._told_ranges(whole)
        if not told or self.dialect not in _EXPLAIN:
            return self.estimate(whole.guarded)
        question = ranged(self.whole(whole.guarded, len(whole.kinds)), told)
        text, parameters = driver_text(question, "format")
        explained = f"{_EXPLAIN[self.dialect]} {text}"
        rows = self._timed(lambda: self._told(explained, parameters), _SECONDS_TO_EXPLAIN)
        return max(map(float, _PLANNED_ROWS.findall(str(rows))), default=None)

    def guessed(self, query: str) -> float | None:
        """Guess how many rows a query of ours gives: what the first of its operators gives."""
        told = self.look(f"{_EXPLAIN[self.dialect]} {query}", _SECONDS_TO_EXPLAIN)
        found = _PLANNED_ROWS.search(str(told))
        return None if found is None else float(found[1])

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        if (self.estimate(whole.guarded) or 0) <= FEW:
            return None
        told = self._told_ranges(whole)
        question = ranged(self.whole(whole.guarded, len(whole.kinds)), told)
        found = self._in_columns(whole, question, bounds)
        return None if found is None else replace(found, told=tuple(one for one, *_ in told))

    def _told_ranges(self, whole: Whole) -> list[tuple[Range, Compared, bool]]:
        """Choose the ranges that the source can be told; each with whether NULL may be there."""
        query, told = whole.guarded.text, []
        # Two rows of one key are a contradiction, also where one of them is outside of a range.
        everywhere = not whole.key or self._keeps_apart(whole)
        for one in whole.ranges:
            compared = self._comparison(query, one.column, whole.kinds[one.column])
            if compared is None or not (compared.ordered or one.operator == "="):
                continue
            if isinstance(one.value, Decimal) and not _is_told(one.value):
                continue
            if everywhere or one.column in whole.key:
                known = whole.policies[one.column] == "skip"
                nullable = not known and self._may_be_null(whole.guarded, one.column)
                told.append((one, compared, nullable))
        return told

    def _keeps_apart(self, whole: Whole) -> bool:
        """Tell whether the source itself keeps two rows of one key out of a plain query's table."""
        guarded, columns = whole.guarded, set()
        if recognised(guarded.text) is None:
            return False
        for place in whole.key:
            output = of_one_table(guarded, place)
            # Texts may be spelled apart and stand for one number.
            if output is None or self._comparison(guarded.text, place, whole.kinds[place]) is None:
                return False
            columns.add(output.column)
        (table,) = guarded.tables
        return any(one <= columns for one in self._kept_apart(table))

    def _kept_apart(self, table: str) -> Sequence[frozenset[str]]:
        """Give what `_unique` says of a table, asked once for each state."""
        if table not in self._uniques:
            self._uniques[table] = self._timed(lambda: self._unique(table))
        return self._uniques[table]

    def _unique(self, table: str) -> Sequence[frozenset[str]]:
        """Give the sets of columns whose values the source keeps apart in a table's rows."""
        del table
        return ()

    def _may_be_null(self, guarded: Guarded, column: int) -> bool:
        """Tell whether an output column may hold NULL, as far as the source's tables say."""
        output = of_one_table(guarded, column)
        table = None if output is None else self.tables().get(output.tables[0])
        if output is None or table is None or not table.plain:
            return True
        # Names that differ in the case of their letters are one name here.
        named = [one for one in table.columns if one.name == output.column]
        return not named or not all(one.never_null for one in named)

    def _comparison(self, query: str, column: int, kind: Kind) -> Compared | None:
        """Say how an output column is compared with values of a kind; `None` where it is not."""
        del query, column, kind
        return None

    def _in_columns(self, whole: Whole, question: Question, bounds: ReadBounds) -> Stream | None:
        """Read all rows into columns here."""
        read = partial(self.read, question, bounds)
        found = self._streaming().stream(whole, question.text, read, bounds.seconds)
        return None if found is None else replace(found, parameters=question.parameters)

    def _streaming(self) -> RowStreams:
        from constat.catalog.row_streams import RowStreams  # noqa: PLC0415  loaded when it is used

        if self._streams is None:
            self._streams = RowStreams()
        return self._streams

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; raises `SourceFailureError` at its bounds, after what came before them."""
        yield from self._batched(partial(self._rows, question, bounds), bounds, _letters)

    def _batched(
        self,
        rows: Callable[[], Generator[list[_Raw]]],
        bounds: ReadBounds,
        weigh: Callable[[list[_Raw]], int],
    ) -> Generator[list[_Raw]]:
        """Yield what a query gives within the bounds; `weigh` says what texts a batch holds."""
        if self._lost:
            raise SourceFailureError(LOST, "C0555")
        deadline = self._deadline(bounds.seconds, bounds.patience)
        try:
            with deadline, closing(self._within(rows(), bounds, deadline, weigh)) as batches:
                yield from batches
        except self.errors as problem:
            meaning = self._explained(problem, deadline)
            self._recover()
            raise meaning from None
        except QueryMistakeError:
            raise
        except MemoryError:
            deadline.stop()
            self._recover()
            raise SourceFailureError(_TOO_LONG) from None
        except BaseException:
            # Whoever reads has had enough, or was interrupted: the query may still be running.
            deadline.stop()
            self._recover()
            raise
        finally:
            self._running = None

    def _within(
        self,
        rows: Generator[list[_Raw]],
        bounds: ReadBounds,
        deadline: Deadline,
        weigh: Callable[[list[_Raw]], int],
    ) -> Generator[list[_Raw]]:
        """Yield what comes within the bounds, then fail if there is more."""
        until, left, letters = time.monotonic() + bounds.seconds, bounds.rows, 0
        with closing(rows) as batches:
            while (batch := Heap(_ROOM).bounded(lambda: next(batches, None))()) is not None:
                letters += weigh(batch)
                if letters > _MOST_LETTERS:
                    raise SourceFailureError(_TOO_LONG)
                if len(batch) > left:
                    yield batch[:left]
                    raise SourceFailureError(f"it gives more than {bounds.rows} rows", "C0522")
                left -= len(batch)
                yield batch
                if deadline.cancelled or time.monotonic() > until:
                    raise self._stopped(deadline)

    def cancel(self) -> None:
        """Stop the running query."""
        running = self._running
        if running is not None:
            running.cancel()

    def close(self) -> None:
        """Close the connection; a query that another thread still waits for ends on the server."""
        if self._running is not None:
            self._interrupt()
        if self._streams is not None:
            self._streams.close()
        self._shut()

    # What a kind of server does in its own way.

    @abstractmethod
    def _open(self) -> Link:
        """Connect, and bind the session to reading."""

    @abstractmethod
    def _start(self) -> None:
        """Begin a transaction that sees one state, and name it in `snapshot` if it is one."""

    @abstractmethod
    def _end(self) -> None:
        """End the transaction without a trace."""

    @abstractmethod
    def _rows(self, question: Question, bounds: ReadBounds) -> Generator[list[RawRow]]:
        """Run a query and yield what comes as it comes."""

    @abstractmethod
    def _list_tables(self) -> Mapping[str, SourceTable]:
        """Ask the server which tables and views a query may name, and how."""

    @abstractmethod
    def _told(
        self, statement: str, parameters: Sequence[Parameter] | None = None
    ) -> list[tuple[object, ...]]:
        """Run a statement of ours and give its rows."""

    @abstractmethod
    def _describe(self, query: str) -> tuple[tuple[str, ...], tuple[Family, ...]]:
        """Ask the server for names and types of a query's columns."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Stop what runs on the connection; called from another thread."""

    @abstractmethod
    def _hang_up(self) -> None:
        """Cut the connection, so that whoever waits for it wakes; called from another thread."""

    @abstractmethod
    def _recover(self) -> None:
        """Make the transaction usable again after a query that did not end."""

    @abstractmethod
    def _is_lost(self, problem: Exception) -> bool:
        """Tell whether the connection is gone."""

    @abstractmethod
    def _meaning(self, problem: Exception) -> Trouble:
        """Say what an error of the driver means, without what it quotes."""

    @abstractmethod
    def _shut(self) -> None:
        """Close the driver's connection, whatever state it is in."""

    def _deadline(self, seconds: float, patience: float = PATIENCE) -> _Stopping:
        """Give a deadline that interrupts at once, and then once a second.

        A server that has not ended what it does `patience` seconds later is hung up on.
        """
        self._running = found = _Stopping(seconds, patience, self._interrupt, self._hung_up)
        return found

    def _hung_up(self) -> None:
        self._lost = True
        self._hang_up()

    def _timed(self, ask: Callable[[], _Told], seconds: float = SECONDS_TO_PREPARE) -> _Told:
        """Ask the server about itself, for so long at most."""
        if self._lost:
            raise SourceFailureError(LOST, "C0555")
        deadline = self._deadline(seconds)
        try:
            with deadline:
                return ask()
        except self.errors as problem:
            meaning = self._explained(problem, deadline)
            self._recover()
            raise meaning from None
        except BaseException:
            # The server may still be computing what it was asked.
            deadline.stop()
            self._recover()
            raise
        finally:
            self._running = None

    def _reopen(self) -> None:
        self._shut()
        self._link = self._guarding(self._open)

    def _bounded(self, step: Callable[[], None]) -> None:
        """Take a step that no server should need long for."""
        try:
            with self._deadline(self._wait):
                step()
        finally:
            self._running = None

    def _guarding(self, step: Callable[[], _Told]) -> _Told:
        """Take a step outside of queries."""
        try:
            found = step()
        except self.errors as problem:
            self._lost = True
            meaning = self._meaning(problem)
            if meaning.code == "C0555":
                meaning = SourceFailureError("the server did not answer", "C0553")
            elif isinstance(meaning, QueryMistakeError):
                # No query of a user's has been asked: the server does not know our own words.
                meaning = SourceFailureError(meaning.reason)
            raise meaning from None
        self._lost = False
        return found

    def _explained(self, problem: Exception, deadline: Deadline) -> Trouble:
        if self._is_lost(problem):
            self._lost = True
            if not deadline.late:
                return SourceFailureError(LOST, "C0555")
            return SourceFailureError(f"{self._stopped(deadline).reason}; {_DEAF}", "C0555")
        meaning = self._meaning(problem)
        if meaning.code == "C0521":
            return self._stopped(deadline) if deadline.late else SourceFailureError(_KILLED)
        return meaning

    @staticmethod
    def _stopped(deadline: Deadline) -> SourceFailureError:
        if deadline.cancelled:
            return SourceFailureError("it was cancelled", "C0521")
        return SourceFailureError(f"it did not finish within {deadline.seconds:g} s", "C0521")


class _Stopping(Deadline):
    """A deadline whose interruptions may take long themselves, and which gives up waiting."""

    def __init__(
        self,
        seconds: float,
        patience: float,
        interrupt: Callable[[], None],
        hang_up: Callable[[], None],
    ) -> None:
        super().__init__(seconds, self._try)
        self._patience = patience
        self._ask = interrupt
        self._give_up = hang_up
        self._first = math.inf
        self._last = -math.inf
        self._asking: threading.Thread | None = None
        self._has_left = False

    def __exit__(self, *problem: object) -> None:
        super().__exit__(*problem)
        self._await()

    def stop(self) -> None:
        """Interrupt what may still run, unless that was done; behind the block."""
        if self._asking is None and not self._has_left:
            self._try()
            self._await()

    def _await(self) -> None:
        """Wait for what is still on its way, which would meet the next query.

        Where the goal has no time left there is none: the connection is given up at once.
        """
        if self._asking is None:
            return
        if self._patience >= PATIENCE:
            self._asking.join(max(0.0, self._first + self._patience - time.monotonic()))
        if self._asking.is_alive():
            self._leave()

    def _try(self) -> None:
        now = time.monotonic()
        self._first = min(self._first, now)
        if now >= self._first + self._patience:
            self._leave()
        elif now - self._last >= _SECONDS_BETWEEN_INTERRUPTS and not self._is_asking():
            self._last = now
            self._asking = threading.Thread(target=self._ask, name="interrupting", daemon=True)
            self._asking.start()

    def _leave(self) -> None:
        if not self._has_left:
            self._has_left = True
            self._give_up()

    def _is_asking(self) -> bool:
        return self._asking is not None and self._asking.is_alive()


def _letters(batch: list[RawRow]) -> int:
    """Count what the texts and bytes of some rows hold."""
    return sum(len(cell) for row in batch for cell in row if isinstance(cell, str | bytes))
