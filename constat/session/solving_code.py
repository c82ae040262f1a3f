"""Run steps of Python for an exploration, in the sandbox.

In: a project, the store of the exploration. Out: relations that fit what the step has declared, and
what else it left. Invariants: code runs only where the machine can keep it in, unless the project
says that a weaker wall is enough; the level is kept with the result; a database is asked through a
guard, out here, and only where the step names it as its `source`. Nothing is started before the
first step of code. Example: `CodeSteps(project, chain, store, 60.0).run(link, inputs)`.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from constat.diagnostics import ConstatError
from constat.explore.failures import StepFailure, StepFailureError
from constat.explore.fitting import RESULT, fit_table
from constat.explore.workshop import CodeResult
from constat.project.explore import WEAK
from constat.store.tables_values import NewArtifact, StepResult
from constat.tiers.connections import Connections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.explore.chain import Link
    from constat.explore.plan import Output
    from constat.explore.relations import Relation
    from constat.explore.sandbox import Run, Sandbox
    from constat.logic import Kind
    from constat.project import Project
    from constat.store.tables import DataStore


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
        box = importlib.import_module("constat.explore.sandbox")
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
            reading = importlib.import_module("constat.explore.sandbox.databases")
            sources = {
                name: reading.Reader(partial(self._connections.reading, name), setting.rows)
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
