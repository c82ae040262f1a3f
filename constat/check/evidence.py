"""What came from outside, checked: sources, assumptions, facts, open rows, openings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from . import values as shapes
from .canonical import Json, Rejected, canonical, each, inside, sha256
from .records import (
    AUTHORITIES,
    PROVED,
    Assumption,
    Coverage,
    FactGroup,
    Filling,
    Open,
    Proved,
    RowReader,
    Source,
    check_sorted,
    read_attestation,
    read_fillings,
    read_span,
)
from .rules import Positive
from .values import Hole, Row, is_hidden, is_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .records import Quoted, Reader
    from .rules import Declaration

# An opened key has in the tree under the root the rows that are shown of it and no other; each row
# of a committed source is in the tree.  Whose root it is, nobody can see here.  FORMAT.md, section
# 5b.

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


# Rows that no configuration and no database vouches for carry an assumption, and so does every
# coverage that rests on somebody's word.  FORMAT.md, section 5.

_API: Final = "API"
_DOCUMENT: Final = "DOCUMENT"
_ORIGINS: Final = AUTHORITIES | {
    "USER_PROVIDED",
    "LLM_KNOWLEDGE",
    "LLM_HEURISTIC",
    "SUB_PLAN",
    _API,
    PROVED,
}
_SOURCE: Final = (
    "tier",
    "origin",
    "name",
    "query",
    "parameters",
    "rows",
    "hash",
    "snapshot",
    "confidence",
    "author",
    "attestation",
    "commitment",
    "proof",
)
_SOURCE_OF_SECOND: Final = ("authority", "span")


def read_source(value: Json, assumptions: int, *, second: bool) -> Source:
    """Read one source of a certificate of either format, with so many assumptions."""
    names = _SOURCE + (_SOURCE_OF_SECOND if second else ())
    parts = dict(zip(names, shapes.members(value, names), strict=True))
    shapes.text_or_null(parts["snapshot"])
    origin = shapes.one_of(parts["origin"], _ORIGINS | {_DOCUMENT} if second else _ORIGINS)
    author = shapes.text_or_null(parts["author"])
    span = inside("span", parts["span"], lambda v: _read_span(v, origin)) if second else None
    rows = shapes.sha(parts["hash"])
    return Source(
        shapes.text(parts["tier"]),
        origin,
        shapes.text(parts["name"]),
        shapes.text_or_null(parts["query"]),
        tuple(each("parameters", shapes.array(parts["parameters"]), shapes.text)),
        shapes.index(parts["rows"]),
        rows,
        shapes.confidence(parts["confidence"]),
        author,
        inside(
            "attestation",
            parts["attestation"],
            lambda v: read_attestation(v, origin, author, rows),
        ),
        parts["commitment"],
        inside("proof", parts["proof"], lambda v: _read_proved(v, origin, assumptions)),
        second and inside("authority", parts["authority"], lambda v: _read_authority(v, origin)),
        span,
    )


def _read_authority(value: Json, origin: str) -> bool:
    """Tell whether an API's answer is all there is, which the project has declared."""
    if value is None:
        return False
    operation, pages = shapes.members(value, ("operation", "pages"))
    if not shapes.text(operation) or not shapes.index(pages):
        raise Rejected("source", "an operation has a name, and gave at least a page")
    if origin != _API:
        raise Rejected("source", "only an API is declared an authority")
    return True


def _read_span(value: Json, origin: str) -> Quoted | None:
    """Read where in a document a row stands."""
    if (value is None) != (origin != _DOCUMENT):
        raise Rejected("source", "exactly what a document says has a place in it")
    return None if value is None else read_span(value)


def _read_proved(value: Json, origin: str, assumptions: int) -> Proved | None:
    if (value is None) != (origin != PROVED):
        raise Rejected("proof", "exactly rows of origin DERIVED have a proof")
    if value is None:
        return None
    certificate, imported = shapes.members(value, ("certificate", "assumptions"))
    indices = tuple(shapes.index(one, assumptions) for one in shapes.array(imported))
    return Proved(shapes.index(certificate), indices)


def read_assumption(value: Json) -> Assumption:
    """Read one assumption."""
    kind, said, confidence, attested = shapes.members(
        value, ("kind", "text", "confidence", "attestations")
    )
    known = ("fact", "rule", "closure", "fall-through")
    return Assumption(
        shapes.one_of(kind, known),
        shapes.text(said),
        shapes.confidence(confidence),
        tuple(each("attestations", shapes.array(attested), shapes.sha)),
    )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that came from outside."""

    sources: tuple[Source, ...]
    assumptions: tuple[Assumption, ...]
    facts: tuple[FactGroup, ...]
    open: tuple[Open, ...]
    coverage: tuple[Coverage, ...]
    inline: tuple[bool, ...]
    """Of each source: whether all its rows are shown and have its hash."""
    commitments: tuple[Commitment | None, ...]
    opened: tuple[Opened, ...]
    """Of each source: the keys of its predicate that were opened in its root."""
    filled: tuple[Filling, ...] = ()


class EvidenceReader:
    """Reads the members that rest on sources and assumptions."""

    def __init__(
        self,
        rows: RowReader,
        sources: tuple[Source, ...],
        assumptions: tuple[Assumption, ...],
    ) -> None:
        self.rows = rows
        self.sources = sources
        self.assumptions = assumptions

    def evidence(self, facts: Json, opened: Json, coverage: Json, filled: Json) -> Evidence:
        """Read these members and check that sources and coverage are backed."""
        groups = tuple(each("facts", shapes.array(facts), self._facts))
        holes = tuple(each("open", shapes.array(opened), self._open))
        covered = tuple(each("coverage", shapes.array(coverage), self._coverage))
        hidden = () if self.rows.redaction is None else self.rows.redaction.sources
        inline = check_shown_rows(self.sources, groups, hidden)
        backing = _backing(holes)
        each("coverage", covered, lambda entry: self._check_backed(entry, backing))
        commitments = tuple(each("sources", self.sources, self._commitment))
        keys = check_commitments(commitments, self.sources, groups, covered)
        return Evidence(
            self.sources,
            self.assumptions,
            groups,
            holes,
            covered,
            inline,
            commitments,
            keys,
            read_fillings(filled, self.rows, groups, self.sources, self.assumptions),
        )

    def _commitment(self, source: Source) -> Commitment | None:
        vouched = source.origin in AUTHORITIES
        return inside(
            "commitment",
            source.commitment,
            lambda value: read_commitment(value, self.rows, vouched=vouched),
        )

    def _assumption(self, value: Json, kinds: tuple[str, ...]) -> int | None:
        found = shapes.index_or_null(value, len(self.assumptions))
        if found is not None and self.assumptions[found].kind not in kinds:
            raise Rejected("assumption", f"an assumption of kind {' or '.join(kinds)} is expected")
        return found

    def _facts(self, value: Json) -> FactGroup:
        predicate, source, assumption, rows = shapes.members(
            value, ("predicate", "source", "assumption", "rows")
        )
        declaration = self.rows.external(predicate)
        read = partial(self.rows.fact_row, declaration)
        position = shapes.index(source, len(self.sources))
        told = self.sources[position]
        own = self._assumption(
            assumption, ("fact", "fall-through") if told.proof is None else ("fall-through",)
        )
        if told.proof is None and own is None and not told.vouched:
            raise Rejected("assumption", f"rows of origin {told.origin} rest on an assumption")
        imported = () if told.proof is None else told.proof.assumptions
        group = FactGroup(
            declaration.name,
            position,
            own,
            imported if own is None else (own, *imported),
            tuple(each("rows", shapes.array(rows), read)),
        )
        check_sorted(group.rows)
        return group

    def _open(self, value: Json) -> Open:
        predicate, row, reason, assumption = shapes.members(
            value, ("predicate", "row", "reason", "assumption")
        )
        declaration = self.rows.external(predicate)
        return Open(
            declaration.name,
            self.rows.open_row(declaration.kinds, row),
            shapes.text(reason),
            self._assumption(assumption, ("closure", "fall-through")),
        )

    def _coverage(self, value: Json) -> Coverage:
        told: list[Json] = []
        if self.rows.second and isinstance(value, dict) and "for" in value:
            told = [value["for"]]
            value = {name: one for name, one in value.items() if name != "for"}
        predicate, columns, keys, sources = shapes.members(
            value, ("predicate", "columns", "keys", "sources")
        )
        declaration = self.rows.external(predicate)
        positions = self.rows.columns(declaration, columns)
        kinds = tuple(declaration.kinds[column] for column in positions)
        return Coverage(
            declaration.name,
            positions,
            tuple(each("keys", shapes.array(keys), lambda key: self.rows.row(kinds, key))),
            tuple(shapes.index(s, len(self.sources)) for s in shapes.array(sources)),
            inside("for", told[0], lambda one: self._reader(one, declaration.name))
            if told
            else None,
        )

    def _reader(self, value: Json, predicate: str) -> Reader:
        """Read which literal a coverage is for."""
        rules = self.rows.program.rules
        position, at = shapes.array(value, 2)
        rule = shapes.index(position, len(rules))
        body = rules[rule].body
        literal = body[shapes.index(at, max(1, len(body)))] if body else None
        if not isinstance(literal, Positive) or literal.atom.predicate != predicate:
            raise Rejected("coverage", f"this is no literal that reads {predicate}")
        return rule, shapes.index(at)

    def _check_backed(
        self, entry: Coverage, backing: dict[tuple[str, tuple[int, ...]], set[Row]]
    ) -> None:
        """Only an authority, or an open row that admits everything, can close a key."""
        if any(self.sources[source].proof is not None for source in entry.sources):
            raise Rejected("coverage", "a certificate proves a row and closes nothing", "sources")
        if any(self.sources[source].vouched for source in entry.sources):
            return
        backed = backing.get((entry.predicate, entry.columns), set())
        for position, key in enumerate(entry.keys):
            if key not in backed:
                raise Rejected(
                    "coverage",
                    "neither an authority nor an open row backs this",
                    f"keys[{position}]",
                )


def _backing(holes: tuple[Open, ...]) -> dict[tuple[str, tuple[int, ...]], set[Row]]:
    """Return by predicate and columns the keys of open rows that are ⋆ everywhere else."""
    backing: dict[tuple[str, tuple[int, ...]], set[Row]] = {}
    for hole in holes:
        columns = tuple(c for c, value in enumerate(hole.row) if not isinstance(value, Hole))
        key = tuple(value for value in hole.row if not isinstance(value, Hole))
        backing.setdefault((hole.predicate, columns), set()).add(key)
    return backing


def check_shown_rows(
    sources: tuple[Source, ...], groups: tuple[FactGroup, ...], hidden: Sequence[int] = ()
) -> tuple[bool, ...]:
    """Compare the rows shown of each source with its count, and with its hash if all are shown.

    Tells of each source whether they are, so that it is inline.  The hash of a source with hidden
    values is hidden as well.
    """
    inline: list[bool] = []
    shown: list[dict[str, set[Row]]] = [{} for _ in sources]
    for group in groups:
        shown[group.source].setdefault(group.predicate, set()).update(group.rows)
    for position, (source, by_predicate) in enumerate(zip(sources, shown, strict=True)):
        place = f"sources[{position}]"
        count = sum(map(len, by_predicate.values()))
        if count > source.rows:
            raise Rejected("source", "more rows are shown than the source gave", place)
        inline.append(count == source.rows and len(by_predicate) <= 1)
        rows = [row for found in by_predicate.values() for row in found]
        if position in hidden:
            continue
        if any(is_hidden(cell) for row in rows for cell in row):
            raise Rejected("redaction", "a value of this source is hidden, and not its hash", place)
        if inline[position] and rows_hash(rows) != source.hash:
            raise Rejected("source", "the rows shown do not have the source's hash", place)
    return tuple(inline)


def rows_hash(rows: Iterable[Row]) -> str:
    """Return the hash of rows as a source gave them: without what its null cells mean."""
    bare = [tuple([str(cell) if is_known(cell) else None for cell in row]) for row in rows]
    bare.sort(key=lambda row: [(cell is not None, cell or "") for cell in row])
    return sha256("".join(canonical(list(row)) + "\n" for row in bare))
