"""The store of stated facts: durable, honest about damage, never deleting."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.diagnostics import ConstatError
from constat.store import FactStore

if TYPE_CHECKING:
    from pathlib import Path

GOLD = ("C009", "gold")
WRITER = """
    import sys
    from pathlib import Path
    from constat.store import FactStore
    store = FactStore(Path(sys.argv[1]))
    for number in range(int(sys.argv[3])):
        store.add("p", (sys.argv[2], str(number)), "writer")
        print(number, flush=True)
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    program = textwrap.dedent(WRITER)
    arguments = [sys.executable, "-c", program, str(folder), name, str(count)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_reading_creates_nothing(tmp_path: Path) -> None:
    store = FactStore(tmp_path / "state")
    assert store.list() == ()
    assert store.retract("tier", GOLD, "bob") == ()
    assert list(tmp_path.iterdir()) == []


def test_a_fact_keeps_its_author_and_time(tmp_path: Path) -> None:
    stored = FactStore(tmp_path).add("tier", GOLD, "alice", "by phone")
    assert (stored.predicate, stored.row, stored.author, stored.note) == (
        "tier", GOLD, "alice", "by phone",
    )  # fmt: skip
    assert stored.added_at.endswith("Z")
    assert stored.active
    assert FactStore(tmp_path).list() == (stored,)


def test_a_clock_that_was_set_back_puts_no_retraction_before_its_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FactStore(tmp_path)
    monkeypatch.setattr("constat.store.clock.now", lambda: "2026-06-01T12:00:00.000000Z")
    added = store.add("tier", GOLD, "alice")
    monkeypatch.setattr("constat.store.clock.now", lambda: "2026-06-01T11:30:00.000000Z")
    (gone,) = store.retract("tier", GOLD, "bob")
    assert gone.retracted_at == added.added_at
    assert store.add("tier", GOLD, "alice").id > added.id
    assert [one.active for one in store.list(history=True)] == [False, True]


def test_adding_again_gives_the_first_record(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    first = store.add("tier", GOLD, "alice")
    assert store.add("tier", GOLD, "alice", "another note") == first
    assert store.add("tier", GOLD, "bob") != first
    assert len(store.list()) == 2


def test_a_retraction_is_written_beside_the_fact(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    stored = store.add("tier", GOLD, "alice")
    (retracted,) = store.retract("tier", GOLD, "bob")
    assert store.list() == ()
    assert store.list(history=True) == (retracted,)
    assert (retracted.id, retracted.row, retracted.retracted_by) == (stored.id, GOLD, "bob")
    assert retracted.retracted_at is not None
    again = store.add("tier", GOLD, "alice")
    assert again.id != stored.id
    assert len(store.list(history=True)) == 2


def test_one_authors_statement_can_be_retracted_alone(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    store.add("tier", GOLD, "alice")
    store.add("tier", GOLD, "bob")
    assert [one.author for one in store.retract("tier", GOLD, "eve", author="alice")] == ["alice"]
    assert [one.author for one in store.list()] == ["bob"]


def test_facts_are_listed_by_predicate(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    store.add("tier", GOLD, "alice")
    store.add("blocked", ("C003",), "alice")
    assert [one.row for one in store.list("blocked")] == [("C003",)]
    assert store.list("nobody") == ()


@settings(max_examples=12)
@given(row=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_any_row_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, row: list[str]
) -> None:
    store = FactStore(tmp_path_factory.mktemp("store"))
    store.add("p", row, "alice")
    assert store.list()[0].row == tuple(row)
    assert len(store.retract("p", row, "alice")) == 1


@pytest.mark.parametrize(
    ("predicate", "row", "author"),
    [
        ("p", ("a\0b",), "alice"),
        ("p", ("\ud800",), "alice"),
        ("p", ("x",), ""),
        ("p", ("x",), "  "),
        ("p", ("x",), "al\nice"),
        ("p", ("x",), "\ud800"),
        ("p", ("x" * (5 << 20),), "alice"),
        ("p" * 300, ("x",), "alice"),
        ("p", ("x",), "a" * 300),
    ],
)
def test_what_cannot_be_kept_is_refused(
    tmp_path: Path, predicate: str, row: tuple[str, ...], author: str
) -> None:
    with pytest.raises(ConstatError, match="C0551"):
        FactStore(tmp_path).add(predicate, row, author)
    assert FactStore(tmp_path).list() == ()


def test_a_hostile_text_stays_a_text(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    row = ("x'); DROP TABLE facts; --", "%", '"', "\\")
    store.add("p'; --", row, "alice'; --")
    assert store.list("p'; --")[0].row == row


def test_killing_a_writer_loses_nothing_it_had_reported(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        process = writer(tmp_path, name, 100_000)
        assert process.stdout is not None
        reported = [process.stdout.readline() for _ in range(7)]
        os.kill(process.pid, signal.SIGKILL)
        reported += process.stdout.readlines()
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        complete = [int(line) for line in reported if line.endswith("\n")]
        kept = {int(str(one.row[1])) for one in FactStore(tmp_path).list("p") if one.row[0] == name}
        assert set(complete) <= kept
        # At most the one write that was under way is there besides.
        assert len(kept) <= len(complete) + 1


def test_two_programs_write_at_the_same_time(tmp_path: Path) -> None:
    processes = [writer(tmp_path, name, 40) for name in ("a", "b")]
    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert len(output.splitlines()) == 40
    assert len(FactStore(tmp_path).list()) == 80


FIRST_WRITERS = """
    import sys, time
    from multiprocessing import get_context
    from pathlib import Path
    from constat.store import FactStore

    def state(folder, number, rounds, begin):
        for turn in range(rounds):
            # A barrier would wake them one after the other.
            time.sleep(max(0.0, begin + turn * 0.02 - time.monotonic()))
            FactStore(Path(folder, str(turn))).add("p", (str(number),), "writer")

    folder, writers, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    arguments = [(folder, one, rounds, time.monotonic() + 0.1) for one in range(writers)]
    made = [get_context("fork").Process(target=state, args=one) for one in arguments]
    for one in made:
        one.start()
    for one in made:
        one.join()
    sys.exit(any(one.exitcode for one in made))
"""


@pytest.mark.faults
def test_the_first_facts_of_a_project_come_from_many_programs_at_once(tmp_path: Path) -> None:
    writers, rounds = 8, 30
    program = [sys.executable, "-c", textwrap.dedent(FIRST_WRITERS)]
    arguments = [str(one) for one in (tmp_path, writers, rounds)]
    outcome = subprocess.run(
        [*program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome.returncode == 0, outcome.stderr[-2_000:]
    kept = [len(FactStore(tmp_path / str(turn)).list()) for turn in range(rounds)]
    assert kept == [writers] * rounds


def test_a_first_fact_waits_for_whoever_writes_to_the_empty_file(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    # It holds the lock that turning to a write-ahead log does not wait for.
    other.execute("BEGIN IMMEDIATE")
    letting_go = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
    letting_go.start()
    store.add("p", ("x",), "alice")
    letting_go.join()
    other.close()
    assert len(store.list()) == 1


def test_a_damaged_file_is_reported_and_kept(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    for content in (b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4_000):
        store.path.write_bytes(content)
        for use in (store.list, lambda: store.add("p", ("x",), "alice")):
            with pytest.raises(ConstatError, match="C0550"):
                use()
        assert store.path.read_bytes() == content


def test_a_file_cut_in_the_middle_is_reported(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    for number in range(8):
        store.add("p", (str(number), "x" * 5_000), "alice")
    content = store.path.read_bytes()
    store.path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ConstatError, match="C0550"):
        store.list()


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    with sqlite3.connect(store.path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = store.path.read_bytes()
    for use in (store.list, lambda: store.add("p", ("x",), "alice")):
        with pytest.raises(ConstatError, match="no store of facts"):
            use()
    assert store.path.read_bytes() == before


def test_a_later_versions_file_is_refused(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    store.add("p", ("x",), "alice")
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConstatError, match="later version"):
        store.list()


def test_a_locked_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constat.store.state_file.WAIT_SECONDS", 0.05)
    store = FactStore(tmp_path)
    store.add("p", ("x",), "alice")
    connection = sqlite3.connect(store.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(ConstatError, match="locked"):
        store.add("p", ("y",), "alice")
    assert len(store.list()) == 1
    connection.execute("ROLLBACK")
    connection.close()
    store.add("p", ("y",), "alice")


@pytest.mark.faults
def test_a_folder_that_cannot_be_written_gives_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConstatError, match="C0550"):
        FactStore(tmp_path / "file" / "state").add("p", ("x",), "alice")


def test_a_full_disk_gives_a_clear_error_and_loses_nothing(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    store.add("p", ("x",), "alice")
    program = """
        import resource, signal, sys
        from pathlib import Path
        from constat.diagnostics import ConstatError
        from constat.store import FactStore
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            FactStore(Path(sys.argv[1])).add("p", ("y" * 500_000,), "alice")
        except ConstatError as problem:
            print(problem)
    """
    outcome = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "C0550" in outcome.stdout
    assert [one.row for one in store.list()] == [("x",)]


def test_a_store_in_a_read_only_folder_can_be_read(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    store.add("p", ("x",), "alice")
    if os.geteuid() == 0:
        pytest.skip("the superuser may write everywhere")
    tmp_path.chmod(0o500)
    try:
        assert len(store.list()) == 1
        with pytest.raises(ConstatError, match="C0550"):
            store.add("p", ("y",), "alice")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("row", ["[" * 2_000, "{}", "[1]", "", "[" * 200_000])
def test_a_record_that_is_no_row_is_reported(tmp_path: Path, row: str) -> None:
    store = FactStore(tmp_path)
    store.add("tier", ("C001", "gold"), "alice")
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE facts SET row = ?", (row,))
    with pytest.raises(ConstatError) as caught:
        store.list()
    assert [one.code for one in caught.value.diagnostics] == ["C0550"]
