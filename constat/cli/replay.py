"""`constat replay CERT`: the certificate made again, from its record or from today's sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from constat.check.canonical import MAX_BYTES
from constat.cli.asking import asked, project_option
from constat.cli.files import read_file, write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, note, write, write_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.session.replaying import LiveReplay, Replay

_IDENTITY: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


@click.command(name="replay", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option("--live", is_flag=True, help="Prove again with the sources and rules of today.")
@click.option("--output", "-o", metavar="FILE", help="Write the certificate made again to FILE.")
@format_option
@project_option
def command(
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
        write_json(_json(found)) if form == "json" else _print(found)
        if output is not None and found.content is not None:
            write_file(output, found.content)
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


def _print(found: Replay) -> None:
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
