"""Forged thresholds: totals that are listed twice, carried by themselves, or not large enough.

In: a seed.  Out: as in ``forger``, where these are registered when this module is imported.
"""

from __future__ import annotations

import random
from typing import Any

from tests.check import forged_evidence  # noqa: F401  registers what it forges
from tests.check import thresholds as t
from tests.check.certificates import customer
from tests.check.forger import FORGERIES, forge, forgery
from tests.check.writer import Tree, Writer, agg, cmp, con, neg, pos

__all__ = ["FORGERIES", "forge"]

SUM = 2
"""The place of the rule that sums, and of its total among that rule's literals: 1."""


def last(tree: Tree) -> Tree:
    """Return the node that the goal rests on."""
    found: Tree = tree["nodes"][-1]
    return found


def listed(tree: Tree) -> list[Any]:
    found: list[Any] = last(tree)["premises"][1]
    return found


@forgery("threshold")
def a_total_that_does_not_reach(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    listed(tree).pop(rng.randrange(2))
    return tree


@forgery("threshold")
def a_total_that_only_reaches_the_bound(rng: random.Random) -> Tree:
    tree = t.control_at_the_bound(rng).tree
    tree["rules"][SUM]["body"][2][1] = ">"
    return tree


@forgery("order")
def a_summand_listed_twice(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    kept = listed(tree)[rng.randrange(2)]
    listed(tree)[:] = [kept, kept]
    return tree


@forgery("premise")
def a_summand_twice_under_another_name(rng: random.Random) -> Tree:
    """The same row again, as if through another holder."""
    tree = t.control_by_sum(rng).tree
    kept = listed(tree)[rng.randrange(2)]
    other = [[kept[0][0], f"{kept[0][1]}x"], kept[1]]
    listed(tree)[:] = sorted([kept, other])
    return tree


@forgery("premise")
def a_summand_larger_than_its_row(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    listed(tree)[rng.randrange(2)][0][0] = str(rng.randrange(61, 99))
    listed(tree).sort()
    return tree


@forgery("premise")
def a_summand_without_a_premise(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    listed(tree)[rng.randrange(2)][1][0] = None
    return tree


@forgery("premise")
def a_summand_of_another_group(rng: random.Random) -> Tree:
    """What x holds in another company is no share of this one."""
    tree = t.control_by_sum(rng).tree
    x = tree["header"]["goal"][1][0]
    other = next(n for n, node in enumerate(tree["nodes"]) if node["fact"][1] == [x, x, "Z1", "60"])
    listed(tree)[:] = [[["60", x], [other, None]]]
    return tree


@forgery("premise")
def a_total_that_carries_itself(rng: random.Random) -> Tree:
    """X controls Y by what Y holds of itself, which counts because X controls Y."""
    rules = t.control(t.guarded())
    w, first, second, _ = rules
    x = customer(rng)
    w.facts("own", [[x, "Y1", "10"], ["Y1", "Y1", "60"]])
    mine = t.held(w, first, x, "Y1", "10")
    given = w.given("own", "Y1", "Y1", "60")
    later = len(w.tree["nodes"]) + 1
    bind = {"x": x, "z": "Y1", "y": "Y1", "w": "60"}
    theirs = w.derived(second, [x, "Y1", "Y1", "60"], bind, [later, given, None])
    t.by(w, rules, x, "Y1", mine, [t.summand("60", "Y1", theirs, None)])
    return w.conclude("PROVED", "controls", x, "Y1").tree


@forgery("premise")
def a_total_that_carries_itself_the_other_way_round(rng: random.Random) -> Tree:
    """The same, with the summand after the total."""
    tree = a_total_that_carries_itself(rng)
    tree["nodes"][-2], tree["nodes"][-1] = tree["nodes"][-1], tree["nodes"][-2]
    place = len(tree["nodes"])
    tree["nodes"][-2]["premises"][1][0][1][0] = place - 1
    tree["nodes"][-1]["premises"][0] = place - 2
    return tree


@forgery("threshold")
def a_negative_summand(rng: random.Random) -> Tree:
    """The rows of the group are all there, and one of them is below zero."""
    tree = t.control_unguarded(rng).tree
    _change_share(tree, "60", "-60")
    tree["rules"][SUM]["body"][2][3] = con("number", "-100")
    return tree


def _change_share(tree: Tree, old: str, new: str) -> None:
    """Change a share wherever it stands, so that only its sign is wrong."""

    def changed(value: Any) -> Any:  # noqa: ANN401  any JSON
        if isinstance(value, list):
            return [changed(inner) for inner in value]
        if isinstance(value, dict):
            return {key: changed(inner) for key, inner in value.items()}
        return new if value == old else value

    for name in ("facts", "nodes", "closure"):
        tree[name] = changed(tree[name])
    for group in tree["facts"]:
        group["rows"].sort()
    for _, rows in tree["closure"]["rows"]:
        rows.sort()
    for source, group in zip(tree["sources"], tree["facts"], strict=True):
        source["rows"] = len(group["rows"]) + 1


@forgery("threshold")
def a_negative_summand_that_is_not_listed(rng: random.Random) -> Tree:
    """What is listed is enough; a row that takes from it stands in the bound only."""
    w = t.control_unguarded(rng)
    tree = w.tree
    x = tree["header"]["goal"][1][0]
    rows = dict(tree["closure"]["rows"])["holds"]
    rows.append([x, "Z1", "Y1", f"-{rng.randrange(1, 9)}"])
    rows.sort()
    return tree


@forgery("threshold")
def a_summand_that_nobody_knows(rng: random.Random) -> Tree:
    """An open row of the group may be negative."""
    tree = t.control_unguarded(rng).tree
    x = tree["header"]["goal"][1][0]
    dict(tree["closure"]["rows"])["holds"].insert(0, [x, x, "Y1", None])
    return tree


@forgery("unserved")
def a_group_of_which_not_all_rows_are_told(rng: random.Random) -> Tree:
    tree = t.control_unguarded(rng).tree
    for entry in tree["closure"]["entries"]:
        if entry["columns"] == [0, 2]:
            entry["keys"].pop(rng.randrange(2))
    tree["closure"]["entries"] = [
        one for one in tree["closure"]["entries"] if one["columns"] != [0]
    ]
    return tree


@forgery("unserved")
def a_group_without_any_bound(rng: random.Random) -> Tree:
    """The proof of positive shares, for a rule that does not say that they are positive."""
    tree = t.control_by_sum(rng).tree
    tree["rules"][SUM]["body"][1][4].pop()
    for node in tree["nodes"]:
        if node["kind"] == "rule" and node["rule"] == SUM:
            for one in node["premises"][1]:
                one[1].pop()
    return tree


@forgery("unserved")
def a_guard_that_lets_negative_shares_pass(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    guard = tree["rules"][SUM]["body"][1][4][1]
    guard[3] = con("number", f"-{rng.randrange(1, 9)}")
    return tree


@forgery("unserved")
def a_guard_from_above(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    guard = tree["rules"][SUM]["body"][1][4][1]
    guard[1:] = [rng.choice(["<", "<="]), guard[2], con("number", "1000")]
    return tree


@forgery("unserved")
def a_guard_of_another_variable(rng: random.Random) -> Tree:
    """Something is held against zero, and it is not what is summed."""
    tree = t.control_by_doubled_shares(rng).tree
    body = tree["rules"][SUM]["body"][1]
    body[3] = ["f", "-", "number", [["v", "w"], con("number", "0")]]
    tree["rules"][SUM]["body"][2][3] = con("number", "50")
    return tree


@forgery("unserved")
def a_guard_from_above_turned(rng: random.Random) -> Tree:
    tree = t.control_at_the_bound_turned(rng).tree
    guard = tree["rules"][SUM]["body"][1][4][1]
    guard[1:] = [rng.choice([">", ">="]), con("number", "1000"), guard[3]]
    return tree


@forgery("unserved")
def a_turned_guard_that_lets_negative_shares_pass(rng: random.Random) -> Tree:
    tree = t.control_at_the_bound_turned(rng).tree
    tree["rules"][SUM]["body"][1][4][1][2] = con("number", f"-{rng.randrange(1, 9)}")
    return tree


@forgery("unserved")
def a_guard_against_a_variable(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    tree["rules"][SUM]["body"][1][4][1][3] = ["v", "b"]
    return tree


@forgery("unserved")
def a_product_whose_parts_nothing_guards(rng: random.Random) -> Tree:
    tree = t.control_by_doubled_shares(rng).tree
    tree["rules"][SUM]["body"][1][4].pop()
    for node in tree["nodes"]:
        if node["kind"] == "rule" and node["rule"] == SUM:
            for one in node["premises"][1]:
                one[1].pop()
    return tree


@forgery("unserved")
def a_summand_less_a_constant(rng: random.Random) -> Tree:
    """What is guarded is not negative, and is when something is taken from it."""
    tree = t.control_by_doubled_shares(rng).tree
    target = tree["rules"][SUM]["body"][1][3]
    target[3][1] = con("number", f"-{rng.randrange(1, 3)}")
    tree["rules"][SUM]["body"][2][3] = con("number", "99")
    return tree


@forgery("comparison")
def a_guard_that_a_summand_breaks(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    tree["rules"][SUM]["body"][1][4][1][3] = con("number", str(rng.randrange(26, 30)))
    return tree


@forgery("strata")
def a_total_that_must_be_small(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    tree["rules"][SUM]["body"][2][1] = rng.choice(["<", "<=", "=", "!="])
    tree["nodes"] = []
    return tree


@forgery("strata")
def a_bound_that_must_be_greater(rng: random.Random) -> Tree:
    tree = t.control_by_a_turned_comparison(rng).tree
    tree["rules"][SUM]["body"][2][1] = rng.choice([">", ">="])
    tree["nodes"] = []
    return tree


@forgery("strata")
def a_mean_instead_of_a_sum(rng: random.Random) -> Tree:
    tree = t.control_by_decimals(rng).tree
    tree["rules"][SUM]["body"][1][1] = rng.choice(["min", "max", "mean"])
    tree["nodes"] = []
    return tree


@forgery("strata")
def a_total_compared_twice(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    rule = tree["rules"][SUM]
    rule["body"].append(cmp(rng.choice([">", "<"]), "s", con("number", "999")))
    tree["nodes"] = []
    return tree


@forgery("strata")
def a_total_that_another_aggregate_takes(rng: random.Random) -> Tree:
    """Another aggregate asks for the value of the total, in what it takes the greatest of."""
    tree = t.control_by_sum(rng).tree
    rule = tree["rules"][SUM]
    held = pos("own", ["v", "x"], ["v", "y"], ["v", "q"])
    rule["body"].append(agg(rng.choice(["max", "sum"]), "t", "s", held))
    place = [name for name, _ in rule["variables"]].index("s")
    rule["variables"].insert(place + 1, ["t", "number"])
    rule["variables"].append(["q", "number"])
    tree["nodes"] = []
    return tree


@forgery("strata")
def a_total_in_the_head(rng: random.Random) -> Tree:
    """The value of a total would be known, and it is only a lower bound."""
    w = Writer()
    w.outside("own", "x:symbol w:number")
    w.declare("held", "x:symbol w:number")
    w.rule("own", pos("held", "x", "w"), pos("own", "x", "w"))
    total = agg("sum", "s", "w", pos("held", "x", "w"), cmp(">=", "w", con("number", "0")))
    w.rule(
        "sum",
        pos("held", "x", "s"),
        pos("own", "x", "a"),
        total,
        cmp(">", "a", con("number", "0")),
        s="number",
    )
    w.facts("own", [["a", str(rng.randrange(1, 9))]])
    w.given("own", "a", w.tree["facts"][0]["rows"][0][1])
    return w.conclude("PROVED", "own", "a", None).tree


@forgery("strata")
def a_total_of_floats(rng: random.Random) -> Tree:
    tree = t.control_by_decimals(rng).tree

    def changed(value: Any) -> Any:  # noqa: ANN401  any JSON
        if isinstance(value, list):
            if value[:2] == ["c", "Decimal"]:
                return ["c", "float", float(value[2]).hex()]
            return [changed(inner) for inner in value]
        if isinstance(value, dict):
            return {key: changed(inner) for key, inner in value.items()}
        return "float" if value == "Decimal" else value

    for name in ("declarations", "rules"):
        tree[name] = changed(tree[name])
    tree.update(nodes=[], facts=[], sources=[], coverage=[])
    tree["record"]["executed"] = []
    return tree


@forgery("strata")
def a_total_over_its_own_absence(rng: random.Random) -> Tree:
    """What is summed must not be so where the head is."""
    tree = t.control_by_sum(rng).tree
    body = tree["rules"][SUM]["body"][1][4]
    body.append(neg("controls", ["v", "y"], ["v", "x"]))
    for node in tree["nodes"]:
        if node["kind"] == "rule" and node["rule"] == SUM:
            for one in node["premises"][1]:
                one[1].append(None)
    return tree


@forgery("schema")
def a_lower_bound_of_an_aggregate_that_needs_its_value(rng: random.Random) -> Tree:
    """Below the recursion a total is exact: listing some rows is no proof of it."""
    tree = t.control_by_sum(rng).tree
    tree["rules"][1]["body"][0] = pos("own", ["v", "x"], ["v", "z"], ["v", "w"])
    tree["nodes"] = [one for one in tree["nodes"] if one.get("rule") != 1]
    return tree


@forgery("schema")
def a_recursive_total_with_an_exact_value(rng: random.Random) -> Tree:
    """The value of a recursive total, looked up like that of any other."""
    tree = t.control_by_sum(rng).tree
    last(tree)["premises"][1] = None
    return tree


@forgery("schema")
def a_total_with_a_value(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    names = [name for name, _ in tree["rules"][SUM]["variables"]]
    last(tree)["bind"][names.index("s")] = "55"
    return tree


@forgery("premise")
def a_comparison_with_a_premise(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    last(tree)["premises"][2] = rng.randrange(3)
    return tree


@forgery("premise")
def a_guard_with_a_premise(rng: random.Random) -> Tree:
    tree = t.control_by_sum(rng).tree
    listed(tree)[rng.randrange(2)][1][1] = 0
    return tree


@forgery("threshold")
def a_summand_that_has_no_value(rng: random.Random) -> Tree:
    """A share that cannot be doubled within its kind, and surely is beyond the bound."""
    tree = t.control_by_doubled_shares(rng).tree
    _change_share(tree, "51", str(2**63 - rng.randrange(1, 99)))
    return tree


@forgery("confidence")
def a_total_surer_than_its_summands(rng: random.Random) -> Tree:
    tree = t.control_under_a_word(rng).tree
    last(tree)["confidence"] = tree["header"]["confidence"] = "1"
    return tree


@forgery("negation")
def a_summand_that_an_absence_forbids(rng: random.Random) -> Tree:
    tree = t.spread_by_count(rng).tree
    shown = next(one for one in tree["facts"] if one["predicate"] == "immune")
    shown["rows"] = [[rng.choice(["A1", "B1"])]]
    tree["sources"][shown["source"]]["rows"] = 2
    return tree


@forgery("threshold")
def a_need_greater_than_the_count(rng: random.Random) -> Tree:
    tree = t.spread_by_count(rng).tree
    text = str(rng.randrange(3, 9))
    for node in tree["nodes"]:
        node["fact"][1] = [text if cell == "2" else cell for cell in node["fact"][1]]
        if node["kind"] == "rule":
            node["bind"] = [text if cell == "2" else cell for cell in node["bind"]]
    shown = next(one for one in tree["facts"] if one["predicate"] == "need")
    shown["rows"][0][1] = text
    tree["sources"][shown["source"]]["rows"] = 2
    return tree


@forgery("not-covered")
def a_bound_without_a_row_that_may_exceed(rng: random.Random) -> Tree:
    """One more share in the bound, and the most is beyond what the verdict says."""
    tree = t.control_bounded(rng).tree
    x = tree["header"]["goal"][1][0]
    rows = dict(tree["closure"]["rows"])["holds"]
    rows.append([x, x, "Y1", "50"])
    rows.sort()
    return tree


@forgery("not-covered")
def a_bound_from_which_negative_rows_are_taken(rng: random.Random) -> Tree:
    """A row below zero need not be there when it would matter: it takes nothing from the most."""
    tree = t.control_bounded(rng).tree
    x = tree["header"]["goal"][1][0]
    shown = tree["facts"][0]
    shown["rows"] = sorted([[x, "Y1", "51"], [x, "Y1", "-50"]])
    tree["sources"][0]["rows"] = 3
    dict(tree["closure"]["rows"])["holds"][:] = sorted([[x, x, "Y1", "51"], [x, x, "Y1", "-50"]])
    return tree


@forgery("not-covered")
def an_open_share_that_is_taken_for_nothing(rng: random.Random) -> Tree:
    tree = t.control_open(rng).tree
    tree["header"].update(verdict="DISPROVED", confidence="1")
    tree["missing"] = []
    tree["closure"]["rows"] = [one for one in tree["closure"]["rows"] if one[0] != "controls"]
    return tree


@forgery("not-covered")
def any_number_of_shares_taken_for_one(rng: random.Random) -> Tree:
    tree = t.control_perhaps_by_many(rng).tree
    x = tree["header"]["goal"][1][0]
    tree["closure"]["rows"] = [["holds", [[x, x, "Y1", "1"], [x, None, "Y1", "1"]]]]
    tree["closure"]["rows"][0][1].sort(key=lambda row: [(v is not None, v or "") for v in row])
    tree["header"].update(verdict="DISPROVED", confidence="1")
    tree["missing"] = []
    return tree


@forgery("unbound")
def a_group_that_is_not_bound_yet(rng: random.Random) -> Tree:
    tree = t.control_bounded(rng).tree
    entry = next(one for one in tree["closure"]["entries"] if one["predicate"] == "controls")
    entry["orders"][0][1] = [1, 0, 2]
    return tree


@forgery("unbound")
def a_bound_that_is_not_bound_yet(rng: random.Random) -> Tree:
    tree = t.spread_bounded(rng).tree
    tree["closure"]["entries"][0]["orders"][1][1] = [1, 0, 2]
    tree["rules"][1]["body"][1][4] = tree["rules"][1]["body"][1][4][:1]
    names = [["x", "symbol"], ["k", "number"], ["n", "number"], ["y", "symbol"]]
    tree["rules"][1]["variables"] = names
    return tree
