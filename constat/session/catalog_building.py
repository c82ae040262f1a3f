"""Build the catalog of a project, and the tools over it.

In: a project and its rules. Out: a `SchemaManager` over the kept index, and `DiscoveryTools`.
Invariants: rules that are wrong take nothing from the tables; a table of a source is known to be
read by a predicate only where the query of its `.input` names it. Example: `orders` is read by
`placed_order(customer, order, amount, day)`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from constat.authoring.discovery import DiscoveryTools
from constat.catalog import QueryMistakeError, SchemaManager, guard
from constat.catalog.alchemy_addresses import sql_of
from constat.catalog.schema.catalogue import RULES
from constat.catalog.schema.words import words_of
from constat.diagnostics import ConstatError
from constat.library.listing import list_rules
from constat.store.catalog_index import CatalogIndex, Entry
from constat.syntax import print_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery_facts import FactAccess
    from constat.catalog.schema.drafting import DraftedPredicate
    from constat.library.listing import ListedPredicate, ListedRule
    from constat.logic import Predicate
    from constat.project import Project

FILE: Final = "catalog.sqlite"
_LONGEST_ABOUT: Final = 200


def build_catalog(project: Project, program: Callable[[], AnalysedProgram]) -> SchemaManager:
    """Build the catalog; the rules are read when somebody searches."""
    index = CatalogIndex(project.state / FILE)
    return SchemaManager(project, index, lambda: tuple(_entries(program)))


def build_discovery(
    catalog: SchemaManager, program: Callable[[], AnalysedProgram], facts: FactAccess | None
) -> DiscoveryTools:
    """Build the tools; which predicates read a table is found out once."""
    known: dict[str, Sequence[str]] = {}
    asked: list[bool] = []

    def readers(path: str) -> Sequence[str]:
        if not asked:
            asked.append(True)
            known.update(readers_of(catalog.project, program))
        return known.get(path.casefold(), ())

    return DiscoveryTools(catalog, facts, readers)


def readers_of(
    project: Project, program: Callable[[], AnalysedProgram]
) -> Mapping[str, Sequence[str]]:
    """Give the predicates whose queries read a table, by its path in lower case."""
    found: dict[str, list[str]] = defaultdict(list)
    for predicate in _predicates(program):
        source = predicate.source
        query = source.parameters.get("query", "") if source else ""
        if source is None or source.name not in project.databases or not query:
            continue
        for table in _tables_of(query, dialect_of(project, source.name)):
            found[f"{source.name}.{table}".casefold()].append(print_signature(predicate))
    return found


def signature_of(predicate: DraftedPredicate) -> str:
    """Write a drafted predicate with the names and kinds of its columns."""
    columns = ", ".join(f"{one.name}: {one.kind.value}" for one in predicate.columns)
    return f"{predicate.name}({columns})"


def _predicates(program: Callable[[], AnalysedProgram]) -> Sequence[Predicate]:
    try:
        return tuple(program().program.predicates.values())
    except ConstatError:
        # Who looks for tables may be about to mend the rules.
        return ()


def dialect_of(project: Project, name: str) -> str:
    """Name the SQL of a database of the project, without opening it."""
    database = project.databases[name]
    if database.kind == "files":
        return "duckdb"
    return sql_of(database.address.text or "") or "duckdb"


def _tables_of(query: str, dialect: str) -> Sequence[str]:
    try:
        return sorted(guard(query, dialect).tables)
    except QueryMistakeError:
        return ()


def _entries(program: Callable[[], AnalysedProgram]) -> Iterator[Entry]:
    try:
        listing = list_rules(program())
    except ConstatError:
        return
    for predicate in listing.predicates:
        yield _predicate_entry(predicate)
    for rule in listing.rules:
        yield _rule_entry(rule)


def _predicate_entry(one: ListedPredicate) -> Entry:
    columns = ", ".join(f"{name}: {type_name}" for name, type_name, _ in one.columns)
    about = one.description or one.says
    return Entry(
        RULES,
        "predicate",
        f"{one.name}({columns})",
        one.file,
        about[:_LONGEST_ABOUT],
        _spread(one.name),
        _spread(*(name for name, _, _ in one.columns)),
        f"{one.says} {one.description}",
    )


def _rule_entry(one: ListedRule) -> Entry:
    return Entry(
        RULES,
        "rule",
        one.id,
        one.file,
        one.says[:_LONGEST_ABOUT],
        _spread(one.id, one.predicate),
        "",
        f"{one.says} {one.owner}",
    )


def _spread(*names: str) -> str:
    words = [word for name in names for word in (*words_of(name), name.lower())]
    return " ".join(dict.fromkeys(words))
