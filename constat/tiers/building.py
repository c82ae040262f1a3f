"""The tiers of a project, built from its configuration, its plug-ins and its certificates."""

from __future__ import annotations

import importlib
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from constat.catalog import Connection, ReadBounds, SourceFailureError, open_connection
from constat.catalog.interruptible import PATIENCE
from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import Assumption, Evidence, Origin, Portion, Proved, ignore_event
from constat.frozen import frozen
from constat.project import BUILT_IN_TIERS, inside
from constat.store.clock import now
from constat.syntax import print_row
from constat.tiers.asking import Asking
from constat.tiers.cache_age import age_allowed
from constat.tiers.chain import Chain
from constat.tiers.config import CONFIG, ConfigTier, Configured, config_key, typed_facts
from constat.tiers.database import DATABASE, DatabaseTier
from constat.tiers.declarations import (
    CERTIFICATES,
    MODEL,
    asks_model,
    check_declarations,
    parameter,
    uses_certificates,
)
from constat.tiers.tier import (
    API,
    DOCUMENT,
    TierAnswer,
    TierSettings,
    content_hash,
    failed,
    key_of,
    read_canonical,
)
from constat.tiers.user import UserFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Demand, ExternalPredicate, Externals, Observer
    from constat.logic import Predicate, Row, Value
    from constat.project import CustomTier, Project
    from constat.store import FactStore
    from constat.tiers.api import ApiTier
    from constat.tiers.cache import AnswerCache
    from constat.tiers.documents import DocumentTier
    from constat.tiers.model import ModelAccess, ModelTier
    from constat.tiers.tier import Tier

# The open connections of a session, each opened when it is first needed.
#
# Invariants: between two calls of `release` each source is read in one state (one read
# transaction), and one that is lost on the way stays lost until then; a source whose state has
# changed since gets a new generation, so that remembered answers can be forgotten.

# A source that is locked is not waited for again by every demand of the same moment.
_REST_SECONDS: Final = 1.0
_LEAST_SECONDS: Final = 0.01
_LAST_PATIENCE: Final = 0.4
# On the scale of `ExternalPredicate`.
_NEAR: Final = 10
_FAR: Final = 100
_FILES: Final = ("sqlite:", "sqlite+", "duckdb:")


class Connections:
    """Opens, remembers and closes connections."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: dict[str, Connection] = {}
        self._generations: dict[str, int] = {}
        self._failed: dict[str, tuple[float, SourceFailureError]] = {}
        self._begun_names: set[str] = set()
        self.changed: set[str] = set()
        """The sources that changed while they were read, since the last `release`."""
        self._until = math.inf
        self.evaluation = 0

    def reading(self, name: str) -> Connection:
        """Give the connection, reading one state; raises `SourceFailureError`."""
        check_interrupted()
        failed = self._failed.get(name)
        if failed is not None and time.monotonic() < failed[0]:
            raise failed[1]
        try:
            return self._begun(name)
        except SourceFailureError as problem:
            # What has been read of a state does not go together with what a new one would say.
            rest = math.inf if name in self._begun_names else _REST_SECONDS
            self._failed[name] = (time.monotonic() + rest, problem)
            self._forget(name)
            raise

    def note(self, name: str, problem: SourceFailureError) -> None:
        """Remember that a source changed while it was read, if that is the problem."""
        if problem.code == "C0542":
            self.changed.add(name)

    def generation(self, name: str) -> int:
        """Give a number that grows when the source's state changes, or it cannot be read."""
        try:
            self.reading(name)
        except SourceFailureError:
            self._generations[name] = self._generations.get(name, 0) + 1
        return self._generations.get(name, 0)

    def start(self, seconds: float) -> None:
        """Begin an evaluation that may take so long: until `release` no query takes longer."""
        self._until = time.monotonic() + seconds

    def spoken(self, name: str, predicate: str) -> str:
        """Name for people what gives the rows of a predicate: a frame, or a query of a database."""
        if self._project.databases[name].kind == "frames":
            return f"frame {predicate}"
        return f"database {name}: query of {predicate}"

    def description(self, name: str) -> str | None:
        """What the project says of a database to anybody."""
        return self._project.databases[name].description or None

    def raising(self, name: str, code: str) -> str:
        """Name the key of the configuration that allows a query more than it got, after a stop."""
        database, where = self._project.databases[name], self._project.config_name
        own, key = {
            "C0521": (database.seconds, "seconds"),
            "C0522": (database.rows, "rows"),
        }.get(code, (None, ""))
        if not key:
            return ""
        if code == "C0521" and time.monotonic() >= self._until:
            return f"; `seconds` of `limits` in {where} allows more"
        if own is not None:
            return f"; `{key}` of `databases: {{{name}: ...}}` in {where} allows more"
        return f"; `query_{key}` of `limits` in {where} allows more"

    def bounds(self, name: str) -> ReadBounds:
        """Give what a single query may take."""
        database, limits = self._project.databases[name], self._project.limits
        left = self._until - time.monotonic()
        seconds = min(database.seconds or limits.query_seconds, left)
        # What takes the last of the time is soon left behind, so that the limit holds in total.
        patience = min(PATIENCE, max(0.0, left - seconds) + _LAST_PATIENCE)
        rows = database.rows or limits.query_rows
        return ReadBounds(max(_LEAST_SECONDS, seconds), rows, patience)

    def cost(self, name: str) -> int:
        """Give what a demand costs: a file is near, a server is across a network."""
        database = self._project.databases.get(name)
        if database is not None and database.remote is not None:
            return _FAR
        address = "" if database is None else database.address.text or ""
        return _FAR if "://" in address and not address.startswith(_FILES) else _NEAR

    def knows(self, name: str) -> bool:
        """Whether the project has a database of that name."""
        return name in self._project.databases

    def release(self) -> None:
        """End reading: the next demand sees the state of its own moment."""
        self.evaluation += 1
        self._failed.clear()
        self._begun_names.clear()
        self.changed.clear()
        self._until = math.inf
        for name, connection in list(self._open.items()):
            try:
                connection.release()
            except SourceFailureError:
                self._forget(name)

    def cancel(self) -> None:
        """Stop the queries that are running, from any thread."""
        for connection in list(self._open.values()):
            connection.cancel()

    def close(self) -> None:
        """Close everything."""
        for name in list(self._open):
            self._forget(name)

    def _begun(self, name: str) -> Connection:
        connection = self._open.get(name)
        if connection is not None and connection.replaced():
            self._forget(name)
            connection = None
        if connection is None:
            seconds = self.bounds(name).seconds
            connection = open_connection(
                self._project.databases[name], self._project.folder, seconds
            )
            self._open[name] = connection
        if connection.begin():
            self._generations[name] = self._generations.get(name, 0) + 1
        self._begun_names.add(name)
        return connection

    def _forget(self, name: str) -> None:
        connection = self._open.pop(name, None)
        if connection is not None:
            connection.close()


# The tiers of a project, built from its configuration, its plug-ins and its certificates.

# Entry points are searched only for a tier without a factory.

_GROUP: Final = "constat.tiers"


class CustomTierLoader:
    """Stands for a project's own tier until its code is needed; implements `Tier`."""

    def __init__(self, declared: CustomTier, folder: Path) -> None:
        self.name = declared.name
        self.cost = declared.cost
        self._declared = declared
        self._folder = folder
        self._tier: Tier | None = None

    def configured(self, predicate: Predicate) -> bool:
        """Whether the project lists the predicate, or the tier itself says it knows it.

        Raises `ConstatError` when the tier's code is needed and cannot be used.
        """
        if not self.may_know(predicate):
            return False
        tier = self._loaded()
        if self._declared.predicates is not None:
            return True
        try:
            return bool(tier.configured(predicate))
        except Exception as problem:
            reason = f"asking what it knows failed ({type(problem).__name__})"
            raise _mistake(self._declared, reason) from problem

    def may_know(self, predicate: Predicate) -> bool:
        """Whether the project leaves open that the tier knows the predicate; loads nothing."""
        listed = self._declared.predicates
        return listed is None or predicate.name in listed

    def answer(self, demand: Demand) -> TierAnswer:
        """Ask the tier."""
        return self._loaded().answer(demand)

    def _loaded(self) -> Tier:
        if self._tier is None:
            one = self._declared
            factory = _factory(one)
            settings = TierSettings(one.name, self._folder, one.cost, one.predicates, one.options)
            try:
                self._tier = factory(settings)
            except Exception as problem:
                raise _mistake(one, f"its factory failed ({type(problem).__name__})") from problem
        return self._tier


def _factory(declared: CustomTier) -> Callable[[TierSettings], Tier]:
    found: object
    if declared.factory:
        module, _, name = declared.factory.partition(":")
        if not name or module.startswith("."):
            raise _mistake(declared, "its factory is not written `package.module:callable`")
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ModuleNotFoundError as problem:
            missing = problem.name or module
            own = module == missing or module.startswith(f"{missing}.")
            reason = f"there is no module `{missing}` on the path of Python"
            hint = (
                f"run with the folder of `{missing}` on the path: `PYTHONPATH=FOLDER constat ...`, "
                "or install the package that has it"
                if own
                else f"`{module}` needs it: install the package that has `{missing}`"
            )
            raise _mistake(declared, reason, hint) from problem
        except Exception as problem:
            raise _mistake(declared, f"its module fails ({type(problem).__name__})") from problem
    else:
        from importlib.metadata import entry_points  # noqa: PLC0415  heavy library, loaded on first use

        entries = entry_points(group=_GROUP, name=declared.name)
        try:
            found = next((entry.load() for entry in entries), None)
        except Exception as problem:
            reason = f"its entry point fails ({type(problem).__name__})"
            raise _mistake(declared, reason) from problem
    if not callable(found):
        raise _mistake(declared, "no callable of that name was found")
    return cast("Callable[[TierSettings], Tier]", found)


def _mistake(declared: CustomTier, reason: str, hint: str = "") -> ConstatError:
    return ConstatError(
        [
            Diagnostic(
                "C0530",
                f"tier `{declared.name}` cannot be used: {reason}",
                declared.span,
                help=hint or 'name it as `factory: "package.module:callable"`',
            )
        ]
    )


MOST_FILES: Final = 10_000
MOST_BYTES: Final = 128 << 20
LARGEST: Final = 8 << 20
_SUFFIX: Final = ".json"

Stamp = tuple[str, int, int]
"""Name, time of change and size."""


class UnreadableError(Exception):
    """The folder cannot be read whole; the text says why, without bytes from outside."""


@frozen
class CertificateFile:
    """One file: its path within the project, and what it holds."""

    name: str
    stamp: Stamp
    content: bytes = field(compare=False, repr=False)


class CertificateFolder:
    """One folder. `named` folders must be there; the project's own may not have begun yet."""

    def __init__(self, folder: Path, project: Path, *, named: bool) -> None:
        self._folder = folder
        self._project = project
        self._named = named
        self._files: dict[Stamp, CertificateFile] = {}
        self._listed: tuple[Stamp, ...] = ()
        self._generation = 0

    def generation(self) -> int:
        """Give a number that is another one when files have come, gone or changed."""
        try:
            listed = tuple(self._stamps())
        except UnreadableError:
            listed = (("", 0, -1),)
        if listed != self._listed:
            self._listed = listed
            self._generation += 1
        return self._generation

    def files(self, predicate: str) -> Iterator[CertificateFile]:
        """Yield the files in which a goal of the predicate stands, by name."""
        mark = f'"goal":["{predicate}",'.encode()
        kept: dict[Stamp, CertificateFile] = {}
        total = 0
        for stamp in list(self._stamps()):
            if stamp[2] > LARGEST:
                continue
            total += stamp[2]
            if total > MOST_BYTES:
                raise UnreadableError(f"the certificates are larger than {MOST_BYTES >> 20} MiB")
            known = self._files.get(stamp)
            kept[stamp] = self._read(stamp) if known is None else known
        self._files = kept
        yield from (file for file in kept.values() if mark in file.content)

    def _stamps(self) -> Iterator[Stamp]:
        try:
            with os.scandir(self._folder) as entries:
                found = [entry.name for entry in entries if entry.name.endswith(_SUFFIX)]
        except FileNotFoundError:
            if self._named:
                raise UnreadableError("the folder of certificates is not there") from None
            return
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise UnreadableError(f"the folder of certificates cannot be read: {reason}") from None
        if len(found) > MOST_FILES:
            raise UnreadableError(f"there are more than {MOST_FILES:,} certificates")
        for name in sorted(found):
            stamp = self._stamp(name)
            if stamp is not None:
                yield stamp

    def _stamp(self, name: str) -> Stamp | None:
        path = inside(name, self._folder, (self._project,))
        try:
            status = None if path is None else path.stat()
        except OSError:
            return None
        return None if status is None else (name, status.st_mtime_ns, status.st_size)

    def _read(self, stamp: Stamp) -> CertificateFile:
        shown = "".join(c if c.isprintable() else "?" for c in stamp[0])[:100]
        try:
            return CertificateFile(shown, stamp, (self._folder / stamp[0]).read_bytes())
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise UnreadableError(f"{shown} cannot be read: {reason}") from None


MOST_DEEP: Final = 7
"""So deep may what is taken over be nested; the certificate around it is one more."""

_MOST_INSIDE: Final = 63
_SHORT: Final = len("sha256:") + 12


class CheckerReport(Protocol):
    """What the checker says, as far as it matters here."""

    @property
    def accepted(self) -> bool:
        """Whether everything follows."""
        ...

    @property
    def reason(self) -> str | None:
        """Why it is rejected."""
        ...


Checker = Callable[[bytes, "str | None", Sequence[str]], CheckerReport]
"""Checks a certificate; with a pin its rules must be these, and those of nested ones trusted."""


@frozen
class _Found:
    """A certificate of a goal: the row it proves, or why it does not count."""

    row: Row
    file: CertificateFile
    document: Mapping[str, Any]
    problem: str

    @property
    def rank(self) -> tuple[bool, Decimal, str, str]:
        """The better one is greater: no assumptions, more confident, newer."""
        header = self.document["header"]
        plain = header["verdict"] == "PROVED"
        return (
            plain,
            Decimal(header["confidence"]),
            self.document["record"]["created"],
            self.file.name,
        )


class CertificateTier:
    """Reads the folders that predicates name; each file is checked once."""

    name = CERTIFICATES
    cost = 5

    def __init__(self, project: Project, check: Checker) -> None:
        self._project = project
        self._check = check
        self._folders: dict[str, CertificateFolder] = {}
        self._reports: dict[tuple[CertificateFile, str, str], tuple[Mapping[str, Any], str]] = {}

    def configured(self, predicate: Predicate) -> bool:
        """Whether the predicate names certificates as its source."""
        return uses_certificates(predicate)

    def generation(self, predicate: Predicate) -> int:
        """Give a number that changes with the files of the predicate's folder."""
        return self._folder(predicate).generation()

    def answer(self, demand: Demand) -> TierAnswer:
        """Give the rows that certificates prove, and why others do not."""
        predicate = demand.predicate
        wanted = set(demand.keys)
        best: dict[Row, _Found] = {}
        reasons: dict[Row, str] = {}
        try:
            for found in self._certificates(predicate):
                key = key_of(found.row, demand.columns)
                if key not in wanted:
                    continue
                if found.problem:
                    reasons.setdefault(found.row, found.problem)
                elif found.row not in best or found.rank > best[found.row].rank:
                    best[found.row] = found
        except UnreadableError as problem:
            return failed(demand, str(problem))
        left = {row: reason for row, reason in reasons.items() if row not in best}
        failures = {key_of(row, demand.columns): reason for row, reason in left.items()}
        rows = sorted(best, key=lambda row: tuple(map(str, row)))
        return TierAnswer(tuple(_portion(best[row], predicate) for row in rows), failures=failures)

    def _certificates(self, predicate: Predicate) -> Iterator[_Found]:
        for file in self._folder(predicate).files(predicate.name):
            document, problem = self._checked(file, predicate)
            row = _row(document, predicate)
            if row is not None:
                yield _Found(row, file, document, problem)

    def _checked(
        self, file: CertificateFile, predicate: Predicate
    ) -> tuple[Mapping[str, Any], str]:
        """Check a file against the rules that the predicate trusts, and remember the outcome."""
        rules = parameter(predicate, "rules")
        known = self._reports.get((file, predicate.name, rules))
        if known is None:
            known = self._looked_at(file, predicate, tuple(rules.split()))
            self._reports[file, predicate.name, rules] = known
        return known

    def _looked_at(
        self, file: CertificateFile, predicate: Predicate, rules: Sequence[str]
    ) -> tuple[Mapping[str, Any], str]:
        try:
            document = json.loads(file.content)
        except (ValueError, RecursionError):
            return {}, f"{file.name} is no certificate"
        if _row(document, predicate) is None:
            # Of another fact, or of none: nothing is said about any row here.
            return document, f"{file.name} proves no fact of {predicate.name}"
        where = f"the certificate in {file.name}"
        header = document["header"]
        if header.get("verdict") not in {"PROVED", "PROVED_UNDER"}:
            return document, f"{where} does not prove its goal, and an absence is not taken over"
        program = header.get("program")
        if rules and program not in rules:
            return document, f"{where} has other rules than those that `rules` names"
        report = self._check(file.content, program if rules else None, rules)
        if not report.accepted:
            return document, f"{where} is rejected: {report.reason}"
        if _depth(document) > MOST_DEEP or _inside(document) > _MOST_INSIDE:
            return document, f"{where} nests too many others"
        return document, ""

    def _folder(self, predicate: Predicate) -> CertificateFolder:
        written = parameter(predicate, "folder")
        if written not in self._folders:
            project = self._project
            place = project.folder / written if written else project.state / "certificates"
            self._folders[written] = CertificateFolder(place, project.folder, named=bool(written))
        return self._folders[written]


def _row(document: object, predicate: Predicate) -> Row | None:
    """Read the goal of a certificate as a row; `None` where it is none of the predicate."""
    header = document.get("header") if isinstance(document, dict) else None
    goal = header.get("goal") if isinstance(header, dict) else None
    if not isinstance(goal, list) or len(goal) != 2 or goal[0] != predicate.name:  # noqa: PLR2004
        return None
    texts = goal[1]
    if not isinstance(texts, list) or len(texts) != predicate.arity:
        return None
    try:
        return tuple(map(read_canonical, texts, predicate.columns))
    except (ValueError, TypeError, AttributeError):
        return None


def _depth(document: Mapping[str, Any]) -> int:
    depth, level = 0, [document]
    while level:
        depth += 1
        level = [inner for outer in level for inner in outer["proofs"]]
    return depth


def _inside(document: Mapping[str, Any]) -> int:
    return sum(1 + _inside(inner) for inner in document["proofs"])


def _portion(found: _Found, predicate: Predicate) -> Portion:
    document, header = found.document, found.document["header"]
    taken = tuple(_assumption(document["assumptions"][index]) for index in header["under"])
    confidence = Decimal(header["confidence"])
    evidence = Evidence(
        tier=CERTIFICATES,
        origin=Origin.DERIVED,
        source=document["identity"],
        executed_at=now(),
        query=found.file.name,
        row_count=1,
        content_hash=content_hash((found.row,), predicate.kinds),
        confidence=confidence,
        proved=Proved(found.file.content, taken),
    )
    if not taken:
        return Portion((found.row,), evidence)
    atom = print_row(predicate, found.row)
    text = f"the certificate {document['identity'][:_SHORT]} proves {atom} under its assumptions"
    return Portion((found.row,), evidence, Assumption("fact", atom, text, confidence, taken))


def _assumption(one: Mapping[str, Any]) -> Assumption:
    return Assumption(one["kind"], one["text"], one["text"], Decimal(one["confidence"]))


# No connection is opened and no tier's code is imported before a demand needs it.


@frozen
class Tiers:
    """The external predicates by name.

    `start` begins an evaluation of so many seconds, `release` ends it and the read transactions.
    Answers stay remembered as long as their source has not changed, and kept as long as `max_age`
    says; `forget` drops what is remembered. `cancel` stops the queries that run, from any thread.
    While `anew` lasts nothing is served and nothing kept. `close` closes all connections.
    `changed` tells whether a source was found to change while it was read, since `start`.
    `troubles` tells what was wrong with the kept answers, as pairs of code and reason.
    """

    externals: Externals
    start: Callable[[float], None]
    release: Callable[[], None]
    cancel: Callable[[], None]
    forget: Callable[[], None]
    close: Callable[[], None]
    anew: Callable[[], AbstractContextManager[None]] = nullcontext
    troubles: Callable[[], tuple[tuple[str, str], ...]] = tuple
    changed: Callable[[], bool] = lambda: False


def build_externals(  # noqa: PLR0913  what a session hands down
    project: Project,
    analysed: AnalysedProgram,
    store: FactStore,
    *,
    serve: bool | None = None,
    observe: Observer = ignore_event,
    checker: Checker | None = None,
    models: Callable[[], ModelAccess] | None = None,
    said: Callable[[], Collection[Value]] = frozenset,
) -> Tiers:
    """Build a chain for each external predicate.

    With `serve` what `max_age` allows is kept and served; where it is false, it is only kept.
    The checker is asked about certificates that facts are taken from; without one none is. The
    models are made where a predicate lets one be asked; `said` are values that people have said.
    """
    predicates = analysed.program.predicates
    external = [predicates[name] for name in sorted(analysed.external) if name in predicates]
    configured = _configured(project, analysed, external)
    connections = Connections(project)
    database = DatabaseTier(connections, observe)
    cache = None
    if serve is not None and any(map(age_allowed, external)):
        from constat.tiers import cache as caching  # noqa: PLC0415  loaded when it is used

        cache = caching.AnswerCache(project, connections, observe)
        cache.reading = serve
    proved = _certificate_tier(project, external, checker)
    told = _model_tier(project, external, models, said)
    asked = _api_tier(project, external, observe)
    read = _document_tier(project, external, observe)
    tiers = _ordered(project, configured, (database, told), (proved, asked, read))
    shared = _Shared(project, tiers, UserFacts(store), connections, cache, proved, read, observe)
    chains = {predicate.name: _chain(predicate, shared) for predicate in external}
    stopped: tuple[ApiTier | DocumentTier, ...] = (*_some(asked), *_some(read))
    dear: tuple[ModelTier | ApiTier | DocumentTier, ...] = (*_some(told), *stopped)
    forgetting = [chain.forget for chain in chains.values()] + [one.forget for one in dear]
    starting = (connections.start, *(one.start for one in dear))
    return Tiers(
        _as_shown(project, chains, external, database),
        connections.start if not dear else partial(_started, starting),
        partial(_each, (connections.release, *(one.release for one in (*_some(cache), *dear)))),
        partial(_each, (connections.cancel, *(one.cancel for one in stopped))),
        partial(_each, (database.forget, *forgetting)),
        partial(_each, (connections.close, *_closings(cache, asked))),
        nullcontext if cache is None else cache.anew,
        tuple if cache is None else lambda: tuple(cache.troubles),
        lambda: bool(connections.changed),
    )


def _as_shown(
    project: Project,
    chains: Mapping[str, Chain],
    external: Sequence[Predicate],
    database: DatabaseTier,
) -> Externals:
    """Give the chains; those over a database that tells callers apart as it shows them."""
    named = {one.name for one in project.databases.values() if one.caller is not None}
    if not named:
        return dict(chains)
    from constat.tiers.rights import told_apart  # noqa: PLC0415  loaded when it is used

    given: dict[str, ExternalPredicate] = dict(chains)
    for one in external:
        if one.source is not None and one.source.name in named:
            given[one.name] = told_apart(chains[one.name], database.shown)
    return given


def _closings(cache: AnswerCache | None, asked: ApiTier | None) -> tuple[Callable[[], None], ...]:
    """Give what closes the tiers that hold something open."""
    return (*(one.close for one in _some(cache)), *(one.close for one in _some(asked)))


def _configured(
    project: Project, analysed: AnalysedProgram, external: Sequence[Predicate]
) -> dict[str, Configured]:
    """Check what the rules and the configuration say of each other; give the configured facts."""
    diagnostics: list[Diagnostic] = []
    check_declarations(project, analysed, diagnostics)
    configured: dict[str, Configured] = {}
    for predicate in external:
        table = project.facts.get(config_key(predicate))
        if table is not None:
            configured[predicate.name] = typed_facts(
                predicate, table, project.config_name, diagnostics
            )
    if diagnostics:
        raise ConstatError(diagnostics)
    return configured


@frozen
class _Shared:
    """What the chains of a project share."""

    project: Project
    tiers: tuple[tuple[str, Tier | None], ...]
    user: UserFacts
    connections: Connections
    cache: AnswerCache | None
    proved: CertificateTier | None
    read: DocumentTier | None
    observe: Observer


def _certificate_tier(
    project: Project, external: Sequence[Predicate], checker: Checker | None
) -> CertificateTier | None:
    """Give the tier where a predicate needs it: the other projects start without it."""
    if checker is None or not any(map(uses_certificates, external)):
        return None

    found: CertificateTier = CertificateTier(project, checker)
    return found


def _model_tier(
    project: Project,
    external: Sequence[Predicate],
    models: Callable[[], ModelAccess] | None,
    said: Callable[[], Collection[Value]],
) -> ModelTier | None:
    """Give the tier where a predicate lets a model be asked."""
    if models is None or not any(asks_model(one, project) for one in external):
        return None
    from constat.tiers import model as telling  # noqa: PLC0415  loaded when it is used

    found: ModelTier = telling.ModelTier(project, models(), said())
    return found


def _api_tier(project: Project, external: Sequence[Predicate], observe: Observer) -> ApiTier | None:
    """Give the tier where a predicate names an API: the other projects start without it."""
    if not any(one.source is not None and one.source.name in project.apis for one in external):
        return None
    from constat.tiers import api as calling  # noqa: PLC0415  loaded when it is used

    found: ApiTier = calling.ApiTier(project, observe)
    return found


def _document_tier(
    project: Project, external: Sequence[Predicate], observe: Observer
) -> DocumentTier | None:
    """Give the tier where a predicate names documents: the other projects start without it."""
    if not any(one.source is not None and one.source.name in project.documents for one in external):
        return None
    from constat.tiers import documents as reading  # noqa: PLC0415  loaded when it is used

    found: DocumentTier = reading.DocumentTier(project, observe)
    return found


_Some = TypeVar("_Some")


def _some(one: _Some | None) -> tuple[_Some, ...]:
    return () if one is None else (one,)


def _started(steps: tuple[Callable[[float], None], ...], seconds: float) -> None:
    for step in steps:
        step(seconds)


def _each(steps: tuple[Callable[[], None], ...]) -> None:
    for step in steps:
        step()


def _ordered(
    project: Project,
    configured: Mapping[str, Configured],
    asked: tuple[DatabaseTier, ModelTier | None],
    besides: tuple[CertificateTier | None, ApiTier | None, DocumentTier | None],
) -> tuple[tuple[str, Tier | None], ...]:
    """Give the chain: the built-in tiers, a project's own behind the one it names."""
    database, told = asked
    built: dict[str, Tier] = {CONFIG: ConfigTier(project, configured), DATABASE: database}
    if told is not None:
        built[MODEL] = told
    chain: list[tuple[str, Tier | None]] = [(name, built.get(name)) for name in BUILT_IN_TIERS]
    for name, one in reversed(list(zip((CERTIFICATES, API, DOCUMENT), besides, strict=True))):
        if one is not None:
            chain.insert(BUILT_IN_TIERS.index(DATABASE) + 1, (name, one))
    waiting = list(project.tiers.values())
    while waiting:
        placed = [name for name, _ in chain]
        ready = [tier for tier in waiting if tier.after in placed]
        if not ready:
            message = "the tiers' `after` run in a circle"
            raise ConstatError([Diagnostic("C0530", message, waiting[0].span)])
        # Behind the same tier the first one listed is asked first.
        for tier in reversed(ready):
            place = placed.index(tier.after) + 1
            chain.insert(place, (tier.name, CustomTierLoader(tier, project.folder)))
            placed.insert(place, tier.name)
        waiting = [tier for tier in waiting if tier not in ready]
    return tuple(chain)


def _chain(predicate: Predicate, shared: _Shared) -> Chain:
    project = shared.project
    source = predicate.source.name if predicate.source else ""
    from_database = source in project.databases
    secrets = tuple(one.address.text or "" for one in project.databases.values())
    secrets += tuple(text for one in project.apis.values() for text in one.secrets())
    authority = DATABASE if from_database else API if source in project.apis else source
    authority = DOCUMENT if source in project.documents else authority
    kept = None if shared.cache is None else shared.cache.of(predicate)
    # The chain asks what is kept before the tiers, and speaks for it.
    tiers = shared.tiers if kept is None else shared.tiers[1:]
    costs = [_cost(tier, predicate) for _, tier in tiers if tier is not None]
    return Chain(
        Asking(predicate, tiers, authority, secrets, shared.observe),
        shared.user,
        closed_by=project.closed.get(predicate.name, predicate.attributes.get("closed", "")),
        conflicts=project.conflicts,
        scalar=is_scalar(project, predicate),
        cost=max([1, *costs]),
        generation=_generation(predicate, shared),
        observe=shared.observe,
        kept=kept,
        source=_source_alone(predicate, source, shared) if kept is None else "",
    )


def is_scalar(project: Project, predicate: Predicate) -> bool:
    """Tell whether the configuration gives the one value of a predicate."""
    table = project.facts.get(config_key(predicate))
    return table is not None and table.form == "scalar" and predicate.arity == 1


def _generation(predicate: Predicate, shared: _Shared) -> Callable[[], int]:
    """Give what tells when a predicate's source has another state."""
    source = predicate.source.name if predicate.source else ""
    if source in shared.project.databases:
        return lambda: shared.connections.generation(source)
    if shared.read is not None and source in shared.project.documents:
        return partial(shared.read.generation, source)
    if shared.proved is not None and uses_certificates(predicate):
        return partial(shared.proved.generation, predicate)
    return _unchanging


def _source_alone(predicate: Predicate, source: str, shared: _Shared) -> str:
    """Give the database behind a predicate when nothing but it and what is in memory is asked.

    A project's own tier may stand behind several predicates, and is used by one thread at a time.
    """
    own = (tier for _, tier in shared.tiers if isinstance(tier, CustomTierLoader))
    if source not in shared.project.databases or any(tier.may_know(predicate) for tier in own):
        return ""
    if asks_model(predicate, shared.project):
        return ""
    return source


def _cost(tier: Tier, predicate: Predicate) -> int:
    """Give what a demand costs at a tier; nothing where the tier does not know the predicate."""
    if not _may_answer(tier, predicate):
        return 0
    return tier.cost_of(predicate) if isinstance(tier, DatabaseTier) else tier.cost


def _may_answer(tier: Tier, predicate: Predicate) -> bool:
    if isinstance(tier, CustomTierLoader):
        return tier.may_know(predicate)
    return tier.configured(predicate)


def _unchanging() -> int:
    return 0
