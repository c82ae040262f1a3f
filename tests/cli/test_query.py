"""`constat query`: formats, choices, files, streams, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import nanoarrow
import pytest

from tests.cli.running import Ran, run, run_process
from tests.cli.test_shell import on_terminal
from tests.session.querying import THINGS, make_project

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = "thing(?name, ?n, ?u, ?f, ?d, ?day, ?at, ?ok)"


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("things") / "project")


def query(project: Path, *arguments: str | Path) -> Ran:
    return run("query", *arguments, "--project", project)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    ("goal", "code", "words"),
    [
        ("is_vip(?c)", 0, "42 answers, all proved. There are no others."),
        ("is_vip(?c), ?c > H", 0, "No answers. There is none."),
        ("may_leave(?c)", 3, "1 answer, proved under assumptions. Under the assumptions below"),
        ("gets_partner_price(?c)", 3, "2 answers, all proved. Under the assumptions below"),
        ("is_strategic(?c)", 4, "No answers. There may be more answers."),
        ("is_regular(?c)", 4, "There are no others, but not all of these are decided."),
        ("is_vip(C001)", 0, "PROVED: is_vip(C001)"),
        ("is_vip(C002)", 0, "DISPROVED: is_vip(C002)"),
        ("may_leave(C005)", 3, "PROVED UNDER assumptions: may_leave(C005)"),
        ("gets_partner_price(C003)", 3, "DISPROVED UNDER assumptions: "),
        ("is_strategic(C009)", 4, "UNRESOLVED: is_strategic(C009)"),
    ],
)
def test_the_exit_code_says_whether_the_answers_are_settled(
    still_shop: Path, goal: str, code: int, words: str
) -> None:
    ran = query(still_shop, goal)
    assert (ran.code, ran.err) == (code, "")
    assert words in ran.out
    assert query(still_shop, goal, "--format", "json").code == code


def test_an_open_set_says_what_to_ask_for(still_shop: Path) -> None:
    out = query(still_shop, "is_strategic(?c)").out
    assert "not known:\n  contract_value: nothing tells all facts of contract_value" in out
    assert "ask for it, or state a fact: contract_value(?customer, ?amount)" in out
    assert run("prove", "contract_value(?customer, ?amount)", "--project", still_shop).code == 4


def test_a_table_is_aligned_with_numbers_to_the_right(still_shop: Path) -> None:
    ran = query(
        still_shop, "customer_revenue(?c, ?total), ?total >= 150000", "--order", "total:desc"
    )
    assert ran.out.splitlines()[:5] == [
        "c         total",
        "C004     250000",
        "C500  197574.53",
        "C575  171992.05",
        "C001     150000",
    ]


def test_verdicts_are_a_column_where_they_differ(still_shop: Path) -> None:
    out = query(still_shop, "may_leave(?c)", "--confidence").out
    assert out.splitlines()[:2] == [
        "c     verdict         confidence",
        "C005  PROVED UNDER 1           1",
    ]
    assert "  1. rule DRAFT1 holds, which is only proposed" in out


def cells(things: Path, *more: str) -> list[list[str]]:
    ran = query(things, EVERYTHING, "--format", "csv", *more)
    assert "\r\n" in ran.out
    return list(csv.reader(io.StringIO(ran.out, newline="")))


def test_csv_keeps_every_value(things: Path) -> None:
    head, *rows = cells(things)
    assert head == ["name", "n", "u", "f", "d", "day", "at", "ok", "verdict", "assumptions"]
    assert {row[0] for row in rows} == {thing[0] for thing in THINGS}
    by_name = {row[0]: row for row in rows}
    for name, n, u, f, d, day, _, ok in THINGS:
        row = by_name[name]
        assert (row[1], row[2], float(row[3])) == (str(n), u, f)
        assert (Decimal(row[4]), row[5], row[7]) == (Decimal(d), day, ok)
        assert row[8:] == ["PROVED", ""]
    assert by_name["plain"][6] == "2025-01-31T10:00:00.000001Z"


def test_csv_for_a_spreadsheet_has_no_formula(things: Path) -> None:
    names = {row[0] for row in cells(things, "--spreadsheet")}
    assert "'=cmd|' /C calc'!A0" in names
    assert not {name for name in names if name.startswith(("=", "+", "@"))}
    assert all(map(str.isprintable, names)), "no cell moves a cursor or hides what follows"
    # Numbers stay numbers, also below zero.
    assert str(-(2**63)) in {row[1] for row in cells(things, "--spreadsheet")}


def test_json_values_are_read_alike_by_every_reader(things: Path) -> None:
    told = query(things, EVERYTHING, "--format", "json").json
    by_name = {row["values"]["name"]: row["values"] for row in told["rows"]}
    assert set(by_name) == {thing[0] for thing in THINGS}
    assert by_name["big"]["n"] == str(2**63 - 1)
    assert by_name["plain"]["n"] == 2
    assert by_name["plain"]["d"] == "10.5"
    assert by_name["plain"]["ok"] is True
    assert by_name["big"]["f"] == -1e300
    assert by_name["low"]["f"] == 5e-324


def test_json_lines_are_the_rows_of_json(things: Path) -> None:
    ran = query(things, EVERYTHING, "--format", "jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert rows == query(things, EVERYTHING, "--format", "json").json["rows"]
    assert "7 answers, all proved" in ran.err


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_of_other_programs_have_exact_types(things: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"it's.{form}"
    goal = "thing(?name, ?n, ?u, ?f, ?d, ?day, ?at, ?ok), ?d > -1.0"
    ran = query(things, goal, "--format", form, "--output", file)
    assert (ran.code, ran.out) == (0, "")
    assert f"6 rows written to {file}" in ran.err
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = read_typed(connection, file)
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        assert types == {
            "name": "VARCHAR",
            "n": "BIGINT",
            "u": "UBIGINT",
            "f": "DOUBLE",
            "d": "DECIMAL(38,11)",
            "day": "DATE",
            "at": "TIMESTAMP WITH TIME ZONE",
            "ok": "BOOLEAN",
            "verdict": "VARCHAR",
            "assumptions": "VARCHAR[]",
        }
        found = relation.project(
            'name, n, u, f, CAST(d AS VARCHAR), CAST(day AS VARCHAR), epoch_us("at"), ok, verdict'
        ).fetchall()
    by_name = {row[0]: row for row in found}
    assert set(by_name) == {thing[0] for thing in THINGS} - {"low"}
    assert by_name["big"][1:5] == (2**63 - 1, 2**64 - 1, -1e300, "0.00000000001")
    assert by_name["plain"][5:8] == ("2025-01-31", 1_738_317_600_000_001, True)
    assert by_name["big"][5] == "0001-01-01"


def read_typed(connection: duckdb.DuckDBPyConnection, file: Path) -> duckdb.DuckDBPyRelation:
    if file.suffix == ".parquet":
        return connection.from_parquet(str(file))
    return connection.from_arrow(nanoarrow.ArrayStream.from_path(file))


@pytest.mark.faults
def test_an_arrow_stream_goes_through_a_pipe(things: Path, tmp_path: Path) -> None:
    file = tmp_path / "same.arrow"
    assert query(things, EVERYTHING, "--format", "arrow", "--output", file).code == 0
    command = [sys.executable, "-m", "constat", "query", EVERYTHING, "--format", "arrow"]
    command += ["--project", str(things)]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stdout == file.read_bytes()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as gone:
        assert gone.stdout is not None
        gone.stdout.close()
        assert gone.stderr is not None
        assert b"Traceback" not in gone.stderr.read()
    assert gone.returncode == 0


def test_parquet_rounds_nothing(things: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    wide = make_project(
        tmp_path / "wide",
        [
            (*THINGS[0][:4], "9" * 30, *THINGS[0][5:]),
            (*THINGS[1][:4], "0." + "1" * 30, *THINGS[1][5:]),
        ],
    )
    ran = query(wide, EVERYTHING, "--format", "parquet", "--output", file)
    assert ran.code == 2
    assert "error[C0433]" in ran.err
    assert not file.exists()
    assert query(wide, "thing(name = ?x)", "--format", "parquet", "--output", file).code == 0


def test_parquet_needs_a_file(things: Path) -> None:
    ran = query(things, EVERYTHING, "--format", "parquet")
    assert (ran.code, ran.out) == (2, "")
    assert "error[C0432]" in ran.err
    assert "error[C0432]" in query(things, EVERYTHING, "--spreadsheet").err


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_no_rows_are_a_file_with_columns(things: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"none.{form}"
    assert query(things, "pair(?x, zz)", "--format", form, "--output", file).code == 0
    with duckdb.connect() as connection:
        read = connection.read_csv(file) if form == "csv" else read_typed(connection, file)
        assert read.columns[:2] == ["x", "verdict"]


def test_rows_are_ordered_by_kind(things: Path) -> None:
    ran = query(things, "thing(name = ?x, n = ?n)", "--format", "csv", "--order", "n:desc,x")
    numbers = [int(row[1]) for row in csv.reader(io.StringIO(ran.out)) if row[1] != "n"]
    assert numbers == sorted(numbers, reverse=True)
    ran = query(things, "pair(?x, ?y)", "--format", "csv", "--order", "?y:desc, x:asc")
    assert [line[:3] for line in ran.out.splitlines()[1:]] == ["e,e", "c,d", "b,c", "a,b", "c,a"]


def test_a_limit_says_how_many_more_there_are(still_shop: Path) -> None:
    ran = query(still_shop, "is_vip(?c)", "--limit", "2")
    assert "C003\n\n42 answers, all proved" in ran.out
    assert "40 of them are not shown" in ran.out
    told = query(still_shop, "is_vip(?c)", "--limit", "2", "--format", "json").json
    assert (told["counts"]["shown"], told["counts"]["left_out"]) == (2, 40)
    assert len(told["rows"]) == 2
    nothing = query(still_shop, "is_vip(?c)", "--limit", "0", "--format", "json").json
    assert nothing["rows"] == []


def test_a_limit_says_which_rows_have_no_known_place(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n,b\n1,5\n2,\n3,7\n4,9\n5,\n")
    config = "databases: {t: {files: {t: t.csv}}}\nrules: t.dl\n"
    (tmp_path / "constat.yaml").write_text(config)
    text = """.decl t(n: number, @[null = unknown] b: number)
.input t(source = "t", query = "SELECT n, b FROM t")
"""
    (tmp_path / "t.dl").write_text(text)
    ran = query(tmp_path, "t(?n, ?b)", "--order", "b:desc", "--limit", "2")
    assert "2 rows of those may belong further up" in ran.out
    told = query(tmp_path, "t(?n, ?b)", "--order", "b", "--limit", "4", "--format", "json").json
    assert (told["counts"]["left_out"], told["counts"]["unplaced"]) == (1, 1)
    plain = query(tmp_path, "t(?n, ?b)", "--order", "n", "--limit", "2")
    assert "further up" not in plain.out


def test_columns_and_verdicts_are_chosen(things: Path, still_shop: Path) -> None:
    ran = query(things, "pair(?x, ?y)", "--columns", "y,x", "--format", "csv", "--limit", "1")
    assert ran.out.splitlines() == ["y,x,verdict,assumptions", "b,a,PROVED,"]
    told = query(still_shop, "is_regular(?c)", "--verdict", "proved", "--format", "json").json
    assert (told["rows"], told["counts"]["unresolved"] > 100) == ([], True)
    both = ("--verdict", "proved", "--verdict", "unresolved")
    told = query(still_shop, "is_regular(?c)", *both, "--format", "json").json
    assert told["counts"]["shown"] == told["counts"]["unresolved"]


@pytest.mark.parametrize("option", ["--order", "--columns"])
def test_a_column_that_is_not_there_names_the_nearest(things: Path, option: str) -> None:
    ran = query(things, "thing(name = ?label)", option, "lable")
    assert (ran.code, ran.out) == (2, "")
    assert "error[C0431]" in ran.err
    assert "write `label`" in ran.err
    assert query(things, "pair(?x, ?y)", "--order", "x:up").code == 2


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl", "parquet", "arrow"])
def test_a_file_is_written_whole_or_not_at_all(things: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / "out"
    file.write_text("old")
    assert query(things, EVERYTHING, "--format", form, "--output", file).code == 0
    assert file.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [file]
    missing = tmp_path / "no" / "out"
    ran = query(things, EVERYTHING, "--format", form, "--output", missing)
    assert ran.code == 2
    assert "C0402" in ran.err


def test_a_file_that_fails_on_the_way_stays_as_it_was(
    things: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out"
    file.write_text("old")

    def broken(*_: object, **__: object) -> object:
        yield "half"
        raise ZeroDivisionError

    monkeypatch.setattr("constat.cli.query.csv_pieces", broken)
    assert query(things, EVERYTHING, "--format", "csv", "--output", file).code == 70
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_table_in_a_file_holds_what_is_known_of_the_whole(
    still_shop: Path, tmp_path: Path
) -> None:
    file = tmp_path / "table.txt"
    ran = query(still_shop, "is_strategic(?c)", "--output", file)
    assert ran.code == 4
    assert "There may be more answers." in file.read_text()
    assert "0 rows written" in ran.err


def test_data_cannot_draw_in_a_table(things: Path) -> None:
    out = query(things, "thing(name = ?x)").out
    assert "\\u202e" in out or "\\x202e" in out
    assert "\u202e" not in out
    assert 'quote"comma,\\nline\\x0d\\tend' in out


def test_csv_is_utf8_in_any_locale(things: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "constat", "query", "thing(name = ?x)", "--format", "csv"],
        cwd=things,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=True,
    )
    assert "日本語 ü" in ran.stdout.decode()


@pytest.mark.faults
def test_a_reader_that_stops_early_changes_nothing(still_shop: Path) -> None:
    for form in ("table", "csv", "json", "jsonl"):
        command = f"{sys.executable} -m constat query 'is_regular(?c)' --format {form} | head -n 1"
        ran = subprocess.run(
            ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
            cwd=still_shop,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 4, form
        assert len(ran.stdout.splitlines()) == 1
        assert "Traceback" not in ran.stderr
        assert "roken" not in ran.stderr


def test_a_terminal_gets_a_table_that_fits(things: Path) -> None:
    goal = ("query", EVERYTHING, "--project", str(things))
    shown = on_terminal(*goal, COLUMNS="60")
    lines = shown.replace("\r", "").splitlines()
    assert "\x1b[1m" in lines[0]
    assert "…" in shown
    assert "cut to fit:" in shown
    assert all(len(line) <= 60 for line in lines[1:8])
    # Progress, which a busy machine shows, is taken back without a colour.
    assert not re.search(r"\x1b\[[\d;]*m", on_terminal(*goal, COLUMNS="60", NO_COLOR="1"))
    piped = run(*goal).out
    assert "…" not in piped
    assert str(2**63 - 1) in piped


def test_calls_are_traced_beside_the_rows(things: Path) -> None:
    ran = query(things, "pair(?x, ?y)", "--format", "csv", "--trace-calls")
    assert "1. pair by everything: 1 key, 5 rows" in ran.err
    assert "pair by" not in ran.out


def test_a_mistake_in_a_query_shows_its_place(things: Path) -> None:
    ran = query(things, "pair(?x, ?y), pear(?y, ?z)")
    assert (ran.code, ran.out) == (2, "")
    assert "1 | pair(?x, ?y), pear(?y, ?z)\n  |               ^^^^" in ran.err


def test_a_stated_fact_is_an_answer_under_an_assumption(shop: Path) -> None:
    assert (
        run("facts", "add", "contract_value(C009, 250000)", "--by", "alice", "--project", shop).code
        == 0
    )
    told = query(shop, "is_strategic(?c)", "--format", "json").json
    assert [(row["values"], row["verdict"]) for row in told["rows"]] == [
        ({"c": "C009"}, "PROVED_UNDER")
    ]
    assert told["status"] == "OPEN"
    assert "alice" in told["rows"][0]["assumptions"][0]


def test_a_limit_of_the_project_leaves_the_answers_open(shop: Path) -> None:
    config = shop / "constat.yaml"
    config.write_text(config.read_text() + "\nlimits:\n  rows: 50\n")
    told = query(shop, "customer_revenue(?c, ?r)", "--format", "json")
    assert told.code == 4
    assert told.json["open"]["stopped"]
    assert told.json["open"]["reasons"][-1]["reason"] == told.json["open"]["stopped"]
    assert "There may be more answers." in query(shop, "customer_revenue(?c, ?r)").out


@pytest.mark.slow
def test_a_million_rows_need_no_gigabytes(tmp_path: Path) -> None:
    rows = [(f"C{i:07d}", i, "1", 1.0, "1.5", "2024-02-29", "2024-02-29T00:00:00Z", "true")
            for i in range(1_000_000)]  # fmt: skip
    project = make_project(tmp_path / "big", rows)
    program = (
        "import resource, sys; from constat.cli import main; code = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    goal = ["query", "thing(name = ?x, n = ?n)", "--format", "csv", "--project", str(project)]
    ran = subprocess.run(
        [sys.executable, "-c", program, *goal], capture_output=True, text=True, check=True
    )
    assert ran.stdout.count("\n") == 1_000_001
    # The rows themselves are in memory; their text is not.
    assert int(ran.stderr.splitlines()[-1]) < 1_500_000


def test_help_of_query_is_shown_by_help(things: Path) -> None:
    assert run_process("help", "query", cwd=things).out.startswith("Usage: constat query ")


@pytest.mark.parametrize("goal", ["reach(?x, ?x)", "pair(?x, ?y), !pair(?y, _)", "pair(c, d)"])
def test_another_engine_finds_the_same_rows(things: Path, goal: str) -> None:
    ours = query(things, goal, "--format", "json").json
    other = query(things, goal, "--engine", "pydatalog", "--format", "json")
    assert (other.code, other.json["reason"]) == (0, "")
    assert other.json["rows"] == [row["values"] for row in ours["rows"]]
    assert other.json["columns"] == ours["columns"]


def test_rows_of_another_engine_have_no_verdict(things: Path) -> None:
    ran = query(things, "pair(?x, ?y)", "--engine", "pydatalog")
    assert ran.out.splitlines()[0] == "x  y"
    assert ran.out.splitlines()[-1] == "5 rows by pyDatalog, without proofs"
    assert "PROVED" not in ran.out
    ran = query(things, "pair(?x, ?y)", "--engine", "pydatalog", "--format", "csv")
    assert ran.out.splitlines()[:2] == ["x,y", "a,b"]


@pytest.mark.parametrize(
    "more", [("--format", "parquet"), ("--confidence",), ("--limit", "3"), ("--verdict", "proved")]
)
def test_another_engine_takes_no_option_about_verdicts(things: Path, more: tuple[str, ...]) -> None:
    ran = query(things, "pair(?x, ?y)", "--engine", "pydatalog", *more)
    assert (ran.code, ran.out) == (2, "")


def test_another_engine_gives_no_answer_about_open_facts(still_shop: Path) -> None:
    ran = query(still_shop, "is_strategic(?c)", "--engine", "pydatalog")
    assert ran.code == 4
    assert "C042" in ran.err


@pytest.fixture(scope="module")
def shares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shares")
    config = "rules: t.dl\nfacts:\n  part: [[a, 10, 0], [b, 10, 5], [c, 7, 0]]\n  blocked: []\n"
    (folder / "constat.yaml").write_text(config + "closed: {part: x}\n")
    text = """.decl part(who: symbol, total: number, parts: number)
.input part(source = "config")
.decl blocked(who: symbol)
.decl share(who: symbol, amount: number)
@[floor]
share(?w, ?a) :- part(?w, ?t, ?p), ?a = ?t / ?p.
.decl large()
@[floor]
large() :- part(_, ?t, ?p), ?a = ?t / ?p, ?a > 1.
.decl free(who: symbol)
free(?w) :- part(?w, _, _), !blocked(?w).
"""
    (folder / "t.dl").write_text(text)
    return folder


def test_every_instance_that_errs_is_named_where_it_may_decide(shares: Path) -> None:
    told = query(shares, "share(?w, ?a)").out
    assert "division by zero (2 times)" in told
    assert [one for one in told.splitlines() if one.startswith("    with ")] == [
        "    with ?w = a, ?t = 10, ?p = 0",
        "    with ?w = c, ?t = 7, ?p = 0",
    ]
    assert "could not be evaluated" in run("prove", "share(a, 2)", "--project", shares).out
    # It holds whatever the others would have given.
    proved = run("prove", "large()", "--project", shares)
    assert proved.out.startswith("PROVED")
    assert "could not be evaluated" not in proved.out


def test_a_relation_without_a_source_comes_with_both_edits(shares: Path) -> None:
    for ran in (run("prove", "free(a)", "--project", shares), query(shares, "free(?w)")):
        assert "`closed: {blocked: WHO_SAYS_SO}` in constat.yaml" in ran.out
        assert "`.input blocked(...)`" in ran.out


def test_what_became_of_a_check_is_told_of_rows_that_are_proved_already(still_shop: Path) -> None:
    some = query(still_shop, "is_vip(?c)", "--check", "2")
    assert "42 answers, all proved." in some.out
    assert "checked: 2 of 42 rows have certificates that the checker accepts\n" in some.out
    assert "says nothing" not in some.out
    always = query(still_shop, "is_vip(?c)", "--check", "always")
    assert "not checked as a whole: it was proved goal by goal" in always.out
    found = query(still_shop, "is_vip(?c)", "--check", "always", "--format", "json").json
    assert found["recount"]["state"] == "not checked"
