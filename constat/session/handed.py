"""What a program hands to a session: rules as text, and frames as sources.

In: the arguments of `Session`. Out: a `Project` like one that was read from a folder. Invariants:
a frame is referred to and never copied here; what a session keeps that has no project of its own
lies in a folder of its own, which goes with the session.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation.processor import finalize_here
from constat.library import rule_files
from constat.logic import Predicate, Program, Rule, TypeDefinition
from constat.project import Database, Expanded, Project
from constat.project.settings import Frame
from constat.session.asked_goals import check_spelling
from constat.syntax import print_program

if TYPE_CHECKING:
    from collections.abc import Mapping

FRAMES: Final = "frames"
"""The name of the source that frames are."""

_RULES: Final = "rules.dl"
_MOST_ROWS: Final = 1 << 40
_LONGEST_PATH: Final = 1_000


Rules = Path | str | Program | Sequence[Rule | Predicate | TypeDefinition]
"""Rules as text, the path of a file or folder of them, or built of `constat.logic`."""


def is_text(rules: Path | str) -> bool:
    """Whether rules are given as text: a path has no line end and no parenthesis."""
    return isinstance(rules, str) and bool({"\n", "("} & set(rules) or not rules.strip())


def _as_text(rules: Rules) -> Path | str:
    """Write rules that a program built as text; raises `ConstatError` where none can say them."""
    if isinstance(rules, Path | str):
        return rules
    program = rules if isinstance(rules, Program) else _program(rules)
    check_spelling([program])
    return print_program(program)


def _program(statements: Sequence[Rule | Predicate | TypeDefinition]) -> Program:
    """Collect rules and declarations; rules without an id of their own are numbered."""
    predicates = {one.name: one for one in statements if isinstance(one, Predicate)}
    types = {one.name: one for one in statements if isinstance(one, TypeDefinition)}
    counts: Counter[str] = Counter()
    rules = []
    for one in statements:
        if isinstance(one, Rule):
            name = one.head.predicate
            counts[name] += 1
            numbered = one.id == f"{name}.1"
            rules.append(replace(one, id=f"{name}.{counts[name]}") if numbered else one)
    return Program(predicates, tuple(rules), types)


class HandedOver:
    """Rules and frames that a program hands to a session."""

    def __init__(self, rules: Rules | None, facts: Mapping[str, object] | None) -> None:
        self._rules = None if rules is None else _as_text(rules)
        self._frames = dict(facts or {})
        self._folder: Path | None = None

    @property
    def replaces_project(self) -> bool:
        """Whether there are rules, so that no project has to be found."""
        return self._rules is not None

    def project(self, base: Project | None) -> Project:
        """Give a project with these rules and frames beside its own; raises `ConstatError`."""
        folder = self._own_folder()
        if base is None:
            base = Project(folder, "session", state=folder / ".constat", config_name="the defaults")
        files, roots = self._rule_files(folder)
        databases = dict(base.databases)
        if self._frames:
            name = FRAMES
            while name in databases:
                name += "_"
            databases[name] = _database(name, self._frames)
        return replace(
            base,
            rules=(*base.rules, *files),
            rule_roots=(*base.rule_roots, *roots),
            databases=databases,
        )

    def _own_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="constat-")).resolve()
            finalize_here(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _rule_files(self, folder: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Give the files of the rules and the folders that they may include from."""
        rules = self._rules
        if rules is None:
            return (), ()
        if isinstance(rules, str) and is_text(rules):
            file = folder / _RULES
            file.write_text(rules, encoding="utf-8")
            return (file,), (folder,)
        path = Path(rules)
        diagnostics: list[Diagnostic] = []
        found = rule_files([path], diagnostics) if len(str(path)) < _LONGEST_PATH else ()
        if diagnostics or not found:
            raise ConstatError(diagnostics or [Diagnostic("C0405", "the path is too long")])
        root = path if path.is_dir() else path.parent
        return found, (root.resolve(),)


def _database(name: str, frames: Mapping[str, object]) -> Database:
    from constat.catalog.frames import describe_frame  # noqa: PLC0415  loaded when it is used

    described = {one: Frame(value, describe_frame(one, value)) for one, value in frames.items()}
    # What the program holds already is not bounded again.
    return Database(name, FRAMES, Expanded(""), rows=_MOST_ROWS, frames=described)
