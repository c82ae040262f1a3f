"""Entries of the decision log as lines and as JSON, the same for every command.

In: records. Out: texts and plain objects. Invariant: what has expired is shown as such, and never
as a decision without a goal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from constat.store.decision_log import Record

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
