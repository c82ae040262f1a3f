"""`constat solve` and `constat resume`: explore a question by a plan, and go on with it later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

import click

from constat.cli.confirmation import Confirming, asker, confirming_options
from constat.cli.exploration import (
    Giving,
    allow_unconfined,
    ask_person,
    displayed,
    give,
    hold,
    plan_file,
    solve_options,
)
from constat.cli.groups import PlainCommand
from constat.cli.options import asked, project_option
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.model.prompts import Task
from constat.session import Session

if TYPE_CHECKING:
    from constat.explore.answered import Explored
    from constat.explore.events import Telling
    from constat.explore.plan import Plan
    from constat.session.plan_approvals import Review

# Results go to stdout: a sentence, the rows, what they rest on. What happens meanwhile is shown on
# stderr. An answer is kept with its plan and all tables: `constat history` lists, `constat resume`
# goes on.

_LATEST: Final = "last"


@frozen
class _Wanted:
    """How to explore, and how to show it."""

    exploration: str | None
    today: str
    by: str
    asking: bool
    holding: bool
    mend: bool
    certificate: str | None
    require_approved: bool
    check: str | None
    confirming: Confirming
    chart: str | None
    events: str
    form: str
    limit: int

    @property
    def review(self) -> Review | None:
        """Who looks at the plan before it runs."""
        return hold if self.holding else ask_person if self.asking else None


class _Shared(TypedDict):
    """What new explorations and follow-ups are told."""

    plan: Plan | None
    by: str
    review: Review | None
    mend: bool
    certify: bool
    require_approved: bool
    accept_goal: str
    require_confirmed: bool
    check: str | None
    observe: Telling


@click.command(name="solve", cls=PlainCommand)
@click.argument("question", required=False)
@click.option("--plan", "file", metavar="FILE", help="Take this plan; no model is asked to plan.")
@click.option(
    "--follow-up",
    "exploration",
    metavar="ID",
    help="Go on from an exploration, `last` for the latest: its relations may be read.",
)
@click.option("--today", default="", metavar="DAY", help="The day that counts as today.")
@click.option("--by", default="", metavar="NAME", help="Who asks, for the record.")
@click.option("--ask", "asking", is_flag=True, help="Show the plan and ask before it runs.")
@click.option("--show-plan", "holding", is_flag=True, help="Keep the plan and run nothing.")
@confirming_options
@solve_options
@project_option
def solve_command(
    question: str | None, *, file: str | None, project: str | None, **given: object
) -> int:
    """Answer QUESTION by a plan of steps that can be looked at, edited and run again.

    A language model of the project plans (`models:` in constat.yaml), or --plan FILE says the
    steps. Each gives a relation, by rules, a ranking, one SELECT, or sandboxed Python. They become
    a chain of rules; only the steps that the answer needs are run, set-at-a-time, and what has not
    changed is not run again. A step that fails for its text is corrected by the model.

    An answer is settled for certain, under assumptions (such as a plan that a model drafted and
    nobody has approved, or code), or open, with what is not known. The sentence holds no number
    that is not in the result or computed from it.

    That the plan's answer is what was asked is a person's word: of who wrote the plan, or confirmed
    it by --accept-goal with the relation that answers, as "top(?place, ?customer)"; else the answer
    is not settled for certain, and it is said what the question says and the plan does not.

    An answer has a proof that `constat verify` checks: rows of rules and rankings are derived
    again, those of SELECTs over steps and of code are attested with the very text that gave them.

    Examples:
      constat solve --plan examples/vip/plans/top5.yaml --today 2025-11-21
      constat solve --plan examples/vip/plans/top5.yaml --certificate top5.json
      constat solve --plan examples/vip/plans/top5.yaml --format json --events none
      constat solve --plan examples/vip/plans/top5.yaml --format csv --today 2025-11-21
      constat solve --plan examples/vip/plans/top5.yaml --show-plan          # exits with 4

    Exit codes: 0 proved, 3 proved under assumptions or not confirmed, 4 open, computed and not
    checked, held back, a step gave nothing, or not confirmed with --require-confirmed, 2 bad usage,
    configuration, plan or question, or another goal than was accepted.
    """
    if question is None and file is None:
        raise click.UsageError("give a question, or a plan by `--plan FILE`")
    wanted = _Wanted(**given)  # type: ignore[arg-type]  # click gives the options declared above
    written = None if file is None else plan_file(file)
    typed = {} if written is None else written.typed
    with Session(project) as session, asked(session, goal=question or "", typed=typed):
        if written is None:
            require_planner(session)
        allow_unconfined(session)
        plan = None if written is None else written.plan()
        with displayed(wanted.events) as tell:
            explored = _explored(session, question or "", plan, wanted, tell)
        giving = Giving(wanted.form, wanted.limit, wanted.chart, wanted.certificate)
        return give(explored, giving)


def require_planner(session: Session) -> None:
    """Say at once that nobody can plan, before rules are read; `--plan` needs no model."""
    if session.project.models.of(Task.PLAN.value) is None:
        hint = "write a plan, `--plan FILE`, or name a model under `models:` in constat.yaml"
        message = "the project has no model for `plan`: `models:` names none"
        raise ConstatError([Diagnostic("C0821", message, help=hint)])


def _explored(
    session: Session, question: str, plan: Plan | None, wanted: _Wanted, tell: Telling
) -> Explored:
    shared = _Shared(
        plan=plan,
        by=asker(wanted.by) if wanted.confirming.goal else wanted.by,
        review=wanted.review,
        mend=wanted.mend,
        certify=wanted.certificate is not None,
        require_approved=wanted.require_approved,
        accept_goal=wanted.confirming.goal,
        require_confirmed=wanted.confirming.required,
        check=wanted.check,
        observe=tell,
    )
    if wanted.exploration is None:
        return session.solve(question, today=wanted.today, **shared)
    latest = wanted.exploration == _LATEST
    return session.follow_up(question, exploration="" if latest else wanted.exploration, **shared)


@click.command(name="resume", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option("--by", default="", metavar="NAME", help="Who confirms; by default you.")
@confirming_options
@solve_options
@project_option
def resume_command(  # noqa: PLR0913  one argument for each option
    exploration: str,
    *,
    by: str,
    confirming: Confirming,
    mend: bool,
    certificate: str | None,
    require_approved: bool,
    check: str | None,
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
                check=check,
                observe=tell,
            )
        return give(explored, Giving(form, limit, chart, certificate))
