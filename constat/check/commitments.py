"""Rows opened in the root of a relation that its owner committed to: level C2.

In: the member ``commitment`` of each source, the rows shown and the coverage.  Out: of each source
the keys that were opened in its root, or ``Rejected``.  Invariant: an opened key has in the tree
under the root the rows that are shown of it and no other; each row of a committed source is in the
tree.  Whose root it is, nobody can see here.  FORMAT.md, section 5b.

Example: an order that is left out would stand between two rows that an opening shows side by side.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from . import shapes
from .canonical import Json, canonical
from .rejection import Rejected, each
from .values import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .records import Coverage, FactGroup, RowReader, Source
    from .rules import Declaration
    from .values import Row

Columns: TypeAlias = tuple[int, ...]
Texts: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[Columns, Texts]
Opened: TypeAlias = "frozenset[Key] | None"
"""The keys that were opened; ``None`` of a source without a commitment."""

MOST_LISTS: Final = 16
"""Of so many lists of columns at most there are openings, so that rows are sorted in few ways."""
_SHA256: Final = "sha256:"
_LEAF: Final = b"\0"
_INNER: Final = b"\1"


@dataclass(frozen=True, slots=True)
class Opening:
    """The rows of a key: where they begin in the tree, their neighbours, the hashes beside."""

    columns: Columns
    key: Texts
    start: int
    before: Texts | None
    after: Texts | None
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commitment:
    """A root over so many rows of a predicate, sorted by the columns in this order."""

    predicate: str
    root: str
    rows: int
    order: Columns
    openings: tuple[Opening, ...]


def read_commitment(value: Json, reader: RowReader, *, vouched: bool) -> Commitment | None:
    """Read the commitment of a source; ``vouched`` if its origin is one that can have some."""
    if value is None:
        return None
    if not vouched:
        raise Rejected("commitment", "only configuration or a database commits to its rows")
    predicate, root, count, order, openings = shapes.members(
        value, ("predicate", "root", "rows", "order", "openings")
    )
    declaration = reader.external(predicate)
    width = len(declaration.columns)
    columns = tuple(shapes.index(one, width) for one in shapes.array(order, width))
    if len(set(columns)) != width:
        raise Rejected("commitment", "the order names each column once", "order")
    told = shapes.array(openings)
    found = each("openings", told, lambda one: _read_opening(one, declaration, reader))
    for earlier, later in pairwise(found):
        if (earlier.columns, earlier.key) >= (later.columns, later.key):
            raise Rejected("order", "openings are sorted and distinct", "openings")
    if len({one.columns for one in found}) > MOST_LISTS:
        raise Rejected("limit", "too many lists of columns", "openings")
    return Commitment(
        declaration.name, shapes.sha(root), shapes.index(count), columns, tuple(found)
    )


def _read_opening(value: Json, declaration: Declaration, reader: RowReader) -> Opening:
    columns, key, start, before, after, path = shapes.members(
        value, ("columns", "key", "start", "before", "after", "path")
    )
    kinds = declaration.kinds
    positions = reader.columns(declaration, columns)
    return Opening(
        positions,
        texts_of(reader.row(tuple(kinds[column] for column in positions), key)),
        shapes.index(start),
        None if before is None else texts_of(reader.row(kinds, before)),
        None if after is None else texts_of(reader.row(kinds, after)),
        tuple(each("path", shapes.array(path), shapes.sha)),
    )


def texts_of(row: Row) -> Texts:
    """Return a row of values as texts, in which a tree is sorted and hashed."""
    return tuple(map(str, row))


def check_commitments(
    commitments: Sequence[Commitment | None],
    sources: Sequence[Source],
    groups: Sequence[FactGroup],
    coverage: Sequence[Coverage],
) -> tuple[Opened, ...]:
    """Check all commitments; sources with the same predicate and root are of one relation."""
    relations: dict[tuple[str, str], dict[int, Commitment]] = {}
    for position, one in enumerate(commitments):
        if one is not None:
            relations.setdefault((one.predicate, one.root), {})[position] = one
    opened: list[Opened] = [None] * len(commitments)
    for members in relations.values():
        keys = _check_relation(members, sources, groups, coverage)
        for position in members:
            opened[position] = keys
    return tuple(opened)


def _check_relation(
    members: dict[int, Commitment],
    sources: Sequence[Source],
    groups: Sequence[FactGroup],
    coverage: Sequence[Coverage],
) -> frozenset[Key]:
    first, *others = members
    one = members[first]
    place = f"sources[{first}].commitment"
    for position in others:
        source, other = sources[position], members[position]
        if (source.origin, source.name) != (sources[first].origin, sources[first].name):
            raise Rejected("commitment", "two sources have one root", f"sources[{position}]")
        if (other.rows, other.order, other.openings) != (one.rows, one.order, ()):
            reason = "what a root is of, and its openings, stand with the first of its sources"
            raise Rejected("commitment", reason, f"sources[{position}].commitment")
    shown: set[Texts] = set()
    for group in groups:
        if group.source in members:
            _check_predicate(group, one, place)
            if not all(is_known(cell) for row in group.rows for cell in row):
                raise Rejected("commitment", "a row without a value is in no tree yet", place)
            shown.update(map(texts_of, group.rows))
    complete: set[Key] = set()
    for entry in coverage:
        if not members.keys().isdisjoint(entry.sources):
            _check_predicate(entry, one, place)
            complete.update((entry.columns, texts_of(key)) for key in entry.keys)
    _Relation(one, shown).check(complete, place)
    return frozenset((opening.columns, opening.key) for opening in one.openings)


def _check_predicate(entry: FactGroup | Coverage, one: Commitment, place: str) -> None:
    if entry.predicate != one.predicate:
        raise Rejected("commitment", "the source speaks of another predicate, too", place)


class _Relation:
    """The rows that are shown of a committed relation, found by the keys that are opened."""

    def __init__(self, commitment: Commitment, shown: set[Texts]) -> None:
        self.commitment = commitment
        self.shown = shown
        self.by_columns: dict[Columns, dict[Texts, list[Texts]]] = {}
        for columns in {opening.columns for opening in commitment.openings}:
            rows = self.by_columns[columns] = {}
            for row in shown:
                rows.setdefault(tuple([row[column] for column in columns]), []).append(row)

    def check(self, complete: set[Key], place: str) -> None:
        """Check each opening, that each is needed, and that each row is in one."""
        openings = self.commitment.openings
        try:
            each("openings", openings, self._check_opening)
        except Rejected as rejected:
            rejected.within(place)
            raise
        found = {
            row
            for opening in openings
            if (opening.columns, opening.key) in complete
            for row in self._rows(opening)
        }
        for position, opening in enumerate(openings):
            alone = len(opening.key) == len(self.commitment.order)
            if (opening.columns, opening.key) in complete:
                continue
            if not alone or opening.key in found or opening.key not in self.shown:
                at = f"{place}.openings[{position}]"
                raise Rejected("commitment", "nothing needs this opening", at)
            found.add(opening.key)
        if len(found) < len(self.shown):
            raise Rejected("commitment", "a row is not opened", place)

    def _rows(self, opening: Opening) -> list[Texts]:
        return self.by_columns[opening.columns].get(opening.key, [])

    def _check_opening(self, opening: Opening) -> None:
        order, count = self.commitment.order, self.commitment.rows
        first = order[: len(opening.columns)]
        if tuple(sorted(first)) != opening.columns:
            raise Rejected("commitment", "the rows of this key do not lie side by side", "columns")
        inner = sorted(self._rows(opening), key=self._sorted_by)
        before = [] if opening.before is None else [opening.before]
        after = [] if opening.after is None else [opening.after]
        end = opening.start + len(inner)
        if bool(before) != (opening.start > 0):
            raise Rejected("commitment", "a row stands before all but the first", "before")
        if end > count or bool(after) != (end < count):
            raise Rejected("commitment", "a row stands behind all but the last", "after")
        values = dict(zip(opening.columns, opening.key, strict=True))
        wanted = tuple(values[column] for column in first)
        if any(tuple(row[column] for column in first) >= wanted for row in before):
            raise Rejected("commitment", "this row does not stand before the key", "before")
        if any(tuple(row[column] for column in first) <= wanted for row in after):
            raise Rejected("commitment", "this row does not stand behind the key", "after")
        rows = [*before, *inner, *after]
        if self._root(opening.start - len(before), rows, opening.path) != self.commitment.root:
            raise Rejected("commitment", "the rows do not lead to the root", "path")

    def _sorted_by(self, row: Texts) -> Texts:
        return tuple([row[column] for column in self.commitment.order])

    def _root(self, start: int, rows: list[Texts], path: tuple[str, ...]) -> str | None:
        leaves = [_hash(_LEAF + canonical(list(row)).encode()) for row in rows]
        left = iter(path)
        count = self.commitment.rows
        found = _Tree(start, leaves, left).hash(0, count) if count else _hash(b"")
        if found is None or next(left, None) is not None:
            return None
        return _SHA256 + found.hex()


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree of RFC 6962 of which some leaves are there and the rest stands in a path."""

    start: int
    leaves: list[bytes]
    path: Iterator[str]

    def hash(self, low: int, high: int) -> bytes | None:
        """Return the hash over the leaves from ``low`` to ``high`` - 1, ``None`` without a path."""
        if high <= self.start or low >= self.start + len(self.leaves):
            given = next(self.path, None)
            return None if given is None else bytes.fromhex(given[len(_SHA256) :])
        if high - low == 1:
            return self.leaves[low - self.start]
        middle = low + (1 << ((high - low - 1).bit_length() - 1))
        left, right = self.hash(low, middle), self.hash(middle, high)
        return None if left is None or right is None else _hash(_INNER + left + right)


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
