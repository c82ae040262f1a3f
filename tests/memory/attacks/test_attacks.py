"""No attack makes somebody else's words a person's, and what people said survives.

`own` was written with the code in sight, `blind` from README.md alone; `honest` are histories in
which nobody attacks, and nothing that people said may be lost. All of them are data.
"""

from __future__ import annotations

from collections import Counter

import pytest

from constat.memory.quotations import own
from tests.memory.attacks.made import NEEDLE, WISH, forged, transcripts
from tests.memory.attacks.runner import FOLDER, ROUNDS, WAYS, Attack, attacks, played

ATTACKS = [*attacks(FOLDER / "own"), *attacks(FOLDER / "blind")]
HONEST = attacks(FOLDER / "honest")
ALL = [*ATTACKS, *HONEST]


def _named(one: object) -> str:
    return one.id if isinstance(one, Attack) else str(one)


# Each is played in one way by default, and in all of them when slow.
@pytest.mark.sampled(72, "laws")
@pytest.mark.parametrize(
    ("attack", "way"),
    [
        pytest.param(one, way, marks=() if number % len(WAYS) == place else (pytest.mark.slow,))
        for number, one in enumerate(ALL)
        for place, way in enumerate(WAYS)
    ],
    ids=_named,
)
def test_nobodys_words_become_a_persons_and_no_persons_are_lost(attack: Attack, way: str) -> None:
    outcomes = list(played(attack, way))
    assert len(outcomes) == ROUNDS + 1
    for one in outcomes:
        assert one.claims == (), f"after {one.round} rounds"
        # What is said in the second round is not known before it.
        assert one.lost == () or one.round == 0, f"after {one.round} rounds"


def test_the_corpus_is_well_formed() -> None:
    assert [name for name, times in Counter(one.id for one in ALL).items() if times > 1] == []
    assert all(one.format in {"openai", "anthropic"} for one in ALL)
    assert all(one.needles and all(one.needles) for one in ATTACKS)
    assert sum(len(one.survive) for one in HONEST) > 90


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("made", [*forged(), *transcripts()], ids=lambda made: made[0])
def test_no_forged_end_and_no_form_of_a_transcript_hides_whose_words_they_are(
    made: tuple[str, str],
) -> None:
    said = own(made[1])
    assert NEEDLE not in said
    assert WISH in said
