"""Attestations: what the writer lets through is what the checker accepts, and nothing is lost."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.check import check_certificate
from constat.evaluation import Agent, Attestation, Evidence, Origin, Quote, Review
from constat.proof.shown import attestation_hash, attestation_json, attested_lines
from constat.tiers.asking import attestation_text, read_attestation, unfit, unfit_evidence
from tests.check.evidence_constructs import gold_said
from tests.check.writer import canonical, sha256

NOW = "2026-01-31T10:00:00.000000Z"
HASH = sha256("x")
TEXTS = st.sampled_from(["", "a", "alice", "é§\n", '\\ "q"'])
HASHES = st.sampled_from([None, HASH, "sha256:1", ""])
SAID = [
    Origin.LLM_KNOWLEDGE,
    Origin.LLM_HEURISTIC,
    Origin.USER_PROVIDED,
    Origin.API,
    Origin.SUB_PLAN,
]
GOOD = Attestation(
    Agent("model", "writer", "4", HASH),
    HASH,
    HASH,
    Quote("letter.txt", "§12", 3, 7, HASH),
    Review("bob", NOW),
    "read twice",
)


@st.composite
def quotes(draw: st.DrawFn) -> Quote:
    text, start = draw(TEXTS), draw(st.integers(0, 3))
    size = len(text.encode()) + draw(st.sampled_from([0, 0, 0, 1, -1]))
    return Quote(draw(TEXTS), text, start, max(0, start + size), draw(HASHES))


@st.composite
def attestations(draw: st.DrawFn) -> Attestation:
    kind = st.sampled_from(["model", "person", "service", "machine"])
    return Attestation(
        Agent(draw(kind), draw(TEXTS), draw(st.none() | TEXTS), draw(HASHES)),
        draw(HASHES),
        draw(HASHES),
        draw(st.none() | quotes()),
        draw(st.none() | st.builds(Review, TEXTS, st.sampled_from([NOW, "now"]))),
        draw(st.none() | TEXTS),
    )


@given(attestations(), st.sampled_from(SAID))
def test_what_fits_is_what_the_checker_accepts(one: Attestation, origin: Origin) -> None:
    written = attestation_json(one)
    assert isinstance(written, dict)
    certificate = gold_said(random.Random(1), origin.value, written).data()
    report = check_certificate(certificate)
    assert report.accepted == (unfit(one, origin, "alice") == ""), (report.reason, report.place)


@given(attestations(), st.sampled_from(SAID))
def test_an_attestation_survives_the_file_of_kept_answers(one: Attestation, origin: Origin) -> None:
    text = json.loads(json.dumps(attestation_text(one)))
    if unfit(one, origin, "alice"):
        with pytest.raises(ValueError, match="does not fit"):
            read_attestation(text, origin, "alice")
    else:
        assert read_attestation(text, origin, "alice") == one


@pytest.mark.parametrize("text", [1, [], ["x"], [[], None, None, None, None, None], [None] * 6])
def test_another_form_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="holds"):
        read_attestation(text, Origin.LLM_KNOWLEDGE, None)


def test_the_hash_is_that_of_the_json() -> None:
    assert attestation_hash(GOOD) == sha256(canonical(attestation_json(GOOD)))
    assert attestation_hash(replace(GOOD, note=None)) != attestation_hash(GOOD)
    assert attestation_json(GOOD) == asdict(GOOD)


def test_people_read_who_said_it_and_who_looked_at_it() -> None:
    assert attested_lines(GOOD) == [
        f"said by: model writer (4, {HASH})",
        f"prompt: {HASH}",
        f"response: {HASH}",
        "quoting letter.txt, bytes 3 to 7: §12",
        f"reviewed by: bob at {NOW}",
        "remark: read twice",
    ]
    assert attested_lines(Attestation(Agent("person", "alice"))) == []


def test_a_projects_own_tier_cannot_give_a_proof_or_an_unfit_word() -> None:
    plain = Evidence("crm", Origin.API, "crm", NOW)
    assert unfit_evidence(plain) == ""
    assert unfit_evidence(replace(plain, origin=Origin.DERIVED)) != ""
    assert unfit_evidence(replace(plain, attestation=GOOD)) != ""
    assert unfit_evidence(replace(plain, origin=Origin.DATABASE, attestation=GOOD)) != ""
    word = replace(plain, origin=Origin.LLM_KNOWLEDGE, attestation=GOOD)
    assert unfit_evidence(word) == ""
