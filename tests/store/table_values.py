"""Tables that hypothesis draws, for the tests of the store of tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from constat.store.table_forms import KINDS, Table, table_of
from tests.structures import expressions

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_DECIMALS = st.integers(-(10**20), 10**20).flatmap(
    lambda whole: st.integers(0, 12).map(lambda scale: Decimal(whole).scaleb(-scale))
)
_VALUES = {
    "number": st.integers(-(1 << 63), (1 << 63) - 1),
    "unsigned": st.integers(0, (1 << 64) - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "Bool": st.sampled_from(["true", "false"]),
    "Date": st.dates().map(lambda day: day.isoformat()),
    "Timestamp": st.datetimes().map(lambda at: at.isoformat(timespec="microseconds") + "Z"),
    "symbol": _TEXTS,
    "structure": expressions(_TEXTS),
    "Decimal": _DECIMALS,
}


@st.composite
def tables(draw: st.DrawFn, most_rows: int = 5) -> Table:
    """Draw a table with columns of all kinds, and cells that are missing."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    rows = draw(st.integers(0, most_rows))
    cells: list[list[Any]] = [
        draw(st.lists(st.none() | _VALUES[kind], min_size=rows, max_size=rows)) for kind in kinds
    ]
    return table_of([(f"c{place}", kind) for place, kind in enumerate(kinds)], cells)
