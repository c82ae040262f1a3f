"""Forged openings: rows left out, added, changed or taken from elsewhere, with hashes that fit.

In: a seed.  Out: as in ``forger``, where these are registered when this module is imported.  Unless
the forgery is about the root itself, the roots stay those that the owner of the rows would sign.
"""

from __future__ import annotations

import json
import random

from tests.check import committed as k
from tests.check import forged_structures, forged_thresholds
from tests.check.forger import FORGERIES, forge, forgery, goal_of, group, replaced
from tests.check.writer import Tree, level_of, seal, sha256

__all__ = ["FORGERIES", "forge", "forged_structures", "forged_thresholds"]


def commitment_of(tree: Tree, predicate: str) -> Tree:
    found: Tree = next(
        source["commitment"]
        for source in tree["sources"]
        if source["commitment"] and source["commitment"]["predicate"] == predicate
    )
    return found


def resummed(tree: Tree) -> Tree:
    """Make the sum that of the orders that are shown."""
    total = str(sum(int(row[2]) for row in group(tree, "order")["rows"]))
    tree["nodes"][1]["bind"][2] = total
    return tree


@forgery("commitment")
def an_order_left_out_of_an_opened_sum(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    group(tree, "order")["rows"].pop(rng.randrange(3))
    return resummed(tree)


@forgery("commitment")
def an_order_added_to_an_opened_sum(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    shown = group(tree, "order")["rows"]
    shown.append([f"P{rng.randrange(9)}", goal_of(tree), "700"])
    return resummed(tree)


@forgery("commitment")
def an_opened_order_with_another_amount(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    group(tree, "order")["rows"][rng.randrange(3)][2] = str(rng.randrange(1000, 2000))
    return resummed(tree)


@forgery("commitment")
def an_opened_order_of_somebody_else(rng: random.Random) -> Tree:
    """The goal is about another customer, to whom the orders are attributed."""
    tree = k.committed(rng).tree
    other = f"D{rng.randrange(1000):03}"
    forged: Tree = replaced(tree, goal_of(tree), other)
    return forged


def blocked_after_all(rng: random.Random) -> tuple[Tree, k.Relation]:
    """Return a certificate that says of a blocked customer what holds of others."""
    tree = k.committed(rng).tree
    who = goal_of(tree)
    bad = k.Relation("blocked", [["A000"], [who], ["Z999"]], [0])
    honest = bad.commitment(([0], [who]))
    place = next(
        place
        for place, source in enumerate(tree["sources"])
        if source["commitment"]["predicate"] == "blocked"
    )
    tree["sources"][place]["commitment"] = honest
    return tree, bad


@forgery("commitment")
def a_blocked_row_that_is_not_shown(rng: random.Random) -> Tree:
    return blocked_after_all(rng)[0]


@forgery("commitment")
def a_blocked_row_between_neighbours_that_do_not_touch(rng: random.Random) -> Tree:
    """The path leads from the first neighbour; the second one is claimed to follow it."""
    tree, bad = blocked_after_all(rng)
    opening = commitment_of(tree, "blocked")["openings"][0]
    opening["path"] = rng.choice([bad.path(0, 2), bad.path(0, 1), bad.path(1, 3), []])
    return tree


@forgery("commitment")
def a_blocked_row_passed_off_as_the_row_before(rng: random.Random) -> Tree:
    tree, bad = blocked_after_all(rng)
    opening = commitment_of(tree, "blocked")["openings"][0]
    opening.update(before=[goal_of(tree)], start=2, path=bad.path(1, 3))
    return tree


@forgery("commitment")
def a_blocked_row_passed_off_as_the_row_behind(rng: random.Random) -> Tree:
    tree, bad = blocked_after_all(rng)
    opening = commitment_of(tree, "blocked")["openings"][0]
    opening.update(after=[goal_of(tree)], path=bad.path(0, 2))
    return tree


@forgery("commitment")
def the_first_order_of_the_key_left_out(rng: random.Random) -> Tree:
    """All that is shown leads to the root; only the neighbour on that side is missing."""
    w, (members, table, bad) = k.shown(rng)
    tree = k.sealed(w, members, table, bad).tree
    own = [row for row in table.ordered if row[1] == goal_of(tree)]
    opening = commitment_of(tree, "order")["openings"][0]
    start = opening["start"] + 1
    opening.update(before=None, start=start, path=table.path(start, start + len(own)))
    group(tree, "order")["rows"].remove(own[0])
    return resummed(tree)


@forgery("commitment")
def the_last_order_of_the_key_left_out(rng: random.Random) -> Tree:
    w, (members, table, bad) = k.shown(rng)
    tree = k.sealed(w, members, table, bad).tree
    own = [row for row in table.ordered if row[1] == goal_of(tree)]
    opening = commitment_of(tree, "order")["openings"][0]
    start = opening["start"]
    opening.update(after=None, path=table.path(start - 1, start + len(own) - 1))
    group(tree, "order")["rows"].remove(own[-1])
    return resummed(tree)


@forgery("commitment")
def a_row_before_the_first_one(rng: random.Random) -> Tree:
    """Beyond its ends nothing stands, so that a tree says nothing about a row there."""
    tree = k.committed_at_both_ends(rng).tree
    commitment_of(tree, "blocked")["openings"][0]["before"] = [rng.choice(["A", "B"])]
    return tree


@forgery("commitment")
def a_row_behind_the_last_one(rng: random.Random) -> Tree:
    tree = k.committed_at_both_ends(rng).tree
    commitment_of(tree, "order")["openings"][0]["after"] = ["O0", rng.choice(["Y", "Z"]), "1"]
    return tree


@forgery("commitment")
def a_relation_cut_off_before_a_blocked_row(rng: random.Random) -> Tree:
    """The count is smaller, so that nothing seems to stand behind the key."""
    tree, bad = blocked_after_all(rng)
    one = commitment_of(tree, "blocked")
    one["rows"] = 1
    one["openings"][0].update(start=1, after=None, path=bad.path(0, 1))
    return tree


@forgery("commitment")
def an_empty_relation_under_the_root_of_another(rng: random.Random) -> Tree:
    tree, _ = blocked_after_all(rng)
    one = commitment_of(tree, "blocked")
    one["rows"] = 0
    one["openings"][0].update(start=0, before=None, after=None, path=[])
    return tree


@forgery("commitment")
def an_opening_without_a_neighbour(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    one = commitment_of(tree, "order")["openings"][0]
    one[rng.choice(["before", "after"])] = None
    return tree


@forgery("commitment")
def an_opening_at_another_place(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    one = commitment_of(tree, "order")["openings"][0]
    one["start"] += rng.choice([-1, 1, 2, 2**30])
    return tree


@forgery("commitment")
def a_path_with_another_hash(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    path = commitment_of(tree, "order")["openings"][0]["path"]
    path[rng.randrange(len(path))] = sha256(str(rng.random()))
    return tree


@forgery("commitment")
def a_path_of_another_length(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    one = commitment_of(tree, "order")["openings"][0]
    path = one["path"]
    one["path"] = rng.choice([path[1:], path[:-1], [*path, path[0]], [path[-1], *path]])
    return tree


@forgery("commitment")
def a_root_of_rows_in_another_order(rng: random.Random) -> Tree:
    """In the order that is named the rows of the key do not lie side by side."""
    tree = k.committed(rng).tree
    commitment_of(tree, "order")["order"] = rng.choice([[0, 1, 2], [2, 1, 0], [2, 0, 1]])
    return tree


@forgery("commitment")
def an_order_that_the_root_does_not_have(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    rows = [["O1", "A", "1"], ["O2", goal_of(tree), "1"], ["O3", goal_of(tree), "0"]]
    table = k.Relation("order", rows, [1, 0, 2])
    group(tree, "order")["rows"] = rows[1:]
    tree["nodes"][1]["bind"][2] = "101"
    one = commitment_of(tree, "order")
    one.update(table.commitment(([1], [goal_of(tree)])), order=[1, 2, 0])
    rows[1][2], rows[2][2] = "100", "1"
    return tree


@forgery("commitment")
def an_older_root(rng: random.Random) -> Tree:
    """The root is one that the owner signed when there were other rows."""
    tree = k.committed(rng).tree
    one = commitment_of(tree, "order")
    one["root"] = k.orders(goal_of(tree), rng, 2).commitment()["root"]
    return tree


@forgery("commitment")
def a_row_of_a_committed_source_in_no_opening(rng: random.Random) -> Tree:
    tree = k.committed(rng).tree
    commitment_of(tree, "member")["openings"] = []
    return tree


@forgery("commitment")
def an_opening_that_nothing_needs(rng: random.Random) -> Tree:
    w, (_, table, bad) = k.shown(rng)
    who = goal_of(w.tree)
    table = k.Relation("order", table.rows, [1, 0, 2])
    tree = k.sealed(w, table, bad).tree
    own = next(row for row in table.rows if row[1] == who)
    absent, whole = ([1], ["D"]), ([0, 1, 2], own)
    more = rng.choice([absent, whole, ([0, 1, 2], ["O99", who, "1"])])
    commitment_of(tree, "order").update(table.commitment(more, ([1], [who])))
    return tree


@forgery("commitment")
def a_word_with_a_root(rng: random.Random) -> Tree:
    """Rows that somebody states are in a tree, as if a database had them."""
    tree = k.committed(rng).tree
    source = tree["sources"][group(tree, "member")["source"]]
    source.update(origin="USER_PROVIDED", author="alice")
    tree["assumptions"].append(
        {"kind": "fact", "text": "so", "confidence": "1", "attestations": []}
    )
    group(tree, "member")["assumption"] = 0
    tree["header"].update(under=[0], verdict="PROVED_UNDER")
    return tree


def with_an_archive(rng: random.Random) -> tuple[Tree, int]:
    """Return a certificate with one more table of the same form, and the source of the orders."""
    tree = k.committed(rng).tree
    orders = next(one for one in tree["declarations"] if one["name"] == "order")
    tree["declarations"].append({**orders, "name": "archive"})
    return tree, group(tree, "order")["source"]


@forgery("commitment")
def a_root_for_rows_of_two_predicates(rng: random.Random) -> Tree:
    """What is in the archive is shown as opened: such a row is in the root of the orders."""
    tree, source = with_an_archive(rng)
    rows = [rng.choice(group(tree, "order")["rows"])]
    more = {"predicate": "archive", "source": source, "assumption": None, "rows": rows}
    tree["facts"].append(more)
    return tree


@forgery("commitment")
def a_root_for_keys_of_two_predicates(rng: random.Random) -> Tree:
    tree, source = with_an_archive(rng)
    key = {"columns": [1], "keys": [[goal_of(tree)]], "sources": [source]}
    tree["coverage"].append({"predicate": "archive", **key})
    return tree


@forgery("commitment")
def a_root_of_two_databases(rng: random.Random) -> Tree:
    tree = k.committed_by_two_sources(rng).tree
    member, value = rng.choice([("name", "archive"), ("origin", "CONFIG")])
    tree["sources"][-1][member] = value
    return tree


@forgery("commitment")
def a_root_over_two_numbers_of_rows(rng: random.Random) -> Tree:
    tree = k.committed_by_two_sources(rng).tree
    tree["sources"][-1]["commitment"]["rows"] += rng.choice([-1, 1])
    return tree


@forgery("commitment")
def a_root_in_two_orders(rng: random.Random) -> Tree:
    tree = k.committed_by_two_sources(rng).tree
    tree["sources"][-1]["commitment"]["order"] = [1, 2, 0]
    return tree


@forgery("commitment")
def openings_with_a_later_source(rng: random.Random) -> Tree:
    tree = k.committed_by_two_sources(rng).tree
    openings = commitment_of(tree, "order")["openings"]
    tree["sources"][-1]["commitment"]["openings"] = [rng.choice(openings)]
    return tree


@forgery("level")
def a_key_that_no_root_opens_called_committed(rng: random.Random) -> Tree:
    """One coverage has its opening, the other one has no commitment at all."""
    tree = k.committed_in_part(rng).tree
    tree["header"]["level"] = rng.choice(["C2", "C3"])
    return tree


@forgery("level")
def opened_rows_called_inline(rng: random.Random) -> Tree:
    tree = rng.choice([k.committed, k.committed_by_two_sources, k.committed_whole])(rng).tree
    tree["header"]["level"] = rng.choice(["C1", "C3", "C4", None])
    return tree


@forgery("level")
def a_key_left_unopened_and_called_committed(rng: random.Random) -> Tree:
    """The rows lie in openings of their own, so only the key's completeness is not shown."""
    w, (_, table, bad) = k.shown(rng)
    tree = k.sealed(w, table, bad).tree
    own = group(tree, "order")["rows"]
    keys = [([0, 1, 2], row) for row in own]
    commitment_of(tree, "order").update(table.commitment(*keys))
    return tree


@forgery("commitment")
def a_nested_root_that_is_another(rng: random.Random) -> Tree:
    tree = k.committed_inside_nested(rng).tree
    inner = tree["proofs"][0]
    commitment_of(inner, "blocked")["root"] = sha256(str(rng.random()))
    inner["header"]["level"] = level_of(inner)
    old = inner["identity"]
    tree["proofs"][0] = json.loads(seal(inner))
    forged: Tree = replaced(tree, old, tree["proofs"][0]["identity"])
    return forged
