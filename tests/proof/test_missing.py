"""What would decide an unresolved goal: minimal, matching, and said for each answer."""

from __future__ import annotations

from decimal import Decimal

from constat.logic import OPEN
from tests.proof.asking import REACH, VIP, Table, analysed, ask, reach_tables, vip_tables


def test_a_ground_gap_says_what_each_answer_decides() -> None:
    decision = ask(analysed(VIP), "is_vip(C2)", vip_tables(tier=Table(silent=True)))
    (gap,) = decision.gaps
    assert (gap.predicate, gap.row) == ("tier", ("C2", "gold"))
    assert (gap.if_true, gap.if_false) == ("proved", "disproved")
    assert gap.reason == "no tier answered"


def test_a_gap_behind_a_negation_is_found() -> None:
    decision = ask(analysed(VIP), "is_vip(C1)", vip_tables(blocked=Table(silent=True)))
    (gap,) = decision.gaps
    assert (gap.predicate, gap.row) == ("blocked", ("C1",))
    assert (gap.if_true, gap.if_false) == ("disproved", "proved")


def test_an_open_pattern_keeps_its_variables_and_its_reason() -> None:
    lines = Table((("C2", "o1", Decimal(1)),), open=(("C2", OPEN, OPEN),))
    decision = ask(analysed(VIP), "is_vip(C2)", vip_tables(order_line=lines))
    (gap,) = decision.gaps
    assert gap.row == ("C2", OPEN, OPEN)
    assert (gap.reason, gap.tier) == ("the source timed out", "database")
    assert gap.if_false == "disproved"


def test_gaps_that_do_not_matter_are_left_out() -> None:
    tables = vip_tables(tier=Table(silent=True), order_line=Table((), open=(("C9", "x", OPEN),)))
    assert ask(analysed(VIP), "is_vip(C2)", tables).missing == (("tier", ("C2", "gold")),)


def test_two_gaps_are_listed_when_one_alone_decides_nothing() -> None:
    rules = analysed(
        """
.decl a(x: symbol)
.input a(source="s", query="q")
.decl b(x: symbol)
.input b(source="s", query="q")
.decl any(x: symbol)
any(?x) :- a(?x).
any(?x) :- b(?x).
"""
    )
    decision = ask(rules, "any(k)", {"a": Table(silent=True), "b": Table(silent=True)})
    # Either of them, if true, proves it: one is enough.
    assert len(decision.gaps) == 1
    both = analysed(
        """
.decl a(x: symbol)
.input a(source="s", query="q")
.decl b(x: symbol)
.input b(source="s", query="q")
.decl none(x: symbol)
.decl c(x: symbol)
.input c(source="s", query="q")
none(?x) :- c(?x), !a(?x), !b(?x).
"""
    )
    tables = {"a": Table(silent=True), "b": Table(silent=True), "c": Table((("k",),))}
    assert len(ask(both, "none(k)", tables).gaps) == 1


def test_gaps_in_a_recursion_are_found() -> None:
    owns = Table((("A", "B"),), open=(("B", OPEN),))
    decision = ask(analysed(REACH), "reach(A, D)", reach_tables(owns=owns))
    assert decision.missing == (("owns", ("B", OPEN)),)
