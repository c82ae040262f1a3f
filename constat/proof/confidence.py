"""Confidence in millionths: exact arithmetic, rounded down to six places (semantics 17).

Example: a premise of 0.9 under a rule of 0.5 gives ``rule_confidence(900_000, 500_000) ==
450_000``.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from typing import Final

MILLION: Final = 1_000_000


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
