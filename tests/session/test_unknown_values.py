"""Columns that may be NULL, from the database to the answer (semantics 26)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.evaluation import Verdict
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = """\
.pragma "constat" "0.1"
@[key = id] @[whole]
.decl orders(id: number, due: number, @[null = {}] shipped: number, @[null = {}] region: symbol)
.input orders(source = "shop", query = "SELECT id, due, shipped, region FROM o")
.decl late(o: number)
late(?o) :- orders(?o, ?due, ?shipped, _), ?shipped > ?due.
.decl sent(o: number)
sent(?o) :- orders(?o, _, _day, _).
.decl waiting(o: number)
waiting(?o) :- orders(?o, _, _, _), !sent(?o).
.decl in_region(o: number, r: symbol)
in_region(?o, ?r) :- orders(?o, _, _, ?r).
.decl beside(o: number, p: number)
beside(?o, ?p) :- in_region(?o, ?r), in_region(?p, ?r).
.decl many(n: number)
many(?n) :- ?n = count : {{ orders(_o, _, _, _) }}.
.decl regions(n: number)
regions(?n) :- ?n = count : {{ in_region(_o, ?r), ?r != "" }}.
"""
ROWS = [
    (1, 5, 7, "north"),
    (2, 5, 3, None),
    (3, 5, None, "south"),
    (4, 5, 9, None),
    (7, 9, 9, None),
]
YES, NO, OPEN = Verdict.PROVED, Verdict.DISPROVED, Verdict.UNRESOLVED
FALSE = Verdict.DISPROVED_UNDER


def shop(folder: Path, shipped: str = "maybe", region: str = "maybe", more: str = "") -> Path:
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        connection.execute(
            "CREATE TABLE o (id INTEGER PRIMARY KEY, due INTEGER, shipped INTEGER, region TEXT)"
        )
        connection.executemany("INSERT INTO o VALUES (?, ?, ?, ?)", ROWS)
    (folder / "rules.dl").write_text(RULES.format(shipped, region), encoding="utf-8")
    text = 'project: shop\nrules: [rules.dl]\ndatabases: {shop: {uri: "sqlite:///shop.sqlite"}}\n'
    (folder / "constat.yaml").write_text(text + more, encoding="utf-8")
    return folder


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(shop(tmp_path)) as one:
        yield one


def verdicts(folder: Path, *goals: str) -> list[Verdict]:
    with Session(folder) as session:
        found = []
        for goal in goals:
            result = session.prove(goal)
            assert check_certificate(result.certificate).accepted, goal
            found.append(result.verdict)
        return found


@pytest.mark.parametrize("policy", ["none", "maybe", "unknown"])
def test_a_null_that_nobody_asks_about_leaves_nothing_open(tmp_path: Path, policy: str) -> None:
    folder = shop(tmp_path, policy, policy)
    assert verdicts(
        folder, "late(1)", "late(2)", "late(4)", "orders(id = 2)", "orders(9, _, _, _)", "many(5)"
    ) == [YES, NO, YES, YES, NO, YES]


@pytest.mark.parametrize(
    ("policy", "sent", "late", "waiting"),
    [("none", NO, NO, YES), ("maybe", OPEN, OPEN, OPEN), ("unknown", YES, OPEN, NO)],
)
def test_a_null_that_is_read_means_what_its_policy_says(
    tmp_path: Path, policy: str, sent: Verdict, late: Verdict, waiting: Verdict
) -> None:
    folder = shop(tmp_path, shipped=policy)
    assert verdicts(folder, "sent(3)", "late(3)", "waiting(3)") == [sent, late, waiting]


@pytest.mark.parametrize(
    ("policy", "itself", "another"),
    [("none", NO, NO), ("maybe", OPEN, OPEN), ("unknown", YES, OPEN)],
)
def test_an_unknown_value_equals_itself(
    tmp_path: Path, policy: str, itself: Verdict, another: Verdict
) -> None:
    folder = shop(tmp_path, region=policy)
    goals = ("beside(2, 2)", "beside(2, 4)", "beside(1, 3)", "in_region(2, north)")
    known = NO if policy == "none" else OPEN
    assert verdicts(folder, *goals) == [itself, another, NO, known]


def test_what_is_not_known_is_said_in_words(session: Session) -> None:
    result = session.prove("in_region(7, north)")
    assert result.verdict is OPEN
    assert [gap.reason for gap in result.tree.gaps] == ["the region of orders 7 is not known"]
    assert [gap.goal for gap in result.tree.gaps] == ["orders(7, 9, 9, ?region)"]


def test_why_not_of_the_command_names_the_cell(tmp_path: Path) -> None:
    ran = run("why-not", "in_region(7, north)", "--project", shop(tmp_path))
    assert "the region of orders 7 is not known" in ran.out
    ran = run("prove", "late(3)", "--project", tmp_path)
    assert "the shipped of orders 3 is not known" in ran.out


def test_a_sentence_says_what_there_is_not(tmp_path: Path) -> None:
    ran = run("prove", "waiting(3)", "--project", shop(tmp_path, shipped="none"))
    assert "shipped none" in ran.out
    ran = run("prove", "late(4)", "--project", tmp_path)
    assert "region unknown" in ran.out


# Filling (26e).


def test_a_stated_fact_fills_a_cell_and_is_an_assumption(tmp_path: Path) -> None:
    folder = shop(tmp_path)
    with Session(folder) as session:
        before = [session.prove(goal).verdict for goal in ("many(5)", "late(4)", "sent(3)")]
        session.facts.add("orders(3, 5, 8, south)", author="alice")
        for goal, verdict in (
            ("late(3)", Verdict.PROVED_UNDER),
            ("sent(3)", Verdict.PROVED_UNDER),
            ("waiting(3)", FALSE),
            ("orders(3, 5, 6, south)", FALSE),
        ):
            result = session.prove(goal)
            assert result.verdict is verdict, goal
            texts = [one.text for one in result.assumptions]
            assert "user alice says orders(3, 5, 8, south)" in texts or verdict is FALSE
            assert check_certificate(result.certificate).accepted
            assert result.conflicts == ()
        # What was decided stays so: the fact is no row of its own.
        assert before[:2] == [session.prove(goal).verdict for goal in ("many(5)", "late(4)")]


def test_a_stated_fact_that_disagrees_fills_nothing(tmp_path: Path) -> None:
    with Session(shop(tmp_path)) as session:
        session.facts.add("orders(3, 6, 8, south)", author="alice")
        result = session.prove("late(3)")
    assert result.verdict is OPEN
    assert "user alice says orders(3, 6, 8, south): the first counts" in result.conflicts[0]


def test_what_if_fills_as_facts_do(tmp_path: Path) -> None:
    with Session(shop(tmp_path)) as session:
        found = session.what_if("late(3)", add=["orders(3, 5, 8, south)"])
        assert found.after.verdict is Verdict.PROVED_UNDER
        found = session.what_if("late(3)", add=["orders(3, 5, 1, south)"])
        assert found.after.verdict is FALSE


# What is said to be missing: the cells that would decide the goal, and no others.

MATTERS = """
.decl both(o: number)
both(?o) :- late(?o), in_region(?o, "north").
.decl shipped_far(n: number)
shipped_far(?n) :- ?n = count : { orders(_o, _, ?s, "south"), ?s > 10 }.
.decl total(r: symbol, t: number)
total(?r, ?t) :- in_region(_, ?r), ?t = sum ?s : { orders(_o, _, ?s, ?r) }.
.decl some_late(d: number)
some_late(?d) :- orders(_, ?d, _, _), orders(_o, ?d, ?s, _), ?s > 100.
"""


@pytest.fixture
def many_nulls(tmp_path: Path) -> Path:
    folder = shop(tmp_path)
    (folder / "rules.dl").write_text(RULES.format("maybe", "maybe") + MATTERS, encoding="utf-8")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        rows = [(8, 5, None, None), (10, 6, None, "west"), (11, 6, None, "west")]
        connection.executemany("INSERT INTO o VALUES (?, ?, ?, ?)", rows)
    return folder


def missing(folder: Path, goal: str) -> list[str]:
    with Session(folder) as session:
        result = session.prove(goal)
        assert result.verdict is OPEN, goal
        assert check_certificate(result.certificate).accepted
        return [gap.reason for gap in result.tree.gaps]


def test_only_cells_are_named_that_would_decide_the_goal(many_nulls: Path) -> None:
    # Whatever the region of order 2 is, it was shipped before day 10; order 8 may count twice over.
    assert missing(many_nulls, "shipped_far(0)") == [
        "the shipped of orders 3 is not known",
        "the region of orders 8 is not known",
    ]
    assert missing(many_nulls, "late(8)") == ["the shipped of orders 8 is not known"]


def test_of_several_cells_that_decide_alone_any_one_is_enough(many_nulls: Path) -> None:
    assert missing(many_nulls, "both(8)") == ["the shipped or the region of orders 8 is not known"]
    assert missing(many_nulls, "some_late(6)") == [
        f"the shipped of orders {number} is not known; any one of 2 such cells may decide it"
        for number in (10, 11)
    ]


def test_what_is_named_decides_once_it_is_stated(many_nulls: Path) -> None:
    with Session(many_nulls) as session:
        session.facts.add("orders(id = 3, shipped = 8)", author="alice")
        session.facts.add("orders(id = 8, region = west)", author="alice")
        assert session.prove("shipped_far(0)").verdict is Verdict.PROVED_UNDER


def test_a_query_names_null_cells_that_it_reads_and_groups_without_a_total(
    many_nulls: Path,
) -> None:
    with Session(many_nulls) as session:
        for engine in ("reference", "forward"):
            answers = session.query("in_region(?o, ?r)", engine=engine)
            assert {one.reason for one in answers.reasons} == {"region is NULL in shop"}, engine
            totals = session.query("total(?r, ?t)", engine=engine)
            told = {one.reason: one.count for one in totals.reasons if one.predicate == "total"}
            assert told == {"the sum of this group is not known": 3}, engine
            (group,) = (one for one in totals.reasons if one.predicate == "total")
            assert len({group.goal, *group.others}) == 3, engine
