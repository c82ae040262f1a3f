"""Judge the openings of a certificate against signed snapshots, without source and project.

In: a certificate that the checker accepted, snapshots, and openings from anywhere. Out: an
`OpeningReport`. Invariant: a certificate passes only when every row of a committed predicate that
rests on a source is one of the snapshot, from the same source and the same query, and every key
that the certificate calls complete has in the snapshot the rows that it shows and no other.
Example: with one order dropped the reason is that the snapshot has a row which is not shown.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.decoding import NullText, read_members
from constat.proof.rebuilding import commitments_of, opened_keys
from constat.proof.signing import SigningError
from constat.proof.signing.envelope import members, read_object
from constat.proof.signing.openings import Opening, OpeningError, opened_rows
from constat.proof.signing.trust import VALID
from constat.session.signing import said
from constat.session.snapshots import (
    FORMAT,
    WITH_NULLS,
    Cells,
    Committed,
    Texts,
    committed_row,
    serves,
    unknown_keys,
    wanted_keys,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MOST_BYTES: Final = 1 << 26
_MEMBERS: Final = ("predicate", "root", "columns", "key", "start", "rows", "path")
_TRUE_ORIGINS: Final = frozenset({"CONFIG", "DATABASE"})


class _RejectedError(Exception):
    """The certificate does not show what the snapshots have."""


@frozen
class OpeningReport:
    """What became of the leaves. `opened` counts rows by predicate, `not_opened` are the others."""

    reason: str
    signers: tuple[tuple[str, str], ...]
    opened: Mapping[str, int]
    not_opened: tuple[str, ...]
    newer: tuple[str, ...] = ()
    """What the log of decisions says about snapshots that are newer than these."""

    @property
    def whole(self) -> bool:
        """Whether every leaf that rests on a source was opened."""
        return not self.reason and not self.not_opened

    def to_lines(self) -> list[str]:
        """Give the report for people."""
        lines = [f"snapshot of {name}: {signer}" for name, signer in self.signers]
        lines += [f"older snapshot: {one}" for one in self.newer]
        if self.reason:
            return lines
        lines += [
            f"opened: {name}, {count:,} {'row' if count == 1 else 'rows'}"
            for name, count in self.opened.items()
        ]
        if self.not_opened:
            lines.append(f"not opened, taken as they stand: {', '.join(self.not_opened)}")
        return lines

    def to_json(self) -> dict[str, object]:
        """Give the report as a JSON object."""
        return {
            "accepted": not self.reason,
            "signed": [{"predicate": name, "by": signer} for name, signer in self.signers],
            "opened": [{"predicate": name, "rows": rows} for name, rows in self.opened.items()],
            "not_opened": list(self.not_opened),
            "newer": list(self.newer),
        }


def demanding(
    report: OpeningReport,
    newer: tuple[str, ...],
    unlogged: tuple[str, ...],
    *,
    opened: bool,
    newest: bool,
) -> OpeningReport:
    """Let a report hold only where everything is opened, and in the newest snapshots there are.

    Of what is `unlogged` the log of decisions knows no snapshot, so none can be called the newest.
    """
    reason = report.reason
    if not reason and opened and report.not_opened:
        reason = f"not everything is opened: {', '.join(report.not_opened)}"
    if not reason and newest and newer:
        reason = newer[0]
    if not reason and newest and unlogged:
        reason = (
            f"the log of decisions knows no snapshot of {', '.join(unlogged)}, so nothing tells"
            " whether there is a newer one; `constat snapshot --log` writes them down"
        )
    return replace(report, reason=reason, newer=newer)


Openings = dict[tuple[str, str, Texts, Cells], Opening]


def read_openings(content: bytes) -> Openings:
    """Read openings, by predicate, root, columns and key; raises `ConstatError` for other files."""
    try:
        return _openings(content)
    except SigningError as problem:
        message = f"these are no openings: {problem.reason}"
        raise ConstatError([Diagnostic("C0761", message)]) from None


def _openings(content: bytes) -> Openings:
    if len(content) > MOST_BYTES:
        raise SigningError("the file is too large")
    document = read_object(content, "the file")
    members(document, ("format", "openings"), "the file")
    nulls = document["format"] == WITH_NULLS
    if not (nulls or document["format"] == FORMAT) or not isinstance(document["openings"], list):
        raise SigningError(f"the file is not of the format {FORMAT} or {WITH_NULLS}")
    return dict(_opening(one, nulls=nulls) for one in document["openings"])


def _opening(one: Any, *, nulls: bool) -> tuple[tuple[str, str, Texts, Cells], Opening]:  # noqa: ANN401  any JSON value
    members(one, _MEMBERS, "an opening")
    rows, lists = one["rows"], (one["columns"], one["path"])
    if not isinstance(rows, list) or type(one["start"]) is not int:
        raise SigningError("an opening has no rows, or no place")
    cells = (one["key"], *rows)
    if not all(map(_is_texts, lists)) or not all(_is_texts(part, nulls=nulls) for part in cells):
        raise SigningError("a row, a key or a path is no list of texts")
    if not isinstance(one["predicate"], str) or not isinstance(one["root"], str):
        raise SigningError("an opening has no predicate or no root")
    columns, path = map(tuple, lists)
    place = (one["predicate"], one["root"], columns, tuple(one["key"]))
    return place, Opening(one["start"], tuple(map(tuple, rows)), path)


def _is_texts(value: object, *, nulls: bool = False) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, str) or (nulls and one is None) for one in value
    )


def check_openings(
    certificate: bytes, snapshots: Sequence[Committed], openings: Openings
) -> OpeningReport:
    """Compare the leaves of an accepted certificate with the snapshots."""
    document = read_members(certificate)
    return _judged(
        document, snapshots, lambda of_name: _Comparison(document, of_name, openings).compare()
    )


def has_commitments(certificate: bytes) -> bool:
    """Tell whether an accepted certificate has openings inside."""
    return bool(commitments_of(json.loads(certificate)))


def check_commitments(certificate: bytes, snapshots: Sequence[Committed]) -> OpeningReport:
    """Compare the roots inside an accepted certificate with those that were signed.

    The checker has opened the rows; here it is seen whose roots they are.
    """
    document = read_members(certificate)
    return _judged(document, snapshots, lambda of_name: _Inside(document, of_name, {}).compare())


def _judged(
    document: Mapping[str, Any],
    snapshots: Sequence[Committed],
    compare: Callable[[Sequence[Committed]], int],
) -> OpeningReport:
    signers = tuple((one.predicate, said(one.finding)) for one in snapshots)
    opened: dict[str, int] = {}
    reason = ""
    for name in dict.fromkeys(one.predicate for one in snapshots):
        try:
            opened[name] = compare([one for one in snapshots if one.predicate == name])
        except (_RejectedError, OpeningError) as problem:
            reason = f"{name}: {problem}"
            break
    return OpeningReport(reason, signers, opened, tuple(_others(document, opened)))


def _others(document: Mapping[str, Any], opened: Mapping[str, int]) -> Iterator[str]:
    """Yield what rests on a source and was not opened."""
    found = {
        entry["predicate"]
        for part in ("facts", "coverage")
        for entry in document[part]
        if entry["predicate"] not in opened
    }
    yield from sorted(found)
    if document["summaries"]:
        yield f"{len(document['summaries']):,} summaries of aggregates"
    if document.get("proofs"):
        yield f"{len(document['proofs']):,} nested certificates"


class _Comparison:
    """One predicate of one certificate and its snapshots, which differ in their order."""

    def __init__(
        self, document: Mapping[str, Any], snapshots: Sequence[Committed], openings: Openings
    ) -> None:
        self.document = document
        self.snapshots = snapshots
        self.openings = openings
        self.name = snapshots[0].predicate
        self.sources = document["sources"]
        self.rows: set[Cells] = set()
        self.stated: set[Cells] = set()
        self.spoken: set[int] = set()

    def compare(self) -> int:
        """Give how many rows were opened; raises where one does not fit."""
        for one in self.snapshots:
            self._check_snapshot(one)
            self._check_nulls(one)
        self._collect()
        in_root: set[Cells] = set()
        for one in self.snapshots:
            names = [name for name, _ in one.columns]
            for columns, key in wanted_keys(self.document, one):
                places = tuple(names.index(name) for name in columns)
                opening = self.openings.get((self.name, one.commitment.root, columns, key))
                if opening is None:
                    raise _RejectedError(f"no opening of {_key(columns, key)}")
                found = opened_rows(one.commitment, places, key, opening)
                in_root.update(found)
                self._compare_key(found)
        self._check_keys()
        if more := sorted(map(_spelled, self.rows - in_root)):
            raise _RejectedError(f"the snapshot has no row ({more[0]})")
        return len(self.rows)

    def _check_snapshot(self, one: Committed) -> None:
        if one.finding.status != VALID:
            raise _RejectedError(f"the snapshot does not count: {one.finding.reason}")
        declared = next(
            (d["columns"] for d in self.document["declarations"] if d["name"] == self.name), None
        )
        if declared is None:
            raise _RejectedError("the certificate does not speak of it")
        if declared != [list(pair) for pair in one.columns]:
            raise _RejectedError("the certificate declares other columns than the snapshot")

    def _check_nulls(self, one: Committed) -> None:
        """No row of a key lies elsewhere in a snapshot because its key is NULL."""
        for column in unknown_keys(self.document, one):
            raise _RejectedError(
                f"rows whose {column} is NULL may have any {column}, so that nothing shows that all"
                " rows of a key are there"
            )

    def _collect(self) -> None:
        """Gather the rows that rest on the source, and those that are somebody's word."""
        for group in self.document["facts"]:
            if group["predicate"] != self.name:
                continue
            rows = set(map(committed_row, group["rows"]))
            if self.sources[group["source"]]["origin"] in _TRUE_ORIGINS:
                self._check_source(group["source"])
                self._check_alike(group["rows"])
                self.rows |= rows
            else:
                self.stated |= rows
        for coverage in self.document["coverage"]:
            for source in coverage["sources"] if coverage["predicate"] == self.name else ():
                if self.sources[source]["origin"] in _TRUE_ORIGINS:
                    self._check_source(source)

    def _check_alike(self, rows: Sequence[Sequence[str]]) -> None:
        """No root has two rows that are alike but for what is NULL."""
        nulls = [cell.cell for row in rows for cell in row if isinstance(cell, NullText)]
        if any(cell.ordinal for cell in nulls):
            raise _RejectedError("two of its rows are alike, and the snapshot has each row once")

    def _check_source(self, number: int) -> None:
        """The source that the certificate names is the one that committed, and so is the query."""
        self.spoken.add(number)
        source, one = self.sources[number], self.snapshots[0]
        if (source["origin"], source["name"]) != (one.origin, one.source):
            told = f"{source['origin']} {source['name']}"
            raise _RejectedError(
                f"its rows are said to be of {told}, not {one.origin} {one.source}"
            )
        relation = one.query.rpartition("\nSELECT ")[0] or one.query
        if not (source["query"] or "").startswith(relation):
            raise _RejectedError("its rows are said to come from another query")

    def _compare_key(self, found: Sequence[Cells]) -> None:
        """All rows that the snapshot has of a key are shown."""
        if missing := sorted(map(_spelled, set(found) - self.rows - self.stated)):
            raise _RejectedError(f"the snapshot has a row that is not shown, ({missing[0]})")

    def _check_keys(self) -> None:
        """Each coverage is opened in one of the snapshots."""
        for coverage in self.document["coverage"]:
            columns = coverage["columns"]
            if coverage["predicate"] == self.name and not any(
                serves(one, columns) for one in self.snapshots
            ):
                names = [self.snapshots[0].columns[c][0] for c in columns]
                raise _RejectedError(
                    f"no snapshot is sorted by {', '.join(names)} first, so that nothing shows "
                    "that all its rows are there"
                )


class _Inside(_Comparison):
    """One predicate of a certificate that has its openings inside, and its snapshots."""

    def compare(self) -> int:
        """Give how many rows were opened; raises where a root is not a signed one."""
        for one in self.snapshots:
            self._check_snapshot(one)
            if one.nulls:
                raise _RejectedError("its rows hold NULL, and such a root is opened beside only")
        self._collect()
        roots, opened = commitments_of(self.document), opened_keys(self.document)
        for place in sorted(self.spoken):
            if place not in roots:
                raise _RejectedError("rows of it are opened in no root")
            if not any(_is_of(roots[place], one) for one in self.snapshots):
                raise _RejectedError("the root in the certificate is not that of the snapshot")
        for coverage in self.document["coverage"]:
            columns = coverage["columns"]
            for place in self.spoken.intersection(coverage["sources"]):
                for key in coverage["keys"]:
                    if (tuple(columns), tuple(key)) not in opened[place]:
                        names = tuple(self.snapshots[0].columns[c][0] for c in columns)
                        raise _RejectedError(f"no opening of {_key(names, tuple(key))}")
        return len(self.rows)


def _is_of(commitment: Mapping[str, Any], one: Committed) -> bool:
    signed = one.commitment
    return (commitment["root"], commitment["rows"], tuple(commitment["order"])) == (
        f"sha256:{signed.root}",
        signed.count,
        signed.order,
    )


def _key(columns: Texts, key: Cells) -> str:
    pairs = zip(columns, key, strict=True)
    return ", ".join(f"{name}={_spelled((value,))}" for name, value in pairs) or "all"


def _spelled(row: Cells) -> str:
    return ", ".join("NULL" if cell is None else cell for cell in row)
