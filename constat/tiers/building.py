"""Build the external predicates of a project.

In: a project, its analysed program, the store of stated facts. Out: `Tiers`. Raises `ConstatError`
for everything that can be seen to be wrong without opening a source. Invariant: no connection is
opened and no tier's code is imported before a demand needs it. Example:
`build_externals(project, analysed, FactStore(project.state)).externals["tier"]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import ignore_event
from constat.project import BUILT_IN_TIERS
from constat.tiers.asking import Asking
from constat.tiers.chain import Chain
from constat.tiers.config import CONFIG, ConfigTier, Configured, config_key, typed_facts
from constat.tiers.connections import Connections
from constat.tiers.custom import CustomTierLoader
from constat.tiers.database import DatabaseTier
from constat.tiers.declarations import check_declarations
from constat.tiers.reading import DATABASE
from constat.tiers.user import UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals, Observer
    from constat.logic import Predicate
    from constat.project import Project
    from constat.store import FactStore
    from constat.tiers.tier import Tier


@dataclass(frozen=True, slots=True)
class Tiers:
    """The external predicates by name.

    `release` ends the read transactions: call it when an evaluation is over. Answers stay
    remembered as long as their source has not changed. `close` closes all connections.
    """

    externals: Externals
    release: Callable[[], None]
    close: Callable[[], None]


def build_externals(
    project: Project,
    analysed: AnalysedProgram,
    store: FactStore,
    *,
    observe: Observer = ignore_event,
) -> Tiers:
    """Build a chain for each external predicate."""
    diagnostics: list[Diagnostic] = []
    check_declarations(project, analysed, diagnostics)
    predicates = analysed.program.predicates
    external = [predicates[name] for name in sorted(analysed.external) if name in predicates]
    configured: dict[str, Configured] = {}
    for predicate in external:
        table = project.facts.get(config_key(predicate))
        if table is not None:
            configured[predicate.name] = typed_facts(
                predicate, table, project.config_name, diagnostics
            )
    if diagnostics:
        raise ConstatError(diagnostics)
    connections = Connections(project)
    tiers = _ordered(project, configured, connections, observe)
    user = UserFacts(store)
    chains = {
        predicate.name: _chain(predicate, project, tiers, user, connections, observe)
        for predicate in external
    }
    return Tiers(chains, connections.release, connections.close)


def _ordered(
    project: Project,
    configured: Mapping[str, Configured],
    connections: Connections,
    observe: Observer,
) -> tuple[tuple[str, Tier | None], ...]:
    """Give the chain: the built-in tiers, a project's own behind the one it names."""
    built: dict[str, Tier] = {
        CONFIG: ConfigTier(project, configured),
        DATABASE: DatabaseTier(connections, observe),
    }
    chain: list[tuple[str, Tier | None]] = [(name, built.get(name)) for name in BUILT_IN_TIERS]
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


def _chain(  # noqa: PLR0917  what a predicate shares with the others, and what is its own
    predicate: Predicate,
    project: Project,
    tiers: tuple[tuple[str, Tier | None], ...],
    user: UserFacts,
    connections: Connections,
    observe: Observer,
) -> Chain:
    source = predicate.source.name if predicate.source else ""
    from_database = source in project.databases
    secrets = tuple(one.address.text or "" for one in project.databases.values())
    authority = DATABASE if from_database else source
    costs = [tier.cost for _, tier in tiers if tier is not None and _may_answer(tier, predicate)]
    return Chain(
        Asking(predicate, tiers, authority, secrets, observe),
        user,
        closed_by=project.closed.get(predicate.name, predicate.attributes.get("closed", "")),
        cost=max([1, *costs]),
        generation=(lambda: connections.generation(source)) if from_database else _unchanging,
        observe=observe,
    )


def _may_answer(tier: Tier, predicate: Predicate) -> bool:
    if isinstance(tier, CustomTierLoader):
        return tier.may_know(predicate)
    return tier.configured(predicate)


def _unchanging() -> int:
    return 0
