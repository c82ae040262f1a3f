"""Snapshots of relations: a source commits to its rows; certificates are opened against that."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Demand
from constat.frozen import frozen, slotted
from constat.logic import NullCell, NullPolicy, format_value, null_cells
from constat.proof.decoding import NullText, read_members
from constat.proof.encoding import canonical, rows_hash
from constat.proof.openings import Commitment, Opening, OpeningError, opened_rows
from constat.proof.rebuilding import AUTHORITIES, Key, commitments_of, opened_keys, with_commitments
from constat.proof.signing import (
    SNAPSHOT_TYPE,
    VALID,
    SigningError,
    Statement,
    judge,
    members,
    read_envelope,
    read_object,
    read_statement,
)
from constat.session.signing import said, signed_line
from constat.store.clock import now
from constat.store.decision_log import SNAPSHOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from constat.evaluation import Evidence, Portion
    from constat.logic import Predicate
    from constat.proof.signing import Finding, SigningKey, TrustedKey
    from constat.session.parts import SessionParts
    from constat.store.decision_log import Record

# A Merkle tree over sorted rows, and openings of ranges of it. The reader of openings is
# `constat.proof.openings`, which shares no code with this writer. RFC 6962, section 2.1.

Hashes = tuple[bytes, ...]


@frozen
class MerkleTree:
    """The hashes of a tree, level by level; the lowest are those of the rows."""

    levels: tuple[Hashes, ...]

    @property
    def size(self) -> int:
        """Give the number of rows."""
        return len(self.levels[0])

    @property
    def root(self) -> str:
        """Give the root as hexadecimal digits; of no rows, the hash of nothing."""
        return self.levels[-1][0].hex() if self.size else hashlib.sha256().hexdigest()

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """Give the hashes that lead from the rows `start` to `end` - 1 to the root, left first."""
        return tuple(self._beside(0, self.size, start, end)) if self.size else ()

    def _beside(self, low: int, high: int, start: int, end: int) -> Iterator[str]:
        if end <= low or high <= start:
            level = (high - low - 1).bit_length()
            yield self.levels[level][low >> level].hex()
        elif not (start <= low and high <= end):
            middle = low + (1 << ((high - low - 1).bit_length() - 1))
            yield from self._beside(low, middle, start, end)
            yield from self._beside(middle, high, start, end)


def merkle_tree(rows: Iterable[Sequence[str | None]]) -> MerkleTree:
    """Build the tree over rows in their order."""
    level = tuple(hashlib.sha256(b"\0" + canonical(list(row)).encode()).digest() for row in rows)
    levels = [level]
    while len(level) > 1:
        pairs = [
            hashlib.sha256(b"\1" + level[place] + level[place + 1]).digest()
            for place in range(0, len(level) - 1, 2)
        ]
        # A last one without a partner goes up as it is: that is the tree of RFC 6962.
        level = (*pairs, *level[len(pairs) * 2 :])
        levels.append(level)
    return MerkleTree(tuple(levels))


# A certificate passes only when each row of a committed predicate is in the root, and each key
# that it calls complete has no other row there.
# What a root is worth is what its signer is worth: an engine that signs its own root proves
# nothing.

Texts = tuple[str, ...]
Cells = tuple[str | None, ...]
"""A row of a root: texts, and nothing where the source has NULL, which sorts before all texts."""

FORMAT: Final = "constat-openings/1"
WITH_NULLS: Final = "constat-openings/2"
_SAYS: Final = (
    *("columns", "executed", "hash", "order", "origin", "predicate", "query"),
    *("rows", "source", "state"),
)


@frozen
class Snapshot:
    """All rows of a predicate, sorted, with their tree and what is said of them."""

    rows: tuple[Cells, ...] = field(repr=False)
    order: tuple[int, ...]
    tree: MerkleTree = field(repr=False)
    says: Mapping[str, object]

    @property
    def prefixes(self) -> list[_Places]:
        """Give what the rows are sorted by."""
        return [_places(row[column] for column in self.order) for row in self.rows]


_Places = tuple[tuple[bool, str], ...]


def _places(cells: Iterable[str | None]) -> _Places:
    return tuple((cell is not None, cell or "") for cell in cells)


@frozen
class SignedSnapshot:
    """A snapshot and the line that its owner signed."""

    snapshot: Snapshot
    line: bytes


@frozen
class Committed:
    """A signed snapshot as a verifier reads it; `nulls` are the columns that are NULL somewhere."""

    predicate: str
    columns: tuple[tuple[str, str], ...]
    origin: str
    source: str
    query: str
    executed: str
    commitment: Commitment
    finding: Finding
    nulls: frozenset[int] = frozenset()


def take_snapshot(parts: SessionParts, name: str, first: Sequence[str]) -> Snapshot:
    """Read a predicate whole from its source; `first` are the columns that it is sorted by first.

    Raises `ConstatError` where the rows are not all there, certain and of one source.
    """
    predicate = _predicate(parts, name)
    order = _order(predicate, first)
    with parts.evaluating(None) as tiers:
        answer = tiers.externals[name].answer(Demand(predicate, (), ((),)))
    if answer.openings or () not in answer.answered:
        reason = answer.openings[0].reason if answer.openings else "its source did not answer"
        raise _uncommitted(f"not all of `{name}` is known: {reason}")
    _refuse_alike(name, answer.portions)
    evidence = _one_source(name, [*(one.evidence for one in answer.portions), *answer.authorities])
    kinds = predicate.kinds
    rows = {
        tuple(
            None if isinstance(value, NullCell) else format_value(value, kind)
            for value, kind in zip(row, kinds, strict=True)
        )
        for portion in answer.portions
        for row in portion.rows
    }
    ordered = tuple(sorted(rows, key=lambda row: _places(row[column] for column in order)))
    says: dict[str, object] = {
        "predicate": name,
        "columns": [[column.name, column.kind.value] for column in predicate.columns],
        "order": [predicate.columns[column].name for column in order],
        "rows": len(ordered),
        "hash": rows_hash(ordered),
        "source": evidence.source,
        "origin": evidence.origin.value,
        "query": evidence.query or "",
        "state": evidence.snapshot or "",
        "executed": evidence.executed_at,
    }
    nulls = {column for row in ordered for column, cell in enumerate(row) if cell is None}
    if nulls:
        says["nulls"] = [predicate.columns[column].name for column in sorted(nulls)]
    return Snapshot(ordered, order, merkle_tree(ordered), says)


def _refuse_alike(name: str, portions: Iterable[Portion]) -> None:
    """Raise `ConstatError` where rows are alike but for what is NULL: a root has each row once."""
    if any(cell.ordinal for one in portions for row in one.rows for cell in null_cells(row)):
        message = f"rows of `{name}` are alike but for what is NULL, and a root has each row once"
        hint = "select a column in the query that tells them apart, such as the table's key"
        raise ConstatError([Diagnostic("C0760", message, help=hint)])


def _predicate(parts: SessionParts, name: str) -> Predicate:
    predicate = parts.program.program.predicates.get(name)
    if predicate is None:
        raise _uncommitted(f"there is no predicate `{name}`")
    if any(rule.head.predicate == name for rule in parts.program.program.rules):
        raise _uncommitted(f"rules derive `{name}`; commit to what they rest on")
    return predicate


def _order(predicate: Predicate, first: Sequence[str]) -> tuple[int, ...]:
    names = [column.name for column in predicate.columns]
    unknown = [one for one in first if one not in names]
    if unknown or len(set(first)) != len(first):
        what = f"no column `{unknown[0]}`" if unknown else "a column is named twice"
        hint = f"its columns are {', '.join(names)}"
        raise ConstatError([Diagnostic("C0760", f"`{predicate.name}`: {what}", help=hint)])
    return tuple(names.index(one) for one in dict.fromkeys([*first, *names]))


def _one_source(name: str, found: Sequence[Evidence]) -> Evidence:
    """Give the evidence of the one source whose word the rows are."""
    sources = {(one.origin, one.source, one.query) for one in found}
    if len(sources) != 1:
        raise _uncommitted(f"`{name}` is answered by {len(sources)} sources; one may commit to it")
    if found[0].origin.assumed:
        raise _uncommitted(f"what is known of `{name}` is somebody's word and no source's")
    return found[0]


def _uncommitted(message: str) -> ConstatError:
    return ConstatError([Diagnostic("C0760", message)])


def sign_snapshot(snapshot: Snapshot, key: SigningKey) -> SignedSnapshot:
    """Sign the root of a snapshot."""
    line = signed_line(key, "committed", SNAPSHOT_TYPE, snapshot.tree.root, snapshot.says)
    return SignedSnapshot(snapshot, line)


def read_snapshot(content: bytes, trusted: Mapping[str, TrustedKey], shown: str) -> Committed:
    """Read a signed snapshot and judge its signature; raises `ConstatError` where it is none."""
    findings = judge(content, trusted, (SNAPSHOT_TYPE, "", {}), now())
    try:
        statement = read_statement(read_envelope(content.removesuffix(b"\n")))
        return _committed(statement, findings[0])
    except SigningError as problem:
        message = f"`{shown}` is no snapshot: {problem.reason}"
        raise ConstatError([Diagnostic("C0761", message)]) from None


def _committed(statement: Statement, finding: Finding) -> Committed:
    says: Any = statement.says
    wanted = (*_SAYS, "nulls") if isinstance(says, dict) and "nulls" in says else _SAYS
    members(says, wanted, "what the snapshot says")
    if statement.kind != SNAPSHOT_TYPE or type(says["rows"]) is not int:
        raise SigningError("it is about something else")
    columns, order = says["columns"], says["order"]
    texts = (says[name] for name in ("predicate", "origin", "source", "query", "executed"))
    pairs = isinstance(columns, list) and all(
        isinstance(one, list) and len(one) == 2 and all(isinstance(text, str) for text in one)  # noqa: PLR2004  a name and a kind
        for one in columns
    )
    if not pairs or not isinstance(order, list) or not all(isinstance(one, str) for one in texts):
        raise SigningError("it does not say what it is a snapshot of")
    names = [name for name, _ in columns]
    if sorted(map(str, order)) != sorted(names) or len(set(names)) != len(names):
        raise SigningError("its order does not name each column once")
    nulls = says.get("nulls", [])
    if not isinstance(nulls, list) or not all(one in names for one in nulls):
        raise SigningError("it does not say which columns are NULL somewhere")
    return Committed(
        predicate=says["predicate"],
        columns=tuple((name, kind) for name, kind in columns),
        origin=says["origin"],
        source=says["source"],
        query=says["query"],
        executed=says["executed"],
        commitment=Commitment(
            statement.sha256, says["rows"], tuple(names.index(name) for name in order)
        ),
        finding=finding,
        nulls=frozenset(map(names.index, nulls)),
    )


def unlogged_snapshots(
    snapshots: Sequence[Committed], records: Sequence[Record]
) -> tuple[str, ...]:
    """Name the predicates of whose snapshots the log of decisions knows none."""
    unknown = (one.predicate for one in snapshots if not _logged(one, records))
    return tuple(dict.fromkeys(unknown))


def _logged(one: Committed, records: Sequence[Record]) -> list[str]:
    """Give when the snapshots of a predicate that the log of decisions knows were taken."""
    return [
        record.entry.body["executed"]
        for record in records
        if record.entry.kind == SNAPSHOT
        and record.entry.body is not None
        and record.entry.body["predicate"] == one.predicate
        and record.entry.body["source"] == one.source
    ]


def newer_snapshots(snapshots: Sequence[Committed], records: Sequence[Record]) -> tuple[str, ...]:
    """Say of which snapshots the log of decisions knows newer ones, and of when."""
    found: dict[str, None] = {}
    for one in snapshots:
        newest = max(_logged(one, records), default="")
        if newest > one.executed:
            told = f"{one.predicate} is shown as of {one.executed}, and the log of decisions knows"
            found[f"{told} a newer one of {newest}; --require-newest demands the newest"] = None
    return tuple(found)


def open_certificate(
    parts: SessionParts, certificate: bytes, snapshots: Sequence[Committed]
) -> bytes:
    """Open what an accepted certificate shows, against the sources as they are now.

    Raises `ConstatError` where a source has changed since its snapshot.
    """
    document = read_members(certificate)
    openings: list[dict[str, object]] = []
    for one, snapshot in taken_again(parts, document, snapshots):
        prefixes = snapshot.prefixes
        openings += [
            _opened(snapshot, prefixes, columns, key) for columns, key in wanted_keys(document, one)
        ]
    has_nulls = any(one.nulls for one in snapshots)
    told = {"format": WITH_NULLS if has_nulls else FORMAT, "openings": openings}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def taken_again(
    parts: SessionParts, document: Mapping[str, Any], snapshots: Sequence[Committed]
) -> Iterator[tuple[Committed, Snapshot]]:
    """Yield each snapshot with its rows, read anew, in which keys of a certificate can be opened.

    Raises `ConstatError` where a source has changed since its snapshot, or no order of rows serves.
    """
    for one in snapshots:
        names = [name for name, _ in one.columns]
        snapshot = take_snapshot(
            parts, one.predicate, [names[column] for column in one.commitment.order]
        )
        if snapshot.tree.root != one.commitment.root:
            message = f"the rows of `{one.predicate}` are not those of the snapshot"
            raise ConstatError([Diagnostic("C0762", message, help="take a new snapshot")])
        _require_order(document, snapshots, one.predicate)
        _require_known(document, one)
        yield one, snapshot


def _require_order(document: Mapping[str, Any], snapshots: Sequence[Committed], name: str) -> None:
    """Raise `ConstatError` where no snapshot of a predicate can show that a key is complete."""
    own = [one for one in snapshots if one.predicate == name]
    for coverage in document["coverage"]:
        if coverage["predicate"] == name and not any(
            serves(one, coverage["columns"]) for one in own
        ):
            columns = ",".join(own[0].columns[column][0] for column in coverage["columns"])
            message = f"no snapshot of `{name}` is sorted by {columns} first"
            hint = f"take one with `--sorted-by {columns}`"
            raise ConstatError([Diagnostic("C0763", message, help=hint)])


def _require_known(document: Mapping[str, Any], one: Committed) -> None:
    """Raise `ConstatError` where rows may have a key of the certificate that lie elsewhere."""
    name = next(unknown_keys(document, one), None)
    if name is None:
        return
    message = f"rows of `{one.predicate}` whose {name} is NULL may have any {name}"
    hint = (
        f"declare `@[null = none] {name}` if NULL means that there is none, or prove by other keys"
    )
    raise ConstatError([Diagnostic("C0763", message, help=hint)])


def unknown_keys(document: Mapping[str, Any], one: Committed) -> Iterator[str]:
    """Name columns of complete keys that are NULL somewhere in a snapshot.

    Such a row may have any key, and lies beside none of that key, unless NULL means for the
    certificate that there is no value.
    """
    declared = [d.get("nulls") for d in document["declarations"] if d["name"] == one.predicate]
    words = next(iter(declared), None) or [None] * len(one.columns)
    for coverage in document["coverage"]:
        for column in coverage["columns"] if coverage["predicate"] == one.predicate else ():
            if column in one.nulls and words[column] != NullPolicy.NONE.value:
                yield one.columns[column][0]


def committed_row(row: Iterable[str]) -> Cells:
    """Give a row of a certificate as a root has it."""
    return tuple(
        None if isinstance(cell, NullText) and cell.cell.policy in _NULLS else cell for cell in row
    )


_NULLS: Final = frozenset({NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN})


def serves(one: Committed, columns: Sequence[int]) -> bool:
    """Tell whether the rows of a key of these columns lie side by side in a snapshot."""
    return set(one.commitment.order[: len(columns)]) == set(columns)


def wanted_keys(document: Mapping[str, Any], one: Committed) -> Iterator[tuple[Texts, Cells]]:
    """Yield the columns (by name) and the values that have to be opened in a snapshot.

    A key that a coverage calls complete; and each row by itself that lies in none of these.
    """
    names = [name for name, _ in one.columns]
    whole: list[tuple[tuple[int, ...], set[Texts]]] = []
    for coverage in document["coverage"]:
        columns = tuple(coverage["columns"])
        if coverage["predicate"] == one.predicate and serves(one, columns):
            keys = {tuple(key) for key in coverage["keys"]}
            whole.append((columns, keys))
            for key in sorted(keys):
                yield tuple(names[column] for column in columns), key
    for group in document["facts"]:
        for row in group["rows"] if group["predicate"] == one.predicate else ():
            inside = any(tuple(row[c] for c in columns) in keys for columns, keys in whole)
            if not inside:
                yield tuple(names), committed_row(row)


def _opened(
    snapshot: Snapshot, prefixes: Sequence[_Places], names: Texts, key: Cells
) -> dict[str, object]:
    """Open the rows of a key with a neighbour on each side."""
    values = dict(zip(names, key, strict=True))
    ordered = cast("list[str]", snapshot.says["order"])[: len(names)]
    wanted = _places(values[name] for name in ordered)

    def start_of(row: _Places) -> _Places:
        return row[: len(wanted)]

    first = bisect_left(prefixes, wanted, key=start_of)
    last = bisect_right(prefixes, wanted, key=start_of)
    start, end = max(first - 1, 0), min(last + 1, len(prefixes))
    return {
        "predicate": snapshot.says["predicate"],
        "root": snapshot.tree.root,
        "columns": list(names),
        "key": list(key),
        "start": start,
        "rows": [list(row) for row in snapshot.rows[start:end]],
        "path": list(snapshot.tree.path(start, end)),
    }


# An opening shows no row that the certificate does not show but one neighbour on each side of a
# key; all of them together are at most 64 kB.

MOST_BYTES: Final = 64_000
_Members = dict[str, Any]


@slotted
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

    def _opening(self, prefixes: list[_Places], columns: tuple[int, ...], key: Texts) -> _Members:
        values = dict(zip(columns, key, strict=True))
        wanted = _places(values[column] for column in self.snapshot.order[: len(columns)])

        def start_of(row: _Places) -> _Places:
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


def open_inside(parts: SessionParts, certificate: bytes, snapshots: Sequence[Committed]) -> bytes:
    """Put openings in these snapshots into an accepted certificate, from the sources as they are.

    Raises `ConstatError` where a source has changed since its snapshot, where none is of rows that
    the certificate shows, and where the openings would be too large.
    """
    members: _Members = read_members(certificate)
    distinct = {(one.predicate, one.commitment.root): one for one in snapshots}
    for snapshot in snapshots:
        if snapshot.nulls:
            message = (
                f"`{snapshot.predicate}` has rows with NULL, and openings inside are of values"
            )
            hint = "leave `--inside` out: then they go into a file beside it"
            raise ConstatError([Diagnostic("C0962", message, help=hint)])
    taken = taken_again(parts, members, list(distinct.values()))
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


# Judge the openings of a certificate against signed snapshots, without source and project.

MOST_OPENED_BYTES: Final = 1 << 26
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
    if len(content) > MOST_OPENED_BYTES:
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
            if not any(_checking_openings_is_of(roots[place], one) for one in self.snapshots):
                raise _RejectedError("the root in the certificate is not that of the snapshot")
        for coverage in self.document["coverage"]:
            columns = coverage["columns"]
            for place in self.spoken.intersection(coverage["sources"]):
                for key in coverage["keys"]:
                    if (tuple(columns), tuple(key)) not in opened[place]:
                        names = tuple(self.snapshots[0].columns[c][0] for c in columns)
                        raise _RejectedError(f"no opening of {_key(names, tuple(key))}")
        return len(self.rows)


def _checking_openings_is_of(commitment: Mapping[str, Any], one: Committed) -> bool:
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
