"""`constat resume [ID]`: go on with an exploration where it ended, however it ended."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.confirming_options import Confirming, asker, confirming_options
from constat.cli.helping import PlainCommand
from constat.cli.solve_display import displayed
from constat.cli.solve_options import Giving, allow_unconfined, give, solve_options
from constat.session import Session


@click.command(name="resume", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option("--by", default="", metavar="NAME", help="Who confirms; by default you.")
@confirming_options
@solve_options
@project_option
def command(  # noqa: PLR0913  one argument for each option
    exploration: str,
    *,
    by: str,
    confirming: Confirming,
    mend: bool,
    certificate: str | None,
    require_approved: bool,
    chart: str | None,
    events: str,
    form: str,
    limit: int,
    project: str | None,
) -> int:
    """Go on with exploration ID, or the latest: its first question without an answer is run.

    Steps that were finished are kept, after a crash too. Where every question has its answer the
    last is answered again: steps whose rules or sources have changed are computed anew, which is
    said, and the others are kept.

    Examples:
      constat resume
      constat resume --format json

    Exit codes: 0 proved, 3 proved under assumptions or not confirmed, 4 open, computed and not
    checked, a step gave nothing, or not confirmed with --require-confirmed, 2 bad usage,
    configuration or plan, another goal than was accepted, or there is no such exploration.
    """
    with Session(project) as session, asked(session):
        allow_unconfined(session)
        with displayed(events) as tell:
            certify = certificate is not None
            explored = session.resume(
                exploration,
                by=asker(by),
                accept_goal=confirming.goal,
                require_confirmed=confirming.required,
                mend=mend,
                certify=certify,
                require_approved=require_approved,
                observe=tell,
            )
        return give(explored, Giving(form, limit, chart, certificate))
