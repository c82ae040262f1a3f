"""Claims as lines of a context: what is so, and where it was said.

In: claims that are shown together, of one text, or of several that say one value each about the
same thing.  Out: one line.  Invariants: a line ends with where it was said, so it can be opened: a
sentence with its bytes, values with the text they stand in (each of them, where there are several),
while the line itself knows the bytes of each; what a text says stands in quotes or is one plain
word, so no text can add a line or look like another; nothing is put in other words.

Examples: ``constraint must_not "Never email anyone outside corp.com." @m3[12:48]`` and
``call get_order id: O-5 @m7 O-7 @m9``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.memory.history import place_of
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory.history import Cited, Claim

# Kinds that have a line of their own: what they say is a sentence.
WHOLE: Final = frozenset(
    {"task", "constraint", "preference", "pending", "done", "error", "said", "decision"}
)
# Kinds that say no more than that a call was made and answered, which its arguments say as well.
# What the gate has refused is kept, and never shown.
SILENT: Final = frozenset({"tool_call", "tool_result", "rejected"})
_PLAIN: Final = re.compile(r"[\w$€£%@#&+*/.:-]{1,200}")
_INDEX: Final = re.compile(r"(?:\[[0-9]+\])+\Z")
_NOT_SHOWN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``place`` are the bytes it is taken from, ``claims`` the names of what it says."""

    text: str
    place: str
    claims: tuple[str, ...]
    level: int
    at: int


def quoted(text: str) -> str:
    """Return a text in quotes, as JSON writes it; what a terminal obeys or hides is escaped."""
    written = json.dumps(text, ensure_ascii=False)
    if written.isprintable():
        return written
    return "".join(one if _is_shown(one) else _escape(one) for one in written)


def word(text: str) -> str:
    """Return a text as it is where it is one plain word, else in quotes."""
    return text if _PLAIN.fullmatch(text) and text.isprintable() else quoted(text)


def piece(claim: Claim) -> str:
    """Return what one claim adds to the line of its text, where no other has its key."""
    key = key_of(claim)
    return f"{key}={shown(claim)}" if key else shown(claim)


def key_of(claim: Claim) -> str:
    """Return what a claim is about, as its line calls it; nothing for what people name."""
    one = claim.fact
    if one.predicate == "entity_value":
        return ""
    key = _short(one.key) if one.method == "json" else one.key
    return word(key) if key else ""


def shown(claim: Claim) -> str:
    """Return the value of a claim as a line shows it."""
    one = claim.fact
    if one.predicate == "entity_value":
        # As it was said: what a day is called is not what a calendar calls it.
        return word(claim.quote.decode("utf-8", "replace"))
    return word(f"{one.value} {one.unit}".strip() if one.unit else one.value)


def _short(key: str) -> str:
    """Return the last name of a path: ``price`` of ``lines[0].price``, ``ids`` of ``ids[3]``."""
    return _INDEX.sub("", key.rpartition(".")[2])


def head(text: Cited) -> str:
    """Return how a line about a text begins."""
    passage = text.passage
    match passage.place:
        case Place.ARGUMENTS:
            return f"call {word(passage.tool)}"
        case Place.ANSWER:
            return f"{word(passage.tool or 'tool')} ->"
        case Place.SAID:
            return f"{passage.author.name.lower()}:"


def line(claims: Sequence[Claim], level: int) -> Line:
    """Write claims of one text, in the order of their places."""
    ordered = sorted(claims, key=lambda one: (one.fact.span.start, one.name))
    text = ordered[0].text
    start = min(one.fact.span.start for one in ordered)
    end = max(one.fact.span.end for one in ordered)
    place = place_of(text.name, start, end)
    keys = dict.fromkeys(map(key_of, ordered))
    said = " ".join([head(text), *(_values(key, ordered) for key in keys)])
    names = tuple(one.name for one in ordered)
    return Line(f"{said} @{text.name}", place, names, level, ordered[0].at)


def _values(key: str, claims: Sequence[Claim]) -> str:
    """Write the values of one key, which is named once: ``seat=12A,12B``."""
    values = [shown(one) for one in claims if key_of(one) == key]
    return f"{key}={','.join(values)}" if key else " ".join(values)


def label(claim: Claim) -> str:
    """Return what claims of one value each have in common where they share a line."""
    key = key_of(claim)
    return f"{head(claim.text)} {key}:" if key else head(claim.text)


def value(claim: Claim) -> str:
    """Return what such a claim adds to the line: its value, and where it was said."""
    return f"{shown(claim)} @{claim.text.name}"


def shared_line(claims: Sequence[Claim], level: int) -> Line:
    """Write claims of several texts that have one label; each value is followed by its text."""
    ordered = sorted(claims, key=lambda one: (one.at, one.name))
    said = " ".join([label(ordered[0]), *map(value, ordered)])
    names = tuple(one.name for one in ordered)
    return Line(said, ordered[-1].place, names, level, ordered[0].at)


def whole_line(claim: Claim, level: int, said: str, note: str = "") -> Line:
    """Write one claim that is a sentence; ``said`` is how much of it is shown."""
    one = claim.fact
    words = [one.predicate, *([word(one.key)] if one.key else []), said]
    words += [note] if note else []
    return Line(f"{' '.join(words)} @{claim.place}", claim.place, (claim.name,), level, claim.at)


def _is_shown(one: str) -> bool:
    return one.isprintable() and unicodedata.category(one) not in _NOT_SHOWN


def _escape(one: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _units(one))


def _units(one: str) -> list[int]:
    content = one.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(content[at : at + 2]) for at in range(0, len(content), 2)]
