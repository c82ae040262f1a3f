"""What DuckDB files and folders of files have in common: how they are asked.

In: guarded queries. Out: their columns, pushes, questions and rows. Invariant: the columns of a
query are those of the session that is open now; a new session describes them anew. Example: a
key of a text column becomes `WHERE c0 = ?`, a column of dates is spelled by DuckDB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.catalog.connection import Stream
from constat.catalog.duck_relation import counted, whole_queries
from constat.catalog.duck_types import check_types, outputs
from constat.catalog.failure import QueryMistakeError, SourceFailureError
from constat.catalog.typed import typed_pushes, typed_question, typed_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from constat.catalog.connection import Question, RawRow, ReadBounds, Whole
    from constat.catalog.duck_session import DuckSession
    from constat.catalog.duck_types import DuckColumn
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.evaluation import Demand
    from constat.logic import Row


class DuckReading:
    """Asks the open session; a driver adds what it opens, and when."""

    dialect = "duckdb"
    most_keys = 5_000

    def __init__(self) -> None:
        self._session: DuckSession | None = None
        self._described: dict[str, tuple[DuckColumn, ...]] = {}

    def columns(self, query: str) -> tuple[str, ...]:
        """Give the column names; a type that no declared kind can hold is a mistake."""
        columns = self._columns(query)
        check_types(columns)
        return tuple(column.name for column in columns)

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the columns to send by the types of the output columns."""
        families = [column.family for column in self._columns(guarded.text)]
        return typed_pushes(families, demand, nulls_matter)

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for some keys, each value a parameter."""
        listed, spelled = outputs(self._columns(guarded.text))
        return typed_question(guarded, arity, pushes, keys, outputs=listed, spelled=spelled)

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        listed, spelled = outputs(self._columns(guarded.text))
        return typed_whole(guarded, arity, outputs=listed, spelled=spelled)

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; raises `SourceFailureError` at its bounds, after what came before them."""
        yield from self._reading().read(question, bounds)

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        session = self._reading()
        queries = whole_queries(whole, self._columns(whole.guarded.text))
        if queries is None:
            return None
        try:
            told = session.rows(queries.look, bounds.seconds, lambda _: None)
        except QueryMistakeError as problem:
            # The guard and the description passed it; what it meets in the rows is no mistake.
            raise SourceFailureError(problem.reason) from None
        count = counted(told[0])
        if count is None or sum(count) > bounds.rows:
            return None
        rows, holes = count
        found = session.rows(queries.holes, bounds.seconds, lambda _: None) if holes else []
        numbered = tuple((int(str(number)), cells) for number, *cells in found)
        return Stream(rows, queries.give, lambda: session.stream(queries.give), numbered)

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess how many rows a query gives, without running it."""
        self._columns(guarded.text)
        return self._reading().estimate(guarded.text)

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement of Constat's own about the tables, for so long at most."""
        return self._reading().rows(statement, seconds, lambda _: None)

    def cancel(self) -> None:
        """Interrupt the running query."""
        session = self._session
        if session is not None:
            session.cancel()

    def close(self) -> None:
        """Close the session; without one, nothing happens."""
        session, self._session = self._session, None
        self._described.clear()
        if session is not None:
            session.close()

    def _columns(self, query: str) -> tuple[DuckColumn, ...]:
        if query not in self._described:
            self._described[query] = self._reading().columns(query)
        return self._described[query]

    def _reading(self) -> DuckSession:
        if self._session is None:
            raise SourceFailureError("it is not being read")
        return self._session
