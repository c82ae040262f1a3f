"""What `solve` and `resume` share: options, what is shown on the way, and the explored answer."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from constat.cli.confirmation import translation_lines
from constat.cli.output import (
    bold,
    note,
    read_file,
    safe,
    use_utf8,
    write,
    write_certificate,
    write_file,
    write_pieces,
)
from constat.cli.results import assumption_json
from constat.cli.tables import Table
from constat.diagnostics import Diagnostic, counted, render
from constat.evaluation import Verdict
from constat.explore.events import (
    Answered,
    Executing,
    ExploreEvent,
    Generating,
    PlanReady,
    Retrying,
    Spent,
    StepFailed,
    StepFinished,
    StepStarted,
    TableCreated,
    event_json,
    ignore,
)
from constat.explore.pictures import checklist
from constat.explore.plan import plan_json
from constat.explore.reading import read_plan
from constat.explore.relations import PASSED
from constat.frozen import frozen
from constat.project.document import MAX_BYTES
from constat.project.settings import CHECKS
from constat.proof.translation import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.explore.answered import AnswerProof, Explored, StepReport
    from constat.explore.chain import Chain
    from constat.explore.events import ExploreObserver
    from constat.explore.plan import Plan
    from constat.logic import Value
    from constat.session import Session

SHOWN: Final = 50
_SAFE_INTEGER: Final = (1 << 53) - 1
_NOT_CHECKED: Final = "COMPUTED_NOT_CHECKED"


def print_explored(explored: Explored, limit: int) -> None:
    """Print an answer for people."""
    # Who wrote the plan knows what it answers.
    if explored.translation is not None and explored.translation.status is not Status.STATED:
        for line in translation_lines(explored.translation):
            write(line)
        write("")
    write(explored.sentence)
    if explored.rows:
        write("")
        _print_table(explored, limit)
    write("")
    write(_verdict_text(explored.proof))
    for one in explored.assumptions:
        write(f"assuming: {one.text}")
    for reason in explored.relation.reasons:
        write(f"not known: {reason}")
    for remark in explored.notes:
        write(f"note: {remark}")
    for line in _steps_text(explored.steps):
        write(line)
    write(f"exploration {explored.exploration}, question {explored.number}")


def explored_json(explored: Explored) -> dict[str, object]:
    """Give an answer as JSON."""
    relation, used = explored.relation, explored.usage
    return {
        "exploration": explored.exploration,
        "number": explored.number,
        "question": explored.question,
        "today": explored.today,
        "verdict": explored.verdict.value if explored.verdict else _NOT_CHECKED,
        "settled": explored.settlement.value,
        "exit_code": explored.exit_code,
        "translation": None if explored.translation is None else explored.translation.as_json(),
        "sentence": explored.sentence,
        "narrated": explored.narrated,
        "relation": relation.output.name,
        "columns": [
            {"name": name, "kind": kind.value}
            for name, kind in zip(relation.names, relation.kinds, strict=True)
        ],
        "rows": [[_cell(value) for value in row] for row in explored.rows],
        "unresolved": relation.unresolved,
        "assumptions": [assumption_json(one) for one in explored.assumptions],
        "reasons": list(relation.reasons),
        "notes": list(explored.notes),
        "steps": [_step_json(one) for one in explored.steps],
        "plan": plan_json(explored.plan),
        "approved_by": list(explored.approvals),
        "proof": {
            "verdict": None if explored.proof.verdict is None else explored.proof.verdict.value,
            "identity": explored.proof.identity,
            "why": explored.proof.why,
        },
        "seconds": round(explored.seconds, 3),
        "replaying": explored.replaying,
        "usage": {"calls": used.calls, "tokens": used.tokens, "cost": f"{used.cost:f}"},
    }


def print_csv(explored: Explored) -> None:
    """Print the rows as CSV (RFC 4180)."""
    use_utf8()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(explored.relation.names)
    writer.writerows(explored.cells())
    write_pieces([stream.getvalue()])


def print_json(explored: Explored) -> None:
    """Print an answer as JSON."""
    write_pieces([json.dumps(explored_json(explored), indent=2, ensure_ascii=True), "\n"])


def _print_table(explored: Explored, limit: int) -> None:
    relation = explored.relation
    terminal = sys.stdout.isatty()
    most = shutil.get_terminal_size().columns if terminal else None
    table = Table(relation.names, [one.numeric for one in relation.kinds], most)
    cells = explored.cells()[:limit]
    table.fit(cells)
    write_pieces([bold(table.heading()) if terminal else table.heading(), "\n"])
    write_pieces(table.line(row) + "\n" for row in cells)
    more = len(relation.rows) - len(cells)
    if more:
        write(f"and {more:,} more; `--limit` and `--format csv` show them")


def _steps_text(steps: Sequence[StepReport]) -> list[str]:
    names = ("computed", "kept", "not needed")
    counts = [(sum(one.how == name for one in steps), name) for name in names]
    told = ", ".join(f"{count} {name}" for count, name in counts if count)
    levels = sorted({one.level for one in steps if one.level})
    kept = f"; code was kept in by {', '.join(levels)}" if levels else ""
    lines = [f"{counted(len(steps), 'step')}: {told}{kept}"]
    passed = sum(one.check == PASSED for one in steps)
    if passed:
        lines.append(f"counted again from the rules, and the same: {counted(passed, 'step')}")
    lines += [
        f"step {one.number}, `{one.name}`, was not checked: {one.check}"
        for one in steps
        if one.check not in {"", PASSED}
    ]
    return lines


def _verdict_text(proof: AnswerProof) -> str:
    """Say the one verdict there is: that of the certificate, or that there is none, and why."""
    if proof.verdict is None:
        return f"{proof.label}: {proof.why}"
    more = ": there may be other rows" if proof.verdict is Verdict.UNRESOLVED else ""
    return f"{proof.label}{more}"


def _step_json(step: StepReport) -> dict[str, object]:
    return {
        "step": step.number,
        "name": step.name,
        "goal": step.goal,
        "work": step.work,
        "how": step.how,
        "seconds": round(step.seconds, 3),
        "attempts": step.attempts,
        "rows": step.rows,
        "sandbox": step.level,
        "reads": list(step.reads),
        "gives": list(step.gives),
        "check": step.check,
    }


def _cell(value: Value) -> object:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        return str(value)
    return value


FORMS: Final = ("auto", "plain", "jsonl", "none")
_LONGEST: Final = 120


@contextmanager
def displayed(form: str) -> Iterator[ExploreObserver]:
    """Give what shows events."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if form == "none":
        yield ignore
    elif form == "jsonl":
        yield _tell_json
    elif form == "plain" or not terminal:
        yield _tell_plain
    else:
        checklist = Checklist()
        try:
            yield checklist.tell
        finally:
            checklist.close()


def _tell_json(event: ExploreEvent) -> None:
    note(json.dumps(event_json(event), ensure_ascii=True))


def _tell_plain(event: ExploreEvent) -> None:
    match event:
        case PlanReady(steps=steps, needed=needed):
            note(f"plan: {counted(len(steps), 'step')}, {len(needed):,} needed")
        case Generating(purpose=purpose):
            note(f"asking a model for a {purpose}")
        case StepFinished(step=step, name=name, seconds=seconds, rows=rows, how=how):
            took = f", {seconds:.1f} s" if how == "computed" else ", kept"
            note(f"step {step}, {name}: {counted(rows, 'row')}{took}")
        case StepFailed(step=step, attempt=attempt, kind=kind, message=message):
            note(f"step {step}, attempt {attempt}: {kind}: {_short(message)}")
        case Retrying(step=step, attempt=attempt, corrected=corrected):
            how = "as corrected" if corrected else "once more"
            note(f"step {step}: attempt {attempt}, {how}")
        case _:
            pass


def _short(text: str) -> str:
    line = safe(text).replace("\n", " ").replace("\t", " ")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


class _Shown:
    """A line of the checklist."""

    def __init__(self, number: int, name: str, goal: str, *, needed: bool) -> None:
        self.number = number
        self.name = name
        self.goal = goal
        self.mark = "·" if needed else "-"
        self.style = "dim"
        self.told = "" if needed else "not needed"
        self.began = 0.0


class Checklist:
    """The plan with a mark for each step, redrawn as they run."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  heavy library, loaded on first use
        from rich.live import Live  # noqa: PLC0415  heavy library, loaded on first use

        self._steps: dict[int, _Shown] = {}
        self._title = ""
        self._doing = ""
        self._spent = ""
        self._live = Live(
            console=Console(stderr=True), get_renderable=self.drawn, refresh_per_second=8
        )
        self._live.start()

    def close(self) -> None:
        """Draw a last time and leave the checklist where it is."""
        self._live.stop()

    def tell(self, event: ExploreEvent) -> None:
        """Take one event."""
        match event:
            case PlanReady(question=question, steps=steps, needed=needed):
                self._title = _short(question)
                self._doing = ""
                # Another thread draws: it sees the old steps or the new ones.
                self._steps = {
                    number: _Shown(number, _short(name), _short(goal), needed=number in needed)
                    for number, name, goal in steps
                }
            case Generating(step=step, purpose=purpose):
                self._doing = f"asking a model for a {purpose}"
                self._at(step, "…", "yellow", f"asking for a {purpose}")
            case Spent(calls=calls, tokens=tokens, cost=cost):
                paid = f", {cost}" if cost not in {"", "0"} else ""
                told = f"{counted(calls, 'call')}, {tokens:,} tokens{paid}"
                self._spent = told if calls else ""
                self._doing = ""
            case Answered():
                self._doing = ""
            case _:
                self._of_step(event)

    def _of_step(self, event: ExploreEvent) -> None:
        match event:
            case StepStarted(step=step):
                self._at(step, "▸", "cyan", "")
                if step in self._steps:
                    self._steps[step].began = time.monotonic()
            case Executing(step=step, attempt=attempt):
                told = "" if attempt == 1 else f"attempt {attempt}"
                self._at(step, "▸", "cyan", told)
            case StepFailed(step=step, kind=kind, message=message):
                self._at(step, "✗", "red", _short(f"{kind}: {message}"))
            case Retrying(step=step, attempt=attempt, corrected=corrected):
                how = "corrected" if corrected else "once more"
                self._at(step, "↻", "yellow", f"attempt {attempt}, {how}")
            case TableCreated(step=step, name=name, rows=rows):
                self._at(step, "▸", "cyan", f"{_short(name)}: {counted(rows, 'row')}")
            case StepFinished(step=step, seconds=seconds, rows=rows, how=how):
                took = f"{seconds:.1f} s" if how == "computed" else "kept"
                self._at(step, "✓", "green", f"{counted(rows, 'row')}, {took}")
            case _:
                pass

    def _at(self, step: int, mark: str, style: str, told: str) -> None:
        shown = self._steps.get(step)
        if shown is not None:
            shown.mark, shown.style, shown.told = mark, style, told

    def drawn(self) -> Any:  # noqa: ANN401  what rich can draw
        """Draw the present state."""
        from rich.text import Text  # noqa: PLC0415  heavy library, loaded on first use

        # Parts are texts and never markup: a goal may hold brackets.
        text = Text()
        if self._title:
            text.append(f"{self._title}\n", style="bold")
        for shown in self._steps.values():
            text.append(f" {shown.mark} {shown.number}. {shown.name}", style=shown.style)
            running = shown.mark == "▸" and shown.began
            told = f"{shown.told} {time.monotonic() - shown.began:.1f} s" if running else shown.told
            text.append(f"  {told.strip() or shown.goal}\n", style="dim")
        if self._doing:
            text.append(f" {self._doing}\n", style="yellow")
        if self._spent:
            text.append(f" {self._spent}\n", style="dim")
        return text


# A chart's file is written whole or not at all, after the answer stands.

UNCONFINED: Final = "constat.unconfined"
_OPTIONS = (
    click.option("--mend", is_flag=True, help="Let a model correct steps that a person wrote."),
    click.option(
        "--certificate", metavar="FILE", help="Write the proof of the answer, for `constat verify`."
    ),
    click.option(
        "--require-approved", is_flag=True, help="Run no model's plan that nobody has approved."
    ),
    click.option(
        "--check",
        type=click.Choice(CHECKS),
        help="Count what a step computes in bulk again from the rules before it is kept (always, "
        "background), or never; without it as the project says.",
    ),
    click.option("--chart", metavar="FILE", help="Draw the answer: .html, .png or .svg."),
    click.option(
        "--events",
        type=click.Choice(FORMS),
        default=FORMS[0],
        show_default=True,
        help="How to show what happens, on stderr.",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(("text", "json", "csv")),
        default="text",
        show_default=True,
        help="How to print the answer; `constat schema` describes the JSON.",
    ),
    click.option(
        "--limit", type=click.IntRange(min=0), default=SHOWN, help="Print so many rows at most."
    ),
)


unconfined_option = click.option(
    "--allow-unconfined",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, given: context.meta.update({UNCONFINED: given}),
    help="Run code even where nothing keeps it in, if constat.yaml has `sandbox: weak`.",
)


def allow_unconfined(session: Session) -> None:
    """Tell a session whether `--allow-unconfined` was given."""
    session.allow_unconfined = bool(click.get_current_context().meta.get(UNCONFINED))


def solve_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options."""
    for option in reversed((*_OPTIONS, unconfined_option)):
        command = option(command)
    return command


@frozen
class PlanFile:
    """A plan file as it was read: its name and its bytes."""

    name: str
    content: bytes

    @property
    def typed(self) -> dict[str, str]:
        """Its text by the name that diagnostics use."""
        return {self.name: self.content.decode("utf-8", "replace")}

    def plan(self) -> Plan:
        """Read the plan; raises `ConstatError`."""
        return read_plan(self.content, self.name)


def plan_file(path: str) -> PlanFile:
    """Read the bytes of a plan file."""
    return PlanFile(Path(path).name, read_file(path, MAX_BYTES))


@frozen
class Giving:
    """How to print an answer, and what else of it to write into files."""

    form: str
    limit: int
    chart: str | None
    certificate: str | None


def give(explored: Explored, giving: Giving) -> int:
    """Print an answer, and write the certificate and the chart that were asked for."""
    form, limit, chart = giving.form, giving.limit, giving.chart
    if form == "json":
        print_json(explored)
    elif form == "csv":
        print_csv(explored)
    else:
        print_explored(explored, limit)
    if giving.certificate is not None and explored.certificate:
        write_certificate(giving.certificate, explored.certificate)
        note(f"certificate written to {giving.certificate}")
    elif giving.certificate is not None:
        message = f"the answer has no certificate: {explored.proof.why}"
        hint = "`constat resume --certificate FILE` tries again; the answer itself is kept"
        note(render([Diagnostic("C0950", message, help=hint)], {}, colour=False).rstrip("\n"))
    if chart is not None:
        # Only this needs what draws.
        from constat.explore import pictures as drawing  # noqa: PLC0415  loaded when it is used

        write_file(chart, drawing.chart(explored, Path(chart).suffix.removeprefix(".").lower()))
        note(f"chart written to {chart}")
    return explored.exit_code


def ask_person(plan: Plan, chain: Chain) -> Plan | None:
    """Show a plan and ask whether to run it; without a terminal the answer is no."""
    needed = [one.number for one in chain.below([plan.answer])]
    note(checklist(chain, needed, {}))
    if not sys.stdin.isatty():
        return None
    return plan if click.confirm("Run this plan?", err=True) else None


def hold(plan: Plan, chain: Chain) -> Plan | None:
    """Show a plan and run nothing."""
    needed = [one.number for one in chain.below([plan.answer])]
    note(checklist(chain, needed, {}))
    return None
