"""`constat diff`, `replay` and `stale`: certificates against each other and against today."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from constat.check.canonical import MAX_BYTES
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, files_given, project_option
from constat.cli.output import note, read_file, write, write_certificate, write_json
from constat.diagnostics import ConstatError, counted
from constat.session import Session
from constat.session.replaying import compare_certificates

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.proof.comparison import Change, Comparison
    from constat.session.replaying import LiveReplay, Replay
    from constat.session.stale import Conclusion, StaleReport

DIFFERENT: Final = 7
_MOST_UNALIGNED: Final = 20
_TITLES: Final = (
    ("what changed", ("data", "rule", "assumption", "source")),
    ("what follows", ("conclusion", "verdict")),
    ("proved in another way", ("shape",)),
    ("said in other words", ("wording",)),
)


@click.command(name="diff", cls=PlainCommand)
@click.argument("before", metavar="CERT")
@click.argument("after", metavar="[CERT]", required=False)
@format_option
@project_option
def diff_command(before: str, after: str | None, *, form: str, project: str | None) -> int:
    """Tell what differs between two certificates, or between one and the present.

    First the data, rules, assumptions and sources that changed, then the conclusions and the
    verdict that follow, each with its reasons, then what is proved in another way only, then what
    rules and declarations say in other words (sentences, codes, units, owners). Rows are
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


_IDENTITY: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


@click.command(name="replay", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option("--live", is_flag=True, help="Prove again with the sources and rules of today.")
@click.option("--output", "-o", metavar="FILE", help="Write the certificate made again to FILE.")
@format_option
@project_option
def replay_command(
    certificate: str, *, live: bool, output: str | None, form: str, project: str | None
) -> int:
    """Make the certificate in CERT again and tell whether the same bytes come out.

    Everything is worked out anew from the rules, rows and derivations that the certificate itself
    records; no project and no source is needed. CERT may be the identity (sha256:...) of a
    certificate that `constat prove --keep` has kept. With --live the goal is proved again from the
    sources and rules of today, and of every fact it is told whether it is unchanged, changed,
    vanished, or cannot be read.

    Examples:
      constat replay c001.json
      constat replay c001.json --live
      constat replay c001.json --format json

    Exit codes: 0 the same, 7 different, 4 the record does not hold everything, or with --live some
    facts cannot be read, 1 the certificate is rejected, 2 bad usage.
    """
    if live and output is not None:
        raise click.UsageError("--output cannot be used with --live")
    with Session(project) as session, asked(session):
        content = _content(session, certificate)
        if live:
            present = session.replay_live(content)
            write_json(_live_json(present)) if form == "json" else _print_live(present)
            return present.exit_code
        found = session.replay(content)
        write_json(_json(found)) if form == "json" else _replay_print(found)
        if output is not None and found.content is not None:
            write_certificate(output, found.content)
            note(f"certificate written to {output}")
    return found.exit_code


def _content(session: Session, given: str) -> bytes:
    if _IDENTITY.match(given):
        return session.kept(given)
    return read_file(given, MAX_BYTES)


def _json(found: Replay) -> dict[str, object]:
    return {
        "exit_code": found.exit_code,
        "live": False,
        "verdict": found.verdict,
        "identity": found.identity,
        "same": found.same,
        "reason": found.reason,
        "members": list(found.members),
        "made_by": found.made_by,
        "replayed_by": found.replayed_by,
    }


def _replay_print(found: Replay) -> None:
    made = "" if found.made_by == found.replayed_by else f", which {found.made_by} had made"
    if found.same:
        write(f"the same bytes{made}: {found.identity}")
    elif found.content is None:
        write(f"cannot be made again: {found.reason}")
    else:
        listed = ", ".join(found.members)
        write(f"other bytes{made}: {found.reason} in {listed}")


def _live_json(found: LiveReplay) -> dict[str, object]:
    return {
        "exit_code": found.exit_code,
        "live": True,
        "verdict": found.verdict,
        "verdict_now": found.verdict_now,
        "rules": list(found.rules),
        "facts": [
            {"fact": one.fact, "status": one.status, "detail": one.detail} for one in found.facts
        ],
    }


def _print_live(found: LiveReplay) -> None:
    if found.verdict == found.verdict_now:
        write(f"verdict: {_words(found.verdict)}, as then")
    else:
        write(f"verdict: {_words(found.verdict)}, now {_words(found.verdict_now)}")
    for text in found.rules:
        write(f"  {text}")
    for one in found.drift:
        detail = f" ({one.detail})" if one.detail else ""
        write(f"  {one.status}: {one.fact}{detail}")
    same = len(found.facts) - len(found.drift)
    write(f"{counted(len(found.facts), 'fact')} read again, {same:,} unchanged")


def _words(verdict: str) -> str:
    return verdict.replace("_UNDER", " UNDER assumptions")


@click.command(name="stale", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@format_option
@project_option
def stale_command(paths: tuple[str, ...], *, form: str, project: str | None) -> int:
    """List the certificates that would have to be proved again, each with the reasons.

    PATH is a certificate, - for stdin, or a folder of them; without one the certificates are meant
    that `constat prove --keep` has kept. Sources are read anew. Only what a proof rests on counts:
    its rules, configured values, stated facts, rows, and the age of what came from the cache.

    Examples:
      constat stale
      constat stale c001.json
      constat stale --format json

    Exit codes: 0 none is stale, 1 some are stale,
    4 none is, but some cannot be told because a source did not answer, 2 bad usage.
    """
    with Session(project) as session, asked(session), files_given(paths) as files:
        report = session.stale(files or None)
    if form == "json":
        write_json(_stale_json(report))
    else:
        _stale_print(report)
    return report.exit_code


def _stale_print(report: StaleReport) -> None:
    if not report.conclusions:
        write("no certificates are kept; `constat prove GOAL --keep` keeps one")
        return
    listed = (
        ("stale", report.stale),
        ("cannot be told", report.unknown),
        ("stands, said otherwise now", report.reworded),
    )
    for title, conclusions in listed:
        for one in conclusions:
            write(f"{title}: {_name(one)}")
            for reason in one.reasons:
                write(f"  {reason.text}")
    standing = len(report.conclusions) - len(report.stale) - len(report.unknown)
    write(
        f"{len(report.conclusions):,} looked at: {standing:,} current, "
        f"{len(report.stale):,} stale, {len(report.unknown):,} cannot be told"
    )


def _name(one: Conclusion) -> str:
    return f"{one.goal} ({one.verdict}), {one.path}" if one.goal else one.path


def _stale_json(report: StaleReport) -> dict[str, object]:
    return {
        "exit_code": report.exit_code,
        "checked": len(report.conclusions),
        "stale": len(report.stale),
        "unknown": len(report.unknown),
        "conclusions": [
            {
                "path": one.path,
                "goal": one.goal or None,
                "verdict": one.verdict or None,
                "identity": one.identity or None,
                "status": one.status,
                "reasons": [{"kind": reason.kind, "text": reason.text} for reason in one.reasons],
            }
            for one in report.conclusions
        ],
    }
