"""Recursion over rows that nobody knows: what a certificate shows decides no goal left open.

A premise with an unknown value looks for rows of its own predicate.  Were it answered by "any row",
rows would support themselves, and the checker, which builds them up from below, would call the goal
false where the engine says that it is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.analysis import analyse_or_raise
from constat.check import check_certificate
from constat.evaluation import ABSENT, CERTAIN, Verdict
from constat.logic import OPEN, Atom, Constant, Kind, Term, Variable
from constat.proof import build_certificate
from constat.syntax import parse_text
from tests.oracle.naive import World
from tests.property.judging import Judge
from tests.property.rules import DOMAIN
from tests.property.running import run
from tests.property.strategies import HALF, Case
from tests.property.tables import SOME_TIME, STRICT
from tests.property.test_decision_laws import decided

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram

_DECLARED = """
.pragma "constat" "0.1"
.decl e(x: symbol, y: symbol)
.input e(source="memory")
.decl f(x: symbol)
.input f(source="memory")
.decl p(x: symbol, y: symbol)
.decl q(x: symbol)
.decl r(x: symbol)
"""
_BASES = (
    'p(?x, ?y) :- f(?x), e(?x, ?y), ?x = "b".',
    'p(?x, "a") :- f(?x), !e(?x, ?x).',
    'p(?x, ?x) :- f(?x), ?x != "a".',
)
_STEPS = (
    "p(?y, ?z) :- p(?x, ?z), e(?x, ?y), !e(?y, ?x).",
    "p(?y, ?z) :- e(?x, ?y), p(?x, ?z).",
    "p(?y, ?z) :- e(?x, ?y), p(?x, ?z), p(?z, ?x).",
    "p(?x, ?y) :- e(?x, ?y), r(?y).",
    "p(?x, ?y) :- e(?x, ?y), ?n = count : { p(?x, _u), e(_u, ?y) }, ?n >= 1.",
    "p(?x, ?y) :- e(?y, ?x), ?n = count : { p(?y, _u) }, ?n > 0, p(?y, ?y).",
    "r(?x) :- p(?x, ?y), e(?y, ?x).",
    "r(?x) :- e(?x, ?y), r(?y).",
    "r(?y) :- e(?x, ?y), ?n = count : { r(?x), f(?x) }, ?n >= 1, r(?x).",
)
_TOPS = (
    "q(?x) :- p(?x, ?y), !r(?y).",
    "q(?x) :- p(_, ?y), p(?x, ?y).",
    "q(?x) :- f(?x), ?n = count : { p(?x, _u) }, ?n = 0.",
    "q(?x) :- e(?x, ?y), p(?y, ?x), ?n = count : { r(?y), e(?y, _u) }, ?n < 2.",
    "q(?x) :- e(?y, ?x), !p(?y, ?x), r(?x).",
    "q(?x) :- p(_u, ?m), p(?x, ?n), ?m >= ?n.",
    "q(?x) :- p(_u, ?m), r(?x), r(?n), ?m >= ?n.",
)

MANY: Final = settings(max_examples=max(100, settings().max_examples))
"""Most cases are decided without a wider key."""


def _program(rules: tuple[str, ...]) -> AnalysedProgram:
    heads = {one[0] for one in rules}
    fillers = [f"{name}({'?x, ?x' if name == 'p' else '?x'}) :- f(?x), ?x < ?x." for name in "pqr"]
    listed = [*rules, *(one for one in fillers if one[0] not in heads)]
    return analyse_or_raise(parse_text(_DECLARED + "\n".join(listed), "wider.dl", []))


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    bases = draw(st.lists(st.sampled_from(_BASES), max_size=1))
    steps = draw(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=4, unique=True))
    tops = draw(st.lists(st.sampled_from(_TOPS), min_size=1, max_size=2, unique=True))
    program = _program((*bases, *steps, *tops))
    nodes = st.sampled_from(DOMAIN[Kind.SYMBOL])
    pairs = draw(st.lists(st.tuples(nodes, nodes), max_size=3, unique=True))
    ones = draw(st.lists(st.tuples(nodes), max_size=2, unique=True))
    slots = st.one_of(nodes, st.just(OPEN))
    opened = draw(st.lists(st.tuples(slots, slots), min_size=1, max_size=2))
    rows = {"e": tuple((row, None) for row in pairs), "f": tuple((row, None) for row in ones)}
    world = World(rows, {"e": tuple((row, None) for row in opened if OPEN in row)})
    name = draw(st.sampled_from(["q", "q", "p", "r"]))
    terms: list[Term] = [
        Variable(f"g{place}")
        if draw(st.integers(0, 3)) == 0
        else Constant(draw(nodes), Kind.SYMBOL)
        for place in range(2 if name == "p" else 1)
    ]
    return Case(program, world, Atom(name, tuple(terms)))


@pytest.mark.laws
@MANY
@given(_cases())
def test_no_goal_is_left_open_that_its_certificate_decides(case: Case) -> None:
    decision = decided(case, STRICT)
    certificate = build_certificate(decision, created=SOME_TIME, engine_version="test")
    report = check_certificate(certificate)
    assert (report.verdict, report.reason) == (decision.verdict.value, None), report.place
    if decision.verdict is Verdict.UNRESOLVED:
        assert not decision.limit


@pytest.mark.laws
@MANY
@given(_cases())
def test_whoever_evaluates_all_rows_decides_no_more(case: Case) -> None:
    told = Judge(case).truth.strength(case.goal)
    found = run(case).strength
    assert found == told or told not in {CERTAIN, ABSENT}


@HALF
@given(_cases(), st.booleans())
def test_what_wider_keys_decide_is_so_in_every_completion(case: Case, exhaust: bool) -> None:  # noqa: FBT001  hypothesis draws it
    judge, found = Judge(case), run(case, exhaust=exhaust)
    judge.strength_is_right(found.strength)
    judge.certain_rows_are_true(found.outcome)
    if found.outcome.stopped != "settled":
        judge.true_rows_are_possible(found.outcome, case.goal)
