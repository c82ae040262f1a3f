"""Find the kind of every column, which pyDatalog does not declare.

In: clauses. Out: a kind for each column of each predicate. Invariant: a variable, a column and the
operands of an operator have one kind, so two columns that a variable joins have the same (union
of sets, Tarjan 1975). Example: from `+ p(1)` and `q(X) <= p(X)` both columns are numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Span
from constat.library.pydatalog_rules.clauses import (
    Atom,
    Clause,
    Comparison,
    Expression,
    Literal,
    Membership,
    Name,
    Operation,
    Value,
)
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


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
