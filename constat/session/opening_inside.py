"""Openings inside a certificate: the rows it shows, in roots that their owners committed to.

In: an accepted certificate, and signed snapshots, whose trees are made anew from the sources. Out:
the certificate with commitments in its sources, at level C2 where all that has to be complete was
opened. Invariant: an opening shows no row that the certificate does not show but one neighbour on
each side of a key; all of them together are at most 64 kB. Example: the absence of a blocked
customer among 1,000,000 takes 2 rows and 20 hashes, 1.6 kB.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.canonical import canonical
from constat.proof.committing import AUTHORITIES, Key, with_commitments
from constat.proof.decoding import read_members
from constat.session.signing_snapshots import serves, taken_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.session.bench import Bench
    from constat.session.signing_snapshots import Committed, Snapshot, Texts

MOST_BYTES: Final = 64_000
_Members = dict[str, Any]


@dataclass(slots=True)
class _Relation:
    """The sources of a certificate whose rows are opened in one root, and what is to be opened."""

    committed: Committed
    snapshot: Snapshot
    sources: list[int] = field(default_factory=list)
    complete: set[Key] = field(default_factory=set)
    rows: set[Texts] = field(default_factory=set)

    def commitment(self, *, first: bool) -> _Members:
        """Give what stands with the first source of the relation, or with a later one."""
        one = self.committed.commitment
        return {
            "predicate": self.committed.predicate,
            "root": f"sha256:{one.root}",
            "rows": one.count,
            "order": list(one.order),
            "openings": self._openings() if first else [],
        }

    def _openings(self) -> list[_Members]:
        width = tuple(range(len(self.committed.columns)))
        parts = [(columns, key) for columns, key in self.complete]
        inside = {
            row
            for row in self.rows
            if any(tuple(row[column] for column in columns) == key for columns, key in parts)
        }
        keys = self.complete | {(width, row) for row in self.rows - inside}
        prefixes = self.snapshot.prefixes
        return [self._opening(prefixes, columns, key) for columns, key in sorted(keys)]

    def _opening(self, prefixes: list[Texts], columns: tuple[int, ...], key: Texts) -> _Members:
        values = dict(zip(columns, key, strict=True))
        wanted = tuple(values[column] for column in self.snapshot.order[: len(columns)])

        def start_of(row: Texts) -> Texts:
            return row[: len(wanted)]

        rows, count = self.snapshot.rows, len(prefixes)
        first = bisect_left(prefixes, wanted, key=start_of)
        last = bisect_right(prefixes, wanted, key=start_of)
        path = self.snapshot.tree.path(max(first - 1, 0), min(last + 1, count))
        return {
            "columns": list(columns),
            "key": list(key),
            "start": first,
            "before": list(rows[first - 1]) if first else None,
            "after": list(rows[last]) if last < count else None,
            "path": [f"sha256:{one}" for one in path],
        }


def open_inside(bench: Bench, certificate: bytes, snapshots: Sequence[Committed]) -> bytes:
    """Put openings in these snapshots into an accepted certificate, from the sources as they are.

    Raises `ConstatError` where a source has changed since its snapshot, where none is of rows that
    the certificate shows, and where the openings would be too large.
    """
    members: _Members = read_members(certificate)
    distinct = {(one.predicate, one.commitment.root): one for one in snapshots}
    taken = taken_again(bench, members, list(distinct.values()))
    relations = [_Relation(committed, snapshot) for committed, snapshot in taken]
    for place, source in enumerate(members["sources"]):
        if source["origin"] in AUTHORITIES:
            _file(members, place, relations)
    commitments: dict[int, _Members] = {}
    for one in relations:
        for number, place in enumerate(one.sources):
            commitments[place] = one.commitment(first=number == 0)
    if not commitments:
        message = "none of the snapshots is of rows that the certificate shows"
        raise ConstatError([Diagnostic("C0961", message, help="name others with `--snapshot`")])
    size = len(canonical(list(commitments.values())))
    if size > MOST_BYTES:
        message = f"the openings take {size:,} bytes, and {MOST_BYTES:,} go inside a certificate"
        hint = "leave `--inside` out: then they go into a file beside it"
        raise ConstatError([Diagnostic("C0960", message, help=hint)])
    written = with_commitments(certificate, commitments)
    report = check_certificate(written)
    if not report.accepted:
        message = f"the certificate does not show what the snapshots have: {report.reason}"
        raise ConstatError([Diagnostic("C0962", message, help="prove the goal again")])
    return written


def _file(members: _Members, place: int, relations: list[_Relation]) -> None:
    """Give a source to the first snapshot that serves its keys, or else to the first of its own."""
    groups = [one for one in members["facts"] if one["source"] == place]
    coverage = [one for one in members["coverage"] if place in one["sources"]]
    own = [one for one in relations if _is_of(members, place, one.committed, [*groups, *coverage])]
    if not own:
        return
    serving = [one for one in own if all(serves(one.committed, c["columns"]) for c in coverage)]
    relation = (serving or own)[0]
    relation.sources.append(place)
    for group in groups:
        relation.rows.update(map(tuple, group["rows"]))
    for entry in coverage:
        if serves(relation.committed, entry["columns"]):
            columns = tuple(entry["columns"])
            relation.complete.update((columns, tuple(key)) for key in entry["keys"])


def _is_of(members: _Members, place: int, one: Committed, spoken: list[_Members]) -> bool:
    """Tell whether a source answered for the relation that a snapshot is of."""
    source = members["sources"][place]
    if not spoken or any(entry["predicate"] != one.predicate for entry in spoken):
        return False
    return (source["origin"], source["name"]) == (one.origin, one.source)
