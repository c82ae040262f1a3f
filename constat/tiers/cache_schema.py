"""The shape of the tables that a query reads, so that an answer is not kept beyond it.

In: a connection and a guarded query. Out: for each table a hash of its columns. Invariant: tables
that the query does not read have no part in it. A view counts with its own columns, not with the
tables behind it. Example: a new column of `orders` changes the shape of `orders` alone.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from constat.catalog import guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.catalog import Connection, SourceTable

_GONE: Final = "gone"
_LENGTH: Final = 16


def tables_read(connection: Connection, query: str) -> Mapping[str, str]:
    """Give the shape of each table that a query reads."""
    return shapes(connection, sorted(guard(query, connection.dialect).tables))


def shapes(connection: Connection, names: Iterable[str]) -> Mapping[str, str]:
    """Give the shape of each named table as it is now."""
    known = connection.tables()
    return {name: _shape(known[name]) if name in known else _GONE for name in names}


def _shape(table: SourceTable) -> str:
    columns = [[one.name, one.declared, one.never_null] for one in table.columns]
    text = json.dumps([table.name, table.plain, columns])
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
