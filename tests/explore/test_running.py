"""Steps run lazily, once, and again only after a change; failures are kept and told."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.explore.events import (
    FactResolved,
    Retrying,
    StepFailed,
    StepFinished,
    StepStarted,
    TableCreated,
)
from constat.explore.relations import Settlement
from constat.store.tables import DataStore
from tests.explore.planned import Scripted, call, plan, step, told
from tests.explore.worlds import TODAY

if TYPE_CHECKING:
    from pathlib import Path

TOTALS = step(
    "totals(region: symbol, total: Decimal)",
    rules="totals(?r, ?t) :- sale(_, ?r, _, _, _), ?t = sum ?a : { sale(_i, ?r, _p, _d, ?a) }.",
)
COUNTS = step(
    "counts(product: symbol, sales: number)",
    rules="counts(?p, ?n) :- product(?p, _), ?n = count : { sale(_i, _r, ?p, _d, _a) }.",
)
RANKED = step(
    "ranked(place: number, region: symbol, total: Decimal)",
    rank={"of": "totals", "by": "total desc", "top": 2, "place": "place"},
)
KEPT = step(
    "kept(region: symbol, person: symbol, total: Decimal)",
    rules="kept(?r, ?p, ?t) :- totals(?r, ?t), keeper(?r, ?p).",
)


def failed(session: Session, *steps: object, **more: object) -> ConstatError:
    with pytest.raises(ConstatError) as caught:
        session.solve("what?", plan=plan(*steps), today=TODAY, **more)  # type: ignore[arg-type]
    return caught.value


def test_a_step_that_nobody_needs_is_not_run(session: Session) -> None:
    events: list[object] = []
    explored = session.solve(
        "which regions lead?", plan=plan(TOTALS, COUNTS, RANKED), observe=events.append
    )
    assert [one.step for one in told(events, StepStarted)] == [1, 3]
    assert {one.predicate for one in told(events, FactResolved)} == {"sale"}
    assert [one.how for one in explored.steps] == ["computed", "not needed", "computed"]
    assert [one.name for one in told(events, TableCreated)] == ["totals", "ranked"]
    assert [row[0] for row in explored.rows] == [1, 2]


def test_only_what_has_changed_is_run_again(session: Session, regions: Path) -> None:
    explored = session.solve("which regions lead?", plan=plan(TOTALS, COUNTS, RANKED))
    events: list[object] = []
    again = session.resume(observe=events.append)
    assert told(events, StepStarted) == []
    assert again.rows == explored.rows
    with closing(sqlite3.connect(regions / "sales.sqlite")) as connection:
        row = (100_000, "East", "pen", "2024-12-01", "1000000.01")
        connection.execute("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
    changed = session.resume(observe=events.append)
    assert [one.step for one in told(events, StepStarted)] == [1, 3]
    assert changed.rows[0][1] == "East"
    assert any("computed again" in note for note in changed.notes)
    # The earlier tables are still there.
    versions = DataStore(session.project.state, explored.exploration).tables(history=True)
    assert [(one.name, one.version) for one in versions] == [
        ("ranked", 1),
        ("ranked", 2),
        ("totals", 1),
        ("totals", 2),
    ]


def test_what_is_not_known_stays_open_and_ranking_refuses_it(session: Session) -> None:
    explored = session.solve("who looks after what?", plan=plan(TOTALS, KEPT))
    assert explored.settlement is Settlement.OPEN
    assert explored.exit_code == 4
    assert any("keeper" in reason for reason in explored.relation.reasons)
    assert explored.sentence == "kept: not settled, 0 rows known so far."
    report = check_certificate(explored.certificate)
    assert (report.verdict, report.reason) == ("UNRESOLVED", None)
    assert any("keeper" in one for one in report.missing)
    over = step("over(region: symbol)", rules="over(?r) :- kept(?r, _, _).")
    rest = step("rest(region: symbol)", rules="rest(?r) :- totals(?r, _), !kept(?r, _, _).")
    for above in (over, rest):
        assert session.follow_up("and so?", plan=plan(above)).settlement is Settlement.OPEN, above
    # Unknown is never kept for known: it is asked again.
    events: list[object] = []
    session.resume(observe=events.append)
    how = {one.step: one.how for one in told(events, StepFinished)}
    assert how == {1: "kept", 2: "computed", 4: "computed"}
    ranked = step(
        "first(place: number, region: symbol, person: symbol, total: Decimal)",
        rank={"of": "kept", "by": ["total desc"], "place": "place"},
    )
    problem = failed(session, TOTALS, KEPT, ranked)
    assert [one.code for one in problem.diagnostics] == ["C0897"]
    assert "not all known" in problem.diagnostics[0].message


def test_what_rests_on_a_stated_fact_says_so(session: Session, regions: Path) -> None:
    text = (regions / "constat.yaml").read_text()
    (regions / "constat.yaml").write_text(text + "closed: {keeper: the sales team}\n")
    with Session(regions) as other:
        other.facts.add("keeper(North, ann)", author="bob")
        explored = other.solve("who looks after what?", plan=plan(TOTALS, KEPT))
        assert explored.settlement is Settlement.UNDER
        assert [row[:2] for row in explored.rows] == [("North", "ann")]
        assert any("bob" in one.text for one in explored.assumptions)
        # A ranking over it rests on the same, and so do rules over the ranking.
        first = step(
            "first(region: symbol, total: Decimal)",
            rank={"of": "kept", "by": "total desc", "top": 1},
        )
        after = step("name(region: symbol)", rules="name(?r) :- first(?r, _).")
        second = other.follow_up("who leads?", plan=plan(first, after))
        assert second.settlement is Settlement.UNDER
        assert second.rows == (("North",),)
        # So does what says that something is not among them.
        others = step("others(region: symbol)", rules="others(?r) :- totals(?r, _), !name(?r).")
        third = other.follow_up("who does not?", plan=plan(others))
        assert third.settlement is Settlement.UNDER
        assert len(third.rows) == 3
        assert set(third.relation.weak) == set(third.rows)
        assert any("bob" in one.text for one in second.assumptions)
        # The proofs of all three name whose word they take.
        for one in (explored, second, third):
            report = check_certificate(one.certificate)
            assert (report.verdict, report.reason) == ("PROVED_UNDER", None)
            assert any("bob" in text for text in report.under)
        # A person may add what nobody has said; then it is computed again.
        other.facts.add("keeper(South, cleo)", author="bob")
        assert len(other.resume().rows) == 3
        state = {one["name"]: one["rows"] for one in other.get_state().tables}
        assert state["kept"] == 2


def test_a_certain_row_stays_certain_beside_one_that_rests_on_a_word(regions: Path) -> None:
    text = (regions / "constat.yaml").read_text()
    (regions / "constat.yaml").write_text(text + "closed: {keeper: the sales team}\n")
    rules = 'mixed(?r) :- totals(?r, _), ?r = "East".\nmixed(?r) :- keeper(?r, _).'
    over = step("over(region: symbol)", rules="over(?r) :- mixed(?r).")
    with Session(regions) as session:
        session.facts.add("keeper(North, ann)", author="bob")
        mixed = step("mixed(region: symbol)", rules=rules)
        explored = session.solve("which?", plan=plan(TOTALS, mixed, over))
    assert explored.rows == (("East",), ("North",))
    assert set(explored.relation.weak) == {("North",)}


def test_equal_ranks_are_kept_together(session: Session) -> None:
    ties = step(
        "ties(name: symbol, n: number)",
        sql="SELECT product, category_size FROM (SELECT product, count(*) OVER (PARTITION BY"
        " category) AS category_size FROM product)",
    )
    first = step("first(name: symbol, n: number)", rank={"of": "ties", "by": "n desc", "top": 1})
    explored = session.solve("which?", plan=plan(ties, first))
    assert len(explored.rows) == 4


def test_a_limit_among_equal_rows_is_decided_by_their_values(session: Session) -> None:
    # The rows lie in the order of products: the first two of them are of both categories.
    some = step(
        "some(category: symbol, name: symbol)",
        sql="SELECT category, product FROM product ORDER BY length('x') LIMIT 2",
    )
    assert session.solve("some?", plan=plan(some)).rows == (("home", "desk"), ("home", "lamp"))


def test_exact_decimals_stay_exact_through_a_select(session: Session) -> None:
    tenths = step(
        "tenths(v: Decimal)",
        sql="SELECT sum(amount) / 10 * 10 FROM sale WHERE id <= 3",
    )
    whole = step("whole(v: Decimal)", rules="whole(?t) :- ?t = sum ?a : { small(_i, ?a) }.")
    small = step(
        "small(id: number, v: Decimal)", rules="small(?i, ?a) :- sale(?i, _, _, _, ?a), ?i <= 3."
    )
    first = session.solve("sum?", plan=plan(tenths)).rows
    second = session.solve("sum?", plan=plan(small, whole)).rows
    assert first == second
    assert isinstance(first[0][0], Decimal)


@pytest.mark.parametrize(
    ("select", "kind"),
    [
        ("SELECT region, sum(amont) FROM sale GROUP BY region", "missing column"),
        ("SELECT region, region FROM sale", "result"),
        ("SELECT DISTINCT region, NULL FROM sale", "result"),
        (
            "SELECT 'x', amount FROM sale WHERE id < 3 UNION ALL SELECT 'x', amount FROM sale",
            "result",
        ),
        ("SELECT region, CAST(region AS INTEGER) FROM sale", "type"),
        ("SELECT region FROM sale", "result"),
    ],
)
def test_a_select_that_fails_is_classified_and_kept(
    session: Session, select: str, kind: str
) -> None:
    events: list[object] = []
    problem = failed(session, step("t(r: symbol, v: Decimal)", sql=select), observe=events.append)
    assert problem.exit_code == 4
    [failure] = told(events, StepFailed)
    assert failure.kind == kind
    assert session.history[-1].questions[0].status == "failed"
    store = DataStore(session.project.state, session.history[-1].identity)
    [error] = store.artifacts(kind="error")
    assert store.content(error).decode().startswith(f"{kind}: ")
    [query] = store.artifacts(kind="query")
    assert store.content(query).decode() == select


def test_a_model_mends_a_step_and_the_plan_keeps_both_versions(session: Session) -> None:
    wrong = step(
        "t(region: symbol, v: Decimal)", sql="SELECT region, sum(amont) FROM sale GROUP BY 1"
    )
    events: list[object] = []
    client = Scripted.of(
        call("rewrite_step", text="SELECT region, sum(amuont) FROM sale GROUP BY 1"),
        call("rewrite_step", text="SELECT region, sum(amount) FROM sale GROUP BY 1"),
    )
    explored = session.solve(
        "totals?", plan=plan(wrong), mend=True, client=client, observe=events.append
    )
    assert len(explored.rows) == 4
    assert [(one.attempt, one.retryable) for one in told(events, StepFailed)] == [
        (1, True),
        (2, True),
    ]
    assert [one.attempt for one in told(events, Retrying)] == [2, 3]
    assert "amount" in explored.plan.steps[0].text
    # What a model has corrected rests on the model's word, also when it is looked at again.
    assert explored.settlement is Settlement.UNDER
    assert session.resume().settlement is Settlement.UNDER
    versions = session.history[-1].questions[0].plans
    assert [one.why for one in versions] == ["proposed", "mended step 1", "mended step 1"]
    # The model was told the error, the step, and what it may read.
    said = client.asked[0].turns[0].text
    assert "missing column" in said
    assert "amont" in said
    assert "sale(id: number, region: symbol" in said


def test_a_correction_has_its_bounds(session: Session) -> None:
    wrong = step("t(region: symbol)", sql="SELECT regin FROM sale")
    client = Scripted.of(*[call("rewrite_step", text="SELECT rgion FROM sale")] * 5)
    problem = failed(session, wrong, mend=True, client=client)
    assert len(client.asked) == 2
    assert "in 3 attempts" in problem.diagnostics[0].message


def test_a_correction_may_not_become_something_else(session: Session) -> None:
    wrong = step("t(region: symbol)", sql="SELECT regin FROM sale")
    client = Scripted.of(
        call("rewrite_step", text="DROP TABLE sale"),
        call("rewrite_step", text="SELECT * FROM read_csv('/etc/passwd')"),
    )
    failed(session, wrong, mend=True, client=client)
    # Both were refused before anything ran, and the refusal was told once.
    assert len(client.asked) == 2
    assert "C0895" in client.asked[1].turns[-1].results[0].text


def test_a_source_that_is_not_there_is_tried_again_and_then_told(
    session: Session, regions: Path
) -> None:
    (regions / "sales.sqlite").rename(regions / "away.sqlite")
    events: list[object] = []
    query = step("t(r: symbol)", source="sales", sql="SELECT DISTINCT region FROM sales")
    failed(session, query, observe=events.append)
    assert [one.kind for one in told(events, StepFailed)] == ["connection", "connection"]
    (regions / "away.sqlite").rename(regions / "sales.sqlite")
    assert len(session.resume().rows) == 4


def test_finished_steps_survive_whatever_ends_a_run(session: Session) -> None:
    class StopError(Exception):
        pass

    def stop(event: object) -> None:
        if isinstance(event, StepStarted) and event.step == 3:
            raise StopError

    with pytest.raises(StopError):
        session.solve("which regions lead?", plan=plan(TOTALS, COUNTS, RANKED), observe=stop)
    assert session.history[0].questions[0].status == "failed"
    events: list[object] = []
    assert len(session.resume(observe=events.append).rows) == 2
    assert [(one.step, one.how) for one in told(events, StepFinished)] == [
        (1, "kept"),
        (3, "computed"),
    ]
    assert session.history[0].questions[0].status == "answered"
