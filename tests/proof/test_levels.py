"""The levels of completeness in the tree are those that the checker finds in the certificate."""

from __future__ import annotations

import pytest

from constat.evaluation import Assumption
from constat.proof import proof_tree, render_tree
from tests.proof.asking import Table, analysed, ask, certificate, checked

RULES = """
.decl member(c: symbol)
.input member(source="crm", query="SELECT c FROM member")
.decl order(o: symbol, c: symbol, a: number)
.input order(source="crm", query="SELECT o, c, a FROM orders")
.decl late(c: symbol)
.input late(source="crm", query="SELECT c FROM late")
.decl bad(c: symbol)
bad(?c) :- late(?c).
.decl fine(c: symbol, s: number)
fine(?c, ?s) :- member(?c), ?s = sum ?a : { order(_o, ?c, ?a) }, !late(?c), !bad(?c).
"""
CLOSED = Assumption("closure", "late", "alice says that the list is complete")


def tables(late: Table, orders: int = 3) -> dict[str, Table]:
    rows = tuple((f"o{n}", "A", n) for n in range(orders))
    return {"member": Table((("A",),)), "order": Table(rows), "late": late}


@pytest.mark.parametrize(
    ("late", "orders", "levels"),
    [
        (Table(), 3, {"aggregate": "C3", "late": "C3", "bad": "C4"}),
        (Table(), 1_001, {"aggregate": "C1", "late": "C3", "bad": "C4"}),
        (Table(closed=CLOSED), 3, {"aggregate": "C3", "late": "C0", "bad": "C4"}),
    ],
    ids=["inline", "summarised", "declared"],
)
def test_absences_and_totals_show_their_level(
    late: Table, orders: int, levels: dict[str, str]
) -> None:
    total = sum(range(orders))
    decision = ask(analysed(RULES), f"fine(A, {total})", tables(late, orders))
    tree = proof_tree(decision)
    shown = {
        step.kind if step.kind == "aggregate" else step.fact.partition("(")[0].lstrip("!"): step
        for step in tree.steps
        if step.kind in {"aggregate", "absence"}
    }
    found = {name.removeprefix("not "): step.level for name, step in shown.items()}
    assert found == levels, found
    assert all(step.level == "" for step in tree.steps if step.kind in {"fact", "rule"})
    told = [one.level for one in checked(certificate(decision)).levels]
    assert sorted(map(str, told)) == sorted(levels.values())
    assert "completeness: C4, it follows from what is shown" in render_tree(tree)
