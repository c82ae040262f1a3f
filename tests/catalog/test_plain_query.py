"""Plain queries are recognised without a parser, and the guard says of each what a parser says."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from constat.catalog.connection import QueryMistakeError
from constat.catalog.guard import FUNCTION_NAMES, FUNCTION_NAMES_OF, Guarded, guard, parsed
from constat.catalog.keyed import Comparand, Push, keyed_query, whole_query
from constat.catalog.plain_query import recognised

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")
PLACES = (
    "SELECT {} FROM t",
    "SELECT a, {} FROM t",
    "SELECT {}, b FROM t",
    "SELECT a FROM {}",
    "SELECT a FROM {} WHERE b = 1",
    "SELECT a FROM t WHERE {} = 1",
    "SELECT a FROM t WHERE {} IS NOT NULL",
    "SELECT a FROM t WHERE b IS NULL AND {} <> 'x'",
)


def told(query: str, dialect: str) -> Guarded | str:
    try:
        return parsed(query, dialect)
    except QueryMistakeError as problem:
        return str(problem)


def words() -> Iterator[str]:
    """Every word that any of the dialects knows, as a word of its own or as a function."""
    yield from FUNCTION_NAMES
    for names in FUNCTION_NAMES_OF.values():
        yield from names
    for name in DIALECTS:
        dialect = Dialect.get_or_raise(name)
        for key in dialect.tokenizer_class.KEYWORDS:
            yield from re.findall(r"\w+", key)
        parser = dialect.parser_class
        yield from (one.name for one in parser.NO_PAREN_FUNCTIONS)
        yield from parser.FUNCTIONS
        yield from parser.NO_PAREN_FUNCTION_PARSERS
        yield from parser.FUNCTION_PARSERS


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_word_that_sql_knows_makes_a_difference(dialect: str) -> None:
    known = 0
    for word, place in product(sorted({one.lower() for one in words()}), PLACES):
        query = place.format(word)
        if recognised(query) is not None:
            known += 1
            assert told(query, dialect) == guard(query, dialect), query
    assert known > 1_000


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)
VALUES = st.from_regex(r"'[A-Za-z0-9 _./:-]{0,12}'|[0-9]{1,15}", fullmatch=True)
OPERATORS = ("=", "<", ">", "<=", ">=", "<>")
BLANKS = st.from_regex(r"[ \t\r\n]{1,3}", fullmatch=True)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query of a table, mostly a plain one."""
    blank = draw(BLANKS)
    text = f"{draw(st.sampled_from(['SELECT', 'select', 'SELECT DISTINCT']))}{blank}"
    text += f"{draw(BLANKS)}, ".join(draw(st.lists(NAMES, min_size=1, max_size=4)))
    text += f"{blank}FROM{blank}{draw(NAMES)}"
    conditions = [
        draw(
            st.one_of(
                st.builds("{} IS NULL".format, NAMES),
                st.builds("{} is  not null".format, NAMES),
                st.builds(
                    "{}{}{}".format,
                    NAMES,
                    st.sampled_from(["=", "<", ">", "<=", ">=", "<>"]),
                    VALUES,
                ),
            )
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    if conditions:
        text += f"{blank}WHERE " + f"{blank}{draw(st.sampled_from(['AND', 'or']))} ".join(
            conditions
        )
    return text + draw(st.sampled_from(["", " ", "\n", ";", " -- x", " LIMIT 1"]))


@settings(max_examples=200, deadline=None)
@given(queries(), st.sampled_from(DIALECTS))
def test_what_is_recognised_is_what_a_parser_finds(query: str, dialect: str) -> None:
    if recognised(query) is not None:
        assert guard(query, dialect) == told(query, dialect)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t; DROP TABLE t",
        "SELECT a b FROM t",
        "SELECT a FROM t u",
        "SELECT a.b FROM t",
        "SELECT a FROM main.t",
        "SELECT * FROM t",
        "SELECT DISTINCT a FROM t",
        "SELECT all, distinct FROM t",
        "SELECT current_date FROM t",
        "SELECT user FROM t",
        "SELECT f(a) FROM t",
        "SELECT a FROM t WHERE b = 'it''s'",
        "SELECT a FROM t WHERE b = $c",
        "SELECT a FROM t WHERE b = c",
        "SELECT a FROM t WHERE b = 1 OR c = 2",
        "SELECT a FROM t -- b",
        "SELECT a /* b */ FROM t",
        'SELECT "a" FROM t',
        "SELECT \u017felect FROM t",
        "SELECT a\u00a0FROM t",
        "SELECT _binary FROM t",
        "SELECT a FROM t WHERE and = 1",
        "",
    ],
)
def test_anything_else_is_left_to_the_parser(query: str) -> None:
    assert recognised(query) is None


def test_the_sql_of_keys_is_written_as_it_is_asked() -> None:
    guarded = guard("SELECT a, b FROM t", "sqlite")
    before = "WITH q(c0, c1) AS (\nSELECT a, b FROM t\n)\nSELECT c0, c1 FROM q"
    assert whole_query(guarded, 2) == before
    bare, number = Push(0, Comparand.BARE, True), Push(1, Comparand.AS_INTEGER, False)
    expected = {
        (True, (bare,)): "c0 = ? OR c0 IS NULL",
        (True, (number,)): "CAST(c1 AS INTEGER) = ?",
        (True, (bare, number)): "(c0 = ? AND CAST(c1 AS INTEGER) = ?) OR c0 IS NULL",
        (False, (bare,)): "c0 IN (SELECT value FROM json_each(?)) OR c0 IS NULL",
        (False, (number, bare)): (
            "(CAST(c1 AS INTEGER), c0) IN (SELECT json_extract(value, '$[0]'), "
            "json_extract(value, '$[1]') FROM json_each(?)) OR c0 IS NULL"
        ),
    }
    for (single, pushes), where in expected.items():
        assert keyed_query(guarded, 2, pushes, single=single) == f"{before} WHERE {where}"


def test_a_proof_over_plain_queries_loads_no_parser(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection, connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
    (tmp_path / "constat.yaml").write_text(
        "project: p\nrules: [r.dl]\ndatabases: {s: {uri: 'sqlite:///s.db'}}\n"
    )
    (tmp_path / "r.dl").write_text(
        '.decl e(a: number, b: number)\n.input e(source="s", query="SELECT a, b FROM t")\n'
        ".decl p(a: number)\np(?a) :- e(?a, ?b), ?b > ?a.\n"
    )
    program = (
        "import sys\nfrom constat.cli.entry import main\n"
        "code = main(['prove', 'p(1)', '-q', '--project', sys.argv[1]])\n"
        "sys.exit(90 if 'sqlglot' in sys.modules else code)"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
