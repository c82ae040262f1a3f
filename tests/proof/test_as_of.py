"""Answers as of a time rest on what was recorded then, and on nothing else."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.diagnostics import ConstatError
from constat.engine import LazyEngine
from constat.evaluation import Limits, Verdict
from constat.project import Project
from constat.project.settings import RecordSetting
from constat.proof import decide
from constat.session.recording import as_of_externals, parse_moment, record
from constat.store import FactStore
from constat.store.answers import AnswerStoreError
from constat.store.clock import now
from constat.store.facts import FactsAt
from constat.store.materialized import FreshRecord, RecordStore
from tests.cli.running import run
from tests.examples.fixtures import shop, shop_database
from tests.proof.asking import certificate, checked
from tests.property.rules import Shape
from tests.property.strategies import Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["shop", "shop_database"]

UNASSUMED = Shape(assumed=False)
MANNERS = st.builds(Manner, st.booleans(), st.booleans())
EARLY, MIDDLE, LATE = (f"2026-01-0{day}T00:00:00.000000Z" for day in (1, 2, 3))
THRESHOLD = "vip_threshold: 100000"


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give fresh folders."""
    return iter(tmp_path_factory.mktemp(f"record{n}") for n in range(10_000))


@settings(max_examples=6)
@given(case=cases(UNASSUMED), manner=MANNERS)
def test_as_of_now_is_what_is_proved_now(
    folders: Iterator[Path], case: Case, manner: Manner
) -> None:
    project = Project(
        next(folders), "record", state=next(folders), record=RecordSetting(every=True)
    )
    outside = tables(case.program, case.world, manner)
    decided = decide(LazyEngine(), case.program, case.goal, outside, Limits())
    record(project, decided.outcome.calls, EARLY)
    again = decide(
        LazyEngine(),
        case.program,
        case.goal,
        as_of_externals(project, case.program, MIDDLE, outside),
        Limits(),
    )
    assert (again.verdict, again.confidence) == (decided.verdict, decided.confidence)
    identities = {json.loads(certificate(one))["identity"] for one in (decided, again)}
    assert len(identities) == 1
    before = decide(
        LazyEngine(),
        case.program,
        case.goal,
        as_of_externals(project, case.program, "2025-12-31T23:59:59.999999Z", outside),
        Limits(),
    )
    # Less is known: nothing that was settled turns around.
    assert before.verdict in {Verdict.UNRESOLVED, decided.verdict}
    checked(certificate(before))


def test_the_facts_are_those_of_the_time(shop: Path) -> None:
    with Session(shop) as session:
        session.keep(session.prove("is_vip(C001)"))
        first = now()
    configuration = shop / "constat.yaml"
    configuration.write_text(configuration.read_text().replace(THRESHOLD, "vip_threshold: 180000"))
    with Session(shop) as session:
        session.keep(session.prove("is_vip(C001)"))
        then, present = session.prove("is_vip(C001)", as_of=first), session.prove("is_vip(C001)")
        latest = session.prove("is_vip(C001)", as_of=now())
    assert (then.verdict, present.verdict) == (Verdict.PROVED, Verdict.DISPROVED)
    assert latest.verdict is Verdict.DISPROVED
    assert (then.as_of, present.as_of) == (first, None)
    header = json.loads(then.certificate)["header"]
    assert header["as_of"] == first
    assert any(first in one for one in checked(then.certificate).notes)
    assert then.tree.as_of == first
    assert Session(shop).replay(then.certificate).same


def test_what_was_not_recorded_is_unknown_and_never_asked(shop: Path) -> None:
    with Session(shop) as session:
        before = now()
        session.keep(session.prove("is_vip(C001)"))
        result = session.prove("is_vip(C001)", as_of=before)
        other = session.prove("is_vip(C002)", as_of=now())
        configured = session.prove("vip_threshold(100000)", as_of=before)
    assert result.verdict is Verdict.UNRESOLVED
    assert f"not recorded at {before}" in {gap.reason for gap in result.tree.gaps}
    # Keeping one proof records what it asked, and nothing about others.
    assert other.verdict is Verdict.UNRESOLVED
    assert configured.verdict is Verdict.UNRESOLVED


def test_no_source_is_opened(shop: Path) -> None:
    with Session(shop) as session:
        session.keep(session.prove("is_vip(C001)"))
    (shop / "data").rename(shop / "gone")
    with Session(shop) as session:
        assert session.prove("is_vip(C001)").verdict is Verdict.UNRESOLVED
        assert session.prove("is_vip(C001)", as_of=now()).verdict is Verdict.PROVED


def test_what_the_cache_had_then_counts_as_long_as_its_age_allows(shop: Path) -> None:
    sources = shop / "sources.dl"
    text = sources.read_text()
    assert ".input customer_tier(" in text
    sources.write_text(
        text.replace(".input customer_tier(", '.input customer_tier(max_age = "1h", ')
    )
    goal = "customer_tier(C500, gold)"
    with Session(shop) as session:
        before = now()
        session.prove(goal)
        assert session.recorded.list() == ()
        assert session.prove(goal, as_of=before).verdict is Verdict.UNRESOLVED
        assert session.prove(goal, as_of=now()).verdict is Verdict.PROVED
    with sqlite3.connect(next(shop.rglob("answers.sqlite"))) as connection:
        connection.execute("UPDATE answers SET fetched_at = fetched_at - 7200")
    with Session(shop) as session:
        # It was fetched two hours ago, and was too old an hour later.
        assert session.prove(goal, as_of=now()).verdict is Verdict.UNRESOLVED
        assert session.prove(goal, as_of=before_by(5400)).verdict is Verdict.PROVED


def before_by(seconds: int) -> str:
    """Give the time so many seconds ago."""
    then = datetime.now(UTC) - timedelta(seconds=seconds)
    return then.isoformat()


def test_stated_facts_stand_from_their_statement_to_their_retraction(shop: Path) -> None:
    fact = "contract_value(C009, 250000)"
    with Session(shop) as session:
        session.keep(session.prove("is_strategic(C009)"))
        before = now()
        session.facts.add(fact, author="alice")
        while_it_stood = now()
        assert session.prove("is_strategic(C009)").verdict is Verdict.PROVED_UNDER
        session.keep(session.prove("is_strategic(C009)"))
        recorded = now()
        session.facts.retract(fact, by="alice")
        after = now()
        verdicts = [
            session.prove("is_strategic(C009)", as_of=time).verdict
            for time in (before, while_it_stood, recorded, after)
        ]
    assert verdicts == [
        Verdict.UNRESOLVED,
        Verdict.PROVED_UNDER,
        Verdict.PROVED_UNDER,
        Verdict.UNRESOLVED,
    ]


def test_a_statement_below_a_key_waits_for_the_record_of_what_stands_above(shop: Path) -> None:
    # With a key, what a source says of a customer hides what people say.
    declared = ".decl customer_tier"
    for file in shop.parents[1].rglob("*.dl"):
        text = file.read_text()
        file.write_text(text.replace(declared, f'@[key = "customer"]\n{declared}'))
    with Session(shop) as session:
        session.facts.add("customer_tier(C009, gold)", author="alice")
        unrecorded = session.prove("customer_tier(C009, gold)", as_of=now())
        session.keep(session.prove("customer_tier(C009, gold)"))
        recorded = session.prove("customer_tier(C009, gold)", as_of=now())
        live = session.prove("customer_tier(C009, gold)")
    assert unrecorded.verdict is Verdict.UNRESOLVED
    assert recorded.verdict is live.verdict


# ------------------------------------------------------------------ what is recorded


@pytest.mark.parametrize(
    ("setting", "recorded"),
    [
        ("", set()),
        ("record: true\n", {"config", "sales"}),
        ("record: [sales]\n", {"sales"}),
        ("record: {sources: [config], keep: 400d}\n", {"config"}),
        ("record: false\n", set()),
    ],
)
def test_the_project_says_what_is_recorded(shop: Path, setting: str, recorded: set[str]) -> None:
    configuration = shop / "constat.yaml"
    configuration.write_text(configuration.read_text() + "\n" + setting)
    with Session(shop) as session:
        session.prove("is_vip(C001)")
        found = {one.source for one in session.recorded.list()}
    assert found == recorded


def test_a_key_without_rows_is_recorded_though_others_of_its_batch_have_some(shop: Path) -> None:
    goal = "blocked(C001)"
    with Session(shop) as session:
        session.prove("is_vip(?c)")
        # What is remembered of C001 came with a batch in which somebody is blocked.
        session.keep(session.prove(goal))
        assert session.prove(goal, as_of=now()).verdict is Verdict.DISPROVED


def test_an_input_says_for_itself_whether_it_is_recorded(shop: Path) -> None:
    sources = shop / "sources.dl"
    text = sources.read_text()
    sources.write_text(text.replace(".input blocked(", '.input blocked(record = "true", ', 1))
    with Session(shop) as session:
        session.prove("is_vip(C001)")
        assert {one.predicate for one in session.recorded.list()} == {"blocked"}


@pytest.mark.parametrize("setting", ["record: [nothing]", "record: {keep: soon}", "record: {x: 1}"])
def test_a_setting_that_means_nothing_is_a_mistake(shop: Path, setting: str) -> None:
    configuration = shop / "constat.yaml"
    configuration.write_text(configuration.read_text() + f"\n{setting}\n")
    ran = run("prove", "is_vip(C001)", "--project", shop)
    assert ran.code == 2
    assert "C0725" in ran.err or "C0503" in ran.err


def test_what_has_not_changed_is_not_recorded_again(shop: Path) -> None:
    with Session(shop) as session:
        result = session.prove("is_vip(C001)")
        session.keep(result)
        first = session.recorded.list()
        session.keep(session.prove("is_vip(C001)"))
        assert session.recorded.list() == first


# ------------------------------------------------------------------ times


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", "2026-01-31T00:00:00.000000Z"),
        ("2026-01-31T10:30", "2026-01-31T10:30:00.000000Z"),
        ("2026-01-31T10:30:00Z", "2026-01-31T10:30:00.000000Z"),
        ("2026-01-31T10:30:00+02:00", "2026-01-31T08:30:00.000000Z"),
        ("0900-01-01", "0900-01-01T00:00:00.000000Z"),
    ],
)
def test_times_are_utc(text: str, moment: str) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2999-01-01", "C0724"),
        ("", "C0723"),
        ("yesterday", "C0723"),
        ("2026-02-30", "C0723"),
        ("0001-01-01T00:00:00+23:00", "C0723"),
    ],
)
def test_other_times_are_refused(text: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        parse_moment(text)
    assert caught.value.diagnostics[0].code == code


# ------------------------------------------------------------------ the store


def fresh(key: str, body: str, *, answered: bool = True) -> FreshRecord:
    return FreshRecord("p", "number", "0", "s", {key: answered}, 1, body, body)


PLACE = ("p", "number", "0")


def test_each_time_finds_its_own_answer(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for moment, body in ((EARLY, "one"), (LATE, "two")):
        assert store.add([fresh("k", body)], moment) == 1
    found = [store.find(PLACE, ["k"], time) for time in ("2025", EARLY, MIDDLE, LATE, "2027")]
    assert [one["k"].body if one else "" for one in found] == ["", "one", "one", "two", "two"]
    assert store.add([fresh("k", "two")], "2026-02") == 0
    assert store.add([fresh("k", "one")], "2026-03") == 1


def test_what_was_recorded_last_counts_though_the_clock_was_set_back(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for moment, body in ((LATE, "first"), (MIDDLE, "second")):
        assert store.add([fresh("k", body)], moment) == 1
    assert store.find(PLACE, ["k"], LATE)["k"].body == "second"


def test_an_answer_is_not_hidden_by_a_failure_to_read(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.add([fresh("k", "known")], EARLY)
    store.add([fresh("k", "timed out", answered=False)], MIDDLE)
    assert store.find(PLACE, ["k"], LATE)["k"].body == "known"


def test_a_text_that_was_changed_is_not_given_out(shop: Path) -> None:
    with Session(shop) as session:
        session.keep(session.prove("is_vip(C001)"))
    file = next(shop.rglob("recorded.sqlite"))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE answers SET body = replace(body, '100000', '1000')")
    with Session(shop) as session:
        result = session.prove("is_vip(C001)", as_of=now())
        assert result.verdict is Verdict.UNRESOLVED
        assert [one.code for one in session.warnings] == ["C0726"]


def test_records_leave_by_age_and_by_size(tmp_path: Path) -> None:
    store = RecordStore(tmp_path, most_bytes=25)
    store.add([fresh("a", "0123456789")], EARLY)
    store.add([fresh("b", "0123456789")], MIDDLE)
    store.add([fresh("c", "0123456789")], LATE)
    assert [one.recorded_at for one in store.list()] == [MIDDLE, LATE]
    store.add([fresh("d", "x")], LATE, oldest=LATE)
    assert {one.recorded_at for one in store.list()} == {LATE}
    assert store.forget("2027") == 2
    assert store.list() == ()


def test_reading_creates_nothing_and_another_file_is_refused(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    assert store.list() == ()
    assert store.find(PLACE, ["k"], LATE) == {}
    assert list(tmp_path.iterdir()) == []
    with sqlite3.connect(store.path) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(AnswerStoreError):
        store.list()
    with pytest.raises(AnswerStoreError):
        store.add([fresh("k", "x")], EARLY)


def test_a_record_that_cannot_be_written_costs_a_warning(shop: Path) -> None:
    with Session(shop) as session:
        result = session.prove("is_vip(C001)")
        (session.project.state).mkdir(exist_ok=True)
        (session.project.state / "recorded.sqlite").write_text("this is no database at all" * 99)
        session.keep(result)
        assert [one.code for one in session.warnings] == ["C0726"]
        with pytest.raises(ConstatError) as caught:
            session.prove("is_vip(C001)", as_of=now())
    assert caught.value.diagnostics[0].code == "C0726"


def test_a_full_disk_leaves_the_record_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordStore(tmp_path)
    store.add([fresh("k", "one")], EARLY)
    connect = sqlite3.connect

    def full(*arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401  of `connect`
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        with pytest.raises(AnswerStoreError, match="full"):
            store.add([fresh("k", "x" * 1_000_000)], LATE)
    assert [one.recorded_at for one in RecordStore(tmp_path).list()] == [EARLY]


_WRITER = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from constat.store.materialized import FreshRecord, RecordStore
store = RecordStore(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    text = f"{sys.argv[2]}{number}"
    store.add([FreshRecord("p", "number", "0", "s", {text: True}, 1, text, text)], "2026")
    print(text, flush=True)
"""


def test_two_writers_and_a_kill_lose_nothing_that_was_told(tmp_path: Path) -> None:
    def writer(name: str, count: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), name, str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )

    with writer("a", 20) as steady, writer("b", 100_000) as doomed:
        assert doomed.stdout is not None
        told = [doomed.stdout.readline().strip() for _ in range(10)]
        os.kill(doomed.pid, signal.SIGKILL)
        told += doomed.stdout.read().split()
        out, _ = steady.communicate()
    keys = [*told, *out.split()]
    assert len(out.split()) == 20
    found = RecordStore(tmp_path).find(PLACE, keys, "2027")
    assert {key: one.body for key, one in found.items() if one.whole} == {key: key for key in keys}


def test_stated_facts_have_their_own_history(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    one = store.add("p", ("1",), "alice")
    other = store.add("p", ("2",), "bob")
    store.retract("p", ("1",), "alice")
    assert [f.row for f in FactsAt(tmp_path, one.added_at).list("p")] == [("1",)]
    assert [f.row for f in FactsAt(tmp_path, other.added_at).list("p")] == [("1",), ("2",)]
    assert [f.row for f in FactsAt(tmp_path, now()).list("p")] == [("2",)]
    assert FactsAt(tmp_path, "2020").list("p") == ()


# ------------------------------------------------------------------ the commands


def test_the_commands_say_what_was_recorded_and_when(shop: Path) -> None:
    project = ("--project", shop)
    assert run("recorded", *project).out == "nothing is recorded\n"
    run("prove", "is_vip(C001)", "--keep", *project)
    listed = run("recorded", "vip_threshold", *project).out
    assert "vip_threshold by everything: 1 key, 1 row" in listed
    told = run("recorded", *project, "--format", "json").json
    assert len({one["recorded_at"] for one in told["answers"]}) == 1
    ran = run("prove", "is_vip(C001)", "--as-of", now(), *project)
    assert ran.code == 0
    assert ", as the facts were recorded then" in ran.out
    assert run("prove", "is_vip(C001)", "--as-of", "2999-01-01", *project).code == 2
    assert run("prove", "is_vip(C001)", "--as-of", "2026-01-01", "--all", *project).code == 2
    assert "removed" in run("recorded", "--forget-before", now(), *project).out
    assert run("prove", "is_vip(C001)", "--as-of", now(), *project).code == 4
