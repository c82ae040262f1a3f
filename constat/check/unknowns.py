"""Cells without a value, and the table of shared structures: what ``constat-cert/2`` adds to rows.

A label is named by its content, so the same unknown value has the same label in every row and one
label never stands for two.  FORMAT.md, sections 2 and 5.

Example: the label of ``customer("C7", null, "gold")`` in column 1 is that of no other row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import shapes
from .rejection import Rejected, each
from .structures import QUOTED_TEXT, Structure, Structures, is_constructor
from .values import Hole, Label, Null, is_known, is_number_field, read_structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .canonical import Json
    from .rules import Declaration
    from .structures import Field
    from .values import OpenRow, Row


@dataclass(frozen=True, slots=True)
class LabelContent:
    """What a label is of: a column of the row with these known cells, and the row's ordinal."""

    predicate: str
    row: OpenRow
    column: int
    ordinal: int
    kind: str


def read_values(value: Json, structures: Structures) -> tuple[Structure, ...]:
    """Read the table of structures: each stands in it once, and as its index everywhere else."""
    found: list[Structure] = []

    def read(entry: Json) -> None:
        parts = shapes.array(entry)
        constructor = shapes.text(parts[0]) if len(parts) > 1 else ""
        if not is_constructor(constructor):
            raise Rejected("schema", "an array of a constructor and fields is expected")
        fields = tuple([_field(part, found, structures) for part in parts[1:]])
        one = structures.made(constructor, fields)
        if one is None:
            raise Rejected("value", "the structure is too long")
        if one.place is not None:
            raise Rejected("value", "the structure is there already")
        one.place = len(found)
        found.append(one)

    each("values", shapes.array(value), read)
    return tuple(found)


def _field(value: Json, earlier: Sequence[Structure], structures: Structures) -> Field:
    if type(value) is int:
        return earlier[shapes.index(value, len(earlier))]
    text = shapes.text(value)
    if QUOTED_TEXT.match(text):
        return text
    if is_number_field(text):
        return text
    found = read_structure(structures, text)
    if found is None:
        raise Rejected("value", f"{text[:40]!r} is no field of a structure")
    if found.place is not None:
        raise Rejected("value", "what is in the table of values is written out")
    return found


def check_nulls(declaration: Declaration, row: Row, labels: Sequence[LabelContent]) -> None:
    """Reject a null cell that its declaration or its label does not allow."""
    known = tuple(cell if is_known(cell) else Hole.STAR for cell in row)
    ordinals: set[int] = set()
    for column, cell in enumerate(row):
        policy = declaration.nulls[column] if declaration.nulls else None
        if isinstance(cell, Label):
            content = labels[cell.number]
            if (content.predicate, content.row, content.column) != (
                declaration.name,
                known,
                column,
            ):
                raise Rejected("cell", "the label is that of another cell")
            ordinals.add(content.ordinal)
        elif isinstance(cell, Null):
            meant = "none" if cell.ordinal is None else "maybe"
            if policy != meant:
                raise Rejected("cell", f"a null of this column means {policy}")
            ordinals |= set() if cell.ordinal is None else {cell.ordinal}
    if len(ordinals) > 1:
        raise Rejected("cell", "a row has one ordinal")
