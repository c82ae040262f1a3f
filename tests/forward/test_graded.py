"""Each rule of the compilation into graded relations, on a program that needs it.

Every case is computed in bulk, and says row by row what the reference engine says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from constat.engine import LazyEngine
from constat.evaluation import Assumption, ignore_event
from constat.forward import Options, Outside, evaluate
from constat.forward.ways import Grade, Labels, by_grade, open_row
from constat.logic import OPEN
from constat.syntax import parse_goal
from tests.forward.running import RESOURCES, forward
from tests.language.worlds_of_text import program
from tests.oracle.naive import World
from tests.property.coverage import uncovered, under
from tests.property.running import LIMITS
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import OpenRow, Row
    from tests.forward.running import Found

pytestmark = pytest.mark.sampled(2)

CLOSED = Assumption("closure", "project", "the project declares it complete")
SAID = Assumption("fact", "somebody", "somebody said so")
SHOP = """
.decl customer(c: number)
.input customer
.decl order(o: number, c: number, v: number)
.input order
.decl risk(c: number)
.input risk
"""
Openings = dict[str, list[tuple["OpenRow", Assumption | None]]]
CUSTOMERS: list[Row] = [(1,), (2,), (3,), (4,), (5,)]
ORDERS: list[Row] = [(10, 1, 5), (11, 1, 7), (12, 2, 5), (13, 3, 9), (14, 4, 0)]


@dataclass(frozen=True)
class Given:
    """A program over the shop, and what is open there."""

    rules: str
    goal: str
    openings: Openings
    said: tuple[tuple[str, Row], ...] = ()
    risky: tuple[Row, ...] = ((2,),)

    @property
    def program(self) -> AnalysedProgram:
        return program(SHOP + self.rules)

    @property
    def world(self) -> World:
        every = {"customer": CUSTOMERS, "order": ORDERS, "risk": list(self.risky)}
        rows = {
            name: (
                *((row, None) for row in found),
                *((row, SAID) for other, row in self.said if other == name),
            )
            for name, found in every.items()
        }
        return World(rows, {name: tuple(found) for name, found in self.openings.items()})


SAFE = ".decl safe(c: number)\nsafe(?c) :- customer(?c), !risk(?c).\n"
TOTAL = """.decl total(c: number, t: number)
total(?c, ?t) :- customer(?c), ?t = sum ?v : { order(_, ?c, ?v) }.
"""
BIG = TOTAL + ".decl big(c: number)\nbig(?c) :- total(?c, ?t), ?t > 6.\n"
REACH = """.decl reach(a: number, b: number)
reach(?a, ?b) :- order(_, ?a, ?b).
reach(?a, ?c) :- reach(?a, ?b), order(_, ?b, ?c).
"""
SALES = """.decl sale(o: number, c: number, v: number)
sale(?o, ?c, ?v) :- order(?o, ?c, ?v).
sale(?o, ?c, ?v) :- order(?o, ?c, ?v), risk(?c).
.decl sum_of(c: number, t: number)
sum_of(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(_, ?c, ?v) }.
"""
CASES = {
    "a member that is certain and possible": Given(
        SALES, "sum_of(?c, ?t)", {"risk": [((1,), None), ((3,), CLOSED)]}
    ),
    "a member that is accepted and possible": Given(
        SALES, "sum_of(?c, ?t)", {"risk": [((3,), None)]}, said=(("order", (17, 3, 4)),)
    ),
    "denied of what is not known": Given(
        ".decl calm(o: number)\ncalm(?o) :- order(?o, ?c, _), !risk(?c).\n",
        "calm(?o)",
        {"order": [((15, OPEN, 3), None)]},
    ),
    "denied of a value that is not known": Given(
        TOTAL + ".decl calm(c: number)\ncalm(?c) :- total(?c, ?t), !risk(?t).\n",
        "calm(?c)",
        {"order": [((15, 3, OPEN), None)]},
        risky=((12,), (9,)),
    ),
    "a possible row": Given(SAFE, "customer(?c)", {"customer": [((7,), None)]}),
    "denied and possible": Given(SAFE, "safe(?c)", {"risk": [((3,), None)]}),
    "denied and conceivable": Given(SAFE, "safe(?c)", {"risk": [((OPEN,), CLOSED)]}),
    "denied and accepted": Given(SAFE, "safe(?c)", {}, said=(("risk", (4,)),)),
    "denied at every strength": Given(
        SAFE,
        "safe(?c)",
        {"risk": [((3,), None), ((4,), None), ((OPEN,), CLOSED)]},
        said=(("risk", (4,)), ("risk", (5,))),
    ),
    "denied under a name that is possible": Given(
        SAFE, "safe(?c)", {"risk": [((3,), None)], "customer": [((7,), None), ((2,), CLOSED)]}
    ),
    "denied and denied again": Given(
        SAFE + ".decl odd(c: number)\nodd(?c) :- customer(?c), !safe(?c).\n",
        "odd(?c)",
        {"risk": [((3,), None), ((OPEN,), CLOSED)]},
        said=(("risk", (4,)),),
    ),
    "a member without a value": Given(TOTAL, "total(?c, ?t)", {"order": [((15, 2, OPEN), None)]}),
    "a member that only an assumption rules out": Given(
        TOTAL, "total(?c, ?t)", {"order": [((OPEN, OPEN, OPEN), CLOSED)]}
    ),
    "a member that somebody stated": Given(
        TOTAL, "total(?c, ?t)", {}, said=(("order", (15, 2, 4)), ("order", (11, 1, 7)))
    ),
    "members of every strength": Given(
        TOTAL,
        "total(?c, ?t)",
        {"order": [((15, 2, OPEN), None), ((16, 3, 1), CLOSED)]},
        said=(("order", (17, 3, 4)), ("order", (18, 2, 4)), ("order", (19, 1, 4))),
    ),
    "a doubtful member that is there": Given(
        TOTAL,
        "total(?c, ?t)",
        {"order": [((10, 1, 5), None), ((12, 2, 5), CLOSED), ((16, 3, 1), None)]},
    ),
    "a member of any group": Given(TOTAL, "total(?c, ?t)", {"order": [((15, OPEN, 3), None)]}),
    "a group with a denied member": Given(
        """.decl calm(c: number, n: number)
calm(?c, ?n) :- customer(?c), ?n = count : { order(?o, ?c, _v), !risk(?o) }.
""",
        "calm(?c, ?n)",
        {"risk": [((10,), None), ((12,), CLOSED)]},
        said=(("risk", (13,)),),
    ),
    "a value that is not known is compared": Given(
        BIG, "big(?c)", {"order": [((15, 2, OPEN), None), ((16, 3, OPEN), None)]}
    ),
    "a value that is not known in the head": Given(
        """.decl twice(o: number, w: number)
twice(?o, ?w) :- order(?o, _, ?v), ?w = ?v * 2.
""",
        "twice(?o, ?w)",
        {"order": [((15, 2, OPEN), None), ((16, 2, 3), None)]},
    ),
    "a least value of nothing": Given(
        """.decl least(c: number, t: number)
least(?c, ?t) :- customer(?c), ?t = min ?v : { order(_, ?c, ?v) }.
""",
        "least(?c, ?t)",
        {"order": [((15, 5, OPEN), None), ((16, 4, 1), CLOSED)]},
    ),
    "a recursion over doubtful rows": Given(
        REACH, "reach(?a, ?b)", {"order": [((15, 5, 2), None), ((16, 7, 1), None)]}
    ),
    "a recursion over stated rows": Given(
        REACH,
        "reach(1, ?b)",
        {"order": [((15, 9, 2), CLOSED)]},
        said=(("order", (16, 5, 9)), ("order", (17, 2, 5))),
    ),
    "a recursion that denies what it computes": Given(
        """.decl price(s: symbol, f: float)
price(to_string(?c), 1.0) :- risk(?c).
.decl walk(c: number, s: symbol)
walk(?c, to_string(?c)) :- customer(?c).
walk(?c, ?s) :- walk(?c, ?s), customer(?c), walk(?c, ?s), !price(to_string(?c), 1.0).
""",
        "walk(?c, ?s)",
        {"risk": [((3,), None)], "customer": [((2,), CLOSED), ((9,), None)]},
        said=(("risk", (4,)),),
    ),
    "a denied recursion": Given(
        REACH + ".decl far(c: number)\nfar(?c) :- customer(?c), !reach(1, ?c).\n",
        "far(?c)",
        {"order": [((15, 5, 2), None)]},
        said=(("order", (16, 7, 3)),),
    ),
    "a rule of less than full confidence": Given(
        SAFE + "@[confidence = 0.8] safe(?c) :- risk(?c), customer(?c).\n",
        "safe(?c)",
        {"risk": [((3,), None)]},
    ),
    "an instance that errs in a comparison": Given(
        ".decl dear(o: number)\ndear(?o) :- order(?o, ?c, ?v), 18 / ?v > ?c.\n", "dear(?o)", {}
    ),
    "an instance that errs in an equality": Given(
        ".decl part(o: number, p: number)\npart(?o, ?p) :- order(?o, _, ?v), ?p = 18 / ?v.\n",
        "part(?o, ?p)",
        {"order": [((15, 2, OPEN), None), ((16, 2, 0), None)]},
    ),
    "an instance that errs in the head": Given(
        ".decl part(o: number, p: number)\npart(?o, 18 / ?v) :- order(?o, _, ?v).\n",
        "part(?o, ?p)",
        {"order": [((16, 2, 0), CLOSED)]},
    ),
    "an instance that errs below a denied atom": Given(
        ".decl odd(o: number)\nodd(?o) :- order(?o, _, ?v), !risk(18 / ?v).\n", "odd(?o)", {}
    ),
}


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("name", CASES)
def test_it_is_computed_in_bulk_and_exactly(name: str) -> None:
    given = CASES[name]
    found = compared(given)
    assert found.how == "graded", found.left


UNFIT = {
    "meets several literals": Given(
        """.decl named(o: number, c: number)
named(?o, ?c) :- order(?o, ?c, _), risk(?c), ?c > 1.
""",
        "named(?o, ?c)",
        {"order": [((15, OPEN, 3), None)]},
    ),
    "may be one that is there": Given(TOTAL, "total(?c, ?t)", {"order": [((10, OPEN, 5), None)]}),
    "unknown columns": Given(
        """.decl way(o: number, a: number, b: number)
way(?o, ?a, ?b) :- order(?o, ?a, ?b).
way(?o, ?a, ?c) :- way(?o, ?a, ?b), order(_, ?b, ?c).
""",
        "way(?o, ?a, ?b)",
        {"order": [((OPEN, 2, 5), None)]},
    ),
    "what only its group knows": Given(
        """.decl over(c: number, n: number)
over(?c, ?n) :- customer(?c), ?n = count : { order(_o, ?c, ?v), ?v > ?c }.
""",
        "over(?c, ?n)",
        {"order": [((15, OPEN, 3), None)]},
    ),
    "rests on named": Given(
        """.decl named(c: number)
named(?c) :- order(_, ?c, _), risk(?c), ?c > 1.
.decl plain(c: number)
plain(?c) :- customer(?c), !named(?c).
""",
        "plain(?c)",
        {"order": [((15, OPEN, 3), None)]},
    ),
    "asked for in several ways": Given(
        REACH, "reach(?a, ?b)", {"order": [((OPEN, OPEN, OPEN), CLOSED)]}
    ),
    "may have any row": Given(SAFE, "safe(?c)", {"risk": [((OPEN,), None)]}),
    "errs": Given(
        """.decl e(c: number, t: number)
e(?c, ?t) :- customer(?c), ?t = sum 18 / ?v : { order(_, ?c, ?v) }.
""",
        "e(?c, ?t)",
        {},
    ),
}


@pytest.mark.parametrize("reason", UNFIT)
def test_what_cannot_be_said_in_bulk_is_left_with_a_reason(reason: str) -> None:
    found = compared(UNFIT[reason])
    assert found.how == "reference"
    assert any(reason in one for one in found.left), found.left


LOOSE = {
    "meets several literals": {(15, OPEN)},
    "may be one that is there": {(1, OPEN), (2, OPEN), (3, OPEN), (4, OPEN), (5, OPEN)},
    "unknown columns": {(OPEN, 2, 5)},
    "what only its group knows": {(1, OPEN), (2, OPEN), (3, OPEN), (4, OPEN), (5, OPEN)},
    "rests on named": {(1,), (3,), (4,), (5,)},
    "asked for in several ways": {(OPEN, OPEN)},
}


@pytest.mark.parametrize("reason", LOOSE)
def test_over_many_rows_it_is_loosened_and_decides_no_more(reason: str) -> None:
    given = UNFIT[reason]
    analysed = given.program
    goal = parse_goal(given.goal, analysed.program)
    found = forward(analysed, given.world, goal, loose=True)
    assert found.how == "graded", found.left
    assert any(reason in one or reason.startswith("rests") for one in found.loose), found.loose
    assert found.rows[0] - found.rows[2] == LOOSE[reason]
    exact = forward(analysed, given.world, goal)
    for least in (3, 2):
        assert uncovered(found.rows[least], exact.rows[least]) == []
    for least in (1, 0):
        assert uncovered(exact.rows[least], found.rows[least]) == []


LOST: dict[str, tuple[str, set[OpenRow]]] = {
    # Nobody can be asked for a value that nobody knows, so what it meets may as well be there.
    "it meets a relation without rows": (
        """.decl none(c: number)
none(?c) :- customer(?c), ?c > 100.
.decl late(o: number, v: number)
late(?o, ?v) :- order(?o, ?c, ?v), none(?c).
""",
        {(15, 3)},
    ),
    "two of them that have nothing in common": (
        """.decl none(c: number)
none(?c) :- customer(?c), ?c > 100.
.decl both(o: number, p: number)
both(?o, ?p) :- order(?o, ?c, ?v), none(?c), order(?p, ?d, ?v), none(?d).
""",
        {(15, 15)},
    ),
    "what is computed meets a relation without rows": (
        """.decl none(c: number)
none(?c) :- customer(?c), ?c > 100.
.decl next(o: number, d: number)
next(?o, ?d) :- order(?o, ?c, _), ?d = ?c + 1, none(?d).
""",
        {(15, OPEN)},
    ),
    "a group that compares what is computed from it": (
        """.decl over(c: number, n: number)
over(?c, ?n) :- customer(?c), ?n = count : { order(_o, ?c, ?v), ?d = ?c + 1, ?v > ?d }.
""",
        {(1, OPEN), (2, OPEN), (3, OPEN), (4, OPEN), (5, OPEN)},
    ),
    # The row that is met first keeps what it knows; the other may match anything.
    "two open rows by one value": (
        """.decl pair(o: number, p: number)
pair(?o, ?p) :- order(?o, ?c, _), order(?p, ?c, _), risk(?c), ?o != ?p.
""",
        {(15, OPEN), (OPEN, 15)},
    ),
    # What hangs on a value that is lost is lost as well.
    "a chain from an open row": (
        """.decl friend(c: number, d: number)
friend(?c, ?d) :- customer(?c), customer(?d), ?d = ?c + 1.
.decl chain(o: number, d: number)
chain(?o, ?d) :- order(?o, ?c, _), friend(?c, ?d), customer(?d).
""",
        {(15, OPEN)},
    ),
    "computed from what is lost": (
        """.decl next(o: number, d: number)
next(?o, ?d) :- order(?o, ?c, _), risk(?c), ?d = ?c + 1, customer(?d).
""",
        {(15, OPEN)},
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_correlation_is_lost_and_nothing_else(name: str) -> None:
    rules, expected = LOST[name]
    goal = rules.splitlines()[-1].partition(" :-")[0]
    given = Given(rules, goal, {"order": [((15, OPEN, 3), None)]})
    analysed = given.program
    found = forward(analysed, given.world, parse_goal(goal, analysed.program), loose=True)
    assert found.loose
    assert found.rows[0] - found.rows[2] == expected
    compared(given)


def compared(given: Given) -> Found:
    analysed = given.program
    goal = parse_goal(given.goal, analysed.program)
    found = forward(analysed, given.world, goal)
    externals = tables(analysed, given.world)
    reference = LazyEngine().evaluate(analysed, goal, externals, LIMITS, exhaust=True)
    for least in (3, 2, 1, 0):
        assert found.rows[least] == under(goal, reference.rows(goal.predicate, least)), least
    return found


def test_without_grades_the_reference_engine_says_all_that_is_open() -> None:
    given = CASES["denied and possible"]
    analysed = given.program
    goal = parse_goal(given.goal, analysed.program)
    inputs = {name: Outside(one) for name, one in tables(analysed, given.world).items()}
    with evaluate(analysed, [goal], inputs, Options(RESOURCES), ignore_event) as results:
        assert not results.is_in_bulk(0)
        assert results.left == {"risk": "it is not closed"}
        assert results.grades(0) == {}


def test_what_is_closed_is_computed_once() -> None:
    given = CASES["denied and possible"]
    analysed = given.program
    wanted = [parse_goal(text, analysed.program) for text in ("customer(?c)", "safe(?c)")]
    inputs = {name: Outside(one) for name, one in tables(analysed, given.world).items()}
    with evaluate(analysed, wanted, inputs, Options(RESOURCES, graded=True)) as results:
        assert results.is_closed(0)
        assert not results.is_closed(1)
        assert [list(one.rows) for one in results.reports] == [["safe"], ["safe.possible"]]


def test_rows_are_sorted_by_their_greatest_strength() -> None:
    weak: list[tuple[OpenRow, int]] = [
        ((1, OPEN), 0),
        ((1, OPEN), 1),
        ((2, 2), 1),
        ((3, 3), 2),
        ((3, 3), 0),
    ]
    found = by_grade([(2, 2)], weak, Labels())
    assert found == {Grade(1, (1,)): ((1,),), Grade(2): ((3, 3),)}
    assert open_row(Grade(1, (0, 2)), (5,), Labels()) == (OPEN, 5, OPEN)
