"""Each sentence of the contract that says what is meant (semantics 4 to 18, 22, 23, 26, 40 to 42).

The docstring of a test has the sentence's number. `Small` asks the definition and the goal-directed
engine, `Keyed` the definition and a session; both hold that the two say the same.
"""

from __future__ import annotations

import json
import operator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.logic import NullPolicy
from constat.syntax import parse_goal
from tests.language.worlds_of_text import read_program
from tests.oracle.asking import MAYBE, NONE, UNKNOWN, Keyed, Small, e, f
from tests.oracle.completions import Domain, Model, completions
from tests.oracle.definition import (
    STAR,
    Atom,
    Blank,
    Call,
    Compare,
    Const,
    Decision,
    Fact,
    Function,
    Made,
    Negative,
    Null,
    Opening,
    Outside,
    Positive,
    Program,
    Reading,
    Rule,
    Var,
    check_given,
    count_of,
    decide,
    same,
)
from tests.oracle.families import Item
from tests.oracle.tiers import Predicate, Tier, chain, outside
from tests.oracle.translation import goal_of, program_of
from tests.property.tables import tables

DOMAIN: Domain = {"number": (0, 1)}
PROVED, UNRESOLVED, DISPROVED = "PROVED", "UNRESOLVED", "DISPROVED"
UNDER, NOT_UNDER = "PROVED_UNDER", "DISPROVED_UNDER"


# What is known.


def test_a_tier_says_all_rows_or_some_or_why_none_and_a_failed_query_is_partial() -> None:
    """4."""
    assert Keyed(database=(("C1", "gold"),)).verdict("gold(C1)") == PROVED
    assert Keyed(database=(("C1", "gold"),)).verdict("gold(C2)") == DISPROVED
    assert Keyed(database=(("C1", "gold"),), broken=True).verdict("gold(C1)") == UNRESOLVED
    assert Keyed(database=(("C1", "gold"),), broken=True).verdict("gold(C2)") == UNRESOLVED
    # Whatever it returned before it was stopped: rows that are there hold, and there may be more.
    cut = Tier("sales", [("C1", "gold")], failed=((STAR, STAR),))
    said = outside((Predicate("tier", ("error", "error"), authority="sales"), [cut]))
    assert said.facts["tier"] == [Fact(("C1", "gold"))]
    assert said.openings["tier"] == [Opening((STAR, STAR))]


def test_the_meaning_never_depends_on_which_columns_are_bound() -> None:
    """5."""
    one = Small("p(?x, ?z) :- e(?x, ?y), e(?y, ?z).", (e(0, 1), e(1, 1), e(1, 0)))
    for x, z in product((0, 1, 2), repeat=2):
        sure = one.reading().relations["p"].get((x, z), False)
        assert one.verdict(f"p({x}, {z})") == (PROVED if sure else DISPROVED)
    keyed = Keyed(config=(("C1", "gold"),), database=(("C1", "silver"), ("C2", "silver")))
    assert keyed.verdict("tier(C1, silver)") == DISPROVED
    # Demanded by the other column, too, it is the key that shadows.
    assert keyed.verdict("tier(?c, silver)") == PROVED
    assert replace(keyed, database=keyed.database[:1]).verdict("tier(?c, silver)") == DISPROVED


def test_only_a_key_shadows_and_without_one_rows_are_united() -> None:
    """5."""
    keyed = Keyed(config=(("C1", "gold"),), database=(("C1", "silver"),))
    assert keyed.verdict("common(1)") == PROVED
    united = replace(keyed, key=False)
    assert united.verdict("common(2)") == PROVED
    assert united.verdict("tier(C1, silver)") == PROVED
    assert united.verdict("gold(C1)") == PROVED


def test_only_the_authority_can_say_that_there_is_nothing_else() -> None:
    """5."""
    said = chain(Predicate("f", ("error",)), [Tier("user", [(1,)], assumed=True)])
    assert said.openings == [Opening((STAR,))]
    said = chain(Predicate("f", ("error",), closed=True), [Tier("user", [(1,)], assumed=True)])
    assert said.openings == [Opening((STAR,), frozenset({"f is complete"}))]
    said = chain(Predicate("f", ("error",), authority="sales"), [Tier("sales", [(1,)])])
    assert (said.facts, said.openings) == ([Fact((1,))], [])


def test_rows_used_after_a_failed_tier_rest_on_its_silence() -> None:
    """6."""
    predicate = Predicate("tier", ("error", "error"), (0,), "sales")
    config = Tier("config", [("C9", "gold")], failed=(("C1", STAR),))
    said = chain(predicate, [config, Tier("sales", [("C1", "gold"), ("C2", "gold")])])
    silence = frozenset({"tier config did not answer"})
    assert said.facts[1:] == [Fact(("C1", "gold"), silence), Fact(("C2", "gold"))]
    assert said.openings == [Opening(("C1", STAR), silence)]
    # A key that a higher tier has answered is never open below.
    sales = Tier("sales", failed=((STAR, STAR),))
    (opening,) = chain(predicate, [replace(config, failed=()), sales]).openings
    assert (same(opening.row[0], "C9"), same(opening.row[0], "C1")) == (False, None)
    keyed = Keyed(user=(("C1", "gold"),), broken=True)
    assert keyed.verdict("gold(C1)") == UNDER


def test_two_values_of_one_tier_for_one_key_are_possible_and_none_is_certain() -> None:
    """6."""
    torn = Keyed(database=(("C1", "gold"), ("C1", "silver")))
    assert torn.verdict("gold(C1)") == UNRESOLVED
    assert torn.verdict("tier(C1, silver)") == UNRESOLVED
    assert torn.verdict("tier(C1, bronze)") == DISPROVED
    assert torn.said().conflicts


def test_certain_lies_within_possible_and_where_nothing_is_open_they_coincide() -> None:
    """7."""
    closed = Small("p(?x) :- e(?x, ?y), !f(?y).", (e(0, 1), e(1, 0), f(0)))
    assert closed.rows("p") == {(0,): True}
    opened = replace(closed, items=(*closed.items, f(None, "open")))
    assert opened.rows("p") == {(0,): False}


def test_a_placeholder_joins_with_anything_and_is_never_certain() -> None:
    """7."""
    one = Small("p(?x, ?z) :- e(?x, ?y), e(?y, ?z).", (e(0, 1), e(None, 0, "open")))
    # An open row of `e` whose first column may be anything follows the row (0, 1), and itself.
    assert one.rows("p") == {(0, 0): False, (None, 1): False, (None, 0): False}
    assert one.verdict("p(0, 0)") == UNRESOLVED


@pytest.mark.parametrize("test", ["?y = 1", "?y != 1", "?y < 1", "?y >= 1", "?y = ?y"])
def test_a_comparison_over_a_placeholder_is_possible_and_never_certain(test: str) -> None:
    """7."""
    one = Small(f"p(?x) :- e(?x, ?y), {test}.", (e(0, None, "open"),))
    assert one.rows("p") == {(0,): False}


def test_arithmetic_over_a_placeholder_gives_it() -> None:
    """7."""
    one = Small("p(?x, ?y + 1) :- e(?x, ?y).", (e(0, None, "open"),))
    assert one.rows("p") == {(0, None): False}


def test_a_negation_is_certain_iff_nothing_is_possible_and_possible_iff_nothing_is_certain() -> (
    None
):
    """8."""
    one = Small("p(?x) :- e(?x, _), !f(?x).", (e(0, 0), e(1, 1), f(0)))
    assert (one.verdict("p(0)"), one.verdict("p(1)")) == (DISPROVED, PROVED)
    opened = replace(one, items=(*one.items, f(1, "open")))
    assert (opened.verdict("p(0)"), opened.verdict("p(1)")) == (DISPROVED, UNRESOLVED)


@pytest.mark.parametrize(
    "function",
    [
        "count : { e(?x, _y) }",
        "sum ?y : { e(?x, ?y) }",
        "min ?y : { e(?x, ?y) }",
        "max ?y : { e(?x, ?y) }",
    ],
)
def test_an_aggregate_is_certain_iff_the_rows_of_its_group_are(function: str) -> None:
    """8."""
    rules = f"p(?x) :- f(?x), ?n = {function}, ?n = 1."
    items = (f(0), f(1), e(0, 1), e(1, 1))
    one = Small(rules, items)
    assert (one.verdict("p(0)"), one.verdict("p(1)")) == (PROVED, PROVED)
    opened = replace(one, items=(*items, e(1, None, "open")))
    assert (opened.verdict("p(0)"), opened.verdict("p(1)")) == (PROVED, UNRESOLVED)


def test_the_keys_of_a_group_come_from_outside_the_aggregate() -> None:
    """8."""
    one = Small("p(?x, ?n) :- f(?x), ?n = count : { e(?x, _) }.", (f(0), f(1), e(0, 0)))
    assert one.rows("p") == {(0, 1): True, (1, 0): True}


@pytest.mark.parametrize(
    ("rules", "open_row"),
    [
        ("p(?x) :- e(?x, ?y), 4 / ?y > 1.", (0,)),
        ("p(4 / ?y) :- e(_, ?y).", (None,)),
        ("p(?x) :- e(?x, ?y), 9223372036854775807 + 1 - ?y > 1.", (0,)),
        ("p(?x) :- e(?x, ?y), !f(4 / ?y).", (0,)),
        ("p(?n) :- ?n = sum 4 / ?y : { e(_x, ?y) }.", (None,)),
    ],
)
def test_an_instance_that_errs_is_unknown_and_never_dropped(
    rules: str, open_row: tuple[object, ...]
) -> None:
    """9, and 28 for what errs."""
    one = Small(rules, (e(0, 0),))
    assert one.rows("p") == {open_row: False}
    assert one.verdict("p(0)") == UNRESOLVED


def test_what_is_assumed_is_open_in_the_hard_reading_and_holds_in_the_accepted_one() -> None:
    """10."""
    one = Small("p(?x) :- e(?x, _), f(?x).", (e(0, 0), e(1, 0), f(0, "assumed")))
    word = "alice says so"
    assert (one.rows("p"), one.rows("p", word)) == ({(0,): False}, {(0,): True})
    assert one.decide("p(0)") == Decision(UNDER, (frozenset({word}),))
    assert one.verdict("p(1)") == DISPROVED
    declared = Small("p(?x) :- e(?x, _), !f(?x).", (e(0, 0), f(None, "declared")))
    assert declared.decide("p(0)") == Decision(UNDER, (frozenset({"f is complete"}),))
    assert replace(declared, rules="p(?x) :- f(?x).").verdict("p(0)") == NOT_UNDER


def test_an_assumed_rule_is_open_in_the_hard_reading() -> None:
    """10, 19."""
    one = Small("@[id = r1] @[confidence = 0.9] p(?x) :- f(?x).", (f(0),))
    assert one.decide("p(0)") == Decision(UNDER, (frozenset({"rule r1"}),))
    assert one.verdict("p(1)") == DISPROVED


def test_assumptions_are_subset_minimal_and_the_hard_reading_decides_alone() -> None:
    """10."""
    rules = "p() :- f(0).  p() :- e(0, 1).  @[id = r1] @[confidence = 0.9] p() :- e(0, 0)."
    items = (f(0, "assumed"), f(None, "declared"), e(0, 0))
    one = Small(rules, items)
    least = {frozenset({"alice says so"}), frozenset({"rule r1"})}
    assert set(one.decide("p()").assumptions) == least
    # What is sure without them needs none.
    assert replace(one, items=(*items, e(0, 1))).decide("p()") == Decision(PROVED)


@pytest.mark.parametrize("goal", ["p(0)", "p(1)", "q(0)"])
def test_added_answers_never_turn_a_verdict_round(goal: str) -> None:
    """11."""
    rules = "p(?x) :- e(?x, ?y), !f(?y).  q(?n) :- ?n = count : { f(_) }."
    base = (e(0, 0), e(1, 1))
    opened = Small(rules, (*base, e(None, 1, "open"), f(1, "open"), f(0, "open")))
    before = opened.verdict(goal)
    for more in ((f(0),), (f(1),), (f(0), f(1)), (), (e(0, 1), f(1))):
        after = Small(rules, (*base, *more)).verdict(goal)
        if before in {PROVED, DISPROVED}:
            assert after == before


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ("p() :- f(0).  p() :- f(1).", PROVED),
        ("p() :- e(0, 0), f(1).", DISPROVED),
        ("p() :- e(_, _), !f(0), f(1).", DISPROVED),
        ("p() :- e(_, _), 0 = 1, f(1).", DISPROVED),
        ("p() :- f(1).", UNRESOLVED),
    ],
)
def test_a_missing_fact_never_hides_a_decided_answer(rules: str, verdict: str) -> None:
    """12."""
    assert Small(rules, (f(0), e(1, 1), f(1, "open"))).verdict("p()") == verdict


def test_what_is_settled_without_assumptions_does_not_ask_for_them() -> None:
    """13."""
    rules = "p() :- e(0, 0).  p() :- f(0)."
    one = Small(rules, (e(0, 0), f(0, "open")))
    assert one.decide("p()") == Decision(PROVED)
    # With whatever somebody may say besides it stays the same, and rests on nobody's word.
    assert replace(one, items=(*one.items, f(0, "assumed"))).decide("p()") == Decision(PROVED)
    externals = tables(one.analysed, one.world)
    externals["f"]._cost = 1000
    goal = parse_goal("p()", one.analysed.program)
    LazyEngine().evaluate(one.analysed, goal, externals, Limits(seconds=30.0))
    assert (len(externals["e"].demands), externals["f"].demands) == (1, [])


def test_what_is_negated_or_aggregated_is_completed_first_and_never_in_a_cycle() -> None:
    """14."""
    one = Small(
        "q(?x) :- f(?x).  q(?y) :- q(?x), e(?x, ?y).  p(?x) :- e(?x, _), !q(?x).",
        (f(0), e(0, 1), e(1, 1), e(2, 0)),
    )
    assert one.rows("p") == {(2,): True}
    assert [one.verdict(f"p({n})") for n in range(3)] == [DISPROVED, DISPROVED, PROVED]
    cycle = Rule("p.1", Atom("p", ()), (Positive(Atom("q", ())),))
    back = Rule("q.1", Atom("q", ()), (Positive(Atom("p", ())),))
    kinds: dict[str, tuple[str, ...]] = {"p": (), "q": ()}
    assert Program((cycle, back), kinds).strata() == [["p", "q"]]
    with pytest.raises(ValueError, match="over itself"):
        Program((cycle, replace(back, body=(Negative(Atom("p", ())),))), kinds).strata()
    _, found = read_program(".decl p(x: number)\n.decl f(x: number)\np(?x) :- f(?x), !p(?x).")
    assert [one.code for one in found] == ["C0250"]


def test_evaluation_ends_and_a_limit_is_unresolved_never_disproved() -> None:
    """15."""
    ends = Small("p(?x) :- f(?x).  p(?y) :- p(?x), e(?x, ?y).", (f(0), e(0, 1), e(1, 0)))
    assert ends.rows("p") == {(0,): True, (1,): True}
    grows = Small("p(?x) :- f(?x).  p(?x + 1) :- p(?x).  q(?x) :- f(?x), !p(-5).", (f(0),))
    for text, verdict in (("p(3)", PROVED), ("p(-5)", UNRESOLVED), ("q(0)", UNRESOLVED)):
        assert decide(grows.program, grows.outside, grows.goal(text), rounds=9).verdict == verdict
    goal = parse_goal("p(-5)", grows.analysed.program)
    outcome = LazyEngine().evaluate(
        grows.analysed, goal, tables(grows.analysed, grows.world), Limits(seconds=30.0, rounds=9)
    )
    assert outcome.stopped
    assert outcome.strength(goal) == 1


def test_all_that_is_read_of_one_source_is_of_one_state(tmp_path: Path) -> None:
    """16. In the definition there is one outside, and it is a value."""
    keyed = Keyed(database=(("C1", "gold"),))
    keyed.write(tmp_path)
    with Session(tmp_path) as session:
        assert session.prove("gold(C1)").snapshot == "one"


# Confidence.


def test_a_rule_has_the_least_of_its_premises_times_its_own_and_the_best_way_counts() -> None:
    """17."""
    one = Small(
        "@[id = a] @[confidence = 0.333333] p(?x) :- e(?x, _), f(?x)."
        "  @[id = b] @[confidence = 0.2] p(?x) :- e(?x, _).",
        (e(0, 0), f(0, "assumed")),
    )
    outside = replace(one.outside, facts={**one.outside.facts})
    words = ("alice says so", "rule a", "rule b")
    grades = Reading(one.program, outside, words).confidences()
    # 0.7 times 0.333333, rounded down to six places.
    fact = Fact((0,), frozenset({"alice says so"}), Decimal("0.7"))
    outside = Outside({**outside.facts, "f": (fact,)}, outside.openings)
    grades = Reading(one.program, outside, words).confidences()
    assert grades["p", (0,)] == Decimal("0.233333")
    # Without the first rule the second way counts.
    assert Reading(one.program, outside, words[2:]).confidences()["p", (0,)] == Decimal("0.2")


def test_absence_and_aggregates_have_the_confidence_of_what_closes_them() -> None:
    """17."""
    one = Small(
        "p(?x) :- e(?x, _), !f(?x).  q(?n) :- ?n = count : { f(_) }.",
        (e(0, 0), f(1), f(None, "declared")),
    )
    words = ("f is complete",)
    closed = replace(one.outside, closure={"f": Decimal("0.9")})
    grades = Reading(one.program, closed, words).confidences()
    assert (grades["p", (0,)], grades["q", (1,)]) == (Decimal("0.9"), Decimal("0.9"))
    # Truth does not look at confidence.
    assert one.verdict("p(0)") == UNDER


def test_an_origin_is_set_by_the_tier_and_by_nothing_else(tmp_path: Path) -> None:
    """18. In the definition a row is assumed because its tier is somebody's word."""
    keyed = Keyed(config=(("C1", "gold"),), database=(("C2", "gold"),), user=(("C3", "gold"),))
    assert [len(one.words) for one in keyed.said().facts] == [0, 0, 1]
    keyed.write(tmp_path)
    with Session(tmp_path) as session:
        session.facts.add("tier(C3, gold)", author="alice")
        origins = [
            json.loads(session.prove(f"gold({one})").certificate)["sources"]
            for one in ("C1", "C2", "C3")
        ]
    found = [{one["origin"] for one in some} for some in origins]
    assert "CONFIG" in found[0]
    assert "DATABASE" in found[1]
    assert "USER_PROVIDED" in found[2]
    assert not (found[0] | found[1]) & {"USER_PROVIDED"}


# Data.


def test_rows_that_would_merge_are_an_error_unless_distinct() -> None:
    """22."""
    twice = Keyed(database=(("C1", "gold"), ("C1", "gold")), key=False)
    assert twice.verdict("common(1)") == UNRESOLVED
    assert replace(twice, distinct=True).verdict("common(1)") == PROVED


def test_an_aggregate_ranges_over_distinct_bindings_of_all_variables() -> None:
    """23."""
    items = (e(0, 0), e(0, 1), e(1, 1))
    assert Small("p(?n) :- ?n = count : { e(_, _) }.", items).verdict("p(3)") == PROVED
    assert Small("p(?s) :- ?s = sum ?y : { e(_, ?y) }.", items).verdict("p(2)") == PROVED
    assert Small("p(?n) :- ?n = count : { q(_) }.  q(?y) :- e(_, ?y).", items).verdict("p(2)") == (
        PROVED
    )


@pytest.mark.parametrize(
    ("function", "goal"),
    [("count", "p(0)"), ("sum ?y", "p(0)"), ("min ?y", None), ("max ?y", None), ("mean ?y", None)],
)
def test_an_empty_group_has_a_count_and_a_sum_and_nothing_else(
    function: str, goal: str | None
) -> None:
    """23."""
    head, body = ("p(?n)", "") if goal else ("p(0)", ", ?n > 0.5")
    if function in {"min ?y", "max ?y"}:
        body = ", ?n >= 0"
    variable = "_y" if function == "count" else "?y"
    one = Small(f"{head} :- ?n = {function} : {{ e(_x, {variable}) }}{body}.")
    assert one.verdict("p(0)") == (PROVED if goal else DISPROVED)


# Null is never a value.


MATCHES = [
    # A column that is not read matches under all three.
    ("p() :- e(0, _).", {"none": PROVED, "maybe": PROVED, "unknown": PROVED}),
    # A variable used nowhere else.
    ("p() :- e(0, _y).", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": PROVED}),
    # A variable that another literal uses.
    ("p() :- e(0, ?y), ?y = ?y.", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": PROVED}),
    ("p() :- e(0, ?y), f(?y).", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": UNRESOLVED}),
    ("p() :- e(0, ?y), e(_, ?y).", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": PROVED}),
    # Bound to a value.
    ("p() :- e(0, 1).", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": UNRESOLVED}),
    ("p() :- f(?y), e(0, ?y).", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": UNRESOLVED}),
    # Negated.
    ("p() :- f(1), !e(0, _).", {"none": DISPROVED, "maybe": DISPROVED, "unknown": DISPROVED}),
    ("p() :- f(1), !e(0, 1).", {"none": PROVED, "maybe": UNRESOLVED, "unknown": UNRESOLVED}),
    ("p() :- f(?y), !e(0, ?y).", {"none": PROVED, "maybe": UNRESOLVED, "unknown": UNRESOLVED}),
    (
        "q() :- e(0, _y).  p() :- f(1), !q().",
        {
            "none": PROVED,
            "maybe": UNRESOLVED,
            "unknown": DISPROVED,
        },
    ),
    # A comparison of one label with itself, and with anything else.
    ("p() :- e(0, ?y), ?y <= ?y.", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": PROVED}),
    ("p() :- e(0, ?y), ?y < ?y.", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": DISPROVED}),
    ("p() :- e(0, ?y), ?y != ?y.", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": DISPROVED}),
    ("p() :- e(0, ?y), ?y < 5.", {"none": DISPROVED, "maybe": UNRESOLVED, "unknown": UNRESOLVED}),
]


@pytest.mark.parametrize("null", [NONE, MAYBE, UNKNOWN], ids=lambda one: one.value)
@pytest.mark.parametrize(("rules", "verdicts"), MATCHES, ids=lambda one: str(one)[:40])
def test_a_null_cell_matches_as_its_policy_says(
    rules: str, verdicts: dict[str, str], null: NullPolicy
) -> None:
    """26."""
    one = Small(rules, (e(0, None), f(1)), null)
    assert one.verdict("p()") == verdicts[null.value]


def test_error_opens_the_row_and_skip_leaves_it_out() -> None:
    """26."""
    rows: tuple[tuple[str, str | None], ...] = (("C1", "gold"), ("C2", None))
    one = Keyed(database=rows)
    assert (one.verdict("gold(C1)"), one.verdict("gold(C2)")) == (PROVED, UNRESOLVED)
    skipped = replace(one, null="skip")
    assert (skipped.verdict("gold(C2)"), skipped.verdict("common(1)")) == (DISPROVED, PROVED)


@pytest.mark.parametrize(
    ("null", "verdicts"),
    [
        ("none", (DISPROVED, DISPROVED, PROVED)),
        ("maybe", (UNRESOLVED, UNRESOLVED, UNRESOLVED)),
        ("unknown", (UNRESOLVED, PROVED, DISPROVED)),
    ],
)
def test_under_the_other_three_the_row_stays_certain(
    null: str, verdicts: tuple[str, str, str]
) -> None:
    """26."""
    one = Keyed(database=(("C1", None),), null=null)
    # `common` reads both columns, `listed` and `unlisted` the first.
    goals = ("gold(C1)", "common(1)", "common(0)", "listed(C1)", "unlisted(C1)")
    assert tuple(map(one.verdict, goals)) == (*verdicts, PROVED, DISPROVED)


@pytest.mark.parametrize(
    ("null", "read"), [(NONE, DISPROVED), (MAYBE, UNRESOLVED), (UNKNOWN, PROVED)]
)
def test_what_a_goal_leaves_out_it_does_not_read(null: NullPolicy, read: str) -> None:
    """26."""
    keyed = Keyed(database=(("C1", None),), null=null.value)
    for goal in ("tier(C1, _)", "tier(c = C1)"):
        assert keyed.verdict(goal) == PROVED
    # By name `_` reads, too.
    for goal in ("tier(C1, _y)", "tier(C1, ?t)", "tier(c = C1, t = _)"):
        assert keyed.verdict(goal) == read


def test_a_label_is_predicate_column_known_cells_and_ordinal() -> None:
    """26a."""
    predicate = Predicate("e", ("error", "unknown"), authority="sales")
    rows = [(1, None), (0, None), (1, None)]
    first = chain(predicate, [Tier("sales", rows)]).facts
    # However they are fetched, the labels are the same.
    again = chain(predicate, [Tier("sales", rows[::-1])]).facts
    assert {one.row for one in first} == {one.row for one in again}
    assert len({one.row for one in first}) == 3
    other = chain(replace(predicate, name="other"), [Tier("sales", rows)]).facts
    assert not {one.row[1] for one in first} & {one.row[1] for one in other}


def test_a_label_equals_itself_and_anything_else_possibly() -> None:
    """26a."""
    label, other = Null("unknown", ("e", 1, (0,), 0)), Null("unknown", ("e", 1, (0,), 1))
    assert (same(label, label), same(label, other), same(label, 1)) == (True, None, None)
    maybe = Null("maybe", ("e", 1, (0,), 0))
    assert (same(maybe, maybe), same(maybe, 1), same(Null("none"), 1)) == (None, None, False)


def test_rules_carry_labels_like_values() -> None:
    """26a."""
    one = Small("q(?y) :- e(_, ?y).  p(?x) :- q(?y), e(?x, ?y).", (e(0, None), e(1, None)), UNKNOWN)
    # Each row meets its own label with certainty, and the other's possibly.
    assert one.rows("p") == {(0,): True, (1,): True}
    assert [len(row) for row in one.reading().relations["q"]] == [1, 1]
    apart = Small("p() :- e(0, ?y), e(1, ?y).", (e(0, None), e(1, None)), UNKNOWN)
    assert apart.verdict("p()") == UNRESOLVED


def test_rows_that_differ_only_in_labels_are_counted_as_a_range() -> None:
    """26a."""
    one = Small("p(?x, ?y) :- e(?x, ?y).", (e(0, None), e(0, None), e(1, None), e(0, 1)), UNKNOWN)
    rows = list(one.reading().relations["p"])
    assert count_of(rows) == (2, 4)
    counts = {
        len(Model(one.program, found, DOMAIN).facts["p"])
        for found in completions(one.program, one.outside, DOMAIN, most=10_000)
    }
    assert (min(counts), max(counts)) == (2, 4)


@pytest.mark.parametrize("total", [True, False])
def test_only_a_total_function_of_a_label_and_constants_gives_a_label(*, total: bool) -> None:
    """26b."""
    double = Function("double", lambda value: value + value, total)
    rules = (
        Rule("q.1", Atom("q", (Call(double, (Var("y"),)),)), (Positive(Atom("f", (Var("y"),))),)),
        Rule("p.1", Atom("p", (Call(double, (Var("y"),)),)), (Positive(Atom("q", (Var("y"),))),)),
    )
    label = Null("unknown", ("f", 0, (None,), 0))
    found = Reading(
        Program(rules, {"f": ("number",), "q": ("number",), "p": ("number",)}),
        Outside({"f": (Fact((label,)), Fact((3,)))}),
    ).relations
    made = Made(double, (label,))
    assert found["q"] == ({(made,): True, (6,): True} if total else {(STAR,): False, (6,): True})
    # A label that a function made gives no further one.
    assert found["p"] == {(STAR,): False, (12,): True}


COUNTS = [
    # Two rows that differ in a known column are two.
    ((e(0, None), e(1, None)), "count : { e(_, _) }", 2, PROVED),
    ((e(0, None), e(1, None)), "sum ?x : { e(?x, _) }", 1, PROVED),
    # What differs in a null cell alone may be one row.
    ((e(0, None), e(0, None)), "count : { e(_, _) }", 2, UNRESOLVED),
    ((e(0, None), e(0, 1)), "count : { e(_, _) }", 2, UNRESOLVED),
    ((e(1, None), e(1, None)), "sum ?x : { e(?x, _) }", 1, UNRESOLVED),
    # Least and greatest of a known column are certain.
    ((e(0, None), e(0, None), e(1, 1)), "min ?x : { e(?x, _) }", 0, PROVED),
    ((e(0, None), e(0, None), e(1, 1)), "max ?x : { e(?x, _) }", 1, PROVED),
    # Over unknown cells all are open.
    ((e(0, None),), "sum ?y : { e(_x, ?y) }", 1, UNRESOLVED),
    ((e(0, None), e(0, 1)), "min ?y : { e(_x, ?y) }", 1, UNRESOLVED),
]


@pytest.mark.parametrize("null", [MAYBE, UNKNOWN], ids=lambda one: one.value)
@pytest.mark.parametrize(("items", "aggregate", "value", "verdict"), COUNTS)
def test_a_count_is_certain_only_if_its_bindings_differ_in_a_known_column(
    items: tuple[Item, ...], aggregate: str, value: int, verdict: str, null: NullPolicy
) -> None:
    """26c."""
    one = Small(f"p(?n) :- ?n = {aggregate}.", items, null)
    assert one.verdict(f"p({value})") == verdict


def test_no_value_is_a_thing_of_its_own_where_an_aggregate_does_not_read_it() -> None:
    """26c, 23."""
    count = "p(?n) :- ?n = count : { e(_, _) }."
    assert Small(count, (e(0, None), e(0, 1)), NONE).verdict("p(2)") == PROVED
    assert Small(count, (e(0, None), e(1, None)), NONE).verdict("p(2)") == PROVED
    read = "p(?n) :- ?n = count : { e(_x, ?y), ?y = ?y }."
    assert Small(read, (e(0, None), e(0, 1)), NONE).verdict("p(1)") == PROVED


def test_labels_never_tell_summands_apart_and_an_unknown_one_may_be_negative() -> None:
    """26c."""
    rules = "p(0) :- f(_).  p(9) :- ?n = count : { p(?x), e(?x, _z) }, ?n >= 2."
    assert Small(rules, (f(0), e(0, 1), e(0, 0)), UNKNOWN).verdict("p(9)") == PROVED
    assert Small(rules, (f(0), e(0, None), e(0, None)), UNKNOWN).verdict("p(9)") == UNRESOLVED
    assert Small(rules, (f(0), e(0, None), e(0, 1)), UNKNOWN).verdict("p(9)") == UNRESOLVED
    rules = "p(0) :- f(_).  p(9) :- ?s = sum ?w : { p(?x), e(?x, ?w) }, ?s >= 1."
    assert Small(rules, (f(0), e(0, 1)), UNKNOWN).verdict("p(9)") == PROVED
    assert Small(rules, (f(0), e(0, 1), e(0, None)), UNKNOWN).verdict("p(9)") == UNRESOLVED
    guarded = rules.replace("e(?x, ?w) }", "e(?x, ?w), ?w >= 0 }")
    assert Small(guarded, (f(0), e(0, 1), e(0, None)), UNKNOWN).verdict("p(9)") == PROVED


def test_a_total_that_its_own_conclusion_may_lower_is_never_certain() -> None:
    """8, decision record 0010."""
    rules = "p(0) :- f(_).  p(9) :- ?s = sum ?w : { p(?x), e(?x, ?w) }, ?s >= 1."
    one = Small(rules, (f(0), e(0, 1)))
    assert one.verdict("p(9)") == PROVED
    assert replace(one, items=(*one.items, e(9, -5))).verdict("p(9)") == UNRESOLVED


def test_a_label_as_group_key_may_belong_to_every_group() -> None:
    """26c."""
    rules = "p(?x, ?n) :- f(?x), ?n = count : { e(_z, ?x) }."
    one = Small(rules, (f(0), f(1), e(0, None), e(1, 1)), UNKNOWN)
    assert (one.verdict("p(0, 0)"), one.verdict("p(1, 1)")) == (UNRESOLVED, UNRESOLVED)
    own = Small("p(?n) :- e(0, ?y), ?n = count : { e(_x, ?y) }.", (e(0, None),), UNKNOWN)
    assert own.verdict("p(1)") == PROVED
    more = replace(own, items=(e(0, None), e(1, 1)))
    assert (more.verdict("p(1)"), more.verdict("p(2)")) == (UNRESOLVED, UNRESOLVED)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT c, t FROM tiers",
        "SELECT c, max(t) AS t FROM tiers GROUP BY c",
        "SELECT c, t FROM tiers UNION ALL SELECT c, t FROM tiers",
        "SELECT a.c, b.t FROM tiers a LEFT JOIN tiers b ON b.c = a.t",
        "SELECT c, upper(t) AS t FROM tiers",
    ],
)
@pytest.mark.parametrize("null", ["maybe", "unknown"])
def test_a_null_that_the_query_may_have_made_is_no_unknown_value(
    tmp_path: Path, null: str, query: str
) -> None:
    """26d. In the definition the cells of a tier are those of its rows."""
    Keyed(database=(("C1", None),), null=null, query=query).write(tmp_path)
    with Session(tmp_path) as session, pytest.raises(ConstatError) as caught:
        session.prove("gold(C1)")
    (problem,) = caught.value.diagnostics
    assert problem.code == "C0519"
    assert problem.help


def test_a_higher_row_is_filled_in_the_accepted_reading_alone() -> None:
    """26e."""
    for null in ("maybe", "unknown"):
        one = Keyed(database=(("C1", None),), user=(("C1", "gold"),), null=null)
        assert one.verdict("gold(C1)") == UNDER
        # It is no other row, in no reading.
        assert one.verdict("listed(C1)") == PROVED
        assert one.verdict("gold(C2)") == DISPROVED
        assert not one.said().conflicts
    # There is no value: who says one contradicts that.
    none = Keyed(database=(("C1", None),), user=(("C1", "gold"),), null="none")
    assert none.said().conflicts
    assert none.verdict("gold(C1)") == DISPROVED
    assert Keyed((("C1", "gold"),), (("C1", None),), null="none").said().conflicts
    # Two rows of one tier fill nothing, and change nothing of the row.
    torn = Keyed((), (("C1", None),), (("C1", "gold"), ("C1", "silver")), null="maybe")
    assert torn.said().conflicts
    for conflicts in ("source", "unresolved"):
        one = replace(torn, conflicts=conflicts)
        assert (one.verdict("gold(C1)"), one.verdict("listed(C1)")) == (UNRESOLVED, PROVED)


def test_what_does_not_agree_with_the_row_fills_nothing() -> None:
    """26e."""
    predicate = Predicate("e", ("error", "unknown", "error"), (0,), "sales")
    high = Tier("sales", [("C1", None, 7)])
    said = chain(predicate, [high, Tier("user", [("C1", "x", 8)], assumed=True)])
    assert said.conflicts
    assert not said.facts[0].fills
    # A stated fact may leave cells of that row out.
    said = chain(predicate, [high, Tier("user", [("C1", "x", None)], assumed=True)])
    assert not said.conflicts
    assert [fill[:2] for fill in said.facts[0].fills] == [(1, "x")]
    # What a first word fills a second does not fill anew.
    third = Tier("model", [("C1", "y", 7)], assumed=True)
    said = chain(predicate, [high, Tier("user", [("C1", "x", 7)], assumed=True), third])
    assert len(said.facts[0].fills) == 1
    assert said.conflicts


def test_a_possible_row_may_be_a_pattern_wider_than_what_is_so() -> None:
    """26f."""
    one = Small("p(?x, ?y + 1) :- e(?x, ?y).", (e(0, None),), UNKNOWN)
    assert one.rows("p") == {(0, None): False}
    assert (one.verdict("p(0, 1)"), one.verdict("p(1, 1)")) == (UNRESOLVED, DISPROVED)


# Conflicts, suppositions, given columns.


def test_a_lower_or_assumed_value_never_weakens_the_hard_reading() -> None:
    """40."""
    one = Keyed(database=(("C1", "gold"),), user=(("C1", "silver"),))
    for conflicts in ("source", "user"):
        found = replace(one, conflicts=conflicts)
        assert found.verdict("gold(C1)") == PROVED
        assert found.verdict("tier(C1, silver)") == DISPROVED
        assert found.said().conflicts
    # A plain value counts before an assumed one of a higher tier.
    model = Tier("model", [("C1", "silver")], assumed=True)
    predicate = Predicate("tier", ("error", "error"), (0,), "sales")
    said = chain(predicate, [model, Tier("sales", [("C1", "gold")])])
    assert (said.facts, bool(said.conflicts)) == ([Fact(("C1", "gold"))], True)
    # A higher tier's counts, and a row that agrees is no conflict.
    higher = Keyed(config=(("C1", "gold"),), database=(("C1", "silver"),))
    assert higher.verdict("gold(C1)") == PROVED
    assert not replace(one, user=(("C1", "gold"),)).said().conflicts


def test_unresolved_opens_the_hard_reading_too() -> None:
    """40."""
    one = Keyed(database=(("C1", "gold"),), user=(("C1", "silver"),), conflicts="unresolved")
    assert one.verdict("gold(C1)") == UNRESOLVED
    assert one.verdict("tier(C1, silver)") == UNRESOLVED
    assert one.verdict("tier(C1, bronze)") == DISPROVED


@pytest.mark.parametrize("conflicts", ["source", "user"])
def test_between_two_assumed_values_the_policy_decides(conflicts: str) -> None:
    """40."""
    predicate = Predicate("tier", ("error", "error"), (0,), conflicts=conflicts)
    model = Tier("model", [("C1", "gold")], assumed=True)
    said = chain(predicate, [model, Tier("user", [("C1", "silver")], assumed=True)])
    program = Program((), {"tier": ("symbol", "symbol")})
    found = Outside({"tier": said.facts}, {"tier": said.openings})
    words = found.words()
    counts = "gold" if conflicts == "source" else "silver"
    relation = Reading(program, found, words).relations["tier"]
    assert relation["C1", counts]
    assert [row for row, sure in relation.items() if sure] == [("C1", counts)]


@pytest.mark.parametrize("goal", ["gold(C1)", "gold(C2)", "tier(C1, silver)", "common(1)"])
def test_what_is_supposed_gives_what_is_stated(tmp_path: Path, goal: str) -> None:
    """41. In the definition there is one way to add a fact."""
    keyed = Keyed(config=(("C1", "silver"),), database=(("C1", "silver"),))
    stated = replace(keyed, user=(("C2", "gold"),))
    keyed.write(tmp_path)
    with Session(tmp_path) as session:
        supposed = session.what_if(goal, add=["tier(C2, gold)"])
        assert supposed.after.verdict.value == stated.verdict(goal)


_BELOW = Rule(
    "p.1",
    Atom("p", (Var("c"), Var("x"))),
    (Positive(Atom("f", (Var("x"),))), Compare("<", Var("x"), Var("c"), operator.lt)),
)
_GIVEN = Program(
    (
        _BELOW,
        Rule(
            "q.1",
            Atom("q", (Var("x"),)),
            (Positive(Atom("g", (Var("x"),))), Negative(Atom("p", (Var("x"), Const(3))))),
        ),
    ),
    {"f": ("number",), "g": ("number",), "p": ("number", "number"), "q": ("number",)},
    {"p": (0,)},
)
"""`p(c, x) :- f(x), x < c.` with `c` given, and `q(x) :- g(x), !p(x, 3).`"""


def test_a_given_column_is_bound_by_goal_or_caller() -> None:
    """42."""
    outside = Outside({"f": (Fact((0,)), Fact((3,))), "g": (Fact((2,)), Fact((9,)))})
    goal = (Positive(Atom("p", (Const(2), Var("x")))),)
    none = (Positive(Atom("p", (Const(0), Var("x")))),)
    assert check_given(_GIVEN, goal) == []
    assert decide(_GIVEN, outside, goal).verdict == PROVED
    assert decide(_GIVEN, outside, none).verdict == DISPROVED
    # `q` calls it, under a negation: 3 is below 9 and not below 2.
    assert Reading(_GIVEN, outside).relations["q"] == {(2,): True}
    model = Model(_GIVEN, next(completions(_GIVEN, outside, DOMAIN)), DOMAIN)
    assert model.facts["q"] == {(2,)}
    assert (model.holds(goal), model.holds(none)) == (True, False)


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [("q(2)", PROVED), ("q(9)", DISPROVED), ("p(2, 0)", PROVED), ("p(0, 0)", DISPROVED)],
)
def test_a_session_binds_given_columns_as_the_definition_does(
    tmp_path: Path, goal: str, verdict: str
) -> None:
    """42."""
    rules = (
        '.pragma "constat" "0.1"\n.decl f(x: number)\n.decl g(x: number)\n'
        "@[given(c)]\n.decl p(c: number, x: number)\np(?c, ?x) :- f(?x), ?x < ?c.\n"
        ".decl q(x: number)\nq(?x) :- g(?x), !p(?x, 3).\n"
    )
    (tmp_path / "rules.dl").write_text(rules)
    (tmp_path / "constat.yaml").write_text(
        "rules: rules.dl\nclosed: [f, g]\nfacts:\n  f: [[0], [3]]\n  g: [[2], [9]]\n"
    )
    with Session(tmp_path) as session:
        assert session.prove(goal).verdict.value == verdict
        with pytest.raises(ConstatError):
            session.prove("p(?c, 0)")
        translated = program_of(session.program)
        body = goal_of(parse_goal(goal, session.program.program))
    assert translated.given == {"p": (0,)}
    found = Outside({"f": (Fact((0,)), Fact((3,))), "g": (Fact((2,)), Fact((9,)))})
    assert decide(translated, found, body).verdict == verdict


@pytest.mark.parametrize("term", [Var("c"), Blank()])
def test_a_goal_that_leaves_a_given_column_open_is_an_error(term: Var | Blank) -> None:
    """42."""
    open_goal = (Positive(Atom("p", (term, Var("x")))),)
    assert check_given(_GIVEN, open_goal) == ["column 0 of p"]
    with pytest.raises(ValueError, match="nothing binds"):
        decide(_GIVEN, Outside(), open_goal)
    bound = (Positive(Atom("g", (Var("c"),))), Positive(Atom("p", (Var("c"), Var("x")))))
    assert check_given(_GIVEN, bound) == []


@pytest.mark.parametrize("rows", [(("C1", None),), (("C1", "gold"), ("C1", "silver"))])
def test_what_is_wrong_in_a_column_that_a_goal_does_not_read_is_not_met(
    rows: tuple[tuple[str, str | None], ...],
) -> None:
    """50."""
    for user in ((), (("C2", "gold"),)):
        one = Keyed(database=rows, user=user)
        assert one.verdict("listed(C1)") == PROVED
        assert one.verdict("unlisted(C1)") == DISPROVED
        assert one.verdict("tier(C1, _)") == PROVED
        assert one.verdict("gold(C1)") == UNRESOLVED
        assert one.verdict("gold(C3)") == DISPROVED
    # Folded by its key a row counts once; that there are two of one key is met.
    assert Keyed(database=rows).verdict("keys(1)") == (PROVED if len(rows) == 1 else UNRESOLVED)
