"""Read the clauses of a Python file, or of a text that is given to `pyDatalog.load`.

In: the text. Out: clauses in their order, and diagnostics. Invariants: Python parses the file and
nothing runs it; a statement that could state facts and is not understood is an error, because the
rules would silently lack them; queries are left out with a warning.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity, Span
from constat.library.pydatalog_rules.clauses import Atom, Clause, Fold, Name
from constat.library.pydatalog_rules.expressions import Reader, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
