"""Evaluate a program in bulk: plan, load, compute stage by stage."""

from __future__ import annotations

import time
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog import QueryMistakeError, SourceFailureError
from constat.catalog.fact_files import read_rows
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import (
    LimitReachedError,
    ResourceError,
    Served,
    StrategyError,
    ignore_event,
)
from constat.forward.division import (
    EVERYTHING,
    Division,
    assumed_heads,
    dependents,
    divide,
    free_atom,
    used_by_head,
)
from constat.forward.erring import Errors, asked_for, lookings
from constat.forward.gathering import Gathering, is_read_there
from constat.forward.grading import grade_program
from constat.forward.inputs import (
    Files,
    Frame,
    Options,
    Outside,
    Placed,
    Rows,
    Serving,
    Viewed,
    over_views,
)
from constat.forward.results import Results, StoredRelations
from constat.forward.stages import (
    Bounds,
    ErringStageError,
    GivenRows,
    OpenStageError,
    StageRun,
    open_outcomes,
)
from constat.forward.ways import graded_name
from constat.frozen import frozen, slotted
from constat.logic import OPEN, Atom, Comparison, Kind, Positive, null_cells, null_policies
from constat.plan.forward import PlanOptions, Sizes, Strategy, plan_forward
from constat.sql import Database

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.catalog.fact_files import FactFile
    from constat.columnar import Columns
    from constat.columnar.relations import Lookup
    from constat.evaluation import ExternalPredicate, Externals, Observer, Resources, StageReport
    from constat.forward.erring import Erring
    from constat.forward.grading import GradedProgram
    from constat.forward.inputs import Input
    from constat.forward.ways import Grade
    from constat.logic import Row, Rule, Value
    from constat.plan.forward import ForwardPlan, Stage

# Whole relations with the least height at which each row can be proved.
#
# No heights (`None`) where they are not simply rounds: below negation and aggregates, above rules
# or rows that are assumed, where a relation is open, or where rules of one component read
# relations whose rows have several heights. Invariant: the height of a row is that of its lowest
# proof, a row from outside having 0.

_BY_ARRAYS = frozenset({Strategy.BITMAP, Strategy.RUNS})
_TEXTS = frozenset({Kind.SYMBOL, Kind.STRUCTURE})
_READABLE = _TEXTS | {Kind.NUMBER}


@slotted
class Levels:
    """The relations of one evaluation, by predicate; values, and the numbers they stand for."""

    derived: frozenset[str]
    _lookups: Mapping[str, Lookup]
    _kinds: Mapping[str, tuple[Kind, ...]]
    _computing: _Computing
    _texts: dict[int, str] = field(default_factory=dict)
    has_heights: bool = False

    def add_heights(self) -> bool:
        """Compute the height of every row once more from the rules; tell whether that went."""
        if not self.has_heights:
            found = self._computing.run(stamps=True)
            self.has_heights = found is not None
            self._lookups = found or self._lookups
        return self.has_heights

    def rows_derived(self) -> int:
        """How many rows rules give."""
        return sum(self._lookups[name].count({}) for name in self.derived)

    def height(self, predicate: str, row: Row) -> int | None:
        """The least height of a row (before `add_heights`: 0); `None` where it does not hold."""
        numbers = [self._number(one) for one in row]
        return self._lookups[predicate].height(numbers)

    def count(self, predicate: str, bound: Mapping[int, Value]) -> int:
        """At most how many rows have these values."""
        return self._lookups[predicate].count(self._numbers(bound))

    def rows(self, predicate: str, bound: Mapping[int, Value], below: int) -> Iterator[Row]:
        """Yield the rows with these values whose height is less."""
        kinds = self._kinds[predicate]
        for found in self._lookups[predicate].rows(self._numbers(bound), below):
            yield tuple(
                self._text(one) if kind in _TEXTS else one
                for one, kind in zip(found, kinds, strict=True)
            )

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(one.size for one in self._lookups.values())

    def close(self) -> None:
        """Forget everything."""
        self._computing.database.close()

    def _numbers(self, bound: Mapping[int, Value]) -> dict[int, int]:
        return {place: self._number(value) for place, value in bound.items()}

    def _number(self, value: Value) -> int:
        if not isinstance(value, str):
            return int(str(value))
        return self._computing.database.number_of(value)

    def _text(self, number: int) -> str:
        found = self._texts.get(number)
        if found is None:
            (found,) = self._computing.database.texts([number])
            self._texts[number] = found
        return found


def levels_of(
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    resources: Resources,
    observe: Observer = ignore_event,
) -> Levels | None:
    """Compute what a goal rests on, still without heights; whoever takes it closes it."""
    below = _below(program, goal.predicate)
    given = sorted(below & program.external)
    if not _is_plain(program, below):
        return None
    inputs = {name: Outside(one) for name, one in externals.items()}
    gathering = Gathering(inputs, observe, len(given), resources.rows)
    predicates = program.program.predicates
    known = [gathering.look(predicates[name], EVERYTHING) for name in given]
    if not all(one.closed for one in known):
        return None
    sizes = Sizes({one.predicate.name: float(one.rows or 0) for one in known})
    plan = plan_forward(program, [goal], sizes, PlanOptions(magic=False, rewrite=False))
    database = Database(resources)
    computing = _Computing(plan, database, gathering, resources, observe)
    try:
        computing.load()
        found = computing.run(stamps=False)
    except (ResourceError, StrategyError):
        # Too large, or no column for its values: rows are proved without it.
        database.close()
        return None
    except BaseException:
        database.close()
        raise
    if found is None:
        database.close()
        return None
    kinds = {name: one.kinds for name, one in plan.relations.items()}
    return Levels(frozenset(found) - set(given), found, kinds, computing)


def _below(program: AnalysedProgram, predicate: str) -> frozenset[str]:
    """Everything that a predicate rests on, itself included."""
    uses = used_by_head(program)
    found, waiting = {predicate}, [predicate]
    while waiting:
        fresh = uses.get(waiting.pop(), frozenset()) - found
        found |= fresh
        waiting += fresh
    return frozenset(found)


def _is_plain(program: AnalysedProgram, below: frozenset[str]) -> bool:
    """Whether heights are rounds as far as rules and columns go."""
    predicates = program.program.predicates
    rules = [rule for rule in program.rules if rule.head.predicate in below]
    derived = {rule.head.predicate for rule in rules}
    return (
        not derived & program.external
        and all(set(predicates[name].kinds) <= _READABLE for name in below)
        and not any(rule.assumed for rule in rules)
        and all(isinstance(one, Positive | Comparison) for rule in rules for one in rule.body)
    )


@slotted
class _Computing:
    """One evaluation, which may be made again; `columns` are the rows from outside."""

    plan: ForwardPlan
    database: Database
    gathering: Gathering
    resources: Resources
    observe: Observer
    columns: dict[str, Columns] = field(default_factory=dict)

    def load(self) -> None:
        """Load what comes from outside."""
        for relation in self.plan.relations.values():
            self.database.declare(relation)
        for name in self.plan.inputs:
            self.gathering.found[name].load(self.database, name)
            self.columns[name] = self.database.columns(name)

    def run(self, *, stamps: bool) -> dict[str, Lookup] | None:
        """Compute stage by stage; where rows get no stamps their heights are told as 0."""
        from constat.columnar import relations as looking  # noqa: PLC0415  loaded when it is used
        from constat.columnar import run_stage  # noqa: PLC0415  loaded when it is used

        columns = dict(self.columns)
        heights: dict[str, int | None] = dict.fromkeys(columns, 0)
        lookups = {name: looking.Lookup(its, 0) for name, its in columns.items()}
        until = time.monotonic() + self.resources.seconds
        for stage in self.plan.stages:
            base = self._base_height(stage, heights)
            if base is None or time.monotonic() > until:
                return None
            found, _ = run_stage(
                stage,
                self.plan,
                columns,
                self.database.number_of,
                _strategy(stage),
                self.resources,
                stamps=stamps,
                observe=self.observe,
            )
            for name, rows in found.items():
                own = columns[name] = rows[: len(self.plan.relations[name].kinds)]
                heights[name] = None if stage.is_recursive else base
                its = rows[-1] + base if stamps and stage.is_recursive else base * stamps
                lookups[name] = looking.Lookup(own, its)
        return lookups

    def _base_height(self, stage: Stage, heights: Mapping[str, int | None]) -> int | None:
        """The height of rows that need no other row of the stage; `None` where it is not one.

        `heights` are those of relations whose rows have all the same.
        """
        own = frozenset(stage.predicates)
        base: set[int] = set()
        later = {0}
        for rule in self.plan.program.rules:
            if rule.head.predicate in own:
                read = _read(rule)
                read_ones = [heights[name] for name in read - own]
                if None in read_ones:
                    return None
                height = 1 + max((one for one in read_ones if one is not None), default=0)
                (later if read & own else base).add(height)
        if len(base) != 1 or max(later) > min(base) + 1:
            return None
        return base.pop()


def _read(rule: Rule) -> frozenset[str]:
    return frozenset(one.atom.predicate for one in rule.body if isinstance(one, Positive))


def _strategy(stage: Stage) -> Strategy:
    arrays = (one for one in (stage.strategy, *stage.choices) if one in _BY_ARRAYS)
    return next(arrays, Strategy.RUNS)


# Evaluate a program in bulk: plan, load, compute stage by stage.

# `left` names what earlier attempts, or the passes before them, have left to the reference engine,
# and why.


@frozen
class Task:
    """One attempt; without `graded` everything that is computed is closed."""

    division: Division
    program: AnalysedProgram
    graded: GradedProgram | None = None
    left: Mapping[str, str] = field(default_factory=dict, hash=False)

    def origin(self, name: str) -> str:
        """Name the predicate of the original program that a relation belongs to."""
        return name if self.graded is None else self.graded.origin.get(name, name)

    def atoms(self) -> list[Atom]:
        """Give the atoms to compute."""
        found: dict[Atom, None] = {}
        for atom in self.division.bulk:
            found[atom] = None
            if self.graded is not None:
                found |= dict.fromkeys(self.graded.atoms(atom).values())
        predicates = self.program.program.predicates
        found |= dict.fromkeys(free_atom(predicates[name]) for name in self.erring())
        return [*found, *(Atom(name, ()) for name in self._guards())]

    def erring(self) -> dict[str, Erring]:
        """Name the relations that list the instances that err."""
        listed = {} if self.graded is None else self.graded.erring
        below = self.division.below
        return {name: one for name, one in listed.items() if one.rule.head.predicate in below}

    def loose(self) -> dict[str, str]:
        """Name the predicates of which the reference engine may decide more, with reasons."""
        found = {} if self.graded is None else self.graded.loose
        return {name: why for name, why in found.items() if name in self.division.below}

    def doubted(self, plan: ForwardPlan, database: Database) -> dict[str, str]:
        """Name the predicates whose guards are not empty."""
        guards = self._guards()
        relations = {one.atom.predicate: one.relation for one in plan.wanted}
        why = "an open row may be one that is there"
        return {owner: why for name, owner in guards.items() if database.count(relations[name])}

    def _guards(self) -> dict[str, str]:
        guards = {} if self.graded is None else self.graded.guards
        return {name: owner for name, owner in guards.items() if owner in self.division.below}


# What is computed in bulk, closed or graded, means what the reference engine means by it; what
# turns out to be more than that is left to the reference engine, and the rest is planned anew
# without it.

_DEFAULT: Final = Options()
_NOT_CLOSED: Final = "it is not closed"


def evaluate(
    program: AnalysedProgram,
    wanted: Sequence[Atom],
    inputs: Mapping[str, Input],
    options: Options = _DEFAULT,
    observe: Observer = ignore_event,
) -> Results:
    """Compute the wanted atoms. Whoever takes the results closes them.

    Raises `ResourceError` at a bound of the resources, with the finished stages as notes, and
    `ConstatError` where an input is damaged.
    """
    if options.spark is not None:
        names = program.external
        placed = {name: Placed(at) for name, at in options.spark.tables.items() if name in names}
        inputs = {**inputs, **placed}
    return _Evaluation(program, tuple(wanted), inputs, options, observe).run()


@slotted
class _Evaluation:
    program: AnalysedProgram
    wanted: tuple[Atom, ...]
    inputs: Mapping[str, Input]
    options: Options
    observe: Observer
    written: AnalysedProgram | None = None
    """The program whose literals `program` lets read views, where some input holds null cells."""
    why_here: Mapping[str, str] = field(default_factory=dict)
    """Why no server computes with the relations that it has."""

    def run(self) -> Results:
        """Plan and compute; again without what turned out to be more than bulk can say."""
        resources = self.options.resources
        clock = resources.running()
        # However often it is planned anew, the time is that of all of it.
        self.options = replace(self.options, resources=replace(resources, clock=clock))
        calls = self.options.calls
        bounds = Bounds(
            clock, resources.rows, resources.rounds, self.observe, calls, resources.seconds
        )
        resources = self.options.resources
        gathering = Gathering(
            self.inputs,
            self.observe,
            bounds.calls,
            bounds.rows,
            clock,
            resources,
            self.options.served,
        )
        left: dict[str, str] = {}
        if not self.options.graded:
            left |= dict.fromkeys(assumed_heads(self.program), _NOT_CLOSED)
        try:
            return self._viewing(gathering, left).found(gathering, bounds, left, Errors())
        except LimitReachedError as limit:
            raise ResourceError(str(limit), "seconds") from None

    def _viewing(self, gathering: Gathering, left: dict[str, str]) -> _Evaluation:
        """Let literals read views of the inputs whose rows hold null cells."""
        predicates = self.program.program.predicates
        derived = {rule.head.predicate for rule in self.program.rules}
        division = divide(self.program, self.wanted, left)
        names = {
            name
            for name in sorted(division.given - derived)
            if any(null_policies(predicates[name]))
            and gathering.look(predicates[name], division.restrictions[name]).holds_nulls
        }
        if not names:
            return self
        program, views = over_views(self.program, names)
        inputs = {**self.inputs, **{name: Viewed(view) for name, view in views.items()}}
        gathering.inputs = inputs
        return replace(self, program=program, inputs=inputs, written=self.program)

    def found(
        self, gathering: Gathering, bounds: Bounds, left: dict[str, str], errors: Errors
    ) -> Results:
        """Compute, with what is known of inputs and errors already."""
        magic = self.options.magic
        while True:
            task = self._task(gathering, left, errors)
            if self.options.spark is not None and task.division.open_wanted:
                raise _open_for_spark(left)
            there = self._is_served(task, gathering)
            plan = self._planned(task, gathering, magic=magic, there=there)
            if gathering.served is not Serving.NEVER and self._is_brought(plan, task, gathering):
                continue
            try:
                found = self._computed(plan, task, gathering, bounds, errors, there=there)
            except (SourceFailureError, QueryMistakeError) as problem:
                if gathering.served is Serving.ALWAYS:
                    from constat.forward.distributed import failed_there  # noqa: PLC0415  loaded when it is used

                    raise failed_there(problem) from None
                # Whatever failed there is said, or computed, here.
                gathering.bring()
                continue
            if isinstance(found, Results):
                return found
            if isinstance(found, _Erred):
                self._look_at(found, gathering, bounds, left, errors)
                continue
            if found.keys() <= left.keys() and magic is False:
                # Whatever it is, the reference engine can say it.
                why = "bulk evaluation cannot say it"
                found = {atom.predicate: why for atom in task.division.bulk}
            elif found.keys() <= left.keys():
                # A relation that only the rewriting knows is open: compute the program's own.
                magic = False
            left |= found

    def _is_served(self, task: Task, gathering: Gathering) -> bool:
        """Tell whether all inputs were left on one server, which computes with them then."""
        if gathering.served is Serving.NEVER or task.graded is not None:
            return False
        found = [gathering.found[name].source for name in sorted(task.division.given)]
        servers = {one.server if isinstance(one, Served) else "" for one in found}
        return len(servers) == 1 and "" not in servers and not task.division.open_wanted

    def _is_brought(self, plan: ForwardPlan, task: Task, gathering: Gathering) -> bool:
        """Bring inputs here where their server does not compute with them.

        Raises `ConstatError` where it was asked to.
        """
        if gathering.served is not Serving.ALWAYS and not gathering.is_any_served:
            self.why_here = dict(gathering.refused)
            gathering.served = Serving.NEVER
            return False
        from constat.forward.distributed import against_serving, not_served  # noqa: PLC0415  loaded when it is used

        if task.graded is not None or task.division.open_wanted:
            # Its inputs have parts, certain and possible rows, which no server has.
            why = {**task.left, **gathering.refused}
            against = why or {"the goal": "it rests on what is not known for certain"}
        else:
            against = against_serving(plan, gathering, sorted(task.division.given))
        if not against:
            return False
        if gathering.served is Serving.ALWAYS:
            raise not_served(against)
        self.why_here = against
        return gathering.bring()

    def _look_at(
        self,
        erred: _Erred,
        gathering: Gathering,
        bounds: Bounds,
        left: dict[str, str],
        errors: Errors,
    ) -> None:
        """Find the values for which the rules of some predicates err."""
        errors.looked_at |= erred.names
        for looking in lookings(self.program, sorted(erred.names)):
            rows = erred.values.get(looking.atom)
            if rows is None:
                nested = replace(
                    self, program=looking.program, wanted=(looking.atom,), written=None
                )
                with nested.found(gathering, bounds, dict(left), errors) as results:
                    rows = _known_rows(results)
            found = looking.errs(rows)
            if found.rows:
                errors.found.append(found)
                gathering.give(found.predicate, tuple(found.rows))

    def _task(self, gathering: Gathering, left: dict[str, str], errors: Errors) -> Task:
        """Divide and grade the program, asking for the inputs that are to be read in bulk."""
        while True:
            division, grades = self._divided(gathering, left)
            below = {self.program.rules[one.site.rule].head.predicate for one in errors.found}
            if not grades and not (assumed_heads(self.program) | below) & division.below:
                return Task(division, self.program, left=dict(left))
            unsettled = [one for one in division.bulk if one.predicate not in division.frontier]
            costs = self._costs()
            asked = asked_for(self.program, unsettled, costs)
            loose = self._is_loose(gathering, division)
            graded = grade_program(
                self.program, grades, asked, errors.found, gathering.labels, loose=loose
            )
            unfit = {name: why for name, why in graded.unfit.items() if name in division.below}
            if not unfit:
                return Task(division, graded.program, graded, dict(left))
            left |= unfit

    def _is_loose(self, gathering: Gathering, division: Division) -> bool:
        """Whether so much is read that a loose answer in bulk is better than a slow one."""
        most = self.options.loose_above
        known = (gathering.found[name].rows or 0 for name in division.given)
        return most is not None and sum(known) > most

    def _divided(
        self, gathering: Gathering, left: dict[str, str]
    ) -> tuple[Division, dict[str, tuple[Grade, ...]]]:
        """Divide the program, and name the grades of the inputs that are not closed."""
        predicates = self.program.program.predicates
        grades: dict[str, tuple[Grade, ...]] = {}
        while True:
            division = divide(self.program, self.wanted, left, grades)
            names = sorted(division.given)
            known = [
                gathering.look(predicates[name], division.restrictions[name]) for name in names
            ]
            fresh = {one.predicate.name: one.why for one in known if one.why}
            found = {one.predicate.name: tuple(one.grades) for one in known if one.grades}
            if not self.options.graded:
                fresh |= dict.fromkeys(found, _NOT_CLOSED)
            if not fresh and found.keys() <= grades.keys():
                return division, found
            left |= fresh
            grades |= found

    def _planned(
        self, task: Task, gathering: Gathering, *, magic: bool | None, there: bool
    ) -> ForwardPlan:
        counts = {
            name: gathering.found[name].rows
            for name in task.division.given
            if gathering.found[name].rows is not None
        }
        for name in task.division.given:
            graded = gathering.found[name].grades
            predicate = self.program.program.predicates[name]
            counts |= {
                graded_name(predicate, one): float(len(rows)) for one, rows in graded.items()
            }
        options = PlanOptions(
            strategy=self.options.strategy,
            magic=magic,
            rewrite=self.options.rewrite,
            memory=self.options.resources.memory,
            encode=self.options.spark is None and not there,
        )
        sizes = Sizes({name: float(rows or 0) for name, rows in counts.items()})
        return plan_forward(task.program, task.atoms(), sizes, options)

    def _computed(
        self,
        plan: ForwardPlan,
        task: Task,
        gathering: Gathering,
        bounds: Bounds,
        errors: Errors,
        *,
        there: bool,
    ) -> Results | dict[str, str] | _Erred:
        """Compute a plan.

        Or name the predicates that bulk evaluation cannot say, with reasons; or those whose rules
        err for values that have to be found.
        """
        database = Database(self.options.resources)

        def may_look(stage: Stage) -> bool:
            names = self._derived_by(stage, task)
            return self.options.graded and not names <= errors.looked_at

        stored = StoredRelations(database)
        run = StageRun(plan, database, stored, self.options, bounds, may_look)
        try:
            unfit = self._loaded(plan, task, database, gathering, there=there)
            if unfit:
                database.close()
                return {unfit: "its values fit no column"}
            elsewhere = self._run(run, task, gathering, there=there)
            doubted = task.doubted(plan, database)
            if doubted and not self._is_loose(gathering, task.division):
                database.close()
                return doubted
            return replace(self._results(run, task, gathering, doubted), elsewhere=elsewhere)
        except OpenStageError as problem:
            database.close()
            return _opened_by(plan, problem.stage, task)
        except ErringStageError as problem:
            names = self._derived_by(problem.stage, task)
            erred = _Erred(names, self._values(names, plan, task, database))
            database.close()
            return erred
        except BaseException as problem:
            database.close()
            if isinstance(problem, ResourceError | KeyboardInterrupt):
                for line in progress_notes(plan, run.reports):
                    problem.add_note(line)
            raise

    def _on_spark(self, run: StageRun, task: Task, gathering: Gathering) -> Mapping[str, int]:
        """Compute the stages on a Spark server, and bring what is wanted here."""
        from constat.forward.distributed import compute_on_spark  # noqa: PLC0415  loaded when it is used

        sources = {name: gathering.found[task.origin(name)] for name in run.plan.inputs}
        return compute_on_spark(run, sources)

    def _run(
        self, run: StageRun, task: Task, gathering: Gathering, *, there: bool
    ) -> Mapping[str, int]:
        """Compute the stages, here or where the inputs lie."""
        if there:
            from constat.forward.distributed import compute_on_server  # noqa: PLC0415  loaded when it is used

            sources = {name: gathering.found[task.origin(name)] for name in run.plan.inputs}
            compute_on_server(run, sources, gathering.served)
        elif self.options.spark is None:
            run.run()
        else:
            return self._on_spark(run, task, gathering)
        return {}

    def _derived_by(self, stage: Stage, task: Task) -> frozenset[str]:
        """Name the predicates of the program that a stage derives, itself or beside others."""
        names = {task.origin(name) for name in stage.predicates}
        return frozenset(names & {rule.head.predicate for rule in self.program.rules})

    def _values(
        self, names: frozenset[str], plan: ForwardPlan, task: Task, database: Database
    ) -> dict[Atom, list[Row]]:
        """Give the values that rules may meet, where they lie in one relation that is loaded."""
        grades = {} if task.graded is None else task.graded.grades
        derived = {rule.head.predicate for rule in self.program.rules}
        found: dict[Atom, list[Row]] = {}
        for looking in lookings(self.program, sorted(names)):
            source = looking.source
            if source is not None and source.predicate in plan.inputs:
                name = source.predicate
                if name not in derived and name not in grades:
                    found[looking.atom] = looking.rows(database.select(name, source))
        return found

    def _loaded(
        self,
        plan: ForwardPlan,
        task: Task,
        database: Database,
        gathering: Gathering,
        *,
        there: bool,
    ) -> str:
        """Load the inputs; give the name of one whose values no column can hold, if there is."""

        def load() -> str:
            for relation in plan.relations.values():
                database.declare(relation)
            for name in () if there else plan.inputs:
                given = task.origin(name)
                if self.options.spark is not None and is_read_there(gathering.found[given]):
                    continue
                try:
                    gathering.found[given].load(database, name)
                except StrategyError as problem:
                    if isinstance(self.inputs[given], Frame):
                        raise _unloadable(given, problem) from None
                    return given
            return ""

        # Small inputs go over as one piece of work, which saves a dozen changes of threads; reading
        # large ones has to hear of Ctrl-C in between.
        small = all(gathering.found[task.origin(name)].is_small for name in plan.inputs)
        return database.guarded(load) if small else load()

    def _results(
        self, run: StageRun, task: Task, gathering: Gathering, doubted: Mapping[str, str]
    ) -> Results:
        division = task.division
        by_name = {one.atom.predicate: one.relation for one in run.plan.wanted}
        stored = {name: (run.stored, by_name[name]) for name in division.frontier}
        outcomes = {}
        if division.open_wanted:
            program = self.written or self.program
            outcomes = open_outcomes(program, division, self._externals(), stored, run.bounds)
        return Results(
            self.wanted,
            run.plan,
            run.database,
            tuple(run.reports),
            outcomes,
            tuple(gathering.calls),
            task.graded,
            task.left,
            division.below,
            {by_name[name]: one for name, one in task.erring().items()},
            {**doubted, **task.loose()},
            gathering.labels,
            here=self.why_here,
        )

    def _costs(self) -> dict[str, int]:
        """Give what each input costs to ask; a view costs what its base does."""
        found = {name: one.cost for name, one in self._externals().items()}
        viewed = {name: one.view for name, one in self.inputs.items() if isinstance(one, Viewed)}
        return found | {name: found[one.base.name] for name, one in viewed.items()}

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
                case Frame() | Viewed() | Placed():
                    # A frame that could not be loaded was refused with its reason; the
                    # goal-directed engine reads what a view is of.
                    pass
                case _:
                    assert_never(one)
        return found


@frozen
class _Erred:
    """The predicates whose rules err, and the values they may meet as far as these were at hand."""

    names: frozenset[str]
    values: Mapping[Atom, list[Row]]


def _known_rows(results: Results) -> list[Row]:
    """Give the rows of the only atom, in any strength; none where they are not known in bulk."""
    if not results.is_in_bulk(0):
        return []
    sure = (row for batch in results.batches(0) for row in batch)
    weak = (row for row, _ in results.weak_rows(0) if OPEN not in row and not null_cells(row))
    found: dict[Row, None] = dict.fromkeys(chain(sure, weak))  # type: ignore[arg-type]  # no placeholder
    return list(found)


def _open_for_spark(left: Mapping[str, str]) -> ConstatError:
    told = [f"`{name}`: {why}" for name, why in sorted(left.items())]
    message = "what is asked rests on something that is not known for certain"
    help_ = "ask with `--engine forward`, which leaves that to the goal-directed engine"
    note = "; ".join(told[:3]) or "Spark computes what is settled"
    return ConstatError([Diagnostic("C0681", message, note=note, help=help_)], exit_code=78)


def _unloadable(name: str, problem: StrategyError) -> ConstatError:
    message = f"the frame of `{name}` cannot be loaded: {problem}"
    return ConstatError([Diagnostic("C0662", message, help="hand its rows in as tuples")])


def _rows_of(files: Iterable[FactFile]) -> Iterator[Row]:
    for one in files:
        yield from read_rows(one)


def _opened_by(plan: ForwardPlan, stage: Stage, task: Task) -> dict[str, str]:
    """Give the predicates of the original program that an open stage makes open.

    A predicate that a pass introduced stands for those above it.
    """
    above = dependents(used_by_head(plan.program), stage.predicates)
    original = plan.original.program.predicates
    own = [name for name in stage.predicates if name in original]
    names = own or [name for name in above if name in original]
    why = "an instance of its rules errs"
    return dict.fromkeys((task.origin(name) for name in names), why)


def progress_notes(plan: ForwardPlan, reports: Sequence[StageReport]) -> list[str]:
    """Say what was finished, for whoever stopped an evaluation."""
    told = [f"{len(reports)} of {len(plan.stages)} stages were finished"]
    for report in reports:
        rows = ", ".join(f"{name} {count:,} rows" for name, count in report.rows.items())
        told.append(f"stage {report.number} ({report.strategy}): {rows}, {report.seconds:.2f} s")
    return told
