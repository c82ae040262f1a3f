"""Which predicates a question may be about, so that these are described before anything is asked.

In: a program and a question. Out: the predicates that share words with it, the likeliest first.
Invariants: it is a hint and nothing rests on it: every predicate is named in the prompt besides and
can be looked up; the same program and question give the same hint. Example: "Is C001 a VIP?" gives
`is_vip`, `in_vip_group` and `vip_threshold`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from constat.catalog.schema.words import singular, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.logic import Predicate

_MOST: Final = 6
_IN_NAME: Final = 3.0
_SHORTEST: Final = 3
# Beginnings stand for words: `ordered`, `orders` and `order` are alike.
_COMPARED: Final = 5


def likely(predicates: Sequence[Predicate], question: str, most: int = _MOST) -> list[Predicate]:
    """Give the predicates that have rare words of the question in their name or description."""
    asked = stems([question])
    known = [(one, stems([one.name]), stems(_told(one))) for one in predicates]
    weights = _weights([name | told for _, name, told in known])
    scored = [
        (_score(asked & (name | told), name, weights), place, one)
        for place, (one, name, told) in enumerate(known)
    ]
    best = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1]))
    return [one for _, _, one in best[:most]]


def _told(predicate: Predicate) -> Iterable[str]:
    yield from (one.name for one in predicate.columns)
    yield predicate.description
    yield predicate.attributes.get("says", "")


def stems(texts: Iterable[str]) -> set[str]:
    """Give the beginnings of the words in some texts, which stand for the words."""
    found = (word for text in texts for part in text.split() for word in words_of(part))
    return {singular((word,))[0][:_COMPARED] for word in found if len(word) >= _SHORTEST}


def _weights(found: Sequence[set[str]]) -> Mapping[str, float]:
    """Weigh words by how few predicates have them; one that all have weighs nothing."""
    counts = Counter(word for words in found for word in words)
    return {word: math.log(len(found) / count) for word, count in counts.items()}


def _score(shared: set[str], name: set[str], weights: Mapping[str, float]) -> float:
    return sum(weights[word] * (_IN_NAME if word in name else 1.0) for word in shared)
