"""Facts in calls of tools and their results, and all extractors in their order."""

from __future__ import annotations

import re
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.extract.text import (
    Reading,
    Said,
    fact,
    fact_at,
    from_json,
    from_tables,
    from_task_lists,
    from_values,
)
from constat.memory.facts import Author, Place, Span
from constat.memory.quotations import ELISION, HOLE, blanked
from constat.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from constat.memory.extract.text import Member
    from constat.memory.facts import Fact, Passage

# What people want, by their sentences: what must and must not be, and what they prefer.

_LONGEST_WISHES: Final = 1_000
# A sentence ends at a line's end, or at a mark before a blank: not within 3.5 or a.com.
_SENTENCE: Final = regex(r"[^\s](?:[^.!?\n]|[.!?](?![\s]|$))*[.!?]*")
_HOLES: Final = regex(f"{HOLE}+")
_MARK: Final = regex(r"(?:[-*+#>]+|[0-9]+[.)])\s+")


def from_wishes(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each sentence that wants, forbids, prefers, decides or corrects."""
    passage = reading.passage
    if passage.place is not Place.SAID or passage.author not in {Author.HUMAN, Author.SYSTEM}:
        return
    # What they paste, quote or report is another's wish, and a block is nobody's.
    text = blanked(passage.text, passage.foreign, HOLE)
    for found in _SENTENCE.finditer(text):
        mark = _MARK.match(found.group())
        start = found.start() + (mark.end() if mark else 0)
        sentence = text[start : found.end()].rstrip()
        if len(sentence) > _LONGEST_WISHES:
            continue
        told = _of_system if passage.author is Author.SYSTEM else _of_person
        kind, key = told(sentence.replace("\u2019", "'"))
        if kind:
            said = Said(kind, key, _HOLES.sub(ELISION, sentence))
            yield fact(passage, said, start, start + len(sentence), "wish")


_Kind = tuple[str, str]
_NOTHING: Final[_Kind] = ("", "")
_MUST: Final[_Kind] = ("constraint", "must")
_MUST_NOT: Final[_Kind] = ("constraint", "must_not")
_PREFERENCE: Final[_Kind] = ("preference", "")
_DECISION: Final[_Kind] = ("decision", "")
_CORRECTION: Final[_Kind] = ("correction", "")


def _any(*parts: str) -> re.Pattern[str]:
    return regex("|".join(parts), re.IGNORECASE)


# Policies say what must be in any words: whatever demands or forbids counts.

_FORBIDS: Final = _any(
    r"\b(?:must\s+not|mustn't|never|do\s+not|don't|should\s+not|shouldn't|may\s+not|can\s?not"
    r"|can't|not\s+allowed|forbidden|prohibited|avoid|under\s+no\s+circumstances"
    r"|without(?=\s+(?!it\b|that\b|this\b|them\b|any\s+(?:problem|issue))\w))(?!\w)"
)
_DEMANDS: Final = _any(
    r"\b(?:must|always|only|have\s+to|has\s+to|needs?\s+to|required|should|shall|make\s+sure"
    r"|ensure|at\s+most|at\s+least|no\s+more\s+than|unless)\b"
)


def _of_system(sentence: str) -> _Kind:
    if sentence.endswith("?"):
        return _NOTHING
    if _FORBIDS.search(sentence):
        return _MUST_NOT
    return _MUST if _DEMANDS.search(sentence) else _NOTHING


# People tell of themselves and of others in the same words as they ask: it counts where a clause
# begins, who it is about, and of what time it speaks.

# Where a clause of its own begins: what is said there to nobody else is said to the assistant.
_CLAUSE: Final = (
    r"(?:^|[;:,]\s|\b(?:and|but|so|then|also|please|kindly|just|really)\s)"
    r"(?:(?:please|kindly|also|just|ok(?:ay)?|absolutely|otherwise|in\s+any\s+case),?\s+){0,3}"
)
_ME: Final = r"\b(?:I|we)"
_NOT: Final = r"(?:n't|\s+not)"

# What is said in passing, in so many words or nearly so.
_PASSING: Final = _any(
    r"^(?:(?:oh|ha|well|actually|no|ok|okay|hm+|so),?\s+)*(?:never\s+(?:mind|heard|again|better|been|seen|had|say\s+never)"
    r"|always\s+(?:a|the|so)\b|don't\s+mention\s+it|don't\s+worry|do\s+not\s+worry|don't\s+get\s+me"
    r"|no\s+(?:problem|worries|worry|idea|thanks|thank|doubt|need|news|wonder|way\b|matter|rush|hurry"
    r"|one\s+knows|clue|offen[cs]e|hard\s+feelings)|only\s+(?:one|two|three|four|five|[0-9]+|in|if"
    r"|just|yesterday|then|when|sometimes|a)\b(?!.{0,120}\b(?:may|must|can)\b)|nothing\s+(?:in|has|is|was|really|much|new|special|else))\b",
    r"\b(?:you|he|she|they)\s+must\s+(?:be|have)\b",
    r"\bmust\s+have\s+(?:been|\w+ed|lost|gone|got|done|made|left|had|taken|seen|come)\b",
    r"\b(?:it|that|this|there)\s+must\s+(?:be\s+(?:a|the|some|me|him|her|you)\b|have\b)",
    r"\bthere(?:'s|\s+is)\s+no\s+need\b|\bthere\s+(?:must|should|has\s+to|have\s+to)\s+be\b(?!\s+no\b)|\bI\s+(?:believe|think|guess|read|understand|understood|assume)\b.{0,120}\bshould\b|\bshould\s+be\s+(?:in\s+(?:my|your)|on\s+file|there|covered|fine|ok|enough)\b",
    r"\b(?:I|we)\s+(?:must|have\s+to|need\s+to|should|had\s+to)\s+(?:say|admit|confess|add|go|run|leave|be\s+off)\b",
    r"\b(?:you|one|we|people|anybody|everybody)\s+should\s+(?:see|have|try|know|hear|visit|be\b)",
    r"^(?:one|people)\s+(?:must|should|has\s+to|have\s+to)\b",
    r"\b(?:it|that|this|they|he|she)\s+should\s+(?:be|arrive|have|take|do|come|go|help|all)\b(?!\s+(?:at|under|over|longer|possible|less|more|able|in\b))",
    r"\b(?:it|that|this)\s+(?:has|have)\s+to\s+be\s+(?:somewhere|someone|a|the)\b",
    r"\b(?:it|that|this)\s+(?:can't|can\s?not)\s+be\s+(?:right|true|correct|possible|serious)\b",
    r"\b(?:I|we|he|she|they|it)(?:'ve|'s|\s+have|\s+has|\s+had)\s+(?:\w+\s+)?(?:always|only|never)\b",
    r"\byou\s+(?:do\s+not|don't)\s+(?:have|need)\s+to\b",
    r"^(?:if|when)\s+(?:you|one|it|we)\s+(?:do\s+not|don't|doesn't|does\s+not)\b",
)
# What was so, or what others have to do with it.
_TOLD: Final = _any(
    r"\b(?:was|were|used\s+to\s+be|required\s+us|asked\s+us|told\s+(?:me|us)|said|says|wrote|writes|states?"
    r"|forbids?\s+(?:her|him|them))\b",
)

# "I said never to fly at night": what somebody repeats or puts right counts as if said anew.
_RESTATES: Final = _any(
    r"\bI\s+(?:\w+\s+)?(?:meant|said|wrote|repeat|told\s+you)\b[:,]?\s*(?:that\s+)?[\"\u201c\u2018']?"
)
_CORRECTS: Final = _any(
    r"\bI\s+(?:actually\s+)?meant\b(?!\s+to\b)",
    r"\b(?:I\s+misspoke|scratch\s+that|strike\s+that|my\s+mistake|my\s+bad|I\s+made\s+a\s+mistake)\b",
    r"^(?:a\s+)?(?:small\s+)?correction\b",
    r"\blet\s+me\s+correct\b",
    r"\byou(?:'ve|\s+have)?\s+(?:got|have|took|used|picked|misunderstood|misread|misheard)\b.{0,120}\bwrong\b",
    r"\byou(?:'ve|\s+have)?\s+(?:misunderstood|misread|misheard)\b",
    r"^(?:no,?\s+|sorry,?\s+|wait,?\s+|oops,?\s+)?(?:that|this|it)(?:'s|\s+is|\s+was)\s+"
    r"(?:wrong|incorrect|not\s+(?:right|correct|true|what\s+I|the\s+one))\b",
    r"\bnot\s+what\s+I\s+(?:asked|said|meant|wanted|ordered)\b",
    r"\b(?:forget|ignore|disregard)\s+(?:what\s+I\s+(?:said|wrote|told)|my\s+(?:last|previous|earlier))\b",
    r"\bI\s+(?:gave|told|sent)\s+you\s+the\s+(?:old|wrong|other)\b",
    r"\bI\s+take\s+(?:that|it|this)\s+back\b",
    r"^(?:oops|sorry),?\s+wrong\b",
    r"^(?:sorry|wait|ok|okay)?,?\s*change\s+of\s+plans?\b",
    r"\bactually,?\s+(?:please\s+)?make\s+(?:that|it)\b",
    r"^(?:no|nope|sorry|wait|oops|actually|i\s+said)\b.{0,80},\s*(?:and\s+)?not\s+\S+",
    r"^(?:no|actually)?,?\s*(?:it|that|he|she|my|the|her|his|our)\b[^,]{0,80}(?:'s|\bis|\bare|\bwas)\b[^,]{0,80}"
    r"(?:,\s*(?:and\s+)?|\band\s+)not\s+(?!sure|only|to\b|a\s+problem|very|really|that\b)\S+",
    r"\bshould\s+(?:be|read|say)\b.{0,120}\binstead\s+of\b",
    r"^not\s+[A-Z0-9][^,]*,\s*(?!please)\S",
    r"^no,?\s+(?:not\s+(?:that|this|the)|(?:my|the|her|his|our|its?)\b.{0,120}\b(?:is|are|was|were|ends?)\b)",
)
_DECIDES: Final = _any(
    r"\blet's\s+(?!(?:see|hope|talk|wait|think|say|assume|be|just\s+say|face|not\s+forget|discuss|get\s+back|try|check|look|find|continue|start|begin|focus)\b)\w+",
    rf"{_ME}(?:'ve|\s+have)?\s+(?:\w+\s+)?(?:decided|settled|chosen|opted|agreed\s+(?:to|on|that)"
    r"|made\s+up\s+(?:my|our)\s+minds?)\b",
    r"\b(?:my|our)\s+(?:choice|decision)\s+is\b",
    r"\b(?:the|our)\s+team\s+(?:has\s+)?(?:agreed|decided)\b",
    rf"{_ME}(?:'ll|\s+will)\s+(?:take|go\s+(?:for|with)|have\s+the|choose|pick|opt|stick|stay\s+with|keep)\b",
    rf"{_ME}(?:'m|'re|\s+am|\s+are)\s+(?:going\s+(?:with|ahead|for)|sticking|staying\s+with)\b",
    rf"{_ME}\s+(?:choose|opt\s+for|pick)\b",
    r"\b(?:it's|that's)\s+(?:settled|decided|a\s+deal)\b|^decision\s+made\b|^so\s+be\s+it\b",
    r"^(?:ok(?:ay)?|fine|good|all\s+right|alright|great)(?:\s+then)?,\s+(?:book|take|use|do|go|buy|order)\b",
    r"\bwe\s+(?:will\s+not|won't)\s+(?:renew|extend|continue|launch|hire|use|go)\b",
)
_UNDECIDED: Final = _any(
    r"\b(?:n't|not)\s+(?:yet\s+)?(?:decided|settled|chosen|agreed)|\bthink\s+(?:it|that)\s+over\b"
    r"|\b(?:might|could|may)\s+(?:take|go|choose)\b|\bI'll\s+take\s+a\s+look\b|\btake\s+care\b"
)
_PREFERS: Final = _any(
    rf"{_ME}(?:'d|\s+would)?\s+(?:\w+\s+)?(?:prefer|favou?r)\b(?!\s+(?:not\s+to\s+(?:say|tell)|it\s+if))",
    rf"{_ME}(?:'d|\s+would)\s+(?:much\s+)?(?:rather|sooner)\s+(?!you\b|we\s+didn't\b)",
    r"\bif\s+(?:it's\s+|it\s+is\s+|at\s+all\s+)?possible\b|\bif\s+there(?:'s|\s+is)\s+(?:one|any|a\s+choice)\b",
    r"\bif\s+you\s+(?:can(?:\s+manage)?[.!]?$|have\s+(?:the|an?)\s+(?:option|choice))|\bgiven\s+the\s+choice\b",
    r"\b(?:ideally|preferably)\b",
    r"\b(?:it|that|\w+)(?:'d|\s+would)\s+be\s+(?:nice|great|good|lovely|best|ideal|perfect|better)\b",
    r"\b(?:my|our)\s+(?:favou?rite|preferred|preference)\b",
    rf"{_ME}\s+(?:really\s+)?(?:do\s+not|don't)\s+(?:really\s+|much\s+)?(?:like|care\s+for|enjoy)\b",
    rf"{_ME}(?:'m|'re|\s+am|\s+are)\s+(?:not\s+)?(?:\w+\s+)?(?:a\s+(?:big\s+)?fan\s+of|fond\s+of|keen\s+on|happiest"
    r"|more\s+of\s+an?|into)\b",
    rf"{_ME}(?:'d|\s+would)\s+(?:love|like)\s+(?:something|shorter|longer|more|less|fewer|a\s+\w+er\b)",
    rf"{_ME}(?:'d|\s+would)\s+(?:be\s+happier|choose|pick|go\s+for)\b",
    rf"{_ME}\s+(?:usually|normally|generally|typically|mostly|tend\s+to|always\s+(?!forget|lose|want|wonder|get|have|thought|knew|miss))",
    rf"{_ME}\s+(?:(?:really|always|both)\s+)*(?:like|love|enjoy|hate|dislike|can't\s+stand|can\s?not\s+stand)\s+"
    r"(?!it\b|this\b|that\b|your\b|how\b|the\s+(?:idea|way)\b|to\s+(?:know|hear)\b|him\b|her\b|them\b|you\b)\w",
    r"\bsuits?\s+me\b|\b(?:easier|harder|better|nicer)\s+for\s+(?:me|us)\b|\bmatters?\s+more\s+to\s+me\b",
    r"\bI\s+find\b.{0,120}\b(?:hard|harder|easy|easier|better|nicer|annoying|tiring)\b",
    r"\b(?:more|less)\s+my\s+thing\b|^the\s+\w+er,\s+the\s+(?:better|\w+er)\b",
    r"\bgo\s+for\s+something\b|^\w+\s+is\s+better\b",
)
_BARS: Final = _any(
    rf"{_CLAUSE}(?:(?:do\s+not|don't)(?:,\s+[^,]+,)?\s+(?!you\b|I\b|we\b)\w|never\s+(?:ever\s+)?\w)",
    r"\bdon't\s+(?:you\s+dare|even\s+think)\b|\bmake\s+sure\s+(?:that\s+)?(?:you\s+(?:do\s+not|don't|never)|nobody|no\s+one)\b",
    rf"\b(?:must|should|shall|may|can|could|are|is)\s+never\b|\b(?:must|may|shall|should)(?:{_NOT})\b|\bmustn't\b",
    r"\b(?:you|it|he|she|they|nobody|the\s+[\w\s]{1,40}|this|that|users?|customers?|passengers?|children)\s+(?:can't|can\s?not)\b(?!\s+(?:be\s+(?:right|true)|find|open|see|believe))",
    r"\bwe\s+(?:can't|can\s?not)\b(?!\s+(?:find|see|believe|open|reach|wait|get|agree\s+more|understand|figure|tell|say|complain))",
    r"\bI\s+(?:can't|can\s?not)\s+(?:eat|drink|fly|travel|drive|walk|climb|accept|afford|pay|come|take|use|do\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day|be\s+(?:reached|there|away))\b",
    rf"{_ME}\s+(?:really\s+|absolutely\s+)?(?:do\s+not|don't)\s+(?:want|wish|allow|agree)\b|\bI'd\s+rather\s+(?:you|we)\s+didn't\b",
    rf"{_ME}\s+(?:won't|will\s+not|refuse\s+to)\s+(?:pay|accept|spend|fly|go|agree|tolerate|take|allow|sign)\b",
    rf"{_CLAUSE}(?:avoid|refrain\s+from|stop\s+\w+ing|steer\s+clear|stay\s+away|leave\s+out|leave\s+[\w\s]{{1,40}}?\balone\b|skip|omit|exclude"
    r"|keep\s+[\w\s]{1,40}\s(?:out\s+of|away\s+from)\b)",
    r"\bnobody\s+(?:but|except|else|is\s+(?:to|allowed)|may|can|must|should|shall|gets)\b|\bno\s+one\s+(?:but|except|else|is|may|can|must|should)\b",
    r"\bthere\s+(?:should|must|may|shall|can)\s+be\s+no\b|\b(?:is|are)\s+(?:strictly\s+)?(?:forbidden|prohibited|not\s+(?:allowed|permitted|to\s+\w+))\b|\bnot\s+allowed\b",
    r"\b(?:you're|you\s+are)\s+not\s+(?:allowed|permitted|to)\b|\bunder\s+no\s+circumstances\b|\bin\s+no\s+case\b",
    r"^(?:and\s+|but\s+|please,?\s+|absolutely\s+|with\s+)?no\s+(?!\w+\s+(?:is|was|knows|has|can)\b)(?:more\s+than\b|\w+)",
    rf"{_CLAUSE}not\s+(?:on|in|before|after|more|over|later|longer|at|under|during)\b",
    r"^(?:absolutely\s+)?nothing\s+(?:over|with|under|above|longer|more|too|that|is\s+to)\b|^without\s+(?:my|our|asking|a\s+written)\b",
)
# An order with a bar in it: "Change the flights without changing the dates."
_WITHOUT: Final = _any(
    r"\bwithout\s+(?!it\b|that\b|this\b|them\b|any\s+(?:problem|issue|notice|doubt)|further\b)\w"
)
_NARRATES: Final = _any(
    r"^(?:I|we|he|she|it|they|you|my|his|her|our|their|the|this|that|there|a|an|what|[A-Z]\w+\s+(?:was|is|has|left|went))\b"
)
_ORDERS: Final = _any(
    r"\b(?:I|we)(?:'d|\s+would)?\s+(?:want|like|need)\b|\bplease\b|\byou\s+(?:must|should|have)\b"
)
_BINDS: Final = _any(
    r"\b(?:must|shall)\b",
    r"\byou\s+(?:\w+\s+)?(?:have\s+to|need\s+to|should|ought\s+to)\b",
    r"\b(?!I\b|we\b|you\b|they\b|and\b|to\b)[\w']+\s+(?:has|have|needs?)\s+to\b(?!\s+do\s+with\b)",
    r"\bneeds\s+(?:a|an|my|our|two|three|at\s+least)\b",
    r"^(?:every|each|any|all)\b.{0,120}\b(?:needs?|requires?|should|must|has\s+to|have\s+to)\b",
    r"\b(?:I|we)\s+(?:need|want|expect|require)\s+(?:you|the|this|it|my|our|all|every|each|a\s+\w+)\b.{0,120}\bto\s+(?:be|run|work|have|fit|arrive|include|use|cite|keep|stay|write|\w+)\b",
    r"\bwe\s+require\b|\bI\s+insist\b|\b(?:is|are)\s+(?:required|mandatory|compulsory)\b",
    r"\bshould\b",
    rf"{_CLAUSE}always\s+\w|\b(?:must|should|please)\s+always\b",
    rf"{_CLAUSE}(?:only|exclusively)\s+\w|\b(?:is|are|be)\s+only\s+(?:possible|available|allowed|free)\b"
    r"|\b(?:only)\s+[\w\s]{1,40}\s(?:may|can|must|should)\b|\b(?:I|we)(?:'m|'re|\s+am|\s+are|\s+can)\s+only\s+(?:free|available|able|travel|come|meet|work|pay|accept|eat|do|fly)\b",
    rf"{_CLAUSE}ensure\b|\byou\s+ensure\b|\b(?:make\s+sure|be\s+sure|remember\s+(?:to|that)|don't\s+forget\s+to|be\s+careful\s+to|take\s+care\s+(?:to|that))\b",
    r"\bit(?:'s|\s+is)\s+(?:very\s+|really\s+)?(?:essential|important|mandatory|vital|crucial|necessary|critical|imperative)\s+(?:that|to|for)\b(?!\s+me\b)",
    r"\bfrom\s+(?:now|today|here)\s+on\b",
    rf"{_CLAUSE}(?:double-check|check\s+(?:with|back|the))\b.{{0,120}}\b(?:before|first|if)\b|{_CLAUSE}confirm\s+with\b",
    r"\b(?:ask|tell|warn|notify|inform)\s+(?:me|us)\s+(?:first|before|whenever|when|if)\b|\bask\s+before\b|\blet\s+(?:me|us)\s+know\s+(?:before|whenever|when|if|first)\b",
    r"\bget\s+my\s+(?:ok|okay|approval|permission|consent)\b|\bkeep\s+(?:me|us)\s+(?:posted|informed|updated|in\s+the\s+loop)\b",
    rf"{_CLAUSE}(?:keep|leave)\s+[\w\s]{{1,60}}?\b(?:as\s+(?:it|they)\s+(?:is|are|was)|under|below|within|original|unchanged|alone|short|simple|friendly|polite|formal|confidential|private|secret)\b",
    rf"{_CLAUSE}(?:keep\s+the|stick\s+to|stay\s+(?:below|under|within|on)|limit\s+(?:your|it|the)|restrict|treat\s+[\w\s]{{1,60}}\sas|use|copy|log|leave)\b",
    rf"{_CLAUSE}(?:write|reply|answer|respond|format|return|give|present|show|express|speak|phrase|name|date)\b.{{0,120}}\b(?:in|as|with)\s+(?:[A-Z][\w-]*|plain|simple|all\s+caps|lower\s*case|bullet|bullets|full\s+sentences|prose|tables?|markdown|json|pdf)\b(?!\s+email)",
    r"\b(?:at\s+most|at\s+least|no\s+more\s+than|not\s+more\s+than|maximum|or\s+less)\b",
    r"^(?:whenever|every\s+time|each\s+time|for\s+(?:each|every)|before\s+you|whoever|whatever)\b|\b(?:before\s+(?:each|every)|after\s+(?:each|every))\b",
    r"^nothing\s+but\b",
    r"\b(?:allergy|allergic|wheelchair|vegan|vegetarian|gluten[- ]free|nut[- ]free|kosher|halal)\b",
)
_OWN: Final = _any(
    r"\b(?:I|we|and|to)(?:'ll|'d|\s+will)?\s+(?:\w+\s+){0,2}?(?:have|had|need|needed|want|wanted|got|make\s+sure)\s+(?:to\b|(?:a|an|some|two|help)\b(?!.{0,120}\bto\s+be\b))"
    r"|\b(?:I|we)(?:'ll|'d|\s+will)?\s+(?:\w+\s+){0,3}?make\s+sure\b|\bwe\s+need\s+to\s+(?:talk|meet|discuss|leave|go)\b|\b(?:I|we|(?:my|our)\s+\w+)\s+should\b(?!\s+not)"
)


_ADDRESSES: Final = _any(r"^(?:please|make|be)\b")


def _of_person(sentence: str) -> _Kind:
    """Return what a sentence of a person is; the first that fits counts."""
    if sentence.endswith("?"):
        asks = _PREFERS.search(sentence) and re.match(
            r"(?:could|can)\s+we\b", sentence, re.IGNORECASE
        )
        return _PREFERENCE if asks else _NOTHING
    if restated := _RESTATES.search(sentence):
        anew = _of_statement(sentence[restated.end() :])
        if anew in {_MUST, _MUST_NOT}:
            return anew
    return _of_statement(sentence)


def _of_statement(sentence: str) -> _Kind:
    if _CORRECTS.search(sentence):
        return _CORRECTION
    if _TOLD.search(sentence) and not _ADDRESSES.match(sentence):
        return _NOTHING
    if _DECIDES.search(sentence) and not _UNDECIDED.search(sentence):
        return _DECISION
    # What is said in passing is blanked, so that a demand beside it is still found.
    asked = _PASSING.sub(_blank, sentence)
    if _PREFERS.search(asked):
        return _PREFERENCE
    narrates = _NARRATES.match(asked) and not _ORDERS.search(asked)
    if _BARS.search(asked) or (_WITHOUT.search(asked) and not narrates):
        return _MUST_NOT
    asked = _OWN.sub(_blank, asked)
    return _MUST if _BINDS.search(asked) else _NOTHING


def _blank(told: re.Match[str]) -> str:
    return " " * len(told.group())


# The span is the whole text, that of an exit code its number.

_ENDED: Final = regex(
    r"\b(?:exit(?:ed)?[ ](?:code|status|with)|return[ ]?code|returncode)[^0-9-]{0,12}"
    r"(?P<code>-?[0-9]{1,3})\b",
    re.IGNORECASE,
)


def from_answer(reading: Reading) -> Iterator[Fact]:
    """Yield what is known of a call or an answer as a whole."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS:
        yield fact(
            passage, Said("tool_call", passage.call, passage.tool), 0, len(passage.text), "call"
        )
    elif passage.place is Place.ANSWER:
        said = Said("tool_result", passage.call, "failed" if passage.failed else "ok")
        yield fact(passage, said, 0, len(passage.text), "call")
        ended = None if reading.members is not None else _ENDED.search(passage.text)
        if ended:
            code = Said("exit_code", "", ended["code"], "number")
            yield fact(passage, code, ended.start("code"), ended.end("code"), "call")


_PATHS: Final = frozenset(
    {"path", "file", "file_path", "filepath", "filename", "file_name", "target_file"}
    | {"notebook_path", "absolute_path", "relative_path", "old_path", "new_path"}
)
_COMMANDS: Final = frozenset({"command", "cmd", "script", "bash", "shell"})
_ACTIONS: Final = (
    (frozenset({"delete", "remove", "rm", "unlink"}), "deleted"),
    (frozenset({"edit", "replace", "insert", "patch", "update", "append", "undo"}), "changed"),
    (frozenset({"create", "write", "save", "touch", "new"}), "created"),
    (frozenset({"read", "view", "open", "cat", "load", "show"}), "read"),
)
_WORDS: Final = regex(r"[A-Z]?[a-z]+|[A-Z]+")
_LONGEST: Final = 400
_FILE: Final = r"(?P<{}>'[^'\n]{{1,300}}'|\"[^\"\n$]{{1,300}}\"|[\w./~+@-]{{1,300}})"
_SHELL: Final = regex(
    rf"(?<![0-9&>=-])(?P<more>>>?)[ ]?{_FILE.format('target')}"
    rf"|(?:^|[;&|\n(]\s?|\bsudo\s)(?P<verb>rm|touch|mkdir|mv|cp|cat|head|tail|tee|sed)"
    rf"(?:[ ]-[\w-]{{1,20}}){{0,5}}(?:[ ]'[^'\n]{{0,300}}')?[ ]{_FILE.format('first')}"
    rf"(?:[ ]{_FILE.format('second')})?"
)
_VERBS: Final = MappingProxyType(
    dict.fromkeys(("touch", "mkdir", "tee"), "created")
    | dict.fromkeys(("cat", "head", "tail"), "read")
    | {"rm": "deleted", "sed": "changed"}
)
_MOST_IN_ONE: Final = 50


def from_files(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each file that a call names."""
    members = reading.members or ()
    if reading.passage.place is not Place.ARGUMENTS:
        return
    action = _action(reading.passage.tool, members)
    for member in members:
        if member.kind != "text":
            continue
        if member.name in _PATHS and action and _is_path(member.value):
            yield _artifact(reading, member, member.value, action)
        elif member.name in _COMMANDS and len(member.value) > 1:
            for path, what in dict(_in_shell(member.value)).items():
                yield _artifact(reading, member, path, what)


def _action(tool: str, members: Sequence[Member]) -> str:
    """Tell what a call does to its file, by its command or by the tool's name."""
    given = [one.value for one in members if one.name in {"command", "action", "operation"}]
    for text in (*given, tool):
        words = {word.lower() for word in _WORDS.findall(text[:60])}
        for names, action in _ACTIONS:
            if words & names and len(words) <= 4:  # noqa: PLR2004  a longer text is no name
                return action
    return ""


def _is_path(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text.isprintable() and not text.startswith("-")


def _in_shell(command: str) -> Iterator[tuple[str, str]]:
    for number, found in enumerate(_SHELL.finditer(command)):
        if number == _MOST_IN_ONE:
            return
        verb = found["verb"]
        target = (found["target"] or "").strip("'\"")
        # What is compared with a number is no file, and neither is a device.
        if target and not target.isdecimal() and not target.startswith("/dev/"):
            yield target, "changed" if found["more"] == ">>" else "created"
        elif verb in {"mv", "cp"} and found["second"]:
            if verb == "mv":
                yield found["first"].strip("'\""), "deleted"
            yield found["second"].strip("'\""), "created"
        elif verb in _VERBS:
            yield found["first"].strip("'\""), _VERBS[verb]


def _artifact(reading: Reading, member: Member, path: str, action: str) -> Fact:
    passage = reading.passage
    about = passage.subject if action == "read" else ""
    span = Span(passage.archive, member.start, member.end)
    return fact_at(passage, Said("artifact", path, action, about=about), span, "files")


_MOST: Final = 50
_LINE: Final = 500
_DEEPEST: Final = 3
_MESSAGES: Final = frozenset({"error", "error_message", "errormessage", "exception", "traceback"})
_FLAGS: Final = MappingProxyType(
    {"ok": "false", "success": "false", "iserror": "true", "is_error": "true"}
)
_STATES: Final = frozenset({"status", "state", "result"})
_BAD: Final = frozenset({"error", "failed", "failure"})
_KINDS: Final = regex(
    r"""
      ^(?P<exception>(?:[A-Za-z_]\w{0,60}\.){0,5}[A-Z]\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit))\b[:(]?
    | ^\s{0,8}(?P<said>Error|ERROR|error|FATAL|fatal|Failure|FAILED)\b[: ]
    | \b(?:exit(?:ed)?\ (?:code|status|with)|return\ code)\D{0,12}(?P<exit>[1-9][0-9]{0,2})\b
    | \b(?:HTTP(?:/[0-9.]{1,4})?|status)\D{0,12}(?P<status>[45][0-9]{2})\b
    | (?P<sql>\bno\ such\ (?:table|column)|\bsyntax\ error\b|\bSQLSTATE|\bORA-[0-9]{5}
        |\b(?:relation|column|table)\ \S{1,100}\ does\ not\ exist)
    | (?P<shell>command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|timed\ out)
    """,
    re.VERBOSE | re.MULTILINE,
)


def from_failures(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each line that says what went wrong."""
    passage = reading.passage
    if passage.place is not Place.ANSWER:
        return
    told, last = False, -1
    for member in reading.members or ():
        if _tells(member):
            span = Span(passage.archive, member.start, member.end)
            yield fact_at(passage, Said("error", member.name, member.value), span, "failure")
            told = True
    for found in islice(_KINDS.finditer(passage.text), _MOST):
        kind = found.group("exception") or found.lastgroup or ""
        code = found.group("exit") or found.group("status")
        start = passage.text.rfind("\n", 0, found.end()) + 1
        if start != last:
            # A line tells one error, however many words in it say so.
            yield _error(passage, f"{kind} {code}" if code else kind, start)
        told, last = True, start
    if passage.failed and not told:
        yield _error(passage, "failed", 0)


def _tells(member: Member) -> bool:
    """Tell whether a member of an answer in JSON says that something went wrong."""
    name, value = member.name.lower(), member.value.lower()
    if len(member.path) > _DEEPEST:
        return False
    if name in _MESSAGES:
        return member.kind == "text" and bool(value.strip())
    if name in _FLAGS:
        return value == _FLAGS[name]
    return name in _STATES and value in _BAD


def _error(passage: Passage, kind: str, start: int) -> Fact:
    end = passage.text.find("\n", start)
    line = passage.text[start : end if end >= 0 else None][:_LINE]
    return fact(passage, Said("error", kind, line), start, start + len(line), "failure")


# The span is what was written between the marks, without the blanks around it.

_FENCE: Final = regex(
    r"^```(?P<language>\w{0,20})[ \t]*\n(?P<code>(?:(?!^```).*\n)*)^```", re.MULTILINE
)
_SHELLS: Final = frozenset({"", "bash", "sh", "shell", "console", "zsh"})
_TAG: Final = regex(r"<(?P<kind>function|parameter)=(?P<name>[\w.-]{1,100})>")
_END: Final = "</parameter>"


def from_spoken_calls(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each call and argument."""
    passage = reading.passage
    if passage.place is not Place.SAID or passage.author is not Author.ASSISTANT:
        return
    if "<function=" in passage.text:
        yield from _in_tags(passage)
    if "```" in passage.text:
        for found in _FENCE.finditer(passage.text):
            if found["language"].lower() in _SHELLS and found["code"].strip():
                start, end = _inner(passage.text, *found.span("code"))
                said = Said("command", "", passage.text[start:end])
                yield fact(passage, said, start, end, "spoken")


def _in_tags(passage: Passage) -> Iterator[Fact]:
    tags = [*_TAG.finditer(passage.text)]
    for tag, following in zip_longest(tags, tags[1:]):
        if tag["kind"] == "function":
            said = Said("tool_call", "", tag["name"])
            yield fact(passage, said, tag.start("name"), tag.end("name"), "spoken")
            continue
        limit = following.start() if following else len(passage.text)
        closed = passage.text.find(_END, tag.end(), limit)
        if closed > tag.end():
            start, end = _inner(passage.text, tag.end(), closed)
            said = Said("tool_arg", tag["name"], passage.text[start:end])
            yield fact(passage, said, start, end, "spoken")


def _inner(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    begin = start + len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())


# The bytes of a fact are those of its value as it was written, and each fact comes once.

if TYPE_CHECKING:
    Extractor = Callable[[Reading], Iterable[Fact]]

EXTRACTORS: Final[Sequence[Extractor]] = (
    from_answer,  # that a tool was called, that it answered, how a program ended
    from_json,  # arguments and answers, leaf by leaf
    from_files,  # arguments: what is made, changed, deleted, read
    from_spoken_calls,  # prose of a model: calls and commands
    from_tables,  # tables: their rows, columns and cells
    from_failures,  # answers that say what went wrong
    from_values,  # prose: numbers, dates, ids, paths, addresses
    from_wishes,  # prose of people: what must and must not be, what they prefer, decide, correct
    from_task_lists,  # boxes that are ticked or not, lists in arguments
)


def facts_of(passages: Iterable[Passage]) -> Iterator[Fact]:
    """Yield the facts of passages, extractor by extractor; each fact once."""
    seen: set[tuple[str | int, ...]] = set()
    for passage in passages:
        reading = Reading(passage)
        for extractor in EXTRACTORS:
            for one in extractor(reading):
                # The content is compared, for its digest takes longer to make.
                content = one.content
                if content not in seen:
                    seen.add(content)
                    yield one
