"""A ranking as a rule, so that others can derive it again from the rows that it ranks.

In: a step with a `Ranking`, and the declared relations. Out: one rule that gives the same rows as
the SELECT of `ranking.py`. Invariant: the place of a row is one more than the rows of its group
that come before it: for each column it is ranked by, those that are equal in the columns ahead of
it and better in this one are counted. Example: the first 2 of `totals` by `total desc` are
`best(?c, ?t) :- totals(?c, ?t), ?before_1 = count : { totals(_c, ?t_1), ?t_1 > ?t },
1 + ?before_1 <= 2.`
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Positive,
    Rule,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.explore.plan import Ranking, Step
    from constat.logic import Literal, Predicate, Term


def ranking_rule(step: Step, ranking: Ranking, predicates: Mapping[str, Predicate]) -> Rule:
    """Write the rule of a ranking that `check_ranking` has passed."""
    return _Writing(ranking, predicates[ranking.of], predicates[step.outputs[0].name]).rule()


def fresh_variable(name: str, relation: Predicate) -> Variable:
    """Name a variable as no column of a relation is named."""
    while any(one.name in {name, f"_{name}"} for one in relation.columns):
        name += "_"
    return Variable(name)


def first_key(
    one: Variable, other: Variable, kind: Kind, *, descending: bool
) -> tuple[Comparison, ...]:
    """Say that one value comes before another."""
    if kind is Kind.BOOL:
        # No value of this kind is less than another, as `<` has it.
        first = Constant("true" if descending else "false", Kind.BOOL)
        return (Comparison("!=", one, other), Comparison("=", one, first))
    return (Comparison(">" if descending else "<", one, other),)


@dataclass(frozen=True)
class _Writing:
    """One ranking: of which relation, into which."""

    ranking: Ranking
    ranked: Predicate
    output: Predicate

    @cached_property
    def keys(self) -> dict[str, bool]:
        """The columns that decide, each descending or not: a column decides once."""
        keys: dict[str, bool] = {}
        shown = any(one.name == self.ranking.place for one in self.output.columns)
        if not (self.ranking.top or shown):
            # An order alone is none of the rows' business.
            return keys
        for name, descending in self.ranking.by:
            keys.setdefault(name, descending)
        return {name: one for name, one in keys.items() if name not in self.ranking.within}

    def rule(self) -> Rule:
        """Write the rule."""
        counts = [self.fresh(f"before_{place}") for place, _ in enumerate(self.keys, start=1)]
        place: Term = Constant(1, Kind.NUMBER)
        for count in counts:
            place = Apply("+", (place, count))
        used = {*self.keys, *self.ranking.within, *(one.name for one in self.output.columns)}
        rows = tuple(self.plain(one.name, used) for one in self.ranked.columns)
        body: list[Literal] = [Positive(Atom(self.ranked.name, rows))]
        for count, name in zip(counts, self.keys, strict=True):
            body.append(Aggregate("count", count, None, self.before(name)))
        if self.ranking.top:
            body.append(Comparison("<=", place, Constant(self.ranking.top, Kind.NUMBER)))
        head = tuple(
            self.placed(place, one.kind) if one.name == self.ranking.place else Variable(one.name)
            for one in self.output.columns
        )
        return Rule(f"{self.output.name}.1", Atom(self.output.name, head), tuple(body))

    def before(self, key: str) -> tuple[Positive | Comparison, ...]:
        """Give the rows of the group that this column, and none ahead of it, puts first."""
        keys = list(self.keys)
        shared = {*self.ranking.within, *keys[: keys.index(key)]}
        own, other = Variable(key), self.fresh(f"{key}_1")
        # Every other variable is the aggregate's own: one of the same name outside would bind it.
        terms = tuple(
            other
            if one.name == key
            else Variable(one.name)
            if one.name in shared
            else self.fresh(f"_{one.name}_1")
            for one in self.ranked.columns
        )
        rows = Positive(Atom(self.ranked.name, terms))
        kind = next(one.kind for one in self.ranked.columns if one.name == key)
        return (rows, *first_key(other, own, kind, descending=self.keys[key]))

    @staticmethod
    def plain(name: str, used: set[str]) -> Variable:
        """Name the variable of a column, as one that is not used where it is not."""
        return Variable(name if name in used else f"_{name}")

    @staticmethod
    def placed(place: Term, kind: Kind) -> Term:
        """Give the place as a value of the column that it goes to."""
        return Apply("as", (place,), kind, type_name=kind.value) if kind is Kind.UNSIGNED else place

    def fresh(self, name: str) -> Variable:
        """Name a variable as no column is named."""
        return fresh_variable(name, self.ranked)
