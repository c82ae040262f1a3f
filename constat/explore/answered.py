"""What exploring a question gives.

In: nothing. Out: values. Invariants: the verdict on an answer follows from what its relation rests
on, and a plan that a model drafted is one of these assumptions; an answer does not change when
sources or later questions do. Example: `explored.relation.rows` are the rows, and
`explored.sentence` says them in words whose numbers were checked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constat.evaluation import Assumption
from constat.explore.relations import Settlement
from constat.logic import display_value
from constat.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.evaluation import Verdict
    from constat.explore.plan import Plan
    from constat.explore.relations import Relation


@dataclass(frozen=True, slots=True)
class StepReport:
    """What became of a step. `how` is `computed`, `kept`, or `not needed`."""

    number: int
    name: str
    goal: str
    work: str
    how: str
    seconds: float = 0.0
    attempts: int = 0
    rows: int = 0
    level: str = ""
    reads: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerProof:
    """The proof of an answer: the verdict of its certificate, or `why` there is none."""

    verdict: Verdict | None = None
    certificate: bytes = field(default=b"", repr=False)
    why: str = ""

    @property
    def identity(self) -> str:
        """The identity of the certificate; empty where there is none."""
        return str(json.loads(self.certificate)["identity"]) if self.certificate else ""


@dataclass(frozen=True, slots=True)
class Explored:
    """An answered question of an exploration.

    `sentence` says the answer; `narrated` tells whether a model worded it. `notes` are remarks,
    such as that a source has changed since an earlier question. `replaying` says whose replies were
    replayed, where no model was asked. `authors` are the models that drafted any step which the
    answer rests on, those of earlier questions included; `approvals` are the names of people who
    approved the plan, as far as that counts. `proof` has the certificate.
    """

    exploration: str
    number: int
    question: str
    plan: Plan
    relation: Relation = field(repr=False)
    steps: tuple[StepReport, ...]
    sentence: str
    today: str
    narrated: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    replaying: str = ""
    authors: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    proof: AnswerProof = field(default_factory=AnswerProof)

    @property
    def certificate(self) -> bytes:
        """The certificate of the answer, for a checker; empty where there is none."""
        return self.proof.certificate

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the answer rests on, the draft of its plan included."""
        drafted = () if self.approvals else self.authors
        return (*map(plan_assumption, drafted), *self.relation.assumptions)

    @property
    def settlement(self) -> Settlement:
        """Whether the answer is known."""
        if self.relation.settlement is Settlement.OPEN:
            return Settlement.OPEN
        return Settlement.UNDER if self.assumptions else Settlement.CERTAIN

    @property
    def exit_code(self) -> int:
        """0 settled, 3 settled under assumptions, 4 open."""
        return self.settlement.exit_code

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """The rows, in the order that the last step asked for."""
        return self.relation.shown

    def records(self) -> list[dict[str, Any]]:
        """The rows as tables of column and value."""
        return [dict(zip(self.relation.names, row, strict=True)) for row in self.rows]

    def cells(self) -> list[list[str]]:
        """The rows as texts for people."""
        kinds = self.relation.kinds
        return [[display_value(v, k) for v, k in zip(row, kinds, strict=True)] for row in self.rows]


def plan_assumption(author: str) -> Assumption:
    """Give the assumption that a model's plan answers the question."""
    text = f"the plan that {author} drafted, and nobody has approved, answers the question"
    return Assumption("rule", "plan", text)


@dataclass(frozen=True, slots=True)
class ExplorationState:
    """What an exploration holds now: tables with their steps, state variables, the scratchpad."""

    exploration: str
    title: str
    today: str
    questions: tuple[tuple[int, str, str], ...]
    tables: tuple[Mapping[str, object], ...]
    state: Mapping[str, object]
    notes: tuple[str, ...]
