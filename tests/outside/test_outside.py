"""The first hour with Chinook: what `init` drafts answers goals as SQL does, nothing edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.outside import measure

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def chinook(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with Chinook, as the command leaves it."""
    database = data_folder / "chinook.sqlite"
    if not database.is_file():
        pytest.skip("the Chinook database is not in the folder of public databases")
    folder = tmp_path_factory.mktemp("chinook")
    measure.begin(str(database), folder)
    return folder


@pytest.mark.parametrize("goal", measure.goals("chinook"), ids=lambda goal: str(goal.name))
def test_a_goal_comes_out_as_in_sql(chinook: Path, goal: measure.Goal) -> None:
    outcome = measure.ask(chinook, chinook / "chinook.sqlite", goal)
    assert (outcome.right, outcome.mistake) == (True, "")
    assert outcome.decided is not goal.unknown
