"""Profiles: the reconciled way to compact, and the four designs it reconciles, by name.

In: a name.  Out: a policy and the window it was made for.  Invariants: each seed's thresholds, keep
sets, markers, tables and ways out can be had as it had them; what was wrong in it is mended there
and told in its module.

Example: ``profile("seed004").policy.trigger(profile("seed004").window)`` is 80,000.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.memory.policy import Policy, Window
from constat.memory.profiles import checkpoints, proactive, scratchpad, summarising

__all__ = ["NAMES", "Profile", "checkpoints", "proactive", "profile", "scratchpad", "summarising"]


@frozen
class Profile:
    """A policy and a window."""

    policy: Policy
    window: Window


_RECONCILED: Final = Profile(Policy(), Window())
_PROFILES: Final = (
    ("reconciled", _RECONCILED),
    (scratchpad.NAME, Profile(scratchpad.POLICY, scratchpad.WINDOW)),
    (proactive.NAME, Profile(proactive.POLICY, proactive.WINDOW)),
    (summarising.NAME, Profile(summarising.POLICY, summarising.WINDOW)),
    (checkpoints.NAME, Profile(checkpoints.POLICY, checkpoints.WINDOW)),
)
NAMES: Final = tuple(name for name, _ in _PROFILES)


def profile(name: str) -> Profile:
    """Return a profile; raises ``ConstatError`` C0804 for a name that there is not."""
    found = dict(_PROFILES).get(name)
    if found is None:
        message = f"there is no profile `{name}`"
        raise ConstatError([Diagnostic("C0804", message, help=f"one of {', '.join(NAMES)}")])
    return found
