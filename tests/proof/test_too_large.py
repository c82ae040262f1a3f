"""What is too large to show is left open, with the reason, and never claimed or lost."""

from __future__ import annotations

import pytest

from constat.proof import proof_tree, render_tree, slices
from tests.proof.asking import Table, analysed, ask

RULES = """
.decl edge(x: number, y: number)
.input edge(source="graph", query="SELECT x, y FROM edge")
.decl place(x: number)
.input place(source="graph", query="SELECT x FROM place")
.decl reach(x: number, y: number)
reach(?x, ?y) :- edge(?x, ?y).
reach(?x, ?z) :- edge(?x, ?y), reach(?y, ?z).
.decl apart(x: number, y: number)
apart(?x, ?y) :- place(?x), place(?y), !reach(?x, ?y).
"""
TABLES = {
    "edge": Table(tuple((n, n + 1) for n in range(60))),
    "place": Table(((0,), (99,))),
}


@pytest.mark.parametrize(
    ("goal", "verdict"), [("apart(0, 99)", "PROVED"), ("reach(0, 99)", "DISPROVED")]
)
def test_a_goal_whose_closed_set_is_too_large_is_left_open(
    goal: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = analysed(RULES)
    assert ask(program, goal, TABLES).verdict.value == verdict
    monkeypatch.setattr(slices, "MOST_STEPS", 40)
    decision = ask(program, goal, TABLES)
    assert decision.verdict.value == "UNRESOLVED"
    tree = proof_tree(decision)
    assert "too large" in tree.stopped
    assert "bind more of the goal" in render_tree(tree)


def test_what_needs_no_closed_set_is_proved_however_little_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "MOST_STEPS", 0)
    decision = ask(analysed(RULES), "reach(0, 60)", TABLES)
    assert (decision.verdict.value, decision.limit) == ("PROVED", "")
