"""Look at the connections of a project, and at the queries of its predicates.

In: a project and its rules, where these could be read. Out: findings. Invariants: each source is
opened once, read-only, and closed; a query is prepared by the source and never run; predicates that
nothing gives rows for are named, because goals over them stay UNRESOLVED. Example: a query over
`oders` is an error with `orders` as its help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.catalog import QueryMistakeError, SourceFailureError, guard
from constat.catalog.opening import file_outside
from constat.catalog.schema.looking import reading
from constat.diagnostics import ConstatError
from constat.session.diagnosing_values import ERROR, NOTE, OK, WARNING, Finding, counted, told
from constat.tiers.database import check_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.catalog import Connection
    from constat.logic import Predicate
    from constat.project import Database, Project

_MOST_NAMED: Final = 8
_HELPS: Final = (
    ("C0521", "raise `seconds` of the database, or of `catalog:`"),
    ("C0541", "mend the path in `files:`, or put the file there"),
    ("C0543", "mend the file"),
    ("C0553", "start the server, or mend the uri"),
    ("C0554", "mend account and password in the uri, or GRANT SELECT to the account"),
)


def database_findings(project: Project, analysed: AnalysedProgram | None) -> Iterator[Finding]:
    """Look at every database, at the queries over it, and at what has no source."""
    predicates = list(analysed.program.predicates.values()) if analysed else []
    for database in project.databases.values():
        asked = [one for one in predicates if one.source and one.source.name == database.name]
        yield from _database(project, database, asked)
    if not project.databases:
        hint = "`databases: {shop: 'sqlite:///data/shop.sqlite'}`"
        yield Finding("databases", NOTE, "the project has no databases", hint)
    if analysed is not None:
        yield from _without_source(project, analysed)


def _database(
    project: Project, database: Database, predicates: list[Predicate]
) -> Iterator[Finding]:
    check = f"database {database.name}"
    try:
        with reading(database, project) as connection:
            tables = {one.name for one in connection.tables().values()}
            problems = [finding for one in predicates for finding in _query(check, one, connection)]
            state = "" if connection.snapshot else "; not one snapshot: its reads may differ"
    except ConstatError as problem:
        yield from (told(check, one) for one in problem.diagnostics)
        return
    except (SourceFailureError, QueryMistakeError) as problem:
        hint = dict(_HELPS).get(problem.code, "mend the uri, or put the database there")
        yield Finding(check, ERROR, problem.reason, hint, problem.code)
        return
    yield from problems
    if outside := file_outside(database, project.folder):
        hint = (
            "a copy of the folder reads the same file; keep it inside if they shall move together"
        )
        yield Finding(check, NOTE, f"its file lies outside the project: {outside}", hint)
    said = f"it answers: {counted(len(tables), 'table')}, read by"
    said += f" {counted(len(predicates), 'predicate')}{state}"
    yield Finding(check, NOTE if state else OK, said)
    if not predicates:
        hint = f"`constat catalog draft` with a table of `{database.name}` drafts one"
        yield Finding(check, NOTE, "no predicate reads it", hint)


def _query(check: str, predicate: Predicate, connection: Connection) -> Iterator[Finding]:
    source = predicate.source
    query = source.parameters.get("query", "") if source else ""
    if not query:
        return
    place = f"{source.span.source}:{source.span.line}: " if source and source.span else ""
    message = f"{place}the query of `{predicate.name}`: "
    try:
        check_columns(predicate, guard(query, connection.dialect), connection)
    except QueryMistakeError as problem:
        hint = problem.help or f"`constat explain {problem.code}`"
        yield Finding(check, ERROR, message + problem.reason, hint, problem.code)
    except SourceFailureError as problem:
        hint = dict(_HELPS).get(problem.code, "mend the source")
        yield Finding(check, WARNING, message + problem.reason, hint, problem.code)


def _without_source(project: Project, analysed: AnalysedProgram) -> Iterator[Finding]:
    """Name predicates that nothing gives rows for, and values that are not configured."""
    program = analysed.program
    configured, open_names = [], []
    for name in sorted(analysed.external):
        predicate = program.predicates.get(name)
        if predicate is None or name in project.facts:
            continue
        if predicate.source is not None and predicate.source.name == "config":
            configured.append(name)
        elif predicate.source is None or not predicate.source.name:
            open_names.append(name)
    if configured:
        hint = f"`facts: {{{configured[0]}: ...}}` in {project.config_name}"
        message = f"no value is configured for {_listed(configured)}: goals over it are unresolved"
        yield Finding("facts", NOTE, message, hint)
    if open_names:
        hint = f'give it an `.input`, or `constat facts add "{open_names[0]}(...)" --by NAME`'
        yield Finding("facts", NOTE, f"nothing gives rows of {_listed(open_names)}", hint)
    for table in project.facts.values():
        missing = sorted(
            {name for row in table.rows for cell in row.cells for name in cell.missing}
        )
        if missing:
            message = f"`{table.name}` needs environment variables that are not set"
            yield Finding("facts", WARNING, message, f"set {', '.join(missing)}", "C0511")


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMED])
    left = len(names) - _MOST_NAMED
    return shown if left <= 0 else f"{shown} and {left} more"
