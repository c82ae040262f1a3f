"""Make one answer of what the tiers contributed, for predicates with `@[key = ...]`.

In: contributions in the order of the chain, for a demand that binds exactly the key. Out: portions
and openings. Invariants (semantics 5, 6): per key value the highest tier with a row wins, and a
lower tier that says something else is reported; two rows of one tier for one key are possible,
neither is certain; a row below a tier that knows of a row but not its values rests on that tier's
silence. Example: config says `tier(C001, gold)`, the database silver: gold holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import Opening, Portion, TierAsked
from constat.tiers.combining import assumed, weakened
from constat.tiers.matching import ground_key, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Answer, Demand, Observer
    from constat.logic import Row
    from constat.tiers.asking import Contribution


@dataclass(slots=True)
class _Told:
    """What one tier says about its keys."""

    rows: dict[Row, dict[Row, list[Portion]]] = field(default_factory=dict)
    openings: dict[Row, list[Opening]] = field(default_factory=dict)
    loose: list[Opening] = field(default_factory=list)


class Shadowing:
    """Works down the chain and keeps, per key value, what is left to say."""

    def __init__(self, demand: Demand, observe: Observer) -> None:
        self._demand = demand
        self._key = demand.predicate.key
        self._observe = observe
        self._settled: dict[Row, tuple[str, frozenset[Row]]] = {}
        self._silent: dict[Row, list[str]] = {}
        self._silent_about_all: list[str] = []
        self.portions: list[Portion] = []
        self.openings: dict[Opening, None] = {}

    def stand_above(self, answer: Answer) -> None:
        """Let the rows of an answer win over all that is added; they are not given again."""
        found: dict[Row, set[Row]] = {}
        for portion in answer.portions:
            for row in portion.rows:
                found.setdefault(key_of(row, self._key), set()).add(row)
        for opening in answer.openings:
            ground = ground_key(opening.row, range(len(opening.row)))
            # Where the key is the whole row, an unanswered key's opening looks like a row.
            if ground is not None and opening.assumption is None:
                key = key_of(ground, self._key)
                if key in answer.answered or len(key) < len(ground):
                    found.setdefault(key, set()).add(ground)
        self._settled = {key: ("above", frozenset(rows)) for key, rows in found.items()}

    def add(self, contribution: Contribution) -> None:
        """Take the next tier's contribution."""
        told = self._sorted(contribution)
        conflicts = 0
        for key, rows in told.rows.items():
            higher = self._settled.get(key)
            if higher is not None:
                conflicts += not higher[1] >= rows.keys()
                continue
            doubts = [*told.openings.get(key, ()), *told.loose]
            partial = key in contribution.answer.failures
            if len(rows) > 1 or doubts or partial:
                self._contradict(contribution.tier, rows, stopped=partial)
            else:
                self._accept(contribution, key, rows)
            self._settled[key] = contribution.tier, frozenset(rows)
        self._keep_openings(contribution.tier, told)
        if conflicts:
            detail = f"{conflicts} keys have another value in a higher tier, which wins (conflict)"
            name = self._demand.predicate.name
            self._observe(TierAsked(contribution.tier, name, conflicts, "partial", detail))

    def _sorted(self, contribution: Contribution) -> _Told:
        told = _Told()
        for portion in contribution.answer.portions:
            for one in assumed(portion, contribution.tier, self._demand.predicate):
                for row in one.rows:
                    rows = told.rows.setdefault(key_of(row, self._key), {})
                    rows.setdefault(row, []).append(one)
        for opening in contribution.answer.openings:
            key = ground_key(opening.row, self._key)
            if key is None:
                told.loose.append(opening)
            else:
                told.openings.setdefault(key, []).append(opening)
        return told

    def _accept(self, contribution: Contribution, key: Row, rows: dict[Row, list[Portion]]) -> None:
        silent = [
            *contribution.fallen.get(key, ()),
            *self._silent.get(key, ()),
            *self._silent_about_all,
        ]
        for row, portions in rows.items():
            for portion in portions:
                assumption = weakened(portion.assumption, silent, self._demand.predicate)
                self.portions.append(Portion((row,), portion.evidence, assumption))

    def _contradict(self, tier: str, rows: dict[Row, list[Portion]], *, stopped: bool) -> None:
        count = len(rows)
        reason = f"tier {tier} gives {count} rows for one key of {self._demand.predicate.name}"
        if stopped or count == 1:
            reason = (
                f"tier {tier} may have another row for this key of {self._demand.predicate.name}"
            )
        self.openings.update({Opening(row, reason, tier): None for row in rows})

    def _keep_openings(self, tier: str, told: _Told) -> None:
        for opening in told.loose:
            self.openings[opening] = None
        for key, openings in told.openings.items():
            if key not in self._settled or self._settled[key][0] == tier:
                self.openings.update(dict.fromkeys(openings))
                self._silent.setdefault(key, []).append(tier)
        if told.loose:
            self._silent_about_all.append(tier)


def merge_equal(portions: Sequence[Portion]) -> tuple[Portion, ...]:
    """Put rows with the same evidence and assumption into one portion."""
    groups: dict[tuple[int, object], tuple[Portion, dict[Row, None]]] = {}
    for portion in portions:
        place = (id(portion.evidence), portion.assumption)
        groups.setdefault(place, (portion, {}))[1].update(dict.fromkeys(portion.rows))
    return tuple(
        Portion(tuple(rows), first.evidence, first.assumption) for first, rows in groups.values()
    )
