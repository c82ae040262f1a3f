"""Ask pyDatalog whether a goal holds, in a child process with a wall limit.

In: an analysed program, a goal, external predicates, limits. Out: an `AnswerSet`, or `ConstatError`
with what is refused (C0420, C0421: exit code 78; C0422: 4). Invariant: a run that was stopped has
no answer; it never counts as "no". pyDatalog does not always end, even without functions, so the
limit is not optional.

Example: `answers(program, goal, externals, Limits(seconds=10)).holds` is True, False or None.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Self

from constat.analysis import AnalysedProgram
from constat.diagnostics import ConstatError
from constat.evaluation import Externals, Limits, Observer, ignore_event
from constat.logic import Atom, Row
from constat.pydatalog.facts import closed_facts
from constat.pydatalog.process import NoAnswerError, Worker
from constat.pydatalog.refusals import refusals
from constat.pydatalog.translation import needed, translate
from constat.pydatalog.wire import read_answer, write_question

REFUSED: Final = 78
"""The exit code of a construct that is refused on purpose."""

MEMORY: Final = 2 << 30
"""Bytes of address space for the child."""


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """The rows that match a goal, or why there is no answer.

    `stopped` is empty when pyDatalog came to its end, so that `rows` are all there are.
    """

    goal: Atom
    rows: frozenset[Row]
    stopped: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether some row matches; `None` when there is no answer."""
        return None if self.stopped else bool(self.rows)


class PyDatalogEngine:
    """Answers goals by pyDatalog. Keeps its child between goals; `close` ends it. For one thread.

    `memory` is in bytes of address space. Without a `close` the child ends with this process.
    """

    def __init__(self, *, memory: int = MEMORY) -> None:
        self._worker = Worker(memory)

    def answers(
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        observe: Observer = ignore_event,
    ) -> AnswerSet:
        """Fetch all facts the goal depends on, then ask. `limits.seconds` bounds both together."""
        deadline = time.monotonic() + limits.seconds
        names = needed(program, goal)
        refused = refusals(program, names)
        if refused:
            raise ConstatError(refused, exit_code=REFUSED)
        try:
            rows = closed_facts(program, names, externals, limits, observe)
            question = translate(program, goal, rows)
            left = deadline - time.monotonic()
            reply = self._worker.exchange(write_question(question), left)
        except NoAnswerError as problem:
            return AnswerSet(goal, frozenset(), str(problem))
        found = read_answer(reply, question.kinds)
        if isinstance(found, str):
            return AnswerSet(goal, frozenset(), found)
        return AnswerSet(goal, found)

    def close(self) -> None:
        """End the child. The engine may be used again; it starts another."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answers(
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    *,
    observe: Observer = ignore_event,
) -> AnswerSet:
    """Answer one goal with a child of its own."""
    with PyDatalogEngine() as engine:
        return engine.answers(program, goal, externals, limits, observe=observe)
