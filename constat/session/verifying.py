"""The part of a session that checks certificates, and asks the sources again what they show.

In: the bytes of a certificate. Out: the checker's report, and what became of the leaves. Invariant:
no text of a certificate is run; what rests on a draft is asked with the draft as the quarantine has
it, and the report names it. Example: `session.verify_source(content).drift`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from constat.proof.decoding import read_members
from constat.session.asked_goals import with_asked
from constat.session.leaves import LeafReport, reread, written_goal
from constat.session.result import checked
from constat.session.stale_rules import PresentRules
from constat.store import CertificateStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import RLock

    from constat.analysis import AnalysedProgram
    from constat.check import Report
    from constat.logic import Atom
    from constat.project import Project
    from constat.session.leaves import JoinedDraft
    from constat.session.result import Result
    from constat.session.stale import Present, StaleReport
    from constat.tiers import Tiers


class Verifying(ABC):
    """Checks certificates."""

    _turn: RLock

    @property
    @abstractmethod
    def program(self) -> AnalysedProgram:
        """The rules of the project."""

    @abstractmethod
    def _opened(self) -> Tiers:
        """Give the tiers."""

    @abstractmethod
    def _decide(
        self, goal: Atom, *, exhaust: bool, program: AnalysedProgram | None = None
    ) -> Result:
        """Decide a goal."""

    @abstractmethod
    def _beside_drafts(
        self, document: Mapping[str, Any], named: Sequence[str] | None
    ) -> AbstractContextManager[tuple[Verifying, tuple[JoinedDraft, ...]]]:
        """Give the session in which a certificate can be asked about, and the drafts in it."""

    @property
    @abstractmethod
    def project(self) -> Project:
        """The project."""

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
        report = self.verify(certificate, pin=pin, trusted=trusted)
        if not report.accepted:
            return LeafReport(report)
        document = read_members(certificate)
        with self._beside_drafts(document, drafts) as (other, joined):
            found = other.reread(report, document)
            return replace(found, drafts=joined, allows_other_rules=allow_other_rules)

    def reread(self, report: Report, document: Mapping[str, Any]) -> LeafReport:
        """Read the leaves of a certificate again that the checker has accepted."""
        program = with_asked(document, self.program)
        tiers = self._opened()
        with self._turn, tiers.anew():
            again = self._proved_again(document, tiers, program)
            tiers.forget()
            try:
                found = reread(report, document, program, tiers.externals, again)
                return replace(found, rules=tuple(PresentRules(self.program).changes(document)))
            finally:
                tiers.release()

    def _proved_again(
        self, document: Mapping[str, Any], tiers: Tiers, program: AnalysedProgram
    ) -> list[Result]:
        """Prove a certificate's goal in the ways in which it may have been proved.

        A search that came to its end by itself does not say whether it was told to go there, and
        the questions differ. What is remembered would answer other questions than those of then.
        """
        goal = written_goal(document["header"], program)
        again = []
        for exhaust in (False, True) if document["header"]["search"] == "exhausted" else (False,):
            tiers.forget()
            told = None if program is self.program else program
            again += [] if goal is None else [self._decide(goal, exhaust=exhaust, program=told)]
        return again
