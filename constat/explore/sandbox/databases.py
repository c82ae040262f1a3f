"""The databases that a step may ask: its queries are checked and run out here, read-only.

In: a connection of the project, a SELECT and its parameters. Out: a `Table`. Invariants: a query
passes the same guard as those of rules; parameters become literals that the guard reads with the
rest, so that whatever they hold is judged as well; rows and seconds are bounded; addresses and
passwords stay here. Example: `Reader(connection, 10_000)("SELECT id FROM orders", (), 5.0)`.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog import (
    QueryMistakeError,
    Question,
    ReadBounds,
    Spelled,
    guard,
)
from constat.logic import Kind, parse_value
from constat.store.table_forms import MOST_COLUMNS, Table, TableError, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constat.catalog import Cell, Connection, RawRow
    from constat.explore.sandbox.step import Parameter

_LARGEST_NUMBER: Final = (1 << 63) - 1
_SMALLEST_NUMBER: Final = -(1 << 63)
_LARGEST_UNSIGNED: Final = (1 << 64) - 1


class Reader:
    """Reads one database; `connection` gives it, reading one state, whenever it is asked for."""

    def __init__(self, connection: Callable[[], Connection], rows: int) -> None:
        self._connection = connection
        self._rows = rows

    def __call__(self, text: str, parameters: Sequence[Parameter], seconds: float) -> Table:
        """Run a query; raises `QueryMistakeError` or `SourceFailureError`."""
        connection = self._connection()
        dialect = connection.dialect
        guarded = guard(with_literals(text, parameters, dialect), dialect)
        names = connection.columns(guarded.text)
        if len(names) > MOST_COLUMNS:
            raise QueryMistakeError(f"the query gives more than {MOST_COLUMNS} columns")
        rows: list[RawRow] = []
        bounds = ReadBounds(seconds, self._rows)
        question = Question(guarded.text, tables=guarded.tables)
        for batch in connection.read(question, bounds):
            rows += batch
        return table_of_cells(names, rows)


def with_literals(text: str, parameters: Sequence[Parameter], dialect: str) -> str:
    """Write each parameter in the place of its `?`."""
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot.errors import SqlglotError  # noqa: PLC0415  heavy library, loaded on first use

    if not parameters:
        return text
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        raise QueryMistakeError("the query is not SQL: a quote or comment is not closed") from None
    places = [token.start for token in tokens if token.token_type.name == "PLACEHOLDER"]
    if len(places) != len(parameters):
        reason = f"the query has {len(places)} times `?` and {len(parameters)} parameters"
        raise QueryMistakeError(reason)
    parts = []
    before = 0
    for place, value in zip(places, parameters, strict=True):
        literal = exp.Literal.string(value) if isinstance(value, str) else exp.convert(value)
        parts += [text[before:place], literal.sql(dialect=dialect)]
        before = place + 1
    return "".join([*parts, text[before:]])


def table_of_cells(names: Sequence[str], rows: Sequence[RawRow]) -> Table:
    """Give rows of a source as a table; each column gets the one kind that all its cells have."""
    columns: list[tuple[str, str]] = []
    cells: list[list[Any]] = []
    for place, name in enumerate(_distinct(names)):
        found = [row[place] for row in rows]
        try:
            kind, values = _typed(found)
        except (ValueError, ArithmeticError) as problem:
            reason = f"column `{name[:60]}` {problem}; cast it in the query"
            raise QueryMistakeError(reason) from None
        columns.append((name, kind))
        cells.append(values)
    try:
        made = table_of(columns, cells)
    except TableError as problem:
        raise QueryMistakeError(str(problem)) from None
    return made if columns else Table((), len(rows))


def _distinct(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        wished = "".join(one for one in name if one.isprintable())[:180] or "column"
        number, free = 1, wished
        while free in found:
            number += 1
            free = f"{wished}_{number}"
        found.append(free)
    return found


def _typed(cells: list[Cell]) -> tuple[str, list[Any]]:
    """Find the kind of a column, and give its cells as values of that kind."""
    types = {_type(cell) for cell in cells if cell is not None}
    if len(types) > 1 and types <= {int, float}:
        types = {float}
    elif len(types) > 1 and types <= {int, Decimal}:
        types = {Decimal}
    elif len(types) > 1 and types <= {date, datetime}:
        types = {datetime}
    if len(types) > 1:
        raise ValueError("holds values of several types")
    only = next(iter(types), str)
    if only is int:
        return _whole(cells)
    if only is Spelled:
        return _spelled(cells)
    kind, read = _KINDS[only]
    return kind, [None if cell is None else read(cell) for cell in cells]


def _type(cell: Cell) -> type:
    for one in (bool, int, float, Spelled, str, Decimal, datetime, date):
        if isinstance(cell, one):
            return one
    raise ValueError("holds bytes")


def _whole(cells: list[Cell]) -> tuple[str, list[Any]]:
    present = [int(cell) for cell in cells if isinstance(cell, int)]
    least, most = min(present, default=0), max(present, default=0)
    if least >= _SMALLEST_NUMBER and most <= _LARGEST_NUMBER:
        return "number", list(cells)
    if least >= 0 and most <= _LARGEST_UNSIGNED:
        return "unsigned", list(cells)
    return "Decimal", [cell if cell is None else Decimal(str(cell)) for cell in cells]


def _spelled(cells: list[Cell]) -> tuple[str, list[Any]]:
    """Read what a source spells: days or times where all are, text otherwise."""
    for kind in (Kind.DATE, Kind.TIMESTAMP):
        try:
            read = [None if one is None else parse_value(str(one), kind) for one in cells]
        except ValueError:
            continue
        return kind.value, read
    return "symbol", [None if one is None else str(one) for one in cells]


def _float(cell: Any) -> float:  # noqa: ANN401  a float or a whole number
    found = float(cell)
    if not math.isfinite(found):
        raise ValueError("holds a number that is infinite or none")
    return found


def _moment(cell: Any) -> Any:  # noqa: ANN401  a value of logic
    return parse_value(
        cell.isoformat() if isinstance(cell, datetime) else f"{cell} 00:00:00", Kind.TIMESTAMP
    )


_KINDS: Final[Mapping[type, tuple[str, Callable[[Any], Any]]]] = MappingProxyType(
    {
        bool: ("Bool", lambda cell: "true" if cell else "false"),
        float: ("float", _float),
        str: ("symbol", str),
        Decimal: ("Decimal", Decimal),
        datetime: ("Timestamp", _moment),
        date: ("Date", date.isoformat),
    }
)
