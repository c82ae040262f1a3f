"""Fact files: rows of a predicate as separated texts, read and written."""

from __future__ import annotations

import gzip
import re
import stat
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Final

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.frozen import frozen
from constat.logic import RECORD, Kind, Value, format_value, parse_value, read_as
from constat.logic.arithmetic import bounds, single
from constat.logic.values import STRING, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from constat.catalog.fact_ports import OutputFile
    from constat.logic import Column, Predicate, Row, Structures

# What was written with quotes reads back as it was; without them (as Souffle writes texts) it does
# unless a text holds a comma or a closing bracket, or begins or ends with what a reader passes
# over: a blank, a quote.

_NARROW: Final = 32
_PIECE: Final = re.compile(rf'{STRING}|\$[A-Za-z0-9_]+|[\[\]()]|, |[^"\[\]()$, ]+')
_WRITTEN: Final = re.compile(rf"{STRING}|-?0x[0-9a-f.]+p[+-][0-9]+")
_CLOSERS: Final = frozenset("])")


def structure_reader(column: Column, word_size: int) -> Callable[[str], Value]:
    """Give the reader of cells of a column of structures."""
    structures = column.structures
    if word_size != _NARROW or structures is None:
        return lambda cell: read_as(cell, column)
    return lambda cell: "".join(_narrowed(str(read_as(cell, column)), column, structures))


def structure_writer(digits: int, *, quoted: bool) -> Callable[[Value], str]:
    """Give the writer of such cells; floats have so many digits."""

    def write(value: Value) -> str:
        return _WRITTEN.sub(lambda found: _shown(found[0], digits, quoted=quoted), str(value))

    return write


def _shown(piece: str, digits: int, *, quoted: bool) -> str:
    if piece[0] != '"':
        return f"{float.fromhex(piece):.{digits}g}"
    return piece if quoted else unquoted(piece)


def _narrowed(text: str, column: Column, structures: Structures) -> Iterator[str]:
    """Yield the pieces of a structure, its numbers in 32 bits; raises `ValueError` beyond them."""
    waiting: list[Iterator[Column]] = []
    expected, constructor = column, ""
    for piece in _PIECE.findall(text):
        if piece == ", ":
            expected = next(waiting[-1])
        elif piece in _CLOSERS:
            waiting.pop()
        elif piece in {"[", "("}:
            fields = _fields(expected, RECORD if piece == "[" else constructor, structures)
            waiting.append(fields)
            # Where there are no fields nothing is expected, and the closing bracket comes next.
            expected = next(fields, expected)
        elif piece[0] == "$":
            constructor = piece
        yield _leaf(piece, expected) if expected.kind.numeric else piece


def _fields(column: Column, constructor: str, structures: Structures) -> Iterator[Column]:
    branch = structures.branch(column.type_name, constructor)
    return iter(branch.fields if branch is not None else ())


def _leaf(piece: str, column: Column) -> str:
    """Give a number in 32 bits; brackets and commas beside it are no numbers."""
    if piece[0] not in "-0123456789":
        return piece
    if column.kind is Kind.FLOAT:
        return format_value(single(float.fromhex(piece)), Kind.FLOAT)
    if column.kind is Kind.DECIMAL:
        return piece
    low, high = bounds(column.kind, _NARROW)
    if not low <= int(piece) <= high:
        raise ValueError(f"has a field {column.name} that is outside {low} to {high}")
    return piece


# For 64 bits a written cell reads back as the value it was.
# Numbers may be spelled as Souffle reads them, which is as C does: with blanks or a plus before
# them, a fraction without digits on one side, an unsigned in hexadecimal or binary digits. Blanks
# behind a number are an error there as here.

Cell = Value
_DIGITS: Final = MappingProxyType({32: 9, 64: 17})
_SHORT: Final = 9
_BLANKS: Final = " \t\v\f\r"
_PLUS: Final = re.compile(r"\+[0-9]")
_POINTED: Final = re.compile(r"([+-]?)([0-9]*)\.([0-9]*)((?:[eE][+-]?[0-9]+)?)\Z")
_PREFIXED: Final = re.compile(r"0x[0-9a-fA-F]{1,20}\Z|0b[01]{1,70}\Z")


def cell_reader(column: Column, word_size: int) -> Callable[[str], Cell]:
    """Give the reader of cells of a column."""
    kind = column.kind
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _integers(kind, word_size)
        case Kind.FLOAT if word_size == _NARROW:
            return lambda cell: single(float(_fraction(cell, kind)))
        case Kind.FLOAT | Kind.DECIMAL:
            return lambda cell: _fraction(cell, kind)
        case Kind.STRUCTURE:
            return structure_reader(column, word_size)
        case _:
            return lambda cell: parse_value(cell, kind)


def cell_writer(kind: Kind, word_size: int, *, quoted: bool) -> Callable[[Value], str]:
    """Give the writer of cells of a column.

    A float has as many digits as tell it from all others of its width, as Souffle writes it. Of
    `quoted` cells the texts inside a structure stand in quotes, too.
    """
    if kind is Kind.FLOAT:
        digits = _DIGITS[word_size]
        return lambda value: f"{value:.{digits}g}"
    if kind is Kind.SYMBOL:
        return str
    if kind is Kind.STRUCTURE:
        return structure_writer(_DIGITS[word_size], quoted=quoted)
    return lambda value: format_value(value, kind)


def _integers(kind: Kind, word_size: int) -> Callable[[str], Cell]:
    low, high = bounds(kind, word_size)

    def read(cell: str) -> Cell:
        # Nearly all cells are short and plain; these need no pattern and no bounds.
        if len(cell) <= _SHORT and cell.isascii() and cell.isdigit():
            return int(cell)
        if kind is Kind.UNSIGNED and _PREFIXED.match(cell):
            value = int(cell, 0)
        else:
            text = cell.lstrip(_BLANKS)
            value = int(parse_value(text[1:] if _PLUS.match(text) else text, kind))
        if not low <= value <= high:
            raise ValueError(f"is outside {low} to {high}")
        return value

    return read


def _fraction(cell: str, kind: Kind) -> Value:
    text = cell.lstrip(_BLANKS)
    found = _POINTED.match(text)
    if found and (found[2] or found[3]):
        text = f"{found[1]}{found[2] or 0}.{found[3] or 0}{found[4]}"
    return parse_value(text, kind)


# Nothing is guessed: a cell is a value of its column's type or an error, and a row has a cell for
# every column.
# Without `quoted` a line is split at the delimiter and nothing has a special meaning. With it the
# file is CSV: a field may stand in double quotes, inside which `""` is a quote and a line may end.
# As Souffle does, a carriage return before the end of a line is dropped, cells behind the last
# column that is read are ignored, and a line `()` is the row of a predicate without columns; and
# where the delimiter has a comma, one between brackets is no end of its cell: `f[1,2],3` is two.
# Reference: RFC 4180; https://souffle-lang.github.io/directives

STDIN: Final = Path("-")
_SAMPLE: Final = 1 << 16
LONGEST_LINE: Final = 1 << 24
"""How many bytes a line has at most, and a row that goes over several lines."""
_QUOTE: Final = '"'
_GZIP: Final = b"\x1f\x8b"
_BRACKETS: Final = frozenset("[]$")


@frozen
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
        yield number, _fact_fields(fact_file, number, record)


def _fact_fields(fact_file: FactFile, number: int, record: str) -> list[str]:
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
                "correct the cell"
                if cell
                else "correct the cell, or leave rows with empty cells out by "
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


# What was written without quoting reads back by `fact_files` unless a text holds the delimiter
# (or, where that has a comma, a bracket) or ends a line, and a text in a structure as
# `fact_structures` says; with quoting, always.
# All is written as Souffle writes it: a block on the standard output is framed, and of quoted rows
# the texts are quoted, not the numbers. Only a quote within a text is written twice, as RFC 4180
# says and as it is read; Souffle puts a backslash before it, which is one more sign when it is
# read.

_ABOVE: Final = "---------------\n"
_BELOW: Final = "===============\n"


def file_pieces(output: OutputFile, body: Iterable[str]) -> Iterator[str]:
    """Yield the text of a file; its lines are those of `row_pieces`."""
    if output.header:
        yield header(output)
    yield from body


def block_pieces(output: OutputFile, body: Iterable[str]) -> Iterator[str]:
    """Yield the text of a block on the standard output."""
    yield f"{_ABOVE}{output.predicate.name}\n"
    if output.header:
        yield header(output)
    yield _BELOW
    yield from body
    yield _BELOW


def header(output: OutputFile) -> str:
    """Give the line that names the columns."""
    return output.delimiter.join(one.name for one in output.predicate.columns) + "\n"


def row_pieces(output: OutputFile, rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line for each row."""
    writers = [_writer(output, place) for place in range(output.predicate.arity)]
    delimiter = output.delimiter
    if not writers:
        for _ in rows:
            yield "()\n"
        return
    for row in rows:
        cells = [write(value) for write, value in zip(writers, row, strict=True)]
        yield delimiter.join(cells) + "\n"


def _writer(output: OutputFile, place: int) -> Callable[[Value], str]:
    kind = output.predicate.kinds[place]
    write = cell_writer(kind, output.word_size, quoted=output.quoted)
    if not output.quoted or kind.numeric:
        return write
    return lambda value: '"' + write(value).replace('"', '""') + '"'
