"""`--profile` of `run` and `query`: which rules and steps take the time, slowest first.

In: a plan that was run, with what was measured then. Out: a table, an object, or a flame graph as
a picture (.svg) or as stacks in text (.folded) for tools that draw them. Invariant: nothing is
measured here. The time of a stage is divided among its rules by what each of them takes alone;
where that is not known, the rules of the stage have no time.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from constat.cli.explain_plan import amount, measured_pipelines, open_lines, report_of, seconds
from constat.cli.files import write_file
from constat.cli.output import note, write, write_json
from constat.diagnostics import counted
from constat.frozen import frozen
from constat.plan.forward.words import step_words
from constat.syntax import print_atom

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.evaluation import PipelineReport
    from constat.plan.forward import Pipeline, Stage
    from constat.session.plan_explaining import ExplainedPlan

Object = dict[str, object]


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
            Frame(f"rule {one.rule}", one.seconds, (), "\n".join(_told(one)))
            for one in rules
            if one.stage.number == stage.number and one.seconds is not None
        )
        name = f"stage {stage.number + 1}: {', '.join(stage.predicates)} by {report.strategy}"
        stages.append(Frame(name, report.seconds, parts))
    return Frame(subject, explained.seconds, tuple(stages))


def _told(profile: RuleProfile) -> Iterator[str]:
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
