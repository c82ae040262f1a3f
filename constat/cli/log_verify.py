"""`constat log verify`: whether the log is what was written, from end to end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import read_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.cli.signing_keys import given_keys
from constat.proof.signing.trust import MOST_FILE_BYTES
from constat.session import Session
from constat.session.signing import trust
from constat.session.signing_heads import read_head

if TYPE_CHECKING:
    from constat.store.decision_log_checking import LogReport

_MOST_SHOWN = 20
_BROKEN = 1


@click.command(name="verify", cls=PlainCommand)
@click.option("--anchor", metavar="FILE", help="A signed head that was kept elsewhere.")
@click.option(
    "--key", "keys", metavar="FILE", multiple=True, help="A public key that may sign heads."
)
@format_option
@project_option
def command(anchor: str | None, *, keys: tuple[str, ...], form: str, project: str | None) -> int:
    """Check each entry, the chain, the certificates, holds and expiries.

    Found is every entry that was changed, removed, added or moved, unless all that follow it were
    written anew. That, and a tail that was cut off, shows only against a head that somebody signed
    with `constat log anchor` and kept where the keeper of the log cannot change it.

    Examples:
      constat log verify
      constat log verify --anchor head.dsse --key key.pub.pem
      constat log verify --format json

    Exit codes: 0 whole, 1 not, 2 bad usage, or there is no log.
    """
    with Session(project) as session, asked(session):
        head = None
        if anchor is not None:
            trusted, _ = trust(given_keys(keys), (), session.project)
            head = read_head(read_file(anchor, MOST_FILE_BYTES), trusted)
        report = session.decisions.check(None if isinstance(head, str) else head)
    if isinstance(head, str):
        report = replace(report, problems=(head, *report.problems))
    if form == "json":
        write_json(_json(report, anchored=anchor is not None))
    else:
        write("\n".join(_lines(report, anchor)))
    return 0 if report.whole else _BROKEN


def _lines(report: LogReport, anchor: str | None) -> list[str]:
    if not report.whole:
        more = len(report.problems) - _MOST_SHOWN
        lines = [f"BROKEN: {report.problems[0]}"]
        lines += [f"  {problem}" for problem in report.problems[1:_MOST_SHOWN]]
        return [*lines, f"  and {more:,} more"] if more > 0 else lines
    counts = (
        f"{counted(report.entries, 'entry').replace('entrys', 'entries')}, "
        f"{counted(report.decisions, 'decision')}, {report.expired:,} expired, "
        f"{report.held:,} held"
    )
    lines = [f"whole: {counts}", f"head: {report.entries - 1} {report.hash} at {report.time}"]
    if report.repairs:
        lines.append(f"torn lines that were moved aside: {report.repairs:,}")
    if anchor is None:
        lines.append("note: a cut tail shows only with --anchor")
    return lines


def _json(report: LogReport, *, anchored: bool) -> dict[str, object]:
    return {
        "whole": report.whole,
        "anchored": anchored,
        "problems": list(report.problems),
        "entries": report.entries,
        "decisions": report.decisions,
        "expired": report.expired,
        "held": report.held,
        "repairs": report.repairs,
        "log": report.log,
        "hash": report.hash,
        "time": report.time,
    }
