"""Read expressions, atoms and body literals from Python's syntax tree.

In: nodes of `ast`. Out: nodes of `clauses`. Invariants: nothing is evaluated; what has no meaning
as logic raises `Unreadable` with its place. A call of a function inside an expression, `f[X] + 1`,
becomes a literal `f(X, V)` with a new variable, kept in `extra`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Span
from constat.library.pydatalog_rules.clauses import (
    Atom,
    Comparison,
    Expression,
    Goal,
    Literal,
    Membership,
    Name,
    Operation,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST: Final = 100
MOST_VALUES: Final = 1_000
_OPERATORS: Final = (
    (ast.Add, "+"),
    (ast.Sub, "-"),
    (ast.Mult, "*"),
    (ast.Div, "/"),
    (ast.FloorDiv, "//"),
    (ast.Mod, "%"),
)
_COMPARISONS: Final = (
    (ast.Eq, "="),
    (ast.NotEq, "!="),
    (ast.Lt, "<"),
    (ast.LtE, "<="),
    (ast.Gt, ">"),
    (ast.GtE, ">="),
)
_OPPOSITE: Final = (("=", "!="), ("<", ">="), (">", "<="))


class UnreadableError(Exception):
    """A construct that has no counterpart."""

    def __init__(self, message: str, span: Span, hint: str = "") -> None:
        self.message = message
        self.span = span
        self.hint = hint
        super().__init__(message)


class Reader:
    """Reads the expressions of one clause; `symbols` are the names that stand for themselves."""

    def __init__(self, source: str, symbols: frozenset[str] | None, first_line: int = 1) -> None:
        self.extra: list[Goal] = []
        self._source = source
        self._symbols = symbols
        self._first_line = first_line
        self._fresh = 0

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Give the place of a node."""
        down = self._first_line - 1
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset or node.col_offset
        return Span(
            self._source,
            node.lineno + down,
            node.col_offset + 1,
            end_line + down,
            end_column + 1,
        )

    def unreadable(
        self, node: ast.expr | ast.stmt, message: str, hint: str = ""
    ) -> UnreadableError:
        """Give the error for a node."""
        return UnreadableError(message, self.span(node), hint)

    def goals(self, node: ast.expr) -> Iterator[Goal]:
        """Read a body: goals joined by `&`."""
        parts: list[ast.expr] = []
        # The left spine of a long body is as deep as the body is long.
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            parts.append(node.right)
            node = node.left
        for part in (node, *reversed(parts)):
            before = len(self.extra)
            goal = self._goal(part)
            yield from self.extra[before:]
            yield goal

    def atom(self, node: ast.expr) -> Atom | None:
        """Read `p(X, 1)`; `None` where the node is something else."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        if node.keywords:
            raise self.unreadable(node, "an atom has no named arguments")
        arguments = tuple(self.expression(one) for one in node.args)
        return Atom(node.func.id, arguments, function=False, span=self.span(node))

    def function(self, node: ast.expr, value: Expression) -> Atom | None:
        """Read `f[X]` with its value; `None` where the node is something else."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return None
        keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        # `f[None]` is a function without arguments.
        alone = len(keys) == 1 and isinstance(keys[0], ast.Constant) and keys[0].value is None
        arguments = () if alone else tuple(self.expression(one) for one in keys)
        return Atom(node.value.id, (*arguments, value), function=True, span=self.span(node))

    def fresh(self, node: ast.expr) -> Name:
        """Give a variable that the file does not use: names there begin with a capital."""
        self._fresh += 1
        return Name(f"value_{self._fresh}", self.span(node))

    def expression(self, node: ast.expr, depth: int = 0) -> Expression:
        """Read a term or an arithmetic expression."""
        if depth > DEEPEST:
            raise self.unreadable(node, f"the expression is nested more than {DEEPEST} deep")
        span = self.span(node)
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return Value(-number, span)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Operation("neg", (self.expression(operand, depth + 1),), span)
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.Subscript():
                variable = self.fresh(node)
                called = self.function(node, variable)
                if called is not None:
                    self.extra.append(Literal(called))
                    return variable
            case _:
                pass
        raise self.unreadable(node, "this expression has no counterpart in rules")

    def _operation(self, node: ast.BinOp, depth: int) -> Operation:
        for kind, sign in _OPERATORS:
            if isinstance(node.op, kind):
                left = self.expression(node.left, depth + 1)
                right = self.expression(node.right, depth + 1)
                return Operation(sign, (left, right), self.span(node))
        raise self.unreadable(node, "this operator has no counterpart in rules")

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool | int | float | str):
            return Value(node.value, self.span(node))
        raise self.unreadable(
            node, "this constant is neither a number nor a text nor a truth value"
        )

    def _name(self, node: ast.Name, name: str) -> Expression:
        if name[0].isupper():
            return Name(name, self.span(node))
        if self._symbols is None or name in self._symbols:
            return Value(name, self.span(node))
        raise self.unreadable(
            node,
            f"`{name[:60]}` is a Python variable: its value is known only when the file runs",
            "write the value itself",
        )

    def _goal(self, node: ast.expr) -> Goal:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self._negated(self._goal(node.operand), node)
        atom = self.atom(node)
        if atom is not None:
            return Literal(atom)
        membership = self._membership(node)
        if membership is not None:
            return membership
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node)
        hint = "put each comparison in parentheses" if isinstance(node, ast.Compare) else ""
        raise self.unreadable(node, "this is no literal of a body", hint)

    def _comparison(self, node: ast.Compare) -> Goal:
        for kind, sign in _COMPARISONS:
            if isinstance(node.ops[0], kind):
                right = self.expression(node.comparators[0])
                called = self.function(node.left, right) if sign == "=" else None
                if called is not None:
                    return Literal(called)
                return Comparison(sign, self.expression(node.left), right, self.span(node))
        raise self.unreadable(node, "this comparison has no counterpart in rules")

    def _negated(self, goal: Goal, node: ast.expr) -> Goal:
        match goal:
            case Literal(atom=atom, negated=negated):
                return Literal(atom, negated=not negated)
            case Comparison(operator=sign, left=left, right=right, span=span):
                both = (*_OPPOSITE, *((other, one) for one, other in _OPPOSITE))
                return Comparison(dict(both)[sign], left, right, span)
            case Membership(member=member, values=values, span=span, negated=negated):
                return Membership(member, values, span, negated=not negated)
        raise self.unreadable(node, "this cannot be negated")

    def _membership(self, node: ast.expr) -> Membership | None:
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=member, attr="in_" | "_in" | "_not_in" | "not_in_" as word
                ),
                args=[ast.Tuple(elts=listed) | ast.List(elts=listed)],
                keywords=[],
            ):
                if len(listed) > MOST_VALUES:
                    raise self.unreadable(node, f"more than {MOST_VALUES} values are listed")
                values = [self.expression(one) for one in listed]
                constants = tuple(one for one in values if isinstance(one, Value))
                if len(constants) != len(values):
                    raise self.unreadable(node, "only constants can be listed here")
                negated = "not" in word
                return Membership(self.expression(member), constants, self.span(node), negated)
            case _:
                return None
