"""Build the external predicates of a project.

In: a project, its analysed program, the store of stated facts. Out: `Tiers`. Raises `ConstatError`
for everything that can be seen to be wrong without opening a source. Invariant: no connection is
opened and no tier's code is imported before a demand needs it. Example:
`build_externals(project, analysed, FactStore(project.state)).externals["tier"]`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import ignore_event
from constat.project import BUILT_IN_TIERS
from constat.tiers.asking import Asking
from constat.tiers.cache_age import age_allowed
from constat.tiers.chain import Chain
from constat.tiers.config import CONFIG, ConfigTier, Configured, config_key, typed_facts
from constat.tiers.connections import Connections
from constat.tiers.custom import CustomTierLoader
from constat.tiers.database import DATABASE, DatabaseTier
from constat.tiers.declarations import (
    CERTIFICATES,
    MODEL,
    asks_model,
    check_declarations,
    uses_certificates,
)
from constat.tiers.user import UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals, Observer
    from constat.logic import Predicate, Value
    from constat.project import Project
    from constat.store import FactStore
    from constat.tiers.cache import AnswerCache
    from constat.tiers.certificates import CertificateTier, Checker
    from constat.tiers.model import ModelAccess, ModelTier
    from constat.tiers.tier import Tier


@dataclass(frozen=True, slots=True)
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
        # Most programs keep nothing: they start without what keeps answers.
        from constat.tiers import cache as caching  # noqa: PLC0415  loaded when it is used

        cache = caching.AnswerCache(project, connections, observe)
        cache.reading = serve
    proved = _certificate_tier(project, external, checker)
    told = _model_tier(project, external, models, said)
    tiers = _ordered(project, configured, (database, told), proved)
    shared = _Shared(project, tiers, UserFacts(store), connections, cache, proved, observe)
    chains = {predicate.name: _chain(predicate, shared) for predicate in external}
    kept = () if cache is None else (cache,)
    forgetting = [chain.forget for chain in chains.values()] + [one.forget for one in _some(told)]
    return Tiers(
        chains,
        connections.start if told is None else partial(_started, connections, told),
        partial(_each, (connections.release, *(one.release for one in (*kept, *_some(told))))),
        connections.cancel,
        partial(_each, (database.forget, *forgetting)),
        partial(_each, (connections.close, *(one.close for one in kept))),
        nullcontext if cache is None else cache.anew,
        tuple if cache is None else lambda: tuple(cache.troubles),
        lambda: bool(connections.changed),
    )


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


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the chains of a project share."""

    project: Project
    tiers: tuple[tuple[str, Tier | None], ...]
    user: UserFacts
    connections: Connections
    cache: AnswerCache | None
    proved: CertificateTier | None
    observe: Observer


def _certificate_tier(
    project: Project, external: Sequence[Predicate], checker: Checker | None
) -> CertificateTier | None:
    """Give the tier where a predicate needs it: the other projects start without it."""
    if checker is None or not any(map(uses_certificates, external)):
        return None
    from constat.tiers import certificates as proving  # noqa: PLC0415  loaded when it is used

    found: CertificateTier = proving.CertificateTier(project, checker)
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


def _some(told: ModelTier | None) -> tuple[ModelTier, ...]:
    return () if told is None else (told,)


def _started(connections: Connections, told: ModelTier, seconds: float) -> None:
    connections.start(seconds)
    told.start(seconds)


def _each(steps: tuple[Callable[[], None], ...]) -> None:
    for step in steps:
        step()


def _ordered(
    project: Project,
    configured: Mapping[str, Configured],
    asked: tuple[DatabaseTier, ModelTier | None],
    proved: CertificateTier | None,
) -> tuple[tuple[str, Tier | None], ...]:
    """Give the chain: the built-in tiers, a project's own behind the one it names."""
    database, told = asked
    built: dict[str, Tier] = {CONFIG: ConfigTier(project, configured), DATABASE: database}
    if told is not None:
        built[MODEL] = told
    chain: list[tuple[str, Tier | None]] = [(name, built.get(name)) for name in BUILT_IN_TIERS]
    if proved is not None:
        chain.insert(BUILT_IN_TIERS.index(DATABASE) + 1, (CERTIFICATES, proved))
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
    authority = DATABASE if from_database else source
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
