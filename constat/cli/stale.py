"""`constat stale [PATH...]`: which certificates would have to be proved again, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.session.stale import Conclusion, StaleReport


@click.command(name="stale", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@format_option
@project_option
def command(paths: tuple[str, ...], *, form: str, project: str | None) -> int:
    """List the certificates that would have to be proved again, each with the reasons.

    PATH is a certificate or a folder of them; without one the certificates are meant that
    `constat prove --keep` has kept. Sources are read anew. Only what a proof rests on counts:
    its rules, configured values, stated facts, rows, and the age of what came from the cache.

    Examples:
      constat stale
      constat stale c001.json
      constat stale --format json

    Exit codes: 0 none is stale, 1 some are stale,
    4 none is, but some cannot be told because a source did not answer, 2 bad usage.
    """
    with Session(project) as session, asked(session):
        report = session.stale(paths or None)
    if form == "json":
        write_json(_json(report))
    else:
        _print(report)
    return report.exit_code


def _print(report: StaleReport) -> None:
    if not report.conclusions:
        write("no certificates are kept; `constat prove GOAL --keep` keeps one")
        return
    for title, listed in (("stale", report.stale), ("cannot be told", report.unknown)):
        for one in listed:
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


def _json(report: StaleReport) -> dict[str, object]:
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
