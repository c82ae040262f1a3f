"""One DuckDB in memory that is locked down and bounded.

In: statements as trees. Out: what they give. Invariants: once it is sealed, it reads and writes
only the files that it was told of; nothing is ever installed or loaded; settings cannot be changed
any more; what it spills lies in a private folder that goes when it is closed; a statement ends when
the time is up, when it is cancelled and on Ctrl-C. Reference:
https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Final, TypeVar

from constat.catalog.deadline import Deadline
from constat.catalog.interruptible import Worker
from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import ResourceError
from constat.sql import changes, trees
from constat.sql.failure import meaning
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    from sqlglot import Generator, exp

    from constat.evaluation import Resources

_Result = TypeVar("_Result")
_SHARE_OF_MEMORY: Final = 0.6
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

        driver = duckdb.connect(":memory:", config=self._settings())
        driver.execute(changes.setting("TimeZone", trees.text("UTC")).sql("duckdb"))
        if self._scratch is not None and self._resources.scratch_bytes:
            # Given to `connect`, DuckDB 2.0.0 shows the bound and does not keep it.
            size = trees.text(f"{self._resources.scratch_bytes // 1024}KiB")
            driver.execute(changes.setting("max_temp_directory_size", size).sql("duckdb"))
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
            ("allowed_paths", changes.texts([*listed, *(f"{one}.wal" for one in listed)])),
            ("enable_external_access", changes.truth(False)),  # noqa: FBT003  the setting's value
            ("lock_configuration", changes.truth(True)),  # noqa: FBT003  as above
        ):
            self._set(label, value)

    def _set(self, label: str, value: exp.Expr) -> None:
        self.driver.execute(changes.setting(label, value).sql("duckdb"))

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
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)
