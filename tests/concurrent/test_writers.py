"""Nothing false is proved while somebody writes what is read; `tests.concurrent` does more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.concurrent.rounds import prove, prove_with_commands, writers
from tests.concurrent.worlds import SQLITE, make

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", SQLITE)
def test_sqlite_is_read_in_one_state(tmp_path: Path, kind: str) -> None:
    world = make(kind, tmp_path)
    with writers(world, 2):
        found = prove(world, 15, sessions=2)
        found += prove_with_commands(world, 2)
    assert found["DISPROVED"] > 0
    assert found["wrong"] == found["not named"] == 0, found
