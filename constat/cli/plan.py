"""`constat plan`: show, check, edit, approve and promote the plans of explorations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from constat.cli.confirmation import Once, accept_option
from constat.cli.exploration import plan_file
from constat.cli.groups import LazyGroup, PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, write, write_json
from constat.cli.rules import approving_key, show_decided
from constat.diagnostics import render
from constat.explore.pictures import (
    checklist,
    picture_dot,
    picture_mermaid,
    picture_text,
    rules_text,
)
from constat.explore.plan import plan_json, write_plan
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
def show_command(exploration: str, *, form: str, versions: bool, project: str | None) -> int:
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


@click.command(name="check", cls=PlainCommand)
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="How to show it.",
)
@project_option
def check_command(file: str, *, form: str, project: str | None) -> int:
    """Check the plan in FILE: relations, columns, types, rules, SELECTs, and the order of steps.

    Examples:
      constat plan check examples/vip/plans/top5.yaml
      constat plan check examples/vip/plans/top5.yaml --format json

    Exit codes: 0 it can be run, 2 it cannot, or bad usage or configuration.
    """
    written = plan_file(file)
    with Session(project) as session, asked(session, typed=written.typed):
        plan = written.plan()
        chain = session.plans.check(plan)
    shown(plan, chain, form, done=False)
    if chain.warnings:
        note(render(chain.warnings, {}, colour=False).rstrip("\n"))
    return 0


@click.command(name="edit", cls=PlainCommand)
@click.argument("file", metavar="FILE")
@click.option(
    "--in", "exploration", default="", metavar="ID", help="The exploration; else the latest."
)
@project_option
def edit_command(file: str, *, exploration: str, project: str | None) -> int:
    """Put the plan in FILE in the place of that of an exploration's last question.

    `constat plan show --format yaml` prints the plan to edit. Earlier versions are kept;
    `constat resume` runs the new one, and only the steps that are not as they were.

    Examples:
      constat plan edit examples/vip/plans/top5.yaml

    Exit codes: 0 kept, 2 the plan cannot be run, there is no such exploration, bad usage.
    """
    written = plan_file(file)
    with Session(project) as session, asked(session, typed=written.typed):
        found = session.plans.edit(written.plan(), exploration)
    write(f"the plan of exploration {found.identity} is another one now; `constat resume` runs it")
    return 0


@click.command(name="approve", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option("--by", default="", metavar="NAME", help="Who approves; with --key its owner.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option("--key", metavar="FILE", help="Sign the approval with this private key.")
@click.option("--withdraw", is_flag=True, help="Take the approvals of this plan back.")
@accept_option
@format_option
@project_option
def approve_command(  # noqa: PLR0913  each part of an approval has an option
    exploration: str,
    *,
    by: str,
    reason: str,
    key: str | None,
    withdraw: bool,
    accept_goal: str,
    form: str,
    project: str | None,
) -> int:
    """Approve the plan of the last question of exploration ID, or of the latest.

    `constat solve --show-plan` keeps a plan without running it, `constat plan show` shows it, and
    `constat resume` runs it. An approval is bound to everything that the plan does, the steps of
    earlier questions included: whoever edits the plan, or has a model mend it, loses it. An answer
    by an approved plan rests no more on the model that drafted it, and its certificate says who
    approved it. Where the project trusts keys as approver the record has to be signed; what its
    `review:` asks for holds here, too. Whether the plan's answer is what was asked is another word,
    asked for once, or given by --accept-goal.

    Examples:
      constat plan approve --by alice --reason "as the quarterly report asks"
      constat plan approve --by alice --reason "as agreed" --format json

    Exit codes: 0 approved, or withdrawn, 4 another approver is needed, 2 bad usage or
    configuration, there is no such exploration, or this person may not approve it.
    """
    owner = approving_key(key)
    with Session(project) as session, asked(session):
        if withdraw:
            decided = session.plans.withdraw(exploration, by=by, reason=reason)
        else:
            if accept_goal:
                session.plans.require_goal(exploration, accept_goal)
            decided = session.plans.approve(exploration, by=by, reason=reason, key=owner)
        asks = decided.status == "approved"
        translation = session.plans.translation(exploration) if asks else None
        who = by or ("" if owner is None else owner.name)
        confirm = Once(session, who, accepted=bool(accept_goal))
        show_decided(decided, form, translation, confirm)
    return 4 if decided.status == "proposed" else 0


@click.command(name="promote", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option("--step", "steps", multiple=True, metavar="NAME", help="Only these steps.")
@click.option("--by", default="", metavar="NAME", help="Who proposes it, for the record.")
@project_option
def promote_command(
    exploration: str, *, steps: tuple[str, ...], by: str, project: str | None
) -> int:
    """Propose the rules of the latest exploration, or of ID, for the project's library.

    They become a draft in quarantine; `constat rules review` shows it, `constat rules approve` puts
    it into a library. Only steps by rules can be promoted, with what they need.

    Examples:
      constat plan promote --step customer_size

    Exit codes: 0 proposed, 2 what was named is not by rules, bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        draft = session.plans.promote(exploration, steps, by=by)
    write(f"proposed as draft {draft.short}; `constat rules review {draft.short}` shows it")
    return 0


_COMMANDS: Final = (
    ("show", "Show the plan of an exploration: rules, checklist, picture.", show_command),
    ("check", "Check a plan file without running it.", check_command),
    ("edit", "Put another plan in the place of an exploration's last.", edit_command),
    ("approve", "Approve the plan of an exploration, before it runs.", approve_command),
    ("promote", "Propose the rules of a plan for the project's library.", promote_command),
)


@click.group(name="plan", cls=LazyGroup, listed=_COMMANDS)
def command() -> None:
    """Show, check, edit, approve and promote the plans of explorations."""
