"""A plan: the steps from relations that are there to the relation that answers a question.

In: nothing. Out: frozen values. Each step gives one or several relations over earlier ones, by
rules, by a ranking, by one SELECT, or by Python code. Invariant: a plan says nothing about how far
it has come, so equal plans mean the same work. Example: the step `totals` gives
`totals(customer: symbol, total: Decimal)` by the rule
`totals(?c, ?t) :- customer(?c), ?t = sum ?a : { placed_order(?c, _o, ?a, _d) }.`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from constat.diagnostics import Span

PLAN_NAME: Final = "<plan>"
MOST_STEPS: Final = 100
MOST_TEXT: Final = 64 * 1024
MOST_COLUMNS: Final = 64
LONGEST_QUESTION: Final = 10_000


class Work(Enum):
    """What does a step's work; the value is the key under which a plan writes it."""

    RULES = "rules"
    RANKING = "rank"
    SQL = "sql"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Output:
    """A relation that a step gives: its name, and each column with its declared type."""

    name: str
    columns: tuple[tuple[str, str], ...]

    @property
    def declaration(self) -> str:
        """The relation as rule files declare it: `totals(customer: symbol, total: Decimal)`."""
        return f"{self.name}({', '.join(f'{name}: {kind}' for name, kind in self.columns)})"


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rows of a relation that come first, by these columns, each descending or not.

    `within` names the columns of a group; `place` is a column of the output that holds the rank,
    or nothing. Rows with equal values in `by` have one rank, so that a top 5 may have six rows:
    which of equals is cut off would be chance.
    """

    of: str
    by: tuple[tuple[str, bool], ...]
    top: int = 0
    within: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `text` is rules, a SELECT, or Python; `ranking` is there for rankings.

    `inputs` are the relations that it is expected to read. A SELECT reads the database `source`,
    or, without one, the inputs; code may ask the databases that `source` names, with commas.
    """

    name: str
    goal: str
    work: Work
    outputs: tuple[Output, ...]
    inputs: tuple[str, ...] = ()
    text: str = ""
    source: str = ""
    ranking: Ranking | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """The databases that the step itself asks."""
        named = (one.strip() for one in self.source.split(","))
        return tuple(dict.fromkeys(one for one in named if one))


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, and the relation that answers the question.

    `author` is the model that drafted it, empty where a person wrote it. `title` says in a few
    words what the answer is; `chart` is `bar`, `line`, `none`, or empty for "where one helps".
    """

    question: str
    steps: tuple[Step, ...]
    answer: str
    author: str = ""
    title: str = ""
    chart: str = ""

    def step_of(self, relation: str) -> Step | None:
        """The step that gives a relation."""
        for step in self.steps:
            if any(one.name == relation for one in step.outputs):
                return step
        return None
