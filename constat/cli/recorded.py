"""`constat recorded [PREDICATE]`: what goals can be proved from as of a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.session.recording_looks import RecordedAnswer


@click.command(name="recorded", cls=PlainCommand)
@click.argument("predicate", required=False)
@click.option("--forget-before", metavar="TIME", help="Remove what was recorded before a time.")
@format_option
@project_option
def command(
    predicate: str | None, *, forget_before: str | None, form: str, project: str | None
) -> None:
    """List what sources said and when, as far as it was recorded, of PREDICATE or all.

    `constat prove GOAL --as-of TIME` answers from it. Answers are recorded by `constat prove
    --keep` (up to 100,000 rows each), and always for the sources that `record:` in constat.yaml or
    record="true" of an .input names. What people state has a history of its own:
    `constat facts list --history`.

    Examples:
      constat recorded
      constat recorded customer_tier --format json
      constat recorded --forget-before 2026-01-01

    Exit codes: 0 listed or removed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        if forget_before is not None:
            count = session.recorded.forget(forget_before, predicate)
            told = {"forgotten": count, "answers": []}
            write_json(told) if form == "json" else write(f"{counted(count, 'answer')} removed")
            return
        found = session.recorded.list(predicate)
    if form == "json":
        write_json({"forgotten": 0, "answers": [_as_json(one) for one in found]})
        return
    for one in found:
        bound = ", ".join(one.bound) or "everything"
        write(
            f"{one.recorded_at}  {one.predicate} by {bound}: {counted(one.keys, 'key')}, "
            f"{counted(one.rows, 'row')}" + (f", from {one.source}" if one.source else "")
        )
    if not found:
        write("nothing is recorded")


def _as_json(one: RecordedAnswer) -> dict[str, object]:
    return {
        "predicate": one.predicate,
        "bound": list(one.bound),
        "keys": one.keys,
        "rows": one.rows,
        "source": one.source,
        "recorded_at": one.recorded_at,
        "bytes": one.size,
    }
