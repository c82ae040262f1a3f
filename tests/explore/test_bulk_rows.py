"""Many rows go by columns and few by cells: both ways say the same, whatever the rows are."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from constat import ConstatError, Session
from constat.cli.solve import solve_command
from constat.evaluation import Assumption, Demand, Evidence, Origin, Readable, Verdict
from constat.explore.events import StepFailureError
from constat.explore.plan import Output, write_plan
from constat.explore.relations import EveryRow, Relation, Settlement, StepRows, sorted_rows
from constat.explore.runs import Records, StepRecord
from constat.explore.tables import OutputRequest, TableLimits, fit_table, select
from constat.logic import Column, Kind, Predicate
from constat.session import bulk, exploring, querying
from constat.session.rows import StoredRows
from constat.store import table_values
from constat.store.table_columns import canonical_stream, in_memory, in_order
from constat.store.table_forms import Table, table_of
from constat.store.table_values import StepResult, TableRows, repeated, rows_table, table_rows
from constat.store.tables import DataStore
from tests.explore.planned import plan, step
from tests.explore.worlds import TODAY
from tests.store.table_values import tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = (
    *(("n", "number"), ("u", "unsigned"), ("f", "float"), ("d", "Decimal"), ("s", "symbol")),
    *(("b", "Bool"), ("day", "Date"), ("at", "Timestamp")),
)
KINDS = tuple(Kind(kind) for _, kind in COLUMNS)
QUERIES = (
    ("SELECT * FROM t", COLUMNS),
    ("SELECT DISTINCT s, d FROM t", (("s", "symbol"), ("d", "Decimal"))),
    ("SELECT s, d FROM t", (("s", "symbol"), ("d", "Decimal"))),
    ("SELECT s, sum(d) AS d FROM t GROUP BY s", (("s", "symbol"), ("d", "Decimal"))),
    ("SELECT s, count(*) AS n FROM t GROUP BY s", (("s", "symbol"), ("n", "number"))),
    ("SELECT b, sum(n) AS n FROM t GROUP BY b", (("b", "Bool"), ("n", "number"))),
    ("SELECT n, n AS d FROM t", (("n", "number"), ("d", "Decimal"))),
    ("SELECT DISTINCT d AS n FROM t", (("n", "number"),)),
    ("SELECT DISTINCT f AS d FROM t", (("d", "Decimal"),)),
    ("SELECT DISTINCT n AS f FROM t", (("f", "float"),)),
    ("SELECT DISTINCT day, at FROM t", (("day", "Date"), ("at", "Timestamp"))),
    ("SELECT DISTINCT CAST(day AS TIMESTAMP) AS at FROM t", (("at", "Timestamp"),)),
    ("SELECT DISTINCT CAST(at AS DATE) AS day FROM t", (("day", "Date"),)),
    ("SELECT DISTINCT n AS s FROM t", (("s", "symbol"),)),
    ("SELECT DISTINCT nullif(s, 'a') AS s FROM t", (("s", "symbol"),)),
    ("SELECT DISTINCT u AS n FROM t", (("n", "number"),)),
    ("SELECT n, s FROM t", (("n", "number"),)),
    ("SELECT DISTINCT n, n FROM t ORDER BY n DESC LIMIT 2", (("n", "number"), ("u", "number"))),
)


def _row(chance: random.Random) -> tuple[Any, ...]:
    """Give a row with values at the edges of their kinds now and then."""
    number = chance.choice([0, 1, -1, 7, (1 << 63) - 1, -(1 << 63), chance.randrange(100)])
    unsigned = chance.choice([0, 5, (1 << 64) - 1, chance.randrange(100)])
    real = chance.choice([0.0, 1.5, -2.25, 1e300, 5e-324, float(chance.randrange(9))])
    digits = chance.choice(["0", "0.05", "-12.5", "1000000", "3.141592653589", "-0.000000000001"])
    text = chance.choice(["", "a", "b", "ä", "日本", "a b", "'", '"', "\n"])
    day = chance.choice(["0001-01-01", "9999-12-31", "2024-02-29", "1969-12-31"])
    at = f"{day}T{chance.choice(['00:00:00.000000', '23:59:59.999999', '00:00:00.000001'])}Z"
    truth = chance.choice(["true", "false"])
    return number, unsigned, real, Decimal(digits), text, truth, day, at


def _rows(chance: random.Random, count: int) -> list[tuple[Any, ...]]:
    return [_row(chance) for _ in range(count)]


def _relation(rows: Sequence[tuple[Any, ...]]) -> Relation:
    return Relation(Output("t", COLUMNS), KINDS, sorted_rows(list(dict.fromkeys(rows))))


def _by_columns(relation: Relation) -> Relation:
    return replace(relation, rows=TableRows(relation.table()))


def _said(query: str, relation: Relation, wanted: OutputRequest) -> object:
    """Give the rows that a query has, or how it failed."""
    try:
        return tuple(select(query, {"t": relation}, wanted).rows)
    except StepFailureError as problem:
        return problem.failure.kind, problem.failure.message, problem.failure.hint


def _agree(queries: Sequence[tuple[str, tuple[tuple[str, str], ...]]], seed: int) -> None:
    chance = random.Random(seed)
    given_rows = _relation(_rows(chance, chance.randrange(9)))
    for query, columns in queries:
        kinds = tuple(Kind(kind) for _, kind in columns)
        wanted = OutputRequest(Output("q", columns), kinds, 6, TableLimits(30.0, 1 << 28))
        expected = _said(query, given_rows, wanted)
        found = _said(query, _by_columns(given_rows), replace(wanted, many=0))
        assert found == expected, query


def test_a_select_says_the_same_by_columns_and_by_cells() -> None:
    _agree(QUERIES[::3], 2)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT nullif(s, 'a') AS s FROM t", "is NULL"),
        ("SELECT 'a' AS s FROM t", "1 of its 2 rows"),
        ("SELECT s || chr(0) AS s FROM t", "NUL"),
    ],
)
def test_what_is_wrong_with_many_rows_is_said(query: str, problem: str) -> None:
    columns = (("s", "symbol"),)
    listed = Relation(Output("t", columns), (Kind.SYMBOL,), (("a",), ("b",)))
    wanted = OutputRequest(Output("q", columns), (Kind.SYMBOL,), 9, many=0)
    with pytest.raises(StepFailureError, match=problem):
        select(query, {"t": listed}, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_any_select_says_the_same_by_columns_and_by_cells(seed: int) -> None:
    _agree(QUERIES, seed)


def test_both_ways_are_taken() -> None:
    given_rows = _relation(_rows(random.Random(1), 5))
    wanted = OutputRequest(Output("q", COLUMNS), KINDS, 9)
    assert isinstance(select("SELECT * FROM t", {"t": given_rows}, wanted).rows, tuple)
    large = select("SELECT * FROM t", {"t": given_rows}, replace(wanted, many=0))
    assert isinstance(large.rows, TableRows)
    assert large.rows == given_rows.rows
    assert large.table() == given_rows.table()


@given(tables())
def test_rows_are_those_of_their_table(table: Table) -> None:
    whole = [one for one in table.columns if not one.missing]
    table = Table(tuple(whole), table.rows)
    expected = table_rows(table)
    rows = TableRows(table)
    assert list(rows) == list(expected)
    assert rows == expected
    assert [rows[place] for place in range(len(rows))] == list(expected)
    for first in range(len(rows) + 1):
        assert rows[first:] == tuple(expected[first:])
        assert rows[:first] == tuple(expected[:first])
    columns = list(zip(table.names, table.kinds, strict=True))
    assert rows_table(columns, rows) == rows_table(columns, expected) == table


@given(tables(most_rows=6), st.randoms(use_true_random=False))
def test_a_table_of_code_is_fitted_the_same_by_columns_and_by_cells(
    table: Table, chance: random.Random
) -> None:
    columns = tuple(zip(table.names, table.kinds, strict=True))
    if chance.random() < 0.5 and table.rows:
        # A row that comes twice.
        listed = [*table.iterate(), next(table.iterate())]
        table = table_of(columns, list(zip(*listed, strict=True)))
    kinds = tuple(map(Kind, table.kinds))

    def fitted(many: int) -> object:
        try:
            return tuple(fit_table(Output("q", columns), kinds, table, 6, many).rows)
        except StepFailureError as problem:
            return problem.failure.message

    assert fitted(0) == fitted(100)


@given(tables())
def test_a_stream_has_the_values_of_the_rows(table: Table) -> None:
    table = Table(tuple(one for one in table.columns if not one.missing), table.rows)
    stream = canonical_stream(table) if table.columns else None
    if stream is None:
        return
    with in_memory() as connection:
        connection.register("streamed", stream)
        found = connection.execute("SELECT * FROM streamed").fetchall()
    assert found == list(table_rows(table))


def test_rows_in_their_order_are_counted_where_they_repeat() -> None:
    columns = [("n", "number"), ("s", "symbol")]
    table = table_of(columns, [[2, 1, 2, 3, 1, 2], ["b", "a", "b", "b", "c", "b"]])
    ordered = in_order(table)
    assert ordered is not None
    rows = list(ordered.iterate())
    assert rows == [(1, "a"), (1, "c"), (2, "b"), (2, "b"), (2, "b"), (3, "b")]
    assert repeated(ordered) == 2


def test_a_step_hands_its_table_on_only_where_all_is_certain() -> None:
    predicate = Predicate("t", tuple(Column(name, kind, Kind(kind)) for name, kind in COLUMNS))
    evidence = Evidence("step", Origin.DERIVED, "step t", "2024-01-01T00:00:00Z")
    relation = _by_columns(_relation(_rows(random.Random(2), 3)))
    everything = Demand(predicate, (), ((),))
    given_rows = StepRows(predicate, relation, evidence)
    assert isinstance(given_rows.as_relation(everything, 10), Readable)
    assert given_rows.as_relation(everything, 2) is None
    assert given_rows.as_relation(Demand(predicate, (0,), ((0,),)), 10) is None
    # Rows that may not be all are told with what is open about them, and never streamed as whole.
    unsure = replace(relation, settlement=Settlement.OPEN)
    assert StepRows(predicate, unsure, evidence).as_relation(everything, 10) is None


def test_one_verdict_on_many_rows_is_kept_without_looking_at_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_values, "MANY", 2)
    plain = _by_columns(_relation(_rows(random.Random(2), 3)))
    rests = Assumption("fact", "code", "the code computes its goal")
    relation = replace(
        plain,
        settlement=Settlement.UNDER,
        assumptions=(rests,),
        weak=EveryRow(plain.rows, Verdict.PROVED_UNDER),
        check="passed",
    )
    records = Records(DataStore(tmp_path, "s"))
    with monkeypatch.context() as patch:
        patch.setattr(TableRows, "__iter__", _looked)
        patch.setattr(TableRows, "__getitem__", _looked)
        records.keep(StepRecord("k", 1, "t", 0.1, 1, relations={"t": relation}), StepResult(1))
        found = Records(DataStore(tmp_path, "s")).find("k", [relation.output])
    assert found is not None
    again = found.relations["t"]
    assert (again.rows, again.settlement, again.assumptions) == (
        *(relation.rows, Settlement.UNDER, (rests,)),
    )
    assert again.weak == dict.fromkeys(relation.rows, Verdict.PROVED_UNDER)
    assert ("none of them",) not in again.weak
    assert again.check == "passed"


def _looked(*_about: object) -> None:
    raise AssertionError("nobody asked for a row")


CHAIN = (
    step(
        "of_year(id: number, region: symbol, product: symbol, day: Date, amount: Decimal)",
        rules="""
of_year(?i, ?r, ?p, ?d, ?a) :-
    period("2024", ?f, ?l), sale(?i, ?r, ?p, ?d, ?a), ?d >= ?f, ?d <= ?l.
""",
    ),
    step(
        "halves(id: number, region: symbol, day: Date, late: Bool, half: Decimal)",
        sql="SELECT id, region, day, day > DATE '2024-06-30' AS late, amount * 0.5 AS half"
        " FROM of_year",
    ),
    step(
        "totals(region: symbol, late: Bool, total: Decimal)",
        rules="totals(?r, ?l, ?t) :- halves(_, ?r, _, ?l, _),"
        " ?t = sum ?a : { halves(_i, ?r, _d, ?l, ?a) }.",
    ),
    step(
        "best(region: symbol, late: Bool, total: Decimal)",
        rank={"of": "totals", "by": ["total desc"], "within": ["region"], "top": 1},
    ),
)


@pytest.mark.laws
def test_a_chain_leaves_the_same_tables_by_columns(
    regions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(regions) as session:
        session.solve("best?", plan=plan(*CHAIN), today=TODAY)
        expected = [(one["name"], one["sha256"]) for one in session.get_state().tables]
    taken: list[int] = []
    read = TableRows.__init__

    def counted(rows: TableRows, table: Table) -> None:
        taken.append(table.rows)
        read(rows, table)

    # As if five rows were many, for each of those who choose a way.
    for module in (querying, exploring, table_values):
        monkeypatch.setattr(module, "MANY", 5)
    monkeypatch.setattr("constat.explore.runs.OutputRequest", _wanting)
    monkeypatch.setattr(TableRows, "__init__", counted)
    with Session(regions) as session:
        explored = session.solve("best?", plan=plan(*CHAIN), today=TODAY)
        assert [(one["name"], one["sha256"]) for one in session.get_state().tables] == expected
        assert len(expected) == 4
        assert len(taken) >= 3
        # What is kept is read again as it was.
        again = session.resume(explored.exploration)
        assert again.rows == explored.rows
        assert "computed" not in {one.how for one in again.steps}


@pytest.mark.laws
def test_what_steps_compute_in_bulk_is_checked(
    regions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (querying, exploring, table_values):
        monkeypatch.setattr(module, "MANY", 5)
    with Session(regions) as session:
        explored = session.solve("best?", plan=plan(*CHAIN), today=TODAY)
        first, *others = [one.check for one in explored.steps]
        assert first == "passed"
        # A ranking, a SELECT and code have no rules to count again.
        assert set(others) <= {"", "passed"}
    (regions / "constat.yaml").write_text(
        (regions / "constat.yaml").read_text(encoding="utf-8") + "check: off\n", encoding="utf-8"
    )
    with Session(regions) as session:
        unchecked = session.solve("best?", plan=plan(*CHAIN), today=TODAY)
        assert unchecked.steps[0].check == "nobody has counted it again"
        # What is asked for one answer goes before what the project says.
        once = session.solve("best?", plan=plan(*CHAIN), today=TODAY, check="always")
        assert once.steps[0].check == "passed"
        with pytest.raises(ValueError, match="`check` is one of background, always, off"):
            session.solve("best?", plan=plan(*CHAIN), today=TODAY, check="never")


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize(
    ("check", "said"), [("always", "passed"), ("off", "nobody has counted it again")]
)
def test_solve_says_what_became_of_its_check(
    regions: Path, monkeypatch: pytest.MonkeyPatch, check: str, said: str
) -> None:
    for module in (querying, exploring, table_values):
        monkeypatch.setattr(module, "MANY", 5)
    (regions / "plan.yaml").write_text(write_plan(plan(*CHAIN)), encoding="utf-8")
    asked = ["solve", "--plan", str(regions / "plan.yaml"), "--today", TODAY, "--events"]
    asked += ["none", "--project", str(regions), "--check", check, "--format"]
    told = json.loads(CliRunner().invoke(solve_command, [*asked, "json"]).stdout)
    assert told["steps"][0]["check"] == said
    text = CliRunner().invoke(solve_command, [*asked, "text"]).stdout
    shown = {
        "passed": "counted again from the rules, and the same: ",
        "nobody has counted it again": "step 1, `of_year`, was not checked: nobody has counted it",
    }
    assert shown[said] in text


def test_a_step_that_is_something_else_when_it_is_counted_again_gives_nothing(
    regions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = bulk._stored

    def lacking(*given: Any) -> StoredRows:  # noqa: ANN401  handed through
        found = usual(*given)
        return replace(found, relation=found.relation.limit(len(found) - 1), total=len(found) - 1)

    monkeypatch.setattr(bulk, "_stored", lacking)
    for module in (querying, exploring, table_values):
        monkeypatch.setattr(module, "MANY", 5)
    with Session(regions) as session:
        with pytest.raises(ConstatError, match="1 row follows and is not there") as caught:
            session.solve("best?", plan=plan(*CHAIN), today=TODAY)
        assert caught.value.exit_code == 7
        assert session.get_state().tables == ()
        assert len(session.differences) == 1


def _wanting(*about: Any) -> OutputRequest:  # noqa: ANN401  the arguments of `OutputRequest`
    return replace(OutputRequest(*about), many=5)
