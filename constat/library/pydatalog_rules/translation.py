"""Translate clauses of pyDatalog: kinds, names, rules, and the file that was read."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Final

from constat import logic
from constat.analysis import analyse
from constat.diagnostics import Diagnostic, Severity, Span
from constat.frozen import frozen
from constat.library.pydatalog_rules.reading import (
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
    read_clauses,
)
from constat.logic import Kind, Program
from constat.syntax import parse_text, print_program
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

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
