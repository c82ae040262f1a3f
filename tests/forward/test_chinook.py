"""The queries on a database that no one here wrote, by the forward engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.examples.chinook_goals import QUERIES, Query
from tests.examples.test_chinook import chinook, session
from tests.forward.test_bulk_queries import told

if TYPE_CHECKING:
    from constat import Session

__all__ = ["chinook", "session"]


@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked.query)
def test_both_engines_give_the_same_answers(session: Session, asked: Query) -> None:
    forward = session.query(asked.query, engine="forward")
    assert told(forward) == told(session.query(asked.query, engine="reference"))
