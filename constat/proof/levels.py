"""How sure a proof is, and how well its absences and totals are founded (FORMAT.md, 6a)."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Spoken
from constat.proof.instances import NegativeCode, PositiveCode
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constat.evaluation import Assumption, Evidence
    from constat.logic import OpenRow
    from constat.proof.groups import Exact
    from constat.proof.instances import AggregateCode
    from constat.proof.outside import Covered
    from constat.proof.proofs import Proof
    from constat.proof.sentences import Speech

MILLION: Final = 1_000_000


class Ranking(Enum):
    """What counts among proofs of equal confidence; a more confident one always comes first.

    ``SIZE`` is that of the proof as a tree, in which a fact counts as often as it is used: the
    least number of different facts is NP-hard to find.
    """

    HEIGHT = "height"
    SIZE = "size"


def millionths(value: Decimal) -> int:
    """Return a confidence in millionths, rounded down, within 0 and 1."""
    scaled = (value * MILLION).to_integral_value(rounding=ROUND_FLOOR)
    return min(MILLION, max(0, int(scaled)))


def spell(value: int) -> str:
    """Return the one spelling of a confidence in millionths: ``1``, ``0.45``."""
    whole, places = divmod(value, MILLION)
    return f"{whole}.{places:06}".rstrip("0").rstrip(".")


def rule_confidence(least: int, rule: int) -> int:
    """Return the confidence of a conclusion from its least premise and its rule."""
    return least * rule // MILLION


# The levels are those that a checker finds by itself; a certificate that says another is rejected.

DECLARED: Final = "C0"
RERUNNABLE: Final = "C1"
COMMITTED: Final = "C2"
"""Written into certificates afterwards (``committing``): a proof knows of no roots."""
INLINE: Final = "C3"
DERIVED: Final = "C4"
LEVELS: Final = MappingProxyType(
    {
        DECLARED: Spoken(
            "somebody declares that nothing is missing", "jemand erklärt, dass nichts fehlt"
        ),
        RERUNNABLE: Spoken(
            "a query that can be run again", "eine Abfrage, die sich wiederholen lässt"
        ),
        COMMITTED: Spoken(
            "rows that a signed snapshot commits to",
            "Zeilen, die ein unterschriebener Abzug festhält",
        ),
        INLINE: Spoken("all rows are shown", "alle Zeilen sind gezeigt"),
        DERIVED: Spoken("it follows from what is shown", "es folgt aus dem, was gezeigt ist"),
    }
)
"""What completeness rests on, for people."""
LEVEL_WORDS: Final = MappingProxyType({name: one.english for name, one in LEVELS.items()})
CLOSING: Final = frozenset({"closure", "fall-through"})


def level_text(level: str | None, speech: Speech = PLAIN) -> str:
    """Return a level with what it says; nothing where there is none."""
    # A certificate that nobody has checked may say anything.
    spoken = LEVELS.get(level or "")
    return f"{level}: {speech.said(spoken)}" if spoken else level or ""


class Completeness:
    """The levels of one proof; as texts they compare as levels do."""

    def __init__(self, proof: Proof, is_inline: Callable[[str, Evidence], bool]) -> None:
        self._proof = proof
        self._is_inline = is_inline

    def weakest(
        self, accepted: Iterable[Assumption], nested: Iterable[str | None], *, summarised: bool
    ) -> str | None:
        """Return the weakest level of a certificate; ``nested`` are those it rests on."""
        found = [level for level in nested if level is not None]
        found += [DECLARED] if any(one.kind in CLOSING for one in accepted) else []
        found += [RERUNNABLE] if summarised else []
        bounded = any(one.keys for one in self._proof.slice.inside.entries.values())
        found += [DERIVED] if bounded else []
        found += self._levels(self._proof.slice.outside.usage.every())
        return min(found, default=None)

    def of_row(self, predicate: str, row: OpenRow) -> str:
        """Return the level on which a row or pattern is absent; empty where none was needed."""
        outside, derived = self._proof.slice.outside, self._proof.slice.derived
        found = [DERIVED] if predicate in derived else []
        covered, closed = outside.looked_up(predicate, row)
        found += [DECLARED] if closed else []
        found += self._levels(covered)
        return min(found, default="")

    def of_total(self, literal: AggregateCode, exact: Exact) -> str:
        """Return the level on which the rows of an aggregate are all there are."""
        derived = self._proof.slice.derived
        found = [RERUNNABLE] if exact.sources else []
        found += [DECLARED] if exact.closed else []
        atoms = (t.atom for t in literal.body if isinstance(t, PositiveCode | NegativeCode))
        found += [DERIVED for atom in atoms if atom.predicate in derived]
        return min(found + ([] if exact.sources else self._levels(exact.covered)), default="")

    def _levels(self, covered: Iterable[Covered]) -> list[str]:
        found = []
        for one in covered:
            level = self._level(one)
            if level is not None:
                found.append(level)
        return found

    def _level(self, covered: Covered) -> str | None:
        spoken = self._proof.slice.outside.sources(covered)
        if all(evidence.assumed for evidence in spoken):
            return None
        if any(evidence.exhaustive is not None for evidence in spoken):
            return RERUNNABLE
        inline = all(self._is_inline(covered[0], evidence) for evidence in spoken)
        return INLINE if inline else RERUNNABLE
