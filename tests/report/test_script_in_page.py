"""The scripts as they stand in a page are made of the ones that are read, and say the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from constat.proof.report import checker_source
from tests.browser import shorten
from tests.check.catalog import GOOD, good
from tests.check.corpus import certificates, damaged, forged
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES: Final = ("checker.min.js", "page.min.js")


def shipped(name: str) -> str:
    return (shorten.FOLDER / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[SecondChecker, SecondChecker]]:
    if node() is None:
        pytest.skip("there is no Node to run the checker")
    pair = SecondChecker(checker_source()), SecondChecker(shipped("checker.min.js"))
    yield pair
    for one in pair:
        one.close()


def corpus() -> list[bytes]:
    return [content for part in (certificates(), forged(), damaged()) for _, content, *_ in part]


def agree(both: tuple[SecondChecker, SecondChecker], contents: list[bytes]) -> None:
    whole, short = both
    assert list(short.check_all(contents)) == list(whole.check_all(contents))


# ---------------------------------------------------------------------- of what they are made


@pytest.mark.parametrize("name", NAMES)
def test_a_short_script_is_no_older_than_its_source(name: str) -> None:
    head = shipped(name).splitlines(keepends=True)[0]
    assert head == shorten.heading(shorten.sources()[name]), "run `make scripts`"


@pytest.mark.examples
@pytest.mark.parametrize("name", NAMES)
def test_a_short_script_is_what_terser_makes_of_its_source(name: str) -> None:
    if not shorten.available():
        pytest.skip("there is no terser: `make browser` fetches it where npm has a registry")
    assert shipped(name) == shorten.shortened(shorten.sources()[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_short_script_holds_nothing_that_ends_it_in_a_page(name: str) -> None:
    assert re.findall(r"</script|<!--|-->|\beval\b|\bFunction\(|\bimport\b", shipped(name)) == []


# ---------------------------------------------------------------------- what they say


def test_the_checker_in_a_page_agrees_with_itself(
    both: tuple[SecondChecker, SecondChecker],
) -> None:
    some = [good(name).data() for name in sorted(GOOD)[::3]]
    # A figure changed in each: what is rejected must be rejected in the same words.
    agree(both, [*some, *(one.replace(b'"1"', b'"2"', 1) for one in some)])


@pytest.mark.slow
def test_the_checker_in_a_page_agrees_with_itself_on_everything(
    both: tuple[SecondChecker, SecondChecker],
) -> None:
    agree(both, corpus())
