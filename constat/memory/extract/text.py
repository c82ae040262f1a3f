"""Facts in prose, tables, lists and JSON."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import groupby, islice, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory import grounding
from constat.memory.facts import Author, Fact, JsonSpanError, Leaf, Place, Span, json_leaves
from constat.memory.quotations import blanked
from constat.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.memory.facts import Passage, Path

# Author and message are those of the passage, and so is the subject, unless the piece is about
# something else.


@frozen
class Said:
    """What a piece says: ``key`` has ``value``; ``about`` is the subject if it is not the call."""

    predicate: str
    key: str
    value: str
    kind: str = "text"
    unit: str = ""
    about: str | None = None


def fact(passage: Passage, said: Said, start: int, end: int, method: str) -> Fact:
    """Return the fact that characters ``start`` to ``end`` of the passage say."""
    return fact_at(passage, said, passage.span(start, end), method)


def fact_at(passage: Passage, said: Said, span: Span, method: str) -> Fact:
    """Return the fact that a span says."""
    return Fact(
        said.predicate,
        passage.subject if said.about is None else said.about,
        said.key,
        said.value,
        said.kind,
        said.unit,
        span,
        passage.message,
        passage.author,
        method,
    )


MOST_LEAVES: Final = 20_000
_PLAIN: Final = regex(r"[A-Za-z_][A-Za-z0-9_-]*")
_KINDS: Final = MappingProxyType({"t": "truth", "f": "truth", "n": "nothing", '"': "text"})


@frozen
class Member:
    """A leaf with its value: texts are without quotes and escapes, numbers as they are written."""

    path: Path
    start: int
    end: int
    value: str
    kind: str

    @property
    def name(self) -> str:
        """The last name in the path; empty for the elements of a list."""
        return self.path[-1] if self.path and isinstance(self.path[-1], str) else ""


@dataclass(frozen=True)
class Reading:
    """A passage as extractors are given it."""

    passage: Passage

    @cached_property
    def members(self) -> tuple[Member, ...] | None:
        """The leaves of a passage that is JSON."""
        content = self.passage.content
        if self.passage.place is Place.SAID or content.lstrip()[:1] not in {b"{", b"["}:
            return None
        leaves = _leaves(content)
        if leaves is None:
            return None
        return tuple(_member(content, leaf) for leaf in leaves[:MOST_LEAVES])


def _leaves(content: bytes) -> tuple[Leaf, ...] | None:
    try:
        return json_leaves(content)
    except JsonSpanError:
        return _line_by_line(content)


def _line_by_line(content: bytes) -> tuple[Leaf, ...] | None:
    found: list[Leaf] = []
    start = number = 0
    for line in content.splitlines(keepends=True):
        if line.strip():
            try:
                leaves = json_leaves(line)
            except JsonSpanError:
                return None
            found += [
                Leaf((number, *leaf.path), start + leaf.start, start + leaf.end) for leaf in leaves
            ]
            number += 1
        start += len(line)
        if len(found) > MOST_LEAVES:
            break
    return tuple(found)


def _member(content: bytes, leaf: Leaf) -> Member:
    written = content[leaf.start : leaf.end].decode()
    kind = _KINDS.get(written[0], "number")
    value = written
    if kind == "text":
        value = written[1:-1] if "\\" not in written else str(json.loads(written))
    return Member(leaf.path, leaf.start, leaf.end, value, kind)


def path_text(path: Path) -> str:
    """Write a path: ``order.lines[0].price``; names that are no words are quoted."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)


_STATEMENT: Final = regex(
    r"\s{0,50}(?:(?:select|with|insert|update|delete|create|alter|drop|explain|merge)\s)",
    re.IGNORECASE,
)
_STATEMENTS: Final = frozenset({"sql", "query", "statement", "sql_query"})


def from_json(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each leaf."""
    passage = reading.passage
    asked = passage.place is Place.ARGUMENTS
    for member in reading.members or ():
        span = Span(passage.archive, member.start, member.end)
        said = Said(
            "tool_arg" if asked else "leaf", path_text(member.path), member.value, member.kind
        )
        yield fact_at(passage, said, span, "json")
        if asked and member.name in _STATEMENTS and _STATEMENT.match(member.value):
            yield fact_at(passage, Said("query", passage.tool, member.value), span, "json")


MOST_CELLS: Final = 5_000
_LEAST_ROWS: Final = 2
_LEAST_COLUMNS: Final = 2
_MOST_COLUMNS: Final = 200
_LONGEST_LINE: Final = 10_000
_LONGEST_NAME: Final = 60
_RULE: Final = regex(r"[ \t|+:\-=\u2500-\u257f]*[-=\u2500\u2550]{2}[ \t|+:\-=\u2500-\u257f]*")
_BARS: Final = regex("[|\u2502\u2551]")
_NUMBER: Final = regex(r"[-+]?[$\u20ac\u00a3]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?%?")
_PROSE: Final = regex(r"[.!?]\s|, |: |\A\s*[-*+#>]\s")


@frozen
class _Cell:
    start: int
    end: int
    text: str


_Row = tuple[_Cell, ...]


@frozen
class _Table:
    head: _Row
    rows: tuple[_Row, ...]


def from_tables(reading: Reading) -> Iterator[Fact]:
    """Yield the facts of each table."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS or reading.members is not None:
        return
    for number, table in enumerate(_tables(passage.text), 1):
        # Two tables that people show have nothing to do with each other, whatever their columns.
        name = f"t{number}" if passage.subject else f"t{number}@{passage.archive[7:13]}"
        yield from _facts(passage, table, name)


def _facts(passage: Passage, table: _Table, name: str) -> Iterator[Fact]:
    columns = [cell.text for cell in table.head]
    shown = f"{len(table.rows)} rows of {', '.join(columns)}"
    start, end = table.head[0].start, table.rows[-1][-1].end
    yield fact(passage, Said("table", name, shown, "table"), start, end, "tables")
    for place, head in enumerate(table.head):
        said = Said("column", f"{name}.{head.text}", _profile(table.rows, place), "profile")
        yield fact(passage, said, head.start, head.end, "tables")
    firsts = Counter(row[0].text for row in table.rows)
    for number, row in enumerate(table.rows[: MOST_CELLS // len(columns)]):
        alone = row[0].text and firsts[row[0].text] == 1
        called = row[0].text if alone else f"[{number}]"
        for head, cell in zip(table.head, row, strict=True):
            if cell.text:
                kind = "number" if _NUMBER.fullmatch(cell.text) else "text"
                said = Said("cell", f"{name}.{called}.{head.text}", cell.text, kind)
                yield fact(passage, said, cell.start, cell.end, "tables")


def _profile(rows: Sequence[_Row], place: int) -> str:
    """Describe a column: kind, empty cells, distinct values, bounds and sum."""
    values = [row[place].text for row in rows if row[place].text]
    empty, distinct = len(rows) - len(values), len(set(values))
    numbers = [_number(value) for value in values]
    parts = [f"{len(rows)} rows", f"{distinct} distinct", *([f"{empty} empty"] if empty else [])]
    exact = [one for one in numbers if one is not None]
    if exact and len(exact) == len(values):
        parts += [f"{min(exact)} to {max(exact)}", f"sum {sum(exact)}"]
    elif values:
        parts.append(f"{min(values)[:40]} to {max(values)[:40]}")
    return ", ".join(parts)


def _number(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text) or len(text) > _LONGEST_NAME:
        return None
    try:
        return Decimal(re.sub(r"[,$%\u20ac\u00a3+]", "", text))
    except InvalidOperation:
        return None


def _tables(text: str) -> Iterator[_Table]:
    """Find runs of lines that have the same number of cells."""
    if text.count("\n") < _LEAST_ROWS:
        return
    lines = [(found.start(), found.group()) for found in re.finditer(r"[^\n]+", text)]
    at = 0
    while at < len(lines):
        table, used = _table(lines, at)
        if table is not None:
            yield table
        at += used


def _table(lines: Sequence[tuple[int, str]], at: int) -> tuple[_Table | None, int]:
    """Read the table that begins with a line; tells how many lines are done with."""
    mark = _mark(lines[at][1])
    ruled = at + 1 < len(lines) and bool(_RULE.fullmatch(lines[at + 1][1]))
    # Bars also stand in other texts; under the head of a table there is a rule.
    if mark is None or (mark == "|" and not ruled):
        return None, 1
    framed = bool(_BARS.match(lines[at][1].lstrip()[:1]))
    head = _cells(*lines[at], mark, framed=framed)
    if not _is_head(head, mark):
        return None, 1
    rows: list[_Row] = []
    behind = at + 1
    while behind < len(lines):
        start, line = lines[behind]
        if not _RULE.fullmatch(line):
            row = _cells(start, line, mark, framed=framed) if _mark(line) == mark else ()
            if len(row) != len(head):
                break
            rows.append(row)
        behind += 1
    enough = len(rows) >= (1 if ruled else _LEAST_ROWS)
    return (_Table(head, tuple(rows)) if enough else None), behind - at if enough else 1


def _mark(line: str) -> str | None:
    """Return what separates the cells of a line."""
    if len(line) > _LONGEST_LINE:
        return None
    if _BARS.search(line):
        return "|"
    if "\t" in line:
        return "\t"
    if line.count(";") > line.count(","):
        return ";"
    return "," if "," in line and not _PROSE.search(line) else None


def _is_head(head: _Row, mark: str) -> bool:
    names = [cell.text for cell in head]
    if not _LEAST_COLUMNS <= len(names) <= _MOST_COLUMNS or len(set(names)) < len(names):
        return False
    named = all(name and len(name) <= _LONGEST_NAME for name in names)
    # What separates cells also stands in sentences: there a head is words, and no numbers.
    return named and (mark == "|" or not any(name[0].isdigit() for name in names))


def _cells(start: int, line: str, mark: str, *, framed: bool) -> _Row:
    """Cut a line; with a frame it begins and ends with a bar, without one these are cells."""
    if mark == "|":
        cuts = [found.start() for found in _BARS.finditer(line)]
        if not framed:
            cuts = [-1, *cuts, len(line)]
        elif not _BARS.match(line.rstrip()[-1:]):
            cuts.append(len(line))
    else:
        cuts = [-1, *_separators(line, mark), len(line)]
    return tuple(_cell(start, line, begin + 1, end) for begin, end in pairwise(cuts))


def _separators(line: str, mark: str) -> Iterator[int]:
    quoted = False
    for place, one in enumerate(line):
        if one == '"':
            quoted = not quoted
        elif one == mark and not quoted:
            yield place


def _cell(start: int, line: str, begin: int, end: int) -> _Cell:
    part = line[begin:end]
    inner = part.strip()
    place = begin + len(part) - len(part.lstrip())
    if len(inner) > 1 and inner[0] == inner[-1] == '"':
        inner, place = inner[1:-1], place + 1
    return _Cell(start + place, start + place + len(inner), inner)


_MOST: Final = 5_000
_MONTH: Final = (
    r"(?:(?i:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_UNITS: Final = (
    r"(?:percent|hours?|minutes?|seconds?|days?|weeks?|months?|years?|km|kg|cm|mm|ms|min"
    r"|[KMGT]i?B|tokens?|rows?|miles?|dollars?|euros?|USD|EUR|GBP)"
)
_AMOUNT: Final = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_PART: Final = r"(?:[ ](?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night)\b)"
_SCALE: Final = r"(?:[ ]?(?:thousand|million|billion|trillion|bn|k)\b)"
# What all of these hold; a line without one is not looked at again.
_LINES: Final = regex(r"^[^\n0-9@/]*+[0-9@/][^\n]*", re.MULTILINE)
# Bounded repetitions, and no two ways to read one character: the time is that of one reading.
_PIECES: Final = regex(
    rf"""
      (?P<url>\b(?:https?|ftp|file)://[^\s<>"'`\])]{{1,2000}}(?<![.,;:!?]))
    | (?P<email>\b[A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+)
    | (?P<path>(?<![\w/.~])(?:~|\.{{1,2}})?(?:/[\w.@+-]{{1,255}}){{2,60}}/?(?<![.,;:])
        |(?<![\w/])(?:[\w-]{{1,100}}/){{1,30}}[\w-]{{1,100}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\b)
    | (?P<moment>\b[0-9]{{4}}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]
        (?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)
    | (?P<date>\b[0-9]{{4}}-[01]?[0-9]-[0-3]?[0-9]\b
        |\b{_MONTH}[ ][0-3]?[0-9](?:st|nd|rd|th)?,?[ ][0-9]{{4}}\b
        |\b[0-3]?[0-9](?:st|nd|rd|th)?[ ](?:of[ ])?{_MONTH},?[ ][0-9]{{4}}\b
        |\b{_MONTH}[ ][0-3]?[0-9](?:st|nd|rd|th)?\b(?![:,.]?[0-9])
        |\b[0-3]?[0-9](?:st|nd|rd|th)?[ ](?:of[ ])?{_MONTH}(?!\w))
    | (?P<clock>\b[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?:[ ]?[ap](?:m\b|\.m\b\.?)|{_PART})?
        |\b1?[0-9](?:[ ]?[ap]m\b|{_PART}))
    | (?P<serial>(?<![\w.-])\+?[0-9]{{1,5}}(?:[.-][0-9]{{2,6}}){{2,6}}(?![\w-])
        |\([0-9]{{3}}\)[ ]?[0-9]{{3}}-[0-9]{{4}}\b)
    | (?P<money>[$€£][ ]?(?:{_AMOUNT}){_SCALE}?)
    | (?P<id>\#?\b(?=[A-Za-z0-9_-]{{0,60}}[0-9])(?=[A-Za-z0-9_-]{{0,60}}[A-Za-z])[A-Za-z0-9]
        [A-Za-z0-9_-]{{2,80}}\b)
    | (?P<amount>(?<![\w.,])-?(?:{_AMOUNT}){_SCALE}?(?:[ ]?%|[ ]?{_UNITS}\b)?)
    """,
    re.VERBOSE,
)
_COUNTS: Final = MappingProxyType(
    {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
    | {"nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}
)
_HOURS: Final = r"(?:1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_DAYS: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_CAPITAL: Final = r"(?:(?:St|Dr|Mr|Mrs|Ms|Mt|[A-Z])\.|[A-Z][\w'&-]{0,40})(?![\w#])"
_WORDS: Final = regex(
    rf"""
      (?P<day>\b(?:the[ ]day[ ]after[ ]tomorrow|today|tomorrow|tonight|yesterday
        |(?:(?:next|this|last|coming|following)[ ])?{_DAYS}(?:[ ](?:next|this)[ ]week)?
        |(?:next|this|last)[ ](?:week(?:end)?|month|year)
        |[0-3]?[0-9](?:st|nd|rd|th)[ ]of[ ](?:this|next)[ ]month
        |(?:the[ ])?[0-3]?[0-9](?:st|nd|rd|th)(?![ ]of[ ](?:this|next)[ ]month))\b)
    | (?P<clock>\b(?:(?:half[ ]past|quarter[ ](?:past|to))[ ]{_HOURS}\b
        (?:[ ](?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night|[ap]m)\b)?
        |(?:(?:morning|afternoon|evening)[ ]){_HOURS}(?::[0-5][0-9])?\b|noon\b|midnight\b
        |\b{_HOURS}(?:[ ][ap]m\b|{_PART})))
    | (?P<count>\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)
    | (?P<name>(?<![\#\w])(?-i:{_CAPITAL})
        (?:[ ](?:(?:of|the|de|la|&)[ ]){{0,2}}(?-i:{_CAPITAL})){{0,8}}(?-i:,[ ][A-Z]{{2}}\b)?)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_COMMON: Final = frozenset(
    {"i", "i'm", "i'd", "i'll", "i've", "ok", "okay", "yes", "no", "hi", "hello", "hey", "thanks"}
    | {"please", "sure", "the", "a", "an", "my", "can", "could", "would", "what", "when", "where"}
    | {"which", "who", "how", "why", "is", "are", "do", "does", "that", "this", "it", "and", "but"}
    | {"find", "book", "also", "yeah", "yep", "great", "good", "perfect", "alright", "thank", "if"}
    | {"actually", "well", "so", "then", "there", "let's", "let", "just", "you", "we", "they", "in"}
    | {"it's", "that's", "once", "while", "id", "ids", "one", "exactly", "check", "look", "dates"}
    | {"am", "pm", "est", "pst", "cst", "edt", "pdt", "utc", "gmt", "dob", "stop", "fyi", "asap"}
    | {"for", "on", "at", "to", "not", "never", "nope", "nothing", "hmm", "oh", "right", "correct"}
)
_CURRENCIES: Final = MappingProxyType({"$": "USD", "€": "EUR", "£": "GBP"})
_SPLIT: Final = regex(
    rf"(?P<number>-?(?:{_AMOUNT}))(?:[ ]?(?P<scale>thousand|million|billion|trillion|bn|k)\b)?"
    r"[ ]?(?P<unit>.*)",
    re.DOTALL,
)


def from_values(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each piece."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS or reading.members is not None:
        return
    human = passage.author is Author.HUMAN
    found_words = _in_words(passage.text, names=human) if passage.place is Place.SAID else ()
    words = list(islice(found_words, _MOST))
    in_words = _Spans(
        (start, end) for start, end, said in words if said.key not in {"name", "number"}
    )
    exact = [
        found
        for found in islice(_exact(passage.text), _MOST)
        if not in_words.hold(found.start(), found.end())
    ]
    for found in exact:
        said = _said(found.lastgroup or "", found.group())
        yield fact(passage, said, found.start(), found.end(), "prose")
    taken = _Spans((found.start(), found.end()) for found in exact)
    for start, end, said in words:
        if not taken.touch(start, end):
            yield fact(passage, said, start, end, "words")


class _Spans:
    """Places in a text that do not overlap, in their order."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = tuple(spans)

    def touch(self, start: int, end: int) -> bool:
        """Tell whether one of them overlaps with a place."""
        at = bisect_right(self._spans, start, key=lambda span: span[1])
        return at < len(self._spans) and self._spans[at][0] < end

    def hold(self, start: int, end: int) -> bool:
        """Tell whether a place lies in one of them, and is not the whole of it."""
        at = bisect_right(self._spans, start, key=lambda span: span[1])
        if at == len(self._spans):
            return False
        begin, behind = self._spans[at]
        return begin <= start and end <= behind and (begin, behind) != (start, end)


def _exact(text: str) -> Iterator[re.Match[str]]:
    for line in _LINES.finditer(text):
        yield from _PIECES.finditer(text, line.start(), line.end())


def _in_words(text: str, *, names: bool) -> Iterator[tuple[int, int, Said]]:
    """Yield days and times in words, and names and small numbers if wanted, each with its place."""
    for found in _WORDS.finditer(text):
        kind, value, start = found.lastgroup or "", found.group(), found.start()
        if kind not in {"name", "count"}:
            yield start, found.end(), Said("entity_value", kind, value)
        elif names and kind == "count":
            number = _COUNTS[value.lower()]
            yield start, found.end(), Said("entity_value", "number", number, "number")
        elif names:
            value, start = _name(value, start, text[:start])
            if value and _tells(value, text[:start]):
                yield start, start + len(value), Said("entity_value", kind, value)


def _tells(name: str, before: str) -> bool:
    """Tell whether a name is one by its letters, or by where it stands.

    A lone word with which a sentence begins says nothing by its capital.
    """
    if " " in name or (name.isupper() and len(name) > 1):
        return True
    return not _begins(before)


def _begins(before: str) -> bool:
    """Tell whether a sentence begins behind a text."""
    return before.rstrip(" \t\"'(-*#")[-1:] in {"", ".", "!", "?", "\n", ":"}


def _name(value: str, start: int, before: str) -> tuple[str, int]:
    """Leave out the common words with which a name seems to begin or end.

    `The` is a part of a name within a sentence, as in `at The Grill`.
    """
    words = value.split(" ")
    named = words[0] == "The" and len(words) > 1 and not _begins(before)
    while words and words[0].lower() in _COMMON and not named:
        start += len(words.pop(0)) + 1
    while words and words[-1].lower() in _COMMON:
        words.pop()
    return " ".join(words).rstrip("'&-"), start


def _said(kind: str, text: str) -> Said:
    match kind:
        case "date":
            day = grounding.day_of(re.sub(r"\s+", " ", text.lower()))
            return Said("entity_value", "date", day or text, "date")
        case "money":
            number, _ = _amount(text[1:].strip())
            return Said("entity_value", "money", number, "number", _CURRENCIES[text[0]])
        case "amount":
            number, unit = _amount(text)
            return Said("entity_value", "number", number, "number", unit)
        case "serial":
            return Said("entity_value", "id", text)
        case _:
            return Said("entity_value", kind, text)


def _amount(text: str) -> tuple[str, str]:
    """Return a number without commas, a scale applied, and its unit."""
    split = _SPLIT.fullmatch(text)
    if split is None:
        return text, ""
    number = split["number"].replace(",", "")
    if split["scale"]:
        value = grounding.plain(number) * grounding.SCALES[split["scale"]]
        number = str(value.numerator) if value.denominator == 1 else str(float(value))
    return number, split["unit"]


# The span is the task; a list in arguments is one of objects that have a text and a state.

_BOX: Final = regex(
    r"^[ \t]{0,20}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+\[(?P<box>[ xX])\][ \t]+(?P<task>\S[^\n]{0,500})",
    re.MULTILINE,
)
_TEXTS: Final = frozenset({"content", "task", "title", "text", "description", "step"})
_STATES: Final = frozenset({"status", "state", "done", "completed"})
_DONE: Final = frozenset({"done", "completed", "complete", "finished", "closed", "true"})
_OPEN: Final = frozenset(
    {"pending", "in_progress", "in progress", "open", "todo", "not_started", "blocked", "false"}
)


def from_task_lists(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each task."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS:
        yield from _from_arguments(reading)
        return
    if "[" not in passage.text or reading.members is not None:
        return
    text = blanked(passage.text, passage.foreign) if passage.foreign else passage.text
    for found in _BOX.finditer(text):
        task = found["task"].rstrip()
        predicate = "pending" if found["box"] == " " else "done"
        start = found.start("task")
        yield fact(passage, Said(predicate, "", task), start, start + len(task), "tasks")


def _from_arguments(reading: Reading) -> Iterator[Fact]:
    listed = (one for one in reading.members or () if len(one.path) > 1)
    for path, members in groupby(listed, key=lambda one: one.path[:-1]):
        if not isinstance(path[-1], int):
            continue
        by_name = {one.name: one for one in members}
        task = next((by_name[name] for name in by_name if name in _TEXTS), None)
        state = next((by_name[name].value.lower() for name in by_name if name in _STATES), "")
        if task is not None and task.kind == "text" and state in _DONE | _OPEN:
            span = Span(reading.passage.archive, task.start, task.end)
            said = Said("done" if state in _DONE else "pending", "", task.value)
            yield fact_at(reading.passage, said, span, "tasks")
