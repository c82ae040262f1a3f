"""Each verdict, the assumptions it names, and its confidence (semantics 3, 8 to 13, 17)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.evaluation import Answer, Assumption, Demand, Limits, Opening, Portion, Verdict
from constat.logic import OPEN, Atom, Constant, Kind, NullPolicy, Variable, with_null_cells
from constat.proof.decide import agrees
from tests.proof.asking import (
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    reach_tables,
    vip_tables,
    word,
)

CLOSED = Assumption("closure", "blocked", "the project declares blocked complete", Decimal("0.8"))
FELL = Assumption("fall-through", "crm", "tier crm did not answer", Decimal(1))


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("is_vip(C1)", Verdict.PROVED),
        ("is_vip(C2)", Verdict.DISPROVED),
        ("is_vip(C3)", Verdict.PROVED_UNDER),
        ("is_vip(?c)", Verdict.PROVED),
        ("revenue(C1, 150060)", Verdict.PROVED),
        ("revenue(C1, 150061)", Verdict.DISPROVED),
        ("revenue(C7, ?t)", Verdict.DISPROVED),
        ("customer(C1)", Verdict.PROVED),
        ("customer(C7)", Verdict.DISPROVED),
        ("tier(C3, gold)", Verdict.PROVED_UNDER),
    ],
)
def test_verdicts_of_the_vip_rules(goal: str, verdict: Verdict) -> None:
    assert ask(analysed(VIP), goal, vip_tables()).verdict is verdict


@pytest.mark.parametrize(
    ("policy", "wildcard", "reads"),
    [
        (NullPolicy.NONE, True, False),
        (NullPolicy.MAYBE, True, False),
        (NullPolicy.UNKNOWN, True, True),
    ],
)
def test_a_cell_that_may_hold_nothing_is_no_answer_where_it_is_read(
    policy: NullPolicy, *, wildcard: bool, reads: bool
) -> None:
    row = with_null_cells("p", ("a", None), [policy, policy])
    key = Constant("a", Kind.SYMBOL)
    assert agrees(Atom("p", (key, Variable("_1"))), row) is wildcard
    assert agrees(Atom("p", (key, Variable("b"))), row) is reads


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("reach(A, A)", Verdict.PROVED),
        ("reach(A, D)", Verdict.DISPROVED),
        ("apart(A, D)", Verdict.PROVED),
        ("apart(A, C)", Verdict.DISPROVED),
        ("apart(?a, D)", Verdict.PROVED),
        ("reached(A, 3)", Verdict.PROVED),
        ("reached(A, 4)", Verdict.DISPROVED),
        ("reached(D, 0)", Verdict.PROVED),
    ],
)
def test_verdicts_over_recursion_negation_and_aggregates(goal: str, verdict: Verdict) -> None:
    assert ask(analysed(REACH), goal, reach_tables()).verdict is verdict


def test_a_word_is_an_assumption_with_its_confidence() -> None:
    decision = ask(analysed(VIP), "is_vip(C3)", vip_tables())
    assert decision.assumptions == (word("tier", ("C3", "gold")),)
    assert decision.confidence == Decimal("0.9")
    assert not decision.exact


def test_a_declared_closure_is_an_assumption_of_an_absence() -> None:
    decision = ask(analysed(VIP), "is_vip(C1)", vip_tables(blocked=Table(closed=CLOSED)))
    assert decision.verdict is Verdict.PROVED_UNDER
    assert decision.assumptions == (CLOSED,)
    assert decision.confidence == Decimal("0.8")


def test_disproved_under_a_closure() -> None:
    tables = vip_tables(tier=Table(closed=CLOSED))
    decision = ask(analysed(VIP), "is_vip(C2)", tables)
    assert decision.verdict is Verdict.DISPROVED_UNDER
    assert decision.assumptions == (CLOSED,)
    assert decision.answers == ()


def test_rows_after_a_fall_through_rest_on_it() -> None:
    tables = vip_tables(tier=Table((("C2", "gold"),), fallen=FELL))
    assert ask(analysed(VIP), "is_vip(C2)", tables).assumptions == (FELL,)


def test_of_two_words_that_prove_alike_one_is_dropped_the_less_confident_first() -> None:
    rules = analysed(
        """
.decl a(x: symbol)
.input a(source="s", query="q")
.decl b(x: symbol)
.input b(source="s", query="q")
.decl both(x: symbol)
.decl either(x: symbol)
both(?x) :- a(?x), b(?x).
either(?x) :- a(?x).
either(?x) :- b(?x).
"""
    )
    tables = {"a": Table(said=((("k",), "0.5"),)), "b": Table(said=((("k",), "0.7"),))}
    both = ask(rules, "both(k)", tables)
    assert {one.subject for one in both.assumptions} == {"a(k)", "b(k)"}
    assert both.confidence == Decimal("0.5")
    assert both.minimal
    best = ask(rules, "either(k)", tables, exhaust=True)
    assert [one.subject for one in best.assumptions] == ["b(k)"]
    assert (best.confidence, best.exact) == (Decimal("0.7"), True)


def test_a_word_that_the_first_proof_uses_and_the_goal_does_not_need_is_dropped() -> None:
    rules = analysed(
        """
.decl a(x: symbol)
.input a(source="s", query="q")
.decl b(x: symbol)
.input b(source="s", query="q")
.decl some(x: symbol)
some(?x) :- a(?x), b(?x).
some(?x) :- a(?x), ?x != "other".
"""
    )
    tables = {"a": Table(said=((("k",), "0.5"),)), "b": Table(said=((("k",), "0.7"),))}
    decision = ask(rules, "some(k)", tables)
    assert [one.subject for one in decision.assumptions] == ["a(k)"]
    assert decision.minimal


def test_an_unsure_rule_is_an_assumption_and_lowers_confidence() -> None:
    rules = analysed(
        """
.decl tier(c: symbol, t: symbol)
.input tier(source="s", query="q")
.decl good(c: symbol)
@[id = R_good] @[confidence = 0.5]
good(?c) :- tier(?c, "gold").
"""
    )
    decision = ask(rules, "good(C1)", {"tier": Table((("C1", "gold"),))})
    assert decision.verdict is Verdict.PROVED_UNDER
    assert [one.subject for one in decision.assumptions] == ["R_good"]
    assert decision.confidence == Decimal("0.5")


@pytest.mark.parametrize(("direct", "best", "words"), [("0.2", "0.8", 3), ("0.85", "0.85", 1)])
def test_an_exhausted_search_finds_the_more_confident_derivation(
    direct: str, best: str, words: int
) -> None:
    rules = analysed(
        """
.decl edge(a: symbol, b: symbol)
.input edge(source="s", query="q")
.decl path(a: symbol, b: symbol)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?b) :- path(?a, ?m), edge(?m, ?b).
"""
    )
    short = (("A", "Z"), direct)
    long = [(("A", "B"), "0.9"), (("B", "C"), "0.8"), (("C", "Z"), "0.9")]
    tables = {"edge": Table(said=(short, *long))}
    decision = ask(rules, "path(A, Z)", tables, exhaust=True)
    assert decision.confidence == Decimal(best)
    assert decision.exact
    assert len(decision.assumptions) == words


def test_a_silent_source_leaves_the_goal_unresolved() -> None:
    decision = ask(analysed(VIP), "is_vip(C2)", vip_tables(tier=Table(silent=True)))
    assert decision.verdict is Verdict.UNRESOLVED
    assert decision.confidence == 0
    assert decision.missing == (("tier", ("C2", "gold")),)


def test_an_open_source_does_not_hide_what_is_decided() -> None:
    tables = vip_tables(tier=Table(silent=True))
    assert ask(analysed(VIP), "is_vip(C1)", tables).verdict is Verdict.PROVED


def test_a_limit_gives_unresolved_with_a_certificate() -> None:
    chain = tuple((f"n{i}", f"n{i + 1}") for i in range(50))
    tables = {"owns": Table(chain), "person": Table()}
    decision = ask(analysed(REACH), "reach(n0, x)", tables, limits=Limits(calls=5))
    assert decision.verdict is Verdict.UNRESOLVED
    assert "calls" in decision.outcome.stopped


def test_an_erring_rule_instance_is_unknown_and_not_false() -> None:
    rules = analysed(
        """
.decl n(x: number)
.input n(source="s", query="q")
.decl inverse(x: number, y: number)
inverse(?x, ?y) :- n(?x), ?y = 100 / ?x.
"""
    )
    tables = {"n": Table(((0,), (5,)))}
    assert ask(rules, "inverse(5, 20)", tables).verdict is Verdict.PROVED
    assert ask(rules, "inverse(5, 21)", tables).verdict is Verdict.DISPROVED
    unknown = ask(rules, "inverse(0, 7)", tables)
    assert unknown.verdict is Verdict.UNRESOLVED
    assert [failure.reason for failure in unknown.outcome.failures] == ["division by zero"]


def test_the_absence_of_any_row_is_proved_by_a_named_projection() -> None:
    rules = analysed(
        """
.decl person(a: symbol)
.input person(source="s", query="q")
.decl owns(a: symbol, b: symbol)
.input owns(source="s", query="q")
.decl poor(a: symbol)
.decl idle()
poor(?a) :- person(?a), !owns(?a, _).
idle() :- !owns(_, _).
"""
    )
    tables = {"person": Table((("A",), ("B",))), "owns": Table((("A", "x"),))}
    assert ask(rules, "poor(B)", tables).verdict is Verdict.PROVED
    assert ask(rules, "poor(A)", tables).verdict is Verdict.DISPROVED
    assert ask(rules, "idle()", tables).verdict is Verdict.DISPROVED
    assert ask(rules, "idle()", {"person": Table()}).verdict is Verdict.PROVED
    open_row = Table(open=(("B", OPEN),))
    assert ask(rules, "poor(B)", {**tables, "owns": open_row}).verdict is Verdict.UNRESOLVED


def test_nothing_is_asked_again_for_assumptions_or_what_is_missing() -> None:
    tables = vip_tables(blocked=Table(silent=True))
    decision = ask(analysed(VIP), "is_vip(C3)", tables)
    demands = sum(len(table.demands) for table in tables.values())
    assert demands == len(decision.outcome.calls)


def test_a_deep_proof_needs_no_recursion() -> None:
    rules = analysed(
        """
.decl step(a: number, b: number)
.input step(source="s", query="q")
.decl down(a: number)
down(0).
down(?b) :- step(?b, ?a), down(?a).
"""
    )
    depth = 1_500
    tables = {"step": IndexedTable(tuple((i + 1, i) for i in range(depth)))}
    decision = ask(rules, f"down({depth})", dict(tables), limits=Limits(calls=10 * depth))
    assert len(decision.proof.nodes) == 2 * depth + 1


class IndexedTable(Table):
    """Finds rows by their first column: a deep chain makes one call per step."""

    def answer(self, demand: Demand) -> Answer:
        by_first = {row[0]: row for row in self.rows}
        keys = [key[0] for key in demand.keys]
        rows = tuple(by_first[key] for key in keys if key in by_first)
        evidence = self.evidence(demand)
        return Answer((Portion(rows, evidence),), (), frozenset(demand.keys), (evidence,))


def test_what_an_engine_left_unasked_does_not_open_what_is_known() -> None:
    # Once ok(k) is certain by its first rule, the second one is not run: `any` is never scanned.
    rules = analysed(
        """
.decl item(x: symbol)
.input item(source="s", query="q")
.decl good(x: symbol)
.input good(source="s", query="q")
.decl any(y: symbol)
.input any(source="s", query="q")
.decl link(y: symbol)
.input link(source="s", query="q")
.decl ok(x: symbol)
.decl counted(n: number)
ok(?x) :- good(?x).
ok(?x) :- any(?y), link(?y), item(?x).
counted(?n) :- !any("k"), ?n = count : { item(?x), ok(?x) }.
"""
    )
    rows = Table((("k",), ("l",)))
    tables = {"item": rows, "good": rows, "any": Table((("z",),)), "link": Table()}
    assert ask(rules, "counted(2)", tables).verdict is Verdict.PROVED
    assert ask(rules, "counted(3)", tables).verdict is Verdict.DISPROVED


def test_what_a_certificate_cannot_tell_apart_is_left_open_or_decided_under_a_closure() -> None:
    # Whatever more is in e, d(c, ?w) has w = c only, and e1(c, c) is there: evaluation decides.
    # But d(?y, ?y) makes d(⋆, ⋆) possible, and a certificate knows no "only for this look-up".
    rules = analysed(
        """
.decl e(x: symbol, n: number)
.input e(source="config", key="e")
.decl e1(x: symbol, y: symbol)
.input e1(source="s", query="q")
.decl d(x: symbol, y: symbol)
.decl d1(x: symbol)
d(?x, ?x) :- e(?x, _).
d1(?x) :- d(?x, ?w), d(?y, ?y), !e1(?w, ?x).
d1(?z) :- e(_x, _n), d1(?z), !d(?z, _).
"""
    )
    declared = Assumption("closure", "e", "a person declares e complete", Decimal(1))
    rows = (("a", 3), ("b", 0))
    e1 = Table((("c", "c"),))
    found = ask(rules, 'd1("c")', {"e": Table(rows, closed=declared, cost=1), "e1": e1})
    assert (found.verdict, found.assumptions) == (Verdict.DISPROVED_UNDER, (declared,))
    broken = ask(rules, 'd1("c")', {"e": Table(rows, open=((OPEN, OPEN),), cost=1), "e1": e1})
    assert broken.verdict is Verdict.UNRESOLVED
    assert ("e", (OPEN, OPEN)) in broken.missing
    assert "without saying which belong together" in broken.limit


def test_where_an_absence_cannot_be_shown_another_derivation_proves_the_goal() -> None:
    # Evaluation knows that d(c, k) is absent; a certificate has d(⋆, ⋆). But q needs no absence.
    rules = analysed(
        """
.decl e(x: symbol)
.input e(source="s", query="q")
.decl d(x: symbol, y: symbol)
.decl q()
.decl r()
d(?x, ?x) :- e(?x).
d("k", "k").
q() :- !d("c", "k").
q() :- d(_x, _y).
r() :- d(_x, _y), q().
"""
    )
    found = ask(rules, "r()", {"e": Table(open=((OPEN,),))})
    assert (found.verdict, found.limit) == (Verdict.PROVED, "")


class Gone(Table):
    """A source that cannot be reached: whatever it is asked for stays open."""

    def answer(self, demand: Demand) -> Answer:
        known = [dict(zip(demand.columns, key, strict=True)) for key in demand.keys]
        places = range(demand.predicate.arity)
        rows = [tuple(one.get(place, OPEN) for place in places) for one in known]
        return Answer(openings=tuple(Opening(row, "there is no file", "database") for row in rows))


def test_an_unknown_key_is_looked_up_among_all_that_the_certificate_shows() -> None:
    # e is read as a whole by the sum of d alone; a checker finds these rows for e(⋆, ?x) as well.
    rules = analysed(
        """
.decl e(x: symbol, y: symbol)
.input e(source="gone", query="q")
.decl k(x: symbol)
.input k(source="config", key="k")
.decl d(x: symbol, y: symbol)
.decl d1(x: symbol)
.decl d2(x: symbol)
d("a", ?x) :- e(?y, ?x), k(?y), ?y != ?x, ?r = count : { e(_l0, _l1) }, ?r != 2.
d(?x, ?z) :- k("c"), e(?x, ?x), k(?z).
d1(?w) :- d(?z, ?w), ?r = count : { e(?z, _l1) }, ?r < 1.
d2(?w) :- e(?y, ?x), k(?y), d(?x, ?w), !d1(?y), ?x != ?y.
"""
    )
    declared = Assumption("closure", "k", "a person declares k complete", Decimal(1))
    tables = {"e": Gone(), "k": Table((("c",),), closed=declared, cost=1)}
    assert ask(rules, 'd2("b")', tables).verdict is Verdict.UNRESOLVED


def test_an_aggregate_asks_for_a_proof_what_it_asked_in_evaluation() -> None:
    # A proof looks at recursive relations last; inside of an aggregate that asks for other rows.
    rules = analysed(
        """
.decl boss(e: symbol, m: symbol)
.input boss(source="s", query="q")
.decl serves(c: symbol, e: symbol)
.input serves(source="s", query="q")
.decl under(e: symbol, m: symbol)
under(?e, ?m) :- boss(?e, ?m).
under(?e, ?t) :- under(?e, ?m), boss(?m, ?t).
.decl served(m: symbol, n: number)
served(?m, ?n) :- boss(_, ?m), ?n = count : { under(?e, ?m), serves(_c, ?e) }.
"""
    )
    tables = {
        "boss": Table((("bob", "ann"), ("cleo", "bob"))),
        "serves": Table((("x", "cleo"), ("y", "bob"))),
    }
    assert ask(rules, "served(ann, 2)", tables).verdict is Verdict.PROVED
    assert ask(rules, "served(ann, 1)", tables).verdict is Verdict.DISPROVED
