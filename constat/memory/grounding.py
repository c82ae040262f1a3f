"""The gate that a fact has to pass before it may be said that a text says it.

In: a claim, a short quote that is to stand for it, the text.  Out: where the text says it, or why
it does not.  Invariants: no model is asked; a claim passes only if code finds the quote in that
text, and every constant of the claim in the sentence of the quote, with its polarity and unit.

Example: ``ground(Claim("tier", ("C009", "gold")), "is gold", "C009 is gold.", Author.HUMAN)``.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from datetime import date
from enum import Enum
from fractions import Fraction
from itertools import islice, pairwise, takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.facts import Author
from constat.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# What a sentence is made of for the gate: words, numbers with units, days, times, codes.

# Folding a part gives a part of the folding of the whole, up to blanks at its ends; letters,
# digits and their order are never changed, only how they are written.

_SAME: Final = MappingProxyType(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
    }
)
# Marks that show nothing: soft hyphens, joiners, direction marks, and what Markdown puts around.
NOTHING: Final = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff*")


@frozen
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


# A line of a list or a log is a sentence of its own; a point within `3.5`, `a.com` or `St. Louis`
# ends none.  Where it is in doubt a sentence is rather too short: what is then missing in it is
# refused, while a sentence that is too long would lend its names to others.

_END: Final = regex(
    r"(?P<mark>[.!?\u2026]+[\"')\]\u201d\u2019]*(?=\s|\Z)|[\u3002\uff01\uff1f]+"
    r"|(?<=[a-z0-9])[.!?](?=[A-Z][a-z]))"
    r"|(?P<line>\n)(?![ \t]*[a-z])|(?P<blank>\n[ \t]*\n)"
)
# A point behind these is part of the word, whatever follows, or where a number follows.
_TITLE: Final = regex(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|mt|ft|vs|approx|e\.g|i\.e)|(?<![\w'])(?-i:[A-HJ-Z]))\.\Z",
    re.IGNORECASE,
)
_BEFORE_NUMBER: Final = regex(
    r"\b(?:no|nr|art|sec|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.\Z", re.IGNORECASE
)
_LOOK_BACK_FOR_STOPS: Final = 12


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences."""
    start = 0
    for found in _END.finditer(text):
        if found["mark"] and _goes_on(text, found.end()):
            continue
        yield from _trimmed(text, start, found.end())
        start = found.end()
    yield from _trimmed(text, start, len(text))


def _goes_on(text: str, end: int) -> bool:
    follows = text[end : end + 3].lstrip(" \t")[:1]
    if not follows or follows.islower():
        return bool(follows)
    before = max(0, end - _LOOK_BACK_FOR_STOPS)
    short = _BEFORE_NUMBER.search(text, before, end) if follows.isdecimal() else None
    return bool(short or _TITLE.search(text, before, end))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    inner = part.strip()
    if inner:
        begin = start + len(part) - len(part.lstrip())
        yield begin, begin + len(inner)


_LISTED: Final = (
    ("time", "1/1000", "ms msec millisecond milliseconds"),
    ("time", "1", "s sec secs second seconds"),
    ("time", "60", "min mins minute minutes"),
    ("time", "3600", "h hr hrs hour hours"),
    ("time", "86400", "day days"),
    ("time", "604800", "week weeks"),
    ("months", "1", "month months"),
    ("months", "12", "year years yr yrs"),
    ("length", "1/1000", "mm millimetre millimetres millimeter millimeters"),
    ("length", "1/100", "cm centimetre centimetres centimeter centimeters"),
    ("length", "1", "metre metres meter meters"),
    ("length", "1000", "km kilometre kilometres kilometer kilometers"),
    ("length", "1609.344", "mile miles"),
    ("mass", "1/1000", "mg milligram milligrams"),
    ("mass", "1", "g gram grams"),
    ("mass", "1000", "kg kilogram kilograms kilo kilos"),
    ("mass", "453.59237", "lb lbs"),
    ("pounds", "1", "pound pounds"),
    ("bytes", "1", "byte bytes"),
    ("bytes", "1000", "kb"),
    ("bytes", "1000000", "mb"),
    ("bytes", "1000000000", "gb"),
    ("bytes", "1000000000000", "tb"),
    ("bytes", "1024", "kib"),
    ("bytes", "1048576", "mib"),
    ("bytes", "1073741824", "gib"),
    ("ratio", "1/100", "% percent pct"),
    ("USD", "1", "$ usd dollar dollars"),
    ("USD", "1/100", "cent cents"),
    ("EUR", "1", "\u20ac eur euro euros"),
    ("GBP", "1", "\u00a3 gbp"),
    ("JPY", "1", "\u00a5 jpy yen"),
    ("CHF", "1", "chf"),
    ("heat in C", "1", "\u00b0c celsius"),
    ("heat in F", "1", "\u00b0f fahrenheit"),
)
UNITS: Final[Mapping[str, tuple[str, Fraction]]] = MappingProxyType(
    {word: (kind, Fraction(factor)) for kind, factor, words in _LISTED for word in words.split()}
)
SCALES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "hundred": 10**2,
        "k": 10**3,
        "thousand": 10**3,
        "mn": 10**6,
        "mio": 10**6,
        "million": 10**6,
        "bn": 10**9,
        "billion": 10**9,
        "trillion": 10**12,
        "dozen": 12,
    }
)
_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {word: value for value, word in enumerate(_SMALL)}
    | {word: 10 * value for value, word in enumerate(_TENS, 2)}
)


def number_of(words: Sequence[str]) -> Fraction | None:
    """Return the value of a number in words, ``two hundred and five``; ``None`` for others."""
    whole, group = Fraction(0), Fraction(0)
    seen = False
    for word in words:
        if word in WORDS:
            group += WORDS[word]
            seen = True
        elif word in SCALES:
            group = (group or Fraction(1)) * SCALES[word]
            if word != "hundred":
                whole, group = whole + group, Fraction(0)
            seen = True
        elif word not in {"and", "a"}:
            return None
    return whole + group if seen else None


def plain(digits: str) -> Fraction:
    """Return the value of digits with commas between thousands and a point."""
    return Fraction(digits.replace(",", ""))


def agree(claimed: tuple[Fraction, str], written: tuple[Fraction, str]) -> bool:
    """Tell whether a claimed number with its unit is what is written."""
    (value, unit), (other, other_unit) = claimed, written
    if not unit:
        shown = {other, other / 100} if UNITS.get(other_unit, ("",))[0] == "ratio" else {other}
        return value in shown
    if not other_unit:
        return False
    dimension, factor = UNITS[unit]
    other_dimension, other_factor = UNITS[other_unit]
    return dimension == other_dimension and value * factor == other * other_factor


_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NOON: Final = 12
_DAY_PART: Final = r"(?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night)"
_HOUR: Final = r"(?:1[0-2]|0?[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HALF: Final = r"[ap]\.?[ ]?m\b\.?"
# Text is small when this is used, and blanks are single.
DAY: Final = (
    r"[0-9]{4}-[01]?[0-9]-[0-3]?[0-9](?![\w-])|[0-3]?[0-9][./][0-3]?[0-9][./][0-9]{4}(?![\w/])"
    rf"|{MONTH}\b\.?[ ][0-3]?[0-9](?:st|nd|rd|th)?\b(?!:)(?:,?[ ][12][0-9]{{3}}\b)?"
    rf"|(?:the[ ])?[0-3]?[0-9](?:st|nd|rd|th)?[ ](?:of[ ])?{MONTH}\b(?:,?[ ][12][0-9]{{3}}\b)?"
)
CLOCK: Final = (
    rf"(?:half[ ]past|quarter[ ](?:past|to))[ ]{_HOUR}(?:[ ]?{_HALF}|[ ]{_DAY_PART}\b)?"
    rf"|[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?![\w:])?(?:[ ]?{_HALF}|[ ]{_DAY_PART}\b)?"
    rf"|\b{_HOUR}(?:[ ]?{_HALF}|[ ]o'clock(?:[ ]{_DAY_PART}\b)?|[ ]{_DAY_PART}\b)"
    r"|\bnoon\b|\bmidnight\b"
)
_WORDS: Final = tuple(WORDS)[1 : _NOON + 1]
_PARTS: Final = regex(
    rf"(?:(?P<shift>half|quarter) (?P<side>past|to) )?(?P<hour>[0-9]+|[a-z]+)"
    r"(?::(?P<minute>[0-9]+))?"
    rf"(?::(?P<second>[0-9]+))?(?: o'clock)?(?: ?(?P<half>{_HALF})| (?P<part>{_DAY_PART}))?"
)
_NUMERIC: Final = regex(r"([0-9]+)[./]([0-9]+)[./]([0-9]{4})")


def day_of(text: str) -> str:
    """Return a day in its ISO form, ``--05-20`` without a year; empty where it is none."""
    numeric = _NUMERIC.fullmatch(text)
    if numeric:
        return _numeric_day(*map(int, numeric.groups()))
    months = [
        at
        for word in re.findall(r"[a-z]+", text)
        for at, month in enumerate(_MONTHS, 1)
        if word.startswith(month)
    ]
    numbers = [int(one) for one in re.findall(r"[0-9]+", text)]
    if not months:
        year, month, day = numbers
        return _iso(year, month, day)
    if len(numbers) == 1:
        # A leap year has every day that there is.
        return _iso(2000, months[0], numbers[0]).replace("2000-", "--", 1)
    return _iso(numbers[1], months[0], numbers[0])


def _numeric_day(first: int, second: int, year: int) -> str:
    readings = {_iso(year, first, second), _iso(year, second, first)} - {""}
    return readings.pop() if len(readings) == 1 else ""


def _iso(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def clock_of(text: str) -> str:
    """Return a time as ``HH:MM``, with seconds where they are told; empty where it is none."""
    if text in {"noon", "midnight"}:
        return "12:00" if text == "noon" else "00:00"
    found = _PARTS.fullmatch(text)
    if found is None:
        return ""
    word, minute = found["hour"], int(found["minute"] or 0)
    hour = _WORDS.index(word) + 1 if word in _WORDS else int(word) if word.isdecimal() else 99
    if found["shift"]:
        minute = {"half": 30, "quarter": 15}[found["shift"]]
        hour, minute = (hour, minute) if found["side"] == "past" else (hour - 1, 60 - minute)
    late = _late(found["half"] or "", found["part"] or "", hour)
    if late is None and found["minute"] is None:
        return ""
    if late is not None:
        if not 0 <= hour <= _NOON:
            return ""
        hour = hour % _NOON + (_NOON if late else 0)
    second = f":{found['second']}" if found["second"] else ""
    return f"{hour:02d}:{minute:02d}{second}" if hour < 2 * _NOON else ""


def _late(half: str, part: str, hour: int) -> bool | None:
    """Tell whether a time is after noon; ``None`` where nothing says so."""
    if half:
        return half.startswith("p")
    if part.endswith("night"):
        return hour % _NOON >= 6  # noqa: PLR2004  "2 at night" is before the morning
    return None if not part else not part.endswith("morning")


# Bounded looks ahead, and no two ways to read one character: the time is that of one reading.
_PIECES: Final = regex(
    rf"""
      (?P<address>(?:https?|ftp|file)://[^\s<>"'\])]++|[\w.%+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+)
    | (?P<day>\b(?:{DAY}))
    | (?P<clock>\b(?:{CLOCK}))
    | (?P<serial>(?<!\w)\+?[0-9]++(?:(?:[.:/-]|[ ](?=[0-9]{{3}}\b))[0-9]++){{2,}}+
        |\b[0-9]++[/:-][0-9]++)
    | (?P<code>(?=[\w./\#-]{{0,80}}[0-9])(?=[\w./\#-]{{0,80}}[^\W0-9_])\w++(?:[._/\#-]++\w++)*+)
    | (?P<number>(?<!\w)(?<![0-9][.,])(?:(?<![\w)\]]-)(?<!-)-)?
        (?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(?:\.[0-9]+)?(?!\w|[.,][0-9]))
    | (?P<own>'s\b)
    | (?P<word>[^\W\d_]++(?:'[^\W\d_]++)*+)
    | (?P<sign>[$\u20ac\u00a3\u00a5%\u00b0])
    | (?P<break>[;:!?])
    """,
    re.VERBOSE,
)
_SUFFIXED: Final = regex(r"([0-9][0-9.,]*?)([a-z]+)\Z")
_NUMBER: Final = regex(r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
_LINK: Final = regex(r"[ -]?")
_AND_A_HALF: Final = ("and", "a", "half")
_SIGNS: Final = frozenset("$\u20ac\u00a3\u00a5")
# "one" is a number before a noun or behind these; else it stands for something.
_COUNTS: Final = frozenset({"for", "only", "just", "exactly", "is", "are"})
_POINTS: Final = frozenset(
    {"this", "that", "the", "which", "another", "any", "each", "every", "no", "some", "other"}
    | {"what", "new", "first", "next", "last", "different", "cheaper", "better", "good", "nice"}
)
_NO_NOUNS: Final = frozenset(
    {"of", "is", "in", "at", "that", "which", "for", "with", "on", "was", "has", "and", "or", "to"}
    | {"from", "by", "who", "will", "would", "can", "should", "please", "instead", "too", "now"}
)


@frozen
class Piece:
    """A piece with its plain form; a number has its value and, if one is written, its unit."""

    kind: str
    value: str
    start: int
    end: int
    number: Fraction | None = None
    unit: str = ""


@frozen
class Text:
    """A folded text, the way back from it, and its pieces."""

    folded: Folded
    pieces: tuple[Piece, ...]


def read(original: str) -> Text:
    """Cut a text into pieces."""
    folded = fold(original)
    raw = tuple(_raw(folded, original))
    return Text(folded, tuple(_numbers(folded.text, raw)))


def _raw(folded: Folded, original: str) -> Iterator[Piece]:
    for found in _PIECES.finditer(folded.text):
        kind, value = found.lastgroup or "", found.group()
        start, end = found.span()
        match kind:
            case "own":
                continue
            case "day":
                value = day_of(value)
            case "clock":
                value = clock_of(value.rstrip("."))
            case "word":
                value = value.removesuffix("'s")
            case "number":
                yield Piece(kind, value, start, end, plain(value))
                continue
            case "code":
                suffixed = _suffixed(value, start, end)
                if suffixed is not None:
                    yield from suffixed
                    continue
                value = _as_written(original, folded.origin(start, end))
        yield Piece(kind, value or found.group(), start, end)


def _as_written(original: str, place: tuple[int, int]) -> str:
    letters = unicodedata.normalize("NFKC", original[slice(*place)])
    return "".join(one for one in letters if plainly(one) and one not in NOTHING)


def _suffixed(value: str, start: int, end: int) -> tuple[Piece, Piece] | None:
    """Return a number and the unit or scale that is glued to it, ``5km`` or ``3k``."""
    found = _SUFFIXED.fullmatch(value)
    if found is None or not _NUMBER.fullmatch(found[1]):
        return None
    if found[2] not in UNITS and found[2] not in SCALES:
        return None
    middle = start + found.end(1)
    number = Piece("number", found[1], start, middle, plain(found[1]))
    return number, Piece("word", found[2], middle, end)


def _numbers(text: str, raw: Sequence[Piece]) -> Iterator[Piece]:
    """Join the words of a number, its scale, its sign and its unit to one piece."""
    at = 0
    while at < len(raw):
        number, behind = _number(text, raw, at)
        yield number or raw[at]
        at = behind if number else at + 1


def _number(text: str, raw: Sequence[Piece], first: int) -> tuple[Piece | None, int]:
    at, unit = first, ""
    minus = raw[at].value in {"minus", "negative"}
    if minus or (raw[at].kind == "sign" and raw[at].value in _SIGNS):
        unit = "" if minus else raw[at].value
        at += 1
        if at == len(raw) or not _linked(text, raw, at):
            return None, first
    value, at = _value(text, raw, at)
    if value is None:
        return None, first
    if not unit and at < len(raw) and _linked(text, raw, at):
        unit, at = _unit(raw, at)
    start, end = raw[first].start, raw[at - 1].end
    return Piece("number", text[start:end], start, end, -value if minus else value, unit), at


def _value(text: str, raw: Sequence[Piece], first: int) -> tuple[Fraction | None, int]:
    at = first
    value = raw[at].number
    if value is None:
        value, at = _in_words(text, raw, first)
        if value is None:
            return None, first
    else:
        at += 1
    if _follow(text, raw, at, _AND_A_HALF):
        value, at = value + Fraction(1, 2), at + 3
    while at < len(raw) and raw[at].value in SCALES and _linked(text, raw, at):
        value, at = value * SCALES[raw[at].value], at + 1
    return value, at


def _in_words(text: str, raw: Sequence[Piece], first: int) -> tuple[Fraction | None, int]:
    if _follow(text, raw, first, ("half", "a")) and first + 2 < len(raw):
        scale = SCALES.get(raw[first + 2].value)
        return (Fraction(scale, 2), first + 3) if scale else (None, first)
    at = first + 1 if raw[first].value == "a" else first
    words: list[str] = []
    while at < len(raw) and (at == first or _linked(text, raw, at)):
        word = raw[at].value
        joins = word == "and" and words[-1:] == ["hundred"] and _counts(raw, at + 1)
        if not joins and not _counts(raw, at):
            break
        words.append(word)
        at += 1
    if not words or (raw[first].value == "a" and words[0] not in SCALES):
        return None, first
    if words == ["one"] and not _is_number(raw, first):
        return None, first
    return number_of(words), at


def _counts(raw: Sequence[Piece], at: int) -> bool:
    word = raw[at].value if at < len(raw) else ""
    return word in WORDS or (word in SCALES and len(word) > 2)  # noqa: PLR2004


def _is_number(raw: Sequence[Piece], at: int) -> bool:
    before = raw[at - 1].value if at else ""
    behind = raw[at + 1] if at + 1 < len(raw) else None
    noun = behind is not None and behind.kind == "word" and behind.value not in _NO_NOUNS
    words = tuple(one.value for one in raw[at + 1 : at + 4])
    return before in _COUNTS or words == _AND_A_HALF or (noun and before not in _POINTS)


def _unit(raw: Sequence[Piece], at: int) -> tuple[str, int]:
    one = raw[at].value
    degrees = f"{one}{raw[at + 1].value}" if one == "\u00b0" and at + 1 < len(raw) else ""
    if degrees in UNITS:
        return degrees, at + 2
    return (one, at + 1) if one in UNITS else ("", at)


def _follow(text: str, raw: Sequence[Piece], at: int, words: tuple[str, ...]) -> bool:
    found = raw[at : at + len(words)]
    linked = all(_linked(text, raw, place) for place in range(max(at, 1), at + len(found)))
    return tuple(one.value for one in found) == words and (linked or at == 0)


def _linked(text: str, raw: Sequence[Piece], at: int) -> bool:
    return at > 0 and bool(_LINK.fullmatch(text, raw[at - 1].end, raw[at].start))


# Places are bytes of the text in UTF-8, as the archive keeps it; they hold the constants in the
# order of the claim.


class Force(Enum):
    """How a text has to speak for a claim to follow from it."""

    STATED = "stated"  # plainly: no question, no supposition, no "about" before a number
    DEMANDED = "demanded"  # as what shall be so
    MENTIONED = "mentioned"  # in any way, also asking for it


@frozen
class Claim:
    """An atom that somebody proposes; a constant is a value as it is written in goals."""

    predicate: str
    constants: tuple[str, ...]
    negated: bool = False
    force: Force = Force.STATED


class Reason(Enum):
    """Why a claim is refused."""

    AUTHOR = "the author of this text cannot say such a thing"
    EMPTY = "there is no constant or no quote to look for"
    TOO_LONG = "the quote, a constant or the text is too long"
    NOT_FOUND = "the quote does not stand in the text"
    SEVERAL_SENTENCES = "no single one of the sentences that the quote runs over says all of it"
    CONSTANT = "the sentence of the quote does not name this constant"
    MIXED = "between two constants the sentence names another thing with a number of its own"
    INEXACT = "the sentence gives this number only about, or as a bound"
    POLARITY = "the sentence denies what the claim affirms, or the reverse"
    QUESTION = "the sentence asks and does not state"
    SUPPOSED = "the sentence supposes, wishes or guesses and does not state"
    NOT_DEMANDED = "the sentence demands nothing"


@frozen
class Grounded:
    """Where the text says it: the sentence, the quote in it, and each constant."""

    sentence: tuple[int, int]
    quote: tuple[int, int]
    constants: tuple[tuple[int, int], ...]
    exact: bool  # the quote stands there letter by letter


@frozen
class Refused:
    """Why the text does not say it; ``detail`` is the constant or word that decided, as given."""

    reason: Reason
    detail: str = ""


MOST_PLACES: Final = 20
# Models put quotes around what they cite, and dots where they break off.
_AROUND: Final = " \t\r\n\"'`\u201c\u201d\u2018\u2019\u2026."


@frozen
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


_SOFT: Final = regex(r"[\s,_()\"'-]+|\.(?=\s)")
_GLUE: Final = "-_@'&+/."


@frozen
class Match:
    """Where a constant stands, in the folded sentence; ``number`` tells that it is a number."""

    start: int
    end: int
    number: bool


def matches(constant: str, sentence: Text) -> Iterator[Match]:
    """Yield the places of a constant."""
    wanted = read(constant.strip())
    if not wanted.pieces or not _covers(wanted):
        return
    for first in range(len(sentence.pieces)):
        match = _match(wanted, sentence, first)
        if match is not None:
            yield match


def _covers(text: Text) -> bool:
    """Tell whether nothing but soft marks lies outside the pieces."""
    ends = [0, *(piece.end for piece in text.pieces)]
    starts = [*(piece.start for piece in text.pieces), len(text.folded.text)]
    return all(
        not any(one.isalnum() for one in text.folded.text[end:start])
        for end, start in zip(ends, starts, strict=True)
    )


def _match(wanted: Text, sentence: Text, first: int) -> Match | None:
    if len(wanted.pieces) == 1 and wanted.pieces[0].value in UNITS:
        found = sentence.pieces[first]
        if found.unit and _same_unit(wanted.pieces[0].value, found.unit):
            return Match(found.start, found.end, number=False)
    size = len(wanted.pieces)
    run = sentence.pieces[first : first + size]
    if len(run) < size or not all(map(_same, wanted.pieces, run)):
        return None
    for place in range(1, size):
        gap = wanted.folded.text[wanted.pieces[place - 1].end : wanted.pieces[place].start]
        other = sentence.folded.text[run[place - 1].end : run[place].start]
        if _SOFT.sub("", gap) != _SOFT.sub("", other):
            return None
    start, end = run[0].start, run[-1].end
    if _glued(sentence.folded.text, start, end):
        return None
    return Match(start, end, number=any(one.number is not None for one in run))


def _same(wanted: Piece, found: Piece) -> bool:
    if wanted.number is not None and found.number is not None:
        return agree((wanted.number, wanted.unit), (found.number, found.unit))
    return wanted.kind == found.kind and wanted.value == found.value


def _same_unit(wanted: str, found: str) -> bool:
    return UNITS[wanted] == UNITS[found]


def _glued(text: str, start: int, end: int) -> bool:
    """Tell whether a word goes on beyond a hyphen or the like: ``Ann`` in ``Ann-Marie``."""
    before = start >= 2 and text[start - 1] in _GLUE and text[start - 2].isalnum()  # noqa: PLR2004
    behind = end + 1 < len(text) and text[end] in _GLUE and text[end + 1].isalnum()
    return before or (behind and not re.match(r"'s\b", text[end : end + 3]))


# A denial reaches to the end of its clause, and where a clause ends is in doubt it reaches on, so
# a denied thing is never taken for affirmed; a sentence whose denials cannot be sorted out is of
# no use to a claim.  The words are English, with the plainest denials of German, French and
# Spanish.

_SUBJECT: Final = (
    r"(?:i|i'm|i'd|i'll|i've|we|we're|you|he|she|it|it's|they|there|this|that|these|those|my|our"
    r"|your|his|her|its|their|the|please|just|let's|let)"
)
# Where a new clause surely begins.
_CLAUSE: Final = regex(
    r"[;\u2026]|\.{2,}|\s-+\s"
    r"|\b(?<!anything\s)(?<!all\s)(?<!everything\s)(?<!nothing\s)(?<!none\s)(?<!one\s)but\b"
    r"|\b(?:however|instead(?![ ]of)|although|though|whereas|while|yet)\b"
    rf"|,\s*(?:(?:and|so|or)\s+)?(?={_SUBJECT}\b)|\band\s+(?={_SUBJECT}\b)"
)
_IDIOMS: Final = regex(
    r"\b(?:why\s+(?:don't|do\s+not)|not\s+only|no\s+doubt|no\s+problem|no\s+worries|no\s+matter|no\s+preference|why\s+not|no\s+later\s+than"
    r"|don't\s+(?:worry|forget|mind|care)|do\s+not\s+(?:worry|forget|mind|care)|(?:if|or)\s+not(?=\s*(?:[,.;?!]|\Z)))(?!\w)"
    r"|^(?:no|nope|nah|non|nein)(?:\s*[,.!;-]+|\s+(?:thanks|thank\s+you|sorry)\b|\s+(?=(?:i|we|please)\b))"
)
# What these deny follows them: "Body Double without subtitles" affirms the film.
_ONWARD: Final = regex(
    r"\b(?:with(?:\s+(?:no|none|zero)|out)|except|excluding|instead\s+of|rather\s+than|other\s+than"
    r"|apart\s+from|ohne|sans)\b"
)
_DENIALS: Final = regex(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot"
    r"|hardly|barely|scarcely|false|untrue|incorrect|unlikely|refus(?:e|es|ed)|den(?:y|ies|ied)"
    r"|fail(?:s|ed)?\s+to|stopped|ceased|lacks?|lacked|doubts?|doubted|far\s+from|anything\s+but"
    r"|nicht|kein(?:e|en|er|es|em)?|nie|niemals|pas|jamais|nunca|jam\u00e1s)\b"
    r"|\w+n't\b|\b(?:isnt|arent|wasnt|werent|dont|doesnt|didnt|cant|wont|hasnt|havent)\b"
)
_SUPPOSES: Final = regex(
    r"\b(?:if|unless|maybe|perhaps|possibly|probably|presumably|might|may(?!\s+[0-9])|could|would|i'd"
    r"|suppose|supposing|assum(?:e|es|ed|ing)|allegedly|apparently|seems?|guess|think|believe|hope"
    r"|hopefully|wish|whether|imagine|should|as\s+if|likely|plans?\s+to|about\s+to|expect(?:s|ed)?"
    r"|promised\s+to|claims?|claimed|rumou?r\w*|pretend)\b"
)
_DEMANDS: Final = regex(
    r"\b(?:must|mustn't|always|never|only|ha(?:ve|s)\s+to|needs?\s+to|required|shall|should|shouldn't"
    r"|ensure|make\s+sure|don't|do\s+not|forbidden|prohibited|not\s+allowed|at\s+most|at\s+least"
    r"|no\s+more\s+than|avoid|may\s+not|cannot|can't|want|please)\b"
)
_ASKS: Final = regex(
    r"\?[\s\"')]*\Z"
    r"|\A(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|what|which"
    r"|who|whom|whose|where|when|why|how)\s(?!not\b)"
)
_ABOUT: Final = regex(
    r"\b(?:about|around|roughly|approximately|approx\.?|almost|nearly|circa|close\s+to|over|above|under"
    r"|below|beyond|up\s+to|(?:more|less|fewer|greater|higher|lower|larger|smaller|other|rather)\s+than"
    r"|at\s+(?:least|most)|between|from|minimum\s+of|maximum\s+of|not\s+quite|exceed(?:s|ed|ing)?|some"
    r"|[<>~\u2248\u2264\u2265]=?)\s*\Z|[<>~\u2248\u2264\u2265]=?\s*\Z"
)
_LOOK_BACK: Final = 40


@frozen
class Denial:
    """What a word denies: from where to where."""

    start: int
    end: int


def denials(text: str) -> tuple[Denial, ...]:
    """Return what a folded sentence denies."""
    cuts = [0, *(found.end() for found in _CLAUSE.finditer(text)), len(text)]
    plain = _IDIOMS.sub(_blank, text)
    rest = _ONWARD.sub(_blank, plain)
    return tuple(
        denial
        for start, end in pairwise(cuts)
        for denial in (
            *(Denial(found.start(), end) for found in _ONWARD.finditer(plain, start, end)),
            *(Denial(start, end) for _ in _DENIALS.finditer(rest, start, end)),
        )
    )


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def asks(text: str) -> bool:
    """Tell whether a sentence is a question."""
    return bool(_ASKS.search(text))


def supposes(text: str) -> bool:
    """Tell whether a sentence supposes, wishes or guesses."""
    return bool(_SUPPOSES.search(text))


def demands(text: str) -> bool:
    """Tell whether a sentence demands or forbids."""
    return bool(_DEMANDS.search(text))


def is_about(text: str, start: int) -> bool:
    """Tell whether the number at ``start`` is given only about, or as a bound."""
    return bool(_ABOUT.search(text, max(0, start - _LOOK_BACK), start))


# What the gate does not know is the meaning of a predicate: `sold(C009, 7)` passes on the sentence
# `C009 bought 7`.  Who relies on a claim reads the sentence, which is why it is given.

# Only people and the configuration want something, or take something back.
PERSONAL: Final = frozenset(
    {"task", "constraint", "preference", "retracts", "decision", "user_fact", "done", "cancelled"}
)
_LONGEST_TEXT: Final = 1_000_000
_LONGEST_QUOTE: Final = 2_000
_LONGEST_CONSTANT: Final = 500
_MOST_CONSTANTS: Final = 50
_LONGEST_SENTENCE: Final = 20_000
_MOST_SENTENCES: Final = 5


def ground(claim: Claim, anchor: str, text: str, author: Author) -> Grounded | Refused:
    """Tell where a text of that author says what is claimed, or why it does not."""
    refused = _refused(claim, anchor, text, author)
    if refused is not None:
        return refused
    first: Refused | None = None
    reading = _Reading(text)
    for found in located(anchor, text):
        said = _at(claim, found, reading)
        if isinstance(said, Grounded):
            return said
        first = first or said
    return first or Refused(Reason.NOT_FOUND)


def _refused(claim: Claim, anchor: str, text: str, author: Author) -> Refused | None:
    """Refuse what no text could say."""
    personal = claim.predicate in PERSONAL and author not in {Author.HUMAN, Author.SYSTEM}
    if personal or author is Author.EXTRACTED:
        return Refused(Reason.AUTHOR, claim.predicate)
    if not claim.constants or not all(map(str.strip, claim.constants)) or not anchor.strip():
        return Refused(Reason.EMPTY)
    long = max(map(len, claim.constants)) > _LONGEST_CONSTANT or len(text) > _LONGEST_TEXT
    if long or len(anchor) > _LONGEST_QUOTE or len(claim.constants) > _MOST_CONSTANTS:
        return Refused(Reason.TOO_LONG)
    return None


class _Reading:
    """The sentences of a text; each is cut into pieces once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._spans = tuple(sentences(text))
        self._read: dict[tuple[int, int], Text] = {}

    def touched(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the sentences that a quote touches."""
        first = bisect_right(self._spans, start, key=lambda span: span[1])
        yield from takewhile(lambda span: span[0] < end, islice(self._spans, first, None))

    def sentence(self, span: tuple[int, int]) -> Text:
        """Return a sentence in pieces."""
        if span not in self._read:
            self._read[span] = read(self.text[slice(*span)])
        return self._read[span]


def _at(claim: Claim, found: Found, reading: _Reading) -> Grounded | Refused:
    # A quote over several sentences counts if one of them alone says it all.
    touched = islice(reading.touched(found.start, found.end), _MOST_SENTENCES)
    answers = [_in_sentence(claim, found, reading, span) for span in touched]
    for said in answers:
        if isinstance(said, Grounded):
            return said
    if len(answers) == 1 and isinstance(answers[0], Refused):
        return answers[0]
    return Refused(Reason.SEVERAL_SENTENCES)


def _in_sentence(
    claim: Claim, found: Found, reading: _Reading, span: tuple[int, int]
) -> Grounded | Refused:
    start, end = span
    if end - start > _LONGEST_SENTENCE:
        return Refused(Reason.TOO_LONG)
    text, sentence = reading.text, reading.sentence(span)
    said: list[Match] = []
    for constant in claim.constants:
        match = _nearest(constant, sentence, found.start - start, found.end - start)
        if match is None:
            return Refused(Reason.CONSTANT, constant)
        said.append(match)
    if _mixed(text[start:end], sentence, said):
        return Refused(Reason.MIXED)
    reason = _spoken(claim, sentence, said)
    if reason is not None:
        return reason
    return Grounded(
        _bytes(text, start, end),
        _bytes(text, found.start, found.end),
        tuple(
            _bytes(text, *(start + place for place in sentence.folded.origin(one.start, one.end)))
            for one in said
        ),
        found.exact,
    )


def _nearest(constant: str, sentence: Text, start: int, end: int) -> Match | None:
    """Return where a constant stands: in the quote if it does, else as near to it as it does."""
    places = islice(matches(constant, sentence), 20)

    def distance(match: Match) -> tuple[int, int]:
        begin, behind = sentence.folded.origin(match.start, match.end)
        return max(0, start - begin) + max(0, behind - end), begin

    return min(places, key=distance, default=None)


def _mixed(original: str, sentence: Text, said: Sequence[Match]) -> bool:
    """Tell whether two constants belong to two things, as Ann and 5 in *Ann has 3 and Bob 5*."""
    ordered = sorted(said, key=lambda one: one.start)
    for one, other in pairwise(ordered):
        if one.number == other.number:
            continue
        between = [
            piece
            for piece in sentence.pieces
            if one.end <= piece.start
            and piece.end <= other.start
            and not any(match.start < piece.end and piece.start < match.end for match in said)
        ]
        numbers = any(piece.number is not None for piece in between)
        if numbers and any(_is_name(original, sentence, piece) for piece in between):
            return True
    return False


def _is_name(original: str, sentence: Text, piece: Piece) -> bool:
    place, _ = sentence.folded.origin(piece.start, piece.end)
    return piece.kind == "code" or (piece.kind == "word" and original[place].isupper())


def _spoken(claim: Claim, sentence: Text, said: Sequence[Match]) -> Refused | None:
    """Refuse what the sentence names but does not say."""
    text = sentence.folded.text
    if claim.force is Force.STATED:
        if asks(text):
            return Refused(Reason.QUESTION)
        if supposes(text):
            return Refused(Reason.SUPPOSED)
        for match, constant in zip(said, claim.constants, strict=True):
            if match.number and is_about(text, match.start):
                return Refused(Reason.INEXACT, constant)
    if claim.force is Force.DEMANDED and not demands(text):
        return Refused(Reason.NOT_DEMANDED)
    return _denied(claim, denials(text), said)


def _denied(claim: Claim, denials: Sequence[Denial], said: Sequence[Match]) -> Refused | None:
    """Refuse what the sentence denies, or what it affirms where the claim denies."""
    counts = [
        sum(1 for one in denials if one.start < match.end and one.end > match.start)
        for match in said
    ]
    # Two denials of one thing may be one (neither nor) or none (not untrue): nobody can tell.
    clear = max(counts) == (1 if claim.negated else 0)
    return None if clear else Refused(Reason.POLARITY)


def _bytes(text: str, start: int, end: int) -> tuple[int, int]:
    before = len(text[:start].encode("utf-8", "surrogatepass"))
    return before, before + len(text[start:end].encode("utf-8", "surrogatepass"))
