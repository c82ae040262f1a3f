"""Translate clauses into rules of this language.

In: clauses and the kinds of their columns. Out: a `Program`. Invariants: a rule holds for the same
rows here and there, or it is refused; where the meaning may differ (a function with two values,
division of negative numbers) a warning says so. An aggregate gets a predicate of its own for the
rows it ranges over, because `for_each` says which of them are told apart. Example:
`(f[X] == sum_(N, for_each=K)) <= p(X, N, K)` becomes `f_rows(?x, ?n, ?k) :- p(?x, ?n, ?k).` and
`f(?x, ?value) :- f_rows(?x, _, _), ?value = sum ?n : { f_rows(?x, ?n, ?k) }.`
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Final

from constat import logic
from constat.diagnostics import Diagnostic, Severity, Span
from constat.library.pydatalog_rules.clauses import (
    Atom,
    Clause,
    Comparison,
    Expression,
    Goal,
    Literal,
    Membership,
    Name,
    Operation,
    Value,
)
from constat.library.pydatalog_rules.naming import Names, variable_names
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.library.pydatalog_rules.kinds import Kinds

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
