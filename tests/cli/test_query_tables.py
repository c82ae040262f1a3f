"""Tables: widths of what a terminal shows, cutting, alignment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.cli.tables import Table, plain, shortened, width


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", 0),
        ("abc", 3),
        ("日本", 4),
        ("ｱ", 1),
        ("\uff21", 2),
        ("e\u0301", 1),
        ("a\u200bb", 2),
        ("ü", 1),
    ],
)
def test_a_text_takes_the_places_it_has_on_a_terminal(text: str, places: int) -> None:
    assert width(text) == places


@given(st.text(max_size=30), st.integers(4, 20))
def test_a_cut_text_fits_and_says_that_it_is_cut(text: str, most: int) -> None:
    short = shortened(text, most)
    assert width(short) <= most
    assert short == text if width(text) <= most else short.endswith("…")


@given(st.text(max_size=30))
def test_a_cell_is_one_line_of_printable_characters(text: str) -> None:
    shown = plain(text)
    assert "\n" not in shown
    assert "\t" not in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) <= 1


@given(
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), max_size=6),
    st.integers(12, 40),
)
def test_lines_fit_and_columns_begin_alike(rows: list[tuple[str, str]], most: int) -> None:
    table = Table(("a", "b"), (False, True), most)
    table.fit(rows)
    for row in rows:
        assert width(table.line(row)) <= most


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    rows = [("日本", "5"), ("abc", "1000")]
    table = Table(("name", "n"), (False, True), None)
    table.fit(rows)
    assert [table.heading(), *map(table.line, rows)] == [
        "name     n",
        "日本     5",
        "abc   1000",
    ]
    assert table.cut == ()


def test_only_the_widest_columns_are_cut() -> None:
    rows = [("a" * 50, "12345")]
    table = Table(("long", "n"), (False, True), 20)
    table.fit(rows)
    assert table.line(rows[0]) == "a" * 12 + "…  12345"
    assert table.cut == ("long",)
