"""The options of `constat prove` that have to do with the decision log.

In: what was typed. Out: one `LogAs`, or `None` where only the configuration decides. Example:
`--log --by alice` becomes `LogAs(by="alice")`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from constat.session.log_as import LogAs

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS = (
    click.option("--log", is_flag=True, help="Write the decision down in the project's log."),
    click.option("--by", metavar="NAME", help="With the log: who decides; by default you."),
    click.option("--retention", metavar="CLASS", help="With the log: how long it is kept."),
    click.option(
        "--supersedes",
        metavar="ENTRY",
        help="With the log: the earlier decision that this one takes the place of.",
    ),
)


def log_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `log`, a `LogAs` or `None`."""

    @wraps(command)
    def packed(
        *arguments: object,
        log: bool,
        by: str | None,
        retention: str | None,
        supersedes: str | None,
        **options: Any,  # noqa: ANN401  whatever the command takes
    ) -> int:
        given = log or any(one is not None for one in (by, retention, supersedes))
        wish = LogAs(by, retention, supersedes, asked=log) if given else None
        return command(*arguments, log=wish, **options)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed
