"""A session: the composition root.

In: a project folder. Out: results. Builds engine, tiers, store and program once, when they are
first needed, and hands them down; no other module builds them. Invariants: used by one thread at a
time; every evaluation reads its sources anew, in one read transaction of each, but for what
`max_age` lets it take from the kept answers; `close` releases everything.
Example: `with Session() as session: session.prove("is_vip(C001)")`.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from constat.analysis import check_goal
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.diagnostics.interruption import StoppedError
from constat.engine import LazyEngine
from constat.evaluation import Limits, Verdict
from constat.evaluation.clock import moment
from constat.library import check_rules, load_rules
from constat.logic import Negative, Positive
from constat.project import Project, find_project, load_project
from constat.project.settings import CHECKS, OFF, asked_by
from constat.proof import decide
from constat.proof.certificate import Told
from constat.proof.encoding import sha256
from constat.proof.projection import facts_apart, reading_least
from constat.proof.sentences import speech_in
from constat.proof.topk import Ranking
from constat.session.asked_goals import goal_text, read_goal, read_query
from constat.session.asking import Asking
from constat.session.bench import Bench, values_of
from constat.session.options import BulkOptions, LogAs, PopulationWish
from constat.session.parts import Catalogued, Comparing, ModelAsking, Observed, Questions, Recording
from constat.session.result import Result, checked, result_of
from constat.session.reviewing_questions import Reviewing, stamp_of, watched
from constat.session.solving import Solving
from constat.session.stated import StatedFacts
from constat.session.verifying import Verifying
from constat.store import CertificateStore, FactStore
from constat.store.checks import CheckStore
from constat.store.clock import now
from constat.store.scratch import remove_left
from constat.syntax import parse_goal
from constat.tiers import Chain, build_externals, rule_facts
from constat.tiers.declarations import reads_by_column

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from threading import Event
    from types import ModuleType, TracebackType

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals, Observer
    from constat.library import Checked
    from constat.library.loading import LeftOut
    from constat.library.reviewing.drafts import JoinedProgram
    from constat.logic import Atom, Predicate, Value
    from constat.project.settings import Sight, SparkSetting
    from constat.proof.decide import Decision
    from constat.proof.sentences import Speech
    from constat.pydatalog import AnswerSet
    from constat.session.answers import Answers, Rows, SecondRows
    from constat.session.asked_goals import AskedGoal, Goal
    from constat.session.checking import Checks
    from constat.session.current import Watch
    from constat.session.handed import Rules
    from constat.session.models import Models
    from constat.session.plan_explaining import ExplainedPlan, PlanQuestion
    from constat.session.population import WrittenPopulation
    from constat.session.querying import Compiled
    from constat.session.stored_answers import KeptAnswers, MaterializedResults
    from constat.store.checks import Difference
    from constat.tiers import Tiers

_Found = TypeVar("_Found")
# A source that changed while it was read is read again, as long as little time has gone.
_ATTEMPTS: Final = 4
_SHARE_TO_START_ANEW: Final = 0.1
_MOST_DIFFERENCES: Final = 5


class Session(
    Observed,
    Questions,
    Comparing,
    Recording,
    ModelAsking,
    Asking,
    Reviewing,
    Verifying,
    Catalogued,
    Solving,
):
    """Answers goals about one project. Nothing is opened before the first question.

    `project` is a folder; without one the project is found from the present folder upward, or,
    where there are `rules`, there is none. `rules` are a text, the path of a rule file or a folder
    of them, or rules and declarations built of `constat.logic`, as goals may be, too. `facts` are
    frames by the names of relations: of pandas, Polars or Arrow, or relations of DuckDB; they are
    referred to, and take the place of a relation's `.input`. Without `cache` everything is asked
    anew, and kept where `max_age` says so. `locale` is that of its sentences, in place of the
    project's. With a `sight` what a caller may not see is unknown in it, and nothing is recorded.

    Several threads may use one session; their questions are answered one after the other.
    Processes may each have a session on one project.
    """

    def __init__(
        self,
        project: Project | Path | str | None = None,
        *,
        rules: Rules | None = None,
        facts: Mapping[str, object] | None = None,
        cache: bool = True,
        locale: str | None = None,
        sight: Sight | None = None,
    ) -> None:
        super().__init__()
        self._stop: Event | None = None
        self._handed = None
        if rules is not None or facts is not None:
            from constat.session.handed import HandedOver  # noqa: PLC0415  loaded when it is used

            self._handed = HandedOver(rules, facts)
        self._project: Project | None = None
        self._start: Path | None = None
        if isinstance(project, Project):
            self._project = project
        elif project is not None:
            self._start = Path(project)
        self._engine = LazyEngine()
        self._texts: dict[str, str] = {}
        self._rule_warnings: list[Diagnostic] = []
        self._left_out: list[LeftOut] | None = None
        self._program: AnalysedProgram | None = None
        self._tiers: Tiers | None = None
        self._shared: Tiers | None = None
        self._begun: Limits | None = None
        self._store: FactStore | None = None
        self._checked: Checks | None = None
        self._serve = cache
        self._locale = locale
        self._sight = sight
        self.planning = sight is None
        self._library_names: tuple[str, ...] | None = None
        self._asker: str | None = None
        self._said: set[Value] = set()
        self.facts = StatedFacts(lambda: self.program, self._facts, self._evaluating)

    def over(  # noqa: PLR0913  each kind of wish has a name
        self,
        joined: JoinedProgram,
        *,
        cache: bool = True,
        locale: str | None = None,
        project: Project | None = None,
        models: Models | None = None,
        tiers: Tiers | None = None,
        limits: Limits | None = None,
    ) -> Session:
        """Give a session over another program of the same project; `joined` tells what joined it.

        With `tiers` it reads the very answers that this session has read, with `models` it asks
        and counts the same ones; `project` may have other settings. With `limits`, which have
        begun, all that it is asked shares their time.
        """
        from constat.session.drafted import without_plans  # noqa: PLC0415  loaded when it is used

        kept = without_plans(project or self.project, joined)
        other = Session(kept, cache=cache, locale=locale, sight=self._sight)
        other._program = joined.program
        other._texts = {**self.texts, **joined.texts}
        other._rule_warnings = list(self.rule_warnings)
        other._models, other._shared, other._begun = models, tiers, limits
        other._stop = self._stop
        other.joined = joined
        return other

    def beside(self, program: AnalysedProgram) -> Session:
        """Give a session over a part of the program, that reads the very same answers."""
        from constat.session.drafted import JoinedProgram  # noqa: PLC0415  loaded when it is used

        return self.over(JoinedProgram(program), tiers=self._opened())

    @property
    def _whole(self) -> Session:
        return self

    @property
    def project(self) -> Project:
        """The project; raises `ConstatError` where there is none or its configuration is wrong."""
        with self._turn:
            if self._project is None:
                self._project = self._first_project()
            return self._project

    def _first_project(self) -> Project:
        found = self._given_project()
        return found if self._sight is None else asked_by(found, self._sight)

    def _given_project(self) -> Project:
        handed = self._handed
        if handed is None:
            return self._found_project()
        alone = handed.replaces_project and self._start is None
        return handed.project(None if alone else self._found_project())

    def _found_project(self) -> Project:
        if self._start is not None and not self._start.exists():
            message = f"there is no folder `{self._start}`"
            raise ConstatError([Diagnostic("C0500", message)])
        found = load_project(find_project(self._start))
        remove_left()
        return found

    @property
    def program(self) -> AnalysedProgram:
        """The rules of the project; raises `ConstatError` with their mistakes."""
        with self._turn:
            if self._program is None:
                places: dict[str, Path] = {}
                # Before they are read: what changes meanwhile is noticed at the next look.
                self._read = watched(self.project)
                self._program = load_rules(
                    self.project,
                    self._texts,
                    places,
                    warnings=self._rule_warnings,
                    left_out=self._left_out,
                )
                self._read = {**stamp_of(places.values()), **self._read}
            return self._program

    @property
    def rule_warnings(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the rules and no error, as `check_rules` says it."""
        self.program  # noqa: B018  reads the rules, where nobody has
        return tuple(self._rule_warnings)

    def leave_out_mistakes(self) -> None:
        """Answer goals that do not rest on a rule with a mistake; else no goal is answered.

        To be said before anything is asked. `left_out` then tells which relations are gone.
        """
        self._left_out = []

    @property
    def left_out(self) -> LeftOut | None:
        """The mistakes in rules, and the relations that rest on them, where these are left out."""
        return self._left_out[0] if self._left_out else None

    @property
    def texts(self) -> Mapping[str, str]:
        """The rule files that were read, by the names that diagnostics use."""
        return MappingProxyType(self._texts)

    @property
    def externals(self) -> Externals:
        """The external predicates of the project, for a program that drives an engine itself."""
        return self._opened().externals

    @property
    def cache(self) -> KeptAnswers:
        """The answers that are kept for `max_age`, to look at and to clear."""
        # Goals are proved without looking at them.

        from constat.session.stored_answers import KeptAnswers  # noqa: PLC0415  loaded when it is used

        return KeptAnswers(lambda: self.project, lambda: self.program)

    @property
    def materialized(self) -> MaterializedResults:
        """The results that are kept for point queries; a proof never uses them."""
        from constat.session.stored_answers import MaterializedResults, Surroundings  # noqa: PLC0415  loaded when it is used

        around = Surroundings(
            *(self.project, self.program, self._limits()),
            *(self._evaluating, self._evaluated, self._tell),
        )
        return MaterializedResults(around, self._checks())

    def watch(self, goals: Sequence[str], *, keep: bool = False) -> Watch:
        """Answer goals and keep their answers current; a context manager.

        `poll` gives the conclusions that came and went since the last look. With `keep` what is
        known lasts beyond the process. Raises `ConstatError`.
        """
        from constat.session.current import Around, Watch  # noqa: PLC0415  loaded when it is used

        around = Around(
            self.program, self.project.state, lambda: self._evaluating(None), self.query
        )
        return Watch(around, goals, keep=keep)

    def prove(  # noqa: PLR0913  each kind of wish has a name
        self,
        goal: Goal = "",
        *,
        question: str | None = None,
        exhaust: bool = False,
        minimal: str | None = None,
        as_of: str | None = None,
        observe: Observer | None = None,
        log: LogAs | None = None,
        require_confirmed: bool = False,
        counterfactuals: bool = False,
    ) -> Result:
        """Prove or disprove a goal such as `is_vip(C001)`, or the goal of a question (see `ask`).

        With `exhaust` better proofs are looked for after the first; with `minimal` (`height` or
        `size`) also the lowest of these, or the smallest. With `as_of` (a date or time in UTC) the
        facts are those that were recorded then. `observe` receives the events of this evaluation.
        With `log`, or where the project has a log of decisions, the result is written down before
        it is given. With `counterfactuals` the certificate of a "no" tells which small changes of
        rows were tried and turn it; `ValueError` with `question` or `as_of`. Raises `ConstatError`
        for mistakes of goal, rules and configuration, and where it cannot be written down.
        """
        if counterfactuals and (question is not None or as_of is not None):
            raise ValueError("changes are tried for a goal, with the facts of the present")
        if question is not None:
            told: Any = {"minimal": minimal, "as_of": as_of, "observe": observe, "log": log}
            return self.ask(question, require_confirmed=require_confirmed, **told).result
        with self._turn:
            how: Any = {"exhaust": exhaust, "minimal": minimal, "as_of": as_of}
            how["counterfactuals"] = counterfactuals
            return self._proved(goal_text(goal), observe=observe, log=log, **how)

    def _proved(  # noqa: PLR0913  each kind of wish has a name
        self,
        goal: str,
        *,
        exhaust: bool,
        minimal: str | None,
        as_of: str | None,
        observe: Observer | None,
        log: LogAs | None,
        counterfactuals: bool,
    ) -> Result:
        asked = read_goal(goal, self.program)
        self._asker = None if log is None else log.by
        logged = self.project.log.on or not (log is None or log.only_names)
        wish = self.decisions.require(log) if logged else None
        before = self._used
        if as_of is None:
            how: Any = {"exhaust": exhaust, "minimal": minimal, "observe": observe}
            limits = self._limits().begun()
            first = self._decide_asked(asked, limits=limits, **how)
            result = self._sub_planned(
                first, lambda other: other.prove(goal, **how), limits, observe
            )
            result = self._with_usage(result, before)
            self._record(result)
        else:
            result = self._decide_as_of(
                asked, as_of, exhaust=exhaust, minimal=minimal, observe=observe
            )
        if counterfactuals:
            result = self._with_changes(result)
        return result if wish is None else self.decisions.write(result, wish)

    def _libraries(self) -> tuple[str, ...]:
        """Name the libraries of rules, each with the hash of its rule files."""
        if self._library_names is None:
            _, *roots = self.project.rule_roots
            found = []
            for root in roots:
                files = sorted(one for one in self.project.rules if one.is_relative_to(root))
                digests = [
                    f"{one.relative_to(root).as_posix()} {sha256(one.read_text(encoding='utf-8'))}"
                    for one in files
                ]
                told = "\n".join(digests)
                found.append(f"{root.name} {sha256(told)}")
            found += [one.told for one in self.project.packages]
            self._library_names = tuple(found)
        return self._library_names

    def query(
        self,
        query: Goal,
        *,
        confidence: bool = False,
        engine: str = "auto",
        check: int | str | None = None,
        among: Callable[[Answers], Rows] | None = None,
        observe: Observer | None = None,
    ) -> Answers:
        """Find all answers of a goal with variables, such as `is_vip(?c)`.

        Also of a conjunction: `is_vip(?c), customer_revenue(?c, ?r), ?r > 100000`. With
        `confidence` each proved row has one. `engine` is `reference` (goal by goal), `forward`
        (whole relations, in bulk), `spark` (in bulk, on the server that the project names),
        `postgres` (in the PostgreSQL database that has the relations, and nowhere else) or
        `auto`: forward where there is much to go through, never Spark; the
        answers are the same, but that rows of bulk are computed, and proved only where they are
        checked. `check` is `always` (they are counted again from the rules, by another way),
        `background` (they wait for that two seconds, then it goes on beside what comes next, and
        `Answers.checked` waits for it), `off`, or a number: so many of them are proved one by one,
        spread over those that `among` chooses. These are proved then, and one that fails is a
        difference and no answer. Without a word the project's `check` counts. Raises
        `ConstatError` as `prove` does.
        """
        how: Any = {"confidence": confidence, "engine": engine, "observe": observe}
        how |= {"check": check, "among": among}
        text = goal_text(query)
        with self._turn:
            before = self._used
            limits = self._limits().begun()
            first = self._answers(text, limits=limits, **how)
            found = self._sub_planned_rows(
                first, lambda other: other.query(text, **how), limits, observe
            )
            return self._with_usage(found, before)

    def query_into(
        self,
        folder: Path,
        query: str,
        *,
        check: str | None = None,
        observe: Observer | None = None,
    ) -> Answers:
        """Find all answers in bulk, and write them with their rules and inputs into a new folder.

        Somebody else counts them again there: `constat verify --bulk`. Raises `ConstatError` as
        `query` does, and for answers that are not whole and certain.
        """
        before = self._used
        _, compiled = self._compiled(query)
        bulk = self._whole_answers(check, folder)
        found = self._computed(
            compiled, confidence=False, engine="forward", bulk=bulk, observe=observe
        )
        return self._with_usage(found, before)

    def population(
        self,
        goal: str,
        folder: Path,
        wish: PopulationWish | None = None,
        *,
        observe: Observer | None = None,
    ) -> WrittenPopulation:
        """Prove a goal for everybody for whom it holds, and write a new folder for auditors.

        In it are one certificate of all members, their list, a sample with certificates of its own,
        a page, and an index of all files, to be signed. `constat verify FOLDER` checks it. Raises
        `ConstatError` as `prove` does, and where the answers cannot be shown so.
        """
        from constat.session.population import Proving, write_population  # noqa: PLC0415  loaded when it is used

        _, compiled = self._compiled(goal)

        def prove(goal: str, *, exhaust: bool) -> Result:
            return self.prove(goal, exhaust=exhaust, observe=observe)

        def query(one: str) -> Answers:
            return self.query(one, observe=observe)

        proving = Proving(compiled, prove, query, now())
        written: WrittenPopulation = write_population(folder, proving, wish or PopulationWish())
        return written

    def _answers(  # noqa: PLR0913  each kind of wish has a name
        self,
        query: str,
        *,
        confidence: bool,
        engine: str,
        check: int | str | None,
        among: Callable[[Answers], Rows] | None,
        observe: Observer | None,
        limits: Limits,
    ) -> Answers:
        _, compiled = self._compiled(query)
        answers = self._computed(
            compiled,
            confidence=confidence,
            engine=engine,
            bulk=self._whole_answers(OFF if isinstance(check, int) else check),
            observe=observe,
            limits=limits,
        )
        if not isinstance(check, int) or not check:
            return answers
        # Only this needs the checker.
        from constat.session.row_proofs import check_rows, sample  # noqa: PLC0415  loaded when it is used

        rows = sample(answers.rows if among is None else among(answers), check)
        decide_row = partial(self._decide, program=compiled.program, typed=False)
        prove = partial(decide_row, exhaust=False, observe=observe)
        checked: Answers = check_rows(answers, compiled, rows, prove, check)
        return checked

    def _whole_answers(self, check: str | None, folder: Path | None = None) -> BulkOptions:
        """Say what is done with answers in bulk. Raises `ValueError` for a word that is none."""
        wanted = self.project.check if check is None else check
        if wanted not in CHECKS:
            raise ValueError(f"`check` is a number or one of {', '.join(CHECKS)}")
        return BulkOptions(wanted, folder, self._checks())

    def _checks(self) -> Checks:
        if self._checked is None:
            # Goals are proved without it.
            from constat.session.checking import Checks  # noqa: PLC0415  loaded when it is used

            self._checked = Checks(self.project.state)
        return self._checked

    def _computed(
        self,
        compiled: Compiled,
        *,
        confidence: bool,
        engine: str,
        bulk: BulkOptions,
        observe: Observer | None,
        limits: Limits | None = None,
    ) -> Answers:
        from constat.session.querying import answer_query, answer_twice, outcome_answers  # noqa: PLC0415  loaded when it is used

        created = now()
        read = reading_least(compiled.program, compiled.goal, self._reads_by_column)
        # A whole relation is read in place, and by column where that leaves something open.
        least = replace(compiled, program=read)

        def once(externals: Externals, limits: Limits) -> Answers:
            asked = (self._engine, least, externals, limits)
            if confidence or engine == "reference":
                found: Answers = answer_query(
                    *asked, created=created, confidence=confidence, observe=self._tell
                )
                return found
            if engine == "auto":  # small queries start without what only large ones need
                from constat.session.querying import try_small  # noqa: PLC0415  loaded when it is used

                outcome = try_small(*asked, self._tell)
                if outcome is not None:
                    how: Any = {"confidence": False, "clock": limits.proving()}
                    told: Answers = outcome_answers(least, outcome, created=created, **how)
                    return told
            from constat.session.bulk import Asked, answer_in_bulk  # noqa: PLC0415  loaded when it is used

            spark = self._spark() if engine == "spark" else None
            there = engine == "postgres"
            large = Asked(compiled, externals, limits, created, bulk, read, spark, there)
            in_bulk: Answers = answer_in_bulk(large, self._tell)
            return in_bulk

        def answered(tiers: Tiers) -> Answers:
            told: Answers = answer_twice(once, tiers.externals, bounds)
            return told

        with self._turn:
            bounds = (limits or self._limits()).begun()
            return self._evaluated(observe, answered, bounds)

    def _spark(self) -> SparkSetting:
        """Give where the project says that Spark is. Raises `ConstatError`."""
        if self.project.spark is None:
            message = "the project names no Spark"
            help_ = 'write `engines: {spark: {remote: "sc://localhost:15002"}}` into it'
            raise ConstatError([Diagnostic("C0680", message, help=help_)])
        return self.project.spark

    def prove_row(
        self, query: str, row: str, *, observe: Observer | None = None
    ) -> tuple[Result, ...]:
        """Prove one row of a query's answers, `row` being its values as in a goal: `C001, 150`.

        Gives a result for each positive atom of the query, with a proof of least height. Raises
        `ConstatError` as `prove` does.
        """
        _, compiled = self._compiled(query)
        from constat.session.row_proofs import goals_of_row  # noqa: PLC0415  loaded when it is used

        goals: tuple[str, ...] = goals_of_row(compiled, row)
        return tuple(self.prove(goal, minimal="height", observe=observe) for goal in goals)

    def explain_plan(
        self, query: str, question: PlanQuestion, *, analyze: bool, observe: Observer | None = None
    ) -> ExplainedPlan:
        """Tell how a query is computed in bulk; with `analyze` also how long each stage took."""
        _, compiled = self._compiled(query)
        from constat.session.plan_explaining import analyze_query, explain_query  # noqa: PLC0415  loaded when it is used

        if not analyze:
            planned: ExplainedPlan = explain_query(compiled, question)
            return planned
        if question.on_spark:
            question = replace(question, spark=self._spark())
        with self._evaluating(observe) as tiers:
            computed: ExplainedPlan = analyze_query(compiled, tiers.externals, question, self._tell)
        return computed

    def second_rows(self, query: str, *, observe: Observer | None = None) -> SecondRows:
        """Ask pyDatalog, an independent engine, for the rows of a query; they have no verdicts.

        Raises `ConstatError` for what it refuses, as `second_opinion` does.
        """
        querying, compiled = self._compiled(query)
        from constat import pydatalog as other  # noqa: PLC0415  loaded when it is used

        with self._evaluating(observe) as tiers:
            answer: AnswerSet = other.answers(
                compiled.program, compiled.goal, tiers.externals, self._limits(), observe=self._tell
            )
        found: SecondRows = querying.second_rows(compiled, answer.rows, answer.stopped)
        return found

    def _compiled(self, query: str) -> tuple[ModuleType, Compiled]:
        # `prove` starts without what only queries need.
        from constat.session import querying  # noqa: PLC0415  loaded when it is used

        read = read_query(query, self.program)
        for literal in read.literals:
            self._said.update(values_of(literal.atom) if isinstance(literal, Positive) else ())
        return querying, querying.compile_query(read, self.program)

    def second_opinion(self, goal: str, *, observe: Observer | None = None) -> AnswerSet:
        """Ask pyDatalog, an independent engine, whether a goal holds; there is no certificate.

        Raises `ConstatError` for what it refuses: exit code 78 for a construct, 4 for open facts.
        """
        analysed = self.program
        atom = check_goal(parse_goal(goal, analysed.program), analysed)
        self._said.update(values_of(atom))
        # Goals are proved without it: it is loaded where somebody asks for it.
        from constat import pydatalog as other  # noqa: PLC0415  loaded when it is used

        with self._evaluating(observe) as tiers:
            found: AnswerSet = other.answers(
                analysed, atom, tiers.externals, self._limits(), observe=self._tell
            )
        return found

    def check_rules(self, paths: Sequence[Path | str]) -> Checked:
        """Check rule files and folders; needs no project."""
        return check_rules([Path(path) for path in paths])

    def keep(self, result: Result) -> Path:
        """Keep the certificate of a result in the project, for `stale`; gives its file."""
        identity = json.loads(result.certificate)["identity"]
        if result.as_of is None:
            self._record(result, every=True)
        return CertificateStore(self.project.state).add(identity, result.certificate)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What was wrong with kept answers or the record, which changed no verdict."""
        troubles = () if self._tiers is None else self._tiers.troubles()
        found = (Diagnostic(code, reason, severity=Severity.WARNING) for code, reason in troubles)
        others = (*self._unrecorded, *self._model_warnings, *self._plan_remarks)
        return (*found, *others, *self._differences())

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The answers in bulk that were others when they were counted again, the oldest first.

        Each is kept until the same query is checked and passes. Raises `ConstatError`.
        """
        return CheckStore(self.project.state).list()

    def _differences(self) -> tuple[Diagnostic, ...]:
        if self._project is None:
            return ()
        try:
            found = self.differences
        except ConstatError as problem:
            return tuple(replace(one, severity=Severity.WARNING) for one in problem.diagnostics)
        return tuple(map(_difference, found[-_MOST_DIFFERENCES:]))

    def close(self) -> None:
        """Close all connections. The session may be used again; it opens them anew."""
        tiers, self._tiers = self._tiers, None
        if tiers is not None:
            tiers.close()
        self._close_models()
        self._close_catalog()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _evaluating(
        self, observe: Observer | None, limits: Limits | None = None
    ) -> Iterator[Tiers]:
        """Give the tiers for one evaluation, which is bounded in time and ends in every case.

        What is left of `limits` bounds it, where the work that it belongs to has begun. Evaluations
        of several threads take turns: a source is read in one state by each.
        """
        with self._turn:
            tiers = self._opened()
            tiers.start((limits or self._limits()).left)
            try:
                with self.observing(observe):
                    yield tiers
            except KeyboardInterrupt:
                # Queries in other threads would go on, and keep the program from ending.
                tiers.cancel()
                raise
            finally:
                tiers.release()

    def _evaluated(
        self,
        observe: Observer | None,
        evaluate: Callable[[Tiers], _Found],
        limits: Limits | None = None,
    ) -> _Found:
        """Evaluate, and anew where a source changed meanwhile, which leaves open what it says."""
        bounds = limits or self._limits()
        until = time.monotonic() + bounds.left * _SHARE_TO_START_ANEW
        for _ in range(_ATTEMPTS - 1):
            with self._evaluating(observe, limits) as tiers:
                found = evaluate(tiers)
                if not tiers.changed() or time.monotonic() > until:
                    return found
        with self._evaluating(observe, limits) as tiers:
            return evaluate(tiers)

    def _decide_asked(
        self,
        asked: AskedGoal,
        *,
        exhaust: bool,
        minimal: str | None,
        observe: Observer | None,
        limits: Limits,
    ) -> Result:
        """Decide a goal, which may be a relation of its own."""
        program = asked.program if asked.text else None
        how: Any = {"exhaust": exhaust, "minimal": minimal, "observe": observe}
        result = self._decide(asked.atom, program=program, limits=limits, **how)
        if not asked.text:
            return result
        (rule,) = asked.program.program.rules_for(asked.atom.predicate)
        for literal in rule.body:
            if isinstance(literal, Positive | Negative):
                self._said.update(values_of(literal.atom))
        return result.asked_as(asked.text)

    def _decide(  # noqa: PLR0913  each kind of wish has a name
        self,
        goal: Atom,
        *,
        exhaust: bool,
        minimal: str | None = None,
        program: AnalysedProgram | None = None,
        typed: bool = True,
        observe: Observer | None = None,
        limits: Limits | None = None,
    ) -> Result:
        created, before = now(), self._used
        if typed:
            # The values of a goal that is made of a row are data.
            self._said.update(values_of(goal))
        asked = self.program if program is None else program

        ranking = None if minimal is None else Ranking(minimal)

        # All of it belongs to one goal, and shares its time, also where a source is read anew.
        limits = (limits or self._limits()).begun()
        rules, facts = facts_apart(asked)
        told_in_rules = asked.remembered("rule facts", lambda: rule_facts(facts))
        least = reading_least(rules, goal, self._reads_by_column)
        decision = self._evaluated(
            observe,
            lambda tiers: self._decided(
                least,
                goal,
                {**tiers.externals, **told_in_rules},
                limits,
                ranking=ranking,
                exhaust=exhaust,
            ),
            limits,
        )
        told = Told(self._asker, libraries=self._libraries())
        return self._with_usage(result_of(decision, least, created, self.speech, told), before)

    def _decided(
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        ranking: Ranking | None,
        exhaust: bool,
    ) -> Decision:
        return decide(
            self._engine,
            program,
            goal,
            externals,
            limits,
            exhaust=exhaust,
            ranking=ranking,
            observe=self._tell,
        )

    def _reads_by_column(self, predicate: Predicate) -> bool:
        """Whether columns of a predicate that nobody reads are left out."""
        return reads_by_column(predicate, self.project)

    def unmet_constants(self, asked: Result | str) -> tuple[str, ...]:
        """Name the constants of a goal and its rules that no source has, with what is near them.

        Of a result only where the goal is not proved; a text is a goal without answers. The values
        are those of the sources: for people, and for a model only where `samples` allow it.
        """
        from constat.session.spelling import unmet_constants  # noqa: PLC0415  loaded when it is used

        if isinstance(asked, Result):
            proved = asked.verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}
            if proved or asked.as_of is not None:
                return ()

        def values(name: str, column: int) -> Collection[str] | None:
            external = tiers.externals.get(name)
            return external.texts(column) if isinstance(external, Chain) else None

        with self._evaluating(None) as tiers:
            goal, program = None if isinstance(asked, str) else asked.decision.goal, self.program
            if goal is None or goal.predicate not in program.program.predicates:
                # A goal of several literals has a relation of its own.
                read = read_goal(asked if isinstance(asked, str) else asked.goal, self.program)
                goal, program = read.atom, read.program
            found = unmet_constants(goal, program.program, values)
            return tuple(one.text for one in found)

    @property
    def speech(self) -> Speech:
        """How sentences are said: in the locale of this session, or of the project."""
        return speech_in(self.project.locale if self._locale is None else self._locale)

    def _bench(self) -> Bench:
        parts = (self._tell, self._texts, self.speech, lambda: self.models)
        around = (self._engine, self._limits(), self._evaluating, self._evaluated, *parts)
        return Bench(self.project, self.program, *around, self._said)

    def _facts(self) -> FactStore:
        if self._store is None:
            self._store = FactStore(self.project.state)
        return self._store

    def _opened(self) -> Tiers:
        if self._shared is not None:
            return self._shared
        if self._tiers is None:
            tiers = build_externals(
                self.project,
                self.program,
                self._facts(),
                serve=self._serve,
                observe=self._tell,
                checker=checked,
                models=lambda: self.models,
                said=self._spoken,
            )
            if self._sight is not None:
                from constat.tiers.rights import restricted  # noqa: PLC0415  loaded when it is used

                seen = restricted(tiers.externals, self.program, self._sight)
                tiers = replace(tiers, externals=seen)
            if self.joined is not None:
                from constat.session.drafted import with_joined  # noqa: PLC0415  loaded when it is used

                tiers = with_joined(tiers, self.program, self.joined)
            self._tiers = tiers
        return self._tiers

    def _spoken(self) -> set[Value]:
        """Give the values that goals and rules name; of the rules only a model's tier asks."""
        from constat.authoring.constants import constants_of  # noqa: PLC0415  loaded when it is used

        rules = (one for one in self.program.rules if one.body)
        self._said.update(one.value for one in constants_of(rules).values())
        return self._said

    @contextmanager
    def stoppable(self, stop: Event) -> Iterator[None]:
        """Let another thread end what is asked meanwhile: once `stop` is set, `StoppedError`.

        What waits for a source goes on until `cancel` is called as well.
        """
        before, self._stop = self._stop, stop
        try:
            yield
        finally:
            self._stop = before

    def cancel(self) -> None:
        """Stop the queries that run at the sources, from any thread."""
        tiers = self._tiers
        if tiers is not None:
            tiers.cancel()

    def _moment(self) -> float:
        if self._stop is not None and self._stop.is_set():
            raise StoppedError
        return moment()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Bound each evaluation meanwhile by so many seconds, if the project allows it more."""
        before = self.project
        bounds = replace(before.limits, seconds=min(seconds, before.limits.seconds))
        self._project = replace(before, limits=bounds)
        try:
            yield
        finally:
            self._project = before

    def _limits(self) -> Limits:
        if self._begun is not None:
            return self._begun
        bounds = self.project.limits
        return Limits(
            seconds=bounds.seconds,
            rows=bounds.rows,
            calls=bounds.calls,
            where=self.project.config_name,
            now=moment if self._stop is None else self._moment,
        )


def _difference(found: Difference) -> Diagnostic:
    return Diagnostic(
        "C0664",
        f"the answers of `{found.query}`, counted again at {found.found_at[:19]}Z, are others:"
        f" {found.why}",
        note="none of them counts, and a proof never rests on them",
        help="`--engine reference` answers goal by goal; a check that passes ends this warning",
        severity=Severity.WARNING,
    )
