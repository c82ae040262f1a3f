"""`constat history [ID]`: what was explored; with an id its questions, tables and scratchpad."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, note, write, write_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.explore.answered import ExplorationState
    from constat.store.explored import Exploration


@click.command(name="history", cls=PlainCommand)
@click.argument("exploration", required=False, metavar="[ID]")
@click.option(
    "--certificate", metavar="FILE", help="Write the certificate that was kept with an answer."
)
@click.option(
    "--question", type=click.IntRange(min=1), metavar="N", help="Of this question; else the last."
)
@format_option
@project_option
def command(
    exploration: str | None,
    *,
    certificate: str | None,
    question: int | None,
    form: str,
    project: str | None,
) -> int:
    """List the explorations of the project, or show one: questions, tables, variables, notes.

    ID is an id of the list or its first digits, or `last`.

    Examples:
      constat history
      constat history --format json
      constat history last
      constat history last --certificate answer.json

    Exit codes: 0 shown, 2 there is no such exploration or no certificate of it, bad usage or
    configuration.
    """
    with Session(project) as session, asked(session):
        if certificate is not None:
            named = "" if exploration in {None, "last"} else str(exploration)
            write_file(certificate, session.kept_certificate(named, question or 0))
            note(f"certificate written to {certificate}")
            return 0
        if exploration is None:
            found = session.history
            if form == "json":
                write_json({"explorations": [_json(one) for one in found]})
            else:
                write("\n".join(map(_line, found)) or "nothing has been explored yet")
            return 0
        state = session.get_state("" if exploration == "last" else exploration)
    if form == "json":
        write_json({"explorations": [], "state": state_json(state)})
    else:
        write("\n".join(state_lines(state)))
    return 0


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
