"""The order of a body by estimated sizes, for all rows at once.

In: a rule with the kinds of its variables, estimates, the literal that reads the last round's
rows, if any. Out: a `RulePlan` whose joins are a left-deep tree. Invariant: comparisons and
absences come as soon as their slots exist; a join without any bound column comes only when every
other one is without, too. Greedy by the rows that a join adds to each binding; where nothing says
which atom is first and relations are large, each is tried and the order with the fewest bindings
is kept. See Selinger et
al. (1979), and Swami, Optimization of large join queries (1989), for greedy orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Variable,
    term_variables,
)
from constat.plan.compilation import compile_rule
from constat.plan.forward.estimates import MOST_ROWS, Estimates
from constat.plan.operators import RulePlan

MOST_STARTS = 6
WORTH_TRYING = 10_000.0


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """Ranks the literals of one rule; `first` is the literal to begin with."""

    estimates: Estimates
    domains: Mapping[str, float]
    first: Literal | None = None

    def __call__(self, literal: Literal, known: set[str]) -> tuple[float, ...]:
        """Rank a literal that is ready when these variables are bound."""
        if literal is self.first:
            return (-1.0,)
        match literal:
            case Comparison() | Negative():
                return (0.0,)
            case Positive(atom):
                return self._rank(atom, known)
            case Aggregate():
                return (3.0,)

    def total(self, start: Positive, atoms: Sequence[Positive]) -> float:
        """Estimate the bindings of all joins in the greedy order that begins with an atom."""
        known: set[str] = set()
        left = list(atoms)
        rows, total = 1.0, 0.0
        chosen = start
        while True:
            rows = min(rows * self._rank(chosen.atom, known)[1], MOST_ROWS)
            total += rows
            left.remove(chosen)
            if not left:
                return total
            known.update(term.name for term in chosen.atom.terms if isinstance(term, Variable))
            chosen = min(left, key=lambda one: self._rank(one.atom, known))

    def _rank(self, atom: Atom, known: set[str]) -> tuple[float, ...]:
        found = self.estimates.rows(atom.predicate)
        joined = not known
        seen: set[str] = set()
        for column, term in enumerate(atom.terms):
            match term:
                case Variable(name) if name not in known and name not in seen:
                    seen.add(name)
                    continue
                case Variable(name):
                    domain = self.domains.get(name, 1.0)
                    joined = joined or name in known
                case _:
                    domain = 1.0
                    joined = joined or (isinstance(term, Apply) and bool(known))
            found /= self.estimates.values_of(atom.predicate, column, domain)
        # A row that is certain to be one, such as a fact with constants only, multiplies nothing.
        return (1.0 if joined or not seen else 2.0, found)


def domains_of(rule: Rule, estimates: Estimates) -> dict[str, float]:
    """How many distinct values each variable of a body can have, at most."""
    found: dict[str, float] = {}
    for literal in rule.body:
        if isinstance(literal, Positive):
            for column, term in enumerate(literal.atom.terms):
                if isinstance(term, Variable):
                    values = estimates.distinct(literal.atom.predicate, column)
                    found[term.name] = max(found.get(term.name, 1.0), values)
    return found


def plan_rule(
    number: int,
    rule: Rule,
    kinds: Mapping[str, Kind],
    estimates: Estimates,
    first: Literal | None = None,
) -> RulePlan:
    """Order and compile a rule."""
    order = JoinOrder(estimates, domains_of(rule, estimates), first)
    if first is None:
        order = replace(order, first=_start(rule, order))
    return compile_rule(number, rule, (), kinds, order)


def _start(rule: Rule, order: JoinOrder) -> Positive | None:
    """The atom to begin with, where it is worth asking; else the order decides as everywhere."""
    atoms = [one for one in rule.body if isinstance(one, Positive)]
    # Of two atoms the smaller one is first in any case.
    if not 2 < len(atoms) <= MOST_STARTS:  # noqa: PLR2004
        return None
    if max(order.estimates.rows(one.atom.predicate) for one in atoms) < WORTH_TRYING:
        return None
    starts = [one for one in atoms if _may_start(one.atom)] or atoms
    return min(starts, key=lambda start: order.total(start, atoms))


def _may_start(atom: Atom) -> bool:
    return not any(
        isinstance(term, Apply) and next(term_variables(term), None) is not None
        for term in atom.terms
    )
