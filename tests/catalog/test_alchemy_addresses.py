"""Addresses of sources that SQLAlchemy reaches, and how questions are handed to their drivers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.catalog import Question, guard
from constat.catalog.connection import QueryMistakeError
from constat.catalog.drivers import target
from constat.catalog.server_reading import driver_text
from constat.diagnostics import ConstatError
from constat.project import Database, Expanded


def database(uri: str) -> Database:
    return Database("sales", "sql", Expanded(uri))


@pytest.mark.parametrize(
    ("uri", "sql", "driver"),
    [
        ("postgresql://u:p@h/d", "postgres", "psycopg"),
        ("postgresql+psycopg://u:p@h/d", "postgres", "psycopg"),
        ("mysql://u:p@h/d", "mysql", "pymysql"),
        ("mariadb://u:p@h/d", "mysql", "pymysql"),
        ("sqlite+pysqlite:////srv/x.sqlite", "sqlite", "pysqlite"),
    ],
)
def test_an_address_names_its_driver_and_its_sql(uri: str, sql: str, driver: str) -> None:
    found = target(database(uri))
    assert (found.sql, found.dialect.driver) == (sql, driver)
    assert "p@h" not in repr(found)


def test_an_unknown_name_gives_the_known_ones() -> None:
    with pytest.raises(ConstatError, match="C0512") as caught:
        target(database("postgres://bob:hunter2@h/d"))
    assert "mariadb, mssql, mysql, oracle, postgresql" in caught.value.diagnostics[0].help


@pytest.mark.parametrize("backend", ["mssql", "oracle", "snowflake", "trino"])
def test_a_dialect_whose_driver_is_missing_says_so(backend: str) -> None:
    with pytest.raises(ConstatError, match="C0552") as caught:
        target(database(f"{backend}://bob:hunter2@h/d"))
    assert backend in str(caught.value)
    assert "hunter2" not in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_is_shown_whatever_is_wrong_with_it(text: str) -> None:
    uri = f"{text}canary:hunter2@h"
    with pytest.raises(ConstatError) as caught:
        target(database(uri))
    assert "hunter2" not in f"{caught.value} {caught.value.diagnostics!r}"


TEXTS = st.text(alphabet="%?:s(){}a'\\$1 \n", max_size=40)


@given(TEXTS, st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_drivers_that_format_see_the_text_as_it_is(text: str, values: list[int]) -> None:
    marks = ", ".join("?" * len(values))
    question = Question(f"WITH q AS ({text}) SELECT c0 FROM q WHERE c0 IN ({marks})", tuple(values))
    written, parameters = driver_text(question, "format")
    assert parameters == tuple(values)
    shown = ", ".join(map(str, values))
    assert written % tuple(values) == f"WITH q AS ({text}) SELECT c0 FROM q WHERE c0 IN ({shown})"
    assert driver_text(question, "qmark") == (question.text, tuple(values))
    assert driver_text(Question(text), "format") == (text, None)
    with pytest.raises(ValueError, match="named"):
        driver_text(question, "named")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT /*!50000 SLEEP(1), */ a FROM t",
        "SELECT /*m!100000 SLEEP(1), */ a FROM t",
        "SELECT /*+ SET_VAR(max_execution_time = 0) */ a FROM t",
        "SELECT 1 --1",
        "SELECT 1 ---1, a FROM t",
        "SELECT 1 --\u00a01, a FROM t",
        # Beside names in which the same signs are no comment.
        "SELECT `a--b` --1 FROM t",
        "SELECT `/*!` /*!50000 , SLEEP(1) */ FROM t",
        "SELECT '`' --1, '`' FROM t",
        "SELECT a --1`b` FROM t",
        "SELECT a /*!`*/ , SLEEP(1) /*`*/ FROM t",
    ],
)
def test_mysql_does_not_run_what_the_guard_takes_for_a_comment(query: str) -> None:
    with pytest.raises(QueryMistakeError):
        guard(query, "mysql")


def test_comments_that_are_comments_may_stand() -> None:
    for query in ("SELECT a FROM t -- x", "SELECT a FROM t --", "SELECT /* x */ a FROM t # y"):
        guard(query, "mysql")


def test_what_begins_a_comment_may_stand_in_a_name() -> None:
    found = guard("SELECT `a--b`, `/*!50000 x`, `*/`, `--``c` FROM `t;--`", "mysql")
    assert [one.column for one in found.outputs or () if one] == [
        "a--b",
        "/*!50000 x",
        "*/",
        "--`c",
    ]
    assert found.tables == {"t;--"}


def test_a_project_of_files_does_not_load_sqlalchemy(tmp_path: Path) -> None:
    import sqlite3

    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.executescript("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x')")
    connection.close()
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {sales: {uri: 'sqlite:///shop.sqlite'}}\n"
    )
    (tmp_path / "r.dl").write_text(
        '.decl t(a: symbol)\n.input t(source="sales", query="SELECT a FROM t")\n'
    )
    program = (
        "import sys; from constat.__main__ import main\n"
        f"sys.argv = ['constat', 'prove', 't(x)', '--project', {str(tmp_path)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'sqlalchemy', 'psycopg', 'pymysql'} & set(sys.modules)))\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "PROVED: t(x)" in outcome.stdout, outcome
    assert outcome.stdout.splitlines()[-1] == "[]"


def test_the_drivers_that_the_tests_need_are_installed() -> None:
    assert all(importlib.util.find_spec(name) for name in ("psycopg", "pymysql"))
