"""Turn one head and one conjunction of the surface into terms and literals of the logic.

In: surface terms and literals. Out: logic terms and literals. Invariant: numbering follows the
order of the text, so a printed rule reads back as itself. An aggregate that is not simply `?v =
sum ...` gets a fresh variable, and its literal stands before the comparison that uses it: `?t >
count : { p(_) }` becomes `?count_1 = count : { p(_) }, ?t > ?count_1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeGuard, assert_never

from constat.diagnostics import Span
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Term,
    Variable,
)
from constat.syntax.mistakes import structure
from constat.syntax.modes import Mode, softened
from constat.syntax.named_arguments import NamedArguments
from constat.syntax.surface import (
    AggregateTerm,
    Call,
    Choice,
    Compared,
    SignedAtom,
    SurfaceLiteral,
    SurfaceTerm,
    Wildcard,
)

_KINDS: Final = MappingProxyType({kind.value: kind for kind in Kind if kind is not Kind.STRUCTURE})
_Conjunction = tuple[SurfaceLiteral, ...]


def count_alternatives(branches: Sequence[_Conjunction], limit: int) -> int:
    """How many conjunctions a body stands for; above `limit` the number is not exact."""
    total = 0
    for branch in branches:
        product = 1
        for literal in branch:
            if isinstance(literal, Choice):
                product *= count_alternatives(literal.branches, limit)
            if product > limit:
                return product
        total += product
        if total > limit:
            return total
    return total


def conjunctions(branches: Sequence[_Conjunction]) -> Iterator[_Conjunction]:
    """Multiply groups out: the disjunctive normal form, in the order of the text."""
    pending: list[_Conjunction] = list(reversed(branches)) or [()]
    # On a list instead of the call stack: groups nest two hundred deep.
    while pending:
        current = pending.pop()
        for place, literal in enumerate(current):
            if isinstance(literal, Choice):
                front, back = current[:place], current[place + 1 :]
                pending.extend(front + inner + back for inner in reversed(literal.branches))
                break
        else:
            yield current


def lower_rule(
    head: SignedAtom, body: _Conjunction, names: NamedArguments, mode: Mode = Mode.STRICT
) -> tuple[Atom, tuple[Literal, ...]]:
    """Give the head and the literals of the body; mistakes go where those of the names go."""
    lowering = _RuleLowering(names, head, body, mode)
    if head.names:
        head = names.placed(head, lowering.fresh_read, head=True)
    terms = tuple(lowering.argument(term) for term in head.terms)
    for literal in body:
        lowering.literal(literal)
    return Atom(head.predicate, terms, head.span), tuple(lowering.literals)


class _RuleLowering:
    """The names given so far in one rule."""

    def __init__(
        self,
        names: NamedArguments,
        head: SignedAtom,
        body: _Conjunction,
        mode: Mode,
    ) -> None:
        self.named = names
        self.diagnostics = names.diagnostics
        self.mode = mode
        self.sources = (head, body)
        self.literals: list[Literal] = []
        self.wildcards = 0
        self.taken: set[str] | None = None

    def literal(self, literal: SurfaceLiteral) -> None:
        match literal:
            case SignedAtom():
                self.literals.append(self.atom(literal))
            case Compared():
                self.comparison(literal)
            case Choice():
                raise AssertionError("groups are multiplied out before")
            case _:
                assert_never(literal)

    def atom(self, atom: SignedAtom) -> Positive | Negative:
        if atom.names:
            atom = self.named.placed(atom, self.fresh_read)
        lowered = Atom(atom.predicate, tuple(map(self.argument, atom.terms)), atom.span)
        return Negative(lowered) if atom.negative else Positive(lowered)

    def comparison(self, compared: Compared) -> None:
        """Lower a comparison; `?v = sum ...` is an aggregate and no comparison.

        Unless its group reads `?v`: then the value is compared with what `?v` is already.
        """
        left, right = compared.left, compared.right
        if compared.operator == "=":
            if isinstance(left, AggregateTerm) and not isinstance(right, AggregateTerm):
                left, right = right, left
            if isinstance(right, AggregateTerm) and _may_name(left, right):
                result = self.wildcard(left) if isinstance(left, Wildcard) else left
                self.literals.append(self.aggregate(right, result))
                return
        # Aggregates first: their literals stand first, and `_` is numbered in that order.
        left, right = self.extract(compared.left), self.extract(compared.right)
        self.literals.append(self.compare(replace(compared, left=left, right=right)))

    def extract(self, term: SurfaceTerm) -> SurfaceTerm:
        """Turn the aggregates of a term into literals; depth is bounded by the parser."""
        match term:
            case AggregateTerm():
                result = self.fresh(term)
                self.literals.append(self.aggregate(term, result))
                return result
            case Call(arguments=arguments):
                return replace(term, arguments=tuple(map(self.extract, arguments)))
            case _:
                return term

    def compare(self, compared: Compared) -> Comparison:
        left, right = self.argument(compared.left), self.argument(compared.right)
        return Comparison(compared.operator, left, right, compared.span)

    def aggregate(self, term: AggregateTerm, result: Variable) -> Aggregate:
        target = None if term.target is None else self.argument(term.target)
        body = tuple(self.inner(one) for one in term.body)
        return Aggregate(term.function, result, target, body, term.span)

    def inner(self, literal: SurfaceLiteral) -> Positive | Negative | Comparison:
        match literal:
            case SignedAtom():
                return self.atom(literal)
            case Compared():
                return self.compare(literal)
            case Choice():
                raise AssertionError("the parser reports alternatives in aggregates")
            case _:
                assert_never(literal)

    def argument(self, term: SurfaceTerm) -> Term:
        """Lower a term; where an aggregate stands in it, it may not stand there."""
        match term:
            case Variable() | Constant():
                return term
            case AggregateTerm():
                return self.misplaced(term)
            case Wildcard():
                return self.wildcard(term)
            case Call():
                return self.apply(term, tuple(map(self.argument, term.arguments)))
            case _:
                assert_never(term)

    def misplaced(self, term: AggregateTerm) -> Variable:
        """Report an aggregate as an argument; in souffle mode its literal stands before."""
        mistake = structure.misplaced_aggregate(term.span, term.function)
        self.diagnostics.append(softened(mistake, self.mode))
        result = self.fresh(term)
        if self.mode is Mode.SOUFFLE:
            self.literals.append(self.aggregate(term, result))
        return result

    def apply(self, call: Call, arguments: tuple[Term, ...]) -> Apply:
        kind = _KINDS.get(call.type_name) if call.function == "as" else None
        return Apply(call.function, arguments, kind, call.span, call.type_name)

    def wildcard(self, term: Wildcard) -> Variable:
        self.wildcards += 1
        return Variable(f"_{self.wildcards}", term.span)

    def fresh(self, term: AggregateTerm) -> Variable:
        """A variable for the value of an aggregate that no one has named."""
        return Variable(self.unused(f"{term.function}_1"), term.span)

    def fresh_read(self, column: str, span: Span | None) -> Variable:
        """A variable for a column that is read and that nothing else names."""
        return Variable(self.unused(f"_{column}"), span)

    def unused(self, wanted: str) -> str:
        """A name that the rule does not use: the wanted one, or that with another number."""
        if self.taken is None:
            self.taken = set(_names(self.sources))
        stem, number, name = wanted.rstrip("0123456789"), 1, wanted
        while name in self.taken:
            number += 1
            name = f"{stem}{number}"
        self.taken.add(name)
        return name


def _may_name(term: SurfaceTerm, aggregate: AggregateTerm) -> TypeGuard[Variable | Wildcard]:
    """Whether a term may be the result of an aggregate, which nothing inside it reads."""
    match term:
        case Wildcard():
            return True
        case Variable(name):
            # An aggregated variable of that name is another one, or a mistake.
            return name not in _names(aggregate.body) or name in _names(aggregate.target)
        case _:
            return False


def _names(tree: object) -> Iterator[str]:
    """The names of all variables in a surface tree."""
    stack = [tree]
    while stack:
        match stack.pop():
            case Variable(name=name):
                yield name
            case tuple() as several:
                stack.extend(several)
            case SignedAtom(terms=terms) | Call(arguments=terms):
                stack.extend(terms)
            case Compared(left=left, right=right):
                stack.extend((left, right))
            case AggregateTerm(target=target, body=body):
                stack.extend((target, body))
            case _:
                pass
