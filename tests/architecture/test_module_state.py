"""No module keeps mutable state: what changes is built by the session and handed down."""

from __future__ import annotations

import ast
import collections
import importlib
import threading
import types
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import Source, folders, read, shown, sources_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MUTABLE_TYPES = (
    list,
    dict,
    set,
    bytearray,
    collections.deque,
    collections.ChainMap,
    threading.local,
    types.GeneratorType,
)

_MUTABLE_DISPLAYS = (
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
)
_MUTABLE_MAKERS = frozenset(
    {
        "BytesIO",
        "ChainMap",
        "ContextVar",
        "Counter",
        "OrderedDict",
        "Queue",
        "Random",
        "SimpleQueue",
        "StringIO",
        "WeakKeyDictionary",
        "WeakSet",
        "WeakValueDictionary",
        "bytearray",
        "count",
        "cycle",
        "defaultdict",
        "deque",
        "dict",
        "iter",
        "list",
        "local",
        "open",
        "set",
    }
)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run on import, also those inside ``if``, ``try`` and classes."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from statements(getattr(statement, part, []))


def is_mutable(value: ast.expr | None) -> bool:
    match value:
        case ast.Tuple(elts=elements):
            return any(map(is_mutable, elements))
        case ast.IfExp(body=yes, orelse=no):
            return is_mutable(yes) or is_mutable(no)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _MUTABLE_MAKERS
        case _:
            return isinstance(value, _MUTABLE_DISPLAYS)


def mutable_globals(source: Source) -> Iterator[str]:
    for statement in statements(source.tree.body):
        match statement:
            case ast.Assign(targets=targets, value=value):
                names = [ast.unparse(target) for target in targets]
            case ast.AnnAssign(target=target, value=value):
                names = [ast.unparse(target)]
            case ast.AugAssign(target=target):
                yield f"line {statement.lineno}: {ast.unparse(target)} is changed in place"
                continue
            case _:
                continue
        if is_mutable(value) and not all(name.startswith("__") for name in names):
            yield f"line {statement.lineno}: {', '.join(names)}"


def unbounded_caches(source: Source) -> Iterator[str]:
    """Yield functions with arguments whose results are kept without a limit."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and (node.args.args or node.args.kwonlyargs):
            for decorator in node.decorator_list:
                shown = ast.unparse(decorator).removeprefix("functools.")
                if shown == "cache" or shown.replace(" ", "") in {
                    "lru_cache(maxsize=None)",
                    "lru_cache(None)",
                }:
                    yield f"line {node.lineno}: {node.name} (@{shown})"


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_mutable_global_is_written(folder: Path) -> None:
    for source in sources_in(folder):
        assert list(mutable_globals(source)) == []


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_cache_grows_without_limit(folder: Path) -> None:
    for source in sources_in(folder):
        assert list(unbounded_caches(source)) == []


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_mutable_global_exists_after_import(folder: Path) -> None:
    for source in sources_in(folder):
        # The syntax does not show what a call returns; the loaded module does.
        module = importlib.import_module(source.name)
        found = [
            name
            for name, value in vars(module).items()
            if isinstance(value, MUTABLE_TYPES) and not name.startswith("__")
        ]
        assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("seen = {}\n", 1),
        ("seen: dict[str, int] = dict()\n", 1),
        ("if True:\n    seen = ([],)\n", 1),
        ("class A:\n    seen = set()\n", 1),
        ("names = frozenset({'a'})\n", 0),
        ("table = MappingProxyType({'a': 1})\n", 0),
        ("__all__ = ['a']\n", 0),
        ("def f():\n    seen = []\n", 0),
    ],
)
def test_the_search_for_mutable_globals_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int
) -> None:
    monkeypatch.setattr("tests.architecture.sources.ROOT", tmp_path)
    path = tmp_path / "sample.py"
    path.write_text(text, encoding="utf-8")
    assert len(list(mutable_globals(read(path)))) == count
