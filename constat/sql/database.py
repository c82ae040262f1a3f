"""The database of one evaluation: its relations, with all ways in and out."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.logic import Constant, Kind, Value, Variable, canonical_decimal
from constat.sql import loading, trees
from constat.sql.relations import Relations, make_distinct, spelled_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    import numpy as np
    import numpy.typing as npt
    from sqlglot import exp

    from constat.catalog.fact_files import FactFile
    from constat.logic import Atom, Column, Row

# Rows are streamed, so what is read needs no memory in Python beyond one batch.

_LINES: Final = 10_000


def rows(database: Relations, name: str, batch: int) -> Iterator[list[Row]]:
    """Yield the rows of a relation in batches, in no particular order."""
    listed = database.listed(name)
    if listed is not None:
        for start in range(0, len(listed), batch):
            yield list(listed[start : start + batch])
        return
    query = _spelled(database, name)
    relation = database.relation(name)
    decimals = [place for place, kind in enumerate(relation.kinds) if kind is Kind.DECIMAL]
    for found in database.connection.stream(query, batch):
        if not relation.arity:
            yield [()] * len(found)
        elif decimals:
            yield [_canonical(row, decimals) for row in found]
        else:
            yield found  # type: ignore[misc]  # the driver gives the types of the columns


def stamped_rows(database: Relations, name: str, table: str) -> Iterator[list[tuple[Row, int]]]:
    """Yield the rows of a relation, each with the round in which it came."""
    relation = database.relation(name)
    query = trees.with_outputs(
        spelled_rows(table, relation.encoded or (False,)),
        [("round", trees.column("q", "round"))],
    )
    decimals = [place for place, kind in enumerate(relation.kinds) if kind is Kind.DECIMAL]
    for found in database.connection.stream(query, _LINES):
        yield [(_canonical(row[: relation.arity], decimals), int(str(row[-1]))) for row in found]


def select(database: Relations, name: str, atom: Atom) -> duckdb.DuckDBPyRelation:
    """Give the rows that match an atom as a relation of DuckDB, with texts and not numbers.

    A constant that no column can hold matches no row.
    """
    query = trees.everything(trees.nested(_spelled(database, name), "q"))
    kinds = database.relation(name).kinds
    conditions: list[exp.Expr] = []
    first: dict[str, int] = {}
    for place, term in enumerate(atom.terms):
        node = trees.column("q", f"c{place}")
        match term:
            case Constant(value=value):
                conditions.append(_is_value(node, value, kinds[place]))
            case Variable(name=variable) if variable in first:
                same = trees.column("q", f"c{first[variable]}")
                conditions.append(trees.binary("=", node, same))
            case Variable(name=variable):
                first[variable] = place
            case _:
                raise StrategyError("a wanted atom may not compute")
    for condition in conditions:
        query = query.where(condition, copy=False)
    written = database.connection.written(query)
    driver = database.connection.driver
    return database.guarded(lambda: driver.sql(written))


def _is_value(node: exp.Expr, value: Value, kind: Kind) -> exp.Expr:
    try:
        wanted = trees.constant(value, kind)
    except StrategyError:
        # No row was loaded or computed that would have needed such a column either.
        return trees.binary("=", trees.integer(0), trees.integer(1))
    return trees.binary("=", node, wanted)


def write_separated(
    database: Relations, name: str, path: Path, *, delimiter: str, header: Sequence[str]
) -> int:
    """Write a relation as separated texts, one row on each line, nothing quoted; give the count.

    `header` are the names of the first line, if any. DuckDB makes the lines; the file is opened
    here, because a database that is locked down opens none. Raises `OSError`.
    """
    line = _line(database, name, delimiter)
    total = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        if header:
            file.write(delimiter.join(header) + "\n")
        for batch in database.connection.stream(line, _LINES):
            file.write("".join([f"{row[0]}\n" for row in batch]))
            total += len(batch)
    return total


def _line(database: Relations, name: str, delimiter: str) -> exp.Select:
    relation = database.relation(name)
    if not relation.arity:
        outputs = [("line", trees.text("()"))]
    else:
        cells: list[exp.Expr] = []
        for place, kind in enumerate(relation.kinds):
            cells.extend([trees.text(delimiter), _cell(database, kind, f"c{place}")])
        outputs = [("line", trees.call("concat", *cells[1:]))]
    return trees.select(outputs, source=trees.nested(_spelled(database, name), "q"))


def _cell(database: Relations, kind: Kind, label: str) -> exp.Expr:
    node = trees.column("q", label)
    if kind in {Kind.FLOAT, Kind.DECIMAL}:
        return trees.call(database.function("to_string", (kind,), Kind.SYMBOL), node)
    return trees.cast(node, trees.typed("VARCHAR"))


def _spelled(database: Relations, name: str) -> exp.Select:
    make_distinct(database, name)
    stored = database.stored(name)
    return spelled_rows(stored.table, stored.relation.encoded or (False,))


def _canonical(row: Sequence[object], decimals: Sequence[int]) -> Row:
    found = list(row)
    for place in decimals:
        found[place] = canonical_decimal(Decimal(str(found[place])))
    return tuple(found)  # type: ignore[arg-type]  # the driver gives the types of the columns


# What goes in goes in exactly, or an error says where; what comes out is in canonical form, each
# row once.


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
        return loading.load_rows(self, name, rows)

    def load_files(self, name: str, files: Sequence[FactFile]) -> None:
        """Add the rows of fact files. Raises `ConstatError` with the place of a wrong cell."""
        loading.load_files(self, name, files)

    def load_frame(self, name: str, frame: object, columns: Sequence[Column] = ()) -> None:
        """Add the rows of a data frame, or of anything that hands out an Arrow stream.

        Structures are read as the types of `columns`, those of the predicate's declaration.
        Raises `ConstatError` for a cell that is no value of its column.
        """
        loading.load_frame(self, name, frame, columns)

    def load_query(self, name: str, query: exp.Query, attached: Mapping[str, Path]) -> None:
        """Add the rows of a query, which may read Parquet, CSV and attached DuckDB files."""
        loading.load_query(self, name, query, attached)

    def store_columns(self, name: str, columns: Sequence[npt.NDArray[np.int64]]) -> None:
        """Take arrays, whose rows are distinct, for the rows of a relation."""
        loading.store_columns(self, name, columns)

    def store_stamps(self, name: str, columns: Sequence[npt.NDArray[np.int64]]) -> None:
        """Take arrays for the rows of a relation and, as the last one, the rounds they came in."""
        loading.store_stamps(self, name, columns)

    def stamped_columns(self, name: str) -> tuple[npt.NDArray[np.int64], ...]:
        """Give a stamped relation as `columns` does, with the rounds as the last array."""
        return loading.read_stamped(self, name)

    def columns(self, name: str) -> tuple[npt.NDArray[np.int64], ...]:
        """Give a relation of integers and numbers of texts as arrays; its rows are distinct."""
        return loading.read_columns(self, name)

    def rows(self, name: str, batch: int = 10_000) -> Iterator[list[Row]]:
        """Yield the rows in canonical form, each once, in batches."""
        return rows(self, name, batch)

    def select(self, name: str, atom: Atom) -> duckdb.DuckDBPyRelation:
        """Give the rows that match an atom as a relation of DuckDB: columns `c0`, `c1`, ..."""
        return select(self, name, atom)

    def write_separated(
        self, name: str, path: Path, delimiter: str = "\t", header: Sequence[str] = ()
    ) -> int:
        """Write the rows into a file, one on each line, nothing quoted; give how many."""
        return write_separated(self, name, path, delimiter=delimiter, header=header)

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """Give the texts of numbers."""
        return loading.texts(self, numbers)

    def rounds(self, name: str) -> Iterator[list[tuple[Row, int]]]:
        """Yield the rows of a stamped relation, each with the round in which it first came.

        Raises `StrategyError` for a relation that was computed without stamps.
        """
        if name not in self.stamped:
            raise StrategyError(f"the rounds of {name} were not recorded")
        return stamped_rows(self, name, self.stamped[name])
