"""`constat diff CERT [CERT]`: what changed between two proofs, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from constat.check.canonical import MAX_BYTES
from constat.cli.asking import asked, project_option
from constat.cli.files import read_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.diagnostics import ConstatError
from constat.session import Session
from constat.session.comparing_certificates import compare_certificates

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.proof.comparison import Change, Comparison

DIFFERENT: Final = 7
_MOST_UNALIGNED: Final = 20
_TITLES: Final = (
    ("what changed", ("data", "rule", "assumption", "source")),
    ("what follows", ("conclusion", "verdict")),
    ("proved in another way", ("shape",)),
)


@click.command(name="diff", cls=PlainCommand)
@click.argument("before", metavar="CERT")
@click.argument("after", metavar="[CERT]", required=False)
@format_option
@project_option
def command(before: str, after: str | None, *, form: str, project: str | None) -> int:
    """Tell what differs between two certificates, or between one and the present.

    First the data, rules, assumptions and sources that changed, then the conclusions and the
    verdict that follow, each with its reasons, then what is proved in another way only. Rows are
    aligned by predicate and key; what only one certificate speaks about is listed as not aligned.
    With one certificate its goal is proved again.

    Examples:
      constat diff c001.json c001.json
      constat diff c001.json --format json

    Exit codes: 0 the same but for when and where they were made, 7 different,
    1 a certificate is rejected, 2 bad usage.
    """
    first = read_file(before, MAX_BYTES)
    with Session(project) as session, asked(session):
        if after is None:
            found = session.diff(first)
        else:
            analysed = _program(session, named=project is not None)
            found = compare_certificates(first, read_file(after, MAX_BYTES), analysed)
    if form == "json":
        write_json(_as_json(found))
    else:
        _print(found)
    return 0 if found.is_empty else DIFFERENT


def _program(session: Session, *, named: bool) -> AnalysedProgram | None:
    """Give the rules of the project, which know keys; two certificates need no project."""
    try:
        return session.program
    except ConstatError:
        if named:
            raise
        return None


def _as_json(found: Comparison) -> dict[str, object]:
    return {
        "goal": found.goals[0],
        "exit_code": 0 if found.is_empty else DIFFERENT,
        "same": found.is_empty,
        "changes": [
            {
                "number": number,
                "kind": one.kind,
                "subject": one.subject,
                "before": one.before,
                "after": one.after,
                "because": [place + 1 for place in one.because],
            }
            for number, one in enumerate(found.changes, 1)
        ],
        "unaligned": [
            {"text": one.text, "side": one.side, "reason": one.reason} for one in found.unaligned
        ],
    }


def _print(found: Comparison) -> None:
    write(found.goals[0])
    if found.is_empty:
        write("no difference")
    for title, kinds in _TITLES:
        listed = found.of(*kinds)
        if listed:
            write(f"{title}:")
        for number, one in listed:
            write(f"  {number + 1}. {_told(one)}{_because(one)}")
    if found.unaligned:
        write("not aligned:")
        for alone in found.unaligned[:_MOST_UNALIGNED]:
            write(f"  {alone.side}: {alone.text} ({alone.reason})")
        left = len(found.unaligned) - _MOST_UNALIGNED
        if left > 0:
            write(f"  and {counted(left, 'more row')}; --format json lists all")


def _told(one: Change) -> str:
    match (one.kind, one.before, one.after):
        case ("verdict", before, after):
            return f"verdict: {before}, now {after}"
        case (kind, None, after):
            return f"{kind}: new: {after}"
        case (kind, before, None):
            return f"{kind}: gone: {before}"
        case (kind, before, after):
            named = "" if kind in {"data", "conclusion"} else f"{one.subject}: "
            return f"{kind}: {named}{before}\n       now {after}"


def _because(one: Change) -> str:
    if not one.because:
        return ""
    return f" (because of {', '.join(str(place + 1) for place in one.because)})"
