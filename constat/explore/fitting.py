"""Make what a SELECT or a step of code gave into the relation that the step has declared.

In: columns of cells, the declared output with its kinds. Out: rows in canonical form, or
`StepFailureError` that says what does not fit. Invariants: nothing is rounded, dropped or guessed:
a missing value, a cell of another kind and a row that comes twice are failures, because a later
sum would be silently wrong. Example: a total that is a fraction does not fit `orders: number`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.catalog import read_cell
from constat.explore.failures import StepFailure, StepFailureError
from constat.explore.relations import Relation, sorted_rows
from constat.logic import Kind, is_of_type
from constat.store.tables_cells import in_order
from constat.store.tables_format import Table
from constat.store.tables_rows import MANY, TableRows, repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.catalog import Cell
    from constat.explore.plan import Output
    from constat.logic import Column, Row, Value

RESULT: Final = "result"
_MOST_ORDERED: Final = 10_000


def fit_rows(
    output: Output,
    kinds: Sequence[Kind],
    rows: Iterable[Sequence[Cell]],
    most: int,
    *,
    ordered: bool = False,
) -> Relation:
    """Read rows of raw cells, columns by position. Raises `StepFailureError`.

    `ordered` rows come in an order that people want to see, as far as that can be kept.
    """
    found: dict[Row, None] = {}
    count = 0
    for row in rows:
        count += 1
        if count > most:
            message = f"it gives more than {most:,} rows"
            hint = "sum up, or rank, earlier"
            raise StepFailureError(StepFailure("limit", message, hint=hint, public=message))
        if len(row) != len(kinds):
            raise _mistake(output, f"it gives {len(row)} columns, and {len(kinds)} are declared")
        cells = zip(row, kinds, output.columns, strict=True)
        found[tuple([_value(cell, kind, name) for cell, kind, (name, _) in cells])] = None
    relation = _distinct(output, tuple(kinds), found, count)
    if not ordered or len(found) > _MOST_ORDERED:
        return relation
    places = {row: place for place, row in enumerate(relation.rows)}
    return replace(relation, order=tuple(places[row] for row in found))


def fit_sorted(output: Output, kinds: tuple[Kind, ...], table: Table) -> Relation:
    """Take a table of these columns, in the order of its values. Raises `StepFailureError`."""
    _check_distinct(repeated(table), table.rows)
    return Relation(output, kinds, TableRows(table))


def fit_table(
    output: Output, kinds: Sequence[Kind], table: Table, most: int, many: int = MANY
) -> Relation:
    """Read a table that a step of code left, columns by name. Raises `StepFailureError`.

    From `many` rows on it is not read cell by cell, where its columns are of the kinds declared.
    """
    names = [name for name, _ in output.columns]
    missing = [name for name in names if name not in table.names]
    if missing:
        given = ", ".join(table.names) or "none"
        public = f"the table `{output.name}` has no column `{missing[0]}`"
        # What columns a table has may come from cells: a pivot names them after values.
        raise _mistake(output, f"{public}; it has {given}", public)
    chosen = [table.columns[table.names.index(name)] for name in names]
    whole = [one.kind for one in chosen] == [one.value for one in kinds]
    if many <= table.rows <= most and whole and not any(one.missing for one in chosen):
        found = in_order(Table(tuple(chosen), table.rows))
        if found is not None:
            return fit_sorted(output, tuple(kinds), found)
    columns = [table.values(table.names.index(name)) for name in names]
    rows: Iterable[Sequence[Cell]] = zip(*columns, strict=True)
    return fit_rows(output, kinds, rows, most)


def check_structures(relation: Relation, columns: Sequence[Column]) -> Relation:
    """Give the relation back once its structures are of the types that its columns declare.

    Raises `StepFailureError`: a SELECT or code may make any text of another.
    """
    places = [place for place, one in enumerate(columns) if one.kind is Kind.STRUCTURE]
    for row in relation.rows if places else ():
        for place in places:
            if not is_of_type(row[place], columns[place]):
                column = columns[place]
                message = f"a cell of the column `{column.name}` is no {column.type_name}"
                hint = "hand on structures as they were read, or make them by rules"
                raise StepFailureError(StepFailure(RESULT, message, hint=hint, public=message))
    return relation


def _value(cell: Cell, kind: Kind, name: str) -> Value:
    try:
        return read_cell(cell, kind)
    except ValueError as problem:
        message = f"a cell of the column `{name}`, declared {kind.value}, {problem}"
        hint = "cast it, or declare the column as what it is"
        if cell is None:
            hint = "leave such rows out, or put a value in its place that says so"
        failure = StepFailure(RESULT, message, hint=hint, public=message)
        raise StepFailureError(failure) from None


def _distinct(
    output: Output, kinds: tuple[Kind, ...], found: dict[Row, None], count: int
) -> Relation:
    _check_distinct(count - len(found), count)
    return Relation(output, kinds, sorted_rows(list(found)))


def _check_distinct(again: int, count: int) -> None:
    if again:
        message = f"{again:,} of its {count:,} rows are there twice"
        hint = "add the column that tells them apart, or write SELECT DISTINCT if they are one fact"
        public = "some of its rows are there twice"
        raise StepFailureError(StepFailure(RESULT, message, hint=hint, public=public))


def _mistake(output: Output, message: str, public: str = "") -> StepFailureError:
    hint = f"give exactly `{output.declaration}`"
    return StepFailureError(StepFailure(RESULT, message, hint=hint, public=public or message))
