"""Run the steps that an answer needs, each once, and again only after a change."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.catalog import QueryMistakeError, guard
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Assumption, Evidence, Origin, Verdict
from constat.explore.chain import DIALECT, PERIODS, determined, is_ordered, period_rows
from constat.explore.events import (
    CONNECTION,
    UNSETTLED,
    Executing,
    ExploreObserver,
    Retrying,
    StepFailed,
    StepFailure,
    StepFailureError,
    StepFinished,
    StepStarted,
    TableCreated,
)
from constat.explore.plan import Output, Work, one_line, ranking_json, ranking_query
from constat.explore.relations import STEP, EveryRow, Relation, Settlement, StepRows, listed_hash
from constat.explore.tables import OutputRequest, TableLimits, check_structures, select
from constat.frozen import frozen, slotted
from constat.logic import Kind, has_null_cells
from constat.logic.structures import types_form
from constat.store.clock import now
from constat.store.table_values import NewArtifact, StepResult, TableRows, table_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import ExternalPredicate
    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Step
    from constat.logic import Predicate, Row
    from constat.store.table_values import Artifact, StoredTable
    from constat.store.tables import DataStore

# A step counts as finished if and only if its record is there, so a crash loses no finished step
# and finds no half one. The key names the work and everything that was read: a record with the
# same key is the result of the same work.

FORMAT: Final = 1
ARTIFACT: Final = "step"
_MEDIA: Final = "application/json"


@frozen
class StepRecord:
    """A finished step: its key, how it was done, and its relations by name.

    `states` are those of the project's relations that it read, as far as they have names; `level`
    is the sandbox's, for code. `attempts` counts the tries. `read` names the rows that a SELECT or
    code was given, unless they were many.
    """

    key: str
    step: int
    name: str
    seconds: float
    attempts: int
    level: str = ""
    states: tuple[tuple[str, str], ...] = ()
    relations: Mapping[str, Relation] = field(default_factory=dict, hash=False)
    read: Mapping[str, str] = field(default_factory=dict, hash=False)


def step_key(told: object) -> str:
    """Name a piece of work by everything that it depends on."""
    text = json.dumps([FORMAT, told], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def record_artifact(record: StepRecord, hashes: Mapping[str, str]) -> NewArtifact:
    """Write a record; `hashes` are those of its tables."""
    told = {
        "format": FORMAT,
        "key": record.key,
        "name": record.name,
        "seconds": record.seconds,
        "attempts": record.attempts,
        "level": record.level,
        "states": [list(one) for one in record.states],
        "read": dict(record.read),
        "relations": {
            name: {"sha256": hashes[name], **_relation_json(one)}
            for name, one in record.relations.items()
        },
    }
    content = json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode()
    return NewArtifact("text", ARTIFACT, content, _MEDIA, record.attempts)


class Records:
    """The finished steps of an exploration, read once and added to."""

    def __init__(self, store: DataStore) -> None:
        self._store = store
        self._artifacts: dict[str, tuple[Artifact, dict[str, Any]]] = {}
        for artifact in store.artifacts(kind="text"):
            if artifact.name == ARTIFACT:
                told = _told(store.content(artifact))
                self._artifacts[str(told["key"])] = (artifact, told)

    def has(self, step: int) -> bool:
        """Whether a step has been finished before, in whatever form."""
        return any(artifact.step == step for artifact, _ in self._artifacts.values())

    def find(self, key: str, outputs: Iterable[Output]) -> StepRecord | None:
        """Give the finished step of a key, with its relations read again."""
        found = self._artifacts.get(key)
        if found is None:
            return None
        artifact, told = found
        by_name = {one.name: one for one in outputs}
        try:
            relations = {
                name: self._relation(by_name[name], about)
                for name, about in told["relations"].items()
            }
            return StepRecord(
                *(key, artifact.step, str(told["name"]), float(told["seconds"])),
                *(int(told["attempts"]), str(told["level"])),
                tuple((str(name), str(state)) for name, state in told["states"]),
                relations,
                {str(name): str(rows) for name, rows in told.get("read", {}).items()},
            )
        except (KeyError, ValueError, TypeError, AttributeError) as problem:
            raise _damaged(problem) from None

    def _relation(self, output: Output, about: dict[str, Any]) -> Relation:
        sha256 = str(about["sha256"])
        kept = self._store.tables(history=True)
        # Equal tables have equal hashes: whichever version it is, its rows are these.
        versions = [one.version for one in kept if (one.name, one.sha256) == (output.name, sha256)]
        if not versions:
            raise ValueError(f"its table `{output.name}` is not there")
        table = self._store.table(output.name, version=versions[-1])
        kinds = tuple(map(Kind, table.kinds))
        rows = table_rows(table)
        return Relation(
            output,
            kinds,
            rows,
            Settlement(about["settlement"]),
            tuple(map(_assumption, about["assumptions"])),
            tuple(map(str, about["reasons"])),
            int(about["unresolved"]),
            _weak(about["weak"], rows),
            _order(about["order"], len(rows)),
            str(about.get("check", "")),
        )

    def keep(self, record: StepRecord, result: StepResult) -> tuple[StoredTable, ...]:
        """Keep what a step left together with its record; gives the tables as they are kept."""
        tables = {name: one.table() for name, one in record.relations.items()}
        artifact = record_artifact(record, {name: one.sha256 for name, one in tables.items()})
        whole = replace(
            result,
            tables={**result.tables, **tables},
            artifacts=(*result.artifacts, artifact),
        )
        kept = self._store.commit(whole)
        self._artifacts[record.key] = (kept.artifacts[-1], _told(artifact.content))
        return tuple(one for one in kept.tables if one.name in record.relations)


def _relation_json(relation: Relation) -> dict[str, object]:
    return {
        "settlement": relation.settlement.value,
        "assumptions": [_assumption_json(one) for one in relation.assumptions],
        "reasons": list(relation.reasons),
        "unresolved": relation.unresolved,
        "weak": _weak_json(relation),
        "order": list(relation.order),
        "check": relation.check,
    }


def _weak_json(relation: Relation) -> object:
    """Write which rows are not certain: one verdict for all of them, or one for each place."""
    weak = relation.weak
    if isinstance(weak, EveryRow):
        return weak.verdict.value
    places = {row: place for place, row in enumerate(relation.rows)} if weak else {}
    return [[places[row], one.value] for row, one in weak.items()]


def _weak(told: object, rows: Sequence[Row]) -> Mapping[Row, Verdict]:
    if isinstance(told, str):
        return EveryRow(rows, Verdict(told))
    if not isinstance(told, list):
        raise TypeError
    return {rows[place]: Verdict(verdict) for place, verdict in told}


def _order(places: list[int], count: int) -> tuple[int, ...]:
    if places and sorted(places) != list(range(count)):
        raise ValueError("the order of its rows does not fit them")
    return tuple(places)


def _assumption_json(one: Assumption) -> dict[str, object]:
    return {
        "kind": one.kind,
        "subject": one.subject,
        "text": one.text,
        "confidence": str(one.confidence),
        "parts": [_assumption_json(part) for part in one.parts],
    }


def _assumption(told: dict[str, Any]) -> Assumption:
    return Assumption(
        str(told["kind"]),
        str(told["subject"]),
        str(told["text"]),
        Decimal(str(told["confidence"])),
        tuple(map(_assumption, told["parts"])),
    )


def _told(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
        if found["format"] != FORMAT:
            raise _damaged(ValueError("it was written by another version of Constat"))
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise _damaged(problem) from None
    return dict(found)


def _damaged(problem: Exception) -> ConstatError:
    reason = str(problem) if type(problem) is ValueError else type(problem).__name__
    message = f"the record of a step cannot be read: {reason}"
    hint = "begin a new exploration; the tables of this one are still there"
    return ConstatError([Diagnostic("C0900", message, help=hint)])


# Nothing here knows projects, connections or models: who evaluates, runs code or mends a step is a
# callable.

DATABASE: Final = "database "
"""Before the name of a database, where its state is asked for and not that of a relation."""


class Evaluating(Protocol):
    """Computes relations of a program, and tells the state of relations of the project."""

    def relation(
        self,
        program: AnalysedProgram,
        output: Output,
        given: Mapping[str, ExternalPredicate],
        step: int,
    ) -> Relation:
        """Compute a whole relation; `given` are those that earlier steps have."""
        ...

    def state(self, name: str) -> str | None:
        """Name all that a relation from outside depends on; `None` where that has no name.

        The name differs whenever the rows may.
        """
        ...


@frozen
class CodeResult:
    """What an attempt left: relations, what else is kept of it, and how code was kept in.

    `read` names the very rows that a SELECT or code was given, by the names of their relations.
    """

    relations: Mapping[str, Relation]
    result: StepResult
    level: str = ""
    read: Mapping[str, str] = field(default_factory=dict)


@frozen
class Bounds:
    """What each step may use.

    `retries` are corrections by a model, `connection_retries` further tries where a source did not
    answer, `connection_pause` the seconds before each.
    """

    retries: int = 2
    connection_retries: int = 1
    connection_pause: float = 0.5
    rows: int = 2_000_000
    seconds: float = 60.0
    memory: int = 1 << 30


@frozen
class RunParts:
    """Who does the work.

    `code` runs a step of Python on its inputs, with the kinds of its outputs; without it none may
    run. `mend` gives the chain with a step written anew after a failure, or nothing where that was
    not possible.
    """

    evaluating: Evaluating
    store: DataStore
    today: date
    tell: ExploreObserver
    bounds: Bounds = field(default_factory=Bounds)
    code: (
        Callable[[Link, Mapping[str, Relation], Mapping[str, tuple[Kind, ...]]], CodeResult] | None
    ) = None
    mend: Callable[[Chain, Link, StepFailure], Chain | None] | None = None


NAMED_ROWS: Final = 20_000
"""How many rows are named by their hash where a step reads them: as many as a proof may state."""
_PYTHON_HINT = "allow it in constat.yaml: `explore: {python: true}`"


class Working:
    """The work of steps over what has been finished: relations by the number of their step.

    `project` has the relations of the project that were read: who hands it in reads them once.
    """

    def __init__(
        self,
        chain: Chain,
        finished: Mapping[int, Mapping[str, Relation]],
        parts: RunParts,
        project: dict[str, Relation] | None = None,
    ) -> None:
        self._chain = chain
        self._finished = finished
        self._parts = parts
        self._project = {} if project is None else project

    def run(self, link: Link) -> CodeResult:
        """Do the work of a step."""
        step = link.step
        if step.work is Work.PYTHON:
            return self._code(link)
        result = StepResult(link.number, step.name)
        if step.work is Work.RULES or step.source:
            relations = {one.name: self._evaluated(link, one) for one in step.outputs}
            return CodeResult(relations, result)
        inputs = {name: self.input(name, link) for name in link.reads}
        relations = {one.name: self._selected(link, one, inputs) for one in step.outputs}
        return CodeResult(relations, result, read=_named(inputs))

    def _code(self, link: Link) -> CodeResult:
        if self._parts.code is None:
            message = "steps of Python code may not run here"
            raise StepFailureError(StepFailure("not allowed", message, hint=_PYTHON_HINT))
        inputs = {name: self.input(name, link) for name in link.reads}
        predicates = self._chain.analysed.program.predicates
        kinds = {one.name: predicates[one.name].kinds for one in link.step.outputs}
        done = self._parts.code(link, inputs, kinds)
        rests = Assumption(
            "fact", link.step.name, f"the code of step `{link.step.name}` computes its goal"
        )
        relations = {
            name: _resting(
                check_structures(one, predicates[name].columns),
                [*_assumptions(inputs.values()), rests],
            )
            for name, one in done.relations.items()
        }
        return replace(done, relations=relations, read=_named(inputs))

    def _evaluated(self, link: Link, output: Output) -> Relation:
        """Compute a relation by rules, or by a SELECT on a source, which answers like a relation.

        Steps whose rows are not certain are computed with it, so that what they rest on is told of
        each row and not of all of them.
        """
        below = self._chain.below([output.name])
        derived = [one for one in below if one.number == link.number or self._weak(one)]
        program = self._chain.program_with(derived)
        given = self.given(one for one in below if one not in derived)
        found = self._parts.evaluating.relation(program, output, given, link.number)
        return self._bounded(found)

    def _bounded(self, found: Relation) -> Relation:
        most = self._parts.bounds.rows
        if len(found.rows) > most:
            message = f"`{found.output.name}` has more than {most:,} rows"
            raise StepFailureError(StepFailure("limit", message, hint="sum up, or rank, earlier"))
        if not isinstance(found.rows, TableRows) and any(map(has_null_cells, found.rows)):
            message = (
                f"`{found.output.name}` has cells whose values nobody knows (`null = unknown`)"
            )
            hint = "leave these columns out by a step of rules that writes `_` there"
            raise StepFailureError(StepFailure(UNSETTLED, message, hint=hint, public=message))
        return found

    def _weak(self, link: Link) -> bool:
        return is_weak(link, self._finished.get(link.number, {}))

    def _selected(self, link: Link, output: Output, inputs: Mapping[str, Relation]) -> Relation:
        """Compute a ranking, or a SELECT over relations."""
        step, bounds = link.step, self._parts.bounds
        if step.ranking is not None:
            query = ranking_query(step, step.ranking)
        else:
            query = determined(_guarded(step.text), len(output.columns))
        declared = self._chain.analysed.program.predicates[output.name]
        limits = TableLimits(bounds.seconds, bounds.memory)
        ordered = step.ranking is not None or is_ordered(query)
        found = select(
            query, inputs, OutputRequest(output, declared.kinds, bounds.rows, limits, ordered)
        )
        check_structures(found, declared.columns)
        return _resting(found, _assumptions(inputs.values()))

    def input(self, name: str, link: Link) -> Relation:
        """Give a whole relation to a step by SELECT or code. Raises where it is not settled."""
        found = self.given_to(name, link)
        if found.settlement is Settlement.OPEN:
            reason = found.reasons[0] if found.reasons else "there may be more"
            message = f"the rows of `{name}` are not all known: {reason}"
            hint = "state what is missing (`constat facts add`), or leave that part out by rules"
            raise StepFailureError(StepFailure(UNSETTLED, message, hint=hint))
        return found

    def given_to(self, name: str, link: Link) -> Relation:
        """Give a whole relation that a step reads or gives, settled or not."""
        below = self._chain.link_of(name)
        return self._of_project(name, link) if below is None else self._of_step(below, name)

    def _of_step(self, link: Link, name: str) -> Relation:
        return self._finished[link.number][name]

    def _of_project(self, name: str, link: Link) -> Relation:
        if name in PERIODS and name not in self._chain.base.program.predicates:
            return self._days(name)
        if name not in self._project:
            program = self._chain.analysed
            declared = program.program.predicates[name]
            columns = tuple((one.name, one.type_name) for one in declared.columns)
            found = self._parts.evaluating.relation(
                program, Output(name, columns), self.given(()), link.number
            )
            self._check_whole(name, found, link)
            self._project[name] = self._bounded(found)
        return self._project[name]

    def _check_whole(self, name: str, found: Relation, link: Link) -> None:
        """Refuse rows that lack some: a row without a value in a column that is read is no match.

        A SELECT and code count and sum over all rows, which rules name column by column.
        """
        counting = self._chain.counting(name)
        if counting is None or found.settlement is Settlement.OPEN:
            return
        program, counted = counting
        rows = self._parts.evaluating.relation(program, counted, self.given(()), link.number).rows
        if tuple(rows) != ((len(found.rows),),):
            empty = ", ".join(f"`{one}`" for one in self._chain.may_be_empty(name))
            message = f"`{name}` has rows without a value (`null = none`) in one of {empty}"
            hint = f"read it by a step of rules: {self._chain.always_there(name)}"
            raise StepFailureError(StepFailure(UNSETTLED, message, hint=hint, public=message))

    def given(self, links: Iterable[Link]) -> dict[str, ExternalPredicate]:
        """Give the relations of finished steps, and the days, as external predicates."""
        predicates = self._chain.analysed.program.predicates
        found: dict[str, ExternalPredicate] = {}
        for link in links:
            for name, relation in self._finished.get(link.number, {}).items():
                found[name] = _outside(predicates[name], relation, link.step.name)
        for name in PERIODS:
            if name not in self._chain.base.program.predicates:
                found[name] = _outside(predicates[name], self._days(name), name)
        return found

    def _days(self, name: str) -> Relation:
        declared, today = PERIODS[name], self._parts.today
        rows = ((today.isoformat(),),) if name == "today" else period_rows(today)
        columns = tuple((one.name, one.type_name) for one in declared.columns)
        return Relation(Output(name, columns), declared.kinds, rows)


def is_weak(link: Link, relations: Mapping[str, Relation]) -> bool:
    """Whether a step's rules have to be looked at again, because its rows are not certain."""
    certain = all(one.settlement is Settlement.CERTAIN for one in relations.values())
    return link.step.work is Work.RULES and not certain


def _named(inputs: Mapping[str, Relation]) -> dict[str, str]:
    """Name the rows that a step was given, so that nobody can say later that they were others."""
    return {
        name: listed_hash(name, one.rows, one.kinds)
        for name, one in inputs.items()
        if len(one.rows) <= NAMED_ROWS
    }


def _guarded(text: str) -> str:
    try:
        return guard(text, DIALECT).text
    except QueryMistakeError as problem:
        # The guard sees the text and nothing of the data.
        failure = StepFailure("syntax", problem.reason, hint=problem.help, public=problem.reason)
        raise StepFailureError(failure) from None


def _outside(predicate: Predicate, relation: Relation, name: str) -> ExternalPredicate:
    evidence = Evidence(STEP, Origin.DERIVED, f"step {name}", now(), row_count=len(relation.rows))
    return StepRows(predicate, relation, evidence)


def _assumptions(inputs: Iterable[Relation]) -> list[Assumption]:
    return list(dict.fromkeys(one for relation in inputs for one in relation.assumptions))


def _resting(relation: Relation, assumptions: list[Assumption]) -> Relation:
    """Give a relation whose every row rests on these."""
    if not assumptions:
        return relation
    return replace(
        relation,
        settlement=Settlement.UNDER,
        assumptions=tuple(assumptions),
        weak=EveryRow(relation.rows, Verdict.PROVED_UNDER),
    )


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


@slotted
class _Tries:
    """How often a step was tried, corrected, and tried again for its connection."""

    link: Link
    attempt: int = 0
    corrected: int = 0
    reconnected: int = 0
    started: float = field(default_factory=time.monotonic)


class Running:
    """One run over a chain; `chain` is another one once a step has been mended."""

    def __init__(self, chain: Chain, parts: RunParts) -> None:
        self.chain = chain
        self.finished: dict[int, StepRecord] = {}
        self.computed: set[int] = set()
        self.had_before: set[int] = set()
        self._parts = parts
        self._records = Records(parts.store)
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
        if step.work is not Work.RULES and any(map(self.chain.may_be_empty, link.reads)):
            # Rows without a value were once left out of what such a step reads.
            told["whole"] = True
        if step.work is Work.SQL and step.source:
            told["source"] = [step.source, self._state(step.outputs[0].name)]
        if step.work is Work.PYTHON:
            told["sources"] = [[one, self._state(f"{DATABASE}{one}")] for one in step.sources]
            told["state"] = self._parts.store.state(at=link.number - 1)
        return told

    def _state(self, name: str) -> str:
        """Name the state of what is read from outside; one run reads each state once."""
        if name not in self._states:
            own = name in self.chain.base.program.predicates
            if name in PERIODS and not own:
                self._states[name] = f"today: {self._parts.today.isoformat()}"
            else:
                self._states[name] = self._parts.evaluating.state(name) or ""
        return self._states[name]

    def _compute(self, link: Link) -> None:
        """Run a step and keep it."""
        self._parts.tell(
            StepStarted(link.number, link.step.name, link.step.goal, link.step.work.value)
        )
        if self._records.has(link.number):
            self.had_before.add(link.number)
        record, result = self._tried(_Tries(link))
        for one in self._records.keep(record, result):
            self._parts.tell(TableCreated(link.number, one.name, one.rows, one.version, one.sha256))
        self.computed.add(link.number)
        self._tell_finished(link, record, "computed")

    def _tell_finished(self, link: Link, record: StepRecord, how: str) -> None:
        self.finished[link.number] = record
        rows = sum(len(one.rows) for one in record.relations.values())
        seconds = record.seconds if how == "computed" else 0.0
        self._parts.tell(StepFinished(link.number, link.step.name, seconds, rows, how))

    def _tried(self, tries: _Tries) -> tuple[StepRecord, StepResult]:
        """Try a step until it gives its relations, or nothing more can be done."""
        while True:
            tries.attempt += 1
            self._parts.tell(Executing(tries.link.number, tries.attempt))
            relations = {number: one.relations for number, one in self.finished.items()}
            try:
                done = Working(self.chain, relations, self._parts, self._project).run(tries.link)
            except StepFailureError as problem:
                corrected = self._again(tries, problem.failure)
            else:
                return self._finished(tries, done)
            self._parts.tell(Retrying(tries.link.number, tries.attempt + 1, corrected))

    def _again(self, tries: _Tries, failure: StepFailure) -> bool:
        """Make ready for another try; tells whether the step was corrected."""
        bounds, mend = self._parts.bounds, self._parts.mend
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
        self._parts.tell(StepFailed(link.number, attempt, failure.kind, message, retryable))
        told = NewArtifact("error", link.step.name, failure.told().encode(), attempt=attempt)
        printed = NewArtifact("output", link.step.name, failure.output.encode(), attempt=attempt)
        asked = (
            NewArtifact("query", name, text.encode(), attempt=attempt)
            for name, text in failure.queries
        )
        shown = (printed,) if failure.output else ()
        artifacts = (_work_artifact(link.step, attempt), told, *shown, *asked)
        self._parts.store.commit(StepResult(link.number, link.step.name, artifacts=artifacts))

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
