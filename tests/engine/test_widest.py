"""What nearly everything is open for is said once, and not row by row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from constat.engine.batch import Weak, widest
from constat.engine.relation import Relation
from constat.evaluation import ABSENT, ACCEPTED, CONCEIVABLE, POSSIBLE
from constat.logic import OPEN, OpenRow
from tests.engine.tables import Table, run

SLOTS = st.sampled_from([OPEN, 1, 2])
STRENGTHS = st.sampled_from([CONCEIVABLE, POSSIBLE, ACCEPTED])
PAIRS = st.lists(st.tuples(st.tuples(SLOTS, SLOTS, SLOTS), STRENGTHS), min_size=1, max_size=12)


def covers(wide: OpenRow, row: OpenRow) -> bool:
    return all(one is OPEN or one == other for one, other in zip(wide, row, strict=True))


def greatest(pairs: list[Weak], row: OpenRow) -> int:
    """The strongest binding that may be this one."""
    return max((strength for one, strength in pairs if covers(one, row)), default=ABSENT)


@given(PAIRS)
def test_nothing_is_lost_and_nothing_is_added(pairs: list[Weak]) -> None:
    kept = widest(pairs)
    assert set(kept) <= set(pairs)
    for row, _ in pairs:
        assert greatest(kept, row) == greatest(pairs, row)
    accepted = {row for row, strength in pairs if strength == ACCEPTED}
    assert accepted == {row for row, strength in kept if strength == ACCEPTED}


def test_a_binding_goes_where_a_more_open_one_is_as_strong() -> None:
    pairs: list[Weak] = [((1, 2), POSSIBLE), ((1, OPEN), POSSIBLE), ((2, 2), POSSIBLE)]
    assert sorted(widest(pairs), key=str) == sorted(pairs[1:], key=str)
    weaker: list[Weak] = [((1, 2), POSSIBLE), ((1, OPEN), CONCEIVABLE)]
    assert sorted(widest(weaker), key=str) == sorted(weaker, key=str)


def test_an_open_row_says_what_narrower_rows_would_say() -> None:
    made = Relation(2)
    made.add_weak([((1, OPEN), POSSIBLE)], 1)
    assert made.says((1, 2), POSSIBLE)
    assert made.says((1, OPEN), CONCEIVABLE)
    assert not made.says((2, 2), POSSIBLE)
    assert not made.says((OPEN, 2), POSSIBLE)
    assert not made.says((1, 2), ACCEPTED)
    made.add_weak([((3, OPEN), ACCEPTED), ((4, 4), POSSIBLE)], 2)
    assert not made.says((3, 2), ACCEPTED)
    # A row that is not open says nothing of others, and of itself it is asked elsewhere.
    assert not made.says((4, 4), POSSIBLE)


def test_a_recursion_over_something_open_does_not_spell_out_all_pairs() -> None:
    rules = """
    .decl edge(a: number, b: number)
    .input edge(source="t", query="q")
    .decl maybe(a: number, b: number)
    .input maybe(source="t", query="q")
    .decl path(a: number, b: number)
    path(?a, ?b) :- edge(?a, ?b).
    path(?a, ?b) :- maybe(?a, ?b).
    path(?a, ?c) :- path(?a, ?b), path(?b, ?c).
    """
    edges = Table([(number, number + 1) for number in range(60)])
    unknown = Table(unknown=frozenset({()}))
    outcome = run(rules, "path(?a, ?b)", {"edge": edges, "maybe": unknown}, exhaust=True)
    certain = len(list(outcome.rows("path", ACCEPTED)))
    assert certain == 60 * 61 // 2
    # Every pair may be a path; of 61 * 61 pairs hardly any is named.
    assert len(list(outcome.rows("path", CONCEIVABLE))) - certain < 200
