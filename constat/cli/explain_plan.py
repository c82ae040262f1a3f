"""`constat explain-plan GOAL|PROGRAM`: how answers in bulk are computed, in text, JSON or DOT."""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from constat.cli.groups import PlainCommand
from constat.cli.options import STDIN, asked, files_given, project_option
from constat.cli.output import note, show_error, use_utf8, write, write_file, write_json
from constat.cli.progress import watching
from constat.diagnostics import ConstatError, counted
from constat.frozen import frozen
from constat.logic import Constant
from constat.plan import Absence, Fold, Join
from constat.plan.forward import Strategy
from constat.plan.forward.words import head_words, step_words
from constat.project.settings import SparkSetting
from constat.session import Session
from constat.session.plan_explaining import (
    PlanQuestion,
    ProgramFile,
    analyze_program,
    explain_program,
)
from constat.syntax import Mode, print_atom, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.evaluation import PipelineReport, StageReport
    from constat.plan import Step
    from constat.plan.forward import Pipeline, Relation, Stage
    from constat.session.plan_explaining import ExplainedPlan

# Each figure says whether it was estimated (`about`) or counted; rows of inputs that nobody has
# counted are called unknown.

_WIDTH: Final = 72
_UNITS: Final = ((1e15, "10^15"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def plan_lines(explained: ExplainedPlan) -> Iterator[str]:
    """Write a plan."""
    plan = explained.plan
    for name in plan.inputs:
        yield _input(plan.relations[name], known=name in explained.known)
        yield from _told(explained, name)
    for stage in plan.stages:
        yield ""
        yield from _stage(explained, stage)
    yield ""
    for wanted in plan.wanted:
        if wanted.atom.predicate in explained.guards:
            continue
        yield f"result {print_atom(wanted.atom)} from {wanted.relation}"
    yield from open_lines(explained)
    for one in plan.rewritings:
        done = "done" if one.applied else "not done"
        yield f"{one.name}, {one.subject}: {done}; {one.why}"
    if explained.reports is not None:
        yield f"computed in {seconds(explained.seconds)}"


def open_lines(explained: ExplainedPlan) -> Iterator[str]:
    """Say what bulk evaluation has left to the reference engine."""
    for atom in explained.unsettled:
        if atom not in [one.atom for one in explained.plan.wanted]:
            yield f"result {print_atom(atom)} by the reference engine: what it rests on is open"
    for name, why in sorted(explained.left.items()):
        yield f"left to the reference engine: {name}, {why}"
    for name, why in sorted(explained.here.items()):
        yield f"not left to the server that has the relations: {name}, {why}"
    for name, why in sorted(explained.loose.items()):
        yield f"loosened, so that less may be decided than in a single proof: {name}, {why}"


def _input(relation: Relation, *, known: bool) -> str:
    rows = f"about {_rows(relation.rows)}" if known else "rows not counted"
    return f"input {relation.name}: {rows}{_encoding(relation)}"


def _told(explained: ExplainedPlan, name: str) -> Iterator[str]:
    """Say what its source compared; all other comparisons are made here."""
    columns = explained.plan.program.program.predicates[name].columns
    for one in explained.told.get(name, ()):
        column = columns[one.column]
        value = print_term(Constant(one.value, column.kind))
        yield f"  its source leaves out rows outside of {column.name} {one.operator} {value}"


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
    if stage.number in explained.elsewhere:
        yield from (f"  {line}" for line in explained.elsewhere[stage.number])
    elif report is None or report.strategy == stage.strategy.value:
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


# What was not counted is `null`, never 0.

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
            {
                **_relation(explained, plan.relations[name]),
                "rows_known": name in explained.known,
                "told": [
                    {"column": one.column, "operator": one.operator, "value": str(one.value)}
                    for one in explained.told.get(name, ())
                ],
            }
            for name in plan.inputs
        ],
        "stages": [_plan_stage(explained, stage) for stage in plan.stages],
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


def _plan_stage(explained: ExplainedPlan, stage: Stage) -> Object:
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


# Names and rules reach the text only inside quotes, escaped.


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
        yield from _plan_stage_(explained, stage)
    for stage in plan.stages:
        yield from _arrows(stage)
    for wanted in plan.wanted:
        yield f"  {_quoted(wanted.relation)} [penwidth=2];"
    yield "}"


def _plan_stage_(explained: ExplainedPlan, stage: Stage) -> Iterator[str]:
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


# Without `--analyze` nothing is asked and nothing computed; the figures are estimates.

_FORMATS: Final = ("text", "json", "dot")
_ENGINES: Final = ("forward", "spark", "postgres")


@frozen
class _Wanted:
    """How to plan, and how to read a program."""

    strategy: str | None
    no_magic: bool
    facts: str
    include: tuple[str, ...]
    mode: str | None
    word_size: str
    timeout: float
    engine: str
    remote: str | None

    @property
    def question(self) -> PlanQuestion:
        strategy = None if self.strategy is None else Strategy(self.strategy)
        remote = SparkSetting(self.remote) if self.remote else None
        on_spark = self.engine == _ENGINES[1]
        magic = False if self.no_magic else None
        on_server = self.engine == _ENGINES[2]
        return PlanQuestion(strategy, magic, self.timeout, on_spark, remote, on_server)

    def program(self, path: Path) -> ProgramFile:
        mode = None if self.mode is None else Mode(self.mode)
        include = tuple(map(Path, self.include))
        return ProgramFile(path, Path(self.facts), mode, int(self.word_size), include)


@click.command(name="explain-plan", cls=PlainCommand)
@click.argument("subject", metavar="GOAL|PROGRAM")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="How to print the plan; dot is for Graphviz.",
)
@click.option("--analyze", is_flag=True, help="Compute it, and show what each stage took.")
@click.option(
    "--strategy",
    type=click.Choice([one.value for one in Strategy]),
    help="Take this strategy wherever it gives the right answer.",
)
@click.option("--no-magic", is_flag=True, help="Never restrict rules to what constants demand.")
@click.option("--facts", "-F", metavar="DIR", default=".", help="PROGRAM: read fact files here.")
@click.option(
    "--include", "-I", metavar="DIR", multiple=True, help="PROGRAM: include files from here."
)
@click.option(
    "--mode", type=click.Choice([one.value for one in Mode]), help="PROGRAM: how to read it."
)
@click.option(
    "--word-size",
    type=click.Choice(("32", "64")),
    default="32",
    show_default=True,
    help="PROGRAM: bits of an integer in souffle mode.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    help="Stop --analyze after so many seconds.",
)
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default=_ENGINES[0],
    show_default=True,
    help="Who would compute it; spark and postgres show their statements, and what they refuse.",
)
@click.option(
    "--remote",
    metavar="ADDRESS",
    envvar="SPARK_REMOTE",
    help="PROGRAM: the server for --engine spark --analyze; a project names its own.",
)
@project_option
def command(
    subject: str,
    *,
    form: str,
    analyze: bool,
    project: str | None,
    **given: object,
) -> int:
    """Show how the answers of GOAL, or the results of PROGRAM, are computed in bulk.

    GOAL is a goal of the project, as `constat query` takes it; PROGRAM is a file whose name ends
    in .dl, as `constat run` takes it. The plan has stages: each computes some relations from
    inputs and earlier stages, by a strategy: statement (one of SQL), cte (one recursive table
    expression), loop (rounds of SQL), bitmap and runs (columns of numbers in memory), reference
    (rule by rule, slowly). Each step of a rule is a line.

    Figures with `about` are estimates. With --analyze everything is computed and the other figures
    are counts: of the rows after each step, over all rounds; results are not kept.

    Examples:
      constat explain-plan "is_vip(?c)"
      constat explain-plan "controls(C001, ?b)" --no-magic
      constat explain-plan "is_vip(?c)" --analyze
      constat explain-plan examples/reach/reach.dl -F examples/reach/facts
      constat explain-plan examples/reach/reach.dl -F examples/reach/facts --analyze --strategy loop
      constat explain-plan "is_vip(?c)" --format json
      constat explain-plan "is_vip(?c)" --format dot
      constat explain-plan examples/reach/reach.dl -F examples/reach/facts --engine spark

    Exit codes: 0 the plan is shown, 2 bad usage, configuration or rules, 78 a construct that is
    not supported.
    """
    wanted = _Wanted(**given)  # type: ignore[arg-type]  # click gives the options declared above
    question = wanted.question
    if (question.on_spark or question.on_server) and form != "text":
        raise click.UsageError(f"--engine {wanted.engine} is shown as text")
    program = subject.endswith(".dl") or subject == STDIN
    if program and question.on_server:
        raise click.UsageError("--engine postgres is for a goal over a project's database")
    if program and question.on_spark and analyze and question.spark is None:
        raise click.UsageError("--engine spark --analyze needs --remote ADDRESS for a program")
    if program:
        found = _program(wanted, subject, analyze=analyze, as_json=form == "json")
        if isinstance(found, int):
            return found
    else:
        with Session(project) as session, asked(session, goal=subject), watching() as observe:
            found = session.explain_plan(subject, question, analyze=analyze, observe=observe)
    _write(found, subject, form)
    return 0


def _program(wanted: _Wanted, subject: str, *, analyze: bool, as_json: bool) -> ExplainedPlan | int:
    texts: dict[str, str] = {}
    try:
        with files_given([subject]) as (file,), watching() as observe:
            program, question = wanted.program(file), wanted.question
            if not analyze:
                return explain_program(program, question, texts)
            return analyze_program(program, question, texts, observe)
    except ConstatError as problem:
        show_error(problem, texts, as_json=as_json)
        return problem.exit_code


def _write(found: ExplainedPlan, subject: str, form: str) -> None:
    if form == "json":
        write_json(plan_json(found, subject))
    elif form == "dot":
        use_utf8()
        write("\n".join(dot_lines(found)))
    else:
        write("\n".join(plan_lines(found)))


# `--profile` of `run` and `query`: which rules and steps take the time, slowest first.


@frozen
class StepProfile:
    """What was expected of a step, and what was counted after it, over all rounds."""

    words: str
    estimated: float | None
    rows: int | None


@frozen
class RuleProfile:
    """What one rule did in one stage; its seconds are its part of those of the stage.

    `steps` are those of each way to take the rule: a recursive one is taken once for each place
    that reads new rows. `estimated` and `rows` are those after its last steps.
    """

    rule: str
    stage: Stage
    strategy: str
    seconds: float | None
    steps: tuple[tuple[StepProfile, ...], ...]

    @property
    def estimated(self) -> float | None:
        """About how many rows its last steps were expected to give."""
        known = [one[-1].estimated for one in self.steps if one]
        found = [one for one in known if one is not None]
        return sum(found) if found and len(found) == len(known) else None

    @property
    def rows(self) -> int | None:
        """How many rows its last steps gave, duplicates among them."""
        known = [one[-1].rows for one in self.steps if one]
        found = [one for one in known if one is not None]
        return sum(found) if found and len(found) == len(known) else None


def rules_of(explained: ExplainedPlan) -> list[RuleProfile]:
    """Give what each rule did, the slowest first; those without a time are last."""
    found = [one for stage in explained.plan.stages for one in _rules_of_stage(explained, stage)]
    return sorted(found, key=lambda one: -1.0 if one.seconds is None else one.seconds, reverse=True)


def _rules_of_stage(explained: ExplainedPlan, stage: Stage) -> Iterator[RuleProfile]:
    report = report_of(explained, stage)
    if report is None:
        return
    grouped: dict[int, list[tuple[Pipeline, PipelineReport | None]]] = {}
    pipelines = (*stage.base, *stage.recursive)
    for pipeline, found in zip(pipelines, measured_pipelines(stage, report), strict=True):
        grouped.setdefault(pipeline.plan.rule, []).append((pipeline, found))
    alone = {
        rule: sum(0.0 if one is None else one.seconds for _, one in ways)
        for rule, ways in grouped.items()
    }
    total = sum(alone.values())
    for rule, ways in grouped.items():
        part = 1.0 if len(grouped) == 1 else alone[rule] / total if total else None
        yield RuleProfile(
            explained.plan.program.rules[rule].id,
            stage,
            report.strategy,
            None if part is None else part * report.seconds,
            tuple(_steps_of(explained, *one) for one in ways),
        )


def _steps_of(
    explained: ExplainedPlan, pipeline: Pipeline, found: PipelineReport | None
) -> tuple[StepProfile, ...]:
    steps = []
    for number, words in enumerate(step_words(explained.plan, pipeline)):
        estimated = pipeline.rows[number] if number < len(pipeline.rows) else None
        exact = found.rows[number] if found is not None and number < len(found.rows) else -1
        steps.append(StepProfile(words, estimated, exact if exact >= 0 else None))
    return tuple(steps)


# A factor below this is what an estimate may be off by without doing harm.

_FAR: Final = 2.0
_HEADING: Final = ("time", "share", "rows", "estimated", "difference", "rule, and its steps")
_WIDTHS: Final = (8, 6, 13, 12, 12)


def profile_lines(explained: ExplainedPlan) -> Iterator[str]:
    """Write a profile as a table."""
    yield _line(*_HEADING)
    for one in rules_of(explained):
        took = "-" if one.seconds is None else seconds(one.seconds)
        figures = _figures(one.estimated, one.rows)
        place = f"{one.rule}, stage {one.stage.number + 1} by {one.strategy}"
        yield _line(took, _share(one.seconds, explained.seconds), *figures, place)
        for way in one.steps:
            for step in way:
                yield _line("", "", *_figures(step.estimated, step.rows), f"  {step.words}")
    yield ""
    for stage in explained.plan.stages:
        report = report_of(explained, stage)
        if report is not None:
            rounds = f" in {counted(report.rounds, 'round')}" if report.rounds else ""
            names = ", ".join(stage.predicates)
            rows = counted(sum(report.rows.values()), "row")
            took = seconds(report.seconds)
            yield f"stage {stage.number + 1}, {names}: {took}, {rows}{rounds}"
    yield f"reading, planning and counting: {seconds(_rest(explained))}"
    yield f"in all: {seconds(explained.seconds)}"
    yield from open_lines(explained)


def _line(*cells: str) -> str:
    *figures, words = cells
    placed = (f"{cell:>{width}}" for cell, width in zip(figures, _WIDTHS, strict=True))
    return f"{' '.join(placed)}  {words}"


def _share(part: float | None, whole: float) -> str:
    return "-" if part is None or not whole else f"{part / whole:.0%}"


def _figures(estimated: float | None, rows: int | None) -> tuple[str, str, str]:
    return (
        "-" if rows is None else f"{rows:,}",
        "-" if estimated is None else amount(estimated),
        "" if estimated is None or rows is None else difference(estimated, rows),
    )


def difference(estimated: float, rows: int) -> str:
    """Say by how much an estimate is wrong; nothing where it is near.

    >>> difference(100.0, 5)
    '20x fewer'
    """
    expected, found = max(estimated, 1.0), max(float(rows), 1.0)
    if found >= expected * _FAR:
        return f"{amount(found / expected)}x more"
    return f"{amount(expected / found)}x fewer" if expected >= found * _FAR else ""


def _rest(explained: ExplainedPlan) -> float:
    return max(0.0, explained.seconds - sum(one.seconds for one in explained.reports or ()))


def profile_json(explained: ExplainedPlan, subject: str) -> Object:
    """Give a profile as an object."""
    return {
        "subject": subject,
        "exit_code": 0,
        "seconds": round(explained.seconds, 6),
        "rules": [
            {
                "rule": one.rule,
                "stage": one.stage.number + 1,
                "strategy": one.strategy,
                "seconds": None if one.seconds is None else round(one.seconds, 6),
                "estimated_rows": _rounded(one.estimated),
                "rows": one.rows,
                "steps": [
                    {
                        "does": step.words,
                        "estimated_rows": _rounded(step.estimated),
                        "rows": step.rows,
                    }
                    for way in one.steps
                    for step in way
                ],
            }
            for one in rules_of(explained)
        ],
        "stages": [
            {
                "number": stage.number + 1,
                "relations": list(stage.predicates),
                "strategy": report.strategy,
                "seconds": round(report.seconds, 6),
                "rows": sum(report.rows.values()),
                "rounds": report.rounds,
            }
            for stage in explained.plan.stages
            if (report := report_of(explained, stage)) is not None
        ],
        "open": [print_atom(atom) for atom in explained.unsettled],
        "left": [{"predicate": name, "why": why} for name, why in sorted(explained.left.items())],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{min(value, 1e18):.3g}")


# A frame of the graph is as wide as its time; what its parts do not fill is its own.


@frozen
class Frame:
    """A named time with its parts; `more` is told of it where the pointer rests."""

    name: str
    seconds: float
    parts: tuple[Frame, ...] = ()
    more: str = ""

    @property
    def whole(self) -> float:
        """Seconds of the frame: never less than those of its parts."""
        return max(self.seconds, sum(one.whole for one in self.parts))


def frames_of(explained: ExplainedPlan, subject: str) -> Frame:
    """Give the stages of a run, and in each of them its rules."""
    rules = rules_of(explained)
    stages = []
    for stage in explained.plan.stages:
        report = report_of(explained, stage)
        if report is None:
            continue
        parts = tuple(
            Frame(f"rule {one.rule}", one.seconds, (), "\n".join(_profiling_told(one)))
            for one in rules
            if one.stage.number == stage.number and one.seconds is not None
        )
        name = f"stage {stage.number + 1}: {', '.join(stage.predicates)} by {report.strategy}"
        stages.append(Frame(name, report.seconds, parts))
    return Frame(subject, explained.seconds, tuple(stages))


def _profiling_told(profile: RuleProfile) -> Iterator[str]:
    for way in profile.steps:
        for step in way:
            rows, estimated, wrong = _figures(step.estimated, step.rows)
            yield f"{step.words}: {rows} rows, about {estimated} expected {wrong}".rstrip()


def folded_lines(frame: Frame, above: Sequence[str] = ()) -> Iterator[str]:
    """Write a line for each frame with time of its own: names with `;` between, microseconds."""
    stack = (*above, " ".join(_plain(frame.name).replace(";", ",").split()))
    own = round((frame.whole - sum(one.whole for one in frame.parts)) * 1e6)
    if own > 0:
        yield f"{';'.join(stack)} {own}"
    for one in frame.parts:
        yield from folded_lines(one, stack)


_UNFIT: Final = re.compile("[^\\t\\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ACROSS: Final = 1200
_HIGH: Final = 22
_LETTER: Final = 7
_LEVELS: Final = 3
_COLOURS: Final = ("#d9dde3", "#f2c879", "#ef9a6b")


def svg_lines(frame: Frame) -> Iterator[str]:
    """Write a picture: the whole below, stages above it, rules on top."""
    high = _LEVELS * _HIGH
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_ACROSS}" height="{high}" '
        f'viewBox="0 0 {_ACROSS} {high}" font-family="monospace" font-size="12">'
    )
    yield from _rectangles(frame, 0.0, _ACROSS / frame.whole if frame.whole else 0.0, 0)
    yield "</svg>"


def _rectangles(frame: Frame, left: float, scale: float, level: int) -> Iterator[str]:
    across = frame.whole * scale
    top = (_LEVELS - 1 - level) * _HIGH
    name = _plain(f"{frame.name}, {seconds(frame.whole)}")
    told = _plain("\n".join(filter(None, (name, frame.more))))
    yield f"<g><title>{escape(told)}</title>"
    yield (
        f'<rect x="{left:.2f}" y="{top}" width="{across:.2f}" height="{_HIGH - 1}" '
        f'fill="{_COLOURS[level]}"/>'
    )
    fits = int(across / _LETTER) - 1
    if fits > 2:  # noqa: PLR2004  fewer letters say nothing
        shown = name if len(name) <= fits else f"{name[: fits - 1]}…"
        yield f'<text x="{left + 4:.2f}" y="{top + 15}">{escape(shown)}</text>'
    yield "</g>"
    for one in frame.parts:
        yield from _rectangles(one, left, scale, level + 1)
        left += one.whole * scale


def _plain(text: str) -> str:
    """Replace what a picture may not hold: control characters and halves of characters."""
    return _UNFIT.sub("?", text)


# The command line.


def require_profiled(also: Sequence[str]) -> None:
    """Raise a usage error where an option was typed that means nothing beside `--profile`."""
    context = click.get_current_context()
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        and parameter.name not in {"profile", *also}
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(
            f"{' and '.join(given)} cannot be used with --profile, which shows no results"
        )


def give_profile(explained: ExplainedPlan, subject: str, file: str, *, as_json: bool) -> None:
    """Print a profile; with the name of a file the flame graph is written there as well."""
    if file:
        frame = frames_of(explained, subject)
        lines = svg_lines(frame) if file.lower().endswith(".svg") else folded_lines(frame)
        write_file(file, "".join(f"{line}\n" for line in lines).encode())
    if as_json:
        write_json(profile_json(explained, subject))
    else:
        write("\n".join(profile_lines(explained)))
    if file:
        note(f"flame graph written to {file}")
