"""Roots and openings: no row can be dropped, added, changed or moved, at the ends included."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import sys
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constat.proof import openings
from constat.proof.openings import Commitment, Opening, OpeningError, opened_rows
from constat.session.snapshots import merkle_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[str, ...]
VALUES = st.sampled_from(["", "a", "b", "c", "d", "ä", '"', "é\u2028"])
RELATIONS = st.sets(st.tuples(VALUES, VALUES, VALUES), max_size=20)
ORDERS = st.permutations(range(3))


def in_order(rows: set[Row], order: Sequence[int]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple(row[column] for column in order))


def committed(rows: Sequence[Row], order: Sequence[int]) -> Commitment:
    return Commitment(merkle_tree(rows).root, len(rows), tuple(order))


def opening(rows: Sequence[Row], order: Sequence[int], wanted: Row) -> Opening:
    """Open the rows of a key with their neighbours, from the definition."""
    prefixes = [tuple(row[column] for column in order[: len(wanted)]) for row in rows]
    start = max(bisect_left(prefixes, wanted) - 1, 0)
    end = min(bisect_right(prefixes, wanted) + 1, len(rows))
    return Opening(start, tuple(rows[start:end]), merkle_tree(rows).path(start, end))


def reference_root(rows: Sequence[Row]) -> str:
    """RFC 6962, section 2.1, word by word."""
    from json import dumps

    def root(leaves: Sequence[bytes]) -> bytes:
        if not leaves:
            return hashlib.sha256().digest()
        if len(leaves) == 1:
            return hashlib.sha256(b"\0" + leaves[0]).digest()
        k = 1
        while k * 2 < len(leaves):
            k *= 2
        return hashlib.sha256(b"\1" + root(leaves[:k]) + root(leaves[k:])).digest()

    return root([dumps(list(row), separators=(",", ":")).encode() for row in rows]).hex()


@given(RELATIONS)
def test_the_root_is_that_of_the_rfc(rows: set[Row]) -> None:
    found = in_order(rows, (0, 1, 2))
    assert merkle_tree(found).root == reference_root(found)


def test_every_size_and_every_range_has_a_path_that_leads_to_the_root() -> None:
    for size in range(18):
        rows = [(f"{number:02}",) for number in range(size)]
        tree = merkle_tree(rows)
        assert tree.root == reference_root(rows)
        for start in range(size):
            for end in range(start + 1, size + 1):
                shown = Opening(start, tuple(rows[start:end]), tree.path(start, end))
                assert openings._root(size, shown) == tree.root


@given(RELATIONS, ORDERS, st.integers(0, 3), st.tuples(VALUES, VALUES, VALUES))
def test_all_rows_of_a_key_are_given_and_no_other(
    rows: set[Row], order: list[int], width: int, values: Row
) -> None:
    found = in_order(rows, order)
    columns, wanted = order[:width], values[:width]
    shown = opening(found, order, wanted)
    told = opened_rows(committed(found, order), columns, wanted, shown)
    assert list(told) == [
        row for row in found if tuple(row[column] for column in columns) == wanted
    ]


@given(RELATIONS, ORDERS, st.integers(1, 3), st.data())
def test_no_row_can_be_dropped_added_changed_or_moved(
    rows: set[Row], order: list[int], width: int, data: st.DataObject
) -> None:
    assume(rows)
    found = in_order(rows, order)
    columns = order[:width]
    wanted = tuple(data.draw(st.sampled_from(found))[column] for column in columns)
    shown = opening(found, order, wanted)
    commitment = committed(found, order)
    kind = data.draw(st.sampled_from(["drop", "add", "change", "move", "shift", "swap"]))
    listed = list(shown.rows)
    place = data.draw(st.integers(0, len(listed) - 1))
    start = shown.start
    if kind == "drop":
        del listed[place]
        start += data.draw(st.integers(0, 1))
    elif kind == "add":
        listed.insert(place, data.draw(st.tuples(VALUES, VALUES, VALUES)))
        start -= data.draw(st.integers(0, 1))
    elif kind == "change":
        other = data.draw(st.tuples(VALUES, VALUES, VALUES))
        assume(other != listed[place])
        listed[place] = other
    elif kind == "move":
        assume(len(listed) > 1)
        listed.append(listed.pop(0))
    elif kind == "shift":
        start += data.draw(st.sampled_from([-1, 1]))
    else:
        assume(len(listed) > 1)
        listed[0], listed[-1] = listed[-1], listed[0]
    paths = [shown.path]
    if start >= 0 and start + len(listed) <= len(found):
        # The forger may use any true path of the tree.
        paths.append(merkle_tree(found).path(start, start + len(listed)))
    truth = tuple(row for row in found if tuple(row[c] for c in columns) == wanted)
    for path in paths:
        try:
            told = opened_rows(commitment, columns, wanted, Opening(start, tuple(listed), path))
        except OpeningError:
            continue
        # A neighbour more or less than was needed may be left out; a row of the key never.
        assert told == truth


@given(RELATIONS, ORDERS, st.data())
def test_a_range_that_ends_within_a_key_is_refused(
    rows: set[Row], order: list[int], data: st.DataObject
) -> None:
    assume(rows)
    found = in_order(rows, order)
    tree = merkle_tree(found)
    start = data.draw(st.integers(0, len(found) - 1))
    end = data.draw(st.integers(start + 1, len(found)))
    width = data.draw(st.integers(0, 3))
    wanted = tuple(data.draw(st.sampled_from(found))[column] for column in order[:width])
    shown = Opening(start, tuple(found[start:end]), tree.path(start, end))
    truth = tuple(row for row in found if tuple(row[c] for c in order[:width]) == wanted)
    try:
        told = opened_rows(committed(found, order), order[:width], wanted, shown)
    except OpeningError:
        return
    assert told == truth


ROWS = [("a", "1"), ("a", "2"), ("b", "1"), ("c", "9")]


@pytest.mark.parametrize(
    "change",
    [
        {"start": -1},
        {"start": 9},
        {"rows": ()},
        {"path": ()},
        {"path": ("0" * 64, "0" * 64, "0" * 64)},
        {"path": ("0" * 63,)},
        {"path": ("G" * 64,)},
        {"path": ("A" * 64,)},
        {"rows": (("a",), ("a",), ("b",))},
        {"rows": (("a", "1"), ("a", "1"), ("b", "1"))},
    ],
    ids=str,
)
def test_what_is_no_opening_is_refused(change: dict[str, Any]) -> None:
    good = opening(ROWS, (0, 1), ("a",))
    assert opened_rows(committed(ROWS, (0, 1)), (0,), ("a",), good) == tuple(ROWS[:2])
    with pytest.raises(OpeningError):
        opened_rows(committed(ROWS, (0, 1)), (0,), ("a",), dataclasses.replace(good, **change))


def test_rows_beyond_the_ends_of_the_relation_are_refused() -> None:
    commitment = committed(ROWS, (0, 1))
    at_end = opening(ROWS, (0, 1), ("c",))
    assert opened_rows(commitment, (0,), ("c",), at_end) == (("c", "9"),)
    more = dataclasses.replace(at_end, rows=(*at_end.rows, ("c", "99")))
    with pytest.raises(OpeningError, match="outside"):
        opened_rows(commitment, (0,), ("c",), more)
    at_start = opening(ROWS, (0, 1), ("a",))
    before = dataclasses.replace(at_start, start=-1, rows=(("a", "0"), *at_start.rows))
    with pytest.raises(OpeningError, match="outside"):
        opened_rows(commitment, (0,), ("a",), before)


def test_a_root_over_rows_in_no_order_shows_nothing() -> None:
    for rows in ([("a", "1"), ("b", "1"), ("a", "2")], [("a", "1"), ("a", "1"), ("b", "1")]):
        commitment = Commitment(merkle_tree(rows).root, 3, (0, 1))
        whole = Opening(0, tuple(rows), ())
        with pytest.raises(OpeningError, match="ascending"):
            opened_rows(commitment, (0,), ("a",), whole)


def test_a_path_with_a_hash_too_many_and_an_order_with_a_column_twice_are_refused() -> None:
    good = opening(ROWS, (0, 1), ("a",))
    long = dataclasses.replace(good, path=(*good.path, "0" * 64))
    with pytest.raises(OpeningError, match="too long"):
        opened_rows(committed(ROWS, (0, 1)), (0,), ("a",), long)
    rows = [("a", "1"), ("b", "1")]
    twice = Commitment(merkle_tree(rows).root, 2, (0, 0))
    with pytest.raises(OpeningError, match="once"):
        opened_rows(twice, (0,), ("a",), opening(rows, (0, 1), ("a",)))


def test_columns_that_do_not_come_first_in_the_order_show_nothing() -> None:
    good = opening(ROWS, (0, 1), ("a",))
    commitment = committed(ROWS, (0, 1))
    for columns, key in (((1,), ("1",)), ((0, 0), ("a", "a")), ((0,), ("a", "b")), ((5,), ("a",))):
        with pytest.raises(OpeningError):
            opened_rows(commitment, columns, key, good)
    with pytest.raises(OpeningError):
        opened_rows(Commitment(commitment.root, 4, (0, 0)), (0,), ("a",), good)
    with pytest.raises(OpeningError):
        opened_rows(Commitment(commitment.root, 5, (0, 1)), (0,), ("a",), good)
    with pytest.raises(OpeningError):
        opened_rows(Commitment(commitment.root, 3, (0, 1)), (0,), ("a",), good)


def test_a_relation_of_no_rows_shows_that_nothing_is_there() -> None:
    nothing = committed([], (0, 1))
    assert opened_rows(nothing, (0,), ("a",), Opening(0, (), ())) == ()
    with pytest.raises(OpeningError):
        opened_rows(nothing, (0,), ("a",), Opening(0, (), ("0" * 64,)))
    with pytest.raises(OpeningError):
        opened_rows(Commitment("0" * 64, 0, (0, 1)), (0,), ("a",), Opening(0, (), ()))


def test_a_count_without_end_is_refused_at_once() -> None:
    for count in (-1, 1 << 60, 1 << 4000):
        with pytest.raises(OpeningError, match="count"):
            opened_rows(Commitment("0" * 64, count, (0,)), (0,), ("a",), Opening(0, (("a",),), ()))


def test_the_reader_of_openings_uses_the_standard_library_only() -> None:
    tree = ast.parse(Path(openings.__file__).read_text(encoding="utf-8"))
    used = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "."]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert used <= set(sys.stdlib_module_names)


def test_null_is_no_text_and_comes_before_all() -> None:
    rows: list[tuple[str | None, ...]] = [("a", None), ("a", ""), ("a", "null"), (None, "x")]
    ordered = [rows[3], *rows[:3]]
    tree = merkle_tree(ordered)
    commitment = Commitment(tree.root, 4, (0, 1))
    whole = Opening(0, tuple(ordered), ())
    assert opened_rows(commitment, (0,), ("a",), whole) == tuple(rows[:3])
    assert opened_rows(commitment, (0,), (None,), whole) == (rows[3],)
    assert opened_rows(commitment, (0, 1), ("a", None), whole) == (rows[0],)
    assert len({merkle_tree([(cell,)]).root for cell in (None, "", "null", "None")}) == 4
    with pytest.raises(OpeningError, match="ascending"):
        opened_rows(commitment, (0,), ("a",), Opening(0, (*rows[:3], rows[3]), ()))
