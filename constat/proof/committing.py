"""Put commitments into a certificate: roots, with the openings of the rows it shows (level C2).

In: an accepted certificate, and for some of its sources a commitment as FORMAT.md, section 5b, has
it.  Out: the certificate with these, its level, identity and digest made anew.  Invariant: nothing
else changes, so it says and proves the same; the writer is not trusted, the checker looks again.

Example: a sum over the orders of one customer, read in one query with all others, rises from C1 to
C2 once the customer's orders are opened in the root that the owner of the table signed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from constat.proof.canonical import canonical, object_form, sha256
from constat.proof.decoding import read_members
from constat.proof.levels import CLOSING, COMMITTED, DECLARED, DERIVED, INLINE, RERUNNABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Members = dict[str, Any]
Key = tuple[tuple[int, ...], tuple[str, ...]]
AUTHORITIES: Final = frozenset({"CONFIG", "DATABASE"})
"""The origins whose sources can commit to their rows."""


def with_commitments(certificate: bytes, commitments: Mapping[int, Members]) -> bytes:
    """Return the certificate with these commitments, by the place of their source."""
    members: Members = json.loads(certificate)
    for place, source in enumerate(members["sources"]):
        source["commitment"] = commitments.get(place)
    read = {**read_members(certificate), "sources": members["sources"]}
    members["header"]["level"] = _level(read)
    return sealed(members)


def sealed(members: Members) -> bytes:
    """Return a certificate with its identity and digest made anew."""
    parts = {name: canonical(value) for name, value in members.items()}
    unnamed = frozenset({"proofs", "record", "identity", "digest"})
    parts["identity"] = canonical(sha256(object_form(parts, unnamed)))
    parts["digest"] = canonical(sha256(object_form(parts, frozenset({"digest"}))))
    return (object_form(parts) + "\n").encode()


def commitments_of(members: Mapping[str, Any]) -> dict[int, Members]:
    """Return the commitments of a certificate, by the place of their source."""
    return {
        place: source["commitment"]
        for place, source in enumerate(members["sources"])
        if source["commitment"] is not None
    }


def opened_keys(members: Mapping[str, Any]) -> dict[int, frozenset[Key]]:
    """Return of each source with a commitment the keys that are opened in its root."""
    found: dict[tuple[str, str], set[Key]] = {}
    committed = commitments_of(members)
    for one in committed.values():
        keys = found.setdefault((one["predicate"], one["root"]), set())
        keys.update((tuple(o["columns"]), tuple(o["key"])) for o in one["openings"])
    return {
        place: frozenset(found[one["predicate"], one["root"]]) for place, one in committed.items()
    }


def _level(members: Members) -> str | None:
    """Return the weakest level that occurs (FORMAT.md, section 6a)."""
    accepted = (members["assumptions"][place]["kind"] for place in members["header"]["under"])
    found = [DECLARED] if any(kind in CLOSING for kind in accepted) else []
    found += [RERUNNABLE] if members["summaries"] else []
    found += [DERIVED] if members["closure"]["entries"] else []
    found += [one["header"]["level"] for one in members["proofs"] if one["header"]["level"]]
    return min([*found, *_coverage_levels(members)], default=None)


def _coverage_levels(members: Members) -> Iterator[str]:
    sources, opened = members["sources"], opened_keys(members)
    shown: list[set[tuple[str, ...]]] = [set() for _ in sources]
    for group in members["facts"]:
        shown[group["source"]].update((group["predicate"], *row) for row in group["rows"])
    inline = [
        len(rows) == source["rows"] and len({name for name, *_ in rows}) <= 1
        for rows, source in zip(shown, sources, strict=True)
    ]
    for entry in members["coverage"]:
        if not any(sources[place]["origin"] in AUTHORITIES for place in entry["sources"]):
            continue
        keys = {(tuple(entry["columns"]), tuple(key)) for key in entry["keys"]}
        others = [place for place in entry["sources"] if not inline[place]]
        if not others:
            yield INLINE
        elif all(place in opened and keys <= opened[place] for place in others):
            yield COMMITTED
        else:
            yield RERUNNABLE
