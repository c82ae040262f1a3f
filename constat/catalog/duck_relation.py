"""Hand out the rows of a query as an Arrow stream, without making Python values of them.

In: a guarded query, the declared columns, their null policies. Out: a `Stream` of rows in canonical
form, or nothing. Invariant: a stream is handed out only where the query, read cell by cell, would
have given these rows, all of them, and nothing to complain of: no NULL but those to skip, no value
without canonical form, no key twice. Whether a row comes twice is left to whoever loads them.
Example: a Parquet file of five million orders goes from DuckDB to DuckDB in half a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.catalog.duck_canonical import spelling
from constat.catalog.keyed import query_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.catalog.connection import Whole
    from constat.catalog.duck_canonical import Spelling
    from constat.catalog.duck_types import DuckColumn


@dataclass(frozen=True, slots=True)
class WholeQueries:
    """The query that looks at all rows first, and the one that gives them."""

    look: str
    give: str


def whole_queries(whole: Whole, columns: Sequence[DuckColumn]) -> WholeQueries | None:
    """Write the queries; `None` where a column has to be read cell by cell."""
    pairs = enumerate(zip(columns, whole.kinds, strict=True))
    found = [spelling(column, kind, place) for place, (column, kind) in pairs]
    spellings = [one for one in found if one is not None]
    if not spellings or len(spellings) < len(found):
        return None
    values = [f"{one.value} AS v{place}" for place, one in enumerate(spellings)]
    skipped = [f"c{place} IS NOT NULL" for place, one in enumerate(whole.policies) if one == "skip"]
    kept = f" WHERE {' AND '.join(skipped)}" if skipped else ""
    prefix = query_prefix(whole.guarded, len(values))
    form = "SELECT DISTINCT" if whole.distinct else "SELECT"
    give = f"{prefix}{form} {', '.join(values)} FROM q{kept}"
    return WholeQueries(prefix + _look(whole, spellings, kept), give)


def _look(whole: Whole, spellings: Sequence[Spelling], kept: str) -> str:
    """Count rows, see whether a cell is wrong, and count the keys, in one pass."""
    wrong = " OR ".join(f"c{n} IS NULL OR {one.wrong}" for n, one in enumerate(spellings))
    key = ", ".join(f"c{place}" for place in whole.key)
    keys = f"count(DISTINCT ({key}))" if whole.key else "count(*)"
    rows = f"FROM (SELECT DISTINCT * FROM q{kept})" if whole.distinct else f"FROM q{kept}"  # noqa: S608  names of this module's own
    return f"SELECT count(*), bool_or({wrong}), {keys} {rows}"


def counted(told: tuple[object, ...]) -> int | None:
    """Give the number of rows that a look has found; `None` where they have to be read."""
    rows, wrong, keys = told
    return None if wrong or rows != keys else int(str(rows))
