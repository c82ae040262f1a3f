"""Answer a large query by the forward engine; its rows stay where they were computed.

In: a compiled query and the external predicates. Out: `Answers`, like those of the reference
engine. Invariants: a closed query is settled for certain and all its rows are proved; an open one
is told by the outcome of the reference engine; a limit that is reached leaves the query open, with
the reason, and no rows that might not be all (semantics 15).
"""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from constat.evaluation import ResourceError, Resources
from constat.forward import Options, Outside, evaluate
from constat.proof.projection import with_projections
from constat.session.answers import Answers, OpenReason, Settled
from constat.session.querying import answer_columns, outcome_answers, row_goals
from constat.session.stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Call, Externals, Limits, Observer, Outcome
    from constat.forward import Results
    from constat.logic import Row
    from constat.session.querying import Compiled


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to compute in bulk."""

    compiled: Compiled
    externals: Externals
    limits: Limits
    created: str

    @property
    def resources(self) -> Resources:
        """What the evaluation may use; it spills into the machine's folder for temporary files."""
        folder = Path(tempfile.gettempdir())
        scratch = folder if os.access(folder, os.W_OK) else None
        return Resources(self.limits.seconds, rows=self.limits.rows, scratch=scratch)


def answer_in_bulk(asked: Asked, observe: Observer) -> Answers:
    """Evaluate a query forward."""
    compiled = asked.compiled
    inputs = {name: Outside(one) for name, one in asked.externals.items()}
    try:
        results = evaluate(
            with_projections(compiled.program),
            [compiled.goal],
            inputs,
            Options(asked.resources, calls=asked.limits.calls),
            observe,
        )
    except ResourceError as problem:
        return _stopped(asked, problem)
    if not results.is_closed(0):
        with results:
            outcome = results.outcome(0)
            found = outcome_answers(compiled, outcome, created=asked.created, confidence=False)
            return replace(found, calls=_calls_outside(asked, results, outcome))
    try:
        stored = _stored(compiled, results)
    except BaseException:
        # Nobody holds the rows yet who would take away what was spilled.
        results.close()
        raise
    return _answers(asked, results, stored)


def _calls_outside(asked: Asked, results: Results, outcome: Outcome) -> tuple[Call, ...]:
    """Give the calls for whole relations, then those for what is open.

    Relations that were computed on the way are no sources, though the reference engine asks them.
    """
    later = [one for one in outcome.calls if one.demand.predicate.name in asked.externals]
    both = enumerate((*results.calls, *later), start=1)
    return tuple(replace(one, number=number) for number, one in both)


def _stored(compiled: Compiled, results: Results) -> StoredRows:
    from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

    relation = results.select(0)
    names = relation.columns
    kinds = tuple(column.kind for column in answer_columns(compiled))
    if compiled.places:
        chosen = [
            ColumnExpression(names[place]).alias(f"v{number}")
            for number, place in enumerate(compiled.places)
        ]
        relation = relation.select(*chosen)
    database = results.database
    # The rows hold the database; when the last of them has gone, it is closed.
    weakref.finalize(database, database.connection.close)
    return StoredRows(relation, kinds, results.count(0), database)


def _stopped(asked: Asked, problem: ResourceError) -> Answers:
    finished = getattr(problem, "__notes__", ["nothing was finished"])[0]
    reason = f"{problem}; {finished} [C0660]"
    told = OpenReason(asked.compiled.goal.predicate, reason, "", 1, "")
    return _answers(asked, None, (), stopped=reason, reasons=(told,))


def _answers(
    asked: Asked,
    results: Results | None,
    rows: Sequence[Row],
    *,
    stopped: str = "",
    reasons: tuple[OpenReason, ...] = (),
) -> Answers:
    return Answers(
        query=asked.compiled.query.text,
        columns=answer_columns(asked.compiled),
        settled=Settled.OPEN if stopped else Settled.FOR_CERTAIN,
        assumptions=(),
        reasons=reasons,
        open_shapes=0,
        excluded=0,
        calls=() if results is None else results.calls,
        created=asked.created,
        stopped=stopped,
        weighed=False,
        sure=rows,
        weak={},
        notes={},
        show=row_goals(asked.compiled),
    )
