"""Records and algebraic data types in proofs: every verdict is checked, and said as it is written.

Each certificate passes both independent checkers.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.logic import OPEN
from constat.proof import decide, proof_tree, render_tree
from constat.proof.encoding import canonical
from constat.proof.levels import Ranking
from constat.proof.refutation import principal_reasons, refute
from constat.proof.report import checker_source
from constat.session.many_proofs import decide_many
from tests.proof.asking import Table, analysed, ask, certificate, checked, goal_of
from tests.proof.structures import (
    EXPRESSION_GOALS,
    EXPRESSIONS,
    OFFER_GOALS,
    OFFERS,
    SEVEN,
    UNKNOWN_GOALS,
    expression_tables,
    offer_tables,
)
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.proof.obstacles import Obstacle
    from constat.proof.refutation import Refutation
    from constat.proof.tree import Tree

OFFERED = analysed(OFFERS)
EXPRESSED = analysed(EXPRESSIONS)


@pytest.fixture(scope="module")
def script() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("there is no Node to run the second checker")
    second = SecondChecker(checker_source())
    yield second
    second.close()


@pytest.mark.parametrize(("goal", "verdict"), OFFER_GOALS)
def test_patterns_of_records_and_branches_are_decided(goal: str, verdict: str) -> None:
    assert ask(OFFERED, goal, offer_tables()).verdict.value == verdict


@pytest.mark.parametrize(("goal", "verdict"), EXPRESSION_GOALS)
def test_recursion_over_structures_is_decided(goal: str, verdict: str) -> None:
    assert ask(EXPRESSED, goal, expression_tables()).verdict.value == verdict


@pytest.mark.parametrize(("goal", "tables", "verdict"), UNKNOWN_GOALS)
def test_an_unknown_structure_has_no_form(
    goal: str, tables: dict[str, Table], verdict: str
) -> None:
    assert ask(OFFERED, goal, offer_tables(**tables)).verdict.value == verdict


def test_the_second_checker_says_the_same(script: SecondChecker) -> None:
    asked = [(OFFERED, goal, offer_tables()) for goal, _ in OFFER_GOALS]
    asked += [(EXPRESSED, goal, expression_tables()) for goal, _ in EXPRESSION_GOALS]
    asked += [(OFFERED, goal, offer_tables(**tables)) for goal, tables, _ in UNKNOWN_GOALS]
    wanted = [one[-1] for one in (*OFFER_GOALS, *EXPRESSION_GOALS, *UNKNOWN_GOALS)]
    reports = script.check_all([certificate(ask(*one)) for one in asked])
    assert [(one["accepted"], one["verdict"]) for one in reports] == [(True, w) for w in wanted]


@pytest.mark.parametrize("ranking", list(Ranking))
def test_every_proof_of_a_structure_is_accepted(ranking: Ranking) -> None:
    twice = analysed(EXPRESSIONS + "value(?e, ?n) :- expr(?e), ?e = $Add(_, _), ?n = 7.\n")
    tables = expression_tables()
    goal = goal_of(twice, f"value({SEVEN}, 7)")
    found = list(decide_many(LazyEngine(), twice, goal, tables, Limits(), ranking=ranking))
    assert len(found) == 2
    assert {checked(certificate(one)).verdict for one in found} == {"PROVED"}


# ------------------------------------------------------------------ what is said


def tree_of(goal: str) -> Tree:
    return proof_tree(ask(OFFERED, goal, offer_tables()))


def test_a_pattern_is_one_step_of_the_reasoning() -> None:
    tree = tree_of("nested(c, 5, FR)")
    (root,) = (tree.steps[number] for number in tree.roots)
    assert root.reasoning == (
        'w of c is $Both($AtLeast(5), $In("FR")), of the form '
        "Both(cond 2, cond 3), and $AtLeast(5) is of the form AtLeast(least), and "
        '$In("FR") is of the form In(k)'
    )
    assert "constructor_of" not in root.rule_text + root.reasoning
    assert "?cond_1 = $Both(?cond_2, ?cond_3)" in root.rule_text


def test_a_structure_that_is_made_is_told_once() -> None:
    tree = tree_of('made([1900, "EUR"])')
    (root,) = (tree.steps[number] for number in tree.roots)
    assert root.reasoning.endswith('m is [1900, "EUR"], of the form [twice, "EUR"]')


def test_a_sentence_has_the_structure_in_it() -> None:
    tree = tree_of("free(a)")
    assert 'a was offered [950, "EUR"] where $In("FR")' in {one.sentence for one in tree.steps}


def test_a_sentence_of_a_rule_has_the_structure_of_its_head_once() -> None:
    tree = tree_of("turned(c, ?w)")
    (root,) = (tree.steps[number] for number in tree.roots)
    assert root.reasoning == 'c turned its condition into $Both($In("FR"), $AtLeast(5))'


def refuted(goal: str, **tables: Table) -> Refutation:
    given_tables = offer_tables(**tables)
    decision = ask(OFFERED, goal, given_tables)
    return refute(LazyEngine(), decision, given_tables, Limits())


def stop_of(goal: str) -> Obstacle:
    stop = refuted(goal).lacking[0].attempts[0].stop
    assert stop is not None
    return stop


def test_a_structure_of_another_branch_is_told_from_the_wanted_form() -> None:
    stop = stop_of("nested(b, ?least, ?k)")
    assert stop.literal == "?cond_1 = $Both(?cond_2, ?cond_3)"
    assert (stop.actual, stop.required) == ("$AtLeast/1", "= $Both(?cond_2, ?cond_3)")
    assert stop.sentence.endswith("is $AtLeast(5), not of the form Both(cond 2, cond 3)")
    assert (stop.distance, float(stop.gap)) == ("", 1.0)


def test_a_field_that_is_another_is_told_with_its_distance() -> None:
    stop = stop_of("nested(c, 7, FR)")
    assert stop.literal == "?cond_2 = $AtLeast(?least)"
    assert (stop.actual, stop.required, stop.distance) == ("5", "= 7", "2")
    assert stop.sentence == "$AtLeast(5) is not of the form AtLeast(7.0)"


def test_structures_of_other_branches_are_equally_far() -> None:
    offers = (
        ("a", '[950, "EUR"]', '$In("FR")'),
        ("b", '[2000, "USD"]', "$AtLeast(5)"),
        ("e", '[950, "EUR"]', "$Nobody"),
    )
    attempt = refuted("nested(?c, 7, ?k)", offer=Table(offers)).lacking[0].attempts[0]
    # In the order met, and not by how much the names of their branches resemble the wanted one.
    assert [one.fact[7] for one in attempt.candidates] == ["a", "b", "e"]


def test_a_threshold_on_a_field_has_its_distance() -> None:
    stop = stop_of("big(a)")
    assert (stop.literal, stop.distance) == ("?amount > 1000.0", "50")


def test_fields_of_a_structure_of_another_branch_are_no_obstacles_besides() -> None:
    attempt = refuted("nested(d, 7, FR)").lacking[0].attempts[0]
    assert attempt.stop is not None
    told = [attempt.stop.literal, *(one.literal for one in attempt.others)]
    assert told == ["?cond_2 = $AtLeast(?least)", "?cond_3 = $In(?k)"]
    assert [one.actual for one in attempt.others] == ["$Nobody/0"]


def test_a_field_that_is_not_there_has_no_value_that_fails() -> None:
    attempt = refuted("demanding(d)").lacking[0].attempts[0]
    assert attempt.stop is not None
    assert attempt.stop.literal == "?cond_2 = $AtLeast(?least)"
    assert [one.literal for one in attempt.others] == ["?cond_3 = $In(?k)"]


def test_a_pattern_of_which_two_fields_are_others_fails_once() -> None:
    attempt = refuted("worth(a, 7, DE)").lacking[0].attempts[0]
    assert attempt.stop is not None
    assert attempt.stop.sentence.endswith('is [950, "EUR"], not of the form [7.0, "DE"]')
    assert attempt.others == ()


def test_literals_are_counted_as_they_are_written() -> None:
    attempt = refuted("nested(d, 7, FR)").lacking[0].attempts[0]
    assert (attempt.reached, attempt.of) == (2, 4)
    assert attempt.holds[1].startswith("$Both(")
    assert attempt.holds[1].endswith('= $Both($In("FR"), $Nobody)')


@pytest.mark.parametrize(("goal", "code", "place"), [("big(a)", "R2", 2), ("big(b)", "R1", 1)])
def test_a_reason_code_stays_with_its_literal(goal: str, code: str, place: int) -> None:
    (reason,) = principal_reasons(refuted(goal))
    assert (reason.code, reason.place) == (code, place)


def test_what_is_unknown_of_a_structure_is_asked_as_it_is_written() -> None:
    tables = offer_tables(offer=Table(open=(("c", '[1, "EUR"]', OPEN),)))
    tree = proof_tree(ask(OFFERED, "nested(c, ?least, ?k)", tables))
    assert "field_of" not in tree.attempts[0].sentence
    assert "constructor_of" not in tree.attempts[0].sentence
    form = "the w of c is of the form Both(AtLeast(least), In(k))"
    assert tree.attempts[0].sentence.count(form) == 1
    assert "cond" not in tree.attempts[0].sentence


# ------------------------------------------------------------------ laws and bounds


def trees(depth: int = 4) -> st.SearchStrategy[str]:
    leaf = st.integers(-9, 9).map(lambda number: f"$Number({number})")
    return st.recursive(
        leaf,
        lambda inner: st.builds(
            "${}({}, {})".format, st.sampled_from(["Add", "Mul"]), inner, inner
        ),
        max_leaves=2**depth,
    )


def value_of(text: str) -> int:
    """Evaluate an expression with Python's own grammar."""
    text = text.replace("$Number", "").replace("$Add", "add").replace("$Mul", "mul")
    names = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}
    return int(eval(text, {"__builtins__": {}}, names))  # noqa: S307  digits and two names


@given(trees())
@settings(max_examples=25)
def test_an_evaluator_gives_what_python_gives(text: str) -> None:
    tables = {**expression_tables(), "expr": Table(((text,),))}
    decision = ask(EXPRESSED, f"value({text}, ?n)", tables)
    assert [row for _, row in decision.answers] == [(text, value_of(text))]
    assert ask(EXPRESSED, f"value({text}, {value_of(text) + 1})", tables).verdict.value == (
        "DISPROVED"
    )


def test_texts_that_grow_with_the_square_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[decide.__module__], "MOST_TEXT", 60)
    decision = decide(
        LazyEngine(),
        EXPRESSED,
        goal_of(EXPRESSED, "length([3, [1, [2, nil]]], ?n)"),
        expression_tables(),
        Limits(),
    )
    assert decision.verdict.value == "UNRESOLVED"
    assert "too large" in decision.limit
    assert checked(certificate(decision)).verdict == "UNRESOLVED"


@pytest.mark.parametrize(("claimed", "verdict"), [("?n", "PROVED"), ("5", "DISPROVED")])
def test_structures_are_counted_as_they_are_written_down(
    claimed: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{'[10000000000, ' * 60}nil{']' * 60}"
    tables = {**expression_tables(), "list": Table(((text,),))}
    goal = f"length({text}, {claimed})"
    decision = ask(EXPRESSED, goal, tables)
    assert decision.verdict.value == verdict
    entries = json.loads(certificate(decision))["values"]
    assert len(entries) == 59
    size = sum(len(canonical(entry)) for entry in entries)
    for most, found in ((2 * size, verdict), (size - 1, "UNRESOLVED")):
        monkeypatch.setattr(sys.modules[decide.__module__], "MOST_TEXT", most)
        assert ask(EXPRESSED, goal, tables).verdict.value == found


def test_a_certificate_of_a_refuted_pattern_lists_no_more_than_it_must() -> None:
    found = json.loads(certificate(ask(OFFERED, "nested(b, ?least, ?k)", offer_tables())))
    assert [one["rows"] for one in found["facts"]] == [[["b", '[2000, "USD"]', "$AtLeast(5)"]]]
    assert found["closure"]["rows"] == []


def test_a_walk_down_a_long_list_is_told_in_lines_that_end() -> None:
    numbers = range(400)
    text = f"{'[10000000000, ' * len(numbers)}nil{']' * len(numbers)}"
    tables = {**expression_tables(), "list": Table(((text,),))}
    tree = proof_tree(ask(EXPRESSED, f"length({text}, ?n)", tables))
    told = render_tree(tree).splitlines()
    assert max(map(len, told[1:])) < 9_000
    assert f"({len(tree.steps[0].fact):,} characters)" in "\n".join(told)
