"""Answers that hold what nobody knows: listed, counted as a range, and asked for by the rest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import pytest

from constat import Session, Verdict
from constat.cli.row_formats import Shown
from constat.cli.tables import summary
from constat.session import Settled
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

RULES = """
.pragma "constat" "0.1"
@[whole]
.decl o(id: number, region: symbol)
.input o(source="ok", query="SELECT id, region FROM o", null="{word}")
.decl region(r: symbol)
region(?r) :- o(_, ?r).
.decl known(id: number)
known(?i) :- o(?i, _).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text(
        'project: n\nrules: [r.dl]\ndatabases:\n  ok: {uri: "sqlite:///ok.sqlite"}\n'
    )
    database = sqlite3.connect(tmp_path / "ok.sqlite")
    database.execute("CREATE TABLE o(id INTEGER PRIMARY KEY, region TEXT)")
    cells = [(1, None), (2, None), (3, "EU"), (4, "EU")]
    database.executemany("INSERT INTO o VALUES (?, ?)", cells)
    database.commit()
    database.close()
    return tmp_path


def rules(folder: Path, word: str) -> Path:
    (folder / "r.dl").write_text(RULES.format(word=word))
    return folder


def test_rows_that_may_be_one_are_listed_and_counted_as_a_range(folder: Path) -> None:
    with Session(rules(folder, "unknown")) as session:
        answers = session.query("region(?r)")
        assert answers.rows[0].values == ("EU",)
        assert [str(row.values[0]) for row in answers.rows[1:]] == ["unknown", "unknown"]
        assert (answers.fewest, len(answers), answers.settled) == (1, 3, Settled.FOR_CERTAIN)
        assert "?" in answers.rows[1].goals[0]
        shown = Shown(answers, answers.rows, answers.columns, confidence=False)
        lines = list(summary(shown, 0))
    assert lines[0].startswith("1 to 3 answers, all proved.")
    assert "rows that differ only in what is unknown may be one row" in lines


@pytest.mark.parametrize("word", ["none", "maybe", "unknown"])
def test_a_column_that_nobody_reads_leaves_nothing_open(folder: Path, word: str) -> None:
    with Session(rules(folder, word)) as session:
        answers = session.query("known(?i)")
    assert [row.values for row in answers.rows] == [(1,), (2,), (3,), (4,)]
    assert (answers.settled, answers.fewest) == (Settled.FOR_CERTAIN, 4)


@pytest.mark.parametrize(
    ("word", "values", "shapes"),
    [("none", [(3, "EU"), (4, "EU")], 0), ("maybe", [(3, "EU"), (4, "EU")], 2)],
)
def test_a_row_is_no_answer_for_certain_where_what_is_read_may_be_missing(
    folder: Path, word: str, values: list[tuple[int, str]], shapes: int
) -> None:
    with Session(rules(folder, word)) as session:
        answers = session.query("o(?i, ?r)")
    assert [row.values for row in answers.rows] == values
    assert answers.open_shapes == shapes


def test_a_label_may_be_the_value_that_a_query_names(folder: Path) -> None:
    with Session(rules(folder, "unknown")) as session:
        answers = session.query('o(?i, "EU")')
    assert [row.values for row in answers.rows if row.verdict.value == "PROVED"] == [(3,), (4,)]
    assert answers.settled is Settled.OPEN


def test_rows_are_ordered_by_a_column_that_is_not_known_everywhere(folder: Path) -> None:
    with Session(rules(folder, "unknown")) as session:
        rows = session.query("region(?r)").rows
        for descending in (False, True):
            first, *others = rows.ordered("r", descending=descending)
            assert first.values == ("EU",)
            assert {str(one.values[0]) for one in others} == {"unknown"}


def test_what_nobody_knows_is_no_text_in_any_format(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "ok.sqlite")) as database:
        # A text that looks as an unknown value is written for people.
        database.execute("UPDATE o SET region = 'unknown' WHERE id = 3")
        database.commit()
    rules(folder, "unknown")
    queried = partial(run, "query", "region(?r)", "--project", folder, "--format")
    assert sorted(queried("csv").out.split()[1:]) == [
        ",PROVED,", ",PROVED,", "EU,PROVED,", "unknown,PROVED,",
    ]  # fmt: skip
    told = queried("json").json
    assert [row["values"]["r"] for row in told["rows"]] == ["EU", "unknown", None, None]
    assert (told["counts"]["proved"], told["counts"]["fewest"]) == (4, 2)
    assert queried("parquet", "--output", folder / "r.parquet").code == 0
    found = duckdb.read_parquet(str(folder / "r.parquet")).select("r").fetchall()
    assert found == [("EU",), ("unknown",), (None,), (None,)]
    with Session(folder) as session:
        answers = session.query("region(?r)")
        assert answers.to_pandas()["r"].isna().tolist() == [False, False, True, True]
        assert duckdb.from_arrow(answers.to_arrow()).fetchall()[2][0] is None


@pytest.mark.parametrize("word", ["none", "maybe", "unknown"])
def test_rows_with_null_cells_are_read_again(folder: Path, word: str) -> None:
    goals = ("known(1)", 'region("EU")', "o(1, _)", 'o(2, "EU")')
    with Session(rules(folder, word)) as session:
        shown = [session.prove(goal).certificate for goal in goals]
    with Session(folder) as reader:
        assert [reader.verify_source(one).drift for one in shown] == [()] * len(goals)
    with closing(sqlite3.connect(folder / "ok.sqlite")) as database:
        database.execute("UPDATE o SET region = 'US' WHERE id = 1")
        database.commit()
    with Session(folder) as reader:
        assert reader.verify_source(shown[0]).drift


def test_the_goal_of_a_row_reads_no_column_that_the_query_does_not_read(folder: Path) -> None:
    with Session(rules(folder, "none")) as session:
        for query in ("o(?id, _)", "o(id = ?id)"):
            (first, *_) = session.query(query).rows
            assert first.goals == ("o(1, _)",)
            assert session.prove(first.goals[0]).verdict is first.verdict is Verdict.PROVED


def test_why_not_of_a_wide_row_without_a_value_is_told(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(6)]
    with sqlite3.connect(tmp_path / "s.sqlite") as data:
        data.execute(f"CREATE TABLE t (id TEXT PRIMARY KEY, {', '.join(names)}, most REAL)")
        cells = ", ".join("NULL" for _ in names)
        data.execute(f"INSERT INTO t VALUES ('A', {cells}, 5), ('B', {cells}, NULL)")
    data.close()
    declared = ", ".join(f"@[null = none] {name}: float" for name in names)
    (tmp_path / "constat.yaml").write_text(
        'databases: {s: "sqlite:///s.sqlite"}\nrules: [r.dl]', encoding="utf-8"
    )
    (tmp_path / "r.dl").write_text(
        f"@[key = id]\n.decl t(id: symbol, {declared}, @[null = none] most: float)\n"
        f'.input t(source = "s", query = "SELECT id, {", ".join(names)}, most FROM t")\n'
        ".decl over(id: symbol, most: float)\n"
        ".decl total(id: symbol, of: float)\n"
        'total("A", 4.0).\ntotal("B", 6.0).\n'
        "over(?i, ?m) :- total(?i, ?t), t(id = ?i, most = ?m), ?t > ?m.\n",
        encoding="utf-8",
    )
    with Session(tmp_path) as session:
        for key in "AB":
            told = session.why_not(f"over({key}, ?m)")
            assert told.verdict is Verdict.DISPROVED
