"""What follows, and what does not, is the same in both formats, in both checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from tests.check.catalog import GOOD, good
from tests.check.forged_commitments import FORGERIES, forge
from tests.check.second import upgraded
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


@pytest.mark.parametrize("name", GOOD)
def test_what_follows_is_accepted(name: str, second: SecondChecker) -> None:
    tree = good(name).tree
    data = seal(upgraded(tree))
    report = check_certificate(data)
    assert (report.code, report.place) == (None, None), report.reason
    assert report.verdict == tree["header"]["verdict"]
    assert report.level == tree["header"]["level"]
    assert second.check(data)["verdict"] == report.verdict


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected_for_the_same_reason(name: str, second: SecondChecker) -> None:
    code, tree = forge(name, 0)
    data = seal(upgraded(tree))
    assert check_certificate(data).code == code
    assert not second.check(data)["accepted"]
