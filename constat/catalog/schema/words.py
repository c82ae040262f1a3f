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
_LAWFUL: Final = re.compile(r"[a-z][a-z0-9_]*")
_HISSING: Final = (
    *("sses", "shes", "ches", "xes", "zzes"),
    *("uses", "gases", "lenses", "aliases", "atlases", "biases", "canvases"),
)
_MUTE: Final = ("ouses", "auses", "cuses", "fuses", "abuses")
_GERMAN: Final = ("ungen", "heiten", "keiten", "schaften", "ionen")
_ONE: Final = (
    *("ss", "us", "is", "ics", "news", "series", "species", "means", "corps", "lens", "alias"),
    *("atlas", "bias", "canvas", "chaos", "gas", "glas", "kurs", "fels", "hals", "keks", "klops"),
    *("mais", "puls", "zins", "schnaps", "gips", "cours", "temps", "repas", "pays"),
)
"""How words end that are no plural, though they end with s."""
_PLURALS: Final = MappingProxyType(
    {
        **{f"{word}s": word for word in ("movie", "cookie", "calorie", "zombie", "selfie", "pie")},
        **{f"{word}s": word for word in ("tie", "lie", "use", "cache", "niche", "headache")},
        "people": "person",
        "children": "child",
        "indices": "index",
        "matrices": "matrix",
        "vertices": "vertex",
        "appendices": "appendix",
        "analyses": "analysis",
        "hypotheses": "hypothesis",
        "crises": "crisis",
        "heroes": "hero",
        "echoes": "echo",
        "potatoes": "potato",
        "tomatoes": "tomato",
        "vetoes": "veto",
        "shelves": "shelf",
        "halves": "half",
        "wolves": "wolf",
        "thieves": "thief",
        "loaves": "loaf",
        **{word: word for word in ("axes", "leaves", "lives", "bases")},
    }
)
"""Plurals that end otherwise; what may be that of two words stays as it is."""
_SHORT: Final = 3
_LEAST_PART: Final = 4
_LEAST_BEGINNING: Final = 3
_ENDING: Final = 2
_VOWELS: Final = "aeiou"
_UNHEARD: Final = MappingProxyType(str.maketrans("", "", "aeious"))
_SPELLED: Final = MappingProxyType(str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}))
_SYNONYMS: Final = Path(__file__).with_name("synonyms.txt")


def words_of(name: str) -> tuple[str, ...]:
    """Split a name at its underscores, blanks, digits and capitals."""
    letters = name[:_LONGEST]
    if not letters.isascii():
        letters = _plain(letters)
    return tuple(map(str.lower, _WORD.findall(letters)))


def spoken_words(name: str) -> tuple[str, ...]:
    """Split a name as `words_of` does, into words as a person writes them.

    >>> spoken_words("GrößeDerHäuser")
    ('größe', 'der', 'häuser')
    """
    letters = unicodedata.normalize("NFC", name[:_LONGEST])
    # One plain letter stands for each, so that both are split at the same places.
    places = "".join(_plain(letter)[:1] or "_" for letter in letters)
    return tuple(letters[slice(*found.span())].lower() for found in _WORD.finditer(places))


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).translate(_LETTERS)
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def singular(words: tuple[str, ...], *, english: bool = True) -> tuple[str, ...]:
    """Put the last word in the singular, as it is in a name of English or in any name."""
    return (*words[:-1], _singular(words[-1], english=english)) if words else ()


def _singular(word: str, *, english: bool = True) -> str:
    if word.endswith(_GERMAN):
        return word[:-2]
    if not english:
        return word
    if word in _PLURALS:
        return _PLURALS[word]
    if len(word) <= _SHORT or not word.endswith("s") or word.endswith(_ONE):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    hisses = word.endswith(_HISSING) and not word.endswith(_MUTE)
    return word[:-2] if hisses else word[:-1]


def synonyms(word: str) -> Sequence[str]:
    """Give other words for what a word in lower case names, as the thesaurus has them.

    A word that it does not have may be two that it has.

    >>> "customer" in synonyms("clients")
    True
    >>> "stock" in synonyms("lagerbestand")
    True
    """
    known = _thesaurus()
    single = _singular(word)
    found = known.get(single) or known.get(word)
    if found is not None:
        return found
    for place in range(_LEAST_PART, len(single) - _LEAST_PART + 1):
        first, second = single[:place], single[place:]
        parts = known.get(first) or known.get(first.removesuffix("s")), known.get(second)
        if parts[0] and parts[1]:
            return tuple(dict.fromkeys((second, *parts[1], first, *parts[0])))
    return ()


def is_abbreviation(short: str, word: str) -> bool:
    """Tell whether a name may have a word in short, the first letters or those that are heard.

    >>> [one for one in ("supp", "splr", "sir", "plier") if is_abbreviation(one, "supplier")]
    ['supp', 'splr']
    """
    if not 1 < len(short) < len(word) - 1 or short[0] != word[0]:
        return False
    if len(short) >= _LEAST_BEGINNING and word.startswith(short):
        return True
    letters = iter(word)
    heard = all(letter in letters for letter in short)
    ends = short[-1] == word[-1] or short[-1] in word[-_ENDING:].translate(_UNHEARD)
    vowels = sum(letter in _VOWELS for letter in short[1:-1])
    return heard and ends and not vowels and short not in _thesaurus()


@cache
def _thesaurus() -> Mapping[str, Sequence[str]]:
    """Read the thesaurus: a line has the words for one thing, and a word may have many things."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for line in _SYNONYMS.read_text(encoding="utf-8").splitlines():
        spelled = "" if line.startswith("#") else f"{line} {line.translate(_SPELLED)}"
        group = dict.fromkeys(word for one in spelled.split() for word in words_of(one))
        for word in group:
            found[word].update(group)
    return {word: tuple(one for one in others if one != word) for word, others in found.items()}


def identifier(name: str, taken: Collection[str], fallback: str) -> str:
    """Give a name of the language for a name of a source, one that is not taken."""
    joined = "_".join(word for word in words_of(name) if word.isascii())[:_LONGEST_NAME]
    if len(name) <= _LONGEST_NAME and _LAWFUL.fullmatch(name):
        # What can be a name here stays: `v1_x` is no `v_1_x`.
        joined = name
    plain = joined.strip("_") or fallback
    if not plain[0].isalpha():
        plain = f"{fallback}_{plain}"
    if plain in RESERVED | BASE_TYPES | DIRECTIVES:
        plain += "_"
    chosen, number = plain, 2
    while chosen in taken:
        chosen, number = f"{plain.rstrip('_')}_{number}", number + 1
    return chosen
