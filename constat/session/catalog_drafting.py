"""Draft declarations for tables of the catalog, next to the rules that the project has.

In: names of tables, perhaps columns. Out: the text of a rule file. Invariants: names of predicates
that the project has are not taken again; all tables of one file are of one database. Example:
`draft_tables(catalog, program, ["sales.orders"])`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.catalog.schema.drafting import draft_text, drafted
from constat.diagnostics import ConstatError, Diagnostic
from constat.session.catalog_building import dialect_of, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.analysis import AnalysedProgram
    from constat.catalog import SchemaManager
    from constat.catalog.schema.drafting import DraftedPredicate


@dataclass(frozen=True, slots=True)
class DraftedTables:
    """The text of a rule file, and the predicates in it."""

    database: str
    text: str
    predicates: tuple[DraftedPredicate, ...]

    @property
    def signatures(self) -> tuple[str, ...]:
        """The predicates with their columns."""
        return tuple(map(signature_of, self.predicates))


def draft_tables(
    catalog: SchemaManager,
    program: Callable[[], AnalysedProgram],
    names: Sequence[str],
    columns: Sequence[str] = (),
) -> DraftedTables:
    """Draft the tables; `columns` chooses those of a single one.

    Raises `ConstatError`: C0840 and C0843 for what is not there, C0844 for a source that does not
    answer, C0850 where nothing can be drafted.
    """
    if columns and len(names) != 1:
        raise _refused("columns can be chosen for one table at a time", "name one table")
    checked = [catalog.check(name, columns) for name in dict.fromkeys(names)]
    databases = {one.table.database for one in checked}
    if len(databases) != 1:
        raise _refused("the tables are of several databases", "draft a file for each database")
    usable = [one for one in checked if any(column.kind for column in one.columns)]
    if not usable:
        raise _refused("no column of the tables can be read", "name a table with such columns")
    wanted = {checked[0].table.path: [one.column.name for one in checked[0].columns]}
    predicates = drafted(usable, _taken(program), wanted if columns else {})
    (database,) = databases
    text = draft_text(predicates, database, dialect_of(catalog.project, database))
    return DraftedTables(database, text, predicates)


def _taken(program: Callable[[], AnalysedProgram]) -> Sequence[str]:
    try:
        return tuple(program().program.predicates)
    except ConstatError:
        # Rules that are wrong cannot be read together with the draft anyway.
        return ()


def _refused(message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0850", message, help=hint)])
