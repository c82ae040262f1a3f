"""`constat materialize GOAL`: keep the answers of a query for point queries.

In: a query or a predicate. Out: how many rows are kept. Invariant: what is kept is used only where
`constat query --materialized` asks for it, and never once anything it rests on has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.cli.progress import watching
from constat.cli.verdict_text import NOT_ONE, not_one_text
from constat.diagnostics import ConstatError, Diagnostic
from constat.session import Session

if TYPE_CHECKING:
    from constat.session.materializing import Materialized


@click.command(name="materialize", cls=PlainCommand)
@click.argument("goal", required=False)
@click.option("--list", "listing", is_flag=True, help="List what is kept.")
@click.option("--drop", "dropping", is_flag=True, help="Forget the result of GOAL.")
@format_option
@project_option
def command(
    goal: str | None, *, listing: bool, dropping: bool, form: str, project: str | None
) -> int:
    """Compute all answers of GOAL, a query or a predicate, and keep them with an index.

    `constat query "is_vip(C001)" --materialized` then finds rows by key without asking a source; it
    refuses once rules, configuration, stated facts or a source have changed. A proof never uses
    what is kept, which is computed in bulk and not checked. Only answers that are settled for
    certain are kept.

    Examples:
      constat materialize "is_vip(?c)"
      constat materialize customer_revenue --format json
      constat materialize --list
      constat materialize "is_vip(?c)" --drop

    Exit codes: 0 done, 2 bad usage, configuration or rules; also answers that are not settled,
    and sources that cannot tell when they change.
    """
    _require_sense(goal, listing=listing, dropping=dropping)
    with Session(project, cache=False) as session, asked(session, goal=goal or ""):
        if goal is None:
            found = session.materialized.list()
            told: dict[str, object] = {"action": "list", "results": [_json(one) for one in found]}
            lines = [_line(one) for one in found] or ["nothing is kept"]
        elif dropping:
            gone = session.materialized.drop(goal)
            told = {"action": "drop", "dropped": gone, "results": []}
            lines = ["dropped" if gone else "nothing was kept for it"]
        else:
            with watching() as observe:
                one = session.materialized.keep(goal, observe=observe)
            told = {"action": "keep", "results": [_json(one)]}
            lines = [f"kept: {_line(one)}"]
            lines += [not_one_text()] * (one.snapshot == NOT_ONE)
    if form == "json":
        write_json({**told, "models": session.model_usage})
    else:
        write("\n".join(lines))
    return 0


def _require_sense(goal: str | None, *, listing: bool, dropping: bool) -> None:
    if listing and (dropping or goal is not None):
        message, hint = "`--list` lists everything that is kept", "leave the rest out"
    elif goal is None and not listing:
        message, hint = "a goal is missing", 'write `constat materialize "is_vip(?c)"`'
    else:
        return
    raise ConstatError([Diagnostic("C0432", message, help=hint)])


def _line(one: Materialized) -> str:
    result = one.result
    state = f"out of date: {one.stale}" if one.stale else "current"
    rows = counted(result.rows, "row")
    return f"{result.query}: {rows} computed, not checked, {result.created}, {state}"


def _json(one: Materialized) -> dict[str, object]:
    result = one.result
    return {
        "query": result.query,
        "columns": [{"name": name, "kind": kind.value} for name, kind in result.columns],
        "rows": result.rows,
        "created": result.created,
        "current": not one.stale,
        "reason": one.stale,
        "snapshot": one.snapshot,
    }
