"""`match`: Python's `re` agrees on the common subset, and nothing takes exponential time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from constat.logic import EvaluationError, compile_pattern
from tests.logic.strategies import PATTERNS, SCRAWLS, TEXTS


@settings(max_examples=200)
@given(PATTERNS, TEXTS)
def test_agrees_with_the_standard_library(pattern: str, text: str) -> None:
    expected = re.fullmatch(pattern, text, re.ASCII) is not None
    compiled = compile_pattern(pattern)
    assert compiled.matches(text) is expected
    # Once more, along the kept transitions.
    assert compiled.matches(text) is expected


@given(SCRAWLS, TEXTS)
def test_a_scrawl_means_what_it_means_elsewhere_or_is_refused(pattern: str, text: str) -> None:
    try:
        found = compile_pattern(pattern).matches(text)
    except EvaluationError:
        return
    assert found is (re.fullmatch(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        *("a**", "a+?", "a{2}{3}", "*", "+a", "|*", "(*)", "^a", "a$", "(", ")", "a)", "(a"),
        *("[", "[]", "[^]", "[a", "[[]", "[b-a]", r"[a-\d]", r"[\d-z]", "[a-b-c]", "]", "}", "{"),
        *("a{", "a{}", "a{,2}", "a{2,1}", "a{101}", "a{1,101}", "a{101,}", "a{1", "a{1,2", "a{ 1}"),
        *("\\", r"\b", r"\1", r"\A", r"\é", r"\ ", r"(?:a)", "(?i)a", r"\x41", "a{٢}"),
    ],
)
def test_refused(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="not allowed"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        *(("", ""), ("a|", ""), ("()*", ""), ("(a*)*", "aaa"), ("[-a]", "-"), ("[^-a]", "b")),
        *(("[a-]", "-"), (r"[\]\[\\]", "["), (r"[a\-z]", "-"), ("[.*+]", "*"), ("-", "-")),
        *((r"\d{4}-\d\d", "2024-01"), (r"\t\v", "\t\v"), (r"\s", "\f"), ("[^a]", "\n"), (",", ",")),
        *(
            (r"\W", "é"),
            ("[a-zé-ö]", "ï"),
            ("😀", "😀"),
            (".", "😀"),
            ("a{0}b", "b"),
            ("[$^]", "^"),
        ),
    ],
)
def test_matches(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("", "a"), ("a", "ab"), ("b", "ab"), (".", "\n"), (r"\d", "٣"), (r"\w", "é"), ("[^a]", "")],
)
def test_does_not_match(pattern: str, text: str) -> None:
    assert not compile_pattern(pattern).matches(text)


def test_catastrophic_patterns_are_harmless() -> None:
    assert not compile_pattern("(a*)*b").matches("a" * 20_000)
    assert not compile_pattern("(a|a)*b").matches("a" * 20_000)
    assert compile_pattern("a?" * 100 + "a" * 100).matches("a" * 100)


def test_bounds() -> None:
    assert compile_pattern("(a{100}){100}").matches("a" * 900) is False
    for pattern in ("(a{100}){100}b", "((a{0,100}){100}b){0}", "(()" * 63 + "{100})" * 63):
        with pytest.raises(EvaluationError):
            compile_pattern(pattern)
    deepest = "(" * 64 + "a" + ")" * 64
    assert compile_pattern(deepest).matches("a")
    for pattern in (f"({deepest})", "(" * 100_000, "a" * 10_001):
        with pytest.raises(EvaluationError):
            compile_pattern(pattern)
    with pytest.raises(EvaluationError, match="too long"):
        compile_pattern("a{100}").matches("a" * 100_000)


def test_what_is_kept_is_bounded() -> None:
    pattern = compile_pattern("(.?){50}")
    for first in range(0x4E00, 0x4E00 + 3000):
        assert pattern.matches(chr(first) + chr(first + 1))
    assert pattern._kept <= 52_000
    assert sum(len(stage.following) for stage in pattern._stages.values()) <= 52_000
