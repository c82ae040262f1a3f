"""Turn a query's raw rows into rows of declared kinds, open rows, and what is wrong.

In: batches of cells, the predicate, its null policy. Out: `Fetched`. Invariants: each raw row ends
as a row, as an open row with a reason, or is left out by `null = "skip"`; equal rows are counted.
Example: under `null = "unknown"` the raw row `("C001", None)` becomes the open row `("C001", ⋆)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.catalog import read_column
from constat.evaluation import Opening
from constat.logic import OPEN, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.catalog import Cell, RawRow
    from constat.logic import OpenRow, Predicate, Row, Slot

DATABASE: Final = "database"
POLICIES: Final = ("error", "skip", "unknown")
MOST_OPENINGS: Final = 1_000
_WHOLE: Final = MappingProxyType(
    {Kind.NUMBER: (-(2**63), 2**63 - 1), Kind.UNSIGNED: (0, 2**64 - 1)}
)


@dataclass(slots=True)
class Fetched:
    """What a query gave: distinct rows in their order, rows that came again, and open rows."""

    rows: dict[Row, None] = field(default_factory=dict)
    repeated: dict[Row, int] = field(default_factory=dict)
    openings: list[Opening] = field(default_factory=list)
    count: int = 0
    failure: str = ""


def null_policies(predicate: Predicate) -> tuple[str, ...]:
    """Give the null policy of each column: its own, else its input's, else `error`."""
    whole = said_of_input(predicate, "null") or "error"
    return tuple(column.attributes.get("null", whole) for column in predicate.columns)


def said_of_input(predicate: Predicate, name: str) -> str:
    """Give a parameter of the `.input`, or else the attribute `@[name = ...]`; else nothing."""
    parameters = predicate.source.parameters if predicate.source else {}
    return parameters.get(name, predicate.attributes.get(name, ""))


class RowReader:
    """Reads the rows of one predicate."""

    def __init__(self, predicate: Predicate, source: str) -> None:
        self._predicate = predicate
        self._kinds = predicate.kinds
        self._policies = null_policies(predicate)
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
                self._take_hole(raw, fetched)
                continue
            if row in fetched.rows:
                fetched.repeated[row] = fetched.repeated.get(row, 0) + 1
            else:
                fetched.rows[row] = None

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

    def holes(self, numbered: Iterable[tuple[int, Sequence[object]]]) -> tuple[Opening, ...]:
        """Give the open rows of raw rows that are told with their numbers."""
        fetched = Fetched()
        for number, raw in numbered:
            fetched.count = number
            self._take_hole(cast("Sequence[Cell]", raw), fetched)
        return tuple(fetched.openings)

    def _take_hole(self, raw: Sequence[Cell], fetched: Fetched) -> None:
        """Keep what is known of a row with a cell that is no value."""
        slots: list[Slot] = []
        reasons: list[str] = []
        for place, (cell, policy) in enumerate(zip(raw, self._policies, strict=True)):
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
        if policy == "unknown":
            return f"column {column.name} is NULL"
        return f'column {column.name} is NULL; say null = "skip" or "unknown" if it may be [C0524]'


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
