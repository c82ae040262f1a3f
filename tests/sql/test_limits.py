"""Bounds of time, memory, disk, rows and rounds end an evaluation cleanly; nothing stays behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import ResourceError, Resources, StrategyError
from constat.logic import Kind
from constat.plan.forward import Relation, Strategy
from constat.sql import Database, run_stage, trees
from tests.language.worlds_of_text import program
from tests.sql.computing import compute, load, plan_of

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Row

CROSS = """
.decl n(x: number)
.input n(source="memory")
.decl pairs(x: number, y: number, z: number)
pairs(?x, ?y, ?z) :- n(?x), n(?y), n(?z), ?x * ?y % 7 > ?z * ?z + 7.
"""
WIDE = """
.decl n(x: number)
.input n(source="memory")
.decl pairs(x: number, y: number, z: number)
pairs(?x, ?y, ?z) :- n(?x), n(?y), n(?z).
"""
CHAIN = """
.decl edge(x: number, y: number)
.input edge(source="memory")
.decl path(x: number, y: number)
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
"""
COUNTER = """
.decl start(x: number)
.input start(source="memory")
.decl up(x: number)
up(?x) :- start(?x).
up(?x + 1) :- up(?x), ?x >= 0.
"""
NUMBERS: list[Row] = [(place,) for place in range(3000)]
EDGES: list[Row] = [(place, place + 1) for place in range(200)]


def test_a_cross_product_ends_when_the_time_is_up() -> None:
    started = time.monotonic()
    with pytest.raises(ResourceError, match=r"within 0\.5 s"):
        compute(program(CROSS), {"n": NUMBERS}, resources=Resources(seconds=0.5, threads=1))
    assert time.monotonic() - started < 60


def test_a_result_beyond_the_memory_is_a_resource_error_without_a_folder() -> None:
    resources = Resources(memory=60_000_000, threads=1)
    with pytest.raises(ResourceError, match="memory is needed"):
        compute(program(WIDE), {"n": NUMBERS[:300]}, resources=resources)


def test_a_full_folder_of_intermediate_results_is_a_resource_error(tmp_path: Path) -> None:
    resources = Resources(memory=80_000_000, threads=1, scratch=tmp_path, scratch_bytes=10_000_000)
    with pytest.raises(ResourceError, match="disk space"):
        compute(program(WIDE), {"n": NUMBERS[:250]}, resources=resources)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_into_memory_is_spilled_and_taken_away(tmp_path: Path) -> None:
    resources = Resources(memory=80_000_000, threads=1, scratch=tmp_path)
    plan = plan_of(program(WIDE))
    with Database(resources) as database:
        load(database, plan, {"n": NUMBERS[:180]})
        run_stage(database, plan, plan.stages[0], Strategy.STATEMENT)
        assert database.count("pairs") == 180**3
        spilled = [file for folder in tmp_path.iterdir() for file in folder.iterdir()]
        assert spilled
    assert list(tmp_path.iterdir()) == []


def test_a_database_says_whether_it_may_spill(tmp_path: Path) -> None:
    for scratch, words in ((None, "no folder to spill into"), (tmp_path, "spilling into a folder")):
        with Database(Resources(memory=80 << 20, threads=1, scratch=scratch)) as database:
            assert database.connection.spills is (scratch is not None)
            assert database.connection.limits == f"80 MB and {words}"


@pytest.mark.parametrize("strategy", [Strategy.LOOP])
def test_a_recursion_that_explodes_ends_at_its_rounds(strategy: Strategy) -> None:
    resources = Resources(rounds=10, threads=1)
    with pytest.raises(ResourceError, match="10 rounds"):
        compute(program(CHAIN), {"edge": EDGES}, strategy, resources)


def test_a_recursion_that_explodes_ends_at_its_rows() -> None:
    with pytest.raises(ResourceError, match="1,000 rows"):
        compute(program(CHAIN), {"edge": EDGES}, Strategy.LOOP, Resources(rows=1000, threads=1))


@pytest.mark.parametrize("strategy", [Strategy.CTE, Strategy.LOOP])
def test_an_endless_recursion_ends_when_the_time_is_up(strategy: Strategy) -> None:
    with pytest.raises(ResourceError, match="did not finish"):
        compute(program(COUNTER), {"start": [(0,)]}, strategy, Resources(seconds=0.5, threads=1))


def test_an_interruption_from_another_thread_ends_it() -> None:
    plan = plan_of(program(CROSS))
    with Database(Resources(threads=1)) as database:
        load(database, plan, {"n": NUMBERS})
        timer = threading.Timer(0.3, database.interrupt)
        timer.start()
        with pytest.raises(ResourceError, match="cancelled"):
            run_stage(database, plan, plan.stages[0], Strategy.STATEMENT)
        timer.join()
        with pytest.raises(ResourceError, match="cancelled"):
            database.count("n")


def test_ctrl_c_ends_it_and_is_passed_on() -> None:
    plan = plan_of(program(CROSS))
    with Database(Resources(threads=1)) as database:
        load(database, plan, {"n": NUMBERS})
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run_stage(database, plan, plan.stages[0], Strategy.STATEMENT)
        timer.join()


def test_an_error_inside_a_block_takes_the_folder_away(tmp_path: Path) -> None:
    def fail() -> None:
        with Database(Resources(scratch=tmp_path)) as database:
            # Nothing is opened before somebody needs it.
            assert list(tmp_path.iterdir()) == []
            database.number_of("a")
            assert len(list(tmp_path.iterdir())) == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_sealed_database_reads_no_file(tmp_path: Path) -> None:
    outside = tmp_path / "a.csv"
    outside.write_text("1\n")
    relation = Relation("a", (Kind.NUMBER,), (False,), given=True, derived=False)
    source = trees.read_csv(str(outside), ["t"], [("auto_detect", trees.truth(False))])
    query = trees.select([("t", trees.bare("t"))], source=source)
    with Database(Resources()) as database:
        database.declare(relation)
        assert database.connection.run(query) == [("1",)]
        database.connection.seal()
        with pytest.raises(StrategyError, match="may not be read"):
            database.connection.run(query)
    with Database(Resources(), allowed=[outside]) as database:
        assert database.connection.run(query) == [("1",)]


def test_an_error_tells_nothing_of_values() -> None:
    relation = Relation("a", (Kind.SYMBOL,), (False,), given=True, derived=False)
    with Database(Resources()) as database:
        database.declare(relation)
        database.load_rows("a", [("a secret",)])
        node = trees.cast(trees.bare("c0"), trees.typed("BIGINT"))
        query = trees.select([("v", node)], source=trees.table(database.stored("a").table))
        with pytest.raises(StrategyError) as caught:
            database.connection.run(query)
    assert "secret" not in str(caught.value)


def test_a_failed_strategy_leaves_the_relation_as_it_was() -> None:
    text = """
.decl n(x: number)
.input n(source="memory")
.decl big(x: number)
big(?x * ?x) :- n(?x).
"""
    plan = plan_of(program(text))
    with Database(Resources(threads=1)) as database:
        load(database, plan, {"n": [(1,), (2**62,)]})
        for strategy in (Strategy.STATEMENT, Strategy.LOOP):
            with pytest.raises(StrategyError):
                run_stage(database, plan, plan.stages[0], strategy)
            assert database.count("big") == 0
        database.load_rows("big", [(1,)])
        assert list(database.rows("big")) == [[(1,)]]
