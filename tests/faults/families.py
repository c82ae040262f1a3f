"""The families of faults, and how many rounds of each the figures took."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tests.faults import changes, disks, kills, mixtures, signals

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from random import Random


@dataclass(frozen=True, slots=True)
class Family:
    """Faults of one sort; `run` counts what it does and raises at a fault."""

    run: Callable[[str, int, Path, Random, Counter[str]], None]
    kinds: Sequence[str]
    rounds: int


FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {
        "kills": Family(kills.run, tuple(kills.KINDS), 200),
        "signals": Family(signals.run, signals.KINDS, 100),
        "disks": Family(disks.run, disks.KINDS, 50),
        "changes": Family(changes.run, changes.KINDS, 50),
        "mixtures": Family(mixtures.run, mixtures.KINDS, 600),
    }
)
