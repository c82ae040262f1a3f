"""Sentences about answers: no number that the result does not account for."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from constat.explore.answered import narrate, numbers_in_words, plain_sentence, unfounded
from constat.explore.plan import Output
from constat.explore.relations import Relation, Settlement
from constat.logic import Kind
from constat.model import ModelError
from tests.explore.planned import Scripted, plan, step

REVENUE = Relation(
    Output("q4_revenue", (("region", "symbol"), ("revenue", "Decimal"), ("day", "Date"))),
    (Kind.SYMBOL, Kind.DECIMAL, Kind.DATE),
    (
        ("East 51", Decimal("420500.5"), "2024-10-01"),
        ("North", Decimal(890123), "2024-12-31"),
        ("South", Decimal(650000), "2024-11-30"),
    ),
)
PLAN = plan(step("q4_revenue(region: symbol)", rules="x"), title="Q4 revenue")


@pytest.mark.parametrize(
    "sentence",
    [
        "North led with 890,123.",
        "North led with $890K, South had 650 thousand.",
        "The three regions have 1,960,623.50 together, about 1.96 million.",
        "North has 240,123 more than South, or 36.9 % more.",
        "North makes up 45.4% of the total; the mean is 653,541.17.",
        "In Q4 2024, from 2024-10-01 on, East 51 was last.",
        "The top 5 of 2023 were asked for; there are 3.",
        "North is 2.1 times East 51.",
        "The three regions, of which North is the second and East 51 the third.",
        "All three together made about two million.",
        "North made more than twice what East 51 did; no one else did.",
        "Of the five that were asked for one of them is West, which is in none of the three.",
        "East 51 made twenty-one percent, South thirty-three per cent of the whole.",
    ],
)
def test_numbers_of_the_result_pass(sentence: str) -> None:
    assert unfounded(sentence, REVENUE, "top five regions in Q4 2024, and 2023?") == ()


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("North led with 891,123.", "891,123"),
        ("North led with $900K.", "900K"),
        ("Together they have 2.1 million.", "2.1 million"),
        ("North makes up 54.4 % of it.", "54.4 %"),
        ("There are 7 regions.", "7"),
        # A ratio of two cells is near 1 somewhere: only "times" may mean it.
        ("East made 1 in all.", "1"),
        ("Growth was -3 %.", "-3 %"),
        ("In 2019 it was less.", "2019"),
        ("There are seven regions.", "seven"),
        ("There are twenty-three regions.", "twenty-three"),
        ("Together they have two hundred and five thousand.", "two hundred and five thousand"),
        ("Together they have three million.", "three million"),
        ("A hundred thousand was sold in East.", "A hundred thousand"),
        ("North made three quarters of it.", "three quarters"),
        ("North made a tenfold of South.", "tenfold"),
        ("Sixty percent of it was made in North.", "Sixty"),
        ("North came fifth.", "fifth"),
        ("There are dozens of regions.", "dozens"),
        ("There are 2 dozen regions.", "2 dozen"),
        ("It was so in twenty twenty-four.", "twenty twenty-four"),
        ("There is one region.", "one"),
    ],
)
def test_a_number_from_nowhere_is_found(sentence: str, wrong: str) -> None:
    [found] = unfounded(sentence, REVENUE, "what was the revenue?")
    assert wrong in found


@pytest.mark.parametrize(
    ("words", "value", "share"),
    [
        ("two hundred and five", "205", ""),
        ("a hundred thousand", "100000", ""),
        ("twenty-one million", "21000000", ""),
        ("three thousand two hundred and twelve", "3212", ""),
        ("two dozen", "24", ""),
        ("ninety percent", "90", "percent"),
        ("four times", "4", "times"),
        ("twice", "2", "times"),
        ("three quarters of", "0.75", "share"),
        ("one-third", "0.3333333333333333333333333333", "share"),
        ("the fourth", "4", "place"),
        ("twenty twenty", "0", "vague"),
        ("twelve five", "0", "vague"),
        ("two million three million", "0", "vague"),
        ("two hundred hundred", "0", "vague"),
        ("a dozen five", "0", "vague"),
        ("dozens", "0", "vague"),
    ],
)
def test_words_are_read_as_the_numbers_that_they_are(words: str, value: str, share: str) -> None:
    [found] = numbers_in_words(f"It was {words} it.")
    assert (found.value, found.share) == (Decimal(value), share)


def test_a_word_that_counts_nothing_is_no_number() -> None:
    assert numbers_in_words("No one in this quarter, one of them in the first half.") == ()


def test_a_name_that_is_made_of_numbers_is_no_number() -> None:
    names = replace(REVENUE, rows=(("Twenty One", Decimal(5), "2024-01-01"), *REVENUE.rows[1:]))
    assert unfounded("Twenty One made 5.", names, "who made what?") == ()
    assert unfounded("Twenty Two made 5.", names, "who made what?") == ("Twenty Two",)


def test_a_models_sentence_is_used_only_with_numbers_of_the_result() -> None:
    good = narrate(Scripted.of("North led with 890,123."), "who led?", PLAN, REVENUE)
    assert (good.sentence, good.narrated, good.note) == ("North led with 890,123.", True, "")
    for reply in ("North led with 990,123.", "", "x" * 2_000, "North\x1b[2J led."):
        told = narrate(Scripted.of(reply), "who led?", PLAN, REVENUE)
        assert not told.narrated
        assert told.sentence == plain_sentence(PLAN, REVENUE)
        assert told.note
    away = narrate(Scripted.of(ModelError("C0824", "no answer")), "who led?", PLAN, REVENUE)
    assert away.sentence == plain_sentence(PLAN, REVENUE)
    assert "no answer" in away.note


def test_our_own_sentences_hold_only_what_is_there() -> None:
    one = Relation(Output("n", (("n", "number"),)), (Kind.NUMBER,), ((1234567,),))
    none = Relation(Output("n", (("n", "number"),)), (Kind.NUMBER,), ())
    said = plain_sentence(PLAN, REVENUE)
    assert said == "Q4 revenue: 3 rows, first region East 51, revenue 420,500.5, day 2024-10-01."
    assert plain_sentence(PLAN, one) == "Q4 revenue: 1,234,567."
    assert plain_sentence(PLAN, none) == "Q4 revenue: there are none."
    assert unfounded(said, REVENUE, "") == ()
    unknown = replace(REVENUE, settlement=Settlement.OPEN)
    assert plain_sentence(PLAN, unknown) == "Q4 revenue: not settled, 3 rows known so far."
    assert narrate(Scripted.of(), "who led?", PLAN, unknown).sentence.endswith("so far.")
    hostile = Relation(Output("n", (("n", "symbol"),)), (Kind.SYMBOL,), (("a\x1b[2Jb\n",),))
    assert plain_sentence(PLAN, hostile).isprintable()
