"""A lowest proof is as high as the round in which naive evaluation finds the goal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.evaluation import Verdict
from constat.proof.levels import Ranking
from constat.proof.proofs import RuleNode
from tests.proof.asking import Table, analysed, ask

if TYPE_CHECKING:
    from constat.proof import Decision
    from constat.proof.outside import Fact

EDGES = '.decl edge(a: number, b: number)\n.input edge(source = "s", query = "q")\n'
PATHS = EDGES + ".decl path(a: number, b: number)\npath(?a, ?b) :- edge(?a, ?b).\n"
RIGHT = PATHS + "path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).\n"
LEFT = PATHS + "path(?a, ?c) :- edge(?a, ?b), path(?b, ?c).\n"
BOTH = PATHS + "path(?a, ?c) :- path(?a, ?b), path(?b, ?c).\n"

Pairs = frozenset[tuple[int, int]]


def rounds(edges: Pairs, *, doubling: bool) -> dict[tuple[int, int], int]:
    """Give the round in which each path is found: facts are there in round 0."""
    found = dict.fromkeys(edges, 1)
    number = 1
    while True:
        number += 1
        known = list(found)
        others = known if doubling else list(edges)
        new = {(a, d) for a, b in known for c, d in others if b == c} - found.keys()
        if not new:
            return found
        found.update(dict.fromkeys(new, number))


def height(decision: Decision, fact: Fact) -> int:
    """Give the height of the tree that proves a fact."""
    node = decision.proof.nodes[fact]
    if not isinstance(node, RuleNode):
        return 0
    return 1 + max(height(decision, one) for one in node.premises if one is not None)


graphs = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14)


@pytest.mark.parametrize("rules", [RIGHT, LEFT, BOTH], ids=["right", "left", "both"])
@settings(max_examples=25)
@given(edges=graphs, choice=st.integers(0, 10**6))
def test_a_lowest_proof_has_the_height_of_its_round(rules: str, edges: Pairs, choice: int) -> None:
    program = analysed(rules)
    found = sorted(rounds(edges, doubling=rules == BOTH).items())
    (start, end), number = found[choice % len(found)]
    decision = ask(
        program, f"path({start}, {end})", {"edge": Table(tuple(edges))}, ranking=Ranking.HEIGHT
    )
    assert decision.verdict is Verdict.PROVED
    assert height(decision, ("path", (start, end))) == number


def test_a_lowest_proof_need_not_be_the_first_that_is_found() -> None:
    # The rule that is tried first leads over the detour; its parts are known a round earlier.
    text = (
        EDGES
        + ".decl far(a: number, b: number)\nfar(?a, ?c) :- edge(?a, ?b), edge(?b, ?c).\n"
        + ".decl goal(a: number, b: number)\ngoal(?a, ?b) :- far(?a, ?b).\n"
        + "goal(?a, ?b) :- edge(?a, ?b).\n"
    )
    program = analysed(text)
    table = {"edge": Table(((1, 2), (2, 3), (1, 3)))}
    lowest = ask(program, "goal(1, 3)", table, ranking=Ranking.HEIGHT)
    assert height(lowest, ("goal", (1, 3))) == 1


def test_confidence_comes_before_height() -> None:
    program = analysed(RIGHT)
    table = Table(said=(((1, 3), "0.5"), ((1, 2), "0.9"), ((2, 3), "0.9")))
    decision = ask(program, "path(1, 3)", {"edge": table}, ranking=Ranking.HEIGHT)
    assert str(decision.confidence) == "0.9"
    assert height(decision, ("path", (1, 3))) == 2


def test_of_equally_confident_proofs_the_lower_one_is_shown() -> None:
    # Everything sure is settled first: the high proof by the doubtful rule is ready before the
    # person's word is looked at.
    text = (
        EDGES
        + ".decl far(a: number, b: number)\nfar(?a, ?c) :- edge(?a, ?b), edge(?b, ?c).\n"
        + ".decl goal(a: number, b: number)\n@[confidence = 0.5]\ngoal(?a, ?b) :- far(?a, ?b).\n"
        + '.decl said(a: number, b: number)\n.input said(source = "s", query = "q")\n'
        + "goal(?a, ?b) :- said(?a, ?b).\n"
    )
    tables = {"edge": Table(((1, 2), (2, 3))), "said": Table(said=(((1, 3), "0.5"),))}
    decision = ask(analysed(text), "goal(1, 3)", tables, ranking=Ranking.HEIGHT)
    assert str(decision.confidence) == "0.5"
    assert height(decision, ("goal", (1, 3))) == 1
