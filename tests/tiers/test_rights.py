"""What a role may not see is unknown: it is in no answer, and none says that it is not there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import (
    Agent,
    Answer,
    Attestation,
    Demand,
    Evidence,
    Opening,
    Origin,
    Portion,
    Quote,
)
from constat.logic import OPEN, NullCell, NullPolicy, OpenRow, Row
from constat.project.settings import Sight, SightOf
from constat.tiers.rights import RIGHTS, is_shown, may_meet_hidden, restricted
from constat.tiers.tier import rows_for, without_states
from tests.tiers.building import analysed, declare

if TYPE_CHECKING:
    from collections.abc import Sequence

PERSON = declare("person(id: symbol, region: symbol, income: number)", "SELECT *")
KEYED = declare("person(id: symbol, region: symbol, income: number)", "SELECT *", key="id")
PEOPLE: list[Row] = [("P1", "north", 10), ("P2", "south", 20), ("P3", "north", 30)]
ALL = SightOf()
NORTH = SightOf(rows={"region": ("north",)})
NO_INCOME = SightOf(columns=("id", "region"))


@dataclass
class Inner:
    """A source of people that notes what it is asked."""

    rows: Sequence[Row] = tuple(PEOPLE)
    openings: tuple[Opening, ...] = ()
    query: str | None = None
    parameters: tuple[str, ...] = ()
    cost: int = 7
    asked: list[Demand] = field(default_factory=list)

    def answer(self, demand: Demand) -> Answer:
        self.asked.append(demand)
        keys = set(demand.keys)
        rows = rows_for(self.rows, demand.columns, keys)
        evidence = Evidence(
            "sales",
            Origin.DATABASE,
            "sales",
            "2025-01-01T00:00:00.000000Z",
            self.query,
            self.parameters,
            len(rows),
            "all",
            "state 7",
        )
        return Answer((Portion(rows, evidence),), self.openings, frozenset(keys), (evidence,))


def asked(
    inner: Inner, found: SightOf | None, columns: tuple[int, ...], *keys: Row, keyed: bool = False
) -> Answer:
    predicate = KEYED if keyed else PERSON
    sight = Sight("clerk", "me", {} if found is None else {"person": found})
    seen = restricted({"person": inner}, analysed([predicate]), sight)["person"]
    assert seen.cost == (1 if found is None else 7)
    return seen.answer(Demand(predicate, columns, keys or ((),)))


def rows_of(answer: Answer) -> list[Row]:
    return [row for portion in answer.portions for row in portion.rows]


def open_rows(answer: Answer) -> set[OpenRow]:
    assert {one.tier for one in answer.openings} <= {RIGHTS}
    return {one.row for one in answer.openings}


def test_without_rights_everything_is_what_it_was() -> None:
    inner = Inner()
    externals = {"person": inner}
    assert restricted(externals, analysed([PERSON]), Sight("clerk", "me", None)) is externals
    for found in (ALL,):
        seen = restricted(externals, analysed([PERSON]), Sight("clerk", "me", {"person": found}))
        assert seen["person"] is inner


def test_of_a_relation_that_is_not_named_all_is_open_and_nobody_is_asked() -> None:
    inner = Inner()
    answer = asked(inner, None, (0,), ("P1",), ("P9",))
    assert inner.asked == []
    assert (rows_of(answer), answer.answered) == ([], frozenset())
    assert open_rows(answer) == {("P1", OPEN, OPEN), ("P9", OPEN, OPEN)}
    assert answer.openings[0].reason == "the role clerk may not see everything of person"


def test_hidden_rows_are_neither_there_nor_not_there() -> None:
    answer = asked(Inner(), NORTH, ())
    assert rows_of(answer) == [PEOPLE[0], PEOPLE[2]]
    assert (open_rows(answer), answer.answered) == ({(OPEN, OPEN, OPEN)}, frozenset())
    assert answer.authorities == ()
    answer = asked(Inner(), NORTH, (0,), ("P2",), ("P9",))
    assert (rows_of(answer), answer.answered) == ([], frozenset())
    assert open_rows(answer) == {("P2", OPEN, OPEN), ("P9", OPEN, OPEN)}


def test_a_key_is_answered_where_nothing_hidden_can_have_it() -> None:
    # The region is asked for, and it is one that is shown.
    answer = asked(Inner(), NORTH, (1,), ("north",), ("south",))
    assert answer.answered == {("north",)}
    assert open_rows(answer) == {(OPEN, "south", OPEN)}
    assert len(answer.authorities) == 1
    # Of a key there is one row, and it is shown; of P2 nobody says whether it is there.
    answer = asked(Inner(), NORTH, (0,), ("P1",), ("P2",), ("P9",), keyed=True)
    assert answer.answered == {("P1",)}
    assert open_rows(answer) == {("P2", OPEN, OPEN), ("P9", OPEN, OPEN)}
    # Without a key of the relation there may be another row of P1.
    assert asked(Inner(), NORTH, (0,), ("P1",)).answered == frozenset()


def test_a_source_is_asked_for_rows_that_are_shown_and_counts_no_others() -> None:
    both = SightOf(rows={"region": ("south", "north")})
    for found, columns, keys, keyed, narrowed in (
        (NORTH, (), [()], False, ((1,), {("north",)})),
        (both, (), [()], True, ((1,), {("north",), ("south",)})),
        (NORTH, (0,), [("P1",), ("P2",)], False, ((0, 1), {("P1", "north"), ("P2", "north")})),
        # Of a key there is one row: a hidden one stands against what is stated of it.
        (NORTH, (0,), [("P1",), ("P2",)], True, ((0,), {("P1",), ("P2",)})),
        (NORTH, (1, 2), [("north", 10), ("south", 20)], False, ((1, 2), {("north", 10)})),
    ):
        inner = Inner()
        asked(inner, found, columns, *keys, keyed=keyed)
        ((demand,),) = (inner.asked,)
        assert (demand.columns, set(demand.keys), demand.only) == (*narrowed, True)
    inner = Inner()
    answer = asked(inner, NORTH, (1,), ("south",))
    assert (inner.asked, answer.answered) == ([], frozenset())
    assert open_rows(answer) == {(OPEN, "south", OPEN)}


def test_a_row_of_which_nobody_knows_whether_it_is_shown_leaves_what_it_may_be_open() -> None:
    null = NullCell(NullPolicy.UNKNOWN, "person", 1, ("P5", None, 50))
    answer = asked(
        Inner([*PEOPLE, cast("Row", ("P5", null, 50))]),
        NORTH,
        (0, 1),
        ("P5", "north"),
        ("P6", "north"),
    )
    assert answer.answered == {("P6", "north")}
    assert open_rows(answer) == {("P5", "north", OPEN)}
    # A cell that has no value is none of the north.
    none = NullCell(NullPolicy.NONE, "person", 1)
    answer = asked(Inner([*PEOPLE, cast("Row", ("P5", none, 50))]), NORTH, (0, 1), ("P5", "north"))
    assert answer.answered == {("P5", "north")}


def test_a_hidden_row_that_cannot_be_read_says_nothing_of_other_keys() -> None:
    hole = Opening(("P8", "south", OPEN), "no number", "sales")
    answer = asked(Inner(openings=(hole,)), NORTH, (0,), ("P1",), ("P8",), keyed=True)
    assert answer.answered == {("P1",)}
    assert open_rows(answer) == {("P8", OPEN, OPEN)}


def test_a_hidden_column_is_open_and_is_not_asked_for() -> None:
    inner = Inner()
    answer = asked(inner, NO_INCOME, (0, 2), ("P1", 10), ("P1", 11))
    assert [(one.columns, one.keys) for one in inner.asked] == [((0,), (("P1",),))]
    assert (rows_of(answer), len(answer.answered)) == ([], 2)
    # Both keys match the row whose income nobody is told, so neither is denied.
    assert open_rows(answer) == {("P1", "north", OPEN)}
    assert "10" not in str((answer.openings, answer.authorities))


def test_what_was_open_before_is_open_where_it_is_shown() -> None:
    openings = tuple(
        Opening(row, "somebody's word", "sales")
        for row in ((OPEN, "north", OPEN), ("P8", "south", 80), ("P9", "north", 90))
    )
    answer = asked(Inner(openings=openings), NORTH, (1,), ("north",))
    assert ("P9", "north", 90) in open_rows(answer)
    assert ("P8", "south", 80) not in open_rows(answer)
    assert "somebody" not in str(answer.openings)
    assert answer.answered == {("north",)}
    # Of whom nobody knows where they live, they may live there.
    maybe = Opening(("P7", OPEN, 70), "somebody's word", "sales")
    answer = asked(Inner(openings=(*openings, maybe)), NORTH, (1,), ("north",))
    assert (answer.answered, "P7" in str(answer.openings)) == (frozenset(), False)


@pytest.mark.parametrize(
    ("query", "parameters", "kept"),
    [
        ("SELECT * FROM t", (), True),
        ("SELECT * FROM t WHERE c1 = ?", ("north",), True),
        ("SELECT * FROM t WHERE c0 = ?", ("P1",), True),
        ("SELECT * FROM t WHERE c0 = ?", ("P2",), False),
        ("SELECT * FROM t WHERE c0 IN (SELECT value FROM json_each(?))", ('["P1", "P3"]',), True),
        ("SELECT * FROM t WHERE c0 IN (SELECT value FROM json_each(?))", ('["P1", "P2"]',), False),
        ("SELECT * FROM t WHERE c0 IN (SELECT value FROM json_each(?))", ("no list",), False),
        ("SELECT * FROM t WHERE x = ?", ("P1",), False),
    ],
)
def test_the_query_is_told_where_its_parameters_say_no_more_than_is_shown(
    query: str, parameters: tuple[str, ...], *, kept: bool
) -> None:
    answer = asked(Inner(query=query, parameters=parameters), NORTH, (1,), ("north",))
    (portion,) = answer.portions
    for evidence in (portion.evidence, *answer.authorities):
        assert (evidence.query, evidence.parameters) == (
            (query, parameters) if kept else (None, ())
        )
        assert (evidence.row_count, evidence.snapshot) == (2, None)
        assert evidence.content_hash not in {"", "all"}


def test_what_a_service_said_of_other_rows_is_not_hashed() -> None:
    hashes = [f"sha256:{digit * 64}" for digit in "123"]
    quote = Quote("letters/a.txt", "Title: Leave", 24, 36, hashes[0])
    words = f"sha256:{hashlib.sha256(b'Title: Leave').hexdigest()}"
    cases = (
        (Origin.DOCUMENT, quote, words, replace(quote, start=0, end=12, hash=None)),
        (Origin.API, None, hashes[2], None),
    )
    for origin, quoted, response, shown in cases:
        word = Attestation(Agent("service", "reader", "1"), response=hashes[1], quote=quoted)
        evidence = Evidence(
            *("sales", origin, "sales", "2025-01-01T00:00:00.000000Z", None, (), 1, hashes[2]),
            attestation=word,
        )
        answer = without_states(Answer((Portion((PEOPLE[0],), evidence),), (), frozenset(), ()))
        assert answer.portions[0].evidence.attestation == replace(
            word, response=response, quote=shown
        )


def test_rights_name_relations_of_sources_and_their_columns() -> None:
    program = analysed([PERSON])
    for relations, said in (
        ({"persons": ALL}, "did you mean `person`"),
        ({"person": SightOf(rows={"town": ("Oslo",)})}, "its columns: id, region, income"),
        ({"person": SightOf(columns=("town",))}, "its columns: id, region, income"),
    ):
        with pytest.raises(ConstatError) as caught:
            restricted({}, program, Sight("clerk", "me", relations))
        (one,) = caught.value.diagnostics
        assert one.code == "C0593"
        assert said in (one.help or "")


def test_a_row_of_texts_is_shown_whole_or_not() -> None:
    row = ("P1", "north", "10")
    mine = SightOf(rows={"id": ("$caller",)})
    for found, shown in ((ALL, True), (NORTH, True), (NO_INCOME, False), (None, False)):
        sight = Sight("clerk", "P1", {} if found is None else {"person": found})
        assert is_shown(PERSON, row, sight) is shown
    assert not is_shown(PERSON, ("P2", "south", "20"), Sight("c", "", {"person": NORTH}))
    assert not is_shown(PERSON, row, Sight("clerk", "P2", {"person": mine}))


@pytest.mark.parametrize(
    ("found", "keyed", "may"),
    [(NORTH, True, True), (NORTH, False, False), (ALL, True, False), (None, True, False)],
)
def test_a_hidden_row_may_have_a_key_that_is_shown(
    found: SightOf | None, *, keyed: bool, may: bool
) -> None:
    sight = Sight("clerk", "me", {} if found is None else {"person": found})
    assert may_meet_hidden(KEYED if keyed else PERSON, sight) is may
    by_key = Sight("clerk", "me", {"person": SightOf(rows={"id": ("P1",)})})
    assert not may_meet_hidden(KEYED, by_key)
