"""The options about drafts and approval: which rules count.

In: what was typed. Out: a `RulesThatCount`, and the session that answers by it. Invariant: without
an option the rules of the project count, unapproved ones as assumptions. Example:
`--require-approved` gives a session in which what needs an unapproved rule is UNRESOLVED.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from constat.cli.asking import asked
from constat.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.session import Result, Session


@dataclass(frozen=True, slots=True)
class RulesThatCount:
    """Drafts that join, or only what is approved."""

    drafts: tuple[str, ...] = ()
    approved_only: bool = False


_OPTIONS = (
    click.option(
        "--draft",
        "drafts",
        metavar="ID",
        multiple=True,
        help="Let a draft of the quarantine join; may be given twice.",
    ),
    click.option(
        "--require-approved", is_flag=True, help="Let no rule count that nobody has approved."
    ),
)


def draft_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `counting`, a `RulesThatCount`."""

    @wraps(command)
    def packed(
        *arguments: object,
        drafts: tuple[str, ...],
        require_approved: bool,
        **options: Any,  # noqa: ANN401  whatever the command takes
    ) -> int:
        if drafts and require_approved:
            message = "--draft lets in what nobody approved; leave --require-approved out"
            raise click.UsageError(message)
        counting = RulesThatCount(drafts, require_approved)
        return command(*arguments, counting=counting, **options)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


@contextmanager
def answering(own: Session, counting: RulesThatCount, goal: str) -> Iterator[Session]:
    """Give the session that answers, and show mistakes; what is said of drafts goes to stderr."""
    with own, asked(own, goal=goal):
        if not (counting.approved_only or counting.drafts):
            yield own
            return
        other = own.approved_only() if counting.approved_only else own.with_drafts(counting.drafts)
        with other, asked(other, goal=goal):
            _note_joined(other)
            yield other


def _note_joined(session: Session) -> None:
    joined = session.joined
    if joined is None:
        return
    for name in joined.amended:
        note(f"a draft adds rules for {name}, which has rules or rows already")
    for name in joined.dropped:
        note(f"a draft takes the place of rule {name}")
    for line in joined.notes:
        note(line)


def note_unapproved(result: Result) -> None:
    """Say which rules would decide a goal if somebody approved them."""
    for rule in result.unapproved:
        note(
            f"rule {rule} would decide this, and nobody has approved it: "
            f"`constat rules review {rule}`"
        )
