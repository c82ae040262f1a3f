"""A near source that a recursion asks again and again is read as a whole, where that costs less."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.engine.state import OFTEN, ROWS_A_CALL
from constat.evaluation import ABSENT, CERTAIN, Answer, Assumption, Limits, Opening, Portion
from constat.logic import OPEN, NullCell, NullPolicy
from tests.engine.tables import BY_USER, Table, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.evaluation import Demand, Readable

PATHS = """
.decl edge(a: number, b: number)
.input edge(source="t", query="q")
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""
LENGTH = 300


@dataclass
class Measured(Table):
    """A table that says how large it is, and may answer another way when it is asked for all."""

    size: float | None = None
    otherwise: Callable[[Answer], Answer] = lambda answer: answer

    def estimate(self) -> float | None:
        return float(len(self.rows)) if self.size is None else self.size

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        raise AssertionError((demand, most_rows))

    def answer(self, demand: Demand) -> Answer:
        found = super().answer(demand)
        return found if demand.columns else self.otherwise(found)

    @property
    def times_whole(self) -> int:
        return sum(not one.columns for one in self.demands)


def edges(**options: object) -> Measured:
    return Measured([(place, place + 1) for place in range(LENGTH)], **options)  # type: ignore[arg-type]  # fields


def asked(edge: Measured, goal: str = f"path(0, {LENGTH})", limits: Limits | None = None) -> int:
    """Decide a goal that holds; give how many calls that took."""
    outcome = run(PATHS, goal, {"edge": edge}, limits=limits)
    assert outcome.strength(outcome.goal) == CERTAIN
    assert len(outcome.calls) <= len(edge.demands)
    return len(edge.demands)


def test_a_small_source_that_is_asked_often_is_read_once() -> None:
    edge = edges()
    assert asked(edge, limits=Limits(calls=OFTEN + 1)) == OFTEN + 1
    assert edge.times_whole == 1


def test_whoever_asks_seldom_reads_nothing_else() -> None:
    edge = edges()
    assert asked(edge, f"path(0, {OFTEN // 4})") < OFTEN
    assert edge.times_whole == 0


def test_more_rows_take_more_calls_until_they_are_read() -> None:
    edge = edges(size=float(OFTEN * ROWS_A_CALL + 1))
    assert asked(edge) == 2 * OFTEN + 1
    assert edge.times_whole == 1


@pytest.mark.parametrize("options", [{"size": 1e9}, {"cost": 100}])
def test_a_large_source_and_a_far_one_are_asked_key_by_key(options: dict[str, float]) -> None:
    edge = edges(**options)
    assert asked(edge) > LENGTH
    assert edge.times_whole == 0


def _opened(answer: Answer) -> Answer:
    return replace(answer, openings=(Opening((OPEN, 7), "no value", "database"),))


def _unanswered(answer: Answer) -> Answer:
    return replace(answer, answered=frozenset())


def _said(answer: Answer) -> Answer:
    row = ((LENGTH + 1, LENGTH + 2),)
    said = Portion(row, BY_USER, Assumption("fact", "edge", "alice says so", Decimal(1)))
    return replace(answer, portions=(*answer.portions, said))


def _labelled(answer: Answer) -> Answer:
    row = ((LENGTH + 1, NullCell(NullPolicy.NONE, "edge", 1)),)
    return replace(answer, portions=(*answer.portions, replace(answer.portions[0], rows=row)))  # type: ignore[arg-type]  # as rows are at run time


@pytest.mark.parametrize("otherwise", [_opened, _unanswered, _said, _labelled])
def test_an_answer_that_leaves_something_open_is_dropped_for_good(
    otherwise: Callable[[Answer], Answer],
) -> None:
    edge = edges(otherwise=otherwise)
    outcome = run(PATHS, f"path(0, {LENGTH})", {"edge": edge})
    assert outcome.strength(outcome.goal) == CERTAIN
    assert edge.times_whole == 1
    assert len(outcome.calls) == len(edge.demands) - 1 > LENGTH
    assert all(call.demand.columns for call in outcome.calls)


def test_a_no_rests_on_what_was_asked_key_by_key_and_nothing_is_asked_twice() -> None:
    edge = edges()
    outcome = run(PATHS, f"path(0, {LENGTH + 1})", {"edge": edge})
    assert outcome.strength(outcome.goal) == ABSENT
    assert edge.times_whole == 1
    assert all(call.demand.columns for call in outcome.calls)
    keys = [(one.columns, key) for one in edge.demands for key in one.keys]
    assert len(keys) == len(set(keys)) > LENGTH


def test_a_no_stays_where_its_keys_are_too_many_to_be_asked() -> None:
    edge = edges()
    limits = Limits(calls=OFTEN + 1)
    outcome = run(PATHS, f"path(0, {LENGTH + 1})", {"edge": edge}, limits=limits)
    assert outcome.strength(outcome.goal) == ABSENT
    assert len(outcome.calls) == OFTEN + 1


@pytest.mark.parametrize(
    "rule",
    [
        "last(?a) :- path(0, ?a), !edge(?a, _).",
        "last(?a) :- path(0, ?a), 0 = count : { edge(?a, _) }.",
        "last(?a) :- path(0, ?a), !gone(?a).  .decl gone(a: number)  gone(?a) :- edge(?a, _).",
    ],
)
def test_what_a_proof_has_to_close_is_asked_key_by_key(rule: str) -> None:
    edge = edges()
    outcome = run(f"{PATHS} .decl last(a: number) {rule}", f"last({LENGTH})", {"edge": edge})
    assert outcome.strength(outcome.goal) == CERTAIN
    assert edge.times_whole == 0


def test_no_tier_answers_the_keys_of_a_no_from_what_was_read_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {t: {uri: 'sqlite:///t.sqlite'}}\n"
    )
    rules = PATHS.replace('query="q"', 'query="SELECT a, b FROM edge"')
    (tmp_path / "r.dl").write_text(f'.pragma "constat" "0.1"{rules}')
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as shop, shop:
        shop.execute("CREATE TABLE edge (a INTEGER NOT NULL, b INTEGER NOT NULL)")
        shop.executemany("INSERT INTO edge VALUES (?, ?)", [(n, n + 1) for n in range(100)])
    with Session(tmp_path, cache=False) as session:
        certificate = session.prove("path(0, 101)").certificate
    report = check_certificate(certificate)
    assert (report.accepted, report.verdict, report.level) == (True, "DISPROVED", "C3")
    assert all(one["rows"] <= 1 for one in json.loads(certificate)["sources"])
