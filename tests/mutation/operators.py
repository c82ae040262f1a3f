"""The ways to break a module in one place.

In: the text of a module.  Out: mutants, each a tree that differs in one place: a statement dropped,
a comparison turned or moved by one, ``and`` for ``or``, a condition fixed, a number off by one,
``min`` for ``max``, one strength for another.  What only types and messages rest on is left alone.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
_NAMES: Final = {
    "min": ("max",),
    "max": ("min",),
    "all": ("any",),
    "any": ("all",),
    "CERTAIN": ("ACCEPTED",),
    "ACCEPTED": ("CERTAIN", "POSSIBLE"),
    "POSSIBLE": ("ACCEPTED", "CONCEIVABLE"),
    "CONCEIVABLE": ("POSSIBLE", "ABSENT"),
    "ABSENT": ("CONCEIVABLE",),
}
_STRENGTHS: Final = {"CERTAIN": 3, "ACCEPTED": 2, "POSSIBLE": 1, "CONCEIVABLE": 0, "ABSENT": -1}
# Exceptions and variables that carry messages only.
_MESSAGES: Final = frozenset(
    {"Rejected", "LimitReachedError", "ValueError", "TypeError", "KeyError"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """A way to break a node.

    It does nothing where `place` is not run, nor where `place` never holds anything but `unless`.
    """

    what: str
    make: Callable[[ast.AST], None]
    place: ast.AST
    unless: bool | None = None


@dataclass(frozen=True, slots=True)
class Mutant:
    """One module with one break."""

    module: str
    line: int
    what: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.module}.py:{self.line}: {self.what}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of one module."""
    module = path.stem
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for position, node, change in places(tree):
        broken = copy.deepcopy(tree)
        change.make(list(ast.walk(broken))[position])
        ast.fix_missing_locations(broken)
        yield Mutant(module, getattr(node, "lineno", 0), change.what, broken)


def places(tree: ast.Module) -> Iterator[tuple[int, ast.AST, Change]]:
    """Yield every node that can be broken, its place in a walk, and each way to break it."""
    nodes = list(ast.walk(tree))
    skipped = {id(inner) for node in nodes for part in silent(node) for inner in ast.walk(part)}
    for position, node in enumerate(nodes):
        if id(node) not in skipped:
            for change in changes(node):
                yield position, node, change


def silent(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts that only types and messages depend on."""
    match node:
        case ast.Call(func=ast.Name(id="Rejected"), args=[_, *rest]):
            yield from rest
        case ast.Call(func=ast.Name(id=name)) if name in _MESSAGES:
            yield from node.args
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


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield what can be broken at this node."""
    yield from _statements(node)
    match node:
        case ast.Compare(ops=operators):
            for at, operator in enumerate(operators):
                for turned in _TURNED.get(type(operator), ()):
                    new = [*operators[:at], turned(), *operators[at + 1 :]]
                    what = f"{ast.unparse(node)} -> {turned.__name__}"
                    yield Change(what, _set("ops", new), node)
        case ast.BoolOp() | ast.UnaryOp() | ast.BinOp():
            yield from _operations(node)
        case ast.Name(id=name):
            for new_name in _NAMES.get(name, ()):
                yield Change(f"{name} -> {new_name}", _renamed(new_name), node)
        case ast.Constant(value=bool() as truth):
            yield Change(f"{truth} -> {not truth}", _set("value", not truth), node)
        case ast.Constant(value=int() as number):
            for new_number in (number + 1, number - 1):
                yield Change(f"{number} -> {new_number}", _set("value", new_number), node)


def _operations(node: ast.BoolOp | ast.UnaryOp | ast.BinOp) -> Iterator[Change]:
    match node:
        case ast.BoolOp(op=joined):
            other = ast.Or if isinstance(joined, ast.And) else ast.And
            what = f"{ast.unparse(node)} -> {other.__name__}"
            yield Change(what, _set("op", other()), node)
        case ast.UnaryOp(op=ast.Not()):
            yield Change(f"{ast.unparse(node)} -> without not", _set("op", ast.UAdd()), node)
        case ast.BinOp(op=binary) if type(binary) in _OPERATORS:
            new = _OPERATORS[type(binary)]
            yield Change(f"{ast.unparse(node)} -> {new.__name__}", _set("op", new()), node)


def _statements(node: ast.AST) -> Iterator[Change]:
    """Yield the changes of statements inside this node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            if droppable(statement):
                what = f"dropped: {ast.unparse(statement)}"[:120]
                yield Change(what, _drop(name, at), statement)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        for value in (True, False):
            if not (value and isinstance(node, ast.While)):
                what = f"if {ast.unparse(node.test)} -> {value}"[:120]
                yield Change(what, _set("test", ast.Constant(value)), node.test, unless=value)
    if isinstance(node, ast.comprehension) and node.ifs:
        what = f"for ... if {ast.unparse(node.ifs[0])} -> all"
        # Only the first condition is looked at: where there are several, any may be what counts.
        first = node.ifs[0] if len(node.ifs) == 1 else node.iter
        yield Change(what, _set("ifs", []), first, unless=True if len(node.ifs) == 1 else None)


def droppable(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
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


def _renamed(other: str) -> Callable[[ast.AST], None]:
    """Put another name; a strength is put as its number, for the module need not import it."""

    def change(node: ast.AST) -> None:
        if other in _STRENGTHS:
            node.__class__ = ast.Constant  # a node is changed in place
            _set("value", _STRENGTHS[other])(node)
        else:
            _set("id", other)(node)

    return change


def _drop(name: str, at: int) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        getattr(node, name)[at] = ast.Pass()

    return change
