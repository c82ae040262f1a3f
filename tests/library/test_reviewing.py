"""The pages of the reviewer's test: two are wrong, and look as those do that are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.library.reviewing import EXHIBITS, Exhibit, main, prove

if TYPE_CHECKING:
    from pathlib import Path

WRONG = [one for one in EXHIBITS if one.old]


def test_two_of_ten_are_wrong() -> None:
    assert (len(EXHIBITS), len(WRONG)) == (10, 2)
    assert len({one.library for one in EXHIBITS}) == 10


@pytest.mark.parametrize("exhibit", WRONG, ids=lambda one: one.library)
def test_a_rule_that_is_wrong_gives_another_verdict(exhibit: Exhibit, tmp_path: Path) -> None:
    right, _ = prove(exhibit, tmp_path / "right", broken=False)
    wrong, page = prove(exhibit, tmp_path / "wrong")
    assert {right, wrong} == {"PROVED", "DISPROVED"}
    assert wrong in page


def test_pages_of_another_time_are_not_written_over(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir())
