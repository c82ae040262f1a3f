"""What every driver offers: a read-only connection that names its state.

In: one SELECT and texts as parameters. Out: batches of raw cells. Invariants: nothing is ever
written; all reading between `begin` and `release` sees one state of the source where the source
can do that; a query ends within its bounds or raises `SourceFailureError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Cell: TypeAlias = int | float | str | bytes | None
RawRow: TypeAlias = tuple[Cell, ...]


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


class Connection(Protocol):
    """A read-only connection to one source; used by one thread at a time."""

    @property
    def dialect(self) -> str:
        """The name of the source's SQL in sqlglot."""
        ...

    @property
    def snapshot(self) -> str | None:
        """The name of the state that is read since `begin`, or `None` where there is no name."""
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

    def read(
        self, query: str, parameters: Sequence[str | int], bounds: ReadBounds
    ) -> Iterator[list[RawRow]]:
        """Run a query and yield batches of its rows."""
        ...

    def close(self) -> None:
        """Close the connection; a closed one may not be used."""
        ...
