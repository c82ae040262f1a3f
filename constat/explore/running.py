"""Run the steps of a chain: those that an answer needs, each once, and again only after a change.

In: a chain, the relations that are wanted, and a `Workshop` with who does the work. Out: the
relations. Invariants: a step that nobody needs is not run; a step whose work and inputs have not
changed is not run again; a finished step is kept before the next begins, so that a crash loses none
of them; every attempt is kept with its text and its error, whatever became of it. Example:
`Running(chain, workshop).need(["top_customers"])`.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.explore.events import (
    Executing,
    Retrying,
    StepFailed,
    StepFinished,
    StepStarted,
    TableCreated,
)
from constat.explore.failures import CONNECTION, StepFailure, StepFailureError
from constat.explore.periods import PERIODS
from constat.explore.plan import Work
from constat.explore.records import Records, StepRecord, step_key
from constat.explore.relations import Settlement
from constat.explore.texts import one_line
from constat.explore.working import Working, is_weak
from constat.explore.workshop import DATABASE
from constat.explore.writing import ranking_json
from constat.logic.structure_forms import types_form
from constat.store.tables_values import NewArtifact, StepResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Step
    from constat.explore.relations import Relation
    from constat.explore.workshop import CodeResult, Workshop

_LONGEST_MESSAGE: Final = 300
_SHOWN_ROWS: Final = 3
_LONGEST_CELL: Final = 60


class StepsFailedError(Exception):
    """A step gave nothing, and nothing more could be tried; what was finished before is kept."""

    def __init__(self, link: Link, failure: StepFailure, attempts: int) -> None:
        self.link = link
        self.failure = failure
        self.attempts = attempts
        super().__init__(f"step {link.number}: {failure.kind}: {failure.message}")


@dataclass(slots=True)
class _Tries:
    """How often a step was tried, corrected, and tried again for its connection."""

    link: Link
    attempt: int = 0
    corrected: int = 0
    reconnected: int = 0
    started: float = field(default_factory=time.monotonic)


class Running:
    """One run over a chain; `chain` is another one once a step has been mended."""

    def __init__(self, chain: Chain, workshop: Workshop) -> None:
        self.chain = chain
        self.finished: dict[int, StepRecord] = {}
        self.computed: set[int] = set()
        self.had_before: set[int] = set()
        self._shop = workshop
        self._records = Records(workshop.store)
        self._keys: dict[int, str] = {}
        self._states: dict[str, str] = {}
        self._project: dict[str, Relation] = {}

    def need(self, names: Sequence[str]) -> dict[str, Relation]:
        """Give relations of steps, running what they need. Raises `StepsFailedError`."""
        while True:
            waiting = self._waiting(names)
            if not waiting:
                return {
                    name: relation
                    for record in self.finished.values()
                    for name, relation in record.relations.items()
                    if name in names
                }
            self._compute(waiting[0])

    def _waiting(self, names: Sequence[str]) -> list[Link]:
        """Give the steps that have to run, in order; what is kept is taken on the way.

        What a kept step rests on is not even read, unless its rows are not certain: then its rules
        are looked at again by whoever reads it.
        """
        wanted: set[int] = set()
        seen: set[int] = set()
        asked = list(names)
        while asked:
            link = self.chain.link_of(asked.pop())
            if link is None or link.number in seen:
                continue
            seen.add(link.number)
            record = self.finished.get(link.number) or self._kept(link)
            if record is None:
                wanted.add(link.number)
            if record is None or is_weak(link, record.relations):
                asked += link.reads
        return [one for one in self.chain.ordered() if one.number in wanted]

    def _kept(self, link: Link) -> StepRecord | None:
        record = self._records.find(self.key(link), link.step.outputs)
        if record is None or _is_open(record):
            # What was not known then may be known now: a source answers again, a limit was lifted.
            return None
        self._tell_finished(link, record, "kept")
        return record

    def key(self, link: Link) -> str:
        """Name the work of a step and everything that it reads."""
        if link.number not in self._keys:
            # Callees first, so that no call goes deeper than one step.
            for one in self.chain.below(link.gives):
                self._keys.setdefault(one.number, step_key(self._told(one)))
        return self._keys[link.number]

    def _told(self, link: Link) -> dict[str, object]:
        step = link.step
        reads: dict[str, str] = {}
        for name in link.reads:
            below = self.chain.link_of(name)
            reads[name] = self._state(name) if below is None else self._keys[below.number]
        told: dict[str, object] = {"work": step.work.value, "reads": reads}
        told["text"] = step.text if step.ranking is None else ranking_json(step.ranking)
        told["outputs"] = [one.declaration for one in step.outputs]
        predicates = self.chain.analysed.program.predicates
        given = [predicates[one.name] for one in step.outputs if one.name in predicates]
        types = types_form([column for one in given for column in one.columns])
        told |= {"types": types} if types else {}
        if step.work is Work.SQL and step.source:
            told["source"] = [step.source, self._state(step.outputs[0].name)]
        if step.work is Work.PYTHON:
            told["sources"] = [[one, self._state(f"{DATABASE}{one}")] for one in step.sources]
            told["state"] = self._shop.store.state(at=link.number - 1)
        return told

    def _state(self, name: str) -> str:
        """Name the state of what is read from outside; one run reads each state once."""
        if name not in self._states:
            own = name in self.chain.base.program.predicates
            if name in PERIODS and not own:
                self._states[name] = f"today: {self._shop.today.isoformat()}"
            else:
                self._states[name] = self._shop.evaluating.state(name) or ""
        return self._states[name]

    def _compute(self, link: Link) -> None:
        """Run a step and keep it."""
        self._shop.tell(
            StepStarted(link.number, link.step.name, link.step.goal, link.step.work.value)
        )
        if self._records.has(link.number):
            self.had_before.add(link.number)
        record, result = self._tried(_Tries(link))
        for one in self._records.keep(record, result):
            self._shop.tell(TableCreated(link.number, one.name, one.rows, one.version, one.sha256))
        self.computed.add(link.number)
        self._tell_finished(link, record, "computed")

    def _tell_finished(self, link: Link, record: StepRecord, how: str) -> None:
        self.finished[link.number] = record
        rows = sum(len(one.rows) for one in record.relations.values())
        seconds = record.seconds if how == "computed" else 0.0
        self._shop.tell(StepFinished(link.number, link.step.name, seconds, rows, how))

    def _tried(self, tries: _Tries) -> tuple[StepRecord, StepResult]:
        """Try a step until it gives its relations, or nothing more can be done."""
        while True:
            tries.attempt += 1
            self._shop.tell(Executing(tries.link.number, tries.attempt))
            relations = {number: one.relations for number, one in self.finished.items()}
            try:
                done = Working(self.chain, relations, self._shop, self._project).run(tries.link)
            except StepFailureError as problem:
                corrected = self._again(tries, problem.failure)
            else:
                return self._finished(tries, done)
            self._shop.tell(Retrying(tries.link.number, tries.attempt + 1, corrected))

    def _again(self, tries: _Tries, failure: StepFailure) -> bool:
        """Make ready for another try; tells whether the step was corrected."""
        bounds, mend = self._shop.bounds, self._shop.mend
        waits = failure.kind == CONNECTION and tries.reconnected < bounds.connection_retries
        mends = failure.retryable and tries.corrected < bounds.retries and mend is not None
        self._keep_failure(tries, failure, retryable=waits or mends)
        if waits:
            tries.reconnected += 1
            time.sleep(bounds.connection_pause)
            return False
        mended = mend(self.chain, tries.link, failure) if mends and mend is not None else None
        if mended is None:
            raise StepsFailedError(tries.link, failure, tries.attempt)
        tries.corrected += 1
        self.chain = mended
        self._keys.clear()
        tries.link = next(one for one in mended.links if one.number == tries.link.number)
        return True

    def _keep_failure(self, tries: _Tries, failure: StepFailure, *, retryable: bool) -> None:
        link, attempt = tries.link, tries.attempt
        message = failure.message[:_LONGEST_MESSAGE]
        self._shop.tell(StepFailed(link.number, attempt, failure.kind, message, retryable))
        told = NewArtifact("error", link.step.name, failure.told().encode(), attempt=attempt)
        printed = NewArtifact("output", link.step.name, failure.output.encode(), attempt=attempt)
        asked = (
            NewArtifact("query", name, text.encode(), attempt=attempt)
            for name, text in failure.queries
        )
        shown = (printed,) if failure.output else ()
        artifacts = (_work_artifact(link.step, attempt), told, *shown, *asked)
        self._shop.store.commit(StepResult(link.number, link.step.name, artifacts=artifacts))

    def _finished(self, tries: _Tries, done: CodeResult) -> tuple[StepRecord, StepResult]:
        link, seconds = tries.link, time.monotonic() - tries.started
        states = tuple(
            (name, self._state(name)) for name in link.reads if self.chain.link_of(name) is None
        )
        record = StepRecord(
            *(self.key(link), link.number, link.step.name, seconds, tries.attempt, done.level),
            states,
            done.relations,
            done.read,
        )
        notes = tuple(_noted(link, name, one) for name, one in done.relations.items())
        work = _work_artifact(link.step, tries.attempt)
        left = (replace(one, attempt=tries.attempt) for one in done.result.artifacts)
        return record, replace(
            done.result, notes=(*notes, *done.result.notes), artifacts=(work, *left)
        )


def _is_open(record: StepRecord) -> bool:
    return any(one.settlement is Settlement.OPEN for one in record.relations.values())


def _work_artifact(step: Step, attempt: int) -> NewArtifact:
    """Keep the text that ran."""
    text = step.text if step.ranking is None else json.dumps(ranking_json(step.ranking))
    kind = "query" if step.work is Work.SQL else "code"
    return NewArtifact(kind, step.name, text.encode(), attempt=attempt)


def _noted(link: Link, name: str, relation: Relation) -> str:
    """Write the line of the scratchpad that tells later questions what there is."""
    shown = "; ".join(
        ", ".join(one_line(str(cell), _LONGEST_CELL) for cell in row)
        for row in relation.rows[:_SHOWN_ROWS]
    )
    more = "; ..." if len(relation.rows) > _SHOWN_ROWS else ""
    return f"step {link.number} {name}: {len(relation.rows):,} rows; {shown}{more}"[:1_000]
