"""The options that say whether the goal of a question is the one that is meant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Confirming:
    """The goal that is meant, if it was named; whether another word than the model's is needed."""

    goal: str = ""
    required: bool = False


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

    accept = click.option(
        "--accept-goal",
        default="",
        metavar="GOAL",
        help="Confirm that GOAL is what is asked; prove no other.",
    )
    require = click.option(
        "--require-confirmed",
        is_flag=True,
        help="Settle nothing before somebody confirmed the goal.",
    )
    return accept(require(packed))
