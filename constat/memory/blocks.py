"""The lines of a block that came back, each read as the word of whoever it is of.

A block gives nobody's task, constraint or preference (what people said stands in messages of
theirs); a tool's values are again a tool's, and what a model asked with is again a model's.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.facts import Author
from constat.memory.passages import Passage, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact

_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_WORD: Final = r"[\w$€£%@#&+*/.:-]+"
_AT: Final = r"@(?:[\w][\w .-]{0,59}:)?m[0-9]{1,9}(?:\.[0-9]{1,9})?(?:\[[0-9]+:[0-9]+\])?"
_HEAD: Final = re.compile(
    rf"(?:call\s(?P<asked>{_TEXT}|{_WORD})|(?P<tool>{_TEXT}|{_WORD})\s->"
    r"|(?P<speaker>human|system|assistant|tool|extracted):)\s"
)
_WHOLE: Final = re.compile(
    rf"(?P<kind>pending|done|error|decision|quoted)(?:\s(?P<key>{_TEXT}|(?!\")\S+))?"
    rf"\s(?P<said>{_TEXT})(?P<rest>\s\[all\sof\sit:\sref:[^\]]+\])?"
    rf"(?:\s\((?P<note>[^\n]*)\))?\s(?P<at>{_AT})\s*$"
)
_COLUMNS: Final = re.compile(
    rf"(?:(?:{_TEXT}|{_WORD})?\|)+(?:{_TEXT}|[\w$€£%@#&+*/.-]+)?:\s|(?:{_TEXT}|{_WORD}):\s"
)
_KEY: Final = re.compile(rf"{_TEXT}|[\w$€£%@#&+*/.-]+")
_TOKEN: Final = re.compile(
    rf"(?P<place>(?<=\s){_AT}(?=\s|$))|(?:(?P<key>{_TEXT}|{_WORD})=)?(?P<value>{_TEXT}|(?!@)(?:{_WORD}))"
    r"|(?P<bar>\|)"
)
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_KINDS: Final = MappingProxyType({"true": "truth", "false": "truth", "null": "nothing"})
_METHOD: Final = "json"
_OPEN: Final = "not put right"


@dataclass(frozen=True, slots=True)
class _Value:
    """A value in a line, by its characters; ``key`` is empty for what people name."""

    key: str
    value: str
    start: int
    end: int


def lines_of(block: Passage) -> Iterator[tuple[Passage, tuple[Fact, ...]]]:
    """Yield the lines of the blocks in a text, each as a text of its author with its facts."""
    for first, last in block.blocks:
        head: re.Match[str] | None = None
        columns: tuple[str, ...] = ()
        for found in re.finditer(r"[^\n]+", block.text[first:last]):
            start = first + found.start()
            line = found.group()
            quoted = re.match(r"[>\s]*", line)
            lead = quoted.end() if quoted else 0
            whole = _WHOLE.match(line, lead)
            if whole is not None:
                yield from _sentence(block, whole, start)
                continue
            begun = _HEAD.match(line, lead)
            if begun is not None:
                head, columns = begun, ()
                rest = begun.end()
            elif head is not None and columns and line[:lead].endswith("  "):
                rest = lead
            else:
                head = None
                continue
            named = None if begun is None else _COLUMNS.match(line, rest)
            if named is not None:
                columns = _columns(named.group())
                rest = named.end()
            yield from _values(block, head, columns, _Part(line, lead, rest, start))


@dataclass(frozen=True, slots=True)
class _Part:
    """A line, where it begins, where its values begin, and where in the block it stands."""

    line: str
    lead: int
    rest: int
    start: int


def _values(
    block: Passage, head: re.Match[str], columns: tuple[str, ...], part: _Part
) -> Iterator[tuple[Passage, tuple[Fact, ...]]]:
    """Yield the values of a line, text by text."""
    found: list[_Value] = []
    begins, column, key = part.lead, 0, ""
    for token in _TOKEN.finditer(part.line, part.rest):
        if token["place"]:
            yield _told(block, head, token["place"], found, (part, begins, token.end()))
            found, begins = [], token.end()
        elif token["bar"]:
            column, key = column + 1, ""
        else:
            key = _plain(token["key"]) if token["key"] else key
            name = key or (columns[min(column, len(columns) - 1)] if columns else "")
            found.append(_Value(name, _plain(token["value"]), *token.span("value")))


def _told(
    block: Passage,
    head: re.Match[str],
    place: str,
    values: list[_Value],
    where: tuple[_Part, int, int],
) -> tuple[Passage, tuple[Fact, ...]]:
    part, begins, ends = where
    if head["asked"]:
        author, kind, tool = Author.ASSISTANT, Place.ARGUMENTS, _plain(head["asked"])
    elif head["tool"]:
        author, kind, tool = Author.TOOL, Place.ANSWER, _plain(head["tool"])
    else:
        # That a person put a value into the conversation gives it no authority.
        author, kind, tool = _authors(head["speaker"]), Place.SAID, ""
    line = _line(block, part.start + begins, part.start + ends)
    subject = f"{tool} {place}".strip()
    line = replace(line, author=author, place=kind, call=place, tool=tool, subject=subject)
    times: dict[str, int] = {}
    facts = []
    for one in values:
        number = times[one.key] = times.get(one.key, -1) + 1
        key = f"{one.key}[{number}]" if number and one.key else one.key
        start, end = one.start - begins, one.end - begins
        predicate = "entity_value"
        if one.key or "\\" in part.line[one.start : one.end]:
            predicate = "tool_arg" if head["asked"] else "leaf" if head["tool"] else "cell"
        if predicate == "entity_value" and part.line[one.start] == '"':
            start, end = start + 1, end - 1
        said = Said(predicate, key, one.value, _kind(one.value))
        facts.append(fact(line, said, start, end, _METHOD if one.key else "prose"))
    return line, tuple(facts)


def _sentence(
    block: Passage, whole: re.Match[str], start: int
) -> Iterator[tuple[Passage, tuple[Fact, ...]]]:
    """Yield a line that is a sentence: an error is a tool's, and anything else a model's."""
    at, ends = whole.start(), whole.end("at")
    line = _line(block, start + at, start + ends)
    note = whole["note"] or ""
    kind = whole["kind"]
    if kind == "error":
        # An error that was put right is no tool's last word any more.
        place = Place.ANSWER if note in {"", _OPEN} else Place.SAID
        line = replace(line, author=Author.TOOL, place=place, call=whole["at"], tool=whole["at"])
    elif kind == "quoted":
        line = replace(line, author=Author.HUMAN)
    else:
        line = replace(line, author=Author.ASSISTANT)
    line = replace(line, subject=whole["at"] if kind == "error" else "")
    key = _plain(whole["key"]) if whole["key"] else ""
    unit = note if kind == "error" and note != _OPEN else ""
    said = Said(kind, key, f"{_plain(whole['said'])}{whole['rest'] or ''}", "text", unit)
    yield line, (fact(line, said, whole.start("said") - at, whole.end("said") - at, "block"),)


def _line(block: Passage, start: int, end: int) -> Passage:
    """Return some characters of a block as a text of its own, which cites the block."""
    offset = len(block.text[:start].encode("utf-8", "surrogatepass"))
    text = block.text[start:end]
    return Passage(
        text, block.author, Place.SAID, block.message, source=block.archive, offset=offset
    )


def _columns(named: str) -> tuple[str, ...]:
    """Return the names of columns; one without a name is what people name."""
    names: list[str] = []
    at = 0
    text = named.rstrip()[:-1]
    while at <= len(text):
        found = _KEY.match(text, at)
        names.append(_plain(found.group()) if found else "")
        at = (found.end() if found else at) + 1
    return tuple(names)


def _plain(written: str) -> str:
    if not written.startswith('"'):
        return written
    try:
        return str(json.loads(written))
    except ValueError:
        return written[1:-1]


def _kind(value: str) -> str:
    return _KINDS.get(value) or ("number" if _NUMBER.fullmatch(value) else "text")


def _authors(speaker: str) -> Author:
    """Return whose word a line is that names its speaker: a system's is in no block."""
    author = Author[speaker.upper()]
    return Author.ASSISTANT if author is Author.SYSTEM else author
