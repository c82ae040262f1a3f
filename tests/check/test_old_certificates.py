"""Certificates of the first format verify for ever, in both checkers, with the verdicts they had.

`old/certificates.jsonl` has one certificate a line, as the last writer of the first format did:
every verdict and level, nested, with summaries, opened in roots.  Nothing here is ever made anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from tests.report.checker.second_checker import SecondChecker, node

OLD = Path(__file__).parent / "old"
CERTIFICATES = (OLD / "certificates.jsonl").read_bytes().splitlines(keepends=True)
VERDICTS = (OLD / "verdicts.txt").read_text(encoding="utf-8").splitlines()


def test_the_corpus_has_every_verdict_and_level() -> None:
    said = [line.split() for line in VERDICTS]
    assert {verdict for _, verdict, *_ in said} == {
        "PROVED",
        "PROVED_UNDER",
        "DISPROVED",
        "DISPROVED_UNDER",
        "UNRESOLVED",
    }
    assert {level for _, _, level, _ in said} == {"-", "C0", "C1", "C2", "C3", "C4"}
    assert all(data.count(b'"format":"constat-cert/1"') >= 1 for data in CERTIFICATES)
    assert len(CERTIFICATES) == len(VERDICTS) > 100


def test_old_certificates_verify_as_they_did() -> None:
    for data, line in zip(CERTIFICATES, VERDICTS, strict=True):
        report = check_certificate(data)
        shown = str(report.confidence).replace("at least ", ">=")
        assert f"{report.identity} {report.verdict} {report.level or '-'} {shown}" == line


@pytest.mark.skipif(node() is None, reason="no Node.js: neither on the path nor here")
def test_the_second_checker_says_the_same() -> None:
    second = SecondChecker(checker_source())
    found = list(second.check_all(CERTIFICATES))
    second.close()
    for report, line in zip(found, VERDICTS, strict=True):
        shown = str(report["confidence"]).replace("at least ", ">=")
        assert f"{report['identity']} {report['verdict']} {report['level'] or '-'} {shown}" == line


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_changed_sign_in_an_old_certificate_is_noticed(place: float) -> None:
    for data in CERTIFICATES[::10]:
        at = int(len(data) * place)
        other = data[:at] + (b"1" if data[at : at + 1] != b"1" else b"2") + data[at + 1 :]
        assert not check_certificate(other).accepted
