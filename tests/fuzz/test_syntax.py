"""Hostile texts that shrink: the parsers answer with diagnostics, whatever they read."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import Severity
from constat.syntax import parse_text
from tests.fuzz.goals_and_facts import GoalsAndFacts
from tests.fuzz.rule_texts import PIECES, check_text

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic


@cache
def goals() -> GoalsAndFacts:
    return GoalsAndFacts(Path())


@given(st.text(max_size=200))
def test_any_text_is_read_or_explained(text: str) -> None:
    check_text(text)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_any_heap_of_tokens_is_read_or_explained(text: str) -> None:
    check_text(text)


@given(st.text(st.characters(), max_size=100))
def test_any_goal_is_read_or_explained(text: str) -> None:
    goals().check(text)
    goals().check(f"order({text})")
    goals().check(f"holds([{text}, $Zero, a)")
    goals().check(f"holds(nil, $Named({text}, a)")


@pytest.mark.sampled(6, "laws")
@pytest.mark.parametrize(
    "piece",
    [
        *"()[]{}.,;:?_!@#$%^&*-+=/\\|<>'\"`~ \n",
        "/*",
        '"\n',
        "p(",
        "p(X).",
        "?x % ",
        "@[",
        ".p ",
        "p(1).p",
        "p([",
        "[1, ",
        "p($A(",
        "$",
        "p($).",
        "p((1, 2)).",
        ".type T = ",
        ".type T = [x: number\n",
        "A {} | ",
    ],
)
def test_a_piece_repeated_without_end_is_read_in_linear_time(piece: str) -> None:
    found: list[Diagnostic] = []
    parse_text(piece * (60_000 // len(piece)), "fuzz.dl", found)
    assert len([one for one in found if one.severity is Severity.ERROR]) <= 401
