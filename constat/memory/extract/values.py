"""What prose names exactly: numbers with their units, dates, times, ids, paths, addresses.

In: a passage that is no JSON.  Out: ``entity_value``: key is the kind of thing, value its plain
form.  Invariants: the span is the piece as it was written; the first kind that fits decides, so a
date is not three numbers; a bounded number of pieces is taken from one text.  What is said is also
read for days and times in words, and what people say for names and small numbers in words: of other
texts there would be too many.

Example: ``pay $1,250.50 by May 20, 2024`` has money 1250.50 in USD and the date 2024-05-20.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.facts import Author
from constat.memory.grounding import moments, quantities
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact

_MOST: Final = 5_000
_MONTH: Final = (
    r"(?:(?i:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_UNITS: Final = (
    r"(?:percent|hours?|minutes?|seconds?|days?|weeks?|months?|years?|km|kg|cm|mm|ms|min"
    r"|[KMGT]i?B|tokens?|rows?|miles?|dollars?|euros?|USD|EUR|GBP)"
)
_NUMBER: Final = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_PART: Final = r"(?:[ ](?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night)\b)"
_SCALE: Final = r"(?:[ ]?(?:thousand|million|billion|trillion|bn|k)\b)"
# What all of these hold; a line without one is not looked at again.
_LINES: Final = re.compile(r"^[^\n0-9@/]*+[0-9@/][^\n]*", re.MULTILINE)
# Bounded repetitions, and no two ways to read one character: the time is that of one reading.
_PIECES: Final = re.compile(
    rf"""
      (?P<url>\b(?:https?|ftp|file)://[^\s<>"'`\])]{{1,2000}}(?<![.,;:!?]))
    | (?P<email>\b[A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+)
    | (?P<path>(?<![\w/.~])(?:~|\.{{1,2}})?(?:/[\w.@+-]{{1,255}}){{2,60}}/?(?<![.,;:])
        |(?<![\w/])(?:[\w-]{{1,100}}/){{1,30}}[\w-]{{1,100}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\b)
    | (?P<moment>\b[0-9]{{4}}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]
        (?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)
    | (?P<date>\b[0-9]{{4}}-[01]?[0-9]-[0-3]?[0-9]\b
        |\b{_MONTH}[ ][0-3]?[0-9](?:st|nd|rd|th)?,?[ ][0-9]{{4}}\b
        |\b[0-3]?[0-9](?:st|nd|rd|th)?[ ](?:of[ ])?{_MONTH},?[ ][0-9]{{4}}\b
        |\b{_MONTH}[ ][0-3]?[0-9](?:st|nd|rd|th)?\b(?![:,.]?[0-9])
        |\b[0-3]?[0-9](?:st|nd|rd|th)?[ ](?:of[ ])?{_MONTH}(?!\w))
    | (?P<clock>\b[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?:[ ]?[ap](?:m\b|\.m\b\.?)|{_PART})?
        |\b1?[0-9](?:[ ]?[ap]m\b|{_PART}))
    | (?P<serial>(?<![\w.-])\+?[0-9]{{1,5}}(?:[.-][0-9]{{2,6}}){{2,6}}(?![\w-])
        |\([0-9]{{3}}\)[ ]?[0-9]{{3}}-[0-9]{{4}}\b)
    | (?P<money>[$€£][ ]?(?:{_NUMBER}){_SCALE}?)
    | (?P<id>\#?\b(?=[A-Za-z0-9_-]{{0,60}}[0-9])(?=[A-Za-z0-9_-]{{0,60}}[A-Za-z])[A-Za-z0-9]
        [A-Za-z0-9_-]{{2,80}}\b)
    | (?P<amount>(?<![\w.,])-?(?:{_NUMBER}){_SCALE}?(?:[ ]?%|[ ]?{_UNITS}\b)?)
    """,
    re.VERBOSE,
)
_COUNTS: Final = MappingProxyType(
    {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
    | {"nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}
)
_HOURS: Final = r"(?:1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_DAYS: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_CAPITAL: Final = r"(?:(?:St|Dr|Mr|Mrs|Ms|Mt|[A-Z])\.|[A-Z][\w'&-]{0,40})(?![\w#])"
_WORDS: Final = re.compile(
    rf"""
      (?P<day>\b(?:the[ ]day[ ]after[ ]tomorrow|today|tomorrow|tonight|yesterday
        |(?:(?:next|this|last|coming|following)[ ])?{_DAYS}(?:[ ](?:next|this)[ ]week)?
        |(?:next|this|last)[ ](?:week(?:end)?|month|year)
        |[0-3]?[0-9](?:st|nd|rd|th)[ ]of[ ](?:this|next)[ ]month
        |(?:the[ ])?[0-3]?[0-9](?:st|nd|rd|th)(?![ ]of[ ](?:this|next)[ ]month))\b)
    | (?P<clock>\b(?:(?:half[ ]past|quarter[ ](?:past|to))[ ]{_HOURS}\b
        (?:[ ](?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night|[ap]m)\b)?
        |(?:(?:morning|afternoon|evening)[ ]){_HOURS}(?::[0-5][0-9])?\b|noon\b|midnight\b
        |\b{_HOURS}(?:[ ][ap]m\b|{_PART})))
    | (?P<count>\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)
    | (?P<name>(?<![\#\w])(?-i:{_CAPITAL})
        (?:[ ](?:(?:of|the|de|la|&)[ ]){{0,2}}(?-i:{_CAPITAL})){{0,8}}(?-i:,[ ][A-Z]{{2}}\b)?)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_COMMON: Final = frozenset(
    {"i", "i'm", "i'd", "i'll", "i've", "ok", "okay", "yes", "no", "hi", "hello", "hey", "thanks"}
    | {"please", "sure", "the", "a", "an", "my", "can", "could", "would", "what", "when", "where"}
    | {"which", "who", "how", "why", "is", "are", "do", "does", "that", "this", "it", "and", "but"}
    | {"find", "book", "also", "yeah", "yep", "great", "good", "perfect", "alright", "thank", "if"}
    | {"actually", "well", "so", "then", "there", "let's", "let", "just", "you", "we", "they", "in"}
    | {"it's", "that's", "once", "while", "id", "ids", "one", "exactly", "check", "look", "dates"}
    | {"am", "pm", "est", "pst", "cst", "edt", "pdt", "utc", "gmt", "dob", "stop", "fyi", "asap"}
    | {"for", "on", "at", "to", "not", "never", "nope", "nothing", "hmm", "oh", "right", "correct"}
)
_CURRENCIES: Final = MappingProxyType({"$": "USD", "€": "EUR", "£": "GBP"})
_SPLIT: Final = re.compile(
    rf"(?P<number>-?(?:{_NUMBER}))(?:[ ]?(?P<scale>thousand|million|billion|trillion|bn|k)\b)?"
    r"[ ]?(?P<unit>.*)",
    re.DOTALL,
)


def from_values(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each piece."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS or reading.members is not None:
        return
    human = passage.author is Author.HUMAN
    found_words = _in_words(passage.text, names=human) if passage.place is Place.SAID else ()
    words = list(islice(found_words, _MOST))
    in_words = _Spans(
        (start, end) for start, end, said in words if said.key not in {"name", "number"}
    )
    exact = [
        found
        for found in islice(_exact(passage.text), _MOST)
        if not in_words.hold(found.start(), found.end())
    ]
    for found in exact:
        said = _said(found.lastgroup or "", found.group())
        yield fact(passage, said, found.start(), found.end(), "prose")
    taken = _Spans((found.start(), found.end()) for found in exact)
    for start, end, said in words:
        if not taken.touch(start, end):
            yield fact(passage, said, start, end, "words")


class _Spans:
    """Places in a text that do not overlap, in their order."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = tuple(spans)

    def touch(self, start: int, end: int) -> bool:
        """Tell whether one of them overlaps with a place."""
        at = bisect_right(self._spans, start, key=lambda span: span[1])
        return at < len(self._spans) and self._spans[at][0] < end

    def hold(self, start: int, end: int) -> bool:
        """Tell whether a place lies in one of them, and is not the whole of it."""
        at = bisect_right(self._spans, start, key=lambda span: span[1])
        if at == len(self._spans):
            return False
        begin, behind = self._spans[at]
        return begin <= start and end <= behind and (begin, behind) != (start, end)


def _exact(text: str) -> Iterator[re.Match[str]]:
    for line in _LINES.finditer(text):
        yield from _PIECES.finditer(text, line.start(), line.end())


def _in_words(text: str, *, names: bool) -> Iterator[tuple[int, int, Said]]:
    """Yield days and times in words, and names and small numbers if wanted, each with its place."""
    for found in _WORDS.finditer(text):
        kind, value, start = found.lastgroup or "", found.group(), found.start()
        if kind not in {"name", "count"}:
            yield start, found.end(), Said("entity_value", kind, value)
        elif names and kind == "count":
            number = _COUNTS[value.lower()]
            yield start, found.end(), Said("entity_value", "number", number, "number")
        elif names:
            value, start = _name(value, start, text[:start])
            if value and _tells(value, text[:start]):
                yield start, start + len(value), Said("entity_value", kind, value)


def _tells(name: str, before: str) -> bool:
    """Tell whether a name is one by its letters, or by where it stands.

    A lone word with which a sentence begins says nothing by its capital.
    """
    if " " in name or (name.isupper() and len(name) > 1):
        return True
    return not _begins(before)


def _begins(before: str) -> bool:
    """Tell whether a sentence begins behind a text."""
    return before.rstrip(" \t\"'(-*#")[-1:] in {"", ".", "!", "?", "\n", ":"}


def _name(value: str, start: int, before: str) -> tuple[str, int]:
    """Leave out the common words with which a name seems to begin or end.

    `The` is a part of a name within a sentence, as in `at The Grill`.
    """
    words = value.split(" ")
    named = words[0] == "The" and len(words) > 1 and not _begins(before)
    while words and words[0].lower() in _COMMON and not named:
        start += len(words.pop(0)) + 1
    while words and words[-1].lower() in _COMMON:
        words.pop()
    return " ".join(words).rstrip("'&-"), start


def _said(kind: str, text: str) -> Said:
    match kind:
        case "date":
            day = moments.day_of(re.sub(r"\s+", " ", text.lower()))
            return Said("entity_value", "date", day or text, "date")
        case "money":
            number, _ = _amount(text[1:].strip())
            return Said("entity_value", "money", number, "number", _CURRENCIES[text[0]])
        case "amount":
            number, unit = _amount(text)
            return Said("entity_value", "number", number, "number", unit)
        case "serial":
            return Said("entity_value", "id", text)
        case _:
            return Said("entity_value", kind, text)


def _amount(text: str) -> tuple[str, str]:
    """Return a number without commas, a scale applied, and its unit."""
    split = _SPLIT.fullmatch(text)
    if split is None:
        return text, ""
    number = split["number"].replace(",", "")
    if split["scale"]:
        value = quantities.plain(number) * quantities.SCALES[split["scale"]]
        number = str(value.numerator) if value.denominator == 1 else str(float(value))
    return number, split["unit"]
