"""What people want to be so: sentences with must, never, only, always, do not and the like.

In: what a person or the system says.  Out: ``constraint`` (key: ``must`` or ``must_not``, value:
the sentence, word for word).  Invariants: a tool's answer and a model's text never give one,
whatever they say, and neither does what a person quotes or pastes; a question is no wish, and
neither is what people say they lack or have to do themselves; nothing is put in other words.

Example: ``Never email anyone outside corp.com.`` is a ``must_not``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.facts import Author
from constat.memory.passages import Place
from constat.memory.quotations import ELISION, HOLE, blanked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact

_LONGEST: Final = 1_000
# A sentence ends at a line's end, or at a mark before a blank: not within 3.5 or a.com.
_SENTENCE: Final = re.compile(r"[^\s](?:[^.!?\n]|[.!?](?![\s]|$))*[.!?]*")
_N_T: Final = r"n['\u2019]t"
_NOT: Final = (
    rf"must\s+not|must{_N_T}|never|do\s+not|do{_N_T}|should\s+not|should{_N_T}|may\s+not|can\s?not"
    rf"|ca{_N_T}|not\s+allowed|forbidden|prohibited|avoid|under\s+no\s+circumstances"
    r"|without(?=\s+(?!it\b|that\b|this\b|them\b|any\s+(?:problem|issue))\w)"
)
_SHALL: Final = (
    r"must|always|only|have\s+to|has\s+to|need(?:s)?\s+to|required|should|shall|make\s+sure|ensure"
    r"|at\s+most|at\s+least|no\s+more\s+than|unless"
)
# "I don't have the number" is no order to anybody; "I don't want insurance" is a wish.
_OWN: Final = re.compile(
    rf"\b(?:I|we)\s+(?:\w+\s+)?(?:do\s+not|do{_N_T}|can\s?not|ca{_N_T}|never)\s+"
    r"(?!want|wish|like|agree|allow)|\bnever\s+mind\b",
    re.IGNORECASE,
)
# What one has to do oneself, has always done, or takes to be so, demands nothing of others.
_TELLS: Final = re.compile(
    r"\b(?:I|we|and)\s+(?:\w+\s+)?(?:only\s+)?(?:need|have|had)\s+to\b"
    r"|\b(?:I|we|you|they|he|she|it)(?:['\u2019]ve|['\u2019]s|\s+have|\s+has|\s+had)\s+(?:\w+\s+)?(?:always|only|never)\b"
    r"|\b(?:I|we|they|he|she|(?:my|our)\s+\w+)\s+should\b(?!\s+not)"
    r"|\bthere\s+(?:must|should)\s+be\b|\bonly\s+(?:one|thing|problem|issue)\b"
    rf"|\b(?:it|that|this)\s+(?:ca{_N_T}|can\s?not)\s+be\s+(?:right|true|correct|possible|serious)\b",
    re.IGNORECASE,
)
_FORBIDS: Final = re.compile(rf"\b(?:{_NOT})(?!\w)", re.IGNORECASE)
_DEMANDS: Final = re.compile(rf"\b(?:{_SHALL})\b", re.IGNORECASE)
_HOLES: Final = re.compile(f"{HOLE}+")
_MARK: Final = re.compile(r"(?:[-*+#>]+|[0-9]+[.)])\s+")


def from_wishes(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each sentence that demands or forbids."""
    passage = reading.passage
    if passage.place is not Place.SAID or passage.author not in {Author.HUMAN, Author.SYSTEM}:
        return
    # What they paste, quote or report is another's wish, and a block is nobody's.
    text = blanked(passage.text, passage.foreign, HOLE)
    for found in _SENTENCE.finditer(text):
        mark = _MARK.match(found.group())
        start = found.start() + (mark.end() if mark else 0)
        sentence = text[start : found.end()].rstrip()
        if sentence.endswith("?") or len(sentence) > _LONGEST:
            continue
        # What people only tell is blanked, so that a demand beside it is still found.
        human = passage.author is Author.HUMAN
        asked = _TELLS.sub(_blank, sentence) if human else sentence
        forbids = _FORBIDS.search(asked) and not (human and _OWN.search(asked))
        if forbids or _DEMANDS.search(asked):
            value = _HOLES.sub(ELISION, sentence)
            said = Said("constraint", "must_not" if forbids else "must", value)
            yield fact(passage, said, start, start + len(sentence), "wish")


def _blank(told: re.Match[str]) -> str:
    return " " * len(told.group())
