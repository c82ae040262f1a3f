"""Which derivation of a row is shown, and that none rests on what nobody asked."""

from __future__ import annotations

import pytest

from constat.evaluation import (
    ACCEPTED,
    CERTAIN,
    POSSIBLE,
    Assumption,
    FactDerivation,
    Opening,
    RuleDerivation,
)
from tests.engine.tables import BY_USER, EVIDENCE, Table, run

BASE = """
.decl a(x: number)
.input a(source="t", query="q")
.decl b(x: number)
.input b(source="t", query="q")
"""
# A predicate that has rows from outside and a rule.
BOTH = """
.decl both(x: number)
.input both(source="t", query="q")
both(?x) :- a(?x).
"""


def test_a_row_from_a_source_is_shown_before_a_rule_that_derives_it() -> None:
    outcome = run(BASE + BOTH, "both(1)", {"a": Table([(1,)]), "both": Table([(1,)])}, exhaust=True)
    assert outcome.derivation("both", (1,), CERTAIN) == FactDerivation("both", (1,), EVIDENCE, None)


def test_a_certain_row_that_somebody_states_as_well_is_shown_by_its_rule() -> None:
    tables = {"a": Table([(1,)]), "both": Table(assumed=[(1,), (3,)])}
    outcome = run(BASE + BOTH, "both(?x)", tables, exhaust=True)
    derivation = outcome.derivation("both", (1,), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    assert (derivation.bindings, derivation.premises) == ({"x": 1}, ((1,),))
    for row in (1, 3):
        word = outcome.derivation("both", (row,), ACCEPTED)
        assert isinstance(word, FactDerivation)
        assert word.evidence == BY_USER
        assert word.assumption is not None
    with pytest.raises(KeyError):
        outcome.derivation("both", (3,), CERTAIN)


def test_a_rule_over_older_rows_is_shown_before_somebodys_word() -> None:
    rules = BASE + BOTH + ".decl c(x: number)\nc(?x) :- a(?x), both(?x).\n"
    tables = {"a": Table([(1,)], cost=1), "both": Table(assumed=[(1,)], cost=90)}
    outcome = run(rules, "c(1)", tables, exhaust=True)
    derivation = outcome.derivation("both", (1,), ACCEPTED)
    assert isinstance(derivation, RuleDerivation)
    assert derivation.premises == ((1,),)


def test_a_fact_of_the_rules_is_shown_by_its_rule_without_premises() -> None:
    rules = BASE + ".decl c(x: number)\nc(?x) :- a(?x).\nc(1).\n"
    outcome = run(rules, "c(?x)", {"a": Table([(1,)])}, exhaust=True)
    stated = outcome.derivation("c", (1,), CERTAIN)
    assert isinstance(stated, RuleDerivation)
    assert (stated.rule, stated.bindings, stated.premises) == (1, {}, ())


def test_an_assumed_rule_proves_in_the_accepted_reading_only() -> None:
    rules = (
        BASE
        + """
    .decl c(x: number)
    @[confidence = 0.5]
    c(?x) :- a(?x).
    c(?x) :- b(?x).
    .decl d(x: number)
    d(?x) :- a(?x), c(?x).
    """
    )
    # The rows of the assumed rule's premise are the older ones.
    tables = {"a": Table([(1,), (2,)], cost=1), "b": Table([(1,)], cost=50)}
    outcome = run(rules, "d(?x)", tables, exhaust=True)
    certain = outcome.derivation("c", (1,), CERTAIN)
    accepted = outcome.derivation("c", (2,), ACCEPTED)
    assert isinstance(certain, RuleDerivation)
    assert isinstance(accepted, RuleDerivation)
    assert (certain.rule, accepted.rule) == (1, 0)
    with pytest.raises(KeyError):
        outcome.derivation("c", (2,), CERTAIN)


def test_rows_that_hold_in_no_reading_have_no_derivation() -> None:
    outcome = run(BASE, "a(1)", {"a": Table([(1,)])})
    with pytest.raises(ValueError, match="only rows that hold"):
        outcome.derivation("a", (1,), POSSIBLE)
    with pytest.raises(KeyError):
        outcome.derivation("a", (2,), ACCEPTED)


def test_literals_that_are_no_atoms_have_no_premise() -> None:
    rules = (
        BASE
        + """
    .decl c(x: number, n: number)
    c(?x, ?n) :- a(?x), !b(?x), ?x > 0, ?n = count : { a(?y), ?y <= ?x }, ?z = ?x + 1, ?z > 1.
    """
    )
    tables = {"a": Table([(1,), (2,)]), "b": Table([(2,)])}
    outcome = run(rules, "c(?x, ?n)", tables, exhaust=True)
    derivation = outcome.derivation("c", (1, 1), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    assert derivation.bindings == {"x": 1, "n": 1, "z": 2}
    assert derivation.premises == ((1,), None, None, None, None, None)


def test_a_head_that_is_computed_is_shown_by_an_instance_that_makes_the_row() -> None:
    rules = BASE + ".decl c(x: number)\nc(?x * ?x) :- a(?x).\n"
    outcome = run(rules, "c(?y)", {"a": Table([(1,), (2,), (3,)])}, exhaust=True)
    for row, value in ((1, 1), (4, 2), (9, 3)):
        derivation = outcome.derivation("c", (row,), CERTAIN)
        assert isinstance(derivation, RuleDerivation)
        assert derivation.bindings == {"x": value}


def test_a_row_of_the_accepted_reading_may_rest_on_certain_and_assumed_rows() -> None:
    rules = BASE + ".decl c(x: number)\nc(?x) :- a(?x), b(?x).\n"
    outcome = run(rules, "c(1)", {"a": Table([(1,)]), "b": Table(assumed=[(1,)])})
    derivation = outcome.derivation("c", (1,), ACCEPTED)
    assert isinstance(derivation, RuleDerivation)
    assert derivation.premises == ((1,), (1,))
    with pytest.raises(KeyError):
        outcome.derivation("c", (1,), CERTAIN)


CYCLE = """
.decl edge(a: number, b: number)
.input edge(source="t", query="q")
.decl reach(a: number)
reach(?b) :- reach(?a), edge(?a, ?b).
reach(0).
"""


def test_rows_of_a_cycle_do_not_prove_each_other() -> None:
    edges = Table([(0, 1), (1, 2), (2, 1), (2, 0), (3, 1)])
    outcome = run(CYCLE, "reach(?a)", {"edge": edges}, exhaust=True)
    assert set(outcome.rows("reach", CERTAIN)) == {(0,), (1,), (2,)}
    for row, premise in ((1, 0), (2, 1)):
        derivation = outcome.derivation("reach", (row,), CERTAIN)
        assert isinstance(derivation, RuleDerivation)
        assert derivation.premises == ((premise,), (premise, row))


def test_assumed_rows_of_a_cycle_do_not_prove_each_other() -> None:
    edges = Table([(1, 2), (2, 1)], assumed=[(0, 1)])
    outcome = run(CYCLE, "reach(?a)", {"edge": edges}, exhaust=True)
    for row, premise in ((1, 0), (2, 1)):
        derivation = outcome.derivation("reach", (row,), ACCEPTED)
        assert isinstance(derivation, RuleDerivation)
        assert derivation.premises == ((premise,), (premise, row))


def test_among_rows_found_together_none_proves_the_other() -> None:
    edges = Table([(2, 1), (1, 2), (0, 1), (0, 2)])
    outcome = run(CYCLE, "reach(?a)", {"edge": edges}, exhaust=True)
    for row in (1, 2):
        derivation = outcome.derivation("reach", (row,), CERTAIN)
        assert isinstance(derivation, RuleDerivation)
        assert derivation.premises == ((0,), (0, row))


def test_a_source_and_a_stated_fact_are_shown_before_rules_over_older_rows() -> None:
    rules = (
        BASE
        + BOTH
        + """
    .decl s(x: number)
    s(?x) :- a(?x).
    s(1).
    .decl c(x: number)
    c(?x) :- a(?x), both(?x), s(?x).
    """
    )
    tables = {"a": Table([(1,)], cost=1), "both": Table([(1,)], cost=90)}
    outcome = run(rules, "c(1)", tables, exhaust=True)
    assert isinstance(outcome.derivation("both", (1,), CERTAIN), FactDerivation)
    stated = outcome.derivation("s", (1,), CERTAIN)
    assert isinstance(stated, RuleDerivation)
    assert stated.premises == ()


UNSURE = (
    BASE
    + """
.decl d(x: number)
.input d(source="t", query="q")
.decl c(x: number)
c(?x) :- a(?x), !b(?x).
c(?x) :- d(?x).
"""
)


@pytest.mark.parametrize("least", [CERTAIN, ACCEPTED])
def test_no_derivation_rests_on_an_absence_that_is_weaker_than_the_row(least: int) -> None:
    closure = Assumption("closure", "b", "somebody says that b is complete")
    opening = Opening((1,), "no", "t", closure if least == CERTAIN else None)
    table = Table([(1,)]) if least == CERTAIN else Table(assumed=[(1,)])
    tables = {"a": Table([(1,)], cost=1), "b": Table(openings=(opening,), cost=2), "d": table}
    outcome = run(UNSURE, "c(1)", tables, exhaust=True)
    assert outcome.strength(outcome.goal) == least
    derivation = outcome.derivation("c", (1,), least)
    assert isinstance(derivation, RuleDerivation)
    assert derivation.rule == 1


def test_an_assumed_absence_proves_in_the_accepted_reading() -> None:
    closure = Assumption("closure", "b", "somebody says that b is complete")
    tables = {
        "a": Table([(1,)]),
        "b": Table(openings=(Opening((1,), "no", "t", closure),)),
        "d": Table(),
    }
    outcome = run(UNSURE, "c(1)", tables, exhaust=True)
    derivation = outcome.derivation("c", (1,), ACCEPTED)
    assert isinstance(derivation, RuleDerivation)
    assert derivation.premises == ((1,), None)


def test_a_row_that_was_never_asked_for_has_no_derivation() -> None:
    rules = (
        BASE
        + """
    .decl low(x: number)
    low(?x) :- a(?x).
    .decl c(x: number)
    c(?x) :- a(?x), ?x < 2, low(?x).
    """
    )
    outcome = run(rules, "c(?x)", {"a": Table([(1,), (2,)])}, exhaust=True)
    assert isinstance(outcome.derivation("low", (1,), CERTAIN), RuleDerivation)
    with pytest.raises(KeyError):
        outcome.derivation("low", (2,), CERTAIN)
