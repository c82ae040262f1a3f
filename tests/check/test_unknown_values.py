"""What follows over null cells is accepted, what is forged is rejected, by both checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from tests.check.unknown_values import CASES, case, walk
from tests.check.writer import seal
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("no Node.js: neither on the path nor here")
    process = SecondChecker(checker_source())
    yield process
    process.close()


@pytest.mark.parametrize("name", CASES)
def test_both_checkers_say_the_same(name: str, second: SecondChecker) -> None:
    data, said = case(name)
    report = check_certificate(data)
    assert said in {report.verdict, report.code}, (report.code, report.place, report.reason)
    found = second.check(data)
    told = (found["reasonCode"], found["place"], found["reason"])
    assert (found["verdict"] or "rejected") == (report.verdict or "rejected"), told


@pytest.mark.laws
def test_a_walk_over_a_list_says_the_rest_by_a_number() -> None:
    """Ten thousand cells take two megabytes at most, and each cell as many bytes and steps."""
    small, large = seal(walk(500)), seal(walk(2_000))
    assert check_certificate(large).verdict == "PROVED"
    assert len(large) * 10_000 / 2_000 < 2_000_000
    assert len(large) < 4.2 * len(small)
    assert "limit" not in {check_certificate(one).code for one in (small, large)}
