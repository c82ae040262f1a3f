"""The durable second level under a chain's memory: answers kept across programs.

In: the chain's settled answers of predicates whose `.input` has a `max_age`. Out: the same answers,
to this and other programs, while they are young enough and nothing they depend on has changed.
Invariants (semantics 6, 18, 27): a wider pattern serves a narrower one, never the reverse; what is
unknown or partial is never kept; the cache is no authority, so whatever is wrong with its file
costs a question and changes no answer; evidence keeps its origin, source, query and time, and its
tier tells that it came from the cache. Example: a second `constat prove` runs no query.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.catalog import QueryMistakeError, SourceFailureError
from constat.evaluation import Answer, Demand, LimitReachedError, TierAsked
from constat.store.answer_file import AnswerStoreError
from constat.store.answer_values import Fresh
from constat.store.answers import AnswerStore
from constat.tiers.cache_age import age_allowed, age_in_words
from constat.tiers.cache_concerns import concerns
from constat.tiers.cache_names import CACHE, UNREACHED
from constat.tiers.cache_schema import shapes, tables_read
from constat.tiers.cache_text import answer_text, key_text, read_answer
from constat.tiers.cache_time import moments, seconds_now
from constat.tiers.matching import openings_for, rows_for
from constat.tiers.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.evaluation import Clock, Evidence, Observer
    from constat.logic import Predicate, Row
    from constat.project import Project
    from constat.store.answer_values import Stored
    from constat.tiers.connections import Connections

USES: Final = ("settled", "found")
_NOT_KEPT: Final = "C0561"
_DOES_NOT_FIT: Final = "C0562"


class AnswerCache:
    """What the chains of a project share: the file, and whether it may be read at present."""

    def __init__(self, project: Project, connections: Connections, observe: Observer) -> None:
        self.store = AnswerStore(project.state)
        self.reading = True
        self.keeping = True
        self.troubles: dict[tuple[str, str], None] = {}
        self._project = project
        self._connections = connections
        self._observe = observe
        self._resting = False

    def of(self, predicate: Predicate) -> Kept | None:
        """Give the kept answers of a predicate; `None` where none are to be kept."""
        if not age_allowed(predicate):
            return None
        settled, found = (
            CachedAnswers(
                self, predicate, concerns(predicate, self._project, use), self._connections
            )
            for use in USES
        )
        return Kept(settled, found)

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Serve and keep nothing meanwhile: for whoever only looks."""
        before = self.reading, self.keeping
        self.reading = self.keeping = False
        try:
            yield
        finally:
            self.reading, self.keeping = before

    def usable(self) -> bool:
        """Whether the file has not failed since the last `release`."""
        return not self._resting

    def failed(self, predicate: str, keys: int, problem: AnswerStoreError) -> None:
        """Do without the file for the rest of the evaluation."""
        self._resting = True
        self.warn(predicate, keys, _NOT_KEPT, f"the file of kept answers: {problem}")

    def warn(self, predicate: str, keys: int, code: str, reason: str) -> None:
        """Say what was wrong; once for each kind of trouble."""
        self.troubles[code, reason] = None
        self.tell(predicate, keys, "unknown", f"{reason} [{code}]")

    def tell(self, predicate: str, keys: int, outcome: str, detail: str) -> None:
        """Report what the cache had to say."""
        self._observe(TierAsked(CACHE, predicate, keys, outcome, detail))

    def release(self) -> None:
        """Try the file again from the next evaluation on."""
        self._resting = False

    def close(self) -> None:
        """Close the file."""
        self.store.close()


class CachedAnswers:
    """The kept answers about one predicate, for one use of it."""

    def __init__(
        self, cache: AnswerCache, predicate: Predicate, text: str, connections: Connections
    ) -> None:
        self._cache = cache
        self._predicate = predicate
        self._max_age = age_allowed(predicate)
        self._concerns = text
        self._connections = connections
        self._source = predicate.source.name if predicate.source else ""
        self._loaded = Memory()
        self._state = -1
        self._until = 0.0
        self._scope = ""
        self._labels: dict[int, tuple[Evidence, Evidence]] = {}

    def recall(self, demand: Demand, generation: int) -> tuple[Answer, tuple[Row, ...]]:
        """Give what is kept about a demand, and the keys about which nothing is."""
        if not self._cache.reading:
            return Answer(), demand.keys
        now = seconds_now()
        if generation != self._state or not 0 <= self._until - now <= self._max_age:
            # Kept answers grow too old, and the source may have other tables now.
            self._loaded.forget()
            self._labels.clear()
            self._state, self._until = generation, now + self._max_age
        known, missing = self._loaded.recall(demand)
        if missing and self._cache.usable():
            used = self._load(demand, missing)
            if used:
                left = len(missing)
                known, missing = self._loaded.recall(demand)
                self._count(left - len(missing), used)
        self._report(known, len(demand.keys) - len(missing), len(missing), now)
        return known, missing

    def keep(self, columns: Sequence[int], answer: Answer, clock: Clock) -> None:
        """Keep the answered keys of an answer that the tiers have just given."""
        if not answer.answered or not self._cache.keeping or not self._cache.usable():
            return
        name, keys = self._predicate.name, answer.answered
        kinds = [self._predicate.kinds[column] for column in columns]
        try:
            tables = self._tables()
            if tables is None:
                return
            fresh = self._fresh(columns, _lasting(answer, columns, clock), tables, clock)
            texts = [key_text(key, kinds) for key in clock.over(keys)]
            self._cache.store.keep(fresh, texts)
        except LimitReachedError:
            return  # the answer is there, and the time to keep it is not
        except AnswerStoreError as problem:
            self._cache.failed(name, len(keys), problem)

    def labelled(self, answer: Answer) -> Answer:
        """Say of each evidence that came from the cache that it did."""
        if not self._labels:
            return answer
        return replace(
            answer,
            portions=tuple(
                replace(one, evidence=self._label(one.evidence)) for one in answer.portions
            ),
            authorities=tuple(map(self._label, answer.authorities)),
        )

    def _label(self, evidence: Evidence) -> Evidence:
        found = self._labels.get(id(evidence))
        return evidence if found is None else found[1]

    def _fresh(self, columns: Sequence[int], answer: Answer, tables: str, clock: Clock) -> Fresh:
        every = [portion.evidence for portion in answer.portions] + list(answer.authorities)
        return Fresh(
            concerns=self._concerns,
            predicate=self._predicate.name,
            source=self._source,
            pattern=",".join(map(str, columns)),
            rows=sum(len(portion.rows) for portion in answer.portions),
            fetched_at=min([seconds_now(), *moments(every)]),
            max_age=self._max_age,
            tables=tables,
            body=answer_text(answer, self._predicate, columns, clock),
        )

    def _tables(self) -> str | None:
        """Give the shape of what was read; `None` where it cannot be told, so nothing is kept."""
        query = self._predicate.source.parameters.get("query") if self._predicate.source else None
        if not query or not self._connections.knows(self._source):
            return "{}"
        try:
            connection = self._connections.reading(self._source)
            return json.dumps(tables_read(connection, query), sort_keys=True)
        except (SourceFailureError, QueryMistakeError):
            return None

    def _report(self, known: Answer, served: int, missing: int, now: float) -> None:
        name = self._predicate.name
        if served:
            oldest = now - min([now, *moments(known.authorities)])
            self._cache.tell(name, served, "complete", f"{age_in_words(oldest)} old")
        if missing:
            self._cache.tell(name, missing, "skipped", "nothing young enough is kept")

    def _count(self, hits: int, used: Sequence[int]) -> None:
        try:
            self._cache.store.told(self._predicate.name, hits, used)
        except AnswerStoreError as problem:
            self._cache.failed(self._predicate.name, hits, problem)

    def _load(self, demand: Demand, missing: tuple[Row, ...]) -> list[int]:
        """Load what is kept about the keys; gives the numbers of the answers."""
        store = self._cache.store
        used: list[int] = []
        try:
            scope = self._scope = self._scope or store.scope(self._concerns)
            for pattern in store.patterns(scope) if scope else ():
                columns = _columns(pattern)
                if not set(columns) <= set(demand.columns):
                    continue
                keys = self._keys(demand, columns, missing)
                for stored in store.find(scope, pattern, keys, self._max_age):
                    if self._take(stored, columns, demand.clock):
                        used.append(stored.id)
                        self._until = min(self._until, stored.fetched_at + self._max_age)
        except AnswerStoreError as problem:
            self._cache.failed(self._predicate.name, len(missing), problem)
        return used

    def _keys(
        self, demand: Demand, columns: Sequence[int], missing: tuple[Row, ...]
    ) -> tuple[str, ...]:
        places = [demand.columns.index(column) for column in columns]
        kinds = [self._predicate.kinds[column] for column in columns]
        texts = (
            key_text(tuple(key[place] for place in places), kinds)
            for key in demand.clock.over(missing)
        )
        return tuple(dict.fromkeys(texts))

    def _take(self, stored: Stored, columns: tuple[int, ...], clock: Clock) -> bool:
        """Load one answer, unless its tables have changed or its text does not fit."""
        label = self._reached(stored)
        if label is None:
            return False
        answer, problem = None, "is not what was written"
        if stored.whole:
            try:
                answer = read_answer(stored.body, self._predicate, columns, clock)
            except ValueError as reason:
                problem = str(reason)
        if answer is None:
            name = self._predicate.name
            said = f"a kept answer about {name} {problem}; it is not used"
            self._cache.warn(name, stored.keys, _DOES_NOT_FIT, said)
            return False
        self._loaded.keep(columns, answer)
        for one in (*(portion.evidence for portion in answer.portions), *answer.authorities):
            self._labels[id(one)] = one, replace(one, tier=label)
        return True

    def _reached(self, stored: Stored) -> str | None:
        """Give the tier to show: the cache, with the source seen or not; `None` after a change."""
        if not self._connections.knows(self._source):
            return CACHE
        try:
            then = json.loads(stored.tables)
            connection = self._connections.reading(self._source)
            return CACHE if then == shapes(connection, then) else None
        except SourceFailureError:
            # The user allows answers of that age; the evidence says that nobody could look.
            return UNREACHED
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class Kept:
    """The kept answers of a chain: what it settled, and which rows it found to settle by key."""

    settled: CachedAnswers
    found: CachedAnswers

    def labelled(self, answer: Answer) -> Answer:
        """Say of each evidence that came from the cache that it did."""
        return self.found.labelled(self.settled.labelled(answer))


def scopes(store: AnswerStore, predicate: Predicate, project: Project) -> tuple[str, ...]:
    """Give the names under which answers of a predicate are kept at present."""
    if not age_allowed(predicate):
        return ()
    return tuple(store.scope(concerns(predicate, project, use)) for use in USES)


def _lasting(answer: Answer, columns: Sequence[int], clock: Clock) -> Answer:
    """Give what an answer says about its answered keys."""
    keys = answer.answered
    portions = (
        replace(one, rows=rows_for(one.rows, columns, keys, clock)) for one in answer.portions
    )
    return replace(
        answer,
        portions=tuple(one for one in portions if one.rows),
        openings=openings_for(answer.openings, columns, keys, clock),
    )


def _columns(pattern: str) -> tuple[int, ...]:
    try:
        return tuple(int(place) for place in pattern.split(",")) if pattern else ()
    except ValueError:
        raise AnswerStoreError("a record in it is damaged", damaged=True) from None
