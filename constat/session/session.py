"""A session: the composition root.

In: a project folder. Out: results. Builds engine, tiers, store and program once, when they are
first needed, and hands them down; no other module builds them. Invariants: used by one thread at a
time; every evaluation reads its sources anew, in one read transaction of each, but for what
`max_age` lets it take from the kept answers; `close` releases everything.
Example: `with Session() as session: session.prove("is_vip(C001)")`.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol, Self, TypeVar

from constat.analysis import check_goal
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.diagnostics.interruption import StoppedError
from constat.engine import LazyEngine
from constat.evaluation import Limits, Verdict, ignore_event
from constat.evaluation.clock import moment
from constat.evaluation.processor import OPEN_HERE, Turn
from constat.evaluation.spans import traced
from constat.library import check_rules, load_rules
from constat.logic import Negative, Positive
from constat.project import APPROVALS_FILE, Project, find_project, load_project
from constat.project.settings import ALWAYS, CHECKS, OFF, asked_by
from constat.proof import decide
from constat.proof.certificate import Circumstances
from constat.proof.encoding import sha256
from constat.proof.levels import Ranking
from constat.proof.projection import facts_apart, reading_least
from constat.proof.sentences import speech_in
from constat.session.asked_goals import AskedGoal, goal_text, read_goal, read_query, with_asked
from constat.session.options import SECONDS, BulkOptions, LogAs, PopulationOptions
from constat.session.parts import SessionParts, values_of
from constat.session.result import AskOptions, Result, checked, result_of
from constat.session.stated import StatedFacts
from constat.store import CertificateStore, FactStore
from constat.store.checks import CheckStore
from constat.store.clock import now
from constat.store.replacing import remove_left
from constat.syntax import parse_goal
from constat.tiers import Chain, build_externals, rule_facts
from constat.tiers.declarations import reads_by_column

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType, TracebackType

    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import DiscoveryTools
    from constat.catalog import SchemaManager
    from constat.check import Report
    from constat.documents import Documents
    from constat.evaluation import Event, Externals, Observer
    from constat.evaluation.spans import EventSpans
    from constat.explore.answered import ExplorationState, Explored, StepRecordView
    from constat.explore.events import ExploreObserver
    from constat.explore.plan import Plan
    from constat.library import Checked
    from constat.library.loading import LeftOut
    from constat.library.reviewing.confirmations import Confirmations
    from constat.library.reviewing.drafts import JoinedProgram
    from constat.logic import Atom, Value
    from constat.model import Client, Usage
    from constat.project.settings import Sight, SparkSetting
    from constat.proof.comparison import Comparison
    from constat.proof.decide import Decision
    from constat.proof.sentences import Speech
    from constat.proof.signing import SigningKey
    from constat.proof.translation import Translation
    from constat.pydatalog import AnswerSet
    from constat.session.answers import Answers, Rows, SecondRows
    from constat.session.asked_goals import Goal
    from constat.session.catalog import DraftedTables
    from constat.session.checking import Checks
    from constat.session.counterfactuals import Counterfactuals
    from constat.session.current import Receiving, Watch
    from constat.session.decisions import Decisions
    from constat.session.drafted import FactsOfText
    from constat.session.exploring import Exploring
    from constat.session.handed import Rules
    from constat.session.hypotheses import MissingFacts, WhatIf, WhyNotResult
    from constat.session.leaves import JoinedDraft, LeafReport
    from constat.session.many_proofs import FoundProofs, RowProofs
    from constat.session.models import ModelListing, Models
    from constat.session.plan_approvals import Plans, Review
    from constat.session.plan_explaining import ExplainedPlan, PlanQuestion
    from constat.session.population import WrittenPopulation
    from constat.session.querying import Compiled
    from constat.session.recording import RecordedAnswers
    from constat.session.replaying import LiveReplay, Replay
    from constat.session.result import Answered
    from constat.session.reviewing import Reviews
    from constat.session.signing import SignatureReport
    from constat.session.snapshots import SignedSnapshot
    from constat.session.stale import Present, StaleReport
    from constat.session.stored_answers import KeptAnswers, MaterializedResults
    from constat.store.checks import Difference
    from constat.store.drafts import DraftStore
    from constat.store.explored import Exploration
    from constat.tiers import Tiers


def _unwritten(result: Result) -> Result:
    return result


Stamps = dict[Path, tuple[object, ...]]
"""Files and folders, each with what changes when it does."""
_RULE_FILE: Final = ".dl"


def watched(project: Project) -> Stamps:
    """Give the stamps of what decides which rules a project has; nothing is read."""
    folders = dict.fromkeys((*(one.parent for one in project.rules), *project.rule_roots))
    approvals = (one / APPROVALS_FILE for one in folders)
    files = (project.folder / project.config_name, *project.rules, *approvals)
    return stamp_of((*files, *folders))


def stamp_of(paths: Iterable[Path]) -> Stamps:
    """Give the stamps of files and folders; a folder's are the names of its rule files."""
    return {one: _stamp(one) for one in paths}


def _stamp(path: Path) -> tuple[object, ...]:
    try:
        found = path.stat()
        if S_ISDIR(found.st_mode):
            names = os.listdir(path)  # noqa: PTH208  names alone, and no paths
            return tuple(sorted(name for name in names if name.endswith(_RULE_FILE)))
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


class Translated(Protocol):
    """An answer: of `ask`, `prove`, `solve`, or a later question of theirs."""

    @property
    def translation(self) -> Translation | None:
        """What was read from the question."""
        ...


class Proving(Protocol):
    """A session as far as a goal can be proved in it."""

    def prove(
        self,
        goal: str,
        *,
        exhaust: bool = False,
        minimal: str | None = None,
        observe: Observer | None = None,
    ) -> Result:
        """Prove or disprove a goal."""
        ...

    def query(
        self,
        query: str,
        *,
        confidence: bool = False,
        engine: str = "auto",
        observe: Observer | None = None,
    ) -> Answers:
        """Find all answers of a goal with variables."""
        ...


_Found = TypeVar("_Found")
_WithUsage = TypeVar("_WithUsage", "Result", "Answers")
# A source that changed while it was read is read again, as long as little time has gone.
_ATTEMPTS: Final = 4
_SHARE_TO_START_ANEW: Final = 0.1
_MOST_DIFFERENCES: Final = 5


class Session:
    """Answers goals about one project. Nothing is opened before the first question.

    `project` is a folder; without one the project is found from the present folder upward, or,
    where there are `rules`, there is none. `rules` are a text, the path of a rule file or a folder
    of them, or rules and declarations built of `constat.logic`, as goals may be, too. `facts` are
    frames by the names of relations: of pandas, Polars or Arrow, or relations of DuckDB; they are
    referred to, and take the place of a relation's `.input`. Without `cache` everything is asked
    anew, and kept where `max_age` says so. `locale` is that of its sentences, in place of the
    project's. With a `sight` what a caller may not see is unknown in it, and nothing is recorded.

    Several threads may use one session; their questions are answered one after the other.
    Processes may each have a session on one project; a process that was forked from one that had a
    session open has none, and is told so (C0527).
    """

    _unrecorded: tuple[Diagnostic, ...] = ()
    """What was wrong with the record, in the last evaluation that used it."""
    _models: Models | None = None
    _plan_remarks: tuple[Diagnostic, ...] = ()
    planning: bool = True
    """Whether sub-plans may be drafted; not where only what is approved counts."""
    _read: Stamps | None = None
    joined: JoinedProgram | None = None
    """The drafts that have joined this session, if any have."""
    _catalog: SchemaManager | None = None
    _documents: Documents | None = None
    allow_unconfined: bool = False
    """Whether code may run where nothing keeps it in, if the configuration allows that too."""

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
        self._observe: Observer = ignore_event
        self._spans: EventSpans | None = None
        self._telling = threading.RLock()
        # Threads that share a session take turns.
        self._turn = Turn()
        self._stop: threading.Event | None = None
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
        self._by_column: tuple[AnalysedProgram, Project, frozenset[str]] | None = None
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

    def over(  # noqa: PLR0913  each option has a name
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

    def watch(
        self, goals: Sequence[str], *, keep: bool = False, telling: Receiving | None = None
    ) -> Watch:
        """Answer goals and keep their answers current; a context manager.

        `poll` gives the conclusions that came and went since the last look. With `keep` what is
        known lasts beyond the process. `telling` gets the conclusions before what is kept says that
        they were seen. Raises `ConstatError`.
        """
        from constat.session.current import Around, Watch  # noqa: PLC0415  loaded when it is used

        around = Around(
            self.program, self.project.state, lambda: self._evaluating(None), self.query
        )
        return Watch(around, goals, keep=keep, telling=telling)

    @traced
    def prove(  # noqa: PLR0913  each option has a name
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
        counterfactuals: bool | Literal["cheap"] | None = None,
    ) -> Result:
        """Prove or disprove a goal such as `is_vip(C001)`, or the goal of a question (see `ask`).

        With `exhaust` better proofs are looked for after the first; with `minimal` (`height` or
        `size`) also the lowest of these, or the smallest. With `as_of` (a date or time in UTC) the
        facts are those that were recorded then. `observe` receives the events of this evaluation.
        With `log`, or where the project has a log of decisions, the result is written down before
        it is given. With `counterfactuals` the certificate of a "no" tells which small changes of
        rows were tried and turn it: `"cheap"` tries a few of an answer that read little, from no
        model and no API; so does `None` where the result is written down. `ValueError` with
        `question` or `as_of`. Raises `ConstatError` for mistakes of goal, rules and configuration,
        and where it cannot be written down.
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

    def _proved(  # noqa: PLR0913  each option has a name
        self,
        goal: str,
        *,
        exhaust: bool,
        minimal: str | None,
        as_of: str | None,
        observe: Observer | None,
        log: LogAs | None,
        counterfactuals: bool | Literal["cheap"] | None,
    ) -> Result:
        asked = read_goal(goal, self.program)
        self._asker = None if log is None else log.by
        logged = self.project.log.on or not (log is None or log.only_names)
        options = self.decisions.require(log) if logged else None
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
        if counterfactuals is None:
            counterfactuals = "cheap" if logged and as_of is None else False
        if counterfactuals:
            result = self._with_changes(result, cheaply=counterfactuals == "cheap")
        return result if options is None else self.decisions.write(result, options)

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

    @traced
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
        options: PopulationOptions | None = None,
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
        written: WrittenPopulation = write_population(
            folder, proving, options or PopulationOptions()
        )
        return written

    def _answers(  # noqa: PLR0913  each option has a name
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
            wished = self.project.check if check is None else check
            if wished != ALWAYS:
                return answers
            from constat.session.answers import told_of_check  # noqa: PLC0415  loaded when it is used

            told: Answers = told_of_check(answers)
            return told
        # Only this needs the checker.
        from constat.session.many_proofs import check_rows, sample  # noqa: PLC0415  loaded when it is used

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
        read = self._reading_least(compiled.program, compiled.goal)
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
            from constat.session.bulk import BulkQuery, answer_in_bulk  # noqa: PLC0415  loaded when it is used

            spark = self._spark() if engine == "spark" else None
            there = engine == "postgres"
            large = BulkQuery(compiled, externals, limits, created, bulk, read, spark, there)
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
        from constat.session.many_proofs import goals_of_row  # noqa: PLC0415  loaded when it is used

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
        """Close all connections. The session may be used again; it opens them anew.

        Behind a fork nothing happens: they belong to the other process.
        """
        if OPEN_HERE.inherited:
            return
        tiers, self._tiers = self._tiers, None
        if tiers is not None:
            tiers.close()
        self._close_models()
        self._close_catalog()
        OPEN_HERE.discard(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raise `TypeError`: connections and files belong to one process."""
        told = "open one in each process, `Session(folder)`, and send goals and certificates"
        raise TypeError(f"a {type(self).__name__} is neither copied nor pickled: {told}")

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

    def _decide(  # noqa: PLR0913  each option has a name
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
        least = self._reading_least(rules, goal)
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
        told = Circumstances(self._asker, libraries=self._libraries())
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

    def _reading_least(self, program: AnalysedProgram, goal: Atom) -> AnalysedProgram:
        """Give a program in which nobody reads the columns that a goal does not need."""
        known, project = self._by_column, self.project
        if known is None or known[0] is not program or known[1] is not project:
            every = program.program.predicates.values()
            names = frozenset(one.name for one in every if reads_by_column(one, project))
            known = self._by_column = program, project, names
        return reading_least(program, goal, lambda one: one.name in known[2])

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

    def _parts(self) -> SessionParts:
        rest = (self._tell, self._texts, self.speech, lambda: self.models)
        around = (self._engine, self._limits(), self._evaluating, self._evaluated, *rest)
        return SessionParts(self.project, self.program, *around, self._said)

    def _facts(self) -> FactStore:
        if self._store is None:
            OPEN_HERE.add(self)
            self._store = FactStore(self.project.state)
        return self._store

    def _opened(self) -> Tiers:
        if self._shared is not None:
            return self._shared
        if self._tiers is None:
            OPEN_HERE.add(self)
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
    def stoppable(self, stop: threading.Event) -> Iterator[None]:
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

    @contextmanager
    def observing(self, observe: Observer | None) -> Iterator[None]:
        """Let somebody hear what happens meanwhile; with `None` whoever listens goes on."""
        before = self._observe
        if observe is not None:
            self._observe = observe
        try:
            yield
        finally:
            self._observe = before

    def _tell(self, event: Event) -> None:
        # The tiers and models outlive one question; whoever observes the present one hears them.
        with self._telling:
            self._observe(event)
            if self._spans is not None:
                self._spans.hear(event)

    @contextmanager
    def hearing(self, spans: EventSpans) -> Iterator[None]:
        """Let spans be made of what happens meanwhile, within this thread's turn."""
        with self._turn:
            before, self._spans = self._spans, spans
            try:
                yield
            finally:
                self._spans = before

    def row_proofs(self, query: str) -> RowProofs:
        """Make ready to prove many rows of one query, each with a proof of least height.

        The result is computed once and held in memory, until what this gives is closed. Raises
        `ConstatError` as `query` does.
        """
        from constat.session import many_proofs as proving  # noqa: PLC0415  loaded when it is used

        found: RowProofs = proving.row_proofs(
            self._parts(), query, lambda goal: self.prove(goal, minimal="height")
        )
        return found

    @traced
    def why_not(
        self, goal: Goal, *, most: int = 40, observe: Observer | None = None
    ) -> WhyNotResult:
        """Say why a goal does not hold: how far each rule gets, and what stops it there.

        `most` bounds the number of conclusions that are looked into. A goal that holds is shown
        with its proof; one that is open with what is missing. Raises `ConstatError` as `prove`.
        """
        from constat.session.hypotheses import why_not  # noqa: PLC0415  loaded when it is used

        return why_not(self._parts(), goal_text(goal), most=most, observe=observe)

    def counterfactuals(self, refused: WhyNotResult) -> Counterfactuals:
        """Find small changes of rows after which a refused goal would hold, each tried.

        A number that sources gave moves by what is lacking, or a row is taken away; what is
        returned was confirmed by `what_if`. Raises `ConstatError` as `what_if`.
        """
        from constat.session.counterfactuals import Counterfactuals  # noqa: PLC0415  loaded when it is used

        if refused.refutation is None:
            return Counterfactuals((), 0, stopped=False)
        return self._tried(refused.result)

    def _with_changes(self, result: Result, *, cheaply: bool) -> Result:
        """Give the result of a "no" with the changes that turn it, for its certificate."""
        from constat.session.counterfactuals import is_cheap  # noqa: PLC0415  loaded when it is used

        if result.verdict not in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}:
            return result
        if cheaply and not is_cheap(result.calls):
            return result
        changes = tuple(one.as_json() for one in self._tried(result, cheaply=cheaply).found)
        return result.told_with(changes)

    def _tried(self, result: Result, *, cheaply: bool = False) -> Counterfactuals:
        from constat.session.counterfactuals import MOST_CHEAP, MOST_TRIED, counterfactuals  # noqa: PLC0415  loaded when it is used
        from constat.session.hypotheses import supposed_verdict  # noqa: PLC0415  loaded when it is used
        from constat.session.suppositions import Suppositions  # noqa: PLC0415  loaded when it is used

        parts = self._parts()

        def ask(remove: str, add: str, seconds: float) -> Verdict:
            supposed = Suppositions((add,) if add else (), (remove,) if remove else (), (), ())
            return supposed_verdict(parts, result.goal, supposed, seconds)

        return counterfactuals(result.certificate, ask, MOST_CHEAP if cheaply else MOST_TRIED)

    @traced
    def what_if(  # noqa: PLR0913  each kind of supposition has a name
        self,
        goal: Goal,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
        rules: Sequence[Path | str] = (),
        query: bool = False,
        observe: Observer | None = None,
    ) -> WhatIf:
        """Answer a goal as if facts were there or not, values others, rules others.

        `add` and `remove` are facts (in `remove`, variables stand for any value), `settings` are
        values of the configuration by name, `rules` are files whose rules are added or take the
        place of those with the same id, or of a file with the same name. With `query` the goal is
        a conjunction. Raises `ConstatError` for what cannot be supposed.
        """
        from constat.session.hypotheses import what_if  # noqa: PLC0415  loaded when it is used
        from constat.session.suppositions import Suppositions  # noqa: PLC0415  loaded when it is used

        supposed = Suppositions(
            tuple(add), tuple(remove), tuple((settings or {}).items()), tuple(rules)
        )
        return what_if(self._parts(), goal_text(goal), supposed, query=query, observe=observe)

    @traced
    def missing_facts(
        self,
        goal: Goal,
        *,
        top: int = 3,
        abducible: Mapping[str, str] | None = None,
        removable: Mapping[str, str] | None = None,
        seconds: float = 10.0,
        observe: Observer | None = None,
    ) -> MissingFacts:
        """Find the cheapest sets of facts that would prove a goal, each tried by `what_if`.

        Facts of predicates declared `@[abducible(cost = 2)]` may be supposed, and those of
        predicates declared `@[removable(cost = 1)]` taken away; `abducible` and `removable` name
        further ones with their costs. `top` sets are looked for, the cheapest first.
        """
        from constat.session.hypotheses import MissingOptions, missing_facts  # noqa: PLC0415  loaded when it is used

        asked = MissingOptions(
            top, tuple((abducible or {}).items()), tuple((removable or {}).items()), seconds
        )
        return missing_facts(self._parts(), goal_text(goal), asked, observe=observe)

    def proofs(
        self,
        goal: str,
        *,
        ranking: str = "height",
        seconds: float = SECONDS,
        observe: Observer | None = None,
        log: LogAs | None = None,
    ) -> FoundProofs:
        """Find the proofs of a goal, the most confident first, each when it is asked for.

        Of equally confident ones the lower comes first, or with the ranking `size` the smaller.
        Looking for them ends after so many `seconds`. Each result has a certificate of its own and
        is written into the log of decisions as in `prove`.
        """
        parts = self._parts()
        from constat.session.many_proofs import find_proofs  # noqa: PLC0415  loaded when it is used

        write = _unwritten
        if log is not None or parts.project.log.on:
            from constat.session import decisions as logging  # noqa: PLC0415  loaded when it is used

            decisions = logging.Decisions(lambda: parts.project)
            options = decisions.require(log)

            def write(result: Result) -> Result:
                written: Result = decisions.write(result, options)
                return written

        found: FoundProofs = find_proofs(
            parts, goal, ranking=ranking, seconds=seconds, observe=observe, write=write
        )
        self._record(found.first)
        return found

    def diff(self, before: bytes, after: bytes | None = None) -> Comparison:
        """Tell what differs between two certificates, or between one and the present.

        Without `after` the goal is proved again. Raises `ConstatError` where a certificate is
        rejected, or the project does not know its goal.
        """
        program = self._parts().program
        from constat.session.replaying import compare_certificates, compare_with_present  # noqa: PLC0415  loaded when it is used

        if after is not None:
            between: Comparison = compare_certificates(before, after, program)
            return between
        found: Comparison
        found, _ = compare_with_present(before, program, self._prove_anew)
        return found

    def replay(self, certificate: bytes) -> Replay:
        """Make a certificate again from its own record; needs no project.

        Raises `ConstatError` where it is rejected.
        """
        from constat.session import replaying  # noqa: PLC0415  loaded when it is used

        found: Replay = replaying.replay(certificate)
        return found

    def replay_live(self, certificate: bytes) -> LiveReplay:
        """Prove a certificate's goal again and read each of its facts again, from the sources.

        Raises `ConstatError` where it is rejected, or the project does not know its goal.
        """
        program = self._parts().program
        from constat.session import replaying  # noqa: PLC0415  loaded when it is used

        with self._asking_anew() as externals:
            found: LiveReplay = replaying.replay_live(
                certificate, program, externals, self._prove_anew
            )
        return found

    @property
    def recorded(self) -> RecordedAnswers:
        """What was recorded for `as_of`, to look at and to shorten."""
        parts = self._parts()
        from constat.session import recording as looking  # noqa: PLC0415  loaded when it is used

        found: RecordedAnswers = looking.RecordedAnswers(parts.project, parts.program)
        return found

    def kept(self, identity: str) -> bytes:
        """Give the certificate that `keep` has kept under an identity (`sha256:...`)."""
        return CertificateStore(self._parts().project.state).read(identity)

    def _record(self, result: Result, *, every: bool = False) -> None:
        """Record what a result was made from, where somebody wants that, and sees all of it."""
        if self._sight is not None:
            return
        parts = self._parts()
        predicates = parts.program.program.predicates.values()
        named = any(one.source and "record" in one.source.parameters for one in predicates)
        setting = parts.project.record
        if every or named or setting.every or setting.sources:
            # Most programs record nothing: they start without what does.
            from constat.session.recording import record_result  # noqa: PLC0415  loaded when it is used

            self._unrecorded = record_result(parts, result, every=every)

    def _decide_as_of(
        self,
        asked: AskedGoal,
        time: str,
        *,
        exhaust: bool,
        minimal: str | None,
        observe: Observer | None,
    ) -> Result:
        """Decide a goal from what was recorded at a time."""
        from constat.session.recording import decide_as_of  # noqa: PLC0415  loaded when it is used

        parts = self._parts()
        found: Result
        found, self._unrecorded = decide_as_of(
            replace(parts, program=asked.program) if asked.text else parts,
            asked.atom,
            time,
            exhaust=exhaust,
            ranking=None if minimal is None else Ranking(minimal),
            speech=self.speech,
            observe=observe,
        )
        return found.asked_as(asked.text) if asked.text else found

    def _prove_anew(self, goal: Atom, *, exhaust: bool) -> Result:
        """Prove a goal with everything asked anew."""
        with self._opened().anew():
            self._opened().forget()
            return self._decide(goal, exhaust=exhaust)

    @contextmanager
    def _asking_anew(self) -> Iterator[Externals]:
        """Give the external predicates; nothing that was kept is served as long as it lasts."""
        with self._turn:
            tiers = self._opened()
            with tiers.anew():
                tiers.forget()
                try:
                    yield tiers.externals
                finally:
                    tiers.release()

    @property
    def decisions(self) -> Decisions:
        """The log of decisions: what was decided, what is held, what has expired."""
        from constat.session import decisions as logging  # noqa: PLC0415  loaded when it is used

        found: Decisions = logging.Decisions(lambda: self.project)
        return found

    def sign(self, certificate: bytes, key: SigningKey, meaning: str) -> bytes:
        """Sign a certificate that the checker accepts; gives a line for the file beside it.

        `meaning` is `produced`, `approved`, `reviewed` or `audited`; `constat.proof.signing` reads
        keys. Raises `ConstatError` for a certificate that is rejected.
        """
        from constat.session.signing import sign_certificate  # noqa: PLC0415  loaded when it is used

        line: bytes = sign_certificate(certificate, key, meaning)
        return line

    def check_signatures(
        self, certificate: bytes, signatures: bytes, roles: Sequence[str]
    ) -> SignatureReport:
        """Judge the signatures of an accepted certificate by the keys of the project.

        Each of the roles must have signed. Raises `ConstatError` where no key is trusted for one.
        """
        from constat.session import signing  # noqa: PLC0415  loaded when it is used

        trusted, wanted = signing.trust((), roles, self.project)
        report: SignatureReport = signing.check_signatures(
            signing.subject_of(certificate), signatures, trusted, wanted
        )
        return report

    def snapshot(
        self, predicate: str, key: SigningKey, first: Sequence[str] = ()
    ) -> SignedSnapshot:
        """Commit to all rows of a predicate, sorted by the columns `first` before the others.

        Raises `ConstatError` where the rows are not all there, certain and of one source.
        """
        from constat.session.snapshots import sign_snapshot, take_snapshot  # noqa: PLC0415  loaded when it is used

        taken = take_snapshot(self._parts(), predicate, first)
        signed: SignedSnapshot = sign_snapshot(taken, key)
        return signed

    def openings(
        self, certificate: bytes, snapshots: Sequence[tuple[bytes, str]], *, inside: bool = False
    ) -> bytes:
        """Open what an accepted certificate shows, in signed snapshots, each with its name.

        Gives a file of openings, or, with `inside`, the certificate with these in it. Raises
        `ConstatError` where a source has changed since, or the openings are too large to go inside.
        """
        from constat.session import snapshots as opening  # noqa: PLC0415  loaded when it is used

        read = [opening.read_snapshot(content, {}, name) for content, name in snapshots]
        write = opening.open_inside if inside else opening.open_certificate
        found: bytes = write(self._parts(), certificate, read)
        return found

    @property
    def models(self) -> Models:
        """The language models: clients by task, what may be spent, what was."""
        if self._models is None:
            from constat.session.models import Models  # noqa: PLC0415  loaded when it is used

            OPEN_HERE.add(self)
            self._models = Models(self.project, serve=self._serve, observe=self._tell)
        return self._models

    @property
    def model_listing(self) -> ModelListing:
        """What the models are and have used, to look at."""
        from constat.session import models as listing  # noqa: PLC0415  loaded when it is used

        found: ModelListing = listing.ModelListing(self.models, self.project.models)
        return found

    @property
    def model_notes(self) -> tuple[str, ...]:
        """What to say about the models that were asked, or whose replies were replayed."""
        return () if self._models is None else self._models.notes

    @property
    def model_usage(self) -> dict[str, object] | None:
        """What the models have used in this session, for programs; `None` where none was asked."""
        models = self._models
        if models is None or not (models.usage.calls or models.ledger.replayed):
            return None
        return models.usage_json

    @property
    def _used(self) -> Usage | None:
        """What models have used so far; `None` where the session has not come to any."""
        return None if self._models is None else self._models.usage

    def _with_usage(self, result: _WithUsage, before: Usage | None) -> _WithUsage:
        """Give a result, or answers, with what models have used since then."""
        used = self._used
        if used is None:
            return result
        found = replace(result, usage=used if before is None else used - before)
        if "certificate" in vars(result):
            # It says nothing of models, and may have taken long to write.
            vars(found)["certificate"] = vars(result)["certificate"]
        return found

    @property
    def _model_warnings(self) -> tuple[Diagnostic, ...]:
        return () if self._models is None else self._models.warnings

    def _close_models(self) -> None:
        # What was spent stays in the books of the session, which may be used again.
        if self._models is not None:
            self._models.close()

    @traced
    def ask(  # noqa: PLR0913  each option has a name
        self,
        question: str,
        *,
        require_approved: bool = False,
        by: str = "",
        minimal: str | None = None,
        as_of: str | None = None,
        client: Client | None = None,
        observe: Observer | None = None,
        log: LogAs | None = None,
        conversation: str = "",
        accept_goal: str = "",
        require_confirmed: bool = False,
    ) -> Answered:
        """Answer a question such as `Is customer C001 a VIP?`.

        A language model of the project turns it into a goal over the project's predicates, with
        new rules where these do not suffice. The rules are checked, kept as a draft, and the goal
        is proved; what rests on the draft is UNDER that assumption. With `require_approved` no
        draft is used: a question that needs one is refused. A question that goes on with a named
        `conversation` is told what was said in it before (see `conversing`). The answer is settled
        (exit code 0 or 5) only where a person stands for the goal: `accept_goal` names the goal
        that is meant, `confirm` keeps that it was; with `require_confirmed` the exit code is else
        4. Raises `ConstatError` where no proposal passes the checks, where another goal than
        the accepted one comes out, and as `prove` does.
        """
        from constat.session import asking_steps  # noqa: PLC0415  loaded when it is used

        options = AskOptions(
            *(require_approved, by, minimal, as_of, log, conversation),
            *(accept_goal, require_confirmed),
        )
        over = partial(
            asking_steps.drafted_session, self._whole, cache=self._serve, locale=self._locale
        )
        with self.observing(observe):
            return asking_steps.answer(
                self._whole, question, options, over=over, client=client, observe=observe
            )

    def confirm(self, answer: Translated, *, by: str) -> Translation:
        """Keep a person's word that the goal holds exactly when the answer to the question is yes.

        It is bound to the question, the goal, today's date if the goal depends on it, and all rules
        and sources below the goal: any change ends it. Raises `ConstatError` where the goal was
        typed, or nobody is named.
        """
        if answer.translation is None:
            raise TypeError("an answer to a question has no translation")
        return self.confirmations.confirm(answer.translation, by)

    def translation_of_draft(self, identity: str, *, accept_goal: str = "") -> Translation | None:
        """Say what the question of a draft was read as, and who has confirmed that.

        Nothing where the draft was written for no question, or has no goal any more. Raises
        `ConstatError` where `accept_goal` is another goal, or there is no such draft.
        """
        from constat.session.asking_steps import translation_of_draft  # noqa: PLC0415  loaded when it is used

        return translation_of_draft(self._whole, identity, accept_goal)

    def prove_draft(self, identity: str, *, observe: Observer | None = None) -> Result:
        """Prove the goal of a draft's question anew, such as after a fact for it was stated.

        Raises `ConstatError` where the draft has no goal, and as `prove` does.
        """
        from constat.session.asking_steps import prove_draft  # noqa: PLC0415  loaded when it is used

        return prove_draft(self._whole, identity, observe)

    @property
    def confirmations(self) -> Confirmations:
        """Who has confirmed which goal for which question; they can be withdrawn."""
        from constat.library.reviewing.confirmations import Confirmations  # noqa: PLC0415  loaded when it is used

        return Confirmations(self.project.state)

    def transcripts(self) -> tuple[str, ...]:
        """Name the records of questions that were asked."""
        from constat.store.replacing import Transcripts  # noqa: PLC0415  loaded when it is used

        return Transcripts(self.project.state).identities()

    def transcript(self, identity: str) -> dict[str, Any]:
        """Give the record of a question. Raises `ConstatError` where there is none."""
        from constat.store.replacing import Transcripts  # noqa: PLC0415  loaded when it is used

        return Transcripts(self.project.state).read(identity)

    def _sub_planned(
        self,
        result: Result,
        prove: Callable[[Proving], Result],
        limits: Limits,
        observe: Observer | None,
    ) -> Result:
        """Have what an undecided goal lacks planned, where the project names such predicates.

        `prove` proves the goal once more in a session that the plans have joined, within what is
        left of `limits`.
        """
        if result.verdict is not Verdict.UNRESOLVED:
            return result
        found: Result = self._planned(result, prove, limits, observe, of_rows=False)
        return found

    def _sub_planned_rows(
        self,
        answers: Answers,
        query: Callable[[Proving], Answers],
        limits: Limits,
        observe: Observer | None,
    ) -> Answers:
        """Have what leaves the answers of a query open planned, as for a goal."""
        if answers.exit_code != Verdict.UNRESOLVED.exit_code:
            return answers
        found: Answers = self._planned(answers, query, limits, observe, of_rows=True)
        return found

    def _planned(
        self,
        first: Any,  # noqa: ANN401  a result or answers
        again: Callable[[Proving], Any],
        limits: Limits,
        observe: Observer | None,
        *,
        of_rows: bool,
    ) -> Any:  # noqa: ANN401  what was given, or what came instead
        self._plan_remarks = ()
        if not (self.planning and self.project.sub_plans.predicates):
            return first
        from constat.session import asking_steps  # noqa: PLC0415  loaded when it is used

        lacking = asking_steps.lacking_rows if of_rows else asking_steps.lacking
        with self.observing(observe):
            planned = asking_steps.with_sub_plans(
                *(self._whole, first, again, lacking, limits),
                cache=self._serve,
                locale=self._locale,
            )
        self._plan_remarks = planned.remarks
        return planned.result

    @property
    def drafts(self) -> DraftStore:
        """The quarantine: what was drafted, and what became of it."""
        from constat.store.drafts import DraftStore  # noqa: PLC0415  loaded when it is used

        return DraftStore(self.project.state)

    @property
    def reviews(self) -> Reviews:
        """Reviews of drafts and proposed rules: what they would change; approve and reject."""
        from constat.session import reviewing  # noqa: PLC0415  loaded when it is used

        return reviewing.Reviews(self._whole)

    def with_drafts(self, identities: Sequence[str]) -> Session:
        """Give a session in which drafts are proposed rules, also where they amend what is there.

        Raises `ConstatError` for a draft that is unknown or does not fit.
        """
        from constat.session import drafted  # noqa: PLC0415  loaded when it is used

        drafts = [self.drafts.get(one) for one in identities]
        joined = drafted.join_named(self.program, drafts)
        return self._whole.over(joined, cache=self._serve, locale=self._locale)

    @contextmanager
    def _beside_drafts(
        self, document: Mapping[str, Any], named: Sequence[str] | None
    ) -> Iterator[tuple[Session, tuple[JoinedDraft, ...]]]:
        """Give the session in which a certificate can be asked about, and the drafts that joined.

        These are the `named` ones, or else those whose rules the certificate has.
        """
        from constat.session import drafted  # noqa: PLC0415  loaded when it is used

        found: tuple[JoinedDraft, ...] = drafted.drafts_of(document, self._whole, named)
        here = [self.drafts.get(one.identity) for one in found if one.status]
        if not here:
            other = self._with_rows_in(document)
            try:
                yield other, found
            finally:
                if other is not self._whole:
                    other.close()
            return
        joined = drafted.join_named(self.program, here)
        if drafted.was_unused(document):
            joined = drafted.unused(joined)
        other = self._whole.over(joined, cache=self._serve, locale=self._locale)
        try:
            yield other, found
        finally:
            other.close()

    def _with_rows_in(self, document: Mapping[str, Any]) -> Session:
        """Give the session that has the rows of keys which a certificate shows to be broken."""
        declared = self.program.program.predicates
        if all(one["name"] in declared for one in document["declarations"]):
            return self._whole
        # Only such certificates need what checks the data.
        from constat.session.data_checks import over_rows_in  # noqa: PLC0415  loaded when it is used

        found: Session = over_rows_in(self._whole, document)
        return found

    def reload_rules(self) -> None:
        """Read the rules anew at the next question, which files there are included."""
        self.close()
        self._project = None
        self._program = None
        self._read = None
        self._library_names = None

    def rules_changed(self) -> bool:
        """Whether the files of rules, approvals and configuration are others than those read.

        Costs a look at each file, and reads none. Before anything was read nothing has changed.
        """
        return self._read is not None and self._read != stamp_of(self._read)

    def approved_only(self) -> Session:
        """Give a session in which proposed rules give nothing that anybody could accept.

        What needs one is UNRESOLVED there.
        """
        from constat.session import drafted  # noqa: PLC0415  loaded when it is used

        joined = drafted.JoinedProgram(drafted.approved_only(self.program))
        other = self._whole.over(joined, cache=self._serve, locale=self._locale)
        # A sub-plan that is drafted now would be approved by nobody either.
        other.planning = False
        return other

    def provide_facts(
        self,
        text: str = "",
        *,
        author: str,
        goal: str = "",
        atoms: Sequence[str] = (),
        document: str = "",
        section: str = "",
    ) -> FactsOfText:
        """Read facts from what somebody tells in words; nothing is kept before `FactsOfText.keep`.

        A model finds them, or `atoms` names them; each has to stand in the words. `retry` of the
        result proves `goal` again. With `document` the words are those of a document of the
        project, or of its `section`, and `author` says that they are so. Raises `ConstatError`
        where no model is configured, or may not read the document.
        """
        from constat.session.drafted import tell  # noqa: PLC0415  loaded when it is used

        source = ""
        if document:
            text, source = self._whole.documents.words(document, section, by_model=not atoms)
        told = tell(self._whole, text, author=author, goal=goal, atoms=atoms)
        return replace(told, source=source) if source else told

    def stale(self, paths: Sequence[Path | str] | None = None) -> StaleReport:
        """Tell which certificates would have to be proved again: files, folders or the kept ones.

        Sources are read anew, with the drafts that a certificate rests on, unless somebody has
        rejected them. Raises `ConstatError` for files that cannot be read.
        """
        # Only this needs the checker and what compares rules.
        from constat.session.stale import find_stale  # noqa: PLC0415  loaded when it is used

        kept = CertificateStore(self.project.state).paths() if paths is None else paths
        with self.at_present() as present:
            found: StaleReport = find_stale(kept, present, self._with_its_drafts)
        return found

    @contextmanager
    def at_present(self) -> Iterator[Present]:
        """Give the project as it is now, with sources that are read anew."""
        from constat.session import stale as searching  # noqa: PLC0415  loaded when it is used

        with self._turn:
            tiers = self._opened()
            try:
                with tiers.anew():
                    yield searching.Present(self.program, tiers.externals, self._decide)
            finally:
                tiers.release()

    @contextmanager
    def _with_its_drafts(self, document: Mapping[str, Any]) -> Iterator[Present | None]:
        """Give the project with the drafts of a certificate; `None` where it rests on none."""
        with self._beside_drafts(document, None) as (other, joined):
            if other is self or any(one.status == "rejected" for one in joined):
                yield None
                return
            with other.at_present() as present:
                yield present

    def verify(
        self, certificate: bytes, *, pin: str | None = None, trusted: Sequence[str] = ()
    ) -> Report:
        """Check a certificate; its rules have the hash `pin`, nested ones' are also `trusted`."""
        return checked(certificate, pin, trusted)

    def verify_source(
        self,
        certificate: bytes,
        *,
        pin: str | None = None,
        trusted: Sequence[str] = (),
        drafts: Sequence[str] | None = None,
        allow_other_rules: bool = False,
    ) -> LeafReport:
        """Check a certificate, then read its leaves again from the project's sources.

        What rests on `drafts` is asked for with them; without a word, those it names are looked up.
        A verdict by other rules than the project's now counts only where that is allowed.
        """
        from constat.proof.decoding import read_members  # noqa: PLC0415  loaded when it is used
        from constat.session.leaves import LeafReport  # noqa: PLC0415  loaded when it is used

        report = self.verify(certificate, pin=pin, trusted=trusted)
        if not report.accepted:
            return LeafReport(report)
        document = read_members(certificate)
        with self._beside_drafts(document, drafts) as (other, joined):
            found = other.reread(report, document)
            return replace(found, drafts=joined, allows_other_rules=allow_other_rules)

    def reread(self, report: Report, document: Mapping[str, Any]) -> LeafReport:
        """Read the leaves of a certificate again that the checker has accepted."""
        from constat.session.leaves import reread  # noqa: PLC0415  loaded when it is used
        from constat.session.stale_rules import PresentRules  # noqa: PLC0415  loaded when it is used

        program = with_asked(document, self.program)
        tiers = self._opened()
        with self._turn, tiers.anew():
            again = self._proved_again(document, tiers, program)
            tiers.forget()
            try:
                found = reread(report, document, program, tiers.externals, again)
                present = PresentRules(self.program)
                other = (*present.changes(document), *present.wording(document))
                return replace(found, rules=other)
            finally:
                tiers.release()

    def _proved_again(
        self, document: Mapping[str, Any], tiers: Tiers, program: AnalysedProgram
    ) -> list[Result]:
        """Prove a certificate's goal in the ways in which it may have been proved.

        A search that came to its end by itself does not say whether it was told to go there, and
        the questions differ. What is remembered would answer other questions than those of then.
        """
        from constat.session.leaves import written_goal  # noqa: PLC0415  loaded when it is used

        goal = written_goal(document["header"], program)
        again = []
        for exhaust in (False, True) if document["header"]["search"] == "exhausted" else (False,):
            tiers.forget()
            told = None if program is self.program else program
            again += [] if goal is None else [self._decide(goal, exhaust=exhaust, program=told)]
        return again

    @property
    def catalog(self) -> SchemaManager:
        """Tables, columns, keys and relationships of the sources; found by words."""
        if self._catalog is None:
            from constat.session.catalog import build_catalog  # noqa: PLC0415  loaded when it is used

            OPEN_HERE.add(self)
            found: SchemaManager = build_catalog(self.project, lambda: self.program)
            self._catalog = found
        return self._catalog

    @property
    def documents(self) -> Documents:
        """The documents of the project: listed, opened, searched by words."""
        from constat.documents import Documents  # noqa: PLC0415  loaded when it is used

        if self._documents is None:
            self._documents = Documents(self.project)
        return self._documents

    def discovery(
        self, *, facts: bool = False, extract: Callable[[str], str] | None = None
    ) -> DiscoveryTools:
        """Give what a model may look up; with `facts` also goals of the project.

        `extract` finds the facts that a text states: by default as `provide_facts` does.
        """
        from constat.session.catalog import build_discovery  # noqa: PLC0415  loaded when it is used

        access = None
        if facts:
            from constat.session.catalog import ProjectFacts, told_lines  # noqa: PLC0415  loaded when it is used

            finding = extract or (lambda text: told_lines(self, text))
            access = ProjectFacts(self._parts(), self.facts, self.query, finding)
        found: DiscoveryTools = build_discovery(
            self.catalog,
            lambda: self.program,
            access,
            self.documents if self.project.documents else None,
        )
        return found

    def draft_tables(self, names: Sequence[str], columns: Sequence[str] = ()) -> DraftedTables:
        """Draft declarations for tables of one database; `columns` chooses those of a single one.

        Raises `ConstatError` where a table or column is not there, or cannot be read.
        """
        from constat.session import catalog as drafting  # noqa: PLC0415  loaded when it is used

        found: DraftedTables = drafting.draft_tables(
            self.catalog, lambda: self.program, names, columns
        )
        return found

    def _close_catalog(self) -> None:
        catalog, self._catalog = self._catalog, None
        if catalog is not None:
            catalog.close()

    @traced
    def solve(  # noqa: PLR0913  each option has a name
        self,
        question: str,
        *,
        plan: Plan | None = None,
        today: str = "",
        by: str = "",
        review: Review | None = None,
        mend: bool = False,
        certify: bool = False,
        require_approved: bool = False,
        accept_goal: str = "",
        require_confirmed: bool = False,
        check: str | None = None,
        client: Client | None = None,
        observe: ExploreObserver | None = None,
    ) -> Explored:
        """Answer an exploratory question, such as `What are the top 5 customers by revenue?`.

        A model of the project plans the steps, or `plan` says them. Steps become a chain of rules,
        rankings, SELECTs and sandboxed code, and only those run that the answer needs. `today` is
        the day that counts as today. `review` is shown the plan before it runs. With `mend` a model
        may correct the steps of a plan that a person wrote. `Explored.certificate` proves the
        answer where that takes less than a moment, with `certify` however long it takes; where that
        fails the answer was computed and not checked, and `Explored.proof.why` says why. With
        `require_approved` a plan that a model drafted is kept and not run before somebody has
        approved it (`plans.approve`). `accept_goal`, `require_confirmed` and `confirm` are as with
        `ask`; the goal is the relation that answers. `check` is `always`, `background` or `off`, as
        with `query`: what a step computes in bulk is kept once its check has ended, the step's
        report says what came of it, and a step whose rows differ gives nothing. Without a word the
        project's `check` counts. Raises `ConstatError`.
        """
        from constat.session.plan_approvals import ExploreOptions  # noqa: PLC0415  loaded when it is used

        options = ExploreOptions(
            *(plan, None, today, by, review, mend, client, certify, require_approved),
            *(accept_goal, require_confirmed, check),
        )
        found: Explored = self._exploring(observe).solve(question, options)
        return found

    @traced
    def follow_up(  # noqa: PLR0913  as in `solve`
        self,
        question: str,
        *,
        exploration: str = "",
        plan: Plan | None = None,
        by: str = "",
        review: Review | None = None,
        mend: bool = False,
        certify: bool = False,
        require_approved: bool = False,
        accept_goal: str = "",
        require_confirmed: bool = False,
        check: str | None = None,
        client: Client | None = None,
        observe: ExploreObserver | None = None,
    ) -> Explored:
        """Answer a question that goes on from earlier ones, by their relations and its own steps.

        `exploration` is an id or the beginning of one; without it, the latest. What an earlier
        question was answered stays as it is.
        """
        from constat.session.plan_approvals import ExploreOptions  # noqa: PLC0415  loaded when it is used

        options = ExploreOptions(
            *(plan, exploration, "", by, review, mend, client, certify, require_approved),
            *(accept_goal, require_confirmed, check),
        )
        found: Explored = self._exploring(observe).solve(question, options)
        return found

    def resume(  # noqa: PLR0913  as in `solve`
        self,
        exploration: str = "",
        *,
        by: str = "",
        mend: bool = False,
        certify: bool = False,
        require_approved: bool = False,
        accept_goal: str = "",
        require_confirmed: bool = False,
        check: str | None = None,
        client: Client | None = None,
        observe: ExploreObserver | None = None,
    ) -> Explored:
        """Go on with an exploration where it ended, however it ended; finished steps are kept."""
        from constat.session.plan_approvals import ExploreOptions  # noqa: PLC0415  loaded when it is used

        options = ExploreOptions(
            by=by,
            mend=mend,
            client=client,
            certify=certify,
            require_approved=require_approved,
            accept_goal=accept_goal,
            require_confirmed=require_confirmed,
            check=check,
        )
        found: Explored = self._exploring(observe).resume(exploration, options)
        return found

    def kept_certificate(self, exploration: str = "", question: int = 0) -> bytes:
        """Give the certificate that was kept with an answer, of the last question without one.

        Raises `ConstatError` where none was.
        """
        found: bytes = self._exploring(None).certificate(exploration, question)
        return found

    def get_step(self, number: int, exploration: str = "") -> StepRecordView:
        """Give what is kept of a step: each try with the text that ran, its output and error."""
        found: StepRecordView = self._exploring(None).step(exploration, number)
        return found

    def get_state(self, exploration: str = "") -> ExplorationState:
        """Tell what an exploration holds: tables with their steps, variables, the scratchpad."""
        found: ExplorationState = self._exploring(None).state(exploration)
        return found

    @property
    def history(self) -> tuple[Exploration, ...]:
        """All explorations of the project, the oldest first, with questions, plans and answers."""
        from constat.store.explored import ExploredStore  # noqa: PLC0415  loaded when it is used

        found: tuple[Exploration, ...] = ExploredStore(self.project.state).list()
        return found

    @property
    def plans(self) -> Plans:
        """The plans of explorations: show, check, edit, promote."""
        from constat.session.plan_approvals import Plans  # noqa: PLC0415  loaded when it is used

        return Plans(self._exploring(None), self.drafts)

    def _exploring(self, observe: ExploreObserver | None) -> Exploring:
        from constat.explore.events import ignore  # noqa: PLC0415  loaded when it is used
        from constat.session import exploring  # noqa: PLC0415  loaded when it is used

        parts = self._parts()
        if self.allow_unconfined:
            explore = replace(parts.project.explore, unconfined=True)
            parts = replace(parts, project=replace(parts.project, explore=explore))
        found: Exploring = exploring.Exploring(self, parts, observe or ignore)
        return found


def _difference(found: Difference) -> Diagnostic:
    return Diagnostic(
        "C0664",
        f"the answers of `{found.query}`, counted again at {found.found_at[:19]}Z, are others:"
        f" {found.why}",
        note="none of them counts, and a proof never rests on them",
        help="`--engine reference` answers goal by goal; a check that passes ends this warning",
        severity=Severity.WARNING,
    )
