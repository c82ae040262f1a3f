"""`constat run`, `query` and `explain-plan` with `--engine spark`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from tests.cli.running import run
from tests.run.places import Place, codes

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
.pragma "constat" "0.1"
.decl edge(a: number, b: number)
.input edge
.decl label(a: number, name: symbol)
.input label
.decl path(a: number, b: number)
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
.output path
.decl named(name: symbol, n: number)
named(?t, ?n) :- label(?a, ?t), ?n = count : { path(?a, _) }.
.output named
"""
CONFIG = """
project: orders
rules: [rules.dl]
databases:
  shop: {{files: {{orders: orders.parquet}}}}
engines:
  spark: {{remote: "{remote}"{more}}}
"""
RULES = """
.decl order(id: number, customer: symbol, amount: number)
.input order(source="shop", query="SELECT id, customer, amount FROM orders")
.decl total(customer: symbol, amount: number)
total(?c, ?t) :- order(_, ?c, _), ?t = sum ?a : { order(_, ?c, ?a) }.
.decl large(customer: symbol)
large(?c) :- total(?c, ?t), ?t > 100.
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    found.fact("edge.facts", "1\t2\n2\t3\n3\t4\n3\t4\n4\t2\n")
    found.fact("label.facts", "1\tone's\n9\t\n3\tdrei é\n")
    return found


def project(folder: Path, remote: str, more: str = "") -> Path:
    import duckdb

    with duckdb.connect() as database:
        database.execute(
            "COPY (SELECT CAST(i AS BIGINT) AS id, 'c' || (i % 7) AS customer, "
            "CAST(i % 30 AS INTEGER) AS amount FROM range(100) t(i)) "
            f"TO '{folder}/orders.parquet' (FORMAT parquet)"
        )
    (folder / "constat.yaml").write_text(CONFIG.format(remote=remote, more=more))
    (folder / "rules.dl").write_text(RULES)
    return folder


def test_a_program_has_the_results_of_the_forward_engine(place: Place, spark_server: str) -> None:
    here = place.run(PROGRAM, engine="forward")
    wanted = place.results()
    there = place.run(PROGRAM, "--remote", spark_server, engine="spark")
    assert (here.code, there.code) == (0, 0), there.err
    assert place.results() == wanted
    assert "drei é\t3" in wanted["named.csv"]


def test_files_that_the_server_reads_in_another_way_are_read_here(
    place: Place, spark_server: str
) -> None:
    place.fact("edge.facts", "1\t2\n0x2\t3\n+3\t4\r\n")
    there = place.run(PROGRAM, "--remote", spark_server, engine="spark")
    if there.code == 0:
        found = place.results()
        place.run(PROGRAM, engine="forward")
        assert found == place.results()
    else:
        assert codes(there) == codes(place.run(PROGRAM, engine="forward"))


def test_a_damaged_line_is_named(place: Place, spark_server: str) -> None:
    place.fact("edge.facts", "1\t2\ntwo\t3\n")
    there = place.run(PROGRAM, "--remote", spark_server, engine="spark")
    assert codes(there) == ["C0600"]
    assert "edge.facts:2" in there.err


def test_results_are_counted_again_from_the_rules(place: Place, spark_server: str) -> None:
    there = place.run(PROGRAM, "--remote", spark_server, "--check", "always", engine="spark")
    assert there.code == 0
    assert there.err.count("it is the same") == 2


def test_results_stay_where_they_were_computed(place: Place, spark_server: str) -> None:
    import duckdb

    folder = place.folder / "there"
    there = place.run(PROGRAM, "--remote", spark_server, "--parquet", str(folder), engine="spark")
    assert there.code == 0, there.err
    assert place.results() == {}
    with duckdb.connect() as database:
        query = f"SELECT a, b FROM '{folder}/path/*.parquet' ORDER BY ALL"
        found = database.execute(query).fetchall()
    assert found == [(1, 2), (1, 3), (1, 4)] + [(a, b) for a in (2, 3, 4) for b in (2, 3, 4)]
    again = place.run(PROGRAM, "--remote", spark_server, "--parquet", str(folder), engine="spark")
    assert codes(again) == ["C0607"]


@pytest.mark.parametrize(
    "options", [(), ("--parquet", "x", "--remote", "sc://x", "--check", "always")]
)
def test_options_that_do_not_go_together_are_refused(
    place: Place, options: tuple[str, ...], spark_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert place.run(PROGRAM, *options, engine="spark").code == 2
    assert place.run(PROGRAM, "--parquet", "x", engine="forward").code == 2


@pytest.mark.parametrize("in_place", [False, True])
def test_a_query_of_a_project_has_rows_that_are_proved_and_checked(
    tmp_path: Path,
    spark_server: str,
    in_place: bool,  # noqa: FBT001  a parameter
) -> None:
    more = f', tables: {{order: "{tmp_path}/orders.parquet"}}' if in_place else ""
    folder = project(tmp_path, spark_server, more)
    with Session(folder) as session:
        here = session.query("total(?c, ?t), ?t > 100", engine="forward", check="off")
        there = session.query("total(?c, ?t), ?t > 100", engine="spark", check="always")
        assert [row.values for row in there.rows] == [row.values for row in here.rows]
        assert len(there) > 0
        assert {row.verdict.label for row in there.rows} == {"PROVED"}
        # A single row is proved from the sources, as any other.
        proved = session.prove(there.rows[0].goals[0])
        assert proved.verdict.value == "PROVED"
        sampled = session.query("large(?c)", engine="spark", check=2)
        assert sampled.check is not None
        assert len(sampled.check.proved) == 2


def test_a_table_that_does_not_hold_the_rows_of_the_source_is_found_by_the_check(
    tmp_path: Path, spark_server: str
) -> None:
    import duckdb

    folder = project(tmp_path, spark_server, f', tables: {{order: "{tmp_path}/other.parquet"}}')
    with duckdb.connect() as database:
        database.execute(
            "COPY (SELECT CAST(1 AS BIGINT) AS id, 'c1' AS customer, 500 AS amount) "
            f"TO '{folder}/other.parquet' (FORMAT parquet)"
        )
    with Session(folder) as session:
        found = session.query("large(?c)", engine="spark", check="always")
        assert found.exit_code == 7
        assert len(found) == 0


COLUMNS = [
    ("SELECT 1.5 AS id, 'a' AS customer, 1 AS amount", "C0683", "no plain"),
    ("SELECT 1 AS id, 'a' AS customer", "C0683", "no column `amount`"),
    ("SELECT CAST(NULL AS BIGINT) AS id, 'a' AS customer, 1 AS amount", "C0682", "null"),
]


@pytest.mark.parametrize(("query", "code", "message"), COLUMNS)
def test_a_table_with_other_columns_is_refused(
    query: str, code: str, message: str, tmp_path: Path, spark_server: str
) -> None:
    import duckdb

    folder = project(tmp_path, spark_server, f', tables: {{order: "{tmp_path}/other.parquet"}}')
    with duckdb.connect() as database:
        database.execute(f"COPY ({query}) TO '{folder}/other.parquet' (FORMAT parquet)")
    with Session(folder) as session, pytest.raises(ConstatError, match=message) as refused:
        session.query("large(?c)", engine="spark", check="off")
    assert refused.value.diagnostics[0].code == code


def test_a_project_without_spark_is_told_what_to_write(tmp_path: Path) -> None:
    folder = project(tmp_path, "sc://127.0.0.1:1")
    text = (folder / "constat.yaml").read_text().partition("engines:")[0]
    (folder / "constat.yaml").write_text(text)
    asked = run("query", "large(?c)", "--engine", "spark", "--project", str(folder))
    assert asked.code == 2
    assert "C0680" in asked.err
    assert "engines: {spark:" in asked.err
    # Nobody else chooses it.
    assert run("query", "large(?c)", "--project", str(folder), "--check", "off").code == 0


def test_a_plan_shows_what_spark_runs_and_refuses(place: Place) -> None:
    path = place.folder / "program.dl"
    path.write_text(PROGRAM)
    shown = run("explain-plan", path, "-F", str(place.folder / "facts"), "--engine", "spark")
    assert shown.code == 0
    assert "spark doubling: the paths over edge" in shown.out
    assert "each round, rows of path by path.2: SELECT" in shown.out
    path.write_text(PROGRAM.replace("label(?a, ?t),", 'label(?a, ?t), match("o.*", ?t),'))
    refused = run("explain-plan", path, "-F", str(place.folder / "facts"), "--engine", "spark")
    assert "refuses named.1: Spark has no exact form of match" in refused.out
    as_json = run("explain-plan", path, "--engine", "spark", "--format", "json")
    assert as_json.code == 2


def test_a_plan_that_was_run_says_how(place: Place, spark_server: str) -> None:
    path = place.folder / "program.dl"
    path.write_text(PROGRAM)
    facts = ("-F", str(place.folder / "facts"))
    shown = run(
        "explain-plan", path, *facts, "--engine", "spark", "--analyze", "--remote", spark_server
    )
    assert "counted 12 rows in 2 rounds" in shown.out, shown.out
    as_json = run(
        "run",
        path,
        *facts,
        "-D-",
        "--engine",
        "spark",
        "--remote",
        spark_server,
        "--format",
        "json",
    )
    assert json.loads(as_json.out)["engine"] == "spark"
