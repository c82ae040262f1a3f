"""Begin a project with a database: configuration, declarations, a first rule, a goal that runs."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog import (
    QueryMistakeError,
    SchemaManager,
    SourceFailureError,
    SqliteConnection,
    read_cell,
)
from constat.catalog.alchemy import sql_of
from constat.catalog.duck_session import DuckSession
from constat.catalog.schema.drafting import draft_text, drafted, identifier
from constat.catalog.schema.introspection import reading
from constat.catalog.schema.samples import as_text, ask, column_of, source_of
from constat.catalog.schema.words import words_of
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import OPEN
from constat.project import CONFIGURATION, Database, Project, load_project
from constat.project.project import ENDINGS
from constat.project.sections import expand
from constat.session.catalog import dialect_of, signature_of
from constat.session.session import Session
from constat.store.catalog import CatalogIndex
from constat.store.replacing import replaced
from constat.syntax import print_row
from constat.syntax.formatting import format_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from constat.catalog.schema.checking import Checked
    from constat.catalog.schema.described import Relationship
    from constat.catalog.schema.drafting import DraftedColumn, DraftedPredicate
    from constat.logic import Slot
    from constat.session.result import Result

_ACCOUNT: Final = re.compile(r"([a-z][a-z0-9+.-]*://[^:/@?#]*):([^/?#]*)@", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"([?&](?:[a-z_]*(?:password|passwd|pwd|secret|token|api_?key)[a-z_]*)=)([^&#]+)", re.IGNORECASE
)
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}\Z")
_DUCKDB_ENDINGS: Final = frozenset({".duckdb", ".ddb"})
_MOST_FILES: Final = 200
_LONGEST: Final = 30


@dataclass(frozen=True, slots=True)
class Beginning:
    """A database for `constat.yaml`. `address` is written there, `files` are in its place.

    `secrets` are the values of the variables that stand in the address.
    """

    name: str
    address: str = ""
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    secrets: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)


def beginning(written: str, folder: Path, here: Path) -> Beginning:
    """Read an address or a path; `here` is where relative paths begin. Raises `ConstatError`."""
    if not written or not written.isprintable():
        raise _refused("this is no address and no path")
    scheme, separator, rest = written.partition("://")
    if not separator:
        return _from_path(here / written, folder)
    kind = scheme.partition("+")[0].lower()
    if kind in {"sqlite", "duckdb"} and scheme.lower() == kind:
        return _from_file(kind, here / rest.removeprefix("/"), folder)
    if not sql_of(scheme.lower()):
        raise _refused("the address begins with a name that is not known here")
    return _from_server(written)


def _from_path(path: Path, folder: Path) -> Beginning:
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if _is_data(one))[:_MOST_FILES]
        if not found:
            raise _refused(f"`{path.name}` holds no file that can be read")
        return _from_data(found, path.name or "files", folder)
    if not path.is_file():
        raise _refused(f"there is no file `{path.name}`")
    if _is_data(path):
        return _from_data([path], path.stem, folder)
    kind = _kind_of(path)
    if not kind:
        raise _refused(f"`{path.name}` is of a kind that cannot be read")
    return _from_file(kind, path, folder)


def _kind_of(path: Path) -> str:
    """Have the libraries say what a file is.

    Opening it here would drop locks of other sessions of this process (see `sqlite_state`).
    """
    if not path.stat().st_size:
        return ""
    for kind, look in (("sqlite", _look_with_sqlite), ("duckdb", _look_with_duckdb)):
        try:
            look(path)
        except SourceFailureError as problem:
            if "not a database" in problem.reason:
                continue
            if "locked" in problem.reason or "open for writing" in problem.reason:
                # Whoever writes it keeps both libraries from looking: its name has to do.
                return "duckdb" if path.suffix.lower() in _DUCKDB_ENDINGS else "sqlite"
        return kind
    return ""


def _look_with_sqlite(path: Path) -> None:
    with closing(SqliteConnection(path, wait_seconds=0.5)) as connection:
        connection.begin()


def _look_with_duckdb(path: Path) -> None:
    DuckSession(path).close()


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in ENDINGS


def _from_file(kind: str, path: Path, folder: Path) -> Beginning:
    if not path.is_file():
        raise _refused(f"there is no file `{path.name}`")
    return Beginning(_name(path.stem), f"{kind}:///{_escaped(_within(path, folder))}")


def _from_data(paths: list[Path], name: str, folder: Path) -> Beginning:
    files: dict[str, str] = {}
    for path in paths:
        relative = _within(path, folder)
        if Path(relative).is_absolute():
            raise _refused(f"`{path.name}` lies outside the project; data files lie in its folder")
        files[_other(_name(path.stem), files)] = relative
    return Beginning(_name(name), files=files)


def _other(name: str, taken: Mapping[str, str]) -> str:
    """Give a name that no file has yet: `orders.csv` and `orders.json` are two tables."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _within(path: Path, folder: Path) -> str:
    """Name a file relative to the project where it lies in it, else absolutely."""
    found = path.resolve()
    inner = folder.resolve()
    return str(found.relative_to(inner)) if found.is_relative_to(inner) else str(found)


def _from_server(address: str) -> Beginning:
    tail = re.split(r"[?#]", address.partition("://")[2])[0].rpartition("/")[2]
    name = _name(tail.rpartition("@")[2])
    secrets: dict[str, str] = {}

    def hidden(found: re.Match[str], ending: str) -> str:
        if _VARIABLE.match(found[2]):
            return found[0]
        variable = f"{name}_PASSWORD".upper()
        while variable in secrets:
            variable += "_2"
        secrets[variable] = found[2]
        return f"{found[1]}{':' if ending == '@' else ''}${{{variable}}}{ending}"

    shown = _ACCOUNT.sub(lambda found: hidden(found, "@"), address, count=1)
    shown = _SECRET.sub(lambda found: hidden(found, ""), shown)
    return Beginning(name, shown, secrets=MappingProxyType(secrets))


def _name(text: str) -> str:
    """Give a plain word for the configuration."""
    words = [word for word in words_of(text) if word.isascii()]
    name = "_".join(words)[:_LONGEST].strip("_")
    return name if name and name[0].isalpha() else f"data_{name}".rstrip("_")


def _escaped(path: str) -> str:
    """Keep `${` of a path from being read as a variable."""
    return path.replace("${", "$${")


def _refused(message: str) -> ConstatError:
    hint = (
        "name a file such as `shop.sqlite`, `shop.duckdb` or `orders.csv`, or an address such as"
        " `postgresql://reader:PASSWORD@host/name`"
    )
    return ConstatError([Diagnostic("C0852", message, help=hint)])


SOURCES: Final = "sources.dl"
FIRST: Final = "rules/first.dl"
IGNORED: Final = ".constat/\n"
_CONFIGURATION: Final = """\
# Begun by `constat init`. `constat doctor` looks at everything that this project needs.
project: {project}

databases:
  {name}:
{database}

rules:
  - {sources}
  - rules

# Values of rows are shown, and sent to a model, only where `samples` names them:
# catalog:
#   samples: [{name}]
"""
_RULES: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.include "../{sources}"
.once

// The first rule of this project, to begin with: change it, or take it away.

{declared}
{rule}
"""


@dataclass(frozen=True, slots=True)
class FirstRule:
    """The first rule: its predicate, and the column of a table whose values it is about.

    With `pointing` it is about values that this column of another table points to.
    """

    name: str
    text: str
    subject: tuple[DraftedPredicate, DraftedColumn]
    pointing: tuple[DraftedPredicate, DraftedColumn] | None = None


def configuration(project: str, beginning: Beginning) -> str:
    """Write `constat.yaml`."""
    lines = [f"    uri: {json.dumps(beginning.address, ensure_ascii=False)}"]
    if beginning.files:
        entries = (
            f"      {name}: {json.dumps(path, ensure_ascii=False)}"
            for name, path in beginning.files.items()
        )
        lines = ["    files:", *entries]
    return _CONFIGURATION.format(
        project=json.dumps(project, ensure_ascii=False),
        name=beginning.name,
        database="\n".join(lines),
        sources=SOURCES,
    )


def first_rule(predicates: Sequence[DraftedPredicate]) -> FirstRule:
    """Choose what the first rule is about: a relationship where there is one, else a table."""
    by_label = {one.table.label: one for one in predicates}
    found = []
    for one in predicates:
        for relationship in one.table.relationships:
            target = by_label.get(relationship.target)
            pair = _pair(one, target, relationship) if target is not None else None
            if target is not None and pair is not None:
                # The larger table says more: orders of customers rather than their titles.
                worth = (relationship.declared, one.table.rows or 0)
                found.append((worth, one, pair[0], target, pair[1]))
    if not found:
        return _listed(predicates[0], predicates)
    _, one, column, target, key = max(found, key=lambda each: each[0])
    return _related((one, column), (target, key), predicates)


def _pair(
    one: DraftedPredicate, target: DraftedPredicate, relationship: Relationship
) -> tuple[DraftedColumn, DraftedColumn] | None:
    if len(relationship.columns) != 1 or one is target:
        return None
    first = _column(one, relationship.columns[0])
    second = _column(target, relationship.target_columns[0])
    return (first, second) if first and second else None


def _column(predicate: DraftedPredicate, name: str) -> DraftedColumn | None:
    return next((one for one in predicate.columns if one.decided.column.name == name), None)


def _related(
    pointing: tuple[DraftedPredicate, DraftedColumn],
    subject: tuple[DraftedPredicate, DraftedColumn],
    predicates: Sequence[DraftedPredicate],
) -> FirstRule:
    (one, column), (target, key) = pointing, subject
    name = identifier(f"has {one.name}", [other.name for other in predicates], "has")
    says = f"{{{key.name}}} of {_spoken(target)} has {_spoken(one)}"
    body = f"{_atom(target, key, key.name)}, {_atom(one, column, key.name)}"
    text = _text(name, key, says, body, f"a row of {_spoken(one)} points to {{{key.name}}}")
    return FirstRule(name, text, subject, pointing)


def _listed(one: DraftedPredicate, predicates: Sequence[DraftedPredicate]) -> FirstRule:
    named = one.key[0] if one.key else one.columns[0].name
    column = next(each for each in one.columns if each.name == named)
    name = identifier(f"is in {one.name}", [other.name for other in predicates], "is")
    says = f"{{{named}}} is in {_spoken(one)}"
    text = _text(name, column, says, _atom(one, column, named), f"{_spoken(one)} has {{{named}}}")
    return FirstRule(name, text, (one, column))


def _text(name: str, column: DraftedColumn, says: str, body: str, reason: str) -> str:
    declared = f'@[says = "{says}"]\n.decl {name}({column.name}: {column.kind.value})'
    rule = f'@[id = FIRST1]\n@[says = "{reason}"]\n{name}(?{column.name}) :- {body}.'
    written = _RULES.format(sources=SOURCES, declared=declared, rule=rule)
    return format_text(written, "<draft>", []) or written


def _atom(predicate: DraftedPredicate, column: DraftedColumn, variable: str) -> str:
    terms = (f"?{variable}" if one is column else "_" for one in predicate.columns)
    return f"{predicate.name}({', '.join(terms)})"


def _spoken(predicate: DraftedPredicate) -> str:
    return predicate.name.rstrip("_").replace("_", " ")


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
        raise _starting_refused(f"the database could not be read: {found.failure}")
    named = list(wanted) or _by_links(catalog)
    checked = [catalog.check(name, thorough=False) for name in named[:MOST_TABLES]]
    usable = [one for one in checked if any(column.kind for column in one.columns)]
    if not usable:
        raise _starting_refused(f"`{begun.name}` holds no table with a column that can be read")
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
    with Session(project) as session:
        goal = print_row(session.program.program.predicates[rule.name], (value,))
        return goal, session.prove(goal)


def _signature(rule: FirstRule) -> str:
    column = rule.subject[1]
    return f"{rule.name}({column.name}: {column.kind.value})"


def _starting_refused(message: str) -> ConstatError:
    hint = "mend the address, or name another database"
    return ConstatError([Diagnostic("C0852", message, help=hint)])
