"""Why a goal does not hold: the nearest candidates, what is lacking, what stands in the way."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.engine import LazyEngine
from constat.evaluation import Assumption, Limits
from constat.logic import Kind
from constat.proof.obstacles import distance
from constat.proof.refutation import Refutation, principal_reasons, refute
from constat.proof.refutation_text import render_refutation
from tests.proof.asking import REACH, VIP, Table, analysed, ask, reach_tables, vip_tables

NUMBERS = """
.decl seen(x: symbol, d: Date, at: Timestamp, n: number)
.input seen(source="s", query="q")
.decl late(x: symbol)
.decl after(x: symbol)
.decl many(x: symbol)
.decl few(x: symbol)
late(?x) :- seen(?x, ?d, _, _), ?d > "2026-03-01".
after(?x) :- seen(?x, _, ?at, _), ?at >= "2026-01-01T00:01:00Z".
many(?x) :- seen(?x, _, _, _), ?n = count : { seen(?x, _d, _at, _n) }, ?n >= 3.
few(?x) :- seen(?x, _, _, ?n), ?n != 7.
"""


def refuted(rules: str, goal: str, tables: dict[str, Table], *, most: int = 40) -> Refutation:
    program = analysed(rules)
    decision = ask(program, goal, tables)
    externals = {name: tables.get(name, Table()) for name in program.external}
    return refute(LazyEngine(), decision, externals, Limits(), most=most)


def seen() -> dict[str, Table]:
    return {"seen": Table((("a", "2026-02-27", "2026-01-01T00:00:18.500000Z", 7),))}


def test_the_rule_that_gets_furthest_tells_value_bound_and_distance() -> None:
    first, second = refuted(VIP, "is_vip(C2)", vip_tables()).lacking[0].attempts
    assert first.stop is not None
    assert (first.reached, first.of, first.tried) == (3, 4, 1)
    assert (first.stop.actual, first.stop.required) == ("10", "> 100,000")
    assert first.stop.distance == "99,990"
    assert first.holds == ('!blocked("C2")', 'revenue("C2", 10.0)', "threshold(100000.0)")
    assert second.stop is not None
    assert second.stop.required == "tier(C2, gold)"


@pytest.mark.parametrize(
    ("goal", "distance_told"),
    [("late(a)", "2 days"), ("after(a)", "41 seconds"), ("many(a)", "2"), ("few(a)", "")],
)
def test_dates_times_counts_and_inequalities_have_distances(goal: str, distance_told: str) -> None:
    (attempt,) = refuted(NUMBERS, goal, seen()).lacking[0].attempts
    assert attempt.stop is not None
    assert attempt.stop.distance == distance_told


@pytest.mark.parametrize(
    ("literal", "actual", "required"),
    [
        ('contains("bus", ?x)', "Air", "contains bus"),
        ('!contains("i", ?x)', "Air", "does not contain i"),
        ('match("B.*", ?x)', "Air", "matches B.*"),
        ('!match("A.*", ?x)', "Air", "does not match A.*"),
    ],
)
def test_of_texts_the_one_that_is_looked_at_is_actual(
    literal: str, actual: str, required: str
) -> None:
    rules = f"""
    .decl t(x: symbol)
    .input t(source="s", query="q")
    .decl p(x: symbol)
    p(?x) :- t(?x), {literal}.
    """
    (attempt,) = refuted(rules, "p(Air)", {"t": Table((("Air",),))}).lacking[0].attempts
    assert attempt.stop is not None
    assert (attempt.stop.actual, attempt.stop.required) == (actual, required)


def test_a_row_that_is_lacking_names_its_source_and_the_nearest_row() -> None:
    found = refuted(VIP, "is_vip(C2)", vip_tables())
    number = found.lacking[0].attempts[1].below[0]
    lacking = found.lacking[number]
    assert (lacking.fact, lacking.nearest) == ("tier(C2, gold)", ("tier(C2, silver)",))
    assert [source.query for source in lacking.sources] == ["SELECT * FROM tier"]


def test_conclusions_that_are_lacking_are_looked_into_once() -> None:
    found = refuted(REACH, "reach(A, D)", reach_tables())
    facts = [one.fact for one in found.lacking]
    assert facts[0] == "reach(A, D)"
    assert set(facts[1:]) == {"owns(A, D)", "owns(B, D)", "owns(C, D)"}
    assert len(facts) == len(set(facts))


def test_what_is_beyond_the_bound_is_counted() -> None:
    found = refuted(REACH, "reach(A, D)", reach_tables(), most=2)
    assert (len(found.lacking), found.left) == (2, 2)
    assert "and 2 more conclusions" in render_refutation(found)


def test_a_row_that_must_not_be_there_is_proved() -> None:
    found = refuted(REACH, "apart(A, B)", reach_tables())
    (attempt,) = found.lacking[0].attempts
    assert attempt.stop is not None
    assert attempt.stop.kind == "present"
    tree = found.proofs[attempt.because[0]]
    assert (tree.goal, tree.verdict) == ("reach(A, B)", "PROVED")
    assert "because reach(A, B) holds, by rule reach.1" in render_refutation(found)


def test_what_fails_besides_is_named() -> None:
    tables = vip_tables(blocked=Table((("C2",),)))
    first, second = refuted(VIP, "is_vip(C2)", tables).lacking[0].attempts
    assert first.stop is not None
    assert first.stop.literal == "!blocked(?c)"
    assert [one.claim for one in first.others] == ["10.0 > 100000.0"]
    assert [one.literal for one in second.others] == ["!blocked(?c)"]


def test_goals_with_variables_give_the_nearest_candidates_first() -> None:
    tables = vip_tables(threshold=Table(((Decimal(1_000_000),),)), tier=Table((("C2", "silver"),)))
    first = refuted(VIP, "is_vip(?c)", tables).lacking[0].attempts[0]
    assert first.tried == 3
    assert [one.fact for one in first.candidates] == ["is_vip(C1)", "is_vip(C2)", "is_vip(C3)"]
    assert first.stop is not None
    assert first.stop.distance == "849,940"


def test_only_three_of_many_candidates_are_listed() -> None:
    rows = tuple((f"n{number}", Decimal(number)) for number in range(50))
    rules = """
.decl size(x: symbol, n: Decimal)
.input size(source="s", query="q")
.decl big(x: symbol)
big(?x) :- size(?x, ?n), ?n > 1000.0.
"""
    found = refuted(rules, "big(?x)", {"size": Table(rows)})
    (attempt,) = found.lacking[0].attempts
    assert attempt.tried == 50
    assert [one.fact for one in attempt.candidates] == ["big(n49)", "big(n48)", "big(n47)"]
    assert "and 47 more candidates" in render_refutation(found)


def test_equal_variables_are_not_forgotten() -> None:
    rules = """
.decl pair(x: symbol, y: symbol)
.input pair(source="s", query="q")
.decl same()
same() :- pair(?x, ?x).
"""
    found = refuted(rules, "same()", {"pair": Table((("a", "b"),))})
    (attempt,) = found.lacking[0].attempts
    assert attempt.stop is not None
    assert attempt.stop.sentence == "there is no pair(?x, ?x)"
    assert attempt.below == ()


def test_a_head_that_gives_another_value_is_no_open_rule() -> None:
    rules = """
.decl base(n: number)
.input base(source="s", query="q")
.decl next(n: number)
next(?n + 1) :- base(?n).
"""
    (attempt,) = refuted(rules, "next(9)", {"base": Table(((1,),))}).lacking[0].attempts
    assert attempt.state == "failed"
    assert attempt.sentence == "its head is about other values"


@pytest.mark.parametrize(
    ("table", "level"),
    [
        (Table((("C2", "silver"),)), "inline"),
        (Table(closed=Assumption("closure", "tier", "sales says so")), "declared"),
    ],
)
def test_the_level_tells_on_what_the_no_rests(table: Table, level: str) -> None:
    found = refuted(VIP, "is_vip(C2)", vip_tables(tier=table))
    assert found.lacking[0].attempts[1].level == level


def test_an_open_goal_says_what_would_have_to_hold() -> None:
    found = refuted(VIP, "is_vip(C2)", vip_tables(tier=Table(silent=True)))
    first, second = found.lacking[0].attempts
    assert (first.state, second.state) == ("failed", "open")
    assert second.sentence == "it would, if \u2018tier\u2019 holds for c C2 and t gold"
    assert found.lacking[0].level == ""


def test_control_characters_do_not_reach_the_terminal() -> None:
    tables = vip_tables(tier=Table((("C2", "\x1b[2J\u202e"),)))
    text = render_refutation(refuted(VIP, "is_vip(C2)", tables))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_deep_chain_is_not_walked_by_recursion() -> None:
    rows = tuple((f"n{at}", f"n{at + 1}") for at in range(120))
    found = refuted(REACH, "reach(n0, nowhere)", {"owns": Table(rows)}, most=3)
    assert found.lacking[0].attempts[1].tried == 120
    assert found.left > 0


CODED = VIP.replace(
    "is_vip(?c) :- revenue", '@[reasons = "-,-,R10,R20"]\nis_vip(?c) :- revenue'
).replace("is_vip(?c) :- tier", '@[reasons = "R30,R20"]\nis_vip(?c) :- tier')


def codes(tables: dict[str, Table], most: int = 4) -> list[str]:
    found = refuted(CODED, "is_vip(C2)", tables)
    return [one.code for one in principal_reasons(found, most)]


def test_reasons_are_ranked_by_how_near_they_are_to_holding() -> None:
    blocked = vip_tables(blocked=Table((("C2",),)))
    assert codes(blocked) == ["R10", "R20", "R30"]
    assert codes(blocked, most=1) == ["R10"]
    assert codes(vip_tables()) == ["R10", "R30"]


def test_the_nearest_reason_comes_first_wherever_it_stands_in_the_body() -> None:
    rules = (
        VIP
        + """
.decl served(c: symbol)
@[reasons = "R20,-,-,R10"]
served(?c) :- !blocked(?c), revenue(?c, ?total), threshold(?x), ?total > ?x.
"""
    )
    found = refuted(rules, "served(C2)", vip_tables(blocked=Table((("C2",),))))
    assert [one.code for one in principal_reasons(found)] == ["R10", "R20"]


def test_a_literal_without_a_code_is_looked_into() -> None:
    rules = (
        CODED
        + """
.decl served(c: symbol)
@[reasons = "-,R99"]
served(?c) :- is_vip(?c), customer(?c).
"""
    )
    found = refuted(rules, "served(C2)", vip_tables())
    assert [one.code for one in principal_reasons(found)] == ["R10", "R30"]
    assert all(one.rule.startswith("is_vip") for one in principal_reasons(found))


def test_a_code_of_a_lacking_conclusion_is_as_near_as_its_nearest_literal() -> None:
    rules = (
        CODED
        + """
.decl served(c: symbol)
@[reasons = "R1,R2"]
served(?c) :- is_vip(?c), tier(?c, "platinum").
"""
    )
    first, second = principal_reasons(refuted(rules, "served(C2)", vip_tables()))
    assert (first.code, second.code) == ("R1", "R2")
    assert 0 < first.gap < second.gap == 1


@pytest.mark.parametrize(
    ("operator", "near", "far", "bound", "kind"),
    [
        (">", 950, 400, 1000, Kind.NUMBER),
        ("<", Decimal("1000.5"), Decimal(2000), Decimal(1000), Kind.DECIMAL),
        (">", 0.5, -3.0, 1.0, Kind.FLOAT),
        (">", "2026-01-30", "2025-01-01", "2026-02-01", Kind.DATE),
        (
            ">",
            "2026-01-30T00:00:00.000000Z",
            "2020-01-30T00:00:00.000000Z",
            "2026-02-01T00:00:00.000000Z",
            Kind.TIMESTAMP,
        ),
        ("=", "gold", "platinum", "golden", Kind.SYMBOL),
    ],
)
def test_the_nearer_value_has_the_smaller_gap(
    operator: str, near: int, far: int, bound: int, kind: Kind
) -> None:
    one, other = distance(operator, near, bound, kind), distance(operator, far, bound, kind)
    assert 0 <= one.gap < other.gap <= 1


def test_edits_are_counted_as_levenshtein_does() -> None:
    assert distance("=", "kitten", "sitting", Kind.SYMBOL).text == "3 edits"
    assert distance("=", "gold", "gild", Kind.SYMBOL).text == "1 edit"
    assert distance("<", "a", "b", Kind.SYMBOL).text == ""
