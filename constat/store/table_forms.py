"""Tables as values: typed columns, one spelling in bytes, one hash, and rows made on demand."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import canonical_decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from constat.logic import Row
    from constat.store.tables import Transaction

# No value has two spellings that pass, so equal tables have equal bytes. All texts are looked at
# in one pass, because a table has millions. Also runs inside the sandbox.

# One line for each. Nothing is tried twice, so a million lines take a million steps.
_LINES: Final = re.compile(
    r"(?>(?:-?(?>0|[1-9][0-9]*)\.[0-9]*[1-9]|-?[1-9][0-9]*|0)\n)*+\Z", re.ASCII
)


def are_decimals(texts: Sequence[str], most_digits: int) -> bool:
    """Tell whether each text spells a decimal of so many digits at most."""
    # Only texts with more characters can have more digits.
    if any(sum(map(str.isdigit, one)) > most_digits for one in texts if len(one) > most_digits):
        return False
    lines = "\n".join([*texts, ""])
    return lines.count("\n") == len(texts) and bool(_LINES.match(lines))


_MAGIC: Final = b"CNSTTAB1"
MOST_COLUMNS: Final = 1_000
MOST_ROWS: Final = 100_000_000
_LONGEST_NAME: Final = 200
_LONGEST_HEADER: Final = 4 << 20
_MOST_DIGITS: Final = 38
_CONTINUES: Final = 0xC0
_CONTINUATION: Final = 0x80
TEXTUAL: Final = frozenset({"symbol", "structure", "Decimal"})
FIXED: Final = MappingProxyType(
    {
        "number": "<i8",
        "unsigned": "<u8",
        "float": "<f8",
        "Bool": "|u1",
        "Date": "<i4",
        "Timestamp": "<i8",
    }
)
KINDS: Final = (*FIXED, *sorted(TEXTUAL))
"""The kinds of columns, by the names that rules have for them."""
_EPOCH: Final = date(1970, 1, 1)
_EPOCH_TIME: Final = datetime(1970, 1, 1)  # noqa: DTZ001  times of tables are in UTC throughout
_FIRST_DAY: Final = (date.min - _EPOCH).days
_LAST_DAY: Final = (date.max - _EPOCH).days
_FIRST_MICROSECOND: Final = _FIRST_DAY * 86_400_000_000
_LAST_MICROSECOND: Final = (_LAST_DAY + 1) * 86_400_000_000 - 1


class TableError(ValueError):
    """Bytes, rows or names that are no table; the message quotes no value."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `data` are its cells one after another, texts with `ends`, the end of each.

    `missing` has a bit for each row where cells are missing, the first row lowest; else none.
    """

    name: str
    kind: str
    data: bytes
    missing: bytes = b""
    ends: bytes = b""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of one length; times are in UTC."""

    columns: tuple[Column, ...]
    rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the columns."""
        return tuple(column.kind for column in self.columns)

    @property
    def sha256(self) -> str:
        """The hash of the content: names, kinds and rows in their order."""
        return hashlib.sha256(encode(self)).hexdigest()

    @property
    def size(self) -> int:
        """The bytes that it takes, but for the header."""
        return sum(len(one.data) + len(one.missing) + len(one.ends) for one in self.columns)

    def values(self, place: int) -> list[Any]:
        """Give the cells of a column as logic has them, `None` where one is missing."""
        return column_values(self.columns[place], self.rows)

    def iterate(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows."""
        return zip(*(self.values(place) for place in range(len(self.columns))), strict=True)


def table_of(columns: Sequence[tuple[str, str]], cells: Sequence[Iterable[Any]]) -> Table:
    """Make a table of named, typed columns and their cells. Raises `TableError`."""
    made = []
    rows = 0
    for (name, kind), listed in zip(columns, cells, strict=True):
        values = list(listed)
        rows = len(values)
        made.append(_column(name, kind, values))
    return checked(Table(tuple(made), rows))


def encode(table: Table) -> bytes:
    """Spell a table."""
    parts = [_beginning(table)]
    for one in table.columns:
        parts += [one.missing, one.ends, one.data]
    return b"".join(parts)


def _beginning(table: Table) -> bytes:
    about = {
        "columns": [[one.name, one.kind, bool(one.missing)] for one in table.columns],
        "rows": table.rows,
    }
    header = json.dumps(about, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode()
    return _MAGIC + struct.pack("<I", len(header)) + header


def decode(content: bytes) -> Table:
    """Read what `encode` wrote; anything else raises `TableError`."""
    start = len(_MAGIC) + 4
    if len(content) < start or not content.startswith(_MAGIC):
        raise TableError("these bytes are no table")
    (length,) = struct.unpack_from("<I", content, len(_MAGIC))
    if length > _LONGEST_HEADER or start + length > len(content):
        raise TableError("the header of a table is damaged")
    names, rows = _header(content[start : start + length])
    place = start + length
    columns = []
    for name, kind, holes in names:
        column, place = _read_column(content, place, (name, kind, holes), rows)
        columns.append(column)
    if place != len(content):
        raise TableError("a table is followed by bytes that are not its own")
    table = checked(Table(tuple(columns), rows))
    if _beginning(table) != content[: start + length]:
        raise TableError("a table is not spelled as tables are")
    return table


def checked(table: Table) -> Table:
    """Give the table, or raise `TableError` where it breaks an invariant."""
    if len(table.columns) > MOST_COLUMNS or not 0 <= table.rows <= MOST_ROWS:
        raise TableError(f"a table has at most {MOST_COLUMNS} columns and {MOST_ROWS} rows")
    if len(set(table.names)) != len(table.names):
        raise TableError("two columns of a table have one name")
    for one in table.columns:
        check_name(one.name)
        if one.kind not in KINDS:
            raise TableError("a column has a kind that does not exist")
        _check_column(one, table.rows)
    return table


def check_name(name: str) -> str:
    """Give a name of a column, or raise `TableError`."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise TableError(f"a column's name has 1 to {_LONGEST_NAME} printable characters")
    return name


def missing_mask(column: Column, rows: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell for each row whether its cell is missing."""
    if not column.missing:
        return np.zeros(rows, np.bool_)
    bits = np.frombuffer(column.missing, np.uint8)
    return np.unpackbits(bits, count=rows, bitorder="little").astype(np.bool_)


def column_values(column: Column, rows: int) -> list[Any]:
    """Give the cells as logic has them."""
    found = _present(column)
    if column.missing:
        for place in np.flatnonzero(missing_mask(column, rows)).tolist():
            found[place] = None
    return found


def text_cells(column: Column) -> list[str]:
    """Give the cells of a textual column, the empty text where one is missing."""
    ends = np.frombuffer(column.ends, "<i8").tolist()
    data, places = column.data, zip([0, *ends], ends, strict=False)
    if data.isascii():
        text = data.decode()
        return [text[start:end] for start, end in places]
    return [data[start:end].decode() for start, end in places]


def column_of(
    name: str, kind: str, data: bytes, missing: np.ndarray[Any, Any], ends: bytes = b""
) -> Column:
    """Make a column of buffers; `missing` tells of each row."""
    holes = np.packbits(missing, bitorder="little").tobytes() if bool(missing.any()) else b""
    return Column(name, kind, data, holes, ends)


def text_column(name: str, kind: str, texts: Sequence[str | None]) -> Column:
    """Make a column of texts."""
    try:
        pieces = [b"" if text is None else text.encode() for text in texts]
    except UnicodeEncodeError:
        raise TableError("a text holds half a surrogate pair") from None
    ends = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces))).astype("<i8")
    missing = np.fromiter((text is None for text in texts), np.bool_, len(pieces))
    return column_of(name, kind, b"".join(pieces), missing, ends.tobytes())


def _column(name: str, kind: str, values: list[Any]) -> Column:
    if kind in TEXTUAL:
        return text_column(name, kind, [_spelled(value, kind) for value in values])
    if kind not in FIXED:
        raise TableError("a column has a kind that does not exist")
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    try:
        cells = [0 if value is None else _counted(value, kind) for value in values]
        data = np.array(cells, FIXED[kind]).tobytes()
    except (ValueError, TypeError, OverflowError):
        raise TableError(f"a cell is not of its column's kind, {kind}") from None
    return column_of(name, kind, data, missing)


def _spelled(value: Any, kind: str) -> str | None:  # noqa: ANN401  any cell
    if value is None or (kind in {"symbol", "structure"} and isinstance(value, str)):
        return value
    if kind == "Decimal" and isinstance(value, Decimal | int) and not isinstance(value, bool):
        return spelled_decimal(Decimal(value))
    raise TableError(f"a cell is not of its column's kind, {kind}")


def spelled_decimal(value: Decimal) -> str:
    """Spell a decimal without needless digits, as rules do. Raises `TableError`."""
    if not value.is_finite() or abs(value.adjusted()) > 2 * _MOST_DIGITS:
        raise TableError(f"a decimal is infinite or has more than {_MOST_DIGITS} digits")
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def _counted(value: Any, kind: str) -> int | float:  # noqa: ANN401  any cell
    match kind:
        case "Date":
            return (date.fromisoformat(value) - _EPOCH).days
        case "Timestamp":
            moment = datetime.fromisoformat(value.removesuffix("Z"))
            return (moment - _EPOCH_TIME) // timedelta(microseconds=1)
        case "Bool":
            return ("false", "true").index(value)
        case "float":
            return float(value)
        case _:
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError
            return value


def _present(column: Column) -> list[Any]:
    match column.kind:
        case "symbol" | "structure":
            return [*text_cells(column)]
        case "Decimal":
            return [Decimal(text or "0") for text in text_cells(column)]
        case _:
            cells = np.frombuffer(column.data, FIXED[column.kind])
    match column.kind:
        case "Bool":
            return ["true" if cell else "false" for cell in cells.tolist()]
        case "Date":
            return [(_EPOCH + timedelta(days=day)).isoformat() for day in cells.tolist()]
        case "Timestamp":
            return [_written_time(cell) for cell in cells.tolist()]
        case _:
            found: list[Any] = cells.tolist()
            return found


def _written_time(microseconds: int) -> str:
    moment = _EPOCH_TIME + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds") + "Z"


def _header(content: bytes) -> tuple[list[tuple[str, str, bool]], int]:
    try:
        told = json.loads(content)
        names = [(name, kind, holes) for name, kind, holes in told["columns"]]
        rows = told["rows"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TableError("the header of a table is damaged") from None
    typed = all(
        isinstance(name, str) and kind in KINDS and isinstance(holes, bool)
        for name, kind, holes in names
    )
    if not typed or type(rows) is not int or not 0 <= rows <= MOST_ROWS:
        raise TableError("the header of a table is damaged")
    return names, rows


def _read_column(
    content: bytes, place: int, about: tuple[str, str, bool], rows: int
) -> tuple[Column, int]:
    name, kind, holes = about
    missing, place = _taken(content, place, (rows + 7) // 8 if holes else 0)
    if kind not in TEXTUAL:
        data, place = _taken(content, place, rows * np.dtype(FIXED[kind]).itemsize)
        return Column(name, kind, data, missing), place
    ends, place = _taken(content, place, rows * 8)
    length = int(np.frombuffer(ends, "<i8")[-1]) if rows else 0
    data, place = _taken(content, place, length)
    return Column(name, kind, data, missing, ends), place


def _taken(content: bytes, place: int, length: int) -> tuple[bytes, int]:
    if length < 0 or place + length > len(content):
        raise TableError("a table is cut off")
    return content[place : place + length], place + length


def _check_column(column: Column, rows: int) -> None:
    if len(column.missing) not in {0, (rows + 7) // 8}:
        raise TableError("the marks of missing cells do not fit")
    missing = missing_mask(column, rows)
    holes = np.packbits(missing, bitorder="little").tobytes() if bool(missing.any()) else b""
    if holes != column.missing:
        raise TableError("the marks of missing cells do not fit")
    if column.kind in TEXTUAL:
        _check_texts(column, rows, missing)
        return
    if len(column.data) != rows * np.dtype(FIXED[column.kind]).itemsize or column.ends:
        raise TableError("a column has another length than its table")
    cells = np.frombuffer(column.data, FIXED[column.kind])
    # Compared as bytes: a missing float is +0, so that equal tables have equal hashes.
    if cells[missing].tobytes().strip(b"\0"):
        raise TableError("a missing cell holds a value")
    _check_range(cells, column.kind)


def _check_range(cells: np.ndarray[Any, Any], kind: str) -> None:
    bad = False
    match kind:
        case "float":
            bad = not bool(np.isfinite(cells).all())
        case "Bool":
            bad = bool((cells > 1).any())
        case "Date":
            bad = bool(((cells < _FIRST_DAY) | (cells > _LAST_DAY)).any())
        case "Timestamp":
            bad = bool(((cells < _FIRST_MICROSECOND) | (cells > _LAST_MICROSECOND)).any())
        case _:
            pass
    if bad:
        raise TableError(f"a cell is no value of its column's kind, {kind}")


def _check_texts(column: Column, rows: int, missing: np.ndarray[Any, Any]) -> None:
    if len(column.ends) != rows * 8:
        raise TableError("a column has another length than its table")
    ends = np.frombuffer(column.ends, "<i8")
    lengths = np.diff(ends, prepend=0)
    total = int(ends[-1]) if rows else 0
    if total != len(column.data) or bool((lengths < 0).any()) or bool(lengths[missing].any()):
        raise TableError("the lengths of texts do not fit")
    try:
        column.data.decode()
    except UnicodeDecodeError:
        raise TableError("a text is not UTF-8") from None
    inner = ends[ends < total]
    if bool((np.frombuffer(column.data, np.uint8)[inner] & _CONTINUES == _CONTINUATION).any()):
        raise TableError("a text ends inside a character")
    if column.kind == "Decimal":
        cells = text_cells(column)
        for place in np.flatnonzero(missing).tolist():
            cells[place] = "0"
        if not are_decimals(cells, _MOST_DIGITS):
            raise TableError("a cell is no value of its column's kind, Decimal")


# A version, once kept, is never changed; numbers of versions, notes and artifacts begin at 1 and
# have no gaps.

Scalar = int | float | str | bool | None
Json = Scalar | list["Json"] | dict[str, "Json"]

ARTIFACT_KINDS: Final = ("code", "output", "error", "plot", "query", "chart", "text")


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """Something that a step left besides tables; `attempt` counts the tries of the step."""

    kind: str
    name: str
    content: bytes = field(repr=False)
    media: str = "text/plain; charset=utf-8"
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class StepResult:
    """All that a step leaves; it is kept as a whole or not at all."""

    step: int
    name: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    artifacts: tuple[NewArtifact, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A version of a table.

    `reference` is the Parquet file of a large one in the store's folder, and empty for others.
    """

    name: str
    version: int
    step: int
    step_name: str
    sha256: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    size: int
    reference: str
    at: str


@dataclass(frozen=True, slots=True)
class StoredState:
    """A version of a state variable."""

    name: str
    version: int
    step: int
    value: Json
    at: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the scratchpad."""

    number: int
    step: int
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that a step left besides tables, without its content."""

    number: int
    step: int
    attempt: int
    kind: str
    name: str
    media: str
    sha256: str
    size: int
    at: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What `commit` kept, with the numbers that it got."""

    tables: tuple[StoredTable, ...] = ()
    state: tuple[StoredState, ...] = ()
    notes: tuple[Note, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


# What passes can be read back as it was, from each kind of database.

_NAME: Final = re.compile(r"[^\W\d]\w{0,99}\Z")
_LARGEST_STATE: Final = 1 << 20
_LARGEST_ARTIFACT: Final = 64 << 20
_LONGEST_NOTE: Final = 10_000
_LONGEST_TITLE: Final = 200
_DEEPEST: Final = 50
_MOST: Final = 1_000
_LARGEST_STEP: Final = 1 << 40
_RULE: Final = "letters, digits and `_`, not beginning with a digit, at most 100"


def check_result(result: StepResult) -> None:
    """Refuse what cannot be kept."""
    if type(result.step) is not int or not 0 <= result.step <= _LARGEST_STEP:
        raise _refusal("the number of a step is no whole number from 0 on")
    if not _is_title(result.name, empty=True):
        raise _refusal("the name of a step holds a control character, or is too long")
    counts = (result.tables, result.state, result.notes, result.artifacts)
    if any(len(one) > _MOST for one in counts):
        raise _refusal(f"a step leaves more than {_MOST} of one kind")
    for name in (*result.tables, *result.state):
        if not is_name(name):
            raise _refusal("the name of a table or state variable is not one", _RULE)
    _check_contents(result)


def is_name(text: str) -> bool:
    """Tell whether a text may name a table or a state variable."""
    return bool(_NAME.match(text))


def _check_contents(result: StepResult) -> None:
    for table in result.tables.values():
        try:
            checked(table)
        except TableError as problem:
            raise _refusal(f"a table cannot be kept: {problem}") from None
    for value in result.state.values():
        json_text(value)
    for note in result.notes:
        if len(note) > _LONGEST_NOTE or not _is_text(note):
            raise _refusal("a note is too long, or holds half a surrogate pair")
    for artifact in result.artifacts:
        _check_artifact(artifact)


def _check_artifact(artifact: NewArtifact) -> None:
    if artifact.kind not in ARTIFACT_KINDS:
        raise _refusal("an artifact is of no known kind", ", ".join(ARTIFACT_KINDS))
    if not _is_title(artifact.name, empty=True) or not _is_title(artifact.media):
        raise _refusal("the name or media type of an artifact holds a control character")
    if len(artifact.content) > _LARGEST_ARTIFACT:
        raise _refusal(f"an artifact is larger than {_LARGEST_ARTIFACT >> 20} MiB")


def json_text(value: Json) -> str:
    """Spell a value; raises `ConstatError` for one that JSON has no word for."""
    if not is_json(value):
        raise _refusal("a state variable is no text, number, truth value, list or table of these")
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(text) > _LARGEST_STATE:
        raise _refusal(f"a state variable is larger than {_LARGEST_STATE >> 20} MiB")
    return text


def is_json(value: object) -> bool:
    """Tell whether a value can be spelled and read back as it was, without recursion."""
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if depth > _DEEPEST:
            return False
        if isinstance(one, list):
            pending += [(inner, depth + 1) for inner in one]
        elif isinstance(one, dict):
            if not all(isinstance(key, str) for key in one):
                return False
            pending += [(inner, depth + 1) for inner in one.values()]
        elif not is_scalar(one):
            return False
    return True


def is_scalar(value: object) -> bool:
    """Tell whether a value is a single one that JSON has a word for."""
    if isinstance(value, bool | str) or value is None:
        return True
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 64
    return isinstance(value, float) and math.isfinite(value)


def next_numbers(transaction: Transaction, table: str, session: str) -> Callable[[str], int]:
    """Give what tells the next version of a name; the transaction is the only one that writes."""

    def following(name: str) -> int:
        statement = f"SELECT max(version) FROM {table} WHERE session = ? AND name = ?"  # noqa: S608  our names
        return int(transaction.rows(statement, (session, name))[0][0] or 0) + 1

    return following


def _is_title(text: str, *, empty: bool = False) -> bool:
    return (bool(text) or empty) and len(text) <= _LONGEST_TITLE and text.isprintable()


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(message: str, hint: str = "") -> ConstatError:
    note = f"allowed are {hint}" if hint else ""
    return ConstatError([Diagnostic("C0917", message, note=note)])


# A row is the same value whether it is read alone, in a stretch, or with all others.

MANY: Final = 50_000
"""From so many rows on, a relation of a step is kept as a table and not as Python values."""
_BATCH: Final = 10_000


class TableRows(Sequence["Row"]):
    """The rows of a table. Equal to any sequence of the same rows."""

    def __init__(self, table: Table) -> None:
        if any(column.missing for column in table.columns):
            raise ValueError("a row of a relation has no missing cell")
        self.table = table

    def __len__(self) -> int:
        return self.table.rows

    def __iter__(self) -> Iterator[Row]:
        for first in range(0, self.table.rows, _BATCH):
            yield from self._stretch(first, min(first + _BATCH, self.table.rows))

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """Give a row, or a stretch of rows."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                raise ValueError("rows are taken one after the other")
            return tuple(self._stretch(first, max(first, last)))
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        return self._stretch(number, number + 1)[0]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TableRows):
            return self.table == other.table or tuple(self) == tuple(other)
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(map(tuple.__eq__, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"TableRows({len(self):,} rows)"

    def _stretch(self, first: int, last: int) -> list[Row]:
        if not self.table.columns:
            return [()] * (last - first)
        cells = [_values(_part(column, first, last), last - first) for column in self.table.columns]
        return list(zip(*cells, strict=True))


def rows_table(columns: Sequence[tuple[str, str]], rows: Iterable[Row]) -> Table:
    """Make the table of rows; those that lie in one already are not read."""
    if isinstance(rows, TableRows):
        named = zip(columns, rows.table.columns, strict=True)
        made = [Column(name, one.kind, one.data, one.missing, one.ends) for (name, _), one in named]
        return Table(tuple(made), rows.table.rows)
    listed = list(rows)
    if not columns:
        return Table((), len(listed))
    return table_of(columns, [[row[place] for row in listed] for place in range(len(columns))])


def table_rows(table: Table) -> Sequence[Row]:
    """Give the rows of a table: as Python values where they are few."""
    if table.rows >= MANY:
        return TableRows(table)
    cells = [_values(column, table.rows) for column in table.columns]
    return tuple(zip(*cells, strict=True)) if cells else ((),) * table.rows


def repeated(table: Table) -> int:
    """Count the rows that are equal to the one before them."""
    same = np.ones(max(0, table.rows - 1), np.bool_)
    # The columns that are compared fastest come first: most often one of them settles it.
    for column in sorted(table.columns, key=lambda one: one.kind in TEXTUAL):
        if not same.any():
            break
        same &= _same(column)
    return int(same.sum())


def _same(column: Column) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if column.kind not in TEXTUAL:
        cells = np.frombuffer(column.data, FIXED[column.kind])
        found: np.ndarray[Any, np.dtype[np.bool_]] = cells[1:] == cells[:-1]
        return found
    ends = np.frombuffer(column.ends, "<i8").tolist()
    texts = [column.data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return np.fromiter((a == b for a, b in zip(texts[1:], texts, strict=False)), np.bool_)


def _part(column: Column, first: int, last: int) -> Column:
    if column.kind not in TEXTUAL:
        size = np.dtype(FIXED[column.kind]).itemsize
        return Column(column.name, column.kind, column.data[first * size : last * size])
    ends = np.frombuffer(column.ends, "<i8")
    start = int(ends[first - 1]) if first else 0
    chosen = ends[first:last]
    stop = int(chosen[-1]) if len(chosen) else start
    own = (chosen - start).astype("<i8").tobytes()
    return Column(column.name, column.kind, column.data[start:stop], b"", own)


def _values(column: Column, rows: int) -> list[Any]:
    found = column_values(column, rows)
    if column.kind == "Decimal":
        return [canonical_decimal(Decimal(one)) for one in found]
    return found
