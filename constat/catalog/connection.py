"""What every driver offers: a read-only connection that names its state, and exact cells."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, assert_never, cast, runtime_checkable

from constat.catalog.interruptible import PATIENCE
from constat.frozen import frozen, slotted
from constat.logic import (
    Kind,
    Value,
    canonical_decimal,
    canonical_float,
    check_integer,
    check_symbol,
    parse_value,
    read_as,
)

if TYPE_CHECKING:
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.evaluation import Demand, Range
    from constat.logic import Column, Row

# `SourceFailureError`: the source is missing, locked, damaged, slow or gives too much; another
# time it may answer. `QueryMistakeError`: the query cannot be right for this source.
# `reason` holds no address, no password and no value of the data.


class SourceFailureError(Exception):
    """A source did not answer; what it had given before is true but not all there is."""

    def __init__(self, reason: str, code: str = "C0520") -> None:
        self.reason = reason
        self.code = code
        super().__init__(reason)


class QueryMistakeError(Exception):
    """A query that is refused or cannot run; `help` says what to write instead."""

    def __init__(self, reason: str, code: str = "C0515", *, hint: str = "") -> None:
        self.reason = reason
        self.code = code
        self.help = hint
        super().__init__(reason)


LEFT_BEHIND: Final = "an earlier query did not end, and the state that it read is lost"
_TO_DO: Final = "no limit raises that: shorten the query, and write a constant out, not computed"


@contextmanager
def preparing() -> Iterator[None]:
    """Say of what takes too long in the block that it read no row yet, and what helps."""
    try:
        yield
    except SourceFailureError as problem:
        if problem.code != "C0521" or "finish" not in problem.reason:
            raise
        reason = problem.reason.replace("it did not finish", "preparing it did not end")
        raise SourceFailureError(f"{reason}; {_TO_DO}", "C0521") from None


READ: Final = "-- read: "
"""Begins a line, behind a query, that names the state of an object which was read."""


class Spelled(str):
    """How a source spells a value that is no text of its own, such as a date: never a symbol."""

    __slots__ = ()


class Single(float):
    """A binary float of 32 bits, exactly; its shortest decimal has fewer digits than a double's."""

    __slots__ = ()


Cell: TypeAlias = int | float | str | bytes | Decimal | date | datetime | None
"""What a driver gives for a cell: `bool` is an `int`; `Spelled` a `str`, `Single` a `float`."""
RawRow: TypeAlias = tuple[Cell, ...]
Parameter: TypeAlias = str | int | float


class Shown(Enum):
    """What of a query's answer a source shows a caller.

    `ROWS` are true rows and perhaps not all, `OTHER` may say something else than everybody's.
    """

    ALL = "all"
    ROWS = "rows"
    OTHER = "other"


@frozen
class SourceColumn:
    """A column of a table: its declared type, and whether the source keeps NULL out of it."""

    name: str
    declared: str
    never_null: bool


@frozen
class SourceTable:
    """A table or view. `plain` when values are stored as the column's declared type says."""

    name: str
    columns: tuple[SourceColumn, ...]
    plain: bool


@frozen
class ReadBounds:
    """How long a query may take, and how many rows it may give.

    After its time it is told to end; what has not ended `patience` seconds later is left behind.
    """

    seconds: float
    rows: int
    patience: float = PATIENCE


@frozen
class Question:
    """A query with what stands for its placeholders, in their order.

    `spelled` are the output columns that the source is asked to spell as text; their cells are
    read as `Spelled`. `tables` are those that it names, where that is known.
    """

    text: str
    parameters: tuple[Parameter, ...] = ()
    spelled: frozenset[int] = frozenset()
    tables: frozenset[str] | None = None


class Connection(Protocol):
    """A read-only connection to one source; used by one thread at a time, but for `cancel`."""

    @property
    def dialect(self) -> str:
        """The name of the source's SQL in sqlglot."""
        ...

    @property
    def snapshot(self) -> str | None:
        """The name of the one state that is read since `begin`; `None` where it is not one."""
        ...

    @property
    def most_keys(self) -> int:
        """How many values of keys fit into one question."""
        ...

    def replaced(self) -> bool:
        """Tell whether the name of the source now stands for something else than was opened."""
        ...

    def begin(self) -> bool:
        """Start reading one state, unless started; tells whether it may be a new one."""
        ...

    def release(self) -> None:
        """End reading one state, so that writers of the source are not kept waiting."""
        ...

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the tables and views by their names in lower case."""
        ...

    def columns(self, query: str) -> tuple[str, ...]:
        """Give the column names of a query without running it; raises `QueryMistakeError`."""
        ...

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the demanded columns whose keys may be sent (semantics 24).

        `nulls_matter` are the positions whose NULLs the caller must see.
        """
        ...

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for the rows of some keys (distinct, one value per push), and perhaps for more."""
        ...

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        ...

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query and yield batches of its rows."""
        ...

    def cancel(self) -> None:
        """Stop the query that is running, from any thread; without one, nothing happens."""
        ...

    def close(self) -> None:
        """Close the connection; a closed one may not be used."""
        ...


@runtime_checkable
class AskedFor(Protocol):
    """A connection to a source that shows each caller rows of their own."""

    def shown(self, guarded: Guarded) -> Shown:
        """Tell what of a query's answer the present caller is shown, in the state that is read."""
        ...


@runtime_checkable
class OfFiles(Protocol):
    """A connection to files, in which somebody may look for a cell to mend it."""

    def place(self, table: str, column: str, text: str) -> str:
        """Say in which file, and in which line, a column first holds a text; else nothing."""
        ...


@frozen
class Whole:
    """What is asked for: all rows of a query, with what is declared of them.

    `policies` are the null policies of the columns, `key` the positions of the predicate's key.
    Rows outside of the `ranges` may be left out, but for those of which a cell that a range speaks
    of is no value.
    """

    guarded: Guarded
    kinds: tuple[Kind, ...]
    policies: tuple[str, ...]
    distinct: bool
    key: tuple[int, ...]
    ranges: tuple[Range, ...] = ()


@frozen
class Stream:
    """All rows: how many, the query that gives them, and what runs it.

    `holes` are the rows that it leaves out, because a cell is NULL and is to be called unknown:
    each with its number, and with cells in canonical form. `changed` is asked when all is read:
    what was read may then be of two states. `told` are the ranges outside of which rows are left
    out.
    """

    rows: int
    query: str
    open: Callable[[], object]
    holes: tuple[tuple[int, Sequence[object]], ...] = ()
    changed: Callable[[], bool] = lambda: False
    parameters: tuple[Parameter, ...] = ()
    told: tuple[Range, ...] = ()


@runtime_checkable
class BulkConnection(Connection, Protocol):
    """A connection that knows how much there is, and may hand it over at once."""

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess how many rows a query gives, without running it; `None` where that is unknown."""
        ...

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        ...


@runtime_checkable
class GuessingConnection(Connection, Protocol):
    """A connection to a server that knows what its columns hold."""

    def guess(self, whole: Whole) -> float | None:
        """Guess how many rows lie within the ranges, without reading; `None` where unknown."""
        ...


NO_VALUE: Final = "no value of its kind"
"""What a query says that fails at a cell."""


@runtime_checkable
class ComputingConnection(Connection, Protocol):
    """A connection to a server that computes with whole relations where they lie."""

    def placed(self, whole: Whole, seconds: float, *, cheaply: bool) -> tuple[str, bool]:
        """Write the query that gives all rows in exact forms (`evaluation.Served`).

        And tell whether it only chooses among the rows of one table, the same ones each time.
        Raises `NotPlacedError` where there is none.
        """
        ...

    def doubted(self, whole: Whole, read: Collection[int], seconds: float) -> str:
        """Say what is wrong with cells of columns that are read; "" where all are exact values."""
        ...

    def minded(self, whole: Whole, read: Collection[int]) -> tuple[str, frozenset[int]]:
        """Write `placed` so that it fails (`NO_VALUE`) for what `doubted` looks for.

        And say of which of the columns that are read. A row that the query around it leaves out by
        the exact values of other columns need not be looked at.
        """
        ...

    def results(
        self, query: str, kinds: Sequence[Kind], bounds: ReadBounds
    ) -> Iterator[Mapping[str, object]]:
        """Run a query of Constat's own over such queries, and yield its rows as arrays."""
        ...

    def guessed(self, query: str) -> float | None:
        """Guess how many rows such a query gives, without running it."""
        ...


class NotPlacedError(Exception):
    """Why a server cannot compute with a relation, in words."""


# No value is rounded or guessed; NULL and bytes are never values; a value with a type of its own
# (truth value, decimal, date) is no text. A binary float in a Decimal column means its shortest
# decimal, because sources without decimals (SQLite) store 10.1 as the float nearest to 10.1; one
# of 32 bits means the shortest decimal among those.

_MIDNIGHT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]00:00(:00(\.0{1,9})?)?\Z")
_TRUTH: Final = (("0", "false"), ("1", "true"), ("false", "false"), ("true", "true"))


def read_cell(cell: Cell, kind: Kind) -> Value:
    """Give the value of a cell; raises `ValueError` where the cell is not exactly of that kind."""
    if cell is None or isinstance(cell, bytes):
        raise ValueError("is NULL" if cell is None else "holds bytes")
    if isinstance(cell, bool | Decimal | date | Spelled):
        return _typed(cell, kind)
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _integer(cell, kind)
        case Kind.FLOAT:
            return _float(cell)
        case Kind.DECIMAL:
            return _decimal(cell)
        case Kind.SYMBOL:
            return _symbol(cell)
        case Kind.DATE | Kind.TIMESTAMP:
            return _time(cell, kind)
        case Kind.BOOL:
            return _truth(cell)
        case Kind.STRUCTURE:
            return parse_value(_text(cell), kind)
        case _:
            assert_never(kind)


def read_column(cell: Cell, column: Column) -> Value:
    """Give the value of a cell of a column; a structure as people write it, of the column's type.

    Raises `ValueError` as `read_cell` does.
    """
    if column.kind is not Kind.STRUCTURE or not isinstance(cell, str) or isinstance(cell, Spelled):
        return read_cell(cell, column.kind)
    return read_as(cell, column)


def _typed(cell: bool | Decimal | date | Spelled, kind: Kind) -> Value:  # noqa: FBT001  a cell
    """Read what a source with types of its own gives."""
    if kind in {Kind.SYMBOL, Kind.STRUCTURE}:
        raise ValueError("holds no text where text is declared; cast it in the query")
    if isinstance(cell, Decimal):
        return _exact(cell, kind)
    if isinstance(cell, bool):
        if kind is not Kind.BOOL:
            raise ValueError("holds a truth value")
        return "true" if cell else "false"
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return _time(str(cell), kind)
    return parse_value(str(cell), kind)


def _exact(cell: Decimal, kind: Kind) -> Value:
    """Read a decimal of the source, which may stand for an integer or a float it equals."""
    if kind in {Kind.DATE, Kind.TIMESTAMP, Kind.BOOL}:
        raise ValueError("holds a number")
    value = canonical_decimal(cell)
    if kind is Kind.DECIMAL:
        return value
    if kind is Kind.FLOAT:
        nearest = canonical_float(float(value))
        # As in `_decimal`: a float and its shortest decimal stand for each other.
        if Decimal(repr(nearest)) != value:
            raise ValueError("has more digits than a float; cast it in the query")
        return nearest
    if value != value.to_integral_value():
        raise ValueError("is a fraction where an integer is declared")
    return check_integer(int(value), kind)


def _symbol(cell: float | str) -> str:
    return check_symbol(_text(cell))


def _text(cell: float | str) -> str:
    if not isinstance(cell, str):
        raise ValueError("holds a number where text is declared; cast it in the query")  # noqa: TRY004  callers catch one type
    return cell


def _truth(cell: float | str) -> str:
    for written, truth in _TRUTH:
        if not isinstance(cell, float) and str(cell) == written:
            return truth
    raise ValueError("is none of 0, 1, true and false")


def _integer(cell: float | str, kind: Kind) -> int:
    if isinstance(cell, str):
        value = parse_value(cell, kind)
        return value if isinstance(value, int) else 0
    if isinstance(cell, float):
        if not cell.is_integer():
            raise ValueError("is a fraction where an integer is declared")
        cell = int(cell)
    return check_integer(cell, kind)


def _float(cell: float | str) -> float:
    if isinstance(cell, str):
        return float(parse_value(cell, Kind.FLOAT))
    try:
        value = float(cell)
    except OverflowError:
        raise ValueError("is outside the floats") from None
    if isinstance(cell, int) and int(value) != cell:
        raise ValueError("is an integer that no float equals")
    return canonical_float(value)


def _decimal(cell: float | str) -> Decimal:
    if isinstance(cell, str):
        return Decimal(parse_value(cell, Kind.DECIMAL))
    return canonical_decimal(Decimal(_shortest(cell) if isinstance(cell, Single) else repr(cell)))


def _shortest(cell: Single) -> str:
    """Give the shortest decimal that is nearest to this float among those of 32 bits."""
    for digits in range(6, 10):
        text = f"{cell:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", cell):
            return text
    return repr(float(cell))


def _time(cell: float | str, kind: Kind) -> Value:
    if not isinstance(cell, str):
        raise ValueError("holds a number where a time is declared")  # noqa: TRY004  as in _symbol
    if kind is Kind.DATE:
        midnight = _MIDNIGHT.match(cell)
        return parse_value(midnight[1] if midnight else cell, kind)
    return parse_value(cell, kind)


# Whole columns are read faster than their cells: where all are of one type, what is said of that
# type holds for each of them, and equal cells have one value.

_MOST_KNOWN: Final = 100_000
_LONGEST_TEXT: Final = 1 << 20
_BOUNDS: Final = ((Kind.NUMBER, -(2**63), 2**63 - 1), (Kind.UNSIGNED, 0, 2**64 - 1))


@slotted
class Known:
    """The values of cells of one column that were read, all of one type: 1 equals 1.0 and True."""

    of: type = object
    values: dict[Cell, Value] = field(default_factory=dict)


def read_cells(cells: Sequence[Cell], kind: Kind, known: Known) -> Sequence[Value]:
    """Give the values of cells of one column; raises `ValueError` as `read_cell` does.

    `known` keeps values of cells of that column between batches. No structures: they have types.
    """
    types = set(map(type, cells))
    if len(types) == 1:
        if types == {int}:
            numbers = cast("Sequence[int]", cells)
            for own, least, most in _BOUNDS:
                if kind is own and least <= min(numbers) and max(numbers) <= most:
                    return numbers
        if types == {str} and kind is Kind.SYMBOL and _all_plain(cast("Sequence[str]", cells)):
            return cast("Sequence[str]", cells)
        (single,) = types
        return _read_alike(cells, kind, known, single)
    return [read_cell(cell, kind) for cell in cells]


def _read_alike(cells: Sequence[Cell], kind: Kind, known: Known, single: type) -> Sequence[Value]:
    """Read cells of one type, equal ones once."""
    if known.of is not single or len(known.values) > _MOST_KNOWN:
        known.of, known.values = single, {}
    values = known.values
    for cell in set(cells) - values.keys():
        values[cell] = read_cell(cell, kind)
    return [values[cell] for cell in cells]


def _all_plain(cells: Sequence[str]) -> bool:
    joined = "".join(cells)
    return joined.isascii() and "\0" not in joined and max(map(len, cells)) <= _LONGEST_TEXT
