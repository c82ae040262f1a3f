"""What exploring needs of a session, and how it asks its models.

In: a session, a wish. Out: clients by task, what was spent. Invariant: a project's models are not
even made before one is asked. Example: `ModelAccess(session, tell).client(wish, Task.PLAN)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.chain import Chain
from constat.explore.events import Generating, Spent
from constat.explore.plan import Plan
from constat.model import Client, ModelError, Task, Usage

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import DiscoveryTools
    from constat.explore.events import Telling
    from constat.project import Project
    from constat.session.models import Models

Review = Callable[[Plan, Chain], Plan | None]
"""Sees a plan before it runs; gives the plan to run, or nothing to hold it back."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How a question is to be explored.

    With a `plan` no model plans. `exploration` is one to go on with: an id, empty for the latest,
    `None` for a new one. With `mend` a model may correct a person's plan too. `client` stands for
    the project's models. With `certify` the answer is proved however long that takes; with
    `require_approved` a plan that a model drafted runs only as somebody approved it. `accept_goal`
    is the answer that is meant, in the word of `by`: a plan for another one does not run. With
    `require_confirmed` nothing is settled before somebody has confirmed it.
    """

    plan: Plan | None = None
    exploration: str | None = None
    today: str = ""
    by: str = ""
    review: Review | None = None
    mend: bool = False
    client: Client | None = None
    certify: bool = False
    require_approved: bool = False
    accept_goal: str = ""
    require_confirmed: bool = False


class Around(Protocol):
    """What of a session exploring needs beside its bench; models are made when they are asked."""

    @property
    def project(self) -> Project:
        """The project."""
        ...

    @property
    def program(self) -> AnalysedProgram:
        """Its rules."""
        ...

    @property
    def models(self) -> Models:
        """Its language models."""
        ...

    def discovery(self) -> DiscoveryTools:
        """The tools by which a model learns what there is."""
        ...


class ModelAccess:
    """Gives clients, and tells what was spent."""

    def __init__(self, around: Around, tell: Telling) -> None:
        self._around = around
        self._tell = tell
        self._asked = False

    def client(self, wish: Wish, task: Task) -> Client:
        """Give the model of a task. Raises `ConstatError` where the project has none."""
        if wish.client is not None:
            return wish.client
        self._asked = True
        try:
            return self._around.models.client(task)
        except ModelError as problem:
            hint = "name one under `models:` in constat.yaml, or write a plan: `--plan FILE`"
            raise ConstatError([Diagnostic(problem.code, str(problem), help=hint)]) from None

    def has(self, wish: Wish, task: Task) -> bool:
        """Whether there is a model for a task."""
        return wish.client is not None or self._around.models.configured(task)

    def begin(self, step: int, purpose: str) -> None:
        """Tell that a model is about to be asked."""
        self._tell(Generating(step, purpose))

    def end(self) -> None:
        """Tell what was spent so far."""
        used = self.usage
        self._tell(Spent(used.calls, used.tokens, str(used.cost)))

    @property
    def usage(self) -> Usage:
        """What the session has used so far."""
        return self._around.models.usage if self._asked else Usage()

    @property
    def note(self) -> str:
        """Whose replies were replayed, in words."""
        return self._around.models.note if self._asked else ""
