"""Null cells: what stands in a certain row where the source has no value (semantics, 26 to 26f).

Rows that hold them are made in `constat.tiers.reading` alone. A cell is no value: nothing orders
it, and `known` of the row besides makes it a label that stays the same however it was fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from constat.logic.structure_text import shown
from constat.logic.values import Kind, Open, format_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.logic.program import Predicate
    from constat.logic.values import OpenRow, Row, Slot, Value


class NullPolicy(Enum):
    """What a NULL says of the row, where the row stays certain; the words are those of `null`."""

    NONE = "none"
    """There is no value."""
    MAYBE = "maybe"
    """There is a value or none."""
    UNKNOWN = "unknown"
    """There is a value, and nobody knows which."""


NULL_POLICIES: Final = ("error", "skip", *(policy.value for policy in NullPolicy))
"""What `null` may say of a column; under the first two no null is in a row."""


def null_words(predicate: Predicate) -> tuple[str, ...]:
    """Give the word for nulls of each column: its own, else its `.input`'s, else `error`."""
    parameters = predicate.source.parameters if predicate.source else {}
    whole = parameters.get("null", predicate.attributes.get("null", "error"))
    return tuple(column.attributes.get("null", whole) for column in predicate.columns)


def null_policies(predicate: Predicate) -> tuple[NullPolicy | None, ...]:
    """Give what a null cell means in each column; `None` where a row holds none."""
    policies = {policy.value: policy for policy in NullPolicy}
    return tuple(map(policies.get, null_words(predicate)))


@dataclass(frozen=True, slots=True)
class NullCell:
    """A cell of a certain row that holds no value.

    `known` are the cells of the row, as its predicate declares them, `None` where they are null;
    `ordinal` counts rows that are equal in these. Cells are equal where they are one label. Under
    `none` there is nothing to tell apart: `known` is empty, and the ordinal 0.
    """

    policy: NullPolicy
    predicate: str
    column: int
    known: tuple[Value | None, ...] = ()
    ordinal: int = 0

    @property
    def is_label(self) -> bool:
        """Whether it stands for a value: one that is there, but that nobody knows."""
        return self.policy is NullPolicy.UNKNOWN

    def __str__(self) -> str:
        return "none" if self.policy is NullPolicy.NONE else "unknown"


def with_null_cells(
    predicate: str,
    cells: Sequence[Value | None],
    policies: Sequence[NullPolicy | None],
    ordinal: int = 0,
) -> Row:
    """Put null cells for `None`; `policies` and cells are those of the predicate's columns."""
    known = tuple(cells)
    row: list[Value | NullCell] = []
    for column, (cell, policy) in enumerate(zip(cells, policies, strict=True)):
        if cell is not None:
            row.append(cell)
        elif policy is None:
            raise ValueError(f"column {column} of {predicate} may hold no null")
        elif policy is NullPolicy.NONE:
            row.append(NullCell(policy, predicate, column))
        else:
            row.append(NullCell(policy, predicate, column, known, ordinal))
    return cast("Row", tuple(row))


def null_cells(row: OpenRow) -> list[NullCell]:
    """Give the null cells of a row, in the order of its columns."""
    cells: Iterable[object] = row
    return [cell for cell in cells if isinstance(cell, NullCell)]


def has_null_cells(row: Row) -> bool:
    """Tell whether a cell of the row is null."""
    return NullCell in map(type, row)


def may_agree(one: Sequence[object], other: Sequence[object]) -> bool:
    """Tell whether two rows differ in no column where that is certain.

    A cell of `none` equals itself, may be one of `maybe`, and is nothing that has a value.
    """
    return all(map(_may_be_equal, one, other))


def _may_be_equal(one: object, other: object) -> bool:
    if one == other:
        return True
    nulls = [cell for cell in (one, other) if isinstance(cell, NullCell)]
    if any(cell.policy is NullPolicy.NONE for cell in nulls):
        return any(cell.policy is NullPolicy.MAYBE for cell in nulls)
    return bool(nulls)


def row_order(row: Row) -> tuple[object, ...]:
    """Give what sorts the rows of a relation: values first, null cells after them, by content."""
    return tuple(map(_cell_order, row))


def display_value(value: Slot | NullCell, kind: Kind) -> str:
    """Write a value for people: floats in short decimal form, times without needless digits."""
    if isinstance(value, Open):
        return "?"
    if isinstance(value, NullCell):
        return str(value)
    if kind is Kind.FLOAT:
        return repr(value)
    text = format_value(value, kind)
    if kind is Kind.STRUCTURE:
        return shown(text)
    if kind is Kind.TIMESTAMP and text.endswith(".000000Z"):
        return text[:-8] + "Z"
    return text


def _cell_order(cell: object) -> tuple[object, ...]:
    if not isinstance(cell, NullCell):
        return (0, cell)
    known = tuple((1, "") if one is None else (0, one) for one in cell.known)
    return (1, cell.policy.value, cell.predicate, cell.column, known, cell.ordinal)
