"""A session: the composition root.

In: a project folder. Out: results. Builds engine, tiers, store and program once, when they are
first needed, and hands them down; no other module builds them. Invariants: used by one thread at a
time; every evaluation reads its sources anew, in one read transaction of each; `close` releases
everything. Example: `with Session() as session: session.prove("is_vip(C001)")`.
"""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from constat.analysis import check_goal
from constat.diagnostics import ConstatError, Diagnostic
from constat.engine import LazyEngine
from constat.evaluation import Limits, ignore_event
from constat.library import check_rules, load_rules
from constat.project import find_project, load_project
from constat.proof import decide
from constat.session.leaves import LeafReport, reread
from constat.session.rereading import written_goal
from constat.session.result import Result
from constat.session.spelling import shown_goal
from constat.session.stated import StatedFacts
from constat.store import FactStore
from constat.syntax import parse_goal, print_row
from constat.tiers import build_externals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from constat.analysis import AnalysedProgram
    from constat.check import Report
    from constat.evaluation import Event, Externals, Observer
    from constat.library import Checked
    from constat.logic import Atom
    from constat.project import Project
    from constat.tiers import Tiers


class Session:
    """Answers goals about one project. Nothing is opened before the first question."""

    def __init__(self, project: Path | str | None = None) -> None:
        self._start = None if project is None else Path(project)
        self._engine = LazyEngine()
        self._texts: dict[str, str] = {}
        self._project: Project | None = None
        self._program: AnalysedProgram | None = None
        self._tiers: Tiers | None = None
        self._store: FactStore | None = None
        self._observe: Observer = ignore_event
        self.facts = StatedFacts(lambda: self.program, self._facts)

    @property
    def project(self) -> Project:
        """The project; raises `ConstatError` where there is none or its configuration is wrong."""
        if self._project is None:
            if self._start is not None and not self._start.exists():
                message = f"there is no folder `{self._start}`"
                raise ConstatError([Diagnostic("C0500", message)])
            self._project = load_project(find_project(self._start))
        return self._project

    @property
    def program(self) -> AnalysedProgram:
        """The rules of the project; raises `ConstatError` with their mistakes."""
        if self._program is None:
            self._program = load_rules(self.project, self._texts)
        return self._program

    @property
    def texts(self) -> Mapping[str, str]:
        """The rule files that were read, by the names that diagnostics use."""
        return MappingProxyType(self._texts)

    @property
    def externals(self) -> Externals:
        """The external predicates of the project, for a program that drives an engine itself."""
        return self._opened().externals

    def prove(self, goal: str, *, exhaust: bool = False, observe: Observer | None = None) -> Result:
        """Prove or disprove a goal such as `is_vip(C001)`.

        With `exhaust` better proofs are looked for after the first. `observe` receives the events
        of this evaluation. Raises `ConstatError` for mistakes of goal, rules and configuration.
        """
        analysed = self.program
        atom = check_goal(parse_goal(goal, analysed.program), analysed)
        return self._decide(atom, exhaust=exhaust, observe=observe or ignore_event)

    def check_rules(self, paths: Sequence[Path | str]) -> Checked:
        """Check rule files and folders; needs no project."""
        return check_rules([Path(path) for path in paths])

    def verify(self, certificate: bytes, *, pin: str | None = None) -> Report:
        """Check a certificate; `pin` is the `sha256:...` of the rules that are trusted."""
        # A goal is proved without the checker, which takes a twentieth of a cold start to load.
        checker = importlib.import_module("constat.check")
        report: Report = checker.check_certificate(certificate, pin=pin)
        return report

    def verify_source(self, certificate: bytes, *, pin: str | None = None) -> LeafReport:
        """Check a certificate, then read its leaves again from the project's sources."""
        report = self.verify(certificate, pin=pin)
        if not report.accepted:
            return LeafReport(report)
        document = json.loads(certificate)
        goal = written_goal(document["header"]["goal"], self.program)
        exhaust = document["header"]["search"] == "exhausted"
        again = None if goal is None else self._decide(goal, exhaust=exhaust)
        tiers = self._opened()
        try:
            return reread(report, document, self.program.program, tiers.externals, again)
        finally:
            tiers.release()

    def close(self) -> None:
        """Close all connections. The session may be used again; it opens them anew."""
        tiers, self._tiers = self._tiers, None
        if tiers is not None:
            tiers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _decide(self, goal: Atom, *, exhaust: bool, observe: Observer = ignore_event) -> Result:
        tiers, created = self._opened(), _now()
        self._observe = observe
        try:
            decision = decide(
                self._engine,
                self.program,
                goal,
                tiers.externals,
                self._limits(),
                exhaust=exhaust,
                observe=observe,
            )
        finally:
            self._observe = ignore_event
            tiers.release()
        predicates = self.program.program.predicates
        return Result(
            goal=shown_goal(predicates[goal.predicate], goal),
            verdict=decision.verdict,
            confidence=decision.confidence,
            exact=decision.exact,
            assumptions=decision.assumptions,
            missing=tuple(print_row(predicates[name], row) for name, row in decision.missing),
            calls=decision.outcome.calls,
            created=created,
            decision=decision,
        )

    def _facts(self) -> FactStore:
        if self._store is None:
            self._store = FactStore(self.project.state)
        return self._store

    def _opened(self) -> Tiers:
        if self._tiers is None:
            self._tiers = build_externals(
                self.project, self.program, self._facts(), observe=self._tell
            )
        return self._tiers

    def _tell(self, event: Event) -> None:
        # The tiers outlive one evaluation; whoever observes the present one hears them.
        self._observe(event)

    def _limits(self) -> Limits:
        bounds = self.project.limits
        return Limits(seconds=bounds.seconds, rows=bounds.rows, calls=bounds.calls)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
