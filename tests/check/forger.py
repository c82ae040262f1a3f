"""Forge certificates: false proofs that are consistent in everything but their logic.

In: a seed.  Out: the tree of a certificate whose bytes and hashes fit and whose parts agree with
one another, and the one reason for which it must be rejected.  ``FORGERIES`` maps each class to its
maker and its reason code, so that no forgery is rejected by accident.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tests.check import certificates as c
from tests.check import constructs
from tests.check.writer import Tree, Writer, agg, cmp, con, fun, neg, pos, rows_hash, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

Forge = Callable[[random.Random], Tree]
_FORGERIES: dict[str, tuple[str, Forge]] = {}


def forgery(code: str) -> Callable[[Forge], Forge]:
    def register(forge: Forge) -> Forge:
        _FORGERIES[forge.__name__] = (code, forge)
        return forge

    return register


def replaced(value: Any, old: str, new: str) -> Any:  # noqa: ANN401  any JSON
    """Return the JSON value with one string replaced everywhere."""
    if isinstance(value, dict):
        return {key: replaced(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, old, new) for inner in value]
    return new if value == old else value


def group(tree: Tree, predicate: str) -> Tree:
    found: Tree = next(g for g in tree["facts"] if g["predicate"] == predicate)
    return found


def coverage(tree: Tree, predicate: str) -> Tree:
    found: Tree = next(g for g in tree["coverage"] if g["predicate"] == predicate)
    return found


def show_rows(tree: Tree, shown: Tree, rows: list[list[str]]) -> None:
    """Put rows into a group, and make its source say that these are all."""
    shown["rows"] = sorted(rows)
    source = tree["sources"][shown["source"]]
    source["rows"], source["hash"] = len(rows), rows_hash(rows)


def goal_of(tree: Tree) -> str:
    found: str = tree["header"]["goal"][1][0]
    return found


# ------------------------------------------------------------------ aggregates and values


@forgery("aggregate")
def wrong_sum_with_matching_facts(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    right = tree["nodes"][1]["fact"][1][1]
    tree["nodes"] = replaced(tree["nodes"], right, str(int(right) + rng.randrange(1, 99)))
    return tree


@forgery("not-covered")
def bound_with_a_smaller_sum(rng: random.Random) -> Tree:
    tree = c.vip_disproved(rng).tree
    row = next(rows for name, rows in tree["closure"]["rows"] if name == "spend")[0]
    row[1] = str(int(row[1]) - rng.randrange(1, 99))
    return tree


@forgery("aggregate")
def sum_that_leaves_a_shown_row_out(rng: random.Random) -> Tree:
    """A row is added inline, with count and hash; the sum stays as it was."""
    tree = c.vip_proved(rng).tree
    shown = group(tree, "order")
    who = shown["rows"][0][1]
    show_rows(tree, shown, [*shown["rows"], ["O9", who, str(rng.randrange(1, 99))]])
    return tree


@forgery("aggregate")
def sum_over_a_row_that_is_only_possible(rng: random.Random) -> Tree:
    """The row that a person added counts, though nobody accepted it."""
    tree = c.vip_proved(rng).tree
    who = goal_of(tree)
    extra = rng.randrange(1, 99)
    add_assumed(tree, "order", ["O9", who, str(extra)])
    right = tree["nodes"][1]["fact"][1][1]
    tree["nodes"] = replaced(tree["nodes"], right, str(int(right) + extra))
    return tree


@forgery("aggregate")
def sum_that_ignores_a_possible_row(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    add_assumed(tree, "order", ["O9", goal_of(tree), str(rng.randrange(1, 99))])
    return tree


@forgery("aggregate")
def sum_that_ignores_an_open_row(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    add_open(tree, "order", [None, goal_of(tree), None])
    return tree


def add_assumed(tree: Tree, predicate: str, row: list[str], kind: str = "fact") -> int:
    """Add a row on an assumption; return the assumption."""
    tree["assumptions"].append(
        {"kind": kind, "text": "a guess", "confidence": "1", "attestations": []}
    )
    assumption = len(tree["assumptions"]) - 1
    tree["sources"].append(
        {
            **tree["sources"][0],
            "origin": "LLM_KNOWLEDGE",
            "rows": 1,
            "hash": rows_hash([row]),
            "confidence": "1",
        }
    )
    tree["record"]["executed"].append(None)
    tree["facts"].append(
        {
            "predicate": predicate,
            "source": len(tree["sources"]) - 1,
            "assumption": assumption,
            "rows": [row],
        }
    )
    return assumption


def add_open(
    tree: Tree, predicate: str, row: list[str | None], assumption: int | None = None
) -> None:
    tree["open"].append(
        {"predicate": predicate, "row": row, "reason": "failed", "assumption": assumption}
    )


def folded(function: str, kind: str, values: list[str], claimed: str, result: str) -> Tree:
    """Return a proof that the fold of the values is what is claimed."""
    return constructs.folded(function, kind, values, claimed, result).tree


@forgery("aggregate")
def wrong_minimum(rng: random.Random) -> Tree:
    values = sorted(rng.sample(range(-50, 50), 5))
    return folded("min", "number", list(map(str, values)), str(values[1]), "number")


@forgery("aggregate")
def minimum_by_text(rng: random.Random) -> Tree:
    """As texts, 10 comes before 9."""
    tens = str(rng.randrange(10, 90))
    return folded("min", "number", ["9", tens], tens, "number")


@forgery("aggregate")
def wrong_maximum(rng: random.Random) -> Tree:
    days = [f"20{rng.randrange(10, 50)}-01-0{n}" for n in range(1, 5)]
    return folded("max", "Date", days, sorted(days)[-2], "Date")


@forgery("aggregate")
def wrong_mean(rng: random.Random) -> Tree:
    """The mean of the whole numbers below, as integer division would have it."""
    low = rng.randrange(100)
    claimed = float(low).hex()
    return folded("mean", "number", [str(low), str(low + 1)], claimed, "float")


@forgery("aggregate")
def mean_rounded_up(rng: random.Random) -> Tree:
    third = f"{rng.randrange(1, 90)}"
    values = [third, third, str(int(third) + 2)]
    return folded("mean", "Decimal", values, f"{int(third)}.666666666666", "Decimal")


@forgery("aggregate")
def wrong_count(rng: random.Random) -> Tree:
    values = [str(rng.randrange(9)) for _ in range(4)]
    return folded("count", "number", values, "5", "number")


@forgery("aggregate")
def count_of_values_instead_of_assignments(rng: random.Random) -> Tree:
    value = str(rng.randrange(9))
    return folded("count", "number", [value, value, value], "1", "number")


@forgery("aggregate")
def minimum_of_nothing(rng: random.Random) -> Tree:
    return folded("min", "number", [], str(rng.randrange(9)), "number")


@forgery("aggregate")
def sum_that_overflows(rng: random.Random) -> Tree:
    big = str(2**63 - 1 - rng.randrange(9))
    return folded("sum", "number", [big, "10"], str((int(big) + 10) - 2**64), "number")


@forgery("head")
def wrong_function_in_the_head(rng: random.Random) -> Tree:
    tree = c.head_function(rng).tree
    for part in (tree["nodes"][1]["fact"][1], tree["header"]["goal"][1]):
        part[0] = str(rng.choice([0, 1, 2, 4, 5]))
    return tree


@forgery("comparison")
def wrong_function_in_an_equation(rng: random.Random) -> Tree:
    w = Writer()
    w.outside("p", "x:symbol")
    w.declare("q", "n:number")
    rule = w.rule(
        "length", pos("q", "n"), pos("p", "x"), cmp("=", "n", fun("strlen", "number", "x"))
    )
    text = "é" * rng.randrange(1, 9)
    w.facts("p", [[text]])
    wrong = str(len(text))  # characters instead of bytes
    w.derived(rule, [wrong], {"x": text, "n": wrong}, [w.given("p", text), None])
    return w.conclude("PROVED", "q", wrong).tree


@forgery("comparison")
def false_comparison(rng: random.Random) -> Tree:
    """The threshold is above the sum, everywhere."""
    tree = c.vip_proved(rng).tree
    shown = group(tree, "threshold")
    old = shown["rows"][0][0]
    new = str(int(tree["nodes"][1]["fact"][1][1]) + 1 + rng.randrange(99))
    tree["nodes"] = replaced(tree["nodes"], old, new)
    show_rows(tree, shown, [[new]])
    return tree


@forgery("comparison")
def comparison_by_text(rng: random.Random) -> Tree:
    """As texts, 9 is more than 10."""
    tree = c.barred_by_node(rng).tree
    old = tree["nodes"][0]["fact"][1][1]
    tree["rules"][0]["body"][1][3][2] = "10"
    tree["nodes"] = replaced(tree["nodes"], old, "9")
    show_rows(tree, group(tree, "debt"), [[goal_of(tree), "9"]])
    return tree


@forgery("comparison")
def error_taken_for_truth(rng: random.Random) -> Tree:
    """A division by zero proves nothing, not even a difference."""
    w = Writer()
    w.outside("p", "x:number")
    w.declare("q", "x:number")
    quotient = fun("/", "number", con("number", "1"), "x")
    body = cmp("!=", quotient, con("number", str(rng.randrange(9))))
    rule = w.rule("odd", pos("q", "x"), pos("p", "x"), body)
    w.facts("p", [["0"]])
    w.derived(rule, ["0"], {"x": "0"}, [w.given("p", "0"), None])
    return w.conclude("PROVED", "q", "0").tree


# ------------------------------------------------------------------------------- premises


@forgery("premise")
def circular_support(rng: random.Random) -> Tree:
    """Two nodes carry each other."""
    w = Writer()
    _, step = c.graph_rules(w)
    n = c.edges(w, rng, 2)
    first, second = w.given("edge", n[0], n[1]), w.given("edge", n[1], n[0])
    w.derived(step, [n[0], "far"], {"x": n[0], "y": n[1], "z": "far"}, [first, 3])
    w.derived(step, [n[1], "far"], {"x": n[1], "y": n[0], "z": "far"}, [second, 2])
    return w.conclude("PROVED", "reach", n[0], "far").tree


@forgery("premise")
def self_support(rng: random.Random) -> Tree:
    w = Writer()
    w.declare("p", "x:symbol")
    rule = w.rule("self", pos("p", "x"), pos("p", "x"))
    name = c.customer(rng)
    w.derived(rule, [name], {"x": name}, [0])
    return w.conclude("PROVED", "p", name).tree


@forgery("premise")
def dropped_premise(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    node = tree["nodes"][3]
    node["premises"][rng.randrange(2)] = None
    return tree


@forgery("premise")
def premise_of_another_fact(rng: random.Random) -> Tree:
    tree = c.reach_proved(rng).tree
    tree["nodes"][5]["premises"][0] = rng.choice([1, 2, 3])
    return tree


@forgery("premise")
def premise_of_another_predicate(rng: random.Random) -> Tree:
    """The row is right, the predicate is not."""
    w, who = Writer(), c.customer(rng)
    w.outside("candidate", "c:symbol")
    w.outside("member", "c:symbol")
    w.declare("welcome", "c:symbol")
    rule = w.rule("welcome", pos("welcome", "c"), pos("member", "c"))
    w.facts("candidate", [[who]])
    w.derived(rule, [who], {"c": who}, [w.given("candidate", who)])
    return w.conclude("PROVED", "welcome", who).tree


@forgery("premise")
def premise_for_a_negation(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["nodes"][3]["premises"][3] = 0
    return tree


@forgery("premise")
def premise_for_an_aggregate(rng: random.Random) -> Tree:
    """The exact value of an aggregate rests on no single node."""
    tree = c.vip_proved(rng).tree
    tree["nodes"][1]["premises"][1] = 0
    return tree


@forgery("head")
def head_of_somebody_else(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["nodes"][3]["fact"][1] = tree["header"]["goal"][1] = ["Z" + c.customer(rng)]
    return tree


@forgery("head")
def head_of_another_predicate(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["nodes"][3]["fact"][0] = tree["header"]["goal"][0] = "blocked"
    return tree


@forgery("node")
def fact_that_no_row_shows(rng: random.Random) -> Tree:
    tree = c.gold_by_user(rng).tree
    silver = group(tree, "tier")
    show_rows(tree, silver, [[goal_of(tree), "silver"]])
    return tree


@forgery("node")
def fact_of_another_predicate(rng: random.Random) -> Tree:
    """The row of one list is shown as the row of another."""
    w, who = Writer(), c.customer(rng)
    w.outside("candidate", "c:symbol")
    w.outside("member", "c:symbol")
    w.facts("candidate", [[who]])
    w.given("candidate", who)
    tree = w.conclude("PROVED", "member", who).tree
    tree["nodes"][0]["fact"][0] = "member"
    return tree


@forgery("node")
def the_same_fact_twice(rng: random.Random) -> Tree:
    tree = c.gold_by_user(rng).tree
    tree["nodes"].insert(0, tree["nodes"][0])
    tree["nodes"][2]["premises"] = [1]
    return tree


@forgery("unused")
def a_node_that_nothing_needs(rng: random.Random) -> Tree:
    tree = c.vip_disproved(rng).tree
    tree["nodes"].append(
        {
            "kind": "fact",
            "fact": ["customer", [goal_of(tree)]],
            "facts": 0,
            "row": 0,
            "confidence": "1",
        }
    )
    return tree


@forgery("schema")
def a_value_for_a_local_variable(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["nodes"][1]["bind"][-1] = str(rng.randrange(9))
    return tree


@forgery("value")
def a_value_of_the_wrong_kind(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    right = tree["nodes"][1]["fact"][1][1]
    wrong = rng.choice([right + ".0", "0" + right, "+" + right, right + " ", "many"])
    tree["nodes"] = replaced(tree["nodes"], right, wrong)
    return tree


# ------------------------------------------------------------------------------- negation


@forgery("negation")
def negation_of_an_inline_row(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    source = len(tree["sources"]) - 1
    shown = {"predicate": "blocked", "source": source, "assumption": None, "rows": []}
    tree["facts"].append(shown)
    show_rows(tree, shown, [[goal_of(tree)]])
    return tree


@forgery("negation")
def negation_of_an_assumed_row(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    add_assumed(tree, "blocked", [goal_of(tree)])
    return tree


@forgery("negation")
def negation_of_an_open_row(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    add_open(tree, "blocked", [rng.choice([None, goal_of(tree)])])
    return tree


@forgery("negation")
def negation_of_an_error(rng: random.Random) -> Tree:
    """No row is bad, so the row that divides by zero is not bad."""
    w = Writer()
    w.outside("start", "x:number")
    w.outside("bad", "q:number")
    w.declare("fine", "x:number")
    quotient = fun("/", "number", con("number", str(rng.randrange(9))), "x")
    rule = w.rule("fine", pos("fine", "x"), pos("start", "x"), neg("bad", quotient))
    w.facts("start", [["0"]])
    w.cover("bad", [], [[]], w.source([]))
    w.derived(rule, ["0"], {"x": "0"}, [w.given("start", "0"), None])
    return w.conclude("PROVED", "fine", "0").tree


@forgery("unserved")
def negation_without_coverage(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["coverage"].remove(coverage(tree, "blocked"))
    return tree


@forgery("unserved")
def negation_with_coverage_of_another_key(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    coverage(tree, "blocked")["keys"] = [["Z" + c.customer(rng)]]
    return tree


@forgery("unserved")
def negation_without_closure(rng: random.Random) -> Tree:
    tree = c.unreached_proved(rng).tree
    tree["closure"] = {"entries": [], "rows": []}
    return tree


@forgery("coverage")
def coverage_by_a_person(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    source = coverage(tree, "blocked")["sources"][0]
    origins = ["USER_PROVIDED", "LLM_KNOWLEDGE", "LLM_HEURISTIC", "SUB_PLAN", "API"]
    tree["sources"][source]["origin"] = rng.choice(origins)
    return tree


@forgery("coverage")
def coverage_by_nobody(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    coverage(tree, "blocked")["sources"] = []
    return tree


@forgery("coverage")
def coverage_backed_for_one_key_only(rng: random.Random) -> Tree:
    tree = c.gold_disproved_by_closure(rng).tree
    coverage(tree, "tier")["keys"].append(["Z" + c.customer(rng)])
    return tree


@forgery("coverage")
def coverage_backed_by_a_narrow_row(rng: random.Random) -> Tree:
    tree = c.gold_disproved_by_closure(rng).tree
    tree["open"][0]["row"][1] = "silver"
    return tree


@forgery("verdict")
def absence_though_the_closure_is_only_declared(rng: random.Random) -> Tree:
    """Nobody accepts the declaration: the open row counts."""
    w = c.gold_disproved_by_closure(rng)
    who = goal_of(w.tree)
    w.tree["closure"]["rows"] = [["gold", [[who]]]]
    return w.conclude("DISPROVED", "gold", who).tree


@forgery("negation")
def negation_of_any_with_some_row(rng: random.Random) -> Tree:
    """Some order is there; only its number and amount were not asked for."""
    tree = c.negation_of_any(rng).tree
    shown = group(tree, "order")
    row = ["O9", goal_of(tree), str(rng.randrange(99))]
    show_rows(tree, shown, [*shown["rows"], row])
    return tree


@forgery("negation")
def negation_of_any_with_an_open_row(rng: random.Random) -> Tree:
    tree = c.negation_of_any(rng).tree
    add_open(tree, "order", [None, rng.choice([None, goal_of(tree)]), str(rng.randrange(9))])
    return tree


@forgery("unserved")
def negation_of_any_without_coverage(rng: random.Random) -> Tree:
    """Covered are orders of one number, not all orders of the customer."""
    tree = c.negation_of_any(rng).tree
    coverage(tree, "order").update(columns=[0, 1], keys=[["O9", goal_of(tree)]])
    return tree


@forgery("schema")
def value_for_any(rng: random.Random) -> Tree:
    """Not any order is absent, but this one."""
    tree = c.negation_of_any(rng).tree
    tree["nodes"][-1]["bind"][1:] = ["O9", str(rng.randrange(99))]
    return tree


@forgery("schema")
def no_value_for_a_variable(rng: random.Random) -> Tree:
    """The customer himself is left open in the negation."""
    tree = c.vip_proved(rng).tree
    tree["nodes"][3]["bind"][rng.randrange(3)] = None
    return tree


@forgery("not-covered")
def removal_of_any_by_an_uncertain_row(rng: random.Random) -> Tree:
    w = c.negation_of_any_disproved(rng)
    who = goal_of(w.tree)
    guess = w.assume("fact")
    w.tree["facts"][1]["assumption"] = guess
    w.cover("order", [1], [[who]], 1)
    return w.conclude("DISPROVED", "lonely", who).tree


@forgery("not-covered")
def removal_of_any_by_an_open_row(rng: random.Random) -> Tree:
    tree = c.negation_of_any_disproved(rng).tree
    shown = group(tree, "order")
    show_rows(tree, shown, [["O1", "Z" + goal_of(tree), "1"]])
    add_open(tree, "order", [None, goal_of(tree), None])
    return tree


@forgery("not-covered")
def removal_before_the_variable_is_bound(rng: random.Random) -> Tree:
    """Somebody is blocked; that removes him and nobody else."""
    tree = c.negation_before_its_variable(rng).tree
    rows = tree["closure"]["rows"][0][1]
    del rows[rng.randrange(2)]
    return tree


@forgery("unserved")
def node_of_another_row_instead_of_coverage(rng: random.Random) -> Tree:
    tree = c.node_instead_of_coverage(rng).tree
    tree["closure"]["entries"][0]["keys"] = [["Z" + goal_of(tree)]]
    return tree


# ---------------------------------------------------------------------------- upper bounds


@forgery("closure")
def closure_that_skips_a_rule(rng: random.Random) -> Tree:
    tree = c.reach_disproved(rng).tree
    del tree["closure"]["entries"][0]["orders"][rng.randrange(2)]
    tree["closure"]["rows"] = []
    return tree


@forgery("closure")
def closure_that_runs_a_rule_twice(rng: random.Random) -> Tree:
    tree = c.reach_disproved(rng).tree
    orders = tree["closure"]["entries"][0]["orders"]
    orders[1] = orders[0]
    return tree


@forgery("closure")
def closure_with_an_order_that_skips_a_literal(rng: random.Random) -> Tree:
    tree = c.reach_disproved(rng).tree
    order = tree["closure"]["entries"][0]["orders"][1]
    order[1] = rng.choice([[0], [1], [], [0, 0], [1, 1], [0, 1, 1]])
    return tree


@forgery("not-covered")
def closure_that_is_too_small(rng: random.Random) -> Tree:
    tree = c.reach_disproved(rng).tree
    rows = tree["closure"]["rows"][0][1]
    del rows[rng.randrange(len(rows))]
    return tree


@forgery("not-covered")
def closure_without_rows(rng: random.Random) -> Tree:
    """PROVED that two places are apart, because the closure of reach is empty."""
    tree = c.unreached_proved(rng).tree
    tree["closure"]["rows"] = []
    return tree


@forgery("unserved")
def closure_that_misses_a_demand(rng: random.Random) -> Tree:
    tree = c.reach_disproved(rng).tree
    keys = tree["closure"]["entries"][0]["keys"]
    goal = tree["header"]["goal"][1][0]
    victim = rng.choice([key for key in keys if key != [goal]])
    keys.remove(victim)
    rows = tree["closure"]["rows"][0][1]
    rows[:] = [row for row in rows if row[0] != victim[0]]
    return tree


@forgery("unserved")
def closure_over_uncovered_rows(rng: random.Random) -> Tree:
    tree = c.reach_disproved(rng).tree
    keys = coverage(tree, "edge")["keys"]
    del keys[rng.randrange(len(keys))]
    return tree


@forgery("unserved")
def closure_of_another_key(rng: random.Random) -> Tree:
    """The goal asks for somebody whom the closure does not speak of."""
    tree = c.vip_disproved(rng).tree
    tree["header"]["goal"][1] = ["Z" + c.customer(rng)]
    return tree


@forgery("unserved")
def closure_through_mutual_recursion_missing(rng: random.Random) -> Tree:
    tree = c.odd_disproved(rng).tree
    entries = tree["closure"]["entries"]
    tree["closure"]["entries"] = [e for e in entries if e["predicate"] == "odd"]
    return tree


@forgery("not-covered")
def error_dropped(rng: random.Random) -> Tree:
    """The instance that divides by zero is treated as if it were not there."""
    w = c.error_unresolved(rng)
    w.tree["closure"]["rows"] = []
    return w.conclude("DISPROVED", "ratio", "7").tree


@forgery("not-covered")
def error_in_the_head_dropped(rng: random.Random) -> Tree:
    w = c.error_in_head(rng)
    w.tree["closure"]["rows"] = []
    return w.conclude("DISPROVED", "ratio", "3").tree


@forgery("not-covered")
def star_treated_as_a_value(rng: random.Random) -> Tree:
    """The unknown sum is taken to be too small."""
    w = c.vip_orders_unknown(rng)
    rows = dict(w.tree["closure"]["rows"])
    del rows["is_vip"]
    w.tree["closure"]["rows"] = sorted(map(list, rows.items()))
    return w.conclude("DISPROVED", "is_vip", goal_of(w.tree)).tree


@forgery("not-covered")
def star_replaced_by_a_value(rng: random.Random) -> Tree:
    """The unknown sum is listed as a number."""
    w = c.vip_orders_unknown(rng)
    who = goal_of(w.tree)
    w.tree["closure"]["rows"] = [["spend", [[who, str(rng.randrange(900))]]]]
    return w.conclude("DISPROVED", "is_vip", who).tree


@forgery("not-covered")
def star_that_joins_with_nothing(rng: random.Random) -> Tree:
    w = c.star_joins(rng)
    who = goal_of(w.tree)
    w.tree["closure"]["rows"] = [["price", [[who, "10"]]]]
    return w.conclude("DISPROVED", "price", who, "3").tree


@forgery("not-covered")
def removal_by_an_uncertain_row(rng: random.Random) -> Tree:
    """The row that blocks is only assumed, and the assumption is not accepted."""
    w = c.blocked_by_user(rng)
    who = goal_of(w.tree)
    w.cover("blocked", [0], [[who]], w.source([]))
    return w.conclude("DISPROVED", "welcome", who).tree


@forgery("not-covered")
def removal_by_a_conflict(rng: random.Random) -> Tree:
    w = c.gold_conflict(rng)
    w.tree["closure"]["rows"] = []
    return w.conclude("DISPROVED", "gold", goal_of(w.tree)).tree


def _guessed(make: Callable[[random.Random], Writer]) -> Forge:
    """Take a fold that is unknown for one of the values that it may seem to have."""

    def forge(rng: random.Random) -> Tree:
        w = make(rng)
        values: list[list[str | None]] = [[str(n)] for n in range(10)]
        w.tree["closure"]["rows"] = [["result", values]]
        return w.conclude("DISPROVED", "result", "10").tree

    forge.__name__ = f"guessed_{make.__name__}"
    return forge


for _make in (
    constructs.fold_error_in_a_negation,
    constructs.fold_error_in_a_test,
    constructs.fold_error_in_an_atom,
    constructs.fold_of_an_error,
    constructs.fold_of_an_unknown_target,
    constructs.fold_overflows,
):
    forgery("not-covered")(_guessed(_make))


@forgery("not-covered")
def guessed_fold_of_an_unknown_group(rng: random.Random) -> Tree:
    w = constructs.fold_of_an_unknown_group(rng)
    who = goal_of(w.tree)
    w.tree["closure"]["rows"] = [["spend", [[who, "0"]]]]
    return w.conclude("DISPROVED", "spend", who, "3").tree


@forgery("not-covered")
def proposed_rule_left_out(rng: random.Random) -> Tree:
    """A rule that nobody accepted takes part in the upper bound like all others."""
    w = c.gold_by_proposed_rule(rng)
    who = goal_of(w.tree)
    w.tree["nodes"] = []
    w.cover("tier", [0], [[who]], 0)
    w.entry("gold", [0], [[who]])
    return w.conclude("DISPROVED", "gold", who).tree


@forgery("not-covered")
def assumed_row_left_out(rng: random.Random) -> Tree:
    w = c.gold_only_assumed(rng)
    w.tree["closure"]["rows"] = []
    return w.conclude("DISPROVED", "gold", goal_of(w.tree)).tree


@forgery("unbound")
def order_that_tests_before_it_binds(rng: random.Random) -> Tree:
    tree = c.vip_disproved(rng).tree
    order = tree["closure"]["entries"][1]["orders"][0]
    order[1] = rng.choice([[2, 0, 1, 3], [0, 2, 1, 3], [3, 2, 1, 0]])
    return tree


@forgery("unbound")
def order_that_tests_half_bound(rng: random.Random) -> Tree:
    """The threshold is not known yet when the sum is compared with it."""
    tree = c.vip_disproved(rng).tree
    tree["closure"]["entries"][1]["orders"][0][1] = [0, 2, 1, 3]
    return tree


@forgery("unbound")
def order_that_computes_before_it_binds(rng: random.Random) -> Tree:
    tree = c.error_unresolved(rng).tree
    tree["closure"]["entries"][0]["orders"][0][1] = [1, 0]
    return tree


@forgery("unbound")
def order_that_matches_a_function_of_nothing(rng: random.Random) -> Tree:
    """A row is looked for with a sum whose parts are not known yet."""
    w = constructs.constants_in_atoms(rng)
    w.tree["closure"]["entries"][0]["orders"][0][1] = [1, 0]
    return w.tree


@forgery("unbound")
def order_that_aggregates_before_its_group(rng: random.Random) -> Tree:
    """The sum over everybody, taken for the sum of each."""
    w = c.vip_disproved(rng)
    tree = w.tree
    entry = tree["closure"]["entries"][0]
    entry.update(columns=[], keys=[[]])
    entry["orders"][0][1] = [1, 0]
    coverage(tree, "order").update(columns=[], keys=[[]])
    coverage(tree, "customer").update(columns=[], keys=[[]])
    return tree


@forgery("unserved")
def closure_of_one_side_only(rng: random.Random) -> Tree:
    """The predicate is derived and may also come from outside; nothing covers the outside."""
    tree = c.vip_disproved(rng).tree
    next(d for d in tree["declarations"] if d["name"] == "is_vip")["external"] = 1
    return tree


@forgery("aggregate")
def aggregate_over_a_row_without_a_node(rng: random.Random) -> Tree:
    """A derived row is possible and nobody proved it: the count of the others is not exact."""
    tree = c.aggregate_over_derived(rng).tree
    client = {"kind": "fact", "fact": ["client", [goal_of(tree)]], "facts": 0, "row": 0}
    kept = tree["nodes"][:2]
    last = tree["nodes"][-1]
    last["premises"][0] = 2
    last["bind"][1] = "1"
    tree["rules"][1]["body"][2][3][2] = "1"
    tree["nodes"] = [*kept, {**client, "confidence": "1"}, last]
    return tree


@forgery("unserved")
def aggregate_over_derived_rows_without_closure(rng: random.Random) -> Tree:
    tree = c.aggregate_over_derived(rng).tree
    tree["closure"] = {"entries": [], "rows": []}
    return tree


# ------------------------------------------------------------------- assumptions, confidence


@forgery("assumption")
def assumption_used_and_not_accepted(rng: random.Random) -> Tree:
    w = c.gold_by_user(rng)
    return w.conclude("PROVED", "gold", goal_of(w.tree), confidence="0.9").tree


@forgery("assumption")
def proposed_rule_used_and_not_accepted(rng: random.Random) -> Tree:
    w = c.gold_by_proposed_rule(rng)
    return w.conclude("PROVED", "gold", goal_of(w.tree), confidence="0.259258").tree


@forgery("assumption")
def origin_without_assumption(rng: random.Random) -> Tree:
    w = c.gold_by_user(rng)
    origins = ["USER_PROVIDED", "LLM_KNOWLEDGE", "LLM_HEURISTIC", "SUB_PLAN", "API"]
    w.tree["sources"][0]["origin"] = rng.choice(origins)
    w.tree["facts"][0]["assumption"] = None
    return w.conclude("PROVED", "gold", goal_of(w.tree), confidence="0.9").tree


@forgery("assumption")
def open_row_closed_by_a_fact(rng: random.Random) -> Tree:
    """Accepting a statement about a row is no statement that there are no others."""
    tree = c.gold_disproved_by_closure(rng).tree
    tree["assumptions"][0]["kind"] = rng.choice(["fact", "rule"])
    return tree


@forgery("assumption")
def rule_on_an_assumption_about_a_fact(rng: random.Random) -> Tree:
    tree = c.gold_by_proposed_rule(rng).tree
    tree["assumptions"][0]["kind"] = rng.choice(["fact", "closure", "fall-through"])
    return tree


@forgery("assumption")
def doubtful_rule_without_assumption(rng: random.Random) -> Tree:
    w = c.gold_by_proposed_rule(rng)
    w.tree["rules"][0]["assumption"] = None
    return w.conclude("PROVED", "gold", goal_of(w.tree), confidence="0.259258").tree


@forgery("under")
def assumption_accepted_and_not_used(rng: random.Random) -> Tree:
    w = c.vip_proved(rng)
    idle = w.assume(rng.choice(["fact", "rule", "closure", "fall-through"]))
    return w.conclude("PROVED_UNDER", "is_vip", goal_of(w.tree), under=(idle,)).tree


@forgery("under")
def second_voice_accepted_and_not_used(rng: random.Random) -> Tree:
    """Two say the same with equal confidence; the first is enough."""
    w = c.blocked_by_user(rng)
    who = goal_of(w.tree)
    other = w.assume("fact", "bob says so", "0.9")
    w.facts("blocked", [[who]], origin="API", confidence="0.9", assumption=other)
    return w.conclude("DISPROVED_UNDER", "welcome", who, under=(0, other)).tree


@forgery("verdict")
def proved_with_assumptions(rng: random.Random) -> Tree:
    tree = c.gold_by_user(rng).tree
    tree["header"]["verdict"] = "PROVED"
    return tree


@forgery("verdict")
def under_nothing(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["header"]["verdict"] = "PROVED_UNDER"
    return tree


@forgery("confidence")
def confidence_of_the_header_inflated(rng: random.Random) -> Tree:
    tree = c.gold_by_user(rng).tree
    tree["header"]["confidence"] = rng.choice(["1", "0.95", "0.900001"])
    return tree


@forgery("confidence")
def confidence_of_a_fact_inflated(rng: random.Random) -> Tree:
    tree = c.gold_by_user(rng).tree
    return {**tree, **replaced({k: tree[k] for k in ("header", "nodes")}, "0.9", "1")}


@forgery("confidence")
def confidence_rounded_up(rng: random.Random) -> Tree:
    tree = c.gold_by_proposed_rule(rng).tree
    parts = {key: tree[key] for key in ("header", "nodes")}
    return {**tree, **replaced(parts, "0.259258", "0.259259")}


@forgery("confidence")
def confidence_of_the_greatest_premise(rng: random.Random) -> Tree:
    tree = c.absence_confidence(rng).tree
    parts = {key: tree[key] for key in ("header", "nodes")}
    return {**tree, **replaced(parts, "0.75", "0.8")}


@forgery("confidence")
def confidence_of_an_aggregate_inflated(rng: random.Random) -> Tree:
    """The rows of the sum come from a doubtful source."""
    tree = c.vip_proved(rng).tree
    tree["sources"][group(tree, "order")["source"]]["confidence"] = "0.5"
    return tree


@forgery("confidence")
def confidence_of_an_absence_inflated(rng: random.Random) -> Tree:
    tree = c.gold_disproved_by_closure(rng).tree
    tree["header"]["confidence"] = "1"
    return tree


# -------------------------------------------------------------------------------- programs


@forgery("strata")
def negation_through_itself(rng: random.Random) -> Tree:
    """p holds because p does not."""
    w, who = Writer(), c.customer(rng)
    w.outside("start", "x:symbol")
    w.declare("p", "x:symbol")
    w.declare("q", "x:symbol")
    w.rule("q", pos("q", "x"), pos("p", "x"))
    rule = w.rule("p", pos("p", "x"), pos("start", "x"), neg("q", "x"))
    w.facts("start", [[who]], covers=([0], [[who]]))
    w.derived(rule, [who], {"x": who}, [w.given("start", who), None])
    w.entry("q", [0], [[who]])
    w.entry("p", [0], [[who]])
    return w.conclude("PROVED", "p", who).tree


@forgery("strata")
def aggregate_through_itself(rng: random.Random) -> Tree:
    w = Writer()
    w.outside("start", "n:number")
    w.declare("p", "n:number")
    w.rule(
        "p", pos("p", "n"), pos("start", "m"), agg("count", "n", None, pos("p", "k")), m="number"
    )
    w.facts("start", [[str(rng.randrange(9))]], covers=([], [[]]))
    w.entry("p", [], [[]], [["0"]])
    return w.conclude("DISPROVED", "p", "1").tree


@forgery("safety")
def unsafe_head(rng: random.Random) -> Tree:
    """A rule that says yes to everybody."""
    w, who = Writer(), c.customer(rng)
    w.declare("p", "x:symbol")
    rule = w.rule("all", pos("p", "x"))
    w.derived(rule, [who], {"x": who}, [])
    return w.conclude("PROVED", "p", who).tree


@forgery("safety")
def unsafe_negation(rng: random.Random) -> Tree:
    w, who = Writer(), c.customer(rng)
    w.outside("blocked", "x:symbol")
    w.declare("p", "x:symbol")
    rule = w.rule("all", pos("p", "x"), neg("blocked", "x"))
    w.cover("blocked", [], [[]], w.source([]))
    w.derived(rule, [who], {"x": who}, [None])
    return w.conclude("PROVED", "p", who).tree


@forgery("safety")
def aggregate_of_its_own_result(rng: random.Random) -> Tree:
    """Every value is the greatest of itself."""
    w, wish = Writer(), str(rng.randrange(10, 99))
    w.outside("given", "k:number")
    w.declare("best", "n:number")
    rule = w.rule("best", pos("best", "n"), agg("max", "n", "n", pos("given", "k")), k="number")
    w.facts("given", [["1"]], covers=([], [[]]))
    w.derived(rule, [wish], {"n": wish}, [None])
    return w.conclude("PROVED", "best", wish).tree


@forgery("rule")
def outer_variable_listed_as_local(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    variables = tree["rules"][0]["variables"]
    variables[1], variables[3] = variables[3], variables[1]
    return tree


@forgery("rule")
def variables_that_look_alike(rng: random.Random) -> Tree:
    """Printed, both would be ?x, and the rule would seem to compare a value with itself."""
    w, who = Writer(), c.customer(rng)
    w.outside("pair", "a:symbol b:symbol")
    w.declare("same", "a:symbol")
    rule = w.rule("same", pos("same", "x"), pos("pair", "x", "?x"))
    w.facts("pair", [[who, "other"]])
    bind = {"x": who, "?x": "other"}
    w.derived(rule, [who], bind, [w.given("pair", who, "other")])
    return w.conclude("PROVED", "same", who).tree


@forgery("kind")
def comparison_of_two_kinds(rng: random.Random) -> Tree:
    tree = c.barred_by_node(rng).tree
    tree["rules"][0]["body"][1][3] = ["c", "symbol", str(rng.randrange(5))]
    return tree


@forgery("kind")
def atom_of_another_kind(rng: random.Random) -> Tree:
    tree = c.head_function(rng).tree
    declaration = next(d for d in tree["declarations"] if d["name"] == "ratio")
    declaration["columns"][0][1] = rng.choice(["unsigned", "float", "Decimal"])
    return tree


@forgery("declaration")
def rows_of_a_derived_predicate(rng: random.Random) -> Tree:
    """The conclusion is simply handed in."""
    w, who = Writer(), c.customer(rng)
    c.gold(w)
    w.facts("gold", [[who]])
    w.given("gold", who)
    return w.conclude("PROVED", "gold", who).tree


@forgery("declaration")
def a_predicate_declared_twice(rng: random.Random) -> Tree:
    tree = c.vip_disproved(rng).tree
    blocked = next(d for d in tree["declarations"] if d["name"] == "blocked")
    tree["declarations"].append({**blocked, "external": rng.randrange(2)})
    return tree


# ------------------------------------------------------------------------------- summaries


@forgery("aggregate")
def sum_beside_the_summary(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    right = tree["nodes"][1]["fact"][1][1]
    tree["nodes"] = replaced(tree["nodes"], right, str(int(right) + 1 + rng.randrange(99)))
    return tree


@forgery("summary")
def summary_whose_sum_is_impossible(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    chunk = rng.choice(tree["summaries"][0]["chunks"])
    chunk[1] = f"{chunk[0] * int(chunk[3]) + 1}/1"
    return tree


@forgery("summary")
def summary_with_a_fraction_of_whole_numbers(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    chunk = rng.choice(tree["summaries"][0]["chunks"])
    chunk[1] = f"{2 * int(chunk[1].removesuffix('/1')) + 1}/2"
    return tree


@forgery("summary")
def summary_with_a_fraction_too_long(_: random.Random) -> Tree:
    return constructs.summary_of_floats(15_000).tree


@forgery("summary")
def summary_of_a_few_rows(rng: random.Random) -> Tree:
    """Rows few enough to be shown are hidden in a summary."""
    tree = c.summary_proved(rng).tree
    summary = tree["summaries"][0]
    summary["chunks"] = [summary["chunks"][2]]
    summary["count"] = summary["chunks"][0][0]
    summary["hash"] = sha256(summary["chunks"][0][4] + "\n")
    right = tree["nodes"][1]["fact"][1][1]
    found = summary["chunks"][0][1].removesuffix("/1")
    tree["nodes"] = replaced(tree["nodes"], right, found)
    return tree


@forgery("summary")
def summary_against_inline_rows(rng: random.Random) -> Tree:
    """All rows are inline, and the summary says something else."""
    tree = c.summary_proved(rng).tree
    who = goal_of(tree)
    source = tree["summaries"][0]["sources"][0]
    tree["facts"].append(
        {
            "predicate": "order",
            "source": source,
            "assumption": None,
            "rows": [["O1", who, "5"]],
        }
    )
    tree["coverage"].append(
        {"predicate": "order", "columns": [1], "keys": [[who]], "sources": [source]}
    )
    return tree


@forgery("schema")
def summary_of_a_literal_behind_the_only_one(rng: random.Random) -> Tree:
    w, total = Writer(), str(rng.randrange(1001, 1024))
    w.outside("given", "k:symbol")
    w.declare("result", "r:number")
    rule = w.rule("count", pos("result", "r"), agg("count", "r", None, pos("given", "k")))
    chunk = constructs.full(int(total), None, None, None)
    w.summary(rule, 1, [], [chunk], w.source([], count=int(total)))
    w.derived(rule, [total], {"r": total}, [None])
    return w.conclude("PROVED", "result", total).tree


@forgery("summary")
def summary_below_an_inline_row(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    source = tree["summaries"][0]["sources"][0]
    amount = str(rng.choice([-1000, 1000]))
    tree["facts"].append(
        {
            "predicate": "order",
            "source": source,
            "assumption": None,
            "rows": [["O1", goal_of(tree), amount]],
        }
    )
    return tree


@forgery("summary")
def summary_of_fewer_rows_than_are_inline(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    source = tree["summaries"][0]["sources"][0]
    tree["sources"][source]["rows"] = 5000
    rows = sorted([f"O{n}", goal_of(tree), "5"] for n in range(2056))
    tree["facts"].append({"predicate": "order", "source": source, "assumption": None, "rows": rows})
    return tree


@forgery("summary")
def summary_beside_a_possible_row(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    add_assumed(tree, "order", ["O1", goal_of(tree), "5"])
    return tree


@forgery("summary")
def summary_beside_an_open_row(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    add_open(tree, "order", [None, None, None])
    return tree


@forgery("summary")
def summary_by_a_model(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    source = tree["summaries"][0]["sources"][0]
    tree["sources"][source]["origin"] = rng.choice(["LLM_KNOWLEDGE", "USER_PROVIDED", "API"])
    return tree


@forgery("summary")
def summary_of_derived_rows(rng: random.Random) -> Tree:
    """A summary stands for rows of a source, never for what rules derive."""
    w = c.summary_proved(rng)
    w.outside("big", "o:symbol c:symbol")
    w.rule("own", pos("order", "o", "c", con("number", "1000000")), pos("big", "o", "c"))
    return w.conclude("PROVED", "is_vip", goal_of(w.tree), confidence="0.95").tree


@forgery("unused")
def summary_that_nothing_needs(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    other = {**tree["summaries"][0], "group": ["Z" + c.customer(rng)]}
    tree["summaries"].append(other)
    return tree


@forgery("level")
def summary_passed_off_as_inline(rng: random.Random) -> Tree:
    tree = c.summary_proved(rng).tree
    tree["header"]["level"] = "C3"
    return tree


# ---------------------------------------------------------------------- verdicts, evidence


@forgery("verdict")
def disproved_though_possible(rng: random.Random) -> Tree:
    w = c.gold_conflict(rng)
    return w.conclude("DISPROVED", "gold", goal_of(w.tree)).tree


@forgery("verdict")
def proved_without_a_node(rng: random.Random) -> Tree:
    w = c.gold_conflict(rng)
    return w.conclude("PROVED", "gold", goal_of(w.tree)).tree


@forgery("verdict")
def unresolved_though_false(rng: random.Random) -> Tree:
    w = c.vip_disproved(rng)
    return w.conclude("UNRESOLVED", "is_vip", goal_of(w.tree)).tree


@forgery("verdict")
def unresolved_though_true(rng: random.Random) -> Tree:
    """The row of the goal is there, certain, and only its node is left out."""
    w, who = Writer(), c.customer(rng)
    w.outside("member", "c:symbol")
    w.facts("member", [[who]], covers=([0], [[who]]))
    return w.conclude("UNRESOLVED", "member", who).tree


@forgery("verdict")
def unresolved_though_one_answer_is_certain(rng: random.Random) -> Tree:
    w, who = Writer(), c.customer(rng)
    w.outside("member", "c:symbol")
    w.facts("member", [[who]], covers=([], [[]]))
    w.opens("member", [None])
    return w.conclude("UNRESOLVED", "member", None).tree


@forgery("missing")
def missing_what_is_known(rng: random.Random) -> Tree:
    tree = c.gold_conflict(rng).tree
    tree["missing"].append(["tier", ["Z" + c.customer(rng), None]])
    return tree


@forgery("source")
def dropped_row_with_the_old_hash(rng: random.Random) -> Tree:
    """The count is adapted to the row that was dropped; the hash tells."""
    tree = c.vip_proved(rng).tree
    shown = group(tree, "order")
    dropped = shown["rows"].pop()
    tree["sources"][shown["source"]]["rows"] -= 1
    right = tree["nodes"][1]["fact"][1][1]
    tree["nodes"] = replaced(tree["nodes"], right, str(int(right) - int(dropped[2])))
    return tree


@forgery("source")
def more_rows_than_the_source_gave(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    shown = group(tree, "order")
    amount = rng.randrange(1, 99)
    shown["rows"].append(["O9", goal_of(tree), str(amount)])
    right = tree["nodes"][1]["fact"][1][1]
    tree["nodes"] = replaced(tree["nodes"], right, str(int(right) + amount))
    return tree


@forgery("order")
def a_row_shown_twice(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    rows = group(tree, "order")["rows"]
    position = rng.randrange(len(rows))
    rows.insert(position, rows[position])
    return tree


FORGERIES: Final[Mapping[str, tuple[str, Forge]]] = MappingProxyType(_FORGERIES)


def forge(name: str, seed: int) -> tuple[str, Tree]:
    """Return the reason code and the tree of one forgery."""
    code, make = FORGERIES[name]
    return code, make(random.Random(f"{name} {seed}"))
