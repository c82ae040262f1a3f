"""Estimates are near what tokenizers say, and on the safe side."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.memory import Calibration, composition, estimate
from tests.memory.samples import COUNTS, MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_a_kind_of_text_is_counted_within_the_bounds(name: str) -> None:
    text = MAKERS[name](random.Random(name))
    dearest = max(COUNTS[name])
    assert 0.94 * dearest <= estimate(text) <= 1.35 * dearest


def test_four_characters_to_a_token_would_not_do() -> None:
    short = {
        name for name in MAKERS if len(MAKERS[name](random.Random(name))) / 4 < COUNTS[name][0]
    }
    assert {"csv", "table", "digests", "chinese"} <= short


@given(st.lists(st.text(), max_size=5))
def test_a_text_costs_about_as_much_as_its_lines(parts: list[str]) -> None:
    whole = estimate("\n".join(parts))
    apart = sum(map(estimate, parts))
    assert whole <= apart + len(parts)
    assert apart <= whole + 3 * len(parts)


@given(st.text())
def test_every_character_is_of_some_class(text: str) -> None:
    found = composition(text)
    assert (estimate(text) == 0) == (not text.strip(" \t"))
    assert all(count >= 0 for count in found.values())


@pytest.mark.parametrize("piece", ["aB", "a", "=", "1a", " ", "\n ", "٣"])
def test_a_piece_repeated_without_end_is_read_once(piece: str) -> None:
    # Were it read again from each character, this would not come to an end.
    assert estimate(piece * 100_000) > 0 or piece == " "


def test_reports_of_a_provider_move_the_factor() -> None:
    learning = Calibration()
    assert learning.applied(101) == 101
    for _ in range(40):
        learning.learn(1_000, 1_300)
    assert learning.applied(1_000) == pytest.approx(1_300, rel=0.01)
    learning.learn(1_000, 1_000_000)
    assert learning.applied(1_000) <= 2_000
    for wrong in ((0, 5), (5, 0), (-1, 7)):
        before = learning.factor
        learning.learn(*wrong)
        assert learning.factor == before
