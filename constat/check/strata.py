"""Safety and strata: every rule binds its variables, no predicate depends on its own absence.

In: a ``Program``.  Out: nothing, or ``Rejected`` with code ``safety`` or ``strata``.  Invariant:
after this pass each negated or aggregated predicate lies in a lower stratum than the head, which is
what makes absence of a fact well-defined (Apt, Blair and Walker, 1988).  Thresholds may lie in the
head's own stratum: they are monotone (see ``thresholds``).

Example: ``p(?x) :- q(?x), !p(?x).`` is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .rejection import Rejected, each
from .rules import (
    Aggregate,
    Comparison,
    Literal,
    Negative,
    Positive,
    Program,
    Rule,
    Variable,
    Wildcard,
    free_positions,
    positions,
    unread_positions,
)


def check_program(program: Program) -> None:
    """Check safety of every rule, then stratification of all."""
    each("rules", program.rules, lambda rule: _check_safety(rule, program))
    _check_strata(program)


def _check_safety(rule: Rule, program: Program) -> None:
    called = [rule.head.args[place] for place in program.declarations[rule.head.predicate].given]
    given = {term.position for term in called if isinstance(term, Variable)}
    missing = set(range(rule.outer)) - bound_by(rule.body, given) - free_positions(rule)
    missing -= unread_positions(rule)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            outer = set(range(rule.outer))
            missing |= set(literal.inner) - bound_by(literal.body, outer)
    if missing:
        name = rule.variables[min(missing)][0]
        raise Rejected("safety", f"nothing binds the variable {name}")


def bound_by(body: tuple[Literal, ...], given: set[int]) -> set[int]:
    """Return the variables that the body binds when those of ``given`` are bound."""
    bound = set(given)
    for literal in body:
        match literal:
            case Positive(atom):
                bound |= {t.position for t in atom.args if isinstance(t, Variable | Wildcard)}
            case _:
                pass
    _follow_equations(body, bound)
    return bound


def _follow_equations(body: tuple[Literal, ...], bound: set[int]) -> None:
    """Add what equations and aggregates bind, in turn; each is looked at once per variable.

    An aggregate gives a value for a group: its result cannot be what binds the group.
    """
    waiting: dict[int, list[_Direction]] = {}
    ready: list[int] = []
    for target, needed in _equations(body):
        direction = _Direction(target, needed - bound)
        for position in direction.missing:
            waiting.setdefault(position, []).append(direction)
        if not direction.missing:
            ready.append(target)
    while ready:
        position = ready.pop()
        bound.add(position)
        for direction in waiting.pop(position, []):
            direction.missing.discard(position)
            if not direction.missing:
                ready.append(direction.target)


def _equations(body: tuple[Literal, ...]) -> Iterator[tuple[int, set[int]]]:
    """Yield each variable that a literal gives a value, with what must be bound for that."""
    for literal in body:
        match literal:
            case Comparison("=", left, right):
                for side, other in ((left, right), (right, left)):
                    if isinstance(side, Variable):
                        yield side.position, positions(other)
            case Aggregate(result=result, outer=outer):
                yield result.position, set(outer)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class _Direction:
    """One way to read an equation or aggregate: ``target`` is bound once nothing is missing."""

    target: int
    missing: set[int]


def dependencies(rules: Iterable[Rule]) -> dict[str, dict[str, bool]]:
    """Return for each head the predicates below it, and whether one lies strictly below."""
    below: dict[str, dict[str, bool]] = {}
    for rule in rules:
        found = below.setdefault(rule.head.predicate, {})
        for literal in rule.body:
            for predicate, strict in _mentions(literal):
                found[predicate] = found.get(predicate, False) or strict
    return below


def _mentions(literal: Literal) -> list[tuple[str, bool]]:
    match literal:
        case Positive(atom):
            return [(atom.predicate, False)]
        case Negative(atom):
            return [(atom.predicate, True)]
        case Aggregate():
            strict = literal.threshold is None
            inside = [pair for test in literal.body for pair in _mentions(test)]
            return [(predicate, strict or negated) for predicate, negated in inside]
        case Comparison():
            return []


def _check_strata(program: Program) -> None:
    below = dependencies(program.rules)
    component = components({head: list(found) for head, found in below.items()})
    for head, found in below.items():
        for predicate, strict in found.items():
            if strict and component[head] == component.get(predicate):
                reason = f"{head} depends on the absence or the aggregate of {predicate} and back"
                raise Rejected("strata", reason, "rules")


def components(graph: dict[str, list[str]]) -> dict[str, int]:
    """Return a number for each strongly connected component (Tarjan, 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    component: dict[str, int] = {}
    path: list[str] = []
    for root, first in graph.items():
        waiting = [(root, iter(first))] if root not in order else []
        while waiting:
            node, successors = waiting[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
            following = next(successors, None)
            if following is None:
                waiting.pop()
                if waiting:
                    caller = waiting[-1][0]
                    lowest[caller] = min(lowest[caller], lowest[node])
                if lowest[node] == order[node]:
                    _number(node, path, component)
            elif following not in order:
                waiting.append((following, iter(graph.get(following, []))))
            elif following not in component:
                lowest[node] = min(lowest[node], order[following])
    return component


def _number(node: str, path: list[str], component: dict[str, int]) -> None:
    number = len(component)
    while True:
        member = path.pop()
        component[member] = number
        if member == node:
            return
