"""`constat plan show [ID]`: the chain as rules, as a checklist, as a picture, or as the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import write, write_json
from constat.explore.pictures import (
    checklist,
    picture_dot,
    picture_mermaid,
    picture_text,
    rules_text,
)
from constat.explore.writing import plan_json, write_plan
from constat.session import Session
from constat.store.explored import ANSWERED

if TYPE_CHECKING:
    from constat.explore.chain import Chain
    from constat.explore.plan import Plan

FORMS = ("checklist", "rules", "text", "dot", "mermaid", "yaml", "json")


@click.command(name="show", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="How to show it; yaml is the file that `solve --plan` takes.",
)
@click.option("--history", "versions", is_flag=True, help="List its versions, and why each is.")
@project_option
def command(exploration: str, *, form: str, versions: bool, project: str | None) -> int:
    """Show the plan of the last question of exploration ID, or of the latest.

    Examples:
      constat plan show
      constat plan show --format rules
      constat plan show --format mermaid
      constat plan show --format json

    Exit codes: 0 shown, 2 there is no such exploration, bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found, plan, chain = session.plans.of(exploration)
        question = found.questions[-1]
        if versions:
            write("\n".join(f"{one.at[:19]}Z  {one.why}" for one in question.plans))
            return 0
        done = question.status == ANSWERED
        approvals = session.plans.approvals(exploration) if form == FORMS[0] else ()
    shown(plan, chain, form, done=done)
    for one in approvals:
        signed = ", signed" if one.envelope else ""
        write(f"approved by {one.by} at {one.at[:19]}Z{signed}: {one.reason}")
    return 0


def shown(plan: Plan, chain: Chain, form: str, *, done: bool) -> None:
    """Print a plan."""
    needed = [one.number for one in chain.below([plan.answer])]
    match form:
        case "json":
            write_json(plan_json(plan))
        case "yaml":
            write(write_plan(plan).rstrip("\n"))
        case "rules":
            write(rules_text(chain).rstrip("\n"))
        case "text":
            write(picture_text(chain))
        case "dot":
            write(picture_dot(chain))
        case "mermaid":
            write(picture_mermaid(chain))
        case _:
            states = dict.fromkeys(needed, "computed") if done else {}
            write(checklist(chain, needed, states))
