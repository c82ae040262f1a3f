"""Read the numbers of an English sentence that are written as words.

In: a sentence. Out: `Number` values, with the places at which they stand. Invariants: a word that
can mean a number is read as one: where it was meant otherwise the sentence is lost, and never a
number that nobody looked at; what says an amount and no number (`dozens`, `hundreds`) has no value,
so nothing can account for it. Ordinals are places among rows. Example: `two hundred and five` is
205, `three quarters of` is 0.75, `twice` is 2 times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLACE, SHARE, VAGUE = "place", "share", "vague"
_UNITS: Final = MappingProxyType(
    {
        word: value
        for value, word in enumerate(
            (
                *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
                *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
                *("seventeen", "eighteen", "nineteen"),
            )
        )
    }
)
_TENS: Final = MappingProxyType(
    {
        word: 10 * value
        for value, word in enumerate(
            ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
        )
    }
)
_SCALES: Final = MappingProxyType(
    {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
)
_TIMES: Final = MappingProxyType(
    {
        "twice": 2,
        "double": 2,
        "doubled": 2,
        "doubles": 2,
        "twofold": 2,
        "thrice": 3,
        "triple": 3,
        "tripled": 3,
        "triples": 3,
        "threefold": 3,
        "quadruple": 4,
        "quadrupled": 4,
        "fourfold": 4,
        "fivefold": 5,
        "tenfold": 10,
    }
)
_ORDINALS: Final = MappingProxyType(
    {
        "second": 2,
        "third": 3,
        "fourth": 4,
        "fifth": 5,
        "sixth": 6,
        "seventh": 7,
        "eighth": 8,
        "ninth": 9,
        "tenth": 10,
        "eleventh": 11,
        "twelfth": 12,
        "twentieth": 20,
        "hundredth": 100,
    }
)
_PARTS: Final = MappingProxyType(
    {**{word: value for word, value in _ORDINALS.items() if value > 2}, "quarter": 4}  # noqa: PLR2004
)
_VAGUE: Final = frozenset(f"{word}s" for word in _SCALES) | {"tens"}
_HALVES: Final = frozenset({"half", "halves", "halved"})
_WORD: Final = re.compile(r"[A-Za-z]+")
_BEHIND: Final = re.compile(
    r"\s*(?:(?P<percent>%|percent\b|per cent\b)|(?P<times>[- ]?times\b|-?fold\b))"
)
_DIGITS_BEFORE: Final = re.compile(r"\d[\s-]*\Z")
_NO_COUNT: Final = frozenset(
    {"no", "any", "every", "each", "this", "that", "which", "another", "last", "next", "first"}
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a sentence: its text, its value, the unit of its last place, and what it counts.

    `share` is `percent`, `times`, `share` (a part of a whole), `place` (an ordinal), `vague` for
    what has no value, or empty for a plain number.
    """

    text: str
    value: Decimal
    unit: Decimal
    share: str


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


def numbers_in_words(sentence: str) -> tuple[Number, ...]:
    """Read the numbers of a sentence that are written as words."""
    words = [_Word(one[0].lower(), one.start(), one.end()) for one in _WORD.finditer(sentence)]
    return tuple(_Reading(sentence, words).numbers())


class _Reading:
    """One sentence, word by word."""

    def __init__(self, sentence: str, words: Sequence[_Word]) -> None:
        self.sentence = sentence
        self.words = words

    def numbers(self) -> Iterator[Number]:
        place = 0
        while place < len(self.words):
            number, place = self.number(place)
            if number is not None:
                yield number

    def number(self, place: int) -> tuple[Number | None, int]:
        """Read what begins at a word; gives the place behind it."""
        word = self.words[place].text
        if word in _VAGUE:
            return self.told(place, place + 1, Decimal(0), VAGUE), place + 1
        if word in _TIMES:
            return self.told(place, place + 1, Decimal(_TIMES[word]), "times"), place + 1
        if word in _HALVES and self.at(place - 1) not in {"first", "second"}:
            return self.told(place, place + 1, Decimal("0.5"), SHARE), place + 1
        part = self.part(place)
        if part is not None:
            return part
        if word in _ORDINALS:
            return self.told(place, place + 1, Decimal(_ORDINALS[word]), PLACE), place + 1
        end = self.cardinal_end(place)
        return (None, place + 1) if end == place else self.cardinal(place, end)

    def part(self, place: int) -> tuple[Number, int] | None:
        """Read `a third`, `three quarters of`."""
        count = {"a": 1, "an": 1}.get(self.words[place].text) or _UNITS.get(self.words[place].text)
        name = self.at(place + 1)
        whole = _PARTS.get(name) or _PARTS.get(name.removesuffix("s"))
        if not count or whole is None or not self.joined(place):
            return None
        if name == "quarter" and self.at(place + 2) != "of":
            # A quarter of a year.
            return None
        if self.words[place].text in {"a", "an"} and self.at(place + 2) not in {"of", "more"}:
            # `a third region` is one more.
            return None
        value = Decimal(count) / Decimal(whole)
        return self.told(place, place + 2, value, SHARE), place + 2

    def cardinal_end(self, place: int) -> int:
        """Find where the number that begins at a word ends; at the word itself where none does."""
        if self.at(place) in {"a", "an"}:
            return place if self.at(place + 1) not in _SCALES else self.cardinal_end(place + 1)
        end = place
        while end < len(self.words) and self.is_cardinal(self.at(end)):
            end += 1
            if not self.joined(end - 1):
                break
            scaled = self.at(end - 1) in _SCALES and self.at(end) == "and"
            if scaled and self.is_cardinal(self.at(end + 1)) and self.joined(end):
                end += 1
        return end

    def cardinal(self, place: int, end: int) -> tuple[Number | None, int]:
        words = [one.text for one in self.words[place:end] if one.text not in {"a", "an", "and"}]
        before = self.sentence[: self.words[place].start]
        if words[0] in _SCALES and _DIGITS_BEFORE.search(before):
            # `650 thousand` is read with its digits.
            return None, end
        if words == ["one"] and (self.at(place - 1) in _NO_COUNT or self.at(end) in {"of", "s"}):
            return None, end
        value, unit = _value(words)
        if value is None:
            return self.told(place, end, Decimal(0), VAGUE), end
        behind = _BEHIND.match(self.sentence, self.words[end - 1].end)
        share = "" if behind is None else "percent" if behind["percent"] else "times"
        return Number(self.text(place, end), value, unit, share), end

    def told(self, place: int, end: int, value: Decimal, share: str) -> Number:
        unit = Decimal("0.01") if share == SHARE else Decimal(1)
        return Number(self.text(place, end), value, unit, share)

    def text(self, place: int, end: int) -> str:
        return self.sentence[self.words[place].start : self.words[end - 1].end]

    def at(self, place: int) -> str:
        return self.words[place].text if 0 <= place < len(self.words) else ""

    def joined(self, place: int) -> bool:
        """Whether nothing but a space or a hyphen lies between a word and the next."""
        if place + 1 >= len(self.words):
            return False
        between = self.sentence[self.words[place].end : self.words[place + 1].start]
        return between in {" ", "-"}

    @staticmethod
    def is_cardinal(word: str) -> bool:
        return word in _UNITS or word in _TENS or word in _SCALES


def _value(words: Sequence[str]) -> tuple[Decimal | None, Decimal]:
    """Add up the words of a number; `None` where they are none, such as `twenty twenty`."""
    total = part = 0
    least, room = 10**12, 10**12
    for word in words:
        scale = _SCALES.get(word, 0)
        if scale >= 1_000:  # noqa: PLR2004
            if scale >= least:
                return None, Decimal(1)
            total, part, least, room = total + (part or 1) * scale, 0, scale, scale
        elif scale:
            if part >= scale:
                return None, Decimal(1)
            # Behind a dozen nothing follows.
            part, room = (part or 1) * scale, scale if scale == _SCALES["hundred"] else 0
        else:
            value = _UNITS.get(word, _TENS.get(word, 0))
            if value >= room:
                return None, Decimal(1)
            part, room = part + value, 10 if word in _TENS else 1
    # `two million` may be rounded as `2 million` may; `two hundred` is two hundred.
    rounded = words[-1] in _SCALES and _SCALES[words[-1]] >= 1_000  # noqa: PLR2004
    return Decimal(total + part), Decimal(_SCALES[words[-1]] if rounded else 1)
