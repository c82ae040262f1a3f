"""Look at everything that a project needs, and say what is wrong with an edit that mends it.

In: a folder. Out: findings, in the order in which one rests on the other. Invariants: nothing is
changed; what cannot be looked at because of an earlier error is left out; no finding shows an
address, a password, a key or a value. Example: a database file that is not there is an error of
`database sales`, and the queries over it are not looked at.
"""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import sys
from typing import TYPE_CHECKING, Final

from constat import __version__
from constat.diagnostics import ConstatError, Severity
from constat.library.loading import Reading, read_rules
from constat.project import find_project, load_project
from constat.session.diagnosing_models import model_findings
from constat.session.diagnosing_sandbox import sandbox_findings
from constat.session.diagnosing_sources import database_findings
from constat.session.diagnosing_state import key_findings, state_findings
from constat.session.diagnosing_values import ERROR, NOTE, OK, WARNING, Finding, counted, told
from constat.tiers.declarations import check_declarations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.project import Project

_OLDEST: Final = (3, 11)
_NEWEST: Final = (3, 13)
_LIBRARIES: Final = (
    *("click", "duckdb", "networkx", "numpy", "pandas", "sqlalchemy", "sqlglot", "yaml"),
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
    yield from model_findings(project, os.environ)
    yield from sandbox_findings(project)


def _versions() -> Iterator[Finding]:
    version = sys.version_info[:2]
    python = ".".join(map(str, sys.version_info[:3]))
    said = f"constat {__version__}, Python {python}, SQLite {sqlite3.sqlite_version}"
    if not _OLDEST <= version <= _NEWEST:
        hint = "use Python 3.11, 3.12 or 3.13"
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
