"""Hand out the rows of a query as an Arrow stream, without making Python values of them.

In: a guarded query, the declared columns, their null policies. Out: a `Stream` of rows in canonical
form, or nothing. Invariant: a stream is handed out only where the query, read cell by cell, would
have given these rows, all of them, and nothing to complain of: no NULL but those to skip and those
that a row may hold, no value without canonical form, no key twice. Rows with such a cell are given
apart. Whether a row comes twice is left to whoever loads them. Example: a Parquet file of five
million orders goes from DuckDB to DuckDB in half a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.catalog.duck_canonical import spelling
from constat.catalog.keyed import query_prefix
from constat.logic import NullPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.catalog.connection import Whole
    from constat.catalog.duck_canonical import Spelling
    from constat.catalog.duck_types import DuckColumn


_HELD: Final = frozenset(policy.value for policy in NullPolicy)
MOST_HOLES: Final = 1_000_000
"""With more of them a source is read cell by cell."""


@dataclass(frozen=True, slots=True)
class WholeQueries:
    """The query that looks at all rows first, the one that gives them, and the one for holes.

    A hole is a row with a NULL that it may hold; it comes with its number, and NULL.
    """

    look: str
    give: str
    holes: str


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
    hole = _hole(whole)
    full = " AND ".join([*skipped, *([f"NOT {hole}"] * bool(hole))])
    give = f"{prefix}{form} {', '.join(values)} FROM q{f' WHERE {full}' if full else ''}"
    numbered = "FROM (SELECT *, row_number() OVER () AS number FROM q)"
    left_out = " AND ".join([*skipped, hole or "false"])
    holes = f"{prefix}SELECT number, {', '.join(values)} {numbered} WHERE {left_out}"
    look = prefix + _look(whole, spellings, kept, hole)
    return WholeQueries(look, give, f"{holes} ORDER BY number")


def _hole(whole: Whole) -> str:
    """Write the condition of a row with a null cell; nothing where no row may hold one."""
    unknown = [f"c{n} IS NULL" for n, one in enumerate(whole.policies) if one in _HELD]
    # Of repeated rows only reading them one by one tells which count.
    return f"({' OR '.join(unknown)})" if unknown and not whole.distinct else ""


def _look(whole: Whole, spellings: Sequence[Spelling], kept: str, hole: str) -> str:
    """Count rows, see whether a cell is wrong, count the keys and the holes, in one pass."""
    wrong = " OR ".join(
        f"(c{n} IS NOT NULL AND {one.wrong})"
        if hole and policy in _HELD and n not in whole.key
        else f"c{n} IS NULL OR {one.wrong}"
        for n, (one, policy) in enumerate(zip(spellings, whole.policies, strict=True))
    )
    key = ", ".join(f"c{place}" for place in whole.key)
    keys = f"count(DISTINCT ({key}))" if whole.key else "count(*)"
    rows = f"FROM (SELECT DISTINCT * FROM q{kept})" if whole.distinct else f"FROM q{kept}"  # noqa: S608  names of this module's own
    holes = f"count(*) FILTER (WHERE {hole})" if hole else "0"
    return f"SELECT count(*), bool_or({wrong}), {keys}, {holes} {rows}"


def counted(told: tuple[object, ...]) -> tuple[int, int] | None:
    """Give the numbers of whole rows and of holes; `None` where rows have to be read."""
    rows, wrong, keys, holes = told
    left_out = int(str(holes))
    if wrong or rows != keys or left_out > MOST_HOLES:
        return None
    return int(str(rows)) - left_out, left_out
