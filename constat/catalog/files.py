"""Read CSV, Parquet, JSON lines, Arrow and workbooks as the tables of an empty DuckDB."""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import importlib
import json
import os
import re
import tempfile
import time
import zipfile
from collections import deque
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

from constat.apis.shapes import ENTRIES, PathError, Shape, members_once, read_path
from constat.apis.shapes import Path as FieldPath
from constat.apis.transport import ApiError
from constat.catalog.connection import (
    READ,
    QueryMistakeError,
    SourceColumn,
    SourceFailureError,
    SourceTable,
)
from constat.catalog.duck_queries import CopiedReading
from constat.catalog.duck_session import NEEDS_MEMORY, DuckSession, long_repeats, named, quoted
from constat.catalog.file_tables import (
    MOST_BELOW,
    FileTable,
    LastLines,
    damaged,
    find_table,
    find_tables,
    further_down,
    has_parts,
    header_place,
    lines_below,
    misread,
    saying_total,
    state_name,
    totals_within,
    with_footer,
)
from constat.catalog.guard import guard
from constat.logic import PLAIN
from constat.project.files import (
    EVERY,
    MOST_ROWS,
    SEPARATED,
    UTF_8,
    WORKBOOK,
    TableFiles,
    letters_of,
    split_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from constat.apis.shapes import Trail
    from constat.catalog.connection import Question, RawRow, ReadBounds, Stream, Whole
    from constat.catalog.duck_queries import DuckColumn
    from constat.catalog.file_tables import Ending
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.catalog.remote import Objects
    from constat.logic import Locale, Row
    from constat.project import Database

# A line that is damaged fails the whole table, by its number. Reference: RFC 4180, RFC 8259.

_LONGEST_LINE: Final = 1 << 24
_LOOKED_INTO: Final = 200
_DEEPEST: Final = 4
_KEY_FIELD: Final = re.compile(
    r"(?:.*[_ -])?(?i:id|key|code|no|nr|number|uuid)\Z|.*[a-z](?:I[dD]|Key|Code|N[or]|Number)\Z"
)
_PLAIN_FIELD: Final = re.compile(r"[^.\[\]#\s][^.\[\]]*\Z")
_LARGEST_LIST: Final = 1 << 27
_LONGEST_HEADER: Final = 1 << 20
_LONGEST_NAME: Final = 200
_MOST_COLUMNS: Final = 2_000
_LINES_AT_ONCE: Final = 5_000
_BYTES_AT_ONCE: Final = 1 << 20
_NAME_IT: Final = "; `encoding: windows-1252`, or another, says what it is"
_CSV_LINE: Final = re.compile(r"CSV Error on Line: ([0-9]{1,18})\n")
_CSV_COUNTS: Final = re.compile(r"\nExpected Number of Columns: ([0-9]+) Found: ([0-9]+)\n")
_OPTIONS: Final = (
    "header = true, auto_detect = false, compression = 'none', encoding = 'utf-8', "
    "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
    "null_padding = false, ignore_errors = false, strict_mode = true"
)


def load_csv(
    session: DuckSession,
    name: str,
    table: FileTable,
    seconds: float,
    copy: DecodedCopy | None,
    *,
    most: int = 0,
) -> None:
    """Load separated values; `copy` holds files that cannot be read as they are.

    With `most` the first rows of each file do.
    """
    setting = table.setting
    header = header_of(table.files[0], setting)
    columns = ", ".join(f"{quoted(column)}: 'VARCHAR'" for column in header)
    for place, file in enumerate(table.files):
        if header_of(file, setting) != header:
            raise damaged(file, " has other columns than the first file of its table")
        readable = file
        if copy is not None and needs_copy(setting):
            with session.bounded(seconds):
                readable = copy.of(file, setting, session.check_time)
        check_end(file, readable, setting)
        # One file at a time, so that a mistake is known to be in this one.
        opening = f"INSERT INTO {named(name)}" if place else f"CREATE TABLE {named(name)} AS"
        delimiter = quoted(setting.delimiter)
        reading = f"read_csv({quoted(str(readable))}, delim = {delimiter}, {_OPTIONS}, "
        reading += f"skip = {setting.skip}, "
        statement = f"{opening} SELECT * FROM {reading}columns = {{{columns}}})"  # noqa: S608  quoted
        statement += f" LIMIT {most}" if most else ""
        before = _count(session, name) if place else 0
        session.rows(statement, seconds, _Explaining(file, setting, len(header)))
        encoding = UTF_8 if readable is not file else setting.encoding
        ending = LastLines(readable, setting, encoding)
        check_within((session, name, before, header), file, setting, ending)


def _count(session: DuckSession, name: str) -> int:
    ((count,),) = session.own(f"SELECT count(*) FROM {named(name)}")  # noqa: S608  a name of the project
    return int(str(count))


def check_within(rows: _NewRows, file: Path, setting: TableFiles, ending: Ending) -> None:
    """Refuse a file with totals among the rows that were loaded of it.

    Where no row begins with a word for totals, that takes no more than a query.
    """
    if setting.footer == 0:
        return
    session, name, before, header = rows
    condition = saying_total([named(one) for one in header])
    query = f"SELECT 1 FROM {named(name)} WHERE rowid >= {before} AND {condition} LIMIT 1"  # noqa: S608  as above
    if session.own(query) and (not (every := ending.rows()) or has_parts(every)):
        raise damaged(file, totals_within(every))


_NewRows = tuple[DuckSession, str, int, "Sequence[str]"]
"""A table, how many rows it held before a file was loaded, and the names of its columns."""


def needs_copy(setting: TableFiles) -> bool:
    """Tell whether a file cannot be read as it is: another encoding, or lines below the rows."""
    return setting.encoding != UTF_8 or is_footed(setting)


def is_footed(setting: TableFiles) -> bool:
    """Tell whether lines below the rows may have to be left out."""
    return bool(setting.footer or setting.optional)


def check_end(file: Path, readable: Path, setting: TableFiles) -> None:
    """Refuse a file whose last rows would be totals; of a copy the footer is cut off already."""
    if not is_footed(setting):
        encoding = UTF_8 if readable is not file else setting.encoding
        _below(file, LastLines(readable, setting, encoding), setting)


def _below(file: Path, ending: Ending, setting: TableFiles) -> int:
    try:
        return lines_below(ending, setting)
    except ValueError as problem:
        raise damaged(file, str(problem)) from None


def left_out(table: FileTable) -> int:
    """Count the lines that `footer` leaves out of the files of a table.

    Raises `SourceFailureError` where one cannot be read, and `OSError`.
    """
    setting = table.setting
    if not is_footed(setting):
        return 0
    if setting.ending != WORKBOOK:
        return sum(_below(file, LastLines(file, setting), setting) for file in table.files)
    every = [(file, _every_row(file, setting)) for file in table.files]
    return sum(_below(file, _SheetEnd(rows, partial(tuple, rows)), setting) for file, rows in every)


class DecodedCopy:
    """A file in UTF-8 without its footer: in memory, or on disk without a name."""

    def __init__(self) -> None:
        self._file: BinaryIO
        if hasattr(os, "memfd_create"):
            self._file = os.fdopen(os.memfd_create("constat"), "w+b")
        else:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
        self.path = Path(f"/proc/self/fd/{self._file.fileno()}")
        if not self.path.exists():
            self.path = Path(f"/dev/fd/{self._file.fileno()}")

    def of(self, file: Path, setting: TableFiles, check: Callable[[], None]) -> Path:
        """Copy a file; gives the path to read it from until the next one is copied."""
        encoding = setting.encoding
        self._file.seek(0)
        self._file.truncate()
        decoder = codecs.getincrementaldecoder(encoding)()
        with file.open("rb") as opened:
            try:
                while part := opened.read(_BYTES_AT_ONCE):
                    self._file.write(decoder.decode(part).encode())
                    check()
                self._file.write(decoder.decode(b"", final=True).encode())
            except UnicodeError:
                named_so = f"UTF-8{_NAME_IT}" if encoding == UTF_8 else encoding
                raise damaged(file, f" is not {named_so}") from None
        self._file.flush()
        if is_footed(setting):
            self._cut(file, setting)
        return self.path

    def _cut(self, file: Path, setting: TableFiles) -> None:
        """Take the lines below the rows away; empty ones do not count."""
        ending = LastLines(self.path, setting, UTF_8)
        lines = _below(file, ending, setting)
        if lines:
            self._file.truncate(ending.places(lines)[0][0])

    def close(self) -> None:
        """Give the memory back."""
        self._file.close()


def spell(session: DuckSession, name: str, table: FileTable, seconds: float) -> None:
    """Make what stands for no value NULL, and spell numbers and days plainly, without units."""
    setting = table.setting
    listed = session.columns(f"SELECT * FROM {named(name)}")  # noqa: S608  a name of the project
    known = {column.name.lower(): column.name for column in listed}
    for column in (*setting.null, *setting.locale, *setting.unit):
        if column != EVERY and column not in known:
            reason = f" has no column `{column}`, which `constat.yaml` names"
            raise damaged(table.files[0], reason)
    with session.bounded(seconds):
        for column, label in known.items():
            texts = (*setting.null.get(EVERY, ()), *setting.null.get(column, ()))
            if texts:
                session.own(
                    f"UPDATE {named(name)} SET {named(label)} = NULL"  # noqa: S608  quoted
                    f" WHERE {named(label)} IN ({', '.join(map(quoted, texts))})"
                )
            if column in setting.locale or column in setting.unit:
                spelling = (setting.locale.get(column, PLAIN), setting.unit.get(column, ""))
                _spell_plainly(session, name, label, *spelling)


def _spell_plainly(session: DuckSession, name: str, column: str, locale: Locale, unit: str) -> None:
    """Spell each value of a column once, by a table of what differs."""
    table, label, pairs = named(name), named(column), named(f"{name} spelled")
    # No table of a project has a blank in its name.
    session.own(f"CREATE TABLE {pairs} (was VARCHAR, is_now VARCHAR)")
    listed = session.own(f"SELECT DISTINCT {label} FROM {table} WHERE {label} IS NOT NULL")  # noqa: S608  quoted
    changed = ((was, locale.read(was, unit)) for (was,) in listed if isinstance(was, str))
    differing = (pair for pair in changed if pair[0] != pair[1])
    while batch := list(islice(differing, _LINES_AT_ONCE)):
        session.append(f"{name} spelled", batch)
        session.check_time()
    session.own(
        f"UPDATE {table} SET {label} = p.is_now FROM {pairs} p WHERE {table}.{label} = p.was"  # noqa: S608  quoted
    )
    session.own(f"DROP TABLE {pairs}")


def load_lines(
    session: DuckSession, table: str, files: Sequence[Path], part: str, seconds: float
) -> None:
    """Load objects of JSON, one on each line, or all in one list where a name ends in `.json`."""
    columns: dict[str, str] = {}
    with session.bounded(seconds):
        for file in files:
            rows = rows_of(file, part)
            while batch := list(islice(rows, _LINES_AT_ONCE)):
                _widen(session, table, file, columns, batch)
                listed = [tuple(row.get(name) for name in columns.values()) for row in batch]
                session.append(table, listed)
                session.check_time()
    if not columns:
        raise damaged(files[0], " holds no object that would name columns")


class _Explaining:
    """Says what DuckDB's error about a file of values means, without the line that it quotes."""

    def __init__(self, file: Path, setting: TableFiles, width: int) -> None:
        self._file = file
        self._setting = setting
        self._width = width

    def __call__(self, said: str) -> SourceFailureError | None:
        if "memory" in said.lower() or "interrupt" in said.lower():
            return None
        line = _CSV_LINE.search(said)
        where = f", line {line[1]}," if line else ""
        counts = _CSV_COUNTS.search(said)
        if counts is not None:
            fields = "1 field" if counts[2] == "1" else f"{counts[2]} fields"
            problem = damaged(self._file, f"{where} has {fields}; {self._width} are named")
            return _below_titles(problem, self._file, self._setting)
        if "not utf-8" in said:
            return damaged(self._file, f"{where} is not UTF-8{_NAME_IT}")
        if "unterminated quote" in said:
            return damaged(self._file, f"{where} has a quote that is not closed, or text behind it")
        return damaged(self._file, f"{where} cannot be read as separated values")


def header_of(file: Path, setting: TableFiles) -> list[str]:
    """Give the names in the first line of a file of separated values."""
    encoding = "utf-8-sig" if setting.encoding == UTF_8 else setting.encoding
    with file.open(encoding=encoding, newline="") as opened:
        try:
            for _ in range(setting.skip):
                opened.readline(_LONGEST_HEADER)
            line = opened.readline(_LONGEST_HEADER)
            names = next(csv.reader([line], delimiter=setting.delimiter, strict=True), [])
        except UnicodeError:
            other = setting.encoding != UTF_8
            name = setting.encoding if other else f"UTF-8{_NAME_IT}"
            raise damaged(file, f" is not {name}") from None
        except csv.Error:
            raise damaged(file, " has a first line that names no columns") from None
    try:
        known: dict[str, str] = {}
        for name in names:
            add_name(file, name, known)
        if not names:
            raise damaged(file, " has no first line that names its columns")
    except SourceFailureError as problem:
        raise _below_titles(problem, file, setting) from None
    return names


def add_name(file: Path, name: str, known: dict[str, str]) -> None:
    """Add a name; DuckDB does not tell names apart by their case."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise damaged(file, f" has no usable name for its column {len(known) + 1}")
    if name.lower() in known:
        raise damaged(file, f" names two columns `{name}`; the second is column {len(known) + 1}")
    if len(known) == _MOST_COLUMNS:
        raise damaged(file, f" has more than {_MOST_COLUMNS:,} columns")
    known[name.lower()] = name


def rows_of(file: Path, part: str = "") -> Iterator[dict[str, str | None]]:
    """Read the objects of a file of JSON, of either kind; `part` says where in it rows stand."""
    if part:
        return nested_rows(file, part)
    return listed_objects(file) if file.suffix.lower() == ".json" else objects_of(file)


def nested_rows(file: Path, part: str) -> Iterator[dict[str, str | None]]:
    """Read the rows at a path such as `orders[].lines[]`, each with what names those around it.

    A field of an object within a row is a column `customer.id`, one that names an entry around the
    row `orders.id`. A list within a row is left to a table of its own. A value is text as written.
    """
    names = _lists_of(part)
    try:
        shape = Shape(read_path(part), (FieldPath(()),))
        rows = [_nested_row(names, one) for one in shape.trails(_document(file))]
    except (PathError, ApiError) as problem:
        reason = problem.reason if isinstance(problem, ApiError) else str(problem)
        raise damaged(file, f": {reason}") from None
    within = {name[:place] for row in rows for name in row for place in _dots(name)}
    # An object that is missing has no value of its own, but none in each of its fields.
    return ({name: row[name] for name in row if name not in within or row[name]} for row in rows)


def _nested_row(names: Sequence[str], trail: Trail) -> dict[str, str | None]:
    """Give the values of a row, behind those that name the entries around it."""
    row: dict[str, str | None] = {}
    # A row that is an entry of a list is the last of these itself.
    for name, entry in zip(names, trail.around, strict=True):
        if entry is not trail.entry and (label := _naming_field(name, entry)):
            row[f"{name}.{label}"] = _written_cell(entry[label])
    return row | _leaves(trail.entry if isinstance(trail.entry, dict) else {"value": trail.entry})


def _dots(name: str) -> Iterator[int]:
    return (place for place, letter in enumerate(name) if letter == ".")


def nested_parts(file: Path) -> dict[str, str]:
    """Find where rows stand in a file of JSON whose objects hold others, by the names of lists.

    Nothing where the objects of a list are plain, or the file cannot be read. Raises `OSError`.
    """
    try:
        document = _document(file)
    except SourceFailureError:
        return {}
    lists = dict(_lists_in(document, "", 0))
    if isinstance(document, list) and not any(
        isinstance(cell, dict | list) for row in document[:_LOOKED_INTO] for cell in _cells_of(row)
    ):
        return {}
    return {_lists_of(path)[-1]: path for path in lists}


def _lists_in(value: Any, path: str, depth: int) -> Iterator[tuple[str, None]]:  # noqa: ANN401  JSON
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        entries = value[:_LOOKED_INTO]
        if entries and all(isinstance(one, dict) for one in entries):
            yield f"{path}[]", None
        elif not entries or any(isinstance(one, list | dict) for one in entries):
            return
        else:
            yield f"{path}[]", None
        for one in entries:
            yield from _inner_lists(one, f"{path}[]", depth)
    elif isinstance(value, dict):
        yield from _inner_lists(value, path, depth)


def _inner_lists(value: Any, path: str, depth: int) -> Iterator[tuple[str, None]]:  # noqa: ANN401  JSON
    for name, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, list | dict) and _PLAIN_FIELD.match(name):
            yield from _lists_in(one, f"{path}.{name}".removeprefix("."), depth + 1)


def _cells_of(row: Any) -> Iterator[Any]:  # noqa: ANN401  JSON
    yield from row.values() if isinstance(row, dict) else (row,)


def _lists_of(part: str) -> list[str]:
    """Name the lists of a path: `orders` and `lines` of `orders[].lines[]`."""
    names = [one.rpartition(".")[2] for one in part.split(ENTRIES)[:-1]]
    return [name or "rows" for name in names]


def _naming_field(name: str, entry: Any) -> str:  # noqa: ANN401  JSON
    """Give the field of an entry that names it: by its own name, else the first value."""
    cells = entry.items() if isinstance(entry, dict) else ()
    fields: list[str] = [one for one, cell in cells if not isinstance(cell, dict | list)]
    noun = name.casefold().removesuffix("s")
    keys = [one for one in fields if one.casefold() == noun or _KEY_FIELD.match(one)]
    return (keys or fields or [""])[0]


def _leaves(row: Mapping[str, Any], before: str = "") -> dict[str, str | None]:
    """Give the values of an object, and of those within it; a list is left out."""
    found: dict[str, str | None] = {}
    waiting = [(f"{before}{name}", cell) for name, cell in row.items()]
    for name, cell in waiting:
        if isinstance(cell, dict):
            waiting += [(f"{name}.{inner}", one) for inner, one in cell.items()]
        elif not isinstance(cell, list):
            found[name] = _written_cell(cell)
    return found


def _written_cell(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return {True: "true", False: "false"}[bool(cell)]


def _document(file: Path) -> Any:  # noqa: ANN401  JSON
    """Read a file of JSON whole, one of JSON lines as a list; numbers stay as they are written."""
    with file.open("rb") as opened:
        content = opened.read(_LARGEST_LIST + 1)
    if len(content) > _LARGEST_LIST:
        raise damaged(
            file, " is too large to be read whole; write JSON lines without lists in them"
        )
    try:
        text = content.decode("utf-8-sig")
        lines = [text] if file.suffix.lower() == ".json" else text.split("\n")
        read = [
            json.loads(
                one,
                parse_int=str,
                parse_float=str,
                parse_constant=_no_number,
                object_pairs_hook=members_once,
            )
            for one in lines
            if one.strip()
        ]
        json.dumps(read, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except UnicodeError:
        raise damaged(file, " is not UTF-8") from None
    except (ValueError, IndexError, RecursionError):
        raise damaged(file, " is no JSON") from None
    return read[0] if file.suffix.lower() == ".json" and read else read


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
        problem = damaged(file, f", object {number}, is no list of JSON objects")
        parts = nested_parts(file) if not number else {}
        if not parts:
            raise problem from None
        hint = (
            f"{problem.reason}; write `{file.name}#{next(iter(parts.values()))}` for the list in it"
        )
        raise SourceFailureError(hint, problem.code) from None


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


_MAGIC: Final = b"ARROW1"
_PADDED: Final = 8
_END_OF_STREAM: Final = b"\xff\xff\xff\xff\0\0\0\0"
_LARGEST: Final = 1 << 30


def load_arrow(session: DuckSession, table: str, files: Sequence[Path], seconds: float) -> None:
    """Load the files; a stop for time or memory says so, anything else is damage."""
    first: tuple[DuckColumn, ...] = ()
    for place, file in enumerate(files):
        # No table of a project has a blank in its name.
        part = f"{table} {place}" if place else table
        try:
            session.take(part, ArrowFile(file), seconds)
        except (SourceFailureError, QueryMistakeError) as problem:
            ours = problem.code == "C0521" or problem.reason == NEEDS_MEMORY
            if ours or isinstance(problem, _LargeError):
                raise
            raise damaged(file, " is no Arrow that can be read, or is damaged") from None
        columns = session.columns(f"SELECT * FROM {named(part)}")  # noqa: S608  a name of the project
        if not place:
            first = columns
            continue
        if columns != first:
            raise damaged(file, " has other columns or types than the first file of its table")
        session.own(f"INSERT INTO {named(table)} SELECT * FROM {named(part)}")  # noqa: S608  as above
        session.own(f"DROP TABLE {named(part)}")


class _LargeError(SourceFailureError):
    """A file that would take too much memory, or whose reader is not installed."""


class ArrowFile:
    """Gives the stream of a file anew each time it is asked for."""

    def __init__(self, file: Path) -> None:
        try:
            ipc = importlib.import_module("nanoarrow.ipc")
        except ImportError:
            reason = "Arrow files need the package nanoarrow: pip install 'constat[arrow]'"
            raise _LargeError(reason, "C0552") from None
        with file.open("rb") as opened:
            content = opened.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise _LargeError(f"{file.name} is larger than {_LARGEST >> 20} MiB; write Parquet")
        self._stream: Any = ipc.InputStream
        skipped = _PADDED if content.startswith(_MAGIC) else 0
        if not content.endswith(_MAGIC if skipped else _END_OF_STREAM):
            raise SourceFailureError("a file without its end")
        self._content = memoryview(content)[skipped:]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        stream: Any = self._stream.from_readable(self._content)
        return stream.__arrow_c_stream__(requested_schema)


_MOST_BYTES: Final = 1 << 29
_ROWS_AT_ONCE: Final = 2_000
_DIGITS: Final = ".15g"
_ERROR: Final = "e"
_FORMULA: Final = "f"
_FORMULA_TAG: Final = re.compile(rb"<(?:\w{1,20}:)?f[\s/>]|\st=[\"']e[\"']")
_LONGEST_TAG: Final = 30
_ROWS_LOOKED_AT: Final = 50
_SEVERAL: Final = 2

SheetRow = tuple[str | None, ...]


class _Unread(str):
    """The text of a formula whose value was never stored, or of an error: no value of a row."""

    __slots__ = ()

    @property
    def reason(self) -> str:
        """Say why it is none."""
        if self.startswith("="):
            return "holds a formula whose value was never stored; save it once in a spreadsheet"
        return f'holds the error of a formula; `null: ["{self}"]` beside `file` makes it no value'


class _SheetEnd:
    """Implements `Ending` for a sheet: its last rows, and a way to read all of them."""

    def __init__(self, held: Sequence[SheetRow], every: Callable[[], Sequence[SheetRow]]) -> None:
        self._held = held
        self.rows = every

    def last(self, most: int) -> Sequence[SheetRow]:
        """Give the cells of the last rows."""
        return self._held[-most:] if most else ()

    @staticmethod
    def is_cut() -> bool:
        """Say no: a workbook that is cut off is damaged as a whole."""
        return False


def load_sheets(
    session: DuckSession, table: str, files: Sequence[Path], setting: TableFiles, seconds: float
) -> None:
    """Load the sheet of each file, one after the other."""
    first: tuple[str, ...] = ()
    with session.bounded(seconds):
        for place, file in enumerate(files):
            rows = sheet_rows(file, setting)
            header = tuple(str(name) for name in next(rows))
            if not place:
                first = header
                listed = ", ".join(f"{named(name)} VARCHAR" for name in header)
                session.own(f"CREATE TABLE {named(table)} ({listed})")
            elif header != first:
                raise damaged(file, " has other columns than the first file of its table")
            before = _count(session, table)
            while batch := list(islice(rows, _ROWS_AT_ONCE)):
                session.append(table, batch)
                session.check_time()
            end = _SheetEnd((), partial(_every_row, file, setting))
            check_within((session, table, before, header), file, setting, end)


def sheet_rows(file: Path, setting: TableFiles) -> Generator[SheetRow]:
    """Yield the names of the columns, then the rows as texts; empty rows are left out.

    `skip` rows stand above the names, and `footer` says which below them are no rows.
    """
    most = setting.footer if isinstance(setting.footer, int) else 0
    held: deque[_BodyRow] = deque()
    with ExitStack() as books, _understood(file):
        body = _body(file, setting, books)
        header = next(body)[1]
        yield header
        for row in body:
            held.append(row)
            if len(held) > most + 2 * MOST_BELOW:
                yield _row(file, setting, header, held.popleft())
        end = _SheetEnd([cells for _, cells, _ in held], lambda: _every_row(file, setting))
        below = _below(file, end, setting)
        for row in list(held)[: len(held) - below]:
            yield _row(file, setting, header, row)


def guess_sheets(
    file: Path, pattern: str
) -> tuple[dict[str, tuple[TableFiles, tuple[str, ...]]], tuple[str, ...]]:
    """Find the sheets that are tables: rows with names of columns above them.

    Gives how each is read, with doubts, by its title, or by an empty one where it is the only
    one, and the titles of the others. Raises `SourceFailureError` and `OSError`.
    """
    found: dict[str, tuple[TableFiles, tuple[str, ...]]] = {}
    with ExitStack() as books, _understood(file):
        sheets = _sheets(file, books)
        tables = {}
        for title in sheets:
            beginning = list(islice(_cells(sheets[title]), _ROWS_LOOKED_AT))
            rows = [cells for cells in beginning if any(cells)]
            wide = max((sum(map(bool, cells)) for cells in rows), default=0)
            if len(rows) > 1 and (wide > 1 or len(sheets) == 1):
                tables[title] = header_place(beginning)
        alone = len(tables) < _SEVERAL and [*tables][:1] == [*sheets][:1]
        for title, skip in tables.items():
            setting = TableFiles(pattern if alone else f"{pattern}#{title}", skip=skip)
            try:
                every = _every_row(file, setting)
                end = _SheetEnd(every, partial(tuple, every))
                found["" if alone else title] = with_footer(setting, end)
            except SourceFailureError:
                # Who reads it is told why it cannot be read.
                found["" if alone else title] = setting, ()
    return found, tuple(title for title in sheets if title not in tables)


_BodyRow = tuple[int, SheetRow, str]
"""The number of a row, its cells from the first name on, and why it cannot be one."""
_ASTRAY: Final = "has a cell left of the names"
_MERGED: Final = (
    "lies in the merged cells {}, which hold one value for several; unmerge them, or leave them out"
    " by `range: B3:E20` beside `file`"
)


def _every_row(file: Path, setting: TableFiles) -> Sequence[SheetRow]:
    with ExitStack() as books:
        return [cells for _, cells, _ in islice(_body(file, setting, books), 1, None)]


def _chosen(
    file: Path, setting: TableFiles, books: ExitStack
) -> tuple[Iterator[SheetRow], Sequence[_Merged]]:
    """Give the rows of the sheet that the setting names, as texts, and its merged cells.

    Cells outside of its range are empty.
    """
    _, title = split_part(setting.pattern)
    sheets = _sheets(file, books)
    if not sheets or (title and title not in sheets):
        raise damaged(file, " has no sheet of that name")
    sheet = sheets[title or next(iter(sheets))]
    rows = _cells(sheet)
    return _within(rows, setting) if setting.range else rows, _merged_cells(file, sheet[0])


def _within(rows: Iterator[SheetRow], setting: TableFiles) -> Iterator[SheetRow]:
    first, last, left, right = setting.cells
    for place, cells in enumerate(rows):
        if place > last:
            return
        yield (*[None] * left, *cells[left : right + 1]) if place >= first else ()


_Merged = tuple[int, int, int, int]
"""First and last row and column of cells that are merged, counted from zero."""
_MERGE_TAG: Final = re.compile(
    rb"<(?:\w{1,20}:)?mergeCell\s[^>]{0,100}?ref=[\"']"
    rb"([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})[\"']"
)
_LONGEST_MERGE: Final = 200
_MOST_MERGED: Final = 10_000


def _merged_cells(file: Path, sheet: Any) -> Sequence[_Merged]:  # noqa: ANN401  openpyxl has no types
    """Find the merged cells of a sheet, which openpyxl does not tell of what it only reads."""
    found: dict[_Merged, None] = {}
    with zipfile.ZipFile(file) as archive, archive.open(_part_of(archive, sheet)) as part:
        before = b""
        while content := part.read(_BYTES_AT_ONCE):
            for one in _MERGE_TAG.findall(before + content):
                found[TableFiles("", range=one.decode()).cells] = None
            if len(found) > _MOST_MERGED:
                raise damaged(file, f" has more than {_MOST_MERGED:,} merged cells in a sheet")
            before = content[-_LONGEST_MERGE:]
    return tuple(found)


def _part_of(archive: zipfile.ZipFile, sheet: Any) -> str:  # noqa: ANN401  as above
    path = str(sheet._worksheet_path)  # noqa: SLF001  the only place that tells
    return path if path in archive.namelist() else path.lstrip("/")


def _merge_of(merged: Sequence[_Merged], row: int, left: int, right: int) -> str:
    """Name the merged cells that a row of a table lies in; empty where it lies in none."""
    for first, last, start, end in merged:
        if first <= row <= last and start <= right and end >= left:
            return f"{letters_of(start)}{first + 1}:{letters_of(end)}{last + 1}"
    return ""


def _body(file: Path, setting: TableFiles, books: ExitStack) -> Iterator[_BodyRow]:
    """Yield the names of the columns, then each row below them that holds something."""
    chosen, merged = _chosen(file, setting, books)
    start, _, first, last = setting.cells
    rows = islice(enumerate(chosen, 1), start + setting.skip, None)
    if setting.header:
        number, names = next(rows, (0, ()))
        if not number:
            raise damaged(file, " has no first row that names its columns")
        left = next((place for place, cell in enumerate(names) if cell), 0)
        try:
            header = _header(file, names[left:])
        except SourceFailureError as problem:
            raise _below_titles(problem, file, setting) from None
    else:
        number, left, header = 0, first, tuple(map(letters_of, range(first, last + 1)))
    yield number, header, ""
    for number, cells in rows:
        if any(cells[:left]):
            yield number, cells, _ASTRAY
        elif any(cells):
            place = _merge_of(merged, number - 1, left, left + len(header) - 1)
            yield number, cells[left:], _MERGED.format(place) if place else ""


def _row(file: Path, setting: TableFiles, header: Sequence[str | None], row: _BodyRow) -> SheetRow:
    """Give a row as wide as the header; an error may be one of the texts for no value."""
    number, cells, problem = row
    if problem:
        raise damaged(file, f", row {number}, {problem}")
    if any(cells[len(header) :]):
        more = damaged(file, f", row {number}, has more cells than there are names")
        raise _below_titles(more, file, setting)
    for name, cell in zip(header, cells, strict=False):
        if isinstance(cell, _Unread):
            texts = {*setting.null.get(EVERY, ()), *setting.null.get(str(name).lower(), ())}
            if cell not in texts:
                raise damaged(file, f", row {number}, {cell.reason}")
    return (*cells[: len(header)], *[None] * (len(header) - len(cells)))


def _below_titles(
    problem: SourceFailureError, file: Path, setting: TableFiles
) -> SourceFailureError:
    """Add the edit where the names of columns seem to stand further down."""
    if setting.ending == WORKBOOK:
        with ExitStack() as books:
            first = list(islice(_chosen(file, setting, books)[0], _ROWS_LOOKED_AT))
        hint = further_down(header_place(first), setting)
    else:
        encoding = "utf-8-sig" if setting.encoding == UTF_8 else setting.encoding
        with file.open(encoding=encoding, errors="replace", newline="") as opened:
            hint = misread(opened.read(_LONGEST_HEADER), setting)
    if not hint:
        return problem
    return SourceFailureError(f"{problem.reason}{hint}", problem.code)


def _cells(sheet: tuple[Any, Any]) -> Iterator[SheetRow]:
    """Yield the rows of a sheet as texts; `None` where a cell is empty."""
    values, formulas = sheet
    if formulas is None:
        for row in _bounded(values.iter_rows(values_only=True)):
            yield tuple(None if value is None else spelled(value) for value in row)
        return
    for row, written in zip(_bounded(values.iter_rows()), formulas.iter_rows(), strict=True):
        yield tuple(_text(one, other) for one, other in zip(row, written, strict=True))


def _bounded(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield rows, empty ones too: a row may say that it is any number."""
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            raise ValueError("more rows than a sheet can have")
        yield row


@contextmanager
def _understood(file: Path) -> Iterator[None]:
    """Take whatever openpyxl raises for a damaged workbook.

    It checks little of what it reads: a wrong part of the archive ends in whatever the module that
    stumbles over it raises, now or when a row is read (KeyError, zlib.error, ParseError,
    OverflowError, InvalidFileException, ...). There is no list of them, and no common base.
    """
    try:
        yield
    except SourceFailureError:
        raise
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno is not None:
            # The machine's own: the file is gone, or may not be read.
            raise
        kind = type(problem).__name__
        raise damaged(file, f" is no workbook, or a damaged one ({kind})") from None


def _sheets(file: Path, books: ExitStack) -> dict[str, tuple[Any, Any]]:
    """Give each sheet as it shows values, and as it holds formulas where there are any."""
    values = _workbook(file, books, values=True)
    formulas = _workbook(file, books, values=False) if _has_formulas(file) else None
    return {
        one.title: (one, None if formulas is None else formulas[one.title])
        for one in values.worksheets
    }


def _has_formulas(file: Path) -> bool:
    """Tell whether a sheet may hold a formula or an error: the same rows are then read twice."""
    with zipfile.ZipFile(file) as archive:
        return any(
            _holds_formula(archive, one) for one in archive.namelist() if one.endswith(".xml")
        )


def _holds_formula(archive: zipfile.ZipFile, name: str) -> bool:
    with archive.open(name) as part:
        before = b""
        while content := part.read(_BYTES_AT_ONCE):
            if _FORMULA_TAG.search(before + content):
                return True
            before = content[-_LONGEST_TAG:]
    return False


def _workbook(file: Path, books: ExitStack, *, values: bool) -> Any:  # noqa: ANN401  openpyxl has no types
    """Open a workbook until `books` is left; openpyxl itself leaves open what it cannot read."""
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError:
        reason = "workbooks need the package openpyxl: pip install 'constat[xlsx]'"
        raise SourceFailureError(reason, "C0552") from None
    content = books.enter_context(file.open("rb"))
    with zipfile.ZipFile(content) as archive:
        size = sum(one.file_size for one in archive.infolist())
    if size > _MOST_BYTES:
        raise damaged(file, f" unpacks to more than {_MOST_BYTES >> 20} MiB")
    book = openpyxl.load_workbook(content, read_only=True, data_only=values, keep_links=False)
    for sheet in book.worksheets:
        # What a sheet says of its size is often wrong, and rows outside it would not be read.
        sheet.reset_dimensions()
    return books.enter_context(closing(book))


def _header(file: Path, cells: Sequence[str | None]) -> tuple[str, ...]:
    """Take the names up to the first empty cell."""
    known: dict[str, str] = {}
    for cell in cells:
        if cell is None:
            break
        add_name(file, cell, known)
    if any(cells[len(known) :]) or not known:
        raise damaged(file, " has a first row with a gap between names, or without names")
    return tuple(known.values())


def _text(cell: Any, written: Any) -> str | None:  # noqa: ANN401  cells of openpyxl
    value = cell.value
    if cell.data_type == _ERROR:
        return _Unread(value)
    if value is None and written.data_type == _FORMULA:
        return _Unread(written.value if isinstance(written.value, str) else "=")
    return None if value is None else spelled(value)


def spelled(value: object) -> str:
    """Spell a value of a cell as text."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            plain = format(value, _DIGITS)
            return format(Decimal(plain), "f") if "e" in plain else plain
        case dt.datetime():
            midnight = value.time() == dt.time()
            return value.date().isoformat() if midnight else value.isoformat()
        case dt.date() | dt.time():
            return value.isoformat()
        case _:
            text = str(value)
            text.encode()  # half a surrogate pair is no text
            return text


# What stays as it is until a file changes; what took too long may be tried again.
_LASTING: Final = frozenset({"C0541", "C0543"})


def connect(database: Database, folder: Path, seconds: float) -> FilesConnection:
    """Give a connection; files are looked for when reading begins."""
    return FilesConnection(database.files, folder, seconds, fetching(database, seconds))


def first_rows(database: Database, folder: Path, seconds: float, most: int) -> FilesConnection:
    """Give a connection to the first rows of files of separated values, to see how they are."""
    return FilesConnection(database.files, folder, seconds, fetching(database, seconds), most)


def fetching(database: Database, seconds: float) -> Objects | None:
    """Give what fetches objects; `None` where all files lie in the project."""
    if database.remote is None:
        return None
    from constat.catalog.remote import Objects  # noqa: PLC0415  loaded when it is used

    return Objects(database, seconds)


class FilesConnection(CopiedReading):
    """Tables in files; implements `Connection`. Loading a table takes `seconds` at most.

    Objects behind an address are fetched when the first query needs them.
    """

    def __init__(
        self,
        settings: Mapping[str, TableFiles],
        folder: Path,
        seconds: float,
        objects: Objects | None = None,
        most: int = 0,
    ) -> None:
        super().__init__()
        self._most = most
        self._settings = settings
        self._local = {name: one for name, one in settings.items() if not one.scheme}
        self._objects = objects
        self._folder = folder
        self._seconds = seconds
        self._found: dict[str, FileTable] = {}
        self._loaded: dict[str, SourceTable] = {}
        self._failed: dict[str, SourceFailureError] = {}
        self._copy: DecodedCopy | None = None

    def _same(self) -> bool:
        here = {name: self._found.get(name) for name in self._local}
        if find_tables(self._local, self._folder) != here:
            return False
        if self._objects is None:
            return True
        self._objects.begin()
        try:
            return all(
                self._objects.table(self._settings[name]) == self._found[name]
                for name in self._loaded
                if name not in self._local
            ) and not (self._failed.keys() - self._local.keys())
        except SourceFailureError:
            return False

    def _start(self) -> None:
        found = find_tables(self._local, self._folder)
        readable = [file for table in found.values() for file in table.files]
        if any(map(needs_copy, self._settings.values())):
            self._copy = DecodedCopy()
            readable.append(self._copy.path)
        folder = None
        if self._objects is not None:
            folder = self._objects.folder
            if len(self._settings) == 1:
                (name,) = self._settings
                found[name] = self._objects.table(self._settings[name])
        self._found = found
        # Objects that are fetched one after the other are of no one state.
        whole = found.keys() == self._settings.keys()
        self.snapshot = state_name(found) if whole else None
        self._session = DuckSession(None, readable, folder)

    def cancel(self) -> None:
        """Interrupt the running query, and what is being fetched."""
        if self._objects is not None:
            self._objects.cancel()
        super().cancel()

    def close(self) -> None:
        """Close the session, and forget what it held and fetched."""
        self._emptied()
        if self._objects is not None:
            self._objects.close()

    def _emptied(self) -> None:
        super().close()
        if self._copy is not None:
            self._copy.close()
            self._copy = None
        self._loaded.clear()
        self._failed.clear()

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the tables; the columns are known of those that a query has needed."""
        return {
            name: self._loaded.get(name, SourceTable(name, (), plain=False))
            for name in self._settings
        }

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; a file that has changed meanwhile is a failure."""
        with self._held_against_beginning():
            yield from super().read(question, bounds)

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; a file that has changed meanwhile is a failure."""
        with self._held_against_beginning():
            found = super().stream(whole, bounds)
        if found is None:
            return None
        query = "\n".join([found.query, *self._told(whole.guarded.tables)])
        return replace(found, query=query, changed=self._changed)

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for some keys; the question says which objects it is of."""
        return self._saying(super().keyed(guarded, arity, pushes, keys), guarded)

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows; the question says which objects it is of."""
        return self._saying(super().whole(guarded, arity), guarded)

    def _saying(self, question: Question, guarded: Guarded) -> Question:
        told = self._told(guarded.tables)
        return replace(question, text="\n".join([question.text, *told])) if told else question

    def _told(self, tables: Iterable[str]) -> list[str]:
        """Say which states of objects behind an address the tables of a query are of."""
        asked = sorted(self._loaded.keys() & set(tables))
        return [f"{READ}{line}" for name in asked for line in self._found[name].told]

    def _columns(self, query: str) -> tuple[DuckColumn, ...]:
        if query not in self._described:
            for name in sorted(guard(query, self.dialect).tables & self._settings.keys()):
                self._load(name)
        with self._held_against_beginning():
            return super()._columns(query)

    def _load(self, name: str) -> None:
        """Make a table of its files, once for each state of them."""
        if name in self._loaded:
            return
        if name in self._failed:
            raise self._failed[name]
        try:
            if name not in self._found and self._objects is not None:
                self._found[name] = self._objects.table(self._settings[name])
            self._make(name, self._found[name])
        except SourceFailureError as problem:
            if problem.code in _LASTING or name not in self._local:
                self._failed[name] = problem
            raise
        except OSError as problem:
            reason = f"its files cannot be read ({type(problem).__name__})"
            raise SourceFailureError(reason) from None
        finally:
            if name not in self._loaded:
                drop(self._reading(), name)

    def _make(self, name: str, table: FileTable) -> None:
        if table.failure:
            raise SourceFailureError(table.failure, "C0541")
        session = self._reading()
        match table.setting.ending:
            case ".parquet":
                _view_parquet(session, name, table.files, self._seconds)
            case ending if ending in SEPARATED:
                load_csv(session, name, table, self._seconds, self._copy, most=self._most)
            case ".xlsx":
                load_sheets(session, name, table.files, table.setting, self._seconds)
            case ".arrow" | ".arrows" | ".feather":
                load_arrow(session, name, table.files, self._seconds)
            case _ if table.setting.lake:
                from constat.catalog.lakes import load_lake  # noqa: PLC0415  loaded when it is used

                load_lake(session, name, table, self._folder, self._seconds)
            case _:
                _, part = split_part(table.setting.pattern)
                load_lines(session, name, table.files, part, self._seconds)
        if table.setting.null or table.setting.locale or table.setting.unit:
            spell(session, name, table, self._seconds)
        self._check_same(name)
        columns = tuple(
            SourceColumn(column.name.lower(), column.written, never_null=False)
            for column in session.columns(f"SELECT * FROM {named(name)}")  # noqa: S608  a name of the project
        )
        self._loaded[name] = SourceTable(name, columns, plain=False)

    def place(self, table: str, column: str, text: str) -> str:
        """Say in which file, and in which line, a column first holds a text; else nothing."""
        setting, until = self._settings.get(table), time.monotonic() + _SECONDS_TO_FIND
        if setting is None or setting.ending not in SEPARATED:
            return ""
        for file in self._found[table].files:
            with suppress(OSError, UnicodeError, csv.Error, ValueError, SourceFailureError):
                if line := _line_of(file, setting, column, text, until):
                    return f"line {line:,} of {file.name}"
        return ""

    @contextmanager
    def _held_against_beginning(self) -> Iterator[None]:
        """Tell of files that have changed or gone, whatever else went wrong because of that."""
        try:
            yield
        except (SourceFailureError, QueryMistakeError):
            self._check_unchanged()
            raise
        self._check_unchanged()

    def _changed(self) -> bool:
        try:
            self._check_unchanged()
        except SourceFailureError:
            return True
        return False

    def _check_unchanged(self) -> None:
        """Compare what is read where it lies; what was loaded cannot change any more."""
        for name in self._loaded:
            if self._settings[name].ending == ".parquet":
                self._check_same(name)

    def _check_same(self, name: str) -> None:
        if name not in self._local:
            return  # it is a copy of ours
        if find_table(self._settings[name], self._folder) != self._found[name]:
            reason = f"a file of the table {name} changed while it was read"
            raise SourceFailureError(reason, "C0542")


_SECONDS_TO_FIND: Final = 2.0


def _line_of(file: Path, setting: TableFiles, column: str, text: str, until: float) -> int:
    """Give the line, from 1, where a column of a file first holds a text; 0 where it does not.

    A file is looked through until the time is over, and then it is not known either.
    """
    place = [name.lower() for name in header_of(file, setting)].index(column.lower())
    encoding = "utf-8-sig" if setting.encoding == UTF_8 else setting.encoding
    with file.open(encoding=encoding, newline="") as opened:
        rows = csv.reader(islice(opened, setting.skip, None), delimiter=setting.delimiter)
        before = 0
        for number, row in enumerate(rows):
            if number and len(row) > place and row[place] == text:
                return setting.skip + before + 1
            before = rows.line_num
            if number % _LINES_AT_ONCE == 0 and time.monotonic() > until:
                break
    return 0


def _view_parquet(session: DuckSession, name: str, files: Sequence[Path], seconds: float) -> None:
    first: list[tuple[object, ...]] = []
    for place, file in enumerate(files):
        columns = session.rows(f"DESCRIBE {_parquet([file])}", seconds, partial(_no_parquet, file))
        shape = [column[:2] for column in columns]
        if place and shape != first:
            raise damaged(file, " has other columns or types than the first file of its table")
        first = shape
        asked = partial(session.rows, seconds=seconds, explain=partial(_no_parquet, file))
        found = long_repeats(asked, file, columns)
        if found is not None:
            said = f" says {found[0] >> 20:,} MiB of text, and its footer {found[1] >> 20:,} MiB"
            raise damaged(file, f"{said}: it repeats long texts in very many rows")
    session.own(f"CREATE VIEW {named(name)} AS {_parquet(files)}")


def _parquet(files: Sequence[Path]) -> str:
    listed = ", ".join(quoted(str(file)) for file in files)
    return f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)"  # noqa: S608  quoted


def _no_parquet(file: Path, _: str) -> SourceFailureError:
    return damaged(file, " is no Parquet file, or is damaged")
