"""A plan as a graph in the DOT language of Graphviz.

In: an `ExplainedPlan`. Out: lines. Invariant: names and rules reach the text only inside quotes,
escaped. Example: `constat explain-plan reach.dl --format dot | dot -Tsvg`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.cli.plan_text import amount, report_of
from constat.plan import Absence, Fold, Join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.plan import Step
    from constat.plan.forward import Stage
    from constat.session.plan_explaining import ExplainedPlan


def dot_lines(explained: ExplainedPlan) -> Iterator[str]:
    """Write a plan as a graph: inputs as boxes, stages as frames, reads as arrows."""
    plan = explained.plan
    yield "digraph plan {"
    yield "  rankdir=LR;"
    yield '  node [fontname="sans-serif"];'
    for name in plan.inputs:
        known = f"about {amount(plan.relations[name].rows)} rows"
        label = f"{name}\\n{known if name in explained.known else 'rows not counted'}"
        yield f"  {_quoted(name)} [shape=box, label={_label(label)}];"
    for stage in plan.stages:
        yield from _stage(explained, stage)
    for stage in plan.stages:
        yield from _arrows(stage)
    for wanted in plan.wanted:
        yield f"  {_quoted(wanted.relation)} [penwidth=2];"
    yield "}"


def _stage(explained: ExplainedPlan, stage: Stage) -> Iterator[str]:
    report = report_of(explained, stage)
    strategy = stage.strategy.value if report is None else report.strategy
    yield f"  subgraph cluster_{stage.number} {{"
    yield f"    label={_label(f'stage {stage.number + 1}: {strategy}')};"
    for name in stage.predicates:
        estimate = f"about {amount(explained.plan.relations[name].rows)} rows"
        counted = [] if report is None else [f"{report.rows.get(name, 0):,} counted"]
        label = _label("\\n".join([name, estimate, *counted]))
        yield f"    {_quoted(name)} [label={label}];"
    yield "  }"


def _arrows(stage: Stage) -> Iterator[str]:
    seen: set[tuple[str, str, str]] = set()
    for pipeline in (*stage.base, *stage.recursive):
        for name, absent in _read(pipeline.plan.steps):
            style = "dashed" if absent else "bold" if name in stage.predicates else "solid"
            arrow = (name, pipeline.head, style)
            if arrow not in seen:
                seen.add(arrow)
                yield f"  {_quoted(name)} -> {_quoted(pipeline.head)} [style={style}];"


def _read(steps: Iterable[Step]) -> Iterator[tuple[str, bool]]:
    for step in steps:
        match step:
            case Join(predicate=predicate):
                yield predicate, False
            case Absence(predicate=predicate):
                yield predicate, True
            case Fold(steps=inner):
                yield from _read(inner)
            case _:
                pass


def _quoted(name: str) -> str:
    return _label(name.replace("\\", "\\\\"))


def _label(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
