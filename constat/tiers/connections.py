"""The open connections of a session, each opened when it is first needed.

In: the project's databases. Out: connections on which one state is being read. Invariants: between
two calls of `release` each source is read in one state (one read transaction), and one that is lost
on the way stays lost until then; a source whose state has changed since gets a new generation, so
that remembered answers can be forgotten.
Example: `connections.reading("sales").snapshot`.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from constat.catalog import Connection, ReadBounds, SourceFailureError, open_connection
from constat.catalog.interruptible import PATIENCE
from constat.diagnostics.interruption import check_interrupted

if TYPE_CHECKING:
    from constat.project import Project

# A source that is locked is not waited for again by every demand of the same moment.
_REST_SECONDS: Final = 1.0
_LEAST_SECONDS: Final = 0.01
_LAST_PATIENCE: Final = 0.4
# On the scale of `ExternalPredicate`.
_NEAR: Final = 10
_FAR: Final = 100
_FILES: Final = ("sqlite:", "sqlite+", "duckdb:")


class Connections:
    """Opens, remembers and closes connections."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: dict[str, Connection] = {}
        self._generations: dict[str, int] = {}
        self._failed: dict[str, tuple[float, SourceFailureError]] = {}
        self._begun_names: set[str] = set()
        self.changed: set[str] = set()
        """The sources that changed while they were read, since the last `release`."""
        self._until = math.inf
        self.evaluation = 0

    def reading(self, name: str) -> Connection:
        """Give the connection, reading one state; raises `SourceFailureError`."""
        check_interrupted()
        failed = self._failed.get(name)
        if failed is not None and time.monotonic() < failed[0]:
            raise failed[1]
        try:
            return self._begun(name)
        except SourceFailureError as problem:
            # What has been read of a state does not go together with what a new one would say.
            rest = math.inf if name in self._begun_names else _REST_SECONDS
            self._failed[name] = (time.monotonic() + rest, problem)
            self._forget(name)
            raise

    def note(self, name: str, problem: SourceFailureError) -> None:
        """Remember that a source changed while it was read, if that is the problem."""
        if problem.code == "C0542":
            self.changed.add(name)

    def generation(self, name: str) -> int:
        """Give a number that grows when the source's state changes, or it cannot be read."""
        try:
            self.reading(name)
        except SourceFailureError:
            self._generations[name] = self._generations.get(name, 0) + 1
        return self._generations.get(name, 0)

    def start(self, seconds: float) -> None:
        """Begin an evaluation that may take so long: until `release` no query takes longer."""
        self._until = time.monotonic() + seconds

    def spoken(self, name: str, predicate: str) -> str:
        """Name for people what gives the rows of a predicate: a frame, or a query of a database."""
        if self._project.databases[name].kind == "frames":
            return f"frame {predicate}"
        return f"database {name}: query of {predicate}"

    def description(self, name: str) -> str | None:
        """What the project says of a database to anybody."""
        return self._project.databases[name].description or None

    def raising(self, name: str, code: str) -> str:
        """Name the key of the configuration that allows a query more than it got, after a stop."""
        database, where = self._project.databases[name], self._project.config_name
        own, key = {
            "C0521": (database.seconds, "seconds"),
            "C0522": (database.rows, "rows"),
        }.get(code, (None, ""))
        if not key:
            return ""
        if code == "C0521" and time.monotonic() >= self._until:
            return f"; `seconds` of `limits` in {where} allows more"
        if own is not None:
            return f"; `{key}` of `databases: {{{name}: ...}}` in {where} allows more"
        return f"; `query_{key}` of `limits` in {where} allows more"

    def bounds(self, name: str) -> ReadBounds:
        """Give what a single query may take."""
        database, limits = self._project.databases[name], self._project.limits
        left = self._until - time.monotonic()
        seconds = min(database.seconds or limits.query_seconds, left)
        # What takes the last of the time is soon left behind, so that the limit holds in total.
        patience = min(PATIENCE, max(0.0, left - seconds) + _LAST_PATIENCE)
        rows = database.rows or limits.query_rows
        return ReadBounds(max(_LEAST_SECONDS, seconds), rows, patience)

    def cost(self, name: str) -> int:
        """Give what a demand costs: a file is near, a server is across a network."""
        database = self._project.databases.get(name)
        if database is not None and database.remote is not None:
            return _FAR
        address = "" if database is None else database.address.text or ""
        return _FAR if "://" in address and not address.startswith(_FILES) else _NEAR

    def knows(self, name: str) -> bool:
        """Whether the project has a database of that name."""
        return name in self._project.databases

    def release(self) -> None:
        """End reading: the next demand sees the state of its own moment."""
        self.evaluation += 1
        self._failed.clear()
        self._begun_names.clear()
        self.changed.clear()
        self._until = math.inf
        for name, connection in list(self._open.items()):
            try:
                connection.release()
            except SourceFailureError:
                self._forget(name)

    def cancel(self) -> None:
        """Stop the queries that are running, from any thread."""
        for connection in list(self._open.values()):
            connection.cancel()

    def close(self) -> None:
        """Close everything."""
        for name in list(self._open):
            self._forget(name)

    def _begun(self, name: str) -> Connection:
        connection = self._open.get(name)
        if connection is not None and connection.replaced():
            self._forget(name)
            connection = None
        if connection is None:
            seconds = self.bounds(name).seconds
            connection = open_connection(
                self._project.databases[name], self._project.folder, seconds
            )
            self._open[name] = connection
        if connection.begin():
            self._generations[name] = self._generations.get(name, 0) + 1
        self._begun_names.add(name)
        return connection

    def _forget(self, name: str) -> None:
        connection = self._open.pop(name, None)
        if connection is not None:
            connection.close()
