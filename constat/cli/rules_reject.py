"""`constat rules reject ID`: refuse a draft, or withdraw the approval of a rule."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note
from constat.cli.rules_approve import show_decided
from constat.session import Session


@click.command(name="reject", cls=PlainCommand)
@click.argument("rule_id", metavar="ID")
@click.option("--by", required=True, metavar="NAME", help="Who rejects it.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; later drafts are told.")
@format_option
@project_option
def command(rule_id: str, *, by: str, reason: str, form: str, project: str | None) -> int:
    """Reject the draft ID, or the rule ID that a model wrote into a file.

    The draft stays in the quarantine with the reason, and a model that drafts about the same
    predicates is told of it. A rule of a file loses its approval, if it has one: from then on what
    follows from it is proved UNDER the assumption that it is right, until somebody deletes it.

    Examples:
      constat rules reject DRAFT1 --by bob --reason "one order is not enough to say so"
      constat rules reject DRAFT1 --by bob --reason "too few orders" --format json

    Exit codes: 0 rejected, 2 bad usage, configuration or rules, or there is no such draft.
    """
    with Session(project) as session, asked(session):
        decided = session.reviews.reject(rule_id, by=by, reason=reason)
    show_decided(decided, form)
    if decided.kind == "rule":
        note(f"the rule still stands in {decided.file}, as a proposed one; delete it there")
    return 0
