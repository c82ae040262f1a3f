"""Hand out the rows of a source that gives them one by one as an Arrow stream.

Batches are read by columns, so a million rows cost seconds and not a minute. What is handed out is
what reading cell by cell gives, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from constat.catalog.connection import (
    Known,
    QueryMistakeError,
    SourceFailureError,
    Stream,
    read_cells,
)
from constat.catalog.duck_queries import DIGITS, MOST_HOLES, DuckColumn, looked, whole_queries
from constat.diagnostics.interruption import check_interrupted
from constat.frozen import frozen
from constat.logic import Kind, NullPolicy, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from constat.catalog.connection import Question, RawRow, ReadBounds, Whole
    from constat.catalog.duck_session import DuckSession

_ROWS_AT_ONCE: Final = 50_000
# An empty DuckDB takes a few hundredths of a second to open; what held more is given back.
_FEW: Final = 100_000
_MOST_PLACES: Final = 12
_MOST_WHOLE_DIGITS: Final = 26
_HELD: Final = frozenset(policy.value for policy in NullPolicy)
_TYPES: Final = (
    (Kind.NUMBER, "BIGINT"),
    (Kind.UNSIGNED, "UBIGINT"),
    (Kind.FLOAT, "DOUBLE"),
    (Kind.DECIMAL, "DECIMAL(38,12)"),
)
_ARRAYS: Final = MappingProxyType(
    {Kind.NUMBER: np.int64, Kind.UNSIGNED: np.uint64, Kind.FLOAT: np.float64}
)


class RowStreams:
    """The rows of one source that were read by columns; they go when `forget` is called."""

    def __init__(self) -> None:
        self._session: DuckSession | None = None
        self._found: dict[Whole, Stream | None] = {}
        # Also what failed on its way has left a table behind.
        self._tables = 0

    def stream(
        self, whole: Whole, query: str, read: Callable[[], Iterable[list[RawRow]]], seconds: float
    ) -> Stream | None:
        """Give all rows of a query; `None` where they have to be read cell by cell.

        What was read once is handed out again: its source is in one state until `forget`.
        """
        if whole not in self._found:
            self._found[whole] = self._read(whole, query, read, seconds)
        return self._found[whole]

    def _read(
        self, whole: Whole, query: str, read: Callable[[], Iterable[list[RawRow]]], seconds: float
    ) -> Stream | None:
        if Kind.STRUCTURE in whole.kinds or not whole.kinds:
            return None
        table = _Table(whole, self._opened(), self._fresh(), seconds)
        try:
            for batch in _larger(read()):
                check_interrupted()
                table.add(batch)
            return table.stream(query)
        except ValueError:
            # A cell that is no value: whoever reads cell by cell says where it is.
            table.drop()
            return None

    def copied(
        self,
        whole: Whole,
        forms: Sequence[Form],
        question: Question,
        read: Callable[[], Iterable[Mapping[str, npt.NDArray[Any]]]],
        bounds: ReadBounds,
    ) -> Stream | None:
        """Give all rows that come as arrays in some forms, as `stream` does for others."""
        if whole not in self._found:
            self._found[whole] = self._copy(whole, forms, question, read, bounds)
        return self._found[whole]

    def _copy(
        self,
        whole: Whole,
        forms: Sequence[Form],
        question: Question,
        read: Callable[[], Iterable[Mapping[str, npt.NDArray[Any]]]],
        bounds: ReadBounds,
    ) -> Stream | None:
        name = self._fresh()
        local = replace(whole.guarded, text=f'SELECT * FROM "{name}"')  # noqa: S608  a name of ours
        columns = [DuckColumn(f"c{n}", one.kind, one.stored) for n, one in enumerate(forms)]
        queries = whole_queries(replace(whole, guarded=local), columns)
        if queries is None:
            return None
        session = self._opened()
        listed = ", ".join(f"c{n} {one.stored}" for n, one in enumerate(forms))
        session.own(f'CREATE TABLE "{name}" ({listed})')
        try:
            for arrays in read():
                check_interrupted()
                session.load(name, arrays, bounds.seconds)
        except ValueError:
            session.own(f'DROP TABLE "{name}"')
            return None
        found = looked(session, queries, bounds)
        if found is None:
            return None
        return replace(found, query=question.text, parameters=question.parameters)

    def _fresh(self) -> str:
        self._tables += 1
        return f"rows{self._tables}"

    def _opened(self) -> DuckSession:
        from constat.catalog.duck_session import DuckSession  # noqa: PLC0415  loaded when it is used

        if self._session is None:
            self._session = DuckSession(None)
        return self._session

    def forget(self) -> None:
        """Let go of what was read; the DuckDB stays for the next rows, unless it held many."""
        self._found.clear()
        try:
            if self._session is not None and not _emptied(self._session):
                self.close()
        except (SourceFailureError, QueryMistakeError):
            self.close()

    def close(self) -> None:
        """Forget what was read, and close."""
        self._found.clear()
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _emptied(session: DuckSession) -> bool:
    """Drop all tables, which leaves nothing; tell whether there were few rows."""
    tables = session.own("SELECT table_name, estimated_size FROM duckdb_tables()")
    few = sum(int(str(rows)) for _, rows in tables) <= _FEW
    for name, _ in tables if few else ():
        session.own(f'DROP TABLE "{name}"')
    return few


def _larger(batches: Iterable[list[RawRow]]) -> Iterable[list[RawRow]]:
    """Join small batches: each of ours becomes one piece of a table."""
    waiting: list[RawRow] = []
    for batch in batches:
        waiting += batch
        if len(waiting) >= _ROWS_AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


class _Table:
    """The rows of one query on their way into a table."""

    def __init__(self, whole: Whole, session: DuckSession, name: str, seconds: float) -> None:
        self._whole = whole
        self._session = session
        self._name = name
        self._seconds = seconds
        self._known = [Known() for _ in whole.kinds]
        self._read = 0
        self._holes: list[tuple[int, Sequence[object]]] = []
        self._skipped = [n for n, one in enumerate(whole.policies) if one == "skip"]
        types = dict(_TYPES)
        columns = [f"v{n} {types.get(one, 'VARCHAR')}" for n, one in enumerate(whole.kinds)]
        session.own(f'CREATE TABLE "{name}" ({", ".join(columns)})')
        keys = ", ".join(columns[place] for place in whole.key) or "none INTEGER"
        session.own(f'CREATE TABLE "{name} keys" ({keys})')

    def add(self, batch: list[RawRow]) -> None:
        """Add rows; raises `ValueError` where one has to be looked at by itself."""
        begun = self._read
        self._read += len(batch)
        full = [raw for raw in batch if None not in raw]
        if len(full) < len(batch):
            self._set_apart(batch, begun)
        if full:
            self._insert(self._name, full, range(len(self._whole.kinds)))

    def _set_apart(self, batch: list[RawRow], begun: int) -> None:
        holes = [(begun + n, raw) for n, raw in enumerate(batch, 1) if None in raw]
        if self._skipped:
            holes = [one for one in holes if all(one[1][n] is not None for n in self._skipped)]
        policies = self._whole.policies
        for _, raw in holes:
            for place, cell in enumerate(raw):
                held = policies[place] in _HELD and place not in self._whole.key
                if cell is None and not held:
                    raise ValueError
        self._holes += holes
        # Of repeated rows only reading them one by one tells which count.
        if len(self._holes) > MOST_HOLES or (self._holes and self._whole.distinct):
            raise ValueError
        if holes and self._whole.key:
            keys: list[RawRow] = [tuple(raw[n] for n in self._whole.key) for _, raw in holes]
            self._insert(f"{self._name} keys", keys, self._whole.key)

    def _insert(self, table: str, rows: list[RawRow], places: Sequence[int]) -> None:
        arrays = {}
        for number, (place, cells) in enumerate(zip(places, zip(*rows, strict=True), strict=True)):
            kind = self._whole.kinds[place]
            arrays[f"v{number}"] = _array(read_cells(cells, kind, self._known[place]), kind)
        self._session.load(table, arrays, self._seconds)

    def stream(self, query: str) -> Stream | None:
        """Give what was added; `None` where a key comes twice."""
        every = f'SELECT * FROM "{self._name}"'  # noqa: S608  a name of ours
        if self._whole.distinct:
            every = f'SELECT DISTINCT * FROM "{self._name}"'  # noqa: S608
        rows = self._count(f"FROM ({every})")
        if self._whole.key:
            listed = ", ".join(f"v{place}" for place in self._whole.key)
            both = f'SELECT {listed} FROM ({every}) UNION ALL SELECT * FROM "{self._name} keys"'  # noqa: S608
            keys = self._count(f"FROM (SELECT DISTINCT * FROM ({both}))")  # noqa: S608
            if keys < rows + len(self._holes):
                self.drop()
                return None
        return Stream(rows, query, lambda: self._session.stream(every), tuple(self._holes))

    def _count(self, source: str) -> int:
        found = self._session.rows(f"SELECT count(*) {source}", self._seconds, lambda _: None)
        return int(str(found[0][0]))

    def drop(self) -> None:
        """Let go of what was added."""
        self._session.own(f'DROP TABLE "{self._name}"')
        self._session.own(f'DROP TABLE "{self._name} keys"')


def _array(values: Sequence[Value], kind: Kind) -> npt.NDArray[Any]:
    """Give values as an array that DuckDB takes for a column of that kind."""
    if kind is Kind.DECIMAL:
        values = [_spelled(cast("Decimal", one)) for one in values]
    elif kind not in _ARRAYS:
        values = cast("Sequence[Value]", list(map(str, values)))
    return np.array(values, dtype=_ARRAYS.get(kind, np.object_))


def _spelled(value: Decimal) -> str:
    """Spell a decimal; raises `ValueError` for one that no column holds."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent > _MOST_PLACES:
        raise ValueError
    if value.adjusted() >= _MOST_WHOLE_DIGITS:
        raise ValueError
    return f"{value:f}"


# A row of PostgreSQL's binary COPY is the number of its fields in two bytes; each field is its
# length in four, -1 for NULL, and its bytes. Each row comes as one message, so that where rows
# begin is known, and a field of all rows at once is read where the one before it ended. Example: a
# row of one integer, 0001 00000004 0000002a. References:
# https://www.postgresql.org/docs/current/sql-copy.html and
# https://www.postgresql.org/docs/current/protocol-message-formats.html

_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER: Final = b"\xff\xff"
_EPOCH: Final = np.datetime64("2000-01-01", "us")
# Microseconds from there to the beginning of year 1, and to the end of year 9999.
_FIRST: Final = -63_082_281_600_000_000
_LAST: Final = 252_455_615_999_999_999
_DAY: Final = 86_400_000_000


@frozen
class Form:
    """How fields of one type are read: as numbers of a width or, without one, as text.

    `kind` and `stored` are the names of the type of DuckDB that holds them; `unit` is that of
    times, in microseconds, counted from 2000.
    """

    kind: str
    stored: str
    array: str = ""
    unit: int = 0


FORMS: Final = MappingProxyType(
    {
        "text": Form("varchar", "VARCHAR"),
        "digits": Form(DIGITS, "VARCHAR"),
        "int2": Form("smallint", "SMALLINT", ">i2"),
        "int4": Form("integer", "INTEGER", ">i4"),
        "int8": Form("bigint", "BIGINT", ">i8"),
        "float4": Form("float", "FLOAT", ">f4"),
        "float8": Form("double", "DOUBLE", ">f8"),
        "bool": Form("boolean", "BOOLEAN", "?"),
        "date": Form("date", "DATE", ">i4", _DAY),
        "timestamp": Form("timestamp", "TIMESTAMP", ">i8", 1),
    }
)


def unpacked(rows: Sequence[bytes], forms: Sequence[Form]) -> dict[str, npt.NDArray[Any]]:
    """Give the columns of some rows; raises `ValueError` for a row that is built otherwise."""
    whole, sizes = _without_frame(rows)
    ends = np.cumsum(sizes)
    places = ends - sizes
    if np.any(_numbers(whole, places, ">i2") != len(forms)):
        raise ValueError("a row has another number of fields")
    places = places + 2
    found = {}
    for number, form in enumerate(forms):
        if np.any(places + 4 > ends):
            raise ValueError("a row ends too early")
        lengths = _numbers(whole, places, ">i4").astype(np.int64)
        begins = places + 4
        nulls = lengths < 0
        places = begins + np.where(nulls, 0, lengths)
        if np.any(places > ends):
            raise ValueError("a field ends behind its row")
        if not form.array:
            found[f"c{number}"] = _texts(whole, begins, places, nulls)
        else:
            width = np.dtype(form.array).itemsize
            if np.any(lengths[~nulls] != width):
                raise ValueError("a field has another width")
            # What is NULL is read as the first bytes, and hidden.
            values = _numbers(whole, np.where(nulls, 0, begins), form.array)
            found[f"c{number}"] = _hidden(values, nulls, form)
    if np.any(places != ends):
        raise ValueError("a row has more than its fields")
    return found


def _without_frame(rows: Sequence[bytes]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Give the bytes of the rows and how many each has, without what frames all of them."""
    whole = b"".join(rows)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    if whole.startswith(_HEADER):
        whole = whole[len(_HEADER) :]
        sizes[0] -= len(_HEADER)
    if whole.endswith(_TRAILER) and sizes[-1] == len(_TRAILER):
        whole, sizes = whole[: -len(_TRAILER)], sizes[:-1]
    return whole, sizes if len(sizes) == 0 or sizes[0] else sizes[1:]


def _numbers(whole: bytes, places: npt.NDArray[np.int64], form: str) -> npt.NDArray[Any]:
    """Read a number at each place."""
    last = len(whole) - np.dtype(form).itemsize
    if len(places) == 0:
        return np.zeros(0, form)
    if int(places.max()) > last:
        raise ValueError("a row ends too early")
    # Numbers begin at any byte: an array of all of them, of which some are taken.
    return np.ndarray((last + 1,), form, whole, 0, (1,))[places]


def _hidden(values: npt.NDArray[Any], nulls: npt.NDArray[np.bool_], form: Form) -> npt.NDArray[Any]:
    if not form.unit:
        own = values.astype(values.dtype.newbyteorder("="))
        return np.ma.masked_array(own, nulls) if nulls.any() else own
    least, most = _FIRST // form.unit, _LAST // form.unit
    if np.any(~nulls & ((values < least) | (values > most))):
        raise ValueError("a time is infinite, or beyond the years that a value has")
    since = np.where(nulls, 0, values).astype(np.int64) * form.unit
    times = _EPOCH + since.astype("timedelta64[us]")
    times[nulls] = np.datetime64("NaT")
    return times


def _texts(
    whole: bytes,
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    nulls: npt.NDArray[np.bool_],
) -> npt.NDArray[Any]:
    pairs = zip(begins.tolist(), ends.tolist(), strict=True)
    found = np.empty(len(begins), np.object_)
    found[:] = [str(whole[begin:end], "utf-8") for begin, end in pairs]
    found[nulls] = None
    return found


# A row of MariaDB's text form is one packet: for each field its length and its text. The length is
# one byte, or two or three behind 252 and 253; 251 is NULL. Reference:
# https://mariadb.com/kb/en/result-set-packets/ and .../protocol-data-types/

_NULL: Final = 251
_TWO: Final = 252
_THREE: Final = 253


def fetched(rows: Sequence[bytes], forms: Sequence[Form]) -> dict[str, npt.NDArray[Any]]:
    """Give the columns of some rows; raises `ValueError` for a row or a cell of another form."""
    # Of a short row at the end three bytes of a length are read all the same.
    whole = b"".join(rows) + bytes(4)
    data = np.frombuffer(whole, np.uint8)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    ends = np.cumsum(sizes)
    places = ends - sizes
    found = {}
    for number, form in enumerate(forms):
        if np.any(places >= ends):
            raise ValueError("a row ends too early")
        first, second, third, fourth = (data[places + n].astype(np.int64) for n in range(4))
        if np.any(first > _THREE):
            raise ValueError("a field is too long")
        nulls = first == _NULL
        lengths = np.where(first < _NULL, first, np.where(nulls, 0, second + (third << 8)))
        lengths += np.where(first == _THREE, fourth << 16, 0)
        begins = places + 1 + np.where(first == _TWO, 2, np.where(first == _THREE, 3, 0))
        places = begins + lengths
        if np.any(places > ends):
            raise ValueError("a field ends behind its row")
        found[f"c{number}"] = _read_texts(whole, begins, places, nulls, form)
    if np.any(places != ends):
        raise ValueError("a row has more than its fields")
    return found


def _read_texts(
    whole: bytes,
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    nulls: npt.NDArray[np.bool_],
    form: Form,
) -> npt.NDArray[Any]:
    """Read values from the texts by which a server spells them."""
    if not form.array:
        return _texts(whole, begins, ends, nulls)
    pairs = zip(begins.tolist(), ends.tolist(), strict=True)
    spelled = np.array([whole[begin:end] for begin, end in pairs])
    if form.unit:
        spelled[nulls] = b"NaT"
        return spelled.astype("U10").astype("datetime64[D]").astype("datetime64[us]")
    spelled[nulls] = b"0"
    values = spelled.astype(np.dtype(form.array).newbyteorder("="))
    return np.ma.masked_array(values, nulls) if nulls.any() else values
