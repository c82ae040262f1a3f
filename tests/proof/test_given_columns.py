"""Given columns mean what a relation of all values would: no row otherwise, some less surely."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, Verdict
from constat.logic import Atom, Constant, Kind
from constat.proof import build_certificate, decide
from constat.proof.projection import with_projections
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program, world
from tests.property.running import LIMITS
from tests.property.strategies import HALF
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.evaluation import Outcome
    from constat.logic import Value

DECLARED = """
.decl due(o: symbol, n: number)
.input due(source="memory")
.decl grace(d: number)
.input grace(source="memory")
.decl value(d: number)
.input value(source="memory")
.decl ask(d: number)
.input ask(source="memory")
"""
CALLERS = """
.decl overdue(o: symbol, d: number)
overdue(?o, ?d) :- grace(?d), late(?o, ?d).
.decl fine(o: symbol, d: number)
fine(?o, ?d) :- due(?o, _), grace(?d), !late(?o, ?d).
.decl counted(d: number, n: number)
counted(?d, ?n) :- grace(?d), ?n = count : { late(_, ?d) }.
.decl later(o: symbol, d: number)
later(?o, ?d) :- grace(?k), ?d = ?k + 1, late(?o, ?d), !late(?o, ?k + 2).
.decl reached(d: number)
reached(?d) :- ask(?n), down(?n, ?d).
"""
LATE = "late(?o, ?d) :- {}due(?o, ?n), ?n > ?d."
FIRST = "down(?n, ?n) :- {}?n >= 0."
NEXT = "down(?n, ?m) :- {}?n > 0, ?k = ?n - 1, down(?k, ?m)."


def rules(*, as_given: bool) -> str:
    """The rules with given columns, or with a literal that ranges over all values there are."""
    late = "@[given(d)]\n" if as_given else ""
    down = "@[given(n)]\n" if as_given else ""
    of_d, of_n = ("", "") if as_given else ("value(?d), ", "value(?n), ")
    return (
        f"{DECLARED}{late}.decl late(o: symbol, d: number)\n{LATE.format(of_d)}\n"
        f"{down}.decl down(n: number, m: number)\n{FIRST.format(of_n)}\n{NEXT.format(of_n)}\n"
        f"{CALLERS}"
    )


PLACES: Final = {"late": 1, "late.some.d": 0, "down": 0}
CREATED: Final = "2026-11-27T12:00:00.000000Z"
GIVEN, EXPLICIT = program(rules(as_given=True)), program(rules(as_given=False))
VALUES = [f"value({number})" for number in range(8)]
HOW = st.sampled_from(["", "", "assumed "])
FACTS = st.lists(
    st.one_of(
        st.builds("{}due({}, {})".format, HOW, st.sampled_from("ab"), st.integers(0, 5)),
        st.builds("{}grace({})".format, HOW, st.integers(0, 4)),
        st.builds("{}ask({})".format, HOW, st.integers(0, 3)),
        st.sampled_from(["open due(a, ?n)", "open grace(?d)", "declared due(?o, ?n)"]),
    ),
    max_size=7,
    unique_by=lambda line: line.removeprefix("assumed "),
)


def outcome_of(lines: list[str], goal: str, *, as_given: bool) -> Outcome:
    base = GIVEN if as_given else EXPLICIT
    outside = world(EXPLICIT, [*lines, *VALUES])
    atom = parse_goal(goal, base.program)
    made = with_projections(base)
    found = LazyEngine().evaluate(made, atom, tables(base, outside), LIMITS, exhaust=True)
    assert found.stopped == ""
    return found


# Demand is of a row as sure as the caller's own literals: what it says is never more than so.
AGREES = {
    CERTAIN: {CERTAIN},
    ACCEPTED: {CERTAIN, ACCEPTED},
    POSSIBLE: {CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE, ABSENT},
    CONCEIVABLE: {CONCEIVABLE, ABSENT},
    ABSENT: {ABSENT},
}


@pytest.mark.parametrize("name", ["overdue", "fine", "counted", "later", "reached"])
@given(lines=FACTS)
def test_what_is_asked_for_is_what_holds_of_all_values(name: str, lines: list[str]) -> None:
    columns = GIVEN.program.predicates[name].columns
    goal = f"{name}({', '.join(f'?{column.name}' for column in columns)})"
    found = outcome_of(lines, goal, as_given=True)
    wanted = outcome_of(lines, goal, as_given=False)
    sure = all(line[:1] in "dga" and not line.startswith(("assumed", "declared")) for line in lines)
    if sure:
        assert set(found.rows(name, CONCEIVABLE)) == set(wanted.rows(name, CONCEIVABLE))
    values: list[list[Value]] = [
        ["a", "b"] if column.kind is Kind.SYMBOL else list(range(7)) for column in columns
    ]
    for row in product(*values):
        pairs = zip(row, columns, strict=True)
        atom = Atom(name, tuple(Constant(value, column.kind) for value, column in pairs))
        strength = found.strength(atom)
        assert wanted.strength(atom) in ({strength} if sure else AGREES[strength]), row


@pytest.mark.parametrize("name", ["overdue", "fine", "counted", "later", "reached"])
@HALF
@given(lines=FACTS, number=st.integers(0, 5))
def test_a_certificate_has_given_columns_where_it_is_known_what_is_asked(
    name: str, lines: list[str], number: int
) -> None:
    outside = world(EXPLICIT, lines)
    width = len(GIVEN.program.predicates[name].columns)
    goal = {1: f"{name}({number})", 2: f"{name}(a, {number})"}[width]
    atom = parse_goal(goal.replace("a", "1") if name == "counted" else goal, GIVEN.program)
    decision = decide(LazyEngine(), GIVEN, atom, tables(GIVEN, outside), LIMITS)
    written = build_certificate(decision, created=CREATED, engine_version="test")
    report = check_certificate(written)
    assert (report.accepted, report.verdict) == (True, decision.verdict.value), report.reason
    named = {one["name"]: one["given"] for one in json.loads(written)["declarations"]}
    asked = {one for one in named if one.endswith(".given")}
    if decision.verdict is not Verdict.UNRESOLVED:
        assert not asked
        assert all(named[one] == [place] for one, place in PLACES.items() if one in named)


def test_what_is_asked_and_not_known_is_a_relation_still() -> None:
    outside = world(EXPLICIT, ["due(a, 5)", "open grace(?d)"])
    atom = parse_goal("overdue(a, 3)", GIVEN.program)
    decision = decide(LazyEngine(), GIVEN, atom, tables(GIVEN, outside), LIMITS)
    written = build_certificate(decision, created=CREATED, engine_version="test")
    assert check_certificate(written).verdict == "UNRESOLVED"
