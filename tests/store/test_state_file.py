"""Files of SQLite in the state folder: whose they are, who may read them, what reading leaves."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from constat.store.state_file import Form, NotOursError, StateFile

if TYPE_CHECKING:
    from pathlib import Path

FORM: Final = Form("store of words", 0x1234, 2, ("CREATE TABLE words (word TEXT)",))


def said(file: StateFile, *words: str) -> list[str]:
    """Write words, and read all that are there."""
    with file.writing() as connection:
        connection.executemany("INSERT INTO words VALUES (?)", [(one,) for one in words])
    with file.reading() as connection:
        assert connection is not None
        return [str(one) for (one,) in connection.execute("SELECT word FROM words")]


def test_what_is_written_is_read_and_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state" / "words.sqlite", FORM)
    with file.reading() as nothing:
        assert nothing is None
    assert not (tmp_path / "state").exists()
    assert said(file, "a", "b") == ["a", "b"]
    with pytest.raises(sqlite3.OperationalError, match="nowhere"), file.writing() as connection:
        connection.executescript(
            "SAVEPOINT x; INSERT INTO words VALUES ('c'); SELECT * FROM nowhere"
        )
    assert said(file) == ["a", "b"]


def test_reading_where_nobody_may_write_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = StateFile(tmp_path / "words.sqlite", FORM)
    with file.writing() as connection:
        connection.execute("INSERT INTO words VALUES ('a')")
    # The owner of the machine may write everywhere: only the answer of the system is changed.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with file.reading() as reader:
        assert reader is not None
        assert reader.execute("SELECT word FROM words").fetchall() == [("a",)]
        assert [one.name for one in tmp_path.iterdir()] == ["words.sqlite"]


def test_what_is_opened_for_writing_where_nobody_may_write_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = StateFile(tmp_path / "words.sqlite", FORM)
    with file.writing() as writer:
        writer.execute("INSERT INTO words VALUES ('a')")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with closing(file.opened(shared=True)) as connection:
        assert connection.execute("SELECT word FROM words").fetchall() == [("a",)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("INSERT INTO words VALUES ('b')")
    assert [one.name for one in tmp_path.iterdir()] == ["words.sqlite"]


def test_a_folder_that_another_program_makes_meanwhile_is_no_read_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state" / "words.sqlite"

    def not_there_yet(*_: object) -> bool:
        path.parent.mkdir(exist_ok=True)
        path.touch()
        return False

    monkeypatch.setattr(os, "access", not_there_yet)
    with closing(StateFile(path, FORM).opened()) as connection:
        connection.execute("INSERT INTO words VALUES ('a')")


def test_a_file_is_its_owners_until_others_are_let_in(tmp_path: Path) -> None:
    path = tmp_path / "words"
    mask = os.umask(0o022)
    try:
        for mode in (0o600, 0o640):
            said(StateFile(path, FORM))
            assert path.stat().st_mode & 0o777 == mode
            path.chmod(0o640)
    finally:
        os.umask(mask)


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((0x1234, 3), "a later version"),
        ((0x1234, 1), "another version"),
        ((0x9999, 2), "no store of words, but another program's"),
        ((0, 0), "no store of words, but another program's"),
    ],
)
def test_a_file_of_others_is_refused_and_not_changed(
    tmp_path: Path, numbers: tuple[int, int], reason: str
) -> None:
    path = tmp_path / "words.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.execute(f"PRAGMA application_id = {numbers[0]}")
        connection.execute(f"PRAGMA user_version = {numbers[1]}")
        connection.commit()
    before = path.read_bytes()
    file = StateFile(path, FORM)
    with pytest.raises(NotOursError, match=reason), file.writing():
        pass
    with pytest.raises(NotOursError, match=reason), file.reading():
        pass
    assert path.read_bytes() == before
