"""The part of a session that knows what the sources hold.

In: the project and its rules. Out: `catalog` and `discovery`, made when they are first needed.
Invariant: a goal is proved without them; where the rules are wrong, the tables can be looked at all
the same. Example: `session.catalog.search("customer revenue")`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.analysis import AnalysedProgram
    from constat.authoring import DiscoveryTools
    from constat.catalog import SchemaManager
    from constat.project import Project
    from constat.session.answers import Answers
    from constat.session.bench import Bench
    from constat.session.catalog_drafting import DraftedTables
    from constat.session.stated import StatedFacts
    from constat.session.telling import Told


class Catalogued(ABC):
    """Gives the catalog of a session."""

    facts: StatedFacts
    _catalog: SchemaManager | None = None

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
    def provide_facts(self, text: str, *, author: str) -> Told:
        """Read facts from what somebody tells in words; nothing is kept."""

    @abstractmethod
    def query(self, query: str) -> Answers:
        """Find all answers of a goal with variables."""

    @property
    def catalog(self) -> SchemaManager:
        """Tables, columns, keys and relationships of the sources; found by words."""
        if self._catalog is None:
            building = importlib.import_module("constat.session.catalog_building")
            found: SchemaManager = building.build_catalog(self.project, lambda: self.program)
            self._catalog = found
        return self._catalog

    def discovery(
        self, *, facts: bool = False, extract: Callable[[str], str] | None = None
    ) -> DiscoveryTools:
        """Give what a model may look up; with `facts` also goals of the project.

        `extract` finds the facts that a text states: by default as `provide_facts` does.
        """
        building = importlib.import_module("constat.session.catalog_building")
        access = None
        if facts:
            answering = importlib.import_module("constat.session.catalog_facts")
            finding = extract or (lambda text: answering.told_lines(self, text))
            access = answering.ProjectFacts(self._bench(), self.facts, self.query, finding)
        found: DiscoveryTools = building.build_discovery(self.catalog, lambda: self.program, access)
        return found

    def draft_tables(self, names: Sequence[str], columns: Sequence[str] = ()) -> DraftedTables:
        """Draft declarations for tables of one database; `columns` chooses those of a single one.

        Raises `ConstatError` where a table or column is not there, or cannot be read.
        """
        drafting = importlib.import_module("constat.session.catalog_drafting")
        found: DraftedTables = drafting.draft_tables(
            self.catalog, lambda: self.program, names, columns
        )
        return found

    def _close_catalog(self) -> None:
        catalog, self._catalog = self._catalog, None
        if catalog is not None:
            catalog.close()
