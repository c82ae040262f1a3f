"""Relations that steps give and later steps ask for, and rows that proofs take from outside."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from constat.evaluation import (
    Agent,
    Answer,
    Assumption,
    Attestation,
    Evidence,
    Opening,
    Origin,
    Portion,
    Readable,
    Verdict,
    in_parts,
)
from constat.evaluation.external import SERVICE
from constat.frozen import frozen
from constat.logic import OPEN, Kind, Row
from constat.proof.encoding import canonical, sha256
from constat.tiers.tier import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.evaluation import Demand
    from constat.explore.plan import Output
    from constat.logic import OpenRow, Predicate
    from constat.store.table_forms import Table

# Rows are grouped once for each list of columns that is asked for.


class IndexedRows:
    """Rows with an index for each list of columns that was asked for."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def matching(self, demand: Demand) -> tuple[Row, ...]:
        """Return the rows of all keys, key after key."""
        index = self._index(demand.columns)
        return tuple(row for key in demand.keys for row in index.get(key, ()))

    def _index(self, columns: tuple[int, ...]) -> dict[Row, list[Row]]:
        if columns not in self._indexes:
            found: dict[Row, list[Row]] = {}
            for row in self._rows:
                found.setdefault(tuple([row[place] for place in columns]), []).append(row)
            self._indexes[columns] = found
        return self._indexes[columns]


def shape_of(demand: Demand, key: Row) -> OpenRow:
    """Return the row of a key whose other columns are open."""
    bound = dict(zip(demand.columns, key, strict=True))
    return tuple(bound.get(place, OPEN) for place in range(demand.predicate.arity))


PASSED: Final = "passed"
"""What is said of rows that were counted again from the rules, and were the same."""
STEP: Final = "step"
"""The tier in the evidence of what a step gave."""


class Settlement(Enum):
    """Whether a relation is known; the value is how results write it."""

    CERTAIN = "SETTLED"
    UNDER = "SETTLED_UNDER"
    OPEN = "OPEN"

    @property
    def exit_code(self) -> int:
        """0 settled, 3 settled under assumptions, 4 open."""
        return {"SETTLED": 0, "SETTLED_UNDER": 3}.get(self.value, 4)


class EveryRow(Mapping[Row, Verdict]):
    """One verdict on all rows of a relation, which are not listed again for it."""

    def __init__(self, rows: Sequence[Row], verdict: Verdict) -> None:
        self.rows = rows
        self.verdict = verdict

    def __getitem__(self, row: Row) -> Verdict:
        if row not in self.rows:
            raise KeyError(row)
        return self.verdict

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@frozen
class Relation:
    """The rows of a step's output that hold, for certain or once the assumptions are accepted.

    `weak` has the verdicts of rows that are not certain. `reasons` say what is not known, where the
    relation is open; `unresolved` counts rows that may hold besides. `order` are the places of the
    rows in the order that the step asked for, or nothing. `check` is `PASSED` where it was computed
    in bulk, counted again from the rules and was the same, else why it was not; empty where there
    was no need.
    """

    output: Output
    kinds: tuple[Kind, ...]
    rows: Sequence[Row] = field(repr=False)
    settlement: Settlement = Settlement.CERTAIN
    assumptions: tuple[Assumption, ...] = ()
    reasons: tuple[str, ...] = ()
    unresolved: int = 0
    weak: Mapping[Row, Verdict] = field(default_factory=dict, repr=False, hash=False)
    order: tuple[int, ...] = field(default=(), repr=False)
    check: str = ""

    @property
    def shown(self) -> Sequence[Row]:
        """The rows in the order that the step asked for."""
        return tuple(self.rows[place] for place in self.order) if self.order else self.rows

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.output.columns)

    def table(self) -> Table:
        """Give the rows as a table of the store."""
        # Only what is kept needs numpy.
        from constat.store.table_values import rows_table  # noqa: PLC0415  loaded when it is used

        columns = [(n, kind.value) for n, kind in zip(self.names, self.kinds, strict=True)]
        found: Table = rows_table(columns, self.rows)
        return found


def sorted_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Put rows in the order of their values; columns are of one kind each, so all compare."""
    found: list[Any] = list(rows)
    return tuple(sorted(found))


class StepRows:
    """A relation as an external predicate, for the steps after it.

    Implements `RelationPredicate`, so that much of it is computed in bulk at once.
    """

    cost = 1

    def __init__(self, predicate: Predicate, relation: Relation, evidence: Evidence) -> None:
        self._predicate = predicate
        self._rows = relation.rows
        self._evidence = evidence
        # Rows that may not be all are open whatever is accepted.
        self._open = relation.settlement is Settlement.OPEN
        self._assumption = None if self._open else _together(relation, evidence.source)
        self._indexed = IndexedRows(relation.rows)

    def estimate(self) -> float | None:
        """How many rows there are."""
        return float(len(self._rows))

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        """Hand out the rows as they lie in a table, where they do and are certain."""
        table: Table | None = getattr(self._rows, "table", None)
        count = len(self._rows)
        if demand.columns or table is None or self._assumption or self._open or count > most_rows:
            return None
        from constat.store.table_columns import canonical_stream  # noqa: PLC0415  loaded when it is used

        stream = canonical_stream(table)
        if stream is None:
            return None
        return Readable(self._predicate, count, self._evidence, lambda: stream)

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch; every key is answered."""
        rows = self._indexed.matching(demand)
        portions = (Portion(rows, self._evidence, self._assumption),) if rows else ()
        openings: tuple[Opening, ...] = ()
        if self._assumption is not None or self._open:
            reason = f"{self._evidence.source} was computed from what is assumed, or not all known"
            openings = tuple(
                Opening(shape_of(demand, key), reason, STEP, self._assumption)
                for key in demand.keys
            )
        return Answer(portions, openings, frozenset(demand.keys), (self._evidence,))


def _together(relation: Relation, source: str) -> Assumption | None:
    """Make one assumption of several that the rows rest on together."""
    if not relation.assumptions:
        return None
    if len(relation.assumptions) == 1:
        return relation.assumptions[0]
    parts = in_parts(relation.assumptions)
    text = f"{source} rests on: " + "; ".join(one.text for one in parts)
    least = min(one.confidence for one in parts)
    return Assumption("fact", source, text, least, parts)


TIER: Final = "exploration"
"""The tier in the evidence of what an exploration states or has computed."""
DUCKDB, PYTHON = "DuckDB", "Python"
"""Who computes what no rule derives."""


@frozen
class Computed:
    """How a step computed a relation that no rule derives.

    `by` is the service (`DuckDB`, `Python`) in a `version`, `text` what it ran, `read` are the
    relations that it was given, each by name, number of rows and hash, and `note` says what kept
    it in. `at` is when, in `Timestamp` spelling; `author` the model that wrote the text, if one
    did.
    """

    step: str
    by: str
    version: str
    text: str
    read: tuple[str, ...]
    at: str
    note: str = ""
    author: str = ""

    @property
    def digest(self) -> str:
        """The hash of the text."""
        return f"sha256:{hashlib.sha256(self.text.encode(errors='replace')).hexdigest()}"


class GivenRows:
    """A whole relation as an external predicate; with assumptions it is somebody's word."""

    cost = 1

    def __init__(
        self,
        rows: Sequence[Row],
        evidence: Evidence,
        word: tuple[Assumption, Assumption] | None = None,
    ) -> None:
        self._evidence = evidence
        self._word = word
        self._indexed = IndexedRows(tuple(rows))

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch; every key is answered."""
        rows = self._indexed.matching(demand)
        holds, closed = self._word or (None, None)
        portions = (Portion(rows, self._evidence, holds),) if rows else ()
        openings: tuple[Opening, ...] = ()
        if closed is not None:
            reason = f"nobody but {self._evidence.source} says that there are no others"
            openings = tuple(
                Opening(shape_of(demand, key), reason, TIER, closed) for key in demand.keys
            )
        return Answer(portions, openings, frozenset(demand.keys), (self._evidence,))


def stated(predicate: Predicate, rows: Sequence[Row], what: str, at: str) -> GivenRows:
    """Give rows that are stated with the claim; `what` says what they are."""
    return GivenRows(rows, _evidence(predicate, rows, Origin.CONFIG, what, at))


def attested(predicate: Predicate, rows: Sequence[Row], computed: Computed) -> GivenRows:
    """Give rows on the word of who computed them."""
    digest = content_hash(rows, predicate.kinds)
    what = f"step {computed.step}"
    word = Attestation(
        Agent(SERVICE, computed.by, computed.version, computed.digest),
        prompt=sha256(canonical(list(computed.read))),
        response=digest,
        note=computed.note or None,
    )
    evidence = _evidence(
        *(predicate, rows, Origin.SUB_PLAN, what, computed.at),
        query=computed.text,
        parameters=computed.read,
        author=computed.author,
        attestation=word,
    )
    read = ", ".join(computed.read) or "nothing"
    text = (
        f"{computed.by} {computed.version} gives by the text {computed.digest} of {what}, from "
        f"{read}, the rows of `{predicate.name}` with the hash {digest} ({len(rows):,})"
    )
    word_for = Assumption("fact", what, text)
    return GivenRows(
        rows, evidence, (word_for, Assumption("closure", what, f"{text} and no others"))
    )


def listed_hash(name: str, rows: Sequence[Row], kinds: Sequence[Kind]) -> str:
    """Name rows that a step read: `totals: 12 rows, sha256:...`."""
    return f"{name}: {len(rows):,} rows, {content_hash(rows, kinds)}"


def answer_text(listed: str) -> str:
    """Say of rows, as `listed_hash` names them, that they are the answer."""
    return f"the answer: {listed}"


def _evidence(  # noqa: PLR0913  each part of evidence has a name
    predicate: Predicate,
    rows: Sequence[Row],
    origin: Origin,
    what: str,
    at: str,
    *,
    query: str | None = None,
    parameters: tuple[str, ...] = (),
    author: str = "",
    attestation: Attestation | None = None,
) -> Evidence:
    return Evidence(
        TIER,
        origin,
        what,
        at,
        query,
        parameters,
        row_count=len(rows),
        content_hash=content_hash(rows, predicate.kinds),
        author=author or None,
        attestation=attestation,
    )
