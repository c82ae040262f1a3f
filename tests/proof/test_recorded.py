"""Recorded answers repeat what was said, under other assumptions, and never more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import Answer, Call, Demand, Evidence, Opening, Origin, Portion
from constat.logic import OPEN, Column, Kind, Predicate, Row
from constat.proof.missing import RecordedExternals, Supposition
from tests.proof.asking import word

if TYPE_CHECKING:
    from constat.evaluation import Assumption

TIER = Predicate("tier", (Column("c", "symbol", Kind.SYMBOL), Column("t", "symbol", Kind.SYMBOL)))
READ = Evidence("database", Origin.DATABASE, "crm", "")
SAID = Evidence("user", Origin.USER_PROVIDED, "facts", "")
GOLD: Row = ("C3", "gold")
WORD = word("tier", GOLD)


def call(
    columns: tuple[int, ...],
    keys: tuple[Row, ...],
    *,
    rows: tuple[Row, ...] = (),
    said: tuple[tuple[Row, Assumption], ...] = (),
    openings: tuple[Opening, ...] = (),
) -> Call:
    portions = [Portion(rows, READ)] if rows else []
    portions += [Portion((row,), SAID, assumption) for row, assumption in said]
    answer = Answer(tuple(portions), openings, frozenset(keys), (READ,))
    return Call(1, Demand(TIER, columns, keys), answer)


def replayed(
    recorded: Call, columns: tuple[int, ...], key: Row, supposition: Supposition | None = None
) -> Answer:
    externals = RecordedExternals((recorded,), supposition)
    return externals["tier"].answer(Demand(TIER, columns, (key,)))


def rows_of(answer: Answer) -> set[Row]:
    return {row for portion in answer.portions for row in portion.rows}


def test_a_wider_answer_serves_a_narrower_demand_filtered() -> None:
    wide = call((), ((),), rows=(("C1", "gold"), ("C2", "silver")))
    answer = replayed(wide, (0,), ("C2",))
    assert answer.answered == {("C2",)}
    assert rows_of(answer) == {("C2", "silver")}


def test_a_narrower_answer_does_not_serve_a_wider_demand() -> None:
    narrow = call((0,), (("C1",),), rows=(("C1", "gold"),))
    answer = replayed(narrow, (), ())
    assert answer.answered == frozenset()
    assert rows_of(answer) == {("C1", "gold")}


def test_a_demand_that_was_not_recorded_is_unanswered() -> None:
    assert replayed(call((0,), (("C1",),)), (0,), ("C2",)).answered == frozenset()


def test_a_word_that_is_not_accepted_opens_its_own_row() -> None:
    answer = replayed(call((0,), (("C3",),), said=((GOLD, WORD),)), (0,), ("C3",))
    assert rows_of(answer) == set()
    assert [(one.row, one.assumption) for one in answer.openings] == [(GOLD, None)]


def test_an_accepted_word_is_plain() -> None:
    recorded = call((0,), (("C3",),), said=((GOLD, WORD),))
    answer = replayed(recorded, (0,), ("C3",), Supposition(frozenset({WORD})))
    assert rows_of(answer) == {GOLD}
    assert answer.portions[0].assumption is None
    assert answer.openings == ()


def test_openings_close_with_their_assumption_and_else_lose_it() -> None:
    opening = Opening(("C3", OPEN), "not declared complete", "config", WORD)
    recorded = call((0,), (("C3",),), openings=(opening,))
    closed = replayed(recorded, (0,), ("C3",), Supposition(frozenset({WORD})))
    assert closed.openings == ()
    (left,) = replayed(recorded, (0,), ("C3",)).openings
    assert (left.row, left.assumption) == (("C3", OPEN), None)


def test_supposed_answers_replace_openings() -> None:
    opening = Opening(GOLD, "timeout", "crm")
    recorded = call((0, 1), (GOLD,), openings=(opening,))
    gap = frozenset({("tier", GOLD)})
    assert rows_of(replayed(recorded, (0, 1), GOLD, Supposition(present=gap))) == {GOLD}
    assert replayed(recorded, (0, 1), GOLD, Supposition(closed=gap)).openings == ()


def test_an_unanswered_key_can_be_supposed_away() -> None:
    silent = Call(1, Demand(TIER, (0, 1), (GOLD,)), Answer())
    gap = frozenset({("tier", GOLD)})
    assert replayed(silent, (0, 1), GOLD, Supposition(closed=gap)).answered == {GOLD}
    assert replayed(silent, (0, 1), GOLD).answered == frozenset()
