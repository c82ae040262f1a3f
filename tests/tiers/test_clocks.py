"""A demand carries the clock of its evaluation: whatever tiers do with many rows ends with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.evaluation import Answer, Clock, Demand, LimitReachedError
from tests.tiers.building import Setting, declare, setting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.logic import Row

pytestmark = pytest.mark.faults

MANY = 9_000
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0})"
SCRIPT = """
    CREATE TABLE t (c TEXT, v TEXT);
    {1} INSERT INTO t SELECT 'c' || i, 'v' || (i % 7) FROM n;
"""
QUERY = "SELECT c, v FROM t"


class Looks:
    """A clock that counts who looks at it, and whose time is up at one of the looks."""

    def __init__(self, most: float = float("inf")) -> None:
        self.count = 0
        self.clock = Clock(most, "the time is up", self)

    def __call__(self) -> float:
        self.count += 1
        return self.count


def keyed(folder: Path, rows: int) -> Setting:
    predicate = declare("p(c: symbol, v: symbol)", QUERY, key="c")
    return _setting(folder, rows, predicate)


def united(folder: Path, rows: int) -> Setting:
    return _setting(folder, rows, declare("p(c: symbol, v: symbol)", QUERY))


def shadowed(folder: Path, rows: int) -> Setting:
    predicate = declare("p(c: symbol, v: symbol)", QUERY, key="c")
    config = "facts: {p: [[c1, other], [c2, v2]]}"
    return _setting(folder, rows, predicate, config)


def _setting(folder: Path, rows: int, predicate: object, config: str = "") -> Setting:
    script = SCRIPT.format(0, NUMBERS.format(rows))
    return setting(folder, predicate, script=script, config=config)  # type: ignore[arg-type]


def asked(found: Setting, columns: tuple[int, ...], keys: tuple[Row, ...], looks: Looks) -> Answer:
    demand = Demand(found.predicates["p"], columns, keys, looks.clock)
    return found.tiers.externals["p"].answer(demand)


def said(answer: Answer) -> object:
    rows = sorted(row for one in answer.portions for row in one.rows)
    return rows, len(answer.openings), len(answer.answered), answer.conflicts


@pytest.mark.parametrize(
    ("make", "columns", "least"),
    [
        pytest.param(keyed, (), 18, id="all rows of a key each"),
        pytest.param(keyed, (0,), 52, id="by key"),
        pytest.param(keyed, (1,), 79, id="by another column"),
        pytest.param(united, (), 14, id="all rows, united"),
        pytest.param(united, (0,), 30, id="by column, united"),
        pytest.param(shadowed, (), 66, id="all rows, shadowed"),
        pytest.param(shadowed, (0,), 72, id="by key, shadowed"),
    ],
)
def test_the_clock_is_looked_at_on_the_way_and_what_it_stops_is_told_whole_the_next_time(
    make: Callable[[Path, int], Setting], columns: tuple[int, ...], least: int, tmp_path: Path
) -> None:
    keys: tuple[Row, ...] = ((),)
    if columns:
        keys = tuple((f"c{n}" if columns == (0,) else f"v{n}",) for n in range(1, MANY + 1))
    found = make(tmp_path, MANY)
    whole = Looks()
    expected = said(asked(found, columns, keys, whole))
    assert whole.count >= least
    for stop in {1, *range(2, whole.count, max(1, whole.count // 5))}:
        found.tiers.forget()
        with pytest.raises(LimitReachedError, match="the time is up"):
            asked(found, columns, keys, Looks(stop - 1))
        assert said(asked(found, columns, keys, Looks())) == expected
