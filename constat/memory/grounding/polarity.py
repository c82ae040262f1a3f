"""Whether a sentence affirms, denies, asks, supposes or demands, clause by clause.

In: the folded text of a sentence.  Out: what of it is denied; how the sentence speaks.
Invariant: a denial reaches to the end of its clause, and where a clause ends is in doubt it reaches
on, so a denied thing is never taken for affirmed; a sentence whose denials cannot be sorted out is
of no use to a claim.  The words are English, with the plainest denials of German, French and
Spanish.

Example: ``it is not gold, but silver`` denies up to the comma and affirms behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

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


@dataclass(frozen=True, slots=True)
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
