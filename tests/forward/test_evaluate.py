"""`evaluate`: inputs of every form, what is asked of them, what falls back and what is reported."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pytest

from constat import ConstatError
from constat.catalog.fact_files import FactFile
from constat.evaluation import (
    Answer,
    CallFinished,
    Demand,
    Evidence,
    Origin,
    Portion,
    Range,
    StageFinished,
)
from constat.forward import Files, Frame, Options, Outside, Rows, evaluate
from constat.forward import results as stored
from constat.forward.division import EVERYTHING, Restriction, restrictions
from constat.plan.forward import Strategy
from constat.syntax import parse_goal
from tests.forward.running import RESOURCES
from tests.language.worlds_of_text import program, world
from tests.property.tables import SOME_TIME, TableExternal, tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from constat.forward import Input, Results
    from constat.logic import Row

REACH = """
.decl edge(a: symbol, b: symbol)
.input edge
.decl reach(a: symbol, b: symbol)
reach(?a, ?b) :- edge(?a, ?b).
reach(?a, ?c) :- reach(?a, ?b), edge(?b, ?c).
"""
EDGES: tuple[Row, ...] = (("a", "b"), ("b", "c"), ("c", "a"), ("b", "c"))
REACHED = {(one, other) for one in "abc" for other in "abc"}


def found(
    text: str, goal: str, inputs: Mapping[str, Input], options: Options | None = None
) -> tuple[Results, set[Row]]:
    analysed = program(text)
    atom = parse_goal(goal, analysed.program)
    with evaluate(analysed, [atom], inputs, options or Options(RESOURCES)) as results:
        return results, {row for batch in results.batches(0) for row in batch}


def edge_file(folder: Path) -> FactFile:
    path = folder / "edge.facts"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in EDGES), encoding="utf-8")
    return FactFile(path, "edge.facts", program(REACH).program.predicates["edge"], (0, 1))


def test_every_form_of_input_gives_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(list(EDGES), columns=["a", "b"])
    with duckdb.connect() as connection:
        arrow = connection.sql("SELECT * FROM (VALUES ('a', 'b'), ('b', 'c'), ('c', 'a')) AS t")

        class Stream:
            def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
                return arrow.__arrow_c_stream__(requested_schema)

        analysed = program(REACH)
        outside = world(analysed, ["edge(a, b)", "edge(b, c)", "edge(c, a)"])
        forms: list[Input] = [
            Rows(EDGES),
            Files((edge_file(tmp_path),)),
            Frame(frame),
            Frame(Stream()),
            Outside(tables(analysed, outside)["edge"]),
        ]
        for form in forms:
            assert found(REACH, "reach(?x, ?y)", {"edge": form})[1] == REACHED, form


def test_wanted_atoms_choose_their_rows() -> None:
    analysed = program(REACH)
    goals = ["reach(a, ?y)", "reach(?x, ?y)", "edge(b, ?y)", "reach(a, a)", "reach(z, ?y)"]
    atoms = [parse_goal(goal, analysed.program) for goal in goals]
    with evaluate(analysed, atoms, {"edge": Rows(EDGES)}, Options(RESOURCES)) as results:
        assert [results.count(place) for place in range(len(atoms))] == [3, 9, 1, 1, 0]
        assert results.select(2).fetchall() == [("b", "c")]
        assert all(results.is_closed(place) for place in range(len(atoms)))
        with pytest.raises(KeyError):
            results.outcome(0)


def test_a_missing_input_is_open_and_not_empty() -> None:
    analysed = program(REACH)
    atom = parse_goal("reach(a, ?y)", analysed.program)
    with evaluate(analysed, [atom], {}, Options(RESOURCES)) as results:
        assert not results.is_closed(0)
        assert results.outcome(0).strength(atom) == 1
        assert results.count(0) == 0


def test_one_open_relation_leaves_the_others_in_bulk() -> None:
    text = f"""{REACH}
    .decl risk(a: symbol)
    .input risk
    .decl bad(a: symbol)
    bad(?b) :- reach("a", ?b), risk(?b).
    """
    analysed = program(text)
    outside = world(analysed, ["edge(a, b)", "edge(b, c)", "risk(b)", "open risk(c)"])
    inputs = {name: Outside(one) for name, one in tables(analysed, outside).items()}
    atoms = [parse_goal(goal, analysed.program) for goal in ("bad(?x)", "reach(?x, ?y)")]
    with evaluate(analysed, atoms, inputs, Options(RESOURCES)) as results:
        assert (results.is_closed(0), results.is_closed(1)) == (False, True)
        assert results.count(1) == 3
        assert {row for batch in results.batches(0) for row in batch} == {("b",)}
        assert set(results.outcome(0).rows("bad", 1)) == {("b",), ("c",)}
        asked = {call.demand.predicate.name for call in results.outcome(0).calls}
        assert "edge" not in asked, "what is closed is not asked again"


def test_an_error_in_a_rule_opens_what_rests_on_it_and_nothing_else() -> None:
    text = """
    .decl e(a: number)
    .input e
    .decl q(a: number)
    q(10 / ?a) :- e(?a).
    .decl r(a: number)
    r(?a) :- q(?a).
    .decl s(a: number)
    s(?a + 1) :- e(?a).
    """
    analysed = program(text)
    atoms = [parse_goal(goal, analysed.program) for goal in ("r(?x)", "s(?x)")]
    with evaluate(analysed, atoms, {"e": Rows(((0,), (5,)))}, Options(RESOURCES)) as results:
        assert (results.is_closed(0), results.is_closed(1)) == (False, True)
        assert {row for batch in results.batches(0) for row in batch} == {(2,)}
        (failure,) = results.outcome(0).failures
        assert "zero" in failure.reason
        assert results.count(1) == 2


@pytest.mark.parametrize("given", ["rows", "files"])
def test_a_value_that_no_column_holds_is_left_to_the_reference_engine(
    tmp_path: Path, given: str
) -> None:
    text = ".decl d(x: Decimal)\n.input d\n.decl p(x: Decimal)\np(?x) :- d(?x), ?x > 0.\n"
    small = Decimal("0.00000000000000000001")
    path = tmp_path / "d.facts"
    path.write_text(f"{small:f}\n-1\n", encoding="utf-8")
    declared = program(text).program.predicates["d"]
    files = Files((FactFile(path, "d.facts", declared, (0,)),))
    inputs: dict[str, Input] = {"d": Rows(((small,), (Decimal(-1),))) if given == "rows" else files}
    assert found(text, "p(?x)", inputs)[1] == {(small,)}


def test_a_frame_that_no_column_holds_is_refused() -> None:
    text = ".decl d(x: Decimal)\n.input d\n"
    frame = pd.DataFrame({"x": [Decimal("0.00000000000000000001")]})
    with pytest.raises(ConstatError):
        found(text, "d(?x)", {"d": Frame(frame)})


def external(text: str, *facts: str) -> TableExternal:
    analysed = program(text)
    (one,) = tables(analysed, world(analysed, facts)).values()
    return one


TIER = """
.decl tier(c: symbol, t: symbol)
.input tier
.decl gold(c: symbol)
gold(?c) :- tier(?c, "gold"), !tier(?c, "blocked").
.decl count_of(n: number)
count_of(?n) :- ?n = count : { tier(_, "gold") }.
"""


def test_constants_that_every_use_has_are_sent_to_the_source() -> None:
    tier = external(TIER, 'tier(a, "gold")', 'tier(b, "gold")', "tier(b, blocked)", "tier(c, x)")
    _, rows = found(TIER, "gold(?c)", {"tier": Outside(tier)})
    assert rows == {("a",)}
    (demand,) = tier.demands
    assert (demand.columns, demand.keys) == ((1,), (("blocked",), ("gold",)))


def test_without_a_constant_in_common_everything_is_asked_for_once() -> None:
    text = f"{TIER}.decl any(c: symbol)\nany(?c) :- tier(?c, _), gold(?c).\n"
    tier = external(text, 'tier(a, "gold")')
    _, rows = found(text, "any(?c)", {"tier": Outside(tier)})
    assert rows == {("a",)}
    assert [(one.columns, one.keys) for one in tier.demands] == [((), ((),))]


class Dear(TableExternal):
    @property
    def cost(self) -> int:
        return 1_000


def test_what_is_paid_for_is_never_asked_for_everything() -> None:
    text = """
    .decl e(a: number)
    .input e
    .decl m(a: number)
    .input m
    .decl p(a: number)
    p(?a) :- e(?a), m(?a).
    """
    analysed = program(text)
    outside = world(analysed, ["e(1)", "m(1)", "m(2)"])
    both = tables(analysed, outside)
    model = Dear(analysed.program.predicates["m"], outside)
    _, rows = found(text, "p(?a)", {"e": Outside(both["e"]), "m": Outside(model)})
    assert rows == {(1,)}
    assert [(one.columns, one.keys) for one in model.demands] == [((0,), ((1,),))]


class Doubtful:
    """A relation of full rows, on the word of an authority that is not sure."""

    cost = 10

    def answer(self, demand: Demand) -> Answer:
        word = Evidence("t", Origin.API, "s", SOME_TIME, confidence=Decimal("0.9"))
        return Answer((Portion(((1,),), word),), (), frozenset(demand.keys), (word,))


def test_a_word_of_less_than_full_confidence_is_not_closed() -> None:
    analysed = program(".decl e(a: number)\n.input e\n")
    atom = parse_goal("e(?a)", analysed.program)
    with evaluate(analysed, [atom], {"e": Outside(Doubtful())}, Options(RESOURCES)) as results:
        assert not results.is_closed(0)
        assert results.outcome(0).strength(atom) == 3


def test_an_assumed_rule_is_not_closed() -> None:
    text = f'{REACH}.decl near(a: symbol)\n@[confidence = 0.5]\nnear(?b) :- reach("a", ?b).\n'
    analysed = program(text)
    atom = parse_goal("near(?b)", analysed.program)
    with evaluate(analysed, [atom], {"edge": Rows(EDGES)}, Options(RESOURCES)) as results:
        assert not results.is_closed(0)
        assert set(results.outcome(0).rows("near", 2)) == {("a",), ("b",), ("c",)}
        assert results.outcome(0).strength(atom) == 2


@pytest.mark.parametrize("strategy", list(Strategy))
def test_reports_and_events_say_what_was_done(strategy: Strategy) -> None:
    analysed = program(REACH)
    atom = parse_goal("reach(?a, ?b)", analysed.program)
    events: list[object] = []
    options = Options(RESOURCES, strategy=strategy, measured=True)
    inputs = {"edge": Rows(EDGES)}
    with evaluate(analysed, [atom], inputs, options, events.append) as results:
        report = results.reports[-1]
        assert report.rows["reach"] == 9
        assert report.seconds > 0
    stages = [one for one in events if isinstance(one, StageFinished)]
    assert [(one.number, one.rows) for one in stages] == [
        (one.number, sum(one.rows.values())) for one in results.reports
    ]
    if strategy in results.plan.stages[-1].choices or strategy is Strategy.REFERENCE:
        assert report.strategy == strategy.value or report.tried


def test_calls_outside_are_told() -> None:
    edge = external(REACH, "edge(a, b)")
    events: list[object] = []
    analysed = program(REACH)
    atom = parse_goal("reach(?a, ?b)", analysed.program)
    inputs = {"edge": Outside(edge)}
    with evaluate(analysed, [atom], inputs, Options(RESOURCES), events.append) as results:
        assert [call.demand.predicate.name for call in results.calls] == ["edge"]
    assert [one.rows for one in events if isinstance(one, CallFinished)] == [1]


@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1), (1, 2), (2,), ()])
def test_large_relations_are_looked_up_as_small_ones_are(
    columns: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ".decl e(a: number, b: symbol, c: Decimal)\n.input e\n"
    rows: tuple[Row, ...] = tuple((n, f"t{n % 5}", Decimal(n % 3)) for n in range(40))
    analysed = program(text)
    atom = parse_goal("e(?a, ?b, ?c)", analysed.program)
    keys = tuple(dict.fromkeys(tuple(row[n] for n in columns) for row in rows[::3]))
    expected = [row for row in rows if tuple(row[n] for n in columns) in keys]
    with evaluate(analysed, [atom], {"e": Rows(rows)}, Options(RESOURCES)) as results:
        small = stored.StoredRelations(results.database).matching("e", columns, keys)
        monkeypatch.setattr(stored, "_MANY", 1)
        monkeypatch.setattr(stored, "_SHARE", 7)
        large = stored.StoredRelations(results.database).matching("e", columns, keys)
    assert sorted(small) == sorted(large) == expected


def test_calls_outside_are_bounded() -> None:
    text = """
    .decl e(a: number)
    .input e
    .decl m(a: number)
    .input m
    .decl p(a: number)
    p(?a) :- e(?a), m(?a).
    """
    analysed = program(text)
    atom = parse_goal("p(?a)", analysed.program)
    both = tables(analysed, world(analysed, ["e(1)", "m(1)"]))
    inputs = {name: Outside(one) for name, one in both.items()}
    with evaluate(analysed, [atom], inputs, Options(RESOURCES, calls=1)) as results:
        assert not results.is_closed(0)
        assert "calls" in results.outcome(0).stopped


# What comparisons with constants say in all uses of a relation narrows what is asked of it.

RANGES = """
.decl sold(k: number, a: number)
.input sold
.decl found(k: number)
.decl other(k: number)
.decl total(t: number)
"""


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("found(?k) :- sold(?k, ?a), ?a > 5, 7 >= ?k.", {Range(1, ">", 5), Range(0, "<=", 7)}),
        ("found(?k) :- sold(?k, ?a), ?a > 5.\nfound(?k) :- sold(?k, ?a), ?a > 6.", set()),
        (
            "found(?k) :- sold(?k, ?a), ?a > 5.\nfound(?k) :- sold(?k, ?a), ?a > 5, ?k < 3.",
            {Range(1, ">", 5)},
        ),
        ("found(?k) :- sold(?k, ?a), ?a != 5.", set()),
        ("found(?k) :- sold(?k, ?a), ?a > ?k.", set()),
        ("found(?k) :- other(?k), !sold(?k, 1), ?k > 2.", {Range(0, ">", 2)}),
        ("found(?t) :- ?t = count : { sold(_k, ?a), ?a > 5 }.", {Range(1, ">", 5)}),
        ("found(?k) :- other(?k), ?k > ?t, ?t = sum ?a : { sold(?k, ?a) }.", set()),
        ("found(?k) :- other(?k), ?k > 3, ?k > ?t, ?t = sum ?a : { sold(?k, ?a) }.",
         {Range(0, ">", 3)}),
        # The sum is compared, and no row of it.
        ("found(?t) :- ?t = sum ?a : { sold(_k, ?a) }, ?t > 5.", set()),
    ],
)  # fmt: skip
def test_ranges_are_those_that_all_uses_share(rules: str, expected: set[Range]) -> None:
    analysed = program(f"{RANGES}{rules}\nother(1).")
    atom = parse_goal("found(?x)", analysed.program)
    wish = restrictions(analysed, {"found"}, [atom])["sold"]
    assert set(wish.ranges) == expected


def test_a_wish_covers_what_asks_for_less() -> None:
    narrow = Restriction(ranges=(Range(1, ">", 5), Range(0, "<", 3)))
    wide = Restriction(ranges=(Range(1, ">", 5),))
    keys = Restriction((0,), ((1,), (2,)), wide.ranges)
    assert EVERYTHING.covers(narrow)
    assert wide.covers(narrow)
    assert not narrow.covers(wide)
    assert wide.covers(keys)
    assert not keys.covers(wide)
    assert keys.covers(replace(keys, keys=((2,),)))
