"""Load CSV and JSON lines into tables of texts.

In: the files of a table. Out: a table in the session whose columns are all VARCHAR. The decision:
nothing is sniffed. A column is text as written, and the declaration says what it means, as for
configured values (semantics 25): `00123` is the symbol 00123 and the number 123, `NA` is a text.
A query that computes must cast (DuckDB refuses to compare text with a number). In CSV an empty
field is NULL and `""` the empty text; the first line names the columns; all files of a table have
the same ones. In JSON lines strings are their content, numbers and truth values as written, objects
and lists their JSON text; null and a missing name are NULL. Invariant: a line that is damaged fails
the whole table, by its number. Reference: RFC 4180, RFC 8259.
"""

from __future__ import annotations

import csv
import json
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, NoReturn

from constat.catalog.duck_session import named, quoted
from constat.catalog.failure import QueryMistakeError, SourceFailureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from constat.catalog.duck_session import DuckSession

_LONGEST_LINE: Final = 1 << 24
_LARGEST_LIST: Final = 1 << 27
_LONGEST_HEADER: Final = 1 << 20
_LONGEST_NAME: Final = 200
_MOST_COLUMNS: Final = 2_000
_LINES_AT_ONCE: Final = 5_000
_CSV_LINE: Final = re.compile(r"CSV Error on Line: ([0-9]{1,18})\n")
_CSV_COUNTS: Final = re.compile(r"\nExpected Number of Columns: ([0-9]+) Found: ([0-9]+)\n")
_OPTIONS: Final = (
    "header = true, auto_detect = false, compression = 'none', encoding = 'utf-8', "
    "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
    "null_padding = false, ignore_errors = false, strict_mode = true"
)


def load_csv(session: DuckSession, table: str, files: Sequence[Path], seconds: float) -> None:
    """Load comma separated values, or values separated by tabs where a name ends in `.tsv`."""
    delimiter = "\t" if files[0].suffix.lower() == ".tsv" else ","
    header = header_of(files[0], delimiter)
    columns = ", ".join(f"{quoted(column)}: 'VARCHAR'" for column in header)
    for place, file in enumerate(files):
        if header_of(file, delimiter) != header:
            raise damaged(file, " has other columns than the first file of its table")
        # One file at a time, so that a mistake is known to be in this one.
        opening = f"INSERT INTO {named(table)}" if place else f"CREATE TABLE {named(table)} AS"
        reading = f"read_csv({quoted(str(file))}, delim = {quoted(delimiter)}, {_OPTIONS}, "
        statement = f"{opening} SELECT * FROM {reading}columns = {{{columns}}})"  # noqa: S608  quoted
        session.rows(statement, seconds, _Explaining(file, len(header)))


def load_lines(session: DuckSession, table: str, files: Sequence[Path], seconds: float) -> None:
    """Load objects of JSON, one on each line, or all in one list where a name ends in `.json`."""
    columns: dict[str, str] = {}
    with session.bounded(seconds):
        for file in files:
            rows = rows_of(file)
            while batch := list(islice(rows, _LINES_AT_ONCE)):
                _widen(session, table, file, columns, batch)
                listed = [tuple(row.get(name) for name in columns.values()) for row in batch]
                session.append(table, listed)
                session.check_time()
    if not columns:
        raise damaged(files[0], " holds no object that would name columns")


def damaged(file: Path, what: str) -> SourceFailureError:
    """Give the failure of a file whose content cannot be read."""
    return SourceFailureError(f"{file.name}{what}", "C0543")


class _Explaining:
    """Says what DuckDB's error about a file of values means, without the line that it quotes."""

    def __init__(self, file: Path, width: int) -> None:
        self._file = file
        self._width = width

    def __call__(self, said: str) -> SourceFailureError | None:
        if "memory" in said.lower() or "interrupt" in said.lower():
            return None
        line = _CSV_LINE.search(said)
        where = f", line {line[1]}," if line else ""
        counts = _CSV_COUNTS.search(said)
        if counts is not None:
            fields = "1 field" if counts[2] == "1" else f"{counts[2]} fields"
            return damaged(self._file, f"{where} has {fields}; {self._width} are named")
        if "not utf-8" in said:
            return damaged(self._file, f"{where} is not UTF-8")
        if "unterminated quote" in said:
            return damaged(self._file, f"{where} has a quote that is not closed, or text behind it")
        return damaged(self._file, f"{where} cannot be read as separated values")


def header_of(file: Path, delimiter: str) -> list[str]:
    """Give the names in the first line of a file of separated values."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        try:
            line = opened.readline(_LONGEST_HEADER)
            names = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except UnicodeDecodeError:
            raise damaged(file, " is not UTF-8") from None
        except csv.Error:
            raise damaged(file, " has a first line that names no columns") from None
    known: dict[str, str] = {}
    for name in names:
        add_name(file, name, known)
    if not names:
        raise damaged(file, " has no first line that names its columns")
    return names


def add_name(file: Path, name: str, known: dict[str, str]) -> None:
    """Add a name; DuckDB does not tell names apart by their case."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise damaged(file, " has a column without a usable name")
    if name.lower() in known or len(known) == _MOST_COLUMNS:
        raise damaged(file, " names a column twice, or too many of them")
    known[name.lower()] = name


def rows_of(file: Path) -> Iterator[dict[str, str | None]]:
    """Read the objects of a file of JSON, of either kind."""
    return listed_objects(file) if file.suffix.lower() == ".json" else objects_of(file)


def objects_of(file: Path) -> Iterator[dict[str, str | None]]:
    """Read the objects of a file of JSON lines one by one; a damaged line is a failure."""
    # Numbers are kept as written, so that they are never turned into floats.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)
    with file.open("rb") as opened:
        number = 0
        while line := opened.readline(_LONGEST_LINE):
            number += 1
            if len(line) == _LONGEST_LINE:
                raise damaged(file, f", line {number}, is too long")
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield _object(text, decoder)
            except UnicodeError:
                raise damaged(file, f", line {number}, is not UTF-8") from None
            except (ValueError, IndexError, RecursionError):
                raise damaged(file, f", line {number}, is no JSON object") from None


def listed_objects(file: Path) -> Iterator[dict[str, str | None]]:
    """Read the objects of a file that is one JSON list; a damaged one is a failure."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)
    with file.open("rb") as opened:
        content = opened.read(_LARGEST_LIST + 1)
    if len(content) > _LARGEST_LIST:
        raise damaged(file, " is too large for one JSON list; write JSON lines")
    number = 0
    try:
        text = content.decode("utf-8-sig")
        place = _expect(text, 0, "[")
        while text[place] != "]" or number:
            number += 1
            row, place = _object_at(text, place, decoder)
            yield row
            place = _skip(text, place)
            if text[place] == "]":
                break
            place = _expect(text, place, ",")
        _end(text, place + 1)
    except UnicodeError:
        raise damaged(file, " is not UTF-8") from None
    except (ValueError, IndexError, RecursionError):
        raise damaged(file, f", object {number}, is no list of JSON objects") from None


def _object(text: str, decoder: json.JSONDecoder) -> dict[str, str | None]:
    """Read a text that is one object."""
    row, place = _object_at(text, 0, decoder)
    _end(text, place)
    return row


def _object_at(
    text: str, place: int, decoder: json.JSONDecoder
) -> tuple[dict[str, str | None], int]:
    """Read an object whose values stay as they are written, but for texts and null."""
    row: dict[str, str | None] = {}
    place = _expect(text, place, "{")
    if text[place] == "}":
        return row, place + 1
    while True:
        name, place = decoder.raw_decode(text, place)
        if not isinstance(name, str) or name in row or text[place - 1] != '"':
            raise ValueError("a name")
        start = _expect(text, place, ":")
        value, place = decoder.raw_decode(text, start)
        content = value if text[start] == '"' else text[start:place]
        content.encode()  # half a surrogate pair is no text
        row[name] = None if value is None else content
        place = _skip(text, place)
        if text[place] == "}":
            return row, place + 1
        place = _expect(text, place, ",")


def _expect(text: str, place: int, letter: str) -> int:
    """Give the place behind a letter and the space around it."""
    place = _skip(text, place)
    if text[place] != letter:
        raise ValueError("another letter")
    return _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place


def _end(text: str, place: int) -> None:
    if text[place:].strip(" \t\r\n"):
        raise ValueError("something behind the object")


def _no_number(_: str) -> NoReturn:
    raise ValueError("NaN and the infinities are no JSON")


def _widen(
    session: DuckSession,
    table: str,
    file: Path,
    columns: dict[str, str],
    batch: Sequence[dict[str, str | None]],
) -> None:
    """Add the columns that these rows name for the first time."""
    created = bool(columns)
    new = dict.fromkeys(name for row in batch for name in row if columns.get(name.lower()) != name)
    for name in new:
        add_name(file, name, columns)
    if not columns:
        raise damaged(file, " holds no object that would name columns")
    if created:
        for name in new:
            session.own(f"ALTER TABLE {named(table)} ADD COLUMN {named(name)} VARCHAR")
    else:
        listed = ", ".join(f"{named(name)} VARCHAR" for name in new)
        session.own(f"CREATE TABLE {named(table)} ({listed})")


def drop(session: DuckSession, table: str) -> None:
    """Take away what was loaded before a failure."""
    for kind in ("TABLE", "VIEW"):
        # Of a table that is a view DuckDB says so, and the other way round.
        with suppress(SourceFailureError, QueryMistakeError):
            session.own(f"DROP {kind} IF EXISTS {named(table)}")
