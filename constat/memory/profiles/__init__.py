"""Profiles: the reconciled way to compact, and the four designs it reconciles, by name.

In: a name.  Out: a policy and the window it was made for.  Invariants: each seed's thresholds, keep
sets, markers, tables and ways out can be had as it had them; what was wrong in it is mended there
and told in its module.

Example: ``profile("seed004").policy.trigger(profile("seed004").window)`` is 80,000.
"""

from constat.memory.profiles import checkpoints, proactive, scratchpad, summarising
from constat.memory.profiles.named import NAMES, Made, Profile, events, made_by, profile

__all__ = [
    "NAMES",
    "Made",
    "Profile",
    "checkpoints",
    "events",
    "made_by",
    "proactive",
    "profile",
    "scratchpad",
    "summarising",
]
