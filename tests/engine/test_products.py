"""Joins without a key, where an equation on fields chooses the pairs."""

from __future__ import annotations

import pytest

from constat.evaluation import CERTAIN, POSSIBLE, Limits, Opening
from constat.logic import OPEN, Row
from tests.engine.tables import Table, run

TYPES = """
.type Owner = Person { name: symbol } | Firm { key: Key }
.type Key = [country: symbol, number: number]
.decl owner(o: Owner)
.input owner(source="t", query="q")
.decl wanted(n: number)
.input wanted(source="t", query="w")
.decl firm(n: number, o: Owner)
.decl found(n: number, o: Owner)
found(?n, ?o) :- wanted(?n), firm(?n, ?o).
"""
RULES = {
    "a field of a field": "firm(?n, ?o) :- owner(?o), ?o = $Firm([_, ?n]).",
    "a pattern in the atom": "firm(?n, $Firm(?k)) :- owner($Firm(?k)), ?k = [_, ?n].",
    "an equation behind another": "firm(?n, ?o) :- owner(?o), ?o = $Firm(?k), ?k = [?c, ?n], "
    '?c != "nowhere".',
}
COUNT = 400


def owners() -> list[Row]:
    firms: list[Row] = [(f'$Firm(["DE", {number}])',) for number in range(COUNT)]
    return [*firms, ('$Person("ann")',), ("$Firm(nil)",)]


def given() -> dict[str, Table]:
    return {"owner": Table(owners()), "wanted": Table([(number,) for number in range(1, COUNT)])}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_many_keys_are_not_compared_with_each_row(rule: str) -> None:
    # The product of the keys and the owners would be four times the limit.
    limits = Limits(rows=COUNT * COUNT // 4)
    outcome = run(TYPES + rule, "found(?n, ?o)", given(), exhaust=True, limits=limits)
    assert outcome.stopped == ""
    expected = {(number, f'$Firm(["DE", {number}])') for number in range(1, COUNT)}
    assert set(outcome.rows("found", CERTAIN)) == expected


def test_pairs_that_an_equation_lets_pass_are_counted_before_they_are_made() -> None:
    rows: list[Row] = [(f'$Firm(["DE{number}", 1])',) for number in range(COUNT)]
    rule = ".decl pair(a: number, o: Owner) pair(?a, ?o) :- wanted(?a), owner(?o), "
    rule += "?o = $Firm([_, ?n]), ?m = ?a / ?a, ?n = ?m."
    limits = Limits(rows=COUNT * COUNT // 4)
    tables = {"owner": Table(rows), "wanted": given()["wanted"]}
    outcome = run(
        TYPES.replace(".decl firm", rule + "\n.decl firm"),
        "pair(?a, ?o)",
        tables,
        exhaust=True,
        limits=limits,
    )
    assert "a rule joins more than" in outcome.stopped


def test_an_owner_that_nobody_knows_may_be_any_firm() -> None:
    tables = given()
    tables["owner"].openings = (Opening((OPEN,), "nobody said", "t"),)
    outcome = run(TYPES + RULES["a field of a field"], "found(?n, ?o)", tables, exhaust=True)
    assert len([row for row in outcome.rows("found", POSSIBLE) if OPEN in row]) > 0
    assert len(list(outcome.rows("found", CERTAIN))) == COUNT - 1
