"""The open connections of a session, each opened when it is first needed.

In: the project's databases. Out: connections on which one state is being read. Invariants: between
two calls of `release` each source is read in one state (one read transaction); a source whose
state has changed since gets a new generation, so that remembered answers can be forgotten.
Example: `connections.reading("sales").snapshot`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from constat.catalog import Connection, ReadBounds, SourceFailureError, open_connection

if TYPE_CHECKING:
    from constat.project import Project

# A source that is locked is not waited for again by every demand of the same moment.
_REST_SECONDS: Final = 1.0


class Connections:
    """Opens, remembers and closes connections."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: dict[str, Connection] = {}
        self._generations: dict[str, int] = {}
        self._failed: dict[str, tuple[float, SourceFailureError]] = {}

    def reading(self, name: str) -> Connection:
        """Give the connection, reading one state; raises `SourceFailureError`."""
        failed = self._failed.get(name)
        if failed is not None and time.monotonic() < failed[0]:
            raise failed[1]
        try:
            return self._begun(name)
        except SourceFailureError as problem:
            self._failed[name] = (time.monotonic() + _REST_SECONDS, problem)
            self._forget(name)
            raise

    def generation(self, name: str) -> int:
        """Give a number that grows when the source's state changes, or it cannot be read."""
        try:
            self.reading(name)
        except SourceFailureError:
            self._generations[name] = self._generations.get(name, 0) + 1
        return self._generations.get(name, 0)

    def bounds(self, name: str) -> ReadBounds:
        """Give what a single query may take."""
        database, limits = self._project.databases[name], self._project.limits
        return ReadBounds(
            database.seconds or limits.query_seconds, database.rows or limits.query_rows
        )

    def knows(self, name: str) -> bool:
        """Whether the project has a database of that name."""
        return name in self._project.databases

    def release(self) -> None:
        """End reading: the next demand sees the state of its own moment."""
        self._failed.clear()
        for name, connection in list(self._open.items()):
            try:
                connection.release()
            except SourceFailureError:
                self._forget(name)

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
        return connection

    def _forget(self, name: str) -> None:
        connection = self._open.pop(name, None)
        if connection is not None:
            connection.close()
