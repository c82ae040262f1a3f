"""Tables as values: typed columns, one spelling in bytes, one hash.

Invariant: imports the standard library and numpy alone, because it also runs inside the sandbox.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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


@frozen
class Column:
    """A column. `data` are its cells one after another, texts with `ends`, the end of each.

    `missing` has a bit for each row where cells are missing, the first row lowest; else none.
    """

    name: str
    kind: str
    data: bytes
    missing: bytes = b""
    ends: bytes = b""


@frozen
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
