"""`Session.query`: rows, verdicts, conjunctions, mistakes, data frames."""

from __future__ import annotations

import inspect
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session, Verdict
from constat.engine import LazyEngine
from constat.evaluation import Limits, ignore_event
from constat.session import Answers, Settled
from constat.session import answers as answers_module
from constat.session.asked_goals import read_query
from constat.session.querying import FEW, compile_query, try_small
from tests.engine.tables import Table
from tests.proof.asking import analysed
from tests.session.querying import PAIRS, THINGS, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.evaluation import Demand, Range, Readable


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(make_project(tmp_path_factory.mktemp("things") / "project")) as session:
        yield session


def values(answers: Answers) -> list[tuple[object, ...]]:
    return [row.values for row in answers]


def sql(shop: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection:
        return sorted(connection.execute(statement).fetchall())


def test_all_answers_of_a_goal_are_those_of_an_independent_query(still_shop: Path) -> None:
    statement = """
        SELECT id FROM customers WHERE id NOT IN
            (SELECT customer_id FROM blocked_customers WHERE lifted_on IS NULL)
        AND (id IN (SELECT customer_id FROM accounts WHERE closed_on IS NULL AND tier = 'gold')
             OR (SELECT SUM(CAST(amount AS REAL)) FROM orders
                 WHERE customer_id = customers.id AND ordered_on >= '2025-01-01') > 100000)"""
    with Session(still_shop) as session:
        answers = session.query("is_vip(?c)")
    assert values(answers) == sql(still_shop, statement)
    assert (answers.settled, answers.exit_code) == (Settled.FOR_CERTAIN, 0)
    assert {row.verdict for row in answers} == {Verdict.PROVED}
    assert [column.name for column in answers.columns] == ["c"]


def test_a_conjunction_joins_denies_and_compares(still_shop: Path) -> None:
    with Session(still_shop) as session:
        answers = session.query(
            "is_vip(?c), customer_revenue(?c, ?r), ?r > 100000, ?r <= 150000, !controls(_, ?c)."
        )
        singly = {
            row["c"]
            for row in session.query("is_vip(?c)")
            for revenue in session.query(f"customer_revenue({row['c']}, ?r)")
            if Decimal(100000) < Decimal(revenue["r"]) <= Decimal(150000)
            and not len(session.query(f"controls(?o, {row['c']})"))
        }
    assert {row["c"] for row in answers} == singly
    assert singly
    assert answers.rows[0].goals == (
        f"is_vip({answers.rows[0]['c']})",
        f"customer_revenue({answers.rows[0]['c']}, {answers.rows[0]['r']})",
    )


def test_every_row_can_be_proved(still_shop: Path) -> None:
    with Session(still_shop) as session:
        for query in ("controls(?a, ?b)", "may_leave(?x)", "gets_partner_price(?c)"):
            for row in session.query(query).rows[:10]:
                (goal,) = row.goals
                assert session.prove(goal).verdict is row.verdict


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("pair(?x, ?x)", [("e",)]),
        ("reach(?x, ?x)", [("a",), ("b",), ("c",), ("e",)]),
        ("pair(_, ?y)", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("pair(a = ?y)", [("a",), ("b",), ("c",), ("e",)]),
        ("pair(b = ?y, a = c)", [("a",), ("d",)]),
        ("pair(_x, ?y), pair(?y, _hidden)", [("a",), ("b",), ("c",), ("e",)]),
        ("pair(c, ?y)", [("a",), ("d",)]),
        ("pair(c, d)", [()]),
        ("pair(d, c)", []),
        ("pair(?x, ?y), pair(?y, ?x)", [("e", "e")]),
        ("pair(?y, ?x), ?x = ?y", [("e", "e")]),
        ("pair(?x, ?y), !pair(?y, _)", [("c", "d")]),
        ('pair(?x, ?y), ?x != "e", ?y >= c', [("b", "c"), ("c", "d")]),
        ("pair(?x,_),?x<b", [("a",)]),
        ("thing(?n, 2, _, _, _, _, _, _)", [("plain",)]),
        ("thing(name = ?n, d = ?d), ?d > 100.0", [("", Decimal(1000))]),
        ("query(?q)", [("a",), ("b",), ("c",), ("e",)]),
        ("query(?q), pair(?q, ?r), ?q < b", [("a", "b")]),
    ],
)
def test_the_language_of_queries(
    things: Session, query: str, wanted: list[tuple[object, ...]]
) -> None:
    answers = things.query(query)
    assert values(answers) == wanted
    assert answers.settled is Settled.FOR_CERTAIN


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "C0180"),
        ("pair(?x, ?y) pair(?y, ?z)", "C0430"),
        ("pair(?x, ?y),", "C0180"),
        ("?x < 3", "C0430"),
        ("3 < ?x", "C0180"),
        ("pair(?x, _), ?y < b", "C0430"),
        ("pair(?x, _), ?x ~ b", "C0430"),
        ("pair(?x, _), ?x < ", "C0180"),
        ("pear(?x, ?y)", "C0181"),
        ("pair(?x)", "C0182"),
        ("thing(name = ?x, n = ?n), ?n > abc", "C0186"),
        ("!pair(?x, _)", "C0204"),
        ("pair(?x, _), !pair(?y, _)", "C0204"),
        ("pair(?x, _), thing(n = ?x)", "C0215"),
        ("pair(?x, strlen(?x)", "C0180"),
        ("pair(?x, ?y); pair(?y, ?x)", "C0430"),
        (", ".join(["pair(?x, _)"] * 200), "C0430"),
        ("pair(?x, ?y)\0", "C0107"),
    ],
)
def test_a_wrong_query_is_a_diagnostic_placed_in_it(things: Session, query: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        things.query(query)
    found = caught.value.diagnostics
    assert code in {one.code for one in found}
    assert {one.span.source for one in found if one.span} <= {"<goal>"}
    assert caught.value.exit_code == 2


def test_what_is_missing_makes_the_set_open_with_reasons(still_shop: Path) -> None:
    with Session(still_shop) as session:
        answers = session.query("is_strategic(?c)")
        undecided = session.query("is_regular(?c)")
    assert (len(answers), answers.open_shapes, answers.exit_code) == (0, 1, 4)
    (reason,) = answers.reasons
    assert (reason.predicate, reason.count) == ("contract_value", 1)
    assert reason.goal == "contract_value(?customer, ?amount)"
    assert undecided.open_shapes == 0
    assert undecided.count(Verdict.UNRESOLVED) == len(undecided) > 100
    assert [one.predicate for one in undecided.reasons] == ["regular_threshold"]


def test_assumptions_settle_a_set_under_them(still_shop: Path) -> None:
    with Session(still_shop) as session:
        answers = session.query("gets_partner_price(?c)")
        leaving = session.query("may_leave(?c)", confidence=True)
    assert (answers.settled, answers.excluded) == (Settled.UNDER, 1)
    assert [one.kind for one in answers.assumptions] == ["closure"]
    assert [row.verdict for row in leaving] == [Verdict.PROVED_UNDER]
    assert [one.kind for one in leaving.rows[0].assumptions] == ["rule"]
    assert leaving.rows[0].confidence == 1


def test_an_instance_that_errs_is_unresolved_with_its_rule_as_the_reason(things: Session) -> None:
    answers = things.query("ratio(?name, ?r)")
    assert len(answers) == len(THINGS) - 1
    assert answers.exit_code == 4
    assert any("division by zero" in one.reason for one in answers.reasons)


def test_rows_are_sliced_filtered_and_ordered(things: Session) -> None:
    rows = things.query("thing(name = ?x, n = ?n)").rows
    numbers = [row["n"] for row in rows.ordered("n")]
    assert numbers == sorted(thing[1] for thing in THINGS)
    assert [row["n"] for row in rows.ordered("n", descending=True)] == numbers[::-1]
    assert [row.values for row in rows[1:3]] == [rows[1].values, rows[2].values]
    assert len(rows.only([Verdict.UNRESOLVED])) == 0
    assert len(rows.only([Verdict.PROVED])) == len(THINGS)
    with pytest.raises(KeyError):
        rows.ordered("y")
    with pytest.raises(KeyError):
        rows[0]["y"]


def test_a_query_leaves_nothing_behind(things: Session) -> None:
    before = things.program
    things.query("pair(?x, ?y), pair(?y, ?z)")
    assert things.program is before
    assert values(things.query("pair(?x, ?y)")) == sorted(PAIRS)


def test_the_example_of_the_documentation_runs(still_shop: Path) -> None:
    text = inspect.getdoc(answers_module) or ""
    _, _, example = text.partition("Example::\n\n")
    program = "from constat import Session\n" + textwrap.dedent(example)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=still_shop.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.splitlines() == [
        "C004 250000 PROVED",
        "C500 197574.53 PROVED",
        "C575 171992.05 PROVED",
        "SETTLED 619566.58",
    ], ran.stderr


SOLD = """
.decl sold(id: number, customer: number, state: symbol)
.input sold(source="t", query="q")
.decl open_of(id: number)
open_of(?i) :- sold(?i, 7, "open").
.decl either(id: number)
either(?i) :- sold(?i, 7, _).
either(?i) :- sold(?i, 8, _).
.decl unlike(id: number)
unlike(?i) :- sold(?i, 7, _), sold(?i, _, "open").
.decl late(id: number)
late(?i) :- sold(?i, ?c, _), ?c > 7.
.decl person(id: number)
.input person(source="t", query="q")
.decl idle(id: number)
idle(?c) :- person(?c), !sold(_, ?c, "lost").
"""


@dataclass
class Measured(Table):
    """A table that says how large it is."""

    size: float = 1_000_000.0

    def estimate(self) -> float | None:
        return self.size

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        raise AssertionError((demand, most_rows))


@dataclass
class Guessing(Measured):
    """A table whose source guesses how many rows have some values."""

    guesses: dict[tuple[object, ...], float | None] = field(default_factory=dict)

    def guess(self, ranges: tuple[Range, ...]) -> float | None:
        assert {one.operator for one in ranges} == {"="}
        return self.guesses[tuple(one.value for one in ranges)]


@pytest.mark.parametrize(
    ("goal", "guesses", "tried"),
    [
        ("open_of(?i)", {(7, "open"): FEW}, True),
        ("open_of(?i)", {(7, "open"): FEW + 1}, False),
        ("open_of(?i)", {(7, "open"): None}, False),
        ("either(?i)", {(7,): FEW / 2, (8,): FEW / 2}, True),
        ("either(?i)", {(7,): FEW / 2, (8,): FEW / 2 + 1}, False),
        ("unlike(?i)", {}, False),
        ("late(?i)", {}, False),
        ("idle(?i)", {("lost",): 0}, False),
    ],
)
def test_constants_of_rules_are_asked_for_goal_by_goal_where_few_rows_have_them(
    goal: str,
    guesses: dict[tuple[object, ...], float | None],
    tried: bool,  # noqa: FBT001  a case
) -> None:
    program = analysed(SOLD)
    sold = Guessing([(1, 7, "open"), (2, 7, "paid"), (3, 9, "open")], guesses=guesses)
    many = Measured([(n,) for n in range(5)], size=FEW + 1.0)
    compiled = compile_query(read_query(goal, program), program)
    outside = {"sold": sold, "person": many}
    outcome = try_small(LazyEngine(), compiled, outside, Limits(), ignore_event)
    assert (outcome is not None) is tried
    assert bool(sold.demands) is tried
    assert all(one.columns for one in sold.demands)
