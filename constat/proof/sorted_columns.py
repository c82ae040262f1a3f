"""Rows of whole numbers, sorted as texts and written in canonical form, by DuckDB.

In: rows, their kinds, and a value beside each.  Out: the lines of a hash in order, with their
values.  Invariant: the lines are those that Python would write; nothing but numbers goes in, and no
text from outside.

Example: the rows `(10,)` and `(9,)` give the lines `["10"]` and `["9"]`.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, cast

import numpy as np

from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.logic import Value


def sorted_lines(
    rows: Sequence[tuple[Value, ...]],
    kinds: Sequence[Kind],
    targets: Sequence[Value],
    kind: Kind | None,
) -> tuple[list[str], list[Value]]:
    """Return the lines of rows in order, and the targets in the same order (none without kind)."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    def column(values: Iterable[Value], its: Kind) -> object:
        form = np.uint64 if its is Kind.UNSIGNED else np.int64
        return np.fromiter(values, form, len(rows))

    given = {f"v{n}": column(map(itemgetter(n), rows), its) for n, its in enumerate(kinds)}
    if kind:
        given["target"] = column(targets, kind)
    with duckdb.connect(":memory:") as connection:
        connection.register("given", given)
        found = connection.execute(_statement(len(kinds), folded=bool(kind))).fetchnumpy()
    lines = cast("list[str]", found["line"].tolist())
    return lines, cast("list[Value]", found["target"].tolist()) if kind else []


def _statement(width: int, *, folded: bool) -> str:
    """Write the query for sorted rows in canonical form: names of ours only."""
    texts = ", ".join(f"CAST(v{place} AS VARCHAR) AS t{place}" for place in range(width))
    names = [f"t{place}" for place in range(width)]
    line = """ || '","' || """.join(names)
    return (
        f"SELECT '[\"' || {line} || '\"]' || chr(10) AS line"  # noqa: S608
        f"{', target' if folded else ''} "
        f"FROM (SELECT {texts}{', target' if folded else ''} FROM given) "
        f"ORDER BY {', '.join(names)}"
    )
