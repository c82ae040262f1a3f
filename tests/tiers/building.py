"""Projects, predicates and databases for the tests of tiers."""

from __future__ import annotations

import sqlite3
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram
from constat.evaluation import Answer, Demand, Event, QueryRun
from constat.logic import Column, Kind, OpenRow, Predicate, Program, Row, Source
from constat.project import load_project
from constat.store import FactStore
from constat.tiers import build_externals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from constat.tiers import Tiers

KINDS = {kind.value: kind for kind in Kind}


def declare(
    text: str,
    query: str = "",
    *,
    source: str | None = None,
    nulls: dict[str, str] | None = None,
    parameters: dict[str, str] | None = None,
    **attributes: str,
) -> Predicate:
    """Give a predicate from `name(column: kind, ...)`; with a query its source is `sales`."""
    name, _, rest = text.rstrip(")").partition("(")
    columns = []
    for part in filter(None, (one.strip() for one in rest.split(","))):
        column, kind = (piece.strip() for piece in part.split(":"))
        policy = (nulls or {}).get(column)
        columns.append(Column(column, kind, KINDS[kind], {"null": policy} if policy else {}))
    found = dict(parameters or {})
    if query:
        found |= {"source": "sales", "query": query}
    if source is not None:
        found["source"] = source
    return Predicate(name, tuple(columns), Source(found) if found else None, attributes)


def analysed(predicates: Iterable[Predicate]) -> AnalysedProgram:
    by_name = {one.name: one for one in predicates}
    return AnalysedProgram(Program(by_name, ()), (), (), (), frozenset(by_name))


@dataclass
class Setting:
    """A project folder with a database `sales`, and what its tiers said."""

    folder: Path
    tiers: Tiers
    predicates: dict[str, Predicate]
    store: FactStore
    events: list[Event] = field(default_factory=list)

    def ask(self, name: str, columns: Sequence[int] = (), *keys: Row) -> Answer:
        demand = Demand(self.predicates[name], tuple(columns), tuple(keys) or ((),))
        return self.tiers.externals[name].answer(demand)

    @property
    def queries(self) -> list[QueryRun]:
        return [event for event in self.events if isinstance(event, QueryRun)]


def database(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")  # nobody needs these files after a crash
    connection.executescript(script)
    connection.close()
    return path


def setting(
    folder: Path, *predicates: Predicate, config: str = "", script: str = "", sales: str = ""
) -> Setting:
    """Write the database and the configuration, and build the tiers."""
    database(folder / "shop.sqlite", script or "SELECT 1")
    uri = f'databases: {{sales: {{uri: "sqlite:///shop.sqlite"{sales}}}}}\n{config}\n'
    return configured(folder, uri, *predicates)


def configured(folder: Path, text: str, *predicates: Predicate) -> Setting:
    """Write the configuration, and build the tiers."""
    (folder / "constat.yaml").write_text(text)
    store = FactStore(folder / ".constat")
    events: list[Event] = []
    project = load_project(folder)
    tiers = build_externals(project, analysed(predicates), store, observe=events.append)
    found = Setting(folder, tiers, {one.name: one for one in predicates}, store, events)
    # Python 3.13 warns of connections that are dropped open, and here warnings are errors.
    weakref.finalize(found, tiers.close)
    return found


def rows(answer: Answer, *, assumed: bool | None = None) -> set[Row]:
    """Give the rows; those under an assumption, or those without, when asked."""
    return {
        row
        for portion in answer.portions
        for row in portion.rows
        if assumed is None or assumed == (portion.assumption is not None)
    }


def open_rows(answer: Answer) -> set[OpenRow]:
    return {opening.row for opening in answer.openings}


def reasons(answer: Answer) -> str:
    return "; ".join(opening.reason for opening in answer.openings)


def assumptions(answer: Answer) -> set[tuple[str, str]]:
    """Give kind and text of every assumption of an answer."""
    found = {portion.assumption for portion in answer.portions}
    found |= {opening.assumption for opening in answer.openings}
    return {(one.kind, one.text) for one in found if one is not None}
