"""What a declaration finds in documents: cells of rows, each with the words that it stands in.

In: a `Finder`, made of a predicate's `.input`, and a document. Out: cells and a range of characters
for each row. Invariants: every way of reading goes once over the text and follows a rule that a
person can follow by hand; what begins as declared and cannot be read to its end gives a row with
the raw words, so that it is open, and not nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.documents.parsed import LINE, MARKS
from constat.frozen import frozen
from constat.logic import Kind, find_locale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.documents.library import Document
    from constat.documents.parsed import Parsed, Places, Table
    from constat.logic.locales import Locale

DOCUMENT, SECTION, LINE_NUMBER = "document", "section", "line"
PLACES: Final = (DOCUMENT, SECTION, LINE_NUMBER)
"""Columns that any predicate over documents may have: where a row stands."""
TABLE, FIELDS, SECTIONS, DOCUMENTS, QUOTES = "table", "fields", "sections", "documents", "quotes"
COLUMNS: Final = MappingProxyType[str, tuple[str, ...]](
    {
        FIELDS: ("key", "value"),
        SECTIONS: ("level", "text"),
        DOCUMENTS: ("title", "kind", "bytes"),
        QUOTES: ("quote",),
        TABLE: (),
    }
)
"""What each kind of `rows` gives besides."""
_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL, Kind.FLOAT})
_LONGEST: Final = 1_000
"""Characters of a value that a pattern finds."""
_PART: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BLANKS: Final = re.compile(r"\s+")
_JOINS: Final = "-\u2010\u2011_.'\u2019"
_JOINING: Final = re.escape(_JOINS)
"""What joins words between letters: `Version` does not stand in `Metadata-Version`."""
_PLAIN: Final = re.compile(r"[+-]?\d+(?:\.\d+)?\Z", re.ASCII)
_AMBIGUOUS: Final = re.compile(r"[+-]?\d{1,3}\.\d{3}\Z", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?\d(?:[\d.,'\u2019\u00a0\u202f ]*\d)?", re.ASCII)
_DAY: Final = re.compile(r"\d{1,4}(?:-\d{1,2}-|/\d{1,2}/|\. ?\d{1,2}\. ?)\d{1,4}", re.ASCII)


def _nothing() -> None:
    """Do nothing."""


class PatternError(ValueError):
    """A pattern that cannot be read; the text says why."""


@frozen
class Found:
    """The cells of a row, `None` where there is nothing, and characters `start` to `end`."""

    cells: tuple[str | int | None, ...]
    start: int
    end: int


Values = Mapping[str, str | int | None]
Told = tuple[Values, int, int]
"""Values by the names of columns, and the characters that they stand in."""


@frozen
class Pattern:
    """Words with names of columns between them: `Notice period: {days} days`.

    `words[i]` stands before `names[i]`; the last words stand behind the last name.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]


def read_pattern(text: str) -> Pattern:
    """Read a pattern; raises `PatternError`."""
    parts = _PART.split(text)
    words, names = tuple(parts[::2]), tuple(parts[1::2])
    if any("{" in part or "}" in part for part in words):
        raise PatternError("a `{` is followed by a name and `}`")
    if not names:
        raise PatternError("it names no column")
    if not words[0].strip():
        raise PatternError("it begins with a column: put words before it")
    if any(not part.strip() for part in words[1:-1]):
        raise PatternError("two columns stand side by side: put words between them")
    if len(set(names)) < len(names):
        raise PatternError("a column stands in it twice")
    return Pattern(words, names)


@frozen
class Finder:
    """How rows of a predicate are found: one of `rows`, or a pattern.

    `columns` are the predicate's, with their kinds; `heads` the headings of a table's columns, by
    the names of the columns. `section` bounds where it is looked.
    """

    columns: tuple[tuple[str, Kind], ...]
    rows: str = ""
    pattern: Pattern | None = None
    heads: Mapping[str, str] | None = None
    section: str = ""
    locale: str = ""

    def find(
        self, document: Document, quotes: Sequence[str] = (), check: Callable[[], None] = _nothing
    ) -> Iterator[Found]:
        """Yield the rows that a document has; `quotes` are the words that `QUOTES` looks for.

        `check` is called again and again, and may raise an exception of its own.
        """
        parsed, places = document.parsed, document.places
        if parsed is None or places is None:
            return
        ranges = parsed.within(self.section) if self.section else ((0, len(parsed.text)),)
        for told, start, end in self._told(document, parsed, quotes, check):
            check()
            if any(begin <= start and end <= last for begin, last in ranges):
                yield Found(self._cells(told, document, places, start), start, end)

    def troubles(self, document: Document) -> Iterator[str]:
        """Yield why rows of a document that are there cannot be told."""
        parsed = document.parsed
        if self.rows == TABLE and parsed is not None:
            for table in parsed.tables:
                trouble = self._fits(table) and (table.trouble or self._doubled(table))
                if trouble:
                    yield f"a table of {document.name} cannot be read: {trouble}"

    def _told(
        self, document: Document, parsed: Parsed, quotes: Sequence[str], check: Callable[[], None]
    ) -> Iterator[Told]:
        """Give the values by the names of columns, and where they stand."""
        if self.pattern is not None:
            return _matches(self.pattern, parsed, dict(self.columns), self._locale, check)
        if self.rows == TABLE:
            fitting = (one for one in parsed.tables if self._fits(one) and not one.trouble)
            certain = (one for one in fitting if not self._doubled(one))
            return chain.from_iterable(map(self._table, certain))
        if self.rows == FIELDS:
            fields = parsed.fields()
            return (({"key": one.key, "value": one.value}, one.start, one.end) for one in fields)
        if self.rows == SECTIONS:
            return _sections(parsed)
        if self.rows == DOCUMENTS:
            return _whole(document, parsed)
        found = ((quote, place) for quote in quotes for place in _quoted(quote, parsed))
        return (({"quote": quote}, *place) for quote, place in found)

    def _fits(self, table: Table) -> bool:
        heads = {_folded(one) for one in table.header}
        wanted = {_folded(one) for one in (self.heads or {}).values()}
        return bool(wanted) and wanted <= heads

    def _doubled(self, table: Table) -> str:
        """Say which heading that is read stands over several columns of a table."""
        twice = doubled(table.header)
        found = next((one for one in (self.heads or {}).values() if _folded(one) in twice), "")
        return f"the heading `{found}` stands over several columns" if found else ""

    def _table(self, table: Table) -> Iterator[Told]:
        folded = [_folded(one) for one in table.header]
        places = {name: folded.index(_folded(head)) for name, head in (self.heads or {}).items()}
        for row in table.rows:
            told = {name: row.cells[place] or None for name, place in places.items()}
            yield told, row.start, row.end

    def _cells(
        self,
        told: Mapping[str, str | int | None],
        document: Document,
        places: Places,
        start: int,
    ) -> tuple[str | int | None, ...]:
        """Give the cells of a row, numbers and days in plain spelling."""
        where: Mapping[str, Callable[[], str | int]] = {
            DOCUMENT: lambda: document.name,
            SECTION: lambda: places.section(start),
            LINE_NUMBER: lambda: places.line(start),
        }
        cells = []
        for name, kind in self.columns:
            cell = told[name] if name in told else where[name]() if name in where else None
            plain = plain_cell(cell, kind, self._locale) if isinstance(cell, str) else cell
            cells.append(plain)
        return tuple(cells)

    @property
    def _locale(self) -> Locale | None:
        return find_locale(self.locale) if self.locale else None


def _sections(parsed: Parsed) -> Iterator[Told]:
    for part in parsed.sections:
        text = parsed.text[part.start : part.end].rstrip()
        told: Values = {SECTION: part.title, "level": part.level, "text": text}
        if text:
            yield told, part.start, part.start + len(text)


def _whole(document: Document, parsed: Parsed) -> Iterator[Told]:
    """Yield what is said of a document as a whole, at its first words."""
    first = re.search(r"\S[^\r\n]*", parsed.text)
    if first is not None:
        told: Values = {"title": parsed.title, "kind": document.kind, "bytes": document.size}
        yield told, first.start(), first.start() + len(first[0].rstrip())


def doubled(heads: Sequence[str]) -> frozenset[str]:
    """Give the headings that stand over several columns, in small letters."""
    return frozenset(one for one, times in Counter(map(_folded, heads)).items() if times > 1)


def _folded(words: str) -> str:
    return _BLANKS.sub(" ", words).strip().casefold()


# ------------------------------------------------------------------------- numbers and days


def plain_cell(words: str, kind: Kind, locale: Locale | None) -> str:
    """Spell a number or day of a document plainly; what cannot be read stays as it is.

    Without a locale only what means one number everywhere is a number: `1,250` and `1.250` may be
    a thousand and more in one country, and one and a quarter in another.
    """
    if kind in _NUMBERS:
        return _plain_number(words) if locale is None else _number_of(words, locale)
    if kind is Kind.DATE and locale is not None:
        return locale.read_day(words) or words
    return words


def _plain_number(words: str) -> str:
    if _AMBIGUOUS.match(words):
        return f"{words}, or a thousand times as much"
    return words.removeprefix("+") if _PLAIN.match(words) else words


def _number_of(words: str, locale: Locale) -> str:
    return locale.read_number(words) or locale.foreign(words)


# --------------------------------------------------------------------------------- patterns


def _literals(pattern: Pattern, *, marked: bool) -> list[re.Pattern[str]]:
    """Make an expression of each part of words; the last one is empty where a column ends it.

    Blanks between words are any blanks, and at most one new line. Words begin and end where words
    do, but for those that touch a column: `{n}pcs`.
    """
    marks = MARKS if marked else ""
    gap = rf"[ \t\u00a0{marks}]*(?:(?:\r\n|\r|\n)[ \t\u00a0>{marks}]*|[ \t\u00a0{marks}])"
    last = len(pattern.words) - 1
    found = []
    for place, words in enumerate(pattern.words):
        parts = words.split()
        text = gap.join(map(re.escape, parts))
        if parts and parts[0][0].isalnum() and (place == 0 or words[0].isspace()):
            text = rf"(?<![^\W_])(?<![^\W_][{_JOINING}]){text}"
        if parts and parts[-1][-1].isalnum() and (place == last or words[-1].isspace()):
            text = rf"{text}(?![^\W_])(?![{_JOINING}][^\W_])"
        found.append(re.compile(text))
    return found


def _matches(
    pattern: Pattern,
    parsed: Parsed,
    kinds: Mapping[str, Kind],
    locale: Locale | None,
    check: Callable[[], None],
) -> Iterator[Told]:
    """Yield what stands between the words of a pattern, wherever these stand in this order.

    A value ends where the next words begin, on its line; at the end of a pattern a number or day
    ends where it ends, and a text with its line.
    """
    words = [_Ahead(one, parsed.text) for one in _literals(pattern, marked=parsed.marked)]
    place = 0
    while (begun := words[0].next(place)) is not None:
        check()
        place = begun.end()
        told, end = _values(pattern, words, parsed, kinds, locale, begun.end())
        if told is not None:
            yield told, begun.start(), end
            place = max(place, end)


class _Ahead:
    """Finds words at or behind a place; places that grow are looked through once in all."""

    def __init__(self, words: re.Pattern[str], text: str) -> None:
        self.words = words
        self._text = text
        self._from = 0
        self._found: re.Match[str] | None = None
        self._looked = False

    def next(self, place: int) -> re.Match[str] | None:
        """Give the first match from a place on."""
        found = self._found
        gone = found is not None and found.start() < place
        if not self._looked or place < self._from or gone:
            self._found = self.words.search(self._text, place)
            self._from, self._looked = place, True
        return self._found


def _values(  # noqa: PLR0917  one step of `_matches`
    pattern: Pattern,
    words: Sequence[_Ahead],
    parsed: Parsed,
    kinds: Mapping[str, Kind],
    locale: Locale | None,
    place: int,
) -> tuple[Mapping[str, str | int | None] | None, int]:
    text, told = parsed.text, {}
    for number, name in enumerate(pattern.names):
        place = _skipped(parsed, place)
        line = LINE.search(text, place, place + _LONGEST)
        last = line.start() if line is not None else min(len(text), place + _LONGEST)
        behind = words[number + 1]
        if behind.words.pattern:
            # The words may begin in the next line, and go on in the one after it.
            found = behind.next(place)
            if found is None or found.end() > last + _LONGEST:
                return None, place
            value = text[place : found.start()]
            ended = value.rstrip()
            # `term 30 of a longer term 31 days`: what begins again begins there.
            again = number == 0 and words[0].words.search(value)
            if again or LINE.search(ended) or len(LINE.findall(value)) > 1:
                return None, place
            told[name] = parsed.plain(ended)
            place = found.end()
        else:
            raw = text[place:last]
            value = _ended(raw, kinds.get(name, Kind.SYMBOL), locale)
            told[name] = parsed.plain(value.strip())
            place += len(value.rstrip())
        if not told[name]:
            return None, place
    return told, place


def _skipped(parsed: Parsed, place: int) -> int:
    """Give the next character that is no blank, in the same line or the next one."""
    marks = MARKS if parsed.marked else ""
    blank = re.compile(rf"[ \t\u00a0{marks}]*(?:(?:\r\n|\r|\n)[ \t\u00a0{marks}]*(?=\S))?")
    found = blank.match(parsed.text, place)
    return place if found is None else found.end()


def _ended(raw: str, kind: Kind, locale: Locale | None) -> str:
    """Give the part of a line that is the value at the end of a pattern."""
    if kind not in _NUMBERS and kind is not Kind.DATE:
        return raw
    found = (_DAY if kind is Kind.DATE else _NUMBER).match(raw)
    if found is None:
        return raw
    value = found[0]
    if kind in _NUMBERS and (locale is None or locale.group != " "):
        value = re.split(r"[ \u00a0\u202f]", value)[0].rstrip(".,'\u2019")
    behind = raw[len(value) : len(value) + 1]
    # `30x` is no 30, and neither is `30%`.
    return raw if behind.isalnum() or behind in {"%", "_"} else value


def _inside_word(text: str, place: int, letter: str, *, before: bool) -> bool:
    """Tell whether words begin, or end, within a longer word."""
    if not letter.isalnum():
        return False
    near = text[max(0, place - 2) : place][::-1] if before else text[place : place + 2]
    return near[:1].isalnum() or (near[:1] in set(_JOINS) and near[1:].isalnum())


def _quoted(quote: str, parsed: Parsed) -> Iterator[tuple[int, int]]:
    """Yield where a document has these words, whatever blanks stand between them."""
    parts = quote.split()
    if not parts:
        return
    search = re.compile(r"[ \t\r\n\u00a0]+".join(map(re.escape, parts)))
    for found in search.finditer(parsed.text):
        first, last = parts[0][0], parts[-1][-1]
        if _inside_word(parsed.text, found.start(), first, before=True):
            continue
        if _inside_word(parsed.text, found.end(), last, before=False):
            continue
        yield found.start(), found.end()
