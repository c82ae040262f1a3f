"""What the engine asks for, what it finds, and when it stops."""

from __future__ import annotations

import time

import pytest

from constat.engine import LazyEngine
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    Assumption,
    FactDerivation,
    Limits,
    Opening,
    RuleDerivation,
)
from constat.logic import OPEN, Atom, Constant, Positive, Row, Variable
from tests.engine.tables import Table, program, run

EDGES = """
.decl edge(a: number, b: number)
.input edge(source="t", query="q")
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
"""
LEFT = EDGES + "path(?a, ?c) :- path(?a, ?b), edge(?b, ?c)."
RIGHT = EDGES + "path(?a, ?c) :- edge(?a, ?b), path(?b, ?c)."
DOUBLE = EDGES + "path(?a, ?c) :- path(?a, ?b), path(?b, ?c)."
SHAPES = pytest.mark.parametrize("rules", [LEFT, RIGHT, DOUBLE], ids=["left", "right", "double"])

VIP = """
.decl customer(c: symbol)
.input customer(source="t", query="q")
.decl tier(c: symbol, t: symbol)
.input tier(source="t", query="q")
.decl sale(c: symbol, o: number, v: number)
.input sale(source="t", query="q")
.decl blocked(c: symbol)
.input blocked(source="t", query="q")
.decl threshold(x: number)
.input threshold(source="config", key="threshold")
.decl revenue(c: symbol, t: number)
revenue(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(?c, _o, ?v) }.
.decl is_vip(c: symbol)
is_vip(?c) :- tier(?c, "gold"), !blocked(?c).
is_vip(?c) :- revenue(?c, ?t), threshold(?x), ?t > ?x, !blocked(?c).
"""


def vip_tables() -> dict[str, Table]:
    return {
        "customer": Table([("a",), ("b",), ("c",), ("d",)]),
        "tier": Table([("a", "gold"), ("b", "silver"), ("d", "gold")]),
        "sale": Table([("b", 1, 700), ("b", 2, 700), ("c", 3, 10)]),
        "blocked": Table([("d",)]),
        "threshold": Table([(1000,)], cost=1),
    }


def chain(length: int) -> Table:
    return Table([(place, place + 1) for place in range(length)])


@SHAPES
def test_closure_of_a_cycle_ends_and_is_whole(rules: str) -> None:
    tables = {"edge": Table([(0, 1), (1, 2), (2, 0), (3, 3)])}
    outcome = run(rules, "path(?a, ?b)", tables, exhaust=True)
    found = set(outcome.rows("path", CERTAIN))
    assert found == {(a, b) for a in range(3) for b in range(3)} | {(3, 3)}


@SHAPES
def test_a_bound_goal_asks_only_for_what_it_reaches(rules: str) -> None:
    tables = {"edge": Table([(0, 1), (1, 2), (10, 11), (11, 12)])}
    outcome = run(rules, "path(0, ?b)", tables, exhaust=True)
    assert set(outcome.rows("path", CERTAIN)) >= {(0, 1), (0, 2)}
    asked = {key for demand in tables["edge"].demands for key in demand.keys}
    assert all(demand.columns for demand in tables["edge"].demands)
    assert not any(10 in key or 11 in key for key in asked)


@SHAPES
def test_every_derivation_rests_on_older_rows(rules: str) -> None:
    outcome = run(rules, "path(0, 40)", {"edge": chain(40)})
    waiting: list[tuple[str, Row]] = [("path", (0, 40))]
    steps = 0
    while waiting:
        derivation = outcome.derivation(*waiting.pop(), CERTAIN)
        steps += 1
        if isinstance(derivation, RuleDerivation):
            body = outcome.program.rules[derivation.rule].body
            for literal, premise in zip(body, derivation.premises, strict=True):
                assert isinstance(literal, Positive)
                assert premise is not None
                waiting.append((literal.atom.predicate, premise))
    assert steps >= 79


def test_a_settled_goal_calls_nothing_dearer() -> None:
    tables = vip_tables()
    outcome = run(VIP, "is_vip(a)", tables)
    assert outcome.strength(outcome.goal) == CERTAIN
    assert not tables["sale"].demands
    assert outcome.stopped == "settled"


def test_all_means_that_every_rule_is_tried() -> None:
    tables = vip_tables()
    run(VIP, "is_vip(a)", tables, exhaust=True)
    assert tables["sale"].demands


def test_a_false_branch_decides_before_dearer_literals() -> None:
    tables = vip_tables()
    outcome = run(VIP, "is_vip(d)", tables)
    assert outcome.strength(outcome.goal) == ABSENT
    assert not tables["sale"].demands


@pytest.mark.parametrize(("customer", "strength"), [("a", 3), ("b", 3), ("c", -1), ("zz", -1)])
def test_verdicts_of_the_vip_rules(customer: str, strength: int) -> None:
    outcome = run(VIP, f"is_vip({customer})", vip_tables())
    assert outcome.strength(outcome.goal) == strength


def calls_over(size: int) -> int:
    tables = {
        "customer": Table([(f"c{n}",) for n in range(size)]),
        "tier": Table([]),
        "sale": Table([(f"c{n}", n, n * 10) for n in range(size)]),
        "blocked": Table([("c1",)]),
        "threshold": Table([(5,)], cost=1),
    }
    outcome = run(VIP, "is_vip(?c)", tables, exhaust=True)
    assert len(set(outcome.rows("is_vip", CERTAIN))) == size - 2
    return len(outcome.calls)


def test_calls_do_not_grow_with_the_number_of_keys() -> None:
    assert calls_over(3) == calls_over(300) <= 6


def test_an_unanswered_key_is_open_and_not_empty() -> None:
    tables = vip_tables()
    tables["sale"].unknown = frozenset({("c",)})
    outcome = run(VIP, "is_vip(c)", tables)
    assert outcome.strength(outcome.goal) == POSSIBLE


def test_an_unknown_fact_does_not_hide_a_known_counterexample() -> None:
    tables = vip_tables()
    tables["tier"].unknown = frozenset({("d",), ("d", "gold")})
    outcome = run(VIP, "is_vip(d)", tables)
    assert outcome.strength(outcome.goal) == ABSENT


def test_negation_of_an_unknown_fact_is_unknown() -> None:
    tables = vip_tables()
    tables["blocked"].unknown = frozenset({("a",)})
    assert run(VIP, "is_vip(a)", tables).strength is not None
    outcome = run(VIP, "is_vip(a)", tables)
    assert outcome.strength(outcome.goal) == POSSIBLE


def test_an_assumed_fact_proves_in_the_accepted_reading_only() -> None:
    tables = vip_tables()
    tables["tier"].assumed = [("c", "gold")]
    outcome = run(VIP, "is_vip(c)", tables)
    assert outcome.strength(outcome.goal) == ACCEPTED
    derivation = outcome.derivation("is_vip", ("c",), ACCEPTED)
    assert isinstance(derivation, RuleDerivation)
    leaf = outcome.derivation("tier", ("c", "gold"), ACCEPTED)
    assert isinstance(leaf, FactDerivation)
    assert leaf.assumption is not None


def test_a_declared_closure_disproves_in_the_accepted_reading_only() -> None:
    tables = vip_tables()
    declared = Assumption("closure", "tier", "bob declares tier complete")
    tables["tier"].openings = (Opening(("c", OPEN), "not complete", "user", declared),)
    outcome = run(VIP, "is_vip(c)", tables)
    assert outcome.strength(outcome.goal) == CONCEIVABLE


def test_an_aggregate_over_assumed_rows_has_two_readings() -> None:
    tables = vip_tables()
    tables["sale"].assumed = [("c", 9, 5000)]
    outcome = run(VIP, "is_vip(c)", tables)
    assert outcome.strength(outcome.goal) == ACCEPTED
    assert ("c", 5010) in set(outcome.rows("revenue", ACCEPTED))
    assert ("c", OPEN) in set(outcome.rows("revenue", CONCEIVABLE))


def test_an_instance_that_errs_keeps_its_head_possible() -> None:
    rules = """
    .decl ratio(c: symbol, a: number, b: number)
    .input ratio(source="t", query="q")
    .decl good(c: symbol)
    good(?c) :- ratio(?c, ?a, ?b), ?a / ?b > 2.
    """
    table = Table([("x", 10, 0), ("y", 10, 2), ("z", 1, 1)])
    outcome = run(rules, "good(?c)", {"ratio": table}, exhaust=True)
    assert set(outcome.rows("good", CERTAIN)) == {("y",)}
    assert set(outcome.rows("good", POSSIBLE)) == {("x",), ("y",)}
    assert "zero" in outcome.failures[0].reason
    assert outcome.failures[0].bindings["a"] == "10"


def test_an_assumed_rule_gives_no_certain_rows() -> None:
    rules = """
    .decl p(x: number)
    .input p(source="t", query="q")
    .decl q(x: number)
    @[confidence = 0.9]
    q(?x) :- p(?x).
    """
    outcome = run(rules, "q(1)", {"p": Table([(1,)])})
    assert outcome.strength(outcome.goal) == ACCEPTED


@pytest.mark.laws
def test_a_chain_of_five_thousand_predicates_costs_no_call_stack() -> None:
    lines = [".decl p0(x: number)", '.input p0(source="t", query="q")']
    for place in range(1, 5000):
        lines += [f".decl p{place}(x: number)", f"p{place}(?x) :- p{place - 1}(?x)."]
    outcome = run("\n".join(lines), "p4999(1)", {"p0": Table([(1,)])})
    assert outcome.strength(outcome.goal) == CERTAIN


@pytest.mark.parametrize(
    "limits", [Limits(rows=50), Limits(rounds=3), Limits(calls=2), Limits(seconds=0.0)]
)
def test_a_limit_leaves_the_goal_unknown_and_never_false(limits: Limits) -> None:
    outcome = run(LEFT, "path(0, 500)", {"edge": chain(30)}, limits=limits)
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert "limit" in outcome.stopped


def test_counting_up_without_end_stops_at_a_limit() -> None:
    rules = """
    .decl n(x: number)
    n(0).
    n(?y) :- n(?x), ?y = ?x + 1.
    """
    outcome = run(rules, "n(-1)", {}, limits=Limits(rounds=1000))
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert "rounds" in outcome.stopped


def test_a_cross_product_stops_before_memory_does() -> None:
    rules = """
    .decl a(x: number)
    .input a(source="t", query="q")
    .decl b(x: number, y: number, z: number)
    b(?x, ?y, ?z) :- a(?x), a(?y), a(?z).
    """
    table = Table([(n,) for n in range(1000)])
    outcome = run(rules, "b(-1, ?y, ?z)", {"a": table}, limits=Limits(rows=100_000))
    assert outcome.strength(outcome.goal) == ABSENT
    outcome = run(rules, "b(?x, ?y, ?z)", {"a": table}, limits=Limits(rows=100_000), exhaust=True)
    assert "joins more than" in outcome.stopped


def test_mutual_recursion_with_negation_below() -> None:
    rules = """
    .decl edge(a: number, b: number)
    .input edge(source="t", query="q")
    .decl odd(a: number, b: number)
    .decl even(a: number, b: number)
    odd(?a, ?b) :- edge(?a, ?b).
    odd(?a, ?c) :- even(?a, ?b), edge(?b, ?c).
    even(?a, ?c) :- odd(?a, ?b), edge(?b, ?c).
    .decl only_odd(a: number, b: number)
    only_odd(?a, ?b) :- odd(?a, ?b), !even(?a, ?b).
    """
    outcome = run(rules, "only_odd(0, ?b)", {"edge": chain(6)}, exhaust=True)
    assert set(outcome.rows("only_odd", CERTAIN)) == {(0, 1), (0, 3), (0, 5)}


def test_a_goal_with_a_repeated_variable_matches_equal_columns_only() -> None:
    analysed = program(LEFT)
    twice = Atom("path", (Variable("x"), Variable("x")))
    outcome = LazyEngine().evaluate(analysed, twice, {"edge": chain(4)}, Limits(), exhaust=True)
    assert outcome.strength(outcome.goal) == ABSENT


def test_an_external_without_an_answerer_is_open() -> None:
    outcome = run(LEFT, "path(0, 1)", {})
    assert outcome.strength(outcome.goal) == POSSIBLE


def test_a_derivation_is_refused_for_rows_that_do_not_hold() -> None:
    outcome = run(LEFT, "path(0, 1)", {"edge": chain(3)})
    with pytest.raises(KeyError):
        outcome.derivation("path", (5, 1), CERTAIN)


def test_facts_of_the_rules_are_found_by_their_columns_and_explained_by_their_rule() -> None:
    facts = "".join(f"edge({n}, {n + 1}).\n" for n in range(50))
    rules = LEFT.replace('.input edge(source="t", query="q")\n', "") + facts
    outcome = run(rules, "path(0, 50)", {})
    assert outcome.strength(outcome.goal) == CERTAIN
    derivation = outcome.derivation("edge", (7, 8), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    stated = outcome.program.rules[derivation.rule]
    assert [term.value for term in stated.head.terms if isinstance(term, Constant)] == [7, 8]


def test_derivations_are_found_after_the_deadline_of_the_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcome = run(LEFT, "path(0, 30)", {"edge": chain(30)})
    late = time.monotonic() + Limits().seconds + 1
    monkeypatch.setattr(time, "monotonic", lambda: late)
    assert isinstance(outcome.derivation("path", (0, 30), CERTAIN), RuleDerivation)


def test_the_row_limit_holds_where_the_recursive_literal_comes_last() -> None:
    rules = """
    .decl n(x: number)
    n(0).
    n(?x + 1) :- n(?x).
    """
    outcome = run(rules, "n(-1)", {}, limits=Limits(rows=1000))
    assert "1,000 rows" in outcome.stopped


def test_an_unknown_premise_does_not_hide_that_the_next_one_is_false() -> None:
    rules = """
    .decl p(x: symbol, y: number)
    .input p(source="t", query="q")
    .decl q(y: number, z: symbol)
    .input q(source="t", query="q")
    .decl r(x: symbol)
    r(?x) :- p(?x, ?y), q(?y, "good").
    """
    tables = {"p": Table([], unknown=frozenset({("a",)})), "q": Table([(1, "bad")])}
    outcome = run(rules, "r(a)", tables)
    assert outcome.strength(outcome.goal) == ABSENT
    assert [demand.columns for demand in tables["q"].demands] == [(1,)]
    tables["q"] = Table([(1, "bad")], cost=1000)
    outcome = run(rules, "r(a)", tables)
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert not tables["q"].demands
