"""PostgreSQL computes with its own relations what is computed here, or says why it does not."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, event, given, settings

from constat import Session
from constat.catalog import guard
from constat.catalog.connection import ComputingConnection, Whole
from constat.diagnostics import ConstatError
from constat.evaluation import (
    ACCEPTED,
    CERTAIN,
    Demand,
    Evidence,
    Origin,
    QueryRun,
    Served,
    StrategyError,
)
from constat.logic import Kind
from constat.plan.forward import Relation
from constat.session.plan_explaining import PlanQuestion
from constat.sql import trees
from constat.sql.postgres import written
from constat.sql.stages import nothing
from constat.sql.written import stated, typed
from constat.syntax import parse_fact, parse_goal
from tests.forward.running import forward
from tests.language.reading import language_cases
from tests.language.verdicts import VERDICTS
from tests.language.worlds_of_text import program, world
from tests.property.coverage import under
from tests.property.running import truth
from tests.property.strategies import EXACT, Case, cases
from tests.servers.building import BOUNDS, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from constat.evaluation import Answer
    from constat.session.answers import Answers
    from tests.language.reading import LanguageCase
    from tests.property.tables import TableExternal
    from tests.servers.leasing import ServedDatabase, Server

pytestmark = pytest.mark.postgres

RUN: Final = [case for case in language_cases() if case.expectations]
REFUSALS: Final = {"C0681", "C0682"}
SERVER: Final = "PostgreSQL"


# ------------------------------------------------------------------------- worlds of other tests


@dataclass
class OnServer:
    """A table of a world as rows that a query of the server spells out."""

    table: TableExternal
    connection: ComputingConnection

    @property
    def cost(self) -> int:
        return self.table.cost

    def answer(self, demand: Demand) -> Answer:
        return self.table.answer(demand)

    def served(self, demand: Demand, *, cheaply: bool) -> Served | str:
        assert not cheaply
        answer = self.table.answer(demand)
        if answer.openings or any(one.assumption for one in answer.portions):
            return "not all of its rows are certain"
        predicate = self.table.predicate
        plain = (False,) * predicate.arity
        relation = Relation(predicate.name, predicate.kinds, plain, given=True, derived=False)
        rows = [row for portion in answer.portions for row in portion.rows]
        try:
            listed = list(stated(rows, predicate.kinds)) or [nothing(relation)]
            query = written(typed(relation, trees.union(listed), distinct=False))
        except StrategyError as problem:
            return str(problem)
        evidence = Evidence("database", Origin.DATABASE, "sales", "")

        def results(text: str, kinds: tuple[Kind, ...]) -> Iterator[Mapping[str, object]]:
            return self.connection.results(text, kinds, BOUNDS)

        # Rows that are spelled out are the same however often they are read.
        chooses = len(rows) % 2 == 0
        return Served(
            predicate, "sales", query, len(rows), evidence, lambda _: "", results, chooses
        )


@pytest.fixture(scope="module")
def server(postgresql_server: Server) -> Iterator[ComputingConnection]:
    with postgresql_server.fresh() as database:
        connection = opened(database, 30)
        assert isinstance(connection, ComputingConnection)
        connection.begin()
        yield connection
        connection.close()


@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_the_goals_of_a_case_have_their_verdicts_and_rows_or_are_refused(
    case: LanguageCase, server: ComputingConnection
) -> None:
    found = program(case.rules)
    outside = world(found, case.facts)
    refused = []
    for one in case.expectations:
        goal = parse_goal(one.goal, found.program)
        try:
            told = forward(found, outside, goal, placed=lambda table: OnServer(table, server))
        except ConstatError as problem:
            if not {each.code for each in problem.diagnostics} <= REFUSALS:
                raise
            refused.append(f"{one.goal}: {problem.diagnostics[0].message}")
            continue
        assert told.strategies[0].startswith(SERVER)
        assert VERDICTS[told.strength] == one.verdict, one.goal
        if one.rows:
            least = CERTAIN if told.strength == CERTAIN else ACCEPTED
            rows = {parse_fact(row, found.program)[1] for row in one.rows}
            assert told.rows[least] == rows, one.goal
    if len(refused) == len(case.expectations):
        pytest.skip(refused[0])


@settings(suppress_health_check=[*HealthCheck], max_examples=max(60, settings().max_examples))
@given(cases(EXACT))
def test_where_nothing_is_open_it_finds_exactly_the_model(
    server: ComputingConnection, case: Case
) -> None:
    try:
        found = forward(
            case.program, case.world, case.goal, placed=lambda table: OnServer(table, server)
        )
    except ConstatError as refused:
        [code] = {one.code for one in refused.diagnostics}
        event(code)
        assert code in REFUSALS
        return
    expected = truth(case.program, case.world)
    event("the same")
    assert found.strength == expected.strength(case.goal)
    assert found.rows[CERTAIN] == under(case.goal, expected.rows(case.goal.predicate, CERTAIN))


# ------------------------------------------------------------------------------- tables of a shop

CONFIGURATION: Final = 'project: shop\nrules: [rules.dl]\ndatabases: {shop: {uri: "%s"}}\n'
TABLES: Final = (
    "CREATE TABLE customers (id bigint PRIMARY KEY, region text NOT NULL)",
    (
        "INSERT INTO customers SELECT i, CASE WHEN mod(i, 3) = 0 THEN 'é' ELSE 'Z' END"
        " FROM generate_series(1, 60) AS i"
    ),
    (
        "CREATE TABLE orders (id int PRIMARY KEY, customer bigint NOT NULL,"
        " cents smallint NOT NULL, amount numeric(10, 2) NOT NULL,"
        " part double precision NOT NULL, day date NOT NULL,"
        " paid boolean NOT NULL)"
    ),
    (
        "INSERT INTO orders SELECT i, mod(i * 7, 51) + 1, mod(i, 100) - 5, mod(i, 77) / 10.0,"
        " mod(i, 9) / 4.0 - 1, date '2019-12-25' + mod(i, 30), mod(i, 2) = 0"
        " FROM generate_series(1, 25000) AS i"
    ),
    "ANALYZE customers",
    "ANALYZE orders",
)
RULES: Final = """
.pragma "constat" "0.1"
.decl customers(id: number, region: symbol)
.input customers(source="shop", query="SELECT id, region FROM customers")
.decl orders(id: number, customer: number, cents: number, amount: Decimal, part: float, day: Date,
             paid: Bool)
.input orders(source="shop",
              query="SELECT id, customer, cents, amount, part, day, paid FROM orders")
.decl spent(customer: number, cents: number, amount: Decimal)
@[id = "SPENT"]
spent(?c, ?n, ?a) :- customers(?c, _), ?n = sum ?x : { orders(_, ?c, ?x, _, _, _, _) },
                     ?a = sum ?y : { orders(_, ?c, _, ?y, _, _, _) }.
.decl without(id: number)
@[id = "WITHOUT"]
without(?c) :- customers(?c, _), !orders(_, ?c, _, _, _, _, _).
.decl ordered(region: symbol, last: Date, n: number)
@[id = "ORDERED"]
ordered(?r, ?d, ?n) :- customers(?c, ?r), ?r < "é", ?n = count : { orders(_, ?c, _, _, _, _, _) },
                       ?d = max ?x : { orders(_, ?c, _, _, _, ?x, "true") }.
.decl computed(id: number, y: number, t: symbol, f: float, m: Decimal)
@[id = "COMPUTED"]
computed(?i, ?y * 100 + month(?d), cat(?r, "/", to_string(?n / 2)), ?f * 2.0, ?a * ?a) :-
    customers(?c, ?r), orders(?i, ?c, ?n, ?a, ?f, ?d, _), ?y = year(?d), ?n % 7 = -3.
.decl step(a: number, b: number)
@[id = "STEP"]
step(?a, ?b) :- customers(?a, _), ?b = ?a / 2, ?b > 0.
.decl path(a: number, b: number)
@[id = "PATH1"]
path(?a, ?b) :- step(?a, ?b).
@[id = "PATH2"]
path(?a, ?c) :- path(?a, ?b), step(?b, ?c).
.decl share(id: number, n: number)
@[id = "SHARE"]
share(?i, 100 / ?n) :- orders(?i, ?c, ?n, _, _, _, _), customers(?c, _), ?n > 0.
.decl parts(customer: number, f: float)
@[id = "PARTS"]
parts(?c, ?f) :- customers(?c, _), ?f = sum ?x : { orders(_, ?c, _, _, ?x, _, _) }.
.decl shares(customer: number, f: float)
@[id = "SHARES"]
shares(?c, ?f) :- customers(?c, _), ?f = mean ?x : { orders(_, ?c, _, _, ?x, _, _) }.
.decl erring(id: number, n: number)
@[id = "ERRING"]
erring(?i, 100 / ?n) :- orders(?i, ?c, ?n, _, _, _, _), customers(?c, _).
.decl told(id: number)
@[id = "TOLD"]
told(?i) :- erring(?i, _).
.decl like(id: number)
@[id = "LIKE"]
like(?c) :- customers(?c, ?r), match("Z.*", ?r).
"""
GOALS: Final = (
    "spent(?c, ?n, ?a)",
    "without(?c)",
    "ordered(?r, ?d, ?n)",
    "computed(?i, ?y, ?t, ?f, ?m)",
    "parts(?c, ?f)",
    "path(?a, ?b)",
    "path(?a, 1)",
    "share(?i, ?n)",
    "spent(5, ?n, ?a)",
    "orders(?i, 5, ?c, ?a, ?f, ?d, ?p)",
)


def write(folder: Path, uri: str, rules: str = RULES) -> Path:
    (folder / "constat.yaml").write_text(CONFIGURATION % uri, encoding="utf-8")
    (folder / "rules.dl").write_text(rules, encoding="utf-8")
    return folder


@pytest.fixture
def shop(postgresql: ServedDatabase, tmp_path: Path) -> Iterator[Session]:
    postgresql.run(*TABLES)
    with Session(write(tmp_path, postgresql.uri)) as session:
        yield session


def values(session: Session, goal: str, engine: str, check: str = "off") -> set[Any]:
    answers = session.query(goal, engine=engine, check=check)
    assert answers.settled.name == "FOR_CERTAIN"
    return {row.values for row in answers.rows}


def by_server(session: Session, goal: str, engine: str = "forward") -> tuple[str, ...]:
    """Compute a goal, and give how its stages were computed."""
    question = PlanQuestion(on_server=engine == "postgres")
    found = session.explain_plan(goal, question, analyze=True)
    return tuple(one.strategy for one in found.reports or ())


def test_what_the_server_computes_is_what_is_computed_here_and_passes_the_check(
    shop: Session,
) -> None:
    for goal in GOALS:
        there = shop.query(goal, engine="postgres", check="always")
        assert there.recount is not None
        assert there.recount.state.name == "PASSED", goal
        assert {row.values for row in there.rows} == values(shop, goal, "reference"), goal
        assert there.rows, goal


def test_sums_counts_and_joins_are_left_to_the_server_and_the_rest_is_computed_here(
    shop: Session,
) -> None:
    assert all(one.startswith(SERVER) for one in by_server(shop, "spent(?c, ?n, ?a)"))
    assert all(one.startswith(SERVER) for one in by_server(shop, "share(?i, ?n)"))
    assert all(one.startswith(SERVER) for one in by_server(shop, "parts(?c, ?f)"))
    for goal, why in {
        "shares(?c, ?f)": "no exact form of mean over float",
        "path(?a, ?b)": "so few rows",
        "like(?c)": "no exact form of match",
    }.items():
        found = shop.explain_plan(goal, PlanQuestion(), analyze=True)
        assert not any(one.strategy.startswith(SERVER) for one in found.reports or ()), goal
        assert why in " ".join(found.here.values()), goal


def test_what_has_no_exact_form_is_refused_by_name_where_only_the_server_may_compute(
    shop: Session,
) -> None:
    for goal, named in {"shares(?c, ?f)": "SHARES", "like(?c)": "LIKE"}.items():
        with pytest.raises(ConstatError) as refused:
            shop.query(goal, engine="postgres")
        [one] = refused.value.diagnostics
        assert one.code == "C0681"
        assert named in one.message
        assert refused.value.exit_code == 78


def test_a_value_that_cannot_be_had_is_an_error_there_and_open_here(shop: Session) -> None:
    for goal in ("erring(?i, ?n)", "told(?i)"):
        with pytest.raises(ConstatError, match="division by zero") as refused:
            shop.query(goal, engine="postgres")
        assert [one.code for one in refused.value.diagnostics] == ["C0682"]
        here = shop.query(goal, engine="forward", check="off")
        reference = shop.query(goal, engine="reference")
        assert here.settled is reference.settled
        assert {row.values for row in here.rows} == {row.values for row in reference.rows}


def test_each_input_stands_among_the_calls_with_its_query_and_the_state(shop: Session) -> None:
    answers = shop.query("spent(?c, ?n, ?a)", engine="forward", check="off")
    evidence = [one for call in answers.calls for one in call.answer.authorities]
    assert {"customers", "orders"} <= {call.demand.predicate.name for call in answers.calls}
    assert all(one.query and one.snapshot for one in evidence)
    assert len({one.snapshot for one in evidence}) == 1


def test_a_row_of_the_answers_is_proved_as_of_any_bulk(shop: Session) -> None:
    answers = shop.query("spent(?c, ?n, ?a)", engine="postgres", check="off")
    [result] = shop.prove_row("spent(?c, ?n, ?a)", ", ".join(map(str, answers.rows[0].values)))
    assert result.verdict.name == "PROVED"


ODD: Final = (
    # What the table is, what is declared of `x`, and whether the server may compute with it.
    ("x bigint", "(1, 5), (2, NULL)", "number", "", False),
    ("x bigint", "(1, 5), (2, NULL)", "number", 'null = "skip"', True),
    ("x bigint", "(1, 5), (2, NULL)", "number", 'null = "unknown"', False),
    ("x bigint", "(1, 5), (2, 6)", "number", "", True),
    ("x double precision", "(1, '-0'), (2, 0)", "float", "", True),
    ("x double precision", "(1, 'NaN'), (2, 0)", "float", "", False),
    ("x double precision", "(1, 'Infinity'), (2, 0)", "float", "", False),
    ("x numeric", "(1, 1.50), (2, 1.5)", "Decimal", "", True),
    ("x numeric", "(1, 'NaN'), (2, 1.5)", "Decimal", "", False),
    ("x numeric", "(1, 0.0000000000001), (2, 1.5)", "Decimal", "", False),
    ("x numeric", "(1, 1e26), (2, 1.5)", "Decimal", "", False),
    ("x numeric(12, 2)", "(1, 'NaN'), (2, 1.5)", "Decimal", "", False),
    ("x char(3)", "(1, 'a'), (2, 'b')", "symbol", "", False),
    ('x text COLLATE "POSIX"', "(1, 'z'), (2, 'A'), (3, 'ä')", "symbol", "", True),
    ("x text", "(1, 'z'), (2, 'A'), (3, 'ä'), (4, 'Z')", "symbol", "", True),
    ("x varchar", "(1, 'e\u0301'), (2, '\u00e9')", "symbol", "", True),
    ("x text", "(1, repeat('é', 600000)), (2, 'b')", "symbol", "", False),
    ("x date", "(1, 'infinity'), (2, '2020-01-01')", "Date", "", False),
    ("x date", "(1, '0044-03-15 BC'), (2, '2020-01-01')", "Date", "", False),
    ("x date", "(1, '0001-01-01'), (2, '9999-12-31')", "Date", "", True),
    ("x timestamp", "(1, '2020-01-01')", "Timestamp", "", False),
    ("x real", "(1, 0.1)", "float", "", False),
    ("x text", "(1, '12')", "number", "", False),
    ("x boolean", "(1, true), (2, false)", "Bool", "", True),
)


@pytest.mark.parametrize(("column", "cells", "kind", "null", "there"), ODD)
def test_of_hostile_cells_it_says_what_is_said_here_or_nothing(
    postgresql: ServedDatabase,
    tmp_path: Path,
    column: str,
    cells: str,
    kind: str,
    null: str,
    *,
    there: bool,
) -> None:
    postgresql.run(
        f"CREATE TABLE t (id bigint PRIMARY KEY, {column})",
        f"INSERT INTO t VALUES {cells}",
    )
    mark = f"@[{null}] " if null else ""
    rules = f"""
    .pragma "constat" "0.1"
    .decl t(id: number, {mark}x: {kind})
    .input t(source="shop", query="SELECT id, x FROM t")
    .decl same(a: number, b: number)
    @[id = "SAME"]
    same(?a, ?b) :- t(?a, ?x), t(?b, ?x).
    .decl least(x: {kind})
    @[id = "LEAST"]
    least(?x) :- ?x = min ?y : {{ t(_, ?y) }}.
    .decl before(a: number, b: number)
    @[id = "BEFORE"]
    before(?a, ?b) :- t(?a, ?x), t(?b, ?y), ?x < ?y.
    """
    if kind == "Bool":
        rules = rules.partition(".decl least")[0]
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        for goal in ("same(?a, ?b)", "least(?x)", "before(?a, ?b)", "t(?a, ?x)"):
            if goal.split("(")[0] not in rules:
                continue
            codes = set()
            try:
                found = session.query(goal, engine="postgres", check="off")
            except ConstatError as refused:
                codes = {one.code for one in refused.diagnostics}
                found = None
            assert there == (found is not None), goal
            if found is None:
                assert codes == {"C0681"}
                continue
            expected = session.query(goal, engine="reference")
            assert {row.values for row in found.rows} == {row.values for row in expected.rows}, goal
            assert found.settled is expected.settled


def test_rows_of_which_a_part_is_possible_are_refused_there_by_name(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    # Nobody reads `x`, so its relation has parts of its own, which no input has.
    postgresql.run("CREATE TABLE t (id bigint, x bigint)", "INSERT INTO t VALUES (1, 5), (2, NULL)")
    rules = """
    .pragma "constat" "0.1"
    @[distinct] .decl t(id: number, @[null = unknown] x: number)
    .input t(source="shop", query="SELECT id, x FROM t")
    .decl lone(id: number)
    @[id = "LONE"]
    lone(?a) :- t(?a, ?x), !t(_, ?x).
    .decl some(n: number)
    @[id = "SOME"]
    some(?n) :- ?n = count : { t(_, _) }.
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        for goal in ("lone(?a)", "some(?n)"):
            with pytest.raises(ConstatError) as refused:
                session.query(goal, engine="postgres", check="off")
            assert {one.code for one in refused.value.diagnostics} == {"C0681"}


def test_rows_that_come_twice_are_no_set_there(postgresql: ServedDatabase, tmp_path: Path) -> None:
    postgresql.run("CREATE TABLE t (x bigint NOT NULL)", "INSERT INTO t VALUES (1), (1), (2)")
    rules = """
    .pragma "constat" "0.1"
    .decl t(x: number)
    .input t(source="shop", query="SELECT x FROM t")
    .decl total(n: number)
    @[id = "TOTAL"]
    total(?n) :- ?n = sum ?x : { t(?x) }.
    """
    with (
        Session(write(tmp_path, postgresql.uri, rules)) as session,
        pytest.raises(ConstatError, match="come twice"),
    ):
        session.query("total(?n)", engine="postgres")
    merged = rules.replace(".decl t", "@[distinct] .decl t")
    with Session(write(tmp_path, postgresql.uri, merged)) as session:
        assert values(session, "total(?n)", "postgres") == {(3,)}


def test_sums_that_no_number_holds_and_products_that_no_decimal_holds_are_errors(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, m numeric NOT NULL)",
        "INSERT INTO t VALUES (9223372036854775807, 0.0000001), (9223372036854775806, 2)",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, m: Decimal)
    .input t(source="shop", query="SELECT id, m FROM t")
    .decl total(n: number)
    @[id = "TOTAL"]
    total(?n) :- ?n = sum ?x : { t(?x, _) }.
    .decl both(m: Decimal)
    @[id = "BOTH"]
    both(?m * ?m) :- t(_, ?m).
    .decl more(n: number)
    @[id = "MORE"]
    more(?x + 1) :- t(?x, _).
    .decl whole(m: Decimal)
    @[id = "WHOLE"]
    whole(?n) :- ?n = sum ?m : { t(_, ?m) }.
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        for goal in ("total(?n)", "both(?m)", "more(?n)"):
            with pytest.raises(ConstatError) as refused:
                session.query(goal, engine="postgres")
            assert {one.code for one in refused.value.diagnostics} == {"C0682"}, goal
        assert values(session, "whole(?m)", "postgres") == {(Decimal("2.0000001"),)}


SUMMED: Final[Mapping[int, tuple[float, ...]]] = {
    # Half of a last bit is added to an even float, with a little less, or more, and exactly.
    1: (2.0**36, 2.0**-17 * (1 - 2.0**-53)),
    2: (2.0**36, 2.0**-17 * (1 + 2.0**-52)),
    3: (2.0**36, 2.0**-17),
    4: (1e15, 0.1, -1e15, 0.2, 0.3),
    5: (-0.0, 0.0),
    6: (2.0**53, 1.0, -(2.0**53), 1.0),
    7: tuple(n / 100 for n in range(1, 2_000, 7)),
}


@pytest.mark.parametrize("grouped", [True, False], ids=["groups", "all"])
def test_sums_of_floats_are_rounded_once(
    postgresql: ServedDatabase, tmp_path: Path, *, grouped: bool
) -> None:
    rows = [(g, n, x) for g, xs in SUMMED.items() for n, x in enumerate(xs)]
    postgresql.run("CREATE TABLE t (g bigint, n bigint, x float8 NOT NULL, PRIMARY KEY (g, n))")
    postgresql.insert("t", rows)
    rules = """
    .pragma "constat" "0.1"
    .decl t(g: number, n: number, x: float)
    .input t(source="shop", query="SELECT g, n, x FROM t")
    .decl total(g: number, f: float)
    @[id = "TOTAL"]
    total(?g, ?f) :- t(?g, _, _), ?f = sum ?x : { t(?g, _, ?x) }.
    .decl every(f: float)
    @[id = "EVERY"]
    every(?f) :- ?f = sum ?x : { t(_, _, ?x) }.
    .decl none(f: float)
    @[id = "NONE"]
    none(?f) :- ?f = sum ?x : { t(99, _, ?x) }.
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        if grouped:
            wanted = {(g, math.fsum(xs)) for g, xs in SUMMED.items()}
            assert values(session, "total(?g, ?f)", "postgres") == wanted
        else:
            assert values(session, "every(?f)", "postgres") == {(math.fsum(x for *_, x in rows),)}
            assert values(session, "none(?f)", "postgres") == {(0.0,)}


@pytest.mark.parametrize("strange", [1e-7, 2.0**54, 1e300])
def test_a_float_that_the_server_does_not_add_up_exactly_is_added_up_here(
    postgresql: ServedDatabase, tmp_path: Path, strange: float
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, x float8 NOT NULL)",
        "INSERT INTO t SELECT i, i / 8.0 FROM generate_series(1, 25000) AS i",
        f"UPDATE t SET x = {strange!r} WHERE id = 77",
        "ANALYZE t",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, x: float)
    .input t(source="shop", query="SELECT id, x FROM t")
    .decl total(f: float)
    @[id = "TOTAL"]
    total(?f) :- ?f = sum ?x : { t(_, ?x) }.
    """
    whole = math.fsum(strange if i == 77 else i / 8 for i in range(1, 25_001))
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        with pytest.raises(ConstatError) as refused:
            session.query("total(?f)", engine="postgres")
        assert {one.code for one in refused.value.diagnostics} == {"C0682"}
        assert values(session, "total(?f)", "forward") == {(whole,)}


FLOATS: Final = """
.pragma "constat" "0.1"
.decl t(id: number, k: number, x: float)
.input t(source="shop", query="SELECT id, k, x FROM t")
.decl u(k: number, s: symbol)
.input u(source="shop", query="SELECT k, s FROM u")
.decl above(id: number, x: float)
@[id = "ABOVE"]
above(?i, ?x) :- t(?i, _, ?x), ?x > 1.0.
.decl here(id: number)
@[id = "HERE"]
here(?i) :- u(?k, "here"), t(?i, ?k, ?x), ?x > 1.0.
.decl zero(id: number, x: float)
@[id = "ZERO"]
zero(?i, ?x) :- t(?i, _, ?x), ?x = 0.0.
.decl many(s: symbol, n: number)
@[id = "MANY"]
many(?s, ?n) :- u(_, ?s), ?n = count : { u(?k, ?s), t(_i, ?k, _x) }.
.decl none(k: number)
@[id = "NONE"]
none(?k) :- u(?k, _), !t(_, ?k, _).
.decl most(x: float)
@[id = "MOST"]
most(?x) :- ?x = max ?y : { t(_, _, ?y) }.
.decl ids(id: number)
@[id = "IDS"]
ids(?i) :- t(?i, _, _), u(_, "here").
"""
FLOAT_GOALS: Final = (
    *("above(?i, ?x)", "here(?i)", "zero(?i, ?x)", "many(?s, ?n)", "none(?k)", "most(?x)"),
    *("ids(?i)", "above(3, ?x)", "above(?i, 2.5)"),
)


@pytest.mark.parametrize("listed", [0, 20_000])
@pytest.mark.parametrize("odd", ["0.5", "-0.0", "NaN", "Infinity", "-Infinity"])
def test_a_float_that_is_no_value_is_met_in_the_query_itself(
    postgresql: ServedDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    odd: str,
    listed: int,
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, k bigint NOT NULL, x float8 NOT NULL)",
        f"INSERT INTO t VALUES (1, 1, 0), (2, 1, 1.5), (3, 2, 2.5), (4, 3, '{odd}')",
        "CREATE TABLE u (k bigint PRIMARY KEY, s varchar(9) NOT NULL)",
        "INSERT INTO u VALUES (1, 'here'), (2, 'here'), (3, 'there'), (9, 'there')",
    )
    monkeypatch.setattr("constat.forward.distributed._FEW", 0)
    monkeypatch.setattr("constat.forward.distributed._LISTED", listed)
    is_value = odd in {"0.5", "-0.0"}
    with Session(write(tmp_path, postgresql.uri, FLOATS)) as session:
        for goal in FLOAT_GOALS:
            there = session.query(goal, engine="forward", check="off")
            expected = session.query(goal, engine="reference")
            assert said(there) == said(expected), goal
            if goal in {"many(?s, ?n)", "most(?x)"}:
                computed = any(one.startswith(SERVER) for one in by_server(session, goal))
                assert computed == is_value, goal
        # No cell of the column is read, so it does not matter there.
        assert any(one.startswith(SERVER) for one in by_server(session, "ids(?i)"))


def said(answers: Answers) -> tuple[str, set[Any]]:
    rows = {(row.values, row.verdict.value.replace("COMPUTED", "PROVED")) for row in answers.rows}
    return answers.settled.name, rows


def test_a_limit_ends_the_query_on_the_server(postgresql: ServedDatabase, tmp_path: Path) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY)",
        "INSERT INTO t SELECT generate_series(1, 300)",
        "ANALYZE t",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number)
    .input t(source="shop", query="SELECT id FROM t")
    .decl all(n: number)
    @[id = "ALL"]
    all(?n) :- ?n = count : { t(?a), t(?b), t(?c), t(?d), t(?e), ?a + ?b + ?c + ?d + ?e > 7 }.
    """
    folder = write(tmp_path, postgresql.uri, rules)
    with (folder / "constat.yaml").open("a", encoding="utf-8") as file:
        file.write("limits: {seconds: 1}\n")
    with Session(folder) as session:
        for engine in ("postgres", "forward"):
            try:
                assert session.query("all(?n)", engine=engine, check="off").stopped
            except ConstatError as ended:
                codes = {one.code for one in ended.diagnostics}
            else:
                codes = {"C0682"}
            assert codes == {"C0682"}
        running = postgresql.rows(
            "SELECT query FROM pg_stat_activity WHERE application_name = 'constat'"
            " AND state = 'active' AND datname = current_database()"
        )
    assert running == []


def test_cells_are_looked_at_where_a_rule_reads_them_and_rows_that_null_lets_come_twice_are_seen(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, f double precision, n bigint)",
        "INSERT INTO t VALUES (1, 'NaN', 3), (2, 0.5, NULL), (3, 0.5, NULL)",
        "CREATE TABLE u (n bigint UNIQUE, m bigint NOT NULL)",
        "INSERT INTO u VALUES (NULL, 1), (NULL, 1), (4, 1)",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, f: float, @[null = "unknown"] n: number)
    .input t(source="shop", query="SELECT id, f, n FROM t")
    .decl u(@[null = "none"] n: number, m: number)
    .input u(source="shop", query="SELECT n, m FROM u")
    .decl ids(id: number)
    @[id = "IDS"]
    ids(?i) :- t(?i, _, _).
    .decl halves(id: number)
    @[id = "HALVES"]
    halves(?i) :- t(?i, 0.5, _).
    .decl summed(k: number)
    @[id = "SUMMED"]
    summed(?k) :- ?k = sum ?m : { u(_, ?m) }.
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        assert values(session, "ids(?i)", "postgres") == {(1,), (2,), (3,)}
        assert values(session, "ids(?i)", "reference") == {(1,), (2,), (3,)}
        for goal in ("halves(?i)", "summed(?k)"):
            with pytest.raises(ConstatError) as refused:
                session.query(goal, engine="postgres")
            assert {one.code for one in refused.value.diagnostics} == {"C0681"}, goal


def test_what_may_be_null_is_read_here_in_bulk_and_not_row_by_row(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint)",
        "INSERT INTO t SELECT i, nullif(mod(i, 5), 0) FROM generate_series(1, 25000) AS i",
        "CREATE TABLE u (n bigint PRIMARY KEY)",
        "INSERT INTO u VALUES (1), (2)",
        "ANALYZE t",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, @[null = "none"] n: number)
    .input t(source="shop", query="SELECT id, n FROM t")
    .decl u(n: number)
    .input u(source="shop", query="SELECT n FROM u")
    .decl met(id: number)
    @[id = "MET"]
    met(?i) :- u(?n), t(?i, ?n).
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        found = session.explain_plan("met(?i)", PlanQuestion(), analyze=True)
        assert not found.left
        assert found.here
        assert not any(one.strategy.startswith(SERVER) for one in found.reports or ())
        assert len(session.query("met(?i)", engine="forward", check="off")) == 10_000


def placed(connection: ComputingConnection, query: str, *kinds: Kind) -> tuple[str, bool]:
    guarded = guard(query, "postgres")
    whole = Whole(guarded, kinds, ("error",) * len(kinds), False, ())
    return connection.placed(whole, 10, cheaply=False)


def test_only_rows_of_one_table_may_be_read_twice_and_none_of_a_view_or_of_a_choice_by_order(
    postgresql: ServedDatabase,
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL)",
        "INSERT INTO t SELECT i, i FROM generate_series(1, 9) AS i",
        "CREATE VIEW v AS SELECT id, n FROM t LIMIT 3",
        'CREATE TABLE "T" (id bigint PRIMARY KEY, n bigint NOT NULL)',
        "CREATE VIEW w AS SELECT id, n FROM t LIMIT 3",
        'CREATE TABLE "W" (id bigint PRIMARY KEY, n bigint NOT NULL)',
    )
    both = (Kind.NUMBER, Kind.NUMBER)
    with closing(opened(postgresql, 30)) as connection:
        assert isinstance(connection, ComputingConnection)
        connection.begin()
        for query in (
            "SELECT id, n FROM v",
            "SELECT id, n FROM w",
            "SELECT id, n FROM t LIMIT 3",
            "SELECT id, n + 1 FROM t",
            "SELECT a.id, a.n FROM t a, t b WHERE a.id = b.id",
            "SELECT id, n FROM (SELECT id, n FROM t ORDER BY n LIMIT 3) s",
        ):
            assert not placed(connection, query, *both)[1], query


def test_a_table_is_read_as_often_as_rules_read_it_and_a_query_of_several_once(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, s varchar(9) NOT NULL)",
        "INSERT INTO t SELECT i, mod(i, 7), 'open' FROM generate_series(1, 900) AS i",
        "CREATE TABLE u (id bigint PRIMARY KEY, s text NOT NULL)",
        "INSERT INTO u VALUES (1, 'open'), (2, repeat('x', 1048577))",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, n: number, s: symbol)
    .input t(source="shop", query="SELECT id, n, s FROM t")
    .decl least(id: number, n: number)
    .input least(source="shop", query="SELECT min(id), n FROM t GROUP BY n")
    .decl u(id: number, s: symbol)
    .input u(source="shop", query="SELECT id, s FROM u")
    .decl twice(a: number, b: number)
    @[id = "TWICE"]
    twice(?a, ?b) :- t(?a, ?n, "open"), t(?b, ?n, "open"), least(?a, ?n), least(?b, ?n).
    .decl said(id: number)
    @[id = "SAID"]
    said(?i) :- u(?i, "open").
    """
    ran: list[str] = []
    with Session(write(tmp_path, postgresql.uri, rules)) as session:

        def hear(event: object) -> None:
            if isinstance(event, QueryRun):
                ran.append(" ".join(event.query.split()))

        answers = session.query("twice(?a, ?b)", engine="postgres", check="off", observe=hear)
        assert {row.values for row in answers.rows} == {(one, one) for one in range(1, 8)}
        (query,) = [one for one in ran if "r_0" in one]
        assert '_t" AS NOT MATERIALIZED (' in query
        assert '_least" AS (' in query
        assert "WITH q(" not in query
        # A text of a short column needs no look at it, and one of any length does.
        with pytest.raises(ConstatError):
            session.query("said(?i)", engine="postgres")
        assert values(session, "said(?i)", "reference") == {(1,)}


def test_of_one_large_table_the_server_computes_what_leaves_few_rows(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, s varchar(9) NOT NULL)",
        "INSERT INTO t SELECT i, mod(i, 999), 's' || mod(i, 3)"
        " FROM generate_series(1, 210000) AS i",
        "ANALYZE t",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, n: number, s: symbol)
    .input t(source="shop", query="SELECT id, n, s FROM t")
    .decl states(s: symbol)
    @[id = "STATES"]
    states(?s) :- t(_, _, ?s).
    .decl above(id: number)
    @[id = "ABOVE"]
    above(?i) :- t(?i, ?n, _), ?n > 990.
    .decl most(id: number)
    @[id = "MOST"]
    most(?i) :- t(?i, ?n, _), ?n > 500.
    .decl some(id: number)
    @[id = "SOME"]
    some(?i) :- t(?i, 7, "s1").
    .decl many(id: number)
    @[id = "MANY"]
    many(?i) :- t(?i, _, "s1").
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        assert all(one.startswith(SERVER) for one in by_server(session, "states(?s)"))
        assert values(session, "states(?s)", "forward") == {("s0",), ("s1",), ("s2",)}
        found = session.explain_plan("most(?i)", PlanQuestion(), analyze=True)
        assert "of one relation" in " ".join(found.here.values())
        # A few rows come as they are, and no database is opened for them here.
        assert all(one.startswith(SERVER) for one in by_server(session, "above(?i)"))
        assert len(session.query("above(?i)", check="off")) == 1_680
        # Few rows have the constants of the rule, so they are asked for at once.
        few = session.query("some(?i)", check="off")
        many = session.query("many(?i)", check="off")
        assert (few.in_bulk, many.in_bulk) == (False, True)
        assert (len(few), len(many)) == (211, 70_000)


def test_a_closure_is_computed_there_however_it_is_written_and_other_recursion_only_if_linear(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE TABLE e (a bigint NOT NULL, b bigint NOT NULL, PRIMARY KEY (a, b))",
        "INSERT INTO e VALUES (1, 2), (2, 3), (3, 1), (3, 4)",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl e(a: number, b: number)
    .input e(source="shop", query="SELECT a, b FROM e")
    .decl path(a: number, b: number)
    @[id = "PATH1"]
    path(?a, ?b) :- e(?a, ?b).
    @[id = "PATH2"]
    path(?a, ?c) :- path(?a, ?b), path(?b, ?c).
    .decl apart(a: number, b: number)
    @[id = "APART1"]
    apart(?a, ?b) :- e(?a, ?b).
    @[id = "APART2"]
    apart(?a, ?c) :- apart(?a, ?b), apart(?b, ?c), ?a != ?c.
    """
    with Session(write(tmp_path, postgresql.uri, rules)) as session:
        assert by_server(session, "path(?a, ?b)", "postgres") == ("PostgreSQL's recursion",)
        there = values(session, "path(?a, ?b)", "postgres", "always")
        assert there == values(session, "path(?a, ?b)", "reference")
        assert len(there) == 12
        with pytest.raises(ConstatError, match="its recursion is not linear") as refused:
            session.query("apart(?a, ?b)", engine="postgres")
        assert [one.code for one in refused.value.diagnostics] == ["C0681", "C0681"]
        plan = session.explain_plan("apart(?a, ?b)", PlanQuestion(on_server=True), analyze=False)
        assert any("not linear" in line for lines in plan.elsewhere.values() for line in lines)
