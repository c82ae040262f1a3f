"""Programs that share a project's kept answers, one after the other."""

from __future__ import annotations

import re
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import Answer, Demand, Event, QueryRun, TierAsked
from constat.logic import Predicate, Row
from constat.project import load_project
from constat.store import FactStore
from constat.tiers import Tiers, build_externals
from tests.tiers.building import analysed, database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SCRIPT = """
    CREATE TABLE accounts (c TEXT PRIMARY KEY, t TEXT);
    CREATE TABLE others (c TEXT PRIMARY KEY, t TEXT);
    INSERT INTO accounts VALUES ('C001', 'silver'), ('C002', 'gold'), ('C003', 'gold');
    INSERT INTO others VALUES ('C001', 'no');
"""
TIER = "tier(c: symbol, t: symbol)"
QUERY = "SELECT c, t FROM accounts"


@dataclass
class Run:
    """One program: its tiers and what they said."""

    tiers: Tiers
    predicates: dict[str, Predicate]
    events: list[Event] = field(default_factory=list)

    def ask(self, name: str, columns: Sequence[int] = (), *keys: Row) -> Answer:
        """Ask in an evaluation of its own."""
        demand = Demand(self.predicates[name], tuple(columns), tuple(keys) or ((),))
        try:
            return self.tiers.externals[name].answer(demand)
        finally:
            self.tiers.release()

    @property
    def queries(self) -> int:
        return sum(isinstance(event, QueryRun) for event in self.events)

    @property
    def said(self) -> list[tuple[str, str]]:
        """What the cache told: outcome and detail."""
        asked = (event for event in self.events if isinstance(event, TierAsked))
        return [(event.outcome, event.detail) for event in asked if event.tier == "cache"]


@dataclass
class Place:
    """A project folder with a database `sales`."""

    folder: Path

    def configure(self, config: str = "", *, uri: str = "sqlite:///shop.sqlite") -> None:
        (self.folder / "constat.yaml").write_text(
            f"databases: {{sales: {{uri: '{uri}'}}}}\n{config}\n"
        )

    @property
    def state(self) -> Path:
        return self.folder / ".constat"

    @property
    def facts(self) -> FactStore:
        return FactStore(self.state)

    @contextmanager
    def run(self, *predicates: Predicate, serve: bool = True) -> Iterator[Run]:
        """Run one program."""
        events: list[Event] = []
        tiers = build_externals(
            load_project(self.folder),
            analysed(predicates),
            self.facts,
            serve=serve,
            observe=events.append,
        )
        with closing(tiers):
            yield Run(tiers, {one.name: one for one in predicates}, events)


def allow_age(project: Path, name: str, max_age: str) -> None:
    """Let answers about a predicate of the example be kept."""
    file = project / "sources.dl"
    found, count = re.subn(
        rf'(\.input {name}\(\s*source = "sales",)', rf'\1 max_age = "{max_age}",', file.read_text()
    )
    assert count == 1
    file.write_text(found)


def place(folder: Path, script: str = SCRIPT, config: str = "") -> Place:
    """Write a project and its database."""
    found = Place(folder)
    database(folder / "shop.sqlite", script)
    found.configure(config)
    return found
