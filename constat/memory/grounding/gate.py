"""Decide whether a text says what is claimed.

In: a claim, a quote, the text, and whose text it is.  Out: ``Grounded`` with the places, or
``Refused`` with the reason.  Invariants: the quote stands in this text; all constants stand in the
one sentence of the quote; its denials, and for numbers its units, are those of the claim; a tool's
or a model's text gives no wish of a person.  The first place of the quote that fulfils all of it is
taken; if none does, the reason at its first place is given.

What the gate does not know is the meaning of a predicate: ``sold(C009, 7)`` passes on the sentence
``C009 bought 7``.  Who relies on a claim reads the sentence, which is why it is given.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Final

from constat.memory.facts import Author
from constat.memory.grounding import polarity
from constat.memory.grounding.anchors import located
from constat.memory.grounding.claims import Claim, Force, Grounded, Reason, Refused
from constat.memory.grounding.constants import Match, matches
from constat.memory.grounding.pieces import read
from constat.memory.grounding.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.grounding.anchors import Found
    from constat.memory.grounding.pieces import Piece, Text
    from constat.memory.grounding.polarity import Denial

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
        if polarity.asks(text):
            return Refused(Reason.QUESTION)
        if polarity.supposes(text):
            return Refused(Reason.SUPPOSED)
        for match, constant in zip(said, claim.constants, strict=True):
            if match.number and polarity.is_about(text, match.start):
                return Refused(Reason.INEXACT, constant)
    if claim.force is Force.DEMANDED and not polarity.demands(text):
        return Refused(Reason.NOT_DEMANDED)
    return _denied(claim, polarity.denials(text), said)


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
