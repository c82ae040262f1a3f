"""Compute the steps of a chain: relations over the sources, and Python in the sandbox."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from constat.catalog import SourceFailureError
from constat.diagnostics import ConstatError
from constat.evaluation import CallFinished, Verdict
from constat.explore.events import FactResolved
from constat.explore.failures import CONNECTION, DIFFERENCE, StepFailure, StepFailureError
from constat.explore.plan import Work
from constat.explore.relations import PASSED, Relation, Settlement, sorted_rows
from constat.explore.runs import DATABASE, CodeResult
from constat.explore.tables import RESULT, fit_table
from constat.logic.structures import types_form
from constat.plan.compilation import predicates_of, rules_by_head
from constat.project.settings import WEAK
from constat.proof import decide
from constat.session.answers import Settled
from constat.session.asked_goals import read_query
from constat.session.bulk import Asked, answer_in_bulk
from constat.session.checking import Checks
from constat.session.options import BulkOptions
from constat.session.querying import compile_query, outcome_answers, try_small
from constat.session.result import checked
from constat.session.rows import StoredRows
from constat.store import FactStore
from constat.store.clock import now
from constat.store.table_values import MANY, NewArtifact, StepResult, TableRows
from constat.syntax import print_rule
from constat.tiers import Chain as TierChain
from constat.tiers import build_externals
from constat.tiers.cache import concerns
from constat.tiers.connections import Connections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Event, ExternalPredicate, Limits
    from constat.explore.chain import Chain, Link
    from constat.explore.events import Telling
    from constat.explore.plan import Output
    from constat.explore.proofs import ProofProgram
    from constat.explore.sandbox import Run, Sandbox
    from constat.logic import Kind, Row
    from constat.project import Project
    from constat.proof import Decision
    from constat.session.answers import Answers
    from constat.session.bench import Bench
    from constat.store.tables import DataStore
    from constat.tiers import Tiers


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

    def __init__(self, bench: Bench, tell: Telling, most: int, check: str) -> None:
        self._bench = bench
        self._tell = tell
        self._most = most
        self._check = check
        self._step = 0
        self._tiers: Tiers | None = None
        self._chain: Chain | None = None
        self._checks = Checks(bench.project.state)
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
        limits, created = self._bench.limits.begun(), now()
        with self._evaluating() as tiers:
            externals = {**tiers.externals, **given}
            engine = self._bench.engine
            outcome = try_small(engine, compiled, externals, limits, self._hear)
            if outcome is not None:
                answers = outcome_answers(
                    compiled, outcome, created=created, confidence=False, clock=limits.proving()
                )
            else:
                # What is kept cannot be taken back: it waits for its check.
                whole = BulkOptions(self._check, checks=self._checks, wait=0.0)
                large = Asked(compiled, externals, limits, created, whole)
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
                self._bench.engine,
                proof.program,
                proof.goal,
                {**tiers.externals, **proof.given},
                limits or self._bench.limits,
            )

    def state(self, name: str) -> str | None:
        """Name the rules below a relation, their configuration, and the states of the sources."""
        if name.startswith(DATABASE):
            return self._database_state(name.removeprefix(DATABASE))
        program = self._program()
        below, heads = _below(program, name), rules_by_head(program)
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
            [concerns(predicates[one], self._bench.project, "explored") for one in outside],
            states,
        ]
        types = types_form([column for one in sorted(below) for column in predicates[one].columns])
        told += [types] if types else []
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def _database_state(self, name: str) -> str | None:
        connections = Connections(self._bench.project)
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
        tiers.start(self._bench.limits.seconds)
        try:
            yield tiers
        except KeyboardInterrupt:
            tiers.cancel()
            raise
        finally:
            tiers.release()

    def _opened(self) -> Tiers:
        if self._tiers is None:
            project = self._bench.project
            self._tiers = build_externals(
                project,
                self._program(),
                FactStore(project.state),
                serve=True,
                observe=self._hear,
                checker=checked,
                models=self._bench.models,
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


def _below(program: AnalysedProgram, name: str) -> set[str]:
    heads = rules_by_head(program)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            for number in heads.get(one, ()):
                for literal in program.rules[number].body:
                    waiting += predicates_of(literal)
    return found
