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
import json
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote

from constat.catalog.connection import SourceFailureError, read_cell
from constat.frozen import frozen
from constat.logic import LOCALES, PLAIN, Kind, unit_of, without_unit
from constat.patterns import regex
from constat.project import inside
from constat.project.files import (
    DELTA,
    EVERY,
    ICEBERG,
    SEPARATED,
    UTF_8,
    WORKBOOK,
    TableFiles,
    split_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.logic import Locale
    from constat.project.files import Footer

_WILD: Final = frozenset("*?[")
_MOST_FILES: Final = 10_000
_ATTEMPTS: Final = 3
_TICK_SECONDS: Final = 0.02
# Where times are whole seconds; some file systems count in twos.
_LONG_TICK_SECONDS: Final = 2.0
# What is later than that was written before somebody set the clock back.
_MOST_AHEAD_SECONDS: Final = 60.0
_NANOSECONDS: Final = 1_000_000_000
_COMMIT: Final = regex(r"[0-9]{20}\.json\Z")
_METADATA: Final = regex(r"v?([0-9]{1,9})(?:-[0-9a-f-]{36})?\.metadata\.json\Z")
_LARGEST_METADATA: Final = 64 << 20
_LARGEST_HINT: Final = 20

Mark = tuple[int, int, int, int, int]
"""Device, inode, size, time and time of the last change of a file; the last nobody can choose."""


@frozen
class FileTable:
    """The files of one table, in the order of their names, or the reason why it has none.

    `setting` says how they are read, `told` which state each of them is of where they are copies of
    what lies elsewhere, which have no marks, or a `version` of a table.
    """

    setting: TableFiles
    files: tuple[Path, ...] = ()
    marks: tuple[Mark, ...] = ()
    failure: str = ""
    told: tuple[str, ...] = ()
    version: str = ""


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
        if setting.lake:
            return _delta(setting, folder) if setting.lake == DELTA else _iceberg(setting, folder)
        files = _resolved(setting.pattern, folder)
        return FileTable(setting, files, tuple(mark_of(file) for file in files))
    except SourceFailureError as problem:
        return FileTable(setting, failure=problem.reason)
    except (OSError, ValueError) as problem:
        reason = f"a file of `{setting.pattern}` cannot be read ({type(problem).__name__})"
        return FileTable(setting, failure=reason)


def _delta(setting: TableFiles, folder: Path) -> FileTable:
    """Find the version of a Delta table that counts, and the entry of its log that made it."""
    log = _within(f"{setting.pattern}/_delta_log", folder)
    known = {int(one.stem): one for one in log.glob("*.json") if _COMMIT.match(one.name)}
    if not known:
        raise SourceFailureError(f"there is no Delta table in `{setting.pattern}`")
    version = int(setting.version) if setting.version else max(known)
    if version not in known:
        said = f"`{setting.pattern}` has no version {version}; its newest is {max(known)}"
        raise SourceFailureError(said)
    entry = _within(str(known[version]), folder)
    told = f"{DELTA} {setting.pattern}: version {version}, {_digest(entry)}"
    return FileTable(setting, (log.parent,), (mark_of(entry),), told=(told,), version=str(version))


def _iceberg(setting: TableFiles, folder: Path) -> FileTable:
    """Find the snapshot of an Iceberg table that counts, and the list of what is in it."""
    place = _within(setting.pattern, folder)
    file = place if place.is_file() else _within(str(_newest(place, setting.pattern)), folder)
    with file.open("rb") as opened:
        content = opened.read(_LARGEST_METADATA + 1)
    if len(content) > _LARGEST_METADATA:
        raise SourceFailureError(f"the metadata of `{setting.pattern}` are too large")
    try:
        told = json.loads(content)
        listed = {str(one["snapshot-id"]): one for one in told.get("snapshots") or ()}
        current = str(told.get("current-snapshot-id"))
        version = setting.version or (current if current in listed else "")
        lists = str(listed[version]["manifest-list"]) if version else ""
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        wanted = f"snapshot {setting.version}" if setting.version else "metadata that can be read"
        raise SourceFailureError(f"`{setting.pattern}` has no {wanted}") from None
    digest = _digest(_within(local_path(lists), folder)) if lists else "no rows"
    said = f"{ICEBERG} {setting.pattern}: snapshot {version or 'none'}, {digest}"
    return FileTable(setting, (file,), told=(said,), version=version)


def _newest(place: Path, pattern: str) -> Path:
    """Give the newest metadata: what a catalog of files has named, or the highest number."""
    known: dict[int, list[Path]] = {}
    for one in (place / "metadata").glob("*.metadata.json"):
        if found := _METADATA.match(one.name):
            known.setdefault(int(found[1]), []).append(one)
    hint = place / "metadata" / "version-hint.text"
    if (
        hint.is_file()
        and (text := hint.read_text(encoding="ascii")[:_LARGEST_HINT].strip()).isdigit()
    ):
        known = {number: files for number, files in known.items() if number == int(text)}
    if not known:
        raise SourceFailureError(f"there is no Iceberg table in `{pattern}`")
    last = known[max(known)]
    if len(last) > 1:
        said = f"`{pattern}` has two newest states; name the file of metadata that counts"
        raise SourceFailureError(said)
    return last[0]


def local_path(location: str) -> str:
    """Give the path of a file that metadata name; raises `SourceFailureError` for another place."""
    path = location.removeprefix("file://") if location.startswith("file:///") else location
    path = path.removeprefix("file:") if path.startswith("file:/") else path
    if "://" in path or "\0" in path:
        raise SourceFailureError("a file of it lies on another machine: it is not read", "C0541")
    return unquote(path) if path != location else path


def _within(path: str, folder: Path) -> Path:
    found = inside(path, folder)
    if found is None:
        raise SourceFailureError("a file of it leads out of the project")
    if not found.exists():
        raise SourceFailureError(f"there is no {found.name}")
    return found


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"


def damaged(file: Path, what: str) -> SourceFailureError:
    """Give the failure of a file whose content cannot be read."""
    return SourceFailureError(f"{file.name}{what}", "C0543")


def state_name(tables: Mapping[str, FileTable]) -> str:
    """Give a short text that differs when any file does, or how it is read."""
    listed = [
        (name, table.setting.identity, *table.marks, table.failure, *table.told)
        for name, table in sorted(tables.items())
    ]
    return f"files {hashlib.sha256(repr(listed).encode()).hexdigest()[:16]}"


def _resolved(pattern: str, folder: Path) -> tuple[Path, ...]:
    pattern, _ = split_part(pattern)
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
# These stand within titles, names and values.
_WITHIN: Final = frozenset('"._- \r\n')
_MOST_LINES: Final = 0.6
_MOST_TITLES: Final = 20
_LEAST_SUMMED: Final = 2
_FIRST_ROW: Final = 2
_STRANGE: Final = 20
"""Of so many values one may be none of what all others are; of four values one."""
_LEAST_PARTS: Final = 2
_THOUSANDS: Final = regex(r"[+-]?[1-9]\d{0,2}(\.\d{3})+\Z", re.ASCII)
GUESSED: Final = frozenset({*SEPARATED, WORKBOOK})
"""Endings of files whose numbers may be written as in any country."""
_NO_VALUE: Final = frozenset(
    {
        *("na", "n/a", "n.a.", "n. a.", "#n/a", "#na", "null", "none", "nan", "nil", "(null)"),
        *(
            ".",
            "..",
            "-",
            "--",
            "---",
            "\u2013",
            "\u2014",
            "?",
            "unknown",
            "missing",
            "not available",
        ),
        *("k.a.", "k. a.", "keine angabe", "n.v.", "unbekannt", "fehlt", "tbd", "t.b.d."),
        *("n.d.", "s.o.", "#wert!", "#value!", "#nv", "#ref!", "#div/0!"),
    }
)
"""As casefolded."""
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
_MONTHS: Final = 12
_SHORT_DAY: Final = regex(r"\d{1,2}([./-])\d{1,2}\1\d{2}\Z", re.ASCII)


def guess_files(file: Path, pattern: str) -> tuple[TableFiles, tuple[str, ...]]:
    """Look at a file of separated values: its encoding, and what stands between its fields.

    Last lines that hold the sums of the others are a footer; what only says so is a doubt, given
    beside it. Other files say how they are written. Raises `OSError`, and `SourceFailureError`
    where several separators, or places of the names of its columns, are possible.
    """
    plain = TableFiles(pattern)
    if plain.ending not in SEPARATED:
        return plain, ()
    encoding = _encoding_of(file)
    with file.open(encoding="utf-8-sig" if encoding == UTF_8 else encoding, newline="") as opened:
        try:
            separator, skip = layout_of(opened.read(_BEGINNING), plain.delimiter)
        except ValueError as problem:
            raise damaged(file, str(problem)) from None
    separator = "" if separator == plain.delimiter else separator
    found = TableFiles(pattern, separator, encoding, skip=skip)
    ending = LastLines(file, found)
    guessed, doubts = with_footer(found, ending)
    if guessed.footer is None and ending.open_value():
        doubts = (*doubts, _OPEN_END)
    return guessed, doubts


_OPEN_END: Final = (
    "the last line ends with a number and without a line break: a file that was cut off within that"
    " number looks the same; look whether it is whole"
)


def has_fields(file: Path, setting: TableFiles) -> bool:
    """Tell whether lines of a file hold several fields. Raises `OSError`."""
    encoding = "utf-8-sig" if setting.encoding == UTF_8 else setting.encoding
    with file.open(encoding=encoding, newline="") as opened:
        for _ in range(setting.skip):
            opened.readline(_BEGINNING)
        return setting.delimiter in opened.readline(_BEGINNING)


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


@frozen
class _Layout:
    """The lines of a text, split at a letter.

    `rows` gives with each how many lines end above it; the table begins at the place `start`.
    """

    letter: str
    rows: Sequence[tuple[int, list[str]]]
    width: int
    start: int

    @property
    def skip(self) -> int:
        """How many lines stand above the names of the columns."""
        return self.rows[self.start - 1][0] if self.start else 0

    @property
    def rank(self) -> tuple[bool, int]:
        """Names with a row below them come before others, and those further up before others.

        So no separator takes the names of the columns for a title, where another one splits them.
        """
        below = next((cells for _, cells in self.rows[self.start + 1 :] if cells), None)
        return below is not None and len(below) != self.width, self.skip

    def is_named(self) -> bool:
        """Tell whether what stands below the skipped lines names columns, and is no row."""
        names = self.rows[self.start][1]
        if not self.skip:
            return True
        above = [cells for _, cells in self.rows[1 : self.start]]
        if all(map(_is_number, names)):
            return False
        if not above[-1] or len(above) > 1:
            return True
        body = [cells for _, cells in self.rows[self.start + 1 :] if len(cells) == self.width]
        columns = ([one for one in cells if one.strip()] for cells in zip(*body, strict=True))
        kinds = any(cells and all(map(_is_number, cells)) for cells in columns)
        return kinds and not any(map(_is_number, names))

    def loses_names(self, lines: Sequence[str]) -> bool:
        """Tell whether a sign stands as often in a skipped line as in those below it."""
        for place, line in enumerate(lines[: self.skip]):
            below = [one for one in lines[place + 1 :] if one.strip()]
            signs = {one for one in line if one == "\t" or not (one.isalnum() or one in _WITHIN)}
            for sign in signs - {self.letter}:
                times = line.count(sign)
                alike = sum(one.count(sign) == times for one in below)
                if below[0].count(sign) == times and alike >= _MOST_LINES * len(below):
                    return True
        return False


def layout_of(text: str, usual: str) -> tuple[str, int]:
    """Give what makes the same number of fields of most lines, and how many lines stand above.

    It goes by the first lines of a file. Raises `ValueError` with the reason where several
    separators make a table of them, or a skipped line may be the one that names the columns.
    """
    lines = list(islice(iter(text.splitlines(keepends=True)), _LINES))
    if len(lines) > 1 and not lines[-1].endswith(("\r", "\n")):
        lines.pop()
    letters = dict.fromkeys((usual, *_SEPARATORS))
    found = [one for one in (_split_at(letter, lines) for letter in letters) if one]
    if not found:
        return usual, 0
    best = min(found, key=lambda one: one.rank)
    others = [one for one in found if one.rank == best.rank]
    if len(others) > 1:
        listed = " or ".join(f"`separator: {_shown(one.letter)}`" for one in others)
        raise ValueError(
            f" may be separated by {' or '.join(_shown(one.letter) for one in others)}; write"
            f" {listed} beside `file`"
        )
    shown, line = _shown(best.letter), best.skip + 1
    said = f"write `separator: {shown}` with `skip: {best.skip}` where line {line} names them, else"
    if not best.is_named() or best.loses_names(lines):
        raise ValueError(
            f" is separated by {shown} from line {line} on only, and a line above may name the"
            f" columns; {said} another `separator` beside `file`"
        )
    if [] in (below := [cells for _, cells in best.rows[best.start + 1 :]])[:1] and any(below):
        raise ValueError(
            f" has an empty line below line {line}, which may be a title or name the columns;"
            f" {said} another `skip` beside `file`"
        )
    return best.letter, best.skip


def _split_at(letter: str, lines: Sequence[str]) -> _Layout | None:
    # A field may hold several lines, and a damaged line is no reason to mistake all others.
    reader = csv.reader(lines, delimiter=letter)
    rows: list[tuple[int, list[str]]] = [(0, [])]
    rows += [(reader.line_num, row) for row in reader]
    widths = Counter(len(row) for _, row in rows if len(row) > 1)
    if not widths:
        return None
    # Of two widths that are as frequent the greater one is that of the table, below its titles.
    width, times = max(widths.items(), key=lambda one: (one[1], one[0]))
    # Titles above the table are no reason to mistake it.
    first = next(place for place, (_, cells) in enumerate(rows) if len(cells) == width)
    if times < _MOST_LINES * sum(bool(cells) for _, cells in rows[first:]):
        return None
    return _Layout(letter, rows, width, first + header_place([cells for _, cells in rows[first:]]))


def _shown(letter: str) -> str:
    return "tab" if letter == "\t" else f'"{letter}"'


def _is_number(text: str) -> bool:
    """Tell whether it is a number or a day as any of the known countries writes them."""
    plain = without_unit(text.strip(), unit_of(text.strip()))
    ways = (read(plain) for one in _KNOWN for read in (one.read_number, one.read_day))
    return _is_plain(plain) or any(ways)


def misread(text: str, setting: TableFiles) -> str:
    """Give the edit where the names of the columns are separated otherwise, or further down."""
    try:
        letter, skip = layout_of(text, setting.delimiter)
    except ValueError as problem:
        return f"; it{problem}"
    if letter != setting.delimiter:
        more = f" and `skip: {skip}`" if skip != setting.skip else ""
        return f"; write `separator: {_shown(letter)}`{more} beside `file`"
    return further_down(skip, setting)


def further_down(skip: int, setting: TableFiles) -> str:
    """Give the edit where the names of the columns stand below `skip` lines."""
    if skip <= setting.skip:
        return ""
    line = f"; where the names of the columns stand in line {skip + 1}"
    return f"{line}, write `skip: {skip}` beside `file`"


def header_place(rows: Sequence[Cells]) -> int:
    """Give the place of the first line that may name the columns of those below it.

    Lines of titles stand above it: they fill no more than half as many columns. It is the first
    line where none fits.
    """
    filled = [_columns(cells) for cells in rows]
    for place, (cells, columns) in enumerate(zip(rows, filled, strict=True)):
        width = max(map(len, filled[place:]))
        names = [cell.strip().casefold() for cell in cells if cell and cell.strip()]
        apart = len({*names}) == len(names) and not all(map(_is_plain, names))
        if names and len(names) == width == max(columns) - min(columns) + 1 and apart:
            return place + _names_follow(rows[place + 1 :])
        if len(names) * 2 > width or place == _MOST_TITLES:
            break
    return 0


def _names_follow(rows: Sequence[Cells]) -> bool:
    """Tell whether the first row names columns, and the line above it is a title as wide as it.

    It holds different words alone, one of them above a column of numbers.
    """
    if len(rows) <= _LEAST_SUMMED:
        return False
    names = [(cell or "").strip() for cell in rows[0]]
    if len({*names}) < len(names) or any(
        not one or _says_nothing(one) or _is_number(one) or len(one) > _LONGEST_WORD
        for one in names
    ):
        return False
    below = [one for one in rows[1:] if len(one) == len(names)]
    return len(below) >= _LEAST_SUMMED and any(
        all(cell and _is_number(cell) for cell in cells) for cells in zip(*below, strict=True)
    )


def guess_cells(
    setting: TableFiles, columns: Mapping[str, Sequence[str | None]]
) -> tuple[TableFiles, Sequence[str]]:
    """Find, by the first cells of columns of texts, which texts mean that there is no value.

    In a column of numbers or days that is what is neither, where it is a usual word for it; such a
    word among texts may be a value, as NA is a country: that is one of the doubts which are given
    beside it. Numbers and days that one locale alone reads are read as in that locale, and so are
    those that two locales read, where other columns of the file decide. What nothing decides is a
    doubt, and nothing is doubted of which the setting says something.
    """
    null: dict[str, tuple[str, ...]] = {}
    locale: dict[str, Locale] = {}
    units: dict[str, str] = {}
    doubts: list[str] = []
    looked = {name: _Cells(cells) for name, cells in columns.items()}
    found = {name: one.locale_among(_KNOWN) for name, one in looked.items()}
    settled = tuple({one.name: one for one in found.values() if one is not None}.values())
    points = {one.name: one for one in settled if one.group == "."}
    for name, one in looked.items():
        label = name.lower()
        spelled = found[name] or one.locale_among(settled)
        if one.is_grouped and setting.ending in GUESSED and len(points) == 1:
            (spelled,) = points.values()
        if spelled is not None:
            locale[label] = spelled
        read = one.plain or spelled is not None
        if one.unit and read:
            units[label] = one.unit
        if one.words and read:
            null[label] = one.words
        doubts += _doubts(setting, name, one, spelled)
    guessed = replace(
        setting,
        null=MappingProxyType(null),
        locale=MappingProxyType(locale),
        unit=MappingProxyType(units),
    )
    return guessed, doubts


def _doubts(setting: TableFiles, name: str, cells: _Cells, spelled: Locale | None) -> Iterator[str]:
    """Say what of a column nothing decides, with the edit that does."""
    label = name.lower()
    if label not in setting.locale and spelled is None:
        if cells.is_grouped and setting.ending in GUESSED:
            yield (
                f"every number of column {name} is written like 1.234, a thousand and more in some"
                f" countries and a fraction in others: it stays a text until"
                f" `locale: {{{name}: de_DE}}` or `locale: {{{name}: en_US}}` says which"
            )
        elif differing := cells.differing(_KNOWN):
            listed = " or ".join(f"`locale: {{{name}: {one.name}}}`" for one in differing)
            yield (
                f"column {name} means other values in other countries: it stays a text until"
                f" {listed} says which"
            )
    if label not in setting.locale and (form := cells.short_days):
        yield (
            f"column {name} holds years of two digits: its days stay texts; write four, or"
            f" {century_said(name, form)}"
        )
    if label not in setting.unit and (units := cells.mixed_units()):
        listed = " and ".join(f"in {one}" if one else "without a unit" for one in units)
        yield (
            f"column {name} holds numbers {listed}: it stays a text; give the unit a column of its"
            f" own, or take the rows with one of them alone, `unit: {{{name}: {max(units)}}}`"
        )
    if cells.words and not (cells.plain or spelled) and not {label, EVERY} & setting.null.keys():
        yield (
            f"column {name} holds {', '.join(cells.words)}: where that is no value, write"
            f" `{null_said(name, cells.words)}` beside `file`"
        )


def ways_of(texts: Sequence[str]) -> tuple[Locale, ...]:
    """Give a locale for each way to read all texts as numbers, or as days, where there are some."""
    return _Cells(texts).differing(_KNOWN)


def short_days(texts: Sequence[str]) -> str:
    """Give how `strptime` writes days up to their year, where all are days, some with short years.

    Where nothing tells days from months, days come first.
    """
    short = [one for one in texts if _SHORT_DAY.match(one)]
    others = (one for one in texts if not _SHORT_DAY.match(one))
    if not short or not all(any(way.read_day(one) for way in _KNOWN) for one in others):
        return ""
    (sign, *_), *_ = (_SHORT_DAY.findall(one) for one in short)
    parts = [one.split(sign) for one in short if sign in one]
    months = any(int(one[1]) > _MONTHS for one in parts)
    return f"%m{sign}%d{sign}" if months else f"%d{sign}%m{sign}"


def century_said(name: str, form: str) -> str:
    """Say how a query tells which century short years are of, with the window of each way."""
    return (
        "say in the query of `.input` which century is meant: for 1900 to 1999"
        f" `CAST(strptime(left({name}, length({name}) - 2) || '19' || right({name}, 2),"
        f" '{form}%Y') AS DATE)`, for 1969 to 2068 `CAST(strptime({name}, '{form}%y') AS DATE)`"
    )


def null_said(name: str, words: Sequence[str]) -> str:
    """Write what `null` says of a column, to be copied."""
    listed = ", ".join(json.dumps(one, ensure_ascii=False) for one in words)
    return f"null: {{{json.dumps(name, ensure_ascii=False)}: [{listed}]}}"


def odd_cells(
    setting: TableFiles, columns: Mapping[str, Sequence[str | None]]
) -> Iterator[tuple[str, str]]:
    """Say what keeps a column from being one of numbers or days, as a locale writes them.

    With each comes the edit that takes its values for none; they are in no other text.
    """
    several = any(one in setting.pattern for one in _WILD) or setting.ending not in SEPARATED
    for name, cells in columns.items():
        looked = _Cells(cells)
        if looked.plain or name.lower() in setting.locale or looked.locale_among(_KNOWN):
            continue
        found = looked.nearly(_KNOWN)
        if found is None:
            continue
        locale, kind, wrong = found
        places = [place for place, one in enumerate(cells) if one in wrong]
        above = (one for each in columns.values() for one in each[: places[0]])
        lined = not several and not any("\n" in one for one in above if one)
        where = f"line {places[0] + setting.skip + _FIRST_ROW}" if lined else f"row {places[0] + 1}"
        one = "that" if len(places) == 1 else "the first"
        more = "" if len(places) == 1 else f" of {len(places):,}"
        said = (
            f"column {name} holds {kind}s as written in {locale.name}, but for {one}{more} in"
            f" {where}, which is none: it stays a text; mend the file, or write"
            f" `locale: {{{name}: {locale.name}}}` beside `file`, and with"
            f" `{name}: {'Date' if kind == 'day' else 'Decimal'}` in `.decl` such a row alone is"
            " not known"
        )
        value = wrong[0] if len(wrong[0]) <= _LONGEST_WORD else f"{wrong[0][:_LONGEST_WORD]}\u2026"
        yield said, f": `{value}`; where it is no value, write `{null_said(name, wrong)}`, too"


class _Cells:
    """The texts of a column: words for no value, and values without the unit that all have."""

    def __init__(self, cells: Sequence[str | None]) -> None:
        texts = dict.fromkeys(one for one in cells if one is not None)
        self.words = tuple(one for one in texts if _says_nothing(one))
        self.values = [one for one in texts if not _says_nothing(one)]
        units = {unit_of(one) for one in self.values}
        self.unit = next(iter(units)) if len(units) == 1 and units <= _UNITS else ""
        if self.unit:
            self.values = [without_unit(one, self.unit) for one in self.values]
        self.plain = bool(self.values) and all(map(_is_plain, self.values))

    def locale_among(self, locales: Sequence[Locale]) -> Locale | None:
        """Give the locale in which all are numbers, or all days; nothing where two differ."""
        found = self.differing(locales, 1)
        return found[0] if len(found) == 1 else None

    def nearly(self, locales: Sequence[Locale]) -> tuple[Locale, str, tuple[str, ...]] | None:
        """Find a locale in which all but a few are numbers, or days, and give these few.

        They look like numbers and days, too: what a word is nobody mistakes for one of them.
        """
        if len(self.values) < _LEAST_ALIKE:
            return None
        best: tuple[Locale, str, tuple[str, ...]] | None = None
        for locale in locales:
            for kind, read in (("day", locale.read_day), ("number", locale.read_number)):
                spelled = [(one, read(one)) for one in self.values]
                wrong = tuple(one for one, text in spelled if not text or not _is_plain(text))
                few = len(wrong) == 1 or len(wrong) * _STRANGE <= len(self.values)
                marks = (locale.mark, locale.group) if kind == "number" else locale.day
                if few and wrong and (best is None or len(wrong) < len(best[2])):
                    written = any(mark in one for one in self.values for mark in marks)
                    best = (locale, kind, wrong) if kind == "day" or written else best
        return best

    def differing(self, locales: Sequence[Locale], least: int = 2) -> tuple[Locale, ...]:
        """Give a locale for each way to read all as numbers, or as days, if there are so many."""
        found: dict[tuple[str, ...], Locale] = {}
        for locale in locales if self.values and not self.plain else ():
            days = tuple(map(locale.read_day, self.values))
            spelled = days if all(days) else tuple(map(locale.read_number, self.values))
            if all(spelled) and all(map(_is_plain, spelled)):
                found.setdefault(spelled, locale)
        return tuple(found.values()) if len(found) >= least else ()

    @property
    def is_grouped(self) -> bool:
        """Whether each point may stand between thousands, or before a fraction."""
        return is_grouped(self.values)

    @property
    def short_days(self) -> str:
        """How `strptime` writes days up to their year, where some years are short."""
        return short_days(self.values)

    def mixed_units(self) -> tuple[str, ...]:
        """Name the units of numbers that have several, or that some lack."""
        units = dict.fromkeys(map(unit_of, self.values))
        if len(units) < _LEAST_SUMMED or not units.keys() <= {*_UNITS, ""}:
            return ()
        plain = [without_unit(one, unit_of(one)) for one in self.values]
        ways = (PLAIN, *_KNOWN)
        if not any(all(map(way.read_number, plain)) for way in ways):
            return ()
        return tuple(units)


def _says_nothing(text: str) -> bool:
    """Tell whether a text is a usual word for that there is no value."""
    return text.strip().casefold() in _NO_VALUE


def is_grouped(texts: Sequence[str]) -> bool:
    """Tell whether each text is like `1.234`: a fraction, or a thousand and more."""
    return bool(texts) and all(map(_THOUSANDS.match, texts))


def _is_plain(text: str) -> bool:
    return any(_reads(text, kind) for kind in (Kind.DECIMAL, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP))


def _reads(text: str, kind: Kind) -> bool:
    try:
        read_cell(text, kind)
    except ValueError:
        return False
    return True


# ------------------------------------------------------------------- lines below the rows

_TAIL: Final = 1 << 20
MOST_BELOW: Final = 50
"""How many lines below the rows are looked for, where nothing says how many there are."""
_MOST_SUMMED: Final = 1_000_000
_FIRST_COLUMNS: Final = 8
_LONGEST_WORD: Final = 40
_LOOKED_ABOVE: Final = 200
_LEAST_ALIKE: Final = 4
_WIDEST_LETTER: Final = 2
_DIGITS: Final = regex(r"[0-9]+")
_LINE_ENDS: Final = regex(rb"\r\n|\n|\r")
_TOTALS: Final = (
    *("total", "totals", "grand total", "sum", "summe", "summen", "gesamt", "gesamtsumme"),
    *("insgesamt", "totale", "totaal", "somme", "total g\u00e9n\u00e9ral", "suma", "celkem"),
    *("razem", "summa", "yhteens\u00e4", "i alt", "\u0438\u0442\u043e\u0433\u043e"),
    *("\u5408\u8a08", "\u5408\u8ba1", "\u603b\u8ba1", "subtotal", "sub-total", "sub total"),
    *("zwischensumme", "endsumme", "gesamtbetrag", "endbetrag", "sous-total", "subtotale"),
    *("subtotaal", "net total", "total amount", "total net", "total gross", "summe netto"),
    *("summe brutto", "summe soll", "summe haben", "saldo", "endsaldo", "schlusssaldo"),
    *("neuer saldo", "kontostand", "neuer kontostand", "balance", "closing balance"),
    *("ending balance", "new balance", "carried forward", "\u00fcbertrag", "trailer", "eof"),
    *("end of file", "end of report", "dateiende", "ende der datei"),
)
_FIGURES: Final = (
    *("average", "avg", "mean", "median", "max", "maximum", "min", "minimum", "count", "rows"),
    *("row count", "record count", "records", "lines", "number of rows", "number of records"),
    *("total rows", "total records", "total count", "durchschnitt", "mittelwert", "mittel"),
    *("schnitt", "zentralwert", "h\u00f6chstwert", "tiefstwert", "gr\u00f6sster wert"),
    *("kleinster wert", "anzahl", "gesamtanzahl", "anzahl zeilen", "anzahl datens\u00e4tze"),
    *("anzahl buchungen", "zeilen", "zeilenzahl", "datens\u00e4tze", "moyenne", "m\u00e9diane"),
    *("nombre", "media", "promedio", "mediana", "gemiddelde", "aantal", "\u00f8"),
)
"""What a line of totals may begin with too, as casefolded; each may also name a row."""
_WORDS: Final = regex(r"[^\W\d_]+")
_COUNTED: Final = regex(
    r"\W*\d[\d.,]*\s+(rows?|records?|entries|items|lines|zeilen|datens\u00e4tze|eintr\u00e4ge"
    r"|buchungen|positionen)\b",
    re.IGNORECASE,
)
_SUM_WORDS: Final = frozenset(
    {"total", "totals", "sum", "summe", "summen", "gesamt", "ergebnis", "subtotal", "zwischensumme"}
    | {"somme", "totale", "totaal", "suma", "summa", "gesamtsumme", "subtotale", "subtotaal"}
)
"""With a name before or behind they are totals of a group, where they hold its sums."""
_SIGNS: Final = " \t#*=:-\u2013\u2014"
_SUMMED_BY_FORMULA: Final = regex(
    r"=\s*(SUM|SUMME|SUBTOTAL|TEILERGEBNIS|AGGREGATE)\(", re.IGNORECASE
)

Cells = Sequence[str | None]


class Ending(Protocol):
    """The last lines of a file that hold something, and all of its rows where they are needed."""

    def last(self, most: int) -> Sequence[Cells]:
        """Give the cells of the last lines, at most so many; fewer where there are no more."""
        ...

    def rows(self) -> Sequence[Cells]:
        """Give the cells of all lines behind the names of the columns; none of a large file."""
        ...

    def is_cut(self) -> bool:
        """Tell whether the file seems to end within its last line."""
        ...


def _is_beginning(value: str, column: Sequence[str]) -> bool:
    """Tell whether a value is the beginning of one as those of a column are."""
    if len(column) < _LEAST_ALIKE or value in column:
        return False
    others = {*column}
    few = len(others) * _LEAST_ALIKE <= len(column)
    if few and any(one.startswith(value) for one in others):
        return True
    ends = {_DIGITS.findall(one)[-1] for one in others if _DIGITS.search(one)}
    shape = _DIGITS.sub("9", next(iter(others)))
    alike = {_DIGITS.sub("9", one) for one in others} == {shape} and len({*map(len, ends)}) == 1
    if not alike or (shape == "9" and not any(one.startswith("0") for one in ends)):
        return False
    written = _DIGITS.sub("9", value)
    digits = _DIGITS.findall(value)
    return shape.startswith(written) and (
        written != shape or len(digits[-1]) < len(next(iter(ends)))
    )


def saying_total(columns: Sequence[str]) -> str:
    """Give the condition of SQL for rows that may begin with a word for totals."""
    words = "|".join(re.escape(one) for one in (*_TOTALS, *sorted(_SUM_WORDS)))
    cells = ", ".join(f"nullif(trim({one}), '')" for one in columns[:_FIRST_COLUMNS])
    return f"regexp_matches(lower(coalesce({cells})), '(^|\\P{{L}})({words})(\\P{{L}}|$)')"


class LastLines:
    """Implements `Ending` for a file of separated values, or a copy of it in another encoding."""

    def __init__(self, file: Path, setting: TableFiles, encoding: str = "") -> None:
        self._file = file
        self._setting = setting
        self._encoding = encoding or setting.encoding

    def last(self, most: int) -> Sequence[Cells]:
        """Give the cells of the last lines; those above the first row are none of them."""
        return [cells for _, cells in self.places(most)]

    def places(self, most: int) -> list[tuple[int, Cells]]:
        """Give with each of them how many bytes stand before it, in UTF-8."""
        with self._file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            start = max(0, size - _TAIL) if self._encoding != "utf-16" else 0
            opened.seek(start)
            content = opened.read()
        if self._encoding != UTF_8:
            content = content.decode(self._encoding, "replace").encode()
        begins = [0, *(one.end() for one in _LINE_ENDS.finditer(content))]
        above = 1 if start else 0
        found: list[tuple[int, Cells]] = []
        end = len(content)
        for place, begin in reversed(list(enumerate(begins))):
            if len(found) == most or (not start and place <= self._setting.skip) or place < above:
                break
            record = content[begin:end]
            if record.count(b'"') % 2:
                # A line within a quoted field, which begins further up.
                continue
            end = begin
            cells = self._cells(record.decode("utf-8", "replace"))
            if any(map(_filled, cells)):
                found.append((start + begin, cells))
        return found[::-1]

    def is_cut(self) -> bool:
        """Tell whether the last line looks as if the file were cut off within it.

        It has no line break, and its last value is the beginning of what stands above it: another
        one of few values, or fewer digits than all of them have.
        """
        with self._file.open("rb") as opened:
            opened.seek(max(0, opened.seek(0, os.SEEK_END) - _WIDEST_LETTER))
            content = opened.read().rstrip(b"\0")
        *above, last = self.last(_LOOKED_ABOVE) or ((),)
        if not last or content.endswith((b"\n", b"\r")):
            return False
        column = [line[len(last) - 1] or "" for line in above if len(line) == len(last)]
        return _is_beginning(last[-1] or "", column)

    def open_value(self) -> str:
        """Give the number that ends the file without a line break; it may go on elsewhere."""
        with self._file.open("rb") as opened:
            opened.seek(max(0, opened.seek(0, os.SEEK_END) - _WIDEST_LETTER))
            content = opened.read().rstrip(b"\0")
        last = self.last(1)
        if not last or content.endswith((b"\n", b"\r")):
            return ""
        value = (last[0][-1] or "").strip()
        return value if value[-1:].isdigit() and _number_of(value) is not None else ""

    def rows(self) -> Sequence[Cells]:
        """Read the file; nothing where it has more than a million lines, or is damaged."""
        encoding = "utf-8-sig" if self._encoding == UTF_8 else self._encoding
        with self._file.open(encoding=encoding, errors="replace", newline="") as opened:
            read = csv.reader(opened, delimiter=self._setting.delimiter)
            try:
                lines = islice(read, self._setting.skip + 1, _MOST_SUMMED + 1)
                found = [cells for cells in lines if any(map(_filled, cells))]
            except csv.Error:
                return []
            return [] if read.line_num > _MOST_SUMMED else found

    def _cells(self, record: str) -> Cells:
        try:
            return next(csv.reader([record], delimiter=self._setting.delimiter), [])
        except csv.Error:
            return [record]


def lines_below(ending: Ending, setting: TableFiles) -> int:
    """Count the last lines that are no rows, as `footer` says.

    Raises `ValueError` with the reason where it would leave out what looks like a row, where one of
    these lines is not there, or where totals would be left among the rows.
    """
    cut = _cut_off(ending, setting)
    last = ending.last(cut + MOST_BELOW)
    words = setting.footer if isinstance(setting.footer, tuple) else ()
    below = last[len(last) - cut :]
    missing = next(
        (one for one in words if not any(_begins(line, (one.casefold(),)) for line in below)), ""
    )
    if missing:
        _check_there(last, missing, setting)
    if setting.footer != 0 and _may_have_totals(last, cut):
        _check_totals(ending.rows(), cut)
    elif setting.footer != 0 and _may_end_a_group(last[: len(last) - cut]):
        rows = ending.rows()
        if has_parts(rows[: len(rows) - cut]):
            raise ValueError(totals_within(rows[: len(rows) - cut]))
    if missing:
        raise ValueError(
            f"{_LACKS.format(missing)}, so it may be cut off; fetch it whole, or write `footer:"
            f" {{optional: [{missing}]}}` beside `file` where it may come without that line"
        )
    if setting.checked and cut:
        _check_figures(ending.rows(), cut, setting.checked)
    if setting.footer is None and not cut and ending.is_cut():
        raise ValueError(
            " ends within a line: its last value is a beginning of those above it, and no line"
            " break follows. It may be cut off; fetch it whole, or write `footer: 0` beside `file`"
            " where that line is whole"
        )
    return cut


def _check_totals(rows: Sequence[Cells], cut: int) -> None:
    left = rows[: len(rows) - cut]
    more = _totals(left)
    if more and has_parts(left[: len(left) - more]):
        raise ValueError(totals_within(left))
    if more:
        said = _written_so(rows[len(left) - more :], rows[: len(left) - more])
        raise ValueError(
            f" ends with {_counted(more)} below its rows, totals of the others, and they would be"
            f" read as rows; write `footer: {said}` beside `file`, or `footer: 0` where they are"
        )
    if not rows or has_parts(left):
        raise ValueError(totals_within(left))


def _check_figures(rows: Sequence[Cells], cut: int, words: Sequence[str]) -> None:
    """Refuse a file whose total is no sum of its rows: some of them may be missing."""
    if not rows:
        raise ValueError(
            f" has more than {_MOST_SUMMED:,} lines, so its `{words[0]}` cannot be held against"
            f" them; write `footer: {{required: [{words[0]}]}}` beside `file`"
        )
    above = rows[: len(rows) - cut]
    for cells in rows[len(above) :]:
        word = next((one for one in words if _begins(cells, (one.casefold(),))), "")
        if word and not _summarises(above, cells):
            raise ValueError(
                f": its line `{word}` does not agree with the {_counted(len(above))} above it, so"
                " rows may be missing, or changed; fetch the file anew, or write `footer:"
                f" {{required: [{word}]}}` beside `file` where that line is no figure of the rows"
            )


TOTALS_WITHIN: Final = (
    " may hold totals among its rows{}; leave those out in the query of `.input`, {}, and"
    " write `footer: 0` beside `file`"
)


def _check_there(last: Sequence[Cells], missing: str, setting: TableFiles) -> None:
    """Refuse a file whose end says why one of the lines is not found that have to be there."""
    said = _LACKS.format(missing)
    start = missing.partition(setting.delimiter)[0].strip()
    if setting.ending in SEPARATED and start != missing:
        raise ValueError(
            f"{said}: that is more than one field; write how the first one begins,"
            f" `footer: [{start or 'Total'}]`"
        )
    for place, line in enumerate(last[:-1], 1):
        if _begins(line, (missing.casefold(),)):
            raise ValueError(
                f"{said}: one stands {_counted(len(last) - place)} above the end, and what follows"
                " it looks like rows; name in `footer` how those lines begin too, or fetch a file"
                " without them"
            )


_LACKS: Final = " has no line below its rows that begins with `{}`, as its `footer` says"


def has_parts(rows: Sequence[Cells]) -> bool:
    """Tell whether lines hold the sums of the lines since the total above them."""
    return bool(_parts(rows))


def _parts(rows: Sequence[Cells]) -> Sequence[int]:
    """Give the places of the lines that look like such totals; none where none holds a sum."""
    marks = [
        place for place, cells in enumerate(rows) if _says_total(cells) or _mentions_total(cells)
    ]
    if _sums(rows, marks):
        return marks
    # Totals of groups by whatever name: `Month 1` where all rows have a day, and these have none.
    width = max(map(len, rows), default=0)
    for column in range(width):
        places = [place for place, one in enumerate(rows) if _lacks(one, column)]
        several = len(places) >= _LEAST_PARTS and places[0] > 0
        if several and _sums(rows, places) * 2 >= len(places):
            return places
    return ()


def totals_within(rows: Sequence[Cells]) -> str:
    """Say that lines may hold totals, with the condition of SQL that leaves them out."""
    places = _parts(rows)
    if not places:
        return TOTALS_WITHIN.format("", "by a WHERE")
    marked = {*places}
    width = max(map(len, rows))
    for column in range(width):
        if {place for place, one in enumerate(rows) if _lacks(one, column)} >= marked:
            told = f"`WHERE ... IS NOT NULL` of the {_ordinal(column + 1)} column, empty there"
            return TOTALS_WITHIN.format(f", first in row {places[0] + 1}", told)
    found = next(n for n, one in enumerate(rows[places[0]]) if _filled(one))
    word = max(
        _WORDS.findall(_first(rows[places[0]])), key=lambda one: one.casefold() in _SUM_WORDS
    )
    told = f"`WHERE ... NOT LIKE '%{word}%'` of the {_ordinal(found + 1)} column"
    return TOTALS_WITHIN.format(f", first in row {places[0] + 1}", told)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in _TEENS else ending}"


_TEENS: Final = frozenset({11, 12, 13})


def _sums(rows: Sequence[Cells], places: Sequence[int]) -> int:
    """Count the lines at these places that hold a sum of the lines since the one before."""
    return sum(
        _summarises(rows[before + 1 : place], rows[place])
        for before, place in zip([-1, *places], places, strict=False)
    )


def _lacks(cells: Cells, column: int) -> bool:
    return column >= len(cells) or not _filled(cells[column])


def _may_end_a_group(last: Sequence[Cells]) -> bool:
    """Tell by a few lines whether the last one may be the total of a group."""
    *above, total = last or ((),)
    if not above:
        return False
    for column in range(len(above[-1])):
        lacking = [place for place, cells in enumerate(above) if _lacks(cells, column)]
        ends = _lacks(total, column) and lacking[-1:] != [len(above) - 1]
        if ends and (not lacking or _summarises(above[lacking[-1] + 1 :], total)):
            return True
    return False


def with_footer(setting: TableFiles, ending: Ending) -> tuple[TableFiles, tuple[str, ...]]:
    """Add the lines below the rows, or doubts about them."""
    last = ending.last(MOST_BELOW)
    if not _may_have_totals(last, 0):
        return setting, ()
    rows = ending.rows()
    doubts = [
        f"a line near the end says {_first(cells)}: write `footer: [{_first(cells)}]` where it is"
        " no row, `footer: 0` where it is one"
        for cells in last
        if _says_figure(cells)
    ]
    more = _totals(rows)
    if not more:
        return setting, tuple(doubts[:1])
    below, above = rows[len(rows) - more :], rows[: len(rows) - more]
    if has_parts(above):
        # They are no footer, and reading the file says what to do.
        return setting, ()
    footer = _footer_of(below)
    sums = [one for one in below if _summarises(above, one)]
    words = footer if isinstance(footer, tuple) else ()
    lines = {word: [one for one in below if _begins(one, (word.casefold(),))] for word in words}
    checked = tuple(word for word in words if all(one in sums for one in lines[word]))
    fits = bool(sums) or any(map(_is_alone, below))
    doubt = (
        f"the last line says {_first(below[0])} and holds no sum of the rows above it: it is left"
        " out; look whether rows are missing, or write `footer: 0` where it is a row itself"
    )
    return replace(setting, footer=footer, checked=checked), () if fits else (doubt,)


def _cut_off(ending: Ending, setting: TableFiles) -> int:
    footer = setting.footer
    if setting.words:
        found = 0
        for number, cells in enumerate(reversed(ending.last(MOST_BELOW)), 1):
            if _begins(cells, tuple(map(str.casefold, setting.words))):
                found = number
            elif not _is_note(cells):
                break
        return found
    if not isinstance(footer, int) or not footer:
        return 0
    last = ending.last(footer)
    if len(last) < footer:
        raise ValueError(f" has no footer of {_counted(footer)}")
    strange = [cells for cells in last if not _is_note(cells) and not _says_total(cells)]
    rows = ending.rows() if strange else ()
    above = rows[: len(rows) - footer]
    for cells in strange:
        named = _says_figure(cells) or _lacks_name(cells, above)
        if not (named and _summarises(above, cells)):
            raise ValueError(
                f": one of the last {_counted(footer)}, which `footer: {footer}` leaves out, looks"
                " like a row; take `footer` away, or name how the first line below the rows"
                " begins: `footer: [Total]`"
            )
    return footer


def _may_have_totals(last: Sequence[Cells], cut: int) -> bool:
    """Tell by a few lines whether all are worth a look; the last `cut` of them are left out."""
    left = last[: len(last) - cut]
    named = [_filled(cells[0]) for cells in left]
    # Those without a first cell, where there are any, are the last ones.
    return any(_says_figure(one) or _mentions_total(one) for one in left) or (
        named[:1] == [True] and named[-1:] == [False] and sorted(named, reverse=True) == named
    )


def _totals(rows: Sequence[Cells]) -> int:
    """Count the last lines from the first on that holds totals of all rows above it.

    What says so by a word that names no row needs no sum: it may have another meaning, or be wrong.
    """
    first = max(0, len(rows) - MOST_BELOW)
    above = [cells for cells in rows[:first] if not _says_figure(cells)]
    for place in range(first, len(rows)):
        total = rows[place]
        if place > first and not _says_figure(rows[place - 1]):
            above.append(rows[place - 1])
        short = bool(above) and _is_short_total(total, above)
        if not (short or _says_figure(total) or _lacks_name(total, rows[:place])):
            continue
        below = rows[place + 1 :]
        used = set().union(*map(_columns, above[-MOST_BELOW:]))
        free: set[int] = set()
        if (bool(above) and _is_alone(total) and _counts(total)) or _summarises(above, total):
            # What is no row fills no column that the total leaves to the rows.
            free = _columns(total) if used - _columns(total) else set()
        elif not short and (
            not (above and _says_total(total)) or any(map(_says_total, rows[:place]))
        ):
            continue
        if all(
            _says_figure(one)
            or _is_note(one)
            or _columns(one) <= free
            or _is_short_total(one, above)
            for one in below
        ):
            return len(rows) - place
    return 0


def _footer_of(lines: Sequence[Cells]) -> Footer:
    """Give what `footer` says of these lines: the words that they begin with, or their number."""
    words = [_first(cells) for cells in lines if not _is_note(cells)]
    if not all(map(_is_word, words)) or not words:
        return len(lines)
    return tuple(dict.fromkeys(words))


def _written_so(lines: Sequence[Cells], above: Sequence[Cells]) -> str:
    """Write it; what is no word for a total is a value, and values are not shown.

    Where they hold figures of the rows `above`, these are held against them from then on.
    """
    footer = _footer_of(lines)
    known = isinstance(footer, tuple) and all(
        one.casefold() in {*_TOTALS, *_FIGURES} for one in footer
    )
    if not isinstance(footer, tuple) or not known:
        return str(len(lines))
    named = f"[{', '.join(footer)}]"
    agree = all(_summarises(above, one) for one in lines if not _is_note(one))
    return f"{{checked: {named}}}" if agree else named


def unchecked(ending: Ending, setting: TableFiles) -> tuple[str, ...]:
    """Name the lines below the rows that hold figures of them, and are not held against them."""
    words = [one for one in setting.words if one not in setting.checked]
    cut = _cut_off(ending, setting) if words else 0
    rows = ending.rows() if cut else ()
    above = rows[: len(rows) - cut]
    found = []
    for word in words:
        lines = [one for one in rows[len(above) :] if _begins(one, (word.casefold(),))]
        if lines and all(_summarises(above, one) for one in lines):
            found.append(word)
    return tuple(found)


def _counted(number: int) -> str:
    return "1 line" if number == 1 else f"{number:,} lines"


def _filled(cell: str | None) -> bool:
    return bool(cell and cell.strip())


def _columns(cells: Cells) -> set[int]:
    return {place for place, cell in enumerate(cells) if _filled(cell)}


def _is_alone(cells: Cells) -> bool:
    return len(_columns(cells)) <= 1


def _first(cells: Cells) -> str:
    """Give the first words of a line, without what ends them."""
    found = next((cell for cell in cells if cell and cell.strip()), "")
    return found.strip(_SIGNS).strip()


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text))


def _is_note(cells: Cells) -> bool:
    """Tell whether a line is empty but for words, such as `* without VAT`: no name of a row."""
    first = next((cell.strip() for cell in cells if _filled(cell) and cell), "")
    return _is_alone(cells) and (not first or " " in first or not first[0].isalnum())


def _says_total(cells: Cells) -> bool:
    """Tell whether a line begins with a word for totals that hardly names a row."""
    return _begins(cells, _TOTALS)


def _mentions_total(cells: Cells) -> bool:
    """Tell whether a word for totals stands in the first cell beside others: `North Total`."""
    return not _SUM_WORDS.isdisjoint(_WORDS.findall(_first(cells).casefold()))


def _is_short_total(cells: Cells, above: Sequence[Cells]) -> bool:
    """Tell whether a line mentions totals, and is empty where all lines above it are not."""
    empty = [place for place, cell in enumerate(cells) if not _filled(cell)]
    return _mentions_total(cells) and any(
        all(place < len(one) and _filled(one[place]) for one in above) for place in empty
    )


def _says_figure(cells: Cells) -> bool:
    return _begins(cells, _TOTALS + _FIGURES) or bool(_COUNTED.match(_first(cells)))


def _counts(cells: Cells) -> bool:
    """Tell whether the words of a line hold its figure: `Total`, `Rows: 3`, `3 records`."""
    first = _first(cells)
    return _says_total(cells) or (any(map(str.isdigit, first)) and _is_word(first))


def _begins(cells: Cells, words: tuple[str, ...]) -> bool:
    """Tell whether a line begins with one of these casefolded words alone: `Total 2025`."""
    first = _first(cells).casefold()
    if not first.startswith(words):
        return False
    rests = (first[len(one) :] for one in words if first.startswith(one))
    return any(
        not rest or (not rest[0].isalnum() and not any(map(_is_other_word, rest.split())))
        for rest in rests
    )


def _is_other_word(word: str) -> bool:
    plain = word.strip("()[]:;,.-")
    return any(map(str.isalpha, plain)) and plain.upper() not in _UNITS


def _lacks_name(cells: Cells, above: Sequence[Cells]) -> bool:
    """Tell whether a line alone has nothing in the first column."""
    return bool(above) and not _filled(cells[0]) and all(_filled(one[0]) for one in above)


def _summarises(above: Sequence[Cells], line: Cells) -> bool:
    """Tell whether a line holds a sum of a column of the lines above it, or a figure it names."""
    others = not _says_total(line) and _says_figure(line)
    return any(
        (others and _number_of(cell) == len(above))
        or _is_figure([row[place] or "" for row in above if place < len(row)], cell, others=others)
        for place, cell in enumerate(line)
        if cell and any(map(str.isdigit, cell))
    )


def _number_of(text: str) -> Decimal | None:
    plain = without_unit(text.strip(), unit_of(text.strip()))
    spelled = next((found for one in (PLAIN, *_KNOWN) if (found := one.read_number(plain))), "")
    return Decimal(spelled) if spelled else None


def _is_figure(cells: Sequence[str], figure: str, *, others: bool) -> bool:
    """Tell whether a cell is the sum of those above it, in some spelling of numbers, or `others`.

    These are their least, greatest, middle and mean value.
    """
    if _SUMMED_BY_FORMULA.match(figure):
        return True
    unit = unit_of(figure)
    listed = [one.strip() for one in cells if one.strip() and not _says_nothing(one)]
    for locale in (PLAIN, *_KNOWN):
        spelled = locale.read_number(without_unit(figure.strip(), unit))
        if not spelled or len(listed) < _LEAST_SUMMED:
            continue
        read = [locale.read_number(without_unit(one, unit_of(one))) for one in listed]
        if not all(read):
            continue
        numbers = sorted(map(Decimal, read))
        value, total = Decimal(spelled), sum(numbers, Decimal())
        if value == total != 0:
            return True
        middle = {numbers[len(numbers) // 2], numbers[(len(numbers) - 1) // 2]}
        means = (total / len(numbers), sum(middle, Decimal()) / len(middle))
        places = len(spelled.partition(".")[2])
        near = any(abs(one - value) * 2 <= Decimal(1).scaleb(-places) for one in means)
        return others and (near or value in {numbers[0], numbers[-1]})
    return False
