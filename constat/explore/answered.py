"""What exploring a question gives.

In: nothing. Out: values. Invariants: the verdict on an answer is that of its certificate, and an
answer without one has none: it was computed and not checked; a plan that a model drafted is an
assumption; an answer does not change when sources or later questions do. Example:
`explored.relation.rows` are the rows, and `explored.sentence` says them in words.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from constat.evaluation import Assumption, Verdict
from constat.explore.relations import DUCKDB, TIER, Settlement
from constat.frozen import OfSession, frozen
from constat.logic import display_value
from constat.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.explore.plan import Plan
    from constat.explore.relations import Relation
    from constat.proof.translation import Translation


NOT_CHECKED: Final = "computed, not checked"


@frozen
class StepReport:
    """What became of a step. `how` is `computed`, `kept`, or `not needed`.

    `check` is `passed` where what it computed in bulk was counted again from the rules and was the
    same, else why it was not; empty where there was no need.
    """

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
    check: str = ""


@frozen
class AnswerProof:
    """The proof of an answer: the verdict of its certificate, or `why` there is none."""

    verdict: Verdict | None = None
    certificate: bytes = field(default=b"", repr=False)
    why: str = ""

    @property
    def identity(self) -> str:
        """The identity of the certificate; empty where there is none."""
        return str(json.loads(self.certificate)["identity"]) if self.certificate else ""

    @property
    def label(self) -> str:
        """The verdict as people read it."""
        return NOT_CHECKED if self.verdict is None else self.verdict.label

    @property
    def selected(self) -> tuple[str, ...]:
        """The steps whose rows stand on DuckDB's word, as `step totals`."""
        if not self.certificate:
            return ()
        words = [
            (str(one["name"]), one["attestation"])
            for one in json.loads(self.certificate)["sources"]
            if one.get("tier") == TIER and one.get("attestation") is not None
        ]
        return tuple(sorted({name for name, word in words if word["agent"]["name"] == DUCKDB}))


@frozen
class Explored(OfSession):
    """An answered question of an exploration.

    `sentence` says the answer; `narrated` tells whether a model worded it. `notes` are remarks,
    such as that a source has changed since an earlier question. `replaying` says whose replies were
    replayed, where no model was asked. `authors` are the models that drafted any step which the
    answer rests on, those of earlier questions included; `approvals` are the names of people who
    approved the plan, as far as that counts. `proof` has the certificate, `translation` who says
    that the plan's answer is what was asked.
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
    translation: Translation | None = None

    @property
    def certificate(self) -> bytes:
        """The certificate of the answer, for a checker; empty where there is none."""
        return self.proof.certificate

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the answer's certificate; `None` where it was computed and not checked."""
        return self.proof.verdict

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the answer rests on, the draft of its plan included."""
        if self.verdict is Verdict.PROVED:
            return ()
        drafted = () if self.approvals else self.authors
        found = [*map(plan_assumption, drafted), *self.relation.assumptions]
        # What a SELECT over steps gives is somebody's word, as what code gives is.
        found += map(select_assumption, self.proof.selected)
        return tuple(found)

    @property
    def settlement(self) -> Settlement:
        """Whether the answer is known, as its verdict says."""
        match self.verdict:
            case Verdict.PROVED:
                return Settlement.CERTAIN
            case Verdict.PROVED_UNDER:
                return Settlement.UNDER
            case _:
                return Settlement.OPEN

    @property
    def exit_code(self) -> int:
        """0 proved, 3 under assumptions or unconfirmed, 4 open, or computed and not checked."""
        code = self.settlement.exit_code
        return code if self.translation is None else self.translation.exit_code(code)

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


def select_assumption(step: str) -> Assumption:
    """Give the assumption that DuckDB computed what a SELECT over steps says."""
    return Assumption("fact", step, f"the SELECT of {step} gives the rows that it says")


@frozen
class StepAttempt:
    """One try of a step: the text that ran, what it printed, and its error; empty where none was.

    `queries` are those that code sent to databases; `ended` is when the try was kept.
    """

    number: int
    text: str
    output: str = ""
    error: str = ""
    queries: tuple[str, ...] = ()
    ended: str = ""


@frozen
class StepRecordView:
    """What is kept of a step: its tries in their order, and the tables of the last that ended well.

    `question` is the number of the question whose plan has the step.
    """

    number: int
    name: str
    goal: str
    work: str
    question: int
    source: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attempts: tuple[StepAttempt, ...] = ()
    tables: tuple[Mapping[str, object], ...] = ()


@frozen
class ExplorationState:
    """What an exploration holds now: tables with their steps, state variables, the scratchpad."""

    exploration: str
    title: str
    today: str
    questions: tuple[tuple[int, str, str], ...]
    tables: tuple[Mapping[str, object], ...]
    state: Mapping[str, object]
    notes: tuple[str, ...]
