"""The file of kept answers when programs die, disks fill up and files are something else."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.store import FactStore
from constat.store.answers import AnswerStore, AnswerStoreError, Fresh

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Barrier

pytestmark = pytest.mark.faults

WRITER = """
    import json, sys, time
    from pathlib import Path
    from constat.store.answers import Fresh
    from constat.store.answers import AnswerStore
    store = AnswerStore(Path(sys.argv[1]), most_bytes=400_000)
    print("ready", flush=True)
    for number in range(int(sys.argv[3])):
        keys = [f"{sys.argv[2]}/{number}/{part}" for part in range(30)]
        body = json.dumps(keys * 20)
        fresh = Fresh("tier", "tier", "sales", "0", 30, time.time(), 600, "{}", body)
        store.keep(fresh, keys)
        store.told("tier", 1)
"""


def fresh(body: str = "rows") -> Fresh:
    return Fresh("tier", "tier", "sales", "0", 1, time.time(), 600, "{}", body)


def program(text: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_whole(folder: Path) -> int:
    """Check that the file is sound and holds whole answers only; give how many."""
    with closing(AnswerStore(folder)) as store:
        store.list()  # a program that was killed at once has left an empty file
    with closing(sqlite3.connect(folder / "answers.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT id, keys FROM answers").fetchall()
        for number, count in rows:
            named = "SELECT count(*) FROM keys WHERE answer = ?"
            assert connection.execute(named, (number,)).fetchone() == (count,)
        lost = "SELECT count(*) FROM keys WHERE answer NOT IN (SELECT id FROM answers)"
        assert connection.execute(lost).fetchone() == (0,)
        keys = [key for (key,) in connection.execute("SELECT key FROM keys")]
    with closing(AnswerStore(folder)) as store:
        for one in store.find(store.scope("tier"), "0", keys, 600):
            assert one.whole
            assert len(json.loads(one.body)) == 600
    return len(rows)


def test_killing_a_writer_at_any_moment_leaves_whole_answers(tmp_path: Path) -> None:
    moments = random.Random(7)
    for turn in range(12):
        with program(WRITER, tmp_path, turn, 100_000) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moments.random() * 0.08)
            os.kill(process.pid, signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        if (tmp_path / "answers.sqlite").exists():
            check_whole(tmp_path)
    with closing(AnswerStore(tmp_path)) as store:
        assert store.keep(fresh(), ["after"])


def test_two_programs_keep_at_the_same_time(tmp_path: Path) -> None:
    processes = [program(WRITER, tmp_path, name, 12) for name in ("a", "b")]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert check_whole(tmp_path) == 24
    with closing(AnswerStore(tmp_path)) as store:
        assert [(one.hits, one.misses) for one in store.counts()] == [(24, 720)]


def test_a_full_disk_is_an_error_and_leaves_what_was_there(tmp_path: Path) -> None:
    with closing(AnswerStore(tmp_path)) as store:
        store.keep(fresh("first"), ["a"])
    text = """
        import resource, signal, sys, time
        from pathlib import Path
        from constat.store.answers import AnswerStoreError
        from constat.store.answers import Fresh
        from constat.store.answers import AnswerStore
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        store = AnswerStore(Path(sys.argv[1]))
        body = "x" * 1_000_000
        try:
            store.keep(Fresh("tier", "tier", "s", "0", 1, time.time(), 600, "{}", body), ["b"])
        except AnswerStoreError as problem:
            print("failed:", problem)
        print([one.body for one in store.find(store.scope("tier"), "0", ["a", "b"], 600)])
    """
    with program(text, tmp_path) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.startswith("failed: ")
    assert output.splitlines()[-1] == "['first']"
    with closing(AnswerStore(tmp_path)) as store:
        assert store.keep(fresh("second"), ["b"])


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4_000]
)
def test_a_damaged_file_is_reported_and_stays_until_it_is_removed(
    tmp_path: Path, content: bytes
) -> None:
    facts = FactStore(tmp_path)
    facts.add("tier", ("C009", "gold"), "alice")
    with closing(AnswerStore(tmp_path)) as store:
        store.path.write_bytes(content)
        for use in (store.list, store.clear, lambda: store.keep(fresh(), ["a"])):
            with pytest.raises(AnswerStoreError) as caught:
                use()
            assert caught.value.damaged
        assert store.path.read_bytes() == content
        store.remove()
        assert store.keep(fresh(), ["a"])
    assert len(facts.list()) == 1


def test_a_file_cut_in_the_middle_is_an_error_of_ours(tmp_path: Path) -> None:
    with closing(AnswerStore(tmp_path)) as store:
        for number in range(10):
            store.keep(fresh("x" * 20_000), [str(number)])
    content = store.path.read_bytes()
    store.path.write_bytes(content[: len(content) // 2])
    keys = [str(number) for number in range(10)]
    with closing(AnswerStore(tmp_path)) as store, pytest.raises(AnswerStoreError):
        store.find(store.scope("tier"), "0", keys, 600)


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    before = path.read_bytes()
    with closing(AnswerStore(tmp_path)) as store:
        for use in (store.list, lambda: store.keep(fresh(), ["a"])):
            with pytest.raises(AnswerStoreError, match="another program") as caught:
                use()
            assert not caught.value.damaged
    assert path.read_bytes() == before


def test_a_later_versions_file_is_left_alone(tmp_path: Path) -> None:
    with closing(AnswerStore(tmp_path)) as store:
        store.keep(fresh(), ["a"])
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    again = AnswerStore(tmp_path)
    with pytest.raises(AnswerStoreError, match="a later version"):
        again.list()


def test_a_locked_file_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.store.answers._WAIT_SECONDS", 0.05)
    with closing(AnswerStore(tmp_path)) as store:
        store.keep(fresh(), ["a"])
        with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with pytest.raises(AnswerStoreError, match="locked"):
                store.keep(fresh(), ["b"])
            # Reading goes on: a log keeps readers and the writer apart.
            assert len(store.find(store.scope("tier"), "0", ["a"], 600)) == 1
        assert store.keep(fresh(), ["b"])


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = AnswerStore(tmp_path / "file" / "state")
    with pytest.raises(AnswerStoreError):
        store.keep(fresh(), ["a"])


def test_whoever_reads_while_the_first_fact_is_written_sees_none_or_it(tmp_path: Path) -> None:
    problems: list[str] = []
    for turn in range(10):
        folder, together = tmp_path / str(turn), threading.Barrier(4)

        def work(number: int, folder: Path = folder, together: Barrier = together) -> None:
            facts = FactStore(folder)
            together.wait()
            try:
                if number % 2:
                    facts.add("p", (str(number),), "alice")
                elif len(facts.list()) > 2:
                    problems.append("too many")
            except ConstatError as problem:
                problems.append(str(problem))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []
