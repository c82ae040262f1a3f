"""Evaluate a program forward: plan, load, compute stage by stage.

In: an analysed program, the wanted atoms, an input for each given predicate. Out: `Results`.
Invariant: a closed relation is computed in bulk and means what the reference engine means by it;
what turns out to be open is left to the reference engine, and the rest is planned anew without it.
Example: `evaluate(program, [goal], {"edge": Rows(edges)}).count(0)`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog.fact_files import read_rows
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import ResourceError, StrategyError, ignore_event
from constat.forward.division import Division, dependents, divide, used_by_head
from constat.forward.gathering import Gathering
from constat.forward.inputs import Files, Frame, Options, Outside, Rows
from constat.forward.reference import Bounds, GivenRows, OpenStageError, open_outcomes
from constat.forward.results import Results
from constat.forward.stages import StageRun
from constat.forward.stored import StoredRelations
from constat.plan.forward import PlanOptions, Sizes, plan_forward
from constat.sql import Database

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.catalog.fact_files import FactFile
    from constat.evaluation import ExternalPredicate, Observer, StageReport
    from constat.forward.inputs import Input
    from constat.logic import Atom, Row
    from constat.plan.forward import ForwardPlan, Stage

_DEFAULT: Final = Options()


def evaluate(
    program: AnalysedProgram,
    wanted: Sequence[Atom],
    inputs: Mapping[str, Input],
    options: Options = _DEFAULT,
    observe: Observer = ignore_event,
) -> Results:
    """Compute the wanted atoms. The results must be closed.

    Raises `ResourceError` at a bound of the resources, with the finished stages as notes, and
    `ConstatError` where an input is damaged.
    """
    return _Evaluation(program, tuple(wanted), inputs, options, observe).run()


@dataclass(slots=True)
class _Evaluation:
    program: AnalysedProgram
    wanted: tuple[Atom, ...]
    inputs: Mapping[str, Input]
    options: Options
    observe: Observer

    def run(self) -> Results:
        """Plan and compute; again without what turned out to be open."""
        resources = self.options.resources
        until = time.monotonic() + resources.seconds
        calls = self.options.calls
        bounds = Bounds(until, resources.rows, resources.rounds, self.observe, calls)
        gathering = Gathering(self.inputs, self.observe, bounds.calls, bounds.rows)
        opened: set[str] = set()
        magic = self.options.magic
        while True:
            division = self._divided(gathering, opened)
            plan = self._planned(division, gathering, magic=magic)
            found = self._computed(plan, division, gathering, bounds)
            if isinstance(found, Results):
                return found
            if found <= opened and magic is False:
                # Whatever it is, the reference engine can say it.
                found = {atom.predicate for atom in division.bulk}
            elif found <= opened:
                # A relation that only the rewriting knows is open: compute the program's own.
                magic = False
            opened |= found

    def _divided(self, gathering: Gathering, opened: set[str]) -> Division:
        """Divide the program, asking for the inputs that are to be read in bulk."""
        predicates = self.program.program.predicates
        while True:
            division = divide(self.program, self.wanted, opened)
            names = sorted(division.given)
            known = [gathering.look(predicates[name], division.wishes[name]) for name in names]
            fresh = {one.predicate.name for one in known if not one.closed}
            if not fresh:
                return division
            opened |= fresh

    def _planned(
        self, division: Division, gathering: Gathering, *, magic: bool | None
    ) -> ForwardPlan:
        counts = {
            name: gathering.found[name].rows
            for name in division.given
            if gathering.found[name].rows is not None
        }
        options = PlanOptions(
            strategy=self.options.strategy,
            magic=magic,
            memory=self.options.resources.memory,
        )
        sizes = Sizes({name: float(rows or 0) for name, rows in counts.items()})
        return plan_forward(self.program, division.bulk, sizes, options)

    def _computed(
        self, plan: ForwardPlan, division: Division, gathering: Gathering, bounds: Bounds
    ) -> Results | set[str]:
        """Compute a plan; or give the predicates that turned out to be open."""
        database = Database(self.options.resources)
        run = StageRun(plan, database, StoredRelations(database), self.options, bounds)
        try:
            unfit = self._loaded(plan, database, gathering)
            if unfit:
                database.close()
                return {unfit}
            run.run()
            return self._results(run, division, gathering)
        except OpenStageError as problem:
            database.close()
            return _opened_by(plan, problem.stage)
        except BaseException as problem:
            database.close()
            if isinstance(problem, ResourceError | KeyboardInterrupt):
                for line in progress_notes(plan, run.reports):
                    problem.add_note(line)
            raise

    def _loaded(self, plan: ForwardPlan, database: Database, gathering: Gathering) -> str:
        """Load the inputs; give the name of one whose values no column can hold, if there is."""

        def load() -> str:
            for relation in plan.relations.values():
                database.declare(relation)
            for name in plan.inputs:
                try:
                    gathering.found[name].load(database, name)
                except StrategyError as problem:
                    if isinstance(self.inputs[name], Frame):
                        raise _unloadable(name, problem) from None
                    return name
            return ""

        # Small inputs go over as one piece of work, which saves a dozen changes of threads; reading
        # large ones has to hear of Ctrl-C in between.
        small = all(gathering.found[name].is_small for name in plan.inputs)
        return database.guarded(load) if small else load()

    def _results(self, run: StageRun, division: Division, gathering: Gathering) -> Results:
        by_name = {one.atom.predicate: one.relation for one in run.plan.wanted}
        stored = {name: (run.stored, by_name[name]) for name in division.frontier}
        outcomes = {}
        if division.open_wanted:
            outcomes = open_outcomes(self.program, division, self._externals(), stored, run.bounds)
        return Results(
            self.wanted,
            run.plan,
            run.database,
            tuple(run.reports),
            outcomes,
            tuple(gathering.calls),
        )

    def _externals(self) -> dict[str, ExternalPredicate]:
        """Give every input as an external predicate."""
        found: dict[str, ExternalPredicate] = {}
        for name, one in self.inputs.items():
            match one:
                case Outside(predicate):
                    found[name] = predicate
                case Rows(rows):
                    found[name] = GivenRows(partial(iter, rows))
                case Files(files):
                    found[name] = GivenRows(partial(_rows_of, files))
                case Frame():
                    # A frame that could not be loaded was refused with its reason.
                    pass
                case _:
                    assert_never(one)
        return found


def _unloadable(name: str, problem: StrategyError) -> ConstatError:
    message = f"the frame of `{name}` cannot be loaded: {problem}"
    return ConstatError([Diagnostic("C0662", message, help="hand its rows in as tuples")])


def _rows_of(files: Iterable[FactFile]) -> Iterator[Row]:
    for one in files:
        yield from read_rows(one)


def _opened_by(plan: ForwardPlan, stage: Stage) -> set[str]:
    """Give the predicates of the original program that an open stage makes open.

    A predicate that a pass introduced stands for those above it.
    """
    above = dependents(used_by_head(plan.program), stage.predicates)
    original = plan.original.program.predicates
    own = {name for name in stage.predicates if name in original}
    return own or {name for name in above if name in original}


def progress_notes(plan: ForwardPlan, reports: Sequence[StageReport]) -> list[str]:
    """Say what was finished, for whoever stopped an evaluation."""
    told = [f"{len(reports)} of {len(plan.stages)} stages were finished"]
    for report in reports:
        rows = ", ".join(f"{name} {count:,} rows" for name, count in report.rows.items())
        told.append(f"stage {report.number} ({report.strategy}): {rows}, {report.seconds:.2f} s")
    return told
