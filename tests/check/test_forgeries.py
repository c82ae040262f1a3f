"""Every forgery is rejected, and for its own reason.

``CONSTAT_FORGERIES`` sets how many instances of each class are made; the slow test makes 100,000.
"""

from __future__ import annotations

import os

import pytest

from constat.check import check_certificate
from tests.check.catalog import good
from tests.check.forged_commitments import FORGERIES, forge
from tests.check.writer import seal, seal_hashes

INSTANCES = int(os.environ.get("CONSTAT_FORGERIES", "2"))


MANY = 100_000
"""Forged certificates of the slow test, over all classes."""


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected_for_its_own_reason(name: str) -> None:
    for seed in range(INSTANCES):
        code, tree = forge(name, seed)
        report = check_certificate(seal(tree))
        assert (report.code, report.exit_code) == (code, 1), (seed, report.place, report.reason)
        assert report.verdict is None


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERIES)
def test_of_a_hundred_thousand_forgeries_none_is_accepted(name: str) -> None:
    each = -(-MANY // len(FORGERIES))
    for_another_reason = 0
    for seed in range(1_000, 1_000 + each):
        code, tree = forge(name, seed)
        report = check_certificate(seal(tree))
        assert (report.accepted, report.exit_code, report.verdict) == (False, 1, None), seed
        for_another_reason += report.code != code
    # By chance two values of a forgery may be equal, so that it is wrong in another place too.
    assert for_another_reason <= each // 20


def test_no_forgery_counts_on_bytes_hashes_or_types() -> None:
    # Rejections about these would prove nothing about the logic.
    codes = {code for code, _ in FORGERIES.values()}
    assert not codes & {"canonical", "digest", "identity", "json", "number", "program", "text"}
    assert len(FORGERIES) >= 25


def test_a_swapped_rule_does_not_pass_the_pin() -> None:
    honest = good("vip_proved")
    pin = honest.tree["header"]["program"]
    assert check_certificate(honest.data(), pin=pin).accepted
    for seed in range(INSTANCES):
        forged = good("vip_proved", seed).tree
        forged["rules"][1]["body"][2][1] = "!="
        assert check_certificate(seal(forged)).code in {None, "comparison"}
        assert check_certificate(seal(forged), pin=pin).code == "pin"


def test_a_dropped_rule_does_not_pass_the_pin() -> None:
    honest = good("reach_disproved")
    forged = good("reach_disproved").tree
    del forged["rules"][1]
    del forged["closure"]["entries"][0]["orders"][1]
    assert check_certificate(seal(forged)).accepted
    pin = honest.tree["header"]["program"]
    assert check_certificate(seal(forged), pin=pin).code == "pin"


def test_the_header_cannot_name_other_rules_than_those_shown() -> None:
    honest, forged = good("vip_proved").tree, good("vip_proved").tree
    forged["rules"][1]["body"][2][1] = "!="
    forged["header"]["program"] = honest["header"]["program"]
    assert check_certificate(seal_hashes(forged)).code == "program"
