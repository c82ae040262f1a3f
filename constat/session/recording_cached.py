"""What the cache had at a time: a second record, of predicates whose `.input` has a `max_age`.

In: a predicate, keys and a time. Out: for a key the kept answer that another program could have
used then. Invariant: an answer counts from when it was fetched until it was as old as its `max_age`
allows, and only while the source and the configuration it came from are those of today. Example:
fetched at noon with `max_age = "1h"`, it answers as of half past twelve and not as of two.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from constat.store.answer_file import AnswerStoreError
from constat.store.answers import AnswerStore
from constat.tiers.cache import scopes
from constat.tiers.cache_text import key_text, read_answer
from constat.tiers.cache_time import seconds_of

if TYPE_CHECKING:
    from constat.evaluation import Answer
    from constat.logic import Predicate, Row
    from constat.project import Project

Told = tuple["Answer", tuple[int, ...]]
"""An answer, and the columns that its keys bind."""

_SETTLED: Final = 0


class CachedAt:
    """The kept answers about one predicate at a time; none where the file cannot be used."""

    def __init__(self, predicate: Predicate, project: Project, moment: str) -> None:
        self._predicate = predicate
        self._project = project
        self._store = AnswerStore(project.state)
        self._moment = seconds_of(moment) or 0.0

    def answers(self, columns: tuple[int, ...], keys: list[Row]) -> dict[Row, Told]:
        """Give the answers about keys, each the last that had been fetched."""
        try:
            with closing(self._store):
                names = scopes(self._store, self._predicate, self._project)
                scope = names[_SETTLED] if names else ""
                return self._answers(scope, columns, keys) if scope else {}
        except AnswerStoreError:
            # The cache is a copy: what is wrong with it costs what only it has.
            return {}

    def _answers(self, scope: str, columns: tuple[int, ...], keys: list[Row]) -> dict[Row, Told]:
        found: dict[Row, tuple[float, Told]] = {}
        for pattern in self._store.patterns(scope):
            places = tuple(int(place) for place in pattern.split(",") if place)
            if not set(places) <= set(columns):
                continue
            kinds = [self._predicate.kinds[place] for place in places]
            narrow = {key: tuple(key[columns.index(place)] for place in places) for key in keys}
            texts = list(dict.fromkeys(key_text(one, kinds) for one in narrow.values()))
            for stored in self._store.at(scope, pattern, texts, self._moment):
                answer = self._read(stored.body, places) if stored.whole else None
                for key, one in narrow.items():
                    latest = found[key][0] if key in found else -1.0
                    if answer and one in answer.answered and stored.fetched_at > latest:
                        found[key] = stored.fetched_at, (answer, places)
        return {key: told for key, (_, told) in found.items()}

    def _read(self, body: str, places: tuple[int, ...]) -> Answer | None:
        try:
            return read_answer(body, self._predicate, places)
        except ValueError:
            return None
