"""Questions about proofs: which others there are, how two differ, whether one can be made again.

In: goals and certificates. Out: results, a comparison, a replay. Each is loaded when it is first
asked. Example: `session.diff(before, after).is_empty`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

from constat.proof.topk import Ranking
from constat.session.rankings import SECONDS
from constat.store import CertificateStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.diagnostics import Diagnostic
    from constat.evaluation import Externals, Observer
    from constat.logic import Atom
    from constat.proof.comparison import Comparison
    from constat.proof.speech import Speech
    from constat.session.bench import Bench
    from constat.session.log_as import LogAs
    from constat.session.many_proofs import FoundProofs
    from constat.session.recording_looks import RecordedAnswers
    from constat.session.replaying import LiveReplay, Replay
    from constat.session.result import Result
    from constat.tiers import Tiers


class Comparing(ABC):
    """The part of a session that answers them."""

    _unrecorded: tuple[Diagnostic, ...] = ()
    """What was wrong with the record, in the last evaluation that used it."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

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
        bench = self._bench()
        finding = importlib.import_module("constat.session.many_proofs")
        write = _unwritten
        if log is not None or bench.project.log.on:
            logging = importlib.import_module("constat.session.logging_decisions")
            decisions = logging.Decisions(lambda: bench.project)
            wish = decisions.require(log)

            def write(result: Result) -> Result:
                written: Result = decisions.write(result, wish)
                return written

        found: FoundProofs = finding.find_proofs(
            bench, goal, ranking=ranking, seconds=seconds, observe=observe, write=write
        )
        self._record(found.first)
        return found

    def diff(self, before: bytes, after: bytes | None = None) -> Comparison:
        """Tell what differs between two certificates, or between one and the present.

        Without `after` the goal is proved again. Raises `ConstatError` where a certificate is
        rejected, or the project does not know its goal.
        """
        program = self._bench().program
        comparing = importlib.import_module("constat.session.comparing_certificates")
        if after is not None:
            between: Comparison = comparing.compare_certificates(before, after, program)
            return between
        found: Comparison
        found, _ = comparing.compare_with_present(before, program, self._prove_anew)
        return found

    def replay(self, certificate: bytes) -> Replay:
        """Make a certificate again from its own record; needs no project.

        Raises `ConstatError` where it is rejected.
        """
        replaying = importlib.import_module("constat.session.replaying")
        found: Replay = replaying.replay(certificate)
        return found

    def replay_live(self, certificate: bytes) -> LiveReplay:
        """Prove a certificate's goal again and read each of its facts again, from the sources.

        Raises `ConstatError` where it is rejected, or the project does not know its goal.
        """
        program = self._bench().program
        replaying = importlib.import_module("constat.session.replaying")
        with self._asking_anew() as externals:
            found: LiveReplay = replaying.replay_live(
                certificate, program, externals, self._prove_anew
            )
        return found

    @property
    def recorded(self) -> RecordedAnswers:
        """What was recorded for `as_of`, to look at and to shorten."""
        bench = self._bench()
        looking = importlib.import_module("constat.session.recording_looks")
        found: RecordedAnswers = looking.RecordedAnswers(bench.project, bench.program)
        return found

    def kept(self, identity: str) -> bytes:
        """Give the certificate that `keep` has kept under an identity (`sha256:...`)."""
        return CertificateStore(self._bench().project.state).read(identity)

    def _record(self, result: Result, *, every: bool = False) -> None:
        """Record what a result was made from, where somebody wants that."""
        bench = self._bench()
        predicates = bench.program.program.predicates.values()
        named = any(one.source and "record" in one.source.parameters for one in predicates)
        setting = bench.project.record
        if every or named or setting.every or setting.sources:
            # Most programs record nothing: they start without what does.
            recording = importlib.import_module("constat.session.recording_as_of")
            self._unrecorded = recording.record_result(bench, result, every=every)

    def _decide_as_of(
        self,
        goal: Atom,
        time: str,
        *,
        exhaust: bool,
        minimal: str | None,
        observe: Observer | None,
    ) -> Result:
        """Decide a goal from what was recorded at a time."""
        recording = importlib.import_module("constat.session.recording_as_of")
        found: Result
        found, self._unrecorded = recording.decide_as_of(
            self._bench(),
            goal,
            time,
            exhaust=exhaust,
            ranking=None if minimal is None else Ranking(minimal),
            speech=self.speech,
            observe=observe,
        )
        return found

    @property
    @abstractmethod
    def speech(self) -> Speech:
        """How sentences are said."""

    @abstractmethod
    def _opened(self) -> Tiers:
        """Give the tiers, built when they are first needed."""

    @abstractmethod
    def _decide(
        self,
        goal: Atom,
        *,
        exhaust: bool,
        minimal: str | None = None,
        observe: Observer | None = None,
    ) -> Result:
        """Decide a goal from the sources."""

    def _prove_anew(self, goal: Atom, *, exhaust: bool) -> Result:
        """Prove a goal with everything asked anew."""
        with self._opened().anew():
            self._opened().forget()
            return self._decide(goal, exhaust=exhaust)

    @contextmanager
    def _asking_anew(self) -> Iterator[Externals]:
        """Give the external predicates; nothing that was kept is served as long as it lasts."""
        tiers = self._opened()
        with tiers.anew():
            tiers.forget()
            try:
                yield tiers.externals
            finally:
                tiers.release()


def _unwritten(result: Result) -> Result:
    return result
