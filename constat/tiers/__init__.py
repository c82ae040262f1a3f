"""Where facts come from: the chain cache > config > database > model > sub-plan, and people.

In: a project and its analysed program. Out: one external predicate for each predicate whose rows
come from outside. Invariant: a source that fails makes facts unknown, never absent.
"""

from constat.tiers.building import Tiers, build_externals
from constat.tiers.cache_age import (
    CACHE,
    UNREACHED,
    age_allowed,
    age_in_words,
    is_cached,
    parse_age,
    seconds_of,
)
from constat.tiers.chain import Chain
from constat.tiers.config import rule_facts
from constat.tiers.tier import SUPPOSED, Tier, TierAnswer, TierSettings, failed

__all__ = [
    "CACHE",
    "SUPPOSED",
    "UNREACHED",
    "Chain",
    "Tier",
    "TierAnswer",
    "TierSettings",
    "Tiers",
    "age_allowed",
    "age_in_words",
    "build_externals",
    "failed",
    "is_cached",
    "parse_age",
    "rule_facts",
    "seconds_of",
]
