"""Random stages give the rows that naive evaluation gives, however small the portions are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.columnar import Tuning
from constat.columnar.arrays import Widths
from constat.evaluation import StrategyError
from constat.plan.forward import Strategy
from tests.columnar.naive import UndefinedError, fixpoint
from tests.columnar.stages import Rows, case, compute

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

INPUTS = {"e": 1, "f": 2, "g": 3, "h": 5}
OWN = {"p": 1, "q": 2, "r": 3, "s": 5}
ARITY = {**INPUTS, **OWN}
NAMES = ("a", "b", "c", "d", "x")
HEAD = "".join(
    f".decl {name}({', '.join(f'c{n}: number' for n in range(arity))})\n"
    + (f'.input {name}(source="t", query="q")\n' if name in INPUTS else "")
    for name, arity in ARITY.items()
)
NEAR = st.integers(-2, 3)
FAR = st.sampled_from(
    [-(1 << 63), -(1 << 63) + 1, -(1 << 40), -1, 0, 1, 1 << 40, (1 << 62) + 7, (1 << 63) - 1]
)
TUNINGS = (
    Tuning(),
    Tuning(chunk=1, widths=Widths(key=12, number=12)),
    Tuning(chunk=3, widths=Widths(key=20, number=10), bitmap=64),
    Tuning(sparse=0),
)


@st.composite
def atoms(draw: DrawFn, predicates: dict[str, int], names: tuple[str, ...]) -> str:
    name = draw(st.sampled_from(sorted(predicates)))
    variable = st.sampled_from(names).map("?{}".format)
    term = st.one_of(variable, variable, variable, variable, NEAR.map(str))
    terms = [draw(term) for _ in range(predicates[name])]
    return f"{name}({', '.join(terms)})"


@st.composite
def rules(draw: DrawFn) -> str:
    positive = draw(st.lists(atoms(ARITY, NAMES), min_size=1, max_size=3))
    known = tuple(name for name in NAMES if any(f"?{name}" in one for one in positive))
    body = list(positive)
    more = draw(st.booleans())
    if known and more:
        body.append(draw(extras(known)))
    if "?z" in body[-1]:
        known = (*known, "z")
    name = draw(st.sampled_from(sorted(OWN)))
    variable = st.sampled_from([f"?{one}" for one in known] or ["1"])
    term = st.one_of(variable, variable, variable, NEAR.map(str))
    head = ", ".join(draw(term) for _ in range(OWN[name]))
    text = f"{name}({head}) :- {', '.join(body)}."
    # A variable that occurs once is a mistake in our dialect; an underscore says it is meant.
    return re.sub(r"\?\w", lambda one: one[0] if text.count(one[0]) > 1 else "_", text)


@st.composite
def extras(draw: DrawFn, known: tuple[str, ...]) -> str:
    one, other = (draw(st.sampled_from(known)) for _ in range(2))
    match draw(st.integers(0, 2)):
        case 0:
            return "!" + draw(atoms(INPUTS, known))
        case 1:
            return f"?{one} {draw(st.sampled_from(['=', '!=', '<', '<=', '>', '>=']))} ?{other}"
        case _:
            function = draw(st.sampled_from(["+", "-", "*"]))
            return f"?z = ?{one} {function} ?{other}, ?z < 6, ?z > -6"


@st.composite
def tables(draw: DrawFn, values: st.SearchStrategy[int]) -> dict[str, Rows]:
    return {
        name: draw(st.sets(st.tuples(*[values] * arity), max_size=7))
        for name, arity in INPUTS.items()
    }


def agree(text: str, inputs: dict[str, Rows], tuning: Tuning, strategy: Strategy) -> None:
    made = case(HEAD + text)
    try:
        expected, rounds = fixpoint(made.analysed.rules, inputs)
    except UndefinedError:
        with pytest.raises(StrategyError):
            compute(made, inputs, strategy, tuning=tuning)
        return
    try:
        found, report = compute(made, inputs, strategy, tuning=tuning)
    except StrategyError:
        # A strategy may give up where an expression fails for rows that a filter would drop, and
        # where bitmaps do not fit.
        assert "?z" in text or strategy is Strategy.BITMAP
        return
    assert found == {name: expected[name] for name in made.stage.predicates}
    assert dict(report.rows) == {name: len(rows) for name, rows in found.items()}
    assert report.rounds <= rounds


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("tuning", TUNINGS, ids=["default", "tiny", "small", "sparse"])
@pytest.mark.parametrize("strategy", [Strategy.RUNS, Strategy.BITMAP])
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_random_stage_has_the_rows_of_naive_evaluation(
    strategy: Strategy, tuning: Tuning, data: st.DataObject
) -> None:
    text = "\n".join(data.draw(st.lists(rules(), min_size=1, max_size=4)))
    values = data.draw(st.sampled_from([NEAR, st.one_of(NEAR, FAR)]))
    agree(text, data.draw(tables(values)), tuning, strategy)
