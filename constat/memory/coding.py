"""A history as the rows that the rules of memory read.

In: the branches of a history, and the goal for which a context is wanted.  Out: the rows of each
predicate of ``vocabulary.dl`` of the rules.  Invariant: rows depend on what was said and on the
goal, and on nothing else; no row says what matters, for that is for the rules.

Example: the constraint in bytes 12 to 58 of message 3 is
``("m3[12:58] constraint", "constraint", "must_not", "Never email ...", "human", "m3", ...)``.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.memory.facts import Author
from constat.memory.history import MAIN
from constat.memory.lines import SILENT, last_name
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.logic import Row
    from constat.memory.history import Cited, Claim, History

SPEAKERS: Final = tuple((author, author.name.lower()) for author in Author)
RETRACTION: Final = "retraction"
_LONGEST: Final = 300
_LONGEST_SLOT: Final = 90
_WORDS: Final = re.compile(r"[^\W_](?:[\w@#./:+$%-]*\w)?")
_LEAST_TELLING: Final = 3
_MOST_WORDS: Final = 8
_LONGEST_NAME: Final = 120
_MOST_BLANKS: Final = 7
_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9.,:]*")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]*Z?)?")
# A calculation says little once it is made; its result is somewhere else.
_FORMULA: Final = re.compile(r"[0-9.,()]+(?:[ ][-+*/][ ][0-9.,() ]+)+")
# A code names one thing: letters with digits, or with marks that no word has.
_CODE: Final = re.compile(r"(?=\S*[A-Za-z])(?=\S*[0-9_@/#])\S{3,}")
_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a branch left the main one (so many messages), and where it came back, if it has."""

    branch: str
    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """Everything that the rules are told: branches, pins, and what people took back and why.

    ``goal`` is a text; the values that it names are what counts of it. ``focus`` is the branch
    whose last human text tells what is being done.
    """

    histories: Sequence[History]
    forks: Sequence[Fork] = ()
    held: Sequence[tuple[str, str]] = ()
    taken_back: Sequence[tuple[str, str]] = ()
    goal: str = ""
    focus: str = MAIN


def rows_of(known: Known) -> dict[str, list[Row]]:
    """Return the rows of every predicate that comes from outside."""
    texts = [text for history in known.histories for text in history.texts]
    claims = [
        claim
        for history in known.histories
        for claim in history.claims
        if claim.fact.predicate not in SILENT
    ]
    words = _Words(claims)
    found: dict[str, list[Row]] = {
        "stated": [*map(_stated, claims), *_retractions(known)],
        "shaped": [(claim.name, shape) for claim in claims if (shape := shape_of(claim))],
        "called": [(claim.name, called(claim)) for claim in claims if claim.fact.method == "json"],
        "spoken": [(text.name, text.branch, text.at) for text in texts],
        "forked": [(one.branch, MAIN, _order(one.start)) for one in known.forks],
        "joined": [
            (one.branch, MAIN, _order(one.end)) for one in known.forks if one.end is not None
        ],
        "takes_back": [
            *((claim.name, claim.fact.value) for claim in claims if _retracts(claim)),
            *((f"retraction {at}", claim) for at, (claim, _) in enumerate(known.taken_back)),
        ],
        "held": list(known.held),
        "asked": [(value,) for value in sorted(words.within(known.goal))],
    }
    found["returned"] = [
        (text.name, cell(text.passage.tool), cell(text.passage.subject), text.at)
        for text in texts
        if text.passage.place is Place.ANSWER
    ]
    found["answers"] = list(_answers(texts))
    found["holds"], found["mentioned"] = _values(texts, claims, words)
    # A branch in which nothing was asked yet goes on with what was asked before it began.
    lasts = {one.branch: one.last_human for one in known.histories}
    last = lasts.get(known.focus) or lasts.get(MAIN)
    found["last_human"] = [] if last is None else [(last.name,)]
    return found


def slot_of(claim: Claim) -> str:
    """Return what a claim gives a value to."""
    one = claim.fact
    if one.predicate in {"pending", "done"}:
        return cell(_BLANKS.sub(" ", one.value).strip().lower())
    return cell(f"{one.subject} {one.key}".strip(), _LONGEST_SLOT)


def called(claim: Claim) -> str:
    """Return the last name of the path to a leaf: ``price`` of ``lines[0].price``."""
    return cell(last_name(claim.fact.key), _LONGEST_SLOT)


def shape_of(claim: Claim) -> str:
    """Return what a value looks like; empty for a name or a number."""
    one = claim.fact
    value = one.value
    if one.kind in {"truth", "nothing"}:
        return "flag"
    if len(value) < _LEAST_TELLING:
        return "short"
    if one.kind == "date" or _DATE.fullmatch(value):
        return "date"
    if one.kind == "number" or _NUMBER.fullmatch(value):
        return ""
    if _FORMULA.fullmatch(value) or len(value) > _LONGEST_NAME or value.count(" ") > _MOST_BLANKS:
        return "prose"
    return "code" if _CODE.fullmatch(value) else ""


def cell(text: str, longest: int = _LONGEST) -> str:
    """Return a text as a cell: a long one by its beginning and its digest.

    What no certificate may hold, NUL and half a surrogate pair, becomes a mark for it.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    text = text.replace("\0", "\ufffd")
    if len(text) <= longest:
        return text
    shown = text[: longest * 2 // 3]
    return f"{shown}... sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def speaker_of(author: Author) -> str:
    """Return how the rules call an author."""
    return dict(SPEAKERS)[author]


def _order(messages: int) -> int:
    return messages << 32


def _stated(claim: Claim) -> Row:
    one = claim.fact
    speaker = SPEAKERS[one.author][1]
    value = cell(one.value)
    return (claim.name, one.predicate, slot_of(claim), value, speaker, claim.text.name, claim.at)


def _retracts(claim: Claim) -> bool:
    return claim.fact.predicate == RETRACTION


def _retractions(known: Known) -> Iterator[Row]:
    """Yield what people took back through the interface: that is a person's word, and no text's."""
    for at, (claim, why) in enumerate(known.taken_back):
        yield (f"retraction {at}", RETRACTION, claim, cell(why), "human", "", at)


def _answers(texts: Sequence[Cited]) -> Iterator[Row]:
    asked: dict[tuple[str, str], str] = {}
    for text in texts:
        call = (text.branch, text.passage.call)
        if text.passage.place is Place.ARGUMENTS:
            asked[call] = text.name
        elif text.passage.place is Place.ANSWER and call in asked:
            yield (text.name, asked[call])


class _Words:
    """The values that are looked for in prose, word by word.

    For each first word the lengths are known, so a text takes the same time however many values
    begin alike.
    """

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._lengths: dict[str, set[int]] = defaultdict(set)
        self._values: dict[tuple[str, ...], str] = {}
        values = {claim.fact.value for claim in claims if _tells(claim)}
        for value in sorted(values):
            words = tuple(_WORDS.findall(value.lower()))
            if words and len(words) <= _MOST_WORDS and words not in self._values:
                self._values[words] = cell(value)
                self._lengths[words[0]].add(len(words))

    def within(self, text: str) -> set[str]:
        """Return the values that stand in a text, word for word."""
        words = _WORDS.findall(text.lower())
        found = set()
        for at, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                value = self._values.get(tuple(words[at : at + length]))
                if value is not None:
                    found.add(value)
        return found


def _tells(claim: Claim) -> bool:
    """Tell whether a claim's value may be known again elsewhere."""
    one = claim.fact
    if one.predicate not in {"leaf", "tool_arg", "entity_value", "user_fact", "cell"}:
        return False
    if one.kind in {"truth", "nothing"} or len(one.value) < _LEAST_TELLING:
        return False
    return len(one.value) <= _LONGEST


def _values(
    texts: Sequence[Cited], claims: Sequence[Claim], words: _Words
) -> tuple[list[Row], list[Row]]:
    """Return which values stand in which texts, and which of them came up again there."""
    holds: dict[tuple[str, str], None] = {}
    mentioned: dict[tuple[str, str, str, int], None] = {}
    for claim in claims:
        if _tells(claim):
            value, text = cell(claim.fact.value), claim.text
            holds[text.name, value] = None
            if text.passage.author is not Author.TOOL:
                mentioned[value, _how(text), text.name, text.at] = None
    for text in texts:
        if text.passage.place is Place.SAID:
            for value in sorted(words.within(text.passage.text)):
                holds[text.name, value] = None
                mentioned[value, _how(text), text.name, text.at] = None
    return list(holds), list(mentioned)


def _how(text: Cited) -> str:
    """Return how a value comes up in a text that is not a tool's."""
    if text.passage.place is Place.ARGUMENTS:
        return "asked"
    return "told" if text.passage.author is Author.ASSISTANT else "said"
