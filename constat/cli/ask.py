"""`constat ask QUESTION`: a model reads the question, the engine proves, people approve drafts.

Results go to stdout: the question as it was read, what was reused and drafted, the verdict and its
proof. What `asked` says of models, that answers were replayed among it, goes to stderr.
"""

from __future__ import annotations

import getpass
import json
import os
from functools import partial

import click

from constat.cli.ask_text import print_answered, print_record
from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write_json
from constat.cli.progress import watching
from constat.cli.results import result_json
from constat.cli.speaking import locale_option
from constat.diagnostics import to_json
from constat.proof import tree_to_json
from constat.session import Session
from constat.session.asking import Answered, Listed


@click.command(name="ask", cls=PlainCommand)
@click.argument("question", required=False)
@click.option("--require-approved", is_flag=True, help="Use no rule that nobody has approved.")
@click.option("--conversation", metavar="NAME", help="Go on with what was asked under this name.")
@click.option("--by", metavar="NAME", help="Who asks, for the draft's record; by default you.")
@click.option("--transcript", "told", is_flag=True, help="Show what was exchanged with the model.")
@click.option("--show", metavar="ID", help="Show the transcript of an earlier question instead.")
@click.option("--certificate", metavar="FILE", help="Write the certificate to FILE.")
@click.option("--keep", is_flag=True, help="Keep the certificate for `constat stale`.")
@click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth.")
@click.option("--quiet", "-q", is_flag=True, help="Print the goal and the verdict only.")
@format_option
@locale_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    question: str | None,
    *,
    require_approved: bool,
    conversation: str | None,
    by: str | None,
    told: bool,
    show: str | None,
    certificate: str | None,
    keep: bool,
    depth: int | None,
    quiet: bool,
    form: str,
    locale: str | None,
    project: str | None,
) -> int:
    """Answer QUESTION, a sentence, with a proof.

    A language model of the project (`models:` in constat.yaml) turns the question into a goal over
    the project's predicates. Where these do not suffice it drafts rules, or a query; they are
    checked, kept in quarantine, and what rests on them is PROVED UNDER them until somebody approves
    them with `constat rules approve`. The model supplies no fact. A question that was ended in the
    middle goes on from the replies that had come; what two programs ask at once is paid for once.

    Examples:
      constat ask "Is customer C001 a VIP?"
      constat ask "Is customer C001 a VIP?" --format json
      constat ask "Is customer C001 a VIP?" --require-approved --quiet
      constat ask "Is customer C001 a VIP?" --conversation vips --quiet

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved (with --require-approved also
    where a draft would decide it), 5 disproved, 6 disproved under assumptions, 2 no goal was found.
    """
    if (question is None) == (show is None):
        raise click.UsageError("give a question, or `--show ID`")
    with Session(project, locale=locale) as session, asked(session, goal=question or ""):
        if question is None:
            return _show(session, show or "", form)
        with watching() as observe:
            asker = _user() if by is None else by
            ask = partial(session.ask, conversation=conversation or "", observe=observe)
            found = ask(question, require_approved=require_approved, by=asker)
        if form == "json":
            write_json(answered_json(found, told=told))
        else:
            print_answered(found, depth=depth, quiet=quiet, told=told)
        _put_away(session, found, certificate, keep=keep)
        return found.exit_code


def _put_away(session: Session, found: Answered, file: str | None, *, keep: bool) -> None:
    """Write and keep the certificate as asked for."""
    if file is not None:
        write_file(file, found.result.certificate)
        note(f"certificate written to {file}")
    if keep:
        note(f"certificate kept as {session.keep(found.result).name}")


def _user() -> str:
    """Name who is logged in: whoever asked may not be the one who approves."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        # A container may run a user that has no name.
        return f"user {os.getuid()}"


def _show(session: Session, identity: str, form: str) -> int:
    record = session.transcript(identity)
    if form == "json":
        write_json(record)
    else:
        print_record(record)
    return 0


def answered_json(found: Answered, *, told: bool) -> dict[str, object]:
    """Give an answer as JSON, with the transcript where it was asked for."""
    draft, usage = found.draft, found.usage
    return {
        "question": found.question,
        "goal": found.goal,
        "exit_code": found.exit_code,
        "reused": list(found.reused),
        "draft": None
        if draft is None
        else {
            "id": draft.identity,
            "short": draft.short,
            "status": draft.status,
            "text": draft.text,
            "rules": list(found.drafted),
        },
        "answers": None if found.listed is None else _listed_json(found.listed),
        "invented": list(found.invented),
        "remarks": to_json(found.remarks),
        "model": found.model,
        "replayed": found.replayed,
        "rounds": found.rounds,
        "usage": {
            "calls": usage.calls,
            "read": usage.read,
            "cached": usage.cached,
            "stored": usage.stored,
            "written": usage.written,
            "cost": f"{usage.cost:f}",
            "currency": found.currency,
        },
        "transcript": found.transcript,
        "record": found.record if told else None,
        "result": result_json(found.result, json.loads(tree_to_json(found.result.tree))),
    }


def _listed_json(listed: Listed) -> dict[str, object]:
    return {
        "columns": list(listed.columns),
        "rows": [{"values": list(values), "verdict": one.value} for values, one in listed.rows],
        "total": listed.total,
        "settled": listed.settled.value,
    }
