"""Random projects with failing sources, nulls, closures and keys: a sample of ``verdicts``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.property.verdicts import Asker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    found = Asker(most=4)
    yield found
    found.close()


# The seeds from 280 on had a certificate that the checker rejected.
@pytest.mark.parametrize("first", [0, 280])
def test_each_verdict_passes_both_checkers_and_holds_in_every_completion(
    asker: Asker, first: int
) -> None:
    wrong = [line for seed in range(first, first + 8) for line in asker.differences(seed)]
    assert not wrong, "\n".join(wrong)
    assert asker.counts["refused"] == 0
    assert asker.counts["goals"] >= 24


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    "seed", [101295, 101302, 107216, 807310, 821483, 828525, 831372, 831920, 861433]
)
def test_what_a_long_run_found_stays_mended(asker: Asker, seed: int) -> None:
    """Open goals whose certificates would have decided them, and internal errors."""
    assert [*asker.differences(seed)] == []


# Each took rows of its own for support.  Four of them go when slow.
@pytest.mark.parametrize(
    "seed",
    [
        102034,
        117221,
        *[pytest.param(one, marks=pytest.mark.slow) for one in (101924, 107820, 110264, 111121)],
    ],
)
def test_what_only_supports_itself_is_disproved(asker: Asker, seed: int) -> None:
    before = asker.counts["DISPROVED"]
    assert [*asker.differences(seed)] == []
    assert asker.counts["DISPROVED"] > before


@pytest.mark.laws
def test_a_seed_gives_the_same_project_each_time() -> None:
    first, again = Asker(most=1), Asker(most=1)
    assert [*first.differences(7)] == [*again.differences(7)]
    assert first.counts == again.counts
    for one in (first, again):
        one.close()
