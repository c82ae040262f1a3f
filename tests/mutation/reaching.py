"""Which breaks a piece of work can meet at all: what of some packages it runs.

In: packages, and pieces of work. Out: for each break of their modules the pieces that run its place
and, where the break fixes a condition, find it the other way. What runs while a module is imported
is run by all. A copy with the break does exactly the same in every other piece.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from importlib import import_module
from inspect import CO_OPTIMIZED
from itertools import islice
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Final, cast

from tests.mutation.copies import Replacing, folder_of, forget
from tests.mutation.operators import Change, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

_RAN: Final = "__constat_ran__"
_HELD: Final = "__constat_held__"
_BLOCKS: Final = ("body", "orelse", "finalbody")

Key = tuple[str, int, bool | None]
"""A module, a node's place in a walk of it and, for a condition, what it came to."""


@dataclass(frozen=True, slots=True)
class Break:
    """One way to break a module in one place; `number` is its place among the module's breaks."""

    package: str
    path: Path
    number: int
    line: int
    what: str
    key: Key | None
    """What has to be run for the break to matter; nothing: it matters always."""
    node: ast.AST = field(compare=False, repr=False)
    change: Change = field(compare=False, repr=False)
    tree: ast.Module = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """A name that no other break of the same code has."""
        return f"{self.package}.{self.path.stem}:{self.number}"

    def put(self, holders: Sequence[str]) -> None:
        """Break what runs in this process; where it is no function, import `holders` anew."""
        if not self.patched():
            forget(*holders)
            name = f"{self.package}.{self.path.stem}"
            code = compile(self.tree, str(self.path), "exec")
            sys.meta_path.insert(0, Replacing(name, code))

    def text(self) -> str:
        """Give the text of the broken module."""
        broken = next(islice(breaks_of(self.package, self.path), self.number, None))
        broken.change.make(broken.node)
        return ast.unparse(ast.fix_missing_locations(broken.tree))

    def patched(self) -> bool:
        """Give the function around the break its new code, if there is one."""
        self.change.make(self.node)
        ast.fix_missing_locations(self.tree)
        names: list[str] = []
        around: list[ast.AST] = [self.tree]
        for node in self._chain():
            around.append(node)
            names.append(getattr(node, "name", ""))
            if isinstance(node, ast.FunctionDef):
                break
            if not isinstance(node, ast.ClassDef):
                return False
        function = _function(import_module(f"{self.package}.{self.path.stem}"), names)
        if function is None:
            return False
        code = _code(cast("ast.stmt", around[1]), str(self.path), ".".join(names))
        try:
            function.__code__ = code  # type: ignore[assignment]  # nothing is refused below
        except (TypeError, ValueError):
            return False
        return True

    def _chain(self) -> list[ast.AST]:
        """Give the nodes from a statement of the module down to the break."""
        above = {
            id(child): one for one in ast.walk(self.tree) for child in ast.iter_child_nodes(one)
        }
        found: list[ast.AST] = []
        node: ast.AST | None = self.node
        while node is not None and node is not self.tree:
            found.append(node)
            node = above.get(id(node))
        return found[::-1]


def _function(module: ModuleType, names: Sequence[str]) -> FunctionType | None:
    """Find the function of a module or class that has this name and is written there."""
    found: object = module
    for name in names:
        found = vars(found).get(name)
    for inner in ("__func__", "fget", "func", "__wrapped__"):
        found = getattr(found, inner, found)
    is_it = isinstance(found, FunctionType) and found.__code__.co_qualname == ".".join(names)
    return found if is_it else None  # type: ignore[return-value]  # it is one


def _code(statement: ast.stmt, file: str, name: str) -> CodeType | None:
    """Compile a statement of a module; give the code of a function in it."""
    compiled: CodeType = compile(
        ast.Module([statement], []),
        file,
        "exec",
        flags=__future__.annotations.compiler_flag,
        dont_inherit=True,
    )
    waiting = [compiled]
    while waiting:
        one = waiting.pop()
        if one.co_qualname == name and one.co_flags & CO_OPTIMIZED:
            return one
        waiting.extend(part for part in one.co_consts if isinstance(part, CodeType))
    return None


def tree_of(path: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def modules_of(packages: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the modules of imported packages."""
    for package in packages:
        for path in sorted(folder_of(package).glob("*.py")):
            if path.name != "__init__.py":
                yield package, path


def breaks_of(package: str, path: Path) -> Iterator[Break]:
    """Yield all breaks of a module."""
    tree = tree_of(path)
    probes = _Probes(tree)
    for number, (_, node, change) in enumerate(places(tree)):
        place = probes.place(change)
        key = None if place is None else (f"{package}.{path.stem}", *place)
        line = getattr(change.place, "lineno", 0)
        yield Break(package, path, number, line, change.what, key, node, change, tree)


class _Probes:
    """Where a module can be watched: its statements inside functions, and its conditions."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
        self.above: dict[int, ast.AST] = {}
        self.blocks: list[list[ast.stmt]] = []
        self.tests: list[tuple[ast.AST, str, int | None]] = []
        self.watched: set[int] = set()
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.above[id(child)] = node
            self._conditions(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self._function(node)

    def _conditions(self, node: ast.AST) -> None:
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            self.tests.append((node, "test", None))
            self.watched.add(id(node.test))
        if isinstance(node, ast.comprehension):
            for at, test in enumerate(node.ifs):
                self.tests.append((node, "ifs", at))
                self.watched.add(id(test))

    def _function(self, function: ast.FunctionDef) -> None:
        for node in (function, *_inside(function)):
            for name in _BLOCKS:
                block = getattr(node, name, None)
                if isinstance(block, list) and not isinstance(node, ast.ClassDef):
                    self.blocks.append(block)
                    self.watched.update(map(id, block))

    def place(self, change: Change) -> tuple[int, bool | None] | None:
        """Name what has to be run for a change to matter; nothing where that is not watched."""
        node: ast.AST | None = change.place
        if node is not None and change.unless is not None and id(node) in self.watched:
            return self.numbers[id(node)], not change.unless
        while node is not None:
            if id(node) in self.watched and isinstance(node, ast.stmt):
                return self.numbers[id(node)], None
            node = self.above.get(id(node))
        return None

    def watch(self, module: str) -> ast.Module:
        """Give the module with a call before each statement, and one around each condition."""
        for node, name, at in self.tests:
            held = getattr(node, name) if at is None else getattr(node, name)[at]
            call = _call(_HELD, module, self.numbers[id(held)], held)
            if at is None:
                setattr(node, name, call)
            else:
                getattr(node, name)[at] = call
        for block in self.blocks:
            block[:] = [
                one
                for statement in block
                for one in (
                    ast.Expr(_call(_RAN, module, self.numbers[id(statement)])),
                    statement,
                )
            ]
        return ast.fix_missing_locations(self.tree)


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what is inside a function, but not what is inside a function in it."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _call(name: str, module: str, number: int, *more: ast.expr) -> ast.Call:
    given = [ast.Constant(module), ast.Constant(number), *more]
    return ast.Call(ast.Name(name, ast.Load()), given, [])


def watched_text(module: str, tree: ast.Module) -> CodeType:
    """Compile a module that tells which statements it runs, and what conditions come to."""
    return compile(_Probes(tree).watch(module), f"{module}.py", "exec")


@dataclass(slots=True)
class Watch:
    """What has been run since `seen` was emptied."""

    seen: set[Key] = field(default_factory=set)

    def ran(self, module: str, number: int) -> None:
        """Note a statement."""
        self.seen.add((module, number, None))

    def held(self, module: str, number: int, value: object) -> bool:
        """Note what a condition came to."""
        truth = bool(value)
        self.seen.add((module, number, truth))
        return truth

    def install(self, modules: Iterable[tuple[str, Path]]) -> None:
        """Have the modules imported anew and watched; nothing undoes that in this process."""
        setattr(builtins, _RAN, self.ran)
        setattr(builtins, _HELD, self.held)
        watched = list(modules)
        for package, path in watched:
            name = f"{package}.{path.stem}"
            sys.meta_path.insert(0, Replacing(name, watched_text(name, tree_of(path)), path))
        forget(*{package for package, _ in watched})


def reached(breaks: Iterable[Break], runs: Sequence[set[Key]]) -> dict[str, list[int]]:
    """Give for each break the runs in which it can matter."""
    by_key: defaultdict[Key, list[int]] = defaultdict(list)
    for number, seen in enumerate(runs):
        for key in seen:
            by_key[key].append(number)
    everywhere = list(range(len(runs)))
    return {one.name: everywhere if one.key is None else by_key.get(one.key, []) for one in breaks}
