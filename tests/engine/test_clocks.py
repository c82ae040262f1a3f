"""The limit of time holds inside of the steps: a step over many rows looks at the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.engine.relation import Relation
from constat.evaluation import ABSENT, CERTAIN, POSSIBLE, Clock, LimitReachedError, Limits
from constat.logic import OPEN
from tests.engine.tables import Table, run

if TYPE_CHECKING:
    from constat.logic import Row

pytestmark = pytest.mark.faults

MANY = 9_000
DECLARED = """
.decl e(a: number, b: number)
.input e(source="t", query="q")
.decl f(a: number, b: number)
.input f(source="t", query="q")
"""


class Looks:
    """Counts the looks at a clock; each takes a second."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> float:
        self.count += 1
        return self.count


def tables(*, weak: bool = False) -> dict[str, Table]:
    rows: list[Row] = [(n, n + 1) for n in range(MANY)]
    return {"e": Table([], rows) if weak else Table(rows), "f": Table([(n, 0) for n, _ in rows])}


# All the rows are in one group, which waits for its total.
THRESHOLD = """.decl h(b: number, v: number, w: number)
h(0, ?v, ?w) :- e(?v, ?w).
h(?b, ?v, ?w) :- p(?b), ?b < 0, e(?v, ?w).
p(?b + 1) :- h(?b, _, _), ?b < 1, sum ?w : { h(?b, _v, ?w), ?w > 0 } > 100."""
RULES = [
    pytest.param("p(?a) :- e(?a, ?b), f(?b, _).", 45, id="join"),
    pytest.param("p(?a) :- e(?a, ?b), ?b > 0.", 28, id="comparison"),
    pytest.param("p(?c) :- e(?a, ?b), ?c = ?a + ?b.", 28, id="function"),
    pytest.param("p(?a) :- e(?a, ?b), !f(?b, 7).", 37, id="negation"),
    pytest.param("p(?n) :- ?n = sum ?b : { e(_a, ?b) }.", 16, id="aggregate"),
    pytest.param("p(?b + 1) :- e(_, ?b).", 23, id="head"),
    pytest.param("p(?b) :- e(?b, _).\np(?b) :- p(?a), e(?a, ?b).", 28, id="recursion"),
    pytest.param(THRESHOLD, 58, id="threshold"),
]


@pytest.mark.parametrize("weak", [False, True], ids=["certain", "assumed"])
@pytest.mark.parametrize(("rules", "least"), RULES)
def test_steps_over_many_rows_look_at_the_clock(rules: str, least: int, weak: bool) -> None:  # noqa: FBT001
    looks = Looks()
    limits = Limits(seconds=1e9, now=looks)
    whole = run(f"{DECLARED}.decl p(n: number)\n{rules}", "p(?n)", tables(weak=weak), limits=limits)
    assert not whole.stopped or whole.stopped == "settled"
    assert looks.count >= least


@pytest.mark.parametrize(("rules", "_least"), RULES)
def test_whenever_the_time_is_up_nothing_is_decided_falsely(rules: str, _least: int) -> None:
    text = f"{DECLARED}.decl p(n: number)\n{rules}"
    every = Looks()
    whole = run(text, "p(?n)", tables(), exhaust=True, limits=Limits(seconds=1e9, now=every))
    true = set(whole.rows("p", CERTAIN))
    for seconds in range(1, every.count, max(1, every.count // 6)):
        late = run(text, "p(?n)", tables(), exhaust=True, limits=Limits(seconds, now=Looks()))
        assert late.stopped in {"", f"the time limit of {seconds} seconds was reached"}
        assert set(late.rows("p", CERTAIN)) <= true
        assert late.strength(late.goal) in {CERTAIN, POSSIBLE}
        for row in list(late.rows("p", CERTAIN))[:3]:
            assert OPEN not in row
            late.derivation("p", row, CERTAIN)  # type: ignore[arg-type]  # no placeholder


def test_no_half_index_hides_a_row() -> None:
    """A row that an interrupted index has not got would make its absence look certain."""
    relation = Relation(2)
    relation.lookup((0,), (1,))
    looks = Looks()
    relation.clock = Clock(5, "late", looks)
    rows = [(n, n) for n in range(20_000)]
    with pytest.raises(LimitReachedError):
        relation.add_sure(rows, 1)
    relation.clock.release()
    found = relation.lookup((0,), (1,))
    assert all(row[0] in found for row in relation.sure)
    assert relation.strength({0: 19_999, 1: 0}, lambda *_: 0) == ABSENT
