"""What the sources of a project hold: introspected once, kept, searched, checked and drafted.

In: the databases of a project. Out: tables, columns, keys, relationships, comments, sizes, and on
demand values where the project allows it. Invariants: nothing is written to a source; texts of a
source are data; a source that does not answer is a failure and never an empty one. Example:
`SchemaManager(project, index).search("customer revenue")`.
"""

from constat.catalog.schema.catalogue import KINDS, SchemaManager
from constat.catalog.schema.described import (
    ColumnSchema,
    DatabaseSummary,
    Hit,
    Link,
    Refreshed,
    Relationship,
    Sample,
    SearchResult,
    SourceSchema,
    TableSchema,
)

__all__ = [
    "KINDS",
    "ColumnSchema",
    "DatabaseSummary",
    "Hit",
    "Link",
    "Refreshed",
    "Relationship",
    "Sample",
    "SchemaManager",
    "SearchResult",
    "SourceSchema",
    "TableSchema",
]
