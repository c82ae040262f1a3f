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
    names = [{variable.name for variable in literal_variables(literal)} for literal in body]
    binds = [_binds(literal, found) for literal, found in zip(body, names, strict=True)]
    shared = _shared_names(body, binds, bound, outer)
    needs = [
        _needs(literal, found, outer, shared, body)
        for literal, found in zip(body, names, strict=True)
    ]
    left = list(range(len(body)))
    order: list[int] = []
    while left:
        # Analysis has refused unsafe rules; what is never ready waits only for a mode that cannot
        # be met.
        ready = [n for n in left if any(one <= known for one in needs[n])] or left[:1]
        best = ready[0]
        if len(ready) > 1:
            best = min(ready, key=lambda place: (*rank(body[place], known), place))
        left.remove(best)
        order.append(best)
        known |= binds[best]
    return tuple(order)


def _shared_names(
    body: Sequence[Literal], binds: Sequence[set[str]], bound: set[str], outer: set[str]
) -> set[str]:
    """Variables that some literal other than a negated one can bind.

    A negated atom waits for these only.
    """
    names = set(bound)
    for literal, found in zip(body, binds, strict=True):
        names |= found & outer if isinstance(literal, Aggregate) else found
    return names


def _needs(
    literal: Literal, names: set[str], outer: set[str], shared: set[str], body: Sequence[Literal]
) -> list[set[str]]:
    """Sets of variables, any of which is enough for a literal with these names to be taken."""
    match literal:
        case Comparison(operator, left, right):
            # An equation gives one side's variable from the other side.
            found = [names]
            if operator == "=":
                found += [_names(right)] if isinstance(left, Variable) else []
                found += [_names(left)] if isinstance(right, Variable) else []
            return found
        case Positive(atom):
            return [_applied_names(atom)]
        case Negative(atom):
            return [(names & shared) | _applied_names(atom)]
        case Aggregate(result=result):
            return [((names & outer) - {result.name}) | _bound_of(literal, body)]


def _bound_of(literal: Aggregate, body: Sequence[Literal]) -> set[str]:
    """The variables that a recursive aggregate is compared with: its step decides that, too."""
    if not literal.recursive:
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


def _binds(literal: Literal, names: set[str]) -> set[str]:
    match literal:
        case Negative():
            return set()
        case Aggregate(result=result):
            return {result.name}
        case _:
            return names


def _names(term: object) -> set[str]:
    if isinstance(term, Variable):
        return {term.name}
    if isinstance(term, Apply):
        return {variable.name for variable in term_variables(term)}
    return set()


def _applied_names(atom: Atom) -> set[str]:
    return {name for term in atom.terms if isinstance(term, Apply) for name in _names(term)}
