"""Kept results: found by key, refused when anything they rest on has changed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session
from constat.logic import Kind
from constat.store.materialized import PASSED, KeptResult, MaterializedStore, ReplacedError
from tests.cli.running import run
from tests.session.querying import make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.logic import Row

pytestmark = pytest.mark.sampled(2)

QUERIES = (
    "reach(a, ?b)",
    "reach(?x, d)",
    "reach(a, d)",
    "reach(a, e)",
    "reach(?p, ?q)",
)


@pytest.fixture
def things(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def refused(session: Session, query: str) -> list[str]:
    with pytest.raises(ConstatError) as caught:
        session.materialized.query(query)
    return [one.code for one in caught.value.diagnostics]


def change(things: Path, statement: str) -> None:
    with closing(sqlite3.connect(things / "db.sqlite")) as connection, connection:
        connection.execute(statement)


def test_kept_rows_are_the_answers(things: Path) -> None:
    with Session(things) as session:
        kept = session.materialized.keep("reach")
        assert kept.result.rows == len(session.query("reach(?a, ?b)"))
        for query in QUERIES:
            found, expected = session.materialized.query(query), session.query(query)
            assert [row.values for row in found] == [row.values for row in expected]
            assert (found.settled, found.columns) == (expected.settled, expected.columns)
            assert found.calls == ()


def test_every_kind_of_value_comes_back(things: Path) -> None:
    query = "thing(?a, ?b, ?c, ?d, ?e, ?f, ?g, ?h)"
    with Session(things) as session:
        session.materialized.keep(query)
        expected = session.query(query)
        found = session.materialized.query(query)
        assert [row.values for row in found] == [row.values for row in expected]
        assert [[type(v) for v in row.values] for row in found] == [
            [type(v) for v in row.values] for row in expected
        ]
        for row in expected:
            goal = row.goals[0]
            assert len(session.materialized.query(goal)) == 1, goal


def test_a_conjunction_is_kept_under_its_own_words(things: Path) -> None:
    query = "reach(?a, ?b), !pair(?a, ?b)"
    with Session(things) as session:
        session.materialized.keep(query)
        found, expected = session.materialized.query(query), session.query(query)
        assert [row.values for row in found] == [row.values for row in expected]
        assert refused(session, "reach(?a, ?b)") == ["C0674"]


@pytest.mark.parametrize("query", ["pair(?a, ?b)", "reach(?a, ?b), ?a != b"])
def test_nothing_is_made_up_where_nothing_is_kept(things: Path, query: str) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
        assert refused(session, query) == ["C0674"]


def test_a_changed_source_makes_it_stale(things: Path) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
        change(things, "INSERT INTO pair VALUES ('x', 'y')")
        assert refused(session, "reach(x, ?y)") == ["C0673"]
        assert [bool(one.stale) for one in session.materialized.list()] == [True]
        session.materialized.keep("reach")
        assert len(session.materialized.query("reach(x, ?y)")) == 1
        assert [one.stale for one in session.materialized.list()] == [""]


def test_the_whole_relation_answers_where_only_an_older_result_of_the_query_is_stale(
    things: Path,
) -> None:
    with Session(things) as session:
        session.materialized.keep("reach(a, ?b)")
    change(things, "INSERT INTO pair VALUES ('a', 'zz')")
    with Session(things) as session:
        assert refused(session, "reach(a, ?b)") == ["C0673"]
        session.materialized.keep("reach")
        found = session.materialized.query("reach(a, ?b)")
        assert [row.values for row in found] == [
            row.values for row in session.query("reach(a, ?b)")
        ]


def test_a_stated_fact_makes_it_stale(things: Path) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
        session.facts.add("pair(x, y)", author="alice")
        assert refused(session, "reach(a, ?b)") == ["C0673"]


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("rules.dl", "reach(?a, ?b) :- pair(?a, ?b).", "reach(?b, ?a) :- pair(?a, ?b)."),
        ("rules.dl", "SELECT a, b FROM pair", "SELECT b, a FROM pair"),
        ("constat.yaml", "databases:", "facts:\n  pair:\n    - [p, q]\ndatabases:"),
    ],
)
def test_changed_rules_or_configuration_make_it_stale(
    things: Path, file: str, before: str, after: str
) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
    path = things / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with Session(things) as session:
        assert refused(session, "reach(a, ?b)") == ["C0673"]


def test_what_does_not_matter_leaves_it_as_it_is(things: Path) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
    path = things / "rules.dl"
    text = path.read_text(encoding="utf-8").replace(
        "listed(x: symbol)", "listed(x: symbol) // a comment\nlisted(?x) :- pair(?x, _)."
    )
    path.write_text(text, encoding="utf-8")
    with Session(things) as session:
        assert len(session.materialized.query("reach(a, ?b)"))


def test_open_answers_are_not_kept(things: Path) -> None:
    with Session(things) as session, pytest.raises(ConstatError, match="C0671"):
        session.materialized.keep("ratio")
    assert not list((things / ".constat").rglob("*.sqlite")) or not list(
        (things / ".constat" / "materialized").glob("*")
    )


@pytest.mark.parametrize(
    ("policy", "reads", "says"),
    [
        ("unknown", "?n", ""),
        ("maybe", "?n", "declare `@[null = none] n` in thing"),
        ("none", "?n", ""),
        ("maybe", "_", ""),
        ("unknown", "_", ""),
    ],
)
def test_answers_over_null_cells_are_kept_or_it_is_said_why_not(
    tmp_path: Path, policy: str, reads: str, says: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.execute("CREATE TABLE thing(i INTEGER, n TEXT, m TEXT)")
        base.executemany("INSERT INTO thing VALUES (?, ?, ?)", [(1, "x", "y"), (2, None, None)])
        base.commit()
    head = "i: number, n: symbol" if reads == "?n" else "i: number"
    (tmp_path / "r.dl").write_text(
        '.pragma "constat" "0.1"\n@[key = i]\n'
        f".decl thing(i: number, @[null = {policy}] n: symbol, @[null = maybe] m: symbol)\n"
        '.input thing(source = s, query = "SELECT i, n, m FROM thing")\n'
        f".decl named({head})\n"
        f"named({'?i, ?n' if reads == '?n' else '?i'}) :- thing(?i, {reads}, _).\n"
    )
    (tmp_path / "constat.yaml").write_text(
        'rules: [r.dl]\ndatabases: {s: {uri: "sqlite:///t.sqlite"}}\n'
    )
    with Session(tmp_path) as session:
        if says:
            with pytest.raises(ConstatError, match="C0671") as raised:
                session.materialized.keep("named")
            (told,) = raised.value.diagnostics
            assert says in f"{told.message} {told.help}"
            return
        session.materialized.keep("named")
        wanted = session.query("named(?i, ?n)" if reads == "?n" else "named(?i)").sure
        kept = session.materialized.query("named(?i, ?n)" if reads == "?n" else "named(?i)")
        assert sorted(kept.sure) == sorted(wanted)
        assert len(wanted) == (1 if policy == "none" else 2)


LABELLED = """\
.pragma "constat" "0.1"
@[key = i]
.decl thing(i: number, @[null = unknown] n: symbol, @[null = unknown] v: number)
.input thing(source = s, query = "SELECT i, n, v FROM thing")
.decl alike(n: symbol, @[null = unknown] m: symbol, w: float)
.input alike(source = s, query = "SELECT n, m, w FROM alike")
.decl told(i: number, n: symbol, v: number)
told(?i, ?n, max(?v, 3)) :- thing(?i, ?n, ?v).
.decl pair(n: symbol, m: symbol)
pair(?n, ?m) :- alike(?n, ?m, _).
pair(?m, ?m) :- alike(_, ?m, ?w), ?w > 0.5.
"""


def test_unknown_values_are_kept_and_found_as_they_were(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.execute("CREATE TABLE thing(i INTEGER, n TEXT, v INTEGER)")
        rows = [(1, "x", 1), (2, None, 2), (3, None, None), (4, "x", None), (5, "y", 9)]
        base.executemany("INSERT INTO thing VALUES (?, ?, ?)", rows)
        base.execute("CREATE TABLE alike(n TEXT, m TEXT, w REAL)")
        alike = [("a", None, 0.1), ("a", None, 0.7), ("b", "a", 0.1), ("b", "b", 1.5)]
        base.executemany("INSERT INTO alike VALUES (?, ?, ?)", alike)
        base.commit()
    (tmp_path / "r.dl").write_text(LABELLED)
    (tmp_path / "constat.yaml").write_text(
        'rules: [r.dl]\ndatabases: {s: {uri: "sqlite:///t.sqlite"}}\n'
    )
    queries = (
        *("told(?i, ?n, ?v)", "told(2, ?n, ?v)", "told(?i, x, ?v)", "told(?i, ?n, 3)"),
        *("told(?i, x, 9)", "told(7, ?n, ?v)", "told(4, x, 9)"),
        *("pair(?n, ?m)", "pair(a, ?m)", "pair(?n, a)", "pair(b, b)", "pair(c, c)"),
    )
    with Session(tmp_path) as session:
        assert session.materialized.keep("told").result.labels
        session.materialized.keep("pair")
        for query in queries:
            kept, wanted = session.materialized.query(query), session.query(query)
            assert dict(kept.weak) == dict(wanted.weak), query
            assert (list(kept.sure), kept.settled) == (list(wanted.sure), wanted.settled), query
            assert kept.fewest == wanted.fewest, query
            assert bool(kept.reasons) == bool(wanted.reasons), query


def test_a_proof_never_looks_at_it(things: Path) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
        change(things, "DELETE FROM pair")
        assert session.prove("reach(a, d)").exit_code == 5
        assert len(session.query("reach(?a, ?b)", engine="forward")) == 0


@pytest.mark.parametrize("content", [b"", b"no database", b"\0" * 5000])
def test_a_damaged_file_is_an_error_and_mends_by_keeping_anew(things: Path, content: bytes) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
        (path,) = (session.project.state / "materialized").glob("*.sqlite")
        path.write_bytes(content)
        assert refused(session, "reach(a, ?b)") == ["C0670"]
        session.materialized.keep("reach")
        assert len(session.materialized.query("reach(a, d)")) == 1


def test_what_fails_half_way_leaves_the_old_result(tmp_path: Path) -> None:
    store = MaterializedStore(tmp_path)
    about = KeptResult("p(?n)", (), 0, "", "v", ())

    def rows(count: int, *, fail: bool) -> Iterator[Row]:
        yield from ((),) * count
        if fail:
            raise OSError(28, "No space left on device")

    assert store.keep(about, rows(1, fail=False)).rows == 1
    with pytest.raises(ConstatError, match="No space left"):
        store.keep(about, rows(30_000, fail=True))
    found = store.find("p(?n)")
    assert found is not None
    assert list(store.rows(found, {})) == [()]
    assert len(list((tmp_path / "materialized").iterdir())) == 1


def test_a_reader_keeps_its_file_while_another_takes_its_place(things: Path) -> None:
    with Session(things) as one, Session(things) as other:
        one.materialized.keep("reach")
        found = one.materialized.query("reach(?a, ?b)")
        other.materialized.keep("reach")
        assert [row.values for row in found] == [
            row.values for row in one.materialized.query("reach(?a, ?b)")
        ]
        assert other.materialized.drop("reach")
        assert not one.materialized.drop("reach(?x, ?y)")


def test_killed_while_keeping_nothing_half_is_there(things: Path) -> None:
    script = (
        "import sys, time\n"
        "from constat import Session\n"
        "from constat.store import materialized\n"
        "def rows(*_):\n"
        "    yield from [()] * 20_000\n"
        "    print('half', flush=True)\n"
        "    time.sleep(60)\n"
        "state = Session(sys.argv[1]).project.state\n"
        "about = materialized.KeptResult('reach(?a, ?b)', (), 0, '', 'v', ())\n"
        "materialized.MaterializedStore(state).keep(about, rows())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(things)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
        child.wait(timeout=30)
    with Session(things) as session:
        assert session.materialized.list() == ()
        session.materialized.keep("reach")
        assert len(session.materialized.query("reach(a, d)")) == 1


def test_the_commands_keep_list_ask_and_drop(things: Path) -> None:
    where = ("--project", str(things))
    assert run("materialize", "reach", *where).code == 0
    listed = run("materialize", "--list", "--format", "json", *where)
    assert [(one["query"], one["current"]) for one in listed.json["results"]] == [
        ("reach(?a, ?b)", True)
    ]
    asked = run("query", "reach(a, ?b)", "--materialized", "--format", "json", *where)
    assert (asked.code, len(asked.json["rows"]), asked.json["calls"]) == (0, 4, [])
    change(things, "DELETE FROM pair")
    stale = run("query", "reach(a, ?b)", "--materialized", *where)
    assert (stale.code, "C0673" in stale.err) == (2, True)
    assert run("materialize", "reach", "--drop", *where).out == "dropped\n"
    assert run("materialize", "--list", *where).out == "nothing is kept\n"


@pytest.mark.parametrize(
    "words",
    [(), ("--list", "--drop"), ("reach", "--list"), ("--drop",)],
)
def test_options_that_make_no_sense_are_refused(things: Path, words: tuple[str, ...]) -> None:
    ran = run("materialize", *words, "--project", str(things))
    assert (ran.code, "C0432" in ran.err) == (2, True)


@pytest.mark.parametrize("column", ["c0", "c1"])
def test_a_point_query_finds_its_rows_by_an_index(things: Path, column: str) -> None:
    with Session(things) as session:
        session.materialized.keep("reach")
        (path,) = (session.project.state / "materialized").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        statement = f"EXPLAIN QUERY PLAN SELECT c0, c1 FROM rows WHERE {column} = 'a'"
        (plan,) = connection.execute(statement).fetchall()
    assert f"USING INDEX by_{column}" in plan[-1]


def test_a_check_that_ends_late_leaves_what_another_one_has_kept_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, copy = MaterializedStore(tmp_path), shutil.copyfile
    older, newer = (
        KeptResult("q(?c)", (("c", Kind.SYMBOL),), 0, created, "1", (("q", created),))
        for created in ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    )
    older = store.keep(older, [("old",)])

    def copied(source: Path, target: Path, **how: bool) -> None:
        copy(source, target, **how)
        store.keep(newer, [("new",)])

    monkeypatch.setattr(shutil, "copyfile", copied)
    with pytest.raises(ReplacedError):
        store.judge(older, PASSED)
    found = store.find("q(?c)")
    assert found is not None
    assert list(store.rows(found, {})) == [("new",)]
