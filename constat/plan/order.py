"""The order in which the literals of a body are taken: cheap and selective ones first.

In: a body and the variables bound at its start. Out: a permutation of the body's places.
Invariant: when a literal's turn comes, everything it must read is bound. Greedy: among the
literals that are ready, comparisons first, then by cost of the predicate, then by how bound the
atom is (sideways information passing). Ties keep the order written, so that an author can steer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Literal,
    Negative,
    Positive,
    Variable,
    literal_variables,
    term_variables,
)
from constat.plan.costs import predicates_of

_FULLY, _PARTLY, _FREE = 0, 1, 2

Rank = Callable[[Literal, set[str]], tuple[float, ...]]
"""How early a literal is taken among those that are ready, given the variables that are bound."""


def order_body(
    body: Sequence[Literal], bound: set[str], outer: set[str], costs: Mapping[str, int] | Rank
) -> tuple[int, ...]:
    """Order a body. `outer` names the variables that are not local to an aggregate.

    `costs` are those of the predicates, or a rank that knows more.
    """
    rank: Rank = partial(_rank, costs=costs) if isinstance(costs, Mapping) else costs
    known = set(bound)
    shared = _shared_names(body, bound, outer)
    left = list(range(len(body)))
    order: list[int] = []
    while left:
        ready = [
            place
            for place in left
            if _ready(body[place], known, outer, shared) and _bound_of(body[place], body) <= known
        ]
        if not ready:
            # Analysis has refused unsafe rules; what is left waits only for a mode that cannot be
            # met.
            ready = left[:1]
        best = min(ready, key=lambda place: (*rank(body[place], known), place))
        left.remove(best)
        order.append(best)
        known.update(_binds(body[best]))
    return tuple(order)


def _shared_names(body: Sequence[Literal], bound: set[str], outer: set[str]) -> set[str]:
    """Variables that some literal other than a negated one can bind.

    A negated atom waits for these only.
    """
    names = set(bound)
    for literal in body:
        if not isinstance(literal, Negative):
            names.update(
                _binds(literal) & outer if isinstance(literal, Aggregate) else _binds(literal)
            )
    return names


def _ready(literal: Literal, known: set[str], outer: set[str], shared: set[str]) -> bool:
    match literal:
        case Comparison("=", left, right):
            if isinstance(left, Variable) and left.name not in known:
                return _names(right) <= known
            if isinstance(right, Variable) and right.name not in known:
                return _names(left) <= known
            return _names(left) | _names(right) <= known
        case Comparison(left=left, right=right):
            return _names(left) | _names(right) <= known
        case Positive(atom):
            return _applied_names(atom) <= known
        case Negative(atom):
            names = {variable.name for variable in literal_variables(literal)}
            return (names & shared) <= known and _applied_names(atom) <= known
        case Aggregate(result=result):
            names = {variable.name for variable in literal_variables(literal)}
            return ((names & outer) - {result.name}) <= known


def _bound_of(literal: Literal, body: Sequence[Literal]) -> set[str]:
    """The variables that a recursive aggregate is compared with: its step decides that, too."""
    if not isinstance(literal, Aggregate) or not literal.recursive:
        return set()
    compared = (one for one in body if isinstance(one, Comparison))
    sides = (side for one in compared for side in ((one.left, one.right), (one.right, one.left)))
    return {name for one, other in sides if one == literal.result for name in _names(other)}


def _rank(literal: Literal, known: set[str], costs: Mapping[str, int]) -> tuple[int, int, int]:
    match literal:
        case Comparison():
            return (0, 0, 0)
        case Positive(atom):
            return (1, costs.get(atom.predicate, 0), _boundness(atom, known))
        case Negative(atom):
            return (1, costs.get(atom.predicate, 0), _FULLY)
        case Aggregate():
            dearest = max((costs.get(name, 0) for name in predicates_of(literal)), default=0)
            return (1, dearest, _PARTLY)


def _boundness(atom: Atom, known: set[str]) -> int:
    bound = sum(_names(term) <= known for term in atom.terms)
    if bound == len(atom.terms):
        return _FULLY
    return _PARTLY if bound else _FREE


def _binds(literal: Literal) -> set[str]:
    match literal:
        case Negative():
            return set()
        case Aggregate(result=result):
            return {result.name}
        case _:
            return {variable.name for variable in literal_variables(literal)}


def _names(term: object) -> set[str]:
    if isinstance(term, Variable):
        return {term.name}
    if isinstance(term, Apply):
        return {variable.name for variable in term_variables(term)}
    return set()


def _applied_names(atom: Atom) -> set[str]:
    return {name for term in atom.terms if isinstance(term, Apply) for name in _names(term)}
