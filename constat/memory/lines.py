"""Claims as lines of a context: what is so, and where it was said.

In: claims.  Out: how lines name and show them, and the lines of sentences; values share lines
(``families``).  Invariants: a line ends with where it was said, so it can be opened: a sentence
with its bytes, or the text alone where it is all of it, and values with the text they stand in,
while the line itself knows the bytes of each; what a text says stands in quotes or is one plain
word that is no key and no place, so no text can add a line or look like another; nothing is put
in other words.

Example: ``constraint must_not "Never email anyone outside corp.com." @m3[12:48]``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.facts import Author, Place
from constat.memory.messages import Role

if TYPE_CHECKING:
    from constat.memory.history import Cited, Claim

# Kinds that have a line of their own: what they say is a sentence.
WHOLE: Final = frozenset(
    {"task", "constraint", "preference", "pending", "done", "error", "said", "decision", "quoted"}
)
# What people said stands in a message of theirs, and as it was said: so it is read again as it was.
_SPOKEN: Final = MappingProxyType(
    {"task": "", "constraint": "", "said": "", "pending": "- [ ] ", "done": "- [x] "}
)
_ROLES: Final = MappingProxyType({Author.HUMAN: Role.USER.value, Author.SYSTEM: Role.SYSTEM.value})
# Kinds that say no more than that a call was made and answered, which its arguments say as well.
# What the gate has refused is kept, and never shown.
SILENT: Final = frozenset({"tool_call", "tool_result", "rejected"})
_PLAIN: Final = re.compile(r"(?!@)[\w$€£%@#&+*/.:-]{1,200}(?<!:)")
_INDEX: Final = re.compile(r"(?:\[[0-9]+\])+\Z")
_NOT_SHOWN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@frozen
class Line:
    """One line; ``place`` are the bytes it is taken from, ``claims`` the names of what it says.

    Where it says what a person or the system said, ``words`` are to stand in a message of
    ``role``, and the block of a context has only ``stub``: what it is, and where it was said.
    """

    text: str
    place: str
    claims: tuple[str, ...]
    level: int
    at: int
    role: str = ""
    words: str = ""
    stub: str = ""


def quoted(text: str) -> str:
    """Return a text in quotes, as JSON writes it; what a terminal obeys or hides is escaped."""
    written = json.dumps(text, ensure_ascii=False)
    if written.isprintable():
        return written
    return "".join(one if _is_shown(one) else _escape(one) for one in written)


def word(text: str) -> str:
    """Return a text as it is where it is one plain word, else in quotes."""
    return text if _PLAIN.fullmatch(text) and text.isprintable() else quoted(text)


def key_of(claim: Claim) -> str:
    """Return what a claim is about, as its line calls it; nothing for what people name."""
    one = claim.fact
    if one.predicate == "entity_value":
        return ""
    key = last_name(one.key) if one.method == "json" else one.key
    return word(key) if key else ""


def shown(claim: Claim) -> str:
    """Return the value of a claim as a line shows it."""
    one = claim.fact
    if one.predicate == "entity_value":
        # As it was said: what a day is called is not what a calendar calls it.
        return word(claim.quote.decode("utf-8", "replace"))
    return word(f"{one.value} {one.unit}".strip() if one.unit else one.value)


def last_name(key: str) -> str:
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


def speaker(text: Cited) -> str:
    """Return whose word a text is, as the beginning of a line without names of tools and keys."""
    return f"{text.passage.author.name.lower()}:"


def is_bare_number(claim: Claim) -> bool:
    """Tell whether a value is a number that says nothing without its key."""
    one = claim.fact
    return one.predicate != "entity_value" and one.value.replace(".", "", 1).isdigit()


def whole_line(claim: Claim, level: int, said: str, rest: str = "", note: str = "") -> Line:
    """Write one claim that is a sentence; ``said`` is how much of it is shown, ``rest`` says so."""
    one = claim.fact
    what = [one.predicate, *([word(one.key)] if one.key else [])]
    behind = [note] if note else []
    cited = f"@{_cited(claim)}"
    text = " ".join([*what, f"{quoted(said)}{rest}", *behind, cited])
    line = Line(text, claim.place, (claim.name,), level, claim.at)
    role = _ROLES.get(one.author) if one.predicate in _SPOKEN else None
    if role is None:
        return line
    words = f"{_SPOKEN[one.predicate]}{said}{rest}"
    return replace(line, role=role, words=words, stub=" ".join([*what, *behind, cited]))


def _cited(claim: Claim) -> str:
    """Return where a sentence stands: the text alone, where the sentence is all of it."""
    passage = claim.text.passage
    whole = len(claim.quote) == len(passage.content)
    return claim.text.name if whole else claim.place


def _is_shown(one: str) -> bool:
    return one.isprintable() and unicodedata.category(one) not in _NOT_SHOWN


def _escape(one: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _units(one))


def _units(one: str) -> list[int]:
    content = one.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(content[at : at + 2]) for at in range(0, len(content), 2)]
