"""A plan as text: inputs, stages with their steps in words, results, what was rewritten.

In: an `ExplainedPlan`. Out: lines. Invariant: each figure says whether it was estimated (`about`)
or counted; rows of inputs that nobody has counted are called unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.cli.output import counted
from constat.plan.forward.words import head_words, step_words
from constat.syntax import print_atom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.evaluation import PipelineReport, StageReport
    from constat.plan.forward import Pipeline, Relation, Stage
    from constat.session.plan_explaining import ExplainedPlan

_WIDTH: Final = 72
_UNITS: Final = ((1e15, "10^15"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def plan_lines(explained: ExplainedPlan) -> Iterator[str]:
    """Write a plan."""
    plan = explained.plan
    for name in plan.inputs:
        yield _input(plan.relations[name], known=name in explained.known)
    for stage in plan.stages:
        yield ""
        yield from _stage(explained, stage)
    yield ""
    for wanted in plan.wanted:
        if wanted.atom.predicate in explained.guards:
            continue
        yield f"result {print_atom(wanted.atom)} from {wanted.relation}"
    yield from _open(explained)
    for one in plan.rewritings:
        done = "done" if one.applied else "not done"
        yield f"{one.name}, {one.subject}: {done}; {one.why}"
    if explained.reports is not None:
        yield f"computed in {seconds(explained.seconds)}"


def _open(explained: ExplainedPlan) -> Iterator[str]:
    for atom in explained.unsettled:
        if atom not in [one.atom for one in explained.plan.wanted]:
            yield f"result {print_atom(atom)} by the reference engine: what it rests on is open"
    for name, why in sorted(explained.left.items()):
        yield f"left to the reference engine: {name}, {why}"
    for name, why in sorted(explained.loose.items()):
        yield f"loosened, so that less may be decided than in a single proof: {name}, {why}"


def _input(relation: Relation, *, known: bool) -> str:
    rows = f"about {_rows(relation.rows)}" if known else "rows not counted"
    return f"input {relation.name}: {rows}{_encoding(relation)}"


def _encoding(relation: Relation) -> str:
    places = [str(place + 1) for place, one in enumerate(relation.encoded) if one]
    if not places:
        return ""
    columns = "column" if len(places) == 1 else "columns"
    return f", {columns} {', '.join(places)} as numbers of the dictionary"


def _stage(explained: ExplainedPlan, stage: Stage) -> Iterator[str]:
    plan = explained.plan
    report = report_of(explained, stage)
    yield f"stage {stage.number + 1}: {', '.join(stage.predicates)}"
    beside = sorted({explained.graded[one] for one in stage.predicates if one in explained.graded})
    if beside:
        yield f"  what is not certain of {', '.join(beside)}, computed a second time"
    if report is None or report.strategy == stage.strategy.value:
        yield f"  by {stage.strategy.value}: {stage.why}"
    else:
        yield f"  by {report.strategy}, planned by {stage.strategy.value}: {stage.why}"
    for strategy, reason in () if report is None else report.tried:
        yield f"  {strategy} gave up: {reason}"
    rounds = f" in about {amount(stage.rounds)} rounds" if stage.is_recursive else ""
    yield f"  about {_rows(stage.rows)}{rounds}{_actual(report, stage)}"
    for name, rows in stage.stated.items():
        yield f"  stated in the rules: {_rows(len(rows))} of {name}"
    measured = measured_pipelines(stage, report)
    pipelines = (*stage.base, *stage.recursive)
    for number, (pipeline, found) in enumerate(zip(pipelines, measured, strict=True)):
        when = "in each round, " if number >= len(stage.base) else ""
        rule = plan.program.rules[pipeline.plan.rule]
        took = f", {seconds(found.seconds)}" if found is not None and found.seconds else ""
        yield f"  {when}rule {rule.id}{took}"
        yield from _steps(explained, pipeline, found)


def _actual(report: StageReport | None, stage: Stage) -> str:
    if report is None:
        return ""
    rows = counted(sum(report.rows.values()), "row")
    rounds = (
        f" in {counted(report.rounds, 'round')}" if report.rounds and stage.is_recursive else ""
    )
    size = f", {_bytes(report.bytes)}" if report.bytes else ""
    return f"; counted {rows}{rounds}, {seconds(report.seconds)}{size}"


def _steps(
    explained: ExplainedPlan, pipeline: Pipeline, found: PipelineReport | None
) -> Iterator[str]:
    for number, words in enumerate(step_words(explained.plan, pipeline)):
        estimated = f"about {amount(pipeline.rows[number])}" if pipeline.rows else ""
        exact = found.rows[number] if found is not None and number < len(found.rows) else -1
        figures = f"{estimated}; {exact:,}" if exact >= 0 else estimated
        yield f"    {words:<{_WIDTH - 4}}  {figures}".rstrip()
    yield f"    {head_words(explained.plan, pipeline)}"


def report_of(explained: ExplainedPlan, stage: Stage) -> StageReport | None:
    """Give the report of a stage, if it was run."""
    reports = explained.reports or ()
    return next((one for one in reports if one.number == stage.number), None)


def measured_pipelines(stage: Stage, report: StageReport | None) -> list[PipelineReport | None]:
    """Give for each pipeline what it did, where that was measured."""
    pipelines = (*stage.base, *stage.recursive)
    rules = [one.plan.rule for one in pipelines]
    if report is None or [one.rule for one in report.pipelines] != rules:
        return [None] * len(pipelines)
    return list(report.pipelines)


def amount(rows: float) -> str:
    """Write an estimate.

    >>> amount(12_345_678.0)
    '12 million'
    """
    for unit, name in _UNITS:
        if rows >= unit:
            return (
                f"{rows / unit:.2g} {name}" if rows < 100 * unit else f"{rows / unit:,.0f} {name}"
            )
    return f"{rows:,.0f}"


def _rows(estimate: float) -> str:
    text = amount(estimate)
    return f"{text} row" if text == "1" else f"{text} rows"


def seconds(value: float) -> str:
    """Write a duration."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def _bytes(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
