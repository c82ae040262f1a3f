"""Find texts by words: an index of everything that was said.

In: texts, and words to look for.  Out: texts with a snippet, the best first.  Invariants: the same
texts and words give the same order; what is looked for is never read as a query language; a text is
found by other forms of its words.

Two rankings are put together, of single texts and of texts with their neighbours, for an answer
often stands beside the question that has the words.  References: G. Cormack, C. Clarke and
S. Buettcher, Reciprocal Rank Fusion, SIGIR 2009; https://www.sqlite.org/fts5.html
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.memory.history import Cited

_WORDS: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 64
_SNIPPET: Final = 200
# How far a ranking counts; the usual constant of the method.
_DAMPING: Final = 60
_DEPTH: Final = 4
_STOP: Final = frozenset(
    _WORDS.findall(
        "a an and are as at be been but by can could did do does for from had has have he her his "
        "how i if in is it its may me my of on or our she should so that the their them then there "
        "they this to was we were what when where which who whom whose why will with would you your"
    )
)


@dataclass(frozen=True, slots=True)
class Found:
    """A text that was found: its name, who said it, a piece of it, and how well it fits."""

    place: str
    speaker: str
    snippet: str
    score: float


class Index:
    """An index in the memory of the program; texts are added and never taken away.

    With ``neighbours`` a text is found by the words of those beside it as well.
    """

    def __init__(self, *, neighbours: bool = True) -> None:
        self._neighbours = neighbours
        self._file = sqlite3.connect(":memory:", isolation_level=None)
        for table in ("single", "beside"):
            self._file.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5"
                "(content, content='', tokenize='porter unicode61')"
            )
        self._texts: list[Cited] = []

    def add(self, texts: Sequence[Cited]) -> None:
        """Add texts that follow those that are there."""
        first = len(self._texts)
        self._texts += texts
        self._file.execute("BEGIN")
        singles = ((at, _clean(one.passage.text)) for at, one in enumerate(texts, first + 1))
        self._file.executemany("INSERT INTO single (rowid, content) VALUES (?, ?)", singles)
        # Groups overlap by one text, so that each text stands beside the one before and after it.
        groups = ((at, self._group(at)) for at in range(first, len(self._texts)))
        self._file.executemany("INSERT INTO beside (rowid, content) VALUES (?, ?)", groups)
        self._file.execute("COMMIT")

    def __len__(self) -> int:
        return len(self._texts)

    def search(self, words: str, limit: int = 10) -> tuple[Found, ...]:
        """Return the texts that fit best; none where no word is in any."""
        wanted = _query(words)
        if not wanted or limit < 1:
            return ()
        scores: dict[int, float] = defaultdict(float)
        for rank, row in enumerate(self._ranked("single", wanted, limit * _DEPTH), 1):
            scores[row - 1] += 2 / (_DAMPING + rank)
        if not self._neighbours:
            return self._best(scores, limit, words)
        for rank, row in enumerate(self._ranked("beside", wanted, limit * _DEPTH), 1):
            for at in (row - 1, row):
                scores[at] += 1 / (2 * (_DAMPING + rank))
        return self._best(scores, limit, words)

    def _best(self, scores: Mapping[int, float], limit: int, words: str) -> tuple[Found, ...]:
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
        chosen = [one for one in best if 0 <= one[0] < len(self._texts)]
        return tuple(self._found(at, score, words) for at, score in chosen[:limit])

    def close(self) -> None:
        """Forget the index."""
        self._file.close()

    def _group(self, at: int) -> str:
        return _clean("\n".join(one.passage.text for one in self._texts[max(0, at - 1) : at + 1]))

    def _ranked(self, table: str, wanted: str, limit: int) -> list[int]:
        asked = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?"  # noqa: S608  ours
        return [int(row) for (row,) in self._file.execute(asked, (wanted, limit))]

    def _found(self, at: int, score: float, words: str) -> Found:
        text = self._texts[at]
        speaker = text.passage.author.name.lower()
        return Found(text.name, speaker, _snippet(text.passage.text, words), score)


def _query(words: str) -> str:
    """Return words as a query of the index: any of them, none with a meaning of its own."""
    found = list(dict.fromkeys(one.lower() for one in _WORDS.findall(_clean(words))))
    telling = [one for one in found if one not in _STOP] or found
    return " OR ".join(f'"{one}"' for one in telling[:_MOST_WORDS])


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _snippet(text: str, words: str) -> str:
    """Return a piece of a text, around the first of the words that stands in it."""
    telling = [one for one in _WORDS.findall(words.lower()) if one not in _STOP]
    lowered = text.lower()
    places = [place for one in telling if (place := lowered.find(one)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET // 4)
    return text[start : start + _SNIPPET]
