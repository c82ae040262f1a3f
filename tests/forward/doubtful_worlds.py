"""Random cases in which much is open and little is closed, so that most of them are graded.

In: nothing. Out: cases as `tests.property.strategies` gives them, with openings that know a column
or rest on an assumption, doubtful ground rows, and goals that ask for whole relations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from constat.evaluation import Assumption
from constat.logic import OPEN, Atom, Constant, Variable
from tests.oracle.naive import World
from tests.property.rules import DOMAIN, Shape
from tests.property.strategies import Case, programs

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import OpenRow, Predicate, Row, Term

CLOSED = Assumption("closure", "project", "the project declares it complete")
SAID = Assumption("fact", "somebody", "somebody said so")
CALM = Shape(totals=False, errors=False)


@st.composite
def _row(draw: st.DrawFn, predicate: Predicate) -> Row:
    return tuple(draw(st.sampled_from(DOMAIN[kind])) for kind in predicate.kinds)


@st.composite
def _opening(draw: st.DrawFn, predicate: Predicate) -> tuple[OpenRow, Assumption | None]:
    row = draw(_row(predicate))
    places = draw(st.sets(st.integers(0, max(0, len(row) - 1)), max_size=len(row)))
    pattern: OpenRow = tuple(OPEN if n in places else slot for n, slot in enumerate(row))
    if row and len(places) == len(row):
        return pattern, CLOSED
    return pattern, draw(st.sampled_from([None, None, None, CLOSED]))


@st.composite
def doubtful_worlds(draw: st.DrawFn, program: AnalysedProgram) -> World:
    """Give certain rows, rows on somebody's word, and openings of every readable form."""
    rows, openings = {}, {}
    for name in sorted(program.external):
        predicate = program.program.predicates[name]
        found = draw(st.lists(_row(predicate), min_size=1, max_size=7))
        words = st.sampled_from([None, None, None, None, SAID])
        rows[name] = tuple((row, draw(words)) for row in dict.fromkeys(found))
        if draw(st.integers(0, 2)):
            told = draw(st.lists(_opening(predicate), min_size=1, max_size=3))
            openings[name] = tuple(dict.fromkeys(told))
    return World(rows, openings)


@st.composite
def doubtful_cases(draw: st.DrawFn, shape: Shape = CALM) -> Case:
    """Give a program, a doubtful world, and a goal that is free more often than not."""
    program = draw(programs(shape))
    world = draw(doubtful_worlds(program))
    names = [name for name in program.program.predicates if name not in program.external]
    name = draw(st.sampled_from((names or list(program.program.predicates))[-3:]))
    kinds = program.program.predicates[name].kinds
    bound = draw(st.sampled_from([False, False, True]))
    terms: list[Term] = []
    for place, kind in enumerate(kinds):
        if bound and draw(st.booleans()):
            terms.append(Constant(draw(st.sampled_from(DOMAIN[kind])), kind))
        else:
            terms.append(Variable(f"g{place}"))
    return Case(program, world, Atom(name, tuple(terms)))
