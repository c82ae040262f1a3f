"""Make a certificate again from what it records, byte for byte.

In: a certificate that the checker has accepted.  Out: ``Rebuilt``: the bytes that the writer gives
for the recorded rules, rows and nodes, or the reason why it cannot.  Everything that the writer
works out is worked out anew, from values and not from texts: which look-ups absences and aggregates
take, the run of every rule over the closure, what is shown of each source, every order, index,
confidence and hash.  Only what cannot be found twice is taken over: when it was made, which proof
the search had chosen, the goals that would decide an open one, and openings in roots.

Why the search is not repeated: it had more to choose from than a certificate shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constat.evaluation import CERTAIN, CONCEIVABLE, CONFLICT, Verdict
from constat.logic import OPEN
from constat.proof.canonical import canonical, object_form, sha256
from constat.proof.certificate import build_certificate
from constat.proof.committing import commitments_of, sealed, with_commitments
from constat.proof.confidence import MILLION
from constat.proof.decide import Decision, agrees, confidence_of
from constat.proof.decoding import FIRST, read_members, without_wildcards
from constat.proof.lateness import TooLargeError
from constat.proof.missing import Gap
from constat.proof.proofs import Proof, UnsupportedError
from constat.proof.reading import Reading
from constat.proof.rebuilding_record import Record, RecordedOutcome, UnrecordedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.proof.outside import Fact

Members = dict[str, Any]
_RESERVED = ("decision", "libraries", "approvals")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of it: ``same`` bytes, or ``content`` that differs in some members, or a reason."""

    content: bytes | None
    same: bool
    reason: str = ""
    members: tuple[str, ...] = ()


def rebuild(certificate: bytes) -> Rebuilt:
    """Make a certificate again; ``ValueError`` for what is none."""
    members = read_members(certificate)
    try:
        return _rebuilt(certificate, members)
    except UnrecordedError as problem:
        return Rebuilt(None, same=False, reason=str(problem))
    except (UnsupportedError, TooLargeError) as problem:
        reason = f"the writer of this version does not support it: {problem}".rstrip(": ")
        return Rebuilt(None, same=False, reason=reason)


def _rebuilt(certificate: bytes, members: Members) -> Rebuilt:
    if any(members["header"][name] for name in _RESERVED) or members["record"]["signatures"]:
        raise UnrecordedError("it fills members that this version does not write")
    record = Record(members)
    roots = commitments_of(members)
    content = b""
    for decision in _decisions(record):
        content = build_certificate(
            decision,
            created=members["record"]["created"],
            engine_version=members["record"]["engine"],
            supersedes=members["header"]["supersedes"],
            as_of=members["header"]["as_of"],
            shares=members["format"] != FIRST,
        )
        if members["format"] == FIRST:
            content = in_first_format(content)
        content = with_commitments(content, roots) if roots else content
        if content == certificate:
            return Rebuilt(content, same=True)
    again = read_members(content)
    differing = tuple(name for name in sorted(members) if members[name] != again.get(name))
    left = tuple(name for name in differing if name not in {"identity", "digest"})
    return Rebuilt(content, same=False, reason="it comes out otherwise", members=left)


def _decisions(record: Record) -> Iterator[Decision]:
    """Yield the decisions that the certificate may have been written from."""
    verdict = Verdict(record.members["header"]["verdict"])
    if verdict is not Verdict.UNRESOLVED:
        yield _decided(record, verdict)
        return
    # An open goal is shown with what is negated below it, or without where that was too much.
    for shows_negated in (True, False):
        yield _open(record, shows_negated=shows_negated)


def _decided(record: Record, verdict: Verdict) -> Decision:
    proof = _proof(record)
    answers: tuple[Fact, ...] = ()
    if verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}:
        name = record.goal.predicate
        answers = tuple(f for f in record.nodes if f[0] == name and agrees(record.goal, f[1]))
    proof.show(answers, bounded=not answers)
    decision = _decision(record, proof, verdict)
    return replace(decision, confidence=Decimal(confidence_of(proof)) / MILLION)


def _open(record: Record, *, shows_negated: bool) -> Decision:
    proof = _proof(record)
    proof.slice.shows_negated = shows_negated
    proof.show((), bounded=True)
    return _decision(record, proof, Verdict.UNRESOLVED)


def _proof(record: Record) -> Proof:
    calls = record.calls()
    outcome = RecordedOutcome(record, calls)
    reading = Reading(record.program, calls, outcome, record.accepted, CERTAIN, CONCEIVABLE)
    proof = Proof(reading, record.goal)
    proof.prefer(record.nodes)
    return proof


def _decision(record: Record, proof: Proof, verdict: Verdict) -> Decision:
    gaps = tuple(
        Gap(name, tuple(OPEN if cell is None else cell for cell in record.row(name, row)), "", "")
        for name, row in record.members["missing"]
    )
    return Decision(
        goal=record.goal,
        verdict=verdict,
        confidence=Decimal(0),
        exact=record.members["header"]["search"] == "exhausted",
        assumptions=proof.accepted_assumptions() if verdict is not Verdict.UNRESOLVED else (),
        minimal=True,
        gaps=gaps,
        outcome=proof.reading.outcome,
        proof=proof,
        recorded_conflicts=tuple(
            one["text"].removeprefix(CONFLICT)
            for one in record.members["assumptions"]
            if one["text"].startswith(CONFLICT)
        ),
    )


def in_first_format(certificate: bytes) -> bytes:
    """Write a certificate without shared structures and null cells as the first format had it."""
    members = json.loads(certificate)
    members["format"] = FIRST
    for name in ("values", "labels", "filled", "redaction"):
        del members[name]
    members["header"].pop("asked_by")
    for declared in members["declarations"]:
        for name in ("texts", "nulls", "given"):
            del declared[name]
    for rule in members["rules"]:
        for name in ("texts", "author", "owner", "version"):
            del rule[name]
        rule["body"] = without_wildcards(rule["body"])
    for source in members["sources"]:
        del source["authority"], source["span"]
    predicate, pattern = members["header"]["goal"]
    members["header"]["goal"] = [predicate, [None if c == ["_"] else c for c in pattern]]
    parts = {name: canonical(members[name]) for name in ("declarations", "rules")}
    members["header"]["program"] = sha256(object_form(parts))
    return sealed(members)
