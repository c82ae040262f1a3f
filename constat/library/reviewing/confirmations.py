"""Records of who confirmed that a goal is what a question asks, in a file of the state folder.

As with approvals nothing is taken away: a withdrawal is a line below, a line has one spelling, and
a damaged file is not read. A record is bound to the question, the goal, the present day where the
goal depends on it, and what lies below the goal; whatever changes there ends it.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.encoding import canonical
from constat.proof.translation import Status, Translation
from constat.store.clock import now
from constat.store.replacing import replaced
from constat.store.state_file import alone, unprintable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FOLDER: Final = "confirmations"
FILE_NAME: Final = "confirmations.jsonl"
FORMAT: Final = "constat-confirmation/1"
CONFIRMED: Final = "confirmed"
WITHDRAWN: Final = "withdrawn"
MOST_BYTES: Final = 16 << 20
_LONGEST_NAME: Final = 200
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)


@frozen
class Confirmation:
    """One person's word that a goal holds exactly when the answer to a question is yes.

    `words` are those in which the goal was shown. `day` is empty where the goal means the same on
    each day. A withdrawal names the question alone.
    """

    question: str
    action: str
    by: str
    at: str
    goal: str = ""
    words: str = ""
    day: str = ""
    below: str = ""

    def is_about(self, translation: Translation) -> bool:
        """Whether everything that it is bound to is as it was."""
        mine = (self.question, self.goal, self.day, self.below)
        return mine == (
            *(translation.question, translation.goal),
            *(translation.day, translation.below),
        )

    def to_line(self) -> bytes:
        """Write it as a line."""
        return (canonical({"format": FORMAT, **asdict(self)}) + "\n").encode()


_MEMBERS: Final = frozenset({"format", *Confirmation.__dataclass_fields__})


class Confirmations:
    """The confirmations of a project; `state` is its state folder. Reading creates nothing."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def records(self) -> tuple[Confirmation, ...]:
        """Give all records in their order. Raises `ConstatError` for a file that is damaged."""
        try:
            with (self._folder / FILE_NAME).open("rb") as stream:
                content = stream.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return ()
        except OSError as problem:
            raise _damaged(problem.strerror or type(problem).__name__) from None
        return _parsed(content)

    def standing(self) -> tuple[Confirmation, ...]:
        """Give the confirmations that nobody has withdrawn; of each reading the latest."""
        alive: dict[tuple[str, ...], Confirmation] = {}
        for one in self.records():
            if one.action == WITHDRAWN:
                alive = {key: kept for key, kept in alive.items() if key[0] != one.question}
            else:
                alive[one.question, one.goal, one.day, one.below] = one
        return tuple(alive.values())

    def judged(self, translation: Translation) -> Translation:
        """Give a translation with who has confirmed it, or why nobody has any more."""
        if translation.confirmed:
            return translation
        own = [one for one in self.standing() if one.question == translation.question]
        found = next((one for one in own if one.is_about(translation)), None)
        if found is not None:
            return replace(translation, status=Status.CONFIRMED, by=found.by, at=found.at)
        return replace(translation, ended=_ended(own[-1], translation) if own else "")

    def confirm(self, translation: Translation, by: str) -> Translation:
        """Keep a person's word on a translation. What it has returned survives a crash.

        Raises `ConstatError` where nothing can be confirmed, or not by this name.
        """
        if translation.status is Status.STATED or not translation.question:
            message = "there is nothing to confirm: the goal was stated"
            hint = "a question in words is confirmed: `constat ask QUESTION`"
            raise ConstatError([Diagnostic("C0981", message, help=hint)])
        record = Confirmation(
            *(translation.question, CONFIRMED, _name(by), now()),
            *(translation.goal, translation.words, translation.day, translation.below),
        )
        with _failures(), self._alone():
            self._add(record)
        return replace(translation, status=Status.CONFIRMED, by=record.by, at=record.at, ended="")

    def withdraw(self, question: str, by: str) -> tuple[Confirmation, ...]:
        """Take all confirmations of a question back; gives those that stood."""
        with _failures(), self._alone():
            found = tuple(one for one in self.standing() if one.question == question)
            if found:
                self._add(Confirmation(question, WITHDRAWN, _name(by), now()))
        return found

    def _add(self, record: Confirmation) -> None:
        content = b"".join(one.to_line() for one in (*self.records(), record))
        if len(content) > MOST_BYTES:
            message = f"{FILE_NAME} would be larger than {MOST_BYTES >> 20} MiB"
            raise ConstatError([Diagnostic("C0981", message)])
        with replaced(self._folder / FILE_NAME) as stream:
            stream.write(content)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        message = "another program is confirming questions of this project"
        with alone(self._folder, ConstatError([Diagnostic("C0981", message, help="try again")])):
            yield


def _ended(before: Confirmation, now_: Translation) -> str:
    """Say why the latest confirmation of a question is not one of this translation."""
    who = f"{before.by} confirmed it at {before.at[:16]}Z"
    if before.goal != now_.goal:
        return f"{who} for another goal: {before.goal}"
    if before.day != now_.day:
        return f"{who} for another day: {before.day or 'any'}"
    return f"{who}, and the rules or sources below the goal have changed since"


def _name(by: str) -> str:
    name = by.strip()
    if not name or len(name) > _LONGEST_NAME or unprintable(name):
        message = "a confirmation needs the name of the person whose word it is"
        raise ConstatError([Diagnostic("C0981", message, help="add `--by NAME`")])
    return name


def _parsed(content: bytes) -> tuple[Confirmation, ...]:
    if len(content) > MOST_BYTES or (content and not content.endswith(b"\n")):
        raise _damaged("it is cut off, or too large")
    return tuple(_read(line, number) for number, line in enumerate(_lines(content), start=1))


def _lines(content: bytes) -> Sequence[bytes]:
    return content.split(b"\n")[:-1]


def _read(line: bytes, number: int) -> Confirmation:
    try:
        written = json.loads(line)
    except (ValueError, RecursionError):
        written = None
    if isinstance(written, dict) and written.keys() == _MEMBERS:
        given = {key: one for key, one in written.items() if key != "format"}
        if written["format"] == FORMAT and all(isinstance(one, str) for one in given.values()):
            found = Confirmation(**given)
            right = found.action in {CONFIRMED, WITHDRAWN} and bool(_TIME.match(found.at))
            # One spelling: nothing hides in white space.
            if right and found.by.strip() and found.to_line() == line + b"\n":
                return found
    raise _damaged(f"line {number} is no record of a confirmation")


def _damaged(reason: str) -> ConstatError:
    message = f"`{FOLDER}/{FILE_NAME}` of the state folder cannot be used: {reason}"
    note = "what cannot be read might withdraw something"
    hint = "mend the line, or move the file away: then nothing is confirmed any more"
    return ConstatError([Diagnostic("C0981", message, note=note, help=hint)])


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        message = f"`{FILE_NAME}` cannot be written: {reason}"
        raise ConstatError([Diagnostic("C0981", message, note="nothing was confirmed")]) from None
