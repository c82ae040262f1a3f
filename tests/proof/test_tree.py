"""What people read: the derivation, why a rule fails, and what is missing."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from constat.evaluation import Assumption, Limits
from constat.logic import OPEN
from constat.proof import Decision, proof_tree, render_tree, tree_to_json
from constat.proof.export.account import account_of
from constat.proof.export.drawing import rows_folded, rows_left
from tests.proof.asking import (
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    reach_tables,
    vip_tables,
)


def shown(decision: Decision, depth: int | None = None) -> str:
    return render_tree(proof_tree(decision), depth=depth)


def lines(decision: Decision) -> list[str]:
    return [line.strip() for line in shown(decision).splitlines()]


def test_a_derivation_reads_as_in_the_sketch() -> None:
    text = shown(ask(analysed(VIP), "is_vip(C1)", vip_tables()))
    assert text.startswith(
        "PROVED: is_vip(C1)\n"
        "\n"
        "is_vip(c=C1) = True\n"
        "  derived_from:\n"
        "    revenue(c=C1) = 150060\n"
        "      derived_from:\n"
        "        customer(c=C1) = True\n"
        "          source: DATABASE (sales)\n"
        "          query: SELECT * FROM customer\n"
        "          parameters: 'C1'\n"
        "          executed_at: 2026-01-31T10:00:00Z\n"
        "          reasoning: Customer C1 exists\n"
    )
    assert "    threshold = 100000\n      source: CONFIG (sales)\n" in text
    assert text.rstrip().endswith("revenue of C1 is 150,060, more than the threshold 100,000")


def test_what_was_looked_up_for_an_absence_is_shown() -> None:
    text = shown(ask(analysed(VIP), "is_vip(C1)", vip_tables()))
    place = text.index("blocked(c=C1) = False")
    part = text[place : place + 400]
    assert "query: SELECT * FROM blocked" in part
    assert "the sources were asked and have no such row" in part


def test_an_aggregate_shows_a_few_rows_and_counts_the_others() -> None:
    rows = tuple(("C1", f"o{i}", Decimal(10)) for i in range(12))
    tables = vip_tables(order_line=Table(rows))
    found = lines(ask(analysed(VIP), "revenue(C1, ?t)", tables))
    assert "sum of amount = 120 (12 rows)" in found
    assert sum(line.startswith("order_line(") for line in found) == 5
    assert "... and 7 more rows" in found
    assert found.count("query: SELECT * FROM order_line") == 1


_JOINED = VIP.replace(
    "order_line(?c, _o, ?amount) }", "customer(?c), order_line(?c, _o, ?amount) }"
)


def test_rows_of_several_relations_are_counted_together_and_told_apart() -> None:
    rows = tuple(("C1", f"o{i}", Decimal(10)) for i in range(12))
    decision = ask(analysed(_JOINED), "revenue(C1, ?t)", vip_tables(order_line=Table(rows)))
    found = lines(decision)
    assert "sum of amount = 120 (12 rows of customer and order_line together)" in found
    assert "... and 8 more rows of order_line" in found
    account = account_of(certificate(decision))
    left = rows_left(account, rows_folded(account))
    assert list(left.values()) == ["7 more rows of order line"]
    assert [fold.counted for fold in account.folds(9)] == [12]


def test_a_shared_part_is_shown_once() -> None:
    text = shown(ask(analysed(REACH), "reached(A, ?n)", reach_tables()))
    assert text.count("reach(a=A, b=B) = True  [") == 1
    assert "reach(a=A, b=B) = True  (shown above as [" in text


def test_the_depth_can_be_bounded() -> None:
    decision = ask(analysed(REACH), "reach(A, C)", reach_tables())
    assert "owns(a=A, b=B)" in shown(decision)
    short = shown(decision, depth=0)
    assert "owns" not in short.split("reasoning")[0]
    assert "more (depth limit)" in short


def test_an_assumption_is_named_at_the_goal_and_at_its_row() -> None:
    found = lines(ask(analysed(VIP), "is_vip(C3)", vip_tables()))
    assert found.count("assuming: alice says tier(C3, gold)") == 2
    assert "confidence: >= 0.9" in found
    assert "stated by: alice" in found


def test_a_failed_comparison_shows_what_is_there_what_is_needed_and_how_far_it_is() -> None:
    found = lines(ask(analysed(VIP), "is_vip(C2)", vip_tables()))
    assert "stopped at: Revenue of C2 is 10, not more than the threshold 100,000" in found
    assert "required: more than 100,000" in found
    assert "actual: 10" in found
    assert "distance: 99,990" in found


def test_a_row_that_is_lacking_is_named_as_a_goal() -> None:
    found = lines(ask(analysed(VIP), "is_vip(C2)", vip_tables()))
    assert "required: tier(C2, gold)" in found


def test_a_negation_that_stops_a_rule_shows_the_row() -> None:
    blocked = Table((("C1",),))
    found = lines(ask(analysed(VIP), "is_vip(C1)", vip_tables(blocked=blocked)))
    assert "stopped at: \u2018blocked\u2019 holds for C1" in found
    assert not [one for one in found if "?" in one]
    assert "actual: blocked(C1)" in found


def test_a_row_that_is_nowhere_shows_who_was_asked() -> None:
    found = lines(ask(analysed(VIP), "customer(C7)", vip_tables()))
    assert "asked for the goal itself, without a row that decides it:" in found
    assert "query: SELECT * FROM customer" in found


def test_missing_facts_are_goals_with_reasons_and_effects() -> None:
    tables = vip_tables(tier=Table(silent=True))
    text = shown(ask(analysed(VIP), "is_vip(C2)", tables))
    assert (
        "  tier(C2, gold)\n"
        "    reason: no tier answered\n"
        "    if it holds: the goal is proved\n"
        "    if there is none: the goal is disproved\n"
    ) in text
    assert "It would, if \u2018tier\u2019 holds for c C2 and t gold" in text


def test_an_open_pattern_is_pasted_back_with_variables() -> None:
    tables = vip_tables(tier=Table(open=(("C2", OPEN),)))
    assert "  tier(C2, ?t)\n" in shown(ask(analysed(VIP), "is_vip(C2)", tables))


def test_the_limit_that_stopped_evaluation_is_told() -> None:
    chain = tuple((f"n{i}", f"n{i + 1}") for i in range(50))
    decision = ask(analysed(REACH), "reach(n0, x)", {"owns": Table(chain)}, limits=Limits(calls=5))
    assert "evaluation stopped: the limit of 5 calls" in shown(decision)


def test_control_characters_of_data_do_not_reach_the_terminal() -> None:
    evil = "a\x1b[2J\u202e\nb"
    rules = analysed('.decl p(x: symbol)\n.input p(source="s", query="q")\n')
    text = shown(ask(rules, "p(?x)", {"p": Table(((evil,),))}))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a\\x1b[2J\\u{202e}\\nb" in text


def test_the_json_has_numbered_steps() -> None:
    decision = ask(analysed(VIP), "is_vip(C1)", vip_tables())
    tree = json.loads(tree_to_json(proof_tree(decision)))
    assert tree["verdict"] == "PROVED"
    (root,) = tree["roots"]
    step = tree["steps"][root]
    assert step["fact"] == "is_vip(c=C1) = True"
    below = [tree["steps"][number]["fact"] for number in step["derived_from"]]
    assert below == ["revenue(c=C1) = 150060", "threshold = 100000", "blocked(c=C1) = False"]
    threshold = tree["steps"][step["derived_from"][1]]
    assert [source["origin"] for source in threshold["sources"]] == ["CONFIG"]
    assert threshold["derived_from"] == []


def test_the_json_of_an_unresolved_goal_lists_what_is_missing() -> None:
    decision = ask(analysed(VIP), "is_vip(C2)", vip_tables(tier=Table(silent=True)))
    tree = json.loads(tree_to_json(proof_tree(decision)))
    assert [gap["goal"] for gap in tree["missing"]] == ["tier(C2, gold)"]
    assert {attempt["state"] for attempt in tree["attempts"]} == {"failed", "open"}


def test_looking_at_failed_rules_leaves_no_trace_in_the_certificate() -> None:
    decision = ask(analysed(VIP), "is_vip(C2)", vip_tables())
    before = certificate(decision)
    proof_tree(decision)
    assert certificate(decision) == before


def test_a_rule_that_errs_is_told_with_its_values() -> None:
    rules = analysed(
        '.decl n(x: number)\n.input n(source="s", query="q")\n'
        ".decl inverse(x: number, y: number)\n"
        "inverse(?x, ?y) :- n(?x), ?y = 100 / ?x.\n"
    )
    text = shown(ask(rules, "inverse(0, 7)", {"n": Table(((0,),))}))
    assert "rule inverse.1 could not be evaluated: division by zero (x = 0" in text


def test_a_rule_speaks_with_its_own_sentence() -> None:
    text = '@[says = "{c} spends {total}, above {x}"]\n'
    rules = analysed(VIP.replace("is_vip(?c) :- revenue", text + "is_vip(?c) :- revenue"))
    found = lines(ask(rules, "is_vip(C1)", vip_tables()))
    assert "reasoning: C1 spends 150,060, above 100,000" in found


def test_a_closure_is_named_where_an_absence_rests_on_it() -> None:
    closed = Assumption("closure", "blocked", "blocked is complete", Decimal("0.8"))
    found = lines(ask(analysed(VIP), "is_vip(C1)", vip_tables(blocked=Table(closed=closed))))
    assert "assuming: blocked is complete" in found


LONGEST = """
.decl boat(id: symbol, length: number)
.input boat(source="s", query="q")
.decl last(id: symbol, length: number)
last(?b, ?l) :- boat(?b, ?l), ?l = {0} ?x : {{ boat(_b, ?x) }}.
"""


@pytest.mark.parametrize("function", ["max", "min"])
@pytest.mark.parametrize("count", [12, 1_200])
def test_the_row_of_an_extreme_is_shown_before_others(function: str, count: int) -> None:
    wanted = count - 1 if function == "max" else 0
    rows = tuple((f"b{(n + 7) % count:05}", n) for n in range(count))
    (goal,) = (one for one, n in rows if n == wanted)
    program = analysed(LONGEST.format(function))
    told = lines(ask(program, f"last({goal}, ?l)", {"boat": Table(rows)}))
    place = next(n for n, line in enumerate(told) if line.startswith(f"{function} of length"))
    (first,) = [line for line in told[place:] if line.startswith("boat(")][:1]
    assert first.startswith(f"boat(id={goal}, length={wanted})")
