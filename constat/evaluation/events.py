"""What engines and tiers say while they work: typed values for progress, traces and logs."""

from __future__ import annotations

from collections.abc import Callable

from constat.frozen import frozen


@frozen
class CallStarted:
    """A demand goes out."""

    predicate: str
    columns: tuple[str, ...]
    keys: int


@frozen
class CallFinished:
    """A demand was answered: how many rows and open rows came, in how many seconds."""

    number: int
    predicate: str
    columns: tuple[str, ...]
    keys: int
    rows: int
    openings: int
    seconds: float


@frozen
class TierAsked:
    """One tier of the chain was asked.

    `outcome` is `complete`, `partial`, `unknown` or `skipped`, `detail` says more.
    """

    tier: str
    predicate: str
    keys: int
    outcome: str
    detail: str = ""


@frozen
class QueryRun:
    """A query ran on a source."""

    source: str
    query: str
    parameters: int
    rows: int
    seconds: float


@frozen
class RoundFinished:
    """A fixpoint round of a recursive component ended."""

    component: tuple[str, ...]
    round: int
    new_rows: int


@frozen
class StageFinished:
    """A stage of a forward plan was computed: how, in how many rounds, giving how many rows."""

    number: int
    of: int
    predicates: tuple[str, ...]
    strategy: str
    rounds: int
    rows: int
    seconds: float


@frozen
class ModelAwaited:
    """A language model is about to be asked for a task, or another program that asks it the same.

    Until `ModelReplied` nothing else may happen, for as long as its reply takes.
    """

    model: str
    task: str


@frozen
class ModelReplied:
    """The waiting is over; `failed` where no reply came of it."""

    model: str
    task: str
    seconds: float
    failed: bool = False


Event = (
    CallStarted
    | CallFinished
    | TierAsked
    | QueryRun
    | RoundFinished
    | StageFinished
    | ModelAwaited
    | ModelReplied
)
Observer = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Take an event and do nothing with it."""
