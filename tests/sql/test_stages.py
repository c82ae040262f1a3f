"""What the strategies of SQL do beyond one simple rule: tags, texts, thresholds, rounds, errors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import Event, Resources, RoundFinished, StrategyError
from constat.plan.forward import Strategy
from constat.sql import Database, run_stage
from tests.language.worlds_of_text import program
from tests.oracle.naive import World, evaluate
from tests.sql.computing import compute, load, plan_of, rows_of

if TYPE_CHECKING:
    from constat.logic import Row

BOTH = pytest.mark.parametrize("strategy", [Strategy.CTE, Strategy.LOOP], ids=lambda one: one.value)
MUTUAL = """
.decl next(a: number, b: number)
.input next(source="memory")
.decl label(a: number, s: symbol)
.input label(source="memory")
.decl even(a: number, s: symbol)
.decl odd(s: symbol)
.decl last(a: number)
even(0, "zero").
odd(?s) :- even(?a, _), next(?a, ?b), label(?b, ?s).
even(?b, ?s) :- odd(?t), label(?a, ?t), next(?a, ?b), label(?b, ?s).
last(?a) :- even(?a, ?s), !odd(?s).
"""
CONTROL = """
.decl own(x: symbol, y: symbol, w: number)
.input own(source="memory")
.decl holds(x: symbol, via: symbol, y: symbol, w: number)
.decl controls(x: symbol, y: symbol)
holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).
holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w), ?x != ?z.
controls(?x, ?y) :- holds(?x, _, ?y, _), sum ?w : { holds(?x, _via, ?y, ?w) } > 50.
"""
HOLDINGS: list[Row] = [
    ("a", "b", 60),
    ("a", "c", 20),
    ("b", "c", 31),
    ("c", "d", 51),
    ("d", "e", 25),
    ("b", "e", 25),
    ("a", "e", 1),
    ("e", "a", 50),
    ("x", "y", 50),
]


def agree(text: str, facts: dict[str, list[Row]], strategy: Strategy) -> None:
    found = program(text)
    outside = World({name: tuple((row, None) for row in rows) for name, rows in facts.items()})
    expected = evaluate(found, outside, accepted=False)
    rows, _ = compute(found, facts, strategy)
    for name, given in rows.items():
        assert given == set(expected[name]), name


@BOTH
def test_mutual_recursion_of_different_columns(strategy: Strategy) -> None:
    facts: dict[str, list[Row]] = {
        "next": [(place, place + 1) for place in range(9)],
        "label": [(place, f"n{place}") for place in range(10)],
    }
    agree(MUTUAL, facts, strategy)


def test_a_sum_beyond_a_threshold_runs_through_recursion() -> None:
    agree(CONTROL, {"own": HOLDINGS}, Strategy.LOOP)


def test_a_threshold_that_nothing_meets_or_everything() -> None:
    for bound in ("> 1000", ">= 0", "> -1"):
        agree(CONTROL.replace("> 50", bound), {"own": HOLDINGS}, Strategy.LOOP)


def test_a_count_beyond_a_threshold_runs_through_recursion() -> None:
    text = """
.decl knows(a: symbol, b: symbol)
.input knows(source="memory")
.decl told(a: symbol)
.decl first(a: symbol)
.input first(source="memory")
told(?a) :- first(?a).
told(?a) :- knows(?a, _), ?n = count : { knows(?a, ?b), told(?b) }, ?n >= 2.
"""
    facts: dict[str, list[Row]] = {
        "knows": [("c", "a"), ("c", "b"), ("d", "c"), ("d", "a"), ("e", "d"), ("e", "z")],
        "first": [("a",), ("b",)],
    }
    agree(text, facts, Strategy.LOOP)


def test_a_negative_summand_of_a_threshold_is_left_to_others() -> None:
    with pytest.raises(StrategyError):
        compute(program(CONTROL), {"own": [*HOLDINGS, ("x", "y", -1)]}, Strategy.LOOP)


@BOTH
def test_texts_made_by_a_rule_join_with_texts_of_the_dictionary(strategy: Strategy) -> None:
    text = """
.decl edge(a: symbol, b: symbol)
.input edge(source="memory")
.decl name(n: number)
.input name(source="memory")
.decl path(a: symbol, b: symbol)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
.decl from_name(a: symbol)
from_name(?b) :- name(?n), path(cat("n", to_string(?n)), ?b).
.decl lacking(n: number)
lacking(?n) :- name(?n), !path(cat("n", to_string(?n)), "n3").
.decl longest(b: symbol)
longest(?m) :- ?m = max ?b : { path(_, ?b) }.
.decl later(a: symbol, b: symbol)
later(?a, ?b) :- path(?a, ?b), ?a < ?b, contains("2", ?b).
"""
    edges: list[Row] = [("n1", "n2"), ("n2", "n3"), ("n9", "n1"), ("zz", "n9")]
    agree(text, {"edge": edges, "name": [(1,), (2,), (3,), (10,)]}, strategy)


HOSTILE = [
    "'); DROP TABLE texts; --",
    'a"b',
    "it's",
    "back\\slash",
    "%s {} $1 ?",
    "é€𝄞\u202e",
    "",
    "line\nbreak\ttab\r",
    "select",
    "/* x */",
]


@BOTH
def test_hostile_texts_are_only_texts(strategy: Strategy) -> None:
    quoted = "\n".join(
        'said("{}").'.format(
            one.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\t", "\\t")
            .replace("\r", "\\r")
        )
        for one in HOSTILE
    )
    text = f"""
.decl edge(a: symbol, b: symbol)
.input edge(source="memory")
.decl said(a: symbol)
{quoted}
.decl Path(a: symbol, b: symbol)
.decl path(a: symbol, b: symbol)
.decl PATH(a: symbol)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
Path(?a, ?b) :- path(?a, ?b), said(?a), !path(?b, ?a).
PATH(?a) :- Path(?a, ?b), contains("'", ?b).
"""
    edges: list[Row] = list(itertools.pairwise(HOSTILE))
    agree(text, {"edge": edges}, strategy)


FORCED = """
.decl n(x: number, y: number)
.input n(source="memory")
.decl none(x: number)
.input none(source="memory")
.decl p(x: number)
"""


@pytest.mark.parametrize(
    "rule",
    [
        "p(?x) :- n(?x, ?y), ?q = ?x / ?y, !none(?q).",
        "p(?x) :- n(?x, ?y), !none(?x / ?y).",
        "p(?x) :- n(?x, ?y), ?q = ?x / ?y, ?q = ?q.",
        "p(?x) :- n(?x, ?y), ?q = ?x + 9223372036854775807 - ?y, !none(?q).",
        "p(?c) :- n(_, _), ?c = count : { n(?x, ?y), _q = ?x / ?y }.",
        "p(?x) :- n(?x, _), _s = sum ?y * 9223372036854775807 : { n(_, ?y), ?y > 0 }.",
        "p(?x) :- n(?x, _), _s = sum ?m : { n(?y, _), ?m = ?y + 9223372036854775800 }.",
        "p(?x) :- n(?x, ?y), ?z = ?x / ?y, ?c = count : { none(?z) }, ?c >= 0.",
    ],
)
def test_an_error_is_never_lost_because_nobody_looks_at_the_value(rule: str) -> None:
    facts: dict[str, list[Row]] = {"n": [(7, 0), (3, 1), (5, 2)]}
    with pytest.raises(StrategyError):
        compute(program(FORCED + rule), facts)


@pytest.mark.parametrize(
    "rule",
    [
        "p(?x) :- n(?x, ?y), ?y != 0, ?x / ?y > 1.",
        "p(?q) :- n(?x, ?y), ?y != 0, ?q = ?x / ?y.",
        "p(?x) :- n(?x, ?y), !none(?y), ?x / ?y > 1.",
        "p(?x) :- n(?x, ?y), good(?y), ?x / ?y > 1.",
        "p(?x) :- good(?y), n(?x, ?y), ?q = 100 / ?y, n(?q, _).",
    ],
)
def test_what_an_earlier_step_removed_is_never_computed(rule: str) -> None:
    text = FORCED + '.decl good(y: number)\n.input good(source="memory")\n' + rule
    facts: dict[str, list[Row]] = {
        "n": [(7, 0), (3, 1), (8, 2), (100, 5), (9, 0)],
        "none": [(0,)],
        "good": [(1,), (2,), (5,)],
    }
    agree(text, facts, Strategy.LOOP)


def test_rounds_are_told_and_stamped() -> None:
    text = """
.decl edge(a: symbol, b: symbol)
.input edge(source="memory")
.decl path(a: symbol, b: symbol)
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
"""
    plan = plan_of(program(text))
    told: list[Event] = []
    with Database(Resources(threads=1)) as database:
        load(database, plan, {"edge": [("a", "b"), ("b", "c"), ("c", "d")]})
        report = run_stage(
            database, plan, plan.stages[0], Strategy.CTE, stamps=True, observe=told.append
        )
        stamped = {row: number for batch in database.rounds("path") for row, number in batch}
        assert rows_of(database, "path") == set(stamped)
        with pytest.raises(StrategyError):
            database.rounds("edge")
    assert report.strategy == "loop"
    assert report.rounds == 2
    assert stamped["a", "b"] == 0
    assert stamped["a", "c"] == 1
    assert stamped["a", "d"] == 2
    assert [one.new_rows for one in told if isinstance(one, RoundFinished)] == [2, 1]


@BOTH
def test_the_bindings_of_each_step_are_counted(strategy: Strategy) -> None:
    text = """
.decl edge(a: number, b: number)
.input edge(source="memory")
.decl path(a: number, b: number)
path(?x, ?y) :- edge(?x, ?y), ?x < 3.
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
"""
    edges: list[Row] = [(0, 1), (1, 2), (2, 3), (3, 4)]
    _, reports = compute(program(text), {"edge": edges}, strategy, analyze=True)
    counted = {one.rule: one.rows for report in reports for one in report.pipelines}
    assert counted == {0: (4, 3), 1: (9, 6)}
    assert reports[0].rows == {"path": 9}
    assert reports[0].bytes == 9 * 16


@BOTH
def test_hundreds_of_rules_of_one_predicate_are_united_in_parts(strategy: Strategy) -> None:
    rules = "".join(f"p({place}, ?a) :- edge(?a, _), ?a != {place}.\n" for place in range(100))
    steps = "".join(
        f"p(?n, ?b) :- p(?n, ?a), edge(?a, ?b), ?n != {place}.\n" for place in range(70)
    )
    text = f"""
.decl edge(a: number, b: number)
.input edge(source="memory")
.decl p(n: number, a: number)
{rules}{steps}
"""
    edges: list[Row] = [(0, 1), (1, 2), (2, 7)]
    found = program(text)
    if strategy is Strategy.CTE:
        # One expression takes fewer rules; rounds take all.
        plan = plan_of(found)
        with Database(Resources(threads=1)) as database:
            load(database, plan, {"edge": edges})
            with pytest.raises(StrategyError, match="more recursive rules"):
                run_stage(database, plan, plan.stages[0], strategy)
        return
    rows, _ = compute(found, {"edge": edges}, strategy)
    assert {row[1] for row in rows["p"]} == {0, 1, 2, 7}
    assert len(rows["p"]) == 100 * 4 - 1


def test_a_rule_of_many_nested_functions_is_left_to_others() -> None:
    sums = " + ".join(["?f"] * 120)
    text = f"""
.decl n(x: number)
.input n(source="memory")
.decl p(y: float)
p(?y) :- n(?x), ?f = as(?x, float), ?y = {sums}.
"""
    with pytest.raises(StrategyError, match="too long"):
        compute(program(text), {"n": [(1,)]})
