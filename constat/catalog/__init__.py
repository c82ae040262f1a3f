"""Connections to sources, and the queries they are asked.

In: a database of the project and a query of a rule file. Out: raw rows, and values of declared
kinds. Invariant: nothing is written, and no text of a user becomes part of a query unguarded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.catalog.connection import (
    BulkConnection,
    Cell,
    Connection,
    Parameter,
    QueryMistakeError,
    Question,
    RawRow,
    ReadBounds,
    Single,
    SourceColumn,
    SourceFailureError,
    SourceTable,
    Spelled,
    Stream,
    Whole,
    read_cell,
    read_column,
)
from constat.catalog.drivers import open_connection
from constat.catalog.guard import Guarded, Output, guard
from constat.catalog.keyed import (
    Comparand,
    Push,
    key_parameters,
    keyed_query,
    pushable,
    query_name,
    query_prefix,
    whole_query,
)
from constat.catalog.sqlite import SqliteConnection, choose_pushes

if TYPE_CHECKING:
    from constat.catalog.schema.catalogue import SchemaManager

__all__ = [
    "BulkConnection",
    "Cell",
    "Comparand",
    "Connection",
    "Guarded",
    "Output",
    "Parameter",
    "Push",
    "QueryMistakeError",
    "Question",
    "RawRow",
    "ReadBounds",
    "SchemaManager",
    "Single",
    "SourceColumn",
    "SourceFailureError",
    "SourceTable",
    "Spelled",
    "SqliteConnection",
    "Stream",
    "Whole",
    "choose_pushes",
    "guard",
    "key_parameters",
    "keyed_query",
    "open_connection",
    "pushable",
    "query_name",
    "query_prefix",
    "read_cell",
    "read_column",
    "whole_query",
]


def __getattr__(name: str) -> object:
    """Find `SchemaManager` in its module: goals are proved without a catalog."""
    if name != "SchemaManager":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from constat.catalog.schema.catalogue import SchemaManager  # noqa: PLC0415  loaded when it is used

    return SchemaManager
