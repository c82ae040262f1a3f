"""`constat solve` and `constat resume`: explore a question by a plan, and go on with it later."""

from __future__ import annotations

from dataclasses import asdict
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
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, write, write_certificate, write_json
from constat.diagnostics import ConstatError, Diagnostic, counted
from constat.frozen import frozen
from constat.model.prompts import Task
from constat.session import Session

if TYPE_CHECKING:
    from constat.explore.answered import ExplorationState, Explored, StepRecordView
    from constat.explore.events import ExploreObserver
    from constat.explore.plan import Plan
    from constat.session.plan_approvals import Review
    from constat.store.explored import Exploration

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
    observe: ExploreObserver


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
    session: Session, question: str, plan: Plan | None, wanted: _Wanted, tell: ExploreObserver
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


# `constat history [ID]`: what was explored; with an id its questions, tables and scratchpad.


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
def history_command(
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
