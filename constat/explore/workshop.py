"""What the steps of an exploration work with, handed down by the session.

In: nothing. Out: protocols and values. Invariant: nothing here knows projects, connections or
models: who evaluates, runs code or mends a step is a callable. Example: a `Workshop` without `code`
refuses steps of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final, Protocol

from constat.explore.events import Telling
from constat.explore.failures import StepFailure

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import ExternalPredicate
    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Output
    from constat.explore.relations import Relation
    from constat.logic import Kind
    from constat.store.tables import DataStore
    from constat.store.tables_values import StepResult


DATABASE: Final = "database "
"""Before the name of a database, where its state is asked for and not that of a relation."""


class Evaluating(Protocol):
    """Computes relations of a program, and tells the state of relations of the project."""

    def relation(
        self,
        program: AnalysedProgram,
        output: Output,
        given: Mapping[str, ExternalPredicate],
        step: int,
    ) -> Relation:
        """Compute a whole relation; `given` are those that earlier steps have."""
        ...

    def state(self, name: str) -> str | None:
        """Name all that a relation from outside depends on; `None` where that has no name.

        The name differs whenever the rows may.
        """
        ...


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What an attempt left: relations, what else is kept of it, and how code was kept in.

    `read` names the very rows that a SELECT or code was given, by the names of their relations.
    """

    relations: Mapping[str, Relation]
    result: StepResult
    level: str = ""
    read: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What each step may use.

    `retries` are corrections by a model, `connection_retries` further tries where a source did not
    answer, `connection_pause` the seconds before each.
    """

    retries: int = 2
    connection_retries: int = 1
    connection_pause: float = 0.5
    rows: int = 2_000_000
    seconds: float = 60.0
    memory: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Workshop:
    """Who does the work.

    `code` runs a step of Python on its inputs, with the kinds of its outputs; without it none may
    run. `mend` gives the chain with a step written anew after a failure, or nothing where that was
    not possible.
    """

    evaluating: Evaluating
    store: DataStore
    today: date
    tell: Telling
    bounds: Bounds = field(default_factory=Bounds)
    code: (
        Callable[[Link, Mapping[str, Relation], Mapping[str, tuple[Kind, ...]]], CodeResult] | None
    ) = None
    mend: Callable[[Chain, Link, StepFailure], Chain | None] | None = None
