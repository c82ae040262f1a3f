"""The proof of greatest confidence, where the caller wants the search exhausted.

In: a reading and the facts to prove.  Out: for every fact a best derivation, found over all rule
instances whose premises are certain.  Invariant: no other derivation of a fact is more confident;
where all confidences are equal, no proof is lower than the one that is found, and its height is the
round in which bulk evaluation finds the fact.  See ``settling`` for why this is so.

Where a ranking is given and there is one fact, its proof is the first by that ranking; several
facts share their derivations, and then the smallest or lowest of each is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.proof.lateness import TooLargeError
from constat.proof.settling import BY_CONFIDENCE, BY_CONFIDENCE_AND_SIZE, Steps, settle
from constat.proof.topk import Effort, Ranking, TopK
from constat.proof.ways import Ways

if TYPE_CHECKING:
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.reading import Reading
    from constat.proof.settling import Measure

# Walking the instances is bounded by the steps; settling them takes a few for each.
_PER_WAY: Final = 20


def best_nodes(reading: Reading, facts: tuple[Fact, ...], steps: int) -> dict[Fact, Node]:
    """Return a best derivation of each fact and of what it rests on.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """
    return _settled(Ways(reading, facts, steps), facts, BY_CONFIDENCE, steps)


def first_nodes(
    reading: Reading, facts: tuple[Fact, ...], steps: int, ranking: Ranking | None
) -> dict[Fact, Node]:
    """Return the derivations that come first by a ranking, or the most confident ones.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """
    ways = Ways(reading, facts, steps)
    if ranking is None or len(facts) > 1:
        measure = BY_CONFIDENCE_AND_SIZE if ranking is Ranking.SIZE else BY_CONFIDENCE
        return _settled(ways, facts, measure, steps)
    first = next(iter(TopK(ways, facts, ranking, Effort(steps=_PER_WAY * steps))), None)
    if first is None:
        raise TooLargeError
    return dict(first.nodes)


def _settled(ways: Ways, facts: tuple[Fact, ...], measure: Measure, steps: int) -> dict[Fact, Node]:
    settled = settle(facts, ways.of, measure, Steps(_PER_WAY * steps, ways.reading.clock))
    return {fact: one.way.settled(one.listed) for (fact, _), one in settled.items()}
