"""Begin a project with a database: configuration, declarations, a first rule, a goal that runs."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import sys
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import field, replace
from io import StringIO
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from constat.catalog import (
    QueryMistakeError,
    SchemaManager,
    SourceFailureError,
    SqliteConnection,
    read_cell,
)
from constat.catalog.drivers import open_connection, sql_of, store_of
from constat.catalog.duck_session import DuckSession
from constat.catalog.file_tables import (
    GUESSED_ENCODINGS,
    guess_cells,
    guess_files,
    has_fields,
    odd_cells,
)
from constat.catalog.files import first_rows, guess_sheets, nested_parts
from constat.catalog.schema.drafting import (
    draft_text,
    drafted,
    noun_of,
    null_word,
    plural_of,
)
from constat.catalog.schema.introspection import MODEL, Manifest, reading
from constat.catalog.schema.samples import as_text, ask, column_of, source_of
from constat.catalog.schema.words import identifier, words_of
from constat.diagnostics import ConstatError, Diagnostic, counted, nearest
from constat.frozen import frozen
from constat.logic import OPEN, Kind
from constat.project import CONFIGURATION, NO_NAMES_OF_SOURCES, Database, Project, load_project
from constat.project.files import DELTA, ENDINGS, ICEBERG, JSON, UTF_8, WORKBOOK, TableFiles
from constat.project.reading import Expanded, expand
from constat.session.catalog import (
    LOOKED_AT,
    dialect_of,
    first_cells,
    hints_of,
    signature_of,
    understood,
)
from constat.session.session import Session
from constat.store.catalog import CatalogIndex
from constat.store.replacing import replaced
from constat.store.state_file import LOCKS
from constat.syntax import print_row
from constat.syntax.formatting import format_text
from constat.syntax.printing import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
_DATABASE_ENDINGS: Final = frozenset({".db", ".db3", ".sqlite", ".sqlite3", *_DUCKDB_ENDINGS})
_MOST_FILES: Final = 200
_TAB: Final = "\t"
_LONGEST: Final = 30
_MOST_NAMED: Final = 10


@frozen
class Beginning:
    """A database for `constat.yaml`. `address` is written there, `files` are in its place.

    `secrets` are the values of the variables that stand in the address. `doubts` are comments for
    whoever reads `constat.yaml`, `remarks` those of them, by table, that are about its columns.
    `manifest` is that of dbt, `kind` the type of a store. `shown` are doubts with values, for a
    terminal alone.
    """

    name: str
    address: str = ""
    files: Mapping[str, TableFiles] = field(default_factory=dict, hash=False)
    secrets: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    doubts: tuple[str, ...] = ()
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    manifest: str = ""
    kind: str = "sql"
    shown: tuple[str, ...] = ()


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
    store, address = store_of(written)
    if store:
        return replace(_from_server(address), kind=store)
    if not sql_of(scheme.lower()):
        raise _refused("the address begins with a name that is not known here")
    return _from_server(written)


def _from_path(path: Path, folder: Path) -> Beginning:
    if path.is_dir():
        if lakes := _lakes(path, folder):
            return Beginning(_name(path.name), files=lakes)
        listed = sorted(one for one in path.iterdir() if one.is_file() and one.name[:1] != ".")
        found = [one for one in listed if _is_data(one)][:_MOST_FILES]
        if not found:
            databases = [one for one in listed if _is_database(one)]
            which = f"begin with the database in it, `{databases[0].name}`" if databases else ""
            raise _refused(f"`{path.name}` holds no file that can be read", which)
        begun = _from_data(found, path.name or "files", folder)
        return replace(begun, doubts=(*begun.doubts, *_not_read(listed, found, folder)))
    if not path.is_file():
        raise _refused(f"there is no file `{path.name}`", _near(path))
    if _is_data(path):
        return _from_data([path], path.stem, folder)
    kind = _kind_of(path)
    if not kind:
        raise _refused(f"`{path.name}` is of a kind that cannot be read")
    return _from_file(kind, path, folder)


def _lakes(path: Path, folder: Path) -> dict[str, TableFiles]:
    """Find the tables in versions that a folder is, or whose folders lie in it.

    Files below them are no tables of their own: some are of rows that are gone.
    """
    found: dict[str, TableFiles] = {}
    for one in [path, *sorted(other for other in path.iterdir() if other.is_dir())]:
        if (one / "_delta_log").is_dir():
            lake = DELTA
        elif next((one / "metadata").glob("*.metadata.json"), None):
            lake = ICEBERG
        else:
            continue
        relative = _within(one, folder)
        if Path(relative).is_absolute():
            raise _outside(one, folder)
        found[_other(_name(one.name), found)] = TableFiles(relative, lake=lake)
    return found


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
    """Tell whether a file is a table; of texts those are whose first line holds several fields."""
    if not path.is_file() or path.suffix.lower() not in ENDINGS:
        return False
    try:
        return path.suffix.lower() != ".txt" or has_fields(path, guess_files(path, path.name)[0])
    except SourceFailureError:
        # It has fields, in more than one way.
        return True


def _is_database(path: Path) -> bool:
    return path.suffix.lower() in _DATABASE_ENDINGS and bool(_kind_of(path))


def _not_read(listed: Sequence[Path], found: Sequence[Path], folder: Path) -> Iterator[str]:
    """Name the files of a folder that are no tables; of a database also how it is added."""
    others = [one for one in listed if one not in found]
    databases = [one for one in others[:_MOST_NAMED] if _is_database(one)]
    for one in databases:
        said = json.dumps(
            f"{_kind_of(one)}:///{_escaped(_within(one, folder))}", ensure_ascii=False
        )
        yield (
            f"not read: {one.name}, a database; to read it, too, write"
            f" `{_name(one.stem)}: {{uri: {said}}}` below `databases:`"
        )
    if names := [one.name for one in others if one not in databases]:
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        yield f"not read: {', '.join(names[:_MOST_NAMED])}{more}"


def _from_file(kind: str, path: Path, folder: Path) -> Beginning:
    if not path.is_file():
        raise _refused(f"there is no file `{path.name}`", _near(path))
    return Beginning(_name(path.stem), f"{kind}:///{_escaped(_within(path, folder))}")


def _from_data(paths: list[Path], name: str, folder: Path) -> Beginning:
    files: dict[str, TableFiles] = {}
    doubts: list[str] = []
    undecided: list[str] = []
    for path in paths:
        relative = _within(path, folder)
        if Path(relative).is_absolute():
            raise _outside(path if len(paths) == 1 else path.parent, folder)
        try:
            for sheet, (setting, found) in _tables_in(path, relative, doubts).items():
                table = _other(_name(f"{path.stem} {sheet}"), files)
                files[table] = setting
                doubts += (f"{table}: {one}" for one in found)
        except SourceFailureError as problem:
            undecided.append(problem.reason)
        except OSError as problem:
            raise _refused(f"`{path.name}` cannot be read ({type(problem).__name__})") from None
    if undecided and not files:
        hint = "name it with these under `files:` of a database in `constat.yaml`"
        raise _refused("; ".join(undecided), hint)
    doubts += (f"left out: {one}" for one in undecided)
    return Beginning(_name(name), files=files, doubts=tuple(doubts))


def _outside(given: Path, folder: Path) -> ConstatError:
    """Say how to begin with files that lie elsewhere: their copies lie in the project."""
    message = f"`{given.name}` lies outside the project; data files lie in its folder"
    here, copy = (os.path.relpath(one) for one in (given, folder / given.name))
    there, made = os.path.relpath(folder), shlex.quote(os.path.relpath(folder))
    commands = f"mkdir -p {made} && cp -r {shlex.quote(here)} {made}/"
    begin = f"constat init {shlex.quote(copy)}" + ("" if there == "." else f" --directory {made}")
    return _refused(message, f"copy it, `{commands}`, then `{begin}`")


def _tables_in(
    path: Path, relative: str, doubts: list[str]
) -> Mapping[str, tuple[TableFiles, tuple[str, ...]]]:
    """Find the tables of a file by the sheets that hold them; tell which sheets hold none."""
    if path.suffix.lower() in JSON and (parts := nested_parts(path)):
        (first, _), *_ = parts.items()
        return {
            "" if name == first else name: (TableFiles(f"{relative}#{part}"), ())
            for name, part in parts.items()
        }
    if path.suffix.lower() != WORKBOOK:
        return {"": guess_files(path, relative)}
    try:
        found, others = guess_sheets(path, relative)
    except SourceFailureError:
        # The catalog tells why it cannot be read.
        return {"": (TableFiles(relative), ())}
    named = ", ".join(others[:_MOST_NAMED])
    if others:
        doubts.append(
            f"{path.name}: no table was seen in {counted(len(others), 'sheet')}, {named}; a sheet"
            f" is read as `{path.name}#{others[0]}`"
        )
    return found or {"": (TableFiles(relative), ())}


def _other(name: str, taken: Mapping[str, TableFiles]) -> str:
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


def _near(path: Path) -> str:
    """Name the file beside it whose name is nearest, if there is one."""
    folder = path.parent
    names = [one.name for one in folder.iterdir() if one.is_file()] if folder.is_dir() else []
    near = nearest(path.name, names)
    return f"write `{near}`" if near else ""


def _refused(message: str, hint: str = "") -> ConstatError:
    hint = hint or (
        "name a file such as `shop.sqlite`, `shop.duckdb` or `orders.csv`, or an address such as"
        " `postgresql://reader:PASSWORD@host/name`"
    )
    return ConstatError([Diagnostic("C0852", message, help=hint)])


SOURCES: Final = "rules/sources.dl"
FIRST: Final = "rules/first.dl"
CASE: Final = "rules/cases/first.dl"
PLAN: Final = "plans/first.yaml"
IGNORED: Final = ".constat/\n.env\n"
_CONFIGURATION: Final = """\
# Begun by `constat init`. `constat doctor` looks at everything that this project needs.
project: {project}

databases:
  {name}:
{database}

# All rule files of this folder. `cases` in it has small worlds that `constat rules test` runs.
rules:
  - rules

# Each decision of `prove` is entered, and its certificate names the entry: `constat log list`.
log:
  on: {log}

# Values of rows are shown, and sent to a model, only where `samples` names them:
# catalog:
#   samples: [{name}]
"""
_RULES: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.include "sources.dl"
.once

// The first rules of this project, to begin with. Who takes them away takes away `cases/first.dl`
// with them, which tries them{and_plan}.

{items}
"""
_CASE: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"

// A small world for the rules of `first.dl`; what it does not state is not so.
// `constat rules test` runs it.

{facts}

@[expect(proved = {proved})]
@[expect(disproved = {disproved})]
.output {name}
"""
_PLAN: Final = """\
# {about}: `constat solve --plan {path}` runs it.
question: {about}?
title: {title}
steps:
  - name: {name}
    goal: {about}
    inputs: [{counted}]
    outputs: {outputs}
    rules: |
      {name}({variables}) :- {counted}({variables}), ?{number} > 0.
"""


@frozen
class FirstRule:
    """The first rules: the predicate of the first goal, and the column whose values it is about.

    With `pointing` they are about values that this column of another table points to. `counted` is
    the predicate that counts the rows, `name` says that there are some.
    """

    name: str
    text: str
    subject: tuple[DraftedPredicate, DraftedColumn]
    pointing: tuple[DraftedPredicate, DraftedColumn] | None = None
    counted: str = ""


def configuration(project: str, beginning: Beginning) -> str:
    """Write `constat.yaml`."""
    lines = [f"    uri: {json.dumps(beginning.address, ensure_ascii=False)}"]
    if beginning.kind != "sql":
        lines.insert(0, f"    type: {beginning.kind}")
    if beginning.files:
        entries = (line for item in beginning.files.items() for line in _entry(*item))
        lines = ["    files:", *entries, *(f"    # {one}" for one in beginning.doubts)]
    if beginning.manifest:
        lines.append(f"    manifest: {json.dumps(beginning.manifest, ensure_ascii=False)}")
    return _CONFIGURATION.format(
        log="true" if LOCKS else "false",
        project=json.dumps(project, ensure_ascii=False),
        name=beginning.name,
        database="\n".join(lines),
    )


def _entry(name: str, files: TableFiles) -> Iterator[str]:
    """Write what `constat.yaml` says of the files of a table."""

    def said(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    if files.is_plain or files.lake:
        lake = f"{{{files.lake}: {said(files.pattern)}}}"
        yield f"      {name}: {lake if files.lake else said(files.pattern)}"
        return
    yield f"      {name}:"
    yield f"        file: {said(files.pattern)}"
    if files.separator:
        yield f"        separator: {said('tab' if files.separator == _TAB else files.separator)}"
    if files.skip:
        yield f"        skip: {files.skip}"
    if files.footer is not None:
        yield f"        footer: {_footer_said(files)}"
    if files.encoding != UTF_8:
        yield f"        encoding: {files.encoding}"
    if files.null:
        yield "        null:"
        yield from (
            f"          {said(one)}: {said(list(texts))}" for one, texts in files.null.items()
        )
    if files.locale:
        yield "        locale:"
        yield from (f"          {said(one)}: {locale.name}" for one, locale in files.locale.items())
    if files.unit:
        yield "        unit:"
        yield from (f"          {said(one)}: {said(unit)}" for one, unit in files.unit.items())


def _footer_said(files: TableFiles) -> str:
    if not isinstance(files.footer, tuple):
        return str(files.footer)
    others = [one for one in files.footer if one not in files.checked]
    if not files.checked:
        return json.dumps(others, ensure_ascii=False)
    parts = {"checked": list(files.checked)} | ({"required": others} if others else {})
    said = (f"{key}: {json.dumps(words, ensure_ascii=False)}" for key, words in parts.items())
    return f"{{{', '.join(said)}}}"


def first_rules(predicates: Sequence[DraftedPredicate]) -> Iterator[FirstRule]:
    """Propose what the first rules are about, the best first.

    These are relationships, then values that rows of one table share, then single rows.
    """
    by_label = {one.table.label: one for one in predicates}
    found = []
    for one in predicates:
        for relationship in one.table.relationships:
            target = by_label.get(relationship.target)
            pair = _pair(one, target, relationship) if target is not None else None
            if target is not None and pair is not None and one.table.rows:
                # Wide tables are what a business is about: orders of customers, not of countries.
                wide = len(target.columns) > _NARROW
                worth = (relationship.declared, wide, one.table.rows)
                found.append((worth, (one, pair[0]), (target, pair[1])))
    found.sort(key=lambda each: each[0], reverse=True)
    for _, pointing, subject in found:
        yield _related(pointing, subject, predicates)
    filled = [one for one in predicates if one.table.rows]
    for one in filled:
        yield from (_grouped(one, column, predicates) for column in _shared(one))
    for one in filled or predicates[:1]:
        yield _listed(one, predicates)


def _pair(
    one: DraftedPredicate, target: DraftedPredicate, relationship: Relationship
) -> tuple[DraftedColumn, DraftedColumn] | None:
    """Give both columns, where rows of one can be counted for each of the other for certain."""
    if len(relationship.columns) != 1 or one is target:
        return None
    first = _column(one, relationship.columns[0])
    second = _column(target, relationship.target_columns[0])
    if first is None or second is None or null_word(one, first) or null_word(target, second):
        return None
    return first, second


def _column(predicate: DraftedPredicate, name: str) -> DraftedColumn | None:
    return next((one for one in predicate.columns if one.decided.column.name == name), None)


def _related(
    pointing: tuple[DraftedPredicate, DraftedColumn],
    subject: tuple[DraftedPredicate, DraftedColumn],
    predicates: Sequence[DraftedPredicate],
) -> FirstRule:
    """Count the rows that point to a value, and say that there are some."""
    several = plural_of(pointing[0])
    words = (f"has {several}", f"has no {several}")
    called = (f"has {pointing[0].name}", noun_of(subject[0]))
    return _counting(pointing, subject, predicates, called, words, 0)


def _counting(  # noqa: PLR0917  what differs between the two ways of counting
    pointing: tuple[DraftedPredicate, DraftedColumn],
    subject: tuple[DraftedPredicate, DraftedColumn],
    predicates: Sequence[DraftedPredicate],
    called: tuple[str, str],
    words: tuple[str, str],
    most: int,
) -> FirstRule:
    """Count the rows that have a value, and say that there are more than so many.

    `called` is what the conclusion is called, and what holds the value; `words` say that it holds
    and that it does not.
    """
    (one, column), (target, key) = pointing, subject
    taken = [other.name for other in predicates]
    several, noun = plural_of(one), called[1]
    name = identifier(called[0], taken, "has")
    counted = identifier(f"{several} of {noun}", [*taken, name], "counted")
    number = identifier(several, [key.name, *(f"_{each}" for each in one.key)], "rows")
    holder = f"{noun} {{{key.name}}}"
    rows = ", ".join(
        f"{each.name} = {f'?{key.name}' if each is column else f'_{each.name}'}"
        for each in one.columns
        if each is column or each.name in one.key
    )
    declared = f"{key.name}: {key.kind.value}"
    items = (
        f'@[says = "the number of {several} of {holder} is {{{number}}}"]\n'
        f".decl {counted}({declared}, {number}: number)\n"
        "@[id = FIRST1]\n"
        f"{counted}(?{key.name}, ?{number}) :- {target.name}({key.name} = ?{key.name}),"
        f" ?{number} = count : {{ {one.name}({rows}) }}.\n\n"
        f'@[says = "{holder} {words[0]}"]\n@[says_not = "{holder} {words[1]}"]\n'
        f".decl {name}({declared})\n"
        f'@[id = FIRST2]\n@[says = "{holder} has {{{number}}} {several}, more than {most}"]\n'
        f"{name}(?{key.name}) :- {counted}(?{key.name}, ?{number}), ?{number} > {most}."
    )
    return FirstRule(
        name, _text(items, f", and `{PLAN}`, which uses them"), subject, pointing, counted
    )


def _shared(one: DraftedPredicate) -> Iterator[DraftedColumn]:
    """Yield the columns whose values may be those of several rows, where all rows can be counted.

    Without a key rows are told apart by all they have, so that none may be equal or have a NULL.
    """
    lacking = any(column.decided.nulls for column in one.columns)
    if not one.key and (lacking or one.checked.repeated is not False):
        return
    naming = {one.key[0]} if len(one.key) == 1 else set()
    for column in one.columns:
        named = column.kind in {Kind.SYMBOL, Kind.BOOL} and column.name not in naming
        if named and column.decided.repeated and not null_word(one, column):
            yield column


def _grouped(
    one: DraftedPredicate, column: DraftedColumn, predicates: Sequence[DraftedPredicate]
) -> FirstRule:
    """Count the rows that have a value, and say that there are several."""
    pair, several = (one, column), plural_of(one)
    words = (f"has several {several}", f"has at most one of the {several}")
    called = (f"has several {several}", column.name.replace("_", " ").strip())
    return _counting(pair, pair, predicates, called, words, 1)


def _listed(one: DraftedPredicate, predicates: Sequence[DraftedPredicate]) -> FirstRule:
    """Say of a table that stands alone that a value is in it, how many there are, and the sum."""
    named = one.key[0] if one.key else one.columns[0].name
    column = next(each for each in one.columns if each.name == named)
    name = identifier(f"is in {one.name}", [other.name for other in predicates], "is")
    spoken = one.name.rstrip("_").replace("_", " ")
    items = (
        f'@[says = "{{{named}}} is in the table {spoken}"]\n'
        f".decl {name}({named}: {column.kind.value})\n"
        f'@[id = FIRST1]\n@[says = "the table {spoken} has {{{named}}}"]\n'
        f"{name}(?{named}) :- {one.name}({named} = ?{named})."
    )
    counted = ""
    if one.key:
        several = plural_of(one)
        counted = identifier(f"number of {several}", [other.name for other in predicates], "rows")
        items += _totals(one, counted, several)
    return FirstRule(name, _text(items), (one, column), None, counted)


def _totals(one: DraftedPredicate, counted: str, several: str) -> str:
    """Write how many rows a table has, and the sum of its first amount that no row lacks."""
    key = {each: f"_{each}" for each in one.key}
    rows = ", ".join(f"{name} = {cell}" for name, cell in key.items())
    text = (
        f'\n\n@[says = "the number of {several} is {{rows}}"]\n.decl {counted}(rows: number)\n'
        f"@[id = FIRST2]\n{counted}(?rows) :- ?rows = count : {{ {one.name}({rows}) }}."
    )
    amount = next(
        (
            each
            for each in one.columns
            if each.kind in {Kind.DECIMAL, Kind.FLOAT}
            and each.name not in key
            and not null_word(one, each)
        ),
        None,
    )
    if amount is None:
        return text
    total = identifier(f"total {amount.name} of {several}", [one.name, counted], "total")
    spoken = amount.name.replace("_", " ").strip()
    return text + (
        f'\n\n@[says = "the total {spoken} of {several} is {{total}}"]\n'
        f".decl {total}(total: {amount.kind.value})\n@[id = FIRST3]\n"
        f"{total}(?total) :- ?total = sum ?{amount.name} : "
        f"{{ {one.name}({rows}, {amount.name} = ?{amount.name}) }}."
    )


def _tries(rule: FirstRule) -> str:
    """Say what to ask first: everybody, a no, and the numbers. No value of the source is in it."""
    key = rule.subject[1]
    nobody = {Kind.NUMBER: "-1", Kind.SYMBOL: '"nobody"'}.get(key.kind, "")
    some = "which there are" if rule.pointing is None else "who has any"
    lines = [(some, "query", f"{rule.name}(?{key.name})")]
    if nobody:
        lines.append(("a no, and what was looked at", "prove", f"{rule.name}({nobody})"))
    if rule.counted:
        cells = "?n" if rule.pointing is None else f"?{key.name}, ?n"
        lines.append(("the numbers", "query", f"{rule.counted}({cells})"))
    told = (f"//     constat {verb} {shlex.quote(goal)}    # {what}" for what, verb, goal in lines)
    return "\n// To ask first:\n//\n" + "\n".join(told) + "\n"


def _text(items: str, plan: str = "") -> str:
    written = _RULES.format(items=items, and_plan=plan)
    return format_text(written, "<draft>", []) or written


def first_case(rule: FirstRule) -> str:
    """Write a case: one value that has what the rule asks for, and one that has not."""
    target, key = rule.subject
    held, free = _example(key, 1), _example(key, 2)
    facts = [_fact(target, {key.name: held})]
    if rule.pointing is not None:
        one, column = rule.pointing
        # Of values that rows of one table share, one that no row has is the other example.
        facts = [] if one is target else [*facts, _fact(target, {key.name: free})]
        facts += [_fact(one, {column.name: held}, number) for number in (1, 2)]
    text = _CASE.format(
        facts="\n".join(facts),
        name=rule.name,
        proved=print_text(f"{rule.name}({held})"),
        disproved=print_text(f"{rule.name}({free})"),
    )
    return format_text(text, "<draft>", []) or text


def _fact(one: DraftedPredicate, chosen: Mapping[str, str], number: int = 1) -> str:
    cells = (
        f"{each.name} = {chosen.get(each.name) or _example(each, number)}" for each in one.columns
    )
    return f"{one.name}({', '.join(cells)})."


def _example(column: DraftedColumn, number: int) -> str:
    """Write a constant of the column's kind that nobody takes for data."""
    almost = column.decided.almost
    # Days are written as texts, so that both declarations are right.
    kind = almost if almost and column.kind is Kind.SYMBOL and not almost.numeric else column.kind
    match kind:
        case Kind.DATE:
            return f'"2001-01-0{number}"'
        case Kind.TIMESTAMP:
            return f'"2001-01-0{number}T00:00:00Z"'
        case Kind.BOOL:
            return '"true"' if number == 1 else '"false"'
        case Kind.DECIMAL | Kind.FLOAT:
            return f"{number}.0"
        case Kind.NUMBER | Kind.UNSIGNED:
            return str(number)
        case _:
            return f'"{"xy"[number - 1]}"'


def first_plan(rule: FirstRule) -> str:
    """Write a plan of one step over the rule that counts; nothing where none does."""
    if rule.pointing is None:
        return ""
    (one, _), (target, key) = rule.pointing, rule.subject
    alone = one is target
    several = plural_of(one)
    noun = key.name.replace("_", " ").strip() if alone else noun_of(target)
    number = identifier(several, [key.name, *(f"_{each}" for each in one.key)], "rows")
    name = identifier(f"{noun} with {several}", [rule.name, rule.counted], "found")
    columns = f"{name}({key.name}: {key.kind.value}, {number}: number)"
    return _PLAN.format(
        about=f"How many {several} has each {noun} that has any",
        path=PLAN,
        title=f"{several} of each {noun}",
        name=name,
        counted=rule.counted,
        outputs=json.dumps(columns),
        variables=f"?{key.name}, ?{number}",
        number=number,
    )


MOST_TABLES: Final = 30
_SECONDS: Final = 5.0
_MOST_ROWS: Final = 1_000
"""How many rows the first proof counts at most."""
_NARROW: Final = 3


@frozen
class Started:
    """A new project. `left_out` tables have no predicate yet; `variables` have to be set.

    `hints` say what keeps a column from being a key, and the command that lists such rows.
    """

    folder: Path
    files: tuple[str, ...]
    database: str
    tables: tuple[str, ...]
    left_out: int
    predicates: tuple[str, ...]
    goal: str
    result: Result
    variables: tuple[str, ...]
    hints: tuple[str, ...] = ()


def start(
    address: str,
    folder: Path,
    here: Path,
    *,
    name: str = "",
    tables: Sequence[str] = (),
    manifest: str = "",
) -> Started:
    """Begin a project; `here` is where relative paths begin, `tables` are those to draft.

    `manifest` is the path of a manifest of dbt that describes the tables.

    Raises `ConstatError`: C0851 where there is a project or a file already, C0852 for a database
    that nothing can be read of, C0840 for a table that is not there.
    """
    _require_new(folder)
    begun = _looked_into(beginning(address, folder, here), folder)
    begun = replace(begun, manifest=_manifest(manifest, folder, here))
    environment = {**os.environ, **begun.secrets}
    project = _project(begun, folder, name, environment)
    catalog = SchemaManager(project, CatalogIndex(None))
    with closing(catalog), catalog.loading_once() as kept:
        chosen, left_out, unread = _chosen(catalog, begun, tables)
        predicates = drafted(chosen, (), {}, begun.files, begun.remarks)
        rule, value = _with_value(kept, first_rules(predicates))
        texts = {
            SOURCES: draft_text(predicates, begun.name, dialect_of(project, begun.name)),
            FIRST: rule.text + _tries(rule),
            CASE: first_case(rule),
            PLAN: first_plan(rule),
            ".gitignore": IGNORED,
            CONFIGURATION: configuration(project.name, begun),
        }
        files = _write(folder, {name: text for name, text in texts.items() if text})
        goal, result = _tried(load_project(folder, environment=environment), rule, value, kept)
    return Started(
        folder,
        files,
        begun.name,
        tuple(one.table.path for one in predicates),
        left_out,
        (*map(signature_of, predicates), *_signatures(rule)),
        goal,
        result,
        tuple(begun.secrets),
        (*_hints(begun, predicates), *unread),
    )


def _project(begun: Beginning, folder: Path, name: str, environment: Mapping[str, str]) -> Project:
    """Give the project as its configuration will have it, without rules."""
    database = Database(
        begun.name,
        "files" if begun.files else begun.kind,
        expand(begun.address, environment),
        files=begun.files,
        manifest=begun.manifest,
    )
    return Project(folder.resolve(), name or folder.resolve().name, {begun.name: database})


def _manifest(named: str, folder: Path, here: Path) -> str:
    """Give the path of a manifest as `constat.yaml` names it; refuse one that cannot be read."""
    path = _within(here / named, folder) if named else ""
    if path and (problem := Manifest(path, folder).problem):
        hint = "`dbt build` or `dbt parse` writes `target/manifest.json`"
        raise _starting_refused(f"the manifest cannot be read: {problem}", hint)
    return path


def _looked_into(begun: Beginning, folder: Path) -> Beginning:
    """Find by the first rows of files which texts mean no value, and how numbers are spelled."""
    if not begun.files:
        return begun
    files, doubts = dict(begun.files), list(begun.doubts)
    shown: list[str] = []
    remarks: dict[str, tuple[str, ...]] = {}
    database = Database(begun.name, "files", Expanded(""), files=begun.files)
    project = Project(folder.resolve(), begun.name, {begun.name: database})
    looking = first_rows(database, folder.resolve(), project.catalog.seconds, LOOKED_AT)
    with closing(looking) as connection:
        connection.begin()
        for name, setting in begun.files.items():
            if setting.is_typed:
                continue
            try:
                cells = first_cells(connection, name, project.catalog.seconds)
            except (SourceFailureError, QueryMistakeError):
                # The catalog tells why nothing can be read.
                continue
            files[name], found = guess_cells(setting, cells)
            odd = list(odd_cells(files[name], cells))
            remarks[name] = (*found, *(said for said, _ in odd))
            if setting.encoding in GUESSED_ENCODINGS:
                other = next(one for one in GUESSED_ENCODINGS if one != setting.encoding)
                doubts.append(
                    f"{name} is not UTF-8, and is read as {setting.encoding}: where letters look"
                    f" wrong, write `encoding: {other}` or what it is beside `file`"
                )
            doubts += (f"{name}: {one}" for one in remarks[name])
            shown += (f"{name}: {said}{value}" for said, value in odd)
    return replace(begun, files=files, doubts=tuple(doubts), remarks=remarks, shown=tuple(shown))


def _hints(begun: Beginning, predicates: Sequence[DraftedPredicate]) -> Iterator[str]:
    """Say how files were understood, and which predicate has no key because of its rows."""
    for table, files in begun.files.items():
        yield from (f"{table}: {one}" for one in understood(files))
    longer = [one for doubt in begun.doubts for one in begun.shown if one.startswith(doubt)]
    yield from (one for one in begun.doubts if not any(each.startswith(one) for each in longer))
    yield from longer
    yield from hints_of(predicates, of_files=bool(begun.files), shown=True)


_API: Final = """\
project: {project}
rules: rules
apis:
  {name}:
{lines}
    # Without these each row is the API's word, and what it does not say stays unknown.
    # authority: true
    # auth: {{token: "${{TOKEN}}"}}
"""


@frozen
class StartedApi:
    """A new project over an API; `left_out` counts operations that have no predicate."""

    folder: Path
    files: tuple[str, ...]
    api: str
    operations: tuple[str, ...]
    left_out: int
    predicates: tuple[str, ...]
    variables: tuple[str, ...]


def start_api(
    written: str,
    folder: Path,
    here: Path,
    *,
    graphql: bool = False,
    name: str = "",
    operations: Sequence[str] = (),
) -> StartedApi:
    """Begin a project with an API: the address or file of its description, or one of GraphQL.

    Raises `ConstatError`: C0851 where there is a project or a file already, C0844 for an API that
    does not describe itself, C0572 for an operation that is not there.
    """
    _require_new(folder)
    texts: dict[str, str] = {}
    secrets: dict[str, str] = {}
    address = written
    if "://" in written:
        address = _SECRET.sub(lambda one: _hidden(one[1], one[2], secrets), written)
        key = "url" if graphql else "spec_url"
        host = urlsplit(written).hostname or ""
        called = _api_name(host.removeprefix("www.").partition(".")[0])
    else:
        path = here / written
        try:
            texts[path.name] = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or type(problem).__name__
            raise _starting_refused(f"the description cannot be read: {why}") from None
        key, address, host = "spec_file", path.name, ""
        called = _api_name(path.stem)
    lines = [f"    type: {'graphql' if graphql else 'openapi'}"]
    lines.append(f"    {key}: {json.dumps(address, ensure_ascii=False)}")
    if host in {"localhost", "127.0.0.1", "::1"}:
        lines.append("    private: true")
    project_name = json.dumps(name or folder.resolve().name, ensure_ascii=False)
    texts[CONFIGURATION] = _API.format(project=project_name, name=called, lines="\n".join(lines))
    texts[".gitignore"] = IGNORED
    begun = not (folder / "rules").exists()
    files = _write(folder, texts)
    try:
        (folder / "rules").mkdir(exist_ok=True)
        environment = {**os.environ, **secrets}
        project = load_project(folder, environment=environment)
        return _drafted_api(project, called, files, operations, tuple(secrets))
    except ConstatError:
        _taken_back(folder, (*files, *(["rules"] if begun else [])))
        raise


def _taken_back(folder: Path, made: Sequence[str]) -> None:
    """Remove files that were written, and a folder that was made and is empty."""
    for one in made:
        with suppress(OSError):
            path = folder / one
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


def _api_name(called: str) -> str:
    """Give a name for an API that no tier has."""
    found = identifier(called, (), "an_api")
    return f"{found}_api" if found in NO_NAMES_OF_SOURCES else found


def _drafted_api(
    project: Project,
    api: str,
    files: tuple[str, ...],
    wanted: Sequence[str],
    variables: tuple[str, ...],
) -> StartedApi:
    """Draft declarations for the operations that are asked for, or for the first that read."""
    from constat.catalog.schema.operations import draft_operations  # noqa: PLC0415  loaded when it is used

    with closing(SchemaManager(project, CatalogIndex(None))) as catalog:
        (found,) = catalog.databases()
        if found.failure:
            message = f"API {api}: {found.failure}"
            raise ConstatError([Diagnostic("C0844", message)])
        tables = catalog.all_tables()
    asked = [one.name for one in tables if not one.problems]
    chosen = list(wanted) or asked[:MOST_TABLES]
    if not chosen:
        raise _starting_refused(f"`{api}` has no operation that only reads")
    draft = draft_operations(project, project.apis[api], chosen, ())
    files = (*files, *_write(project.folder, {SOURCES: draft.text}))
    left = len(asked) - len(chosen)
    names = tuple(f"{api}.{one}" for one in chosen)
    return StartedApi(project.folder, files, api, names, max(left, 0), draft.signatures, variables)


def _hidden(before: str, secret: str, found: dict[str, str]) -> str:
    """Put a variable in the place of a secret of an address."""
    if _VARIABLE.match(secret):
        return before + secret
    variable = "API_KEY" if not found else f"API_KEY_{len(found) + 1}"
    found[variable] = secret
    return f"{before}${{{variable}}}"


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
) -> tuple[list[Checked], int, list[str]]:
    """Look at the tables, those first that are related to most others; say which cannot be read."""
    (found,) = catalog.databases()
    if found.failure:
        raise _unreadable(catalog.project, found.failure)
    named = list(wanted) or _by_links(catalog)
    usable: list[Checked] = []
    problems: list[ConstatError] = []
    for name in named[:MOST_TABLES]:
        try:
            one = catalog.check(name, thorough=False)
        except ConstatError as problem:
            problems.append(problem)
            continue
        if any(column.kind for column in one.columns):
            usable.append(one)
    if problems and (wanted or not usable):
        raise _with_configuration(problems[0], begun)
    if not usable:
        raise _starting_refused(f"`{begun.name}` holds no table with a column that can be read")
    unread = [f"left out: {one.message}" for problem in problems for one in problem.diagnostics]
    unread += [f"left out: {one}" for one in found.problems if begun.files]
    unread += [one for one in found.problems if begun.manifest and not begun.files]
    unread += [
        f"left out: {table.path}: {one}"
        for table in catalog.all_tables()
        if begun.files and not table.columns
        for one in table.problems
    ]
    return usable, found.tables - len(usable), unread


def _with_configuration(problem: ConstatError, begun: Beginning) -> ConstatError:
    """Give the configuration to begin with where nothing can be written: a file needs an edit."""
    if not begun.files:
        return problem
    table, setting = next(iter(begun.files.items()))
    if any("`footer: 0`" in one.message for one in problem.diagnostics):
        setting = replace(setting, footer=0)
    first, *lines = _entry("file", setting)
    said = ", ".join(line.strip() for line in lines or (first,))
    entry = f"{{{begun.name}: {{files: {{{table}: {{{said}}}}}}}}}"
    hint = (
        f"write `databases: {entry}` and `rules: [rules]` into {CONFIGURATION}, then `mkdir -p"
        f" rules && constat catalog draft {table} --output {SOURCES}`"
    )
    return ConstatError([replace(one, help=hint) for one in problem.diagnostics])


def _by_links(catalog: SchemaManager) -> list[str]:
    tables = list(catalog.all_tables())
    links = dict.fromkeys((table.label for table in tables), 0)
    for table in tables:
        for one in table.relationships:
            links[table.label] += 1
            links[one.target] = links.get(one.target, 0) + 1
    readable = [one for one in tables if one.columns]
    # A view is drafted where it is asked for, or where there is nothing else. Where there are
    # models, they are what somebody made for others to read.
    models = [one for one in readable if one.kind == MODEL]
    stored = models or [one for one in readable if one.kind != "view"] or readable
    stored.sort(key=lambda one: (-links[one.label], one.label))
    return [one.path for one in stored]


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


def _with_value(project: Project, rules: Iterator[FirstRule]) -> tuple[FirstRule, Slot]:
    """Choose the first rules that a value has few rows for; a variable where none is found."""
    (database,) = project.databases.values()
    first: FirstRule | None = None
    deadline = monotonic() + _SECONDS
    for rule in rules:
        first = first or rule
        try:
            with reading(database, project) as connection:
                rows = ask(connection, _first(rule), max(deadline - monotonic(), 0.5))
            if rows and (rule.pointing is None or int(str(rows[0][1])) <= _MOST_ROWS):
                return rule, read_cell(rows[0][0], rule.subject[1].kind)
        except (SourceFailureError, QueryMistakeError, ValueError):
            # Then the goal is about another table, or has a variable: slower, and as good.
            continue
    if first is None:
        raise _starting_refused("there is no table to write a rule about")
    return first, OPEN


def _first(rule: FirstRule) -> exp.Select:
    """Ask for a value; of a relationship for the one with the fewest rows, and their number."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    predicate, column = rule.subject
    key = column_of(column.decided.column.name, "t")
    chosen = as_text(key) if column.cast else key
    if column.numbers_lines:
        chosen = exp.Add(this=key.copy(), expression=exp.Literal.number(1))
    source = source_of(predicate.table).as_("t", quoted=True)
    if rule.pointing is None:
        return exp.select(chosen).from_(source).where(key.copy().is_(exp.null()).not_()).limit(1)
    other, pointing = rule.pointing
    pointer = column_of(pointing.decided.column.name, "u")
    number = exp.Count(this=exp.Star())
    grouped = (
        exp.select(exp.alias_(pointer, "k"), exp.alias_(number, "n"))
        .from_(source_of(other.table).as_("u", quoted=True))
        .group_by(pointer.copy())
    )
    if other is predicate:
        grouped = grouped.having(exp.GT(this=number.copy(), expression=exp.Literal.number(1)))
    groups = grouped.subquery("g")
    joined = exp.EQ(this=key.copy(), expression=exp.column("k", "g"))
    query = exp.select(chosen, exp.column("n", "g")).from_(source).join(groups, on=joined)
    return query.order_by(exp.column("n", "g"), key.copy()).limit(1)


def _tried(project: Project, rule: FirstRule, value: Slot, read: Project) -> tuple[str, Result]:
    """Prove the first goal; what is loaded of files already is not loaded again."""
    databases = {
        name: replace(one, opened=read.databases[name].opened)
        for name, one in project.databases.items()
    }
    with Session(replace(project, databases=databases)) as session:
        goal = print_row(session.program.program.predicates[rule.name], (value,))
        return goal, session.prove(goal)


def _signatures(rule: FirstRule) -> Iterator[str]:
    column = rule.subject[1]
    declared = f"{column.name}: {column.kind.value}"
    if rule.counted:
        yield f"{rule.counted}({'' if rule.pointing is None else f'{declared}, '}number)"
    yield f"{rule.name}({declared})"


def _unreadable(project: Project, failure: str) -> ConstatError:
    """Say why a database was not read, with the edit that whoever refused it names."""
    (database,) = project.databases.values()
    try:
        open_connection(database, project.folder, _SECONDS).close()
    except ConstatError as problem:
        return problem
    except SourceFailureError:
        hint = (
            "look whether the server runs, and whether host, port, name, account and password in"
            " the address are right; then begin again"
        )
        return _starting_refused(f"the database could not be read: {failure}", hint)
    return _starting_refused(f"the database could not be read: {failure}")


def _starting_refused(
    message: str, hint: str = "mend the address, or name another database"
) -> ConstatError:
    return ConstatError([Diagnostic("C0852", message, help=hint)])


EXAMPLES: Final = ("access", "grants", "lending", "ownership", "vip")
"""The examples that `init` can begin a project with, by the names of their folders."""
_LIBRARIES: Final = "../../rules/"
_OWN_LIBRARIES: Final = "rules/"
_KINDS_COPIED: Final = frozenset({".dl", ".yaml", ".py", ".md", ".json", ".jsonl", ".csv"})
FIRST_GOALS: Final = MappingProxyType(
    {
        "access": "permitted(chen, approve, payment)",
        "grants": "granted(anna, heating)",
        "lending": "approved(A101)",
        "ownership": "ultimate_controller(Cedar, ?who)",
        "vip": "is_vip(C001)",
    }
)


def start_example(name: str, folder: Path) -> tuple[str, ...]:
    """Copy an example with its library into a folder and make its database; name the files.

    Raises `ConstatError` (C0853) for a name that is none, C0851 where a project is there already.
    """
    home = examples_folder()
    if name not in EXAMPLES or home is None:
        raise ConstatError([_no_example(name, home)])
    _require_new(folder)
    texts: dict[str, str] = {}
    for path in sorted((home / "examples" / name).rglob("*")):
        if path.is_file() and path.suffix in _KINDS_COPIED:
            texts[str(path.relative_to(home / "examples" / name))] = path.read_text("utf-8")
    written = texts[CONFIGURATION]
    for library in sorted((home / "rules").iterdir()):
        if f"{_LIBRARIES}{library.name}" in written:
            for path in sorted(library.rglob("*.*")):
                if path.is_file() and path.suffix in _KINDS_COPIED:
                    texts[str(path.relative_to(home))] = path.read_text("utf-8")
    texts[CONFIGURATION] = written.replace(_LIBRARIES, _OWN_LIBRARIES)
    # The configuration comes last: without it there is no project yet.
    ordered = {one: text for one, text in texts.items() if one != CONFIGURATION}
    files = _write(folder, {**ordered, ".gitignore": IGNORED, CONFIGURATION: texts[CONFIGURATION]})
    maker = folder / "make_data.py"
    if maker.is_file():
        with redirect_stdout(StringIO()), _arguments(str(maker)):
            runpy.run_path(str(maker), run_name="__main__")
    return files


def examples_folder(package: Path = Path(__file__).parents[1]) -> Path | None:
    """Return the folder with `examples` and `rules`, of an installed package or a checkout."""
    homes = (package / "shipped", package.parent)
    return next((one for one in homes if (one / "examples" / "vip").is_dir()), None)


@contextmanager
def _arguments(program: str) -> Iterator[None]:
    before, sys.argv = sys.argv, [program]
    try:
        yield
    finally:
        sys.argv = before


def _no_example(name: str, home: Path | None) -> Diagnostic:
    if home is None:
        message, hint = "the examples are missing", "install Constat again; the wheel has them"
    else:
        near = nearest(name, EXAMPLES)
        message = f"there is no example `{name[:80]}`"
        hint = f"write `{near}`" if near else "write one of " + ", ".join(EXAMPLES)
    return Diagnostic("C0853", message, help=hint)
