"""What the engine asks for: only what the goal needs, each key once, many keys at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import ABSENT, CERTAIN
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Variable,
)
from tests.oracle.naive import World
from tests.property.running import LIMITS, run
from tests.property.strategies import HALF, Case, analysed, cases
from tests.property.tables import TableExternal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Outcome
    from constat.logic import Row

X, Y, Z = Variable("n_x"), Variable("n_y"), Variable("n_z")


def number(value: int) -> Constant:
    return Constant(value, Kind.NUMBER)


def atom(predicate: str, *terms: Variable | Constant) -> Atom:
    return Atom(predicate, terms)


def program(
    external: dict[str, int], derived: dict[str, int], *rules: tuple[Atom, Sequence[Literal]]
) -> AnalysedProgram:
    """Give an analysed program; predicates are named with their arity, all columns are numbers."""
    predicates = {
        name: Predicate(
            name,
            tuple(Column(f"c{place}", "number", Kind.NUMBER) for place in range(arity)),
            Source({"source": "memory"}) if name in external else None,
        )
        for name, arity in {**external, **derived}.items()
    }
    numbered = enumerate(rules, 1)
    made = [Rule(f"{head.predicate}.{n}", head, tuple(body)) for n, (head, body) in numbered]
    return analysed(Program(predicates, tuple(made)))


def evaluate(
    made: AnalysedProgram,
    goal: Atom,
    rows: dict[str, list[Row]],
    costs: dict[str, int] | None = None,
    *,
    exhaust: bool = False,
) -> tuple[Outcome, dict[str, TableExternal]]:
    """Evaluate a goal over closed tables."""
    world = World({name: tuple((row, None) for row in found) for name, found in rows.items()})
    externals = {
        name: TableExternal(made.program.predicates[name], world, cost=(costs or {}).get(name, 10))
        for name in made.external
    }
    outcome = LazyEngine().evaluate(made, goal, externals, LIMITS, exhaust=exhaust)
    return outcome, externals


def asked(table: TableExternal) -> set[tuple[tuple[int, ...], Row]]:
    return {(demand.columns, key) for demand in table.demands for key in demand.keys}


def _below(found: AnalysedProgram, goal: str) -> set[str]:
    """Return the predicates that the goal may depend on."""
    seen, left = set(), [goal]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            for rule in found.program.rules_for(name):
                for literal in rule.body:
                    inner = literal.body if isinstance(literal, Aggregate) else (literal,)
                    left += [one.atom.predicate for one in inner if not isinstance(one, Comparison)]
    return seen


@HALF
@given(cases())
def test_only_what_the_goal_depends_on_is_asked_and_no_key_twice(case: Case) -> None:
    found = run(case)
    needed = _below(case.program, case.goal.predicate)
    keys = [
        (name, demand.columns, key)
        for name, table in found.tables.items()
        for demand in table.demands
        for key in demand.keys
    ]
    assert {name for name, _, _ in keys} <= needed
    assert len(set(keys)) == len(keys)


@HALF
@given(cases())
def test_the_call_list_is_what_the_tables_saw(case: Case) -> None:
    found = run(case)
    calls = found.outcome.calls
    assert [call.number for call in calls] == sorted({call.number for call in calls})
    for name, table in found.tables.items():
        assert [c.demand for c in calls if c.demand.predicate.name == name] == table.demands


@given(st.lists(st.tuples(st.integers(1, 1000), st.booleans()), min_size=1, max_size=5))
def test_a_goal_settled_by_a_cheaper_rule_does_not_ask_the_dearer(
    rules: list[tuple[int, bool]],
) -> None:
    names = [f"e{place}" for place in range(len(rules))]
    made = program(
        dict.fromkeys(names, 1),
        {"p": 1},
        *((atom("p", X), [Positive(atom(name, X))]) for name in names),
    )
    rows: dict[str, list[Row]] = {
        name: [(1,)] if there else [(2,)] for name, (_, there) in zip(names, rules, strict=True)
    }
    costs = {name: cost for name, (cost, _) in zip(names, rules, strict=True)}
    outcome, tables = evaluate(made, atom("p", number(1)), rows, costs)
    enough = min((cost for cost, there in rules if there), default=1000)
    for name, table in tables.items():
        assert not table.demands or costs[name] <= enough
        assert asked(table) <= {((0,), (1,))}
    settled = any(there for _, there in rules)
    assert outcome.strength(outcome.goal) == (CERTAIN if settled else ABSENT)


def test_a_ground_premise_settled_by_a_cheaper_rule_does_not_ask_the_dearer() -> None:
    made = program(
        {"cheap": 1, "dear": 1, "also": 1},
        {"p": 1, "q": 1},
        (atom("p", X), [Positive(atom("cheap", X))]),
        (atom("p", X), [Positive(atom("dear", X))]),
        (atom("q", X), [Positive(atom("p", X)), Positive(atom("also", X))]),
    )
    rows: dict[str, list[Row]] = {"cheap": [(1,)], "dear": [(1,)], "also": []}
    costs = {"cheap": 1, "dear": 1000, "also": 2000}
    outcome, tables = evaluate(made, atom("q", number(1)), rows, costs)
    assert outcome.strength(outcome.goal) == ABSENT
    assert not tables["dear"].demands


def test_all_rules_are_asked_when_the_search_is_exhausted() -> None:
    made = program(
        {"cheap": 1, "dear": 1},
        {"p": 1},
        (atom("p", X), [Positive(atom("cheap", X))]),
        (atom("p", X), [Positive(atom("dear", X))]),
    )
    rows: dict[str, list[Row]] = {"cheap": [(1,)], "dear": [(1,)]}
    _, tables = evaluate(made, atom("p", number(1)), rows, {"cheap": 1, "dear": 1000}, exhaust=True)
    assert tables["dear"].demands


def test_a_dear_premise_is_not_asked_when_a_cheap_one_fails() -> None:
    made = program(
        {"cheap": 1, "dear": 1},
        {"p": 1},
        (atom("p", X), [Positive(atom("dear", X)), Positive(atom("cheap", X))]),
    )
    outcome, tables = evaluate(
        made, atom("p", number(1)), {"cheap": [(2,)], "dear": [(1,)]}, {"cheap": 1, "dear": 1000}
    )
    assert outcome.strength(outcome.goal) == ABSENT
    assert not tables["dear"].demands


def test_a_dear_negated_premise_is_not_asked_when_a_cheap_one_fails() -> None:
    made = program(
        {"cheap": 1, "dear": 1},
        {"p": 1},
        (atom("p", X), [Negative(atom("dear", X)), Positive(atom("cheap", X))]),
    )
    _, tables = evaluate(
        made, atom("p", number(1)), {"cheap": [], "dear": []}, {"cheap": 1, "dear": 1000}
    )
    assert not tables["dear"].demands


def test_a_comparison_of_constants_that_fails_asks_nothing() -> None:
    made = program(
        {"dear": 1},
        {"p": 1},
        (atom("p", X), [Positive(atom("dear", X)), Comparison("<", X, number(0))]),
    )
    outcome, tables = evaluate(made, atom("p", number(1)), {"dear": [(1,)]})
    assert outcome.strength(outcome.goal) == ABSENT
    assert not tables["dear"].demands


def test_bound_arguments_reach_the_source_through_rules() -> None:
    made = program(
        {"edge": 2},
        {"hop": 2, "two": 2},
        (atom("hop", X, Y), [Positive(atom("edge", X, Y))]),
        (atom("two", X, Z), [Positive(atom("hop", X, Y)), Positive(atom("hop", Y, Z))]),
    )
    edges: list[Row] = [(place, place + 1) for place in range(100)]
    outcome, tables = evaluate(made, atom("two", number(7), Z), {"edge": edges})
    assert outcome.strength(outcome.goal) == CERTAIN
    assert asked(tables["edge"]) == {((0,), (7,)), ((0,), (8,))}


def test_bound_arguments_reach_the_source_through_recursion() -> None:
    made = program(
        {"edge": 2},
        {"path": 2},
        (atom("path", X, Y), [Positive(atom("edge", X, Y))]),
        (atom("path", X, Z), [Positive(atom("edge", X, Y)), Positive(atom("path", Y, Z))]),
    )
    edges: list[Row] = [(100, 101), *((place, place + 1) for place in range(20))]
    outcome, tables = evaluate(made, atom("path", number(15), Z), {"edge": edges})
    assert outcome.strength(outcome.goal) == CERTAIN
    assert all(
        columns == (0,) and key[0] in range(15, 22) for columns, key in asked(tables["edge"])
    )


@pytest.mark.parametrize("size", [3, 300])
def test_the_number_of_calls_does_not_grow_with_the_keys(size: int) -> None:
    made = program(
        {"all": 1, "value": 2, "blocked": 1},
        {"p": 2},
        (
            atom("p", X, Z),
            [
                Positive(atom("all", X)),
                Positive(atom("value", X, Y)),
                Negative(atom("blocked", X)),
                Aggregate(
                    "sum", Z, Variable("n_v"), (Positive(atom("value", X, Variable("n_v"))),)
                ),
                Comparison(">", Y, number(0)),
            ],
        ),
    )
    rows: dict[str, list[Row]] = {
        "all": [(place,) for place in range(size)],
        "value": [(place, 5) for place in range(size)],
        "blocked": [(0,)],
    }
    outcome, tables = evaluate(made, atom("p", X, Z), rows)
    assert len(list(outcome.rows("p", CERTAIN))) == size - 1
    assert len(outcome.calls) <= 4
    assert len(tables["value"].demands) <= 2


def test_a_negated_premise_is_asked_for_its_own_key_only() -> None:
    made = program(
        {"one": 1, "blocked": 1},
        {"p": 1},
        (atom("p", X), [Positive(atom("one", X)), Negative(atom("blocked", X))]),
    )
    outcome, tables = evaluate(made, atom("p", number(3)), {"one": [(3,), (4,)], "blocked": [(4,)]})
    assert outcome.strength(outcome.goal) == CERTAIN
    assert asked(tables["blocked"]) == {((0,), (3,))}


def test_an_aggregate_is_asked_for_its_own_group_only() -> None:
    inner = (Positive(atom("value", X, Variable("n_v"))),)
    made = program(
        {"value": 2},
        {"total": 2},
        (
            atom("total", X, Z),
            [
                Positive(atom("value", X, Variable("_n_some"))),
                Aggregate("sum", Z, Variable("n_v"), inner),
            ],
        ),
    )
    rows: dict[str, list[Row]] = {"value": [(1, 10), (1, 20), (2, 5)]}
    outcome, tables = evaluate(made, atom("total", number(1), Z), rows)
    assert set(outcome.rows("total", CERTAIN)) >= {(1, 30)}
    assert asked(tables["value"]) == {((0,), (1,))}
