"""What people want to be so: sentences with must, never, only, always, do not and the like.

In: what a person or the system says.  Out: ``constraint`` (key: ``must`` or ``must_not``, value:
the sentence, word for word).  Invariants: a tool's answer and a model's text never give one,
whatever they say; a question is no wish, and neither is what people say they lack themselves;
nothing is put in other words.

Example: ``Never email anyone outside corp.com.`` is a ``must_not``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.facts import Author
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

_LONGEST: Final = 1_000
# A sentence ends at a line's end, or at a mark before a blank: not within 3.5 or a.com.
_SENTENCE: Final = re.compile(r"[^\s](?:[^.!?\n]|[.!?](?![\s]|$))*[.!?]*")
_NOT: Final = (
    r"must\s+not|mustn't|never|do\s+not|don't|should\s+not|shouldn't|may\s+not|can\s?not|can't"
    r"|not\s+allowed|forbidden|prohibited|avoid|under\s+no\s+circumstances|no\s+longer|without"
)
_SHALL: Final = (
    r"must|always|only|have\s+to|has\s+to|need(?:s)?\s+to|required|should|shall|make\s+sure|ensure"
    r"|at\s+most|at\s+least|no\s+more\s+than|unless"
)
# "I don't have the number" is no order to anybody; "I don't want insurance" is a wish.
_OWN: Final = re.compile(
    rf"\bI\s+(?:\w+\s+)?(?:{_NOT})\s+(?!want|wish|like|agree|allow)", re.IGNORECASE
)
_FORBIDS: Final = re.compile(rf"\b(?:{_NOT})\b", re.IGNORECASE)
_DEMANDS: Final = re.compile(rf"\b(?:{_SHALL})\b", re.IGNORECASE)
_MARK: Final = re.compile(r"(?:[-*+#>]+|[0-9]+[.)])\s+")


def from_wishes(passage: Passage) -> Iterator[Fact]:
    """Yield a fact for each sentence that demands or forbids."""
    if passage.place is not Place.SAID or passage.author not in {Author.HUMAN, Author.SYSTEM}:
        return
    for found in _SENTENCE.finditer(passage.text):
        mark = _MARK.match(found.group())
        start = found.start() + (mark.end() if mark else 0)
        sentence = passage.text[start : found.end()].rstrip()
        if sentence.endswith("?") or len(sentence) > _LONGEST:
            continue
        forbids = _FORBIDS.search(sentence) and not _OWN.search(sentence)
        if forbids or _DEMANDS.search(sentence):
            said = Said("constraint", "must_not" if forbids else "must", sentence)
            yield fact(passage, said, start, start + len(sentence), "wish")
