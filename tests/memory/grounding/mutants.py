"""Claims that a text makes, and changed ones that it does not make.

The public dialogues mark each value with its characters. A mutant changes the value, its unit, or
the text around it; none of them is said by the text it goes with.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from constat.memory import Author
from constat.memory.grounding import WORDS, Claim, Force
from tests.memory.logs import public_logs

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Said:
    """A claim with the quote that stands for it and the text."""

    claim: Claim
    quote: str
    text: str
    author: Author
    kind: str = "true"


@cache
def dialogues() -> list[dict[str, Any]]:
    files = sorted((public_logs() / "sgd").glob("dev-dialogues_*.json"))
    return [one for file in files for one in json.loads(file.read_text())]


@cache
def spoken() -> list[tuple[Said, int]]:
    """Give the marked values, each with where it begins in its text."""
    found = []
    for dialogue in dialogues():
        for turn in dialogue["turns"]:
            text = turn["utterance"]
            author = Author.HUMAN if turn["speaker"] == "USER" else Author.ASSISTANT
            for slot in (slot for frame in turn["frames"] for slot in frame["slots"]):
                start, end = slot["start"], slot["exclusive_end"]
                claim = Claim(slot["slot"], (text[start:end],), force=Force.MENTIONED)
                found.append((Said(claim, _around(text, start, end), text, author), start))
    return found


def _around(text: str, start: int, end: int) -> str:
    """Quote a value with up to two words on each side, as a model would."""
    before = re.search(r"(?:\S+\s+){0,2}\S*\Z", text[:start])
    behind = re.match(r"\S*(?:\s+\S+){0,2}", text[end:])
    assert before
    assert behind
    return before.group() + text[start:end] + behind.group()


_DENIES: Final = re.compile(r"n't\b|\b(?:not|no|none|never|without|zero)\b", re.IGNORECASE)
_PARTS: Final = re.compile(
    r"\b(?:in|at|o'clock|past|to|half|quarter|morning|evening|afternoon|night|[ap]m)\b"
)
_UNITS: Final = (
    (r"\b([0-9: ]+)(am|a\.m\.)", r"\1pm"),
    (r"\b([0-9: ]+)(pm|p\.m\.)", r"\1am"),
    (r"\bmorning\b", "evening"),
    (r"\b(?:evening|afternoon)\b", "morning"),
    (r"\$", "\u20ac"),
    (r"\b(\d+) dollars\b", r"\1 euros"),
    (r"\A(\d+)\Z", r"\1 %"),
    (r"\A(\d+)\Z", r"\1 thousand"),
    (r"\A(\d+)\Z", r"\1 kg"),
)


def mutants(said: Said, start: int, others: Sequence[str], rng: random.Random) -> Iterator[Said]:
    """Give mutants of one claim; ``others`` are values and texts of other dialogues."""
    (value,) = said.claim.constants
    if not _DENIES.search(said.text):
        yield replace(said, claim=replace(said.claim, negated=True), kind="negation of the claim")
    for changed in (*_other_digits(value, rng), *_other_words(value, rng)):
        if not _names(said.text, changed):
            yield replace(said, claim=replace(said.claim, constants=(changed,)), kind="value")
    for pattern, by in _UNITS:
        changed = re.sub(pattern, by, value, count=1)
        if value not in {changed, "0"} and not _names(said.text, changed):
            yield replace(said, claim=replace(said.claim, constants=(changed,)), kind="unit")
    for text in _denied(said.text, start, value, rng):
        yield replace(said, text=text, quote=value, kind="negation of the text")
    other = rng.choice(others)
    if not _may_name(said.text, other):
        yield replace(said, claim=replace(said.claim, constants=(other,)), kind="other name")
        both = (value, other)
        yield replace(said, claim=replace(said.claim, constants=both), kind="borrowed quote")
    if not _may_name(other, value) and not _may_name(said.text, other):
        yield replace(said, text=other, kind="wrong message")
        words = other.split()
        yield replace(said, text=other, quote=" ".join(words[:4]), kind="borrowed quote")
        yield replace(said, text=f"{said.text}\n\n{other}", quote=other, kind="borrowed sentence")


def _other_digits(value: str, rng: random.Random) -> Iterator[str]:
    places = [at for at, one in enumerate(value) if one.isdigit()]
    for at in rng.sample(places, min(2, len(places))):
        digit = rng.choice([one for one in "0123456789" if one != value[at]])
        yield value[:at] + digit + value[at + 1 :]
        if "." not in value[:at] or digit != "0":  # 4.50 is 4.5
            yield value[: at + 1] + digit + value[at + 1 :]


def _other_words(value: str, rng: random.Random) -> Iterator[str]:
    places = [at for at, one in enumerate(value) if one.isalpha()]
    for at in rng.sample(places, min(2, len(places))):
        letter = rng.choice([one for one in "aeioubcd" if one != value[at].lower()])
        yield value[:at] + letter + value[at + 1 :]
    if len(value) > 3 and value.isalpha():
        yield value[:-1]
        yield f"{value}s"


def _denied(text: str, start: int, value: str, rng: random.Random) -> Iterator[str]:
    behind = text[start + len(value) :]
    word = rng.choice(["not ", "never ", "anything but ", "neither ", "no "])
    yield f"{text[:start]}{word}{value}{behind}"
    yield f"It is {rng.choice(['not true', 'false', 'untrue'])} that it is {value}."
    yield f"{value} is {rng.choice(['not', 'never', 'hardly'])} what was meant."
    yield f"Anything {rng.choice(['other than', 'except', 'rather than'])} {value} will do."
    yield f"{rng.choice(['Nobody', 'None of us', 'No one'])} said {value}."


def _may_name(text: str, value: str) -> bool:
    """Tell whether a text may name a value in other words: ``4 pm`` is four in the evening."""
    plain, digits = (
        re.sub(r"[a-z]+", lambda word: str(WORDS.get(word[0], word[0])), one.lower())
        for one in (text, value)
    )
    return _names(plain, _PARTS.sub("", digits))


def _names(text: str, value: str) -> bool:
    """Tell whether a text may name a value after all, read as generously as can be."""
    wanted, given = (set(re.findall(r"\w+", one.lower())) for one in (value, text))
    return wanted - {"of", "the"} <= given or wanted == {"0"}
