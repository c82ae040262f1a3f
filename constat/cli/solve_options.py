"""What `solve` and `resume` share: options, plans from files, charts into files.

In: what was typed. Out: values, and files. Invariant: a chart's file is written whole or not at
all, after the answer stands.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.files import read_file, write_file
from constat.cli.output import note
from constat.cli.solve_display import FORMS
from constat.cli.solve_text import SHOWN, print_csv, print_explored, print_json
from constat.diagnostics import Diagnostic, render
from constat.explore.pictures import checklist
from constat.explore.reading import read_plan
from constat.project.document import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.explore.answered import Explored
    from constat.explore.chain import Chain
    from constat.explore.plan import Plan
    from constat.session import Session

UNCONFINED: Final = "constat.unconfined"
_OPTIONS = (
    click.option("--mend", is_flag=True, help="Let a model correct steps that a person wrote."),
    click.option(
        "--certificate", metavar="FILE", help="Write the proof of the answer, for `constat verify`."
    ),
    click.option(
        "--require-approved", is_flag=True, help="Run no model's plan that nobody has approved."
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
        write_file(giving.certificate, explored.certificate)
        note(f"certificate written to {giving.certificate}")
    elif giving.certificate is not None:
        message = f"the answer has no certificate: {explored.proof.why}"
        hint = "`constat resume --certificate FILE` tries again; the answer itself is kept"
        note(render([Diagnostic("C0950", message, help=hint)], {}, colour=False).rstrip("\n"))
    if chart is not None:
        # Only this needs what draws.
        drawing = importlib.import_module("constat.explore.charts")
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
