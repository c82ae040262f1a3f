"""Null cells: equality is identity of the label, and rows that hold them have an order."""

from __future__ import annotations

import pytest

from constat.logic import (
    UNREAD_CELL,
    Kind,
    NullCell,
    NullPolicy,
    Row,
    display_value,
    has_null_cells,
    row_order,
    with_null_cells,
)

NONE, MAYBE, UNKNOWN = NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN


def test_the_words_of_the_policies_are_those_of_the_attribute() -> None:
    assert [policy.value for policy in NullPolicy] == ["none", "maybe", "unknown", "unread"]


def test_a_label_is_predicate_column_known_cells_and_ordinal() -> None:
    (_, label) = with_null_cells("orders", (7, None), (None, UNKNOWN))
    assert label == NullCell(UNKNOWN, "orders", 1, (7, None), 0)
    others = [
        with_null_cells("orders", (8, None), (None, UNKNOWN))[1],
        with_null_cells("orders", (7, None), (None, UNKNOWN), 1)[1],
        with_null_cells("sales", (7, None), (None, UNKNOWN))[1],
        with_null_cells("orders", (None, None), (UNKNOWN, UNKNOWN))[1],
        with_null_cells("orders", (7, None), (None, MAYBE))[1],
    ]
    assert label not in others
    assert len({label, *others}) == 6


def test_a_cell_without_a_value_is_the_same_in_every_row() -> None:
    first = with_null_cells("orders", (7, None), (None, NONE))
    second = with_null_cells("orders", (8, None), (None, NONE), 3)
    assert first[1] == second[1] == NullCell(NONE, "orders", 1)


def test_only_unknown_cells_are_labels() -> None:
    assert [NullCell(policy, "p", 0).is_label for policy in NullPolicy] == [
        False,
        False,
        True,
        False,
    ]


def test_a_null_without_a_policy_that_takes_it_is_refused() -> None:
    with pytest.raises(ValueError, match="column 0 of orders may hold no null"):
        with_null_cells("orders", (None,), (None,))


def test_rows_with_null_cells_are_told_from_others() -> None:
    assert has_null_cells(with_null_cells("p", (1, None), (None, NONE)))
    assert not has_null_cells((1, "a"))


def test_null_cells_are_sorted_after_values_and_by_content() -> None:
    rows = [
        with_null_cells("p", (2, None), (None, UNKNOWN), 1),
        with_null_cells("p", (2, None), (None, UNKNOWN), 0),
        with_null_cells("p", (None, "b"), (UNKNOWN, UNKNOWN)),
        with_null_cells("p", (None, None), (UNKNOWN, UNKNOWN)),
        (2, "z"),
        (1, "y"),
    ]
    ordered: list[Row] = sorted(rows, key=row_order)
    assert ordered == [rows[5], rows[4], rows[1], rows[0], rows[2], rows[3]]


def test_nothing_orders_a_null_cell_like_a_value() -> None:
    with pytest.raises(TypeError):
        NullCell(UNKNOWN, "p", 0) < 1  # type: ignore[operator]  # noqa: B015  that it raises


def test_people_read_none_and_unknown() -> None:
    policies = (NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN)
    cells = [*(NullCell(policy, "p", 0) for policy in policies), UNREAD_CELL]
    shown = [display_value(cell, Kind.NUMBER) for cell in cells]
    assert shown == ["none", "unknown", "unknown", "(not read)"]
