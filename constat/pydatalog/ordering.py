"""An order in which the literals of a body can be taken from left to right.

In: literals of `clauses`, what is bound before, and the relation that is asked in full, if any.
Out: the same literals. pyDatalog cannot wait for a variable, so each must find bound what it reads.
Among those that can be taken: what cannot err and costs nothing first, then atoms, those with most
bound terms first, and last what may err: an instance that another literal refutes has no error
(semantics 9), and one error ends the run. Invariant: time is that of sorting, for any body.

Example: `10 / x = y, n(x), x != 0` is taken as `n(x), x != 0, 10 / x = y`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from constat.pydatalog.clauses import Computation, Condition, Literal, Premise, Same, Summary, Terms

_TOTAL: Final = frozenset(
    {
        *("+", "-", "*", "neg", "cat", "strlen", "to_string", "min", "max"),
        *("band", "bor", "bxor", "bnot", "land", "lor", "lxor", "lnot"),
    }
)
"""Functions that err on extreme values only."""

Rank = tuple[int, int]


def ordered(literals: Sequence[Literal], given: Terms, shared: int | None) -> Iterator[Literal]:
    """Yield the literals. Raises `ValueError` where no order exists; analysis lets none through."""
    ordering = _Ordering(literals, shared)
    ordering.bind(names(given))
    for place in ordering.places():
        yield literals[place]


def names(terms: Iterable[object]) -> set[str]:
    """The names of the variables among some terms."""
    return {term for term in terms if isinstance(term, str)}


def gives(literal: Literal) -> set[str]:
    """What is bound once a literal was taken."""
    match literal:
        case Premise(terms=terms, negated=False):
            return names(terms)
        case Computation(result=result) | Summary(result=result):
            return names((result,))
        case _:
            return set()


def _needs(literal: Literal, bindable: set[str]) -> set[str]:
    match literal:
        case Premise(terms=terms, negated=negated):
            # A variable that nothing binds means "any" in a negated atom.
            return names(terms) & bindable if negated else set()
        case Computation(arguments=arguments):
            return names(arguments)
        case Summary(group=group):
            return names(group)
        case Same(left, right) | Condition(left=left, right=right):
            return names((left, right))


def _rank(literal: Literal, shared: int | None) -> int:
    match literal:
        case Premise(relation=relation) if relation == shared:
            # It cannot use what is bound, and the others can use what it binds.
            return 0
        case Same():
            return 0
        case Condition(operator=operator):
            return 5 if operator in {"match", "!match"} else 0
        case Computation(function=function):
            return 1 if function in _TOTAL else 5
        case Premise(negated=negated):
            return 2 if negated else 3
        case Summary():
            return 4


class _Ordering:
    """What is bound so far, and which literals wait for what."""

    def __init__(self, literals: Sequence[Literal], shared: int | None) -> None:
        bindable = set().union(*map(gives, literals)) if literals else set()
        self._literals = literals
        self._ranks = [_rank(literal, shared) for literal in literals]
        self._missing = [_needs(one, bindable) for one in literals]
        self._unbound = [gives(one) if isinstance(one, Premise) else set() for one in literals]
        self._readers: dict[str, list[int]] = {}
        self._ready: list[tuple[Rank, int]] = []
        self._bound: set[str] = set()
        for place, missing in enumerate(self._missing):
            for name in missing | self._unbound[place]:
                self._readers.setdefault(name, []).append(place)
            self._offer(place)

    def bind(self, new: set[str]) -> None:
        """Tell the literals that read these variables."""
        for name in new - self._bound:
            self._bound.add(name)
            for place in self._readers.pop(name, ()):
                self._missing[place].discard(name)
                self._unbound[place].discard(name)
                self._offer(place)

    def places(self) -> Iterator[int]:
        """Yield all places in order."""
        taken: set[int] = set()
        while self._ready:
            # The newest offer of a literal ranks it best and comes first; older ones are skipped.
            _, place = heapq.heappop(self._ready)
            if place not in taken:
                taken.add(place)
                self.bind(gives(self._literals[place]))
                yield place
        if len(taken) < len(self._literals):
            raise ValueError("a body without an order")

    def _offer(self, place: int) -> None:
        if not self._missing[place]:
            heapq.heappush(self._ready, ((self._ranks[place], self._cost(place)), place))

    def _cost(self, place: int) -> int:
        """How selective an atom is: fewer bound terms, more rows."""
        literal = self._literals[place]
        if isinstance(literal, Premise):
            return len(self._unbound[place]) - len(literal.terms)
        return 0
