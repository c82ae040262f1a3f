"""Random programs with all that programs from outside have, evaluated in every way."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from constat.evaluation import ResourceError, Resources
from constat.plan.forward import planning
from constat.sql import Database, relations
from constat.sql.connection import Connection
from tests.random_programs.drawing import RandomProgram, RandomRule, draw
from tests.random_programs.judging import Judge, read_program
from tests.random_programs.one_database import one_database
from tests.random_programs.shrinking import smallest
from tests.session.test_row_checks import LiteralsOnly

FEW, MANY = 3, 1_000
FINDS = 115
"""A seed whose program shows the mistake that two rules share a projection for other columns."""


def judged(first: int, count: int) -> Counter[str]:
    judge = Judge()
    with one_database():
        for seed in range(first, first + count):
            found = judge.difference(draw(seed), seed)
            assert found is None, f"python -m tests.random_programs --again {seed}: {found}"
    return judge.told


def test_random_programs_have_the_same_rows_in_every_way() -> None:
    told = judged(1, FEW)
    assert told["programs"] > FEW // 2


def test_two_heads_over_one_join_keep_their_columns() -> None:
    # DuckDB 2.0.0 gives both the same column, unless it is told not to share the join.
    judged(503562, 1)


@pytest.mark.slow
def test_a_thousand_random_programs_have_the_same_rows_in_every_way() -> None:
    told = judged(1_000, MANY)
    for strategy in ("statement", "cte", "loop", "bitmap", "runs", "reference"):
        assert told[f"by {strategy}"], strategy


@pytest.mark.laws
def test_nearly_every_program_is_accepted_and_each_construct_is_drawn() -> None:
    drawn = [draw(seed) for seed in range(120)]
    accepted = [one for one in drawn if read_program(one) is not None]
    assert len(accepted) > 108
    marks = Counter(mark for one in accepted for mark in one.marks)
    for mark in (
        "shared literals",
        "a literal in several places",
        "several heads",
        "wildcards",
        "expressions as arguments",
        "non-linear recursion",
        "computed in recursion",
        "disjunction",
        "aggregates",
        "negation in aggregates",
        "patterns",
        "thresholds",
        "rules and rows",
    ):
        assert marks[mark], mark
    letters = Counter(letter for one in accepted for r in one.relations for letter in r.letters)
    assert min(letters[letter] for letter in "nufstrdy") > 10


def test_the_projection_shared_by_mistake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "Cut", LiteralsOnly)
    found = Judge().difference(draw(FINDS), FINDS)
    assert found is not None
    assert found.way == "internal error"


def test_evaluations_that_share_a_database_leave_nothing_in_it() -> None:
    judge = Judge()
    with one_database():
        for seed in (5, 5):
            assert judge.difference(draw(seed), seed) is None
        driver = relations.Connection.server.driver  # type: ignore[attr-defined]  # the shared one
        left = driver.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal")
        assert left.fetchall() == [("memory",)]
    assert relations.Connection is Connection  # type: ignore[attr-defined]  # patched there


def test_what_takes_too_long_is_stopped_and_no_difference() -> None:
    endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 1"
    with one_database(), Database(Resources(seconds=0.01)) as database:
        driver = database.connection.driver
        with pytest.raises(ResourceError):
            database.guarded(lambda: driver.execute(endless).fetchall())


def test_a_program_is_made_smaller_until_nothing_can_go() -> None:
    drawn = draw(3)
    rules = (RandomRule(("p(1)",), ("q(1)", "r(1)")), RandomRule(("q(1)", "q(2)")))

    def differs(one: RandomProgram) -> bool:
        return any("r(1)" in rule.body for rule in one.rules)

    small = smallest(replace(drawn, rules=rules, rows={"e": ((1,), (2,))}), differs)
    assert small.rules == (RandomRule(("p(1)",), ("r(1)",)),)
    assert small.rows == {"e": ()}
