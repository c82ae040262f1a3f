"""Rows with null cells: what matches for certain, what may match, and what rules carry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import pytest

from constat.engine import LazyOutcome
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    POSSIBLE,
    Answer,
    Demand,
    Readable,
    RuleDerivation,
)
from constat.logic import NullCell, NullPolicy, Row, Value, null_cells, with_null_cells
from tests.engine.tables import Table, run

NONE, MAYBE, UNKNOWN, _ = NullPolicy
World = dict[str, list[tuple[Value | None, ...]]]
DECLARED = """
.decl e(a: symbol, b: symbol)
.input e(source="t", query="q")
.decl f(a: symbol)
.input f(source="t", query="q")
.decl n(a: symbol, i: number, w: number)
.input n(source="t", query="q")
"""


class Source(Table):
    """A table that gives the rows whose null cells may hold a value that is asked for."""

    def answer(self, demand: Demand) -> Answer:
        found = super().answer(demand)
        keys = set(demand.keys)
        more = tuple(row for row in self.rows if _may_be(row, demand.columns, keys))
        (first, *others) = found.portions
        first = replace(first, rows=(*first.rows, *more))
        return replace(found, portions=(first, *others))


@dataclass
class Large(Source):
    """A source that says how many rows it has."""

    size: int = 0

    def estimate(self) -> float | None:
        return self.size

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        raise AssertionError((demand, most_rows))


def _may_be(row: Row, columns: tuple[int, ...], keys: set[Row]) -> bool:
    cells = tuple(row[column] for column in columns)
    return any(
        bool(null_cells(cells)) and all(isinstance(c, NullCell) or c == v for c, v in pairs)
        for pairs in (list(zip(cells, key, strict=True)) for key in keys)
    )


def rows(name: str, policy: NullPolicy, *listed: tuple[Value | None, ...]) -> list[Row]:
    seen: dict[tuple[Value | None, ...], int] = {}
    found = []
    for cells in listed:
        ordinal = seen.get(cells, 0)
        seen[cells] = ordinal + 1
        found.append(with_null_cells(name, cells, [policy] * len(cells), ordinal))
    return found


def ask(
    rules: str,
    goal: str,
    policy: NullPolicy,
    tables: World,
    *,
    exhaust: bool = False,
) -> LazyOutcome:
    sources = {name: Source(rows(name, policy, *tables.get(name, ()))) for name in ("e", "f", "n")}
    return run(DECLARED + rules, goal, sources, exhaust=exhaust)


def strength(
    rules: str,
    goal: str,
    policy: NullPolicy,
    tables: World,
) -> int:
    outcome = ask(rules, goal, policy, tables)
    return outcome.strength(outcome.goal)


P = ".decl p(a: symbol)\n"
E: World = {"e": [("x", None)]}
TABLE = [
    ("p(?a) :- e(?a, _).", CERTAIN, CERTAIN, CERTAIN),
    ("p(?a) :- e(?a, _b).", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, ?b), ?b = ?b.", ABSENT, POSSIBLE, CERTAIN),
    ('p(?a) :- e(?a, "v").', ABSENT, POSSIBLE, POSSIBLE),
    ("p(?a) :- f(?b), e(?a, ?b).", ABSENT, POSSIBLE, POSSIBLE),
    ("p(?a) :- e(?a, ?b), e(?a, ?b).", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, ?b), e(_, ?b).", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, ?b), ?b != ?b.", ABSENT, POSSIBLE, ABSENT),
    ("p(?a) :- e(?a, ?b), ?b < ?b.", ABSENT, POSSIBLE, ABSENT),
    ("p(?a) :- e(?a, ?b), ?b > ?b.", ABSENT, POSSIBLE, ABSENT),
    ("p(?a) :- e(?a, ?b), ?b <= ?b.", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, ?b), ?b >= ?b.", ABSENT, POSSIBLE, CERTAIN),
    ('p(?a) :- e(?a, ?b), ?b != "v".', ABSENT, POSSIBLE, POSSIBLE),
    ("p(?a) :- e(?a, ?b), contains(?b, ?b).", ABSENT, POSSIBLE, POSSIBLE),
    ('p(?a) :- e(?a, ?b), ?c = cat(?b, "!"), ?c = ?c.', ABSENT, POSSIBLE, POSSIBLE),
    ("p(?a) :- e(?a, ?b), ?c = ?b, ?c = ?b.", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, _), !e(?a, _).", ABSENT, ABSENT, ABSENT),
    ("p(?a) :- e(?a, _), !e(?a, _b).", CERTAIN, POSSIBLE, ABSENT),
    ('p(?a) :- e(?a, _), !e(?a, "v").', CERTAIN, POSSIBLE, POSSIBLE),
    ("p(?a) :- e(?a, ?b), !e(?a, ?b).", ABSENT, POSSIBLE, ABSENT),
    ("p(?a) :- e(?a, ?b), !n(?b, 1, 1).", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, _), ?n = count : { e(?a, _) }, ?n = 1.", CERTAIN, CERTAIN, CERTAIN),
    ("p(?a) :- e(?a, _), ?n = count : { e(?a, _b) }, ?n = 1.", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, _), ?n = count : { e(?a, _b) }, ?n = 0.", CERTAIN, POSSIBLE, ABSENT),
    ("p(?a) :- e(?a, _), _m = min ?b : { e(?a, ?b) }.", ABSENT, POSSIBLE, POSSIBLE),
    ("p(?a) :- e(?a, ?b), ?n = count : { e(_x, ?b) }, ?n = 1.", ABSENT, POSSIBLE, CERTAIN),
    ("p(?a) :- e(?a, ?b), ?n = count : { f(?b) }, ?n = 1.", ABSENT, POSSIBLE, POSSIBLE),
    ("p(?a) :- e(?a, ?b), ?n = count : { n(?b, _, _) }, ?n = 0.", ABSENT, POSSIBLE, CERTAIN),
]


@pytest.mark.parametrize(("rule", "none", "maybe", "unknown"), TABLE)
def test_what_a_literal_reads_decides(rule: str, none: int, maybe: int, unknown: int) -> None:
    for policy, wanted in zip((NONE, MAYBE, UNKNOWN), (none, maybe, unknown), strict=True):
        world: World = {**E, "f": [("v",)]}
        assert strength(P + rule, 'p("x")', policy, world) == wanted, policy


def test_rules_carry_labels_and_a_label_is_itself() -> None:
    rules = """
    .decl p(a: symbol, b: symbol)
    .decl q(a: symbol)
    p(?a, ?b) :- e(?a, ?b).
    q(?a) :- p(?a, ?b), p(?a, ?b), e(_, ?b), ?b = ?b.
    """
    outcome = ask(rules, "q(?a)", UNKNOWN, E, exhaust=True)
    assert list(outcome.rows("q", CERTAIN)) == [("x",)]
    ((_, cell),) = outcome.rows("p", CERTAIN)
    assert isinstance(cell, NullCell)
    assert (cell.predicate, cell.column, cell.known) == ("e", 1, ("x", None))


def test_a_key_with_a_label_finds_the_rows_that_hold_it_and_no_key_is_one() -> None:
    rules = """
    .decl p(b: symbol, c: symbol)
    .decl q(a: symbol)
    p(?b, ?c) :- e(?c, ?b), ?c = "x".
    q(?a) :- e(?a, ?b), p(?b, ?a).
    """
    outcome = ask(rules, 'q("x")', UNKNOWN, E)
    assert outcome.strength(outcome.goal) == CERTAIN
    assert not any(null_cells(key) for one in outcome.demands for key in one.keys)
    assert not any(null_cells(key) for one in outcome.calls for key in one.demand.keys)


WALK = """
.decl up(a: symbol, b: symbol)
up(?a, ?b) :- e(?a, ?b).
up(?a, ?c) :- up(?a, ?b), e(?b, ?c).
.decl p(a: symbol)
p(?a) :- f(?a), !up(?a, "boss").
"""
CHAIN: World = {
    "e": [("a", "b"), ("b", "c"), ("c", None), ("d", "boss")],
    "f": [("a",), ("d",)],
}


@pytest.mark.parametrize(
    ("policy", "goal", "wanted"),
    [
        (NONE, 'up("a", "c")', CERTAIN),
        (NONE, 'up("a", "boss")', ABSENT),
        (NONE, 'p("a")', CERTAIN),
        (MAYBE, 'up("a", "c")', CERTAIN),
        (MAYBE, 'up("a", "boss")', POSSIBLE),
        (MAYBE, 'p("a")', POSSIBLE),
        (UNKNOWN, 'up("a", "boss")', POSSIBLE),
        (UNKNOWN, 'p("a")', POSSIBLE),
        (UNKNOWN, 'p("d")', ABSENT),
        (UNKNOWN, 'up("boss", "b")', ABSENT),
    ],
)
def test_a_chain_of_bosses_ends_where_there_is_none(
    policy: NullPolicy, goal: str, wanted: int
) -> None:
    assert strength(WALK, goal, policy, CHAIN) == wanted


def test_a_chain_goes_on_behind_a_boss_whom_nobody_knows() -> None:
    outcome = ask(WALK, 'up("a", ?b)', UNKNOWN, CHAIN, exhaust=True)
    certain = {row[1] for row in outcome.rows("up", CERTAIN) if row[0] == "a"}
    assert {"b", "c"} < certain
    assert len(certain) == 3
    assert outcome.strength(outcome.goal) == CERTAIN


COUNTED = ".decl p(k: number)\np(?k) :- f(?a), ?k = count : { n(?a, _i, _) }.\n"
SUMMED = ".decl p(k: number)\np(?k) :- f(?a), ?k = sum ?w : { n(?a, _, ?w) }.\n"
LEAST = ".decl p(k: number)\np(?k) :- f(?a), ?k = min ?w : { n(?a, _, ?w) }.\n"


@pytest.mark.parametrize(
    ("rules", "goal", "policy", "listed", "wanted"),
    [
        # The second column tells them apart, the third is not read.
        (COUNTED, "p(2)", MAYBE, [("a", 1, None), ("a", 2, None)], CERTAIN),
        # Both may be one binding.
        (COUNTED, "p(2)", MAYBE, [("a", 1, None), ("a", 1, None)], POSSIBLE),
        (COUNTED, "p(2)", UNKNOWN, [("a", None, 1), ("a", None, 1)], POSSIBLE),
        (COUNTED, "p(2)", UNKNOWN, [("a", None, 1), ("a", 5, 2)], CERTAIN),
        (COUNTED, "p(1)", NONE, [("a", None, 1), ("a", 5, 2)], CERTAIN),
        (SUMMED, "p(7)", MAYBE, [("a", None, 3), ("a", None, 4)], CERTAIN),
        (SUMMED, "p(6)", MAYBE, [("a", None, 3), ("a", None, 3)], POSSIBLE),
        (SUMMED, "p(6)", MAYBE, [("a", None, 3), ("a", 1, 3)], POSSIBLE),
        (SUMMED, "p(6)", NONE, [("a", None, 3), ("a", 1, 3)], CERTAIN),
        (SUMMED, "p(3)", UNKNOWN, [("a", 1, 3), ("a", 2, None)], POSSIBLE),
        (SUMMED, "p(3)", NONE, [("a", 1, 3), ("a", 2, None)], CERTAIN),
        (LEAST, "p(3)", MAYBE, [("a", None, 3), ("a", None, 3)], CERTAIN),
        (LEAST, "p(3)", UNKNOWN, [("a", 1, 3), ("a", 2, None)], POSSIBLE),
        (COUNTED, "p(1)", UNKNOWN, [("a", 1, 1), (None, 2, 2)], POSSIBLE),
        (COUNTED, "p(1)", NONE, [("a", 1, 1), (None, 2, 2)], CERTAIN),
    ],
)
def test_totals_stand_where_their_bindings_are_told_apart(
    rules: str,
    goal: str,
    policy: NullPolicy,
    listed: list[tuple[Value | None, ...]],
    wanted: int,
) -> None:
    assert strength(rules, goal, policy, {"n": listed, "f": [("a",)]}) == wanted


THRESHOLD = """
.decl p(a: symbol)
p("s") :- f("s").
p(?a) :- f(?a), ?s = sum ?w : { p(_b), n(?a, _i, ?w), ?w >= 0 }, ?s >= 6.
"""


@pytest.mark.parametrize(
    ("policy", "listed", "wanted"),
    [
        (UNKNOWN, [("a", None, 3), ("a", 1, 4)], CERTAIN),
        (UNKNOWN, [("a", None, 3), ("a", 1, 3)], POSSIBLE),
        (UNKNOWN, [("a", None, 3), ("a", None, 3)], POSSIBLE),
        (UNKNOWN, [("a", 1, 2), ("a", 2, None)], POSSIBLE),
        (UNKNOWN, [("a", None, 2), ("a", None, 1)], ABSENT),
        (NONE, [("a", None, 9), ("a", 1, 3)], ABSENT),
        (MAYBE, [("a", None, 9), ("a", 1, 3)], POSSIBLE),
    ],
)
def test_labels_tell_no_summands_of_a_recursive_threshold_apart(
    policy: NullPolicy, listed: list[tuple[Value | None, ...]], wanted: int
) -> None:
    outcome = ask(THRESHOLD, 'p("a")', policy, {"n": listed, "f": [("s",), ("a",)]})
    assert outcome.strength(outcome.goal) == wanted
    if wanted == CERTAIN:
        derivation = outcome.derivation("p", ("a",), CERTAIN)
        assert isinstance(derivation, RuleDerivation)
        (listing,) = derivation.listed.values()
        assert sum(cast("int", one["w"]) for one in listing) >= 6


def test_a_derivation_names_the_row_as_it_is() -> None:
    outcome = ask(P + "p(?a) :- e(?a, _).", 'p("x")', MAYBE, E)
    derivation = outcome.derivation("p", ("x",), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    (premise,) = derivation.premises
    assert premise == rows("e", MAYBE, ("x", None))[0]
    assert outcome.derivation("e", premise, CERTAIN).row == premise


def test_a_premise_holds_the_label_that_the_rule_carries() -> None:
    rules = ".decl p(a: symbol, b: symbol)\np(?a, ?b) :- e(?a, ?b), e(_, ?b).\n"
    outcome = ask(rules, 'p("x", ?b)', UNKNOWN, E)
    (row,) = outcome.rows("p", CERTAIN)
    derivation = outcome.derivation("p", row, CERTAIN)  # type: ignore[arg-type]  # no placeholder
    assert isinstance(derivation, RuleDerivation)
    assert derivation.bindings["b"] == row[1]


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [("e(?a, ?b)", [ABSENT, POSSIBLE, CERTAIN]), ('e("x", "v")', [ABSENT, POSSIBLE, POSSIBLE])],
)
def test_a_goal_reads_as_a_literal_does(goal: str, wanted: list[int]) -> None:
    assert [strength(P, goal, policy, E) for policy in (NONE, MAYBE, UNKNOWN)] == wanted


def test_a_label_that_meets_a_key_is_told_from_it_once_all_rows_are_asked_for() -> None:
    """`p` is empty: `!q` fails for the very value that `f` has. Asked for one key it seems open."""
    rules = """
    .decl q(a: symbol)
    .decl p(a: symbol)
    q(?a) :- f(?a), !e(?a, "k").
    p(?a) :- f(?a), !q(?a).
    """
    world: World = {"f": [(None,)]}
    assert strength(rules, 'p("v")', UNKNOWN, world) == ABSENT


@pytest.mark.parametrize(("size", "wanted"), [(20_000, ABSENT), (20_001, POSSIBLE)])
def test_a_large_source_is_not_read_in_full_on_the_chance_that_less_is_open(
    size: int, wanted: int
) -> None:
    rules = """
    .decl q(a: symbol)
    .decl p(a: symbol)
    q(?a) :- f(?a), !e(?a, "k").
    p(?a) :- f(?a), !q(?a).
    """
    tables = {"e": Source(), "f": Large(rows("f", UNKNOWN, (None,)), size=size), "n": Source()}
    outcome = run(DECLARED + rules, 'p("v")', tables)
    assert outcome.strength(outcome.goal) == wanted
    assert all(demand.columns for demand in tables["f"].demands) == (wanted == POSSIBLE)


def test_what_a_person_says_with_a_label_is_accepted_and_no_more() -> None:
    (row,) = rows("e", UNKNOWN, ("x", None))
    rule = DECLARED + P + "p(?a) :- e(?a, ?b), e(_, ?b)."
    tables = {"e": Source([], assumed=[row]), "f": Source(), "n": Source()}
    outcome = run(rule, 'p("x")', tables)
    assert outcome.strength(outcome.goal) == ACCEPTED


def test_a_far_source_is_not_read_in_full_for_a_label() -> None:
    tables = {
        "e": Source(rows("e", UNKNOWN, ("x", None))),
        "f": Source([("v",)], cost=100),
        "n": Source(),
    }
    outcome = run(DECLARED + P + "p(?a) :- e(?a, ?b), f(?b).", 'p("x")', tables)
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert tables["f"].demands == []
