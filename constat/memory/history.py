"""A session's messages with their texts and facts, each under the name by which it is cited."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from functools import lru_cache
from itertools import count, groupby, takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.extract import facts_of
from constat.memory.extract.text import Said, fact, path_text
from constat.memory.facts import Author, Passage, Place, passages_of
from constat.memory.messages import Role
from constat.memory.quotations import blanked, own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.memory.facts import Fact, Span
    from constat.memory.messages import Call, Message

# A block gives nobody's task, constraint or preference (what people said stands in messages of
# theirs); a tool's values are again a tool's, and what a model asked with is again a model's.

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
# Behind it in a line, each value is of a record of its own.
EACH: Final = "each:"
_COLUMNS: Final = re.compile(
    rf"(?!{EACH}\s)(?:(?:{_TEXT}|{_WORD})?\|)+(?:{_TEXT}|[\w$€£%@#&+*/.-]+)?:\s|(?:{_TEXT}|{_WORD}):\s"
)
_KEY: Final = re.compile(rf"{_TEXT}|[\w$€£%@#&+*/.-]+")
_TOKEN: Final = re.compile(
    rf"(?P<place>(?<=\s){_AT}(?=\s|$))|(?P<each>(?<=\s){EACH}(?=\s))|(?:(?P<key>{_TEXT}|{_WORD})=)?(?P<value>{_TEXT}|(?!@)(?:{_WORD}))"
    r"|(?P<bar>\|)|(?P<apart>;)"
)
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_KINDS: Final = MappingProxyType({"true": "truth", "false": "truth", "null": "nothing"})
_METHOD: Final = "json"
_OPEN: Final = "not put right"


@frozen
class _Value:
    """A value in a line, by its characters; ``key`` is empty for what people name.

    ``record`` tells the records of one text apart.
    """

    record: int
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


@frozen
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
    begins, column, key, record = part.lead, 0, "", 0
    # What records of one value each have in common, once such values follow.
    common: list[_Value] | None = None
    for token in _TOKEN.finditer(part.line, part.rest):
        if token["place"]:
            yield _told(block, head, token["place"], found, (part, begins, token.end()))
            found, begins, key, record, common = [], token.end(), "", 0, None
        elif token["bar"]:
            column, key = column + 1, ""
        elif token["apart"]:
            column, key, record, common = 0, "", record + 1, None
        elif token["each"]:
            key, common = "", [one for one in found if one.record == record]
        else:
            key = _plain(token["key"]) if token["key"] else key
            name = key or (columns[min(column, len(columns) - 1)] if columns else "")
            if common is not None and sum(one.record == record for one in found) > len(common):
                record += 1
                found += [replace(one, record=record) for one in common]
            found.append(_Value(record, name, _plain(token["value"]), *token.span("value")))


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
    parted = len({one.record for one in values}) > 1
    for one in values:
        key = path_text((one.key,)) if one.key else ""
        key = path_text((one.record, one.key or "value")) if parted else key
        number = times[key] = times.get(key, -1) + 1
        key = f"{key}[{number}]" if number and one.key else key
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


MAIN: Final = "main"
# Bytes of one message are told apart by their place in it: no message is longer.
_STRIDE: Final = 1 << 32


@frozen
class Cited:
    """A passage with its name; ``at`` is its place in the order of everything that was said."""

    name: str
    branch: str
    passage: Passage
    at: int

    def place(self, span: Span) -> str:
        """Return how bytes of it are cited."""
        offset = self.passage.offset
        return place_of(self.name, span.start - offset, span.end - offset)


@frozen
class Claim:
    """A fact at one place."""

    name: str
    fact: Fact
    text: Cited
    at: int

    @property
    def place(self) -> str:
        """The bytes that say it: ``m3[12:58]``."""
        return self.text.place(self.fact.span)

    @property
    def quote(self) -> bytes:
        """The bytes themselves."""
        return self.text.passage.quote(self.fact.span)


def place_of(text: str, start: int, end: int) -> str:
    """Return how bytes of a text are cited."""
    return f"{text}[{start}:{end}]"


class History:
    """The messages of one branch, growing; ``first`` is the place of its first one in the order."""

    def __init__(self, branch: str = MAIN, first: int = 0) -> None:
        self.branch = branch
        self.first = first
        self.messages: list[Message] = []
        self.texts: list[Cited] = []
        self.claims: list[Claim] = []
        self._calls: dict[str, Call] = {}
        self._texts: dict[str, Cited] = {}
        self._claims: dict[str, Claim] = {}
        self._noted: list[Claim] = []
        self._has_task = branch != MAIN

    def extend(self, messages: Sequence[Message]) -> None:
        """Take messages in."""
        start = len(self.messages)
        self.messages += messages
        passages = passages_of(messages, start, self._calls)
        for message, texts in groupby(passages, key=lambda one: one.message):
            self._take(message, texts)

    def note(self, facts: Iterable[Fact]) -> tuple[Claim, ...]:
        """Take in facts that were found elsewhere; returns those that were new.

        What does not lie in a text of its message is left out: it could not be cited.
        """
        found: list[Claim] = []
        for one in facts:
            for text in self.texts_of(one.message):
                if _lies_in(one.span, text):
                    found += self._claim(text, (one,))
                    break
        self._noted += found
        return tuple(found)

    def upto(self, messages: int, notes: int) -> History:
        """Return the history as it was with so many messages and noted facts."""
        if messages >= len(self.messages) and notes >= len(self._noted):
            return self
        earlier = History(self.branch, self.first)
        unknown = {one.name for one in self._noted[notes:]}
        earlier.messages = self.messages[:messages]
        earlier.texts = [one for one in self.texts if one.passage.message < messages]
        earlier._texts = {one.name: one for one in earlier.texts}
        earlier.claims = [
            one for one in self.claims if one.fact.message < messages and one.name not in unknown
        ]
        return earlier

    @property
    def notes(self) -> int:
        """How many facts were found elsewhere."""
        return len(self._noted)

    def text(self, name: str) -> Cited:
        """Return a text by its name; raises ``KeyError``."""
        return self._texts[name]

    def claim(self, name: str) -> Claim:
        """Return a claim by its name; raises ``KeyError``."""
        return self._claims[name]

    def has(self, name: str) -> bool:
        """Tell whether there is a text of that name."""
        return name in self._texts

    def texts_of(self, message: int) -> tuple[Cited, ...]:
        """Return the texts of a message, in their order."""
        names = (text_name(self.branch, message, number) for number in count())
        return tuple(takewhile(bool, map(self._texts.get, names)))  # type: ignore[arg-type]

    @property
    def last_human(self) -> Cited | None:
        """The last text that a person said, or whoever gave the branch its task."""
        texts = (one for one in reversed(self.texts) if self._asks(one.passage))
        return next(texts, None)

    def _asks(self, passage: Passage) -> bool:
        if self.branch == MAIN:
            return _is_human(passage)
        return self.messages[passage.message].role is Role.USER and passage.place is Place.SAID

    def _take(self, message: int, passages: Iterable[Passage]) -> None:
        """Name the texts of one message, and the claims in each of them."""
        at = (self.first + message) * _STRIDE
        begun = len(self.texts)
        for number, given in enumerate(passages):
            # Beside the main branch nobody but the agent that began it speaks as the user.
            theirs = self.branch != MAIN and given.author is Author.HUMAN
            passage = replace(given, author=Author.ASSISTANT) if theirs else given
            text = Cited(text_name(self.branch, message, number), self.branch, passage, at)
            self.texts.append(text)
            self._texts[text.name] = text
            nobodys = [passage.span(*one) for one in passage.blocks]
            self._claim(text, (one for one in facts_of((passage,)) if not _within(one, nobodys)))
            self._claim(text, self._sayings(passage))
            at += len(passage.content) + 1
        for block in self.texts[begun:]:
            self._returned(block, len(self.texts) - begun)

    def _returned(self, block: Cited, number: int) -> None:
        """Take in the lines of compacted text that came back, each as the word of its author.

        They are texts of the message behind those that it has, numbered from ``number``.
        """
        for count_, (line, facts) in enumerate(lines_of(block.passage), number):
            name = text_name(self.branch, block.passage.message, count_)
            text = Cited(name, block.branch, line, block.at + line.offset)
            self.texts.append(text)
            self._texts[name] = text
            self._claim(text, facts)

    def _sayings(self, passage: Passage) -> Iterator[Fact]:
        """Yield what a person said in their own words, and what they quoted.

        The first of their own words are the task. What stands before and behind a block is said
        apart from each other.
        """
        if not passage.is_of_person:
            return
        for start, end in _between(passage.blocks, len(passage.text)):
            said = own(passage.text[start:end])
            if said:
                kind = "said" if self._has_task else "task"
                self._has_task = True
                yield fact(passage, Said(kind, "", said), start, end, "saying")
        for start, end in passage.foreign:
            said = passage.text[start:end].strip()
            if said and not any(one <= start < other for one, other in passage.blocks):
                yield fact(passage, Said("quoted", "", said), start, end, "saying")

    def _claim(self, text: Cited, facts: Iterable[Fact]) -> list[Claim]:
        found = []
        for one in facts:
            span = one.span
            name = f"{text.place(span)} {one.predicate}"
            other = self._claims.get(name)
            if other is not None:
                # Two facts of one kind at one place are told apart by what they say.
                name = f"{name} {one.id}"
            if other is None or (other.fact.content != one.content and name not in self._claims):
                claim = Claim(name, one, text, text.at + span.start - text.passage.offset)
                self._claims[name] = claim
                found.append(claim)
        self.claims += found
        return found


def text_name(branch: str, message: int, number: int) -> str:
    """Return the name of a text: ``m3``, ``m3.1``, and ``marco:m3`` beside the main branch."""
    prefix = "" if branch == MAIN else f"{branch}:"
    return f"{prefix}m{message}.{number}" if number else f"{prefix}m{message}"


def _is_human(passage: Passage) -> bool:
    said = passage.is_of_person and not passage.source
    return said and bool(blanked(passage.text, passage.blocks).strip())


def _within(one: Fact, spans: Sequence[Span]) -> bool:
    return any(each.start < one.span.end and one.span.start < each.end for each in spans)


def _between(ranges: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    """Yield what is left of a text without some ranges of it, but blank ends."""
    ends = [0, *(end for _, end in ranges)]
    starts = [*(start for start, _ in ranges), length]
    yield from zip(ends, starts, strict=True)


def _lies_in(span: Span, text: Cited) -> bool:
    inside = 0 <= span.start <= span.end <= len(text.passage.content)
    return inside and span.archive == text.passage.archive


# Claims as lines of a context.  A line ends with where it was said, so it can be opened: a sentence
# with its bytes, or the text alone where it is all of it, and values with the text they stand in.
# What a text says stands in quotes or is one plain word that is no key and no place, so no text can
# add a line or look like another: ``constraint must_not "Never email anyone." @m3[12:48]``.

# Kinds that have a line of their own: what they say is a sentence.
WHOLE: Final = frozenset(
    {
        *("task", "constraint", "preference", "decision", "correction"),
        *("pending", "done", "error", "said", "quoted"),
    }
)
# What people said stands in a message of theirs, and as it was said: so it is read again as it was.
_SPOKEN: Final = MappingProxyType(
    {
        **dict.fromkeys(("task", "constraint", "preference", "decision", "correction", "said"), ""),
        "pending": "- [ ] ",
        "done": "- [x] ",
    }
)
_ROLES: Final = MappingProxyType({Author.HUMAN: Role.USER.value, Author.SYSTEM: Role.SYSTEM.value})
# Kinds that say no more than that a call was made and answered, which its arguments say as well.
# What the gate has refused is kept, and never shown.
SILENT: Final = frozenset({"tool_call", "tool_result", "rejected"})
_PLAIN: Final = re.compile(r"(?!@)[\w$€£%@#&+*/.:-]{1,200}(?<!:)")
_INDEX: Final = re.compile(r"(?:\[[0-9]+\])+\Z")
_STEP: Final = re.compile(r'(?:\.?[^.\[\]"]+|\["(?:[^"\\]|\\.)*"\])\Z')
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


@lru_cache(maxsize=16_384)
def last_name(key: str) -> str:
    """Return the last name of a path: ``price`` of ``lines[0].price``, ``ids`` of ``ids[3]``.

    A name that is no word stands in brackets and quotes there: ``a.b`` of ``lines[0]["a.b"]``.
    """
    found = _STEP.search(_INDEX.sub("", key))
    name = found.group() if found else ""
    return str(json.loads(name[1:-1])) if name.startswith("[") else name.removeprefix(".")


@lru_cache(maxsize=16_384)
def parent_of(key: str) -> str:
    """Return the object or row of a path: ``lines[0]`` of ``lines[0].ids[3]``, and of a table.

    A list of values is one value of its object, and a list within a list is a row.
    """
    listed = _INDEX.search(key)
    if listed is None:
        return _STEP.sub("", key)
    if listed.group().count("[") > 1:
        return key[: key.rindex("[")]
    return _STEP.sub("", key[: listed.start()])


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
