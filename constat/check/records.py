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
from .rejection import Rejected
from .values import KINDS, Hole, OpenRow, Row, is_spelled

if TYPE_CHECKING:
    from .attestation import Attestation
    from .canonical import Json
    from .rules import Declaration, Program

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
    """Reads rows against declarations; remembers texts that it has already checked."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.good: dict[str, set[str]] = {kind: set() for kind in KINDS}

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

    def value(self, kind: str, value: Json) -> str:
        """Return a spelled value."""
        # Most texts come again and again: one look-up decides them.
        if type(value) is str and value in self.good[kind]:
            return value
        found = shapes.text(value)
        if not is_spelled(kind, found):
            raise Rejected("value", f"{found[:40]!r} is not the spelling of a {kind}")
        self.good[kind].add(found)
        return found

    def row(self, kinds: tuple[str, ...], value: Json) -> Row:
        """Return a row without ⋆."""
        cells = shapes.array(value, len(kinds))
        return tuple([self.value(kind, cell) for kind, cell in zip(kinds, cells, strict=True)])

    def open_row(self, kinds: tuple[str, ...], value: Json, hole: Hole = Hole.STAR) -> OpenRow:
        """Return a row in which ``null`` has become ``hole``."""
        cells = shapes.array(value, len(kinds))
        return tuple(
            hole if cell is None else self.value(kind, cell)
            for kind, cell in zip(kinds, cells, strict=True)
        )

    def columns(self, declaration: Declaration, value: Json) -> tuple[int, ...]:
        """Return ascending positions of columns."""
        width = len(declaration.columns)
        found = tuple(shapes.index(column, width) for column in shapes.array(value))
        if list(found) != sorted(set(found)):
            raise Rejected("schema", "columns are ascending and distinct", "columns")
        return found


def sort_key(row: OpenRow) -> tuple[tuple[bool, str], ...]:
    """Order rows as arrays of strings, ⋆ first."""
    return tuple((False, "") if isinstance(v, Hole) else (True, v) for v in row)


def check_sorted(rows: tuple[OpenRow, ...]) -> None:
    """Reject rows that are out of order or repeated."""
    keys = [sort_key(row) for row in rows]
    if any(left >= right for left, right in pairwise(keys)):
        raise Rejected("order", "rows are sorted and distinct")
