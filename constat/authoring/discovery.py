"""Looking things up on demand: the tools by which a model learns what a project holds.

In: a catalog, and perhaps access to facts. Out: functions, and the same as tools for a model.
Invariants: nothing is written; every answer is fenced data and bounded, with a reference to the
rest; a mistake of the model's is told in the answer, which then begins with `error`, and never
raised; the same question gets the same answer. Example: of `discovery_tools(catalog)` the tool
`get_table_schema` with `{"table": "sales.orders"}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from constat.authoring.discovery_arguments import Parameter, arguments_of, parameters_schema
from constat.authoring.discovery_schema import (
    database_lines,
    link_lines,
    sample_lines,
    schema_lines,
    search_lines,
    table_lines,
)
from constat.authoring.discovery_text import References, fenced, quoted
from constat.catalog.schema.sampling import sample
from constat.diagnostics import ConstatError
from constat.model import Tool
from constat.model.prompts import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.authoring.discovery_facts import FactAccess
    from constat.catalog import SchemaManager

Answer = Callable[[Json], str]
OfferedTool = tuple[Tool, Answer]
"""A tool as a model sees it, and what answers its calls."""

_TEXT: Final = "string"
_NUMBER: Final = "integer"
_TABLE: Final = Parameter("table", _TEXT, "database.table")
_MOST_HITS: Final = 20


class DiscoveryTools:
    """What can be looked up; `readers` tells which predicates read a table, by its path."""

    def __init__(
        self,
        catalog: SchemaManager,
        facts: FactAccess | None = None,
        readers: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        self.catalog = catalog
        self.facts = facts
        self.readers = readers
        self._references = References()

    def list_databases(self) -> str:
        """List the databases of the project."""
        return self._told(database_lines(self.catalog.databases()))

    def list_tables(self, database: str = "") -> str:
        """List the tables of a database, or of all."""
        return self._told(table_lines(self.catalog.tables(database or None)))

    def get_table_schema(self, table: str) -> str:
        """Describe a table: columns, types, keys, relationships, comments."""
        found = self.catalog.table(table)
        return self._told(schema_lines(found, self.readers(found.path)))

    def search_tables(self, query: str, most: int = _MOST_HITS) -> str:
        """Find tables, columns, predicates and rules by words."""
        return self._told(search_lines(self.catalog.search(query, most=max(1, min(most, 100)))))

    def get_table_relationships(self, table: str) -> str:
        """Tell what a table points to, and what points to it."""
        return self._told(link_lines(self.catalog.relationships(table)))

    def get_sample_values(self, table: str, column: str = "", most: int = 5) -> str:
        """Show values of a column, or of all, where the project allows it."""
        found = self.catalog.table(table)
        columns = (column,) if column else ()
        shown = sample(self.catalog.project, found, columns, most=most)
        return self._told(sample_lines(shown))

    def resolve_fact(self, goal: str) -> str:
        """Decide a goal with the project's rules and sources."""
        return self._told(self._facts().resolve(goal))

    def add_fact(self, fact: str, reason: str = "") -> str:
        """Propose a fact; it counts once a person has stated it."""
        return self._told(self._facts().propose(fact, reason))

    def extract_facts_from_text(self, text: str) -> str:
        """Find the facts that a text states, as proposals."""
        return self._told(self._facts().extract(text))

    def list_known_facts(self, predicate: str = "") -> str:
        """List facts that are stated or configured."""
        return self._told(self._facts().known(predicate))

    def get_unresolved_facts(self) -> str:
        """List the facts that were missing so far."""
        return self._told(self._facts().unresolved())

    def read_reference(self, reference: str, start: int = 0) -> str:
        """Read on in an answer that was cut."""
        found = self._references.read(reference, start)
        if found is None:
            return "error: there is no such reference; ask again for what it was part of"
        return fenced(found)

    def tools(self) -> tuple[OfferedTool, ...]:
        """Give everything as tools for a model; those about facts only where there is access."""
        offered = _SCHEMA_TOOLS if self.facts is None else (*_SCHEMA_TOOLS, *_FACT_TOOLS)
        return tuple(self._offered(*one) for one in (*offered, *_REFERENCE_TOOLS))

    def needed(self) -> tuple[OfferedTool, ...]:
        """Give the tools for a model that `PromptBuilder` has told the databases.

        Values are offered only where the project lets some be shown.
        """
        setting = self.catalog.project.catalog
        useless = {"list_databases"}
        if not (setting.every or setting.samples):
            useless.add("get_sample_values")
        return tuple(one for one in self.tools() if one[0].name not in useless)

    def _offered(
        self, name: str, description: str, parameters: tuple[Parameter, ...]
    ) -> OfferedTool:
        method: Callable[..., str] = getattr(self, name)

        def answer(arguments: Json) -> str:
            given = arguments_of(arguments, parameters)
            if isinstance(given, str):
                return f"error: {given}"
            try:
                return method(**given)
            except ConstatError as problem:
                return "error: " + _mistake(problem)

        return Tool(name, description, parameters_schema(parameters)), answer

    def _facts(self) -> FactAccess:
        if self.facts is None:
            raise ValueError("there is no access to facts")
        return self.facts

    def _told(self, lines: str) -> str:
        return fenced(self._references.bounded(lines))


def discovery_tools(
    catalog: SchemaManager,
    facts: FactAccess | None = None,
    readers: Callable[[str], Sequence[str]] = lambda _: (),
) -> tuple[OfferedTool, ...]:
    """Give the tools with what answers them."""
    return DiscoveryTools(catalog, facts, readers).tools()


def _mistake(problem: ConstatError) -> str:
    """Say what is wrong; names in it may come from a source."""
    said: list[Any] = []
    for one in problem.diagnostics[:5]:
        text = "; ".join(part for part in (one.message, one.note, one.help) if part)
        said.append(f"{one.code} {quoted(text, 600)}")
    return ", ".join(said)


_SCHEMA_TOOLS: Final = (
    ("list_databases", "List the databases.", ()),
    (
        "list_tables",
        "List the tables of a database, or of all.",
        (Parameter("database", _TEXT, required=False),),
    ),
    (
        "get_table_schema",
        "Describe a table: columns, types, keys, relationships, predicates that read it.",
        (_TABLE,),
    ),
    (
        "search_tables",
        "Find tables, columns, predicates and rules by words of their names and comments.",
        (Parameter("query", _TEXT), Parameter("most", _NUMBER, required=False)),
    ),
    (
        "get_table_relationships",
        "Tell what a table points to and what points to it.",
        (_TABLE,),
    ),
    (
        "get_sample_values",
        "Show values of a column, or of all, where the project allows it.",
        (
            _TABLE,
            Parameter("column", _TEXT, required=False),
            Parameter("most", _NUMBER, required=False),
        ),
    ),
)
_FACT_TOOLS: Final = (
    (
        "resolve_fact",
        "Decide a goal such as `is_vip(C001)`, or find values for its variables: `is_vip(?c)`.",
        (Parameter("goal", _TEXT),),
    ),
    (
        "add_fact",
        "Propose a fact for a person to confirm. It does not count before.",
        (
            Parameter("fact", _TEXT, "A predicate with a value in each column."),
            Parameter("reason", _TEXT, "Where it comes from.", required=False),
        ),
    ),
    (
        "extract_facts_from_text",
        "Find the facts that a text states, as proposals for a person.",
        (Parameter("text", _TEXT),),
    ),
    (
        "list_known_facts",
        "List facts that people have stated or the configuration holds.",
        (Parameter("predicate", _TEXT, "Only of this one.", required=False),),
    ),
    ("get_unresolved_facts", "List the facts that were missing for the goals so far.", ()),
)
_REFERENCE_TOOLS: Final = (
    (
        "read_reference",
        "Read on in an answer that ended with `... more: ref:X from N`.",
        (
            Parameter("reference", _TEXT, "ref:X"),
            Parameter("start", _NUMBER, "N", required=False),
        ),
    ),
)
