"""`constat plan approve [ID]`: let the plan of an exploration count as somebody's word."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.confirming_options import Once, accept_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.rules_approve import approving_key, show_decided
from constat.session import Session


@click.command(name="approve", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option("--by", default="", metavar="NAME", help="Who approves; with --key its owner.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option("--key", metavar="FILE", help="Sign the approval with this private key.")
@click.option("--withdraw", is_flag=True, help="Take the approvals of this plan back.")
@accept_option
@format_option
@project_option
def command(  # noqa: PLR0913  each part of an approval has an option
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
