"""Our engine against clingo, on random closed programs: a solver nobody here wrote."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from constat.engine import LazyEngine
from constat.evaluation import ABSENT, CERTAIN
from constat.logic import Atom, Variable
from tests.language.reading import LanguageCase, language_cases
from tests.language.worlds_of_text import program, world
from tests.oracle.clingo_model import model
from tests.oracle.clingo_program import OutOfScopeError
from tests.oracle.naive import World
from tests.property.coverage import under
from tests.property.running import LIMITS, run
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import OpenRow

QUICK, MANY = 200, 10_000


def relation(found: AnalysedProgram, outside: World, predicate: str) -> set[OpenRow]:
    """Give all rows of a predicate by our engine."""
    arity = found.program.predicates[predicate].arity
    goal = Atom(predicate, tuple(Variable(f"v{place}") for place in range(arity)))
    outcome = LazyEngine().evaluate(found, goal, tables(found, outside), LIMITS, exhaust=True)
    assert not outcome.failures
    return set(outcome.rows(predicate, CERTAIN))


def compare(case: Case) -> str:
    """Compare every relation, and the goal as it is asked; say what became of it."""
    theirs = model(case.program, case.world)
    if theirs is None:
        return "out of range"
    ours = run(case, exhaust=True)
    matching = {row for row in theirs[case.goal.predicate] if under(case.goal, [row])}
    assert ours.strength == (CERTAIN if matching else ABSENT)
    assert under(case.goal, ours.outcome.rows(case.goal.predicate, CERTAIN)) == matching
    for name, rows in theirs.items():
        assert relation(case.program, case.world, name) == rows, name
    return "true" if matching else "false"


def compare_many(examples: int) -> Counter[str]:
    told: Counter[str] = Counter()

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(EXACT))
    def compare_one(case: Case) -> None:
        told[compare(case)] += 1
        told["programs"] += 1
        told["recursive"] += any(one.recursive for one in case.program.components)

    compare_one()
    return told


def check_counts(told: Counter[str]) -> None:
    assert told["out of range"] <= told["programs"] // 50, told
    for kind in ("true", "false", "recursive"):
        assert told[kind] >= told["programs"] // 6, told


@pytest.mark.laws
def test_random_closed_programs_have_the_model_that_clingo_finds() -> None:
    check_counts(compare_many(QUICK))


@pytest.mark.slow
def test_ten_thousand_random_programs_have_the_model_that_clingo_finds() -> None:
    told = compare_many(MANY)
    assert told["programs"] >= MANY
    check_counts(told)


def closed(case: LanguageCase) -> bool:
    """Tell whether every goal of a case is decided."""
    verdicts = {one.verdict for one in case.expectations}
    return bool(verdicts) and verdicts <= {"PROVED", "DISPROVED"}


def test_the_closed_cases_of_the_language_have_the_model_that_clingo_finds() -> None:
    compared = 0
    for case in filter(closed, language_cases()):
        found = program(case.rules)
        outside = world(found, case.facts)
        try:
            rows = model(found, outside)
        except OutOfScopeError:
            continue
        for name, expected in (rows or {}).items():
            assert relation(found, outside, name) == expected, (case.name, name)
        compared += rows is not None
    assert compared >= 40


AGGREGATES = """\
.decl o(c: symbol, i: number, v: number)
.input o(source="memory")
.decl c(c: symbol)
.input c(source="memory")
.decl total(c: symbol, t: number)
.decl orders(c: symbol, n: number)
.decl low(c: symbol, v: number)
.decl high(c: symbol, v: number)
.decl average(c: symbol, v: float)
.decl last(c: symbol)
total(?c, ?t) :- c(?c), ?t = sum ?v : { o(?c, _i, ?v) }.
orders(?c, ?n) :- c(?c), ?n = count : { o(?c, _i, _v) }.
low(?c, ?v) :- c(?c), ?v = min ?x : { o(?c, _i, ?x) }.
high(?c, ?v) :- c(?c), ?v = max ?x : { o(?c, _i, ?x), ?x < 20 }.
average(?c, ?v) :- c(?c), ?v = mean ?x : { o(?c, _i, ?x) }.
last(?c) :- ?c = max ?x : { o(?x, _i, _v) }.
"""


def test_aggregates_have_set_semantics_in_both() -> None:
    found = program(AGGREGATES)
    facts = ["c(a)", "c(ab)", "c(z)", "o(a, 1, 5)", "o(a, 2, 5)", "o(a, 3, 30)", "o(ab, 1, -4)"]
    outside = world(found, facts)
    rows = model(found, outside)
    assert rows is not None
    assert rows["total"] == {("a", 40), ("ab", -4), ("z", 0)}
    assert rows["orders"] == {("a", 3), ("ab", 1), ("z", 0)}
    assert rows["low"] == {("a", 5), ("ab", -4)}
    assert rows["high"] == {("a", 5), ("ab", -4)}
    assert rows["average"] == {("a", 40 / 3), ("ab", -4.0)}
    # By code points "ab" comes after "a"; clingo's own order of strings is by length.
    assert rows["last"] == {("ab",)}
    for name, expected in rows.items():
        assert relation(found, outside, name) == expected, name
