"""Show how a goal or a program would be computed in bulk, or how it was.

In: a query of a project, or a program file as `constat run` takes it. Out: an `ExplainedPlan`.
Invariant: without `analyze` no source is asked and no file of facts is read as a whole: the rows of
a file are estimated from its size and its first lines. With it everything is computed, by the
same call that queries and runs make.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from constat.catalog.fact_files import estimated_rows
from constat.catalog.fact_ports import input_file
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import ResourceError, Resources, StageReport, ignore_event
from constat.forward import Files, Options, Outside, Serving, evaluate
from constat.frozen import frozen
from constat.logic import Atom, Variable
from constat.plan.forward import ForwardPlan, PlanOptions, Sizes, Strategy, plan_forward
from constat.proof.projection import with_projections
from constat.session.querying import MANY
from constat.session.running import load_runnable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.catalog.fact_files import FactFile
    from constat.evaluation import Externals, Observer, Range
    from constat.forward import Input
    from constat.project.settings import SparkSetting
    from constat.session.querying import Compiled
    from constat.session.running import RunnableProgram
    from constat.syntax import Mode


@frozen
class PlanQuestion:
    """How to plan: a strategy to take where it is right, whether demands may be used."""

    strategy: Strategy | None = None
    magic: bool | None = None
    seconds: float = 3600.0
    on_spark: bool = False
    """Whether to tell what a Spark Connect server would run, or ran: that of `spark`."""
    spark: SparkSetting | None = None
    on_server: bool = False
    """Whether to tell what the PostgreSQL database that has the relations would run, or ran."""
    memory: int = 0
    """Bytes to use at most, `threads` the cores; 0 is what seems right for the machine."""
    threads: int = 0

    @property
    def options(self) -> PlanOptions:
        """The planner's options."""
        encode = not self.on_spark and not self.on_server
        return PlanOptions(strategy=self.strategy, magic=self.magic, encode=encode)


@frozen
class ExplainedPlan:
    """A plan, with reports of its stages if it was run.

    `known` are the inputs whose size was known to the planner. `unsettled` are the wanted atoms
    that bulk evaluation has left to the reference engine, because what they rest on is open, `left`
    names the predicates it left, with reasons; `loose` those of which it has decided less than that
    engine might. `graded` are the relations with rows that are not
    certain, each with the predicate beside which it was computed; `guards` are looked at only.
    """

    plan: ForwardPlan
    known: frozenset[str]
    planning: float
    reports: tuple[StageReport, ...] | None = None
    seconds: float = 0.0
    unsettled: tuple[Atom, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    loose: Mapping[str, str] = field(default_factory=dict)
    graded: Mapping[str, str] = field(default_factory=dict)
    guards: frozenset[str] = frozenset()
    elsewhere: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """What a server runs for each stage: how, then its statements, or why a rule is refused."""
    here: Mapping[str, str] = field(default_factory=dict)
    """Why the server that has the relations does not compute with them, by rule or input."""
    told: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    """What the sources of inputs were told, so that other rows did not come."""


@frozen
class ProgramFile:
    """A program to explain, as `constat run` takes it."""

    path: Path
    facts: Path
    mode: Mode | None = None
    word_size: int = 32
    include: tuple[Path, ...] = ()


def explain_query(compiled: Compiled, question: PlanQuestion) -> ExplainedPlan:
    """Plan a query of a project; nothing is known of its sources."""
    return _planned(with_projections(compiled.program), [compiled.goal], Sizes(), question)


def analyze_query(
    compiled: Compiled, externals: Externals, question: PlanQuestion, observe: Observer
) -> ExplainedPlan:
    """Compute a query of a project, and say how."""
    inputs: dict[str, Input] = {name: Outside(one) for name, one in externals.items()}
    program = with_projections(compiled.program)
    return _computed(program, [compiled.goal], inputs, question, observe, graded=True)


def explain_program(
    file: ProgramFile, question: PlanQuestion, texts: dict[str, str]
) -> ExplainedPlan:
    """Plan a program; how large its files are is looked at."""
    program = _loaded(file, texts)
    sizes: dict[str, float] = {}
    for name, files in _files(program, file).items():
        rows = [estimated_rows(one) for one in files]
        known = [one for one in rows if one is not None]
        if len(known) == len(rows):
            sizes[name] = sum(known)
    return _planned(program.analysed, _wanted(program), Sizes(sizes), question)


def analyze_program(
    file: ProgramFile,
    question: PlanQuestion,
    texts: dict[str, str],
    observe: Observer = ignore_event,
) -> ExplainedPlan:
    """Compute a program without writing its results, and say how."""
    program = _loaded(file, texts)
    inputs: dict[str, Input] = {name: Files(one) for name, one in _files(program, file).items()}
    return _computed(program.analysed, _wanted(program), inputs, question, observe)


def _loaded(file: ProgramFile, texts: dict[str, str]) -> RunnableProgram:
    program = load_runnable(file.path, file.mode, file.word_size, texts, file.include)
    if not program.outputs and not program.sizes:
        message = "the program has neither `.output` nor `.printsize`"
        note = "a plan is made for what is wanted"
        wanted = "name a result, for example `.output path`"
        raise ConstatError([Diagnostic("C0615", message, note=note, help=wanted)])
    return program


def _wanted(program: RunnableProgram) -> list[Atom]:
    names = dict.fromkeys(port.name for port in (*program.outputs, *program.sizes))
    predicates = program.analysed.program.predicates
    return [
        Atom(name, tuple(Variable(column.name) for column in predicates[name].columns))
        for name in names
    ]


def _files(program: RunnableProgram, file: ProgramFile) -> dict[str, tuple[FactFile, ...]]:
    names = sorted(program.analysed.external & program.needed)
    found: dict[str, tuple[FactFile, ...]] = dict.fromkeys(names, ())
    predicates = program.analysed.program.predicates
    for port in program.inputs:
        one = input_file(port, predicates[port.name], file.facts, program.word_size)
        found[port.name] = (*found[port.name], one)
    return found


def _planned(
    program: AnalysedProgram, wanted: Sequence[Atom], sizes: Sizes, question: PlanQuestion
) -> ExplainedPlan:
    started = time.perf_counter()
    plan = plan_forward(program, wanted, sizes, question.options)
    seconds = time.perf_counter() - started
    there = _elsewhere(plan, question.on_spark, question.on_server)
    return ExplainedPlan(plan, frozenset(sizes.counts), seconds, elsewhere=there)


def _elsewhere(
    plan: ForwardPlan,
    on_spark: bool,  # noqa: FBT001  of a question
    on_server: bool,  # noqa: FBT001  as above
) -> dict[int, tuple[str, ...]]:
    if not on_spark and not on_server:
        return {}
    from constat.forward import distributed  # noqa: PLC0415  loaded when it is used

    lines = distributed.lines_for_spark if on_spark else distributed.lines_for_postgres
    return {stage.number: tuple(lines(plan, stage)) for stage in plan.stages}


def _computed(
    program: AnalysedProgram,
    wanted: Sequence[Atom],
    inputs: Mapping[str, Input],
    question: PlanQuestion,
    observe: Observer,
    *,
    graded: bool = False,
) -> ExplainedPlan:
    started = time.perf_counter()
    scratch = Path(tempfile.gettempdir())
    bounds = (question.seconds, question.memory, question.threads)
    resources = Resources(*bounds, scratch=scratch)
    options = Options(
        resources,
        question.strategy,
        question.magic,
        measured=True,
        graded=graded,
        loose_above=MANY if graded else None,
        spark=question.spark if question.on_spark else None,
        served=_serving(question, of_project=graded),
    )
    try:
        results = evaluate(program, wanted, inputs, options, observe)
    except ResourceError as problem:
        raise _stopped(problem) from problem
    with results:
        seconds = time.perf_counter() - started
        plan = results.plan
        listed = enumerate(wanted)
        unsettled = tuple(atom for place, atom in listed if not results.is_in_bulk(place))
    made = {} if results.graded is None else results.graded.origin
    return ExplainedPlan(
        plan,
        frozenset(plan.inputs),
        0.0,
        results.reports,
        seconds,
        unsettled,
        results.left,
        results.loose,
        {name: made[name] for name in plan.relations if name in made},
        frozenset() if (one := results.graded) is None else frozenset({*one.guards, *one.erring}),
        _elsewhere(plan, question.on_spark, question.on_server or results.is_from_server),
        results.here,
        {call.demand.predicate.name: call.demand.ranges for call in results.calls},
    )


def _serving(question: PlanQuestion, *, of_project: bool) -> Serving:
    if question.on_server:
        return Serving.ALWAYS
    return Serving.WHERE_LESS_IS_SENT if of_project else Serving.NEVER


def _stopped(problem: ResourceError) -> ConstatError:
    notes: list[str] = getattr(problem, "__notes__", [])
    return ConstatError(
        [
            Diagnostic(
                "C0640",
                f"the plan was not run to its end: {problem}",
                note="; ".join(notes),
                help="leave out `--analyze` to see what would be done",
            )
        ]
    )
