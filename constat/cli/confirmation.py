"""The options that say whether the goal of a question is the one that is meant."""

from __future__ import annotations

import getpass
import os
import sys
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from constat.cli.output import note, write
from constat.frozen import frozen
from constat.proof.translation import NOBODY, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.proof.translation import Translation
    from constat.session import Session


@frozen
class Confirming:
    """The goal that is meant, if it was named; whether another word than the model's is needed."""

    goal: str = ""
    required: bool = False


accept_option = click.option(
    "--accept-goal",
    default="",
    metavar="GOAL",
    help="Confirm that GOAL is what is asked; prove no other.",
)


def confirming_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `confirming`."""

    @wraps(command)
    def packed(
        *arguments: object,
        accept_goal: str,
        require_confirmed: bool,
        **options: Any,  # noqa: ANN401  whatever the command takes
    ) -> int:
        return command(*arguments, confirming=Confirming(accept_goal, require_confirmed), **options)

    require = click.option(
        "--require-confirmed",
        is_flag=True,
        help="Settle nothing before somebody confirmed the goal.",
    )
    return accept_option(require(packed))


def asker(by: str | None) -> str:
    """Name who asks: whoever is logged in, unless a name was given."""
    if by:
        return by
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        # A container may run a user that has no name.
        return f"user {getattr(os, 'getuid', int)()}"


def translation_lines(translation: Translation) -> Iterator[str]:
    """Yield what a question was read as, and on whose word."""
    yield f"in words: {translation.words}"
    yield f"goal: {translation.goal}"
    match translation.status:
        case Status.STATED:
            yield "stated: these are a person's words"
        case Status.CONFIRMED:
            yield f"confirmed: {translation.by} confirmed the goal at {translation.at[:19]}Z"
        case Status.UNCONFIRMED:
            yield f"unconfirmed: {NOBODY}"
            yield from (f"  lost: {one}" for one in translation.lacks)
    if translation.ended:
        yield f"  {translation.ended}"


@frozen
class Once:
    """Asks once whether a goal that was just let in is what its question asks.

    Who has named the goal has said so already (`accepted`); without a terminal nobody is asked.
    """

    session: Session
    by: str
    accepted: bool = False

    def __call__(self, translation: Translation, *, asks: bool) -> Translation:
        """Give the translation, confirmed where a person says so."""
        if translation.confirmed:
            return translation
        if not (self.accepted or (asks and sys.stdin.isatty() and _agreed(translation))):
            hint = f"`--accept-goal '{translation.goal}'` confirms it"
            note(f"whether the goal is what was asked, nobody has confirmed: {hint}")
            return translation
        found = self.session.confirmations.confirm(translation, self.by)
        if asks:
            write(f"confirmed: {found.goal} is what was asked: {found.question}")
        return found


def _agreed(translation: Translation) -> bool:
    note(f"question: {translation.question}")
    for line in translation_lines(translation):
        note(line)
    return click.confirm("Does the goal hold exactly when the answer is yes?", err=True)
