"""Values that somebody says for null cells: for whoever accepts it, the row has them.

A filled row is never another row: without the assumption its cell stays what it is.  FORMAT.md,
section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from . import shapes
from .rejection import Rejected, each
from .values import NONE, is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .canonical import Json
    from .records import Assumption, FactGroup, RowReader, Source
    from .values import Known, Row


@dataclass(frozen=True, slots=True)
class Filling:
    """The value of a null cell of a fact row, for whoever accepts the assumption."""

    group: int
    row: int
    column: int
    value: Known
    source: int
    assumption: int


def read_fillings(
    value: Json,
    reader: RowReader,
    groups: Sequence[FactGroup],
    sources: Sequence[Source],
    assumptions: Sequence[Assumption],
) -> tuple[Filling, ...]:
    """Read who says what stands in a null cell: sorted by the cell, each cell once."""

    def read(entry: Json) -> Filling:
        facts, at, column, said, source, assumption = shapes.members(
            entry, ("facts", "row", "column", "value", "source", "assumption")
        )
        group = groups[shapes.index(facts, len(groups))]
        row = group.rows[shapes.index(at, len(group.rows))]
        place = shapes.index(column, len(row))
        if row[place] == NONE or is_known(row[place]):
            raise Rejected("cell", "there is nothing to fill in this cell", "column")
        kind = reader.declaration(group.predicate).kinds[place]
        found = reader.value(kind, said)
        teller = sources[shapes.index(source, len(sources))]
        if teller.vouched or teller.proof is not None:
            raise Rejected("assumption", "somebody's word fills a cell", "source")
        basis = shapes.index(assumption, len(assumptions))
        if assumptions[basis].kind != "fact":
            raise Rejected("assumption", "an assumption of kind fact is expected")
        cell = (shapes.index(facts), shapes.index(at), place)
        return Filling(*cell, found, shapes.index(source), basis)

    found = each("filled", shapes.array(value), read)
    keys = [(one.group, one.row, one.column) for one in found]
    if any(left >= right for left, right in pairwise(keys)):
        raise Rejected("order", "cells are sorted and filled once", "filled")
    return tuple(found)


def filled_row(row: Row, fillings: Sequence[Filling], holds: Callable[[int], bool]) -> Row:
    """Return a row with the values that are accepted."""
    cells = list(row)
    for one in fillings:
        if holds(one.assumption):
            cells[one.column] = one.value
    return tuple(cells)
