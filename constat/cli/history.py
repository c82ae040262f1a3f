"""`constat history [ID]`: what was explored; with an id its questions, tables and scratchpad."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from constat.cli.files import write_certificate
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, write, write_json
from constat.diagnostics import counted
from constat.session import Session

if TYPE_CHECKING:
    from constat.explore.answered import ExplorationState, StepRecordView
    from constat.store.explored import Exploration


@click.command(name="history", cls=PlainCommand)
@click.argument("exploration", required=False, metavar="[ID]")
@click.option(
    "--certificate", metavar="FILE", help="Write the certificate that was kept with an answer."
)
@click.option(
    "--question", type=click.IntRange(min=1), metavar="N", help="Of this question; else the last."
)
@click.option(
    "--step",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the tries of a step: text, output.",
)
@format_option
@project_option
def command(
    exploration: str | None,
    *,
    certificate: str | None,
    question: int | None,
    step: int | None,
    form: str,
    project: str | None,
) -> int:
    """List the explorations of the project, or show one: questions, tables, variables, notes.

    ID is an id of the list or its first digits, or `last`. With --step it is what a step ran, what
    it printed, what it asked, and why it failed, for each try. Below the list stand the answers in
    bulk that were counted again and were others, until such a check passes.

    Examples:
      constat history
      constat history --format json
      constat history last
      constat history last --step 1
      constat history last --certificate answer.json

    Exit codes: 0 shown, 2 there is no such exploration, step or certificate, bad usage or
    configuration.
    """
    named = "" if exploration in {None, "last"} else str(exploration)
    with Session(project) as session, asked(session):
        if step is not None:
            kept = session.get_step(step, named)
            if form == "json":
                write_json({"explorations": [], "step": step_json(kept)})
            else:
                write("\n".join(step_lines(kept)))
            return 0
        if certificate is not None:
            write_certificate(certificate, session.kept_certificate(named, question or 0))
            note(f"certificate written to {certificate}")
            return 0
        if exploration is None:
            _give_list(session, form)
            return 0
        state = session.get_state(named)
    if form == "json":
        write_json({"explorations": [], "state": state_json(state)})
    else:
        write("\n".join(state_lines(state)))
    return 0


def _give_list(session: Session, form: str) -> None:
    """Write what was explored, and which answers in bulk were not the same, counted again."""
    found, differences = session.history, session.differences
    if form == "json":
        listed = [_json(one) for one in found]
        write_json({"explorations": listed, "differences": [asdict(one) for one in differences]})
        return
    lines = [_line(one) for one in found]
    lines += [
        f"differs: {one.query}, counted again at {one.found_at[:19]}Z: {one.why}"
        for one in differences
    ]
    write("\n".join(lines) or "nothing has been explored yet")


def state_lines(state: ExplorationState) -> list[str]:
    """Write what an exploration holds."""
    lines = [f"exploration {state.exploration}, today is {state.today}"]
    lines += [f"{number}. {text} ({status})" for number, text, status in state.questions]
    for one in state.tables:
        lines.append(f"table {one['name']}: step {one['step']}, {one['rows']:,} rows")
    lines += [f"variable {name} = {value}" for name, value in state.state.items()]
    lines += [f"  {text}" for text in state.notes]
    return lines


def state_json(state: ExplorationState) -> dict[str, object]:
    """Give what an exploration holds as JSON."""
    return {
        "exploration": state.exploration,
        "title": state.title,
        "today": state.today,
        "questions": [
            {"number": number, "question": text, "status": status}
            for number, text, status in state.questions
        ],
        "tables": [dict(one) for one in state.tables],
        "variables": dict(state.state),
        "notes": list(state.notes),
    }


def step_lines(step: StepRecordView) -> list[str]:
    """Write what is kept of a step."""
    source = f" on {step.source}" if step.source else ""
    lines = [f"step {step.number}, {step.name}, by {step.work}{source}: {step.goal}"]
    if step.inputs:
        lines.append(f"reads {', '.join(step.inputs)}")
    lines += [f"gives {one}" for one in step.outputs]
    for one in step.attempts:
        became = "failed" if one.error else "ended well"
        lines.append(f"attempt {one.number}, {one.ended[:19]}Z, {became}")
        parts = [("text", one.text), *(("asked", query) for query in one.queries)]
        parts += [("output", one.output), ("error", one.error)]
        for name, text in parts:
            if text:
                lines += [f"  {name}:", *(f"    {line}" for line in text.splitlines())]
    if not step.attempts:
        lines.append("it has not run")
    for table in step.tables:
        lines.append(f"table {table['name']}: {table['rows']:,} rows, version {table['version']}")
    return lines


def step_json(step: StepRecordView) -> dict[str, object]:
    """Give what is kept of a step as JSON."""
    found = asdict(step)
    return {name: list(one) if isinstance(one, tuple) else one for name, one in found.items()}


def _line(one: Exploration) -> str:
    last = one.questions[-1].status if one.questions else "nothing was asked"
    count = counted(len(one.questions), "question")
    return f"{one.identity}  {one.began[:19]}Z  {count}, {last}: {one.title}"


def _json(one: Exploration) -> dict[str, object]:
    return {
        "exploration": one.identity,
        "title": one.title,
        "began": one.began,
        "questions": [
            {
                "number": question.number,
                "question": question.text,
                "status": question.status,
                "asked_by": question.asked_by,
                "at": question.at,
                "plans": len(question.plans),
            }
            for question in one.questions
        ],
    }
