"""Watched goals: what comes and goes while sources, stated facts and files of changes change."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session
from constat.evaluation import Verdict
from constat.incremental import Maintained, StateFile
from constat.session.current import read_changes
from tests.cli.running import run, run_process
from tests.session.querying import make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session.current import ChangedConclusion


@pytest.fixture
def things(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def change(things: Path, statement: str) -> None:
    with closing(sqlite3.connect(things / "db.sqlite")) as connection, connection:
        connection.execute(statement)


def told(found: list[ChangedConclusion]) -> set[str]:
    return {f"{'+' if one.came else '-'}{one.goal}" for one in found}


def codes(problem: pytest.ExceptionInfo[ConstatError]) -> list[str]:
    return [one.code for one in problem.value.diagnostics]


def test_changed_rows_of_a_source_bring_and_take_conclusions(things: Path) -> None:
    with Session(things) as session, session.watch(["reach(?a, ?b)", "reach(a, ?b)"]) as watch:
        assert [one.why for one in watch.goals()] == ["", ""]
        assert [one.rows for one in watch.goals()] == [13, 4]
        assert watch.poll() == []
        change(things, "DELETE FROM pair WHERE a = 'c' AND b = 'd'")
        found = watch.poll()
        assert told(found) == {"-reach(a, d)", "-reach(b, d)", "-reach(c, d)"}
        assert [one.query for one in found].count("reach(a, ?b)") == 1
        change(things, "INSERT INTO pair VALUES ('d', 'f')")
        assert told(watch.poll()) == {"+reach(d, f)"}
        assert {tuple(map(str, row.values)) for row in session.query("reach(?a, ?b)")} == {
            ("d", "f"),
            ("e", "e"),
            *((one, other) for one in "abc" for other in "abc"),
        }


def test_a_goal_on_stated_facts_is_asked_anew_and_its_verdicts_are_told(things: Path) -> None:
    with Session(things) as session, session.watch(["listed(?x)"]) as watch:
        assert "is not known as a whole" in watch.goals()[0].why
        session.facts.add("listed(x1)", author="alice", note="seen")
        (found,) = watch.poll()
        assert (found.goal, found.came, found.verdict) == ("listed(x1)", True, Verdict.PROVED_UNDER)
        session.facts.retract("listed(x1)", by="alice")
        (found,) = watch.poll()
        assert (found.goal, found.came) == ("listed(x1)", False)


def test_what_is_kept_says_what_has_changed_since(things: Path) -> None:
    with Session(things) as session, session.watch(["reach(?a, ?b)"], keep=True):
        pass
    change(things, "INSERT INTO pair VALUES ('e', 'g')")
    with (
        Session(things) as session,
        session.watch(["reach(?a, ?b)"], keep=True) as watch,
    ):
        assert told(watch.since) == {"+reach(e, g)"}
        ran = run_process("watch", "reach(?a, ?b)", "--keep", "--once", "--project", things)
        assert (ran.code, "C0678" in ran.err) == (2, True), ran.err
    rules = (things / "rules.dl").read_text()
    (things / "rules.dl").write_text(rules + "reach(?a, ?a) :- pair(?a, _).\n")
    with Session(things) as session, session.watch(["reach(?a, ?b)"], keep=True) as watch:
        assert watch.since == []
        assert watch.goals()[0].rows == len(session.query("reach(?a, ?b)"))


def test_a_file_of_changes_is_taken_line_by_line(things: Path, tmp_path: Path) -> None:
    lines = [
        {"op": "insert", "relation": "pair", "row": ["d", "f"]},
        {"op": "update", "relation": "pair", "before": ["e", "e"], "row": ["e", "h"]},
        {"op": "delete", "relation": "pair", "row": ["nobody", "knows"]},
        {"op": "insert", "relation": "listed", "row": ["nobody reads it"]},
    ]
    file = tmp_path / "changes.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    ran = run(
        *("watch", "reach(?a, ?b)", "--once", "--changes", file, "--project", things),
        *("--format", "json"),
    )
    assert ran.code == 0, ran.err
    assert {one["change"] + one["goal"] for one in ran.json["changes"]} == {
        *(f"+reach({one}, f)" for one in "abcd"),
        "-reach(e, e)",
        "+reach(e, h)",
    }
    assert ran.json["watched"] == [
        {"query": "reach(?a, ?b)", "rows": 17, "row_by_row": True, "reason": ""}
    ]
    first = ran.json["changes"][0]
    assert first["prove"].startswith("constat prove ")


def test_what_is_kept_is_counted_again_and_a_wrong_row_is_found(
    things: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goals = ["reach(?a, ?b)", "reach(a, ?b)", "listed(?x)"]
    with Session(things) as session, session.watch(goals) as watch:
        change(things, "INSERT INTO pair VALUES ('d', 'f')")
        watch.poll()
        assert [(query, one.passed) for query, one in watch.check()] == [
            ("reach(?a, ?b)", True),
            ("reach(a, ?b)", True),
        ]
    words = ("watch", "reach(?a, ?b)", "--once", "--check", "--project", things)
    assert (run(*words).code, run(*words).err) == (0, "checked reach(?a, ?b): the same\n")
    rows = Maintained.rows
    monkeypatch.setattr(
        Maintained, "rows", lambda kept, name: [*rows(kept, name), ("b", "nowhere")]
    )
    assert run(*words).code == 7


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ('{"op": "add"}', '`"op"` is none'),
        ('{"op": "insert", "relation": "nope", "row": []}', "names no predicate"),
        ('{"op": "insert", "relation": "pair", "row": ["a"]}', "no list of 2 values"),
        ('{"op": "insert", "relation": "pair", "row": ["a", null]}', "`b` is no value"),
        ('{"op": "insert", "relation": "pair", "row": ["a", 7]}', "`b` is a text"),
        ('{"op": "update", "relation": "pair", "row": ["a", "b"]}', '`"before"` is no list'),
    ],
)
def test_a_line_that_is_no_change_is_one_clear_error(things: Path, line: str, why: str) -> None:
    good = '{"op": "insert", "relation": "pair", "row": ["x", "y"]}'
    with Session(things) as session, session.watch(["reach(?a, ?b)"]) as watch:
        with pytest.raises(ConstatError) as problem:
            read_changes([good, line], watch, "c.jsonl")
        assert codes(problem) == ["C0676"]
        assert "line 2 of c.jsonl is no change" in problem.value.diagnostics[0].message
        assert why in problem.value.diagnostics[0].message
        assert watch.poll() == []


def test_a_goal_that_is_asked_anew_takes_no_changes_of_rows(things: Path, tmp_path: Path) -> None:
    file = tmp_path / "changes.jsonl"
    file.write_text('{"op": "insert", "relation": "listed", "row": ["x"]}\n', encoding="utf-8")
    ran = run("watch", "listed(?x)", "--once", "--changes", file, "--project", things)
    assert ran.code == 2
    assert "C0677" in ran.err


def test_a_command_is_told_of_changes_and_proofs_are_printed(things: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "changes.jsonl", tmp_path / "out; touch shell"
    file.write_text('{"op": "delete", "relation": "pair", "row": ["e", "e"]}\n', encoding="utf-8")
    code = f"import pathlib, sys; pathlib.Path({str(out)!r}).write_text(sys.stdin.read())"
    ran = run(
        *("watch", "reach(?a, ?b)", "--once", "--changes", file, "--project", things),
        *("--on-change", f'{sys.executable} -c "{code}"'),
    )
    assert ran.code == 0, ran.err
    assert "- reach(e, e)  PROVED  (constat prove 'reach(e, e)')" in ran.out
    assert json.loads(out.read_text())["goal"] == "reach(e, e)"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("'", "No closing quotation"),
        (" ", "it is empty"),
        ("no-such-program --loud", "the program `no-such-program` is not there"),
        ("ftp://127.0.0.1/changes", "is not there; name one of the path, a URL, or `log`"),
        ("{folder}/plain.txt", "plain.txt` may not be executed"),
    ],
)
def test_a_command_that_cannot_run_is_refused_before_anything_is_watched(
    things: Path, command: str, said: str
) -> None:
    (things / "plain.txt").write_text("no program")
    words = ("watch", "reach(e, ?b)", "--once", "--project", things)
    ran = run(*words, "--on-change", command.format(folder=things))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


class Receiver:
    """A server on the loopback interface that takes deliveries, or refuses them by `status`."""

    def __init__(self) -> None:
        self.status = 204
        self.taken: list[tuple[str, str]] = []
        self.tried = 0
        whole = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                whole.take(dict(self.headers.items()), body)
                self.send_response(whole.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/in?key=hidden"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, headers: dict[str, str], body: bytes) -> None:
        told = {name.lower(): value for name, value in headers.items()}
        self.tried += 1
        delivery, moment = told["constat-delivery"], told["constat-time"]
        signed = f"{delivery}.{moment}.".encode() + body
        wanted = hmac.new(b"key of the test", signed, hashlib.sha256).hexdigest()
        assert told["constat-signature"] == f"sha256={wanted}"
        if self.status == 204:
            lines = [json.loads(line) for line in body.splitlines()]
            self.taken += [(delivery, one["change"] + one["goal"]) for one in lines]

    def goals(self) -> list[str]:
        return [goal for _, goal in self.taken]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("CONSTAT_WEBHOOK_SECRET", "key of the test")
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_an_address_gets_each_change_once_and_signed(things: Path, receiver: Receiver) -> None:
    kept = ("watch", "reach(?a, ?b)", "--once", "--keep", "--project", things)
    words = (*kept, "--on-change", receiver.address)
    assert run(*words).code == 0
    assert receiver.taken == []
    change(things, "INSERT INTO pair VALUES ('e', 'g')")
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
    assert receiver.goals() == ["+reach(e, g)"]
    assert run(*words).code == 0
    assert receiver.goals() == ["+reach(e, g)"]


def test_what_a_receiver_does_not_take_waits_in_its_order(things: Path, receiver: Receiver) -> None:
    kept = ("watch", "reach(?a, ?b)", "--once", "--keep", "--project", things)
    words = (*kept, "--on-change", receiver.address)
    run(*words)
    receiver.status = 503
    change(things, "INSERT INTO pair VALUES ('e', 'g')")
    ran = run(*words)
    assert ran.code == 1
    assert "1 file of changes waiting for their receiver: it answers 503" in ran.err
    assert "hidden" not in ran.err + ran.out
    assert receiver.tried == 3
    receiver.server.shutdown()
    change(things, "DELETE FROM pair WHERE a = 'e' AND b = 'g'")
    receiver.server.server_close()
    ran = run(*words)
    assert ran.code == 1
    assert "2 files of changes waiting for their receiver: 127.0.0.1 is not reached" in ran.err
    again = ThreadingHTTPServer(
        ("127.0.0.1", receiver.server.server_port), receiver.server.RequestHandlerClass
    )
    threading.Thread(target=again.serve_forever, daemon=True).start()
    receiver.status = 204
    try:
        assert run(*words).code == 0
    finally:
        again.shutdown()
        again.server_close()
    assert receiver.goals() == ["+reach(e, g)", "-reach(e, g)"]
    assert len({delivery for delivery, _ in receiver.taken}) == 2


def test_a_change_is_queued_before_it_counts_as_seen(
    things: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("watch", "reach(?a, ?b)", "--once", "--keep", "--project", things)
    words = (*kept, "--on-change", receiver.address)
    run(*words)
    change(things, "INSERT INTO pair VALUES ('e', 'g')")
    with monkeypatch.context() as broken:

        def crash(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        broken.setattr(StateFile, "append", crash)
        assert run(*words).code == 130
    assert receiver.taken == []
    assert run(*words).code == 0
    # Told twice, as what was kept did not yet say that it was seen; never not at all.
    assert receiver.goals() == ["+reach(e, g)"] * 2


def test_a_log_has_every_change_with_its_time(things: Path) -> None:
    kept = ("watch", "reach(?a, ?b)", "--once", "--keep", "--project", things)
    words = (*kept, "--on-change", "log")
    run(*words)
    log = things / ".constat" / "current" / "changes.jsonl"
    assert log.parent.stat().st_mode & 0o777 == 0o700
    assert not log.exists()
    change(things, "INSERT INTO pair VALUES ('e', 'g')")
    assert run(*words).code == 0
    with log.open("ab") as file:
        file.write(b'{"time": "half a line')
    change(things, "DELETE FROM pair WHERE a = 'e' AND b = 'g'")
    assert run(*words).code == 0
    first, torn, second = log.read_text().splitlines()
    assert torn.endswith("half a line")
    assert [json.loads(one)["change"] for one in (first, second)] == ["+", "-"]
    assert json.loads(first)["time"] <= json.loads(second)["time"]
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("address", "secret", "said"),
    [
        ("https://example.invalid/x", "", "CONSTAT_WEBHOOK_SECRET is not set"),
        ("http://example.invalid/x", "some", "only https"),
    ],
)
def test_an_address_needs_a_secret_and_a_private_line(
    things: Path, monkeypatch: pytest.MonkeyPatch, address: str, secret: str, said: str
) -> None:
    monkeypatch.setenv("CONSTAT_WEBHOOK_SECRET", secret)
    words = ("watch", "reach(?a, ?b)", "--once", "--project", things)
    ran = run(*words, "--on-change", address)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.faults
def test_ctrl_c_ends_a_watch_that_has_told_of_a_change(things: Path) -> None:
    words = ["watch", "reach(?a, ?b)", "--interval", "0.1", "--proofs", "--project", str(things)]
    started = subprocess.Popen(
        [sys.executable, "-m", "constat", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline().startswith("watching reach(?a, ?b): 13 now, kept current")
    time.sleep(0.3)
    change(things, "INSERT INTO pair VALUES ('e', 'g')")
    assert started.stdout.readline().startswith("+ reach(e, g)  PROVED")
    assert started.stdout.readline().startswith("PROVED: reach(e, g)")
    started.send_signal(2)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "Traceback" not in err


def test_a_materialized_result_follows_what_has_changed(things: Path) -> None:
    words = ("materialize", "reach(?a, ?b)", "--current", "--project", things)
    assert "13 rows proved" in run(*words).out
    change(things, "INSERT INTO pair VALUES ('d', 'f')")
    stale = run("query", "reach(d, ?b)", "--materialized", "--project", things)
    assert "C0673" in stale.err
    ran = run(*words)
    assert ("17 rows proved" in ran.out, ran.err) == (True, "")
    found = run("query", "reach(d, ?b)", "--materialized", "--project", things)
    assert (found.code, "f" in found.out) == (0, True), found.err
    ran = run("materialize", "query", "--current", "--project", things)
    assert ran.code == 0, ran.err


LOANS = """.pragma "constat" "0.1"
.include "constat/prelude.dl"
{key}
.decl loan(id: number, member: number, @[null = none] back: symbol, @[null = maybe] note: symbol)
.input loan(source = "db", query = "SELECT id, member, back, note FROM loan")
.decl returned(loan: number)
returned(?l) :- loan(id = ?l, back = _back).
.decl out(member: number, loan: number)
out(?m, ?l) :- loan(id = ?l, member = ?m), !returned(?l).
.decl many(member: number, loans: number)
many(?m, ?n) :- loan(member = ?m), ?n = count : {{ loan(member = ?m) }}, ?n > 1.
.decl noted(loan: number, note: symbol)
noted(?l, ?t) :- loan(id = ?l, note = ?t).
"""


def lending(folder: Path, key: str = "@[key = id]") -> Path:
    """Make a project over loans of which some columns may be null."""
    folder.mkdir()
    (folder / "constat.yaml").write_text(
        "databases:\n  db: {uri: 'sqlite:///db.sqlite'}\nrules: [rules.dl]\n"
    )
    (folder / "rules.dl").write_text(LOANS.format(key=key))
    with closing(sqlite3.connect(folder / "db.sqlite")) as connection, connection:
        connection.executescript(
            "CREATE TABLE loan(id INTEGER PRIMARY KEY, member INTEGER, back TEXT, note TEXT);"
            "INSERT INTO loan VALUES (1, 1, NULL, NULL), (2, 1, 'May', NULL), (3, 2, NULL, 'torn');"
        )
    return folder


def test_columns_that_are_null_and_not_read_keep_a_goal_current_row_by_row(tmp_path: Path) -> None:
    project = lending(tmp_path / "lending")
    goals = ["out(?m, ?l)", "many(?m, ?n)", "out(1, ?l)"]
    drawn = random.Random(3)
    with Session(project) as session, session.watch(goals) as watch:
        assert [one.why for one in watch.goals()] == ["", "", ""]
        for number in range(4, 24):
            cells = (drawn.choice(["NULL", "'May'"]), drawn.choice(["NULL", "'torn'", "'wet'"]))
            member, before = drawn.randint(1, 3), drawn.randint(1, number)
            change(project, f"INSERT INTO loan VALUES ({number}, {member}, {cells[0]}, {cells[1]})")
            change(project, f"UPDATE loan SET back = {cells[1]}, note = NULL WHERE id = {before}")
            change(project, f"DELETE FROM loan WHERE id = {drawn.randint(1, 40)}")
            watch.poll()
            for goal in goals:
                asked = sorted(tuple(row.values) for row in session.query(goal).rows)
                assert sorted(watch.answers(goal)) == asked
        assert [one.why for one in watch.goals()] == ["", "", ""]
        assert [found.state.value for _, found in watch.check()] == ["passed"] * 3


def test_a_goal_that_reads_what_nobody_knows_is_asked_anew(tmp_path: Path) -> None:
    project = lending(tmp_path / "lending")
    with Session(project) as session, session.watch(["noted(?l, ?t)"]) as watch:
        assert watch.goals()[0].why == "a rule reads values of `loan` that nobody knows"
        change(project, "UPDATE loan SET note = 'wet' WHERE id = 1")
        assert "+noted(1, wet)" in told(watch.poll())


@pytest.mark.parametrize("key", ["@[key = id]", ""])
def test_a_row_that_goes_is_known_by_its_key(tmp_path: Path, key: str) -> None:
    project = lending(tmp_path / "lending", key)
    lines = ['{"op": "delete", "relation": "loan", "row": [4, 2, "May", "torn"]}']
    goals = ["many(?m, ?n)", *(["out(?m, ?l)"] if not key else [])]
    with Session(project) as session, session.watch(goals) as watch:
        change(project, "INSERT INTO loan VALUES (4, 2, 'May', 'torn')")
        assert told(watch.poll()) == {"+many(2, 2)"}
        facts = read_changes(lines, watch, "changes")
        if key:
            assert told(watch.tell(facts)) == {"-many(2, 2)"}
        else:
            with pytest.raises(ConstatError) as problem:
                watch.tell(facts)
            assert codes(problem) == ["C0677"]
            assert "no key" in problem.value.diagnostics[0].message
