"""The options of `constat prove`: which proofs are looked for, and how they are shown and kept.

In: what was typed. Out: a `Search` and a `Shown`. Invariant: options that say the same give the
same value, and those that contradict each other are a usage error. Example: `--lowest` is
`--minimal height`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from constat.cli.helping import format_option
from constat.session.rankings import MOST, RANKINGS, SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Search:
    """Which proofs are looked for: one, `number` of them, or all; and from the facts of when."""

    several: bool
    number: int | None
    minimal: str | None
    budget: float
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """How a result is printed, and where its certificate goes."""

    form: str
    depth: int | None
    quiet: bool
    trace_calls: bool
    certificate: str | None
    keep: bool


_OPTIONS = (
    click.option("--all", "every", is_flag=True, help="Show all proofs, the best first."),
    click.option(
        "--top-k", metavar="N", type=click.IntRange(1, MOST), help="Show the N best proofs."
    ),
    click.option(
        "--minimal",
        type=click.Choice(RANKINGS),
        help="Of all proofs the most confident; of these the lowest, or the smallest tree.",
    ),
    click.option("--lowest", is_flag=True, help="The same as --minimal height."),
    click.option(
        "--budget",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        default=SECONDS,
        show_default=True,
        help="With --all and --top-k: how long proofs are looked for.",
    ),
    click.option(
        "--as-of", metavar="TIME", help="Answer from what was recorded at a time, in UTC."
    ),
    format_option,
    click.option("--certificate", metavar="FILE", help="Write the certificate to FILE."),
    click.option("--trace-calls", is_flag=True, help="Print what was asked outside."),
    click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth."),
    click.option("--quiet", "-q", is_flag=True, help="Print the verdict only."),
    click.option("--keep", is_flag=True, help="Keep the certificate for `constat stale`."),
)
NEEDS_PROOFS = (
    *("every", "top_k", "minimal", "lowest", "budget", "as_of"),
    *("certificate", "trace_calls", "depth", "keep"),
    *("log", "by", "retention", "supersedes"),
)
"""The parameters that mean nothing to an engine without proofs."""


def prove_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `search` and `shown`."""

    @wraps(command)
    def packed(*arguments: object, **options: Any) -> int:  # noqa: ANN401  whatever the command takes
        return command(*arguments, search=_search(options), shown=_shown(options), **options)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def _search(options: dict[str, Any]) -> Search:
    """Take what says which proofs are looked for."""
    every, number = options.pop("every"), options.pop("top_k")
    minimal, lowest = options.pop("minimal"), options.pop("lowest")
    budget, as_of = options.pop("budget"), options.pop("as_of")
    several = every or number is not None
    if as_of is not None and several:
        raise click.UsageError("--as-of shows one proof; leave --all and --top-k out")
    return Search(several, number, minimal or ("height" if lowest else None), budget, as_of)


def _shown(options: dict[str, Any]) -> Shown:
    """Take what says how a result is shown and kept."""
    names = ("form", "depth", "quiet", "trace_calls", "certificate", "keep")
    return Shown(*(options.pop(name) for name in names))
