"""The words of a project for completion: predicates, rule ids, databases, codes.

In: the name of a parameter and what was typed of it. Out: what fits, or `None` where the parameter
takes no such word. Invariant: rule files are only searched for declarations, not read as rules: a
file with a mistake still offers the rest. Files are bounded as in loading.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.cli.completing import Offer
from constat.syntax.printing import MOST_UNNAMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.project import Project

_DECLARED: Final = re.compile(r"^[ \t]*\.decl\s+([A-Za-z]\w*)\s*\(([^()]*)\)", re.MULTILINE)
_CONSTRAINT: Final = re.compile(r"^[ \t]*\.constraint\s+([A-Za-z]\w*)\s*:", re.MULTILINE)
_IDENTIFIER: Final = re.compile(r"^[ \t]*@\[\s*id\s*=\s*\"?([\w.:-]+)", re.MULTILINE)
_LAST_NAME: Final = re.compile(r"(?:[A-Za-z]\w*)?\Z")
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[][(),]')
_ROLES: Final = ("engine", "approver", "reviewer", "auditor", "source")
_MOST_BYTES: Final = 4 << 20
_MOST_FILES: Final = 500


def known(
    name: str, current: str, *, project: str | None, given: tuple[str, ...]
) -> Iterable[Offer] | None:
    """Give what fits a parameter of this name."""
    match name:
        case "goal" | "fact" | "query" | "add" | "remove":
            return goals(current, declarations(project))
        case "predicate" | "predicates" | "abducible" | "removable":
            return [
                Offer("plain", one, ", ".join(columns)) for one, columns in declarations(project)
            ]
        case "names" | "rule" | "rule_id" | "rule_ids" | "id" | "ids" | "drafts":
            return _rules(name, project)
        case (
            "database"
            | "databases"
            | "source_name"
            | "retention"
            | "role"
            | "roles"
            | "exploration"
            | "table"
            | "tables"
        ):
            return [Offer("plain", one) for one in _configured(name, _project(project))]
        case "code":
            entries = importlib.import_module("constat.diagnostics.catalogue").catalogue()
            return [Offer("plain", code, entry.title) for code, entry in entries.items()]
        case "words":
            return _schemas(given)
        case "topic":
            topics = importlib.import_module("constat.cli.topics").TOPICS
            return [Offer("plain", one, title) for one, title in topics]
        case _:
            return None


def _tables(project: Project) -> Iterable[str]:
    """Give the tables that the catalog has kept; no source is opened for a completion."""
    path = project.state / "catalog.sqlite"
    if not path.is_file():
        return ()
    index = importlib.import_module("constat.store.catalog_index").CatalogIndex(path)
    try:
        return [f"{one.source}.{one.label}" for one in index.tables()]
    finally:
        index.close()


def _configured(name: str, project: Project) -> Iterable[str]:
    """Give the words of `constat.yaml`, or of the catalog, for a parameter."""
    if name.startswith("table"):
        return _tables(project)
    if name == "exploration":
        keeping = importlib.import_module("constat.store.explored")
        return [one.identity for one in reversed(keeping.ExploredStore(project.state).list())]
    if name == "retention":
        return ("kept", *project.log.classes)
    if name.startswith("role"):
        return dict.fromkeys([*(r for one in project.keys.values() for r in one.roles), *_ROLES])
    return project.databases


def goals(current: str, declared: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[Offer]:
    """Offer atoms with a variable for each column, or the rest of an atom."""
    open_atom = typed_arguments(current)
    if open_atom is not None:
        place, written = open_atom
        yield from _rest(current, current[:place], written, dict(declared))
        return
    before = current[: _last_name(current)]
    if before.rstrip() and not before.rstrip().endswith((",", "!")):
        return
    for name, columns in declared:
        yield Offer("plain", f"{before}{whole_atom(name, columns)}", ", ".join(columns))


def whole_atom(name: str, columns: Sequence[str]) -> str:
    """Write an atom with a variable for each column, with names where there are many."""
    named = len(columns) > MOST_UNNAMED
    parts = (f"{column} = ?{column}" if named else f"?{column}" for column in columns)
    return f"{name}({', '.join(parts)})"


def columns_by_name(columns: Sequence[str], written: Sequence[str]) -> list[str] | None:
    """Name the columns that can be written next by name; `None` where places are written.

    `written` are the arguments so far, the last one unfinished.
    """
    names = [text.partition("=")[0].strip() for text in written if "=" in text]
    begun = written[-1].strip()
    left = [one for one in columns if one not in names and one.startswith(begun)]
    first = len(written) == 1 and len(columns) > MOST_UNNAMED and left
    if not names and not first:
        return None
    return [] if "=" in begun else left


def typed_arguments(text: str) -> tuple[int, list[str]] | None:
    """Where the bracket of the atom stands that is not closed yet, and its arguments so far.

    Inside a structure or a text there are none, for nothing can be offered there.
    """
    openers: list[int] = []
    commas: list[int] = []
    for found in _PIECE.finditer(text):
        if found[0] in {"(", "["}:
            openers.append(found.start())
        elif found[0] in {")", "]"}:
            del openers[-1:]
        elif found[0] == "," and len(openers) == 1:
            commas.append(found.start())
        if not openers:
            commas.clear()
    if not openers:
        return None
    starts = [openers[0], *commas]
    ends = [*commas, len(text)]
    parts = [text[start + 1 : end] for start, end in zip(starts, ends, strict=True)]
    return openers[0], parts if len(openers) == 1 else []


def _last_name(text: str) -> int:
    found = _LAST_NAME.search(text)
    return found.start() if found else len(text)


def _rest(
    current: str, opened: str, written: list[str], declared: dict[str, tuple[str, ...]]
) -> Iterator[Offer]:
    """Offer variables for the columns that an atom still lacks."""
    name = opened[_last_name(opened) :]
    columns = declared.get(name, ())
    if not 1 <= len(written) <= len(columns):
        return
    done, last = len(written) - 1, written[-1]
    start = current[: len(current) - len(last)]
    gap = " " if done else ""
    named = columns_by_name(columns, written)
    if named is not None:
        whole = [] if done else [whole_atom(name, columns).partition("(")[2]]
        for text in (*whole, *(f"{column} = ?{column}" for column in named)):
            yield Offer("plain", f"{start}{gap}{text}")
        if "=" in last:
            yield Offer("plain", f"{current.rstrip()})")
        return
    wanted = [f"?{column}" for column in columns[done:]]
    bare = last.strip()
    if bare and not wanted[0].startswith(bare):
        # A value was typed: only what comes behind it is missing.
        wanted = wanted[1:]
        yield Offer("plain", ", ".join([current.rstrip(), *wanted]) + ")")
        return
    yield Offer("plain", f"{start}{gap}{', '.join(wanted)})")


def declarations(project: str | None) -> list[tuple[str, tuple[str, ...]]]:
    """List the declared predicates of a project with their columns, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for text in _texts(project):
        for name, columns in _DECLARED.findall(text):
            names = (column.partition(":")[0].strip() for column in columns.split(","))
            found.setdefault(name, tuple(one for one in names if one))
    return sorted(found.items())


def rule_ids(project: str | None) -> list[str]:
    """List the ids that rules of a project are given."""
    return sorted({one for text in _texts(project) for one in _IDENTIFIER.findall(text)})


def _rules(name: str, folder: str | None) -> list[Offer]:
    """Give the rules of files, the drafts that wait, both, or the constraints (`names`)."""
    if name == "names":
        found = (_CONSTRAINT.findall(text) for text in _texts(folder))
        return [Offer("plain", one) for names in found for one in names]
    ids = [] if name == "drafts" else [Offer("plain", one) for one in rule_ids(folder)]
    return [*(_drafts(folder) if name in {"drafts", "rule_id"} else ()), *ids]


def _drafts(folder: str | None) -> list[Offer]:
    """Offer the drafts that wait for a decision, with the question behind each."""
    drafts = importlib.import_module("constat.store.drafts")
    waiting = drafts.DraftStore(_project(folder).state).list("proposed")
    return [Offer("plain", one.short, " ".join(one.purpose.split())) for one in waiting]


def _project(folder: str | None) -> Project:
    projects = importlib.import_module("constat.project")
    start = None if folder is None else Path(folder).expanduser()
    found: Project = projects.load_project(projects.find_project(start))
    return found


def _texts(folder: str | None) -> Iterator[str]:
    project = _project(folder)
    files = (
        file
        for path in project.rules
        for file in (sorted(path.rglob("*.dl")) if path.is_dir() else [path])
    )
    for _, file in zip(range(_MOST_FILES), dict.fromkeys(files), strict=False):
        if file.stat().st_size <= _MOST_BYTES:
            yield file.read_text(encoding="utf-8", errors="replace")


def _schemas(given: tuple[str, ...]) -> list[Offer]:
    schema = importlib.import_module("constat.cli.schema")
    start = "".join(f"{word}-" for word in given)
    names = [name.removeprefix(start) for name in schema.schema_names() if name.startswith(start)]
    return [Offer("plain", name) for name in names]
