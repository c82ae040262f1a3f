"""`constat ask QUESTION`: a model reads the question, the engine proves, people approve drafts.

Results go to stdout: the question as it was read, what was reused and drafted, the verdict and its
proof. What `asked` says of models, that answers were replayed among it, goes to stderr.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypedDict

import click

from constat.cli.ask_text import print_answered, print_record
from constat.cli.asking import asked, note_warned, project_option
from constat.cli.confirming_options import Confirming, asker, confirming_options
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.cli.progress import watching
from constat.cli.results import result_json
from constat.cli.speaking import locale_option
from constat.diagnostics import to_json
from constat.proof import tree_to_json
from constat.session import Session
from constat.session.asking import Answered, Listed


@dataclass(frozen=True, slots=True)
class _Wanted:
    """How to answer, and how to show it."""

    require_approved: bool
    conversation: str | None
    by: str | None
    confirming: Confirming
    unconfirm: bool
    told: bool
    show: str | None
    certificate: str | None
    keep: bool
    depth: int | None
    quiet: bool
    form: str

    @property
    def asker(self) -> str:
        """Who asks: whoever is logged in, unless a name was given."""
        return asker(self.by)

    @property
    def request(self) -> _Request:
        """What `Session.ask` is told."""
        return _Request(
            require_approved=self.require_approved,
            by=self.asker,
            conversation=self.conversation or "",
            accept_goal=self.confirming.goal,
            require_confirmed=self.confirming.required,
        )


class _Request(TypedDict):
    require_approved: bool
    by: str
    conversation: str
    accept_goal: str
    require_confirmed: bool


@click.command(name="ask", cls=PlainCommand)
@click.argument("question", required=False)
@click.option("--require-approved", is_flag=True, help="Use no rule that nobody has approved.")
@click.option("--conversation", metavar="NAME", help="Go on with what was asked under this name.")
@click.option("--by", metavar="NAME", help="Who asks, and confirms; by default you.")
@confirming_options
@click.option("--unconfirm", is_flag=True, help="Take the confirmations of QUESTION back.")
@click.option("--transcript", "told", is_flag=True, help="Show what was exchanged with the model.")
@click.option("--show", metavar="ID", help="Show the transcript of an earlier question instead.")
@click.option("--certificate", metavar="FILE", help="Write the certificate to FILE.")
@click.option("--keep", is_flag=True, help="Keep the certificate for `constat stale`.")
@click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth.")
@click.option("--quiet", "-q", is_flag=True, help="Print the goal and the verdict only.")
@format_option
@locale_option
@project_option
def command(
    question: str | None, *, locale: str | None, project: str | None, **given: object
) -> int:
    """Answer QUESTION, a sentence, with a proof.

    A language model of the project (`models:` in constat.yaml) turns the question into a goal over
    the project's predicates. Where these do not suffice it drafts rules, or a query; they are
    checked, kept in quarantine, and what rests on them is PROVED UNDER them until somebody approves
    them with `constat rules approve`. The model supplies no fact. A question that was ended in the
    middle goes on from the replies that had come; what two programs ask at once is paid for once.

    Verdict and proof are about the goal. Whether it is what was asked is shown before them: stated
    (the question is a sentence of the rules, word for word), confirmed (a person has named the goal
    by --accept-goal, and nothing that it rests on has changed since) or unconfirmed, with what the
    question says and the goal does not, as far as that was noticed.

    Examples:
      constat ask "Is customer C001 a VIP?"                     # exits with 3
      constat ask "Is customer C001 a VIP?" --accept-goal "is_vip(C001)" --by alice
      constat ask "Is customer C001 a VIP?" --format json       # exits with 3
      constat ask "Is customer C001 a VIP?" --require-approved --quiet          # exits with 3
      constat ask "Is customer C001 a VIP?" --conversation vips --quiet         # exits with 3
      constat ask "Is customer C001 a VIP?" --unconfirm --by alice
      constat ask "Is customer C001 a VIP?" --require-confirmed  # exits with 4

    Exit codes: 0 proved, 3 proved under assumptions, 5 disproved, 6 disproved under assumptions; 3
    in place of 0 and 6 in place of 5 where nobody has confirmed the goal; 4 unresolved (with
    --require-approved also where a draft would decide it, with --require-confirmed also where
    nobody has confirmed the goal), 2 no goal was found, or another one than was accepted.
    """
    wanted = _Wanted(**given)  # type: ignore[arg-type]  # click gives the options declared above
    if (question is None) == (wanted.show is None):
        raise click.UsageError("give a question, or `--show ID`")
    with Session(project, locale=locale) as session, asked(session, goal=question or ""):
        if question is None:
            return _show(session, wanted.show or "", wanted.form)
        if wanted.unconfirm:
            return _unconfirm(session, question, wanted.asker)
        with watching() as observe:
            found = session.ask(question, observe=observe, **wanted.request)
        if wanted.form == "json":
            write_json(answered_json(found, told=wanted.told))
        else:
            print_answered(found, depth=wanted.depth, quiet=wanted.quiet, told=wanted.told)
        _put_away(session, found, wanted.certificate, keep=wanted.keep)
        if not wanted.quiet:
            note_warned(session)
        return found.exit_code


def _put_away(session: Session, found: Answered, file: str | None, *, keep: bool) -> None:
    """Write and keep the certificate as asked for."""
    if file is not None:
        write_file(file, found.result.certificate)
        note(f"certificate written to {file}")
    if keep:
        note(f"certificate kept as {session.keep(found.result).name}")


def _unconfirm(session: Session, question: str, by: str) -> int:
    withdrawn = session.confirmations.withdraw(" ".join(question.split()), by)
    for one in withdrawn:
        write(f"taken back: {one.by} confirmed {one.goal} at {one.at[:19]}Z")
    if not withdrawn:
        note("nobody has confirmed a goal for this question")
    return 0


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
        "translation": found.translation.as_json(),
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
