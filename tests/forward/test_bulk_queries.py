"""Queries by the forward engine: the same answers, in the same order and the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.evaluation import StrategyError
from constat.session import bulk, querying
from constat.session.answers import Computed, Settled
from constat.session.rows import StoredRows
from tests.cli.running import run
from tests.examples.fixtures import shop, shop_database, still_shop
from tests.forward.called import as_proved, held
from tests.session.querying import THINGS, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session import Answers

WHEN = re.compile(r"executed_at: \S+")

pytestmark = pytest.mark.sampled(3)

__all__ = ["shop", "shop_database", "still_shop"]

THINGS_QUERIES = (
    "thing(?a, ?b, ?c, ?d, ?e, ?f, ?g, ?h)",
    "thing(?a, ?b, ?c, _, ?e, ?f, ?g, ?h)",
    "thing(?a, 9, _, ?d, ?e, _, ?g, ?h)",
    "thing(_, _, ?u, _, _, _, ?at, _)",
    "reach(?a, ?b)",
    "reach(?x, ?x)",
    "reach(a, ?b)",
    "reach(a, e)",
    "reach(?a, ?b), !pair(?a, ?b), ?a != d",
    "ratio(?name, ?r)",
    "thing(?a, ?n, _, _, _, _, _, _), !reach(_, ?a), ?n > 5",
)
SHOP_QUERIES = (
    "is_vip(?c)",
    "customer_revenue(?c, ?r), ?r >= 150000",
    "is_vip(?c), !controls(_, ?c)",
    "controls(C001, ?b)",
    "may_leave(?c)",
    "is_strategic(?c)",
    "owns(?a, ?b, ?share)",
)


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("things") / "project")


@pytest.fixture(scope="module")
def thing_session(things: Path) -> Iterator[Session]:
    with Session(things) as session:
        yield session


def told(answers: Answers) -> tuple[object, ...]:
    rows = [(row.values, held(row), row.assumptions, row.goals) for row in answers]
    return (
        rows,
        answers.settled,
        answers.columns,
        answers.open_shapes,
        answers.excluded,
        answers.assumptions,
        answers.reasons,
        answers.stopped,
    )


@pytest.mark.parametrize("query", THINGS_QUERIES)
def test_both_engines_give_the_same_answers(thing_session: Session, query: str) -> None:
    reference = thing_session.query(query, engine="reference")
    assert told(thing_session.query(query, engine="forward")) == told(reference)


@pytest.mark.parametrize("query", SHOP_QUERIES)
def test_both_engines_give_the_same_answers_about_the_shop(still_shop: Path, query: str) -> None:
    with Session(still_shop) as session:
        reference = session.query(query, engine="reference")
        assert told(session.query(query, engine="forward")) == told(reference)


@pytest.mark.parametrize("form", ["csv", "jsonl", "table"])
@pytest.mark.parametrize("query", [*THINGS_QUERIES[:5], "ratio(?name, ?r)"])
def test_both_engines_are_written_with_the_same_bytes(things: Path, query: str, form: str) -> None:
    common = ("query", query, "--project", str(things), "--format", form)
    reference = run(*common, "--engine", "reference")
    forward = run(*common, "--engine", "forward", "--check", "off")
    assert "PROVED" not in forward.out
    assert (as_proved(forward.out), as_proved(forward.err), forward.code) == (
        reference.out,
        reference.err,
        reference.code,
    )


@pytest.mark.parametrize(
    "more",
    [
        ("--order", "b:desc"),
        ("--order", "h,b"),
        ("--limit", "2"),
        ("--order", "d", "--limit", "3", "--columns", "a,d"),
        ("--verdict", "under"),
        ("--columns", "g,e,b"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl", "table"])
def test_order_limit_and_columns_are_the_same(
    things: Path, form: str, more: tuple[str, ...]
) -> None:
    query = THINGS_QUERIES[0]
    common = ("query", query, "--project", str(things), "--format", form, *more)
    forward = run(*common, "--engine", "forward", "--check", "off")
    reference = run(*common, "--engine", "reference")
    assert as_proved(forward.out) == reference.out


def test_a_closed_set_of_answers_stays_in_the_database(thing_session: Session) -> None:
    answers = thing_session.query("reach(?a, ?b)", engine="forward", check="off")
    rows = answers.sure
    assert isinstance(rows, StoredRows)
    everything = list(rows)
    assert everything == sorted(everything)
    assert [rows[0], rows[-1], *rows[2:4]] == [everything[0], everything[-1], *everything[2:4]]
    assert list(rows[3:][1:2]) == everything[4:5]
    assert len(rows[5:2]) == 0
    with pytest.raises(IndexError):
        rows[len(everything)]
    assert answers.count(Computed.CERTAIN) == len(answers) == len(everything)


def test_answers_outlive_the_session(things: Path) -> None:
    with Session(things) as session:
        answers = session.query("reach(?a, ?b)", engine="forward")
        expected = session.query("reach(?a, ?b)", engine="reference")
    assert [row.values for row in answers] == [row.values for row in expected]


@pytest.mark.parametrize("name", ["dear", "price"])
def test_a_constant_that_no_column_holds_has_no_answer(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path / "project", THINGS[:1])
    rules = project / "rules.dl"
    stated = ".decl dear(d: Decimal)\ndear(1.5).\n.decl price(d: Decimal)\nprice(?d) :- dear(?d).\n"
    rules.write_text(rules.read_text(encoding="utf-8") + stated, encoding="utf-8")
    query = f"{name}(0.0000000000001)"
    with Session(project) as session:
        answers = session.query(query, engine="forward")
        assert told(answers) == told(session.query(query, engine="reference"))
        assert not list(answers)


def test_calls_of_an_open_query_are_those_that_went_outside(still_shop: Path) -> None:
    with Session(still_shop) as session:
        answers = session.query("may_leave(?c)", engine="forward")
        assert answers.settled is not Settled.FOR_CERTAIN
        asked = [call.demand.predicate.name for call in answers.calls]
        assert asked
        assert set(asked) <= set(session.externals)
        assert [call.number for call in answers.calls] == list(range(1, len(asked) + 1))


def test_rows_that_cannot_be_handed_out_leave_nothing_behind(
    things: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise StrategyError("no rows")

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(bulk, "_stored", fails)
    with Session(things) as session, pytest.raises(StrategyError):
        session.query("reach(?a, ?b)", engine="forward")
    assert list(scratch.iterdir()) == []


def test_data_frames_are_the_same(thing_session: Session) -> None:
    query = THINGS_QUERIES[0]
    forward = thing_session.query(query, engine="forward", check="off").to_pandas()
    reference = thing_session.query(query, engine="reference").to_pandas()
    assert set(forward["verdict"]) == {"COMPUTED"}
    assert forward.assign(verdict=reference["verdict"]).equals(reference)
    assert list(forward.dtypes) == list(reference.dtypes)


@pytest.mark.parametrize("query", THINGS_QUERIES)
def test_what_is_too_much_is_computed_in_bulk(
    thing_session: Session, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = told(thing_session.query(query))
    monkeypatch.setattr(querying, "MANY", 1)
    answers = thing_session.query(query)
    assert told(answers) == expected


def test_a_large_source_is_never_tried_row_by_row(
    thing_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not isinstance(thing_session.query("reach(?a, ?b)").sure, StoredRows)
    monkeypatch.setattr(querying, "MANY", 3)
    assert isinstance(thing_session.query("reach(?a, ?b)").sure, StoredRows)


def test_confidences_are_found_by_the_reference_engine(thing_session: Session) -> None:
    answers = thing_session.query("reach(?a, ?b)", confidence=True, engine="auto")
    assert {row.confidence for row in answers} == {1}


def test_forward_and_confidences_do_not_go_together(things: Path) -> None:
    ran = run(
        *("query", "reach(?a, ?b)", "--project", str(things)),
        *("--engine", "forward", "--confidence"),
    )
    assert ran.code == 2
    assert "C0432" in ran.err


def test_one_row_is_explained_as_prove_explains_it(things: Path) -> None:
    where = ("--project", str(things))
    explained = run("query", "reach(?a, ?b)", "--explain-row", "a, d", *where)
    proved = run("prove", "reach(a, d)", *where)
    assert explained.code == proved.code == 0
    # Each was read at its own moment.
    assert WHEN.sub("", explained.out) == WHEN.sub("", proved.out)


def test_a_row_that_is_no_answer_is_disproved(things: Path) -> None:
    where = ("--project", str(things), "--format", "json")
    ran = run("query", "reach(?a, ?b), pair(?b, ?a)", "--explain-row", "d, a", *where)
    assert ran.code == 5
    assert [one["goal"] for one in ran.json["proofs"]] == ["reach(d, a)", "pair(a, d)"]
    assert ran.json["verdict"] == "DISPROVED"


@pytest.mark.parametrize("row", ["a", "a, b, c", "", "a, ?x", "a b"])
def test_a_row_that_cannot_be_read_is_a_mistake(things: Path, row: str) -> None:
    ran = run("query", "reach(?a, ?b)", "--explain-row", row, "--project", str(things))
    assert ran.code == 2
    assert "C0665" in ran.err


def test_a_small_query_loads_nothing_of_the_forward_engine(things: Path) -> None:
    script = (
        "import sys\n"
        "from constat.cli import main\n"
        "assert main(['query', 'reach(a, ?b)', '--project', sys.argv[1]]) == 0\n"
        "heavy = ('numpy', 'duckdb', 'pandas', 'constat.sql', 'constat.forward')\n"
        "sys.exit(', '.join(one for one in heavy if one in sys.modules) or 0)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(things)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
