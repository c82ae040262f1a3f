"""What engines are given, what they say while they work, and what they give back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from constat.analysis import AnalysedProgram
from constat.evaluation.clock import Clock, moment
from constat.evaluation.external import (
    Assumption,
    Call,
    Evidence,
    Externals,
)
from constat.frozen import frozen
from constat.logic import Atom, OpenRow, Row, Value

# The contract of bulk evaluation: what it may use, what it reports, how it gives up.


@frozen
class Resources:
    """What one bulk evaluation may use.

    `memory` and `scratch_bytes` are in bytes, 0 means as much as seems right for the machine.
    Without a `scratch` folder nothing is spilled. `threads` 0 means one for each core. The `clock`
    runs where the work has begun before: then `seconds` are those that were allowed in all.
    """

    seconds: float = 3600.0
    memory: int = 0
    threads: int = 0
    rows: int = 2_000_000_000
    rounds: int = 10_000_000
    scratch: Path | None = None
    scratch_bytes: int = 0
    clock: Clock | None = field(default=None, compare=False, repr=False)

    def running(self) -> Clock:
        """Give the clock that runs, or one that begins now."""
        reason = f"the time limit of {self.seconds:g} seconds was reached"
        return self.clock or Clock(moment() + self.seconds, reason)


@frozen
class PipelineReport:
    """What one pipeline did: bindings after each step, over all rounds; -1 is not measured.

    `seconds` is how long its steps took, over all rounds, without what becomes of its rows (0: not
    measured). Where SQL computes it together with others, it is the time of it alone, counted.
    """

    rule: int
    rows: tuple[int, ...]
    seconds: float = 0.0


@frozen
class StageReport:
    """What one stage did.

    `rows` are the rows of its relations at the end, `rounds` those that added something, `bytes`
    the size of the relations where they lie (0: not measured). `stamps` say in which round each
    relation grew by how many rows, where that was asked for. `tried` lists strategies that gave
    up, with their reasons.
    """

    number: int
    strategy: str
    rounds: int
    rows: Mapping[str, int] = field(hash=False)
    seconds: float = 0.0
    bytes: int = 0
    pipelines: tuple[PipelineReport, ...] = ()
    tried: tuple[tuple[str, str], ...] = ()


class StrategyError(Exception):
    """A strategy cannot give the exact answer; nothing it did counts. The text says why."""


class ResourceError(Exception):
    """A bound of `Resources` was reached, or the disk is full. The text says which and where.

    `limit` is `seconds` or `rows` where the configuration bounds these, else empty.
    """

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class MemoryNeededError(ResourceError):
    """More memory is needed than there is; a strategy that spills may still do with less."""


# What engines and tiers say while they work: typed values for progress, traces and logs.


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
    seconds: float = field(default=0.0, compare=False)


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


# What an engine gives back: a verdict, relations in four strengths, and why rows hold.


class Verdict(Enum):
    """What became of a goal. The value is how certificates write it."""

    PROVED = "PROVED"
    PROVED_UNDER = "PROVED_UNDER"
    UNRESOLVED = "UNRESOLVED"
    DISPROVED = "DISPROVED"
    DISPROVED_UNDER = "DISPROVED_UNDER"

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict."""
        return _EXIT_CODES[self]

    @property
    def label(self) -> str:
        """The verdict in words: `PROVED UNDER assumptions`."""
        return self.value.replace("_UNDER", " UNDER assumptions")


_EXIT_CODES = MappingProxyType(dict(zip(Verdict, (0, 3, 4, 5, 6), strict=True)))


# Every row has a *strength*, the reading in which it is there (semantics 7, 10):
# * `CERTAIN` (3): it holds in the hard reading. * `ACCEPTED` (2): it holds once the assumptions
# are accepted. * `POSSIBLE` (1): it may hold even when all assumptions are accepted. *
# `CONCEIVABLE` (0): it may hold only while assumptions are not accepted.
# They form a chain, so one evaluation in max-min logic gives both readings: a rule instance has
# the least strength of its premises, a row the greatest of its derivations, and the strength of
# `!p` is `2 - strength(p)`, with -1 for "not there".
# Cells of rows. Beside values and the placeholder a row may hold null cells
# (`constat.logic.values`):
# * A row of a source holds them as it came, also one of strength 3: it is there, and what is not
# known of it makes only those matches weaker that read the cell. So a row of strength 3 may match
# a goal possibly, or not at all; `strength(atom)` knows how surely. * A row that rules derive
# holds labels (cells of `unknown`) and no others. A label is a value that is carried; against
# anything but itself it decides nothing. * A derivation's bindings hold labels, and for each `_`
# the cell as it is, so that premises are rows as they stand in `rows`. * Keys, of demands outside
# and of `demands`, hold values only.

_GRACE = 0.5
CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE, ABSENT = 3, 2, 1, 0, -1


@frozen
class Limits:
    """Bounds of one evaluation.

    Beyond one of them evaluation stops and what was not decided is unknown (limit). `memory` are
    the bytes that long texts, structures above all, may take. `whole` are the seconds that somebody
    allowed, where `seconds` are what is left of them; `where` names the file that says so. The
    `clock` runs once the work has begun; all evaluations of that work share it. `afterwards` is the
    clock of what is shown of an evaluation that has ended.
    """

    seconds: float = 60.0
    rows: int = 20_000_000
    rounds: int = 1_000_000
    calls: int = 10_000
    memory: int = 2_000_000_000
    whole: float = 0.0
    where: str = ""
    clock: Clock | None = field(default=None, compare=False, repr=False)
    afterwards: Clock | None = field(default=None, compare=False, repr=False)
    now: Callable[[], float] = field(default=moment, compare=False, repr=False)

    def begun(self) -> Limits:
        """Give the bounds of work that begins now; what has begun already goes on."""
        return self if self.clock is not None else replace(self, clock=self.running())

    def running(self) -> Clock:
        """Give the clock that runs, or one that begins now."""
        if self.clock is not None:
            return self.clock
        return Clock(self.now() + self.seconds, self.reached("seconds"), self.now)

    def proving(self) -> Clock:
        """Give the clock of a proof: what is decided may still be shown when the time is up."""
        clock, whole = self.running(), self.whole or self.seconds
        reason = f"the time limit of {whole:g} seconds was reached before the goal was shown"
        return Clock(clock.until + _GRACE, reason + self.raising("seconds"), self.now)

    def showing(self) -> Limits:
        """Give the bounds of work that begins now, and is shown within the grace behind it."""
        begun = self.begun()
        return replace(begun, afterwards=begun.proving())

    @property
    def left(self) -> float:
        """How many seconds there still are."""
        return self.seconds if self.clock is None else self.clock.left

    def at_most(self, seconds: float) -> Limits:
        """Give the bounds of a part of the work, which has not begun."""
        whole = self.whole or self.seconds
        return replace(self, seconds=min(self.left, seconds), whole=whole, clock=None)

    def reached(self, key: str) -> str:
        """Say that a bound was reached, and what raises it."""
        if key == "seconds":
            return f"the time limit of {self.whole or self.seconds:g} seconds was reached" + (
                self.raising(key)
            )
        return f"the limit of {getattr(self, key):,} {key} was reached{self.raising(key)}"

    def raising(self, key: str) -> str:
        """Name the key of the configuration that raises a bound, to stand behind its name."""
        return f"; `{key}` of `limits` in {self.where} raises it" if self.where else ""


@frozen
class FactDerivation:
    """A row that came from outside, with its evidence."""

    predicate: str
    row: Row
    evidence: Evidence
    assumption: Assumption | None


@frozen
class RuleDerivation:
    """One firing: the rule (index into the program's rules).

    The values of its outer variables, and for every positive body literal the row it used (`None`
    at the other literals), in the order of the rule's body. `listed` has for each threshold (place
    in the body) the assignments of its local variables whose total is beyond the bound; their
    premises are well-founded like the others, and the binding of its result is that total.
    """

    predicate: str
    row: Row
    rule: int
    bindings: Mapping[str, Value] = field(hash=False)
    premises: tuple[Row | None, ...]
    listed: Mapping[int, tuple[Mapping[str, Value], ...]] = field(default_factory=dict, hash=False)


Derivation = FactDerivation | RuleDerivation


@frozen
class Failure:
    """A rule instance whose evaluation erred, so that its head is possible.

    The reason and the bindings.
    """

    rule: int
    reason: str
    bindings: Mapping[str, str] = field(hash=False)


@frozen
class DemandEntry:
    """What an engine was asked of a derived predicate: for these columns, these keys.

    `orders` gives, for each rule of the predicate (index), the order in which its body literals
    were taken for these bound columns.
    """

    predicate: str
    columns: tuple[int, ...]
    orders: Mapping[int, tuple[int, ...]] = field(hash=False)
    keys: frozenset[Row]


class Outcome(Protocol):
    """The result of an evaluation.

    Everything is about what the goal needed, not about whole predicates.
    """

    @property
    def program(self) -> AnalysedProgram:
        """The program that was evaluated."""
        ...

    @property
    def goal(self) -> Atom:
        """The goal that was evaluated."""
        ...

    @property
    def calls(self) -> tuple[Call, ...]:
        """All demands made outside, in order."""
        ...

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Rule instances that erred (at most 100)."""
        ...

    @property
    def stopped(self) -> str:
        """Why evaluation stopped before the end: empty, `settled`, or the limit reached."""
        ...

    @property
    def demands(self) -> tuple[DemandEntry, ...]:
        """What was asked of derived predicates."""
        ...

    def strength(self, atom: Atom) -> int:
        """The greatest strength of the rows that match the atom; `ABSENT` when there is none."""
        ...

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """The rows of a predicate with at least that strength, derived and external."""
        ...

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """One derivation of a row whose strength is at least `least` (2 or 3).

        Each premise of at least that strength and well-founded: following premises ends at facts.

        Raises `KeyError` when the row is not that strong.
        """
        ...


class Engine(Protocol):
    """Evaluates a goal over an analysed program, asking external predicates for what it needs."""

    def evaluate(
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        exhaust: bool = False,
        observe: Observer = ignore_event,
    ) -> Outcome:
        """Evaluate.

        Unless `exhaust`, a ground goal stops when it is settled (certain in the hard reading).
        """
        ...
