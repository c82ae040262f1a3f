"""What an exploration says while it works: typed values for displays, logs and other programs.

In: nothing. Out: one union. Invariant: an event holds counts, names and bounded texts, and no row
of data. `event_json` gives the form of `--events jsonl`. Example: `StepFinished(2, "totals", 0.31,
12, "computed")` is `{"event": "step_complete", "step": 2, ...}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import Event as EvaluationEvent
from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable


@frozen
class PlanReady:
    """A plan stands: its steps by number, name and goal, and which of them the answer needs."""

    exploration: str
    question: str
    steps: tuple[tuple[int, str, str], ...]
    needed: tuple[int, ...]


@frozen
class StepStarted:
    """A step begins; `work` is `rules`, `rank`, `sql` or `python`."""

    step: int
    name: str
    goal: str
    work: str


@frozen
class Generating:
    """A model is asked: for a plan (step 0), a correction, or a sentence."""

    step: int
    purpose: str


@frozen
class Executing:
    """An attempt at a step runs."""

    step: int
    attempt: int


@frozen
class StepFailed:
    """An attempt gave nothing; the message is bounded and comes partly from the step."""

    step: int
    attempt: int
    kind: str
    message: str
    retryable: bool


@frozen
class Retrying:
    """The step is tried again: as corrected by a model, or the same once more."""

    step: int
    attempt: int
    corrected: bool


@frozen
class StepFinished:
    """A step has given its relations. `how` is `computed`, or `kept` where nothing has changed."""

    step: int
    name: str
    seconds: float
    rows: int
    how: str


@frozen
class TableCreated:
    """A relation was kept as a table."""

    step: int
    name: str
    rows: int
    version: int
    sha256: str


@frozen
class FactResolved:
    """Facts of a predicate came from outside."""

    step: int
    predicate: str
    rows: int
    seconds: float


@frozen
class Spent:
    """What a model was asked so far: calls, tokens, and the price where the project tells it."""

    calls: int
    tokens: int
    cost: str


@frozen
class Answered:
    """The question is answered."""

    relation: str
    rows: int
    settlement: str
    seconds: float


ExploreEvent = (
    PlanReady
    | StepStarted
    | Generating
    | Executing
    | StepFailed
    | Retrying
    | StepFinished
    | TableCreated
    | FactResolved
    | Spent
    | Answered
)
ExploreObserver = Callable[[ExploreEvent], None]
__all__ = [
    "Answered",
    "EvaluationEvent",
    "Executing",
    "ExploreEvent",
    "ExploreObserver",
    "FactResolved",
    "Generating",
    "PlanReady",
    "Retrying",
    "Spent",
    "StepFailed",
    "StepFinished",
    "StepStarted",
    "TableCreated",
    "event_json",
    "ignore",
]

_NAMES: Final = MappingProxyType(
    {
        PlanReady: "plan_ready",
        StepStarted: "step_start",
        Generating: "generating",
        Executing: "executing",
        StepFailed: "step_error",
        Retrying: "retry",
        StepFinished: "step_complete",
        TableCreated: "table_created",
        FactResolved: "fact_resolved",
        Spent: "spent",
        Answered: "answered",
    }
)


def ignore(event: ExploreEvent) -> None:
    """Take an event and do nothing with it."""


def event_json(event: ExploreEvent) -> dict[str, object]:
    """Give an event as JSON."""
    told: dict[str, object] = {"event": _NAMES[type(event)]}
    for one in fields(event):
        value = getattr(event, one.name)
        told[one.name] = round(value, 6) if isinstance(value, float) else value
    if isinstance(event, PlanReady):
        told["steps"] = [{"step": n, "name": name, "goal": goal} for n, name, goal in event.steps]
    return told


# What goes wrong in a step, as far as somebody may mend it.

# The kinds of the sandbox's errors, and those of rules and SELECTs.
UNSETTLED: Final = "unsettled input"
NOT_RETRYABLE: Final = frozenset(
    {"timeout", "memory", "killed", "blocked import", "blocked call", "too much output"}
    | {"protocol", UNSETTLED, "not allowed", "limit", "source", "difference"}
)
DIFFERENCE: Final = "difference"
"""What a step gives that was counted again from the rules, and was something else."""
CONNECTION: Final = "connection"
_MOST_TEXT: Final = 8_000
# Where what is wrong is a name, libraries put it between quotes, or behind a colon.
_ABOUT_NAMES: Final = frozenset({"name", "missing column", "missing table", "attribute", "syntax"})
_NAMED: Final = re.compile(r"[\"'`]([^\W\d]\w*)[\"'`]|(?:column|table|function): (?:\w+\.)?(\w+)")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_MOST_NAMES: Final = 3


@frozen
class StepFailure:
    """Why an attempt at a step gave nothing.

    `line` is that of the step's text, 0 where there is none. `variables` are names with bounded
    representations; text of theirs and of the trace comes from the step, and is not to be trusted.
    `output` is what code had printed, and `queries` what it had asked until then. `public` is the
    message in words that hold no value of data, where there are such.
    """

    kind: str
    message: str
    line: int = 0
    trace: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    output: str = ""
    queries: tuple[tuple[str, str], ...] = ()
    public: str = ""

    @property
    def retryable(self) -> bool:
        """Whether another text may mend it."""
        return self.kind not in NOT_RETRYABLE and self.kind != CONNECTION

    def told(self) -> str:
        """Tell it to whoever writes the step anew: kind, place, trace and state."""
        lines = [f"{self.kind}: {self.message}"]
        if self.line:
            lines.append(f"in line {self.line} of the step")
        if self.hint:
            lines.append(f"help: {self.hint}")
        if self.trace:
            lines += ["traceback:", self.trace]
        if self.variables:
            lines.append("variables:")
            lines += [f"  {name} = {shown}" for name, shown in self.variables]
        return "\n".join(lines)[:_MOST_TEXT]

    def told_without_values(self, texts: Iterable[str]) -> str:
        """Tell it as far as that holds no value of data: kind, place, and names out of `texts`.

        Messages, traces and variables are made of data: `KeyError: 'Smith'` is a cell. Only a name
        that stands in the step, or in what it may read, is repeated.
        """
        known = {word for text in texts for word in _WORD.findall(text)}
        lines = [f"{self.kind}: {self.public}" if self.public else self.kind]
        if self.line:
            lines.append(f"in line {self.line} of the step")
        if self.hint and self.public:
            lines.append(f"help: {self.hint}")
        if not self.public:
            found = [one or other for one, other in _NAMED.findall(self.message)]
            names = [one for one in dict.fromkeys(found) if one in known][:_MOST_NAMES]
            if names and self.kind in _ABOUT_NAMES:
                lines.append(f"the message names {', '.join(f'`{one}`' for one in names)}")
            lines.append("the message itself may hold values of data, and is not shown")
        return "\n".join(lines)


class StepFailureError(Exception):
    """An attempt at a step gave nothing."""

    def __init__(self, failure: StepFailure) -> None:
        self.failure = failure
        super().__init__(f"{failure.kind}: {failure.message}")
