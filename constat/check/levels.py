"""How well completeness is founded: the levels of look-ups, of literals and of a certificate.

In: a certificate, and the look-ups that its checks made.  Out: the weakest level for the header,
and for each absence and each aggregate its own level and the weakest that it rests on.
Invariant: a level is made from what was checked (rows shown, hashes recomputed, closures run) and
never from what a certificate says about itself.  FORMAT.md, section 6a.

Example: an absence for which a source showed all its rows is ``C3``; over a closure that such
look-ups bound it is ``C4``, resting on ``C3``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from .certificate import LEVELS
from .evidence import texts_of

if TYPE_CHECKING:
    from .certificate import Certificate
    from .evidence import Evidence
    from .records import Coverage
    from .values import Row

DECLARED: Final = 0
RERUNNABLE: Final = 1
COMMITTED: Final = 2
INLINE: Final = 3
DERIVED: Final = 4
UNCLAIMED: Final = -1
"""The level of a coverage that an open row backs: it does not say that anything is complete."""
NOTHING: Final = len(LEVELS)
"""Stronger than all: what no look-up was needed for."""

CLOSING: Final = frozenset({"closure", "fall-through"})
"""The kinds of assumptions that say that there are no further rows."""

Key: TypeAlias = "tuple[str, tuple[int, ...], Row]"


@dataclass(slots=True)
class Lookups:
    """What a part of a check looked up: the weakest level, and the keys of the closure."""

    weakest: int = NOTHING
    keys: set[Key] = field(default_factory=set)

    def add(self, other: Lookups) -> None:
        """Take over what another part looked up."""
        self.weakest = min(self.weakest, other.weakest)
        self.keys |= other.keys


class Levels:
    """Collects levels while a certificate is checked; the closure's look-ups come first."""

    def __init__(self) -> None:
        self.closure: dict[Key, Lookups] = {}
        self.literals: list[tuple[int | None, int | None, Lookups]] = []
        self._weakest: dict[Key, int] = {}

    def settle(self) -> None:
        """Find the weakest level under each key of the closure, through other keys as well."""
        above: dict[Key, list[Key]] = {}
        waiting: list[list[Key]] = [[] for _ in range(NOTHING + 1)]
        for key, lookups in self.closure.items():
            waiting[lookups.weakest].append(key)
            for below in lookups.keys:
                above.setdefault(below, []).append(key)
        # The weakest first: a key that was reached once cannot get weaker.
        for level, reached in enumerate(waiting):
            while reached:
                key = reached.pop()
                if key not in self._weakest:
                    self._weakest[key] = level
                    reached.extend(above.get(key, ()))

    def shown(self, lookups: Lookups) -> tuple[str | None, str | None]:
        """Return the names of a level and of the weakest level that it rests on."""
        below = [self._weakest[key] for key in lookups.keys if key in self._weakest]
        return name(lookups.weakest), name(min([lookups.weakest, *below]))


def name(level: int) -> str | None:
    """Return the name of a level."""
    return LEVELS[level] if level < NOTHING else None


def coverage_level(evidence: Evidence, coverage: Coverage) -> int:
    """Return how well a coverage is founded."""
    named = [evidence.sources[source] for source in coverage.sources]
    if not any(source.vouched for source in named):
        return UNCLAIMED
    if any(source.authority for source in named):
        # That an API gave all there is, its declaration says.
        return RERUNNABLE
    if all(evidence.inline[source] for source in coverage.sources):
        return INLINE
    keys = {(coverage.columns, texts_of(key)) for key in coverage.keys}
    opened = (evidence.opened[source] for source in coverage.sources if not evidence.inline[source])
    return COMMITTED if all(one is not None and keys <= one for one in opened) else RERUNNABLE


def weakest_level(certificate: Certificate) -> str | None:
    """Return the weakest level that occurs in a certificate, those nested in it included."""
    evidence = certificate.evidence
    accepted = (evidence.assumptions[index].kind for index in certificate.header.under)
    found = [DECLARED] if any(kind in CLOSING for kind in accepted) else []
    found += [coverage_level(evidence, coverage) for coverage in evidence.coverage]
    found += [RERUNNABLE] * bool(certificate.summaries) + [DERIVED] * bool(certificate.entries)
    inner = (one.header.level for one in certificate.nested)
    found += [LEVELS.index(level) for level in inner if level is not None]
    return min((LEVELS[level] for level in found if level != UNCLAIMED), default=None)
