"""The pages of the reviewer's test: some of a round are wrong, and look as the right ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.examples.projects import ROOT
from tests.library.reviewing import FIRST, OTHERS, ROUNDS, Exhibit, main, prove

if TYPE_CHECKING:
    from pathlib import Path

WRONG = [one for pages in ROUNDS.values() for one in pages if one.old]


@pytest.mark.parametrize("pages", [FIRST, OTHERS], ids=["1", "2"])
def test_two_pages_of_a_round_are_wrong(pages: tuple[Exhibit, ...]) -> None:
    assert len([one for one in pages if one.old]) == 2


def test_of_each_library_a_right_page_is_shown_and_a_wrong_one() -> None:
    every = {path.name for path in (ROOT / "rules").iterdir() if path.is_dir()}
    shown = [one for pages in ROUNDS.values() for one in pages]
    assert {one.library for one in shown if one.old} == every
    assert {one.library for one in shown if not one.old} >= every - {"lending", "access-control"}


def test_every_library_has_its_turn() -> None:
    shown = {one.library for one in FIRST} | {one.library for one in OTHERS}
    assert shown == {path.name for path in (ROOT / "rules").iterdir() if path.is_dir()}
    assert len({one.library for one in FIRST}) == len(FIRST)


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("exhibit", WRONG, ids=lambda one: one.library)
def test_a_rule_that_is_wrong_gives_another_verdict(exhibit: Exhibit, tmp_path: Path) -> None:
    right, _ = prove(exhibit, tmp_path / "right", broken=False)
    wrong, page = prove(exhibit, tmp_path / "wrong")
    turned = {one.removesuffix("_UNDER") for one in (right, wrong)}
    assert turned in ({"PROVED", "DISPROVED"}, {"PROVED", "NOT SAID"})
    assert wrong in page


def test_pages_of_another_time_are_not_written_over(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir())
