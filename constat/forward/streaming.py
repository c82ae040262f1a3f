"""Load an Arrow stream of canonical values into a relation.

In: a `Readable`. Out: its rows in the database. Invariants: values are taken as they are, for they
are canonical already; the number of distinct rows is the one that was announced, or nothing was
loaded that counts: a row that came twice would make a sum silently wrong (semantics 22). Example:
five million orders of a Parquet file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.sql import changes, storing, trees

if TYPE_CHECKING:
    from constat.evaluation import Readable
    from constat.sql import Database

_SOURCE: Final = "streamed_rows"


def load_stream(database: Database, name: str, readable: Readable) -> None:
    """Load all rows. Raises `StrategyError` where they are not what was announced."""
    stored = database.stored(name)
    staging = database.fresh_name(f"stream {name}")
    outputs = [
        (f"c{place}", trees.cast(trees.bare(f"v{place}"), trees.type_of(kind)))
        for place, kind in enumerate(stored.relation.kinds)
    ]
    database.connection.register(_SOURCE, readable.stream())
    try:
        query = trees.select(outputs, source=trees.table(_SOURCE))
        database.connection.run(changes.create(staging, query))
    finally:
        database.connection.unregister(_SOURCE)
    if readable.changed():
        database.connection.run(changes.drop(staging))
        raise StrategyError(f"the source of {name} changed while it was read")
    try:
        storing.take_staged(database, stored, staging)
    finally:
        database.connection.run(changes.drop(staging))
    found = database.count(name)
    if found != readable.rows and not (readable.merges and found < readable.rows):
        raise StrategyError(f"the rows of {name} changed while they were read, or came twice")
