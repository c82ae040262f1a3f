"""The store of tables: versions, steps, whole commits, whatever happens to the program."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.store.table_forms import Table, table_of
from constat.store.table_values import Json, NewArtifact, StepResult
from constat.store.tables import DataStore, adding

if TYPE_CHECKING:
    from pathlib import Path

ADDRESSES = {"sqlite": "", "duckdb": "duckdb:///tables.duckdb"}
WRITER = """
    import sys
    from pathlib import Path
    from constat.store.tables import DataStore
    from constat.store.table_forms import (table_of)
    from constat.store.table_values import (Json, NewArtifact, StepResult)
    store = DataStore(Path(sys.argv[1]), sys.argv[2], address=sys.argv[4], inline_bytes=200)
    for number in range(1, int(sys.argv[3]) + 1):
        table = table_of([("n", "number")], [[number] * number * 10])
        store.commit(StepResult(number, "grow", {"t": table, "u": table}, {"n": number},
            (f"step {number}",), (NewArtifact("code", "c", str(number).encode()),)))
        print(number, flush=True)
"""


def column(*values: int) -> Table:
    return table_of([("n", "number")], [values])


@pytest.fixture(params=ADDRESSES)
def address(request: pytest.FixtureRequest) -> str:
    return ADDRESSES[request.param]


def check_whole(store: DataStore) -> int:
    """Check that each step is there with everything that it left, or with nothing."""
    last = store.last_step()
    for step in range(1, last + 1):
        for name in ("t", "u"):
            assert store.table(name, at=step).values(0) == [step] * step * 10
        assert store.state(at=step) == {"n": step}
    assert [note.text for note in store.notes()] == [f"step {n}" for n in range(1, last + 1)]
    contents = [store.content(one) for one in store.artifacts(kind="code")]
    assert contents == [str(number).encode() for number in range(1, last + 1)]
    return last


def test_reading_creates_nothing(tmp_path: Path) -> None:
    store = DataStore(tmp_path / "state", "s")
    assert (store.tables(), store.state(), store.notes(), store.artifacts()) == ((), {}, (), ())
    assert store.last_step() == 0
    with pytest.raises(ConstatError) as caught:
        store.table("sales")
    assert caught.value.diagnostics[0].code == "C0916"
    assert list(tmp_path.iterdir()) == []


def test_a_step_is_kept_with_all_that_it_left(tmp_path: Path, address: str) -> None:
    store = DataStore(tmp_path, "s", address=address)
    plot = NewArtifact("plot", "growth", b"\x89PNG\0\xff", "image/png", attempt=2)
    state: dict[str, Json] = {"top": ["N", "S"], "total": 2.5, "none": None, "text": "\0é'"}
    kept = store.commit(
        StepResult(1, "Sales by region", {"sales": column(1, 2)}, state, ("Q4",), (plot,))
    )
    again = DataStore(tmp_path, "s", address=address)
    (table,) = again.tables()
    assert (table.name, table.version, table.step, table.step_name) == (
        *("sales", 1, 1, "Sales by region"),
    )
    assert (table.rows, table.columns, table.sha256) == (
        *(2, (("n", "number"),), column(1, 2).sha256),
    )
    assert again.table("sales") == column(1, 2)
    assert again.state() == state
    assert again.notes()[0].text == "Q4"
    (artifact,) = again.artifacts(step=1, kind="plot")
    assert (artifact.media, artifact.attempt) == ("image/png", 2)
    assert again.content(artifact) == b"\x89PNG\0\xff"
    assert kept.tables == (table,)


def test_a_later_step_never_changes_what_an_earlier_one_saw(tmp_path: Path, address: str) -> None:
    store = DataStore(tmp_path, "s", address=address)
    store.commit(StepResult(1, tables={"sales": column(1, 2)}, state={"n": 1}))
    store.commit(StepResult(2, tables={"sales": column(3)}, state={"n": 2}))
    store.commit(StepResult(3, tables={"sales": column()}))
    assert store.table("sales", at=1) == store.table("sales", version=1) == column(1, 2)
    assert store.table("sales", at=2) == column(3)
    # An empty table replaces; it does not let the one before shine through.
    assert store.table("sales") == column()
    assert [one.version for one in store.tables(history=True)] == [1, 2, 3]
    assert (store.state(at=1), store.state(at=3)) == ({"n": 1}, {"n": 2})


def test_sessions_do_not_see_each_other(tmp_path: Path) -> None:
    first, second = (DataStore(tmp_path, name) for name in ("a", "b"))
    first.commit(StepResult(1, tables={"t": column(1)}, notes=("x",)))
    assert (second.tables(), second.notes(), second.last_step()) == ((), (), 0)
    second.commit(StepResult(1, tables={"t": column(2)}))
    assert (first.table("t"), second.table("t")) == (column(1), column(2))


def test_large_tables_are_files_by_reference(tmp_path: Path) -> None:
    store = DataStore(tmp_path, "s", inline_bytes=100)
    large = column(*range(1000))
    (kept,) = store.commit(StepResult(1, tables={"large": large})).tables
    path = store.path(kept)
    assert path is not None
    assert path.name == f"{large.sha256}.parquet"
    assert store.table("large") == large
    store.commit(StepResult(2, tables={"large": large}))
    assert len(list(path.parent.glob("*.parquet"))) == 1
    path.write_bytes(b"PAR1")
    with pytest.raises(ConstatError, match="damaged"):
        store.table("large")


@pytest.mark.parametrize(
    "result",
    [
        StepResult(-1),
        StepResult(1, tables={"top 5": column(1)}),
        StepResult(1, tables={"t": Table(column(1).columns, 2)}),
        StepResult(1, state={"n": float("nan")}),
        StepResult(1, state={"n": object()}),  # type: ignore[dict-item]
        StepResult(1, notes=("\ud800",)),
        StepResult(1, "a\x1b[0m"),
        StepResult(1, artifacts=(NewArtifact("virus", "x", b""),)),
    ],
    ids=["step", "name", "rows", "nan", "object", "surrogate", "title", "kind"],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_kept(
    tmp_path: Path, result: StepResult
) -> None:
    store = DataStore(tmp_path, "s")
    with pytest.raises(ConstatError) as caught:
        store.commit(result)
    assert caught.value.diagnostics[0].code == "C0917"
    assert store.last_step() == 0


def test_a_step_that_fails_half_way_leaves_nothing(tmp_path: Path, address: str) -> None:
    store = DataStore(tmp_path, "s", address=address)
    store.commit(StepResult(1, tables={"t": column(1)}))
    # The second artifact cannot be bound; tables and notes were written before it.
    bad = NewArtifact("code", "c", b"x", attempt=1 << 70)
    with pytest.raises((ConstatError, OverflowError)):
        store.commit(StepResult(2, tables={"t": column(2)}, notes=("x",), artifacts=(bad,)))
    assert (store.table("t"), store.notes(), store.last_step()) == (column(1), (), 1)


def test_a_file_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    store = DataStore(tmp_path, "s")
    store.commit(StepResult(1, notes=("x",)))
    path = store.folder / "tables.sqlite"
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    for action in (store.tables, lambda: store.commit(StepResult(2, notes=("y",)))):
        with pytest.raises(ConstatError) as caught:
            action()
        assert caught.value.diagnostics[0].code == "C0915"
    path.unlink()
    for extra in store.folder.glob("tables.sqlite-*"):
        extra.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(ConstatError, match="no store of tables"):
        store.commit(StepResult(2, notes=("y",)))


def test_an_address_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(ConstatError) as caught:
        DataStore(tmp_path, "s", address="mysql://root:hunter2@host/db")
    assert "hunter2" not in str(caught.value)
    store = DataStore(tmp_path, "s", address="postgresql://u:hunter2@127.0.0.1:1/db")
    with pytest.raises(ConstatError) as caught:
        store.commit(StepResult(1, notes=("x",)))
    assert "hunter2" not in str(caught.value)
    assert "did not answer" in str(caught.value)


def writer(folder: Path, session: str, count: int, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), folder, session, str(count), address]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)


def test_what_was_committed_survives_being_killed(tmp_path: Path) -> None:
    with writer(tmp_path, "s", 1000, "") as process:
        assert process.stdout is not None
        told = 0
        for _ in range(5):
            told = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    store = DataStore(tmp_path, "s")
    assert check_whole(store) >= told
    last = store.last_step()
    store.commit(StepResult(last + 1, notes=("after",)))
    assert store.notes()[-1].number == last + 1


def test_two_writers_at_once_lose_nothing(tmp_path: Path, address: str) -> None:
    def commit(place: int) -> None:
        store = DataStore(tmp_path, "s", address=address)
        for number in range(4):
            store.commit(StepResult(number, tables={"t": column(place)}, notes=(str(place),)))

    threads = [threading.Thread(target=commit, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = DataStore(tmp_path, "s", address=address)
    versions = [one.version for one in store.tables(history=True)]
    assert versions == list(range(1, 9))
    assert [note.number for note in store.notes()] == list(range(1, 9))


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DataStore(tmp_path, "s", inline_bytes=100)
    store.commit(StepResult(1, tables={"t": column(1)}))
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(ConstatError, match="No space"):
        store.commit(StepResult(2, tables={"t": column(*range(1000))}))
    monkeypatch.undo()
    assert store.table("t") == column(1)
    assert list(store.folder.glob(".new-*")) == []


def left_over(folder: Path) -> list[str]:
    """Name the files that no finished commit needs."""
    return sorted(one.name for one in folder.iterdir() if one.name.startswith((".new-", ".adding")))


def test_what_a_crash_has_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DataStore(tmp_path, "s", inline_bytes=100)
    large = [column(*range(first, first + 1000)) for first in range(4)]
    (whole,) = store.commit(StepResult(1, tables={"t": large[0]})).tables
    # As if the program had ended between the file and its row, and another while it wrote a file.
    with monkeypatch.context() as patch:
        patch.setattr("constat.store.tables.Adding.settle", unplugged)
        patch.setattr(DataStore, "_keep_artifacts", unplugged)
        for table in (large[0], large[1]):
            with pytest.raises(UnpluggedError):
                store.commit(StepResult(2, tables={"t": table}))
    (store.folder / ".new-half").write_bytes(b"PAR1")
    lost = store.folder / f"{large[1].sha256}.parquet"
    assert lost.exists()
    assert left_over(store.folder) == [f".adding-{lost.name}", ".new-half"]
    # A store elsewhere may name any of these files: it leaves what is not its own.
    other = DataStore(tmp_path, "s", address="duckdb:///other.duckdb", inline_bytes=100)
    other.commit(StepResult(1, tables={"t": large[1], "u": large[2]}))
    assert lost.exists()
    store.commit(StepResult(3, tables={"t": large[3]}))
    assert not lost.exists()
    assert left_over(store.folder) == []
    assert store.path(whole) is not None
    assert (store.table("t", at=1), store.table("t")) == (large[0], large[3])
    assert (other.table("t"), other.table("u")) == (large[1], large[2])
    assert next(tmp_path.rglob("other.duckdb")).stat().st_mode & 0o777 == 0o600


def test_a_file_whose_row_was_kept_is_no_waste(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DataStore(tmp_path, "s", inline_bytes=100)
    with monkeypatch.context() as patch:
        # As if the program had ended when the row was kept, and the mark still there.
        patch.setattr("constat.store.tables.Adding.settle", unplugged)
        with pytest.raises(UnpluggedError):
            store.commit(StepResult(1, tables={"t": column(*range(1000))}))
    assert len(left_over(store.folder)) == 1
    store.commit(StepResult(2, tables={"t": column(*range(2000))}))
    assert left_over(store.folder) == []
    assert store.table("t", at=1) == column(*range(1000))


class UnpluggedError(Exception):
    pass


def unplugged(*_about: object) -> None:
    raise UnpluggedError


def test_nobody_sweeps_while_another_writes(tmp_path: Path) -> None:
    store = DataStore(tmp_path, "s", inline_bytes=100)
    large, other = column(*range(1000)), column(*range(2000))
    with adding(store.folder, "sqlite:///tables.sqlite", frozenset) as elsewhere:
        # Another program has written its file, and its row is not there yet.
        name = elsewhere.write(large, large.sha256)
        store.commit(StepResult(1, tables={"t": other}))
        assert (store.folder / name).exists()
        # The same content, which the other has marked: the row that is kept first counts.
        store.commit(StepResult(2, tables={"t": large}))
    store.commit(StepResult(3, tables={"t": other}))
    assert store.table("t", at=2) == large


def no_room(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_database_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DataStore(tmp_path, "s")
    store.commit(StepResult(1, tables={"t": column(1)}))
    original = sqlite3.connect

    def small(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = original(*arguments, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 30")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(ConstatError, match="full"):
        store.commit(StepResult(2, tables={"t": column(*range(60_000))}))
    monkeypatch.undo()
    assert (store.table("t"), store.last_step()) == (column(1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ADDRESSES)
def test_two_programs_at_once_lose_nothing(tmp_path: Path, kind: str) -> None:
    programs = [writer(tmp_path, "s", 15, ADDRESSES[kind]) for _ in range(2)]
    for program in programs:
        program.communicate()
        assert program.returncode == 0
    store = DataStore(tmp_path, "s", address=ADDRESSES[kind])
    for name in ("t", "u"):
        versions = [one.version for one in store.tables(history=True) if one.name == name]
        assert versions == list(range(1, 31))
    assert [note.number for note in store.notes()] == list(range(1, 31))
    assert store.table("t", at=15).values(0) == [15] * 150


@pytest.mark.slow
@pytest.mark.parametrize("kind", ADDRESSES)
def test_writers_that_are_killed_again_and_again_lose_nothing(tmp_path: Path, kind: str) -> None:
    import random

    chance = random.Random(7)
    store = DataStore(tmp_path, "s", address=ADDRESSES[kind])
    for _ in range(15):
        with writer(tmp_path, f"s{chance.random()}", 100, ADDRESSES[kind]) as process:
            assert process.stdout is not None
            session = str(process.args[4])  # type: ignore[index]
            told = 0
            for _ in range(chance.randrange(6)):
                told = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
        store = DataStore(tmp_path, session, address=ADDRESSES[kind])
        assert check_whole(store) >= told
    # The next one that adds a file sweeps what the killed ones have left.
    large = column(*range(5000))
    DataStore(tmp_path, "last", address=ADDRESSES[kind], inline_bytes=200).commit(
        StepResult(1, tables={"t": large})
    )
    assert left_over(store.folder) == []
    files = {one.name for one in store.folder.glob("*.parquet")}
    assert files == store._files()
