"""What nobody knows has no truth value: who asks for one made a mistake, and is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from constat.check.values import NONE, UNREAD, Hole, Label
from constat.logic import OPEN
from constat.logic.values import UNREAD_CELL, NullCell, NullPolicy
from constat.proof import symbolic
from constat.proof.instances import ERROR

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED: tuple[Callable[[Any], object], ...] = (
    *(bool, lambda one: not one),
    *(lambda one: one or 0, lambda one: all([one])),
)
ORDERED: tuple[Callable[[list[Any]], object], ...] = (max, min, sorted)
HOLES = (
    *(OPEN, ERROR, UNREAD_CELL, NullCell(NullPolicy.UNKNOWN, "p", 0)),
    *(*Hole, Label(0), NONE, UNREAD, symbolic.Hole(0)),
)


@pytest.mark.parametrize("hole", HOLES, ids=repr)
def test_a_hole_is_neither_true_nor_false(hole: object) -> None:
    for asked in ASKED:
        with pytest.raises(TypeError, match="neither true nor false"):
            asked(hole)


@pytest.mark.parametrize("hole", HOLES, ids=repr)
def test_a_hole_has_no_place_in_an_order(hole: object) -> None:
    for known in (1, "a", hole):
        for asked in ORDERED:
            with pytest.raises(TypeError):
                asked([hole, known])
