"""Each package lists its public names: all of them, once, in order."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import PACKAGE, ROOT, Source, imports, read

if TYPE_CHECKING:
    from collections.abc import Iterator

RUFF = (sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache")
PACKAGES = [read(path) for path in sorted(PACKAGE.rglob("__init__.py"))]


def listed_names(source: Source) -> list[str]:
    for statement in source.tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                return list(ast.literal_eval(value))
    return []


def bound_names(source: Source) -> Iterator[str]:
    """Yield the public names that a package defines, or imports from a module of Constat."""
    for imported in imports(source):
        if imported.top == "constat" and imported.symbol and not imported.in_function:
            yield imported.symbol
    for statement in source.tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


@pytest.mark.parametrize("source", PACKAGES, ids=lambda source: source.shown)
def test_all_is_complete_and_without_repetition(source: Source) -> None:
    names = listed_names(source)
    assert len(names) == len(set(names))
    public = {name for name in bound_names(source) if not name.startswith("_")}
    assert public - set(names) == set(), "public, but not in __all__"
    known = {*bound_names(source), *submodules(source)}
    assert set(names) - known == set(), "in __all__, but not bound"


def submodules(source: Source) -> Iterator[str]:
    for path in source.path.parent.iterdir():
        if path.suffix == ".py" or (path / "__init__.py").exists():
            yield path.stem


def test_all_is_sorted() -> None:
    # Ruff knows the order (constants, classes, functions); noqa comments do not count here.
    outcome = subprocess.run(
        [*RUFF, "--ignore-noqa", "--select", "RUF022", str(PACKAGE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout
