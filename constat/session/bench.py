"""What of a session is needed to answer a question beyond `prove`.

In: a session's parts. Out: one value that is handed to whatever answers. Invariant: nobody keeps it
longer than the question. Example: `bench.evaluating(observe)` gives the tiers for one evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Engine, Limits, Observer
    from constat.project import Project
    from constat.proof.speech import Speech
    from constat.session.models import Models
    from constat.tiers import Tiers


@dataclass(frozen=True, slots=True)
class Bench:
    """What of a session is needed to answer: its project and program, and how it evaluates."""

    project: Project
    program: AnalysedProgram
    engine: Engine
    limits: Limits
    evaluating: Callable[[Observer | None], AbstractContextManager[Tiers]]
    observe: Observer
    texts: dict[str, str]
    speech: Speech
    models: Callable[[], Models]
