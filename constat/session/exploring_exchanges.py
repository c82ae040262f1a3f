"""What an exploration leaves in its conversation: the questions, what was explored, what came out.

In: a question that has been run, or why it was not. Out: exchanges. Invariants: rows, sentences,
assumptions and messages of errors hold values of data, and a count of rows may be one that a value
filtered: they are kept there only where values may be told to a model; the sentence is
what a model said where a model worded it, and else part of what the exploration gave. Example:
`conversation_of(project, "4f2a").before("And by region?").text`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from constat.session.conversing import (
    EXPLORE,
    MOST_ROWS,
    Conversation,
    Done,
    Exchange,
    told_mistakes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.diagnostics import ConstatError
    from constat.explore.answered import Explored
    from constat.project import Project
    from constat.session.exploring_runs import Asked


def conversation_of(project: Project, exploration: str) -> Conversation:
    """Give the conversation of an exploration."""
    return Conversation(project, f"exploration-{exploration}")


def exchange_of(explored: Explored, *, values: bool) -> Exchange:
    """Give what was exchanged about an answered question; `values` are told only where wanted."""
    relation = explored.relation
    given: dict[str, object] = {"settled": explored.settlement.value}
    if values:
        given["rows in all"] = len(explored.rows)
        given["assumptions"] = [one.text for one in explored.assumptions]
        cells = explored.cells()[:MOST_ROWS]
        given["rows"] = [dict(zip(relation.names, one, strict=True)) for one in cells]
        if not explored.narrated:
            given["sentence"] = explored.sentence
    said = explored.sentence if values and explored.narrated else ""
    asked = {"answer": relation.output.name, "steps": [one.name for one in explored.plan.steps]}
    return Exchange(explored.question, (_done(asked, given),), said)


def failed_exchange(asked: Asked, problem: ConstatError, *, values: bool) -> Exchange:
    """Give what was exchanged about a question whose steps came to no answer."""
    told = {"error": told_mistakes(problem.diagnostics, values=values)}
    return Exchange(asked.text, (_done({"answer": asked.plan.answer}, told, failed=True),))


def _done(
    asked: Mapping[str, object], given: Mapping[str, object], *, failed: bool = False
) -> Done:
    return Done(EXPLORE, asked, json.dumps(given, ensure_ascii=False), failed)
