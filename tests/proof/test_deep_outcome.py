"""Proofs of any depth, from a hand-made outcome: no engine, and nothing that recurses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import (
    CERTAIN,
    Answer,
    Call,
    Demand,
    DemandEntry,
    Derivation,
    Evidence,
    FactDerivation,
    Failure,
    Limits,
    Observer,
    Origin,
    Portion,
    RuleDerivation,
    Verdict,
    ignore_event,
)
from constat.proof import decide, proof_tree, render_tree, tree_to_json
from constat.proof.proofs import UnsupportedError
from tests.proof.asking import NOW, analysed, certificate, checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.logic import Atom, OpenRow, Row

DEPTH = 10_000
RULES = """
.decl first(a: number)
.input first(source="s", query="q")
.decl down(a: number)
down(?a) :- first(?a).
down(?b) :- down(?a), ?b = ?a + 1, ?a < 10000.
"""
EVIDENCE = Evidence("database", Origin.DATABASE, "s", NOW, "q", (), 1)


class Chain:
    """The outcome of counting down to the first row."""

    calls: tuple[Call, ...]
    failures: tuple[Failure, ...] = ()
    demands: tuple[DemandEntry, ...] = ()
    stopped = "settled"

    def __init__(self, program: AnalysedProgram, goal: Atom, *, circle: bool = False) -> None:
        self.program = program
        self.goal = goal
        self.circle = circle
        demand = Demand(program.program.predicates["first"], (0,), ((0,),))
        answer = Answer((Portion(((0,),), EVIDENCE),), (), frozenset({(0,)}), (EVIDENCE,))
        self.calls = (Call(1, demand, answer),)

    def strength(self, atom: Atom) -> int:
        return CERTAIN

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        return [(number,) for number in range(DEPTH + 1)] if predicate == "down" else [(0,)]

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        if predicate == "first":
            return FactDerivation(predicate, row, EVIDENCE, None)
        number = int(row[0])
        if number == 0 and not self.circle:
            return RuleDerivation(predicate, row, 0, {"a": 0}, (row,))
        before = DEPTH if number == 0 else number - 1
        values = {"a": before, "b": number}
        return RuleDerivation(predicate, row, 1, values, ((before,), None, None))


class ChainEngine:
    """Gives the chain for every goal."""

    def __init__(self, *, circle: bool = False) -> None:
        self.circle = circle

    def evaluate(
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        exhaust: bool = False,
        observe: Observer = ignore_event,
    ) -> Chain:
        return Chain(program, goal, circle=self.circle)


def goal_of(program: AnalysedProgram) -> Atom:
    from constat.analysis import check_goal
    from constat.syntax import parse_goal

    return check_goal(parse_goal(f"down({DEPTH})", program.program), program)


@pytest.mark.laws
def test_ten_thousand_steps_are_proved_written_checked_and_shown() -> None:
    program = analysed(RULES)
    limit = sys.getrecursionlimit()
    decision = decide(ChainEngine(), program, goal_of(program), {}, Limits())
    assert decision.verdict is Verdict.PROVED
    assert len(decision.proof.nodes) == DEPTH + 2
    assert checked(certificate(decision)).nodes == DEPTH + 2
    tree = proof_tree(decision)
    assert render_tree(tree).count("derived_from:") == DEPTH + 1
    assert len(tree_to_json(tree)) > DEPTH
    assert sys.getrecursionlimit() == limit


def test_an_engine_that_goes_in_circles_is_not_believed() -> None:
    program = analysed(RULES)
    with pytest.raises(UnsupportedError, match="support itself"):
        decide(ChainEngine(circle=True), program, goal_of(program), {}, Limits())
