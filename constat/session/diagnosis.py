"""Look at everything that a project needs, and say what is wrong with an edit that mends it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sqlite3
import stat
import sys
from contextlib import closing, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from constat import __version__
from constat.catalog import QueryMistakeError, SourceFailureError, guard
from constat.catalog.drivers import file_outside, is_local
from constat.catalog.file_tables import LastLines, find_table, unchecked
from constat.catalog.files import left_out
from constat.catalog.schema.checking import misfits
from constat.catalog.schema.introspection import reading
from constat.catalog.schema.local import look
from constat.diagnostics import ConstatError, Diagnostic, Severity, counted
from constat.evaluation.clock import Clock, moment
from constat.explore.sandbox.sandbox import STRONG, remark, unavailable
from constat.explore.sandbox.step import Level
from constat.frozen import frozen
from constat.library.loading import Reading, read_rules
from constat.project import find_project, load_project
from constat.project.files import SEPARATED
from constat.project.loading import environment_of
from constat.project.settings import ANTHROPIC, REPLAY, TASKS, WEAK
from constat.session.catalog import FILE, build_catalog, readers_of, remarks_of
from constat.tiers.database import check_columns, meant
from constat.tiers.declarations import check_declarations, check_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.catalog import Connection
    from constat.library import Checked
    from constat.logic import Predicate, Program
    from constat.project import Database, KeySetting, Project
    from constat.project.apis import ApiSetting
    from constat.project.documents import DocumentsSetting
    from constat.project.settings import ModelSetting, ModelsSetting

# A finding that is an error or a warning says what to do.

OK: Final = "ok"
NOTE: Final = "note"
WARNING: Final = "warning"
ERROR: Final = "error"
_LOUD: Final = frozenset({WARNING, ERROR})


@frozen
class Finding:
    """One thing that was looked at: how it is, and what mends it."""

    check: str
    state: str
    message: str
    help: str = ""
    code: str = ""

    def as_text(self) -> str:
        """Say it in a line, and what mends it in a second one."""
        code = f" [{self.code}]" if self.code else ""
        state = self.state.upper() if self.state in _LOUD else self.state
        line = f"{state:<8} {self.check}: {self.message}{code}"
        return f"{line}\n         help: {self.help}" if self.help and self.state != OK else line

    def as_json(self) -> dict[str, object]:
        """Give it as an object of JSON."""
        return asdict(self)


def told(check: str, one: Diagnostic) -> Finding:
    """Give a diagnostic as a finding, with its place."""
    place = f"{one.span.source}:{one.span.line}: " if one.span else ""
    state = {Severity.ERROR: ERROR, Severity.WARNING: WARNING}.get(one.severity, NOTE)
    hint = one.help or one.note or f"`constat explain {one.code}` shows a right example"
    return Finding(check, state, f"{place}{one.message}", hint, one.code)


def model_findings(project: Project, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at every model of the project."""
    models = project.models
    if not models.named:
        message = "no model is configured: questions are asked as goals, not in plain words"
        yield Finding("models", NOTE, message)
        return
    replayed = models.tape is not None and models.tape.mode == REPLAY
    for model in models.named.values():
        yield from _model(model, models, environment, replayed=replayed)
    if models.tape is not None:
        yield _tape(models, project)


def _model(
    model: ModelSetting, models: ModelsSetting, environment: Mapping[str, str], *, replayed: bool
) -> Iterator[Finding]:
    check = f"model {model.name}"
    tasks = [task for task in TASKS if models.of(task) is model]
    package = "anthropic" if model.provider == ANTHROPIC else "openai"
    if importlib.util.find_spec(package) is None:
        hint = "pip install constat" if package == "anthropic" else "pip install 'constat[openai]'"
        yield Finding(check, ERROR, f"the package {package} is missing", hint)
    if model.address is not None and model.address.missing:
        names = ", ".join(model.address.missing)
        yield Finding(
            check, WARNING, f"its address needs {names}, which is not set", f"set {names}"
        )
    if replayed:
        yield Finding(check, OK, f"{model.model}; replies come from a tape, no key is needed")
    elif model.key and not environment.get(model.key):
        message = f"the environment variable {model.key} is not set"
        yield Finding(check, WARNING, message, f"set {model.key} to the provider's key")
    else:
        key = f"{model.key} is set" if model.key else "it needs no key"
        yield Finding(check, OK, f"{model.model}, {key}, for {', '.join(tasks) or 'no task'}")


def _tape(models: ModelsSetting, project: Project) -> Finding:
    tape = models.tape
    if tape is None or tape.file.is_file():
        return Finding("tape", OK, "it is there")
    if tape.mode == REPLAY:
        hint = f"put it there, or take `tape` out of `models:` in {project.config_name}"
        return Finding("tape", ERROR, f"there is no file {tape.file.name}", hint)
    return Finding("tape", OK, "it is made when a model is first asked")


_CHECK: Final = "sandbox"


def sandbox_findings(
    project: Project, missing: Callable[[Level], str] = unavailable
) -> Iterator[Finding]:
    """Look for the strongest level that this machine has."""
    if not project.explore.python:
        yield Finding(_CHECK, OK, "not needed: `python: false` of `explore:` refuses steps of code")
        return
    reasons: list[str] = []
    for level in STRONG:
        reason = missing(level)
        if not reason:
            said = "; ".join([*reasons, "steps of Python code run without network and files"])
            if open_ := remark(level):
                said = f"{said}; {open_}"
            yield Finding(_CHECK, OK, f"{level.value}: {said}")
            return
        reasons.append(f"{level.value}: {reason}")
    yield _none("; ".join(reasons), weak=project.explore.sandbox == WEAK)


def _none(reasons: str, *, weak: bool) -> Finding:
    hint = "install bubblewrap (`bwrap`), or write `explore: {python: false}`"
    if weak:
        message = f"none: `sandbox: weak` lets `--allow-unconfined` run code unconfined ({reasons})"
        return Finding(_CHECK, WARNING, message, hint, "C0910")
    message = f"none: steps of Python code are refused ({reasons})"
    return Finding(_CHECK, NOTE, message, hint, "C0910")


_MOST_NAMED: Final = 8
_SECONDS_OF_DOCUMENTS: Final = 60.0
_NOT_THERE: Final = "mend the uri, or put the database there"
_HELPS: Final = (
    ("C0521", "raise `seconds` of the database, or of `catalog:`"),
    ("C0541", "mend the path in `files:`, or put the file there"),
    (
        "C0543",
        "mend the file, or say beside `file` how it is written: separator, skip, footer, encoding",
    ),
    ("C0553", "start the server, or mend the uri"),
    ("C0554", "mend account and password in the uri, or GRANT SELECT to the account"),
)


_OF_DECLARATIONS: Final = frozenset(
    {"C0515", "C0517", "C0518", "C0519", "C0572", "C0573", "C0847", "C0854"}
)
"""What is told of a declaration that its source does not fit."""


def disagreements(start: Path | None, names: Collection[str]) -> Iterator[Finding]:
    """Hold the declarations over some sources against what these are now; give what disagrees."""
    project = load_project(find_project(start))
    analysed: list[AnalysedProgram] = []
    mistakes = list(_rules(project, analysed))
    if not analysed:
        yield from (one for one in mistakes if one.state == ERROR)
        return
    predicates = list(analysed[0].program.predicates.values())
    for one in _source_findings(project, predicates, names):
        if one.code in _OF_DECLARATIONS:
            yield one
    yield from _outgrown(project, analysed[0], names)


def database_findings(project: Project, analysed: AnalysedProgram | None) -> Iterator[Finding]:
    """Look at every source, at the declarations over it, and at what has no source."""
    predicates = list(analysed.program.predicates.values()) if analysed else []
    names = {**project.databases, **project.apis, **project.documents}
    yield from _source_findings(project, predicates, names)
    if not names:
        hint = "`databases: {shop: 'sqlite:///data/shop.sqlite'}`"
        yield Finding("databases", NOTE, "the project has no databases", hint)
    if analysed is not None:
        yield from _outgrown(project, analysed, names)
        yield from _without_source(project, analysed)


def _source_findings(
    project: Project, predicates: Sequence[Predicate], names: Collection[str]
) -> Iterator[Finding]:
    for database in (one for one in project.databases.values() if one.name in names):
        asked = [one for one in predicates if one.source and one.source.name == database.name]
        yield from _database(project, database, asked)
    for api in (one for one in project.apis.values() if one.name in names):
        asked = [one for one in predicates if one.source and one.source.name == api.name]
        yield from _api(project, api, asked)
    for setting in (one for one in project.documents.values() if one.name in names):
        asked = [one for one in predicates if one.source and one.source.name == setting.name]
        yield from _documents(project, setting, asked)


def _outgrown(
    project: Project, analysed: AnalysedProgram, names: Collection[str]
) -> Iterator[Finding]:
    """Tell which constraints of databases have changed since tables were declared."""
    if not (project.state / FILE).exists():
        return  # no program has seen another state
    with closing(build_catalog(project, lambda: analysed)) as catalog:
        readers = readers_of(project, lambda: analysed)
        for name in project.databases if any(readers) else ():
            for table, changes in catalog.outgrown(name) if name in names else ():
                signatures = readers.get(table.path.casefold(), ())
                listed = _listed([one.partition("(")[0] for one in signatures])
                said = f"table `{table.label}`: {'; '.join(changes)}; {listed} was declared before"
                hint = f"`constat catalog draft {table.path}` drafts it as it is now;"
                hint += " a declaration that was edited, or a constraint of it, counts as looked at"
                yield Finding(f"database {name}", WARNING, said, hint, "C0854")


def _database(
    project: Project, database: Database, predicates: list[Predicate]
) -> Iterator[Finding]:
    check = f"database {database.name}"
    try:
        with reading(database, project) as connection:
            tables = {one.name for one in connection.tables().values()}
            seconds = project.catalog.seconds
            problems = [
                told(check, found)
                for one in predicates
                for found in _query(one, connection, seconds, shown=_shows(project, database))
            ]
            problems += _remarks(project, database, connection)
            state = "" if connection.snapshot else "; not one snapshot: its reads may differ"
    except ConstatError as problem:
        yield from (told(check, one) for one in problem.diagnostics)
        return
    except (SourceFailureError, QueryMistakeError) as problem:
        hint = dict(_HELPS).get(problem.code, _NOT_THERE)
        yield Finding(check, ERROR, problem.reason, hint, problem.code)
        return
    yield from problems
    if database.files:
        _, described = look(database, project.folder, project.catalog.seconds, "")
        for table in described.tables if described is not None else ():
            for reason in table.problems:
                hint = dict(_HELPS)["C0543"] if "write `" not in reason else "do what it says"
                yield Finding(check, WARNING, f"table {table.name}: {reason}", hint, "C0543")
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


def _remarks(project: Project, database: Database, connection: Connection) -> Iterator[Finding]:
    """Tell what nothing decides about how files are written."""
    for table in database.files:
        for one in remarks_of(project, database, connection, table):
            hint = f"say how it is written, beside `file` in {project.config_name}"
            yield Finding(f"database {database.name}", WARNING, f"table {table}: {one}", hint)
        if database.files[table].scheme:
            continue
        with suppress(SourceFailureError, OSError):
            if number := left_out(find_table(database.files[table], project.folder)):
                said = f"table {table}: {counted(number, 'line')} below its rows left out"
                yield Finding(f"database {database.name}", OK, f"{said}, as `footer` says")
            yield from _unchecked(project, database, table)


def _unchecked(project: Project, database: Database, table: str) -> Iterator[Finding]:
    """Tell which totals below the rows could be held against them at each reading."""
    setting = database.files[table]
    if not setting.words or setting.ending not in SEPARATED:
        return
    files = find_table(setting, project.folder).files
    found = [unchecked(LastLines(file, setting), setting) for file in files[:1]]
    words = [one for each in found for one in each]
    if words:
        said = f"table {table}: the line {words[0]} is left out, and not held against the rows"
        hint = f"write `footer: {{checked: {json.dumps(words, ensure_ascii=False)}}}` beside `file`"
        yield Finding(f"database {database.name}", NOTE, said, hint)


def _api(project: Project, setting: ApiSetting, predicates: list[Predicate]) -> Iterator[Finding]:
    """Look at what an API says of itself, and at the declarations over it."""
    from constat.apis import Api, ApiError, drift, until_of  # noqa: PLC0415  loaded when it is used
    from constat.tiers.api import misfits as misfits_of_fields  # noqa: PLC0415  loaded when it is used
    from constat.tiers.api import prepare  # noqa: PLC0415  loaded when it is used
    from constat.tiers.declarations import api_columns  # noqa: PLC0415  loaded when it is used

    check, api = f"API {setting.name}", Api(setting, project.folder, project.state)
    missing = sorted({name for one in setting.expanded() for name in one.missing})
    if missing:
        yield Finding(
            check, WARNING, "it needs environment variables", f"set {', '.join(missing)}", "C0511"
        )
    changed: list[str] = []
    try:
        before, description = api.fresh(until_of(project.catalog.seconds), kept=False)
        changed += drift(before, description)
    except ApiError as problem:
        hint = dict(_HELPS).get(problem.code, f"`constat explain {problem.code}`")
        yield Finding(check, ERROR, problem.reason, hint, problem.code)
        return
    except ConstatError as problem:
        yield from (told(check, one) for one in problem.diagnostics)
        return
    finally:
        api.close()
    if changed:
        more = f"; and {len(changed) - _MOST_NAMED:,} more" if len(changed) > _MOST_NAMED else ""
        said = f"its description has changed: {'; '.join(changed[:_MOST_NAMED])}{more}"
        hint = f"`constat catalog refresh {setting.name}` has goals go by what it says now"
        yield Finding(check, WARNING, said, hint)
    for predicate in predicates:
        try:
            prepared = prepare(predicate, api_columns(predicate), description, api)
        except ConstatError as problem:
            yield from (told(check, one) for one in problem.diagnostics)
        else:
            doubts = misfits_of_fields(predicate, prepared, description)
            yield from (told(check, one) for one in doubts)
    seen = f", as seen at {api.seen_at}" if api.seen_at else ""
    said = f"it describes {counted(len(description.operations), 'operation')}{seen}; read by"
    yield Finding(check, OK, f"{said} {counted(len(predicates), 'predicate')}")
    if not predicates:
        hint = f"`constat catalog draft` with an operation of `{setting.name}` drafts one"
        yield Finding(check, NOTE, "no predicate asks it", hint)


def _documents(
    project: Project, setting: DocumentsSetting, predicates: list[Predicate]
) -> Iterator[Finding]:
    """Read all documents of a name; tell which cannot be, and hold declarations against others."""
    from constat.tiers.documents import DocumentTier  # noqa: PLC0415  loaded when it is used

    check = f"documents {setting.name}"
    tier = DocumentTier(project, lambda _: None)
    tier.start(_SECONDS_OF_DOCUMENTS)
    documents = tier.documents(setting.name)
    failed = [one for one in documents if one.failure]
    for one in failed[:_MOST_NAMED]:
        yield Finding(check, WARNING, f"{one.name}: {one.failure}", "mend or leave it out", "C0581")
    read = counted(len(documents) - len(failed), "document")
    said = f"{read} can be read, {len(failed)} cannot; read by"
    yield Finding(check, OK, f"{said} {counted(len(predicates), 'predicate')}")
    if not documents:
        yield Finding(check, WARNING, "there are no such files", "mend `files`", "C0581")
    elif not predicates:
        hint = f'`.input notice(source = "{setting.name}", pattern = "Notice: {{days}} days")`'
        yield Finding(check, NOTE, "no predicate asks them", hint)
    if len(documents) > len(failed):
        clock = Clock(moment() + _SECONDS_OF_DOCUMENTS)
        doubts = (one for each in predicates for one in tier.misfits(each, clock))
        yield from (told(check, one) for one in doubts)


def with_sources(checked: Checked, project: Project, *, whole: bool) -> Checked:
    """Hold checked rules against the project: what they name as sources has to be there.

    `whole` says that they are all rules of the project, so that its `facts:` must fit as well.
    """
    if checked.program is None:
        return checked
    found: list[Diagnostic] = []
    if whole:
        check_declarations(project, checked.program, found)
    else:
        check_sources(project, checked.program.program.predicates.values(), found)
    if not found:
        found += local_mistakes(project, checked.program.program)
    every = sorted([*checked.diagnostics, *found], key=lambda one: one.place)
    return replace(checked, diagnostics=tuple(every))


def local_mistakes(project: Project, program: Program) -> Iterator[Diagnostic]:
    """Hold the queries over files of this machine against their tables; asks no server.

    A file that is missing is a warning: rules are also checked where the data is not.
    """
    predicates = list(program.predicates.values())
    for database in project.databases.values():
        asked = [one for one in predicates if one.source and one.source.name == database.name]
        if not asked or not is_local(database):
            continue
        try:
            with reading(database, project) as connection:
                seconds = project.catalog.seconds
                shown = _shows(project, database)
                found = [
                    one for each in asked for one in _query(each, connection, seconds, shown=shown)
                ]
        except ConstatError as problem:
            yield from (replace(one, severity=Severity.WARNING) for one in problem.diagnostics)
        except (SourceFailureError, QueryMistakeError) as problem:
            hint = dict(_HELPS).get(problem.code, _NOT_THERE)
            message = f"database `{database.name}`: {problem.reason}"
            yield Diagnostic(
                problem.code, message, database.span, severity=Severity.WARNING, help=hint
            )
        else:
            yield from found


def _shows(project: Project, database: Database) -> bool:
    """Whether a wrong cell is shown: where it lies on this machine, and no rights hide any."""
    return is_local(database) and not project.rights.roles


def _query(
    predicate: Predicate, connection: Connection, seconds: float, *, shown: bool
) -> Iterator[Diagnostic]:
    """Hold a query against the tables, and the declaration against the rows.

    A value that is none of its column's is told as it stands where it may be `shown`.
    """
    source = predicate.source
    query = source.parameters.get("query", "") if source else ""
    if not query:
        return
    span = source.span if source else None
    message = f"the query of `{predicate.name}`: "
    try:
        guarded = guard(query, connection.dialect)
        check_columns(predicate, guarded, connection)
        for one in misfits(predicate, guarded, connection, seconds, shown=shown):
            yield replace(one, span=span, severity=Severity.WARNING)
    except QueryMistakeError as problem:
        hint = meant(problem, query, connection) or f"`constat explain {problem.code}`"
        yield Diagnostic(problem.code, message + problem.reason, span, help=hint)
    except SourceFailureError as problem:
        hint = dict(_HELPS).get(problem.code, "mend the source")
        told_of = message + problem.reason
        yield Diagnostic(problem.code, told_of, span, severity=Severity.WARNING, help=hint)


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


# Files are opened read-only; a file that another program is writing is left alone.

_LEAST_FREE: Final = 64 << 20
_SECONDS: Final = 2.0
_STATE: Final = "state"
_MOST_LISTED: Final = 1_000


def state_findings(project: Project) -> Iterator[Finding]:
    """Look at the state folder and the databases in it."""
    folder = project.state
    if not folder.exists():
        parent = next(one for one in folder.parents if one.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            yield Finding(_STATE, OK, "nothing is kept yet; the folder is made when needed")
        else:
            yield _unwritable(project)
        return
    if not folder.is_dir():
        hint = f"move it away, or name another folder in `state:` of {project.config_name}"
        yield Finding(_STATE, ERROR, f"`{folder.name}` is no folder", hint)
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield _unwritable(project)
        return
    yield from _space(folder)
    every = sorted(folder.glob("*.sqlite"))
    found = every[:_MOST_LISTED]
    damaged = [problem for one in found if (problem := _damage(one)) is not None]
    yield from damaged
    yield from (one for path in found for one in _rights(path))
    if not damaged:
        others = f" of {len(every):,}" if len(every) > len(found) else ""
        told = f"looked at {counted(len(found), 'file')}{others}: nothing is damaged"
        yield Finding(_STATE, OK, told)


def key_findings(project: Project) -> Iterator[Finding]:
    """Look at the keys that the project trusts."""
    today = datetime.now(UTC).date().isoformat()
    for key in project.keys.values():
        yield _key(key, today, project)


def _key(key: KeySetting, today: str, project: Project) -> Finding:
    check = f"key {key.name}"
    if not key.file.is_file():
        hint = f"put it there, or take the key out of `keys:` in {project.config_name}"
        return Finding(check, ERROR, f"there is no file {key.file.name}", hint, "C0745")
    if key.revoked and str(key.revoked) <= today:
        return Finding(check, NOTE, f"revoked since {key.revoked}: newer signatures do not count")
    if key.expires and str(key.expires) < today:
        hint = f"`constat keygen` makes a new one; name it in `keys:` of {project.config_name}"
        return Finding(check, WARNING, f"expired on {key.expires}", hint)
    return Finding(check, OK, f"trusted as {', '.join(key.roles)}")


def _unwritable(project: Project) -> Finding:
    message = "the state folder cannot be written: facts, answers and records cannot be kept"
    hint = f"give it to this user, or name another one in `state:` of {project.config_name}"
    return Finding(_STATE, ERROR, message, hint)


def _space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    if free < _LEAST_FREE:
        message = f"only {free >> 20} MiB are free where the state is kept"
        yield Finding(
            _STATE, WARNING, message, "`constat cache clear` makes room, or the disk does"
        )


def _damage(path: Path) -> Finding | None:
    """Have SQLite check a file of ours."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_SECONDS
        )
        try:
            ((said,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as problem:
        code = (getattr(problem, "sqlite_errorcode", 0) or 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return None
        said = "not a database" if code == sqlite3.SQLITE_NOTADB else "cannot be read"
    if said == "ok":
        return None
    hint = "restore it from a backup, or move it away; `constat cache clear` removes kept answers"
    return Finding(_STATE, ERROR, f"{path.name} is damaged", hint)


def _rights(path: Path) -> Iterator[Finding]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        message = f"{path.name} can be written by other users"
        yield Finding(_STATE, WARNING, message, f"chmod go-w {path.name}")


_OLDEST: Final = (3, 11)
_NEWEST: Final = (3, 14)
_LIBRARIES: Final = (
    *("click", "cryptography", "duckdb", "graphql", "httpx2", "jsonschema_rs", "networkx", "numpy"),
    *("pandas", "prompt_toolkit", "rich", "sqlalchemy", "sqlglot", "yaml"),
)


def diagnose(start: Path | None) -> tuple[Finding, ...]:
    """Look at a project: the folder itself, or the nearest above."""
    return tuple(_findings(start))


def _findings(start: Path | None) -> Iterator[Finding]:
    yield from _versions()
    try:
        project = load_project(find_project(start))
    except ConstatError as problem:
        yield from (told("configuration", one) for one in problem.diagnostics)
        return
    databases = counted(len(project.databases), "database")
    facts = counted(len(project.facts), "configured predicate")
    yield Finding("configuration", OK, f"project {project.name}: {databases}, {facts}")
    analysed: list[AnalysedProgram] = []
    yield from _rules(project, analysed)
    yield from database_findings(project, analysed[0] if analysed else None)
    yield from state_findings(project)
    yield from key_findings(project)
    yield from model_findings(project, environment_of(project.folder))
    yield from sandbox_findings(project)


def _versions() -> Iterator[Finding]:
    version = sys.version_info[:2]
    python = ".".join(map(str, sys.version_info[:3]))
    said = f"constat {__version__}, Python {python}, SQLite {sqlite3.sqlite_version}"
    if not _OLDEST <= version <= _NEWEST:
        hint = "use Python 3.11 to 3.14"
        yield Finding("versions", WARNING, f"{said}: this Python is not tested", hint)
    else:
        yield Finding("versions", OK, said)
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        hint = "pip install constat"
        yield Finding("versions", ERROR, f"libraries are missing: {', '.join(missing)}", hint)
    if not _has_search():
        hint = "use a Python whose SQLite has FTS5"
        yield Finding("versions", WARNING, "SQLite has no full text search: no catalog", hint)


def _has_search() -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(word)")
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


def _rules(project: Project, analysed: list[AnalysedProgram]) -> Iterator[Finding]:
    """Read the rules, and hold their sources against the configuration."""
    diagnostics: list[Diagnostic] = []
    found = read_rules(project.rules, project.rule_roots, diagnostics, {}, Reading(project))
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    if found is not None and not errors:
        check_declarations(project, found, diagnostics)
    yield from (told("rules", one) for one in diagnostics)
    if found is None:
        return
    analysed.append(found)
    rules = sum(bool(rule.body) for rule in found.rules)
    predicates = len(found.program.predicates)
    if not project.rules:
        hint = "name rule files: `rules: [rules/vip.dl]`"
        yield Finding("rules", WARNING, "the project names no rules", hint)
    elif not any(one.severity is Severity.ERROR for one in diagnostics):
        files = counted(len(project.rules), "file")
        said = f"{files}, {counted(predicates, 'predicate')}, {counted(rules, 'rule')}"
        yield Finding("rules", OK, said)
    proposed = sum(rule.proposed for rule in found.rules)
    if proposed:
        hint = "`constat rules list --proposed` shows them"
        message = f"{counted(proposed, 'proposed rule')}: what rests on them is UNDER an assumption"
        yield Finding("rules", NOTE, message, hint)
