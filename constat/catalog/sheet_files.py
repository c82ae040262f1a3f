"""Load a sheet of a workbook into a table of texts.

In: workbooks (`.xlsx`) and perhaps the name of a sheet; the first one by default. Out: a table in
the session whose columns are all VARCHAR, named by the first row. A cell is spelled as for
separated values: a number with the 15 digits that a spreadsheet keeps, a day as `2025-01-31`, a
moment as `2025-01-31T10:00:00`, a truth value as `true`; an empty cell is NULL. Invariants: a cell
with an error, and a formula whose value was never stored, fail the whole table, by row; size and
time are bounded. It needs the package openpyxl. Example: `files: {orders: "book.xlsx#Orders"}`.
Reference: ECMA-376, part 1, chapter 18.
"""

from __future__ import annotations

import datetime as dt
import importlib
import zipfile
from contextlib import ExitStack, closing, contextmanager
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.duck_session import named
from constat.catalog.failure import SourceFailureError
from constat.catalog.text_files import add_name, damaged

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from constat.catalog.duck_session import DuckSession

_MOST_BYTES: Final = 1 << 29
_ROWS_AT_ONCE: Final = 2_000
_DIGITS: Final = ".15g"
_ERROR: Final = "e"
_FORMULA: Final = "f"

SheetRow = tuple[str | None, ...]


def load_sheets(
    session: DuckSession, table: str, files: Sequence[Path], sheet: str, seconds: float
) -> None:
    """Load the sheet of each file, one after the other."""
    first: tuple[str, ...] = ()
    with session.bounded(seconds):
        for place, file in enumerate(files):
            rows = sheet_rows(file, sheet)
            header = tuple(str(name) for name in next(rows))
            if not place:
                first = header
                listed = ", ".join(f"{named(name)} VARCHAR" for name in header)
                session.own(f"CREATE TABLE {named(table)} ({listed})")
            elif header != first:
                raise damaged(file, " has other columns than the first file of its table")
            while batch := list(islice(rows, _ROWS_AT_ONCE)):
                session.append(table, batch)
                session.check_time()


def sheet_rows(file: Path, sheet: str) -> Generator[SheetRow]:
    """Yield the names of the columns, then the rows as texts; empty rows are left out."""
    with ExitStack() as books, _understood(file):
        values = _workbook(file, books, values=True)
        formulas = _workbook(file, books, values=False)
        name = _sheet_name(file, values, sheet)
        header: tuple[str, ...] = ()
        for number, (row, written) in enumerate(
            zip(values[name].iter_rows(), formulas[name].iter_rows(), strict=True), 1
        ):
            cells = tuple(
                _text(file, number, one, other) for one, other in zip(row, written, strict=True)
            )
            if not header:
                header = _header(file, cells)
                yield header
            elif any(cells[len(header) :]):
                raise damaged(file, f", row {number}, has more cells than there are names")
            elif any(cell is not None for cell in cells):
                yield (*cells[: len(header)], *[None] * (len(header) - len(cells)))
        if not header:
            raise damaged(file, " has no first row that names its columns")


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
    return books.enter_context(closing(book))


def _sheet_name(file: Path, book: Any, wanted: str) -> str:  # noqa: ANN401  as above
    names: list[str] = [one.title for one in book.worksheets]
    if not names or (wanted and wanted not in names):
        raise damaged(file, " has no sheet of that name")
    return wanted or names[0]


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


def _text(file: Path, number: int, cell: Any, written: Any) -> str | None:  # noqa: ANN401  cells of openpyxl
    value = cell.value
    if cell.data_type == _ERROR:
        raise damaged(file, f", row {number}, holds the error of a formula")
    if value is None and written.data_type == _FORMULA:
        raise damaged(file, f", row {number}, holds a formula whose value was never stored")
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
