"""What the commands of the REPL work with.

In: a notebook and who types. Out: one value that is handed to each command. Invariant: a command
leaves everything that another one may need here, and nothing anywhere else. Example: `/why` shows
the last result of `desk.notebook`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.cli.output import note
from constat.diagnostics import ConstatError, Diagnostic
from constat.store.tables import DataStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.session import Answers, Session
    from constat.session.repl import Notebook
    from constat.store.explored import Exploration

MOST_SEEN = 5_000


@dataclass(slots=True)
class Desk:
    """The notebook, who types, whether somebody is there; constants seen, and remarks made."""

    notebook: Notebook
    by: str
    interactive: bool = False
    done: bool = False
    seen: dict[str, None] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    going: list[Answers] = field(default_factory=list)
    """Answers that were shown while their check went on."""

    @property
    def session(self) -> Session:
        """The session that answers."""
        return self.notebook.session

    def exploration(self, prefix: str = "") -> Exploration:
        """Give an exploration: the named one, the one in use, or the latest.

        Raises `ConstatError` where there is none.
        """
        history = self.notebook.base.history
        wanted = prefix or self.notebook.exploration
        found = [one for one in history if one.identity.startswith(wanted)]
        if prefix and len(found) != 1:
            message = "there is no such exploration" if not found else "several begin like this"
            raise ConstatError([Diagnostic("C0921", message, help="`/history` lists them")])
        if not found:
            message = "nothing has been explored yet"
            raise ConstatError([Diagnostic("C0921", message, help="/solve QUESTION")])
        return found[-1]

    def tables(self) -> DataStore:
        """Give the tables of the exploration in use."""
        project = self.notebook.base.project
        identity = self.exploration().identity
        return DataStore(project.state, identity, address=project.explore.store)

    def warn(self, remarks: Iterable[Diagnostic]) -> None:
        """Say what went wrong beside an answer, each thing once."""
        for one in remarks:
            if one.message not in self.told:
                self.told.add(one.message)
                note(one.message)

    def saw(self, values: object) -> None:
        """Remember constants, for completion."""
        for value in values if isinstance(values, list | tuple | set) else ():
            text = str(value)
            if text.isprintable() and 0 < len(text) <= 60 and len(self.seen) < MOST_SEEN:  # noqa: PLR2004  a word
                self.seen[text] = None
