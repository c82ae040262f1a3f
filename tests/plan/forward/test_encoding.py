"""Which columns hold numbers of the dictionary."""

from __future__ import annotations

import pytest

from tests.plan.forward.programs import planned, stage_of

HEAD = """
.decl e(x: symbol, y: symbol)
.input e
.decl f(x: symbol, n: number)
.input f
.decl p(x: symbol, y: symbol)
.decl q(x: symbol, y: symbol)
"""
CLOSURE = "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z)."


def encoded(rules: str, question: str = "q(?a, ?b)") -> dict[str, tuple[bool, ...]]:
    return {name: one.encoded for name, one in planned(HEAD + rules, question).relations.items()}


def test_texts_of_a_recursion_are_numbers_wherever_they_are_joined() -> None:
    rules = CLOSURE + 'q(?x, "a") :- p(?x, ?y), f(?y, _).'
    assert encoded(rules) == {
        "e": (True, True),
        "p": (True, True),
        "f": (True, False),
        "q": (True, False),
    }


def test_texts_without_a_recursion_stay() -> None:
    assert encoded("q(?x, ?y) :- e(?x, ?y).") == {"e": (False, False), "q": (False, False)}


@pytest.mark.parametrize(
    "rules",
    [
        'p(?x, ?z) :- p(?x, ?y), e(?y, ?z), ?y < "m".',
        "p(?x, ?z) :- p(?x, ?y), e(?y, ?z), strlen(?y) > 2.",
        'p(?x, ?z) :- p(?x, ?y), e(?y, ?z), contains("a", ?z).',
        'p(?x, cat(?y, "b")) :- p(?x, ?y), e(?y, ?x).',
    ],
)
def test_a_recursion_that_would_have_to_spell_texts_keeps_them(rules: str) -> None:
    assert encoded(CLOSURE + rules, "p(?a, ?b)")["p"] != (True, True)


@pytest.mark.parametrize(
    "rules",
    [
        'p(?x, cat(?y, "b")) :- e(?x, ?y).',
        'p(?x, ?z) :- e(?x, ?y), ?z = cat(?y, "b").',
    ],
)
def test_what_a_rule_makes_before_the_recursion_gets_a_number(rules: str) -> None:
    assert encoded(CLOSURE + rules, "p(?a, ?b)")["p"] == (True, True)


def test_a_rule_that_is_taken_once_may_spell_numbers() -> None:
    rules = CLOSURE + 'q(?x, ?y) :- p(?x, ?y), ?x < "m", strlen(?y) = 2.'
    assert encoded(rules)["q"] == (True, True)


def test_what_is_aggregated_stays_text() -> None:
    rules = CLOSURE + "q(?x, ?m) :- e(?x, _), ?m = min ?y : { p(?x, ?y) }."
    found = encoded(rules)
    assert found["p"][1] is False
    assert found["q"][1] is False


def test_equality_is_decided_on_numbers() -> None:
    plan = planned(HEAD + CLOSURE + 'q(?x, ?y) :- p(?x, ?y), ?x != ?y, ?x != "a".', "q(?a, ?b)")
    assert plan.relations["q"].encoded == (True, True)
    assert stage_of(plan, "q").base[0].layout.encoded == {0, 1}


def test_constants_follow_the_column_they_meet() -> None:
    rules = CLOSURE + 'q(?x, ?y) :- p(?x, "a"), f("a", _), e(?x, ?y).'
    (pipeline,) = stage_of(planned(HEAD + rules, "q(?a, ?b)"), "q").base
    assert 0 in pipeline.layout.encoded


def test_what_is_compared_with_numbers_is_one() -> None:
    rules = CLOSURE + "q(?x, ?n) :- p(?x, ?n), f(?y, _), ?x != ?y."
    assert encoded(rules)["f"] == (True, False)
