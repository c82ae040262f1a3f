"""Answer a large query by the forward engine; its rows stay where they were computed.

In: a compiled query and the external predicates. Out: `Answers`, like those of the reference
engine, but that its rows are computed and not checked. Invariants: a closed query is settled for
certain and all its rows are certain; in a graded one each row has its greatest strength, or over
many rows at most that, with a reason where it may be more (see `forward.loosening`); an open one is
told by the outcome of the reference engine; a limit that is reached leaves the query open, with the
reason, and no rows that might not be all (semantics 15).
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.evaluation import CONCEIVABLE, POSSIBLE, ResourceError
from constat.forward import Options, Outside, evaluate
from constat.proof.projection import with_projections
from constat.session.answers import Answers, OpenReason, Settled
from constat.session.bulk_question import Asked
from constat.session.choosing import MANY
from constat.session.graded_rests import graded_rests
from constat.session.graded_rows import graded_rows
from constat.session.open_reasons import reasons_in_bulk
from constat.session.querying import answer_columns, outcome_answers, row_goals
from constat.session.stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Call, Observer, Outcome
    from constat.forward import Results
    from constat.logic import Row
    from constat.session.querying import Compiled
    from constat.sql import Database


def answer_in_bulk(asked: Asked, observe: Observer) -> Answers:
    """Evaluate a query forward."""
    compiled = asked.compiled
    inputs = {name: Outside(one) for name, one in asked.externals.items()}
    try:
        results = evaluate(
            with_projections(compiled.program),
            [compiled.goal],
            inputs,
            Options(asked.resources, calls=asked.limits.calls, graded=True, loose_above=MANY),
            observe,
        )
    except ResourceError as problem:
        return _stopped(asked, problem)
    if not results.is_in_bulk(0):
        with results:
            outcome = results.outcome(0)
            found = outcome_answers(compiled, outcome, created=asked.created, confidence=False)
            return replace(found, calls=_calls_outside(asked, results, outcome), in_bulk=True)
    try:
        if results.grades(0):
            return _graded(asked, results, observe)
        return _answers(asked, results, _stored(compiled, results))
    except ResourceError as problem:
        results.close()
        return _stopped(asked, problem)
    except BaseException:
        # Nobody holds the rows yet who would take away what was spilled.
        results.close()
        raise


def _graded(asked: Asked, results: Results, observe: Observer) -> Answers:
    """Say what graded rows mean for a query."""
    compiled = asked.compiled
    kinds = tuple(column.kind for column in answer_columns(compiled))
    found = graded_rows(results, compiled.goal, compiled.places, kinds)
    _release_with(results.database)
    is_open = bool(found.possible or found.shapes.get(POSSIBLE))
    under = bool(found.accepted or found.excluded or found.shapes.get(CONCEIVABLE))
    settled = Settled.FOR_CERTAIN
    if is_open or under:
        settled = Settled.OPEN if is_open else Settled.UNDER
    rests = graded_rests(asked, results, found, whole=settled is Settled.UNDER, observe=observe)
    return replace(
        _answers(asked, results, found.listed),
        settled=settled,
        assumptions=rests.assumptions,
        reasons=reasons_in_bulk(results) if is_open else (),
        open_shapes=found.shapes.get(POSSIBLE, 0),
        excluded=found.excluded + found.shapes.get(CONCEIVABLE, 0),
        weak=found.verdicts,
        notes=rests.notes,
    )


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
    _release_with(results.database)
    return StoredRows(relation, kinds, results.count(0), results.database)


def _release_with(database: Database) -> None:
    """Close a database when the last of the rows that hold it has gone."""
    weakref.finalize(database, database.connection.close)


def _stopped(asked: Asked, problem: ResourceError) -> Answers:
    finished = getattr(problem, "__notes__", ["nothing was finished"])[0]
    raising = asked.limits.raising(problem.limit) if problem.limit else ""
    if raising in str(problem):
        raising = ""
    reason = f"{problem}{raising}; {finished} [C0660]"
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
        in_bulk=True,
    )
