"""Explorations: what was asked, by which plans, and what came of it; kept for good.

In: questions, plans and answers as texts. Out: `Exploration` values. Invariants: what a method has
returned survives a crash of the program and of the machine; a plan that is edited or mended is
written beside the earlier one; nothing is deleted. What the steps left lies in the store of tables,
under the exploration's id. Two programs may write at once. A run holds the lock of a file while it
lasts, so that one which is dead, whatever killed it, is known to be. Example:
`ExploredStore(state).begin("top customers").identity` is what `constat resume` takes.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.store import clock
from constat.store.state_file import (
    NO_LINK,
    WAIT_SECONDS,
    Form,
    StateFile,
    lock_within,
    locked_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME: Final = "explored.sqlite"
PLANNED, RUNNING, ANSWERED, FAILED = "planned", "running", "answered", "failed"
INTERRUPTED: Final = "interrupted"
"""A run that ended in the middle: somebody stopped it, or its program died."""
STATUSES: Final = (PLANNED, RUNNING, ANSWERED, FAILED, INTERRUPTED)
_RUNS: Final = "explored_runs"
_SHORTEST_PREFIX: Final = 4
_LONGEST_TEXT: Final = 4 << 20
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS explorations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    began TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS questions (
    exploration TEXT NOT NULL REFERENCES explorations (identity),
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    first_step INTEGER NOT NULL,
    today TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (exploration, number)
);
CREATE TABLE IF NOT EXISTS plans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    exploration TEXT NOT NULL,
    question INTEGER NOT NULL,
    plan TEXT NOT NULL,
    why TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    exploration TEXT NOT NULL,
    question INTEGER NOT NULL,
    status TEXT NOT NULL,
    answer TEXT NOT NULL,
    at TEXT NOT NULL
);
"""
_FORM: Final = Form("store of explorations", 0x434E5345, 1, tuple(_SCHEMA.split(";")))


@frozen
class KeptPlan:
    """A version of a plan, and why there is one: `proposed`, `edited`, `mended step 2` ..."""

    text: str
    why: str
    at: str


@frozen
class Question:
    """A question of an exploration.

    Its steps are numbered from `first_step`. `answer` is JSON, empty before there is one.
    """

    number: int
    text: str
    first_step: int
    today: str
    asked_by: str
    at: str
    plans: tuple[KeptPlan, ...] = ()
    status: str = PLANNED
    answer: str = ""
    finished: str = ""

    @property
    def plan(self) -> str:
        """The latest version of its plan; empty where there is none yet."""
        return self.plans[-1].text if self.plans else ""


@frozen
class Exploration:
    """Questions that share their steps."""

    identity: str
    title: str
    began: str
    questions: tuple[Question, ...] = ()


@frozen
class NewQuestion:
    """A question to keep, with its first plan where there is one."""

    text: str
    first_step: int
    today: str
    plan: str = ""
    asked_by: str = ""
    why: str = "proposed"


class ExploredStore:
    """The explorations of a project, in one file of its state folder. Reading creates nothing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._runs = folder / _RUNS
        self._file = StateFile(self.path, _FORM)

    def begin(self, title: str) -> Exploration:
        """Begin an exploration."""
        _check(title)
        identity = secrets.token_hex(8)
        began = clock.now()
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO explorations (identity, title, began) VALUES (?, ?, ?)",
                (identity, title, began),
            )
        return Exploration(identity, title, began)

    def ask(self, identity: str, new: NewQuestion) -> int:
        """Keep a question, in one piece with its plan; gives its number."""
        _check(new.text, new.plan, new.today, new.asked_by, new.why)
        with self._writing() as connection:
            (last,) = connection.execute(
                "SELECT coalesce(max(number), 0) FROM questions WHERE exploration = ?", (identity,)
            ).fetchone()
            number = int(last) + 1
            at = clock.now()
            connection.execute(
                "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?)",
                (identity, number, new.text, new.first_step, new.today, new.asked_by, at),
            )
            if new.plan:
                _insert_plan(connection, (identity, number, new.plan, new.why, at))
        return number

    def plan(self, identity: str, number: int, text: str, why: str) -> None:
        """Keep another version of a question's plan."""
        _check(text, why)
        with self._writing() as connection:
            _insert_plan(connection, (identity, number, text, why, clock.now()))

    def conclude(
        self, identity: str, number: int, status: str, answer: dict[str, Any] | None = None
    ) -> None:
        """Keep what became of a question."""
        if status not in STATUSES:
            raise ValueError(status)
        text = "" if answer is None else json.dumps(answer, ensure_ascii=True)
        _check(text)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO outcomes (exploration, question, status, answer, at)"
                " VALUES (?, ?, ?, ?, ?)",
                (identity, number, status, text, clock.now()),
            )

    @contextmanager
    def running(self, identity: str, number: int) -> Iterator[None]:
        """Say that a question is being run, for as long as it is and this program lives."""
        # Each run has a file of its own, so that two of one question do not wait for each other.
        path = self._runs / f"{identity}-{number}-{secrets.token_hex(4)}"
        descriptor = None
        with suppress(OSError):
            # Where nobody can write, the question cannot be concluded either, which is said.
            path.parent.mkdir(parents=True, exist_ok=True)
            self._is_any_held("*")
            descriptor = locked_file(path, WAIT_SECONDS)
        try:
            self.conclude(identity, number, RUNNING)
            yield
        finally:
            if descriptor is not None:
                with suppress(OSError):
                    path.unlink()
                os.close(descriptor)

    def _now(self, one: Exploration) -> Exploration:
        """Give an exploration in which no question is said to run that nobody runs."""
        questions = tuple(
            replace(question, status=INTERRUPTED)
            if question.status == RUNNING and not self._is_run(one.identity, question.number)
            else question
            for question in one.questions
        )
        return replace(one, questions=questions)

    def _is_run(self, identity: str, number: int) -> bool:
        """Whether a program that lives runs a question; what dead ones left is collected."""
        return self._is_any_held(f"{identity}-{number}-*")

    def _is_any_held(self, names: str) -> bool:
        """Whether a program that lives holds a file of such a name; the others are removed.

        One that is killed before its question is said to run leaves a file that no question names.
        """
        held = list(map(_is_held, self._runs.glob(names)))
        return any(held)

    def list(self) -> tuple[Exploration, ...]:
        """Give all explorations with their questions, the oldest first."""
        with self._reading() as connection:
            if connection is None:
                return ()
            found = connection.execute(
                "SELECT identity, title, began FROM explorations ORDER BY id"
            ).fetchall()
            listed = [
                Exploration(str(row[0]), str(row[1]), str(row[2]), _questions(connection, row[0]))
                for row in found
            ]
        return tuple(map(self._now, listed))

    def get(self, prefix: str) -> Exploration:
        """Find one by its id or the beginning of it; without one, the latest."""
        wanted = prefix.strip().lower()
        listed = self.list()
        if not wanted and listed:
            return listed[-1]
        found = []
        if len(wanted) >= _SHORTEST_PREFIX:
            found = [one for one in listed if one.identity.startswith(wanted)]
        if len(found) == 1:
            return found[0]
        raise ConstatError([_not_one(wanted, len(found))])

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _failures("written"), self._file.writing() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        # One state: a question must not come without the exploration it belongs to.
        with _failures("read"), self._file.reading() as connection:
            yield connection


def _is_held(path: Path) -> bool:
    """Whether a program that lives holds the file of a run; the kernel knows, no number does.

    A file that nobody holds is removed under its lock, so that nobody takes it meanwhile.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_LINK)
    except OSError:
        return False
    try:
        if not lock_within(descriptor, 0.0, shared=True):
            return True
        with suppress(OSError):
            path.unlink()
    finally:
        os.close(descriptor)
    return False


def _insert_plan(connection: sqlite3.Connection, values: tuple[object, ...]) -> None:
    connection.execute(
        "INSERT INTO plans (exploration, question, plan, why, at) VALUES (?, ?, ?, ?, ?)", values
    )


def _questions(connection: sqlite3.Connection, identity: str) -> tuple[Question, ...]:
    plans: dict[int, list[KeptPlan]] = {}
    for number, text, why, at in connection.execute(
        "SELECT question, plan, why, at FROM plans WHERE exploration = ? ORDER BY id", (identity,)
    ):
        plans.setdefault(int(number), []).append(KeptPlan(str(text), str(why), str(at)))
    outcomes: dict[int, tuple[str, str, str]] = {}
    for number, status, answer, at in connection.execute(
        "SELECT question, status, answer, at FROM outcomes WHERE exploration = ? ORDER BY id",
        (identity,),
    ):
        outcomes[int(number)] = (str(status), str(answer), str(at))
    found = connection.execute(
        "SELECT number, question, first_step, today, asked_by, at FROM questions"
        " WHERE exploration = ? ORDER BY number",
        (identity,),
    )
    return tuple(
        Question(
            *(int(number), str(text), int(first), str(today), str(by), str(at)),
            tuple(plans.get(int(number), ())),
            *outcomes.get(int(number), (PLANNED, "", "")),
        )
        for number, text, first, today, by, at in found
    )


def _check(*texts: str) -> None:
    for text in texts:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            size = _LONGEST_TEXT + 1
        if size > _LONGEST_TEXT or "\0" in text:
            message = "a text of the exploration is too long, or no text"
            raise ConstatError([Diagnostic("C0900", message, note="nothing was kept")])


@contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OSError, ValueError) as problem:
        reason = str(problem)
        if isinstance(problem, OSError):
            reason = problem.strerror or type(problem).__name__
        message = f"the file of explorations, {FILE_NAME}, cannot be {what}: {reason}"
        note = "nothing was changed or deleted"
        raise ConstatError([Diagnostic("C0900", message, note=note)]) from problem


def _not_one(prefix: str, count: int) -> Diagnostic:
    hint = "`constat history` lists the explorations"
    shown = prefix if prefix.isprintable() else ascii(prefix)[1:-1]
    if count:
        message = f"`{shown[:40]}` begins the ids of {count} explorations"
        return Diagnostic("C0899", message, help="write more digits of the id")
    if not prefix:
        return Diagnostic("C0899", "nothing has been explored here yet", help="`constat solve ...`")
    note = f"an id is the first {_SHORTEST_PREFIX} or more of its digits"
    message = f"there is no exploration `{shown[:40]}`"
    return Diagnostic("C0899", message, note=note, help=hint)
