"""Rules become pipelines: readings of rounds, liveness, dead rules, stated rows."""

from __future__ import annotations

from constat.plan import Fold, Join
from constat.plan.forward import PASSES, PlanOptions, Reading
from tests.plan.forward.programs import notes, planned, stage_of

HEAD = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
.decl q(x: number, y: number)
"""
AS_WRITTEN = PlanOptions(rewrite=False)


def test_each_place_that_reads_the_stage_has_its_round() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y). p(?x, ?w) :- p(?x, ?y), p(?y, ?z), p(?z, ?w)."
    stage = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p")
    found = []
    for pipeline in stage.recursive:
        steps = zip(pipeline.plan.steps, pipeline.readings, strict=True)
        found.append({step.literal: how for step, how in steps if isinstance(step, Join)})
    full, delta, stable = Reading.FULL, Reading.DELTA, Reading.STABLE
    assert found == [
        {0: delta, 1: full, 2: full},
        {0: stable, 1: delta, 2: full},
        {0: stable, 1: stable, 2: delta},
    ]
    assert not stage.linear
    assert all(one.readings[0] is delta for one in stage.recursive)


def test_mutual_recursion_is_one_stage_and_linear() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- q(?x, ?y), e(?y, ?z)."
    rules += "q(?x, ?z) :- p(?x, ?y), e(?y, ?z)."
    stage = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p")
    assert set(stage.predicates) == {"p", "q"}
    assert stage.linear
    assert len(stage.recursive) == 2


def test_a_threshold_has_one_pipeline_that_reads_everything() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y)."
    rules += "p(?x, ?y) :- e(?y, ?x), p(?x, _), ?n = count : { p(?x, _z) }, ?n >= 2."
    stage = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p")
    (pipeline,) = stage.recursive
    assert set(pipeline.readings) == {Reading.FULL}
    assert any(isinstance(step, Fold) for step in pipeline.plan.steps)
    assert not stage.linear


def test_stages_come_callees_first_and_read_nothing_later() -> None:
    rules = "p(?x, ?y) :- q(?x, ?y), !e(?x, ?y). q(?x, ?y) :- e(?x, ?z), e(?z, ?y)."
    plan = planned(HEAD + rules, "p(?a, ?b)")
    assert [stage.predicates for stage in plan.stages] == [("q",), ("p",)]
    assert plan.inputs == ("e",)


def test_rules_that_nothing_wanted_needs_are_dropped() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y). q(?x, ?y) :- p(?x, ?y)."
    plan = planned(HEAD + rules, "p(?a, ?b)")
    assert [rule.head.predicate for rule in plan.program.rules] == ["p"]
    assert notes(plan, "dead rules") == {"1 rule": True}
    assert "q" not in plan.relations


def test_facts_of_the_rules_are_stated_rows() -> None:
    plan = planned(HEAD + "p(1, 2). p(1, 2). p(2, 3). p(?x, 9) :- e(?x, _).", "p(?a, ?b)")
    stage = stage_of(plan, "p")
    assert stage.stated == {"p": ((1, 2), (2, 3))}
    assert len(stage.base) == 1


def test_slots_that_nothing_reads_are_not_live() -> None:
    rules = "p(?x, ?w) :- e(?x, ?y), e(?y, ?z), e(?z, ?w)."
    (pipeline,) = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p").base
    assert [len(live) for live in pipeline.live] == [2, 2, 2]


def test_an_aggregate_is_computed_once_for_each_group() -> None:
    rules = "p(?x, ?n) :- e(?x, _), ?n = count : { q(?x, _) }. q(?x, ?y) :- e(?y, ?x)."
    (pipeline,) = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p").base
    assert pipeline.distinct == {0}


def test_a_wanted_input_is_in_the_plan_without_a_stage() -> None:
    plan = planned(HEAD + "p(?x, ?y) :- e(?x, ?y).", "e(?a, ?b)")
    assert plan.stages == ()
    assert plan.inputs == ("e",)


def test_a_program_that_stays_keeps_its_numbers() -> None:
    plan = planned(HEAD + "p(?x, ?y) :- e(?x, ?y).", "p(?a, ?b)", options=AS_WRITTEN)
    assert plan.program is plan.original


def test_the_passes_are_named_in_order() -> None:
    assert next(one.__name__ for one in PASSES) == "keep_reachable"
    assert len({one.__name__ for one in PASSES}) == len(PASSES)


def test_a_rule_with_many_recursive_places_is_ordered_once() -> None:
    atoms = ", ".join(f"p(?v{place}, ?v{place + 1})" for place in range(30))
    rules = f"p(?x, ?y) :- e(?x, ?y). p(?v0, ?v30) :- {atoms}."
    stage = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p")
    assert len(stage.recursive) == 30
    assert len({id(one.plan) for one in stage.recursive}) == 1
    deltas = [one.readings.count(Reading.DELTA) for one in stage.recursive]
    assert deltas == [1] * 30
