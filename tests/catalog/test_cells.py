"""Cells become values exactly, or not at all."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.catalog import Cell, Single, Spelled, read_cell
from constat.logic import Kind, Value

GOOD: list[tuple[Cell, Kind, Value]] = [
    (12, Kind.NUMBER, 12),
    (12.0, Kind.NUMBER, 12),
    ("012", Kind.NUMBER, 12),
    (-0.0, Kind.NUMBER, 0),
    ("18446744073709551615", Kind.UNSIGNED, 18446744073709551615),
    (12, Kind.FLOAT, 12.0),
    (0.1, Kind.FLOAT, 0.1),
    ("1e3", Kind.FLOAT, 1000.0),
    (-0.0, Kind.FLOAT, 0.0),
    (12, Kind.DECIMAL, Decimal(12)),
    (10.1, Kind.DECIMAL, Decimal("10.1")),
    (1e20, Kind.DECIMAL, Decimal(10) ** 20),
    (1.98, Kind.DECIMAL, Decimal("1.98")),
    ("10.50", Kind.DECIMAL, Decimal("10.5")),
    ("C001", Kind.SYMBOL, "C001"),
    ("", Kind.SYMBOL, ""),
    ("2009-01-01", Kind.DATE, "2009-01-01"),
    ("2009-01-01 00:00:00", Kind.DATE, "2009-01-01"),
    ("2009-01-01T00:00:00.000", Kind.DATE, "2009-01-01"),
    ("2009-01-01 10:30:00", Kind.TIMESTAMP, "2009-01-01T10:30:00.000000Z"),
    (1, Kind.BOOL, "true"),
    (0, Kind.BOOL, "false"),
    ("true", Kind.BOOL, "true"),
    ("0", Kind.BOOL, "false"),
    (True, Kind.BOOL, "true"),
    (False, Kind.BOOL, "false"),
    (Decimal("12.00"), Kind.NUMBER, 12),
    (Decimal("1E+3"), Kind.UNSIGNED, 1000),
    (Decimal("10.50"), Kind.DECIMAL, Decimal("10.5")),
    (Decimal("-0.00"), Kind.DECIMAL, Decimal(0)),
    (Decimal("9" * 38), Kind.DECIMAL, Decimal("9" * 38)),
    (Decimal("0.1"), Kind.FLOAT, 0.1),
    (Single(0.10000000149011612), Kind.FLOAT, 0.10000000149011612),
    (Single(0.10000000149011612), Kind.DECIMAL, Decimal("0.1")),
    (Single(16777216.0), Kind.NUMBER, 16777216),
    (date(2026, 1, 31), Kind.DATE, "2026-01-31"),
    (datetime(2026, 1, 31), Kind.DATE, "2026-01-31"),  # noqa: DTZ001  a source without zones
    (datetime(2026, 1, 31, 10, tzinfo=UTC), Kind.TIMESTAMP, "2026-01-31T10:00:00.000000Z"),
    (
        datetime(2026, 1, 31, 10, tzinfo=timezone(timedelta(hours=2))),
        Kind.TIMESTAMP,
        "2026-01-31T08:00:00.000000Z",
    ),
    (Spelled("2026-01-31"), Kind.DATE, "2026-01-31"),
    (Spelled("2026-01-31 10:00:00.5"), Kind.TIMESTAMP, "2026-01-31T10:00:00.500000Z"),
]
BAD: list[tuple[Cell, Kind]] = [
    *((None, kind) for kind in Kind),
    *((b"12", kind) for kind in Kind),
    (12.5, Kind.NUMBER),
    (float("inf"), Kind.NUMBER),
    (float("nan"), Kind.NUMBER),
    (1e300, Kind.NUMBER),
    (-1, Kind.UNSIGNED),
    ("12.0", Kind.NUMBER),
    (" 12", Kind.NUMBER),
    ("", Kind.NUMBER),
    ((1 << 53) + 1, Kind.FLOAT),
    (float("inf"), Kind.FLOAT),
    (float("nan"), Kind.DECIMAL),
    (1e300, Kind.DECIMAL),
    ("1e3", Kind.DECIMAL),
    (12, Kind.SYMBOL),
    (1.5, Kind.SYMBOL),
    ("a\0b", Kind.SYMBOL),
    ("\udcff", Kind.SYMBOL),
    ("2009-01-01 00:00:01", Kind.DATE),
    ("2009-02-30", Kind.DATE),
    (14245, Kind.DATE),
    ("2009-01-01", Kind.TIMESTAMP),
    (2, Kind.BOOL),
    (1.0, Kind.BOOL),
    ("yes", Kind.BOOL),
    *((True, kind) for kind in Kind if kind is not Kind.BOOL),
    (Decimal("12.5"), Kind.NUMBER),
    (Decimal("NaN"), Kind.DECIMAL),
    (Decimal("Infinity"), Kind.NUMBER),
    (Decimal("1E+1000000"), Kind.NUMBER),
    (Decimal(1), Kind.BOOL),
    (Decimal("0.1234567890123456789"), Kind.FLOAT),
    (Decimal("12.5"), Kind.SYMBOL),
    (Decimal(20260131), Kind.DATE),
    (Single("inf"), Kind.DECIMAL),
    (date(2026, 1, 31), Kind.SYMBOL),
    (date(2026, 1, 31), Kind.TIMESTAMP),
    (date(2026, 1, 31), Kind.NUMBER),
    (datetime(2026, 1, 31, 10, tzinfo=UTC), Kind.DATE),
    (Spelled("2026-01-31"), Kind.SYMBOL),
    (Spelled("infinity"), Kind.DATE),
    (Spelled("2026-01-31 10:00:00.123456789"), Kind.TIMESTAMP),
]


@pytest.mark.parametrize(("cell", "kind", "value"), GOOD)
def test_a_cell_is_read_exactly(cell: Cell, kind: Kind, value: Value) -> None:
    found = read_cell(cell, kind)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("cell", "kind"), BAD)
def test_what_is_not_exactly_a_value_is_refused(cell: Cell, kind: Kind) -> None:
    with pytest.raises(ValueError) as caught:
        read_cell(cell, kind)
    assert not isinstance(cell, str) or not cell.strip() or cell not in str(caught.value)


@given(st.decimals(-(10**9), 10**9, places=2))
def test_money_stored_as_a_float_is_read_to_the_cent(amount: Decimal) -> None:
    assert read_cell(float(amount), Kind.DECIMAL) == amount


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_of_32_bits_is_its_shortest_decimal_and_its_exact_float(value: float) -> None:
    assert read_cell(Single(value), Kind.FLOAT) == value
    if 1e-9 < abs(value) < 1e9:
        shown = read_cell(Single(value), Kind.DECIMAL)
        assert struct.unpack("f", struct.pack("f", float(shown)))[0] == value
        assert len(Decimal(shown).as_tuple().digits) <= 10
