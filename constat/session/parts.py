"""What a session offers beyond its verdicts: catalog, comparisons, models, hypotheses, records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from constat.evaluation import Verdict, ignore_event
from constat.proof.topk import Ranking
from constat.session.asked_goals import AskedGoal, goal_text
from constat.session.options import SECONDS
from constat.store import CertificateStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.authoring import DiscoveryTools
    from constat.catalog import SchemaManager
    from constat.diagnostics import Diagnostic
    from constat.documents import Documents
    from constat.evaluation import Event, Externals, Observer
    from constat.logic import Atom
    from constat.model import Usage
    from constat.project import Project
    from constat.project.settings import Sight
    from constat.proof.comparison import Comparison
    from constat.proof.sentences import Speech
    from constat.proof.signing import SigningKey
    from constat.session.answers import Answers
    from constat.session.asked_goals import Goal
    from constat.session.bench import Bench
    from constat.session.catalog import DraftedTables
    from constat.session.counterfactuals import Counterfactuals
    from constat.session.decisions import Decisions
    from constat.session.facts_of_text import Told as ToldInWords
    from constat.session.hypotheses import MissingFacts, WhatIf, WhyNotResult
    from constat.session.many_proofs import FoundProofs
    from constat.session.models import ModelListing, Models
    from constat.session.options import LogAs
    from constat.session.recording import RecordedAnswers
    from constat.session.replaying import LiveReplay, Replay
    from constat.session.result import Result
    from constat.session.row_proofs import RowProofs
    from constat.session.signing import SignatureReport
    from constat.session.snapshots import SignedSnapshot
    from constat.session.stated import StatedFacts
    from constat.tiers import Tiers

# Whoever listens to a question hears what is asked within it too, and when it ends, whoever
# listened before listens again.


class Observed:
    """The part of a session that is listened to."""

    _observe: Observer

    def __init__(self) -> None:
        self._observe = ignore_event
        self._telling = RLock()
        # Threads that share a session take turns.
        self._turn = RLock()

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


# A goal is proved without them; where the rules are wrong, the tables can be looked at all the
# same.


class Catalogued(ABC):
    """Gives the catalog of a session."""

    facts: StatedFacts
    _catalog: SchemaManager | None = None
    _documents: Documents | None = None

    @property
    @abstractmethod
    def project(self) -> Project:
        """The project; raises `ConstatError`."""

    @property
    @abstractmethod
    def program(self) -> AnalysedProgram:
        """The rules of the project; raises `ConstatError`."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

    @abstractmethod
    def provide_facts(self, text: str, *, author: str) -> ToldInWords:
        """Read facts from what somebody tells in words; nothing is kept."""

    @abstractmethod
    def query(self, query: str) -> Answers:
        """Find all answers of a goal with variables."""

    @property
    def catalog(self) -> SchemaManager:
        """Tables, columns, keys and relationships of the sources; found by words."""
        if self._catalog is None:
            from constat.session.catalog import build_catalog  # noqa: PLC0415  loaded when it is used

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
            access = ProjectFacts(self._bench(), self.facts, self.query, finding)
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


class Comparing(ABC):
    """The part of a session that answers them."""

    _turn: RLock
    _sight: Sight | None
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
        from constat.session.many_proofs import find_proofs  # noqa: PLC0415  loaded when it is used

        write = _unwritten
        if log is not None or bench.project.log.on:
            from constat.session import decisions as logging  # noqa: PLC0415  loaded when it is used

            decisions = logging.Decisions(lambda: bench.project)
            wish = decisions.require(log)

            def write(result: Result) -> Result:
                written: Result = decisions.write(result, wish)
                return written

        found: FoundProofs = find_proofs(
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
        program = self._bench().program
        from constat.session import replaying  # noqa: PLC0415  loaded when it is used

        with self._asking_anew() as externals:
            found: LiveReplay = replaying.replay_live(
                certificate, program, externals, self._prove_anew
            )
        return found

    @property
    def recorded(self) -> RecordedAnswers:
        """What was recorded for `as_of`, to look at and to shorten."""
        bench = self._bench()
        from constat.session import recording as looking  # noqa: PLC0415  loaded when it is used

        found: RecordedAnswers = looking.RecordedAnswers(bench.project, bench.program)
        return found

    def kept(self, identity: str) -> bytes:
        """Give the certificate that `keep` has kept under an identity (`sha256:...`)."""
        return CertificateStore(self._bench().project.state).read(identity)

    def _record(self, result: Result, *, every: bool = False) -> None:
        """Record what a result was made from, where somebody wants that, and sees all of it."""
        if self._sight is not None:
            return
        bench = self._bench()
        predicates = bench.program.program.predicates.values()
        named = any(one.source and "record" in one.source.parameters for one in predicates)
        setting = bench.project.record
        if every or named or setting.every or setting.sources:
            # Most programs record nothing: they start without what does.
            from constat.session.recording import record_result  # noqa: PLC0415  loaded when it is used

            self._unrecorded = record_result(bench, result, every=every)

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

        bench = self._bench()
        found: Result
        found, self._unrecorded = decide_as_of(
            replace(bench, program=asked.program) if asked.text else bench,
            asked.atom,
            time,
            exhaust=exhaust,
            ranking=None if minimal is None else Ranking(minimal),
            speech=self.speech,
            observe=observe,
        )
        return found.asked_as(asked.text) if asked.text else found

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
        with self._turn:
            tiers = self._opened()
            with tiers.anew():
                tiers.forget()
                try:
                    yield tiers.externals
                finally:
                    tiers.release()


def _unwritten(result: Result) -> Result:
    return result


# A session that asks no model loads nothing of this.

Told = TypeVar("Told", "Result", "Answers")


class ModelAsking(ABC):
    """Gives the models of a session."""

    _models: Models | None = None
    _serve: bool

    @property
    @abstractmethod
    def project(self) -> Project:
        """The project; raises `ConstatError`."""

    @abstractmethod
    def _tell(self, event: Event) -> None:
        """Tell whoever observes the session."""

    @property
    def models(self) -> Models:
        """The language models: clients by task, what may be spent, what was."""
        if self._models is None:
            from constat.session.models import Models  # noqa: PLC0415  loaded when it is used

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

    def _with_usage(self, result: Told, before: Usage | None) -> Told:
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


# Suppositions are written nowhere: no fact, no kept answer, no certificate.


class Questions(ABC):
    """The part of a session that answers them."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

    @abstractmethod
    def prove(self, goal: str, *, minimal: str | None = None) -> Result:
        """Prove a goal."""

    def row_proofs(self, query: str) -> RowProofs:
        """Make ready to prove many rows of one query, each with a proof of least height.

        The result is computed once and held in memory, until what this gives is closed. Raises
        `ConstatError` as `query` does.
        """
        from constat.session import row_proofs as proving  # noqa: PLC0415  loaded when it is used

        found: RowProofs = proving.row_proofs(
            self._bench(), query, lambda goal: self.prove(goal, minimal="height")
        )
        return found

    def why_not(
        self, goal: Goal, *, most: int = 40, observe: Observer | None = None
    ) -> WhyNotResult:
        """Say why a goal does not hold: how far each rule gets, and what stops it there.

        `most` bounds the number of conclusions that are looked into. A goal that holds is shown
        with its proof; one that is open with what is missing. Raises `ConstatError` as `prove`.
        """
        from constat.session.hypotheses import why_not  # noqa: PLC0415  loaded when it is used

        return why_not(self._bench(), goal_text(goal), most=most, observe=observe)

    def counterfactuals(self, refused: WhyNotResult) -> Counterfactuals:
        """Find small changes of rows after which a refused goal would hold, each tried.

        A number that sources gave moves by what is lacking, or a row is taken away; what is
        returned was confirmed by `what_if`. Raises `ConstatError` as `what_if`.
        """
        from constat.session.counterfactuals import Counterfactuals  # noqa: PLC0415  loaded when it is used

        if refused.refutation is None:
            return Counterfactuals((), 0, stopped=False)
        return self._tried(refused.result)

    def _with_changes(self, result: Result) -> Result:
        """Give the result of a "no" with the changes that turn it, for its certificate."""
        if result.verdict not in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}:
            return result
        changes = tuple(one.as_json() for one in self._tried(result).found)
        return result.told_with(changes)

    def _tried(self, result: Result) -> Counterfactuals:
        from constat.session.counterfactuals import counterfactuals  # noqa: PLC0415  loaded when it is used

        return counterfactuals(
            result.certificate,
            lambda remove, add: self.what_if(
                result.goal, remove=[remove] if remove else [], add=[add] if add else []
            ),
        )

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
        return what_if(self._bench(), goal_text(goal), supposed, query=query, observe=observe)

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
        from constat.session.hypotheses import Asked, missing_facts  # noqa: PLC0415  loaded when it is used

        asked = Asked(
            top, tuple((abducible or {}).items()), tuple((removable or {}).items()), seconds
        )
        return missing_facts(self._bench(), goal_text(goal), asked, observe=observe)


class Recording(ABC):
    """The part of a session that offers it."""

    @property
    @abstractmethod
    def project(self) -> Project:
        """Give the project."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

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

        taken = take_snapshot(self._bench(), predicate, first)
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
        if inside:
            from constat.session import snapshots as opening  # noqa: PLC0415  loaded when it is used
        write = opening.open_inside if inside else opening.open_certificate
        found: bytes = write(self._bench(), certificate, read)
        return found
