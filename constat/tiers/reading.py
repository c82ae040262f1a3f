"""Turn a query's raw rows into rows of declared kinds, open rows, and what is wrong.

Each raw row ends as a row, perhaps with null cells, as an open row with a reason, or is left out by
`null = "skip"`. Equal rows are counted; those whose null cells may be values get ordinals instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.catalog import read_column
from constat.evaluation import Opening
from constat.logic import OPEN, Kind, NullPolicy, null_policies, null_words, with_null_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.catalog import Cell, RawRow
    from constat.logic import OpenRow, Predicate, Row, Slot, Value

DATABASE: Final = "database"
MOST_OPENINGS: Final = 1_000
_WHOLE: Final = MappingProxyType(
    {Kind.NUMBER: (-(2**63), 2**63 - 1), Kind.UNSIGNED: (0, 2**64 - 1)}
)


@dataclass(slots=True)
class Fetched:
    """What a query gave: distinct rows in their order, rows that came again, and open rows.

    `alike` counts rows by their cells where null cells keep equal ones apart.
    """

    rows: dict[Row, None] = field(default_factory=dict)
    alike: dict[tuple[Value | None, ...], int] = field(default_factory=dict)
    repeated: dict[Row, int] = field(default_factory=dict)
    openings: list[Opening] = field(default_factory=list)
    count: int = 0
    failure: str = ""


def said_of_input(predicate: Predicate, name: str) -> str:
    """Give a parameter of the `.input`, or else the attribute `@[name = ...]`; else nothing."""
    parameters = predicate.source.parameters if predicate.source else {}
    return parameters.get(name, predicate.attributes.get(name, ""))


class RowReader:
    """Reads the rows of one predicate."""

    def __init__(self, predicate: Predicate, source: str) -> None:
        self._predicate = predicate
        self._kinds = predicate.kinds
        self._words = null_words(predicate)
        self._nulls = null_policies(predicate)
        self._keeps = any(self._nulls)
        self._where = f"database {source}: query of {predicate.name}"

    def take(self, batch: Iterable[RawRow], fetched: Fetched) -> None:
        """Add a batch."""
        raws = list(batch)
        if raws and self._take_plain(raws, fetched):
            return
        columns = self._predicate.columns
        for raw in raws:
            fetched.count += 1
            try:
                row = tuple(
                    cell
                    if type(cell) is str and column.kind is Kind.SYMBOL and _plain(cell)
                    else read_column(cell, column)
                    for cell, column in zip(raw, columns, strict=True)
                )
            except ValueError:
                if not (self._keeps and self._take_nulls(raw, fetched)):
                    self._take_hole(raw, fetched)
                continue
            _add(row, fetched)

    def _take_plain(self, raws: Sequence[RawRow], fetched: Fetched) -> bool:
        """Add a batch of new rows whose cells are values as they stand; tell whether it is one."""
        if any(len(raw) != len(self._kinds) for raw in raws):
            return False
        columns = zip(*raws, strict=True)
        if not all(_all_plain(cells, k) for cells, k in zip(columns, self._kinds, strict=True)):
            return False
        rows = dict.fromkeys(cast("Iterable[Row]", map(tuple, raws)))
        if len(rows) < len(raws) or not fetched.rows.keys().isdisjoint(rows):
            return False
        fetched.rows.update(rows)
        fetched.count += len(raws)
        return True

    def apart(self, numbered: Iterable[tuple[int, Sequence[object]]]) -> Fetched:
        """Read raw rows with nulls, which are told apart from all others, with their numbers."""
        fetched = Fetched()
        for number, cells in numbered:
            fetched.count = number
            raw = cast("Sequence[Cell]", cells)
            if not (self._keeps and self._take_nulls(raw, fetched)):
                self._take_hole(raw, fetched)
        return fetched

    def _take_nulls(self, raw: Sequence[Cell], fetched: Fetched) -> bool:
        """Add a row whose cells are values, but for nulls that a row may hold; tell whether so.

        A key that holds a null tells no row apart: then it is an open row.
        """
        if any(raw[place] is None for place in self._predicate.key):
            return False
        cells: list[Value | None] = []
        for cell, column, policy in zip(raw, self._predicate.columns, self._nulls, strict=True):
            if cell is None and policy is not None:
                cells.append(None)
                continue
            try:
                cells.append(read_column(cell, column))
            except ValueError:
                return False
        known = tuple(cells)
        ordinal = fetched.alike.get(known, 0)
        places = (policy for cell, policy in zip(known, self._nulls, strict=True) if cell is None)
        if any(policy is not NullPolicy.NONE for policy in places):
            fetched.alike[known] = ordinal + 1
        _add(with_null_cells(self._predicate.name, known, self._nulls, ordinal), fetched)
        return True

    def _take_hole(self, raw: Sequence[Cell], fetched: Fetched) -> None:
        """Keep what is known of a row with a cell that is no value."""
        slots: list[Slot] = []
        reasons: list[str] = []
        for place, (cell, policy) in enumerate(zip(raw, self._words, strict=True)):
            if cell is None and policy == "skip":
                return
            try:
                slots.append(read_column(cell, self._predicate.columns[place]))
            except ValueError as problem:
                slots.append(OPEN)
                reasons.append(self._reason(place, cell, policy, str(problem)))
        if len(fetched.openings) < MOST_OPENINGS:
            reason = f"{self._where}, row {fetched.count}, {'; '.join(reasons)}"
            fetched.openings.append(Opening(tuple(slots), reason, DATABASE))
        elif len(fetched.openings) == MOST_OPENINGS:
            everything: OpenRow = (OPEN,) * len(slots)
            reason = f"{self._where}: more than {MOST_OPENINGS} rows hold cells that are no values"
            fetched.openings.append(Opening(everything, reason, DATABASE))

    def _reason(self, place: int, cell: Cell, policy: str, problem: str) -> str:
        column = self._predicate.columns[place]
        if cell is not None:
            return f"column {column.name} (declared {column.type_name}) {problem} [C0525]"
        if place in self._predicate.key:
            return f"column {column.name} of its key is NULL"
        if policy != "error":
            return f"column {column.name} is NULL"
        return (
            f'column {column.name} is NULL; if it may be, say null = "maybe" (a value or none), '
            '"none", "unknown" (a value that nobody knows) or "skip" [C0524]'
        )


def _add(row: Row, fetched: Fetched) -> None:
    if row in fetched.rows:
        fetched.repeated[row] = fetched.repeated.get(row, 0) + 1
    else:
        fetched.rows[row] = None


def _all_plain(cells: Sequence[Cell], kind: Kind) -> bool:
    """Tell of a column whether each cell is a value of the kind as it stands."""
    bounds = _WHOLE.get(kind)
    types = set(map(type, cells))
    if bounds is not None and types == {int}:
        numbers = cast("Sequence[int]", cells)
        return bounds[0] <= min(numbers) and max(numbers) <= bounds[1]
    if kind is Kind.SYMBOL and types == {str}:
        return all(map(_plain, cast("Sequence[str]", cells)))
    return False


def _plain(text: str) -> bool:
    return text.isascii() and "\0" not in text and len(text) <= 1_000  # noqa: PLR2004  short
