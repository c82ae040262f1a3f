"""Suppositions over external predicates: keys, unknown answers, and what stays as it was."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.engine import LazyEngine
from constat.evaluation import Clock, Limits, Verdict
from constat.logic import OPEN, Atom, Constant, Kind
from constat.proof import Decision, decide
from constat.proof.changes import World, compare
from constat.proof.overlay import Overlay, Removal, overlaid
from tests.proof.asking import VIP, Table, analysed, certificate, checked, vip_tables
from tests.proof.asking import ask as ask_plainly

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.logic import Row

KEYED = """
@[key = "c"]
.decl limit(c: symbol, amount: Decimal)
.input limit(source="s", query="q")
.decl high(c: symbol)
high(?c) :- limit(?c, ?amount), ?amount > 100.0.
"""


def ask(rules: str, goal: str, tables: dict[str, Table], overlay: Overlay) -> Decision:
    program = analysed(rules)
    plain = ask_plainly(program, goal, tables)
    externals = {name: tables.get(name, Table()) for name in program.external}
    decision = decide(
        LazyEngine(), program, plain.goal, overlaid(externals, program, overlay), Limits()
    )
    assert checked(certificate(decision)).verdict == decision.verdict.value
    return decision


def told(decision: Decision) -> set[str]:
    return {one.text for one in decision.assumptions}


@pytest.mark.parametrize(
    ("amount", "verdict"), [(50, Verdict.DISPROVED_UNDER), (200, Verdict.PROVED_UNDER)]
)
def test_a_supposed_row_shadows_the_row_of_its_key(amount: int, verdict: Verdict) -> None:
    tables = {"limit": Table((("C1", Decimal(250 - amount)), ("C2", Decimal(500))))}
    overlay = Overlay(added=(("limit", ("C1", Decimal(amount))),))
    decision = ask(KEYED, "high(C1)", tables, overlay)
    assert decision.verdict is verdict
    assert ask(KEYED, "high(C2)", tables, overlay).verdict is Verdict.PROVED


def test_a_supposed_row_closes_the_key_that_nobody_answered() -> None:
    overlay = Overlay(added=(("limit", ("C1", Decimal(5))),))
    decision = ask(KEYED, "high(C1)", {"limit": Table(silent=True)}, overlay)
    assert decision.verdict is Verdict.DISPROVED_UNDER
    assert told(decision) == {"supposed: there is no limit(C1, ?amount)"}


def test_what_nobody_answered_can_be_supposed_not_to_be() -> None:
    tables = vip_tables(blocked=Table(silent=True))
    assert ask(VIP, "is_vip(C1)", tables, Overlay()).verdict is Verdict.UNRESOLVED
    overlay = Overlay(removed=(Removal("blocked", ("C1",)),))
    assert ask(VIP, "is_vip(C1)", tables, overlay).verdict is Verdict.PROVED_UNDER


def test_a_shape_hides_all_its_rows_and_no_others() -> None:
    overlay = Overlay(removed=(Removal("order_line", ("C1", OPEN, OPEN)),))
    decision = ask(VIP, "revenue(C1, 0)", vip_tables(), overlay)
    assert told(decision) == {"supposed: there is no order_line(C1, ?o, ?amount)"}
    assert ask(VIP, "revenue(C2, 10)", vip_tables(), overlay).verdict is Verdict.PROVED


def test_a_supposition_that_is_so_already_is_no_assumption() -> None:
    overlay = Overlay(added=(("blocked", ("C9",)),))
    decision = ask(VIP, "blocked(C9)", vip_tables(), overlay)
    assert (decision.verdict, told(decision)) == (Verdict.PROVED, set())


def test_a_row_on_a_persons_word_can_be_hidden() -> None:
    overlay = Overlay(removed=(Removal("tier", ("C3", "gold")),))
    assert ask(VIP, "is_vip(C3)", vip_tables(), Overlay()).verdict is Verdict.PROVED_UNDER
    decision = ask(VIP, "is_vip(C3)", vip_tables(), overlay)
    assert decision.verdict is Verdict.DISPROVED_UNDER
    assert told(decision) == {"supposed: there is no tier(C3, gold)"}


def test_predicates_of_which_nothing_is_supposed_stay_as_they_are() -> None:
    program = analysed(VIP)
    externals = {name: Table() for name in program.external}
    found = overlaid(externals, program, Overlay(added=(("blocked", ("C9",)),)))
    assert {name for name in found if found[name] is not externals[name]} == {"blocked"}


GATED = """
.decl gate(c: symbol)
.input gate(source="s", query="q")
.decl row(c: symbol)
.input row(source="s", query="q")
.decl deep(c: symbol)
.decl ok(c: symbol)
deep(?c) :- row(?c).
ok(?c) :- gate(?c), deep(?c).
"""


def world(program: AnalysedProgram, externals: Externals, *, budget: int = 10) -> World:
    """Give one side of a comparison; so many rows may be asked for."""
    engine, left = LazyEngine(), [budget]

    def ask_for(name: str, row: Row) -> int | None:
        left[0] -= 1
        if left[0] < 0:
            return None
        kinds = program.program.predicates[name].kinds
        atom = Atom(name, tuple(Constant(v, k) for v, k in zip(row, kinds, strict=True)))
        return engine.evaluate(program, atom, externals, Limits()).strength(atom)

    goal = Atom("ok", (Constant("C1", Kind.SYMBOL),))
    return World(engine.evaluate(program, goal, externals, Limits(), exhaust=True), ask_for)


@pytest.mark.parametrize(("budget", "uncompared"), [(10, 0), (0, 1)])
def test_what_one_world_did_not_ask_for_is_asked_before_it_is_called_new(
    budget: int, uncompared: int
) -> None:
    program = analysed(GATED)
    externals = {"gate": Table(), "row": Table((("C1",),))}
    before = world(program, externals, budget=budget)
    assert not list(before.outcome.rows("deep", 3)), "the engine asks for it without the gate"
    supposed = overlaid(externals, program, Overlay(added=(("gate", ("C1",)),)))
    found = compare(before, world(program, supposed), program.program.predicates, ("ok", "deep"))
    assert [(one.kind, one.after) for one in found.listed] == [("appeared", "ok(C1)")]
    assert found.uncompared == uncompared


def test_rows_that_there_was_no_time_for_are_counted() -> None:
    program = analysed(GATED)
    externals = {"gate": Table((("C1",),)), "row": Table((("C1",),))}
    supposed = overlaid(externals, program, Overlay(removed=(Removal("row", (OPEN,)),)))
    sides = world(program, externals), world(program, supposed)
    late = Clock(until=-1.0)
    found = compare(*sides, program.program.predicates, ("ok", "deep"), late)
    assert (found.listed, found.uncompared) == ((), 2)


def test_what_became_known_or_unknown_is_named_whether_it_holds_or_not() -> None:
    program = analysed(GATED)
    known = {"gate": Table((("C1",),)), "row": Table()}
    unknown = {"gate": Table((("C1",),)), "row": Table(silent=True)}
    predicates = program.program.predicates
    before, after = world(program, unknown), world(program, known)
    found = compare(before, after, predicates, ("ok",)).listed
    assert [(one.kind, one.before, one.after) for one in found] == [("became known", "ok(C1)", "")]
    found = compare(after, before, predicates, ("ok",)).listed
    assert [(one.kind, one.before, one.after) for one in found] == [
        ("became unknown", "", "ok(C1)")
    ]
