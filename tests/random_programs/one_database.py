"""One DuckDB for thousands of evaluations: to open one costs more than to evaluate a program.

Each evaluation gets a catalog of its own, attached in memory, and no threads beside it.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar
from unittest.mock import patch

from constat.evaluation import ResourceError
from constat.sql import relations
from constat.sql.connection import Connection, meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import duckdb


_Result = TypeVar("_Result")
_SECONDS_BETWEEN: Final = 1.0


class Server:
    """The DuckDB that all share, and a thread that ends what runs too long."""

    def __init__(self) -> None:
        self.driver: duckdb.DuckDBPyConnection | None = None
        self.until = 0.0
        self.running: SharedConnection | None = None
        self._number = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._watching, daemon=True)
        self._watch.start()

    def name(self) -> str:
        """A name that no catalog had."""
        self._number += 1
        return f"w{self._number}"

    def close(self) -> None:
        self._over.set()
        self._watch.join()
        if self.driver is not None:
            self.driver.close()

    def _watching(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN):
            running = self.running
            if running is not None and time.monotonic() > self.until:
                running.interrupt_all()


class SharedConnection(Connection):
    """A catalog of the one DuckDB, which goes when this is closed."""

    server: Server

    def _connected(self) -> duckdb.DuckDBPyConnection:
        if self.server.driver is None:
            self.server.driver = super()._connected()
        self._name = self.server.name()
        self._made: list[str] = []
        self.server.driver.execute(f"ATTACH ':memory:' AS {self._name}")
        return Catalog(self.server.driver.cursor(), self._name, self._made)  # type: ignore[return-value]  # as far as it is used

    def seal(self, allowed: Sequence[Path] = ()) -> None:
        """Leave it as it is: what is locked stays locked for all who come later."""

    def guarded(self, work: Callable[[], _Result]) -> _Result:
        """Do it here and now, with errors told as ever."""
        if self.server.running is not None:
            return work()
        self.server.running, self.server.until = self, self._until
        try:
            return work()
        except self._interrupted:
            raise ResourceError("it did not finish") from None
        except self._error as problem:
            raise meaning(problem, self.limits) from None
        finally:
            self.server.running = None

    def interrupt_all(self) -> None:
        self._interrupt_driver()

    def close(self) -> None:
        driver = self.server.driver
        assert driver is not None
        for label in self._made:
            self.driver.remove_function(label)
        super().close()
        driver.execute(f"DETACH {self._name}")


class Catalog:
    """A cursor whose tables, and those of whose cursors, lie in one catalog."""

    def __init__(self, driver: duckdb.DuckDBPyConnection, name: str, made: list[str]) -> None:
        self._driver = driver
        self._name = name
        self._made = made
        driver.execute(f"USE {name}")

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    def cursor(self) -> Catalog:
        return Catalog(self._driver.cursor(), self._name, self._made)

    def create_function(self, label: str, *given: object) -> None:
        self._driver.create_function(label, *given)  # type: ignore[call-overload]  # handed on
        self._made.append(label)


@contextmanager
def one_database() -> Iterator[None]:
    """Let all evaluations of this process share one DuckDB."""
    server = Server()
    shared = type("Shared", (SharedConnection,), {"server": server})
    try:
        with patch.object(relations, "Connection", shared):
            yield
    finally:
        server.close()
