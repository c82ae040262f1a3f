"""Break the checker on purpose, once per run, and count which breaks the corpus notices.

In: the modules of ``constat.check``.  Out: the kill rate, and every survivor with its place.  Each
mutant differs in one place: a raise or a check dropped, a comparison turned or moved by one,
``and`` for ``or``, a condition fixed, a number off by one, ``min`` for ``max``.  Run it with
``python -m tests.check.mutation [MODULE ...]``; SURVIVORS.md says why the rest is equivalent.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import resource
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Final

import constat.check
from tests.check.corpus import Checker, unmet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FOLDER: Final = Path(constat.check.__file__).parent
# Reading a file and starting as a folder are tested in child processes, not by the corpus.
LEFT_OUT: Final = frozenset({"__init__", "__main__", "command"})
SECONDS: Final = 30
MEMORY: Final = 3 * 1024**3

_TURNED: Final = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: Final = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_NAMES: Final = {"min": "max", "max": "min", "all": "any", "any": "all"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One module with one break."""

    module: str
    line: int
    what: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.module}.py:{self.line}: {self.what}"


def mutants_of(module: str) -> Iterator[Mutant]:
    """Yield every mutant of one module."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    skipped = {id(inner) for node in nodes for part in silent(node) for inner in ast.walk(part)}
    for position, node in enumerate(nodes):
        if id(node) in skipped:
            continue
        for what, change in changes(node):
            broken = copy.deepcopy(tree)
            change(list(ast.walk(broken))[position])
            ast.fix_missing_locations(broken)
            yield Mutant(module, getattr(node, "lineno", 0), what, broken)


def silent(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts that only types and messages depend on."""
    match node:
        case ast.Call(func=ast.Name(id="Rejected"), args=[_, *rest]):
            yield from rest
        case ast.FunctionDef(args=args, returns=returns, decorator_list=decorators):
            yield args
            yield from decorators
            if returns is not None:
                yield returns
        case ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.ClassDef(decorator_list=decorators):
            yield from decorators
        case ast.Call(func=ast.Name(id="zip"), keywords=[keyword]):
            yield keyword
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield node
        case ast.Assign(targets=[ast.Name(id="shown")]):
            yield node


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """Yield what can be broken at this node: a description and the change."""
    yield from _statements(node)
    match node:
        case ast.Compare(ops=operators):
            for at, operator in enumerate(operators):
                for turned in _TURNED.get(type(operator), ()):
                    new = [*operators[:at], turned(), *operators[at + 1 :]]
                    yield f"{ast.unparse(node)} -> {turned.__name__}", _set("ops", new)
        case ast.BoolOp(op=joined):
            other = ast.Or if isinstance(joined, ast.And) else ast.And
            yield f"{ast.unparse(node)} -> {other.__name__}", _set("op", other())
        case ast.UnaryOp(op=ast.Not()):
            yield f"{ast.unparse(node)} -> without not", _set("op", ast.UAdd())
        case ast.BinOp(op=binary) if type(binary) in _OPERATORS:
            new_operator = _OPERATORS[type(binary)]
            yield f"{ast.unparse(node)} -> {new_operator.__name__}", _set("op", new_operator())
        case ast.Name(id=name) if name in _NAMES:
            yield f"{name} -> {_NAMES[name]}", _set("id", _NAMES[name])
        case ast.Constant(value=bool() as truth):
            yield f"{truth} -> {not truth}", _set("value", not truth)
        case ast.Constant(value=int() as number):
            yield f"{number} -> {number + 1}", _set("value", number + 1)
            yield f"{number} -> {number - 1}", _set("value", number - 1)


def _statements(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """Yield the changes of statements inside this node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            if droppable(statement):
                yield f"dropped: {ast.unparse(statement)}"[:120], _drop(name, at)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        for value in (True, False):
            if not (value and isinstance(node, ast.While)):
                shown = ast.unparse(node.test)
                yield f"if {shown} -> {value}"[:120], _set("test", ast.Constant(value))
    if isinstance(node, ast.comprehension) and node.ifs:
        yield f"for ... if {ast.unparse(node.ifs[0])} -> all", _set("ifs", [])


def droppable(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call()):
            return True
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            return True
        case _:
            return False


def _set(name: str, value: object) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        if isinstance(node, ast.UnaryOp) and isinstance(value, ast.UAdd):
            # `not x` becomes `bool(x)`: the same type, the other answer.
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
            return
        setattr(node, name, copy.deepcopy(value))

    return change


def _drop(name: str, at: int) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        getattr(node, name)[at] = ast.Pass()

    return change


class Copies(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports copies of the checker under other names, with one module replaced."""

    def __init__(self) -> None:
        self.codes: dict[str, CodeType] = {}
        for path in FOLDER.glob("*.py"):
            self.codes[path.stem] = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        self.replaced: dict[str, CodeType] = {}
        self.package = ""
        self.count = 0

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if not self.package or fullname.partition(".")[0] != self.package:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == self.package)

    def exec_module(self, module: ModuleType) -> None:
        stem = module.__name__.partition(".")[2] or "__init__"
        exec(self.replaced.get(stem, self.codes[stem]), module.__dict__)  # noqa: S102  our own code

    def first_unmet(self, mutant: Mutant | None) -> str | None:
        """Return the first expectation that a copy with this break does not meet."""
        self.count += 1
        self.package = f"checker_copy_{self.count}"
        self.replaced = {}
        try:
            if mutant is not None:
                self.replaced = {mutant.module: compile(mutant.tree, mutant.module, "exec")}
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            checker = Checker(lambda name: importlib.import_module(f"{self.package}.{name}"))
            return next(unmet(checker), None)
        except Exception as error:  # noqa: BLE001  any exception is a break that shows
            return f"{type(error).__name__}: {error}"[:80]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for name in [name for name in sys.modules if name.startswith(self.package)]:
                del sys.modules[name]


def _too_long(*_: object) -> None:
    raise TimeoutError("the copy does not end")


def run(
    modules: list[str], copies: Copies, chosen: Callable[[int, Mutant], bool]
) -> tuple[Counter[str], list[Mutant]]:
    """Return how many mutants of each module there are, and those that nothing notices."""
    made: Counter[str] = Counter()
    survivors: list[Mutant] = []
    for module in modules:
        for position, mutant in enumerate(mutants_of(module)):
            if not chosen(position, mutant):
                continue
            made[module] += 1
            if copies.first_unmet(mutant) is None:
                survivors.append(mutant)
                sys.stderr.write(f"survived: {mutant}\n")
    return made, survivors


def prepared() -> Copies:
    """Return the importer of copies; an endless loop and endless memory count as noticed."""
    signal.signal(signal.SIGALRM, _too_long)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    copies = Copies()
    sys.meta_path.insert(0, copies)
    return copies


def every_module() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in LEFT_OUT)


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the checker and see what is noticed.")
    parser.add_argument("modules", nargs="*", default=every_module())
    parser.add_argument("--step", type=int, default=1, help="take every STEP-th mutant only")
    parser.add_argument("--again", type=Path, help="take only the mutants that this file lists")
    chosen = parser.parse_args()
    again = chosen.again and set(chosen.again.read_text(encoding="utf-8").splitlines())
    # The corpus is made once, outside the time that a broken copy is given.
    list(unmet(Checker(lambda name: importlib.import_module(f"constat.check.{name}"))))
    copies = prepared()
    unbroken = copies.first_unmet(None)
    if unbroken is not None:
        sys.stderr.write(f"the checker itself does not meet: {unbroken}\n")
        return 1
    made, survivors = run(
        chosen.modules,
        copies,
        lambda position, mutant: not position % chosen.step and (not again or str(mutant) in again),
    )
    left = Counter(mutant.module for mutant in survivors)
    for module, count in made.items():
        sys.stdout.write(f"{module}: {count - left[module]} of {count} killed\n")
    for mutant in survivors:
        sys.stdout.write(f"{mutant}\n")
    total = sum(made.values())
    sys.stdout.write(f"{total - len(survivors)} of {total} mutants killed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
