"""Rows that lie in a DuckDB: a sequence that is read batch by batch.

In: a relation of DuckDB with a column `v<n>` for each column of the answer. Out: rows as tuples of
canonical values, in the order of their values unless another is asked for. Invariants: the rows are
distinct and do not change; a row exists as Python values only while somebody looks at it. Example:
the first five of ten million rows are found by one query that keeps five.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar, overload

from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Kind, canonical_decimal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from constat.logic import Row
    from constat.sql import Database
    from constat.store.tables_format import Table

T = TypeVar("T")
_BATCH: Final = 10_000
Order = tuple[tuple[int, bool], ...]
"""Columns to sort by, the first one first, each with whether it descends."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows(Sequence["Row"]):
    """A part of the rows of a relation: so many from `start`, in an order.

    Where rows are not all proved, `unproved` names a column of truth values that says which.
    """

    relation: duckdb.DuckDBPyRelation
    kinds: tuple[Kind, ...]
    total: int
    database: Database
    order: Order = ()
    start: int = 0
    most: int | None = None
    unproved: str = ""

    def __len__(self) -> int:
        left = max(0, self.total - self.start)
        return left if self.most is None else min(left, self.most)

    def __iter__(self) -> Iterator[Row]:
        for batch in self.batches(self._values()):
            if not self.kinds:
                yield from ((),) * len(batch)
            elif Kind.DECIMAL in self.kinds:
                yield from map(self.canonical, batch)
            else:
                yield from batch

    def canonical(self, row: Row) -> Row:
        """Give a row as DuckDB gives it in canonical form: its decimals have zeros at the end."""
        return tuple(
            [
                canonical_decimal(Decimal(cell)) if kind is Kind.DECIMAL else cell
                for cell, kind in zip(row, self.kinds, strict=True)
            ]
        )

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> StoredRows: ...
    def __getitem__(self, place: int | slice) -> Row | StoredRows:
        """Give a row, or a stretch of rows."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                raise ValueError("rows are taken one after the other")
            most = max(0, last - first)
            return replace(self, start=self.start + first, most=most)
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        return next(iter(self[number : number + 1]))

    def ordered(self, place: int, *, descending: bool) -> StoredRows:
        """Give the same rows in the order of a column; equal ones keep their order."""
        if len(self) != self.total:
            raise ValueError("a stretch of rows has its order")
        return replace(self, order=((place, descending), *self.order))

    def selected(self) -> duckdb.DuckDBPyRelation:
        """Give these rows as a relation, in their order."""
        found = self.relation
        if self.kinds:
            found = found.sort(*self._sorting())
        return found if len(self) == self.total else found.limit(len(self), self.start)

    def as_table(self, names: Sequence[str]) -> Table:
        """Give the rows as a table, in their order, without making Python values of them.

        Raises `ConstatError` where memory or disk do not suffice.
        """
        cells = importlib.import_module("constat.store.tables_cells")
        columns = [(name, kind.value) for name, kind in zip(names, self.kinds, strict=True)]
        stored = [cells.canonical_stored(f"v{n}", kind) for n, (_, kind) in enumerate(columns)]
        with _failures():
            found: Table = self._beside(lambda: cells.fetched(self._values(), columns, stored))
        return found

    def _values(self) -> duckdb.DuckDBPyRelation:
        if not self.unproved:
            return self.selected()
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        return self.selected().select(*(ColumnExpression(f"v{n}") for n in range(len(self.kinds))))

    def batches(self, relation: duckdb.DuckDBPyRelation) -> Iterator[list[Row]]:
        """Yield the rows of a relation made from this one, in its order.

        Raises `ConstatError` where memory or disk do not suffice to put them in order.
        """
        rows = relation.iter_rows(_BATCH)
        with _failures():
            batch = self._beside(lambda: list(islice(rows, _BATCH)))
            while batch:
                yield batch
                batch = list(islice(rows, _BATCH))

    def _beside(self, work: Callable[[], T]) -> T:
        """Let DuckDB sort in a thread, while this one listens for Ctrl-C."""
        found: list[T] = []
        problems: list[BaseException] = []

        def run() -> None:
            try:
                found.append(work())
            except BaseException as problem:  # noqa: BLE001  raised again where it is waited for
                problems.append(problem)

        thread = Thread(target=run, daemon=True)
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            self.database.interrupt()
            raise
        for problem in problems:
            raise problem
        return found[0]

    def _sorting(self) -> list[duckdb.Expression]:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        wanted = dict(self.order[::-1])
        places = dict.fromkeys([place for place, _ in self.order] + list(range(len(self.kinds))))
        columns = {place: ColumnExpression(f"v{place}") for place in places}
        return [
            column.desc() if wanted.get(place, False) else column.asc()
            for place, column in columns.items()
        ]


@contextmanager
def _failures() -> Iterator[None]:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    try:
        yield
    except duckdb.Error as problem:
        # What DuckDB says may quote values; the name of its error does not.
        reason = type(problem).__name__.removesuffix("Exception")
        message = f"the rows cannot be put in order ({reason})"
        hint = "give the process more memory, or ask for fewer rows"
        raise ConstatError([Diagnostic("C0661", message, help=hint)]) from None
