"""Find a constant in a sentence: as words, or as the same number, day or time.

In: a constant, as goals write it, and a sentence in pieces.  Out: where the sentence names it.
Invariants: a piece is taken whole or not at all; what stands between two words of a constant is
what stands between them in the sentence, blanks, commas and hyphens aside; ``credit_card`` is named
by ``credit card``.

Example: the constant ``1000000`` stands in ``she has 1 million shares``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.memory.grounding import quantities
from constat.memory.grounding.pieces import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.grounding.pieces import Piece, Text

_SOFT: Final = re.compile(r"[\s,_()\"'-]+|\.(?=\s)")
_GLUE: Final = "-_@'&+/."


@dataclass(frozen=True, slots=True)
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
    if len(wanted.pieces) == 1 and wanted.pieces[0].value in quantities.UNITS:
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
        return quantities.agree((wanted.number, wanted.unit), (found.number, found.unit))
    return wanted.kind == found.kind and wanted.value == found.value


def _same_unit(wanted: str, found: str) -> bool:
    return quantities.UNITS[wanted] == quantities.UNITS[found]


def _glued(text: str, start: int, end: int) -> bool:
    """Tell whether a word goes on beyond a hyphen or the like: ``Ann`` in ``Ann-Marie``."""
    before = start >= 2 and text[start - 1] in _GLUE and text[start - 2].isalnum()  # noqa: PLR2004
    behind = end + 1 < len(text) and text[end] in _GLUE and text[end + 1].isalnum()
    return before or (behind and not re.match(r"'s\b", text[end : end + 3]))
