"""Reach sources through SQLAlchemy: PostgreSQL, MySQL, MariaDB, and what else has a dialect.

In: a database of the project whose uri is neither an SQLite nor a DuckDB file. Out: a `Connection`.
SQLAlchemy reads the address and finds the driver; the driver is asked directly, so that each query
reaches the server verbatim and each cell comes back as the server sent it. Invariant: the modules
of a driver are loaded only for a source that needs it. Example:
`connect(Database("crm", "sql", Expanded("mysql://reader@db.example/crm")), 30)`.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog.alchemy_addresses import target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.catalog.connection import Connection
    from constat.project import Database

_MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "postgresql": "alchemy_postgresql",
        "mysql": "alchemy_mysql",
        "mariadb": "alchemy_mysql",
    }
)


def connect(database: Database, seconds: float) -> Connection:
    """Open a connection; waiting for the server takes `seconds` at most.

    Raises `ConstatError` for an address or driver that cannot be used, `SourceFailureError` where
    the server does not let us in.
    """
    found = target(database)
    module = importlib.import_module(
        f"constat.catalog.{_MODULES.get(found.backend, 'alchemy_other')}"
    )
    connection: Connection = module.connect(found, seconds)
    return connection
