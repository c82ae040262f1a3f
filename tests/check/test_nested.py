"""Nested certificates, attestations and levels: what is accepted, and what the report says."""

from __future__ import annotations

import json

import pytest

from constat.check import check_certificate, checking
from tests.check import evidence_constructs as e
from tests.check.catalog import good
from tests.check.malformed_evidence import reworded
from tests.check.writer import seal


def test_as_many_as_allowed_are_nested() -> None:
    report = check_certificate(e.proved_by_many(256).data())
    assert report.accepted, report.reason
    assert len(report.proofs) == 256


def test_rules_of_nested_certificates_are_pinned_with_the_others() -> None:
    tree = good("nested_in_nested").tree
    pins = [tree["header"]["program"]]
    pins.append(tree["proofs"][0]["header"]["program"])
    pins.append(tree["proofs"][0]["proofs"][0]["header"]["program"])
    data = good("nested_in_nested").data()
    assert check_certificate(data, pin=pins[0], trusted=pins[1:]).accepted
    for left_out, place in ((1, "proofs[0]"), (2, "proofs[0].proofs[0]")):
        trusted = [pin for number, pin in enumerate(pins) if number != left_out]
        report = check_certificate(data, pin=pins[0], trusted=trusted)
        assert (report.code, report.place) == ("pin", f"{place}.header.program")
    # A nested program that is trusted is none for the outer rules.
    assert check_certificate(data, pin=pins[1], trusted=pins).code == "pin"


def test_all_certificates_of_a_file_share_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    data = good("nested_proof").data()
    alone = json.loads(data)["proofs"][0]
    inner = (json.dumps(alone, sort_keys=True, separators=(",", ":")) + "\n").encode()

    def least(certificate: bytes) -> int:
        for steps in range(10_000):
            monkeypatch.setattr(checking, "LEAST_STEPS", steps)
            monkeypatch.setattr(checking, "STEPS_PER_CLOSURE_ROW", 0)
            if check_certificate(certificate).accepted:
                return steps
        raise AssertionError

    assert least(data) > least(inner) > 0


def test_a_consistent_rewording_is_another_certificate() -> None:
    """A leaf forgery: only whoever asks the source again can find it."""
    report = check_certificate(reworded("attested_by_a_person"))
    assert report.accepted
    assert report.identity != check_certificate(good("attested_by_a_person").data()).identity


def test_the_identity_of_a_proof_leaves_the_times_of_nested_ones_out() -> None:
    outer = good("nested_proof")
    before = check_certificate(outer.data())
    inner = outer.tree["proofs"][0]
    inner["record"]["host"] = "elsewhere"
    outer.tree["proofs"][0] = json.loads(seal(inner))
    after = check_certificate(outer.data())
    assert after.accepted
    assert after.identity == before.identity


def test_the_report_gives_a_level_for_each_literal() -> None:
    report = check_certificate(good("levels_of_all_kinds").data())
    found = [(one.literal, one.level, one.rests_on) for one in report.levels]
    assert found == [
        ("!lost(?c)", "C0", "C0"),
        ("!far(?c)", "C1", "C1"),
        ("!near(?c)", "C3", "C3"),
        ("!bad(?c)", "C4", "C3"),
        ("!worse(?c)", "C4", "C1"),
    ]
    assert report.level == "C0"


def test_a_level_rests_on_the_weakest_of_all_that_rest_on_each_other() -> None:
    report = check_certificate(good("level_through_a_cycle").data())
    assert [(one.level, one.rests_on) for one in report.levels] == [("C4", "C1")]


def test_who_was_not_attested_is_named() -> None:
    assert "not attested" in check_certificate(good("gold_by_user").data()).to_text()
    assert "not attested" not in check_certificate(good("attested_by_a_person").data()).to_text()
