"""`constat log`: look after the log of decisions."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import LazyGroup, PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import (
    note,
    read_file,
    replacing,
    write,
    write_certificate,
    write_file,
    write_json,
    write_pieces,
)
from constat.cli.signing import given_keys, private_key
from constat.diagnostics import counted
from constat.proof.render import defused
from constat.proof.signing import MOST_FILE_BYTES
from constat.session import Session
from constat.session.decisions import read_head, sign_head
from constat.session.signing import trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.store.decision_log import LogReport, Record

# What has expired is shown as such, and never as a decision without a goal.

_MOST_TARGETS: Final = 20


def record_line(record: Record) -> str:
    """Write an entry in a line."""
    entry, body = record.entry, record.entry.body
    start = f"{entry.sequence}  {entry.time[:19]}Z  {entry.kind}"
    if body is None:
        return f"{start}  expired (it was kept until {(entry.until or '')[:10]})"
    match entry.kind:
        case "decision":
            text = f"{start}  {body['verdict']}  {body['goal']}  by {body['who']}"
        case "hold" | "release":
            targets = ", ".join(map(str, entry.targets))
            text = f"{start}  {targets}  for {body['matter']}  by {body['who']}"
        case "expire":
            more = len(entry.targets) - _MOST_TARGETS
            targets = ", ".join(map(str, entry.targets[:_MOST_TARGETS]))
            targets += f" and {more:,} more" if more > 0 else ""
            text = f"{start}  {targets}  by {body['who']}"
        case "snapshot":
            text = f"{start}  {body['predicate']} of {body['executed']}  by {body['who']}"
        case "repair":
            text = f"{start}  a torn line of {body['bytes']} bytes was moved to {body['file']}"
        case _:
            text = f"{start}  log {body['log']}"
    return text + "".join(_marks(record))


def _marks(record: Record) -> list[str]:
    body = record.entry.body or {}
    marks = []
    if body.get("supersedes") is not None:
        marks.append(f"  supersedes {body['supersedes']}")
    if record.superseded_by is not None:
        marks.append(f"  superseded by {record.superseded_by}")
    if record.matters:
        marks.append(f"  held for {', '.join(record.matters)}")
    return marks


def record_json(record: Record) -> dict[str, object]:
    """Give an entry as a JSON object."""
    entry, body = record.entry, record.entry.body or {}
    return {
        "entry": entry.sequence,
        "time": entry.time,
        "kind": entry.kind,
        "hash": entry.hash,
        "previous": entry.previous,
        "retention": entry.retention,
        "until": entry.until,
        "expired": entry.body is None,
        "goal": body.get("goal"),
        "verdict": body.get("verdict"),
        "who": body.get("who"),
        "identity": body.get("identity"),
        "certificate": body.get("certificate"),
        "supersedes": body.get("supersedes"),
        "superseded_by": record.superseded_by,
        "held_for": list(record.matters),
        "targets": list(entry.targets),
        "matter": body.get("matter"),
        "reason": body.get("reason"),
    }


@click.command(name="list", cls=PlainCommand)
@click.option("--goal", metavar="TEXT", help="Only decisions whose goal begins so.")
@click.option("--current", is_flag=True, help="Only decisions that no other supersedes.")
@click.option("--all", "every", is_flag=True, help="Also holds, releases, expiries, snapshots.")
@format_option
@project_option
def list_command(
    goal: str | None, *, current: bool, every: bool, form: str, project: str | None
) -> None:
    """List the decisions in the log, in the order in which they were made.

    Examples:
      constat log list
      constat log list --goal "is_vip(" --current
      constat log list --all --format json

    Exit codes: 0 listed (also where there is none), 2 bad usage, or the log is damaged.
    """
    with Session(project) as session, asked(session):
        records = session.decisions.records()
    found = [
        one
        for one in records
        if (every or one.entry.kind == "decision")
        and (goal is None or str((one.entry.body or {}).get("goal", "")).startswith(goal))
        and not (current and one.superseded_by is not None)
    ]
    if form == "json":
        write_json([record_json(one) for one in found])
        return
    for one in found:
        write(record_line(one))
    if not found:
        note("no decisions are written down; `constat prove GOAL --log` writes one")


@click.command(name="show", cls=PlainCommand)
@click.argument("entry")
@click.option("--certificate", metavar="FILE", help="Write the decision's certificate to FILE.")
@format_option
@project_option
def show_command(entry: str, *, certificate: str | None, form: str, project: str | None) -> None:
    """Show ENTRY, a number or (the beginning of) the identity of a proof.

    Examples:
      constat log show 1
      constat log show 1 --certificate first.json
      constat log show 1 --format json

    Exit codes: 0 shown, 2 bad usage, or there is no such entry.
    """
    with Session(project) as session, asked(session):
        record = session.decisions.find(entry)
        if form == "json":
            write_json(record_json(record))
        else:
            write(record_line(record))
            for name, value in record_json(record).items():
                if value not in (None, [], False, ""):
                    write(f"  {name}: {value}")
        if certificate is not None:
            write_certificate(certificate, session.decisions.certificate(record))
            note(f"certificate written to {certificate}")


_MOST_SHOWN = 20
_BROKEN = 1


@click.command(name="verify", cls=PlainCommand)
@click.option("--anchor", metavar="FILE", help="A signed head that was kept elsewhere.")
@click.option(
    "--key", "keys", metavar="FILE", multiple=True, help="A public key that may sign heads."
)
@format_option
@project_option
def verify_command(
    anchor: str | None, *, keys: tuple[str, ...], form: str, project: str | None
) -> int:
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


@click.command(name="anchor", cls=PlainCommand)
@click.option("--key", metavar="FILE", required=True, help="The private key.")
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
@project_option
def anchor_command(key: str, *, output: str | None, project: str | None) -> None:
    """Check the log, then sign the number, the hash and the time of its last entry.

    A hash chain cannot show that its end is missing. The signed head can, kept where the keeper of
    the log cannot change it: with an auditor, in another system, on paper.

    Examples:
      constat log anchor --key key.pem -o head.dsse
      constat log anchor --key key.pem

    Exit codes: 0 signed, 2 bad usage, there is no log, or it is damaged.
    """
    owner = private_key(key)
    with Session(project) as session, asked(session):
        report = session.decisions.check()
        line = sign_head(report, owner)
    if output is None:
        write(line.decode().rstrip("\n"))
        return
    write_file(output, line)
    note(f"entry {report.entries - 1} anchored in {output}")


@click.command(name="hold", cls=PlainCommand)
@click.argument("entries", nargs=-1, required=True, type=click.IntRange(min=0), metavar="ENTRY...")
@click.option("--matter", required=True, metavar="NAME", help="What they are held for.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--by", metavar="NAME", help="Who holds them; by default you.")
@project_option
def hold_command(
    entries: tuple[int, ...], *, matter: str, reason: str, by: str | None, project: str | None
) -> None:
    """Keep decisions from expiring until each hold on them is lifted, whatever their class says.

    Examples:
      constat log hold 1 --matter "Smith v. Shop" --by legal

    Exit codes: 0 held, 2 bad usage, no such decision, or it is held for this matter already.
    """
    with Session(project) as session, asked(session):
        entry = session.decisions.hold(entries, matter=matter, reason=reason, by=by)
    write(f"held for {matter}: {', '.join(map(str, entry.targets))} (entry {entry.sequence})")


@click.command(name="release", cls=PlainCommand)
@click.argument("entries", nargs=-1, required=True, type=click.IntRange(min=0), metavar="ENTRY...")
@click.option("--matter", required=True, metavar="NAME", help="What they were held for.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--by", metavar="NAME", help="Who lifts the hold; by default you.")
@project_option
def release_command(
    entries: tuple[int, ...], *, matter: str, reason: str, by: str | None, project: str | None
) -> None:
    """Lift the hold on decisions for a matter; holds for other matters stay.

    Examples:
      constat log release 2 --matter audit-2026 --by legal

    Exit codes: 0 lifted, 2 bad usage, or they are not held for this matter.
    """
    with Session(project) as session, asked(session):
        entry = session.decisions.release(entries, matter=matter, reason=reason, by=by)
    write(f"released from {matter}: {', '.join(map(str, entry.targets))} (entry {entry.sequence})")


@click.command(name="expire", cls=PlainCommand)
@click.option("--by", metavar="NAME", help="Who removes them; by default you.")
@format_option
@project_option
def expire_command(*, by: str | None, form: str, project: str | None) -> None:
    """Remove the content and certificates of decisions whose class of retention has run out.

    What is held stays, and so does the head of each entry with the hash of what it was, so that
    the chain can still be checked. An entry says what was removed, when and by whom.

    Examples:
      constat log expire
      constat log expire --by archive --format json

    Exit codes: 0 done (also where nothing was due), 2 bad usage, or the log is damaged.
    """
    with Session(project) as session, asked(session):
        expiry = session.decisions.expire(by=by)
    if form == "json":
        write_json({"expired": list(expiry.expired), "held": list(expiry.held)})
        return
    held = f"; {len(expiry.held):,} over their time are held" if expiry.held else ""
    write(f"expired: {counted(len(expiry.expired), 'decision')}{held}")


@click.command(name="export", cls=PlainCommand)
@click.option(
    "--to", "form", type=click.Choice(("jsonl", "csv")), required=True, help="The format."
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
@project_option
def export_command(*, form: str, output: str | None, project: str | None) -> None:
    """Write the whole log: its lines as they are, or a table.

    The lines (jsonl) can be checked wherever they are; the table (csv) is for people, and defuses
    what a spreadsheet would take for a formula.

    Examples:
      constat log export --to jsonl -o decisions.jsonl
      constat log export --to csv

    Exit codes: 0 written, 2 bad usage, or the log cannot be read.
    """
    with Session(project) as session, asked(session):
        decisions = session.decisions
        pieces = (
            (line.decode(errors="backslashreplace") for line in decisions.store.content())
            if form == "jsonl"
            else _table(decisions.records())
        )
        if output is None:
            write_pieces(pieces)
            return
        with replacing(output) as stream:
            for piece in pieces:
                stream.write(piece.encode())
        note(f"log written to {output}")


def _table(records: Sequence[Record]) -> Iterator[str]:
    names: list[str] = []
    for record in records:
        members = record_json(record)
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        if not names:
            names = list(members)
            writer.writerow(names)
        writer.writerow([_cell(members[name]) for name in names])
        yield buffer.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return "" if value is None else defused(str(value))


_COMMANDS: Final = (
    ("list", "List the decisions that were written down.", list_command),
    ("show", "Show one entry, or its certificate.", show_command),
    ("verify", "Check the log from end to end.", verify_command),
    ("anchor", "Sign the head of the log, to keep it elsewhere.", anchor_command),
    ("hold", "Keep decisions from expiring.", hold_command),
    ("release", "Lift a hold.", release_command),
    ("expire", "Remove what is over its time and not held.", expire_command),
    ("export", "Write the log for other programs.", export_command),
)


@click.group(name="log", cls=LazyGroup, listed=_COMMANDS)
def command() -> None:
    """Look after the log of decisions.

    `log: true` in constat.yaml writes each decision of `constat prove` down, `constat prove
    --log` a single one. An entry is never changed; the entry after it holds its hash.
    """
