"""Certificates over rows with null cells: what follows passes both checkers, with its marks."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.check.functions import TOTAL
from constat.evaluation import Portion
from constat.logic import NullCell, null_policies, vocabulary, with_null_cells
from constat.proof.report.markup import checker_source
from constat.session import Session
from tests.proof.asking import Table, analysed, ask, certificate
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.evaluation import Answer, Demand
    from constat.logic import Row

RULES = """
.decl orders(
    o: number,
    @[null = "unknown"] customer: symbol,
    @[null = "maybe"] region: symbol,
    @[null = "none"] parent: number)
.input orders(source = "sales", query = "q")
.decl customer(c: symbol, tier: symbol)
.input customer(source = "sales", query = "c")
.decl placed(o: number)
placed(?o) :- orders(?o, _, _, _).
.decl bought(o: number, c: symbol)
bought(?o, ?c) :- orders(?o, ?c, _, _).
.decl same(a: number, b: number)
same(?a, ?b) :- bought(?a, ?c), bought(?b, ?c).
.decl somebody(o: number)
somebody(?o) :- orders(?o, _c, _, _).
.decl shipped(o: number)
shipped(?o) :- orders(?o, _, _r, _).
.decl root(o: number)
root(?o) :- orders(?o, _, _, _), !child(?o).
.decl child(o: number)
child(?o) :- orders(?o, _, _, _p).
.decl gold(o: number)
gold(?o) :- orders(?o, ?c, _, _), customer(?c, "gold").
.decl plain(o: number)
plain(?o) :- orders(?o, _, _, _), !gold(?o).
.decl count_of(n: number)
count_of(?n) :- ?n = count : { orders(_, _, _, _) }.
.decl in_region(r: symbol, n: number)
in_region(?r, ?n) :- orders(_, _, ?r, _), ?n = count : { orders(_, _, ?r, _) }.
.decl late(c: symbol)
late(?c) :- orders(?o, ?c, _, _), ?o > 2.
.decl letters(o: number, n: number)
letters(?o, strlen(?c)) :- orders(?o, ?c, _, _).
.decl as_long(a: number, b: number)
as_long(?a, ?b) :- letters(?a, ?n), letters(?b, ?n).
.decl even(o: number)
even(?o) :- orders(?o, ?c, _, _), letters(?o, strlen(?c)).
.decl odd(o: number)
odd(?o) :- orders(?o, ?c, _, _), !letters(?o, strlen(?c)).
.decl first_of(o: number, c: symbol)
first_of(?o, min(?c, "cid")) :- orders(?o, ?c, _, _).
.decl twice(o: number, n: number)
twice(?o, strlen(?c)) :- first_of(?o, ?c).
.decl longer(o: number, n: number)
longer(?o, strlen(?c) + 1) :- orders(?o, ?c, _, _).
.decl unlike(o: number)
unlike(?o) :- orders(?o, ?c, _, _), max(?c, "cid") < max(?c, "cid").
.decl lengths(n: number)
lengths(?n) :- ?n = count : { letters(_, _n) }.
.decl greatest(n: number)
greatest(?n) :- ?n = max ?o : { orders(?o, _, _, _) }.
"""
ROWS = (
    (1, "ann", "EU", None),
    (2, None, "EU", 1),
    (3, "bob", None, 1),
    (4, None, None, None),
)


@dataclass
class Nullable(Table):
    """A table of which a row with a null cell may have any value there."""

    def answer(self, demand: Demand) -> Answer:
        whole, self.rows = self.rows, tuple(row for row in self.rows if _may_match(demand, row))
        matching, self.rows = self.rows, ()
        try:
            answer = super().answer(demand)
        finally:
            self.rows = whole
        portions = (Portion(matching, self.evidence(demand)),) if matching else ()
        return replace(answer, portions=(*portions, *answer.portions))


def _may_match(demand: Demand, row: Row) -> bool:
    return any(
        all(
            isinstance(row[c], NullCell) or row[c] == v
            for c, v in zip(demand.columns, key, strict=True)
        )
        for key in demand.keys
    )


PROGRAM = analysed(RULES)


def tables() -> dict[str, Table]:
    policies = null_policies(PROGRAM.program.predicates["orders"])
    rows = tuple(with_null_cells("orders", row, policies) for row in ROWS)
    return {"orders": Nullable(rows), "customer": Table((("ann", "gold"), ("bob", "blue")))}


GOALS = {
    "placed(4)": "PROVED",
    "bought(1, ann)": "PROVED",
    "bought(2, ann)": "UNRESOLVED",
    "bought(2, ?c)": "PROVED",
    "bought(3, ann)": "DISPROVED",
    "same(2, 2)": "PROVED",
    "same(2, 4)": "UNRESOLVED",
    "same(1, 3)": "DISPROVED",
    "somebody(4)": "PROVED",
    "shipped(2)": "PROVED",
    "shipped(3)": "UNRESOLVED",
    "child(1)": "DISPROVED",
    "root(1)": "PROVED",
    "root(2)": "DISPROVED",
    "gold(1)": "PROVED",
    "gold(2)": "UNRESOLVED",
    "gold(3)": "DISPROVED",
    "plain(3)": "PROVED",
    "plain(4)": "UNRESOLVED",
    "count_of(4)": "PROVED",
    "count_of(3)": "DISPROVED",
    "in_region(EU, 2)": "UNRESOLVED",
    "in_region(EU, 5)": "UNRESOLVED",
    "letters(2, ?n)": "PROVED",
    "letters(1, ?n)": "PROVED",
    "letters(2, 3)": "UNRESOLVED",
    "as_long(2, 2)": "PROVED",
    "as_long(1, 3)": "PROVED",
    "as_long(2, 4)": "UNRESOLVED",
    "even(2)": "PROVED",
    "odd(2)": "DISPROVED",
    "odd(1)": "DISPROVED",
    "first_of(4, ?c)": "PROVED",
    "first_of(4, ann)": "UNRESOLVED",
    "twice(4, ?n)": "UNRESOLVED",
    "longer(4, ?n)": "UNRESOLVED",
    "unlike(4)": "DISPROVED",
    "lengths(4)": "PROVED",
    "late(bob)": "PROVED",
    "late(ann)": "UNRESOLVED",
    "greatest(4)": "PROVED",
    "orders(4, _, _, _)": "PROVED",
    "orders(4, _, _, ?p)": "DISPROVED",
    "orders(4, _, ?r, _)": "UNRESOLVED",
    "orders(4, ?c, _, _)": "PROVED",
}


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("no Node.js: neither on the path nor here")
    process = SecondChecker(checker_source())
    yield process
    process.close()


@pytest.mark.parametrize(("goal", "verdict"), GOALS.items())
def test_a_goal_over_null_cells_has_a_certificate_that_passes(
    goal: str, verdict: str, second: SecondChecker
) -> None:
    decision = ask(PROGRAM, goal, tables())
    assert decision.verdict.value == verdict
    data = certificate(decision)
    assert check_certificate(data).verdict == verdict
    found = second.check(data)
    assert (found["verdict"], found["reason"]) == (verdict, None)


def test_both_checkers_know_the_total_functions_of_the_language() -> None:
    total = {name for name, word in vocabulary.FUNCTIONS.items() if word.total}
    assert total == TOTAL
    listed = re.search(r"TOTAL_FUNCTIONS = \[([^\]]*)\]", checker_source())
    assert listed is not None
    assert set(re.findall(r'"(\w+)"', listed[1])) == total


RECURSIVE = """
.pragma "constat" "0.1"
.decl e(s: symbol, n: number)
.input e(source = "shop", query = "SELECT s, n FROM e", null = "unknown")
.decl g(s: symbol)
.input g(source = "gone", query = "SELECT s FROM g")
.decl p(n: number, s: symbol)
p(?n, ?s) :- e("1", ?n), e(?s, ?x), p(?x, _z).
p(?n, ?s) :- e(?s, ?n), g(?s).
"""


@pytest.mark.parametrize("goal", ['p(0, "1")', 'p(?n, "1")', 'p(0, "b")'])
def test_a_label_that_only_another_key_met_is_of_a_shown_row(
    goal: str, second: SecondChecker, tmp_path: Path
) -> None:
    # Evaluation asks for the `p` of the number that is unknown for "a", which this goal does not.
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.executescript(
            "CREATE TABLE e (s TEXT, n INTEGER);"
            "INSERT INTO e VALUES ('1', NULL), ('a', NULL), ('b', 1)"
        )
    (tmp_path / "rules.dl").write_text(RECURSIVE)
    (tmp_path / "constat.yaml").write_text(
        "project: test\nrules: [rules.dl]\n"
        "databases: {shop: 'sqlite:///shop.sqlite', gone: 'sqlite:///gone.sqlite'}\n"
    )
    with Session(tmp_path) as session:
        result = session.prove(goal)
    assert check_certificate(result.certificate).verdict == result.verdict.value
    assert second.check(result.certificate)["reason"] is None
