"""The answers that a project keeps for `max_age`, to look at and to clear.

In: the project's state folder and its program. Out: values that say what is kept, for how long
still, and how often it was used. Invariant: looking changes nothing; clearing costs questions and
never a fact, for stated facts are in another file. Example: `session.cache.clear("tier")`.
"""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.answer_file import AnswerStoreError
from constat.store.answers import AnswerStore
from constat.tiers.cache import scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.logic import Predicate
    from constat.project import Project
    from constat.store.answer_values import Stored


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """One kept answer: for which bound columns, how many keys and rows, how old (seconds).

    Not `current` where the declaration or the configuration has changed: it is not served.
    """

    predicate: str
    bound: tuple[str, ...]
    keys: int
    rows: int
    source: str
    fetched_at: str
    age: int
    expires_in: int
    served: int
    size: int
    current: bool


@dataclass(frozen=True, slots=True)
class KeptOfPredicate:
    """What is kept of one predicate, and how many keys were served and were not."""

    predicate: str
    entries: int
    rows: int
    size: int
    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class Cleared:
    """How many answers were removed; `file` where the damaged file itself was."""

    answers: int
    file: bool = False


class KeptAnswers:
    """The kept answers of one project. The file is opened for each question to it."""

    def __init__(
        self, project: Callable[[], Project], program: Callable[[], AnalysedProgram]
    ) -> None:
        self._project = project
        self._program = program

    def list(self, predicate: str | None = None) -> tuple[KeptAnswer, ...]:
        """Give what is kept, of a predicate or all."""
        predicates = self._program().program.predicates
        current: dict[str, frozenset[str]] = {}
        with self._opened() as store:
            found = store.list(predicate)
            for name in {one.predicate for one in found} & predicates.keys():
                current[name] = frozenset(scopes(store, predicates[name], self._project()))
        now = time.time()
        return tuple(
            _shown(one, predicates.get(one.predicate), now, current.get(one.predicate, frozenset()))
            for one in found
        )

    def statistics(self) -> tuple[KeptOfPredicate, ...]:
        """Give the figures of each predicate."""
        with self._opened() as store:
            found, counts = store.list(), {one.predicate: one for one in store.counts()}
        names = sorted({one.predicate for one in found} | counts.keys())
        figures = []
        for name in names:
            own = [one for one in found if one.predicate == name]
            told = counts.get(name)
            figures.append(
                KeptOfPredicate(
                    name,
                    len(own),
                    sum(one.rows for one in own),
                    sum(one.size for one in own),
                    0 if told is None else told.hits,
                    0 if told is None else told.misses,
                )
            )
        return tuple(figures)

    def clear(
        self,
        predicate: str | None = None,
        *,
        older_than: float | None = None,
        expired: bool = False,
    ) -> Cleared:
        """Remove answers that fit every condition; `older_than` is in seconds.

        Without conditions a damaged file is removed, so that a new one can be begun.
        """
        everything = predicate is None and older_than is None and not expired
        store = AnswerStore(self._project().state)
        try:
            with closing(store):
                count = store.clear(predicate, older_than=older_than, expired=expired)
                return Cleared(count)
        except AnswerStoreError as problem:
            if not everything or not problem.damaged:
                raise _complaint(problem) from problem
        return self._removed(store)

    @staticmethod
    def _removed(store: AnswerStore) -> Cleared:
        try:
            store.remove()
        except AnswerStoreError as problem:
            raise _complaint(problem) from problem
        return Cleared(0, file=True)

    @contextmanager
    def _opened(self) -> Iterator[AnswerStore]:
        with closing(AnswerStore(self._project().state)) as store:
            try:
                yield store
            except AnswerStoreError as problem:
                raise _complaint(problem) from problem


def _shown(
    one: Stored, predicate: Predicate | None, now: float, current: frozenset[str]
) -> KeptAnswer:
    places = [place for place in one.pattern.split(",") if place]
    names = [] if predicate is None else [column.name for column in predicate.columns]
    bound = tuple(names[int(p)] if p.isdigit() and int(p) < len(names) else p for p in places)
    age = max(0.0, now - one.fetched_at)
    return KeptAnswer(
        predicate=one.predicate,
        bound=bound,
        keys=one.keys,
        rows=one.rows,
        source=one.source,
        fetched_at=_moment(one.fetched_at),
        age=int(age),
        expires_in=int(max(0.0, one.max_age - age)),
        served=one.served,
        size=one.size,
        current=one.scope in current,
    )


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError, OSError):
        return ""


def _complaint(problem: AnswerStoreError) -> ConstatError:
    hint = "`constat cache clear` begins a new file" if problem.damaged else ""
    message = f"the file of kept answers: {problem}"
    note = "answers are asked for again; stated facts are in another file"
    return ConstatError([Diagnostic("C0561", message, note=note, help=hint)])
