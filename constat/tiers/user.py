"""The facts that people have stated, united with what every other tier says.

In: the store of stated facts. Out: portions of origin USER_PROVIDED, one for each statement, under
the assumption that the author is right. Invariant: they are read anew for each demand, so a fact
added now counts in the next resolution and no remembered answer hides it. Example:
`user alice says tier(C009, gold)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.evaluation import Agent, Attestation, Demand, Evidence, Opening, Origin, Portion, Quote
from constat.logic import NullPolicy, with_null_cells
from constat.syntax import print_stated
from constat.tiers.tier import (
    TierAnswer,
    content_hash,
    matched_keys,
    pattern,
    read_canonical,
    stated_by,
)

if TYPE_CHECKING:
    from constat.logic import Predicate, Row
    from constat.store import FactStore, StoredFact

USER: Final = "user"


class UserFacts:
    """Reads a store; cheap, and never an authority."""

    name = USER
    cost = 1

    def __init__(self, store: FactStore) -> None:
        self._store = store

    def active(self, predicate: Predicate) -> list[str]:
        """Give the numbers of the facts that hold now."""
        return [str(fact.id) for fact in self._store.list(predicate.name)]

    def answer(self, demand: Demand) -> TierAnswer:
        """Give what people have stated."""
        predicate = demand.predicate
        wanted = set(demand.keys)
        portions = []
        openings: list[Opening] = []
        for fact in self._store.list(predicate.name):
            row = _typed(fact, predicate)
            if row is None:
                reason = f"stated fact {fact.id} does not fit the declaration of {predicate.name}"
                openings.extend(Opening(pattern(demand, key), reason, USER) for key in demand.keys)
            elif matched_keys(row, demand.columns, wanted):
                portions.append(_portion(fact, predicate, row))
        return TierAnswer(tuple(portions), tuple(dict.fromkeys(openings)))


def _typed(fact: StoredFact, predicate: Predicate) -> Row | None:
    """Give the row of a fact; of a cell that it leaves out nobody says whether it has a value."""
    left = {place for place, text in enumerate(fact.row) if text is None}
    without_key = not predicate.key or left & {*predicate.key}
    if len(fact.row) != predicate.arity or (left and without_key):
        return None
    pairs = zip(fact.row, predicate.columns, strict=True)
    try:
        cells = [None if text is None else read_canonical(text, column) for text, column in pairs]
    except ValueError:
        return None
    return with_null_cells(predicate.name, cells, (NullPolicy.MAYBE,) * predicate.arity)


def _quote(fact: StoredFact) -> Quote | None:
    """Give the words that say a fact, as the person's own document."""
    told = fact.told
    if told is None:
        return None
    return Quote(f"told by {fact.author}", told.words, told.start, told.end, told.hash)


def _note(fact: StoredFact) -> str | None:
    """Give the person's note; a model that found the fact in their words is named as a tool."""
    told = fact.told
    if told is None or not told.tool:
        return fact.note or None
    found = f"found in these words by {told.tool} (prompt {told.prompt}, response {told.response})"
    return f"{fact.note}; {found}" if fact.note else found


def _portion(fact: StoredFact, predicate: Predicate, row: Row) -> Portion:
    evidence = Evidence(
        tier=USER,
        origin=Origin.USER_PROVIDED,
        source="stated facts",
        executed_at=fact.added_at,
        query=print_stated(predicate, row),
        row_count=1,
        content_hash=content_hash((row,), predicate.kinds),
        author=fact.author,
        attestation=Attestation(Agent("person", fact.author), quote=_quote(fact), note=_note(fact)),
    )
    return Portion((row,), evidence, stated_by(fact.author, predicate, row))
