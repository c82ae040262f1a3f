"""Working memory: what each finished subtask left behind, for the subtasks that depend on it.

In: a subtask and what came of it.  Out: the same, by name or by words.  Invariants: what is stored
survives a crash; a subtask that is stored again is replaced as a whole; no model is asked.

Example: ``memory.working.store("7", StoredContext("counted 12 rows", ("out.csv",)))``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.memory.facts import Author
from constat.memory.history import Cited
from constat.memory.passages import Passage, Place
from constat.memory.searching import Index
from constat.store import clock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.memory.archive import Archive

DEPENDENCIES: Final = "## Context from Dependencies"
KNOWLEDGE: Final = "## Relevant Knowledge"


@dataclass(frozen=True, slots=True)
class StoredContext:
    """What a subtask left behind; ``subtask`` and ``at`` are set when it is stored."""

    summary: str
    artifacts: tuple[str, ...] = ()
    subtask: str = ""
    at: str = ""


class WorkingMemory:
    """The working memory of one session, in the file of the archive."""

    def __init__(self, archive: Archive, session: str) -> None:
        self._archive = archive
        self._session = session

    def store(self, subtask: str, context: StoredContext) -> None:
        """Keep what a subtask left behind."""
        artifacts = json.dumps(context.artifacts, ensure_ascii=True)
        row = (self._session, subtask, context.summary, artifacts, clock.now())
        with self._archive.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO working_memory"
                " (session, subtask, summary, artifacts, stored_at) VALUES (?, ?, ?, ?, ?)",
                row,
            )

    def all(self) -> tuple[StoredContext, ...]:
        """Return everything that is stored, by subtask."""
        asked = (
            "SELECT summary, artifacts, subtask, stored_at FROM working_memory"
            " WHERE session = ? ORDER BY subtask"
        )
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(
                StoredContext(summary, tuple(json.loads(artifacts)), subtask, at)
                for summary, artifacts, subtask, at in rows
            )

    def retrieve(self, subtasks: Iterable[str]) -> str:
        """Return what these subtasks left behind, as a block for a prompt; empty without any."""
        stored = {one.subtask: one for one in self.all()}
        found = [stored[name] for name in subtasks if name in stored]
        if not found:
            return ""
        return "\n".join([DEPENDENCIES, *(line for one in found for line in _lines(one))])

    def search(self, query: str, limit: int = 5) -> tuple[StoredContext, ...]:
        """Return the subtasks whose summaries and artifacts have the words, the best first."""
        stored = self.all()
        index = Index(neighbours=False)
        try:
            index.add([_cited(one) for one in stored])
            by_name = {one.subtask: one for one in stored}
            return tuple(by_name[found.place] for found in index.search(query, limit))
        finally:
            index.close()

    def relevant(self, title: str, limit: int = 5) -> str:
        """Return what is known about a title, as a block for a prompt; empty without anything."""
        found = self.search(title, limit)
        return "\n".join([KNOWLEDGE, *(f"- {one.summary}" for one in found)]) if found else ""


def _lines(one: StoredContext) -> list[str]:
    made = f" (made: {', '.join(one.artifacts)})" if one.artifacts else ""
    return [f"- {one.subtask}: {one.summary}{made}"]


def _cited(one: StoredContext) -> Cited:
    text = "\n".join([one.summary, *one.artifacts])
    return Cited(one.subtask, "", Passage(text, Author.ASSISTANT, Place.SAID, 0), 0)
