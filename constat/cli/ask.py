"""`constat ask QUESTION`: a model reads the question, the engine proves, people approve drafts."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypedDict

import click

from constat.cli.confirmation import Confirming, asker, confirming_options, translation_lines
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, locale_option, note_warned, project_option
from constat.cli.output import note, write, write_certificate, write_json
from constat.cli.progress import watching
from constat.cli.results import print_result, result_json
from constat.cli.tables import Table
from constat.diagnostics import counted, to_json
from constat.frozen import frozen
from constat.proof import tree_to_json
from constat.session import Session
from constat.session.result import Answered, Listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.model import Usage
    from constat.store.drafts import Draft

# The goal in words, and who says that it is what was asked, stand before the verdict, because the
# verdict is about the goal and not about the question; a draft is never shown without the words
# that nobody has approved it.

_LONGEST: Final = 600
_MOST_ROWS: Final = 20
_SETTLED: Final = MappingProxyType(
    {
        "SETTLED": "There are no others.",
        "SETTLED_UNDER": "Under the assumptions there are no others.",
        "OPEN": "There may be more.",
    }
)


def print_answered(found: Answered, *, depth: int | None, quiet: bool, told: bool) -> None:
    """Print an answer: the question as it was read, the draft, the verdict, what it took."""
    if not quiet:
        write(f"question: {found.question}")
    for line in translation_lines(found.translation):
        write(line)
    if not quiet:
        write(f"reused: {', '.join(found.reused) or 'nothing'}")
        for line in _drafted(found):
            write(line)
        for line in _listed(found.listed):
            write(line)
        write("")
    print_result(found.result, depth=depth, quiet=quiet)
    if not quiet:
        write("")
        used = _usage(found.usage, found.currency)
        write(f"usage: {used}, {counted(found.rounds, 'proposal')}")
    if told:
        print_record(found.record)


def _drafted(found: Answered) -> Iterator[str]:
    draft = found.draft
    if draft is None:
        yield "drafted: nothing"
    else:
        yield f"drafted: {counted(len(found.drafted), 'rule')}, which nobody has approved"
        yield from (f"  {line}" for line in _rules(draft))
        yield f"  review: constat rules review {draft.short}"
    for remark in found.remarks:
        yield f"note: {remark.message} [{remark.code}]"


def _listed(listed: Listed | None) -> Iterator[str]:
    """Yield the first answers of a goal with variables, and how many there are."""
    if listed is None:
        return
    shown = listed.rows[:_MOST_ROWS]
    cells = [(*values, verdict.label) for values, verdict in shown]
    table = Table((*listed.columns, "verdict"), (False,) * (len(listed.columns) + 1), None)
    table.fit(cells)
    yield ""
    if cells:
        yield table.heading()
    yield from (table.line(row) for row in cells)
    more = listed.total - len(shown)
    left = f", {more:,} of them not shown" if more else ""
    yield f"{counted(listed.total, 'answer')}{left}. {_SETTLED[listed.settled.value]}"


def _rules(draft: Draft) -> Iterator[str]:
    """Yield the lines of a draft, without what every file begins with."""
    for line in draft.text.splitlines():
        if line.strip() and not line.startswith((".pragma", ".include")):
            yield line


def _usage(usage: Usage, currency: str) -> str:
    read = usage.read + usage.cached + usage.stored
    parts = [counted(usage.calls, "call"), f"{read:,} tokens read", f"{usage.written:,} written"]
    if usage.cost:
        parts.append(f"{usage.cost:f} {currency}")
    return ", ".join(parts)


def print_record(record: Mapping[str, Any]) -> None:
    """Print a transcript."""
    write(f"transcript {record['id']} of {record['at']}: {record['question']}")
    for entry in record["entries"]:
        for line in _entry(entry):
            write(f"  {line}")
    outcome = record["outcome"]
    if "verdict" in outcome:
        write(f"  outcome: {outcome['verdict']}: {outcome['goal']}")
    elif "error" in outcome:
        write(f"  outcome: {_mistakes(outcome['error'])}")


def _entry(entry: Mapping[str, Any]) -> Iterator[str]:
    match entry["kind"]:
        case "told":
            yield f"told: {_short(entry['text'])}"
        case "reply":
            shown = f" {_short(entry['text'])}" if entry["text"] else ""
            yield f"{entry['model']}:{shown}"
            for call in entry["calls"]:
                yield f"  calls {call['name']}"
                for name, value in (call["arguments"] or {}).items():
                    yield f"    {name}: {_short(str(value))}"
        case "lookup":
            failed = " failed" if entry["failed"] else ""
            yield f"{entry['call']['name']}{failed}: {_short(entry['text'])}"
        case "check":
            yield f"proposal {entry['round']}: {_verdict(entry)}"


def _verdict(entry: Mapping[str, Any]) -> str:
    if entry["passed"]:
        return "passed every check"
    return _mistakes(entry["diagnostics"])


def _mistakes(diagnostics: object) -> str:
    if not isinstance(diagnostics, list):
        return str(diagnostics)
    return "; ".join(f"{one['code']}: {one['message']}" for one in diagnostics)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."


# Results go to stdout: the question as it was read, what was reused and drafted, the verdict and
# its proof. What `asked` says of models, that answers were replayed among it, goes to stderr.


@frozen
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
      constat ask "Is customer C001 a VIP?" --require-approved --quiet          # exits with 4
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
        write_certificate(file, found.result.certificate)
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
