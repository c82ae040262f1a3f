"""Recursive totals in proofs: what is listed, how it reads, how far a goal is from its bound."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from constat.evaluation import Assumption, Limits, Verdict
from constat.logic import OPEN
from constat.proof import proof_tree, render_tree
from constat.proof.derivations import Open, Waiting
from constat.proof.export.graph import to_graphml
from constat.proof.export.prov import to_prov_json
from constat.proof.sentences import speech_in
from constat.proof.slices import Summand
from tests.proof.asking import Table, analysed, ask, certificate, checked

if TYPE_CHECKING:
    from constat.proof import Decision
    from constat.proof.tree import Step

RULES = """
.decl own(x: symbol, y: symbol, w: KIND)
.input own(source="register", query="SELECT x, y, w FROM own")
@[says = "{x} holds {w} % of {y} through {via}"]
.decl holds(x: symbol, via: symbol, y: symbol, w: KIND)
holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).
holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w), ?x != ?z.
.decl controls(x: symbol, y: symbol)
controls(?x, ?y) :- holds(?x, _, ?y, _), sum ?w : { holds(?x, _via, ?y, ?w)GUARD } > 50.
"""
ROWS = (
    ("a", "b", 60),
    ("b", "c", 30),
    ("a", "c", 25),
    ("d", "c", 45),
    ("b", "e", 15),
    ("a", "e", 9),
)


def rules(kind: str = "number", guard: str = ", ?w >= 0") -> str:
    return RULES.replace("KIND", kind).replace("GUARD", guard)


def told(goal: str, table: Table, text: str = rules(), **more: bool) -> Decision:
    return ask(analysed(text), goal, {"own": table}, **more)  # type: ignore[arg-type]


def totals(decision: Decision) -> list[Step]:
    return [step for step in proof_tree(decision).steps if step.kind == "aggregate"]


def test_a_proof_lists_no_more_rows_than_reach_the_bound() -> None:
    decision = told("controls(a, c)", Table((*ROWS, ("a", "c", 10), ("a", "c", 7))))
    top, below = totals(decision)
    assert top.fact == "sum of w >= 55 (2 rows listed)"
    assert top.sentence == "the sum of w over holds is at least 55"
    assert (top.note, top.hidden_rows, len(top.premises)) == ("", 0, 2)
    assert below.fact == "sum of w >= 60 (1 row listed)"
    text = render_tree(proof_tree(decision))
    assert "sum of w is at least 55, more than 50" in text


def test_a_proof_says_that_no_row_takes_from_the_sum_where_the_rule_does_not() -> None:
    decision = told("controls(a, c)", Table(ROWS), rules(guard=""))
    assert {step.note for step in totals(decision)} == {
        "no row that may belong to it is below zero"
    }
    guarded = told("controls(a, c)", Table(ROWS))
    assert len(certificate(guarded)) < len(certificate(decision))


def test_a_guarded_proof_needs_no_row_beyond_those_it_lists() -> None:
    for table in (Table(ROWS, open=(("a", OPEN, OPEN),)), Table((*ROWS, ("b", "c", -20)))):
        assert told("controls(a, c)", table).verdict is Verdict.PROVED
        assert told("controls(a, c)", table, rules(guard="")).verdict is Verdict.UNRESOLVED


def test_a_negative_row_is_the_reason_why_a_goal_stays_open() -> None:
    decision = told("controls(a, c)", Table((*ROWS, ("b", "c", -20))), rules(guard=""))
    shown = render_tree(proof_tree(decision))
    assert "-20 is negative, and a recursive sum must not fall" in shown
    assert [failure.reason for failure in decision.outcome.failures] == [
        "-20 is negative, and a recursive sum must not fall"
    ]


def test_a_goal_that_stays_below_its_bound_says_how_far() -> None:
    decision = told("controls(a, e)", Table(ROWS))
    (attempt,) = proof_tree(decision).attempts
    assert decision.verdict is Verdict.DISPROVED
    assert (attempt.literal, attempt.actual) == ("?sum_1 > 50", "24")
    assert (attempt.required, attempt.distance) == ("> 50", "26")
    assert attempt.sentence == "the sum is 24 at most, and more than 50 is needed"


def test_how_far_a_goal_stays_below_is_said_in_the_numbers_of_a_language() -> None:
    rows = (("a", "b", Decimal("24.75")),)
    decision = told("controls(a, b)", Table(rows), rules("Decimal", ", ?w >= 0.0"))
    (attempt,) = proof_tree(decision, speech_in("de_DE")).attempts
    assert "24,75" in attempt.sentence


def test_a_goal_that_an_open_row_may_carry_says_so() -> None:
    decision = told("controls(d, c)", Table(ROWS, open=(("d", "c", OPEN),)))
    (attempt,) = proof_tree(decision).attempts
    assert (decision.verdict, attempt.state) == (Verdict.UNRESOLVED, "open")
    assert attempt.sentence == "it would, if the sum of w is more than 50"
    assert decision.missing == (("own", ("d", "c", OPEN)),)


@pytest.mark.parametrize("guard", ["", ", ?w >= 0"])
def test_a_word_that_a_total_needs_is_an_assumption(guard: str) -> None:
    table = Table(ROWS, said=((("d", "c", 6), "0.9"), (("d", "b", 3), "0.5")))
    decision = told("controls(d, c)", table, rules(guard=guard))
    assert (decision.verdict, decision.confidence) == (Verdict.PROVED_UNDER, Decimal("0.9"))
    assert [one.kind for one in decision.assumptions] == ["fact"]


@pytest.mark.parametrize("guard", ["", ", ?w >= 0"])
def test_an_exhausted_search_lists_the_most_confident_rows(guard: str) -> None:
    said = ((("d", "c", 40), "0.5"), (("d", "c", 6), "0.9"), (("d", "c", 5), "0.8"))
    decision = told("controls(d, c)", Table(ROWS, said=said), rules(guard=guard))
    assert (decision.confidence, decision.exact) == (Decimal("0.5"), False)
    decision = told("controls(d, c)", Table(ROWS, said=said), rules(guard=guard), exhaust=True)
    assert (decision.confidence, decision.exact) == (Decimal("0.9"), True)
    (step,) = totals(decision)
    assert step.fact == "sum of w >= 51 (2 rows listed)"


CLOSED = Assumption("closure", "own", "the register is complete", Decimal("0.8"))


def test_a_total_that_nothing_guards_is_worth_what_closes_its_group() -> None:
    table = Table(ROWS, closed=CLOSED)
    decision = told("controls(a, c)", table, rules(guard=""))
    assert (decision.verdict, decision.confidence) == (Verdict.PROVED_UNDER, Decimal("0.8"))
    assert decision.assumptions == (CLOSED,)
    assert {step.confidence for step in totals(decision)} == {"0.8"}
    guarded = told("controls(a, c)", table)
    assert (guarded.verdict, guarded.confidence) == (Verdict.PROVED, Decimal(1))


def test_an_exhausted_search_prefers_what_needs_no_closure() -> None:
    text = rules(guard="") + "controls(?x, ?y) :- own(?y, ?x, 1)."
    table = Table(ROWS, said=((("c", "a", 1), "0.9"),), closed=CLOSED)
    decision = told("controls(a, c)", table, text, exhaust=True)
    assert (decision.confidence, decision.exact) == (Decimal("0.9"), True)
    assert totals(decision) == []


def test_of_the_settled_summands_the_greatest_are_kept() -> None:
    waiting = [Waiting(Summand((value,), (("p", (value,)),)), value, 1) for value in (1, 60, 2, 9)]
    total = Open(0, 0, ">", 65, needs_absence=False, waiting=waiting)
    for one in waiting:
        assert not total.reached
        total.settle(one)
    assert total.reached
    assert [one.values for one in total.listed().summands] == [(60,), (9,)]
    assert total.listed().total == 69


@pytest.mark.parametrize("bounds", [(80, 20, 90), (20, 80, 90), (90, 80, 20)])
def test_the_instance_that_is_shown_is_one_whose_bound_is_exceeded(
    bounds: tuple[int, ...],
) -> None:
    limited = rules().replace("sum ?w", "limit(?y, ?k), sum ?w").replace("> 50", "> ?k")
    text = '.decl limit(y: symbol, k: number)\n.input limit(source="register")\n' + limited
    tables = {"own": Table(ROWS), "limit": Table(tuple(("b", bound) for bound in bounds))}
    decision = ask(analysed(text), "controls(a, b)", tables)
    (step,) = totals(decision)
    assert (decision.verdict, step.fact) == (Verdict.PROVED, "sum of w >= 60 (1 row listed)")
    assert ("limit", ("b", 20)) in decision.proof.nodes


def test_exports_lead_from_a_total_to_each_row_it_lists() -> None:
    decision = told("controls(a, c)", Table(ROWS))
    data = certificate(decision)
    document = json.loads(data)
    goal = len(document["nodes"]) - 1
    listed = {one for _, premises in document["nodes"][goal]["premises"][1] for one in premises}
    listed -= {None}
    assert len(listed) == 2
    edges = {
        (edge.get("source"), edge.get("target"))
        for edge in ET.fromstring(to_graphml(data)).iter()  # noqa: S314  our own text
        if edge.tag.endswith("edge")
    }
    total = f"aggregate{goal}_2"
    assert {(f"node{goal}", total), *((total, f"node{one}") for one in listed)} <= edges
    (bundle,) = json.loads(to_prov_json(data))["bundle"].values()
    members = {(one["prov:collection"], one["prov:entity"]) for one in bundle["hadMember"].values()}
    assert {(f"proof:rows-{total}", f"proof:node{one}") for one in listed} <= members


def test_a_limit_in_the_middle_of_a_total_leaves_the_goal_open() -> None:
    for rounds in range(1, 9):
        limits = Limits(rounds=rounds)
        for guard in ("", ", ?w >= 0"):
            program = analysed(rules(guard=guard))
            decision = ask(program, "controls(a, c)", {"own": Table(ROWS)}, limits=limits)
            assert decision.verdict in {Verdict.PROVED, Verdict.UNRESOLVED}
            assert checked(certificate(decision)).accepted


@pytest.mark.laws
def test_a_long_chain_of_control_is_one_proof() -> None:
    chain = tuple((f"c{n:04}", f"c{n + 1:04}", 60) for n in range(400))
    decision = told("controls(c0000, c0400)", Table(chain))
    assert decision.verdict is Verdict.PROVED
    assert len(decision.proof.nodes) > 1000


def test_decimals_and_counts_read_like_numbers() -> None:
    decimals = tuple((x, y, Decimal(w) + Decimal("0.5")) for x, y, w in ROWS)
    text = rules("Decimal", ", ?w >= 0.5").replace("> 50", "> 50.0")
    assert totals(told("controls(a, c)", Table(decimals), text))[0].fact.startswith(
        "sum of w >= 56"
    )
    counting = rules().replace("sum ?w : { holds(?x, _via, ?y, ?w), ?w >= 0 } > 50", "TEST")
    counting = counting.replace("TEST", "count : { holds(?x, _via, ?y, _w) } >= 2")
    doubled = tuple((x, y, w + more) for x, y, w in ROWS for more in (0, 1))
    (step, *_) = totals(told("controls(a, b)", Table(doubled), counting))
    assert step.fact == "count >= 2 (2 rows listed)"


def test_a_threshold_comes_behind_what_binds_its_bound_where_all_is_open() -> None:
    text = """
    .decl e(a: number)
    .input e(source = "s", query = "q")
    .decl p(a: symbol)
    p("1") :- ?n = count : { p(_any) }, e(?x), ?n >= (?x + ?x).
    """
    decision = ask(analysed(text), "p(1)", {"e": Table(silent=True)})
    assert decision.verdict is Verdict.UNRESOLVED
