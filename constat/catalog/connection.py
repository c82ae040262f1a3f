"""What every driver offers: a read-only connection that names its state.

In: one SELECT and its parameters. Out: batches of raw cells. Invariants: nothing is ever written;
all reading between `begin` and `release` sees one state of the source where the source can do that;
a query ends within its bounds or raises `SourceFailureError`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.evaluation import Demand
    from constat.logic import Kind, Row


class Spelled(str):
    """How a source spells a value that is no text of its own, such as a date: never a symbol."""

    __slots__ = ()


class Single(float):
    """A binary float of 32 bits, exactly; its shortest decimal has fewer digits than a double's."""

    __slots__ = ()


Cell: TypeAlias = int | float | str | bytes | Decimal | date | datetime | None
"""What a driver gives for a cell: `bool` is an `int`; `Spelled` a `str`, `Single` a `float`."""
RawRow: TypeAlias = tuple[Cell, ...]
Parameter: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a table: its declared type, and whether the source keeps NULL out of it."""

    name: str
    declared: str
    never_null: bool


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table or view. `plain` when values are stored as the column's declared type says."""

    name: str
    columns: tuple[SourceColumn, ...]
    plain: bool


@dataclass(frozen=True, slots=True)
class ReadBounds:
    """How long a query may take, and how many rows it may give."""

    seconds: float
    rows: int


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Whole:
    """What is asked for: all rows of a query, with what is declared of them.

    `policies` are the null policies of the columns, `key` the positions of the predicate's key.
    """

    guarded: Guarded
    kinds: tuple[Kind, ...]
    policies: tuple[str, ...]
    distinct: bool
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """All rows: how many, the query that gives them, and what runs it.

    `holes` are the rows that it leaves out, because a cell is NULL and is to be called unknown:
    each with its number, and with cells in canonical form. `changed` is asked when all is read:
    what was read may then be of two states.
    """

    rows: int
    query: str
    open: Callable[[], object]
    holes: tuple[tuple[int, Sequence[object]], ...] = ()
    changed: Callable[[], bool] = lambda: False


@runtime_checkable
class BulkConnection(Connection, Protocol):
    """A connection that knows how much there is, and may hand it over at once."""

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess how many rows a query gives, without running it; `None` where that is unknown."""
        ...

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        ...
