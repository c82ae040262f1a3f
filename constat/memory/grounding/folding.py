"""Texts in a form in which spelling does not matter, with the way back to each character.

In: a text.  Out: the folded text and, for each of its characters, where it comes from.  Invariant:
folding a part gives a part of the folding of the whole, up to blanks at its ends; letters, digits
and their order are never changed, only how they are written.

Example: ``fold("Total  IS 5")`` has the text ``total is 5``.
Reference: https://unicode.org/reports/tr15/ (NFKC)
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_SAME: Final = MappingProxyType(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
    }
)
# Marks that show nothing: soft hyphens, joiners, direction marks, and what Markdown puts around.
NOTHING: Final = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff*")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; ``places[i]`` is where its character ``i`` comes from."""

    text: str
    places: tuple[int, ...]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the original that became ``start`` to ``end``."""
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Fold blanks to one, and letters to their plain small form."""
    found: list[str] = []
    places: list[int] = []
    for place, one in enumerate(text):
        if one in NOTHING:
            continue
        for plain in plainly(one):
            if plain == " " and (not found or found[-1] == " "):
                continue
            found.append(plain)
            places.append(place)
    if found and found[-1] == " ":
        found.pop()
        places.pop()
    return Folded("".join(found), tuple(places))


def plainly(one: str) -> str:
    """Return a character in its plain small form; any blank is a space."""
    if "!" <= one <= "~":
        return one.lower() if one != "`" else "'"
    if one.isspace():
        return " "
    same = _SAME.get(one)
    if same is not None:
        return same
    return unicodedata.normalize("NFKC", one).casefold() or one
