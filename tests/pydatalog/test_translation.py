"""From analysed logic to clauses: order, shared relations, and the way across the pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from constat.logic import Kind
from constat.pydatalog.translation import (
    Computation,
    Condition,
    Literal,
    Premise,
    Same,
    Summary,
    needed,
    ordered,
    translate,
)
from constat.pydatalog.wire import read_answer, read_question, write_question, write_reason
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program
from tests.property.strategies import EXACT, Case, cases
from tests.pydatalog.asking import LIMITS, ask, declared

if TYPE_CHECKING:
    from constat.pydatalog import PyDatalogEngine
    from constat.pydatalog.translation import Question

NUMBER = Kind.NUMBER


def question(rules: str, goal: str) -> Question:
    found = program(rules)
    return translate(found, parse_goal(goal, found.program), {})


def order(*literals: Literal, given: tuple[str, ...] = ()) -> list[int]:
    """Give the places of the literals in the order in which they are taken."""
    return [literals.index(one) for one in ordered(literals, given, shared=9)]


def divided(left: str, right: str, result: str) -> Computation:
    return Computation("/", (NUMBER, NUMBER), NUMBER, (left, right), result)


def added(left: str, right: str, result: str) -> Computation:
    return Computation("+", (NUMBER, NUMBER), NUMBER, (left, right), result)


def test_what_may_err_comes_last() -> None:
    body = (divided("x", "y", "z"), Premise(1, ("x", "y")), Premise(2, ("y",)))
    assert order(*body, Condition("!=", NUMBER, "y", 0)) == [1, 3, 2, 0]


def test_what_is_computed_without_errors_narrows_the_next_atom() -> None:
    assert order(Premise(1, ("x",)), Premise(2, ("y",)), added("x", "x", "y")) == [0, 2, 1]


def test_the_atom_with_most_bound_terms_is_next() -> None:
    body = (Premise(1, ("x",)), Premise(2, ("z", "w")), Premise(3, ("x", "z")))
    assert order(*body) == [0, 2, 1]


def test_a_negated_atom_waits_for_what_another_literal_binds_and_for_nothing_else() -> None:
    denied = Premise(1, ("x", "any"), negated=True)
    assert order(denied, Premise(2, ("x",))) == [1, 0]
    assert order(denied, given=("x",)) == [0]


def test_an_aggregate_waits_for_its_group() -> None:
    count = Summary("count", None, NUMBER, 5, ("x",), 1, "n")
    assert order(count, Premise(1, ("x", "n"))) == [1, 0]
    assert order(count, divided("y", "y", "x"), Premise(1, ("y",))) == [2, 1, 0]


def test_the_shared_relation_is_first() -> None:
    assert order(Premise(1, ("x",)), Premise(9, (0, "x"))) == [1, 0]


def test_a_body_without_an_order_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="order"):
        order(Condition("<", NUMBER, "x", "y"))


CIRCLE = declared({"e": "a: number", "p": "a: number", "q": "a: number, b: number"}, "e") + (
    "p(?x) :- e(?x).\np(?x) :- q(?x, ?y), e(?y).\nq(?x, ?x) :- p(?x).\n"
)


def test_predicates_that_use_each_other_share_a_relation() -> None:
    found = question(CIRCLE, "q(1, ?b)")
    (stage,) = found.stages
    assert {clause.head.relation for clause in found.clauses} == {stage.relation}
    assert found.arities[stage.relation] == 3, "a tag and the wider of the two"
    tags = {clause.head.terms[0] for clause in found.clauses}
    assert tags == set(range(len(stage.members)))
    assert found.goal.relation in {relation for relation, _ in stage.members}


def test_a_shared_relation_is_asked_for_all_of_its_rows() -> None:
    # Asked for less it would be several subgoals, which may wait for each other for ever.
    found = question(CIRCLE, "q(1, ?b)")
    (stage,) = found.stages
    asked = [
        one
        for clause in found.clauses
        for one in clause.body
        if isinstance(one, Premise) and one.relation == stage.relation
    ]
    assert asked
    for one in asked:
        assert all(isinstance(term, str) for term in one.terms)
        assert len(set(one.terms)) == len(one.terms)
    assert any(isinstance(one, Same) for clause in found.clauses for one in clause.body)


def test_rows_from_outside_of_a_recursive_predicate_join_the_derived_ones(
    engine: PyDatalogEngine,
) -> None:
    rules = '.decl p(a: number)\n.input p(source="m")\np(?y) :- p(?x), ?x < 3, ?y = ?x + 1.\n'
    assert ask(engine, rules, "p(?x)", ["p(1)", "p(7)"]).rows == {(1,), (2,), (3,), (7,)}


def test_only_what_the_goal_needs_is_translated() -> None:
    rules = declared({"e": "a: number", "p": "a: number", "q": "a: number"}, "e") + (
        "p(?x) :- e(?x).\nq(?x) :- p(?x).\n"
    )
    found = program(rules)
    assert needed(found, parse_goal("p(1)", found.program)) == ("p", "e")
    assert len(question(rules, "p(1)").clauses) == 1
    assert len(question(rules, "q(1)").clauses) == 2


def test_two_constants_that_are_equated_derive_nothing() -> None:
    rules = declared({"e": "a: number", "p": "a: number"}, "e") + "p(?x) :- e(?x), 1 = 2.\n"
    assert question(rules, "p(?x)").clauses == ()


def test_equations_are_solved_before_anything_runs(engine: PyDatalogEngine) -> None:
    rules = declared({"e": "a: number", "p": "a: number, b: number"}, "e") + (
        "p(?x, ?z) :- ?y = ?x, ?z = ?w, e(?y), ?w = 5, e(?z).\n"
    )
    (clause,) = question(rules, "p(?a, ?b)").clauses
    assert all(isinstance(one, Premise) for one in clause.body)
    assert ask(engine, rules, "p(?a, ?b)", ["e(1)", "e(5)"]).rows == {(1, 5), (5, 5)}


@given(cases(EXACT))
def test_a_question_is_read_as_it_was_written(case: Case) -> None:
    rows = {
        name: [row for row, _ in case.world.rows.get(name, ())]
        for name in needed(case.program, case.goal)
        if name in case.program.external
    }
    sent = translate(case.program, case.goal, rows)
    assert read_question(write_question(sent)) == sent


def test_an_answer_without_rows_carries_its_reason() -> None:
    assert read_answer(write_reason("it is late"), (NUMBER,)) == "it is late"


def test_a_long_body_is_ordered_quickly(engine: PyDatalogEngine) -> None:
    # Quadratic ordering of 5,000 literals would outlast any limit, before the child's begins.
    count = 5_000
    literals = [Premise(1, (f"x{place}", f"x{place + 1}")) for place in range(count)]
    tests = [Condition("<", NUMBER, f"x{place}", f"x{place + 1}") for place in range(count)]
    found = list(ordered([*tests, *literals], (), None))
    assert len(found) == 2 * count
    assert found[:2] == [literals[0], tests[0]]
    chain = ", ".join(f"?y{place} = ?y{place + 1}" for place in range(2_000))
    rules = declared({"e": "a: number", "p": "a: number"}, "e") + (
        f"p(?y0) :- {chain}, e(?y2000).\n"
    )
    assert ask(engine, rules, "p(?x)", ["e(1)"], LIMITS).rows == {(1,)}
