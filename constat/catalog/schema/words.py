"""The words in a name of a table or column.

In: a name as a source spells it. Out: its words in lower case, without accents; a noun in the
singular. Invariant: time is linear in the name. Example: `words_of("CustomerID")` and
`words_of("customer_ids")` differ by the plural only, which `singular` takes away.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.syntax.words import BASE_TYPES, DIRECTIVES, RESERVED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_LONGEST: Final = 200
_LONGEST_NAME: Final = 40
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
# Letters of Latin that are no letter with an accent.
_LETTERS: Final = MappingProxyType(
    str.maketrans({"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O"})
)
_HISSING: Final = ("sses", "shes", "ches", "xes", "zes")
_SHORT: Final = 3
_SYNONYMS: Final = Path(__file__).with_name("synonyms.txt")


def words_of(name: str) -> tuple[str, ...]:
    """Split a name at its underscores, blanks, digits and capitals."""
    letters = name[:_LONGEST]
    if not letters.isascii():
        plain = unicodedata.normalize("NFKD", letters).translate(_LETTERS)
        letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(map(str.lower, _WORD.findall(letters)))


def singular(words: tuple[str, ...]) -> tuple[str, ...]:
    """Put the last word in the singular."""
    return (*words[:-1], _singular(words[-1])) if words else ()


def _singular(word: str) -> str:
    if len(word) <= _SHORT or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_HISSING) else word[:-1]


def synonyms(word: str) -> Sequence[str]:
    """Give other words for what a word in lower case names, as the thesaurus has them.

    >>> "customer" in synonyms("clients")
    True
    """
    return _thesaurus().get(_singular(word), ())


@cache
def _thesaurus() -> Mapping[str, Sequence[str]]:
    """Read the thesaurus: a line has the words for one thing, and a word may have many things."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for line in _SYNONYMS.read_text(encoding="utf-8").splitlines():
        group = () if line.startswith("#") else words_of(line)
        for word in group:
            found[word].update(dict.fromkeys(group))
    return {word: tuple(one for one in others if one != word) for word, others in found.items()}


def identifier(name: str, taken: Collection[str], fallback: str) -> str:
    """Give a name of the language for a name of a source, one that is not taken."""
    joined = "_".join(word for word in words_of(name) if word.isascii())[:_LONGEST_NAME]
    plain = joined.strip("_") or fallback
    if not plain[0].isalpha():
        plain = f"{fallback}_{plain}"
    if plain in RESERVED | BASE_TYPES | DIRECTIVES:
        plain += "_"
    chosen, number = plain, 2
    while chosen in taken:
        chosen, number = f"{plain.rstrip('_')}_{number}", number + 1
    return chosen
