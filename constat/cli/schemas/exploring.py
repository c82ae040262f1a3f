"""What the commands print that explore."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from constat.cli.schemas.forms import Count, Ordinal, Quantity, Result
from constat.cli.schemas.parts import Assumption, Translation


class PlanApproveResult(TypedDict):
    """What the approval came to."""

    id: Annotated[str, "The exploration whose plan it is."]
    kind: Annotated[Literal["plan"], "Always a plan."]
    status: Annotated[Literal["proposed", "approved", "rejected"], "What it is now."]
    rules: Annotated[list[str], "The id of the rule that stands for the plan in certificates."]
    file: Annotated[str, "Always empty."]
    signed: Annotated[bool, "Whether the word is signed."]
    approvals: Annotated[Count, "How many approvals count."]
    needed: Annotated[Count, "How many are needed."]
    translation: NotRequired[Translation]


class Ranking(TypedDict):
    """A ranking."""

    of: Annotated[str, "The relation that is ranked."]
    by: Annotated[list[str], "Columns, each with asc or desc."]
    top: NotRequired[Annotated[Ordinal, "How many ranks."]]
    within: NotRequired[Annotated[list[str], "The columns of a group."]]
    place: NotRequired[Annotated[str, "The column that holds the rank."]]


class PlannedStep(TypedDict):
    """A step, with one kind of work."""

    name: Annotated[str, "Its name."]
    goal: Annotated[str, "What it is for."]
    inputs: Annotated[list[str], "The relations that it is expected to read."]
    outputs: Annotated[list[str], "The relations that it gives, as declarations."]
    source: NotRequired[Annotated[str, "The databases that it asks."]]
    rules: NotRequired[Annotated[str, "Rules."]]
    rank: NotRequired[Ranking]
    sql: NotRequired[Annotated[str, "A SELECT."]]
    python: NotRequired[Annotated[str, "Code."]]


class PlanResult(TypedDict):
    """A plan that passed the checks.

    Members are only ever added.
    """

    question: Annotated[str, "What is asked."]
    title: NotRequired[Annotated[str, "What the answer is, in a few words."]]
    chart: NotRequired[Annotated[Literal["bar", "line", "none"], "How the answer is drawn."]]
    author: NotRequired[Annotated[str, "The model that drafted it."]]
    answer: Annotated[str, "The relation that answers."]
    steps: Annotated[list[PlannedStep], "The steps."]


class SolveColumn(TypedDict):
    """A column."""

    name: Annotated[str, "Its name."]
    kind: Annotated[
        Literal[
            "number",
            "unsigned",
            "float",
            "symbol",
            "Date",
            "Timestamp",
            "Decimal",
            "Bool",
            "structure",
        ],
        "The kind of its values.",
    ]


class SolvedStep(TypedDict):
    """A step and what became of it."""

    step: Annotated[Ordinal, "Its number in the exploration."]
    name: Annotated[str, "Its name."]
    goal: Annotated[str, "What it is for."]
    work: Annotated[Literal["rules", "rank", "sql", "python"], "The kind of its work."]
    how: Annotated[Literal["computed", "kept", "not needed"], "What became of it."]
    seconds: Annotated[Quantity, "How long it took."]
    attempts: Annotated[Count, "How often it was tried."]
    rows: Annotated[Count, "How many rows it gave."]
    sandbox: Annotated[str, "How code was kept in; empty for other work."]
    reads: Annotated[list[str], "What it read."]
    gives: Annotated[list[str], "What it gave."]
    check: NotRequired[
        Annotated[str, "`passed`, or why it was not counted again; empty: there was no need."]
    ]


class SolveProof(TypedDict):
    """The certificate that was made of the answer, or why there is none."""

    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED"] | None,
        "What the certificate says of the answer; `null` where there is none.",
    ]
    identity: Annotated[str, "The identity of the certificate; empty where there is none."]
    why: Annotated[str, "Why there is none; else empty."]


class SolveUsage(TypedDict):
    """What models were asked."""

    calls: Annotated[Count, "Calls of models."]
    tokens: Annotated[Count, "Their tokens."]
    cost: Annotated[str, "Their price, where the project tells prices."]


class SolveResult(TypedDict):
    """An explored answer, as `constat solve` gives it.

    Members are only ever added.
    """

    exploration: Annotated[str, "The id for `resume`, `history`, `plan show`."]
    number: Annotated[Ordinal, "The question's number in the exploration."]
    question: Annotated[str, "What was asked."]
    today: Annotated[str, "The day that counts as today."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "COMPUTED_NOT_CHECKED"],
        (
            "The verdict of the answer's certificate; `COMPUTED_NOT_CHECKED` where there "
            "is none, and `proof` says why."
        ),
    ]
    settled: Annotated[
        Literal["SETTLED", "SETTLED_UNDER", "OPEN"],
        "What the verdict says of the rows: settled, under the assumptions, or open.",
    ]
    exit_code: Annotated[Literal[0, 3, 4], "The exit code of the command."]
    translation: Translation
    sentence: Annotated[str, "The answer in words."]
    narrated: Annotated[bool, "Whether a model worded it; its numbers were checked."]
    relation: Annotated[str, "The relation that answers."]
    columns: Annotated[list[SolveColumn], "The columns."]
    rows: Annotated[list[list[str | float]], "The rows; decimals and large integers are texts."]
    unresolved: Annotated[Count, "Rows that may hold besides."]
    assumptions: Annotated[list[Assumption], "What the answer rests on."]
    reasons: Annotated[list[str], "What is not known."]
    notes: Annotated[list[str], "Remarks."]
    steps: Annotated[list[SolvedStep], "The steps."]
    plan: Annotated[PlanResult, "A plan, as `solve --plan` takes it in YAML."]
    approved_by: Annotated[list[str], "Who approved the plan before it ran, as far as that counts."]
    proof: SolveProof
    seconds: Annotated[Quantity, "How long it took."]
    replaying: Annotated[
        str, "Whose replies were replayed; empty where a model was asked, or none was needed."
    ]
    usage: SolveUsage


RESULTS: Final = MappingProxyType(
    {
        "plan-approve": Result(PlanApproveResult),
        "plan-check": Result(PlanResult),
        "plan-show": Result(Annotated[PlanResult, "A plan. Members are only ever added."]),
        "resume": Result(SolveResult),
        "solve": Result(Annotated[SolveResult, "An explored answer. Members are only ever added."]),
    }
)
