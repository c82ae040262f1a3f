"""The catalog of a project, the tools over it, and declarations drafted from it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from constat.analysis import check_goal
from constat.authoring.discovery import DiscoveryTools, quoted
from constat.catalog import (
    QueryMistakeError,
    Question,
    ReadBounds,
    SchemaManager,
    SourceFailureError,
    guard,
)
from constat.catalog.drivers import sql_of
from constat.catalog.duck_session import named
from constat.catalog.file_tables import guess_cells, null_said, odd_cells
from constat.catalog.schema.catalogue import RULES
from constat.catalog.schema.described import OF_DOCUMENTS, OPERATION
from constat.catalog.schema.drafting import (
    MOST_COLUMNS,
    TOO_MANY,
    draft_text,
    drafted,
    folded_columns,
    near_key_of,
)
from constat.catalog.schema.introspection import reading
from constat.catalog.schema.samples import find_column, unanswered
from constat.catalog.schema.words import words_of
from constat.diagnostics import ConstatError, Diagnostic, counted
from constat.frozen import frozen
from constat.library.listing import list_rules
from constat.logic import OPEN, Constant, Negative, Open, Positive, Variable, display_value
from constat.proof import decide
from constat.session.spelling import shown_goal
from constat.store.catalog import CatalogIndex, Entry
from constat.syntax import (
    parse_goal,
    parse_stated,
    print_program,
    print_row,
    print_rule,
    print_signature,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Sized

    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import FactAccess
    from constat.catalog import Connection
    from constat.catalog.schema.checking import Checked
    from constat.catalog.schema.described import TableSchema
    from constat.catalog.schema.drafting import DraftedPredicate
    from constat.catalog.schema.search import Naming
    from constat.documents import Documents
    from constat.library.listing import ListedPredicate, ListedRule
    from constat.logic import Atom, OpenRow, Predicate, Program
    from constat.project import Database, Project
    from constat.project.files import TableFiles
    from constat.session.answers import Answers
    from constat.session.drafted import FactsOfText
    from constat.session.parts import SessionParts
    from constat.session.stated import StatedFacts

FILE: Final = "catalog.sqlite"
UNREAD: Final = "C0844"
FILE_TABLE: Final = "file"
_LONGEST_ABOUT: Final = 200
_LONGEST_QUERY: Final = 5_000


def build_catalog(project: Project, program: Callable[[], AnalysedProgram]) -> SchemaManager:
    """Build the catalog; the rules are read when somebody searches."""
    index = CatalogIndex(project.state / FILE)
    return SchemaManager(
        project,
        index,
        lambda: tuple(_entries(program)),
        lambda: tuple(_namings(project, program)),
        lambda: _declared(project, program),
    )


def build_discovery(
    catalog: SchemaManager,
    program: Callable[[], AnalysedProgram],
    facts: FactAccess | None,
    documents: Documents | None = None,
) -> DiscoveryTools:
    """Build the tools; which predicates read a table is found out once."""
    known: dict[str, Sequence[str]] = {}
    asked: list[bool] = []

    def readers(path: str) -> Sequence[str]:
        if not asked:
            asked.append(True)
            known.update(readers_of(catalog.project, program))
        return known.get(path.casefold(), ())

    return DiscoveryTools(catalog, facts, readers, documents)


def readers_of(
    project: Project, program: Callable[[], AnalysedProgram]
) -> Mapping[str, Sequence[str]]:
    """Give the predicates whose queries read a table, by its path in lower case."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, predicate in _reads(project, program):
        found[path].append(print_signature(predicate))
    return found


def _declared(project: Project, program: Callable[[], AnalysedProgram]) -> Mapping[str, str]:
    """Give the state of the declarations over each table, with constraints and lists of values."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, predicate in _reads(project, program):
        found[path].append(_with_constraints(predicate.name, program().program))
    return {path: sha256("".join(sorted(one)).encode()).hexdigest() for path, one in found.items()}


def _with_constraints(name: str, program: Program) -> str:
    """Write a predicate with the constraints that it stands in, and the facts that these name."""
    read = {
        rule: {one.atom.predicate for one in rule.body if isinstance(one, Positive | Negative)}
        for rule in program.rules
        if "constraint" in program.predicates[rule.head.predicate].attributes
    }
    broken = [rule for rule, names in read.items() if name in names]
    beside = {other for rule in broken for other in read[rule]}
    facts = [one for one in program.rules if one.head.predicate in beside and not one.body]
    heads = sorted({rule.head.predicate for rule in broken})
    predicates = {one: program.predicates[one] for one in (name, *heads)}
    alone = replace(program, predicates=predicates, rules=(), outputs={}, sizes=())
    return "\n".join([print_program(alone), *map(print_rule, (*broken, *facts))])


def _reads(
    project: Project, program: Callable[[], AnalysedProgram]
) -> Iterator[tuple[str, Predicate]]:
    """Yield each table that a query reads, by its path in lower case, and the predicate."""
    for predicate in _predicates(program):
        source = predicate.source
        query = source.parameters.get("query", "") if source else ""
        if source is None or source.name not in project.databases or not query:
            continue
        for table in _tables_of(query, dialect_of(project, source.name)):
            yield f"{source.name}.{table}".casefold(), predicate


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


def _namings(project: Project, program: Callable[[], AnalysedProgram]) -> Iterator[Naming]:
    """Give what rules call the tables that they read: predicates, and heads of rules over them."""
    read: dict[str, Sequence[str]] = {}
    for predicate in _predicates(program):
        source = predicate.source
        query = source.parameters.get("query", "") if source else ""
        if source is None or source.name not in project.databases:
            continue
        # Most are called as their table is, and a query takes a while to be read.
        known = set(words_of(query[:_LONGEST_QUERY]))
        name = predicate.name
        if known.issuperset(words_of(name)):
            read[name] = (name,)
        elif query:
            read[name] = _tables_of(query, dialect_of(project, source.name))
        yield from ((name, table) for table in read.get(name, ()))
    for rule in program().rules if read else ():
        inputs = {
            one.atom.predicate
            for one in rule.body
            if isinstance(one, Positive) and one.atom.predicate in read
        }
        yield from ((rule.head.predicate, table) for one in inputs for table in read[one])


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


@frozen
class DraftedTables:
    """The text of a rule file, and the predicates in it."""

    database: str
    text: str
    predicates: tuple[DraftedPredicate, ...]
    operations: tuple[str, ...] = ()
    """Those drafted for operations of an API, with their columns."""
    hints: tuple[str, ...] = ()
    """What a person may want to say or mend: how files are written, what is nearly a key."""
    problems: tuple[Diagnostic, ...] = ()
    """Why tables that were asked for are not drafted: they cannot be read."""

    @property
    def signatures(self) -> tuple[str, ...]:
        """The predicates with their columns."""
        return (*map(signature_of, self.predicates), *self.operations)


def draft_tables(
    catalog: SchemaManager,
    program: Callable[[], AnalysedProgram],
    names: Sequence[str],
    columns: Sequence[str] = (),
) -> DraftedTables:
    """Draft the tables; `columns` chooses those of a single one.

    The name of a database stands for its tables, or for its views where it has nothing else.

    Raises `ConstatError`: C0840 and C0843 for what is not there, C0844 for a source that does not
    answer, C0850 where nothing can be drafted.
    """
    if columns and len(names) != 1:
        raise _refused("columns can be chosen for one table at a time", "name one table")
    names = [one for name in names for one in _tables_named(catalog, name)]
    project = catalog.project
    tables = [catalog.table(name) for name in names] if project.apis or project.documents else []
    asked = {one.database for one in tables if one.kind in {OPERATION, OF_DOCUMENTS}}
    if asked:
        return _drafted_otherwise(catalog, program, tables, columns)
    with catalog.loading_once():
        return _drafted_of(catalog, program, names, columns)


def _drafted_of(
    catalog: SchemaManager,
    program: Callable[[], AnalysedProgram],
    names: Sequence[str],
    columns: Sequence[str],
) -> DraftedTables:
    """Look at the tables of databases, and draft them."""
    checked, problems = _checked(catalog, names, columns)
    databases = {one.table.database for one in checked}
    if len(databases) != 1:
        raise _refused("the tables are of several databases", "draft a file for each database")
    usable = [one for one in checked if any(column.kind for column in one.columns)]
    if not usable:
        raise _refused("no column of the tables can be read", "name a table with such columns")
    wanted = {checked[0].table.path: [one.column.name for one in checked[0].columns]}
    (database,) = databases
    source = catalog.project.databases[database]
    remarks = table_remarks(catalog.project, source, [one.table.name for one in usable])
    chosen = wanted if columns else {}
    predicates = drafted(usable, _taken(program), chosen, source.files, remarks)
    text = draft_text(predicates, database, dialect_of(catalog.project, database))
    hints = tuple(_draft_hints(remarks, predicates, of_files=bool(source.files)))
    return DraftedTables(database, text, predicates, hints=hints, problems=problems)


def drafted_kinds(catalog: SchemaManager, table: TableSchema, *, read: bool) -> Mapping[str, str]:
    """Give the kinds that a draft of a table declares, by column.

    Rows are read for it of files, whose texts say them alone, and of others where that is asked
    for. What cannot be read has no kind.
    """
    source = catalog.project.databases.get(table.database)
    if source is None or not (read or table.kind == FILE_TABLE) or not table.columns:
        return {one.name: one.kind for one in table.columns if one.kind}
    try:
        checked = catalog.check(table.path)
    except ConstatError:
        return {}
    names = [one.name for one in table.columns]
    (found,) = drafted([checked], (), {table.path: names}, source.files)
    listed = (one for one in found.columns if not one.numbers_lines)
    return {one.decided.column.name: one.kind.value for one in listed}


def _tables_named(catalog: SchemaManager, name: str) -> Sequence[str]:
    """Give the tables of a database where the name is one, and no table is called so."""
    if name not in {**catalog.project.databases, **catalog.project.documents}:
        return (name,)
    every = catalog.tables()
    if any(name in {one.label, f"{one.source}.{one.label}"} for one in every):
        return (name,)
    own = [one for one in every if one.source == name]
    stored = [one for one in own if one.kind != "view"] or own
    return [f"{one.source}.{one.label}" for one in stored] or (name,)


def _checked(
    catalog: SchemaManager, names: Sequence[str], columns: Sequence[str]
) -> tuple[list[Checked], tuple[Diagnostic, ...]]:
    """Look at tables; what cannot be read is told, and is an error where nothing else can be."""
    checked: list[Checked] = []
    problems: list[Diagnostic] = []
    for name in dict.fromkeys(names):
        table = catalog.table(name)
        if table.kind == FILE_TABLE and not table.columns:
            problems.append(unanswered(table, "; ".join(table.problems)))
            continue
        try:
            checked.append(catalog.check(name, columns))
        except ConstatError as problem:
            # Of a source that does not answer no other table will be read.
            if table.kind != FILE_TABLE or any(one.code != UNREAD for one in problem.diagnostics):
                raise
            problems += problem.diagnostics
    if not checked:
        raise ConstatError(problems)
    return checked, tuple(problems)


def _drafted_otherwise(
    catalog: SchemaManager,
    program: Callable[[], AnalysedProgram],
    tables: Sequence[TableSchema],
    columns: Sequence[str],
) -> DraftedTables:
    """Draft operations of an API, or what documents hold."""
    from constat.catalog.schema import operations  # noqa: PLC0415  loaded when it is used

    project, sources = catalog.project, {one.database for one in tables}
    if len(sources) > 1:
        raise _refused("one API or name of documents is drafted at a time", "name those of one")
    (source,) = sources
    if source in project.apis:
        if columns:
            raise _refused("columns are chosen for a table", "leave out `--columns`")
        names = [one.name for one in tables]
        found = operations.draft_operations(project, project.apis[source], names, _taken(program))
    else:
        chosen = [find_column(tables[0], one).name for one in columns]
        found = operations.draft_documents(project, tables, chosen, _taken(program))
    return DraftedTables(source, found.text, (), found.signatures)


def _taken(program: Callable[[], AnalysedProgram]) -> Sequence[str]:
    try:
        return tuple(program().program.predicates)
    except ConstatError:
        # Rules that are wrong cannot be read together with the draft anyway.
        return ()


def _refused(message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0850", message, help=hint)])


_Value = TypeVar("_Value")
LOOKED_AT: Final = 10_000


def first_cells(
    connection: Connection, table: str, seconds: float
) -> dict[str, Sequence[str | None]]:
    """Read the first rows of a table of files, by columns.

    Raises `SourceFailureError` and `QueryMistakeError`.
    """
    query = f"SELECT * FROM {named(table)} LIMIT {LOOKED_AT}"  # noqa: S608  a name of the project
    names = connection.columns(query)
    rows = [
        row
        for batch in connection.read(
            Question(query, tables=frozenset({table})), ReadBounds(seconds, LOOKED_AT)
        )
        for row in batch
    ]
    texts = ([None if cell is None else str(cell) for cell in row] for row in rows)
    return dict(zip(names, zip(*texts, strict=True), strict=False))


def remarks_of(
    project: Project, database: Database, connection: Connection, table: str
) -> Iterator[str]:
    """Say what nothing decides about how the file of a table is written, with the edit that does.

    Of a file that cannot be read there is nothing to say.
    """
    setting = database.files.get(table)
    if setting is None or setting.is_typed:
        return
    try:
        cells = first_cells(connection, table, project.catalog.seconds)
    except (SourceFailureError, QueryMistakeError):
        return
    guessed, doubts = guess_cells(setting, cells)
    for one in understood(replace(guessed, skip=0, footer=None)):
        yield f"{one}; say so beside `file` in {project.config_name}"
    yield from doubts
    yield from (said for said, _ in odd_cells(setting, cells))


def table_remarks(
    project: Project, database: Database, tables: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Say it of tables of one database, by table; nothing of what is no file."""
    if not database.files:
        return {}
    with reading(database, project) as connection:
        return {table: tuple(remarks_of(project, database, connection, table)) for table in tables}


def _grouped_by(said: Mapping[str, _Value]) -> list[tuple[_Value, str]]:
    """Give each value once, with the columns that it is said of."""
    found: dict[_Value, list[str]] = {}
    for column, value in said.items():
        found.setdefault(value, []).append(f"`{column}`")
    return [(value, ", ".join(columns)) for value, columns in found.items()]


def understood(files: TableFiles) -> Iterator[str]:
    """Say how the cells of files are read, a line for each thing that is said of them."""
    for words, columns in _grouped_by(files.null):
        yield f"{', '.join(words)} means that there is no value in {columns}"
    for locale, columns in _grouped_by(files.locale):
        like = f"{locale.date('2025-12-31')} and {locale.number(Decimal('1234.5'))}"
        yield f"{columns} as written in {locale.name}, like {like}"
    for unit, columns in _grouped_by(files.unit):
        yield f"the numbers of {columns} are {unit}"
    if files.skip:
        yield f"{counted(files.skip, 'line')} above the names of the columns left out"
    if isinstance(files.footer, tuple):
        listed = " and ".join(files.footer)
        agree = ", and agree with the rows" if files.checked == files.footer else ""
        left = f"the lines at the end that begin with {listed} are left out"
        yield f"{left}; they have to be there{agree}"
    elif files.footer:
        yield f"the last {counted(files.footer, 'line')} left out: totals of the others"


def hints_of(
    predicates: Sequence[DraftedPredicate], *, of_files: bool, shown: bool
) -> Iterator[str]:
    """Say how many values are of another kind than the others, and what is nearly a key.

    Declarations of the source that its rows break are told, and columns that it compares otherwise
    than rules do. Where they may be `shown`, values are named.
    """
    for one in predicates:
        for column in one.columns:
            decided = column.decided
            if decided.almost is not None:
                name = decided.column.name
                said = f"{len(decided.strange):,} of {decided.seen:,} values of `{name}`"
                text = f"{one.name}: all but {said} spell a {decided.almost.value}"
                text += f": {one.checked.strange[name]}" if shown else ""
                if of_files and shown:
                    said = null_said(decided.column.name, one.checked.odd[name])
                    text += f"; where that says that there is no value, `{said}` beside `file`"
                elif of_files:
                    text += "; `null` beside `file` lists what says that there is no value"
                yield text
        many = [name for name, reason in one.left_out if reason == TOO_MANY]
        if many:
            most = ", ".join(f"`{name}`" for name in many[:_MOST_FOLDED])
            more = f" and {len(many) - _MOST_FOLDED:,} more" if len(many) > _MOST_FOLDED else ""
            yield (
                f"{one.name}: a draft has {MOST_COLUMNS} columns at most, and {most}{more} are left"
                f" out: add what rules need to `.decl {one.name}` and to its query"
            )
        found = near_key_of(one)
        if found is not None and not found[0].is_key:
            near, name = found
            examples = f", for example {near.shown()}" if near.examples and shown else ""
            yield f"{one.name}: {near.said(name)}{examples}"
        told = {near_key.said(near_key.column) for near_key in (one.checked.near,) if near_key}
        for finding in one.checked.findings:
            said = finding.message.removeprefix(f"{one.table.path}: ")
            if finding.code in _BROKEN and said not in told:
                yield f"{one.name}: {said}"
    yield from _folded_hints(predicates)


_BROKEN: Final = frozenset({"C0847", "C0848"})


def _folded_hints(predicates: Sequence[DraftedPredicate]) -> Iterator[str]:
    names = [f"{one.name}.{name}" for one in predicates for name in folded_columns(one)]
    if names:
        more = f" and {len(names) - _MOST_FOLDED:,} more" if len(names) > _MOST_FOLDED else ""
        column = names[0].partition(".")[2]
        yield (
            f"{', '.join(f'`{one}`' for one in names[:_MOST_FOLDED])}{more}: the source takes `a`"
            f' and `A` for equal there, and rules do not; `match("[Aa]bc", ?{column})` takes both'
        )


_MOST_FOLDED: Final = 3


def _draft_hints(
    remarks: Mapping[str, Sequence[str]], predicates: Sequence[DraftedPredicate], *, of_files: bool
) -> Iterator[str]:
    """Say what `init` would say, but for values: of files what the configuration leaves out."""
    for table, said in remarks.items():
        yield from (f"{table}: {one}" for one in said)
    yield from hints_of(predicates, of_files=of_files, shown=False)


_NOBODY: Final = "nobody yet"
# What is told at once is bounded by the tools, which give a reference to the rest.
_MOST_LINES: Final = 2_000
_HIDDEN: Final = "their values are not shown: `samples` of `catalog:` does not allow it"


class FactReader(Protocol):
    """A session, as far as reading facts out of a text needs one."""

    def provide_facts(self, text: str, *, author: str) -> FactsOfText:
        """Read facts from a text; nothing is kept."""
        ...


def told_lines(session: FactReader, text: str) -> str:
    """Give the facts that a text says, with their sentences, and what it does not say."""
    told = session.provide_facts(text, author=_NOBODY)
    lines = [f"proposed: {one.fact}, because of {quoted(one.sentence)}" for one in told.said]
    lines += [f"not said: {quoted(one.atom)}, {quoted(one.reason)}" for one in told.refused]
    return "\n".join(lines) or "the text states no fact of a predicate that can be stated"


class ProjectFacts:
    """Implements `FactAccess` over a session's parts."""

    def __init__(
        self,
        parts: SessionParts,
        stated: StatedFacts,
        query: Callable[[str], Answers],
        extract: Callable[[str], str],
    ) -> None:
        self._parts = parts
        self._stated = stated
        self._query = query
        self._extract = extract
        self._shows = parts.project.catalog.shows_all(parts.project.databases)
        self._missing: dict[str, None] = {}
        self._proposed: dict[str, str] = {}

    def resolve(self, goal: str) -> str:
        """Decide a goal, or find its answers; tell what is missing."""
        program = self._parts.program
        atom = check_goal(parse_goal(goal, program.program), program)
        return "\n".join([*self._decided(atom), *self._answers(goal, atom)])

    def propose(self, fact: str, reason: str) -> str:
        """Keep a fact as a proposal for a person, and tell what it takes to become one."""
        parse_stated(fact, self._parts.program.program)
        self._proposed[fact] = reason
        return (
            "proposed; it does not count before a person states it: "
            f'constat facts add "{fact}" --by NAME'
        )

    def extract(self, text: str) -> str:
        """Find the facts that a text may state, in the predicates of the project."""
        return self._extract(text)

    def known(self, predicate: str) -> str:
        """List facts that people have stated or the configuration holds; all where it is empty."""
        return "\n".join(self._known(predicate)) or "no facts are stated or configured"

    def unresolved(self) -> str:
        """List the facts that were missing for the goals so far."""
        return "\n".join(self._missing) or "nothing was missing"

    @property
    def proposed(self) -> tuple[tuple[str, str], ...]:
        """The facts that were proposed, with their reasons."""
        return tuple(self._proposed.items())

    def _decided(self, atom: Atom) -> Iterator[str]:
        parts = self._parts
        with parts.evaluating(None) as tiers:
            decision = decide(
                parts.engine,
                parts.program,
                atom,
                tiers.externals,
                parts.limits,
                observe=parts.observe,
            )
        predicates = parts.program.program.predicates
        goal = shown_goal(predicates[atom.predicate], atom)
        yield f"{decision.verdict.label}: {goal}, confidence {decision.confidence:f}"
        for one in decision.assumptions:
            # What a source says holds values, which may not be shown (semantics 43).
            hidden = one.kind == "fact" and not self._shows
            yield f"assuming: {one.text.partition('(')[0] if hidden else one.text}"
        said: set[object] = {term.value for term in atom.terms if isinstance(term, Constant)}
        for name, row in decision.missing[:_MOST_LINES]:
            text = print_row(predicates[name], self._masked(row, said))
            self._missing[text] = None
            yield f"missing: {text}"
        yield from _more(decision.missing)

    def _masked(self, row: OpenRow, said: set[object]) -> OpenRow:
        """Leave out values that came from a source, where they may not be shown."""
        if self._shows:
            return row
        return tuple(slot if isinstance(slot, Open) or slot in said else OPEN for slot in row)

    def _answers(self, goal: str, atom: Atom) -> Iterator[str]:
        """Tell the values of the variables, if the goal has any."""
        if not any(isinstance(term, Variable) for term in atom.terms):
            return
        found = self._query(goal)
        more = "" if found.exit_code == 0 else "; there may be more"
        yield f"{len(found):,} answers{more}" + ("" if self._shows else f"; {_HIDDEN}")
        for row in found.rows[:_MOST_LINES] if self._shows else ():
            pairs = zip(found.columns, row.values, strict=True)
            values = ", ".join(
                f"{one.name} = {display_value(value, one.kind)}" for one, value in pairs
            )
            yield f"{row.verdict.label}: {values}"
        if self._shows:
            yield from _more(found.rows)

    def _known(self, predicate: str) -> Iterator[str]:
        project = self._parts.project
        for name, table in project.facts.items():
            if predicate in {"", name}:
                for row in table.rows[:_MOST_LINES]:
                    cells = ", ".join(cell.text or "?" for cell in row.cells)
                    yield f"{name}({cells}), configured in {project.config_name}"
                yield from _more(table.rows)
        stated = self._stated.list(predicate or None)
        if stated and not self._shows:
            yield f"{len(stated):,} stated by people; {_HIDDEN}"
        if self._shows:
            shown = stated[:_MOST_LINES]
            yield from (f"{self._stated.show(one)}, stated by {one.author}" for one in shown)
            yield from _more(stated)


def _more(listed: Sized) -> Iterator[str]:
    """Say how many are not told."""
    left = len(listed) - _MOST_LINES
    if left > 0:
        yield f"... and {left:,} more that are not listed"
