"""Begin a project with a database: configuration, declarations, a first rule, a goal that runs.

In: an address or a path, and a folder. Out: `Started`: the files that were written and what became
of the first goal. Invariants: no file is overwritten; the configuration is written last, so that an
interrupted beginning is no project, and begins again where it stopped; secrets stay out of files;
what was tried is what a person will run. Example: `start("sqlite:///shop.sqlite", Path("shop"))`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.catalog import QueryMistakeError, SchemaManager, SourceFailureError, read_cell
from constat.catalog.schema.asking import as_text, ask, column_of, source_of
from constat.catalog.schema.drafting import draft_text, drafted
from constat.catalog.schema.looking import reading
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import OPEN
from constat.project import CONFIGURATION, Database, Project, load_project
from constat.project.variables import expand
from constat.session.catalog_building import dialect_of, signature_of
from constat.session.session import Session
from constat.session.starting_address import beginning
from constat.session.starting_texts import FIRST, IGNORED, SOURCES, configuration, first_rule
from constat.store.catalog_index import CatalogIndex
from constat.store.replacing import replaced
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sqlglot import exp

    from constat.catalog.schema.checking import Checked
    from constat.logic import Slot
    from constat.session.result import Result
    from constat.session.starting_address import Beginning
    from constat.session.starting_texts import FirstRule

MOST_TABLES: Final = 30
_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Started:
    """A new project. `left_out` tables have no predicate yet; `variables` have to be set."""

    folder: Path
    files: tuple[str, ...]
    database: str
    tables: tuple[str, ...]
    left_out: int
    predicates: tuple[str, ...]
    goal: str
    result: Result
    variables: tuple[str, ...]


class _Known(Session):
    """A session over a project whose secrets are not in the environment yet."""

    def __init__(self, project: Project) -> None:
        super().__init__(project.folder)
        self._project = project


def start(
    address: str, folder: Path, here: Path, *, name: str = "", tables: Sequence[str] = ()
) -> Started:
    """Begin a project; `here` is where relative paths begin, `tables` are those to draft.

    Raises `ConstatError`: C0851 where there is a project or a file already, C0852 for a database
    that nothing can be read of, C0840 for a table that is not there.
    """
    _require_new(folder)
    begun = beginning(address, folder, here)
    environment = {**os.environ, **begun.secrets}
    database = Database(
        begun.name,
        "files" if begun.files else "sql",
        expand(begun.address, environment),
        files=begun.files,
    )
    project = Project(folder.resolve(), name or folder.resolve().name, {begun.name: database})
    catalog = SchemaManager(project, CatalogIndex(None))
    try:
        chosen, left_out = _chosen(catalog, begun, tables)
        predicates = drafted(chosen, (), {})
        rule = first_rule(predicates)
        sources = draft_text(predicates, begun.name, dialect_of(project, begun.name))
        texts = {
            SOURCES: sources,
            FIRST: rule.text,
            ".gitignore": IGNORED,
            CONFIGURATION: configuration(project.name, begun),
        }
        files = _write(folder, texts)
        value = _value(project, rule)
    finally:
        catalog.close()
    goal, result = _tried(load_project(folder, environment=environment), rule, value)
    return Started(
        folder,
        files,
        begun.name,
        tuple(one.table.path for one in predicates),
        left_out,
        (*map(signature_of, predicates), _signature(rule)),
        goal,
        result,
        tuple(begun.secrets),
    )


def _require_new(folder: Path) -> None:
    if (folder / CONFIGURATION).exists():
        raise ConstatError(
            [
                Diagnostic(
                    "C0851",
                    f"there is a {CONFIGURATION} in this folder already",
                    help="begin in another folder: `--directory NAME`",
                )
            ]
        )


def _chosen(
    catalog: SchemaManager, begun: Beginning, wanted: Sequence[str]
) -> tuple[list[Checked], int]:
    """Look at the tables, those first that are related to most others."""
    (found,) = catalog.databases()
    if found.failure:
        raise _refused(f"the database could not be read: {found.failure}")
    named = list(wanted) or _by_links(catalog)
    checked = [catalog.check(name, thorough=False) for name in named[:MOST_TABLES]]
    usable = [one for one in checked if any(column.kind for column in one.columns)]
    if not usable:
        raise _refused(f"`{begun.name}` holds no table with a column that can be read")
    return usable, found.tables - len(usable)


def _by_links(catalog: SchemaManager) -> list[str]:
    tables = list(catalog.all_tables())
    links = dict.fromkeys((table.label for table in tables), 0)
    for table in tables:
        for one in table.relationships:
            links[table.label] += 1
            links[one.target] = links.get(one.target, 0) + 1
    readable = [one for one in tables if one.columns]
    readable.sort(key=lambda one: (one.kind == "view", -links[one.label], one.label))
    return [one.path for one in readable]


def _write(folder: Path, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Write files that are not there; one that is there with the same text is left."""
    for name, text in texts.items():
        path = folder / name
        if name != ".gitignore" and path.exists() and path.read_bytes() != text.encode():
            message = f"there is a file `{name}` in this folder already"
            hint = "begin in another folder, `--directory NAME`, or move the file away"
            raise ConstatError([Diagnostic("C0851", message, help=hint)])
    written = []
    try:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                with replaced(path, 0o644) as stream:
                    stream.write(text.encode())
                written.append(name)
    except OSError as problem:
        message = f"the project cannot be written: {problem.strerror or type(problem).__name__}"
        raise ConstatError([Diagnostic("C0851", message, help="choose another folder")]) from None
    return tuple(written)


def _value(project: Project, rule: FirstRule) -> Slot:
    """Find a value that the first goal can be about; a variable where there is none."""
    _, column = rule.subject
    (database,) = project.databases.values()
    try:
        with reading(database, project) as connection:
            rows = ask(connection, _first(rule), _SECONDS)
        return read_cell(rows[0][0], column.kind) if rows else OPEN
    except (SourceFailureError, QueryMistakeError, ValueError):
        # The goal is asked with a variable: slower, and as good.
        return OPEN


def _first(rule: FirstRule) -> exp.Select:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    predicate, column = rule.subject
    key = column_of(column.decided.column.name, "t")
    chosen = as_text(key) if column.cast else key
    source = source_of(predicate.table).as_("t", quoted=True)
    query = exp.select(chosen).from_(source).where(key.copy().is_(exp.null()).not_()).limit(1)
    if rule.pointing is None:
        return query
    other, pointing = rule.pointing
    joined = source_of(other.table).as_("u", quoted=True)
    on = exp.EQ(this=key.copy(), expression=column_of(pointing.decided.column.name, "u"))
    return query.join(joined, on=on)


def _tried(project: Project, rule: FirstRule, value: Slot) -> tuple[str, Result]:
    with _Known(project) as session:
        goal = print_row(session.program.program.predicates[rule.name], (value,))
        return goal, session.prove(goal)


def _signature(rule: FirstRule) -> str:
    column = rule.subject[1]
    return f"{rule.name}({column.name}: {column.kind.value})"


def _refused(message: str) -> ConstatError:
    hint = "mend the address, or name another database"
    return ConstatError([Diagnostic("C0852", message, help=hint)])
