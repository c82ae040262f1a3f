"""What a forward evaluation reads, and how it may go about it.

In: for each given predicate one `Input`. Rows, fact files and frames are the whole relation, by
the word of whoever hands them in; an external predicate says for itself what it knows. Invariant:
an input is read at most once, as a whole. Example: `Rows(((1, 2), (2, 3)))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from constat.catalog.fact_files import FactFile
from constat.evaluation import ExternalPredicate, Resources
from constat.forward.null_views import View
from constat.logic import Row
from constat.plan.forward import Strategy


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in memory, in canonical form; equal ones merge."""

    rows: Sequence[Row] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Files:
    """Fact files, read one after the other; equal rows merge."""

    files: tuple[FactFile, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame, or any object that hands out an Arrow stream (`__arrow_c_stream__`).

    Columns are taken by position.
    """

    frame: object = field(hash=False)


@dataclass(frozen=True, slots=True)
class Outside:
    """An external predicate; where its answer is open, so is what depends on it."""

    predicate: ExternalPredicate = field(hash=False)


@dataclass(frozen=True, slots=True)
class Viewed:
    """What some literals meet of another input, whose rows hold null cells."""

    view: View


Input = Rows | Files | Frame | Outside | Viewed


@dataclass(frozen=True, slots=True)
class Options:
    """How to evaluate.

    `strategy` is taken wherever it gives the right answer. `magic` says whether only what the
    wanted atoms demand is computed; `None` leaves that to the estimates. With `stamps` the reports
    say in which round a relation grew. With `measured` they count the bindings of each step.
    `calls` bounds the demands that go outside. With `graded` what is not closed is computed in bulk
    as far as that is exact (see `grading`), without it the reference engine says all of it. Above
    `loose_above` rows of inputs it is computed in bulk also where that engine may decide more
    (see `loosening`); without a number it never is.
    """

    resources: Resources = field(default_factory=Resources)
    strategy: Strategy | None = None
    magic: bool | None = None
    measured: bool = False
    stamps: bool = False
    calls: int = 1_000_000_000
    graded: bool = False
    loose_above: int | None = None
