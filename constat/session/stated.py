"""The facts that people state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis.goals import is_written_in_rules, what_to_state
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import format_value
from constat.session.spelling import shown_stated
from constat.syntax import parse_stated
from constat.tiers import Chain

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Observer
    from constat.store import FactStore, StoredFact
    from constat.store.facts import Wording as Words
    from constat.tiers import Tiers

# A fact is typed by its declaration before it is kept; what rules derive cannot be stated.


class StatedFacts:
    """The facts of one project."""

    def __init__(
        self,
        program: Callable[[], AnalysedProgram],
        store: Callable[[], FactStore],
        evaluating: Callable[[Observer | None], AbstractContextManager[Tiers]],
    ) -> None:
        self._program = program
        self._store = store
        self._evaluating = evaluating

    def add(
        self, fact: str, *, author: str, note: str = "", told: Words | None = None
    ) -> StoredFact:
        """Keep a fact; it is used from the next evaluation on. `told` are the words that say it.

        By name it may leave out columns of a row whose key it gives.
        """
        predicate, row = self.read(fact)
        return self._store().add(predicate, row, author, note, told)

    def conflicts(self, fact: str) -> tuple[str, ...]:
        """Say who says another value for the key of a fact, sources and people, and what counts."""
        predicate, row = parse_stated(fact, self._program().program)
        with self._evaluating(None) as tiers:
            chain = tiers.externals.get(predicate)
            met = chain.conflicts_of(row) if isinstance(chain, Chain) else ()
        return tuple(one.text for one in met)

    def list(
        self, predicate: str | None = None, *, history: bool = False
    ) -> tuple[StoredFact, ...]:
        """Give the facts that stand; with `history` also those that were taken back."""
        return self._store().list(predicate, history=history)

    def retract(self, fact: str, *, by: str, author: str | None = None) -> tuple[StoredFact, ...]:
        """Take a fact back, whoever stated it or as stated by `author`; the record stays."""
        predicate, row = self.read(fact)
        retracted = self._store().retract(predicate, row, by, author)
        if not retracted:
            raise ConstatError(
                [
                    Diagnostic(
                        "C0406",
                        "nobody has stated this fact",
                        note="only facts that stand can be taken back",
                        help="`constat facts list` shows them",
                    )
                ]
            )
        return retracted

    def show(self, fact: StoredFact) -> str:
        """Write a stated fact as it can be typed."""
        predicate = self._program().program.predicates.get(fact.predicate)
        return shown_stated(predicate, fact.predicate, fact.row)

    def read(self, fact: str) -> tuple[str, tuple[str | None, ...]]:
        """Read a fact: its predicate, and its cells as canonical texts. Raises `ConstatError`."""
        analysed = self._program()
        predicate, row = parse_stated(fact, analysed.program)
        if predicate not in analysed.external:
            message = f"`{predicate}` is derived by rules and cannot be stated"
            if is_written_in_rules(analysed, predicate):
                message = f"the facts of `{predicate}` stand in rule files and are not stated"
            raise ConstatError(
                [Diagnostic("C0407", message, help=what_to_state(analysed, predicate))]
            )
        kinds = analysed.program.predicates[predicate].kinds
        pairs = zip(row, kinds, strict=True)
        return predicate, tuple(
            None if value is None else format_value(value, kind) for value, kind in pairs
        )
