"""`constat models`: the language models of a project, and what they have used so far.

No model is asked, and no key is shown: only whether its variable is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import safe, write, write_json
from constat.diagnostics import counted
from constat.session import Session
from constat.tiers import parse_age

if TYPE_CHECKING:
    from constat.session.models import ModelOverview, ShownReply, UsedSoFar


@click.command(name="models", cls=PlainCommand)
@click.option("--show", metavar="HASH", help="Print a prompt with its reply, by its hash.")
@click.option("--clear", metavar="AGE", help="Forget kept replies older than 12h, 90d ...")
@format_option
@project_option
def command(show: str | None, clear: str | None, *, form: str, project: str | None) -> None:
    """List the language models of the project, and what they have used so far.

    Certificates name the hash of each prompt: with --show it is printed with its reply, word for
    word. Models are named under `models:` in constat.yaml.

    Examples:
      constat models
      constat models --format json
      constat models --clear 90d

    Exit codes: 0 listed, 2 bad usage or configuration.
    """
    if show is not None and clear is not None:
        raise click.UsageError("--show and --clear are two questions")
    seconds = None if clear is None else _seconds(clear)
    with Session(project) as session, asked(session):
        listing = session.model_listing
        if show is not None:
            _print_reply(listing.reply(show), form)
        elif seconds is not None:
            _print_cleared(listing.clear(seconds), form)
        else:
            _print_overview(listing.overview(), form)


def _seconds(written: str) -> int:
    try:
        return parse_age(written)
    except ValueError as problem:
        raise click.BadParameter(f"it {problem}", param_hint="--clear") from None


def _print_overview(found: ModelOverview, form: str) -> None:
    if form == "json":
        write_json(_overview_json(found))
        return
    for model in found.models:
        key = f"{model.key_variable} is {'set' if model.key_set else 'not set'}"
        tasks = f"for {', '.join(model.tasks)}" if model.tasks else "for no task"
        write(
            f"{safe(model.name)}: {model.provider}, {safe(model.model)} at {safe(model.host)}, "
            f"{key if model.key_variable else 'no key'}; {tasks}"
        )
    if not found.models:
        write("no model is configured")
    for name, bounds in (("question", found.question), ("session", found.session)):
        write(f"budget of a {name}: {', '.join(bounds) or 'none'}")
    if found.tape:
        write(f"tape {safe(found.tape)} ({found.tape_mode}): {safe(found.tape_answers)}")
    for used in found.used:
        write(f"used so far by {safe(used.model)} for {used.task}: {_usage_text(used)}")


def _usage_text(used: UsedSoFar) -> str:
    cost = f", {used.cost:f} {used.currency}" if used.cost else ""
    return (
        f"{counted(used.calls, 'call')}, {used.read + used.cached + used.stored:,} tokens read "
        f"({used.cached:,} of them from the provider's cache), {used.written:,} written{cost}"
    )


def _overview_json(found: ModelOverview) -> dict[str, object]:
    return {
        "models": [
            {
                "name": one.name,
                "provider": one.provider,
                "model": one.model,
                "host": one.host,
                "key_variable": one.key_variable,
                "key_set": one.key_set,
                "tasks": list(one.tasks),
                "priced": one.priced,
            }
            for one in found.models
        ],
        "budgets": {"question": list(found.question), "session": list(found.session)},
        "tape": None
        if not found.tape
        else {"file": found.tape, "mode": found.tape_mode, "answers": found.tape_answers},
        "used": [
            {
                "task": one.task,
                "model": one.model,
                "calls": one.calls,
                "read": one.read,
                "cached": one.cached,
                "stored": one.stored,
                "written": one.written,
                "cost": f"{one.cost:f}",
                "currency": one.currency,
            }
            for one in found.used
        ],
    }


def _print_cleared(count: int, form: str) -> None:
    if form == "json":
        write_json({"cleared": count})
    else:
        write(f"cleared: {count:,} {'reply' if count == 1 else 'replies'}")


def _print_reply(found: ShownReply, form: str) -> None:
    # Both are canonical JSON, in which no control character stands as itself.
    if form == "json":
        write_json(
            {
                "prompt_hash": found.prompt,
                "response_hash": found.response,
                "task": found.task,
                "model": found.model,
                "at": found.at,
                "usable": found.usable,
                "request": found.request,
                "reply": found.reply,
            }
        )
        return
    state = "" if found.usable else ", of no use"
    task = f" for {found.task}" if found.task else ""
    write(f"prompt {found.prompt}, to {safe(found.model)}{task} at {found.at}")
    write(found.request)
    write(f"reply {found.response}{state}")
    write(found.reply)
