"""What differs between two proofs: classes of changes, causes, and what is not aligned."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import (
    Agent,
    Answer,
    Assumption,
    Attestation,
    Evidence,
    Limits,
    Origin,
)
from constat.logic import OPEN
from constat.proof import decide
from constat.proof.comparison import CAUSES, Change, Comparison, compare
from tests.proof.asking import (
    NOW,
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    reach_tables,
    vip_tables,
)
from tests.property.strategies import Case, cases, worlds
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.evaluation import Demand
    from tests.oracle.naive import World


def written(goal: str = "is_vip(C1)", rules: str = VIP, **other: Table) -> bytes:
    return certificate(ask(analysed(rules), goal, vip_tables(**other)))


def kinds(found: Comparison) -> list[str]:
    return [one.kind for one in found.changes]


def threshold(amount: int) -> Table:
    return Table(((Decimal(amount),),), origin=Origin.CONFIG)


def certificate_of(case: Case, world: World) -> bytes:
    externals = tables(case.program, world)
    return certificate(decide(LazyEngine(), case.program, case.goal, externals, Limits()))


@settings(max_examples=12)
@given(st.data())
def test_nothing_differs_from_itself_and_both_ways_are_the_same(data: st.DataObject) -> None:
    case = data.draw(cases())
    one = certificate_of(case, case.world)
    other = certificate_of(case, data.draw(worlds(case.program)))
    assert compare(one, one).is_empty
    found = compare(one, other)
    assert compare(other, one) == found.inverted()
    assert found.inverted().inverted() == found
    for number, change in enumerate(found.changes):
        assert change.before != change.after
        assert not (change.kind in CAUSES and change.because)
        assert number not in change.because


def test_a_changed_value_is_one_change_and_the_reason_of_the_verdict() -> None:
    found = compare(written(), written(threshold=threshold(200_000)))
    data, verdict = found.changes
    assert data == Change("data", "threshold(?x)", "threshold(100000)", "threshold(200000)")
    assert verdict.kind == "verdict"
    assert (verdict.before, verdict.after) == ("PROVED, confidence 1", "DISPROVED, confidence 1")
    assert verdict.because == (0,)
    assert found.unaligned == ()


def test_a_row_that_changes_no_verdict_is_told_with_what_it_changed() -> None:
    rows = (("C1", "o1", Decimal(150_001)), ("C1", "o2", Decimal(60)))
    found = compare(written(), written(order_line=Table(rows)))
    assert kinds(found) == ["data", "conclusion"]
    assert found.changes[1].before == "revenue(C1, 150060)"
    assert found.changes[1].after == "revenue(C1, 150061)"
    assert found.changes[1].because == (0,)


def test_a_new_row_behind_a_negation_is_a_reason() -> None:
    found = compare(written(), written(blocked=Table((("C1",),))))
    assert found.changes[0] == Change("data", "blocked(C1)", None, "blocked(C1)")
    assert found.changes[1].because == (0,)
    # The disproof did not come to the orders, so it does not say that they are gone.
    told = [(one.side, one.text) for one in found.unaligned]
    assert ("before", "order_line(C1, o2, 60)") in told


def test_a_rule_that_changed_is_told_by_its_texts() -> None:
    newer = VIP.replace("?total > ?x", "?total > ?x * 2")
    found = compare(written(), written(rules=newer))
    assert kinds(found) == ["rule", "verdict"]
    assert "?total > ?x * 2" in (found.changes[0].after or "")
    assert found.changes[1].because == (0,)


def test_what_is_said_in_other_words_is_told_beside_what_changed() -> None:
    said = '@[says = "{c} is %s"]\n@[owner = "%s"]\n.decl is_vip('
    before, after = (
        written(rules=VIP.replace(".decl is_vip(", said % words, 1))
        for words in (("a VIP", "sales"), ("no VIP", "sales"))
    )
    found = compare(before, after)
    told = Change("wording", "the sentence of is_vip", '"{c} is a VIP"', '"{c} is no VIP"')
    assert found.changes == (told,)
    assert compare(after, before) == found.inverted()
    raised = compare(
        before,
        written(
            rules=VIP.replace(".decl is_vip(", said % ("a VIP", "sales"), 1),
            threshold=threshold(10),
        ),
    )
    assert "wording" not in kinds(raised)


def test_a_rule_that_is_gone_and_one_that_is_new() -> None:
    lines = VIP.splitlines()
    other = "\n".join([*lines[:-1], 'is_vip(?c) :- tier(?c, "platinum").'])
    found = compare(written(), written(rules=other))
    assert [(one.kind, one.before is None) for one in found.changes] == [("rule", False)]


def test_an_assumption_is_a_change_of_its_own() -> None:
    one = written("is_vip(C3)")
    other = written("is_vip(C3)", tier=Table((("C2", "silver"), ("C3", "gold"))))
    found = compare(one, other)
    assert kinds(found) == ["data", "assumption", "source", "verdict"]
    assert found.changes[0].before == "tier(C3, gold), assumed: alice says tier(C3, gold)"
    assert found.changes[0].after == "tier(C3, gold)"
    assert found.changes[3].because == (0, 1, 2)


def test_causes_are_found_below_what_has_not_changed() -> None:
    text = (
        '.decl e(a: number)\n.input e(source = "s", query = "q")\n'
        ".decl p(a: number)\n.decl q(a: number)\n.decl r(a: number)\n"
        "p(?a) :- e(?a).\nq(?a) :- p(?a).\nr(?a) :- q(?a).\n"
    )
    said, stored = (
        certificate(ask(analysed(text), "r(1)", {"e": table}))
        for table in (Table(said=(((1,), "0.9"),)), Table(((1,),)))
    )
    found = compare(said, stored)
    assert kinds(found) == ["data", "assumption", "source", "verdict"]
    assert found.changes[3].because == (0, 1, 2)


def test_another_query_is_another_source() -> None:
    class Elsewhere(Table):
        def evidence(self, demand: Demand) -> Evidence:
            return Evidence("database", Origin.DATABASE, "archive", NOW, "SELECT 1", ("x",))

    found = compare(written(), written(blocked=Elsewhere(), customer=Elsewhere((("C1",),))))
    assert kinds(found) == ["source"]
    assert "archive" in (found.changes[0].after or "")


def test_another_answer_of_a_model_is_another_source() -> None:
    def said(response: str) -> bytes:
        class Model(Table):
            def answer(self, demand: Demand) -> Answer:
                found = super().answer(demand)
                prompt, answered = f"sha256:{'0' * 64}", f"sha256:{response * 64}"
                told = Attestation(Agent("model", "m", "1"), prompt, answered)
                portions = tuple(
                    replace(
                        one,
                        evidence=replace(
                            one.evidence,
                            origin=Origin.LLM_KNOWLEDGE,
                            author=None,
                            attestation=told,
                        ),
                    )
                    for one in found.portions
                )
                return replace(found, portions=portions)

        return written("is_vip(C3)", tier=Model(said=((("C3", "gold"), "0.9"),)))

    assert kinds(compare(said("a"), said("b"))) == ["source"]
    assert compare(said("a"), said("a")).is_empty


def test_how_rows_were_fetched_is_no_difference() -> None:
    class Cached(Table):
        def evidence(self, demand: Demand) -> Evidence:
            found = super().evidence(demand)
            return Evidence("cache", found.origin, found.source, found.executed_at, found.query)

    assert compare(written(), written(customer=Cached((("C1",),)))).is_empty


def test_the_same_conclusion_by_another_rule_is_a_change_of_shape() -> None:
    text = REACH + "reach(?a, ?b) :- person(?a), owns(?a, ?b), ?b != ?a.\n"
    one, other = (
        certificate(ask(analysed(rules), "reach(A, B)", reach_tables()))
        for rules in (text, text.replace("reach(?a, ?b) :- owns(?a, ?b).\n", ""))
    )
    found = compare(one, other)
    assert "shape" in kinds(found)
    assert "verdict" not in kinds(found)


def test_what_became_unknown_is_a_change_of_data() -> None:
    found = compare(written("is_vip(C2)"), written("is_vip(C2)", blocked=Table(open=((OPEN,),))))
    assert found.is_empty  # the block of C2 does not matter
    found = compare(written(), written(blocked=Table(open=(("C1",),))))
    assert found.changes[0].kind == "data"
    assert found.changes[0].before is None
    assert "the source timed out" in (found.changes[0].after or "")
    assert found.changes[-1].after == "UNRESOLVED"


def test_declared_keys_align_rows_that_differ_in_several_columns() -> None:
    text = (
        '@[key = "a"]\n.decl e(a: number, b: number, c: number)\n'
        '.input e(source = "s", query = "q")\n.decl p(a: number)\n'
        "p(?a) :- e(?a, ?b, ?c), ?b < ?c.\n"
    )
    one, other = (
        certificate(ask(analysed(text), "p(1)", {"e": Table((row,))}))
        for row in ((1, 2, 3), (1, 4, 5))
    )
    assert kinds(compare(one, other, {"e": (0,)})) == ["data"]
    assert kinds(compare(one, other)) == ["shape"]
    assert len(compare(one, other).unaligned) == 2


def test_rows_that_may_correspond_to_several_are_not_paired() -> None:
    text = (
        '.decl d(a: number)\n.input d(source = "s", query = "q")\n'
        '.decl e(a: number, b: number)\n.input e(source = "s", query = "q")\n'
        ".decl p(a: number)\np(?a) :- d(?a), ?n = count : { e(?a, _b) }, ?n > 0.\n"
    )

    def with_rows(*rows: tuple[int, int]) -> bytes:
        return certificate(ask(analysed(text), "p(1)", {"d": Table(((1,),)), "e": Table(rows)}))

    one, two = with_rows((1, 5)), with_rows((1, 6), (1, 7))
    told = [(one.before, one.after) for one in compare(one, two).changes if one.kind == "data"]
    assert told == [("e(1, 5)", None), (None, "e(1, 6)"), (None, "e(1, 7)")]
    told = [(one.before, one.after) for one in compare(one, with_rows((1, 6))).changes]
    assert told == [("e(1, 5)", "e(1, 6)")]


def test_other_goals_and_other_columns_are_not_aligned() -> None:
    found = compare(written("is_vip(C1)"), written("is_vip(C2)"))
    reasons = {one.reason for one in found.unaligned}
    assert "the goals differ" in reasons
    wider = VIP.replace(".decl blocked(c: symbol)", ".decl blocked(c: symbol, d: symbol)")
    wider = wider.replace("!blocked(?c)", '!blocked(?c, "x")')
    found = compare(written(), written(rules=wider))
    assert "the predicate has other columns" in {one.reason for one in found.unaligned}


def test_a_closure_that_was_accepted_is_an_assumption() -> None:
    closed = Assumption("closure", "project", "sales says blocked is complete", Decimal(1))
    found = compare(written(), written(blocked=Table(closed=closed)))
    assert "assumption" in kinds(found)
    assert found.changes[-1].after == "PROVED UNDER assumptions, confidence 1"


@pytest.mark.laws
@pytest.mark.parametrize("length", [1_100])
def test_deep_proofs_are_compared_without_recursion(length: int) -> None:
    text = (
        '.decl e(a: number, b: number)\n.input e(source = "s", query = "q")\n'
        ".decl p(a: number)\np(?b) :- e(0, ?b).\np(?b) :- p(?a), e(?a, ?b).\n"
    )

    class Line(Table):
        """The pairs of neighbours up to a number; one of them may be skipped over."""

        skipped = 0

        def answer(self, demand: Demand) -> Answer:
            first, *_ = demand.columns
            self.rows = tuple(
                row
                for key in demand.keys
                for row in self.around(int(str(key[0])))
                if row[first] == key[0]
            )
            return super().answer(demand)

        def around(self, number: int) -> list[tuple[int, int]]:
            pairs = [(number - 1, number), (number, number + 1)]
            if self.skipped:
                over = (self.skipped - 1, self.skipped + 1)
                pairs = [pair for pair in [*pairs, over] if self.skipped not in pair]
            return [pair for pair in pairs if pair[0] >= 0]

    longer = Line()
    shorter = Line()
    shorter.skipped = length // 2
    one, other = (
        certificate(ask(analysed(text), f"p({length})", {"e": table}))
        for table in (longer, shorter)
    )
    found = compare(one, other)
    assert [one.kind for one in found.changes] == ["shape"]
    assert found.changes[0].subject == f"p({length // 2 + 1})"
