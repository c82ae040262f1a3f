"""State that an earlier version wrote is read, that of a later one refused and left as it is."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from constat import ConstatError, Session
from constat.session import remembering
from constat.store.answers import AnswerStoreError
from constat.store.materialized import RecordStore
from constat.store.model_answers import ModelAnswerError, ModelAnswers
from tests.cli.running import run
from tests.examples.shop import ROOT
from tests.store import states

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY = sorted(states.STATES.glob("*.zip"))
NEWEST = max(EVERY, key=lambda one: tuple(map(int, one.stem.split("."))))
LATER = 999
# What can be found out again is made anew where its layout is another one.
DERIVED = {"catalog.sqlite"}


def unpacked(packed: Path, folder: Path) -> Path:
    with zipfile.ZipFile(packed) as files:
        files.extractall(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return unpacked(NEWEST, tmp_path / "project")


def check_contents(folder: Path) -> None:
    """Look at everything that `states.use` has kept, and go on with it."""
    with Session(folder) as session:
        (fact,) = [one for one in session.facts.list() if one.active]
        assert (session.facts.show(fact), fact.author, fact.note) == (
            "worth(C1, 250)",
            "alice",
            "by telephone",
        )
        assert session.prove("good(C1)").verdict.value == "PROVED_UNDER"
        assert [one.result.query for one in session.materialized.list()] == ["payer(?customer)"]
        assert [one.goal for one in session.drafts.list()] == ["best(C1)"]
        assert [one.query for one in session.differences] == ["good(?c)"]
        assert [one.title for one in session.history] == ["What are the best customers?"]
        with session.watch(["payer(?c)"], keep=True) as watch:
            assert not watch.poll()
        state = session.project.state
    assert remembering.sessions(state) == ("talk",)
    assert remembering.remembered(state, "talk", "And C2 does not.") == 1
    assert run("log", "verify", "--project", folder).code == 0
    assert len(RecordStore(state).list()) == 1
    assert run("facts", "add", "worth(C3, 7)", "--by", "bob", "--project", folder).code == 0


@pytest.mark.parametrize("packed", EVERY, ids=lambda one: str(one.stem))
def test_what_an_earlier_version_kept_is_read_and_gone_on_with(
    packed: Path, tmp_path: Path
) -> None:
    check_contents(unpacked(packed, tmp_path / "project"))


def test_what_was_saved_is_restored(project: Path, tmp_path: Path) -> None:
    backup = [sys.executable, str(ROOT / "examples" / "serving" / "backup.py")]
    saved, state = tmp_path / "saved", project / ".constat"
    subprocess.run([*backup, "save", str(state), str(saved)], check=True, capture_output=True)
    shutil.rmtree(state)
    subprocess.run([*backup, "restore", str(saved), str(state)], check=True, capture_output=True)
    check_contents(project)


def layouts(folder: Path) -> dict[str, tuple[object, ...]]:
    """Give what each database of a state says it is, and how its tables are made."""
    found: dict[str, tuple[object, ...]] = {}
    for one in states.databases(folder):
        name = one.parent.name if one.parent.name == "materialized" else one.name
        with closing(sqlite3.connect(one)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            made = connection.execute("SELECT sql FROM sqlite_master ORDER BY 1").fetchall()
        assert application, f"{name} does not say whose it is"
        assert version, f"{name} does not say of which version it is"
        found[name] = (application, version, made)
    return found


def test_another_layout_is_another_version(project: Path, tmp_path: Path) -> None:
    today = tmp_path / "today"
    today.mkdir()
    states.write_project(today)
    states.use(today)
    kept, made = layouts(project / ".constat"), layouts(today / ".constat")
    assert kept.keys() == made.keys(), "write the state of this version: tests/store/states.py"
    for name in kept.keys() - DERIVED:
        if kept[name] != made[name]:
            assert kept[name][1] != made[name][1], f"{name} has other tables under one version"


def later(project: Path, name: str) -> Path:
    (file,) = (project / ".constat").rglob(name)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {LATER}")
    return file


def refused(work: Callable[[], object]) -> str:
    with pytest.raises((ConstatError, AnswerStoreError, ModelAnswerError)) as problem:
        work()
    return str(problem.value)


LOOKS: dict[str, Callable[[Session, Path], Any]] = {
    "facts.sqlite": lambda session, _: session.facts.list(),
    "drafts.sqlite": lambda session, _: session.drafts.list(),
    "explored.sqlite": lambda session, _: session.history,
    "checks.sqlite": lambda session, _: session.differences,
    "memory.sqlite": lambda _, state: remembering.sessions(state),
    "recorded.sqlite": lambda _, state: RecordStore(state).list(),
    "model_answers.sqlite": lambda _, state: ModelAnswers(state).spent(),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_a_later_version_wrote_is_refused_and_left(project: Path, name: str) -> None:
    file = later(project, name)
    before = file.read_bytes()
    with Session(project) as session:
        said = refused(lambda: LOOKS[name](session, file.parent))
    assert "a later version of Constat" in said
    assert file.read_bytes() == before


def test_facts_are_not_added_to_those_of_a_later_version(project: Path) -> None:
    file = later(project, "facts.sqlite")
    before = file.read_bytes()
    ran = run("facts", "add", "worth(C9, 9)", "--by", "bob", "--project", project)
    assert ran.code == 2
    assert "a later version of Constat" in ran.err
    assert "help:" in ran.err
    assert file.read_bytes() == before


def test_kept_answers_of_a_later_version_are_done_without(project: Path) -> None:
    file = later(project, "answers.sqlite")
    before = file.read_bytes()
    with Session(project) as session:
        assert session.prove("payer(C1)").verdict.value == "PROVED"
        assert any("a later version" in one.message for one in session.warnings)
    assert file.read_bytes() == before


def test_a_result_of_a_later_version_is_not_served(project: Path) -> None:
    (file,) = (project / ".constat" / "materialized").glob("*.sqlite")
    later(project, file.name)
    before = file.read_bytes()
    with Session(project) as session:
        assert "version" in refused(lambda: session.materialized.query("payer(?c)"))
    assert file.read_bytes() == before


def test_an_entry_of_a_later_log_is_refused_and_nothing_written_behind_it(project: Path) -> None:
    file = project / ".constat" / "decisions" / "log.jsonl"
    *rest, last = file.read_text(encoding="utf-8").splitlines()
    entry = json.loads(last)
    entry["head"]["format"] = LATER
    file.write_text("\n".join([*rest, json.dumps(entry), ""]), encoding="utf-8")
    before = file.read_bytes()
    assert run("log", "verify", "--project", project).code != 0
    with Session(project) as session:
        said = refused(lambda: session.prove("payer(C1)"))
    assert "a later version of Constat" in said
    assert file.read_bytes() == before
