"""The codes of frames that are handed over for relations: C0650 to C0659.

In: nothing. Out: `ENTRIES`. Invariant: none of them quotes a cell. Example: C0651 names the row and
the column of a cell that is no value.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0650",
        "a frame with another number of columns than its relation",
        "A data frame, an Arrow stream or a query stands for a relation column by column, in the "
        "order of the declaration; the names of its columns do not matter.",
        wrong=".decl spent(c: symbol, amount: number)\nFrame(frame[['customer']])",
        right=".decl spent(c: symbol, amount: number)\nFrame(frame[['customer', 'amount']])",
        kind="text",
    ),
    Entry(
        "C0651",
        "a cell of a frame that is no value of its column",
        "A missing value, a fraction in a column of integers, a text that spells no number, or an "
        "integer beyond 64 bits. A cell goes over exactly or not at all, so nothing is rounded or "
        "left out; the cell is named by its row, counted from 1, and its column.",
        wrong='pandas.DataFrame({"amount": [1.0, None]})',
        right='pandas.DataFrame({"amount": [1.0, None]}).dropna()',
        kind="text",
    ),
)
