"""Estimates are near what tokenizers say, and on the safe side."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.memory import Calibration, Memory, Message, Role, Text, composition, estimate
from constat.memory.tokens import DEAREST, FAMILIES, family_of
from tests.memory.samples import COUNTS, MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_a_kind_of_text_is_counted_within_the_bounds_for_each_tokenizer(name: str) -> None:
    text = MAKERS[name](random.Random(name))
    for family, count in zip(FAMILIES, (max(COUNTS[name]), *COUNTS[name]), strict=True):
        assert 0.94 * count <= estimate(text, family) <= 1.35 * count, family


def test_there_are_thirty_seven_kinds_of_text() -> None:
    assert len(MAKERS) == len(COUNTS) == 37


def test_a_model_is_counted_as_its_tokenizer_counts() -> None:
    names = ("gpt-4o-mini", "gpt-4-turbo", "claude-opus-4-1", "claude-2.1", "llama")
    found = [family_of(one) for one in names]
    assert found == ["o200k", "cl100k", DEAREST, "claude", DEAREST]
    text = MAKERS["thai"](random.Random(1))
    with Memory() as plain, Memory(model="gpt-4o") as memory:
        for one in (plain, memory):
            one.append([Message(Role.USER, (Text(text),))])
        assert memory.context().tokens < plain.context().tokens / 3
        memory.calibration.learn(estimate(text), COUNTS["thai"][0])
        assert memory.context().tokens == pytest.approx(COUNTS["thai"][0], rel=0.2)


def test_ids_of_a_kind_and_short_capitals_are_no_free_words() -> None:
    assert estimate("HTML SQL API URL") >= 2
    assert estimate("4XGCCM") >= 4


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
