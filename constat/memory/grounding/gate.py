"""Decide whether a text says what is claimed."""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.facts import Author
from constat.memory.grounding import phrases
from constat.memory.grounding.phrases import fold, read, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.grounding.phrases import Piece, Text

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


_SOFT: Final = re.compile(r"[\s,_()\"'-]+|\.(?=\s)")
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
    if len(wanted.pieces) == 1 and wanted.pieces[0].value in phrases.UNITS:
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
        return phrases.agree((wanted.number, wanted.unit), (found.number, found.unit))
    return wanted.kind == found.kind and wanted.value == found.value


def _same_unit(wanted: str, found: str) -> bool:
    return phrases.UNITS[wanted] == phrases.UNITS[found]


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
_CLAUSE: Final = re.compile(
    r"[;\u2026]|\.{2,}|\s-+\s"
    r"|\b(?<!anything\s)(?<!all\s)(?<!everything\s)(?<!nothing\s)(?<!none\s)(?<!one\s)but\b"
    r"|\b(?:however|instead(?![ ]of)|although|though|whereas|while|yet)\b"
    rf"|,\s*(?:(?:and|so|or)\s+)?(?={_SUBJECT}\b)|\band\s+(?={_SUBJECT}\b)"
)
_IDIOMS: Final = re.compile(
    r"\b(?:why\s+(?:don't|do\s+not)|not\s+only|no\s+doubt|no\s+problem|no\s+worries|no\s+matter|no\s+preference|why\s+not|no\s+later\s+than"
    r"|don't\s+(?:worry|forget|mind|care)|do\s+not\s+(?:worry|forget|mind|care)|(?:if|or)\s+not(?=\s*(?:[,.;?!]|\Z)))(?!\w)"
    r"|^(?:no|nope|nah|non|nein)(?:\s*[,.!;-]+|\s+(?:thanks|thank\s+you|sorry)\b|\s+(?=(?:i|we|please)\b))"
)
# What these deny follows them: "Body Double without subtitles" affirms the film.
_ONWARD: Final = re.compile(
    r"\b(?:with(?:\s+(?:no|none|zero)|out)|except|excluding|instead\s+of|rather\s+than|other\s+than"
    r"|apart\s+from|ohne|sans)\b"
)
_DENIALS: Final = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot"
    r"|hardly|barely|scarcely|false|untrue|incorrect|unlikely|refus(?:e|es|ed)|den(?:y|ies|ied)"
    r"|fail(?:s|ed)?\s+to|stopped|ceased|lacks?|lacked|doubts?|doubted|far\s+from|anything\s+but"
    r"|nicht|kein(?:e|en|er|es|em)?|nie|niemals|pas|jamais|nunca|jam\u00e1s)\b"
    r"|\w+n't\b|\b(?:isnt|arent|wasnt|werent|dont|doesnt|didnt|cant|wont|hasnt|havent)\b"
)
_SUPPOSES: Final = re.compile(
    r"\b(?:if|unless|maybe|perhaps|possibly|probably|presumably|might|may(?!\s+[0-9])|could|would|i'd"
    r"|suppose|supposing|assum(?:e|es|ed|ing)|allegedly|apparently|seems?|guess|think|believe|hope"
    r"|hopefully|wish|whether|imagine|should|as\s+if|likely|plans?\s+to|about\s+to|expect(?:s|ed)?"
    r"|promised\s+to|claims?|claimed|rumou?r\w*|pretend)\b"
)
_DEMANDS: Final = re.compile(
    r"\b(?:must|mustn't|always|never|only|ha(?:ve|s)\s+to|needs?\s+to|required|shall|should|shouldn't"
    r"|ensure|make\s+sure|don't|do\s+not|forbidden|prohibited|not\s+allowed|at\s+most|at\s+least"
    r"|no\s+more\s+than|avoid|may\s+not|cannot|can't|want|please)\b"
)
_ASKS: Final = re.compile(
    r"\?[\s\"')]*\Z"
    r"|\A(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|what|which"
    r"|who|whom|whose|where|when|why|how)\s(?!not\b)"
)
_ABOUT: Final = re.compile(
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
