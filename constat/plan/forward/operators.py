"""The plan of whole relations: stages of pipelines, and what a caller may ask of the planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Protocol

from constat.analysis import AnalysedProgram
from constat.frozen import frozen
from constat.logic import Atom, Kind, Row
from constat.plan.operators import RulePlan

# A *pipeline* is one rule evaluated for all rows at once: the steps of its `RulePlan` (no column
# is bound at the start), with what a back end wants to know of each step. A *stage* is one
# strongly connected component of the program after rewriting; it has a strategy. Stages come
# callees first.
# Meaning of a pipeline: start with the one binding that holds `plan.constants`; take each step;
# project to `plan.head`; unite the distinct rows with the relation `head`. In a recursive stage
# each pipeline of `recursive` reads the rows of the last round at one step and so never misses a
# new combination (semi-naive evaluation). Invariants: a step reads only slots that exist before
# it; a pipeline of `base` reads no relation of its own stage; every relation that a stage reads is
# an input or belongs to an earlier stage, or to the stage itself.
# See Abiteboul, Hull and Vianu, Foundations of Databases, chapter 13 (semi-naive evaluation).


class Strategy(Enum):
    """How a stage is computed. The value is how users write it."""

    STATEMENT = "statement"
    """One SQL statement; for stages that are not recursive."""
    CTE = "cte"
    """One recursive common table expression; for linear recursion, also mutual, tagged."""
    LOOP = "loop"
    """Rounds of SQL statements against the whole relation; for wide rows and few rounds."""
    BITMAP = "bitmap"
    """Numpy: one bit for each pair that may exist; for binary and unary relations."""
    RUNS = "runs"
    """Numpy: sorted runs of packed keys."""
    REFERENCE = "reference"
    """The reference engine: any meaning, including what is open, at its own speed."""


class Reading(Enum):
    """Which rows of a relation a step reads in a round."""

    FULL = "full"
    """All rows known when the round begins, those of the last round included."""
    DELTA = "delta"
    """The rows that the last round added."""
    STABLE = "stable"
    """The rows known before the last round: what `FULL` has beside `DELTA`."""


@frozen
class Layout:
    """What the slots of a binding hold.

    A slot in `encoded` holds the number of a text in the shared dictionary instead of the text.
    """

    kinds: tuple[Kind, ...]
    encoded: frozenset[int] = frozenset()


@frozen
class Relation:
    """A relation of the plan.

    `encoded[i]` says that column i holds numbers of the shared dictionary. `given` relations have
    rows from outside, `derived` ones have pipelines or stated rows; one may be both. `made_by` is
    empty for a predicate of the program, else the pass that introduced it. `rows` is the estimate.
    """

    name: str
    kinds: tuple[Kind, ...]
    encoded: tuple[bool, ...]
    given: bool
    derived: bool
    made_by: str = ""
    rows: float = 0.0

    @property
    def arity(self) -> int:
        """The number of columns."""
        return len(self.kinds)


@frozen
class Pipeline:
    """One rule for all rows at once.

    `plan.rule` is its number in `ForwardPlan.program`; `plan.columns` is empty. For each step:
    `readings` says which rows it reads (for a `Fold`: its inner joins of the stage's own
    relations), `live` which slots are still read after it (the others may be dropped), `rows` the
    estimated number of bindings. Duplicates are worth dropping after the steps in `distinct`;
    the head is always distinct. `layout` describes the slots at the end, `inner` those of each
    `Fold`, by the number of its step.
    """

    head: str
    plan: RulePlan
    readings: tuple[Reading, ...]
    live: tuple[frozenset[int], ...]
    distinct: frozenset[int]
    layout: Layout
    inner: Mapping[int, Layout] = field(default_factory=dict, hash=False)
    rows: tuple[float, ...] = ()


@frozen
class Stage:
    """One component: its relations, stated rows and pipelines.

    `recursive` has one pipeline for each place where a rule reads a relation of the stage. A rule
    that aggregates over its own stage (a threshold) has one pipeline, whose `Fold` reads `FULL`:
    it is computed anew in each round, for the groups that the last round touched. `linear` means
    that no rule reads the stage twice. `choices` are the strategies that give the right answer,
    the best estimate first; `strategy` is the one to take, `why` says why in a few words. `rows`
    and `rounds` are estimates.
    """

    number: int
    predicates: tuple[str, ...]
    stated: Mapping[str, tuple[Row, ...]] = field(hash=False)
    base: tuple[Pipeline, ...]
    recursive: tuple[Pipeline, ...]
    linear: bool
    strategy: Strategy
    choices: tuple[Strategy, ...]
    why: str
    rows: float = 0.0
    rounds: float = 1.0

    @property
    def is_recursive(self) -> bool:
        """Whether a rule reads a relation of this stage."""
        return bool(self.recursive)


@frozen
class Rewriting:
    """What a pass did to the program, or why it did not, for whoever reads the plan."""

    name: str
    subject: str
    applied: bool
    why: str


@frozen
class Wanted:
    """A result: the rows of `relation` that match `atom` (constants, repeated variables)."""

    atom: Atom
    relation: str


@frozen
class ForwardPlan:
    """Everything a back end needs to compute the wanted relations.

    `program` is the program after rewriting; `original` the one that was given, of which the
    relations that both have mean the same rows (after magic sets: the demanded part of them).
    `inputs` are the relations to load before the first stage.
    """

    original: AnalysedProgram
    program: AnalysedProgram
    relations: Mapping[str, Relation]
    inputs: tuple[str, ...]
    stages: tuple[Stage, ...]
    wanted: tuple[Wanted, ...]
    rewritings: tuple[Rewriting, ...] = ()


# No option changes a result, only how it comes about.


@frozen
class PlanOptions:
    """How to plan.

    `strategy` is taken for every stage where it gives the right answer. `magic` says whether
    rules are restricted to what a wanted constant demands; `None` decides by cost. Without
    `rewrite` the rules stay as they are written. Predicates in `open`, and what rests on them,
    are not rewritten: what is unknown of them is to be told by the rules as written. `memory` is
    what a stage may take, in bytes; 0 stands for one GiB. Without `encode` texts stay texts.
    """

    strategy: Strategy | None = None
    magic: bool | None = None
    rewrite: bool = True
    open: frozenset[str] = frozenset()
    memory: int = 0
    encode: bool = True


# An estimate decides how something is computed and never what.


class Statistics(Protocol):
    """Sizes of given relations; `None` for what is not known."""

    def rows(self, predicate: str) -> float | None:
        """How many rows a relation has."""
        ...

    def distinct(self, predicate: str, column: int) -> float | None:
        """How many distinct values a column has."""
        ...


@frozen
class Sizes:
    """Statistics that are at hand: rows by predicate, distinct values by predicate and column."""

    counts: Mapping[str, float] = field(default_factory=dict, hash=False)
    values: Mapping[tuple[str, int], float] = field(default_factory=dict, hash=False)

    def rows(self, predicate: str) -> float | None:
        """How many rows a relation has."""
        return self.counts.get(predicate)

    def distinct(self, predicate: str, column: int) -> float | None:
        """How many distinct values a column has."""
        return self.values.get((predicate, column))
