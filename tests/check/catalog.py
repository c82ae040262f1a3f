"""All good certificates by name, each made anew from a seed."""

from __future__ import annotations

import random
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tests.check import (
    certificates,
    committed,
    constructs,
    evidence_constructs,
    structured,
    thresholds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.check.certificates import Make
    from tests.check.writer import Writer


def _ignoring_the_seed(make: partial[Writer]) -> Make:
    return lambda _: make()


GOOD: Final[Mapping[str, Make]] = MappingProxyType(
    {
        make.__name__: make
        for make in (
            *certificates.BASIC,
            *constructs.MORE,
            *thresholds.MORE,
            *evidence_constructs.MORE,
            *committed.MORE,
        )
    }
    | {
        f"fold_{position}_{case[0]}_{case[1]}": _ignoring_the_seed(
            partial(constructs.folded, *case)
        )
        for position, case in enumerate(constructs.FOLDS)
    }
    | {
        f"summary_{position}_{case[0]}_{case[1]}": _ignoring_the_seed(
            partial(constructs.summarised, *case)
        )
        for position, case in enumerate(constructs.SUMMARIES)
    }
    | {make.__name__: make for make in structured.MORE}
)


LARGE: Final = frozenset(
    {
        "as_deep_as_allowed",
        "long_text",
        "premises_used_twice",
        "summary_of_as_many_chunks_as_allowed",
        "summary_of_inline_dates",
        "summary_of_inline_rows",
        "summary_of_larger_chunks",
    }
)


def small() -> tuple[str, ...]:
    """Return the names of those that are small enough for every single-place mutant."""
    return tuple(name for name in GOOD if name not in LARGE)


def good(name: str, seed: int = 0) -> Writer:
    """Return a good certificate by name."""
    return GOOD[name](random.Random(f"{name} {seed}"))
