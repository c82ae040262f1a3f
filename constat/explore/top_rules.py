"""The first rows of a relation as rules that look at each of its rows once.

In: a step with a `Ranking` that has a `top`, and the rows that it ranks. Out: rules and stated
rows. A ranking that counts the rows before each row takes as many looks as there are pairs. So the
rows at which each group's first ones end are stated, and what is stated is checked by rules:
`near` are the rows at such a row or before it; the ranking is that of `near` alone, where nobody is
missing who comes before somebody in it; and `short` names the groups of which `near` has fewer rows
than were asked for, and fewer than there are. Invariant: whatever is stated, where there is no
`short` group the rules give exactly the rows of the ranking. Example: of `top: 5` over 4,000 totals
the fifth total is stated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constat.explore.ranked_rules import first_key, fresh_variable, ranking_rule
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Positive,
    Predicate,
    Rule,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.explore.plan import Ranking, Step
    from constat.logic import Literal, Row

_NUMBER = "number"


@dataclass(frozen=True, slots=True)
class TopNames:
    """The names of the relations that the rules need."""

    near: str
    ends: str
    groups: str
    short: str


@dataclass(frozen=True, slots=True)
class TopRules:
    """Predicates and rules; `ends` are the rows of the relation that is stated."""

    predicates: tuple[Predicate, ...]
    rules: tuple[Rule, ...]
    ends: tuple[Row, ...]
    near: int
    """How many pairs of rows the ranking among `near` looks at."""


def top_rules(
    step: Step,
    ranking: Ranking,
    predicates: Mapping[str, Predicate],
    rows: Sequence[Row],
    names: TopNames,
) -> TopRules:
    """Write the rules of a ranking of these rows that has a `top`."""
    return _Top(step, ranking, predicates[ranking.of], names).rules(predicates, rows)


@dataclass(frozen=True, slots=True)
class _Top:
    step: Step
    ranking: Ranking
    ranked: Predicate
    names: TopNames

    @property
    def keys(self) -> list[str]:
        """The columns that decide."""
        names = (name for name, _ in self.ranking.by)
        return [name for name in dict.fromkeys(names) if name not in self.ranking.within]

    def rules(self, predicates: Mapping[str, Predicate], rows: Sequence[Row]) -> TopRules:
        near = replace(self.ranked, name=self.names.near, source=None, attributes={})
        groups = self.declared(self.names.groups, self.ranking.within)
        ends = self.declared(self.names.ends, (*self.ranking.within, *self.keys))
        count = Column("rows", _NUMBER, Kind.NUMBER)
        short = replace(groups, name=self.names.short, columns=(*groups.columns, count))
        among = replace(self.ranking, of=near.name)
        ranked = ranking_rule(self.step, among, {**predicates, near.name: near})
        found, pairs = self.ends(rows)
        own = [near, ends, short]
        rules = [*self.near_rules(), self.short_rule(), ranked]
        if self.ranking.within:
            own.append(groups)
            rules.append(self.groups_rule())
        return TopRules(tuple(own), tuple(rules), found, pairs)

    def declared(self, name: str, columns: Sequence[str]) -> Predicate:
        by_name = {one.name: one for one in self.ranked.columns}
        return Predicate(name, tuple(replace(by_name[one], attributes={}) for one in columns))

    def near_rules(self) -> Iterator[Rule]:
        """Write a rule for each column that may put a row before the end, and one for the end."""
        names = [one.name for one in self.ranked.columns]
        rows = Atom(self.ranked.name, tuple(map(Variable, names)))
        head = Atom(self.names.near, rows.terms)
        for place, key in enumerate([*self.keys, None], start=1):
            shared = {*self.ranking.within, *self.keys[: place - 1]}
            terms = tuple(
                self.end_of(one) if one == key else Variable(one if one in shared else f"_{one}")
                for one in (*self.ranking.within, *self.keys)
            )
            body: list[Literal] = [Positive(Atom(self.names.ends, terms)), Positive(rows)]
            if key is not None:
                body += self.better(key)
            yield Rule(f"{self.names.near}.{place}", head, tuple(body))

    def better(self, key: str) -> tuple[Comparison, ...]:
        kind = next(one.kind for one in self.ranked.columns if one.name == key)
        return first_key(Variable(key), self.end_of(key), kind, descending=self.descending(key))

    def descending(self, key: str) -> bool:
        return next(one for name, one in self.ranking.by if name == key)

    def end_of(self, key: str) -> Variable:
        return fresh_variable(f"{key}_end", self.ranked)

    def groups_rule(self) -> Rule:
        within = self.ranking.within
        terms = (
            Variable(one.name if one.name in within else f"_{one.name}")
            for one in self.ranked.columns
        )
        head = Atom(self.names.groups, tuple(map(Variable, within)))
        body = (Positive(Atom(self.ranked.name, tuple(terms))),)
        return Rule(f"{self.names.groups}.1", head, body)

    def short_rule(self) -> Rule:
        """Name a group of which too few rows are near."""
        near, there = (fresh_variable(one, self.ranked) for one in ("rows_near", "rows_there"))
        within = tuple(map(Variable, self.ranking.within))
        body: list[Literal] = []
        if within:
            body.append(Positive(Atom(self.names.groups, within)))
        body += [
            self.counted(near, self.names.near),
            Comparison("<", near, Constant(self.ranking.top, Kind.NUMBER)),
            self.counted(there, self.ranked.name),
            Comparison("<", near, there),
        ]
        return Rule(f"{self.names.short}.1", Atom(self.names.short, (*within, near)), tuple(body))

    def counted(self, result: Variable, name: str) -> Aggregate:
        terms = tuple(
            Variable(one.name if one.name in self.ranking.within else f"_{one.name}")
            for one in self.ranked.columns
        )
        return Aggregate("count", result, None, (Positive(Atom(name, terms)),))

    def ends(self, rows: Sequence[Row]) -> tuple[tuple[Row, ...], int]:
        """Find the row at which each group's first ones end, and how many pairs are near."""
        places = {one.name: place for place, one in enumerate(self.ranked.columns)}
        within = [places[one] for one in self.ranking.within]
        keys = [places[one] for one in self.keys]
        groups: dict[Row, list[Row]] = {}
        for row in rows:
            group = tuple([row[place] for place in within])
            groups.setdefault(group, []).append(tuple([row[place] for place in keys]))
        found, pairs = [], 0
        for group, listed in groups.items():
            for place, key in reversed(list(enumerate(self.keys))):
                listed.sort(key=lambda one, at=place: one[at], reverse=self.descending(key))  # type: ignore[misc]
            end = listed[min(self.ranking.top, len(listed)) - 1]
            found.append((*group, *end))
            count = self.ranking.top
            while count < len(listed) and listed[count] == end:
                count += 1
            pairs += min(count, len(listed)) ** 2
        return tuple(found), pairs
