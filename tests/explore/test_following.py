"""The worked example of follow-ups: Q4 by region, then compared with the year before."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.explore.events import StepFinished
from tests.explore.planned import plan, step, told
from tests.explore.worlds import TODAY, oracle

if TYPE_CHECKING:
    from pathlib import Path

    from constat import Session

Q4_SALES = step(
    "q4_sales(id: number, region: symbol, amount: Decimal)",
    inputs=["sale", "period"],
    rules="""
q4_sales(?i, ?r, ?a) :- period("this quarter", ?from, ?to), sale(?i, ?r, _, ?d, ?a),
  ?d >= ?from, ?d <= ?to.
""",
)
Q4_REVENUE = step(
    "q4_revenue(region: symbol, revenue: Decimal)",
    inputs=["q4_sales"],
    rules="q4_revenue(?r, ?t) :- q4_sales(_, ?r, _), ?t = sum ?a : { q4_sales(_i, ?r, ?a) }.",
)
Q4_LAST_YEAR = step(
    "q4_last_year(region: symbol, revenue: Decimal)",
    source="sales",
    sql="""
SELECT region, round(sum(amount), 2) FROM sales
WHERE day BETWEEN '2023-10-01' AND '2023-12-31' GROUP BY region
""",
)
BOTH_YEARS = step(
    "both_years(region: symbol, revenue: Decimal, before: Decimal)",
    inputs=["q4_revenue", "q4_last_year"],
    rules="both_years(?r, ?now, ?then) :- q4_revenue(?r, ?now), q4_last_year(?r, ?then).",
)
CHANGE = step(
    "year_on_year(region: symbol, revenue: Decimal, before: Decimal, percent: Decimal)",
    inputs=["both_years"],
    sql="""
SELECT region, revenue, before, round(100 * (revenue - before) / before, 1) FROM both_years
ORDER BY revenue DESC
""",
)
INDEPENDENT = """
WITH y AS (SELECT region, year(day) AS y, sum(amount) AS total FROM sales
           WHERE quarter(day) = 4 GROUP BY ALL)
SELECT a.region, a.total, b.total, round(100 * (a.total - b.total) / b.total, 1)
FROM y a JOIN y b USING (region) WHERE a.y = 2024 AND b.y = 2023 ORDER BY a.total DESC
"""


def test_a_follow_up_goes_on_from_what_was_found(session: Session, regions: Path) -> None:
    first = session.solve(
        "Show me Q4 revenue by region", plan=plan(Q4_SALES, Q4_REVENUE), today=TODAY
    )
    events: list[object] = []
    second = session.follow_up(
        "Now compare this to last year",
        plan=plan(Q4_LAST_YEAR, BOTH_YEARS, CHANGE),
        observe=events.append,
    )
    assert second.exploration == first.exploration
    # Numbers go on, and what the first question has found is not computed again.
    how = {one.step: one.how for one in told(events, StepFinished)}
    assert how == {2: "kept", 3: "computed", 4: "computed", 5: "computed"}
    expected = oracle(regions / "sales.sqlite").execute(INDEPENDENT).fetchall()
    assert len(expected) == 4
    assert [tuple(row) for row in second.rows] == [
        (region, Decimal(now), Decimal(then), Decimal(str(percent)))
        for region, now, then, percent in expected
    ]
    # The percentages are on the word of what ran the SELECT, and the one verdict says so.
    assert second.verdict is Verdict.PROVED_UNDER
    assert [one.subject for one in second.assumptions] == ["step year_on_year"]
    state = session.get_state()
    assert [one[1] for one in state.questions] == [
        "Show me Q4 revenue by region",
        "Now compare this to last year",
    ]
    assert {one["name"]: one["step"] for one in state.tables} == {
        "q4_sales": 1,
        "q4_revenue": 2,
        "q4_last_year": 3,
        "both_years": 4,
        "year_on_year": 5,
    }
    assert any("q4_revenue: 4 rows" in note for note in state.notes)


def test_a_later_question_may_not_change_what_an_earlier_one_meant(session: Session) -> None:
    session.solve("Show me Q4 revenue by region", plan=plan(Q4_SALES, Q4_REVENUE), today=TODAY)
    with pytest.raises(ConstatError) as caught:
        session.follow_up("again", plan=plan(Q4_REVENUE))
    assert [one.code for one in caught.value.diagnostics] == ["C0891"]
    # The day is that of the exploration, whenever the question is asked.
    second = session.follow_up(
        "how many days?",
        plan=plan(step("asked_on(day: Date)", rules="asked_on(?d) :- today(?d).")),
    )
    assert second.rows == ((TODAY,),)
