"""Projects over a database that a test was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.catalog import ReadBounds
from constat.catalog.drivers import connect
from constat.project import Database, Expanded
from tests.tiers.building import configured

if TYPE_CHECKING:
    from pathlib import Path

    from constat.catalog import Connection, Question, RawRow
    from constat.logic import Predicate
    from tests.servers.leasing import ServedDatabase
    from tests.tiers.building import Setting

BOUNDS = ReadBounds(10, 100_000)


def served(folder: Path, uri: str, *predicates: Predicate, bounds: str = "") -> Setting:
    """Build the tiers of a project whose database `sales` is at that address."""
    return configured(folder, f'databases: {{sales: {{uri: "{uri}"{bounds}}}}}\n', *predicates)


def opened(database: ServedDatabase, seconds: float = 5) -> Connection:
    """Open a connection as a project would."""
    return connect(Database("sales", "sql", Expanded(database.uri)), seconds)


def read(connection: Connection, question: Question, bounds: ReadBounds = BOUNDS) -> list[RawRow]:
    return [row for batch in connection.read(question, bounds) for row in batch]
