"""What an exploration says while it works: typed values for displays, logs and other programs.

In: nothing. Out: one union. Invariant: an event holds counts, names and bounded texts, and no row
of data. `event_json` gives the form of `--events jsonl`. Example: `StepFinished(2, "totals", 0.31,
12, "computed")` is `{"event": "step_complete", "step": 2, ...}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from types import MappingProxyType
from typing import Final

from constat.evaluation import Event as EvaluationEvent
from constat.frozen import frozen


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
Telling = Callable[[ExploreEvent], None]
__all__ = [
    "Answered",
    "EvaluationEvent",
    "Executing",
    "ExploreEvent",
    "FactResolved",
    "Generating",
    "PlanReady",
    "Retrying",
    "Spent",
    "StepFailed",
    "StepFinished",
    "StepStarted",
    "TableCreated",
    "Telling",
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
