"""`constat rules review [ID]`: drafts, and what one of them would change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write_json, write_pieces
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.session.reviewing_report import Item

_STATUSES: Final = ("proposed", "approved", "rejected", "superseded", "all")
_LONGEST: Final = 72


@click.command(name="review", cls=PlainCommand)
@click.argument("rule_id", required=False, metavar="[ID]")
@click.option(
    "--status",
    type=click.Choice(_STATUSES),
    default=_STATUSES[0],
    show_default=True,
    help="Without ID: which drafts and rules are listed.",
)
@click.option(
    "--budget",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="With ID: how long effects are looked for.",
)
@format_option
@project_option
def command(
    rule_id: str | None, *, status: str, budget: float, form: str, project: str | None
) -> int:
    """Show the draft ID, or the rule ID that a model wrote into a file, as it would be approved.

    That is: the question behind it; the difference to the rule file that it goes into; what
    becomes of the cases of that library, and of its own; which rows of which predicates would be
    others with the present data; and what else a reviewer should know, such as sentences that
    leave out a value. Nothing is changed. An ID of a draft is the beginning of its identity.

    Without ID all drafts of the quarantine that wait for a decision are listed, and the rules of
    models in rule files that nobody has approved.

    Examples:
      constat rules review
      constat rules review DRAFT1
      constat rules review DRAFT1 --format json
      constat rules review --status all --format json

    Exit codes: 0 shown, 2 bad usage, configuration or rules, or there is no such draft.
    """
    with Session(project) as session, asked(session):
        if rule_id is None:
            items = session.reviews.items(None if status == _STATUSES[-1] else status)
            _show(items, form)
            return 0
        review = session.reviews.review(rule_id, seconds=budget)
    if form == "json":
        write_json({"reviews": [review.to_json()]})
    else:
        write_pieces(f"{line}\n" for line in review.to_lines())
    return 0


def _show(items: tuple[Item, ...], form: str) -> None:
    if form == "json":
        write_json({"reviews": [one.to_json() for one in items]})
    elif not items:
        note("nothing waits for a decision")
    else:
        write_pieces(f"{line}\n" for one in items for line in _lines(one))


def _lines(item: Item) -> Iterator[str]:
    words = f", {len(item.approvals)} of {item.needed} approvals" if item.needed > 1 else ""
    by = f" by {item.model}" if item.model else ""
    yield f"{item.identity}  {item.status}{words}: {item.kind}{by}"
    if item.purpose:
        line = " ".join(item.purpose.split())
        yield f"  {line if len(line) <= _LONGEST else f'{line[:_LONGEST]}...'}"
    if item.reason:
        yield f"  reason: {' '.join(item.reason.split())}"
