"""No attack makes somebody else's words a person's, and what people said survives.

`own` was written with the code in sight, `blind` from README.md alone. Both are data.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.memory.attacks.runner import FOLDER, ROUNDS, WAYS, Attack, attacks, played

ALL = [*attacks(FOLDER / "own"), *attacks(FOLDER / "blind")]


@pytest.mark.parametrize("attack", ALL, ids=lambda one: one.id)
def test_no_words_of_others_become_a_persons(attack: Attack) -> None:
    for way in WAYS:
        outcomes = list(played(attack, way))
        assert len(outcomes) == ROUNDS
        for one in outcomes:
            assert one.claims == (), f"{way}, round {one.round}"
            assert one.lost == (), f"{way}, round {one.round}"


def test_the_corpus_is_well_formed() -> None:
    assert [name for name, times in Counter(one.id for one in ALL).items() if times > 1] == []
    for one in ALL:
        assert one.format in {"openai", "anthropic"}
        assert one.needles
        assert all(one.needles), one.id
