"""What a sentence is made of for the gate: words, numbers with units, days, times, codes.

In: a text that ``folding`` has folded, and the original.  Out: pieces in order.  Invariants: a
piece is read whole, so the 12 in ``12:30``, in ``C12`` and in ``1,250`` is no number 12; codes keep
their letters' size, words do not; a piece knows its characters.

Example: ``C009 pays 1.5 million dollars`` has a code, a word and one number, 1500000 ``dollars``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from constat.memory.grounding import moments, quantities
from constat.memory.grounding.folding import NOTHING, fold, plainly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.grounding.folding import Folded

# Bounded looks ahead, and no two ways to read one character: the time is that of one reading.
_PIECES: Final = re.compile(
    rf"""
      (?P<address>(?:https?|ftp|file)://[^\s<>"'\])]++|[\w.%+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+)
    | (?P<day>\b(?:{moments.DAY}))
    | (?P<clock>\b(?:{moments.CLOCK}))
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
_SUFFIXED: Final = re.compile(r"([0-9][0-9.,]*?)([a-z]+)\Z")
_NUMBER: Final = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
_LINK: Final = re.compile(r"[ -]?")
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


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece with its plain form; a number has its value and, if one is written, its unit."""

    kind: str
    value: str
    start: int
    end: int
    number: Fraction | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
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
                value = moments.day_of(value)
            case "clock":
                value = moments.clock_of(value.rstrip("."))
            case "word":
                value = value.removesuffix("'s")
            case "number":
                yield Piece(kind, value, start, end, quantities.plain(value))
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
    if found[2] not in quantities.UNITS and found[2] not in quantities.SCALES:
        return None
    middle = start + found.end(1)
    number = Piece("number", found[1], start, middle, quantities.plain(found[1]))
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
    while at < len(raw) and raw[at].value in quantities.SCALES and _linked(text, raw, at):
        value, at = value * quantities.SCALES[raw[at].value], at + 1
    return value, at


def _in_words(text: str, raw: Sequence[Piece], first: int) -> tuple[Fraction | None, int]:
    if _follow(text, raw, first, ("half", "a")) and first + 2 < len(raw):
        scale = quantities.SCALES.get(raw[first + 2].value)
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
    if not words or (raw[first].value == "a" and words[0] not in quantities.SCALES):
        return None, first
    if words == ["one"] and not _is_number(raw, first):
        return None, first
    return quantities.number_of(words), at


def _counts(raw: Sequence[Piece], at: int) -> bool:
    word = raw[at].value if at < len(raw) else ""
    return word in quantities.WORDS or (word in quantities.SCALES and len(word) > 2)  # noqa: PLR2004


def _is_number(raw: Sequence[Piece], at: int) -> bool:
    before = raw[at - 1].value if at else ""
    behind = raw[at + 1] if at + 1 < len(raw) else None
    noun = behind is not None and behind.kind == "word" and behind.value not in _NO_NOUNS
    words = tuple(one.value for one in raw[at + 1 : at + 4])
    return before in _COUNTS or words == _AND_A_HALF or (noun and before not in _POINTS)


def _unit(raw: Sequence[Piece], at: int) -> tuple[str, int]:
    one = raw[at].value
    degrees = f"{one}{raw[at + 1].value}" if one == "\u00b0" and at + 1 < len(raw) else ""
    if degrees in quantities.UNITS:
        return degrees, at + 2
    return (one, at + 1) if one in quantities.UNITS else ("", at)


def _follow(text: str, raw: Sequence[Piece], at: int, words: tuple[str, ...]) -> bool:
    found = raw[at : at + len(words)]
    linked = all(_linked(text, raw, place) for place in range(max(at, 1), at + len(found)))
    return tuple(one.value for one in found) == words and (linked or at == 0)


def _linked(text: str, raw: Sequence[Piece], at: int) -> bool:
    return at > 0 and bool(_LINK.fullmatch(text, raw[at - 1].end, raw[at].start))
