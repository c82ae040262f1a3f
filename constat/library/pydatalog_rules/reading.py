"""Read clauses in pyDatalog's syntax from Python's syntax tree."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity, Span
from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Nodes are plain values with their places; a function `f[X] == Y` is an atom whose last argument
# is its value.


@frozen
class Name:
    """A variable; written in capitals there."""

    name: str
    span: Span = field(compare=False, repr=False)


@frozen
class Value:
    """A constant: `int`, `float`, `bool` or `str`."""

    value: float | str
    span: Span = field(compare=False, repr=False)


@frozen
class Operation:
    """An operator applied to expressions; `neg` has one operand."""

    operator: str
    operands: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


Expression = Name | Value | Operation


@frozen
class Atom:
    """A predicate, or a function with its value as the last argument."""

    predicate: str
    arguments: tuple[Expression, ...]
    function: bool
    span: Span = field(compare=False, repr=False)


@frozen
class Literal:
    """An atom of a body, negated or not."""

    atom: Atom
    negated: bool = False


@frozen
class Comparison:
    """A comparison of two expressions."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)


@frozen
class Membership:
    """`X.in_((1, 2))`: one of several constants, or none of them."""

    member: Expression
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)
    negated: bool = False


Goal = Literal | Comparison | Membership


@frozen
class Fold:
    """An aggregate in a head: `sum_(target, for_each=each)`."""

    function: str
    target: Name
    each: tuple[Name, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class Clause:
    """A fact (`body` is empty), a rule, or with `fold` a rule whose value is an aggregate.

    With a fold the head's last argument is missing.
    """

    head: Atom
    body: tuple[Goal, ...]
    fold: Fold | None = None


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


LARGEST: Final = 4 << 20
_MOST_DIAGNOSTICS: Final = 100
_FOLDS: Final = (
    ("sum_", "sum"),
    ("len_", "count"),
    ("min_", "min"),
    ("max_", "max"),
    ("mean_", "mean"),
)
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUIET_CALLS: Final = frozenset({"create_terms", "create_atoms", "clear", "print"})


def read_clauses(text: str, source: str, diagnostics: list[Diagnostic]) -> list[Clause]:
    """Read a file; what is wrong is reported at its place."""
    tree = _parsed(text, source, 1, diagnostics)
    if tree is None:
        return []
    reading = _Reading(source, _created(tree), 1, diagnostics)
    return list(reading.clauses(tree.body))


def _parsed(
    text: str, source: str, first_line: int, diagnostics: list[Diagnostic]
) -> ast.Module | None:
    place = Span(source, first_line, 1, first_line, 1)
    if len(text) > LARGEST:
        diagnostics.append(Diagnostic("C0460", "the file is larger than 4 MiB", place))
        return None
    try:
        with warnings.catch_warnings():
            # Whether its texts have odd escapes is the business of whoever runs the file.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as problem:
        line = (problem.lineno or 1) + first_line - 1
        column = max(1, problem.offset or 1)
        place = Span(source, line, column, line, column)
        diagnostics.append(Diagnostic("C0460", "this is not Python", place))
    except (ValueError, RecursionError, MemoryError):
        message = "the file cannot be parsed: it is nested too deep or holds odd characters"
        diagnostics.append(Diagnostic("C0460", message, place))
    return None


def _created(tree: ast.Module) -> frozenset[str]:
    """Give the names that `create_terms` makes: without capitals they stand for themselves."""
    names: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=word), args=listed)):
                texts = [one.value for one in listed if isinstance(one, ast.Constant)]
                if word in {"create_terms", "create_atoms"}:
                    names.update(*(_WORD.findall(one) for one in texts if isinstance(one, str)))
            case _:
                pass
    return frozenset(names)


class _Reading:
    """Reads the statements of one text. Without `symbols` every name stands for itself."""

    def __init__(
        self,
        source: str,
        symbols: frozenset[str] | None,
        first_line: int,
        diagnostics: list[Diagnostic],
    ) -> None:
        self._source = source
        self._symbols = symbols
        self._first_line = first_line
        self._diagnostics = diagnostics

    def clauses(self, statements: Sequence[ast.stmt]) -> Iterator[Clause]:
        for statement in statements:
            try:
                yield from self._statement(statement)
            except UnreadableError as problem:
                self._complain("C0461", problem.message, problem.span, problem.hint)
            except RecursionError:
                span = self._reader().span(statement)
                self._complain("C0460", "the statement is nested too deep", span)

    def _complain(self, code: str, message: str, span: Span, hint: str = "") -> None:
        if len(self._diagnostics) < _MOST_DIAGNOSTICS:
            self._diagnostics.append(Diagnostic(code, message, span, help=hint))

    def _reader(self) -> Reader:
        return Reader(self._source, self._symbols, self._first_line)

    def _statement(self, statement: ast.stmt) -> Iterator[Clause]:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                return
            case ast.FunctionDef(decorator_list=[ast.Call(func=ast.Attribute(attr="program"))]):
                yield from _Reading(
                    self._source, None, self._first_line, self._diagnostics
                ).clauses(statement.body)
            case ast.Expr(value=ast.Constant(value=str())):
                return
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="load"), args=[text])):
                yield from self._loaded(text)
            case ast.Expr(value=value):
                yield from self._clause(value)
            case _:
                raise self._reader().unreadable(
                    statement,
                    "this statement would have to be run to know what it states",
                    "write the facts and rules out, or state them as rows of a source",
                )

    def _loaded(self, node: ast.expr) -> Iterator[Clause]:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise self._reader().unreadable(node, "only a text that stands here can be read")
        text = textwrap.dedent(node.value.expandtabs())
        tree = _parsed(text, self._source, node.lineno, self._diagnostics)
        if tree is not None:
            line = node.lineno + self._first_line - 1
            yield from _Reading(self._source, None, line, self._diagnostics).clauses(tree.body)

    def _clause(self, node: ast.expr) -> Iterator[Clause]:
        reader = self._reader()
        match node:
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                yield Clause(self._fact(operand, reader), ())
            case ast.UnaryOp(op=ast.USub()):
                raise reader.unreadable(
                    node,
                    "facts are not taken back by rules",
                    "leave the fact out that this removes",
                )
            case ast.Compare(left=head, ops=[ast.LtE()], comparators=[body]):
                yield self._rule(head, body, reader)
            case ast.Call(func=ast.Attribute(attr=word) | ast.Name(id=word)) if (
                word in _QUIET_CALLS
            ):
                if word == "print":
                    self._left_out(reader.span(node))
            case _:
                goals = list(reader.goals(node))
                if goals:
                    self._left_out(reader.span(node))

    def _left_out(self, span: Span) -> None:
        message = "a query is no rule and is left out"
        found = Diagnostic("C0463", message, span, severity=Severity.WARNING)
        if len(self._diagnostics) < _MOST_DIAGNOSTICS:
            self._diagnostics.append(found)

    def _fact(self, node: ast.expr, reader: Reader) -> Atom:
        goals = list(reader.goals(node))
        match goals:
            case [one] if not getattr(one, "negated", True):
                atom = getattr(one, "atom", None)
                if isinstance(atom, Atom):
                    return atom
        raise reader.unreadable(node, "a fact is `+ p(1)` or `+ (f[1] == 2)`")

    def _rule(self, head: ast.expr, body: ast.expr, reader: Reader) -> Clause:
        atom = reader.atom(head)
        fold = None
        if atom is None and isinstance(head, ast.Compare) and len(head.ops) == 1:
            value = head.comparators[0]
            fold = self._fold(value, reader)
            term = Name("value", reader.span(head)) if fold else reader.expression(value)
            if isinstance(head.ops[0], ast.Eq):
                atom = reader.function(head.left, term)
        if atom is None:
            hint = "put each comparison of the body in parentheses"
            raise reader.unreadable(head, "this is no head of a rule", hint)
        goals = (*reader.extra, *reader.goals(body))
        if fold is not None:
            atom = Atom(atom.predicate, atom.arguments[:-1], function=True, span=atom.span)
        return Clause(atom, goals, fold)

    def _fold(self, node: ast.expr, reader: Reader) -> Fold | None:
        match node:
            case ast.Call(func=ast.Name(id=word), args=arguments, keywords=keywords):
                pass
            case _:
                return None
        function = dict(_FOLDS).get(word)
        named = {one.arg: one.value for one in keywords}
        terms = [reader.expression(one) for one in arguments]
        if function is None or len(terms) != 1 or not isinstance(terms[0], Name):
            raise reader.unreadable(
                node, f"the aggregate `{word[:40]}` has no counterpart in rules"
            )
        target = terms[0]
        given = named.pop("for_each", None)
        listed = [] if given is None else given.elts if isinstance(given, ast.Tuple) else [given]
        each = [reader.expression(one) for one in listed]
        order = named.pop("order_by", None)
        if named or (order is not None and reader.expression(order) != target):
            hint = "take the value that it is ordered by as the first argument"
            raise reader.unreadable(node, "an aggregate of one column, ordered by another", hint)
        names = tuple(one for one in each if isinstance(one, Name))
        if len(names) != len(each):
            raise reader.unreadable(node, "`for_each` lists variables")
        return Fold(function, target, names, reader.span(node))
