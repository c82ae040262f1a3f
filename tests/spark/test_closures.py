"""The closure of edges, in as few rounds as are worth it, is the one that DuckDB computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.evaluation import Resources
from constat.forward import Options, Rows, evaluate
from constat.plan.forward import Sizes, edge_closure, plan_forward
from constat.spark import stages
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program

if TYPE_CHECKING:
    from constat.logic import Row
    from constat.project.settings import SparkSetting

LINEAR = """
.decl edge(a: number, b: number)
.input edge(source="memory")
.decl path(a: number, b: number)
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
"""
RIGHT = LINEAR.replace("path(?x, ?y), edge(?y, ?z)", "edge(?x, ?y), path(?y, ?z)")
SQUARED = LINEAR.replace("path(?x, ?y), edge(?y, ?z)", "path(?x, ?y), path(?y, ?z)")
LABELLED = """
.decl edge(a: number, l: number, b: number)
.input edge(source="memory")
.decl path(a: number, l: number, b: number)
path(?x, ?l, ?y) :- edge(?x, ?l, ?y).
path(?x, ?l, ?z) :- path(?x, ?l, ?y), edge(?y, ?l, ?z).
"""
NONE = [
    LINEAR.replace("edge(?y, ?z)", "edge(?z, ?y)"),
    LINEAR.replace("edge(?y, ?z)", "edge(?y, ?z), ?x != ?z"),
    LINEAR + "path(7, 8).\n",
    LINEAR.replace("path(?x, ?y) :- edge(?x, ?y)", "path(?y, ?x) :- edge(?x, ?y)"),
    LINEAR + '.decl more(a: number, b: number)\n.input more(source="memory")\n'
    "path(?x, ?y) :- more(?x, ?y).\n",
]


def plan(text: str) -> object:
    found = program(text)
    goal = "path(?x, ?l, ?y)" if text == LABELLED else "path(?x, ?y)"
    made = plan_forward(found, [parse_goal(goal, found.program)], Sizes())
    [stage] = [one for one in made.stages if "path" in one.predicates]
    return edge_closure(made, stage)


@pytest.mark.parametrize("text", [LINEAR, RIGHT, SQUARED, LABELLED])
def test_a_closure_is_recognised_however_it_is_written(text: str) -> None:
    assert plan(text) is not None


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_closure_of_its_edges_is_not_taken_for_one(text: str) -> None:
    assert plan(text) is None


def rows(
    text: str, goal: str, edges: tuple[Row, ...], spark: SparkSetting | None
) -> tuple[set[Row], int, str]:
    found = program(text)
    atom = parse_goal(goal, found.program)
    options = Options(Resources(seconds=60.0), spark=spark)
    with evaluate(found, [atom], {"edge": Rows(edges)}, options) as results:
        report = results.reports[-1]
        known = {row for batch in results.batches(0) for row in batch}
        assert len(known) == results.count(0)
        return known, report.rounds, report.strategy


def test_a_long_chain_takes_few_rounds(spark: SparkSetting) -> None:
    edges = tuple((one, one + 1) for one in range(100))
    found, rounds, how = rows(LINEAR, "path(?x, ?y)", edges, spark)
    assert found == {(a, b) for a in range(100) for b in range(a + 1, 101)}
    assert rounds == 7
    assert how == "spark doubling"


EDGES = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


@pytest.mark.spark
@settings(max_examples=max(30, settings().max_examples))
@given(EDGES, st.sampled_from([0, 3, 1_000_000]), st.sampled_from([LINEAR, RIGHT]))
def test_whatever_is_doubled_the_pairs_are_the_same(
    spark_server: str, edges: set[tuple[int, int]], worth: int, text: str
) -> None:
    from constat.project.settings import SparkSetting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "_ROUND", worth)
        there, _, _ = rows(text, "path(?x, ?y)", tuple(edges), SparkSetting(spark_server))
    here, _, _ = rows(text, "path(?x, ?y)", tuple(edges), None)
    assert there == here


def test_paths_stay_within_their_label(spark: SparkSetting) -> None:
    edges = tuple((one, one % 2, other) for one in range(8) for other in ((one + 2) % 8, one + 1))
    goal = "path(?x, ?l, ?y)"
    assert rows(LABELLED, goal, edges, spark)[0] == rows(LABELLED, goal, edges, None)[0]
