"""The checker as it stands in a page says what the checker says: blanks are left out, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.proof.report import checker_source
from constat.proof.report.page import compact
from tests.check.catalog import GOOD, good
from tests.check.corpus import certificates, damaged, forged
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[SecondChecker, SecondChecker]]:
    if node() is None:
        pytest.skip("there is no Node to run the checker")
    source = checker_source()
    assert len(compact(source)) < len(source)
    pair = SecondChecker(source), SecondChecker(compact(source))
    yield pair
    for one in pair:
        one.close()


def corpus() -> list[bytes]:
    return [content for part in (certificates(), forged(), damaged()) for _, content, *_ in part]


def agree(both: tuple[SecondChecker, SecondChecker], contents: list[bytes]) -> None:
    whole, short = both
    assert list(short.check_all(contents)) == list(whole.check_all(contents))


def test_the_checker_in_a_page_agrees_with_itself(
    both: tuple[SecondChecker, SecondChecker],
) -> None:
    some = [good(name).data() for name in sorted(GOOD)[::9]]
    # A figure changed in each: what is rejected must be rejected in the same words.
    agree(both, [*some, *(one.replace(b'"1"', b'"2"', 1) for one in some)])


@pytest.mark.slow
def test_the_checker_in_a_page_agrees_with_itself_on_everything(
    both: tuple[SecondChecker, SecondChecker],
) -> None:
    agree(both, corpus())
