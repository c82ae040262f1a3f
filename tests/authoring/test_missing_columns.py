"""What a model is told of columns that may be missing, and of what it means to read one."""

from __future__ import annotations

import pytest

from constat.authoring.prompts import predicates_text, system_prompt
from constat.project.settings import AuthoringSetting
from constat.syntax import print_signature
from tests.proof.asking import analysed

DECLARED = """
.decl orders(id: number, @[null = {}] region: symbol)
.input orders(source = "shop", query = "SELECT id, region FROM orders")
.decl wanted(id: number)
wanted(?o) :- orders(?o, _).
"""


@pytest.mark.parametrize("policy", ["none", "maybe", "unknown"])
def test_a_signature_says_what_may_be_missing(policy: str) -> None:
    program = analysed(DECLARED.format(policy))
    orders = program.program.predicates["orders"]
    assert print_signature(orders) == "orders(id: number, region: symbol (may be missing))"
    assert "region: symbol (may be missing)" in predicates_text(program)
    for lean in (True, False):
        told = system_prompt(program, AuthoringSetting(), [], "", lean=lean)
        assert "(may be missing)" in told
        assert "is read by whatever is written there but `_`" in told


@pytest.mark.parametrize("policy", ["error", "skip"])
def test_where_nothing_can_be_missing_nothing_is_said_of_it(policy: str) -> None:
    program = analysed(DECLARED.format(policy))
    told = system_prompt(program, AuthoringSetting(), [], "", lean=False)
    assert "missing)" not in told
    assert "is read by whatever" not in told


@pytest.mark.parametrize("lean", [True, False])
def test_a_goal_is_told_to_hold_when_the_answer_is_yes_and_never_to_be_negated(
    *, lean: bool
) -> None:
    program = analysed(DECLARED.format("error"))
    told = " ".join(system_prompt(program, AuthoringSetting(), [], "", lean=lean).split())
    assert "The goal holds exactly when the answer to the question is yes" in told
    assert 'for "is it not so" derive a predicate with `!` in its rule' in told
