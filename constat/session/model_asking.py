"""The part of a session that asks language models.

In: the project, whether kept replies are served. Out: `models`, made when it is first needed.
Invariant: a session that asks no model loads nothing of this. Example:
`session.models.client(Task.DRAFT)`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Event
    from constat.model import Usage
    from constat.project import Project
    from constat.session.answers import Answers
    from constat.session.models import Models
    from constat.session.models_listing import ModelListing
    from constat.session.result import Result

Told = TypeVar("Told", "Result", "Answers")


class ModelAsking(ABC):
    """Gives the models of a session."""

    _models: Models | None = None
    _serve: bool

    @property
    @abstractmethod
    def project(self) -> Project:
        """The project; raises `ConstatError`."""

    @abstractmethod
    def _tell(self, event: Event) -> None:
        """Tell whoever observes the session."""

    @property
    def models(self) -> Models:
        """The language models: clients by task, what may be spent, what was."""
        if self._models is None:
            found: Models = importlib.import_module("constat.session.models").Models(
                self.project, serve=self._serve, observe=self._tell
            )
            self._models = found
        return self._models

    @property
    def model_listing(self) -> ModelListing:
        """What the models are and have used, to look at."""
        listing = importlib.import_module("constat.session.models_listing")
        found: ModelListing = listing.ModelListing(self.models, self.project.models)
        return found

    @property
    def model_notes(self) -> tuple[str, ...]:
        """What to say about the models that were asked, or whose replies were replayed."""
        return () if self._models is None else self._models.notes

    @property
    def model_usage(self) -> dict[str, object] | None:
        """What the models have used in this session, for programs; `None` where none was asked."""
        models = self._models
        if models is None or not (models.usage.calls or models.ledger.replayed):
            return None
        return models.usage_json

    @property
    def _used(self) -> Usage | None:
        """What models have used so far; `None` where the session has not come to any."""
        return None if self._models is None else self._models.usage

    def _with_usage(self, result: Told, before: Usage | None) -> Told:
        """Give a result, or answers, with what models have used since then."""
        used = self._used
        if used is None:
            return result
        return replace(result, usage=used if before is None else used - before)

    @property
    def _model_warnings(self) -> tuple[Diagnostic, ...]:
        return () if self._models is None else self._models.warnings

    def _close_models(self) -> None:
        # What was spent stays in the books of the session, which may be used again.
        if self._models is not None:
            self._models.close()
