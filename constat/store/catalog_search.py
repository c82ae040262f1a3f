"""Find entries of the catalog by words: which questions the index is asked, in which order.

In: words, and what runs a query of ours. Out: ids of entries with a score, the best first.
Invariants: an entry with all words in its name comes before one with all words, and that before one
with some; what only some words fit is ranked by what its words tell, and entries are left out of
that ranking only where no word of theirs could bring them among the best; time is bounded, because
a word that is nearly everywhere tells nothing apart. Example: of `status` and `ledger` in 10,000
tables the 69 with `ledger` are ranked, and of those with `status` alone none.
Reference: https://www.sqlite.org/fts5.html#the_bm25_function
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Ask = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]

MOST_WORDS: Final = 12
_SHORTEST_PREFIX: Final = 3
_MOST_RANKED: Final = 5_000
_MOST_IN_ALL: Final = 10_000
_MOST_ALIKE: Final = 500
# How much one word can add to bm25's score: its weight times k1 + 1.
_HEAVIEST: Final = 2.2
_LIGHTEST: Final = 1e-6
_COUNT: Final = "SELECT count(*) FROM words WHERE words MATCH ?"
_ALL: Final = "SELECT count(*) FROM entries"
_RANKED: Final = """
    SELECT id, score FROM (
        SELECT rowid AS id, -rank AS score FROM words WHERE words MATCH ? LIMIT ?
    ) ORDER BY score DESC, id LIMIT ?
"""
# The score is computed only for rows that the second condition lets through.
_RANKED_AMONG: Final = """
    SELECT id, score FROM (
        SELECT rowid AS id, -rank AS score FROM words WHERE words MATCH ?
            AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?) LIMIT ?
    ) ORDER BY score DESC, id LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word, or the beginning of one, as the index is asked for it."""

    text: str
    entries: int
    weight: float


class WordSearch:
    """One search; `kinds` are those that are wanted, none for all."""

    def __init__(self, ask: Ask, words: Sequence[str], kinds: Sequence[str], most: int) -> None:
        self._ask = ask
        self._words = tuple(dict.fromkeys(words))[:MOST_WORDS]
        self._kinds = f"kind : ({_either(map(_quoted, kinds))}) AND " if kinds else ""
        self._most = most

    def found(self) -> dict[int, float]:
        """Give ids of entries with their scores, in the order in which they fit."""
        found: dict[int, float] = {}
        for rows in self._steps():
            for identity, score in rows:
                if len(found) < self._most:
                    found.setdefault(identity, score)
            if len(found) >= self._most:
                break
        return found

    def _steps(self) -> Iterator[list[tuple[int, float]]]:
        """Ask, the strictest question first; the next is asked only where too little was found."""
        words = self._words
        if not words:
            return
        every = " AND ".join(map(_quoted, words))
        if len(words) > 1:
            yield self._all_of(f"name : {_quoted('_'.join(words))}")
        if len(self._known) == len(words):
            yield self._all_of(f"name : ({every})")
            yield self._all_of(every)
        if len(words) > 1:
            yield self._some_of(self._known)
        long = [word for word in words if len(word) >= _SHORTEST_PREFIX]
        yield self._some_of(self._counted(f"{_quoted(word)} *" for word in long))

    def _all_of(self, match: str) -> list[tuple[int, float]]:
        alike = all(one.weight <= _LIGHTEST for one in self._known)
        return self._ranked(match, _MOST_ALIKE if alike else _MOST_RANKED)

    def _some_of(self, known: Sequence[_Word]) -> list[tuple[int, float]]:
        """Rank what has any of the words, without looking at what cannot be among the best."""
        telling = [one for one in known if one.weight > _LIGHTEST]
        ranked = self._best(telling) if telling else []
        if known[len(telling) :] and len(ranked) < self._most:
            # These are in more than half of all entries: which of them comes first is chance.
            ranked += self._ranked(_any(known), _MOST_ALIKE)
        return ranked

    def _best(self, words: Sequence[_Word]) -> list[tuple[int, float]]:
        first, rest = _rare(words)
        if not rest:
            return self._ranked(_any(words), _MOST_RANKED)
        ranked = self._among(_any(words), _any(first))
        return ranked if self._beats(ranked, rest) else self._ranked(_any(words), _MOST_IN_ALL)

    def _beats(self, ranked: Sequence[tuple[int, float]], rest: Sequence[_Word]) -> bool:
        """Tell whether an entry that has only the other words would come behind all of these."""
        if len(ranked) < self._most:
            return False
        return ranked[-1][1] >= sum(one.weight for one in rest) * _HEAVIEST

    @cached_property
    def _known(self) -> list[_Word]:
        return self._counted(map(_quoted, self._words))

    def _counted(self, texts: Iterable[str]) -> list[_Word]:
        """Give the words that some entry has, the rarest first."""
        return sorted((one for one in map(self._word, texts) if one.entries), key=_rarest)

    def _word(self, text: str) -> _Word:
        ((entries,),) = self._ask(_COUNT, (self._kinds + text,))
        rare = (self._all - entries + 0.5) / (entries + 0.5)
        return _Word(text, entries, max(_LIGHTEST, math.log(rare)))

    @cached_property
    def _all(self) -> int:
        ((entries,),) = self._ask(_ALL, ())
        return int(entries)

    def _ranked(self, match: str, most: int) -> list[tuple[int, float]]:
        return self._ask(_RANKED, (f"{self._kinds}({match})", most, self._most))

    def _among(self, match: str, candidates: str) -> list[tuple[int, float]]:
        asked = (f"{self._kinds}({match})", candidates, _MOST_RANKED, self._most)
        return self._ask(_RANKED_AMONG, asked)


def _rare(words: Sequence[_Word]) -> tuple[Sequence[_Word], Sequence[_Word]]:
    """Take the rarest words, at least one, as long as few entries have them; give the others."""
    taken, entries = 0, 0
    for one in words:
        entries += one.entries
        if taken and entries > _MOST_RANKED:
            break
        taken += 1
    return words[:taken], words[taken:]


def _rarest(word: _Word) -> tuple[int, str]:
    return word.entries, word.text


def _any(words: Sequence[_Word]) -> str:
    return _either(one.text for one in words)


def _either(texts: Iterable[str]) -> str:
    return " OR ".join(texts)


def _quoted(word: str) -> str:
    """Quote a word, which may be one of FTS5's own."""
    return '"' + word.replace('"', '""') + '"'
