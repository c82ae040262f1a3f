"""Read rule files in pyDatalog's syntax and write them as rules of this language.

In: the text of a Python file. Out: the text of a rule file, with what could not be carried over.
Invariant: the file is parsed and never run; whatever has another meaning here is refused or
reported, so that nothing is translated into something else. Example: `p(X) <= q(X, Y) & ~r(Y)`
becomes `p(?x) :- q(?x, ?y), !r(?y).` Reference: https://sites.google.com/site/pydatalog/reference
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections import Counter
from dataclasses import field
from itertools import product
from typing import TYPE_CHECKING, Final

from constat import logic
from constat.analysis import analyse
from constat.diagnostics import Diagnostic, Severity, Span
from constat.frozen import frozen
from constat.logic import Kind, Program
from constat.syntax import parse_text, print_program
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

# Read clauses in pyDatalog's syntax from Python's syntax tree.

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


# Two predicates, or two variables of a clause, never share a name.

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


class Names:
    """The names of predicates, given out in the order in which they are first met."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, int], str] = {}
        self._taken: set[str] = set()

    def predicate(self, name: str, arity: int) -> str:
        """Give the name of a predicate with that arity."""
        if (name, arity) not in self._given:
            plain = name if name.isascii() else name.encode("ascii", "ignore").decode()
            plain = plain if _PLAIN.match(plain) else f"p{plain}"
            second = f"{plain}_{arity}"
            self._given[name, arity] = self.fresh(second if plain in self._taken else plain)
        return self._given[name, arity]

    def fresh(self, wish: str) -> str:
        """Give a name that nobody has, close to the wish."""
        name, number = wish, 1
        while name in self._taken or name in RESERVED:
            number += 1
            name = f"{wish}_{number}" if name in self._taken else f"{name}_"
        self._taken.add(name)
        return name


def variable_names(clause: Clause) -> dict[str, str]:
    """Give each variable of a clause its name; one that occurs once becomes `_`."""
    counts = Counter(_occurrences(clause))
    names: dict[str, str] = {}
    alone = 0
    for name, count in counts.items():
        if count == 1:
            alone += 1
            names[name] = f"_{alone}"
            continue
        wish = re.sub(r"[^a-z0-9_]", "", name.lower()).lstrip("_0123456789") or "v"
        taken = set(names.values())
        made, number = wish, 1
        while made in taken or (made == "value" and clause.fold is not None):
            number += 1
            made = f"{wish}_{number}"
        names[name] = made
    return names


def _occurrences(clause: Clause) -> Iterator[str]:
    expressions: list[Expression] = list(clause.head.arguments)
    for goal in clause.body:
        match goal:
            case Literal(atom=atom):
                expressions += atom.arguments
            case Comparison(left=left, right=right):
                expressions += (left, right)
            case Membership(member=member):
                # The list may stand for several comparisons, or none.
                expressions += (member, member)
    if clause.fold is not None:
        expressions += (clause.fold.target, *clause.fold.each)
    expressions.reverse()
    while expressions:
        match expressions.pop():
            case Name(name=name):
                yield name
            case Operation(operands=operands):
                expressions += reversed(operands)
            case _:
                pass


# A variable, a column and the operands of an operator have one kind, so two columns that a
# variable joins have the same (union of sets, Tarjan 1975).


class Kinds:
    """The kinds of columns, as far as constants tell them."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self._diagnostics = diagnostics
        self._parents: dict[Hashable, Hashable] = {}
        self._kinds: dict[Hashable, Kind] = {}

    def learn(self, clauses: Iterable[Clause]) -> None:
        """Take in all clauses."""
        for number, clause in enumerate(clauses):
            self._atom(clause.head, number, len(clause.head.arguments) + (clause.fold is not None))
            for goal in clause.body:
                match goal:
                    case Literal(atom=atom):
                        self._atom(atom, number, len(atom.arguments))
                    case Comparison(left=left, right=right, span=span):
                        self._same(self._of(left, number), self._of(right, number), span)
                    case Membership(member=member, values=values, span=span):
                        for value in values:
                            self._same(self._of(member, number), self._of(value, number), span)
            if clause.fold is not None:
                self._fold(clause, number)

    def column(self, predicate: str, arity: int, place: int) -> Kind | None:
        """Give the kind of a column, or `None` where nothing tells it."""
        return self._kinds.get(self._root((predicate, arity, place)))

    def variable(self, clause: int, name: str) -> Kind | None:
        """Give the kind of a variable of the clause with that number."""
        return self._kinds.get(self._root((clause, name)))

    def _fold(self, clause: Clause, number: int) -> None:
        fold, head = clause.fold, clause.head
        if fold is None:
            return
        arity = len(head.arguments) + 1
        value = (head.predicate, arity, arity - 1)
        if fold.function in {"count", "mean"}:
            kind = Kind.NUMBER if fold.function == "count" else Kind.FLOAT
            self._tell(value, kind, fold.span)
        else:
            self._same(value, (number, fold.target.name), fold.span)

    def _atom(self, atom: Atom, number: int, arity: int) -> None:
        for place, argument in enumerate(atom.arguments):
            column = (atom.predicate, arity, place)
            self._same(column, self._of(argument, number), argument.span)

    def _of(self, expression: Expression, number: int) -> Hashable:
        match expression:
            case Name(name=name):
                return (number, name)
            case Value(value=value, span=span):
                place = ("constant", span, type(value))
                self._tell(place, _kind(value), span)
                return place
            case Operation(operands=operands, span=span):
                first = self._of(operands[0], number)
                for other in operands[1:]:
                    self._same(first, self._of(other, number), span)
                return first

    def _root(self, node: Hashable) -> Hashable:
        path = []
        while (parent := self._parents.get(node, node)) != node:
            path.append(node)
            node = parent
        self._parents.update(dict.fromkeys(path, node))
        return node

    def _tell(self, node: Hashable, kind: Kind, span: Span) -> None:
        root = self._root(node)
        known = self._kinds.get(root, kind)
        self._kinds[root] = self._joined(known, kind, span)

    def _same(self, one: Hashable, other: Hashable, span: Span) -> None:
        first, second = self._root(one), self._root(other)
        if first == second:
            return
        self._parents[second] = first
        kind = self._kinds.pop(second, None)
        if kind is not None:
            self._tell(first, kind, span)

    def _joined(self, one: Kind, other: Kind, span: Span) -> Kind:
        if one is other:
            return one
        if {one, other} == {Kind.NUMBER, Kind.FLOAT}:
            return Kind.FLOAT
        message = f"a {one.value} and a {other.value} meet here, and a column has one type"
        self._diagnostics.append(Diagnostic("C0462", message, span))
        return one


def _kind(value: float | str) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int):
        return Kind.NUMBER
    return Kind.FLOAT if isinstance(value, float) else Kind.SYMBOL


MOST_RULES: Final = 1_000


class Translation:
    """Translates clauses one after the other and collects predicates and rules."""

    def __init__(self, names: Names, kinds: Kinds, diagnostics: list[Diagnostic]) -> None:
        self.predicates: dict[str, logic.Predicate] = {}
        self.rules: list[logic.Rule] = []
        self._names = names
        self._kinds = kinds
        self._diagnostics = diagnostics
        self._numbers: Counter[str] = Counter()

    def translate(self, clauses: Sequence[Clause]) -> None:
        """Translate all clauses."""
        for clause in clauses:
            self._declare(clause.head, len(clause.head.arguments) + (clause.fold is not None))
            for goal in clause.body:
                if isinstance(goal, Literal):
                    self._declare(goal.atom, len(goal.atom.arguments))
        for number, clause in enumerate(clauses):
            one = _One(clause, number, self._names, self._kinds, self._diagnostics)
            if clause.fold is None:
                for head, body in one.rules():
                    self._add(head, body, floors=one.floors)
            else:
                self._fold(clause, number, one)

    def _declare(self, atom: Atom, arity: int) -> None:
        name = self._names.predicate(atom.predicate, arity)
        if name in self.predicates:
            return
        kinds = [self._kinds.column(atom.predicate, arity, place) for place in range(arity)]
        if None in kinds:
            unknown = ", ".join(f"c{n + 1}" for n, kind in enumerate(kinds) if kind is None)
            message = f"nothing tells the type of {unknown} of `{name}`; it is taken for text"
            self._warn(message, atom.span)
        self.predicates[name] = _predicate(name, [kind or Kind.SYMBOL for kind in kinds])

    def _add(
        self, head: logic.Atom, body: Sequence[logic.Literal], *, floors: bool = False
    ) -> None:
        self._numbers[head.predicate] += 1
        number = self._numbers[head.predicate]
        attributes = {"floor": "true"} if floors else {}
        rule = logic.Rule(f"{head.predicate}.{number}", head, tuple(body), attributes=attributes)
        self.rules.append(rule)

    def _fold(self, clause: Clause, number: int, one: _One) -> None:
        """Translate an aggregate: the rows it ranges over, then the aggregate over them."""
        fold = clause.fold
        if fold is None:
            return
        group = tuple(one.variable(term) for term in clause.head.arguments)
        inside = dict.fromkeys((fold.target.name, *(name.name for name in fold.each)))
        if fold.function == "count":
            inside = {fold.target.name: None}
        told = [logic.Variable(one.names[name]) for name in inside]
        told = [variable for variable in told if variable not in group]
        arity = len(clause.head.arguments) + 1
        head = self._names.predicate(clause.head.predicate, arity)
        rows = self._names.fresh(f"{head}_rows")
        kinds = [*self.predicates[head].kinds[:-1]]
        by_name = {one.names[name]: self._kinds.variable(number, name) for name in inside}
        kinds += [by_name[variable.name] or Kind.SYMBOL for variable in told]
        self.predicates[rows] = _predicate(rows, kinds)
        for _, body in one.rules():
            self._add(logic.Atom(rows, (*group, *told)), body, floors=one.floors)
        self._add(
            *_aggregate(
                head, rows, group, told, logic.Variable(one.names[fold.target.name]), fold.function
            )
        )

    def _warn(self, message: str, span: Span) -> None:
        self._diagnostics.append(Diagnostic("C0463", message, span, severity=Severity.WARNING))


def _predicate(name: str, kinds: Sequence[Kind]) -> logic.Predicate:
    columns = (logic.Column(f"c{n}", kind.value, kind) for n, kind in enumerate(kinds, 1))
    return logic.Predicate(name, tuple(columns))


def _aggregate(  # noqa: PLR0917  the parts of one rule
    head: str,
    rows: str,
    group: tuple[logic.Variable, ...],
    told: list[logic.Variable],
    target: logic.Variable,
    function: str,
) -> tuple[logic.Atom, tuple[logic.Literal, ...]]:
    value = logic.Variable("value")
    anything = tuple(logic.Variable(f"_{n}") for n in range(1, len(told) + 1))
    summed = None if function == "count" else target
    # Those that only tell rows apart are named and used once, which `_` before the name allows.
    inside = (one if one == summed else logic.Variable(f"_{one.name}") for one in told)
    body = (logic.Positive(logic.Atom(rows, (*group, *inside))),)
    return logic.Atom(head, (*group, value)), (
        logic.Positive(logic.Atom(rows, (*group, *anything))),
        logic.Aggregate(function, value, summed, body),
    )


class _One:
    """Translates one clause."""

    def __init__(
        self,
        clause: Clause,
        number: int,
        names: Names,
        kinds: Kinds,
        diagnostics: list[Diagnostic],
    ) -> None:
        self.names = variable_names(clause)
        # Whoever wrote `//` meant it; that it differs for negative numbers is told.
        self.floors = False
        self._clause = clause
        self._number = number
        self._predicates = names
        self._kinds = kinds
        self._diagnostics = diagnostics

    def variable(self, term: Expression) -> logic.Variable:
        """Give the variable of a group; anything else is reported."""
        if isinstance(term, Name):
            return logic.Variable(self.names[term.name])
        message = "the key of an aggregate is a variable"
        self._refuse(message, term.span, "compare the variable with the value in the body")
        return logic.Variable("key")

    def rules(self) -> Iterator[tuple[logic.Atom, list[logic.Literal]]]:
        """Give a rule for each choice among the listed values."""
        clause = self._clause
        choices = [
            one.values for one in clause.body if isinstance(one, Membership) and not one.negated
        ]
        total = 1
        for values in choices:
            total *= len(values)
        if total > MOST_RULES:
            self._refuse(f"the lists make more than {MOST_RULES} rules", clause.head.span)
            return
        arity = len(clause.head.arguments)
        for chosen in product(*choices):
            left = list(chosen)
            body = [literal for goal in clause.body for literal in self._goal(goal, left)]
            yield self._atom(clause.head, arity), body

    def _goal(self, goal: Goal, chosen: list[Value]) -> Iterator[logic.Literal]:
        match goal:
            case Literal(atom=atom, negated=negated):
                made = self._atom(atom, len(atom.arguments))
                yield logic.Negative(made) if negated else logic.Positive(made)
            case Comparison(operator=operator, left=left, right=right):
                kind = self._kind(left) or self._kind(right)
                yield logic.Comparison(operator, self._term(left, kind), self._term(right, kind))
            case Membership(member=member, values=values, negated=negated):
                kind = self._kind(member)
                for value in values if negated else [chosen.pop(0)]:
                    sign = "!=" if negated else "="
                    yield logic.Comparison(sign, self._term(member, kind), self._term(value, kind))

    def _atom(self, atom: Atom, arity: int) -> logic.Atom:
        name = self._predicates.predicate(atom.predicate, arity)
        kinds = [self._kinds.column(atom.predicate, arity, place) for place in range(arity)]
        terms = tuple(map(self._term, atom.arguments, kinds))
        return logic.Atom(name, terms)

    def _kind(self, expression: Expression) -> Kind | None:
        match expression:
            case Name(name=name):
                return self._kinds.variable(self._number, name)
            case Operation(operands=operands):
                known = (self._kind(one) for one in operands)
                return next((kind for kind in known if kind is not None), None)
            case Value(value=value):
                return Kind.SYMBOL if isinstance(value, str) else None

    def _term(self, expression: Expression, kind: Kind | None) -> logic.Term:
        match expression:
            case Name(name=name):
                return logic.Variable(self.names[name])
            case Value():
                return self._constant(expression, kind)
            case Operation():
                return self._operation(expression, kind)

    def _constant(self, found: Value, kind: Kind | None) -> logic.Constant:
        value = found.value
        if isinstance(value, str):
            try:
                return logic.Constant(logic.check_symbol(value), Kind.SYMBOL)
            except ValueError:
                self._refuse("this text holds a character that no text may hold", found.span)
                return logic.Constant("", Kind.SYMBOL)
        if isinstance(value, bool):
            return logic.Constant(str(value).lower(), Kind.BOOL)
        try:
            if kind is Kind.FLOAT or isinstance(value, float):
                return logic.Constant(logic.canonical_float(float(value)), Kind.FLOAT)
            return logic.Constant(logic.check_integer(value, Kind.NUMBER), Kind.NUMBER)
        except (ValueError, OverflowError):
            self._refuse("this number is beyond 64 bits", found.span)
            return logic.Constant(0, Kind.NUMBER)

    def _operation(self, found: Operation, kind: Kind | None) -> logic.Term:
        kind = kind or self._kind(found)
        operands = tuple(self._term(one, kind) for one in found.operands)
        function = found.operator
        if kind is Kind.SYMBOL and function == "+":
            return logic.Apply("cat", operands)
        if function == "/" and kind is not Kind.FLOAT:
            hint = "write `//`, or state the numbers as fractions such as 2.0"
            self._refuse("`/` of whole numbers gives a fraction there", found.span, hint)
        if function == "//" and kind is Kind.FLOAT:
            self._refuse("`//` of fractions has no counterpart in rules", found.span)
        if function in {"//", "%"}:
            message = (
                f"`{function}` rounds down there and towards zero here: negative numbers differ"
            )
            self._warn(message, found.span)
        self.floors = self.floors or function == "//"
        return logic.Apply("/" if function == "//" else function, operands)

    def _refuse(self, message: str, span: Span, hint: str = "") -> None:
        self._diagnostics.append(Diagnostic("C0461", message, span, help=hint))

    def _warn(self, message: str, span: Span) -> None:
        self._diagnostics.append(Diagnostic("C0463", message, span, severity=Severity.WARNING))


# The text is given only when all of the file was understood; it is checked like any rule file, and
# what the check finds is given with it.

WRITTEN = "<imported>"
"""The name under which diagnostics speak of the text that was written."""


@frozen
class Imported:
    """The rules as text (empty after errors in the file), and what was found in both texts."""

    text: str
    predicates: int
    rules: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What keeps the rules from being used."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)


def import_rules(text: str, source: str) -> Imported:
    """Import the text of a Python file; `source` is its name in diagnostics."""
    diagnostics: list[Diagnostic] = []
    clauses = _latest(read_clauses(text, source, diagnostics), diagnostics)
    kinds = Kinds(diagnostics)
    kinds.learn(clauses)
    translation = Translation(Names(), kinds, diagnostics)
    if not _has_errors(diagnostics):
        translation.translate(clauses)
    if _has_errors(diagnostics):
        return Imported("", 0, 0, _sorted(diagnostics))
    program = Program(translation.predicates, tuple(translation.rules))
    written = print_program(program)
    found: list[Diagnostic] = []
    analyse(parse_text(written, WRITTEN, found), found)
    return Imported(
        written,
        len(program.predicates),
        len(program.rules),
        (*_sorted(diagnostics), *_sorted(found)),
    )


def _latest(clauses: Sequence[Clause], diagnostics: list[Diagnostic]) -> list[Clause]:
    """Keep the last value of a function's fact, as pyDatalog does.

    A function that several rules give has one value there and may have several here.
    """
    kept: dict[object, Clause] = {}
    rules = Counter(_name(one) for one in clauses if one.head.function and not _is_fact(one))
    warned: set[tuple[str, int]] = set()
    for number, clause in enumerate(clauses):
        name = _name(clause)
        place: object = number
        if clause.head.function and _is_fact(clause):
            place = (name, tuple(map(_shown, clause.head.arguments[:-1])))
            kept.pop(place, None)
        elif rules[name] > 1 and name not in warned:
            warned.add(name)
            message = f"several rules give `{name[0]}` a value; there the first one counts"
            found = Diagnostic("C0463", message, clause.head.span, severity=Severity.WARNING)
            diagnostics.append(found)
        kept[place] = clause
    return list(kept.values())


def _name(clause: Clause) -> tuple[str, int]:
    return clause.head.predicate, len(clause.head.arguments) + (clause.fold is not None)


def _is_fact(clause: Clause) -> bool:
    return not clause.body and clause.fold is None


def _shown(expression: Expression) -> object:
    match expression:
        case Value(value=value):
            return type(value), value
        case Operation(operator=operator, operands=operands):
            return operator, tuple(map(_shown, operands))
        case _:
            return expression.name


def _has_errors(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(one.severity is Severity.ERROR for one in diagnostics)


def _sorted(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda one: one.place))
