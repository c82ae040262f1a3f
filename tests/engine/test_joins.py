"""Bindings that meet rows, and rows that meet the bindings that wait for them."""

from __future__ import annotations

import pytest

from constat.engine import joins
from constat.engine.batch import Batch, strongest, unify
from constat.engine.joins import Waiting, join
from constat.engine.relation import Relation
from constat.engine.state import Served
from constat.evaluation import ACCEPTED, CONCEIVABLE, POSSIBLE, LimitReachedError, Limits
from constat.logic import OPEN
from constat.plan import Join


def step(*, kept: tuple[int, ...] = (1,), same: tuple[tuple[int, int], ...] = ()) -> Join:
    """Join the binding's first slot with the first of two columns."""
    return Join("p", (0,), (0,), kept, same, 2, 0)


def test_each_binding_has_the_greatest_of_its_strengths() -> None:
    pairs = [((1,), POSSIBLE), ((1,), ACCEPTED), ((1,), CONCEIVABLE), ((2,), CONCEIVABLE)]
    assert strongest(pairs) == {(1,): ACCEPTED, (2,): CONCEIVABLE}


def test_keys_are_those_of_certain_and_weak_bindings_without_placeholders() -> None:
    batch = Batch([(1, 2)], [((3, OPEN), POSSIBLE), ((OPEN, 4), POSSIBLE)])
    assert batch.keys(lambda binding: binding[:1]) == {(1,), (3,)}


@pytest.mark.parametrize(
    ("binding", "row", "found"),
    [
        ((1,), (1, 5), (1, 5)),
        ((1,), (2, 5), None),
        ((OPEN,), (2, 5), (2, 5)),
        ((1,), (OPEN, 5), (1, 5)),
        ((1,), (OPEN, OPEN), (1, OPEN)),
        ((OPEN,), (OPEN, 5), (OPEN, 5)),
    ],
)
def test_a_placeholder_takes_the_value_it_meets(
    binding: tuple[object, ...], row: tuple[object, ...], found: tuple[object, ...] | None
) -> None:
    assert unify(binding, row, step()) == found  # type: ignore[arg-type]  # slots


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ((1, 1), (1,)),
        ((1, 2), None),
        ((OPEN, 2), (2,)),
        ((1, OPEN), (1,)),
        ((OPEN, OPEN), (OPEN,)),
    ],
)
def test_columns_of_one_variable_agree_or_one_is_open(
    row: tuple[object, ...], found: tuple[object, ...] | None
) -> None:
    one_variable = Join("p", (), (), (0,), ((0, 1),), 2, 0)
    assert unify((), row, one_variable) == found  # type: ignore[arg-type]  # slots


def joined(batch: Batch, relation: Relation, *, served: Served | None = None) -> Batch:
    return join(step(), batch, relation, served or Served(), Limits())


def test_certain_bindings_meet_certain_and_weak_rows() -> None:
    relation = Relation(2)
    relation.add_sure([(1, 2), (1, 3), (4, 5)], 1)
    relation.add_weak([((1, OPEN), POSSIBLE), ((4, 6), ACCEPTED)], 1)
    out = joined(Batch([(1,), (9,)]), relation)
    assert out.sure == [(1, 2), (1, 3)]
    assert out.weak == [((1, OPEN), POSSIBLE)]


def test_a_weak_binding_gives_the_weaker_of_two_strengths() -> None:
    relation = Relation(2)
    relation.add_sure([(1, 2)], 1)
    relation.add_weak([((1, 7), CONCEIVABLE)], 1)
    out = joined(Batch(weak=[((1,), ACCEPTED)]), relation)
    assert out.sure == []
    assert out.weak == [((1, 2), ACCEPTED), ((1, 7), CONCEIVABLE)]


def test_an_unknown_key_matches_what_is_served_and_else_anything() -> None:
    relation = Relation(2)
    relation.add_sure([(1, 2)], 1)
    batch = Batch(weak=[((OPEN,), ACCEPTED)])
    assert joined(batch, relation).weak == [((OPEN, OPEN), POSSIBLE)]
    served = Served()
    served.add((), [()])
    assert joined(batch, relation, served=served).weak == [((1, 2), ACCEPTED)]


def test_uncertain_rows_and_bindings_meet_where_the_columns_of_one_variable_agree() -> None:
    relation = Relation(3)
    relation.add_sure([(1, 5, 5), (1, 5, 6)], 1)
    relation.add_weak([((1, 7, 7), POSSIBLE), ((1, 7, 8), POSSIBLE)], 1)
    same = Join("p", (0,), (0,), (1,), ((1, 2),), 3, 0)
    out = join(same, Batch([(1,)], [((1,), ACCEPTED)]), relation, Served(), Limits())
    assert out.sure == [(1, 5)]
    assert strongest(out.weak) == {(1, 5): ACCEPTED, (1, 7): POSSIBLE}


@pytest.mark.parametrize("chunk", [1, 2, 4096])
def test_a_join_gives_as_many_rows_as_the_limit_and_no_more(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "_CHUNK", chunk)
    relation = Relation(2)
    relation.add_sure([(1, 2), (1, 3)], 1)
    bindings = Batch([(1,), (1,), (1,)])
    assert len(join(step(), bindings, relation, Served(), Limits(rows=6)).sure) == 6
    with pytest.raises(LimitReachedError, match="joins more than 5 rows"):
        join(step(), bindings, relation, Served(), Limits(rows=5))


def test_a_join_of_no_bindings_makes_no_index() -> None:
    relation = Relation(2)
    relation.add_sure([(1, 2)], 1)
    assert not joined(Batch(), relation)


def waiting(batch: Batch, *, same: tuple[tuple[int, int], ...] = ()) -> Waiting:
    made = Waiting(step(same=same))
    made.add(batch)
    return made


def test_only_new_and_stronger_bindings_begin_to_wait() -> None:
    made = waiting(Batch([(1,)], [((2,), POSSIBLE)]))
    again = made.add(
        Batch(
            [(1,), (3,), (3,)],
            [((1,), ACCEPTED), ((2,), POSSIBLE), ((4,), CONCEIVABLE), ((2,), ACCEPTED)],
        )
    )
    assert again.sure == [(3,)]
    assert again.weak == [((4,), CONCEIVABLE), ((2,), ACCEPTED)]
    assert made.meet([(2, 9)], []).weak == [((2, 9), ACCEPTED)]


def test_a_binding_that_became_certain_waits_as_such_only() -> None:
    made = waiting(Batch(weak=[((1,), POSSIBLE)]))
    made.add(Batch([(1,)]))
    out = made.meet([(1, 2)], [])
    assert (out.sure, out.weak) == ([(1, 2)], [])


def test_rows_meet_the_certain_bindings_of_their_key() -> None:
    out = waiting(Batch([(1,), (2,)])).meet([(1, 5), (3, 5)], [((2, 6), POSSIBLE)])
    assert out.sure == [(1, 5)]
    assert out.weak == [((2, 6), POSSIBLE)]


def test_rows_meet_weak_bindings_with_the_weaker_strength() -> None:
    made = waiting(Batch(weak=[((1,), ACCEPTED), ((OPEN,), POSSIBLE)]))
    out = made.meet([(1, 5), (2, 5)], [((1, 6), CONCEIVABLE)])
    assert not out.sure
    assert strongest(out.weak) == {
        (1, 5): ACCEPTED,
        (2, 5): POSSIBLE,
        (1, 6): CONCEIVABLE,
    }


def test_a_row_with_an_open_key_meets_every_binding() -> None:
    made = waiting(Batch([(1,)], [((2,), ACCEPTED), ((OPEN,), POSSIBLE)]))
    out = made.meet([], [((OPEN, 7), POSSIBLE)])
    assert strongest(out.weak) == {
        (1, 7): POSSIBLE,
        (2, 7): POSSIBLE,
        (OPEN, 7): POSSIBLE,
    }


def test_rows_whose_columns_must_agree_meet_nothing_where_they_do_not() -> None:
    made = waiting(Batch([(1,)], [((2,), ACCEPTED)]), same=((0, 1),))
    out = made.meet([(1, 1), (1, 2), (2, 2), (2, 1)], [])
    assert out.sure == [(1, 1)]
    assert out.weak == [((2, 2), ACCEPTED)]


def test_a_row_of_which_one_key_column_is_open_meets_the_bindings_that_fit() -> None:
    made = Waiting(Join("p", (0, 1), (0, 1), (2,), (), 3, 0))
    made.add(Batch([(1, 2), (3, 4)], [((1, 5), ACCEPTED)]))
    out = made.meet([], [((1, OPEN, 9), POSSIBLE)])
    assert strongest(out.weak) == {(1, 2, 9): POSSIBLE, (1, 5, 9): POSSIBLE}


def test_all_columns_of_one_variable_must_agree() -> None:
    made = Waiting(Join("p", (0,), (0,), (), ((0, 1), (1, 2)), 3, 0))
    made.add(Batch([(1,)]))
    assert made.meet([(1, 1, 1), (1, 1, 2), (1, 2, 2)], []).sure == [(1,)]
