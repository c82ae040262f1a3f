"""Fact files: rows of a predicate as separated texts, one row on each line.

In: a `FactFile`, which says where the rows are and how they are written. Out: its rows, or one
`ConstatError` that names file, line, column and type. Invariant: nothing is guessed: a cell is a
value of its column's type or an error, and a row has a cell for every column. Example: the line
`C001<TAB>12` is a row of `.decl spent(customer: symbol, amount: number)`.

Without `quoted` a line is split at the delimiter and nothing has a special meaning. With it the
file is CSV: a field may stand in double quotes, inside which `""` is a quote and a line may end.
As Souffle does, a carriage return before the end of a line is dropped, cells behind the last
column that is read are ignored, and a line `()` is the row of a predicate without columns;
and where the delimiter has a comma, one between brackets is no end of its cell: `f[1,2],3` is two.
Reference: RFC 4180; https://souffle-lang.github.io/directives
"""

from __future__ import annotations

import gzip
import stat
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from constat.catalog.fact_cells import Cell, cell_reader
from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.logic import Predicate, Row

STDIN: Final = Path("-")
_SAMPLE: Final = 1 << 16
LONGEST_LINE: Final = 1 << 24
"""How many bytes a line has at most, and a row that goes over several lines."""
_QUOTE: Final = '"'
_GZIP: Final = b"\x1f\x8b"
_BRACKETS: Final = frozenset("[]$")


@dataclass(frozen=True, slots=True)
class FactFile:
    """A file of rows.

    `path` is `STDIN` for the standard input; `shown` is how errors name the file. `delimiter` is
    one character or more. `header` says that the first line names columns. `quoted` says that it
    is CSV. `places[i]` is the place in a line, from 0, of the value of column i. `word_size` is 32
    where integers must fit in 32 bits and floats are rounded to single precision, else 64.
    `skip_empty` names the columns whose empty cells leave the row out; elsewhere an empty cell is
    the empty text in a column of texts and an error in all others. A file that begins as gzip
    does is unpacked.
    """

    path: Path
    shown: str
    predicate: Predicate
    places: tuple[int, ...]
    delimiter: str = "\t"
    header: bool = False
    quoted: bool = False
    word_size: int = 64
    skip_empty: frozenset[int] = frozenset()

    @property
    def plain(self) -> bool:
        """Whether the columns are the first of each line, in their order."""
        return self.places == tuple(range(len(self.places)))

    @property
    def bracketed(self) -> bool:
        """Whether brackets hold a cell together, as the ones of records do for Souffle."""
        return not self.quoted and "," in self.delimiter


def read_rows(fact_file: FactFile) -> Iterator[Row]:
    """Yield the rows in the order of the file, with repetitions.

    Raises `ConstatError` at the first line that is damaged, with its place.
    """
    with _opened(fact_file) as stream:
        split = _quoted_records if fact_file.quoted else _plain_records
        records = split(fact_file, stream)
        if fact_file.header:
            next(records, None)
        if fact_file.predicate.arity:
            yield from _rows(fact_file, records)
        else:
            yield from _empty_rows(fact_file, records)


def require_file(fact_file: FactFile) -> None:
    """Raise `ConstatError` unless the path is an ordinary file: a pipe would block for ever."""
    try:
        found = fact_file.path.stat()
    except OSError as problem:
        raise _unreadable(fact_file, problem) from problem
    if not stat.S_ISREG(found.st_mode):
        raise _unreadable(fact_file, OSError(0, "it is not a file"))


def is_packed(fact_file: FactFile) -> bool:
    """Tell whether a file is gzip. Raises `ConstatError` where it cannot be read."""
    try:
        with fact_file.path.open("rb") as stream:
            return stream.read(2) == _GZIP
    except OSError as problem:
        raise _unreadable(fact_file, problem) from problem


def estimated_rows(fact_file: FactFile) -> float | None:
    """Divide the size of a file by the length of its first lines; `None` where that says nothing.

    What is wrong with the file is said by whoever reads it.
    """
    try:
        found = fact_file.path.stat()
        # A pipe would block for ever.
        if fact_file.path == STDIN or not stat.S_ISREG(found.st_mode):
            return None
        with fact_file.path.open("rb") as stream:
            sample = stream.read(_SAMPLE)
    except OSError:
        return None
    if sample.startswith(_GZIP):
        return None
    lines = sample.count(b"\n") or 1
    return float(lines if found.st_size <= len(sample) else found.st_size * lines / len(sample))


@contextmanager
def _opened(fact_file: FactFile) -> Iterator[BinaryIO]:
    try:
        if fact_file.path == STDIN:
            yield sys.stdin.buffer
            return
        require_file(fact_file)
        if is_packed(fact_file):
            with gzip.open(fact_file.path, "rb") as unpacked:
                # `GzipFile` reads as a binary stream does, though its type does not say so.
                yield unpacked  # type: ignore[misc]
        else:
            with fact_file.path.open("rb") as stream:
                yield stream
    except (OSError, EOFError, zlib.error) as problem:
        raise _unreadable(fact_file, problem) from problem


def _lines(fact_file: FactFile, stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without their ends."""
    number = 0
    while content := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(content) > LONGEST_LINE:
            raise _damaged(fact_file, number, f"is longer than {LONGEST_LINE} bytes")
        try:
            line = content.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise _damaged(fact_file, number, "is not UTF-8") from None
        yield number, line


def _plain_records(fact_file: FactFile, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    delimiter = fact_file.delimiter
    for number, line in _lines(fact_file, stream):
        cells = line.removesuffix("\n").removesuffix("\r").split(delimiter)
        named = fact_file.header and number == 1
        if fact_file.bracketed and not named and _BRACKETS.intersection(line):
            cells = _joined(fact_file, number, cells)
        yield number, cells


def _joined(fact_file: FactFile, number: int, parts: list[str]) -> list[str]:
    """Join what was split between brackets; cells that nobody reads may hold any."""
    needed = max(fact_file.places, default=-1) + 1
    branched = _branched(fact_file)
    cells: list[str] = []
    start = depth = 0
    for end, part in enumerate(parts, 1):
        if len(cells) == needed:
            return [*cells, *parts[start:]]
        # Souffle cuts a branch at its commas; one in a column that is declared so is held together.
        round_ = len(cells) in branched and parts[start].lstrip().startswith("$")
        opening, closing = ("[(", "])") if round_ else ("[", "]")
        for place, sign in enumerate(part, 1):
            depth += (sign in opening) - (sign in closing)
            if depth < 0:
                raise _damaged(fact_file, number, "has a bracket that is not opened")
            if sign in closing and not depth and start < end - 1 and place < len(part):
                raise _damaged(fact_file, number, "has text behind a closing bracket")
        if not depth:
            cells.append(fact_file.delimiter.join(parts[start:end]))
            start = end
    if depth:
        raise _damaged(fact_file, number, "has a bracket that is not closed")
    return cells


def _branched(fact_file: FactFile) -> frozenset[int]:
    """Give the places in a line that hold structures, whose branches have round brackets."""
    kinds = fact_file.predicate.kinds
    pairs = zip(fact_file.places, kinds, strict=True)
    return frozenset(place for place, kind in pairs if kind is Kind.STRUCTURE)


def _quoted_records(fact_file: FactFile, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    lines = _lines(fact_file, stream)
    for number, line in lines:
        parts, size = [line], len(line)
        # Inside quotes a line may end; each quote that is meant stands there twice.
        odd = line.count(_QUOTE) % 2
        while odd:
            _, following = next(lines, (0, ""))
            if not following:
                raise _damaged(fact_file, number, "has a quote that is not closed")
            parts.append(following)
            size += len(following)
            if size > LONGEST_LINE:
                raise _damaged(fact_file, number, f"is longer than {LONGEST_LINE} bytes")
            odd ^= following.count(_QUOTE) % 2
        record = "".join(parts).removesuffix("\n").removesuffix("\r")
        yield number, _fields(fact_file, number, record)


def _fields(fact_file: FactFile, number: int, record: str) -> list[str]:
    """Split one record of CSV."""
    fields: list[str] = []
    delimiter, start = fact_file.delimiter, 0
    while True:
        if record.startswith(_QUOTE, start):
            field, start = _quoted_field(fact_file, number, record, start + 1)
            fields.append(field)
            if start == len(record):
                return fields
            if not record.startswith(delimiter, start):
                raise _damaged(fact_file, number, "has text behind a closing quote")
        else:
            end = record.find(delimiter, start)
            field = record[start:] if end < 0 else record[start:end]
            if _QUOTE in field:
                raise _damaged(fact_file, number, "has a quote inside a field without quotes")
            fields.append(field)
            if end < 0:
                return fields
            start = end
        start += len(delimiter)


def _quoted_field(fact_file: FactFile, number: int, record: str, start: int) -> tuple[str, int]:
    parts: list[str] = []
    while True:
        end = record.find(_QUOTE, start)
        if end < 0:
            raise _damaged(fact_file, number, "has a quote that is not closed")
        parts.append(record[start:end])
        if not record.startswith(_QUOTE, end + 1):
            return "".join(parts), end + 1
        parts.append(_QUOTE)
        start = end + 2


def _rows(fact_file: FactFile, records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    columns = _columns(fact_file)
    needed = max(fact_file.places) + 1
    for number, cells in records:
        if len(cells) < needed:
            raise _too_few(fact_file, number, len(cells), needed)
        try:
            yield tuple([read(cells[place]) for place, read in columns])
        except ValueError as problem:
            if any(not cells[fact_file.places[one]] for one in fact_file.skip_empty):
                continue
            raise _wrong_cell(fact_file, number, cells, columns) from problem


def _columns(fact_file: FactFile) -> list[tuple[int, Callable[[str], Cell]]]:
    columns = fact_file.predicate.columns
    return [
        (place, cell_reader(column, fact_file.word_size))
        for place, column in zip(fact_file.places, columns, strict=True)
    ]


def _empty_rows(fact_file: FactFile, records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for number, cells in records:
        if cells != ["()"]:
            raise _damaged(fact_file, number, "is not `()`, the row of no columns")
        yield ()


def _wrong_cell(
    fact_file: FactFile,
    number: int,
    cells: list[str],
    columns: list[tuple[int, Callable[[str], Cell]]],
) -> ConstatError:
    """Say which cell of a row is no value of its column."""
    for column, (place, read) in zip(fact_file.predicate.columns, columns, strict=True):
        cell = cells[place]
        try:
            read(cell)
        except ValueError as problem:
            reason = f"{problem}" if cell else "is empty"
            start = _start(fact_file, cells, place)
            span = Span(fact_file.shown, number, start, number, start + len(cell))
            return _failure(
                "C0600",
                f"line {number} of `{fact_file.shown}`: column `{column.name}` "
                f"is a {column.type_name}, and its cell {reason}",
                span,
                "correct the cell, or leave rows with empty cells out by "
                f"`@[null = skip] {column.name}: {column.type_name}` in the declaration",
            )
    raise AssertionError("one of the cells has just failed")


def _start(fact_file: FactFile, cells: list[str], place: int) -> int:
    if fact_file.quoted:
        return 1
    return 1 + sum(len(cell) + len(fact_file.delimiter) for cell in cells[:place])


def _too_few(fact_file: FactFile, number: int, found: int, needed: int) -> ConstatError:
    have = "1 cell" if found == 1 else f"{found} cells"
    name = fact_file.predicate.name
    return _failure(
        "C0601",
        f"line {number} of `{fact_file.shown}` has {have}; `{name}` needs {needed}",
        Span(fact_file.shown, number, 1, number, 1),
        f'write the missing cells, or correct the delimiter: `.input {name}(delimiter = ",")`',
    )


def _damaged(fact_file: FactFile, number: int, what: str) -> ConstatError:
    return _failure(
        "C0602",
        f"line {number} of `{fact_file.shown}` {what}",
        Span(fact_file.shown, number, 1, number, 1),
        "correct the file; a fact file is UTF-8 text with one row on each line",
    )


def _unreadable(fact_file: FactFile, problem: Exception) -> ConstatError:
    reason = problem.strerror if isinstance(problem, OSError) else None
    missing = isinstance(problem, FileNotFoundError)
    why = "there is no such file" if missing else (reason or "it is damaged").lower()
    name = fact_file.predicate.name
    found = Diagnostic(
        "C0603",
        f"`{fact_file.shown}` with the rows of `{name}` cannot be read: {why}",
        note=f"`{name}` has an `.input`, and the results need it; an empty file is no rows",
        help="name the folder of the file: `--facts DIR`",
    )
    return ConstatError([found])


def _failure(code: str, message: str, span: Span, edit: str) -> ConstatError:
    note = "a fact file has a cell for each column, between them the delimiter"
    return ConstatError([Diagnostic(code, message, span, note=note, help=edit)])
