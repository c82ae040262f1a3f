"""Which derivation of a row is shown, and that none rests on what nobody asked."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from constat.logic import Row

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


GROWING = """
.decl share(x: number, w: number)
.input share(source="t", query="q")
.decl held(x: number)
"""


@pytest.mark.parametrize(
    "rule",
    [
        # The bound of the first rule errs, then its only summand: the second rule made the row.
        'held(?x) :- b(?x), ?n = count : { held(_y) }, ?n > to_number("a").',
        "held(?x) :- b(?x), ?s = sum 9 / ?w : { held(_y), share(_y, ?w), ?w >= 0 }, ?s > 1.",
    ],
)
def test_a_threshold_that_errs_made_no_row_that_another_rule_makes(rule: str) -> None:
    text = f"{BASE}{GROWING}{rule}\nheld(?x) :- a(?x).\n"
    tables = {"a": Table([(1,)]), "b": Table([(1,)]), "share": Table([(1, 0)])}
    outcome = run(text, "held(1)", tables, exhaust=True)
    derivation = outcome.derivation("held", (1,), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    assert (derivation.rule, derivation.premises) == (1, ((1,),))


OWNED = """
.decl own(x: number, y: number, w: number)
.input own(source="t", query="q")
"""
HELD = (
    OWNED
    + """
.decl held(x: number, y: number)
held(?x, ?y) :- own(?x, ?y, ?w), ?w > 50.
held(?x, ?y) :- own(?x, _, _), own(_, ?y, _),
    ?s = sum ?v : { own(_o, ?y, ?v), ?v >= 0, held(?x, _o) }, ?s > 50.
"""
)
SHARES: list[Row] = [(1, 2, 60), (1, 3, 60), (1, 4, 60), (2, 9, 30), (3, 9, 5), (4, 9, 25)]


def test_no_more_is_listed_than_carries_the_total_the_greatest_first() -> None:
    outcome = run(HELD, "held(1, 9)", {"own": Table(SHARES)}, exhaust=True)
    derivation = outcome.derivation("held", (1, 9), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    ((_, listed),) = derivation.listed.items()
    assert [(one["_o"], one["v"]) for one in listed] == [(2, 30), (4, 25)]
    assert derivation.bindings["s"] == 55


def test_what_somebody_states_is_listed_where_assumptions_hold() -> None:
    sure: list[Row] = [*SHARES[:3], (2, 9, 30)]
    said: list[Row] = [(4, 9, 25)]
    outcome = run(HELD, "held(1, 9)", {"own": Table(sure, assumed=said)}, exhaust=True)
    with pytest.raises(KeyError):
        outcome.derivation("held", (1, 9), CERTAIN)
    derivation = outcome.derivation("held", (1, 9), ACCEPTED)
    assert isinstance(derivation, RuleDerivation)
    ((_, listed),) = derivation.listed.items()
    assert [one["_o"] for one in listed] == [2, 4]
    # Where it holds for certain as well, nothing that is only stated carries it.
    outcome = run(HELD, "held(1, 9)", {"own": Table(SHARES, assumed=[(2, 9, 90)])}, exhaust=True)
    derivation = outcome.derivation("held", (1, 9), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    ((_, listed),) = derivation.listed.items()
    assert [one["v"] for one in listed] == [30, 25]


COUNTED = (
    BASE
    + """
.decl seen(x: number)
seen(?x) :- b(?x), ?n = count : { seen(_y) }, ?n > 0.
seen(?x) :- a(?x).
"""
)


def test_what_comes_in_the_same_round_carries_nothing() -> None:
    tables = {"a": Table([(3,)]), "b": Table([(1,), (2,)])}
    outcome = run(COUNTED, "seen(?x)", tables, exhaust=True)
    for row in (1, 2):
        derivation = outcome.derivation("seen", (row,), CERTAIN)
        assert isinstance(derivation, RuleDerivation)
        assert (derivation.rule, derivation.bindings["n"]) == (0, 1)
        assert [dict(one) for one in derivation.listed[1]] == [{"_y": 3}]


def test_a_rule_whose_bound_older_rows_do_not_reach_made_nothing() -> None:
    text = COUNTED.replace("?n > 0", "?n > 1")
    outcome = run(text, "seen(?x)", {"a": Table([(1,), (2,)]), "b": Table([(1,)])}, exhaust=True)
    derivation = outcome.derivation("seen", (1,), CERTAIN)
    assert isinstance(derivation, RuleDerivation)
    assert (derivation.rule, derivation.listed) == (1, {})


def test_a_summand_is_listed_only_where_what_it_denies_is_denied_as_surely() -> None:
    declared = '.decl blocked(x: number)\n.input blocked(source="t", query="q")\n'
    text = HELD.replace(".decl held", f"{declared}.decl held")
    text = text.replace("held(?x, _o) }", "held(?x, _o), !blocked(_o) }")
    # Nobody knows of 2 but by an assumption; of 3 nobody knows anything.
    closed = Assumption("closure", "blocked", "blocked is declared complete", Decimal(1))
    openings = (Opening((2,), "", "t", closed), Opening((3,), "not known", "t"))
    shares: list[Row] = [*SHARES, (3, 8, 90), (4, 8, 52), (2, 8, 95), (3, 9, 70)]
    tables = {"own": Table(shares), "blocked": Table(openings=openings)}
    outcome = run(text, "held(1, ?y)", tables, exhaust=True)
    for row, least, owners in (((1, 8), CERTAIN, [4]), ((1, 9), ACCEPTED, [2, 4])):
        derivation = outcome.derivation("held", row, least)
        assert isinstance(derivation, RuleDerivation)
        ((_, listed),) = derivation.listed.items()
        assert [one["_o"] for one in listed] == owners
    with pytest.raises(KeyError):
        outcome.derivation("held", (1, 9), CERTAIN)
    derivation = outcome.derivation("held", (1, 8), ACCEPTED)
    assert isinstance(derivation, RuleDerivation)
