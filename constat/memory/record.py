"""One session's record: what is on the disk, and the same as claims, kept in step.

In: messages, facts found elsewhere, pins.  Out: histories, as they are or as they were at a mark.
Invariants: what a method has returned from is on the disk; two programs that append to one session
see each other's messages; the record at a mark is the same for ever.

Example: ``record.known(record.mark(), "cancel 4WQ150")`` is what the rules are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.memory.counting import message_tokens
from constat.memory.history import MAIN, History
from constat.memory.journal import PIN, RETRACT, Journal
from constat.memory.keeping import lightened
from constat.memory.passages import Place
from constat.memory.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.memory.archive import Archive
    from constat.memory.facts import Fact
    from constat.memory.history import Cited
    from constat.memory.journal import BranchKept, Mark
    from constat.memory.messages import Message
    from constat.memory.policy import Policy, Window


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """How far a record had come: messages, facts found elsewhere, pins and retractions."""

    messages: int
    notes: int
    marks: int


class Record:
    """The record of one branch; ``branch`` says where it left the main one, if it did."""

    def __init__(
        self,
        archive: Archive,
        session: str,
        policy: Policy,
        window: Window,
        branch: BranchKept | None = None,
    ) -> None:
        self.archive = archive
        self.branch = branch
        self._archived_as = session if branch is None else branch.session
        self._policy = policy
        self._heavy_tokens = policy.heavy(window)
        self.journal = Journal(archive, self._archived_as)
        start = 0 if branch is None else branch.start
        self.history = History(MAIN if branch is None else branch.name, start)
        self.shown: list[Message] = []
        self.costs: list[int] = []
        self._cost_of: dict[int, int] = {}
        self.marks: list[Mark] = []
        self.heavy: list[tuple[int, str]] = []
        self._noted = 0

    def load(self) -> None:
        """Take in what is on the disk and not here."""
        self._extend(self.archive.messages(self._archived_as, len(self.history.messages)))
        noted = self.journal.noted()
        self.history.note(noted[self._noted :])
        self._noted = len(noted)
        self.marks = list(self.journal.marks())

    def append(self, messages: Sequence[Message], after: int | None) -> tuple[int, ...]:
        """Keep messages; gives their numbers."""
        numbers = self.archive.append(self._archived_as, messages, after=after)
        if numbers and numbers[0] > len(self.history.messages):
            self.load()
        else:
            self._extend(messages)
        return numbers

    def note(self, facts: Iterable[Fact]) -> None:
        """Keep facts that were found elsewhere."""
        self.journal.note(facts)
        self.load()

    def mark(self, kind: str, claim: str, author: str, reason: str) -> None:
        """Keep a pin or a retraction."""
        self.journal.mark(kind, claim, author, reason)
        self.marks = list(self.journal.marks())

    def moment(self) -> Moment:
        """Say how far the record has come."""
        return Moment(len(self.history.messages), self.history.notes, len(self.marks))

    def at(self, moment: Moment) -> History:
        """Return the history as it was."""
        return self.history.upto(moment.messages, moment.notes)

    def held(self, moment: Moment) -> list[tuple[str, str]]:
        """Return the pins as they were: claims, and who wants them."""
        marks = self.marks[: moment.marks]
        return [(one.claim, one.author) for one in marks if one.kind == PIN]

    def taken_back(self, moment: Moment) -> list[tuple[str, str]]:
        """Return the retractions as they were: what is taken back, and why."""
        marks = self.marks[: moment.marks]
        return [(one.claim, f"{one.author}: {one.reason}") for one in marks if one.kind == RETRACT]

    def tokens(self, messages: Iterable[Message]) -> int:
        """Return the tokens of messages; those of the record were counted when they came."""
        known = self._cost_of
        return sum(
            cost if (cost := known.get(id(one))) is not None else message_tokens(one)
            for one in messages
        )

    def _extend(self, messages: Sequence[Message]) -> None:
        first = len(self.history.messages)
        self.history.extend(messages)
        for number, message in enumerate(messages, first):
            shown = lightened(message, number, self._is_heavy, self.history.branch)
            if shown is not message:
                texts = self.history.texts_of(number)
                self.heavy += [(number, one.name) for one in texts if self._is_saved(one)]
            self.shown.append(shown)
            cost = message_tokens(shown)
            self.costs.append(cost)
            # The message is in the list as long as its identity is in the table.
            self._cost_of[id(shown)] = cost

    def _is_saved(self, text: Cited) -> bool:
        passage = text.passage
        if passage.place is Place.ARGUMENTS or passage.source:
            return False
        return self._is_heavy(passage.text, passage.place is Place.SAID)

    def _is_heavy(self, text: str, said: bool) -> bool:  # noqa: FBT001  one question, two answers
        if not said and len(text) > self._policy.heavy_characters:
            return True
        # A token has one character at least: most texts are known to be light by their length.
        return len(text) > self._heavy_tokens and estimate(text) > self._heavy_tokens
