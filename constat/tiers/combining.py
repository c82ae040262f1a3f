"""Make one answer of what the tiers contributed, for predicates without a key: their rows united.

In: contributions in the order of the chain. Out: portions and openings. Invariants (semantics 6,
18): rows of an assumed origin hold only under an assumption, whatever their tier says; rows used
after a configured tier had failed rest on "tier T did not answer". Example: config fails for a key,
the database answers; its rows carry a `fall-through`, and so does an opening for the key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.evaluation import Assumption, Portion
from constat.tiers.matching import has_null, key_of, matched_keys
from constat.tiers.wording import fallen_through, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.evaluation import Demand, Opening
    from constat.logic import Predicate, Row
    from constat.tiers.asking import Contribution


def unite(
    demand: Demand, contributions: Sequence[Contribution]
) -> tuple[list[Portion], list[Opening]]:
    """Give all rows, each with what it rests on, and all openings."""
    portions: list[Portion] = []
    openings: dict[Opening, None] = {}
    for contribution in contributions:
        for portion in contribution.answer.portions:
            for one in assumed(portion, contribution.tier, demand):
                portions += _split(one, demand, contribution)
        openings.update(dict.fromkeys(demand.clock.over(contribution.answer.openings)))
    return portions, list(openings)


def assumed(portion: Portion, tier: str, demand: Demand) -> Iterator[Portion]:
    """Yield the portion; where its origin is somebody's word, row by row under an assumption."""
    evidence = portion.evidence
    if portion.assumption is not None or not evidence.origin.assumed:
        yield portion
        return
    for row in demand.clock.over(portion.rows):
        said = told_by(tier, demand.predicate, row, evidence.confidence)
        yield Portion((row,), evidence, said)


def weakened(
    assumption: Assumption | None, tiers: Sequence[str], predicate: Predicate
) -> Assumption | None:
    """Give the assumption under which a row holds although those tiers did not answer."""
    if not tiers:
        return assumption
    fallen = fallen_through(tiers, predicate)
    if assumption is None:
        return fallen
    if assumption.parts:
        return replace(assumption, parts=(*assumption.parts, fallen))
    # A row has one assumption: this one says both things.
    text = f"{assumption.text}, and {fallen.text}"
    return Assumption(assumption.kind, assumption.subject, text, assumption.confidence)


def _split(portion: Portion, demand: Demand, contribution: Contribution) -> Iterator[Portion]:
    if not contribution.fallen:
        yield portion
        return
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in demand.clock.over(portion.rows):
        silent = contribution.fallen.get(key_of(row, demand.columns), ())
        if has_null(row, demand.columns):
            keys = matched_keys(row, demand.columns, contribution.fallen.keys())
            silent = tuple(dict.fromkeys(one for key in keys for one in contribution.fallen[key]))
        groups.setdefault(silent, []).append(row)
    for tiers, rows in groups.items():
        assumption = weakened(portion.assumption, tiers, demand.predicate)
        yield Portion(tuple(rows), portion.evidence, assumption)
