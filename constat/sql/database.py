"""The database of one evaluation: its relations, with all ways in and out.

In: rows, fact files, frames, arrays, queries. Out: rows, arrays, relations of DuckDB, files.
Invariant: what goes in goes in exactly, or an error says where; what comes out is in canonical
form, each row once. Example: `with Database(Resources()) as database: database.declare(relation)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import StrategyError
from constat.sql import fact_loading, frames, reading, storing
from constat.sql.distinct import make_distinct
from constat.sql.relations import Relations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    import numpy as np
    import numpy.typing as npt
    from sqlglot import exp

    from constat.catalog.fact_files import FactFile
    from constat.logic import Atom, Column, Row


class Database(Relations):
    """One evaluation's tables.

    Inputs are loaded first. From the first stage on, or from the beginning where `allowed` lists
    the only files that are read, DuckDB can open no file any more.
    """

    def make_distinct(self, name: str) -> None:
        """Take repeated rows of a relation away."""
        make_distinct(self, name)

    def count(self, name: str) -> int:
        """How many rows a relation has."""
        make_distinct(self, name)
        return self.estimate(name)

    def load_rows(self, name: str, rows: Iterable[Row]) -> int:
        """Add rows in canonical form; give how many there were."""
        return storing.load_rows(self, name, rows)

    def load_files(self, name: str, files: Sequence[FactFile]) -> None:
        """Add the rows of fact files. Raises `ConstatError` with the place of a wrong cell."""
        fact_loading.load_files(self, name, files)

    def load_frame(self, name: str, frame: object, columns: Sequence[Column] = ()) -> None:
        """Add the rows of a data frame, or of anything that hands out an Arrow stream.

        Structures are read as the types of `columns`, those of the predicate's declaration.
        Raises `ConstatError` for a cell that is no value of its column.
        """
        frames.load_frame(self, name, frame, columns)

    def load_query(self, name: str, query: exp.Query, attached: Mapping[str, Path]) -> None:
        """Add the rows of a query, which may read Parquet, CSV and attached DuckDB files."""
        frames.load_query(self, name, query, attached)

    def store_columns(self, name: str, columns: Sequence[npt.NDArray[np.int64]]) -> None:
        """Take arrays, whose rows are distinct, for the rows of a relation."""
        storing.store_columns(self, name, columns)

    def columns(self, name: str) -> tuple[npt.NDArray[np.int64], ...]:
        """Give a relation of integers and numbers of texts as arrays; its rows are distinct."""
        return storing.read_columns(self, name)

    def rows(self, name: str, batch: int = 10_000) -> Iterator[list[Row]]:
        """Yield the rows in canonical form, each once, in batches."""
        return reading.rows(self, name, batch)

    def select(self, name: str, atom: Atom) -> duckdb.DuckDBPyRelation:
        """Give the rows that match an atom as a relation of DuckDB: columns `c0`, `c1`, ..."""
        return reading.select(self, name, atom)

    def write_separated(
        self, name: str, path: Path, delimiter: str = "\t", header: Sequence[str] = ()
    ) -> int:
        """Write the rows into a file, one on each line, nothing quoted; give how many."""
        return reading.write_separated(self, name, path, delimiter=delimiter, header=header)

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """Give the texts of numbers."""
        return storing.texts(self, numbers)

    def rounds(self, name: str) -> Iterator[list[tuple[Row, int]]]:
        """Yield the rows of a stamped relation, each with the round in which it first came.

        Raises `StrategyError` for a relation that was computed without stamps.
        """
        if name not in self.stamped:
            raise StrategyError(f"the rounds of {name} were not recorded")
        return reading.stamped_rows(self, name, self.stamped[name])
