"""What a stage is given, what it reports, where it stops and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from constat.columnar import Tuning, refusal, run_stage
from constat.columnar.arrays import Widths
from constat.evaluation import Event, ResourceError, Resources, RoundFinished, StrategyError
from constat.plan.forward import Strategy
from tests.columnar.stages import Case, Rows, case, columns_of, compute

EDGE = '.decl edge(a: number, b: number)\n.input edge(source="t", query="q")\n'
PATH = (
    EDGE
    + """
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""
)
PAIRS = (
    EDGE
    + """
.decl wide(a: number, b: number, c: number, d: number)
wide(?a, ?b, ?c, ?d) :- edge(?a, ?b), edge(?c, ?d).
"""
)
CHAIN: Rows = {(n, n + 1) for n in range(6)}
BOTH = [Strategy.RUNS, Strategy.BITMAP]


def closure(edges: Rows) -> dict[tuple[int, ...], int]:
    """Each path with the length of the shortest one."""
    found: dict[tuple[int, ...], int] = dict.fromkeys(edges, 0)
    length = 0
    while True:
        length += 1
        fresh = {(a, d) for a, b in found for c, d in edges if b == c} - set(found)
        if not fresh:
            return found
        found.update(dict.fromkeys(fresh, length))


@pytest.mark.parametrize("strategy", BOTH)
@pytest.mark.parametrize("edges", [CHAIN, {(1, 2), (2, 1), (2, 9), (9, 3), (1, 9)}, set()])
def test_stamps_are_the_least_rounds(strategy: Strategy, edges: Rows) -> None:
    found, report = compute(case(PATH), {"edge": edges}, strategy, stamps=True)
    expected = {(*row, number) for row, number in closure(edges).items()}
    assert found["path"] == expected
    assert report.rows == {"path": len(expected)}
    assert report.rounds == (1 + max(row[2] for row in expected) if edges else 0)


@pytest.mark.parametrize("strategy", BOTH)
def test_given_and_stated_rows_of_the_stage_count(strategy: Strategy) -> None:
    made = case(PATH + "path(20, 3). path(-4, 20).")
    found, _ = compute(made, {"edge": CHAIN, "path": {(7, 20), (20, 3)}}, strategy)
    assert {(20, 6), (-4, 20), (7, 20)} <= found["path"]
    assert len(found["path"]) == len(closure(CHAIN)) + 4 + 1 + 1


def test_texts_are_numbered_by_the_dictionary() -> None:
    made = case("""
    .decl edge(a: symbol, b: symbol)
    .input edge(source="t", query="q")
    .decl from_a(b: symbol)
    from_a(?b) :- edge("a", ?b), ?b != "b".
    from_a("z").
    """)
    numbers = {"a": 5, "b": 6, "z": 8}
    relations = {"edge": columns_of({(5, 6), (5, 7), (6, 9)}, 2)}
    found, _ = run_stage(
        made.stage, made.plan, relations, numbers.__getitem__, Strategy.RUNS, Resources()
    )
    assert sorted(found["from_a"][0].tolist()) == [7, 8]


@pytest.mark.parametrize("strategy", BOTH)
def test_the_report_tells_rounds_rows_and_bindings(strategy: Strategy) -> None:
    events: list[Event] = []
    made = case(PATH + "path(?a, ?b) :- path(?a, ?b), path(?b, ?a), ?a < ?b.")
    _, report = run_stage(
        made.stage,
        made.plan,
        {"edge": columns_of(CHAIN, 2)},
        len,
        strategy,
        Resources(),
        analyze=True,
        observe=events.append,
        tuning=Tuning(chunk=2),
    )
    assert report.strategy == strategy.value
    assert (report.rounds, dict(report.rows)) == (6, {"path": 21})
    assert [one.new_rows for one in events if isinstance(one, RoundFinished)] == [6, 5, 4, 3, 2, 1]
    by_rule = {one.rule: one.rows for one in report.pipelines}
    assert by_rule[0] == (6,)
    assert report.bytes > 0
    assert by_rule[1] == (21, 15)


def large(made: Case, resources: Resources, tuning: Tuning | None = None) -> None:
    rows: Rows = {(n, n % 40) for n in range(400)}
    compute(made, {"edge": rows}, resources=resources, tuning=tuning)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (Resources(memory=400_000), "MB of memory"),
        (Resources(rows=1000), "1,000 rows"),
        (Resources(seconds=0.0), "time limit"),
    ],
)
def test_a_cross_product_ends_at_its_bounds(resources: Resources, words: str) -> None:
    with pytest.raises(ResourceError, match=words):
        large(case(PAIRS), resources, Tuning(chunk=1000))


@pytest.mark.parametrize("strategy", BOTH)
def test_a_recursion_ends_at_its_rounds(strategy: Strategy) -> None:
    with pytest.raises(ResourceError, match="3 rounds"):
        compute(case(PATH), {"edge": CHAIN}, strategy, resources=Resources(rounds=3))


def test_whoever_stops_it_is_heard_while_a_join_explodes() -> None:
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise KeyboardInterrupt

    made = case(PAIRS)
    edge = columns_of({(n, n) for n in range(400)}, 2)
    with pytest.raises(KeyboardInterrupt):
        run_stage(
            made.stage,
            made.plan,
            {"edge": edge},
            len,
            Strategy.RUNS,
            Resources(),
            check=check,
            tuning=Tuning(chunk=100),
        )


def test_an_input_is_not_changed() -> None:
    edge = columns_of(CHAIN, 2)
    for column in edge:
        column.setflags(write=False)
    made = case(PATH)
    for strategy in BOTH:
        found, _ = run_stage(made.stage, made.plan, {"edge": edge}, len, strategy, Resources())
        assert len(found["path"][0]) == 21


def test_pairs_that_are_too_many_for_a_bitmap_are_left_to_another_strategy() -> None:
    with pytest.raises(StrategyError, match="bitmap"):
        compute(case(PATH), {"edge": CHAIN}, Strategy.BITMAP, tuning=Tuning(bitmap=100))
    counted = PATH.replace("?a, ?c) :-", "?a, ?d) :- ?d = ?c + 0, ?d < 9,")
    with pytest.raises(StrategyError, match="bitmap"):
        compute(case(counted), {"edge": CHAIN}, Strategy.BITMAP)
    found, _ = compute(case(counted), {"edge": CHAIN})
    assert found["path"] == set(closure(CHAIN))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".decl p(a: float)\np(1.5).", "float"),
        ('.decl p(a: symbol)\np(cat(?a, ?a)) :- p(?a).\np("x").', "cat"),
        ('.decl p(a: symbol)\np(?a) :- p(?a), ?a < "b".\np("x").', "`<`"),
        (
            EDGE + ".decl p(a: float)\np(?a) :- ?a = mean ?x : { edge(?x, _) }.",
            "float",
        ),
    ],
)
def test_what_integers_cannot_hold_is_refused(text: str, words: str) -> None:
    made = case(text)
    relations = {
        name: replace(one, encoded=tuple(kind.value == "symbol" for kind in one.kinds))
        for name, one in made.plan.relations.items()
    }
    assert words in refusal(made.stage, relations)
    plan = replace(made.plan, relations=relations)
    with pytest.raises(StrategyError, match=words):
        run_stage(made.stage, plan, {}, len, Strategy.RUNS, Resources())


def test_texts_that_are_not_encoded_and_other_strategies_are_refused() -> None:
    made = case(PATH)
    assert refusal(made.stage, made.plan.relations) == ""
    assert "cte" in refusal(made.stage, made.plan.relations, Strategy.CTE)
    symbols = case(PATH.replace("number", "symbol"))
    plain = {
        name: replace(one, encoded=(False, False)) for name, one in symbols.plan.relations.items()
    }
    assert "not encoded" in refusal(symbols.stage, plain)
    wide = case(PAIRS)
    assert "two columns" in refusal(wide.stage, wide.plan.relations, Strategy.BITMAP)


@pytest.mark.parametrize("strategy", BOTH)
def test_numbers_at_both_ends_of_64_bits_are_told_apart(strategy: Strategy) -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    edges: Rows = {(low, high), (high, 0), (0, low)}
    made = case(PATH)
    tuning = Tuning(widths=Widths(key=20, number=10))
    found, _ = compute(made, {"edge": edges}, strategy, tuning=tuning)
    assert found["path"] == {(a, b) for a in (low, 0, high) for b in (low, 0, high)}


def test_the_arrays_are_int64_and_of_one_length() -> None:
    found, _ = compute(case(PATH), {"edge": CHAIN})
    assert len(found["path"]) == 21
    made = case(PATH)
    arrays, _ = run_stage(made.stage, made.plan, {}, len, Strategy.RUNS, Resources(), stamps=True)
    assert [one.dtype for one in arrays["path"]] == [np.int64] * 3
    assert [len(one) for one in arrays["path"]] == [0] * 3


FAR = 1 << 40
SPREAD: Rows = {(1, 100), (FAR, FAR + 1), (2, 50), (50, 2)}


@pytest.mark.parametrize("strategy", BOTH)
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("p(?a, ?b) :- edge(?a, ?b), ?a < ?b.", SPREAD - {(50, 2)}),
        ("p(?a, ?b) :- edge(?a, ?b), ?b = 50.", {(2, 50)}),
        ("p(?a, ?b) :- edge(?a, ?b), ?a != ?b, edge(?b, ?a).", {(2, 50), (50, 2)}),
        ("p(?a, ?c) :- edge(?a, ?b), edge(?b, ?c).", {(2, 2), (50, 50)}),
        ("p(?a, 50) :- edge(?a, 50).", {(2, 50)}),
        ("p(?a, ?b) :- edge(?a, ?b), !edge(?b, ?a).", SPREAD - {(2, 50), (50, 2)}),
    ],
)
def test_values_far_apart_are_renumbered_only_where_that_changes_nothing(
    strategy: Strategy, rule: str, expected: Rows
) -> None:
    made = case(EDGE + ".decl p(a: number, b: number)\n" + rule)
    try:
        found, _ = compute(made, {"edge": SPREAD}, strategy)
    except StrategyError:
        # Where values are compared they keep their size, and a bitmap may not hold them.
        assert strategy is Strategy.BITMAP
        assert "<" in rule or "50" in rule
        return
    assert found["p"] == expected


@pytest.mark.parametrize(("step", "strategy"), [(2, "runs"), (1, "bitmap")])
def test_few_rows_among_many_that_may_be_stay_sorted_and_many_become_bits(
    step: int, strategy: str
) -> None:
    edges: Rows = {(n, n + 1) for n in range(0, 80, step)}
    found, report = compute(case(PATH), {"edge": edges}, Strategy.BITMAP, tuning=Tuning(sparse=0))
    assert found["path"] == set(closure(edges))
    assert report.strategy == strategy
    _, report = compute(case(PATH), {"edge": edges}, Strategy.BITMAP)
    assert report.strategy == "bitmap"


def test_rows_that_are_given_stay_where_sorted_rows_become_bits() -> None:
    edges: Rows = {(n, n + 1) for n in range(40)}
    given: Rows = {(7, 39), (40, 0)}
    made = case(PATH)
    found, report = compute(
        made, {"edge": edges, "path": given}, Strategy.BITMAP, tuning=Tuning(sparse=0)
    )
    assert report.strategy == "bitmap"
    assert (40, 0) in found["path"]
    assert found == compute(made, {"edge": edges, "path": given})[0]


def test_a_stage_is_given_up_after_so_many_candidates() -> None:
    made, inputs = case(PATH), {"edge": columns_of(CHAIN, 2)}
    found, _ = run_stage(made.stage, made.plan, inputs, len, Strategy.RUNS, Resources(), most=40)
    assert len(found["path"][0]) == 21
    with pytest.raises(StrategyError, match="more rows"):
        run_stage(made.stage, made.plan, inputs, len, Strategy.RUNS, Resources(), most=20)
