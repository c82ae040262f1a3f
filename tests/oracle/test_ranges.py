"""Ranges against their definition, a loop over values as Soufflé defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.proof.projection import with_given
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program
from tests.property.running import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST, MOST = -(2**63), 2**63 - 1
near = st.integers(-6, 6)
ends = st.one_of(
    st.tuples(near, near),
    st.tuples(st.integers(LEAST, LEAST + 6), st.integers(LEAST, LEAST + 6)),
    st.tuples(st.integers(MOST - 6, MOST), st.integers(MOST - 6, MOST)),
)


def values(begin: int, end: int, step: int | None) -> Iterator[int]:
    """Yield the values of a range; whole numbers of Python have no end."""
    if step is None:
        step = 1 if begin <= end else -1
    value = begin
    while value < end if step >= 0 else value > end:
        yield value
        if step == 0:
            return
        value += step


def found(text: str, goal: str, limits: Limits = LIMITS) -> tuple[int, set[object]]:
    analysed = program(text)
    asked = parse_goal(goal, analysed.program)
    outcome = LazyEngine().evaluate(with_given(analysed), asked, {}, limits)
    return outcome.strength(asked), {row[-1] for row in outcome.rows(asked.predicate, 3)}


@given(ends, st.one_of(st.none(), near, st.sampled_from([LEAST, MOST])))
def test_the_values_are_those_of_the_definition(pair: tuple[int, int], step: int | None) -> None:
    begin, end = pair
    written = f"{begin}, {end}" if step is None else f"{begin}, {end}, {step}"
    wanted = set(values(begin, end, step))
    by_constants = f".decl p(n: number)\np(?n) :- ?n = range({written})."
    assert found(by_constants, "p(?n)") == (3 if wanted else -1, wanted)
    names = "?following, ?value" if step is None else "?following, ?value, ?begin"
    row = written if step is not None else f"{written}, 0"
    by_rows = (
        ".decl e(a: number, b: number, c: number)\n.decl p(n: number)\n"
        f"e({row}).\np(?n) :- e(?following, ?value, ?begin), ?n = range({names}), ?begin = ?begin."
    )
    assert found(by_rows, "p(?n)") == (3 if wanted else -1, wanted)


def test_a_range_that_is_too_long_is_open_and_not_absent() -> None:
    text = ".decl p(n: number)\np(?n) :- ?n = range(0, 1000000000)."
    few = Limits(rounds=50)
    assert found(text, "p(500)", few)[0] == 1
    assert found(text, "p(5)", few)[0] in {1, 3}


def test_the_end_may_be_a_given_column() -> None:
    text = """
        @[given(d)] .decl until(d: number, n: number)
        until(?d, ?n) :- ?n = range(0, ?d).
        .decl p(n: number)
        p(?n) :- until(3, ?n).
    """
    assert found(text, "p(?n)") == (3, {0, 1, 2})
