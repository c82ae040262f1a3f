"""Batches that are read a column at a time: the same as cell by cell."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constat.tiers.database import Fetched, RowReader
from tests.proof.asking import analysed

SOLD = analysed("""
.decl sold(o: number, n: unsigned, c: symbol)
.input sold(source = "crm", query = "SELECT o, n, c FROM sold", null = "unknown")
.decl found(o: number)
found(?o) :- sold(?o, _, _).
""").program.predicates["sold"]
CELLS = st.one_of(
    st.integers(0, 2),
    st.sampled_from([-1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, True, None, 1.0, Decimal(1)]),
)
TEXTS = st.sampled_from(["a", "b", "é", "x\0", None, 1, "long" * 300])
ROWS = st.lists(st.tuples(CELLS, CELLS, TEXTS), max_size=4)
PLAIN = [(1, 2, "a"), (2, 2, "b")]


def read(batches: list[list[tuple[object, ...]]]) -> Fetched:
    reader, fetched = RowReader(SOLD, "crm"), Fetched()
    for batch in batches:
        reader.take(batch, fetched)  # type: ignore[arg-type]  # cells of any kind
    return fetched


@given(st.lists(ROWS, max_size=3))
@example([PLAIN, [(1, 2, "a"), (3, 2, "a")]])
@example([[*PLAIN, PLAIN[0]]])
@example([[(2**63, 1, "a")], [(1, 2**64, "a")], [(-(2**63) - 1, 1, "a")], [(1, -1, "a")]])
@example([[(True, 1, "a"), (1, 1, "b")], [(1, 1, "x\0")]])
def test_batches_are_read_as_cell_by_cell(batches: list[list[tuple[object, ...]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowReader, "_values", lambda *_: None)
        expected = read(batches)
    found = read(batches)
    assert found == expected
    assert list(found.rows) == list(expected.rows)
    assert list(map(repr, found.rows)) == list(map(repr, expected.rows))


def test_plain_batches_are_taken_at_once() -> None:
    assert RowReader(SOLD, "crm")._values(PLAIN) == PLAIN
