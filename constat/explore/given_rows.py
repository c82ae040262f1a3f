"""Rows that a proof about an exploration takes from outside: stated with the claim, or attested.

In: whole relations, with how they were computed. Out: external predicates. Invariants: what was
computed by a SELECT over steps or by code is somebody's word: its rows hold, and are all, only
under an assumption that names the text that was run, the rows that it read and the rows that it
gave, by their hashes; what is stated with the claim (the answer, the rows that a step read, the day
that counts) is told as such, and the rules of the proof hold it against what they derive. Example:
`attested(predicate, relation, computed)`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    Agent,
    Answer,
    Assumption,
    Attestation,
    Evidence,
    Opening,
    Origin,
    Portion,
)
from constat.evaluation.attestation import SERVICE
from constat.explore.indexed_rows import IndexedRows, shape_of
from constat.proof.canonical import canonical, sha256
from constat.tiers.hashing import content_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Demand
    from constat.logic import Kind, Predicate, Row

TIER: Final = "exploration"
"""The tier in the evidence of what an exploration states or has computed."""
DUCKDB, PYTHON = "DuckDB", "Python"
"""Who computes what no rule derives."""


@dataclass(frozen=True, slots=True)
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
