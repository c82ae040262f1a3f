"""Certificates that follow are accepted, with the verdict's exit code."""

from __future__ import annotations

import pytest

from constat.check import check_certificate
from tests.check.catalog import GOOD, good

EXIT_CODES = {
    "PROVED": 0,
    "PROVED_UNDER": 3,
    "UNRESOLVED": 4,
    "DISPROVED": 5,
    "DISPROVED_UNDER": 6,
}


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GOOD)
def test_a_certificate_that_follows_is_accepted(name: str, seed: int) -> None:
    certificate = good(name, seed)
    report = check_certificate(certificate.data())
    header = certificate.tree["header"]
    assert (report.code, report.place, report.reason) == (None, None, None)
    assert report.accepted
    assert report.verdict == header["verdict"]
    assert report.exit_code == EXIT_CODES[header["verdict"]]
    assert (report.confidence or "").removeprefix("at least ") == header["confidence"]
    assert report.nodes == len(certificate.tree["nodes"])
    assert report.identity == certificate.tree["identity"]
    assert len(report.under) == len(header["under"])


def test_every_verdict_has_a_certificate() -> None:
    assert {good(name).tree["header"]["verdict"] for name in GOOD} == set(EXIT_CODES)
