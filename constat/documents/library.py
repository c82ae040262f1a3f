"""All documents of a project: listed, opened by name, cut into sections, searched by words.

In: a project. Out: `Document`s, `Passage`s, and `Relation`s that documents hold. Invariant: what is
shown of a document is text that its reader made; nothing is kept between programs, so nothing is
old. Raises `ConstatError` (C0583) where no document or section has that name.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
import threading
import time
from collections import Counter, defaultdict
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.documents.extraction import (
    COLUMNS,
    DOCUMENT,
    DOCUMENTS,
    FIELDS,
    LINE_NUMBER,
    SECTION,
    SECTIONS,
    TABLE,
    doubled,
    plain_cell,
)
from constat.documents.parsed import ENDINGS, Parsed, Places, kind_of
from constat.documents.reader import read_documents
from constat.frozen import frozen
from constat.logic import Kind, find_locale

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.documents.parsed import Table
    from constat.logic.locales import Locale
    from constat.project import Project
    from constat.project.documents import DocumentsSetting

# The documents of one source: files by names, folders and patterns, read when they are needed.
#
# Invariants: every file lies in the project after resolving links; what is read twice under one
# hash is read once; a file that cannot be read is told with its reason and hides no other one.

_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0)
_MOST_SEEN: Final = 100_000
"""Entries of folders that are looked at."""


@frozen
class Document:
    """A file of the project. Without `parsed` it could not be read, and `failure` says why.

    `name` is its path in the project, `hash` that of its bytes: `sha256:` and 64 digits.
    """

    name: str
    kind: str
    size: int = 0
    hash: str = ""
    parsed: Parsed | None = None
    places: Places | None = None
    failure: str = ""


State = tuple[tuple[str, int, int, int], ...]
"""Of each file its name, size, time of change and number."""


class Collection:
    """The documents of one source. Used by one thread at a time; `cancel` may be any thread's."""

    def __init__(self, setting: DocumentsSetting, folder: Path, state: Path) -> None:
        self.setting = setting
        self._folder = folder.resolve()
        self._state = state.resolve()
        self._read: dict[tuple[str, str], Parsed | str] = {}
        self._known: tuple[State, tuple[Document, ...]] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = threading.Event()

    def state(self) -> State:
        """Tell which files there are, without reading them."""
        return tuple(self._stat(path) for path in self._paths()[0])

    def names(self) -> tuple[str, ...]:
        """List the files that there are."""
        return tuple(name for name, *_ in self.state())

    def documents(self, until: float) -> tuple[Document, ...]:
        """Read all documents, until a monotonic time; those that have not changed only once."""
        state = self.state()
        if self._known is not None and self._known[0] == state:
            return self._known[1]
        self._cancelled.clear()
        paths, missing = self._paths()
        found = [*self._all(paths, until), *missing]
        documents = tuple(sorted(found, key=lambda one: one.name))
        # What could not be read is tried again: it may have been a matter of time.
        if not any(one.failure for one in documents) and self.state() == state:
            self._known = state, documents
        return documents

    def cancel(self) -> None:
        """End the reading, from any thread."""
        self._cancelled.set()
        process = self._process
        if process is not None:
            process.kill()

    def _all(self, paths: tuple[Path, ...], until: float) -> Iterator[Document]:
        """Read files; those whose bytes were read before are not read again."""
        raws = [self._bytes(path) for path in paths]
        new = {
            (one.kind, one.hash): data
            for one, data in raws
            if not one.failure and (one.kind, one.hash) not in self._read
        }
        wanted = [(kind, data) for (kind, _), data in new.items()]
        reads = read_documents(wanted, until, started=self._started) if wanted else []
        for key, read in zip(new, reads, strict=True):
            self._read[key] = read
        present = {(one.kind, one.hash) for one, _ in raws}
        for one, _ in raws:
            yield one if one.failure else self._document(one)
        self._read = {
            key: read
            for key, read in self._read.items()
            if key in present and isinstance(read, Parsed)
        }

    def _document(self, raw: Document) -> Document:
        read = self._read[raw.kind, raw.hash]
        if isinstance(read, str):
            return Document(raw.name, raw.kind, raw.size, raw.hash, failure=read)
        return Document(raw.name, raw.kind, raw.size, raw.hash, read, Places(read))

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        if self._cancelled.is_set():
            process.kill()

    # ------------------------------------------------------------------------------- files

    def _paths(self) -> tuple[tuple[Path, ...], list[Document]]:
        """Give the files in the order of their names, and what is named and not there."""
        found: dict[Path, None] = {}
        missing: list[Document] = []
        for pattern in self.setting.files:
            matched = list(self._matching(pattern))
            found.update(dict.fromkeys(matched))
            if not (matched or _is_pattern(pattern) or (self._folder / pattern).is_dir()):
                missing.append(Document(pattern, kind_of(pattern), failure="there is no such file"))
        paths = sorted(found, key=self._name)
        if len(paths) > self.setting.most:
            for path in paths[self.setting.most :]:
                failure = f"more than {self.setting.most:,} documents: raise `most`"
                missing.append(Document(self._name(path), kind_of(path.name), failure=failure))
        return tuple(paths[: self.setting.most]), missing

    def _matching(self, pattern: str) -> Iterator[Path]:
        """Yield the files of a pattern that are documents, inside the project."""
        whole = self._folder / pattern
        if not _is_pattern(pattern):
            if whole.is_dir():
                yield from self._matching(f"{pattern.rstrip('/')}/**/*")
            elif whole.is_file() and self._inside(whole):
                yield whole
            return
        for number, path in enumerate(self._folder.glob(pattern)):
            if number >= _MOST_SEEN:
                return
            hidden = any(part.startswith(".") for part in path.relative_to(self._folder).parts)
            known = path.suffix.lower() in ENDINGS
            if known and not hidden and path.is_file() and self._inside(path):
                yield path

    def _inside(self, path: Path) -> bool:
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            return False
        return real.is_relative_to(self._folder) and not real.is_relative_to(self._state)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _stat(self, path: Path) -> tuple[str, int, int, int]:
        try:
            found = path.stat()
        except OSError:
            return self._name(path), -1, 0, 0
        return self._name(path), found.st_size, found.st_mtime_ns, found.st_ino

    def _bytes(self, path: Path) -> tuple[Document, bytes]:
        """Read the bytes of a file, within the bound."""
        name, kind = self._name(path), kind_of(path.name)
        most = self.setting.bytes
        try:
            # A pipe that nobody writes to would hold us for ever.
            with os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return Document(name, kind, failure="it is no file"), b""
                data = file.read(most + 1)
        except OSError as problem:
            reason = f"it cannot be opened ({type(problem).__name__})"
            return Document(name, kind, failure=reason), b""
        if len(data) > most:
            failure = f"it has more than {most:,} bytes: raise `bytes`"
            return Document(name, kind, failure=failure), b""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        return Document(name, kind, len(data), digest), data


def _is_pattern(written: str) -> bool:
    return any(letter in written for letter in "*?[")


# All documents of a project: listed, opened by name, cut into sections, searched by words.

_SECONDS: Final = 60.0
_WORD: Final = re.compile(r"\w+")
_PARAGRAPH: Final = re.compile(r"\S(?:[^\r\n]|\r?\n(?![ \t]*\r?\n))*")
_LONGEST: Final = 2_000
"""Characters of one passage."""
_FULL: Final = 1.2
_LENGTH: Final = 0.75


@frozen
class Passage:
    """A paragraph of a document that words were found in; the greater `score`, the better."""

    source: str
    document: str
    section: str
    line: int
    text: str
    score: float


class Documents:
    """The documents of a project. Used by one thread at a time."""

    def __init__(self, project: Project) -> None:
        self._settings = project.documents
        self._collections = {
            name: Collection(setting, project.folder, project.state)
            for name, setting in project.documents.items()
        }

    def list(self, source: str = "") -> tuple[tuple[str, Document], ...]:
        """List all documents, or those of one name, each with the name that it is listed under."""
        if source and source not in self._collections:
            raise _unknown("documents", source, self._collections)
        until = time.monotonic() + _SECONDS
        names = [source] if source else list(self._collections)
        return tuple(
            (name, one) for name in names for one in self._collections[name].documents(until)
        )

    def open(self, name: str) -> Document:
        """Give a document by its path, or by its file's name where no other has it."""
        listed = {one.name: one for _, one in self.list()}
        fitting = [one for one in listed.values() if one.name.rpartition("/")[2] == name]
        found = listed.get(name) or (fitting[0] if len(fitting) == 1 else None)
        if found is None:
            raise _unknown("document", name, listed)
        return found

    def section(self, name: str, title: str) -> str:
        """Give the text of the sections of a document that have a title."""
        document = self.open(name)
        parsed = document.parsed
        ranges = () if parsed is None else parsed.within(" ".join(title.split()))
        if parsed is None or not ranges:
            raise _unknown(
                "section", title, [one.title for one in parsed.sections] if parsed else ()
            )
        return "\n".join(parsed.text[start:end].rstrip() for start, end in ranges)

    def words(self, name: str, title: str = "", *, by_model: bool = False) -> tuple[str, str]:
        """Give the text of a document, or of its sections with a title, and which file that is.

        With `by_model` a model is about to read it: C0888 where the project does not say so.
        """
        document = self.open(name)
        if by_model and not self.readable(document.name):
            message = f"no model may read the document `{document.name}`"
            hint = "a person can write `read_by_model: true` below its name in `documents:`"
            raise ConstatError([Diagnostic("C0888", message, help=hint)])
        if document.parsed is None:
            message = f"the document `{document.name}` cannot be read: {document.failure}"
            raise ConstatError([Diagnostic("C0583", message)])
        where = f"document {document.name}, {document.hash}"
        if title:
            return self.section(document.name, title), f"{where}, section {title}"
        return document.parsed.text, where

    def readable(self, name: str) -> bool:
        """Tell whether a language model may be told what a document says."""
        return any(
            self._settings[source].read_by_model and one.name == name for source, one in self.list()
        )

    def search(self, words: str, most: int = 10, *, by_model: bool = False) -> tuple[Passage, ...]:
        """Find the paragraphs that hold some words, those that hold rare ones first.

        With `by_model` only documents that a model may read are looked through.
        """
        wanted = list(dict.fromkeys(_words(words)))
        passages = list(self._passages(by_model=by_model))
        counts = [Counter(_words(one.text)) for one in passages]
        known = Counter(word for count in counts for word in count)
        average = sum(map(len, counts)) / len(counts) if counts else 1.0
        scored = []
        for one, count in zip(passages, counts, strict=True):
            score = _score(count, wanted, known, len(passages), average)
            if score > 0:
                scored.append((-score, one.document, one.line, one))
        return tuple(
            Passage(one.source, one.document, one.section, one.line, one.text, round(-score, 3))
            for score, _, _, one in sorted(scored, key=lambda each: each[:3])[:most]
        )

    def _passages(self, *, by_model: bool) -> Iterator[Passage]:
        for source, document in self.list():
            if by_model and not self._settings[source].read_by_model:
                continue
            parsed, places = document.parsed, document.places
            if parsed is None or places is None:
                continue
            for found in _PARAGRAPH.finditer(parsed.text):
                place = found.start()
                yield Passage(
                    source,
                    document.name,
                    places.section(place),
                    places.line(place),
                    found[0].strip()[:_LONGEST],
                    0.0,
                )


def _words(text: str) -> Iterator[str]:
    """Yield words in lower case; an ending `s` is no part of a word."""
    for found in _WORD.finditer(text.casefold()):
        word = found[0]
        yield word[:-1] if len(word) > len("has") and word.endswith("s") else word


def _score(
    count: Counter[str], wanted: Sequence[str], known: Mapping[str, int], all_: int, average: float
) -> float:
    """Rank as BM25 does: rare words count more, many words of a long paragraph less."""
    length = _FULL * (1 - _LENGTH + _LENGTH * len(count) / average)
    total = 0.0
    for word in wanted:
        if count[word]:
            rarity = math.log(1 + (all_ - known[word] + 0.5) / (known[word] + 0.5))
            total += rarity * count[word] * (_FULL + 1) / (count[word] + length)
    return total


def _unknown(what: str, name: str, known: Sequence[str] | Mapping[str, object]) -> ConstatError:
    near = nearest(name, list(known)[:_LONGEST])
    some = ", ".join(list(known)[:8]) or "none"
    hint = f"write `{near}`" if near else f"there are: {some}"[:400]
    return ConstatError([Diagnostic("C0583", f"there is no {what} `{name[:80]}`", help=hint)])


# What the documents of one name hold as relations: each can be declared as it stands.

_MOST_RELATIONS: Final = 200
_MOST_KEYS: Final = 100
_MOST_TITLES: Final = 40
_NUMERAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,12})?")
_UNSAID: Final = re.compile(r'[,="\\{}]')
"""What a heading or key cannot have where a declaration names it."""


@frozen
class Relation:
    """Rows that documents hold: tables of one row of headings, fields, sections, the documents.

    `name` is what it is called by: the section of the first table, or the kind of `rows`. A cell
    is `None` where a row has nothing there. `about` says in words what is there; `left_out` are
    headings or keys that no declaration can name. The first `places` heads say where a row stands;
    they lack a name that a heading or key of the documents has.
    """

    name: str
    rows: str
    heads: tuple[str, ...]
    cells: tuple[tuple[str | None, ...], ...]
    about: str
    left_out: tuple[str, ...] = ()
    places: int = 0

    def kinds(self, locale: str) -> tuple[Kind, ...]:
        """Give the kind of each column: that which its cells spell, where documents write them."""
        if self.rows not in {TABLE, FIELDS}:
            return tuple(_OF_PLACES.get(one, Kind.SYMBOL) for one in self.heads)
        columns = zip(*self.cells, strict=True) if self.cells else ((),) * len(self.heads)
        spelt = [_kind([one for one in cells if one is not None], locale) for cells in columns]
        known = (_OF_PLACES.get(one, Kind.SYMBOL) for one in self.heads[: self.places])
        return (*known, *spelt[self.places :])


_OF_PLACES: Final = MappingProxyType(dict.fromkeys((LINE_NUMBER, "level", "bytes"), Kind.NUMBER))
"""What a row of any document has, and what is a number of it."""


def relations(documents: Sequence[Document]) -> tuple[Relation, ...]:
    """Give the relations that documents hold, tables first; what cannot be declared stays out."""
    read = [one for one in documents if one.parsed is not None]
    found = [*_tables(read)][:_MOST_RELATIONS]
    keys: dict[str, list[tuple[str, str]]] = defaultdict(list)
    titles: dict[str, None] = {}
    sections: list[tuple[str | None, ...]] = []
    for document, parsed in ((one, one.parsed) for one in read):
        for field in parsed.fields() if parsed else ():
            if not _UNSAID.search(field.key):
                keys[field.key].append((document.name, field.value))
        for part in parsed.sections if parsed else ():
            titles.setdefault(part.title)
            text = parsed.text[part.start : part.end] if parsed else ""
            sections.append((document.name, part.title, str(part.level), text[:_LONGEST]))
    if keys:
        found.append(_fields(keys))
    if sections:
        listed = ", ".join(list(titles)[:_MOST_TITLES])
        heads = (DOCUMENT, SECTION, *COLUMNS[SECTIONS])
        found.append(Relation(SECTIONS, SECTIONS, heads, tuple(sections), listed))
    heads = (DOCUMENT, *COLUMNS[DOCUMENTS])
    cells = tuple((d.name, d.parsed.title if d.parsed else "", d.kind, str(d.size)) for d in read)
    about = ", ".join(title for _, title, *_ in cells[:_MOST_TITLES] if title)
    return (*found, Relation(DOCUMENTS, DOCUMENTS, heads, cells, about))


def _tables(documents: Sequence[Document]) -> Iterator[Relation]:
    """Put tables with the same headings together."""
    rows: dict[tuple[str, ...], list[tuple[str | None, ...]]] = defaultdict(list)
    names: dict[tuple[str, ...], str] = {}
    left_out: dict[tuple[str, ...], tuple[str, ...]] = {}
    for document in documents:
        parsed, places = document.parsed, document.places
        for table in parsed.tables if parsed and places else ():
            heads = tuple(table.header)
            usable = _usable(table)
            if table.trouble or not usable:
                continue
            chosen = tuple(heads[n] for n in usable)
            others = tuple(one for n, one in enumerate(heads) if n not in usable)
            left_out[chosen] = max(left_out.get(chosen, ()), others, key=len)
            names.setdefault(chosen, places.section(table.start) if places else "")
            for row in table.rows:
                where = str(places.line(row.start)) if places else ""
                stands = {DOCUMENT: document.name, LINE_NUMBER: where}
                known = (stands[one] for one in stands if one not in chosen)
                rows[chosen].append((*known, *(row.cells[n] or None for n in usable)))
    for heads, name in names.items():
        about = f"tables of {name}" if name else "tables"
        stood = [one for one in (DOCUMENT, LINE_NUMBER) if one not in heads]
        told, out = tuple(rows[heads]), left_out[heads]
        yield Relation(name or TABLE, TABLE, (*stood, *heads), told, about, out, len(stood))


def _usable(table: Table) -> list[int]:
    """Give the places of the headings that a declaration can name."""
    twice = doubled(table.header)
    return [
        place
        for place, one in enumerate(table.header)
        if one.strip() and not _UNSAID.search(one) and " ".join(one.split()).casefold() not in twice
    ]


def unnamed(documents: Sequence[Document]) -> Iterator[str]:
    """Say which tables of documents are no relations, and why."""
    for document in documents:
        parsed, places = document.parsed, document.places
        for table in parsed.tables if parsed and places else ():
            why = "" if _usable(table) else "no declaration can name a heading of it"
            if table.trouble or why:
                line = places.line(table.start) if places else 0
                yield f"{document.name}, line {line}: a table is left out: {table.trouble or why}"
    if (number := len([*_tables(documents)])) > _MOST_RELATIONS:
        yield f"{number - _MOST_RELATIONS:,} tables with other headings are left out"


def _fields(keys: Mapping[str, Sequence[tuple[str, str]]]) -> Relation:
    """Give lines `key: value` as a relation with a column for each key, the frequent ones first."""
    often = sorted(keys, key=lambda one: (-len({name for name, _ in keys[one]}), one))[:_MOST_KEYS]
    values = {one: dict(reversed(keys[one])) for one in often}
    documents = sorted({name for one in often for name in values[one]})
    known = [one for one in (DOCUMENT,) if one not in often]
    cells = tuple(
        (*(name for _ in known), *(values[one].get(name) for one in often)) for name in documents
    )
    about = "lines that say `key: value`"
    return Relation(FIELDS, FIELDS, (*known, *often), cells, about, (), len(known))


def _kind(values: Sequence[str], locale: str) -> Kind:
    spelt = find_locale(locale) if locale else None
    found = [_NUMERAL.fullmatch(plain_cell(one, Kind.DECIMAL, spelt)) for one in values]
    if values and all(found):
        return Kind.DECIMAL if any(one[1] for one in found if one) else Kind.NUMBER
    return Kind.DATE if values and all(_is_day(one, spelt) for one in values) else Kind.SYMBOL


def _is_day(text: str, locale: Locale | None) -> bool:
    try:
        return date.fromisoformat(plain_cell(text, Kind.DATE, locale)).isoformat() == plain_cell(
            text, Kind.DATE, locale
        )
    except ValueError:
        return False
