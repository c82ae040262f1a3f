"""The search for missing facts: what is tried and dropped, minimal, solved for, and named."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.analysis import check_goal
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.proof.abduction import Abduction, Search
from constat.proof.projection import with_projections
from constat.proof.suppositions import Abducibles
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


def test_a_part_that_is_enough_by_a_way_that_is_not_searched_is_what_is_found() -> None:
    rules = """
.decl ok()
ok() :- item("a", 1), off("a").
ok() :- item("a", ?n), ?n * ?n = 1.
"""
    found = searched(rules, "ok()", {}, added="item off")
    assert sets(found) == [([("item(a, 1)", ())], ())]
    assert found.unsolved


HAS = """
.decl has(x: symbol, n: number)
has(?x, ?n) :- item(?x, ?n), ?n > 0.
"""


def test_rows_of_a_conclusion_are_supposed_in_an_aggregate() -> None:
    counted = HAS + ".decl ok()\nok() :- ?n = count : { has(_x, _n) }, ?n >= 2.\n"
    found = searched(counted, "ok()", {"item": Table((("a", 1),))}, added="item")
    assert sets(found) == [([("item(?x, ?n)", ("?n > 0",))], ())]
    assert found.unsolved == ()
    summed = HAS + ".decl ok()\nok() :- ?s = sum ?n : { has(_x, ?n) }, ?s > 9.\n"
    found = searched(summed, "ok()", {"item": Table((("a", 3),))}, added="item")
    assert sets(found) == [([("item(?x, ?n)", ("?n > 6", "?n > 0"))], ())]


def test_rows_of_a_conclusion_leave_an_aggregate_and_come_by_an_absence() -> None:
    rules = HAS + ".decl ok()\nok() :- ?n = count : { has(_x, _n) }, ?n < 2.\n"
    tables = {"item": Table((("a", 1), ("b", 2), ("c", 0)))}
    found = searched(rules, "ok()", tables, removed="item")
    assert sets(found) == [([], ("item(a, 1)",)), ([], ("item(b, 2)",))]
    rules = """
.decl free(x: symbol)
free(?x) :- item(?x, _), !off(?x).
.decl ok()
ok() :- ?n = count : { free(_x) }, ?n >= 1.
"""
    tables = {"item": Table((("a", 1), ("b", 1))), "off": Table((("a",), ("b",)))}
    found = searched(rules, "ok()", tables, removed="off")
    assert sets(found) == [([], ("off(a)",)), ([], ("off(b)",))]


@pytest.mark.parametrize(
    ("bound", "off", "added", "removed", "expected"),
    [
        (">= 2", ("a", "b"), "", "off", [([], ("off(a)",))]),
        ("< 2", (), "off", "", [([("off(a)", ())], ()), ([("off(b)", ())], ())]),
    ],
)
def test_an_absence_in_an_aggregate_is_searched(
    bound: str, off: tuple[str, ...], added: str, removed: str, expected: object
) -> None:
    # That no row of `off` is taken away was "none, every one was looked at" once.
    rules = f"""
.decl ok()
ok() :- ?n = count : {{ item(?x, _n), !off(?x) }}, ?n {bound}.
"""
    rows = (("a", 1), ("a", 2), ("b", 3)) if off else (("a", 1), ("b", 3))
    tables = {"item": Table(rows), "off": Table(tuple((x,) for x in off))}
    found = searched(rules, "ok()", tables, added=added, removed=removed)
    assert sets(found) == expected


FAILING = [
    ("sum ?n : { item(_x, ?n) }, ?v < 10", "item", "", [([("item(?x, ?n)", ("?n >= 1",))], ())]),
    ("count : { item(_x, _n) }, ?v < 3", "item", "", [([("item(?x, ?n)", ())], ())]),
    (
        "min ?n : { item(_x, ?n) }, ?v > 1",
        "item",
        "",
        [([("item(?x, ?n)", ("?n < 4", "?n <= 1"))], ())],
    ),
    ("max ?n : { item(_x, ?n) }, ?v = 5", "", "item", [([], ("item(b, 5)",))]),
    ("max ?n : { item(_x, ?n) }, ?v < 9", "", "item", [([], ("item(a, 4)", "item(b, 5)"))]),
    ("count : { item(_x, _n) }, ?w = ?v * 2, ?w > 3", "", "item", None),
]


@pytest.mark.parametrize(("condition", "added", "removed", "expected"), FAILING)
def test_an_aggregate_is_made_to_fail(
    condition: str, added: str, removed: str, expected: object
) -> None:
    rules = f"""
.decl few()
few() :- ?v = {condition}.
.decl ok()
ok() :- !few().
"""
    tables = {"item": Table((("a", 4), ("b", 5)))}
    found = searched(rules, "ok()", tables, added=added, removed=removed)
    wanted = [([], ("item(a, 4)",)), ([], ("item(b, 5)",))] if expected is None else expected
    assert sets(found) == wanted
    assert found.unsolved == ()


def test_a_result_that_a_rule_passes_on_is_changed() -> None:
    rules = """
.decl total(n: number)
total(?n) :- ?n = count : { item(_x, _n) }.
.decl ok()
ok() :- !total(2).
"""
    found = searched(rules, "ok()", {"item": Table((("a", 4), ("b", 5)))}, added="item")
    assert sets(found) == [([("item(?x, ?n)", ())], ())]


def test_an_absence_below_an_absence_is_reached() -> None:
    # The row that was denied was looked at before anything was supposed, again and again.
    rules = """
.decl bad(x: symbol)
bad(?x) :- item(?x, _), !off(?x).
.decl good(x: symbol)
good(?x) :- item(?x, _), !bad(?x).
"""
    found = searched(rules, "good(a)", {"item": Table((("a", 1),))}, added="off")
    assert sets(found) == [([("off(a)", ())], ())]
    assert (found.bound, found.stopped) == (None, "")


@pytest.mark.parametrize(
    ("rules", "goal", "expected"),
    [
        # The denied row is about the value that is chosen.
        ("ok(?x) :- item(?x, ?n), !taken(?n).", "ok(a)", ("item(a, ?n)", ("!taken(?n)",))),
        # It is not, but what is supposed may give it.
        (
            "ok(?x) :- item(?x, ?n), ?n > 3, !big(?x).",
            "ok(a)",
            ("item(a, ?n)", ("?n > 3", "!big(a)")),
        ),
        # It lies below what is taken as it is.
        (
            "ok(?x) :- item(?x, ?n), ?n > 3, small(?x).",
            "ok(a)",
            ("item(a, ?n)", ("?n > 3", "small(a)")),
        ),
        # Another aggregate counts the same rows: only what was tried is known to do.
        (
            "ok(?x) :- item(?x, ?n), ?n > 3, ?s = sum ?m : { item(_y, ?m) }, ?s < 9.",
            "ok(a)",
            ("item(a, 4)", ()),
        ),
    ],
)
def test_what_a_rule_demands_besides_is_told(
    rules: str, goal: str, expected: tuple[str, tuple[str, ...]]
) -> None:
    declared = """
.decl taken(n: number)
.input taken(source="s", query="q")
.decl big(x: symbol)
big(?x) :- item(?x, ?n), ?n > 5.
.decl known(x: symbol)
.input known(source="s", query="q")
.decl small(x: symbol)
small(?x) :- known(?x), !big(?x).
.decl ok(x: symbol)
"""
    tables = {"taken": Table(((1,), (2,))), "known": Table((("a",),))}
    found = searched(declared + rules, goal, tables, added="item")
    assert sets(found) == [([expected], ())]
    assert found.dropped == 0
