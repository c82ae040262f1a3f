"""What came from outside, as frozen records, and the reader of their rows.

In: parsed JSON.  Out: sources, assumptions, groups of facts, coverage; rows of declared kinds.
Invariant: nothing here says what follows; ``evidence`` and ``commitments`` check the parts.
FORMAT.md, section 5.

Example: a row with one cell too few for its predicate is rejected with code ``schema``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from . import shapes
from .ordering import sort_key
from .rejection import Rejected, each
from .unknowns import LabelContent, check_nulls
from .values import (
    KINDS,
    NONE,
    STRUCTURE,
    Hole,
    Label,
    Null,
    OpenRow,
    Row,
    is_spelled,
    read_structure,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .attestation import Attestation
    from .canonical import Json
    from .rules import Declaration, Program
    from .structures import Structure, Structures
    from .values import Cell, Known

AUTHORITIES: Final = frozenset({"CONFIG", "DATABASE"})
PROVED: Final = "DERIVED"
"""The origin of a row that another certificate proves."""


@dataclass(frozen=True, slots=True)
class Proved:
    """The nested certificate that proves a row, and the outer assumptions that it rests on."""

    certificate: int
    assumptions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One answer from outside; ``rows`` and ``hash`` describe all of it."""

    tier: str
    origin: str
    name: str
    query: str | None
    parameters: tuple[str, ...]
    rows: int
    hash: str
    confidence: int
    author: str | None
    attestation: Attestation | None
    commitment: Json
    """As it stands: it speaks of columns that are read later."""
    proof: Proved | None
    authority: bool = False
    """Whether it is an API whose answer is said to be all there is."""

    @property
    def vouched(self) -> bool:
        """Whether its rows rest on nobody's word, so that it can close a key."""
        return self.origin in AUTHORITIES or self.authority


@dataclass(frozen=True, slots=True)
class Assumption:
    """What somebody must accept; ``confidence`` in millionths, ``attestations`` as hashes."""

    kind: str
    text: str
    confidence: int
    attestations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Rows of one predicate from one source; they hold where all of ``rests_on`` is accepted."""

    predicate: str
    source: int
    assumption: int | None
    rests_on: tuple[int, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """Some row of this shape may exist."""

    predicate: str
    row: OpenRow
    reason: str
    assumption: int | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """For these keys, facts and open rows are all there can be."""

    predicate: str
    columns: tuple[int, ...]
    keys: tuple[Row, ...]
    sources: tuple[int, ...]


class RowReader:
    """Reads rows against declarations; remembers texts that it has already checked.

    ``shared`` are the structures of the table, and ``used`` the places of those that were met;
    ``labels`` say what each label is of.
    """

    def __init__(
        self,
        program: Program,
        structures: Structures,
        shared: Sequence[Structure] = (),
        *,
        second: bool,
    ) -> None:
        self.program = program
        self.structures = structures
        self.shared = shared
        self.labels: Sequence[LabelContent] = ()
        self.second = second
        self.used: set[int] = set()
        self.good: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.read: dict[str, Structure] = {}

    def declaration(self, name: Json) -> Declaration:
        """Return the declaration of a predicate."""
        found = self.program.declarations.get(shapes.text(name))
        if found is None:
            raise Rejected("declaration", f"{shapes.text(name)[:40]!r} is not declared")
        return found

    def external(self, name: Json) -> Declaration:
        """Return the declaration of a predicate that has rows from outside."""
        declaration = self.declaration(name)
        if not declaration.external:
            raise Rejected("declaration", f"no rows of {declaration.name} come from outside")
        return declaration

    def value(self, kind: str, value: Json) -> Known:
        """Return a value, spelled or by its place in the table."""
        # Most texts come again and again: one look-up decides them.
        if type(value) is str and value in self.good[kind]:
            return value
        if kind == STRUCTURE:
            return self.structure(value)
        found = shapes.text(value)
        if not is_spelled(kind, found):
            raise Rejected("value", f"{found[:40]!r} is not the spelling of a {kind}")
        self.good[kind].add(found)
        return found

    def structure(self, value: Json) -> Known:
        """Return a structure; one that is in the table stands nowhere as a text."""
        if type(value) is int and self.second:
            self.used.add(shapes.index(value, len(self.shared)))
            return self.shared[value]
        text = shapes.text(value)
        known = self.read.get(text)
        if known is None:
            known = read_structure(self.structures, text)
            if known is None:
                raise Rejected("value", f"{text[:40]!r} is not the spelling of a structure")
            if known.place is not None:
                raise Rejected("value", "what is in the table of values is written out")
            self.read[text] = known
        return known

    def read_labels(self, value: Json) -> None:
        """Read what each label is of: sorted and distinct."""

        def read(entry: Json) -> LabelContent:
            predicate, cells, column, ordinal = shapes.array(entry, 4)
            declaration = self.external(predicate)
            row = self.open_row(declaration.kinds, cells)
            place = shapes.index(column, len(row))
            if row[place] is not Hole.STAR or declaration.nulls[place] != "unknown":
                raise Rejected("cell", "no unknown value can stand in this column")
            number = shapes.index(ordinal)
            return LabelContent(declaration.name, row, place, number, declaration.kinds[place])

        found = each("labels", shapes.array(value), read)
        keys = [(one.predicate, sort_key(one.row), one.column, one.ordinal) for one in found]
        if any(left >= right for left, right in pairwise(keys)):
            raise Rejected("order", "labels are sorted and distinct", "labels")
        self.labels = found

    def cell(self, kind: str, value: Json) -> Cell:
        """Return a value or a null cell."""
        if type(value) is not list or not self.second:
            return self.value(kind, value)
        match value:
            case ["unknown", int(number)]:
                return self.label(kind, number)
            case ["maybe", int(ordinal)]:
                return Null(ordinal)
            case ["none"]:
                return NONE
            case _:
                raise Rejected("schema", "this is no cell of a row")

    def carried(self, kind: str, value: Json) -> Cell:
        """Return what a variable can have: a value or a label."""
        found = self.cell(kind, value)
        if type(found) is Null:
            raise Rejected("schema", "no variable has such a cell")
        return found

    def label(self, kind: str, number: int) -> Label:
        """Return a label of this kind."""
        content = self.labels[shapes.index(number, len(self.labels))]
        if content.kind != kind:
            raise Rejected("kind", f"the label is of the kind {content.kind}")
        return Label(number)

    def row(self, kinds: tuple[str, ...], value: Json) -> Row:
        """Return a row of values."""
        cells = shapes.array(value, len(kinds))
        return tuple([self.value(kind, cell) for kind, cell in zip(kinds, cells, strict=True)])

    def cells(self, kinds: tuple[str, ...], value: Json) -> Row:
        """Return a row that may have null cells."""
        cells = shapes.array(value, len(kinds))
        return tuple([self.cell(kind, cell) for kind, cell in zip(kinds, cells, strict=True)])

    def fact_row(self, declaration: Declaration, value: Json) -> Row:
        """Return a row of a source, whose null cells are those that its declaration allows."""
        row = self.cells(declaration.kinds, value)
        if any(type(cell) is Label or type(cell) is Null for cell in row):
            check_nulls(declaration, row, self.labels)
        return row

    def open_row(self, kinds: tuple[str, ...], value: Json, hole: Hole = Hole.STAR) -> OpenRow:
        """Return a row of values in which ``null`` has become ``hole``."""
        cells = shapes.array(value, len(kinds))
        return tuple(
            hole if cell is None else self.value(kind, cell)
            for kind, cell in zip(kinds, cells, strict=True)
        )

    def bound_row(self, kinds: tuple[str, ...], value: Json) -> OpenRow:
        """Return a row of what rules carry, in which ``null`` has become ⋆."""
        return tuple(
            Hole.STAR if cell is None else self.carried(kind, cell)
            for kind, cell in zip(kinds, shapes.array(value, len(kinds)), strict=True)
        )

    def goal_row(self, kinds: tuple[str, ...], value: Json) -> OpenRow:
        """Return the pattern of a goal: ``null`` is a variable, ``["_"]`` is not read."""
        return tuple(
            Hole.ANY
            if cell == ["_"] and self.second
            else Hole.UNBOUND
            if cell is None
            else self.value(kind, cell)
            for kind, cell in zip(kinds, shapes.array(value, len(kinds)), strict=True)
        )

    def columns(self, declaration: Declaration, value: Json) -> tuple[int, ...]:
        """Return ascending positions of columns."""
        width = len(declaration.columns)
        found = tuple(shapes.index(column, width) for column in shapes.array(value))
        if list(found) != sorted(set(found)):
            raise Rejected("schema", "columns are ascending and distinct", "columns")
        return found
