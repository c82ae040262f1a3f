"""The search for missing facts: what is tried and dropped, minimal, solved for, and named."""

from __future__ import annotations

from decimal import Decimal

from constat.analysis import check_goal
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.proof.abducibles import Abducibles
from constat.proof.abduction import Abduction, Search
from constat.proof.projection import with_projections
from constat.proof.worlds import Worlds
from constat.syntax import parse_goal
from tests.proof.asking import Table, analysed

ITEMS = """
.decl item(x: symbol, n: number)
.input item(source="s", query="q")
.decl off(x: symbol)
.input off(source="s", query="q")
"""


def searched(
    rules: str, goal: str, tables: dict[str, Table], added: str = "", removed: str = ""
) -> Abduction:
    program = analysed(ITEMS + rules)
    externals = {name: tables.get(name, Table()) for name in program.external}
    costs = Abducibles(
        dict.fromkeys(added.split(), Decimal(1)), dict.fromkeys(removed.split(), Decimal(1))
    )
    worlds = Worlds(LazyEngine(), with_projections(program), externals, Limits())
    atom = check_goal(parse_goal(goal, program.program), program)
    return Search(worlds, atom, costs, top=3, seconds=30.0).run()


def sets(found: Abduction) -> list[tuple[list[tuple[str, tuple[str, ...]]], tuple[str, ...]]]:
    return [
        ([(fact.fact, fact.conditions) for fact in one.chosen.added], one.chosen.removed)
        for one in found.found
    ]


def test_a_set_that_does_not_prove_the_goal_is_dropped_and_counted() -> None:
    # The row that is supposed for the first literal is what the second one forbids.
    rules = """
.decl bad(x: symbol)
bad(?x) :- item(?x, ?n), ?n > 5.
.decl good(x: symbol)
good(?x) :- !bad(?x), item(?x, ?n), ?n > 7.
"""
    found = searched(rules, "good(a)", {}, added="item")
    assert sets(found) == []
    assert found.dropped > 0


def test_a_negative_factor_turns_the_comparison() -> None:
    rules = ".decl ok(x: symbol)\nok(?x) :- item(?x, ?n), 10 - 2 * ?n > 3.\n"
    found = searched(rules, "ok(a)", {}, added="item")
    assert sets(found) == [([("item(a, ?n)", ("?n <= 3",))], ())]


def test_a_set_of_which_a_part_is_enough_is_left_out() -> None:
    # Taking `off` away proves it alone; the search also meets the set with another item.
    rules = """
.decl ok(x: symbol)
ok(?x) :- item(?x, _), !off(?x).
ok(?x) :- item(?x, ?n), !off(?x), ?n > 5.
"""
    tables = {"item": Table((("a", 1),)), "off": Table((("a",),))}
    found = searched(rules, "ok(a)", tables, added="item", removed="off")
    assert sets(found) == [([], ("off(a)",))]


def test_a_sum_is_reached_by_taking_rows_away_too() -> None:
    rules = """
.decl ok()
ok() :- ?s = sum ?n : { item(_x, ?n) }, ?s < 10.
"""
    tables = {"item": Table((("a", 8), ("b", 5), ("c", 1)))}
    found = searched(rules, "ok()", tables, removed="item")
    assert sets(found) == [([], ("item(a, 8)",)), ([], ("item(b, 5)",))]


def test_a_condition_between_two_choices_is_named() -> None:
    rules = '.decl ok()\nok() :- item("a", ?m), item("b", ?n), ?m > ?n.\n'
    found = searched(rules, "ok()", {}, added="item")
    assert sets(found) == []
    assert "a comparison of two values that are to be chosen" in found.unsolved


def test_a_part_that_is_enough_by_a_way_that_is_not_searched_is_seen() -> None:
    rules = """
.decl has(x: symbol)
has(?x) :- item(?x, _).
.decl ok()
ok() :- item("a", 1), off("a").
ok() :- ?n = count : { has(_x) }, ?n >= 1.
"""
    found = searched(rules, "ok()", {}, added="item off")
    assert sets(found) == []
    assert any("more rows of has" in one for one in found.unsolved)
