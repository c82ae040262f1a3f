"""One conjunction for pyDatalog: equations solved, functions taken apart, literals in order.

In: literals of the logic. Out: literals of `clauses`, flat and ordered. Invariant: a body keeps its
meaning, and a shared relation is asked for all of its rows, whatever is bound.

Example: `?y = ?x, p(?x + 1)` becomes `call + (x, 1, c1), p(c1)`, with x for y elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
)
from constat.logic import Atom as LogicAtom
from constat.logic import Literal as LogicLiteral
from constat.logic import Term as LogicTerm
from constat.pydatalog.clauses import (
    Computation,
    Condition,
    Constants,
    Literal,
    Place,
    Premise,
    Same,
    Summary,
    Term,
    Terms,
)
from constat.pydatalog.ordering import gives, names, ordered

Fold = Callable[[Aggregate, "Body"], Summary]


@dataclass(slots=True)
class Body:
    """A conjunction under translation.

    `impossible` is set where two different constants are equated: nothing follows. `shared` is the
    relation that is asked for all of its rows only, where the rule is one of its own.
    """

    kinds: Mapping[str, Kind]
    places: Mapping[str, Place]
    constants: Constants
    shared: int | None = None
    literals: list[Literal] = field(default_factory=list)
    impossible: bool = False
    _equal: dict[str, Term] = field(default_factory=dict)
    _fresh: int = 0

    def translate(self, body: Iterable[LogicLiteral], fold: Fold) -> None:
        """Take all literals of a conjunction."""
        rest: list[LogicLiteral] = []
        for literal in body:
            match literal:
                case Comparison("=", Variable() | Constant(), Variable() | Constant()):
                    self._equate(self.simple(literal.left), self.simple(literal.right))
                case _:
                    rest.append(literal)
        for literal in rest:
            self._take(literal, fold)

    def _take(self, literal: LogicLiteral, fold: Fold) -> None:
        match literal:
            case Positive(atom):
                self.literals.append(self.premise(atom))
            case Negative(atom):
                premise = self.premise(atom)
                self.literals.append(Premise(premise.relation, premise.terms, negated=True))
            case Comparison("=", Apply() as left, right) | Comparison("=", right, Apply() as left):
                self._compute(left, self.simple(right))
            case Comparison(operator, left, right):
                kind = self.kind(left)
                test = Condition(operator, kind, self.simple(left), self.simple(right))
                self.literals.append(test)
            case Aggregate():
                self.literals.append(fold(literal, self))
            case _:
                assert_never(literal)

    def premise(self, atom: LogicAtom) -> Premise:
        """Translate an atom; what it computes becomes literals of its own."""
        return self.places[atom.predicate].premise([self.simple(term) for term in atom.terms])

    def simple(self, term: LogicTerm) -> Term:
        """Give a constant or a variable that has the value of a term."""
        match term:
            case Variable(name):
                return self._found(name)
            case Constant(value, kind):
                return self.constants.number(kind, value)
            case Apply():
                self._fresh += 1
                # A space: no variable of a program has such a name.
                result = f"computed {self._fresh}"
                self._compute(term, result)
                return result

    def kind(self, term: LogicTerm) -> Kind:
        """Give the kind of a term; analysis has found it."""
        kind = self.kinds[term.name] if isinstance(term, Variable) else term.kind
        if kind is None:
            raise TypeError("a function without a kind")
        return kind

    def _compute(self, term: Apply, result: Term) -> None:
        arguments = tuple(self.simple(one) for one in term.arguments)
        parameters = tuple(self.kind(one) for one in term.arguments)
        self.literals.append(
            Computation(term.function, parameters, self.kind(term), arguments, result)
        )

    def _found(self, name: str) -> Term:
        passed: list[str] = []
        term: Term = name
        while isinstance(term, str) and term in self._equal:
            passed.append(term)
            term = self._equal[term]
        # Shorten the path (Tarjan, 1975): a chain of equations may be as long as a file.
        self._equal.update(dict.fromkeys(passed, term))
        return term

    def _equate(self, left: Term, right: Term) -> None:
        """Solve an equation at once: a number stands for one value of one kind."""
        if left == right:
            return
        if isinstance(left, str):
            self._equal[left] = right
        elif isinstance(right, str):
            self._equal[right] = left
        else:
            self.impossible = True

    def ordered(self, given: Terms = ()) -> tuple[Literal, ...]:
        """Give the literals in an order in which each can be taken, with some terms bound."""
        found: list[Literal] = []
        bound = names(given)
        for literal in ordered(self.literals, given, self.shared):
            found.extend(self._in_full(literal, bound))
            bound |= gives(literal)
        return tuple(found)

    def _in_full(self, literal: Literal, bound: set[str]) -> Iterator[Literal]:
        """Ask the shared relation for all rows, and choose among them afterwards."""
        if not isinstance(literal, Premise) or literal.relation != self.shared:
            yield literal
            return
        terms: list[Term] = []
        equal: list[Same] = []
        for term in literal.terms:
            if isinstance(term, str) and term not in bound and term not in terms:
                terms.append(term)
            else:
                self._fresh += 1
                terms.append(f"computed {self._fresh}")
                equal.append(Same(terms[-1], term))
        yield Premise(literal.relation, tuple(terms))
        yield from equal
