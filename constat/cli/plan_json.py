"""A plan as JSON; its form is `constat schema explain-plan`.

In: an `ExplainedPlan`. Out: one object. Invariant: what was not counted is `null`, never 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from constat.cli.plan_text import measured_pipelines, report_of
from constat.plan.forward.words import head_words, step_words
from constat.syntax import print_atom

if TYPE_CHECKING:
    from constat.evaluation import PipelineReport, StageReport
    from constat.plan.forward import Pipeline, Relation, Stage
    from constat.session.plan_explaining import ExplainedPlan

Object = dict[str, object]


def plan_json(explained: ExplainedPlan, subject: str) -> Object:
    """Give a plan as an object."""
    plan = explained.plan
    return {
        "subject": subject,
        "exit_code": 0,
        "analyzed": explained.reports is not None,
        "seconds": None if explained.reports is None else round(explained.seconds, 6),
        "inputs": [
            {**_relation(explained, plan.relations[name]), "rows_known": name in explained.known}
            for name in plan.inputs
        ],
        "stages": [_stage(explained, stage) for stage in plan.stages],
        "results": [
            {"goal": print_atom(one.atom), "relation": one.relation}
            for one in plan.wanted
            if one.atom.predicate not in explained.guards
        ],
        "open": [print_atom(atom) for atom in explained.unsettled],
        "graded": [
            {"relation": name, "beside": predicate}
            for name, predicate in sorted(explained.graded.items())
        ],
        "left": [{"predicate": name, "why": why} for name, why in sorted(explained.left.items())],
        "loose": [{"predicate": name, "why": why} for name, why in sorted(explained.loose.items())],
        "rewritings": [
            {"name": one.name, "subject": one.subject, "applied": one.applied, "why": one.why}
            for one in plan.rewritings
        ],
    }


def _relation(explained: ExplainedPlan, relation: Relation) -> Object:
    columns = explained.plan.program.program.predicates[relation.name].columns
    return {
        "relation": relation.name,
        "columns": [
            {"name": column.name, "kind": kind.value, "encoded": encoded}
            for column, kind, encoded in zip(columns, relation.kinds, relation.encoded, strict=True)
        ],
        "made_by": relation.made_by,
        "estimated_rows": _figure(relation.rows),
    }


def _stage(explained: ExplainedPlan, stage: Stage) -> Object:
    report = report_of(explained, stage)
    measured = measured_pipelines(stage, report)
    counts = {} if report is None else report.rows
    return {
        "number": stage.number + 1,
        "recursive": stage.is_recursive,
        "linear": stage.linear,
        "strategy": stage.strategy.value,
        "choices": [one.value for one in stage.choices],
        "why": stage.why,
        "estimated_rows": _figure(stage.rows),
        "estimated_rounds": _figure(stage.rounds),
        "relations": [
            {
                **_relation(explained, explained.plan.relations[name]),
                "stated_rows": len(stage.stated.get(name, ())),
                "rows": counts.get(name),
            }
            for name in stage.predicates
        ],
        "pipelines": [
            _pipeline(explained, one, found, in_rounds=number >= len(stage.base))
            for number, (one, found) in enumerate(
                zip((*stage.base, *stage.recursive), measured, strict=True)
            )
        ],
        "run": None if report is None else _run(report),
    }


def _run(report: StageReport) -> Object:
    return {
        "strategy": report.strategy,
        "rounds": report.rounds,
        "rows": sum(report.rows.values()),
        "seconds": round(report.seconds, 6),
        "bytes": report.bytes or None,
        "gave_up": [{"strategy": one, "reason": why} for one, why in report.tried],
    }


def _pipeline(
    explained: ExplainedPlan,
    pipeline: Pipeline,
    found: PipelineReport | None,
    *,
    in_rounds: bool,
) -> Object:
    words = step_words(explained.plan, pipeline)
    counted = [] if found is None else [None if rows < 0 else rows for rows in found.rows]
    counted += [None] * (len(words) - len(counted))
    return {
        "rule": explained.plan.program.rules[pipeline.plan.rule].id,
        "in_each_round": in_rounds,
        "into": pipeline.head,
        "steps": [
            {
                "does": text,
                "estimated_rows": _figure(pipeline.rows[number]),
                "rows": counted[number],
                "drops_duplicates": number in pipeline.distinct,
            }
            for number, text in enumerate(words)
        ],
        "ends": head_words(explained.plan, pipeline),
        "seconds": None if found is None or not found.seconds else round(found.seconds, 6),
    }


def _figure(value: float) -> float:
    """Round an estimate: its first digits are all that it is good for."""
    if value < 1 or not math.isfinite(value):
        return 0.0 if value < 1 else 1e18
    return float(f"{value:.3g}")
