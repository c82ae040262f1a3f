"""One DuckDB in memory that is locked down and bounded, with functions in Python."""

from __future__ import annotations

import os
import threading
import time
from decimal import Decimal
from functools import lru_cache
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from constat.catalog.interruptible import Deadline, Worker
from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import MemoryNeededError, ResourceError, StrategyError
from constat.evaluation.processor import set_up_duckdb
from constat.logic import (
    EvaluationError,
    Kind,
    Parts,
    canonical_decimal,
    comparison,
    fold,
    implementation,
)
from constat.sql import trees
from constat.store.replacing import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    from sqlglot import Generator, exp

    from constat.evaluation import Resources
    from constat.logic import Value

# Messages of DuckDB quote values, lines and paths; none of that is repeated.

_KNOWN: Final = MappingProxyType(
    {
        "OutOfRangeException": "a value that is out of range",
        "ConversionException": "a value that cannot be converted",
        "InvalidInputException": "a function that has no value there",
        "PermissionException": "a file that may not be read",
        "IOException": "a file that cannot be read",
    }
)
_ABOUT_VALUES: Final = ("OutOfRangeException", "ConversionException", "InvalidInputException")
_FULL_DISK: Final = ("failed to offload", "No space left", "Disk quota", "File too large")


class ValueFailureError(StrategyError):
    """A value could not be computed or converted; perhaps one that a later condition removes."""


def meaning(problem: duckdb.Error, limits: str) -> ResourceError | StrategyError:
    """Give the error to raise; `limits` says what memory there is."""
    kind, said = type(problem).__name__, str(problem)
    if any(word in said for word in _FULL_DISK):
        return ResourceError("the disk space for intermediate results is used up")
    if kind == "OutOfMemoryException":
        return MemoryNeededError(f"more memory is needed than there is: {limits}")
    found = ValueFailureError if kind in _ABOUT_VALUES else StrategyError
    return found(f"DuckDB: {_KNOWN.get(kind, 'it fails')} ({kind.removesuffix('Exception')})")


# DuckDB hands over and takes back values exactly (64-bit integers, doubles, decimals of 38 digits,
# texts); an `EvaluationError` fails the statement. Results are remembered, so a call costs little
# where arguments repeat.

_REMEMBERED: Final = 1 << 16


class PythonFunctions:
    """The functions that one connection knows, each under a name of ours."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names: dict[tuple[object, ...], str] = {}
        self._parts = Parts()

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """The SQL function that calls the implementation."""
        key = ("function", function, parameters, result)
        if key not in self._names:
            try:
                found = implementation(function, parameters, result, self._parts)
            except KeyError:
                raise StrategyError(f"no function {function} of these kinds") from None
            kinds = [written(kind) for kind in parameters]
            canonical = _canonical(found, parameters)
            exact = _checked(canonical) if result is Kind.DECIMAL else canonical
            if Kind.STRUCTURE not in {*parameters, result}:
                # Structures may be long, and their parts are remembered in bounds.
                exact = lru_cache(_REMEMBERED)(exact)
            self._create(key, exact, kinds, written(result))
        return self._names[key]

    def test(self, operator: str, kind: Kind) -> str:
        """The SQL function that decides a comparison."""
        key = ("test", operator, kind)
        if key not in self._names:
            found = lru_cache(_REMEMBERED)(comparison(operator, kind))
            self._create(key, found, [written(kind)] * 2, "BOOLEAN")
        return self._names[key]

    def fold(self, function: str, kind: Kind, result: Kind) -> str:
        """The SQL function that folds a list of values."""
        key = ("fold", function, kind, result)
        if key not in self._names:
            found = _folding(function, kind)
            self._create(key, found, [f"{written(kind)}[]"], written(result))
        return self._names[key]

    def _create(
        self,
        key: tuple[object, ...],
        function: Callable[..., object],
        parameters: Sequence[str],
        result: str,
    ) -> None:
        label = f"constat_{len(self._names)}"
        self._connection.driver.create_function(
            label, _plain(function, len(parameters)), list(parameters), result
        )
        self._names[key] = label


def written(kind: Kind) -> str:
    """The type of a kind as DuckDB writes it."""
    return trees.type_of(kind).sql("duckdb")


def _plain(function: Callable[..., object], arity: int) -> Callable[..., object]:
    """Hide the signature: the driver evaluates annotations, and some name unloaded types."""

    def compute(*values: object) -> object:
        return function(*values)

    compute.__annotations__ = {}
    kind = Parameter.POSITIONAL_ONLY
    listed = [Parameter(f"value{place}", kind) for place in range(arity)]
    compute.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # `inspect` looks there
    return compute


def _canonical(function: Callable[..., Value], parameters: Sequence[Kind]) -> Callable[..., Value]:
    """Strip the zeros that a column of Decimals fills up its places with."""
    if Kind.DECIMAL not in parameters:
        return function

    def compute(*values: Value) -> Value:
        return function(
            *(canonical_decimal(one) if isinstance(one, Decimal) else one for one in values)
        )

    return compute


def _checked(function: Callable[..., Value]) -> Callable[..., Value]:
    """Refuse the Decimals that a column would round."""

    def compute(*values: Value) -> Value:
        return trees.checked_decimal(Decimal(function(*values)))

    return compute


def _folding(function: str, kind: Kind) -> Callable[[Sequence[Value]], Value]:
    def compute(values: Sequence[Value]) -> Value:
        found = fold(function, kind, values)
        if found is None:
            raise EvaluationError("an aggregate of nothing")
        return trees.checked_decimal(Decimal(found)) if kind is Kind.DECIMAL else found

    return compute


_Result = TypeVar("_Result")
_SHARE_OF_MEMORY: Final = 0.6
_UNKNOWN_MACHINE: Final = 4 << 30
_MEGABYTE: Final = 1 << 20


class Connection:
    """An open DuckDB of our own."""

    def __init__(self, resources: Resources, allowed: Sequence[Path] | None = None) -> None:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        self._error = duckdb.Error
        self._interrupted = duckdb.InterruptException
        self._resources = resources
        self._until = resources.running().until
        self._deadline: Deadline | None = None
        self._cancelled = False
        self._guard = threading.Lock()
        self._worker = Worker(self.interrupt)
        self._scratch = None if resources.scratch is None else Scratch(resources.scratch)
        self.memory = resources.memory or usual_memory()
        self._sealed = False
        self._writer: Generator | None = None
        self._cursors: list[duckdb.DuckDBPyConnection] = []
        try:
            self.driver = self._connected()
            if allowed is not None:
                self.seal(allowed)
        except BaseException:
            self._remove_scratch()
            raise

    def _connected(self) -> duckdb.DuckDBPyConnection:
        """Open a DuckDB, with its settings."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        driver = set_up_duckdb(duckdb.connect(":memory:", config=self._settings()))
        driver.execute(trees.setting("TimeZone", trees.text("UTC")).sql("duckdb"))
        if self._scratch is not None and self._resources.scratch_bytes:
            # Given to `connect`, DuckDB 2.0.0 shows the bound and does not keep it.
            size = trees.text(f"{self._resources.scratch_bytes // 1024}KiB")
            driver.execute(trees.setting("max_temp_directory_size", size).sql("duckdb"))
        return driver

    def _settings(self) -> dict[str, str | bool | int | float | list[str]]:
        return {
            "python_enable_replacements": "false",
            "allow_persistent_secrets": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "preserve_insertion_order": "false",
            "error_on_division_by_zero": "true",
            "memory_limit": f"{max(self.memory // 1024, 1)}KiB",
            "threads": str(self._resources.threads or os.cpu_count() or 1),
            "temp_directory": "" if self._scratch is None else str(self._scratch.path),
        }

    def seal(self, allowed: Sequence[Path] = ()) -> None:
        """Lock down: from now on only these files are read or written. Later calls do nothing."""
        if self._sealed:
            return
        self._sealed = True
        listed = [str(path) for path in allowed]
        for label, value in (
            # A DuckDB file is read together with its log, should there be one.
            ("allowed_paths", trees.texts([*listed, *(f"{one}.wal" for one in listed)])),
            ("enable_external_access", trees.truth(False)),  # noqa: FBT003  the setting's value
            ("lock_configuration", trees.truth(True)),  # noqa: FBT003  as above
        ):
            self._set(label, value)

    def _set(self, label: str, value: exp.Expr) -> None:
        self.driver.execute(trees.setting(label, value).sql("duckdb"))

    # -------------------------------------------------------------------------------- running

    def run(
        self, statement: exp.Expr, parameters: Sequence[object] = ()
    ) -> list[tuple[object, ...]]:
        """Run a statement and give its rows."""
        written = self.written(statement)
        return self.guarded(lambda: self.driver.execute(written, parameters or None).fetchall())

    def change(self, statement: exp.Expr) -> int:
        """Run a statement that makes or changes a table; give the number of its rows."""
        return self.change_written(self.written(statement))

    def written(self, statement: exp.Expr) -> str:
        """Write a statement out as it is: to copy its tree takes longer than to write it."""
        if self._writer is None:
            from sqlglot import Dialect  # noqa: PLC0415  heavy library, loaded on first use

            self._writer = Dialect.get_or_raise("duckdb").generator()
        return self._writer.generate(statement, copy=False)

    def change_written(self, written: str) -> int:
        """As `change`, for a statement of ours that is written out already."""
        rows = self.guarded(lambda: self.driver.execute(written).fetchall())
        return int(str(rows[0][0])) if rows and rows[0] else 0

    def register(self, label: str, arrays: Mapping[str, object] | object) -> None:
        """Let queries read arrays or a frame of Python as a table."""
        self.guarded(lambda: self.driver.register(label, arrays))

    def unregister(self, label: str) -> None:
        """Forget such a table."""
        self.driver.unregister(label)

    def append(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Add rows of Python to a table."""

        def work() -> None:
            appender = self.driver.appender(table)
            try:
                with appender:
                    appender.append_rows(rows)
            except BaseException:
                # What was ended in the middle would warn of the rows that it drops.
                appender.clear()
                raise

        self.guarded(work)

    def stream(self, query: exp.Query, batch: int) -> Iterator[list[tuple[object, ...]]]:
        """Yield the rows of a query; other statements may run in between."""
        written = self.written(query)
        cursor = self.guarded(self.driver.cursor)
        self._cursors.append(cursor)
        try:
            self.guarded(lambda: cursor.execute(written))
            while found := self.guarded(lambda: cursor.fetchmany(batch)):
                yield found
        finally:
            self._cursors.remove(cursor)
            cursor.close()

    def guarded(self, work: Callable[[], _Result]) -> _Result:
        """Do something with DuckDB: bounded in time, and its errors told as ours.

        Inside of another guarded piece of work it is a part of that.
        """
        if self._deadline is not None:
            return work()
        deadline = Deadline(max(self._until - time.monotonic(), 0.0), self._interrupt_driver)
        self._check_cancelled()
        self._deadline = deadline
        try:
            with deadline:
                return self._worker.run(work)
        except self._interrupted:
            raise self._stopped(deadline) from None
        except self._error as problem:
            raise meaning(problem, self.limits) from None
        finally:
            with self._guard:
                self._deadline = None

    def check(self) -> None:
        """Raise where the time is up or somebody cancelled, for what DuckDB does not run."""
        check_interrupted()
        deadline = self._deadline
        if deadline is not None and deadline.late:
            raise self._stopped(deadline)
        self._check_cancelled()

    @property
    def limits(self) -> str:
        """What memory there is, in words."""
        spilling = "no folder to spill into" if self._scratch is None else "spilling into a folder"
        return f"{self.memory // _MEGABYTE} MB and {spilling}"

    @property
    def spills(self) -> bool:
        """Whether there is a folder to spill into."""
        return self._scratch is not None

    def interrupt(self) -> None:
        """End what runs and whatever follows; from any thread."""
        with self._guard:
            self._cancelled = True
            if self._deadline is not None:
                self._deadline.cancel()

    def close(self) -> None:
        """Close, and take away what was spilled."""
        try:
            for one in (*self._cursors, self.driver):
                one.close()
        finally:
            self._remove_scratch()
            self._worker.close()

    def _interrupt_driver(self) -> None:
        for one in (self.driver, *self._cursors):
            one.interrupt()

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise ResourceError("it was cancelled")

    def _stopped(self, deadline: Deadline) -> ResourceError:
        if deadline.cancelled:
            return ResourceError("it was cancelled")
        message = f"it did not finish within {self._resources.seconds:g} s"
        return ResourceError(message, "seconds")

    def _remove_scratch(self) -> None:
        if self._scratch is not None:
            self._scratch.close()


def usual_memory() -> int:
    """How many bytes one evaluation may use where nobody said so."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except AttributeError:  # Windows
        memory = _UNKNOWN_MACHINE
    return int(memory * _SHARE_OF_MEMORY)
