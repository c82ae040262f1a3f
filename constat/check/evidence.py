"""What came from outside: sources, assumptions, facts, open rows, coverage.

In: the members of those names.  Out: frozen records whose indices and values are checked.
Invariant: rows that no configuration and no database vouches for carry an assumption, and so does
every coverage that rests on somebody's word.  FORMAT.md, section 5.

Example: a fact group of origin LLM_KNOWLEDGE whose assumption is null is rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from . import shapes
from .attestation import check_quote, read_attestation
from .canonical import Json, canonical, sha256
from .commitments import Commitment, Opened, check_commitments, read_commitment
from .fillings import Filling, read_fillings
from .ordering import check_sorted
from .records import (
    AUTHORITIES,
    PROVED,
    Assumption,
    Coverage,
    FactGroup,
    Open,
    Proved,
    RowReader,
    Source,
)
from .rejection import Rejected, each, inside
from .values import Hole, Row, is_known

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    if second:
        inside("span", parts["span"], lambda v: _read_span(v, origin))
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


def _read_span(value: Json, origin: str) -> None:
    """Check where in a document a row stands."""
    if (value is None) != (origin != _DOCUMENT):
        raise Rejected("source", "exactly what a document says has a place in it")
    if value is not None:
        check_quote(value)


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
        inline = check_shown_rows(self.sources, groups)
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
        )

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
    sources: tuple[Source, ...], groups: tuple[FactGroup, ...]
) -> tuple[bool, ...]:
    """Compare the rows shown of each source with its count, and with its hash if all are shown.

    Tells of each source whether they are, so that it is inline.
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
        if inline[position]:
            rows = [row for found in by_predicate.values() for row in found]
            if rows_hash(rows) != source.hash:
                raise Rejected("source", "the rows shown do not have the source's hash", place)
    return tuple(inline)


def rows_hash(rows: Iterable[Row]) -> str:
    """Return the hash of rows as a source gave them: without what its null cells mean."""
    bare = [tuple([str(cell) if is_known(cell) else None for cell in row]) for row in rows]
    bare.sort(key=lambda row: [(cell is not None, cell or "") for cell in row])
    return sha256("".join(canonical(list(row)) + "\n" for row in bare))
