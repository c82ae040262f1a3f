"""Find the files behind the tables of a folder, and name their state.

In: what a project says of a table's files, and its folder. Out: `FileTable`: the files in order
with what tells their states apart, or why there are none. Invariants (semantics 29): every file
lies in the project after resolving links; a missing file is a failure, never an empty table. One
that has just been written is looked at again a moment later, because a second writing within the
same tick of the clock leaves the same time. What files hold is not compared (decision 0060).
Example: `data/orders-*.parquet` gives its files by name.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import re
import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog.connection import SourceFailureError, read_cell
from constat.frozen import frozen
from constat.logic import LOCALES, PLAIN, Kind, unit_of, without_unit
from constat.project import inside
from constat.project.files import SEPARATED, UTF_8, TableFiles, split_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.logic import Locale

_WILD: Final = frozenset("*?[")
_MOST_FILES: Final = 10_000
_ATTEMPTS: Final = 3
_TICK_SECONDS: Final = 0.02
# Where times are whole seconds; some file systems count in twos.
_LONG_TICK_SECONDS: Final = 2.0
# What is later than that was written before somebody set the clock back.
_MOST_AHEAD_SECONDS: Final = 60.0
_NANOSECONDS: Final = 1_000_000_000

Mark = tuple[int, int, int, int, int]
"""Device, inode, size, time and time of the last change of a file; the last nobody can choose."""


@frozen
class FileTable:
    """The files of one table, in the order of their names, or the reason why it has none.

    `setting` says how they are read.
    """

    setting: TableFiles
    files: tuple[Path, ...] = ()
    marks: tuple[Mark, ...] = ()
    failure: str = ""


def find_tables(settings: Mapping[str, TableFiles], folder: Path) -> dict[str, FileTable]:
    """Look at all files, and again where one was written just now.

    A file that is written all the time has no state: its table gets no marks, and is like no other.
    """
    found = _looked(settings, folder)
    for _ in range(_ATTEMPTS):
        if not settle([mark for table in found.values() for mark in table.marks]):
            return found
        before, found = found, _looked(settings, folder)
        if found == before:
            return found
    return {
        name: replace(table, marks=()) if _unsettled(table.marks) else table
        for name, table in found.items()
    }


def _looked(settings: Mapping[str, TableFiles], folder: Path) -> dict[str, FileTable]:
    return {name: find_table(setting, folder) for name, setting in settings.items()}


def settle(marks: Sequence[Mark]) -> bool:
    """Wait where a file was written so lately that a second writing could leave the same time."""
    seconds = _unsettled(marks)
    if seconds:
        time.sleep(seconds)
    return seconds > 0


def _unsettled(marks: Sequence[Mark]) -> float:
    """Give the seconds until whatever is written to these files must leave another time."""
    return max((_seconds_left(mark[-1]) for mark in marks), default=0)


def _seconds_left(changed: int) -> float:
    tick = _TICK_SECONDS if changed % _NANOSECONDS else _LONG_TICK_SECONDS
    ago = time.time() - changed / _NANOSECONDS
    # A server's clock may be ahead of ours: then a tick has passed when we have waited for one.
    return tick - max(ago, 0) if -_MOST_AHEAD_SECONDS < ago < tick else 0


def find_table(setting: TableFiles, folder: Path) -> FileTable:
    """Look at the files of one table."""
    try:
        files = _resolved(setting.pattern, folder)
        return FileTable(setting, files, tuple(mark_of(file) for file in files))
    except SourceFailureError as problem:
        return FileTable(setting, failure=problem.reason)
    except (OSError, ValueError) as problem:
        reason = f"a file of `{setting.pattern}` cannot be read ({type(problem).__name__})"
        return FileTable(setting, failure=reason)


def state_name(tables: Mapping[str, FileTable]) -> str:
    """Give a short text that differs when any file does, or how it is read."""
    listed = [
        (name, table.setting.identity, *table.marks, table.failure)
        for name, table in sorted(tables.items())
    ]
    return f"files {hashlib.sha256(repr(listed).encode()).hexdigest()[:16]}"


def _resolved(pattern: str, folder: Path) -> tuple[Path, ...]:
    pattern, _ = split_sheet(pattern)
    listed = [folder / pattern]
    if _WILD & set(pattern):
        listed = sorted(folder.glob(pattern))[: _MOST_FILES + 1]
        if not listed:
            raise SourceFailureError(f"no file matches `{pattern}`")
        if len(listed) > _MOST_FILES:
            raise SourceFailureError(f"more than {_MOST_FILES} files match `{pattern}`")
    files = []
    for one in listed:
        found = inside(str(one), folder)
        if found is None:
            raise SourceFailureError(f"a file of `{pattern}` leads out of the project")
        if not found.is_file():
            raise SourceFailureError(f"there is no file {one.name}")
        if _WILD & set(str(found)):
            raise SourceFailureError(f"the path of {one.name} holds one of `*?[`")
        files.append(found)
    return tuple(files)


def mark_of(file: Path) -> Mark:
    """Give what tells the states of a file apart; raises `OSError`."""
    about = file.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


# ------------------------------------------------------------------- what is not declared

_BEGINNING: Final = 1 << 16
_LINES: Final = 50
_SEPARATORS: Final = (",", ";", "\t", "|")
GUESSED_ENCODINGS: Final = ("windows-1252", "cp850")
"""The second one has a letter for each byte."""
_MOST_LINES: Final = 0.6
_THOUSANDS: Final = re.compile(r"[+-]?\d{1,3}(\.\d{3})+\Z", re.ASCII)
_NO_VALUE: Final = frozenset(
    {
        *("NA", "N/A", "n/a", "na", "#N/A", "NULL", "null", "None", "NaN", "nan", "nil", "."),
        *("-", "--", "?", "unknown", "missing", "Unknown", "Missing", "n.a.", "k.A.", "k. A."),
    }
)
_SPELLINGS: Final = ("en_US", "de_DE", "fr_FR", "de_CH", "en_GB", "nl_NL", "ja_JP")
# The first that reads a column gives its name to it.
_KNOWN: Final = tuple(
    sorted(
        (one for one in LOCALES if one.name in _SPELLINGS),
        key=lambda one: _SPELLINGS.index(one.name),
    )
)
_UNITS: Final = frozenset(
    {
        *(
            "$",
            "\u20ac",
            "\u00a3",
            "\u00a5",
            "\u20b9",
            "US$",
            "R$",
            "%",
            "\u2030",
            "kr",
            "z\u0142",
            "Fr.",
            "K\u010d",
        ),
        *(
            "EUR",
            "USD",
            "GBP",
            "CHF",
            "JPY",
            "SEK",
            "NOK",
            "DKK",
            "PLN",
            "CZK",
            "CAD",
            "AUD",
            "INR",
        ),
        *("BRL", "CNY", "kg", "km", "kWh"),
    }
)
_TOTALS: Final = frozenset(
    {
        *("total", "totals", "grand total", "sum", "summe", "summen", "gesamt", "gesamtsumme"),
        *(
            "insgesamt",
            "totale",
            "totaal",
            "somme",
            "total g\u00e9n\u00e9ral",
            "suma",
            "celkem",
            "razem",
        ),
        *(
            "summa",
            "yhteens\u00e4",
            "i alt",
            "\u0438\u0442\u043e\u0433\u043e",
            "\u5408\u8a08",
            "\u5408\u8ba1",
            "\u603b\u8ba1",
        ),
    }
)
_SHORT_DAY: Final = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2}\Z", re.ASCII)
_MOST_SUMMED: Final = 1_000_000


def guess_files(file: Path, pattern: str) -> tuple[TableFiles, tuple[str, ...]]:
    """Look at a file of separated values: its encoding, and what stands between its fields.

    A last line that holds the sums of the others is a footer; one that only says so is a doubt,
    given beside it. Other files say how they are written. Raises `OSError`.
    """
    plain = TableFiles(pattern)
    if plain.ending not in SEPARATED:
        return plain, ()
    encoding = _encoding_of(file)
    with file.open(encoding="utf-8-sig" if encoding == UTF_8 else encoding, newline="") as opened:
        lines = list(islice(iter(opened.read(_BEGINNING).splitlines(keepends=True)), _LINES))
    if len(lines) > 1 and not lines[-1].endswith(("\r", "\n")):
        lines.pop()
    separator, skip = _layout_of(lines, plain.delimiter)
    separator = "" if separator == plain.delimiter else separator
    found = TableFiles(pattern, separator, encoding, skip=skip)
    words, is_sum = _total_of(file, found)
    if not words:
        return found, ()
    if is_sum:
        return replace(found, footer=1), ()
    return found, (f"the last line says {words}: write `footer: 1` where it is no row",)


def has_fields(file: Path, setting: TableFiles) -> bool:
    """Tell whether lines of a file hold several fields. Raises `OSError`."""
    encoding = "utf-8-sig" if setting.encoding == UTF_8 else setting.encoding
    with file.open(encoding=encoding, newline="") as opened:
        for _ in range(setting.skip):
            opened.readline(_BEGINNING)
        return setting.delimiter in opened.readline(_BEGINNING)


def _total_of(file: Path, setting: TableFiles) -> tuple[str, bool]:
    """Give the words of a last line that says it is a total, and whether its numbers are sums."""
    encoding = "utf-8-sig" if setting.encoding == UTF_8 else setting.encoding
    with file.open(encoding=encoding, newline="") as opened:
        rows = csv.reader(opened, delimiter=setting.delimiter)
        lines = (row for row in islice(rows, setting.skip + 1, _MOST_SUMMED) if any(row))
        try:
            listed = list(lines)
        except csv.Error:
            return "", False
    words = next((one.strip() for one in listed[-1] if one.strip()), "") if listed else ""
    if words.rstrip(":").strip().casefold() not in _TOTALS:
        return "", False
    above, last = listed[:-1], listed[-1]
    columns = (
        ([row[place] for row in above if place < len(row)], cell) for place, cell in enumerate(last)
    )
    return words, any(_is_sum(cells, cell) for cells, cell in columns)


def _is_sum(cells: Sequence[str], total: str) -> bool:
    """Tell whether a cell is the sum of the cells above it, in some spelling of numbers."""
    unit = unit_of(total)
    for locale in (PLAIN, *_KNOWN):
        spelled = locale.read_number(without_unit(total.strip(), unit))
        summands = [
            locale.read_number(without_unit(one.strip(), unit_of(one)))
            for one in cells
            if one.strip() and one.strip() not in _NO_VALUE
        ]
        if spelled and len(summands) > 1 and all(summands):
            return sum(map(Decimal, summands)) == Decimal(spelled)
    return False


def _encoding_of(file: Path) -> str:
    """Tell UTF-8 and UTF-16 by what they must be; anything else is taken for Western European."""
    with file.open("rb") as opened:
        if opened.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            return "utf-16"
    return next(one for one in (UTF_8, *GUESSED_ENCODINGS) if _is_in(file, one))


def _is_in(file: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as opened:
            while part := opened.read(_BEGINNING):
                decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def _layout_of(lines: Sequence[str], usual: str) -> tuple[str, int]:
    """Give what makes the same number of fields of most lines, and how many lines stand above."""
    best, most, skip = usual, 1, 0
    for letter in (usual, *_SEPARATORS):
        # A field may hold several lines, and a damaged line is no reason to mistake all others.
        reader = csv.reader(lines, delimiter=letter)
        rows = [(0, 0)]
        rows += [(reader.line_num, len(row)) for row in reader]
        widths = Counter(width for _, width in rows if width)
        ((width, times),) = widths.most_common(1) or [(1, 0)]
        if times >= _MOST_LINES * widths.total() and width > most:
            first = next(place for place, (_, one) in enumerate(rows) if one == width)
            best, most, skip = letter, width, rows[first - 1][0]
    return best, skip


def guess_cells(
    setting: TableFiles, columns: Mapping[str, Sequence[str | None]]
) -> tuple[TableFiles, Sequence[str]]:
    """Find, by the first cells of columns of texts, which texts mean that there is no value.

    In a column of numbers or days that is what is neither, where it is a usual word for it; such a
    word among texts may be a value, as NA is a country: that is one of the doubts which are given
    beside it. Numbers and days that one locale alone reads are read as in that locale, and so are
    those that two locales read, where other columns of the file decide.
    """
    null: dict[str, tuple[str, ...]] = {}
    locale: dict[str, Locale] = {}
    units: dict[str, str] = {}
    doubts: list[str] = []
    grouped: list[str] = []
    looked = {name: _Cells(cells) for name, cells in columns.items()}
    settled = dict.fromkeys(filter(None, (one.locale_among(_KNOWN) for one in looked.values())))
    for name, one in looked.items():
        found = one.locale_among(_KNOWN) or one.locale_among(tuple(settled))
        if found is not None:
            locale[name.lower()] = found
        read = one.plain or found is not None
        if one.unit and read:
            units[name.lower()] = one.unit
        if one.values and all(map(_SHORT_DAY.match, one.values)):
            doubts.append(f"column {name} holds years of two digits: its days stay texts")
        if one.plain and all(map(_THOUSANDS.match, one.values)):
            grouped.append(name)
        if one.words and read:
            null[name.lower()] = one.words
        elif one.words:
            listed = f"column {name} holds {', '.join(one.words)}"
            doubts.append(f"{listed}: write it under `null` where that is no value")
    for name in grouped:
        doubts.extend(_thousands(name, locale))
    guessed = replace(
        setting,
        null=MappingProxyType(null),
        locale=MappingProxyType(locale),
        unit=MappingProxyType(units),
    )
    return guessed, doubts


class _Cells:
    """The texts of a column: words for no value, and values without the unit that all have."""

    def __init__(self, cells: Sequence[str | None]) -> None:
        texts = dict.fromkeys(one for one in cells if one is not None)
        self.words = tuple(one for one in texts if one in _NO_VALUE)
        self.values = [one for one in texts if one not in _NO_VALUE]
        units = {unit_of(one) for one in self.values}
        self.unit = next(iter(units)) if len(units) == 1 and units <= _UNITS else ""
        if self.unit:
            self.values = [without_unit(one, self.unit) for one in self.values]
        self.plain = bool(self.values) and all(map(_is_plain, self.values))

    def locale_among(self, locales: Sequence[Locale]) -> Locale | None:
        """Give the locale in which all are numbers, or all days; nothing where two differ."""
        found: dict[tuple[str, ...], Locale] = {}
        for locale in locales if self.values and not self.plain else ():
            days = tuple(map(locale.read_day, self.values))
            spelled = days if all(days) else tuple(map(locale.read_number, self.values))
            if all(spelled) and all(map(_is_plain, spelled)):
                found.setdefault(spelled, locale)
        return next(iter(found.values())) if len(found) == 1 else None


def _thousands(name: str, locale: dict[str, Locale]) -> Iterator[str]:
    """Read `18.000` as other columns of the file say; where none does, it is a doubt."""
    others = {one.name: one for one in locale.values() if one.group == "."}
    if len(others) == 1:
        (locale[name.lower()],) = others.values()
        return
    yield (
        f"every number of column {name} is written like 1.234: where that is a thousand and more,"
        f" write `locale: {{{name}: de_DE}}`"
    )


def _is_plain(text: str) -> bool:
    return any(_reads(text, kind) for kind in (Kind.DECIMAL, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP))


def _reads(text: str, kind: Kind) -> bool:
    try:
        read_cell(text, kind)
    except ValueError:
        return False
    return True
