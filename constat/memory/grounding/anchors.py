"""Find a quote in a text, first letter by letter, then however it is spelled.

In: a quote and a text.  Out: where the text holds it, in characters of the text.  Invariants: what
is found folds to the folded quote; a quote begins and ends where words do, so that ``17`` is not
found in ``2017``; a bounded number of places is given.

Example: the quote ``"is gold"`` stands at 5 to 12 of ``C009 is gold.``, and so does ``IS  gold``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.memory.grounding.folding import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PLACES: Final = 20
# Models put quotes around what they cite, and dots where they break off.
_AROUND: Final = " \t\r\n\"'`\u201c\u201d\u2018\u2019\u2026."


@dataclass(frozen=True, slots=True)
class Found:
    """A quote in a text; ``exact`` tells that it stands there letter by letter."""

    start: int
    end: int
    exact: bool


def located(quote: str, text: str) -> Iterator[Found]:
    """Yield the places of a quote."""
    wanted = quote.strip()
    exact = list(_places(wanted, text))
    if exact:
        yield from (Found(start, start + len(wanted), exact=True) for start in exact)
        return
    bare = fold(quote.strip(_AROUND)).text
    folded = fold(text)
    for start in _places(bare, folded.text):
        yield Found(*folded.origin(start, start + len(bare)), exact=False)


def _places(wanted: str, text: str) -> Iterator[int]:
    if not wanted:
        return
    found, given = text.find(wanted), 0
    while found >= 0 and given < MOST_PLACES:
        if _whole(text, found, found + len(wanted)):
            yield found
            given += 1
        found = text.find(wanted, found + 1)


def _whole(text: str, start: int, end: int) -> bool:
    """Tell whether no word goes on beyond the ends."""
    before = text[start - 1 : start + 1] if start else ""
    behind = text[end - 1 : end + 1]
    return not any(len(two) == 2 and two.isalnum() for two in (before, behind))  # noqa: PLR2004
