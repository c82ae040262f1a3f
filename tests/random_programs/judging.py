"""Evaluates a random program in every way there is, and says where two ways differ.

The truth is what the goal-directed engine says of each relation, and where nothing errs the naive
oracle has to say the same; then clingo and pyDatalog, where they can express it. Bulk evaluation
runs with each strategy asked for, over sizes that are claimed: a plan for a million rows is another
plan, and has to give the same rows.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Severity
from constat.engine import LazyEngine
from constat.evaluation import (
    CERTAIN,
    CONCEIVABLE,
    Clock,
    Limits,
    ResourceError,
    Resources,
    ignore_event,
)
from constat.forward import Options, Outside, evaluate
from constat.forward.results import StoredRelations
from constat.forward.stages import Bounds, OpenStageError, StageRun
from constat.logic import Atom, Constant, Variable
from constat.plan.compilation import predicates_of
from constat.plan.forward import PlanOptions, Sizes, Strategy, plan_forward
from constat.sql import Database, trees
from constat.sql.trees import columns_of
from constat.syntax import Mode, parse_text
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from tests.oracle import clingo_model, forward_plan, naive
from tests.oracle.clingo_program import OutOfScopeError
from tests.property.coverage import uncovered, under
from tests.property.tables import tables
from tests.random_programs.drawing import KINDS, RandomProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.logic import OpenRow, Row
    from constat.plan.forward import ForwardPlan, Stage
    from constat.pydatalog import PyDatalogEngine

    Relations = dict[str, set[Row]]
    Levels = tuple[set[OpenRow], set[OpenRow]]
    """The rows that are certain, and those that are possible."""

LIMITS: Final = Limits(seconds=120.0)
RESOURCES: Final = Resources(seconds=120.0, memory=256 << 20, threads=1)
CLAIMED: Final = (0.0, 3.0, 20_000.0, 5_000_000.0)
"""Sizes of inputs that plans are made for, whatever there is."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two ways of evaluating one program say different things."""

    way: str
    what: str

    def __str__(self) -> str:
        return f"{self.way}: {self.what}"


@dataclass(slots=True)
class Read:
    """A program that analysis accepts, and what is outside."""

    program: AnalysedProgram
    world: naive.World
    goal: Atom
    wanted: tuple[Atom, ...]


@dataclass(slots=True)
class Judge:
    """Evaluates programs; `told` counts what became of them and which ways were taken."""

    pydatalog: PyDatalogEngine | None = None
    told: Counter[str] = field(default_factory=Counter)

    def difference(self, drawn: RandomProgram, seed: int) -> Difference | None:
        """Give the first difference, if there is one."""
        read = read_program(drawn)
        if read is None:
            self.told["refused"] += 1
            return None
        self.told["programs"] += 1
        self.told["errs"] += drawn.errs
        self.told.update(f"has {one}" for one in drawn.marks)
        try:
            return self._difference(read, Random(seed), errs=drawn.errs)
        except ResourceError:
            # A busy machine is no difference; how often that was is told.
            self.told["stopped"] += 1
            return None
        except ConstatError as problem:
            return Difference("refused while it runs", str(problem))
        except Exception as problem:  # noqa: BLE001  an internal error is a difference
            return Difference("internal error", f"{type(problem).__name__}: {problem}")

    def _difference(self, read: Read, random: Random, *, errs: bool = False) -> Difference | None:
        truth = self._truth(read, random)
        if isinstance(truth, Difference):
            return truth
        if truth is None or errs:
            # Something errs: then strengths are compared, by the whole evaluation.
            self.told["open"] += 1
            return self._graded(read, random)
        # What `evaluate` does besides and what a plan means are looked at in turn: each takes as
        # long as all strategies.
        in_turn = random.choice((self._whole, self._interpreted))
        for way in (self._planned, in_turn, self._clingo, self._pydatalog):
            found = way(read, truth, random)
            if found is not None:
                return found
        return None

    # ---------------------------------------------------------------------------- the truth

    def _truth(self, read: Read, random: Random) -> Relations | Difference | None:
        """Give every relation; nothing where something errs.

        The goal-directed engine is asked for the goal and for what no other relation reads, which
        leads it to the others, and for one of these.
        """
        oracle = naive.evaluate(read.program, read.world, accepted=False)
        if not all(sure for rows in oracle.values() for sure in rows.values()):
            return None
        tops = _tops(read)
        for atom in dict.fromkeys((read.goal, *tops, random.choice(read.wanted))):
            outcome = LazyEngine().evaluate(
                read.program, atom, tables(read.program, read.world), LIMITS, exhaust=True
            )
            if outcome.stopped:
                self.told["stopped"] += 1
                return None
            certain = under(atom, outcome.rows(atom.predicate, CERTAIN))
            if outcome.failures or certain != under(
                atom, outcome.rows(atom.predicate, CONCEIVABLE)
            ):
                return None
            expected = under(atom, oracle[atom.predicate])
            if certain != expected:
                return Difference("naive oracle", _told(atom.predicate, expected, certain))
        self.told["rows"] += sum(len(oracle[one.predicate]) for one in read.wanted)
        return {one.predicate: set(oracle[one.predicate]) for one in read.wanted}  # type: ignore[arg-type]  # nothing is open

    # --------------------------------------------------------------------------------- bulk

    def _whole(self, read: Read, truth: Relations, random: Random) -> Difference | None:
        """Evaluate as a query does, with a bound goal too."""
        strategy, magic = random.choice([None, *Strategy]), random.choice([None, True, False])
        inputs = {n: Outside(one) for n, one in tables(read.program, read.world).items()}
        options = Options(RESOURCES, strategy=strategy, magic=magic, graded=True)
        way = f"evaluate(strategy={strategy}, magic={magic})"
        wanted = [*read.wanted, read.goal]
        if random.random() < 0.5:
            wanted = [read.goal]
        with evaluate(read.program, wanted, inputs, options) as results:
            for place, atom in enumerate(wanted):
                if not results.is_in_bulk(place):
                    return Difference(way, f"{atom.predicate} is open")
                rows = {row for batch in results.batches(place) for row in batch}
                expected = _matching(atom, truth[atom.predicate])
                if rows != expected:
                    return Difference(way, _told(atom.predicate, rows, expected))
        return None

    def _planned(self, read: Read, truth: Relations, random: Random) -> Difference | None:
        """Evaluate a plan for claimed sizes, each stage by each strategy that can do it."""
        plan, way = self._plan(read, random)
        # The goal-directed engine in place of a strategy is slow, and has told the truth.
        left_out = {Strategy.REFERENCE} if random.randrange(3) else set[Strategy]()
        with Database(RESOURCES) as database:
            stages = _Stages(plan, database, read.world, self.told)
            found = stages.difference(left_out, truth)
        return None if found is None else Difference(f"{found.way} of {way}", found.what)

    def _plan(self, read: Read, random: Random) -> tuple[ForwardPlan, str]:
        counts = {name: random.choice(CLAIMED) for name in sorted(read.program.external)}
        magic = random.choice([None, None, True, False])
        options = PlanOptions(magic=magic, rewrite=bool(random.randrange(10)))
        wanted = list(random.choice([read.wanted, read.wanted, (read.goal,)]))
        plan = plan_forward(read.program, wanted, Sizes(counts), options)
        self.told.update({f"plan: {one.name}" for one in plan.rewritings if one.applied})
        return plan, f"plan(sizes={counts}, magic={magic}, rewrite={options.rewrite})"

    def _interpreted(self, read: Read, truth: Relations, random: Random) -> Difference | None:
        """Interpret a plan slowly: what differs here is the plan's, not a strategy's."""
        plan, way = self._plan(read, random)
        given = {name: [row for row, _ in rows] for name, rows in read.world.rows.items()}
        relations = forward_plan.evaluate(plan, given)
        for one in plan.wanted:
            found = _wrong(one.atom, relations[one.relation], truth)
            if found:
                return Difference(f"interpreted {way}", found)
        return None

    def _graded(self, read: Read, random: Random) -> Difference | None:
        """Hold ways against each other where an instance errs.

        One may decide less than another (semantics 7), by the order in which literals are looked
        at; what one calls certain no other may call impossible.
        """
        oracle = naive.evaluate(read.program, read.world, accepted=False)
        said: dict[Atom, dict[str, Levels]] = {}
        for goal in (read.goal, *read.wanted):
            known = under(goal, oracle[goal.predicate])
            sure = {row for row in known if oracle[goal.predicate].get(row)}
            outcome = LazyEngine().evaluate(
                read.program, goal, tables(read.program, read.world), LIMITS, exhaust=True
            )
            if outcome.stopped:
                return None
            engine = _levels(goal, partial(outcome.rows, goal.predicate))
            said[goal] = {"naive oracle": (sure, known), "reference engine": engine}
        # All together are another plan than one alone.
        for goals in (list(said), [random.choice(list(said))]):
            self._grade(read, goals, said, random)
        for goal, ways in said.items():
            for (one, (sure, _)), (other, (_, possible)) in permutations(ways.items(), 2):
                wrong = uncovered(sure, possible)
                if wrong:
                    what = f"{goal.predicate}{wrong[:3]} is certain, and impossible for {other}"
                    return Difference(f"graded: {one}", what)
        return None

    def _grade(
        self, read: Read, goals: list[Atom], said: dict[Atom, dict[str, Levels]], random: Random
    ) -> None:
        """Note what bulk evaluation says of goals, where they are in bulk."""
        strategy, magic = random.choice([None, *Strategy]), random.choice([None, True, False])
        options = Options(RESOURCES, strategy=strategy, magic=magic, graded=True)
        inputs = {n: Outside(one) for n, one in tables(read.program, read.world).items()}
        with evaluate(read.program, goals, inputs, options) as results:
            for place, goal in enumerate(goals):
                if results.is_in_bulk(place):
                    certain: set[OpenRow] = {
                        row for batch in results.batches(place) for row in batch
                    }
                    weak = {row for row, _ in results.weak_rows(place)}
                    self.told["graded in bulk"] += 1
                    way = f"evaluate({len(goals)} goals, {strategy}, magic={magic})"
                    said[goal][way] = (certain, certain | weak)

    # ---------------------------------------------------------------------- engines of others

    def _clingo(self, read: Read, truth: Relations, random: Random) -> Difference | None:
        try:
            found = clingo_model.model(read.program, read.world)
        except OutOfScopeError:
            return None
        if found is None:
            return None
        self.told["clingo"] += 1
        for name, expected in truth.items():
            if found[name] != expected:
                return Difference("clingo", _told(name, found[name], expected))
        return None

    def _pydatalog(self, read: Read, truth: Relations, random: Random) -> Difference | None:
        if self.pydatalog is None or random.randrange(5):
            return None
        goal = random.choice([*read.wanted, read.goal])
        try:
            found = self.pydatalog.answers(
                read.program, goal, tables(read.program, read.world), Limits(seconds=5.0)
            )
        except ConstatError:
            return None
        if found.stopped:
            self.told["pyDatalog stopped"] += 1
            return None
        self.told["pyDatalog"] += 1
        expected = _matching(goal, truth[goal.predicate])
        if found.rows != expected:
            return Difference("pyDatalog", _told(goal.predicate, found.rows, expected))
        return None


@dataclass(slots=True)
class _Stages:
    """Computes a plan once, but each recursive stage by every strategy over the same rows below."""

    plan: ForwardPlan
    database: Database
    world: naive.World
    told: Counter[str]

    def difference(self, left_out: set[Strategy], truth: Relations) -> Difference | None:
        """Give the first stage and strategy with other rows, or the first wrong relation."""
        self.database.guarded(self._load)
        for stage in self.plan.stages:
            found = self._stage(stage, left_out)
            if found is not None:
                return found
        for one in self.plan.wanted:
            wrong = _wrong(one.atom, self._rows(one.relation), truth)
            if wrong:
                return Difference("every strategy", wrong)
        return None

    def _stage(self, stage: Stage, left_out: set[Strategy]) -> Difference | None:
        choices: list[Strategy | None] = [None]
        if stage.is_recursive:
            choices = [one for one in stage.choices if one not in left_out]
        expected: dict[str, set[Row]] = {}
        for number, strategy in enumerate(choices):
            if number:
                self._reset(stage)
            run = StageRun(
                replace(self.plan, stages=(stage,)),
                self.database,
                StoredRelations(self.database),
                Options(RESOURCES, strategy),
                Bounds(Clock(time.monotonic() + 120), 1 << 20, 1 << 20, ignore_event, 1 << 20),
            )
            try:
                run.run()
            except OpenStageError as problem:
                return Difference(str(strategy), repr(problem))
            self.told.update(f"by {one.strategy}" for one in run.reports)
            if len(choices) > 1:
                found = {name: self._rows(name) for name in stage.predicates}
                for name, rows in (expected or found).items():
                    if found[name] != rows:
                        way = f"{strategy}, not {choices[0]}"
                        return Difference(way, _told(name, found[name], rows))
                expected = found
        return None

    def _load(self) -> None:
        for relation in self.plan.relations.values():
            self.database.declare(relation)
        for name in self.plan.inputs:
            self._give(name)

    def _give(self, name: str) -> None:
        self.database.load_rows(name, [row for row, _ in self.world.rows.get(name, ())])

    def _reset(self, stage: Stage) -> None:
        """Make the relations of a stage what they were before it."""
        for name in stage.predicates:
            table = self.database.fresh_name(name)
            columns = columns_of(self.plan.relations[name])
            self.database.connection.run(trees.create_empty(table, columns))
            self.database.replace(name, table, 0)
            if name in self.plan.inputs:
                self._give(name)

    def _rows(self, name: str) -> set[Row]:
        return {row for batch in self.database.rows(name) for row in batch}


def read_program(drawn: RandomProgram) -> Read | None:
    """Analyse a program; nothing where analysis refuses it."""
    diagnostics: list[Diagnostic] = []
    if drawn.mode is Mode.STRICT:
        parsed = parse_text(drawn.text, "random.dl", diagnostics)
    else:
        surface = parse_file(drawn.text, "random.dl", diagnostics, drawn.mode)
        parsed = lower(surface.items, diagnostics, drawn.mode)
    if any(one.severity is Severity.ERROR for one in diagnostics):
        return None
    program = analyse(parsed, diagnostics, drawn.mode)
    if program is None:
        return None
    rows = {name: tuple((row, None) for row in found) for name, found in drawn.rows.items()}
    derived = dict.fromkeys(rule.head.predicate for rule in program.rules)
    name, values = drawn.goal
    letters = next(one.letters for one in drawn.relations if one.name == name)
    terms = tuple(
        Variable(f"g{place}") if value is None else Constant(value, KINDS[letter])
        for place, (value, letter) in enumerate(zip(values, letters, strict=True))
    )
    wanted = tuple(_free(program, one) for one in derived)
    if name not in derived:
        return None
    return Read(program, naive.World(rows), Atom(name, terms), wanted)


def refusals(drawn: RandomProgram) -> list[Diagnostic]:
    """Say why analysis refuses a program."""
    diagnostics: list[Diagnostic] = []
    surface = parse_file(drawn.text, "random.dl", diagnostics, drawn.mode)
    if drawn.mode is Mode.STRICT:
        analyse(parse_text(drawn.text, "random.dl", diagnostics), diagnostics)
    else:
        analyse(lower(surface.items, diagnostics, drawn.mode), diagnostics, drawn.mode)
    return [one for one in diagnostics if one.severity is Severity.ERROR]


def _tops(read: Read) -> list[Atom]:
    """Give an atom of each component that no other component reads."""
    used = {
        (rule.head.predicate, name)
        for rule in read.program.rules
        for literal in rule.body
        for name in predicates_of(literal)
    }
    found = []
    for component in read.program.components:
        own = set(component.predicates)
        listed = [one for one in read.wanted if one.predicate in own]
        if listed and not any(name in own and head not in own for head, name in used):
            found.append(listed[0])
    return found


def _free(program: AnalysedProgram, name: str) -> Atom:
    arity = program.program.predicates[name].arity
    return Atom(name, tuple(Variable(f"v{place}") for place in range(arity)))


def _matching(atom: Atom, rows: Iterable[OpenRow]) -> set[OpenRow]:
    return {row for row in rows if naive.unify(atom, row, {}) is not None}


def _levels(goal: Atom, rows: Callable[[int], Iterable[OpenRow]]) -> Levels:
    return under(goal, rows(CERTAIN)), under(goal, rows(CONCEIVABLE))


def _wrong(atom: Atom, rows: Iterable[OpenRow], truth: Relations) -> str:
    found, expected = _matching(atom, rows), _matching(atom, truth[atom.predicate])
    return "" if found == expected else _told(atom.predicate, found, expected)


def _told(name: str, found: Iterable[OpenRow], expected: Iterable[OpenRow]) -> str:
    found, expected = set(found), set(expected)
    more, fewer = sorted(found - expected, key=repr)[:5], sorted(expected - found, key=repr)[:5]
    return f"{name} has {more} besides, lacks {fewer}"
