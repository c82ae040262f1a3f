"""What of a session is needed to answer a question beyond `prove`.

In: a session's parts. Out: one value that is handed to whatever answers. Invariant: nobody keeps it
longer than the question. Example: `parts.evaluating(observe)` gives the tiers for one evaluation.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from constat.frozen import frozen
from constat.logic import Constant
from constat.proof.projection import reading_least
from constat.tiers.declarations import reads_by_column

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Engine, Limits, Observer
    from constat.logic import Atom, Value
    from constat.project import Project
    from constat.proof.sentences import Speech
    from constat.session.models import Models
    from constat.tiers import Tiers

Found = TypeVar("Found")


class Evaluated(Protocol):
    """Evaluates, and anew where a source changed while it was read."""

    def __call__(
        self,
        observe: Observer | None,
        evaluate: Callable[[Tiers], Found],
        limits: Limits | None = None,
    ) -> Found:
        """Give what the last evaluation found, all of them within the same limits."""
        ...


class Evaluating(Protocol):
    """Gives the tiers for one evaluation."""

    def __call__(
        self, observe: Observer | None, limits: Limits | None = None
    ) -> AbstractContextManager[Tiers]:
        """Give them for as long as the limits allow."""
        ...


@frozen
class SessionParts:
    """What of a session is needed to answer: its project and program, and how it evaluates."""

    project: Project
    program: AnalysedProgram
    engine: Engine
    limits: Limits
    evaluating: Evaluating
    evaluated: Evaluated
    observe: Observer
    texts: dict[str, str]
    speech: Speech
    models: Callable[[], Models]
    said: set[Value] = field(default_factory=set)
    """Values that goals have named: these need not come from a row."""

    def begun(self) -> SessionParts:
        """Give the same for an answer that begins now: all its evaluations share the limits."""
        limits = self.limits.begun()
        return replace(
            self,
            limits=limits,
            evaluating=partial(self.evaluating, limits=limits),
            evaluated=partial(self.evaluated, limits=limits),
        )

    def reading_least(
        self, program: AnalysedProgram, goal: Atom, whole: Collection[str] = ()
    ) -> AnalysedProgram:
        """Give a program in which nobody reads the columns that a goal does not need.

        The predicates in `whole` keep all of theirs.
        """
        return reading_least(
            program,
            goal,
            lambda one: one.name not in whole and reads_by_column(one, self.project),
        )

    def mention(self, goal: Atom) -> Atom:
        """Have the constants of a goal among what was said; gives the goal."""
        self.said.update(values_of(goal))
        return goal


def values_of(goal: Atom) -> Iterator[Value]:
    """Yield the constants of a goal."""
    return (term.value for term in goal.terms if isinstance(term, Constant))
