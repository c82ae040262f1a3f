"""Answers as text: what goes in comes out, and what does not fit comes to nothing."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.evaluation import Answer, Assumption, Evidence, Opening, Origin, Portion
from constat.logic import OPEN, Kind
from constat.tiers.cache import answer_text, key_text, read_answer
from constat.tiers.cache_age import age_in_words, parse_age
from tests.logic.strategies import VALUES
from tests.tiers.building import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.logic import Row

PREDICATE = declare(
    "p(a: symbol, b: number, c: Decimal, d: float, e: Date, f: Timestamp, g: Bool, h: unsigned)"
)
ROWS = st.tuples(*(VALUES[kind] for kind in PREDICATE.kinds))
EVIDENCE = Evidence(
    tier="database",
    origin=Origin.DATABASE,
    source="sales",
    executed_at="2026-01-01T00:00:00.000000Z",
    query="SELECT 1",
    parameters=("a", "\U0001f600"),
    row_count=3,
    content_hash="sha256:" + "0" * 64,
    snapshot="commit 7",
)
WORD = Assumption("fact", "p(1)", "tier crm says p(1)", Decimal("0.8"))


def answer(rows: list[Row]) -> Answer:
    said = Evidence("crm", Origin.API, "crm", "", confidence=Decimal("0.8"), author="eve")
    return Answer(
        (Portion(tuple(rows), EVIDENCE), Portion(tuple(rows), said, WORD)),
        (Opening((OPEN,) * 8, "a NULL", "database"), Opening((OPEN,) * 8, "closed", "c", WORD)),
        frozenset((row[0],) for row in rows),
        (EVIDENCE,),
    )


@given(rows=st.lists(ROWS, max_size=5))
def test_an_answer_comes_back_equal(rows: list[Row]) -> None:
    one = answer(rows)
    again = read_answer(answer_text(one, PREDICATE, (0,)), PREDICATE, (0,))
    assert again == one
    kinds = [[type(value) for value in row] for row in again.portions[0].rows]
    assert kinds == [[type(value) for value in row] for row in rows]


@given(one=ROWS, other=ROWS)
def test_equal_keys_and_only_those_are_equal_texts(one: Row, other: Row) -> None:
    same = key_text(one, PREDICATE.kinds) == key_text(other, PREDICATE.kinds)
    assert same == (one == other)


SMALL = declare("p(a: symbol, b: number)")
Document = dict[str, Any]


def written(change: Callable[[Document], object]) -> str:
    one = Answer((Portion((("x", 7),), EVIDENCE),), (), frozenset({("x",)}), (EVIDENCE,))
    document: Document = json.loads(answer_text(one, SMALL, (0,)))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["portions"][0][2][0].append("more"),
        lambda d: d["portions"][0][2].append(["x", "seven"]),
        lambda d: d["portions"][0][2].append(["x", "007"]),
        lambda d: d["portions"][0][2].append(["x", 7]),
        lambda d: d["portions"][0][2].append(["\ud800", "7"]),
        lambda d: d["portions"][0][2].append(["a\0b", "7"]),
        lambda d: d["portions"][0][2].append("x7"),
        lambda d: d["portions"][0].__setitem__(0, 5),
        lambda d: d["portions"][0].__setitem__(0, -1),
        lambda d: d["portions"][0].__setitem__(0, True),
        lambda d: d["evidence"][0].__setitem__(1, "DERIVED!"),
        lambda d: d["evidence"][0].__setitem__(1, "API"),
        lambda d: d["evidence"][0].__setitem__(6, -3),
        lambda d: d["evidence"][0].__setitem__(7, "sha256:x"),
        lambda d: d["evidence"][0].__setitem__(9, "2"),
        lambda d: d["evidence"][0].pop(),
        lambda d: d["answered"].append('["x", "y"]'),
        lambda d: d["answered"].append("["),
        lambda d: d["openings"].append([["x"], "r", "t", None]),
        lambda d: d["openings"].append([["x", "y"], "r", "t", None]),
        lambda d: d["assumptions"].append(["wish", "s", "t", "1"]),
        lambda d: d.pop("authorities"),
        lambda d: d.__setitem__("portions", {"a": 1}),
    ],
)
def test_a_text_that_does_not_fit_comes_to_nothing(change: Callable[[Document], object]) -> None:
    with pytest.raises(ValueError):
        read_answer(written(change), SMALL, (0,))


@pytest.mark.parametrize("text", ["", "[]", "3", "null", "[" * 100_000, '{"portions": []}', "\0"])
def test_any_text_is_refused_without_a_crash(text: str) -> None:
    with pytest.raises(ValueError):
        read_answer(text, SMALL, (0,))


def test_a_text_that_fits_is_read() -> None:
    assert read_answer(written(lambda _: None), SMALL, (0,)).answered == {("x",)}
    assert Kind.NUMBER in SMALL.kinds


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("24h", 86_400), ("7d", 604_800)]
)
def test_durations_have_units(text: str, seconds: int) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "less than a second"), (1, "1 second"), (119, "1 minute"), (200_000, "2 days")],
)
def test_ages_are_told_in_words(seconds: float, words: str) -> None:
    assert age_in_words(seconds) == words
