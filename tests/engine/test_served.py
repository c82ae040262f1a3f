"""What was asked for: a wider pattern serves a narrower one, never the reverse."""

from __future__ import annotations

import math

from constat.engine.state import Served


def served(*asked: tuple[tuple[int, ...], tuple[int, ...]]) -> Served:
    made = Served()
    for columns, key in asked:
        made.add(columns, [key])
    return made


def test_keys_are_missing_until_they_were_asked_for() -> None:
    made = served(((0,), (1,)))
    assert made.missing((0,), [(1,), (2,)]) == [(2,)]
    made.add((0,), [(2,)])
    assert made.missing((0,), [(1,), (2,), (3,)]) == [(3,)]


def test_a_wider_pattern_serves_a_narrower_one() -> None:
    made = served(((1,), (7,)))
    assert made.missing((0, 1), [(1, 7), (7, 1)]) == [(7, 1)]
    assert made.covers((1, 2), (7, 9))
    assert served(((), ())).covers((0, 1), (1, 2))
    assert served(((0, 1), (1, 7))).covers((1, 0), (7, 1))


def test_a_narrower_pattern_does_not_serve_a_wider_one() -> None:
    made = served(((0, 1), (1, 7)))
    assert not made.covers((1,), (7,))
    assert not made.covers((0, 2), (1, 7))
    assert not made.covers((), ())


def test_several_patterns_serve_together() -> None:
    made = served(((0,), (1,)), ((1,), (7,)), ((0, 1), (3, 3)))
    assert made.missing((0, 1), [(1, 1), (2, 7), (3, 3), (3, 4)]) == [(3, 4)]


def test_what_is_forgotten_is_asked_for_again() -> None:
    made = served(((0,), (1,)))
    made.clear()
    assert made.missing((0,), [(1,)]) == [(1,)]
    assert list(made.entries()) == []


def test_entries_are_what_was_asked_by_columns() -> None:
    made = served(((0,), (1,)), ((0,), (2,)), ((), ()))
    assert list(made.entries()) == [((0,), {(1,), (2,)}), ((), {()})]


def test_a_pattern_is_complete_from_the_first_time_on() -> None:
    made = served(((0,), (1,)))
    assert made.completed((0,), (1,)) == math.inf
    made.complete((0,), [(1,), (2,)], 5)
    made.complete((0,), [(1,)], 7)
    assert made.completed((0,), (1,)) == 5
    assert made.completed((0,), (2,)) == math.inf
    made.add((0,), [(1,)])
    assert made.completed((0,), (1,)) == 5


def test_a_narrower_pattern_is_complete_when_a_wider_one_is() -> None:
    made = served(((0, 1), (1, 7)), ((1,), (7,)), ((2,), (1,)))
    made.complete((0, 1), [(1, 7)], 9)
    made.complete((1,), [(7,)], 4)
    made.complete((2,), [(1,)], 1)
    assert made.completed((0, 1), (1, 7)) == 4
    assert made.completed((0, 1), (2, 7)) == 4
    assert made.completed((0, 1), (7, 1)) == math.inf
    made.complete((0, 1), [(1, 7)], 9)
    made.add((0, 1), [(5, 6)])
    made.complete((0, 1), [(5, 6)], 8)
    assert made.completed((1, 0), (6, 5)) == 8
    assert made.completed((1,), (7,)) == 4
    assert made.completed((), ()) == math.inf


def test_what_was_forgotten_is_not_complete() -> None:
    made = served(((0,), (1,)))
    made.clear()
    made.complete((0,), [(1,)], 3)
    assert made.completed((0,), (1,)) == math.inf
    assert made.missing((0,), [(1,)]) == [(1,)]
