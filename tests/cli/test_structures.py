"""Structures on their way out: every format writes them as rules do, and shells take them back."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import jsonschema
import pytest

from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

RULES = """\
.pragma "constat" "0.1"
.type Pair = [x: float, s: symbol]
.type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Zero {}
.decl term(id: number, e: Expr, p: Pair)
.input term(source = "sales", query = "SELECT id, e, p FROM terms")
.decl stated(e: Expr)
"""
MANY = 3_000
FIRST = {"id": 0, "e": "$Add($Number(0), $Zero)", "p": '[0.5, "a, \\"b\\" 0"]'}
ENGINES = ("reference", "forward")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("structures")
    (folder / "terms.dl").write_text(RULES)
    (folder / "constat.yaml").write_text(
        'project: p\nrules: [terms.dl]\ndatabases: {sales: {uri: "sqlite:///s.sqlite"}}\n'
    )
    with closing(sqlite3.connect(folder / "s.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE terms (id INTEGER, e TEXT, p TEXT)")
        connection.executemany(
            "INSERT INTO terms VALUES (?, ?, ?)",
            ((n, f"$Add($Number({n}),$Zero)", f'[0.5,"a, \\"b\\" {n}"]') for n in range(MANY)),
        )
    return folder


def asked(project: Path, *options: str) -> str:
    ran = run("query", "term(?id, ?e, ?p)", "--project", str(project), *options)
    assert ran.code == 0, ran.err
    return ran.out


@pytest.mark.laws
@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("engine", ENGINES)
def test_json_csv_and_tables_write_structures_as_rules_do(project: Path, engine: str) -> None:
    chosen = ("--engine", engine, "--format")
    found = json.loads(asked(project, *chosen, "json"))
    schema = run("schema", "query").json
    jsonschema.Draft202012Validator(schema).validate(found)
    assert [one["kind"] for one in found["columns"]] == ["number", "structure", "structure"]
    lines = [json.loads(line) for line in asked(project, *chosen, "jsonl").splitlines()]
    assert lines == found["rows"]
    assert lines[0]["values"] == FIRST
    rows = list(csv.DictReader(io.StringIO(asked(project, *chosen, "csv"))))
    assert len(rows) == MANY
    assert {name: rows[0][name] for name in FIRST} == {**FIRST, "id": "0"}
    last = '$Add($Number(2999), $Zero)  [0.5, "a, \\"b\\" 2999"]'
    assert last in asked(project, *chosen, "table")
    (goal,) = lines[0]["goals"]
    assert run("prove", goal, "--project", str(project)).code == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_typed_files_hold_texts(project: Path, tmp_path: Path, engine: str) -> None:
    import duckdb

    target = tmp_path / "terms.parquet"
    chosen = ("--engine", engine, "--format", "parquet", "--output", str(target))
    run("query", "term(?id, ?e, ?p)", "--project", str(project), *chosen)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT e, p FROM read_parquet(?) WHERE id = 0", [str(target)])
        assert found.fetchall() == [
            (FIRST["e"], '[0x1.0000000000000p-1, "a, \\"b\\" 0"]'),
        ]


def test_the_list_of_rules_names_types(project: Path) -> None:
    ran = run("rules", "list", "--project", str(project))
    assert "term(id: number, e: Expr (structure), p: Pair (structure))" in ran.out


@pytest.mark.parametrize(
    ("fact", "code"),
    [("stated($Add($Zero,$Number(3)))", 0), ("stated($Add($Zero))", 2), ("stated([1, a])", 2)],
)
def test_a_fact_from_a_shell_is_held_to_its_type(project: Path, fact: str, code: int) -> None:
    ran = run("facts", "add", fact, "--by", "ada", "--project", str(project))
    assert ran.code == code
    listed = run("facts", "list", "--project", str(project)).out
    assert ("stated($Add($Zero, $Number(3)))" in listed) or code


def test_a_supposed_fact_is_held_to_its_type(project: Path) -> None:
    what = ("what-if", "stated($Zero)", "--project", str(project), "--add")
    assert "PROVED" in run(*what, "stated($Zero())").out
    wrong = run(*what, "stated($Number(x))")
    assert (wrong.code, "C0186" in wrong.err) == (2, True)
