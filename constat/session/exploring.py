"""Explore: from a question to a plan, from a plan to an answer, and on to the next question."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import time
import traceback
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from constat import __version__
from constat.catalog import SourceFailureError
from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import CallFinished, Limits, Verdict
from constat.explore.answered import (
    AnswerProof,
    ExplorationState,
    Explored,
    Said,
    StepAttempt,
    StepRecordView,
    StepReport,
    narrate,
    plain_sentence,
)
from constat.explore.chain import PERIODS, Chain, compile_chain, period_rows
from constat.explore.events import (
    CONNECTION,
    DIFFERENCE,
    Answered,
    FactResolved,
    PlanReady,
    StepFailure,
    StepFailureError,
)
from constat.explore.plan import (
    LONGEST_QUESTION,
    Plan,
    PlanWord,
    Work,
    plan_hashes,
    plan_rule,
    ranking_query,
    write_plan,
)
from constat.explore.planning import (
    Earlier,
    Mended,
    Mending,
    Planning,
    PlanningContext,
    check_draft,
)
from constat.explore.proofs import Known, computing_links, needed_relations, proof_program
from constat.explore.reading import read_plan
from constat.explore.relations import (
    DUCKDB,
    PASSED,
    PYTHON,
    Computed,
    Relation,
    Settlement,
    answer_text,
    listed_hash,
    sorted_rows,
)
from constat.explore.runs import (
    ARTIFACT,
    DATABASE,
    NAMED_ROWS,
    Bounds,
    CodeResult,
    Running,
    RunParts,
    StepsFailedError,
    Working,
)
from constat.explore.tables import RESULT, fit_table
from constat.frozen import frozen
from constat.library.reviewing.confirmations import Confirmations
from constat.logic.structures import types_form
from constat.model import Task
from constat.plan.compilation import predicates_below, rules_by_head
from constat.project.settings import WEAK
from constat.proof import build_certificate, decide
from constat.proof.encoding import canonical
from constat.session.answers import DIFFERENT, Settled
from constat.session.asked_goals import read_query
from constat.session.bulk import BulkQuery, answer_in_bulk
from constat.session.checking import Checks
from constat.session.confirmation import plan_reading, require_goal, translate_plan
from constat.session.conversing import (
    EXPLORE,
    MOST_ROWS,
    Conversation,
    Done,
    Exchange,
    tells_values,
    told_before,
    told_mistakes,
)
from constat.session.options import BulkOptions
from constat.session.plan_approvals import (
    Around,
    ExploreOptions,
    ModelAccess,
    PlanApprovals,
    check_sources,
)
from constat.session.querying import compile_query, outcome_answers, try_small
from constat.session.result import checked
from constat.session.rows import StoredRows
from constat.store import FactStore
from constat.store.clock import now
from constat.store.explored import (
    ANSWERED,
    FAILED,
    INTERRUPTED,
    RUNNING,
    ExploredStore,
    NewQuestion,
)
from constat.store.table_values import MANY, NewArtifact, StepResult, TableRows
from constat.store.tables import DataStore, StoreFailureError
from constat.syntax import print_rule
from constat.tiers import Chain as TierChain
from constat.tiers import build_externals
from constat.tiers.building import Connections
from constat.tiers.cache import concerns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Event, ExternalPredicate
    from constat.explore.chain import Link
    from constat.explore.events import ExploreObserver
    from constat.explore.plan import Output, Step
    from constat.explore.proofs import ProofProgram
    from constat.explore.sandbox import Run, Sandbox
    from constat.logic import Kind, Row
    from constat.project import Project
    from constat.proof import Decision
    from constat.proof.translation import Translation
    from constat.session.answers import Answers
    from constat.session.parts import SessionParts
    from constat.store.explored import Exploration, Question
    from constat.store.table_values import StoredTable
    from constat.tiers import Tiers

# Run a question whose plan is kept: compute what its answer needs, word it, prove it, keep it.

# Compute the steps of a chain: relations over the sources, and Python in the sandbox.


class CodeSteps:
    """Runs the steps of code of one exploration; `close` ends what was started."""

    def __init__(self, project: Project, store: DataStore) -> None:
        self._project = project
        self._store = store
        self._connections = Connections(project)
        self._sandbox: Sandbox | None = None

    def run(
        self, link: Link, inputs: Mapping[str, Relation], kinds: Mapping[str, tuple[Kind, ...]]
    ) -> CodeResult:
        """Run a step; `kinds` are those of its outputs. Raises `StepFailureError`."""
        from constat.explore import sandbox as box  # noqa: PLC0415  loaded when it is used

        code = box.Code(
            link.step.text,
            inputs={name: one.table() for name, one in inputs.items()},
            state=self._store.state(at=link.number - 1),
            outputs=tuple(one.name for one in link.step.outputs),
            databases=link.step.sources,
        )
        try:
            run: Run = self._opened(box).run(code)
        except ConstatError as problem:
            told = problem.diagnostics[0]
            failure = StepFailure("not allowed", told.message, hint=told.help or told.note)
            raise StepFailureError(failure) from None
        finally:
            self._connections.release()
        if run.error is not None:
            raise StepFailureError(_with_output(_failure(run), run))
        try:
            return self._result(link, run, kinds)
        except StepFailureError as problem:
            raise StepFailureError(_with_output(problem.failure, run)) from None

    def close(self) -> None:
        """End the sandbox and close the connections."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.close()
        self._connections.close()

    def _opened(self, box: Any) -> Sandbox:  # noqa: ANN401  a module that is loaded late
        if self._sandbox is None:
            setting = self._project.explore
            from constat.explore.sandbox.databases import Reader  # noqa: PLC0415  loaded when it is used

            sources = {
                name: Reader(partial(self._connections.reading, name), setting.rows)
                for name in self._project.databases
            }
            limits = box.StepLimits(
                seconds=setting.seconds, memory=setting.memory, rows=setting.rows
            )
            weak = setting.sandbox == WEAK and setting.unconfined
            self._sandbox = box.Sandbox(limits=limits, sources=sources, allow_none=weak)
        return self._sandbox

    def _result(self, link: Link, run: Run, kinds: Mapping[str, tuple[Kind, ...]]) -> CodeResult:
        relations = {one.name: self._fitted(one, run, kinds[one.name]) for one in link.step.outputs}
        others = {name: table for name, table in run.tables.items() if name not in relations}
        name = link.step.name
        artifacts = [NewArtifact("output", name, run.output.encode())] if run.output else []
        artifacts += [NewArtifact("plot", one.name, one.png, "image/png") for one in run.plots]
        artifacts += [NewArtifact("query", one.database, one.text.encode()) for one in run.queries]
        result = StepResult(link.number, name, others, run.state, run.notes, tuple(artifacts))
        return CodeResult(relations, result, run.level.value)

    def _fitted(self, output: Output, run: Run, kinds: tuple[Kind, ...]) -> Relation:
        table = run.tables.get(output.name)
        if table is None:
            hint = f"leave it by `store.put({output.name!r}, frame)`"
            message = f"it left no table `{output.name}`"
            raise StepFailureError(StepFailure(RESULT, message, hint=hint, public=message))
        return fit_table(output, kinds, table, self._project.explore.rows)


def _failure(run: Run) -> StepFailure:
    error = run.error
    if error is None:
        raise ValueError("the step has not failed")
    return StepFailure(
        error.kind.value,
        error.message,
        error.line,
        error.traceback,
        error.variables,
    )


def _with_output(failure: StepFailure, run: Run) -> StepFailure:
    queries = tuple((one.database, one.text) for one in run.queries)
    return replace(failure, output=run.output, queries=queries)


# What the codes of a query that was not answered say about trying again.
_KINDS: Final = (
    (("C0515", "C0516", "C0517", "C0518"), "query"),
    (("C0523", "C0524", "C0525"), "result"),
    (("C0521",), "timeout"),
    (("C0522",), "limit"),
)
_MOST_REASONS: Final = 10


def _waited(answers: Answers) -> Answers:
    """Wait for the check of a step's rows. Raises `StepFailureError` where they are others."""
    try:
        found = answers.checked()
    except KeyboardInterrupt:
        if answers.checking is not None:
            answers.checking.stop()
        raise
    if found.recount is None or not found.recount.differs:
        return found
    why = f"what it computed was counted again from the rules, and {found.recount.why}"
    hint = "this is a mistake of Constat; please report it with the rules"
    raise StepFailureError(StepFailure(DIFFERENCE, why, hint=hint, public=why))


def _said(answers: Answers) -> str:
    """Say what became of checking them; nothing where there was no need."""
    if not answers.in_bulk:
        return ""
    if answers.recount is None:
        return "nobody has counted it again"
    return PASSED if answers.recount.passed else answers.recount.why


class ChainRelations:
    """Evaluates over one set of connections, which `close` closes. Implements `Evaluating`.

    Rows of bulk are counted again as `check` says, before they are kept.
    """

    def __init__(self, parts: SessionParts, tell: ExploreObserver, most: int, check: str) -> None:
        self._parts = parts
        self._tell = tell
        self._most = most
        self._check = check
        self._step = 0
        self._tiers: Tiers | None = None
        self._chain: Chain | None = None
        self._checks = Checks(parts.project.state)
        self.rows_read = 0
        """How many rows came from outside so far."""

    def use(self, chain: Chain) -> None:
        """Take another chain: its SELECTs on sources are asked through tiers of their own."""
        self.close()
        self._chain = chain

    def close(self) -> None:
        """Close all connections."""
        tiers, self._tiers = self._tiers, None
        if tiers is not None:
            tiers.close()

    def relation(
        self,
        program: AnalysedProgram,
        output: Output,
        given: Mapping[str, ExternalPredicate],
        step: int,
    ) -> Relation:
        """Compute a whole relation. Raises `StepFailureError` where a source does not answer."""
        self._step = step
        link = None if self._chain is None else self._chain.link_of(output.name)
        asked = link is not None and link.step.work is Work.SQL and bool(link.step.source)
        try:
            return self._computed(program, output, given, asked=asked)
        except ConstatError as problem:
            if not asked:
                raise
            # What is wrong with a SELECT is said like any failure of a step: it may be mended.
            told = problem.diagnostics[0]
            raise StepFailureError(StepFailure("query", told.message, hint=told.help)) from None

    def _computed(
        self,
        program: AnalysedProgram,
        output: Output,
        given: Mapping[str, ExternalPredicate],
        *,
        asked: bool,
    ) -> Relation:
        goal = f"{output.name}({', '.join(f'?{name}' for name, _ in output.columns)})"
        compiled = compile_query(read_query(goal, program), program)
        limits, created = self._parts.limits.begun(), now()
        with self._evaluating() as tiers:
            externals = {**tiers.externals, **given}
            engine = self._parts.engine
            outcome = try_small(engine, compiled, externals, limits, self._hear)
            if outcome is not None:
                answers = outcome_answers(
                    compiled, outcome, created=created, confidence=False, clock=limits.proving()
                )
            else:
                # What is kept cannot be taken back: it waits for its check.
                whole = BulkOptions(self._check, checks=self._checks, wait=0.0)
                large = BulkQuery(compiled, externals, limits, created, whole)
                answers = _waited(answer_in_bulk(large, self._hear))
            if asked and answers.settled is Settled.OPEN:
                raise StepFailureError(_unanswered(answers))
            return self._found(answers, output, program.program.predicates[output.name].kinds)

    def _found(self, answers: Answers, output: Output, kinds: tuple[object, ...]) -> Relation:
        if len(answers.sure) > self._most:
            message = f"`{output.name}` has more than {self._most:,} rows"
            raise StepFailureError(StepFailure("limit", message, hint="sum up, or rank, earlier"))
        weak: dict[Row, Verdict] = dict(answers.weak)
        rows: Sequence[Row]
        if isinstance(answers.sure, StoredRows) and not weak and len(answers.sure) >= MANY:
            # They stay as they lie: nobody may ever look at most of them.
            rows = TableRows(answers.sure.as_table([name for name, _ in output.columns]))
        else:
            held = [row for row in answers.sure if weak.get(row) is not Verdict.UNRESOLVED]
            rows = sorted_rows(held)
        reasons = tuple(
            f"{one.reason} ({one.goal})" if one.goal else one.reason
            for one in answers.reasons[:_MOST_REASONS]
        )
        more = len(answers.reasons) - _MOST_REASONS
        reasons += (f"and {more:,} more reasons",) if more > 0 else ()
        return Relation(
            output,
            kinds,  # type: ignore[arg-type]  # kinds of columns
            rows,
            Settlement(answers.settled.value),
            answers.assumptions,
            reasons,
            answers.count(Verdict.UNRESOLVED) + answers.open_shapes,
            {row: one for row, one in weak.items() if one is not Verdict.UNRESOLVED},
            check=_said(answers),
        )

    def decide(self, proof: ProofProgram, limits: Limits | None) -> Decision:
        """Decide the goal of a program over the chain's sources and what is stated beside them."""
        with self._evaluating() as tiers:
            return decide(
                self._parts.engine,
                proof.program,
                proof.goal,
                {**tiers.externals, **proof.given},
                limits or self._parts.limits,
            )

    def state(self, name: str) -> str | None:
        """Name the rules below a relation, their configuration, and the states of the sources."""
        if name.startswith(DATABASE):
            return self._database_state(name.removeprefix(DATABASE))
        program = self._program()
        below, heads = predicates_below(program, name), rules_by_head(program)
        numbers = sorted(number for one in below for number in heads.get(one, ()))
        predicates = program.program.predicates
        outside = sorted(below & program.external)
        with self._evaluating() as tiers:
            states = []
            for one in outside:
                external = tiers.externals[one]
                state = external.state() if isinstance(external, TierChain) else None
                if state is None:
                    return None
                states.append(state)
        told: list[object] = [
            [print_rule(program.rules[number]) for number in numbers],
            [concerns(predicates[one], self._parts.project, "explored") for one in outside],
            states,
        ]
        types = types_form([column for one in sorted(below) for column in predicates[one].columns])
        told += [types] if types else []
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def _database_state(self, name: str) -> str | None:
        connections = Connections(self._parts.project)
        try:
            return connections.reading(name).snapshot
        except (SourceFailureError, KeyError):
            return None
        finally:
            connections.close()

    def _program(self) -> AnalysedProgram:
        if self._chain is None:
            raise RuntimeError("no chain was given")
        return self._chain.analysed

    @contextmanager
    def _evaluating(self) -> Iterator[Tiers]:
        """Give the tiers for one evaluation, bounded in time, in one read transaction of each."""
        tiers = self._opened()
        tiers.start(self._parts.limits.seconds)
        try:
            yield tiers
        except KeyboardInterrupt:
            tiers.cancel()
            raise
        finally:
            tiers.release()

    def _opened(self) -> Tiers:
        if self._tiers is None:
            project = self._parts.project
            self._tiers = build_externals(
                project,
                self._program(),
                FactStore(project.state),
                serve=True,
                observe=self._hear,
                checker=checked,
                models=self._parts.models,
            )
        return self._tiers

    def _hear(self, event: Event) -> None:
        if isinstance(event, CallFinished):
            self.rows_read += event.rows
            self._tell(FactResolved(self._step, event.predicate, event.rows, event.seconds))


def _unanswered(answers: Answers) -> StepFailure:
    """Say why a SELECT on a source gave nothing, or not all."""
    reason = answers.reasons[0].reason if answers.reasons else answers.stopped or "no answer"
    kinds = (kind for codes, kind in _KINDS for code in codes if code in reason)
    return StepFailure(next(kinds, CONNECTION), reason)


MOST_STATED_ROWS: Final = NAMED_ROWS
"""How many rows of one relation a certificate may state."""
UNASKED_ROWS: Final = 10_000
"""How many rows may have been read where nobody asked for a proof."""
_UNASKED: Final = Limits(seconds=3.0, rows=50_000, calls=2_000)
_MEDIA: Final = "application/json"


class Proofs:
    """Proves answers of one run."""

    def __init__(self, relations: ChainRelations, parts: RunParts) -> None:
        self._relations = relations
        self._parts = parts

    def prove(
        self, running: Running, plan: Plan, word: PlanWord, *, asked: bool = True
    ) -> AnswerProof:
        """Prove an answer whose steps have run; whatever fails is why there is no proof.

        Unless that was asked for, only what takes less than a moment is proved.
        """
        try:
            if asked:
                return self._proved(running, plan, word, None)
            return self._unasked(running, plan, word)
        except (ConstatError, SourceFailureError, StoreFailureError) as problem:
            return AnswerProof(why=_reason(problem))
        except Exception as problem:  # noqa: BLE001  the answer stands, whatever ends its proof
            if os.environ.get("CONSTAT_DEBUG"):
                traceback.print_exc()
            kind = type(problem).__name__
            mistake = "a mistake in Constat, CONSTAT_DEBUG=1 shows where"
            return AnswerProof(why=f"the proof ended with an internal error ({kind}), {mistake}")

    def _unasked(self, running: Running, plan: Plan, word: PlanWord) -> AnswerProof:
        # A step that was kept has read nothing now; its tables say how much there is to read.
        below = {name for link in running.chain.below([plan.answer]) for name in link.gives}
        kept = (one.rows for one in self._parts.store.tables() if one.name in below)
        rows = self._relations.rows_read + sum(kept)
        if rows > UNASKED_ROWS:
            why = "more rows were read than are proved without being asked: `--certificate FILE`"
            return AnswerProof(why=why)
        return self._proved(running, plan, word, _UNASKED)

    def _proved(
        self, running: Running, plan: Plan, word: PlanWord, limits: Limits | None
    ) -> AnswerProof:
        chain, created = running.chain, now()
        answer = running.need([plan.answer])[plan.answer]
        before = dict(running.finished)
        try:
            known = self._known(running, plan, created)
        finally:
            # What only the proof looked at is no part of what the answer took.
            looked = running.finished
            running.finished = {
                number: one
                for number, one in looked.items()
                if number in before or number in running.computed
            }
        program = proof_program(chain, plan, known, word)
        decision = self._relations.decide(program, limits)
        expected = {Verdict.PROVED, Verdict.PROVED_UNDER}
        if answer.settlement is Settlement.OPEN:
            expected.add(Verdict.UNRESOLVED)
        if decision.verdict not in expected:
            raise _not_proved(decision)
        certificate = build_certificate(
            decision, created=created, engine_version=f"constat {__version__}"
        )
        report = check_certificate(certificate)
        if not report.accepted:
            raise _unproved(f"the checker rejects it: {report.reason}")
        return AnswerProof(decision.verdict, certificate)

    def _known(self, running: Running, plan: Plan, at: str) -> Known:
        chain = running.chain
        wanted = needed_relations(chain, plan)
        try:
            # What a kept step rests on was not even read; now it is.
            running.need([name for _, name in wanted if chain.link_of(name) is not None])
        except StepsFailedError as problem:
            raise _unproved(str(problem)) from None
        finished = {number: one.relations for number, one in running.finished.items()}
        working = Working(chain, finished, self._parts)
        relations: dict[str, Sequence[tuple[object, ...]]] = {**_days(self._parts.today)}
        for link, name in wanted:
            found = self._relation(working, link, name)
            if len(found.rows) > MOST_STATED_ROWS:
                raise _too_large(name, len(found.rows))
            relations[name] = found.rows
        computed = self._computed(running, plan, relations)
        return Known(relations, computed, at, self._parts.today.isoformat())  # type: ignore[arg-type]

    @staticmethod
    def _relation(working: Working, link: Link, name: str) -> Relation:
        try:
            return working.given_to(name, link)
        except StepFailureError as problem:
            raise _unproved(problem.failure.message) from None

    def _computed(
        self, running: Running, plan: Plan, relations: dict[str, Sequence[tuple[object, ...]]]
    ) -> dict[str, Computed]:
        chain, times = running.chain, _times(self._parts.store)
        found = {}
        for link in computing_links(chain, plan):
            record = running.finished[link.number]
            read = tuple(
                listed_hash(name, relations[name], _kinds(chain, name))  # type: ignore[arg-type]
                for name in link.reads
            )
            # What is attested is what was read then, and not what is there now.
            for name, rows in zip(link.reads, read, strict=True):
                if record.read.get(name) != rows:
                    raise _other_rows(link, name)
            read += tuple(f"database {one}" for one in link.step.sources)
            for name in link.gives:
                found[name] = _how(link, read, times.get(link.number, ""), record.level, plan)
        return found


def keep_certificate(
    store: DataStore, chain: Chain, plan: Plan, question: int, certificate: bytes
) -> None:
    """Keep a certificate beside the answer's table."""
    link = chain.link_of(plan.answer)
    if link is None:
        return
    artifact = NewArtifact("text", _name(question), certificate, _MEDIA)
    store.commit(StepResult(link.number, link.step.name, artifacts=(artifact,)))


def kept_certificate(store: DataStore, question: int) -> bytes:
    """Give the latest certificate of a question; nothing where none was kept."""
    found = [one for one in store.artifacts(kind="text") if one.name == _name(question)]
    return store.content(found[-1]) if found else b""


def kept_proof(
    store: DataStore, chain: Chain, explored: Explored, word: PlanWord
) -> AnswerProof | None:
    """Give the proof that was kept with an answer: of these rows, by the plan as it is approved."""
    certificate, plan = kept_certificate(store, explored.number), explored.plan
    if not certificate or not check_certificate(certificate).accepted:
        return None
    document = json.loads(certificate)
    relation = explored.relation
    # Steps may have been run again since, without a proof of what they gave then.
    rows = answer_text(listed_hash(plan.answer, relation.rows, relation.kinds))
    if all(one["name"] != rows for one in document["sources"]):
        return None
    rule, _ = plan_rule(chain, plan, word)
    hashes = plan_hashes(chain, plan)
    header = document["header"]
    # Rules of the project may have approvals of their own.
    approved = {canonical(one) for one in header["approvals"] if one["rule"] == hashes.rule}
    same = [one for one in document["rules"] if one["id"] == rule.id]
    if not same or approved != set(word.approvals):
        return None
    return AnswerProof(Verdict(header["verdict"]), certificate)


def _name(question: int) -> str:
    return f"certificate {question}"


def _how(link: Link, read: tuple[str, ...], at: str, level: str, plan: Plan) -> Computed:
    step = link.step
    if step.work is Work.PYTHON:
        version = platform.python_version()
        return Computed(
            step.name, PYTHON, version, step.text, read, at, f"sandbox: {level}", plan.author
        )
    text = step.text if step.ranking is None else ranking_query(step, step.ranking)
    version = importlib.metadata.version("duckdb")
    return Computed(step.name, DUCKDB, version, text, read, at, "", plan.author)


def _times(store: DataStore) -> dict[int, str]:
    """Give the time at which each step was finished last."""
    return {one.step: one.at for one in store.artifacts(kind="text") if one.name == ARTIFACT}


def _days(today: date) -> dict[str, Sequence[tuple[object, ...]]]:
    rows: dict[str, Sequence[tuple[object, ...]]] = {"today": ((today.isoformat(),),)}
    rows["period"] = period_rows(today)
    return {name: rows[name] for name in PERIODS}


def _kinds(chain: Chain, name: str) -> tuple[object, ...]:
    return chain.analysed.program.predicates[name].kinds


def _other_rows(link: Link, name: str) -> ConstatError:
    return _unproved(f"`{name}` has other rows now than step `{link.step.name}` read")


def _not_proved(decision: Decision) -> ConstatError:
    if decision.limit or decision.outcome.stopped:
        return _unproved(decision.limit or f"the proof stopped: {decision.outcome.stopped}")
    names = list(dict.fromkeys(one.predicate for one in decision.gaps))
    missing = "; ".join(names[:3]) + (f"; and {len(names) - 3:,} more" if names[3:] else "")
    why = f" (open: {missing})" if missing else ""
    return _unproved(f"its sources do not give these rows, and only these, any more{why}")


def _too_large(name: str, rows: int) -> ConstatError:
    return _unproved(f"`{name}` has {rows:,} rows, and a proof states {MOST_STATED_ROWS:,} at most")


def _unproved(reason: str) -> ConstatError:
    return ConstatError([Diagnostic("C0950", reason)], exit_code=4)


def _reason(problem: ConstatError | SourceFailureError | StoreFailureError) -> str:
    if isinstance(problem, ConstatError):
        return problem.diagnostics[0].message
    return problem.reason


_CHARTS: Final = ("bar", "line")


@frozen
class ExplorationQuestion:
    """A question that is kept, with everything that its run needs.

    Its own steps are numbered from `first`; `authors` names the models that drafted the steps of
    earlier questions, in their order, empty where a person did.
    """

    exploration: str
    number: int
    text: str
    today: date
    plan: Plan
    chain: Chain
    first: int
    authors: tuple[str, ...] = ()

    def drafters(self, author: str) -> tuple[str, ...]:
        """Name the models that drafted steps which the answer needs; `author` is the plan's."""
        needed = [one.number for one in self.chain.below([self.plan.answer])]
        named = (author if number >= self.first else self.authors[number - 1] for number in needed)
        return tuple(dict.fromkeys(one for one in named if one))


class Runs:
    """Runs questions of a project's explorations."""

    def __init__(self, parts: SessionParts, models: ModelAccess, tell: ExploreObserver) -> None:
        self._parts = parts
        self._models = models
        self._tell = tell
        self._project = parts.project
        self.store = ExploredStore(parts.project.state)

    def tables(self, identity: str) -> DataStore:
        """Give the store of an exploration's tables."""
        return DataStore(self._project.state, identity, address=self._project.explore.store)

    def run(self, asked: ExplorationQuestion, options: ExploreOptions, started: float) -> Explored:
        """Run what a kept question needs, and keep its answer."""
        with self.store.running(asked.exploration, asked.number):
            try:
                return self._run(asked, options, started)
            except BaseException as problem:
                self._ended(asked, problem)
                raise

    def _ended(self, asked: ExplorationQuestion, problem: BaseException) -> None:
        """Keep what ended a run, unless its answer was kept before."""
        status, message = FAILED, f"internal error ({type(problem).__name__})"
        if isinstance(problem, ConstatError):
            message = problem.diagnostics[0].message
        elif not isinstance(problem, Exception):
            status, message = INTERRUPTED, "it was stopped"
        # What cannot be written ends as a run whose program is gone.
        with suppress(ConstatError):
            kept = self.store.get(asked.exploration).questions[asked.number - 1]
            if kept.status in {INTERRUPTED, RUNNING}:
                self.store.conclude(asked.exploration, asked.number, status, {"message": message})

    def _run(self, asked: ExplorationQuestion, options: ExploreOptions, started: float) -> Explored:
        needed = tuple(one.number for one in asked.chain.below([asked.plan.answer]))
        steps = tuple((one.number, one.step.name, one.step.goal) for one in asked.chain.links)
        self._tell(PlanReady(asked.exploration, asked.text, steps, needed))
        explored, running = self._computed(asked, options)
        said = self._said(asked, options, explored.relation)
        proof = explored.proof
        unkept = proof.why if proof.certificate else ""
        notes = (*_changes(running), *(one for one in (said.note, unkept) if one))
        explored = replace(
            explored,
            sentence=said.sentence,
            narrated=said.narrated,
            notes=notes,
            seconds=time.monotonic() - started,
            usage=self._models.usage,
            replaying=self._models.note,
        )
        explored = self._drawn(asked, running, explored)
        self._keep(explored)
        rows = len(explored.relation.rows)
        settled = explored.settlement.value
        self._tell(Answered(explored.relation.output.name, rows, settled, explored.seconds))
        return explored

    def _keep(self, explored: Explored) -> None:
        told = answer_json(explored)
        self.store.conclude(explored.exploration, explored.number, ANSWERED, told)

    def _first(
        self, asked: ExplorationQuestion, options: ExploreOptions, running: Running, author: str
    ) -> Explored:
        """Give the answer as it was computed, before it is proved and worded."""
        plan = _plan_now(asked, running.chain, author)
        relation = running.need([plan.answer])[plan.answer]
        return Explored(
            *(asked.exploration, asked.number, asked.text, plan, relation),
            *(_reports(running, asked), plain_sentence(plan, relation), asked.today.isoformat()),
            authors=asked.drafters(author),
            approvals=self._approvers(asked, running.chain, author),
            proof=AnswerProof(why="the proof was not finished"),
            translation=self.translation(
                replace(asked, plan=plan, chain=running.chain), required=options.require_confirmed
            ),
        )

    def translation(self, asked: ExplorationQuestion, *, required: bool = False) -> Translation:
        """Say what the plan's answer is, and who has confirmed that it is what was asked."""
        drafters, day = asked.drafters(asked.plan.author), asked.today.isoformat()
        goes_on = asked.exploration if asked.number > 1 else ""
        found = translate_plan(
            *(asked.text, asked.plan, asked.chain, drafters), day=day, goes_on=goes_on
        )
        return Confirmations(self._project.state).judged(replace(found, required=required))

    def _computed(
        self, asked: ExplorationQuestion, options: ExploreOptions
    ) -> tuple[Explored, Running]:
        """Give the answer with a proof, and the run."""
        check, most = options.check or self._project.check, self._project.explore.rows
        relations = ChainRelations(self._parts, self._tell, most, check)
        relations.use(asked.chain)
        store = self.tables(asked.exploration)
        author = asked.plan.author

        def mend(chain: Chain, link: Link, failure: StepFailure) -> Chain | None:
            nonlocal author
            mended = self._mended(asked, options, chain, link, failure)
            if mended is None:
                return None
            # What a model has corrected is a model's, whoever wrote the rest.
            author = author or mended.author
            relations.use(mended.chain)
            return mended.chain

        code = CodeSteps(self._project, store)
        parts = RunParts(
            relations,
            store,
            asked.today,
            self._tell,
            self._bounds(),
            code.run if self._project.explore.python else None,
            mend if (asked.plan.author or options.mend) and not options.require_approved else None,
        )
        running = Running(asked.chain, parts)
        try:
            running.need([asked.plan.answer])
            explored = self._first(asked, options, running, author)
            self._keep(explored)
            proof = self._proved(asked, options, Proofs(relations, parts), running, explored)
        except StepsFailedError as problem:
            failure = {"step": problem.link.number, "kind": problem.failure.kind}
            told = {**failure, "message": problem.failure.message, "attempts": problem.attempts}
            self.store.conclude(asked.exploration, asked.number, FAILED, told)
            raise _failed(problem, asked.exploration) from None
        finally:
            relations.close()
            code.close()
        return replace(explored, proof=proof, steps=_reports(running, asked)), running

    def _proved(
        self,
        asked: ExplorationQuestion,
        options: ExploreOptions,
        proofs: Proofs,
        running: Running,
        explored: Explored,
    ) -> AnswerProof:
        """Prove the answer where that was asked for, or costs little; what is proved is kept."""
        plan, store = explored.plan, self.tables(asked.exploration)
        if not options.certify and not self._project.explore.certificates:
            return AnswerProof(why="the project makes certificates only where one is asked for")
        try:
            word = self._word(asked, running.chain, plan.author)
            if not (running.computed or options.certify):
                kept = kept_proof(store, running.chain, explored, word)
                if kept is not None:
                    return kept
        except ConstatError as problem:
            return AnswerProof(why=problem.diagnostics[0].message)
        proof = proofs.prove(running, plan, word, asked=options.certify)
        if proof.certificate:
            try:
                keep_certificate(store, running.chain, plan, asked.number, proof.certificate)
            except ConstatError as problem:
                why = f"the certificate was not kept: {problem.diagnostics[0].message}"
                return replace(proof, why=why)
        return proof

    def _word(self, asked: ExplorationQuestion, chain: Chain, author: str) -> PlanWord:
        """Say whose word the plan is: of the models that drafted it, or of who approved it."""
        plan = _plan_now(asked, chain, author)
        return PlanApprovals(self._project).word(chain, plan, asked.drafters(author))

    def _approvers(self, asked: ExplorationQuestion, chain: Chain, author: str) -> tuple[str, ...]:
        word = self._word(asked, chain, author)
        return tuple(dict.fromkeys(str(json.loads(one)["by"]) for one in word.approvals))

    def _mended(
        self,
        asked: ExplorationQuestion,
        options: ExploreOptions,
        chain: Chain,
        link: Link,
        failure: StepFailure,
    ) -> Mended | None:
        """Have a step of this question written anew, and keep the plan in which it is."""
        if link.number < asked.first:
            # What an earlier question was answered by is not this one's to change.
            return None
        self._models.begin(link.number, "correction")
        values = tells_values(self._project, chain.base)
        mending = Mending(self._models.client(options, Task.CODE), values)
        found = mending.mend(chain, link, failure)
        self._models.end()
        if found is not None:
            plan = _plan_now(asked, found.chain, asked.plan.author or found.author)
            why = f"mended step {link.number}"
            self.store.plan(asked.exploration, asked.number, write_plan(plan), why)
        return found

    def _said(
        self, asked: ExplorationQuestion, options: ExploreOptions, relation: Relation
    ) -> Said:
        """Say the answer; a model words it only where it planned, too, and may see the rows."""
        shown = tells_values(self._project, asked.chain.base)
        if not asked.plan.author or not shown or not self._models.has(options, Task.NARRATE):
            return Said(plain_sentence(asked.plan, relation))
        self._models.begin(0, "sentence")
        try:
            client = self._models.client(options, Task.NARRATE)
        except ConstatError as problem:
            told = problem.diagnostics[0].message
            plain = plain_sentence(asked.plan, relation)
            return Said(plain, note=f"no model worded the answer: {told}")
        found = narrate(client, asked.text, asked.plan, relation)
        self._models.end()
        return found

    def _drawn(self, asked: ExplorationQuestion, running: Running, explored: Explored) -> Explored:
        """Keep a chart beside the answer's table where the plan wants one, once for each table."""
        link = running.chain.link_of(asked.plan.answer)
        wanted = asked.plan.chart in _CHARTS
        if link is None or not wanted or link.number not in running.computed:
            return explored
        from constat.explore.pictures import chart as draw  # noqa: PLC0415  loaded when it is used

        try:
            picture = draw(explored, "png")
        except ConstatError as problem:
            note = f"no chart was drawn: {problem.diagnostics[0].message}"
            return replace(explored, notes=(*explored.notes, note))
        chart = NewArtifact("chart", asked.plan.answer, picture, "image/png")
        result = StepResult(link.number, link.step.name, artifacts=(chart,))
        self.tables(asked.exploration).commit(result)
        return explored

    def _bounds(self) -> Bounds:
        setting = self._project.explore
        return Bounds(
            retries=setting.retries,
            connection_retries=setting.connection_retries,
            rows=setting.rows,
            seconds=setting.seconds,
            memory=setting.memory,
        )


def _plan_now(asked: ExplorationQuestion, chain: Chain, author: str) -> Plan:
    """Give the question's plan with its steps as they ran."""
    steps = tuple(one.step for one in chain.links if one.number >= asked.first)
    return replace(asked.plan, steps=steps, author=author)


def answer_json(explored: Explored) -> dict[str, Any]:
    """What is kept of an answer beside its table."""
    return {
        "relation": explored.relation.output.name,
        "rows": len(explored.relation.rows),
        "verdict": explored.proof.label,
        "settled": explored.settlement.value,
        "sentence": explored.sentence,
        "assumptions": [one.text for one in explored.assumptions],
        "reasons": list(explored.relation.reasons),
        "notes": list(explored.notes),
        "seconds": round(explored.seconds, 3),
        "translation": None if explored.translation is None else explored.translation.as_json(),
    }


def _reports(running: Running, asked: ExplorationQuestion) -> tuple[StepReport, ...]:
    """Tell of each step of the question, and of the earlier ones that it needs."""
    found = []
    for link in running.chain.links:
        record = running.finished.get(link.number)
        if record is None and link.number < asked.first:
            continue
        how = "computed" if link.number in running.computed else "kept"
        relations = () if record is None else tuple(record.relations.values())
        found.append(
            StepReport(
                *(link.number, link.step.name, link.step.goal, link.step.work.value),
                "not needed" if record is None else how,
                0.0 if record is None or how == "kept" else record.seconds,
                0 if record is None else record.attempts,
                sum(len(one.rows) for one in relations),
                "" if record is None else record.level,
                link.reads,
                link.gives,
                _check(relations),
            )
        )
    return tuple(found)


def _check(relations: Sequence[Relation]) -> str:
    """Say what became of checking what a step computed in bulk."""
    checks = [one.check for one in relations if one.check]
    return next((one for one in checks if one != PASSED), PASSED if checks else "")


def _changes(running: Running) -> tuple[str, ...]:
    """Tell which steps had another result before, and which read different states of a relation."""
    found = [
        f"step {number} was computed again: what it reads or its text has changed, or was not known"
        for number in sorted(running.computed & running.had_before)
    ]
    states: dict[str, dict[str, int]] = {}
    for number, record in sorted(running.finished.items()):
        for name, state in record.states:
            states.setdefault(name, {}).setdefault(state, number)
    for name, by_state in states.items():
        if len(by_state) > 1:
            steps = " and ".join(map(str, by_state.values()))
            found.append(f"steps {steps} read different states of `{name}`")
        elif "" in by_state:
            step = by_state[""]
            found.append(f"nobody can tell whether `{name}` has changed since step {step} read it")
    return tuple(found)


def _failed(problem: StepsFailedError, identity: str) -> ConstatError:
    link, failure = problem.link, problem.failure
    tries = "" if problem.attempts == 1 else f", in {problem.attempts} attempts"
    message = f"step {link.number}, `{link.step.name}`, gave nothing{tries}: {failure.message}"
    note = f"{failure.kind}; what was finished before is kept in {identity}"
    hint = failure.hint or "mend the plan with `constat plan edit`, then `constat resume`"
    found = Diagnostic("C0897", message, link.step.span, note=note, help=hint)
    return ConstatError([found], exit_code=DIFFERENT if failure.kind == DIFFERENCE else 4)


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


def failed_exchange(asked: ExplorationQuestion, problem: ConstatError, *, values: bool) -> Exchange:
    """Give what was exchanged about a question whose steps came to no answer."""
    told = {"error": told_mistakes(problem.diagnostics, values=values)}
    return Exchange(asked.text, (_done({"answer": asked.plan.answer}, told, failed=True),))


def _done(
    asked: Mapping[str, object], given: Mapping[str, object], *, failed: bool = False
) -> Done:
    return Done(EXPLORE, asked, json.dumps(given, ensure_ascii=False), failed)


_MOST_TITLE: Final = 200
_MOST_NOTES: Final = 100


class Exploring:
    """Explores on behalf of a session, whose parts `parts` gives."""

    def __init__(self, session: Around, parts: SessionParts, tell: ExploreObserver) -> None:
        self._session = session
        self._parts = parts
        self.project = self._project = session.project
        self._models = ModelAccess(session, tell)
        self._runs = Runs(parts, self._models, tell)
        self.store = self._runs.store

    def solve(self, question: str, options: ExploreOptions) -> Explored:
        """Answer a question. Raises `ConstatError`."""
        text = _checked(question or (options.plan.question if options.plan else ""))
        asks = options.plan is None or options.mend or options.plan.author
        with self._question() if asks and options.client is None else nullcontext():
            return self._solve(text, options)

    def _question(self) -> AbstractContextManager[object]:
        """Let all that models are asked meanwhile share the budget of one question."""
        return self._session.models.question()

    def _solve(self, text: str, options: ExploreOptions) -> Explored:
        started = time.monotonic()
        before = None if options.exploration is None else self.store.get(options.exploration)
        today = self._today(options, before)
        earlier = self._earlier(before)
        if before is not None and options.plan is None:
            earlier = replace(earlier, said=self._said(before, text))
        plan, chain = self._planned(text, options, earlier, today)
        held = False
        if options.review is not None:
            reviewed = options.review(plan, chain)
            held = reviewed is None
            if reviewed is not None and reviewed != plan:
                plan, chain = reviewed, self._compiled(reviewed, earlier)
        exploration = before or self.store.begin(text[:_MOST_TITLE])
        first = len(earlier.steps) + 1
        new = NewQuestion(text, first, today.isoformat(), write_plan(plan), options.by)
        number = self.store.ask(exploration.identity, new)
        if held:
            raise _waiting(exploration.identity)
        asked = ExplorationQuestion(
            *(exploration.identity, number, text, today, plan, chain, first), earlier.authors
        )
        return self._run(asked, options, started)

    def _run(self, asked: ExplorationQuestion, options: ExploreOptions, started: float) -> Explored:
        """Run a question, and have what became of it in the exploration's conversation."""
        if options.require_approved:
            drafters = asked.drafters(asked.plan.author)
            approvals = PlanApprovals(self._project)
            approvals.require(asked.chain, asked.plan, drafters, asked.exploration)
        if options.accept_goal:
            self._accept(asked, options)
        conversation = conversation_of(self._project, asked.exploration)
        try:
            explored = self._runs.run(asked, options, started)
        except ConstatError as problem:
            told = failed_exchange(asked, problem, values=conversation.tells_values)
            conversation.keep(told)
            raise
        exchange = exchange_of(explored, values=conversation.tells_values)
        unkept = tuple(one.message for one in conversation.keep(exchange))
        return replace(explored, notes=(*explored.notes, *unkept))

    def _accept(self, asked: ExplorationQuestion, options: ExploreOptions) -> None:
        """Keep that the plan's answer is what was asked. Raises `ConstatError` for another one."""
        found = self._runs.translation(asked)
        require_goal(plan_reading(asked.text, asked.plan, asked.chain), options.accept_goal, found)
        if not found.confirmed:
            Confirmations(self._project.state).confirm(found, options.by)

    def translation(self, prefix: str) -> Translation:
        """Say what the answer of an exploration's last question is, and who confirmed it."""
        found = self.store.get(prefix)
        if not found.questions:
            raise _waiting(found.identity)
        return self._runs.translation(self._again(found, found.questions[-1]))

    def _said(self, before: Exploration, question: str) -> str:
        """Tell what was said in an exploration so far; empty where nothing is known of it."""
        said = conversation_of(self._project, before.identity).before(question).text
        return told_before(said) if said else ""

    def resume(self, prefix: str, options: ExploreOptions) -> Explored:
        """Go on with an exploration where it ended: its first question that has no answer yet.

        Where all have, the last is answered again; steps whose inputs have not changed are kept.
        """
        found = self.store.get(prefix)
        if not found.questions:
            raise _waiting(found.identity)
        waiting = (one for one in found.questions if one.status != ANSWERED)
        question = next(waiting, found.questions[-1])
        asked = self._again(found, question)
        asks = options.mend or asked.plan.author
        with self._question() if asks and options.client is None else nullcontext():
            return self._run(asked, options, time.monotonic())

    def _again(self, exploration: Exploration, question: Question) -> ExplorationQuestion:
        upto = [one for one in exploration.questions if one.number < question.number]
        earlier = self._earlier(replace(exploration, questions=tuple(upto)))
        plan = _plan_of(question)
        chain = self._compiled(plan, earlier)
        first = len(earlier.steps) + 1
        day = date.fromisoformat(question.today)
        return ExplorationQuestion(
            *(exploration.identity, question.number, question.text, day, plan, chain, first),
            earlier.authors,
        )

    def state(self, prefix: str) -> ExplorationState:
        """Tell what an exploration holds now."""
        found = self.store.get(prefix)
        store = self._runs.tables(found.identity)
        tables = tuple(map(_table_json, store.tables()))
        return ExplorationState(
            found.identity,
            found.title,
            found.questions[0].today if found.questions else "",
            tuple((one.number, one.text, one.status) for one in found.questions),
            tables,
            dict(store.state()),
            tuple(one.text for one in store.notes()),
        )

    def certificate(self, prefix: str, question: int = 0) -> bytes:
        """Give the certificate kept with an answer; without a number, of the last question."""
        found = self.store.get(prefix)
        number = question or len(found.questions)
        kept = kept_certificate(self._runs.tables(found.identity), number)
        if not kept:
            message = f"no certificate is kept of question {number} of exploration {found.identity}"
            hint = f"`constat resume {found.identity} --certificate FILE` proves the last answer"
            raise ConstatError([Diagnostic("C0951", message, help=hint)])
        return kept

    def step(self, prefix: str, number: int) -> StepRecordView:
        """Give what is kept of a step: each try with its text, output and error."""
        found = self.store.get(prefix)
        steps = [(one, step) for one in found.questions for step in _plan_of(one).steps]
        if not 0 < number <= len(steps):
            message = f"exploration {found.identity} has no step {number}"
            hint = f"its steps are numbered from 1 to {len(steps)}"
            raise ConstatError([Diagnostic("C0899", message, help=hint)])
        question, step = steps[number - 1]
        store = self._runs.tables(found.identity)
        tables = {one.name: one for one in store.tables() if one.step == number}
        names = [one.name for one in step.outputs]
        return StepRecordView(
            *(number, step.name, step.goal, step.work.value, question.number, step.source),
            *(step.inputs, tuple(one.declaration for one in step.outputs)),
            _attempts(store, number, step),
            tuple(_table_json(tables[name]) for name in names if name in tables),
        )

    def chain_of(self, prefix: str) -> tuple[Exploration, Plan, Chain]:
        """Give the plan of the last question of an exploration, compiled with what it rests on."""
        found = self.store.get(prefix)
        if not found.questions:
            raise _waiting(found.identity)
        asked = self._again(found, found.questions[-1])
        return found, asked.plan, asked.chain

    def edit(self, prefix: str, plan: Plan) -> tuple[Exploration, Chain]:
        """Put another plan in the place of that of the last question; `resume` runs it."""
        found, old, _ = self.chain_of(prefix)
        question = found.questions[-1]
        upto = replace(found, questions=found.questions[:-1])
        taken = replace(plan, question=plan.question or old.question)
        chain = self._compiled(taken, self._earlier(upto))
        self.store.plan(found.identity, question.number, write_plan(taken), "edited")
        return found, chain

    def check(self, plan: Plan) -> Chain:
        """Compile a plan over the project, without keeping anything. Raises `ConstatError`."""
        return self._compiled(plan, Earlier())

    def _planned(
        self, text: str, options: ExploreOptions, earlier: Earlier, today: date
    ) -> tuple[Plan, Chain]:
        if options.plan is not None:
            plan = replace(options.plan, question=text)
            return plan, self._compiled(plan, earlier)
        self._models.begin(0, "plan")
        planned = Planning(self._planning_context(options, earlier, today)).plan(text)
        self._models.end()
        return planned.plan, planned.chain

    def _planning_context(
        self, options: ExploreOptions, earlier: Earlier, today: date
    ) -> PlanningContext:
        from constat.authoring.prompts import PromptBuilder  # noqa: PLC0415  loaded when it is used

        setting = self._project.models.of(Task.PLAN.value)
        tools = self._session.discovery()
        told = PromptBuilder(tools).build_prompt("" if setting is None else setting.model)
        return PlanningContext(
            program=self._session.program,
            client=self._models.client(options, Task.PLAN),
            today=today.isoformat(),
            sources=told.text,
            context=self._project.authoring.context,
            lookups=tools.tools() if told.use_tools else (),
            earlier=earlier,
            python=self._project.explore.python,
            rounds=self._project.authoring.rounds,
            most_lookups=self._project.authoring.lookups,
            check=self._check,
            values=self._project.authoring.facts,
        )

    def _compiled(self, plan: Plan, earlier: Earlier) -> Chain:
        steps = (*earlier.steps, *plan.steps)
        chain = compile_chain(self._session.program, steps, texts=self._parts.texts)
        check_draft(chain, plan)
        self._check(chain, plan)
        return chain

    def _check(self, chain: Chain, plan: Plan) -> None:
        # A source that has changed since stands in the way of those only who need it.
        check_sources(self._project, chain, chain.below([plan.answer]))

    def _earlier(self, exploration: Exploration | None) -> Earlier:
        if exploration is None:
            return Earlier()
        plans = [_plan_of(one) for one in exploration.questions]
        told = plans and tells_values(self._project, self._session.program)
        notes = self._runs.tables(exploration.identity).notes() if told else ()
        return Earlier(
            tuple(step for plan in plans for step in plan.steps),
            tuple(plan.author for plan in plans for _ in plan.steps),
            tuple(one.text for one in exploration.questions),
            tuple(one.text for one in notes[-_MOST_NOTES:]),
        )

    @staticmethod
    def _today(options: ExploreOptions, before: Exploration | None) -> date:
        """Give the day that counts: the exploration's own, the wished one, or that of the clock."""
        if before is not None and before.questions:
            return date.fromisoformat(before.questions[0].today)
        if not options.today:
            return date.today()  # noqa: DTZ011  the day of the person who asks
        try:
            return date.fromisoformat(options.today)
        except ValueError:
            message = "the day that counts as today is none of the calendar"
            hint = "write it as `2025-11-21`"
            raise ConstatError([Diagnostic("C0902", message, help=hint)]) from None


def _table_json(one: StoredTable) -> dict[str, object]:
    return {
        "name": one.name,
        "step": one.step,
        "version": one.version,
        "rows": one.rows,
        "columns": [list(column) for column in one.columns],
        "sha256": one.sha256,
        "at": one.at,
    }


def _attempts(store: DataStore, number: int, step: Step) -> tuple[StepAttempt, ...]:
    """Gather what each try of a step left; it begins with the text that ran."""
    work = "query" if step.work is Work.SQL else "code"
    found: list[StepAttempt] = []
    for one in store.artifacts(step=number):
        if one.kind not in {"code", "query", "output", "error"}:
            continue
        text = store.content(one).decode("utf-8", "replace")
        if one.kind == work and one.name == step.name:
            found.append(StepAttempt(one.attempt, text, ended=one.at))
        elif found and one.kind == "query":
            found[-1] = replace(found[-1], queries=(*found[-1].queries, f"{one.name}: {text}"))
        elif found and one.kind == "output":
            found[-1] = replace(found[-1], output=text)
        elif found and one.kind == "error":
            found[-1] = replace(found[-1], error=text)
    return tuple(found)


def _plan_of(question: Question) -> Plan:
    return read_plan(question.plan.encode(), f"<plan of question {question.number}>")


def _checked(question: str) -> str:
    text = " ".join(question.split())
    problem = ""
    if not text:
        problem = "the question is empty"
    elif len(text) > LONGEST_QUESTION:
        problem = f"the question is longer than {LONGEST_QUESTION:,} characters"
    elif not text.isprintable():
        problem = "the question holds control characters"
    if problem:
        hint = 'write a sentence: `constat solve "What are the top 5 customers by revenue?"`'
        raise ConstatError([Diagnostic("C0898", problem, help=hint)])
    return text


def _waiting(identity: str) -> ConstatError:
    hint = f"`constat plan show {identity}` prints it, `constat resume {identity}` runs it"
    message = f"nothing was run: the plan is kept in exploration {identity}"
    return ConstatError([Diagnostic("C0901", message, help=hint)], exit_code=4)
