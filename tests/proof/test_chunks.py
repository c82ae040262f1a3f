"""Chunks of large aggregates: the same whichever way they are made, and few however many rows."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.logic import Kind, canonical_bytes, canonical_lines, format_value
from constat.proof import certificate, given_columns
from constat.proof.certificate import Assignments, chunk_size, chunks_of
from constat.proof.groups import Chunk
from tests.check.writer import canonical, rows_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.logic import Row

TEXTS = st.text(
    st.sampled_from('ab \n\\"!\x01\x7fé\u0080𐀀\ud7ff'), max_size=4
)  # what JSON escapes, and what sorts below a quotation mark
NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-120, 120))


@given(st.lists(st.tuples(TEXTS, NUMBERS, TEXTS), max_size=30, unique=True))
def test_rows_at_once_are_written_as_each_by_itself(rows: list[tuple[str, int, str]]) -> None:
    kinds = (Kind.SYMBOL, Kind.NUMBER, Kind.SYMBOL)
    plain = sorted([left, str(number), right] for left, number, right in rows)
    expected = "".join(canonical(row) + "\n" for row in plain).encode()
    lines = sorted(canonical_lines(rows, kinds))
    assert b"".join(canonical_bytes(lines, 3)) == expected


def test_rows_of_no_columns_and_of_every_kind_are_written() -> None:
    assert b"".join(canonical_bytes(canonical_lines([()], ()), 0)) == b"[]\n"
    row: Row = (2.5, Decimal("1E+3"), "2024-01-31", 2**64 - 1, "true")
    kinds = (Kind.FLOAT, Kind.DECIMAL, Kind.DATE, Kind.UNSIGNED, Kind.BOOL)
    texts = [format_value(value, kind) for value, kind in zip(row, kinds, strict=True)]
    assert b"".join(canonical_bytes(canonical_lines([row], kinds), 5)).decode() == (
        canonical(texts) + "\n"
    )


def by_hand(rows: Sequence[tuple[int, ...]], targets: Sequence[int], size: int) -> list[Chunk]:
    order = sorted(range(len(rows)), key=lambda place: list(map(str, rows[place])))
    found = []
    for start in range(0, len(order), size):
        part = order[start : start + size]
        values = [targets[place] for place in part]
        hashed = rows_hash([list(map(str, rows[place])) for place in part])
        total = Fraction(sum(values))
        found.append(Chunk(len(part), f"{total}/1", str(min(values)), str(max(values)), hashed))
    return found


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40, unique=True),
    fold=st.booleans(),
)
def test_columns_and_python_make_the_same_chunks(
    rows: list[tuple[int, int]], *, fold: bool
) -> None:
    kinds = (Kind.NUMBER, Kind.NUMBER)
    targets = [second for _, second in rows] if fold else []
    given_ = Assignments(rows, kinds, targets, Kind.NUMBER if fold else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "CHUNK", 4)
        one, other = chunks_of(given_, many=0), chunks_of(given_, many=10**6)
        assert one == other
        if fold:
            assert one == by_hand(rows, targets, chunk_size(len(rows)))


def test_unsigned_values_keep_their_upper_half() -> None:
    rows = [(2**64 - 1 - n,) for n in range(5)]
    given_ = Assignments(rows, (Kind.UNSIGNED,), [row[0] for row in rows], Kind.UNSIGNED)
    assert chunks_of(given_, many=0) == chunks_of(given_) == by_hand(rows, given_.targets, 1024)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "size"),
    [(1_001, 1_024), (524_288, 1_024), (524_289, 2_048), (10**6, 2_048), (2**31 - 1, 2**22)],
)
def test_there_are_never_more_than_512_chunks(count: int, size: int) -> None:
    assert chunk_size(count) == size
    assert -(-count // size) <= 512


@pytest.mark.parametrize("block", [4, 8, 64])
def test_blocks_of_rows_end_where_chunks_end(block: int) -> None:
    rows = [(n % 7 - 3, n) for n in range(61)]
    given_ = Assignments(rows, (Kind.NUMBER,) * 2, [Decimal(n) / 4 for _, n in rows], Kind.DECIMAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "CHUNK", 4)
        patch.setattr(given_columns, "_BLOCK", block)
        assert chunks_of(given_, many=0) == chunks_of(given_, many=10**6)


NUMERIC = st.one_of(
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
)


@given(NUMERIC)
def test_sums_of_fractions_are_exact(values: list[Decimal] | list[float]) -> None:
    kind = Kind.DECIMAL if isinstance(values[0], Decimal) else Kind.FLOAT
    rows = [(n,) for n in range(len(values))]
    added = sum(map(Fraction, values), Fraction())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "CHUNK", 2**10)
        (chunk,) = chunks_of(Assignments(rows, (Kind.NUMBER,), values, kind))
    assert chunk.total == f"{added.numerator}/{added.denominator}"
