"""Products of binary relations: rows of bits, pairs and naive evaluation agree."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.columnar import Tuning
from constat.columnar.arrays import Widths
from constat.columnar.stage import choose_rows, find_chain, turns
from constat.evaluation import StrategyError
from constat.plan.forward import Strategy
from tests.columnar.naive import fixpoint
from tests.columnar.stages import Case, Rows, case, compute

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

INPUTS = ("e", "f", "g")
OWN = ("p", "q")
HEAD = "".join(
    f".decl {name}(a: number, b: number)\n"
    + (f'.input {name}(source="t", query="q")\n' if name in INPUTS else "")
    for name in (*INPUTS, *OWN)
)
BASE = "p(?a, ?b) :- e(?a, ?b).\nq(?a, ?b) :- f(?a, ?b).\n"
PAIRS, ROWS = 1e-9, 1e9
TUNINGS = (
    Tuning(joined=PAIRS),
    Tuning(joined=ROWS),
    Tuning(joined=ROWS, chunk=2, widths=Widths(key=20, number=12)),
    Tuning(joined=PAIRS, chunk=2),
    Tuning(joined=ROWS, sparse=0),
    Tuning(),
)
IDS = ["pairs", "rows", "tiny rows", "tiny", "sparse", "default"]
CLOSURE = HEAD + BASE + "p(?a, ?c) :- p(?a, ?b), e(?b, ?c)."


@st.composite
def paths(draw: DrawFn) -> str:
    """A rule whose body is a path from one variable of the head to the other."""
    length = draw(st.integers(1, 4))
    atoms = []
    for place in range(length):
        name = draw(st.sampled_from((*INPUTS, *OWN)))
        ends = (f"?v{place}", f"?v{place + 1}")
        ends = ends if draw(st.booleans()) else ends[::-1]
        atoms.append(f"{name}({ends[0]}, {ends[1]})")
    body = draw(st.permutations(atoms))
    return f"{draw(st.sampled_from(OWN))}(?v0, ?v{length}) :- {', '.join(body)}."


def graphs(values: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, Rows]]:
    table: st.SearchStrategy[Rows] = st.sets(st.tuples(values, values), max_size=12)
    return st.fixed_dictionaries(dict.fromkeys(INPUTS, table))


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize(
    "tuning", TUNINGS, ids=["pairs", "rows", "tiny rows", "tiny", "sparse", "default"]
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(paths(), min_size=1, max_size=3),
    st.one_of(
        graphs(st.one_of(st.integers(-3, 4), st.sampled_from([-70, 63, 64, 65, 130]))),
        graphs(st.one_of(st.integers(-3, 4), st.sampled_from([-(1 << 63), (1 << 63) - 1]))),
    ),
)
def test_paths_of_relations_have_the_rows_of_naive_evaluation(
    tuning: Tuning, texts: list[str], inputs: dict[str, Rows]
) -> None:
    made = case(HEAD + BASE + "\n".join(texts))
    expected, _ = fixpoint(made.analysed.rules, inputs)
    found, report = compute(made, inputs, Strategy.BITMAP, tuning=tuning)
    assert found == {name: expected[name] for name in OWN}
    assert dict(report.rows) == {name: len(rows) for name, rows in found.items()}


@pytest.mark.parametrize(
    "tuning", TUNINGS, ids=["pairs", "rows", "tiny rows", "tiny", "sparse", "default"]
)
@pytest.mark.parametrize(
    "rule",
    [
        "p(?a, ?c) :- p(?a, ?b), e(?b, ?c).",
        "p(?a, ?c) :- e(?a, ?b), p(?b, ?c).",
        "p(?a, ?c) :- p(?a, ?b), p(?b, ?c).",
        "p(?a, ?c) :- p(?b, ?a), e(?b, ?d), p(?d, ?c).",
    ],
)
def test_a_closure_of_a_few_hundred_nodes_is_that_of_sorted_runs(tuning: Tuning, rule: str) -> None:
    made = case(HEAD + BASE + rule)
    edges: Rows = {(n, (7 * n + k) % 300) for n in range(300) for k in range(n % 3)}
    inputs: dict[str, Rows] = {"e": edges, "f": {(1, 2)}, "g": set()}
    expected, _ = compute(made, inputs, Strategy.RUNS)
    tuning = tuning if tuning.chunk > 2 else Tuning(joined=tuning.joined, chunk=5000)
    assert compute(made, inputs, Strategy.BITMAP, tuning=tuning)[0] == expected


def test_the_order_of_columns_is_chosen_so_that_a_linear_closure_is_never_transposed() -> None:
    made = case(CLOSURE)
    chains = [found for one in made.stage.recursive if (found := find_chain(one)) is not None]
    assert choose_rows(chains, ["p", "q"]) == {"p": 1, "q": 0}
    assert [turns(one, {"p": 1, "q": 0}) for one in chains] == [0]
    assert [turns(one, {"p": 0, "q": 0}) for one in chains] == [2]


@pytest.mark.parametrize(
    "rule",
    [
        "p(?a, ?c) :- p(?a, ?b), e(?b, ?c), ?a < ?c.",
        "p(?a, ?c) :- p(?a, ?b), e(?b, ?c), f(?b, ?c).",
        "p(?a, ?c) :- p(?a, ?b), e(?b, 1), e(?b, ?c).",
        "p(?a, ?a) :- p(?a, ?b), e(?b, ?a).",
        "p(?a, ?c) :- p(?a, ?b), e(?b, ?b), e(?b, ?c).",
        "p(?a, ?c) :- p(?a, _), e(_, ?c).",
    ],
)
def test_a_rule_that_is_no_path_is_no_chain(rule: str) -> None:
    made = case(HEAD + BASE + rule)
    assert [find_chain(one) for one in made.stage.recursive] == [None]


POINTS_TO = """
.decl new(v: number, h: number)
.input new(source="t", query="q")
.decl assign(y: number, x: number)
.input assign(source="t", query="q")
.decl load(y: number, x: number)
.input load(source="t", query="q")
.decl store(y: number, x: number)
.input store(source="t", query="q")
.decl vpt(v: number, h: number)
.decl hpt(a: number, b: number)
vpt(?y, ?h) :- new(?y, ?h).
vpt(?y, ?h) :- assign(?y, ?z), vpt(?z, ?h).
vpt(?y, ?k) :- load(?y, ?x), vpt(?x, ?h), hpt(?h, ?k).
hpt(?h, ?k) :- store(?y, ?x), vpt(?y, ?h), vpt(?x, ?k).
"""
MEETING = HEAD + BASE + "q(?a, ?c) :- q(?a, ?b), f(?b, ?c).\n.decl met(a: number, b: number)\n"


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("strategy", [Strategy.BITMAP, Strategy.RUNS])
@pytest.mark.parametrize(
    "tuning", TUNINGS, ids=["pairs", "rows", "tiny rows", "tiny", "sparse", "default"]
)
@pytest.mark.parametrize("seed", range(6))
def test_mutual_recursion_has_the_rows_of_naive_evaluation(
    strategy: Strategy, tuning: Tuning, seed: int
) -> None:
    random = Random(seed)
    inputs: dict[str, Rows] = {
        name: {(random.randrange(12), random.randrange(12)) for _ in range(count)}
        for name, count in (("new", 8), ("assign", 8), ("load", 6), ("store", 6))
    }
    made = case(POINTS_TO)
    expected, _ = fixpoint(made.analysed.rules, inputs)
    found, _ = compute(made, inputs, strategy, tuning=tuning)
    assert found == {name: expected[name] for name in ("vpt", "hpt")}


@pytest.mark.parametrize("strategy", [Strategy.BITMAP, Strategy.RUNS])
@pytest.mark.parametrize(
    "tuning", TUNINGS, ids=["pairs", "rows", "tiny rows", "tiny", "sparse", "default"]
)
@pytest.mark.parametrize(
    "rule",
    [
        "met(?a, ?c) :- p(?a, ?b), q(?b, ?c).",
        "met(?a, ?c) :- p(?a, ?b), q(?b, ?c), ?a < ?c.",
        "met(?c, ?a) :- q(?b, ?c), p(?a, ?b), e(_, ?a).",
    ],
)
def test_an_old_row_meets_one_that_comes_rounds_later(
    strategy: Strategy, tuning: Tuning, rule: str
) -> None:
    edges: Rows = {(n, n + 1) for n in range(1, 9)}
    inputs: dict[str, Rows] = {"e": {(0, 1), (5, 0)}, "f": edges, "g": set()}
    made = case(MEETING + rule)
    expected, _ = fixpoint(made.analysed.rules, inputs)
    assert len(expected["met"]) > 7
    found, _ = compute(made, inputs, strategy, tuning=tuning)
    assert found == {name: expected[name] for name in ("p", "q", "met")}


def far_in_the_middle(far: int) -> tuple[Case, dict[str, Rows]]:
    # The comparison keeps the values from being renumbered.
    text = "p(?a, ?d) :- p(?b, ?c), g(?c, ?x), e(?a, ?b), g(?y, ?x), e(?d, ?y)."
    made = case(HEAD + BASE + text + "\n.decl t(a: number)\nt(?x) :- g(_, ?x), ?x > 1.")
    table: Rows = {(1, far), (2, far), (3, -far), (3, 5), (1, 5)}
    return made, {"e": {(1, 2), (2, 3), (3, 1)}, "f": set(), "g": table}


@pytest.mark.parametrize("far", [1 << 45, (1 << 63) - 1])
def test_far_values_in_the_middle_of_a_path_stay_exact(far: int) -> None:
    made, inputs = far_in_the_middle(far)
    expected, _ = fixpoint(made.analysed.rules, inputs)
    found, _ = compute(made, inputs, Strategy.BITMAP)
    assert found == {name: expected[name] for name in ("p", "q", "t")}


def test_rows_of_bits_that_would_be_too_wide_are_left_to_another_strategy() -> None:
    made, inputs = far_in_the_middle(1 << 45)
    with pytest.raises(StrategyError, match="too wide"):
        compute(made, inputs, Strategy.BITMAP, tuning=Tuning(joined=1e30, sparse=1 << 62))
