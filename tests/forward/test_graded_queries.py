"""Queries over sources that do not know everything: both engines write the same bytes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import pytest

from constat import Session, Verdict
from constat.evaluation import Demand, RelationPredicate
from constat.session import bulk, plan_explaining
from constat.session.answers import Computed, Settled
from constat.session.bulk import Verdicts
from constat.session.rows import LabelledRows, StoredRows
from tests.cli.running import run
from tests.forward.called import as_proved, held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.sampled(2)

RULES = """\
.pragma "constat" "0.1"
.decl order(o: number, c: symbol, v: number, parts: number)
.input order(source = "db", query = "SELECT o, c, v, parts FROM sale", null = "unknown")
.decl customer(c: symbol)
.input customer(source = "db", query = "SELECT DISTINCT c FROM sale")
.decl vetoed(c: symbol)
.decl total(c: symbol, t: number)
total(?c, ?t) :- customer(?c), ?t = sum ?v : { order(_, ?c, ?v, _) }.
.decl good(c: symbol)
good(?c) :- total(?c, ?t), ?t > 10.
.decl welcome(c: symbol)
welcome(?c) :- good(?c), !vetoed(?c).
.decl piece(o: number, p: number)
piece(?o, ?v / ?n) :- order(?o, _, ?v, ?n).
"""
SALES: list[tuple[int, str, int | None, int | None]] = [
    (n, f"c,{n % 7}", n, n % 5) for n in range(40)
]
OPEN_SALES = [(100, "c,2", None, 1), (101, "c,6", None, 1), (102, "new", 3, None)]
QUERIES = (
    ("total(?c, ?t)", "csv"),
    ("total(?c, ?t)", "jsonl"),
    ("good(?c)", "table"),
    ("welcome(?c)", "jsonl"),
    ("welcome(?c), total(?c, ?t)", "csv"),
    ("order(?o, ?c, ?v, ?n), ?n > 3", "jsonl"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doubts")
    with closing(sqlite3.connect(folder / "db.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE sale (o INTEGER, c TEXT, v INTEGER, parts INTEGER)")
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?, ?)", SALES + OPEN_SALES)
    (folder / "rules.dl").write_text(RULES, encoding="utf-8")
    text = "project: doubts\nrules: [rules.dl]\nclosed: [vetoed]\n"
    text += "databases:\n  db:\n    uri: sqlite:///db.sqlite\n"
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    with Session(folder) as session:
        session.facts.add('vetoed("c,3")', author="alice")
    return folder


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as one:
        yield one


@pytest.mark.parametrize(("query", "form"), QUERIES)
def test_both_engines_write_the_same_bytes(project: Path, query: str, form: str) -> None:
    common = ("query", query, "--project", str(project), "--format", form)
    reference = run(*common, "--engine", "reference")
    forward = run(*common, "--engine", "forward", "--check", "off")
    assert (as_proved(forward.out), forward.code) == (reference.out, reference.code)


def test_a_goal_without_variables_has_its_verdict(session: Session) -> None:
    for name, verdict in (("c,2", Verdict.UNRESOLVED), ("c,1", Verdict.PROVED)):
        (row,) = session.query(f'good("{name}")', engine="forward")
        assert row.verdict is verdict
    assert not list(session.query('good("c,9")', engine="forward"))


@pytest.mark.parametrize(
    "more",
    [
        ("--order", "t:desc"),
        ("--order", "c", "--limit", "3"),
        ("--verdict", "unresolved", "--columns", "t"),
    ],
)
def test_order_limit_and_verdicts_are_the_same(project: Path, more: tuple[str, ...]) -> None:
    common = ("query", "total(?c, ?t), ?t > 3", "--project", str(project), "--format", "jsonl")
    reference = run(*common, *more, "--engine", "reference")
    forward = run(*common, *more, "--engine", "forward")
    assert as_proved(forward.out).splitlines() == reference.out.splitlines()
    assert forward.code == reference.code


def test_rows_lie_where_they_were_computed(session: Session) -> None:
    answers = session.query("good(?c)", engine="forward")
    assert isinstance(answers.rows.values, StoredRows)
    assert isinstance(answers.weak, Verdicts)
    assert answers.settled is Settled.OPEN
    assert [(row["c"], row.verdict) for row in answers.rows.only([Verdict.UNRESOLVED])] == [
        ("c,2", Verdict.UNRESOLVED),
        ("c,6", Verdict.UNRESOLVED),
    ]
    assert answers.count(Verdict.PROVED) == 5
    assert {(one.predicate, one.tier) for one in answers.reasons} == {("order", "database")}


def test_a_closure_is_named_at_every_row_that_rests_on_it(session: Session) -> None:
    answers = session.query("welcome(?c)", engine="forward")
    under = list(answers.rows.only([Computed.UNDER]))
    assert [row["c"] for row in under] == ["c,0", "c,1", "c,4", "c,5"]
    assert all(any("vetoed" in one.text for one in row.assumptions) for row in under)


def test_data_frames_and_arrow_have_the_verdicts(session: Session) -> None:
    forward = session.query("good(?c)", engine="forward").to_pandas()
    reference = session.query("good(?c)", engine="reference").to_pandas()
    assert set(forward["verdict"]) == {"PROVED", "UNRESOLVED"}
    assert forward.equals(reference)


def test_an_instance_that_errs_is_named(session: Session) -> None:
    answers = session.query("piece(?o, ?p)", engine="forward")
    reference = session.query("piece(?o, ?p)", engine="reference")
    assert isinstance(answers.rows.values, StoredRows)
    assert [row.values for row in answers] == [row.values for row in reference]
    assert answers.open_shapes == reference.open_shapes
    told = {(one.predicate, one.reason) for one in answers.reasons}
    assert told == {(one.predicate, one.reason) for one in reference.reasons}
    assert any("division by zero" in reason for _, reason in told)


def test_the_plan_says_what_was_computed_twice_and_what_was_left(project: Path) -> None:
    graded = run("explain-plan", "good(?c)", "--analyze", "--project", str(project))
    assert "what is not certain of good, computed a second time" in graded.out
    assert "left to the reference engine" not in graded.out
    asked = ("order(?o, ?c, ?v, _), total(?c, ?v)", "--analyze", "--project", str(project))
    left = json.loads(run("explain-plan", *asked, "--format", "json").out)["left"]
    assert left[0]["why"] == "an unknown ?v meets several literals of a rule"


def test_over_many_rows_an_unknown_that_is_joined_is_left_open_and_says_so(
    project: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "order(?o, ?c, ?v, _), total(?c, ?v)"
    exact = session.query(asked, engine="forward")
    assert not any("C0970" in one.reason for one in exact.reasons)
    monkeypatch.setattr(bulk, "MANY", 5)
    monkeypatch.setattr(plan_explaining, "MANY", 5)
    loose = session.query(asked, engine="forward")
    assert isinstance(loose.rows.values, LabelledRows)
    assert [one.predicate for one in loose.reasons if "[C0970]" in one.reason] == ["query"]
    assert loose.settled is Settled.OPEN
    # The reference engine proves what bulk computes.
    certain = [row.values for row in loose.rows.only([Computed.CERTAIN])]
    assert certain == [row.values for row in exact.rows.only([Verdict.PROVED])]
    assert certain
    told = run("explain-plan", asked, "--analyze", "--project", str(project))
    assert "loosened, so that less may be decided than in a single proof: query" in told.out
    assert "left to the reference engine" not in told.out


def test_nulls_of_a_duckdb_leave_the_other_rows_in_place(tmp_path: Path) -> None:
    with closing(duckdb.connect(tmp_path / "db.duckdb")) as connection:
        connection.execute("CREATE TABLE sale (o BIGINT, c TEXT, v BIGINT, parts BIGINT)")
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?, ?)", OPEN_SALES[:2] + SALES)
        connection.execute("INSERT INTO sale VALUES (103, 'new', NULL, NULL)")
    (tmp_path / "rules.dl").write_text(RULES, encoding="utf-8")
    text = "project: doubts\nrules: [rules.dl]\nclosed: [vetoed]\n"
    text += "databases:\n  db:\n    uri: duckdb:///db.duckdb\n"
    (tmp_path / "constat.yaml").write_text(text, encoding="utf-8")
    with Session(tmp_path) as session:
        forward = session.query("total(?c, ?t)", engine="forward")
        reference = session.query("total(?c, ?t)", engine="reference")
        given = session.externals["order"]
        assert isinstance(given, RelationPredicate)
        predicate = session.program.program.predicates["order"]
        whole = Demand(predicate, (), ((),))
        readable = given.as_relation(whole, 1_000)
        assert readable is not None
        assert readable.openings == given.answer(whole).openings == ()
        assert [row[0] for row in readable.nulls] == [100, 101, 103]
        assert readable.rows == len(SALES)
    assert [(row.values, held(row)) for row in forward] == [
        (row.values, row.verdict) for row in reference
    ]
    assert isinstance(forward.rows.values, StoredRows)
    assert forward.open_shapes == reference.open_shapes
    assert {one.reason for one in forward.reasons} == {one.reason for one in reference.reasons}
