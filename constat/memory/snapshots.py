"""Snapshots: the state of a memory that agents who work side by side all see.

In: how far a record had come, the rules, the policy, the goal.  Out: a value with a name.
Invariants: equal names mean equal views, byte for byte; a snapshot is a value and cannot change,
whatever is appended afterwards.

Example: ``memory.snapshot("cancel 4WQ150").id`` is ``view:`` and 32 hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constat.memory.policy import Policy, Window
    from constat.memory.record import Moment


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state: the session at a moment, seen through rules and a policy for a goal."""

    session: str
    moment: Moment
    rules: str
    policy: str
    goal: str

    @property
    def id(self) -> str:
        """The name of the state."""
        text = json.dumps(asdict(self), ensure_ascii=True, sort_keys=True)
        return f"view:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def policy_digest(policy: Policy, window: Window) -> str:
    """Name a policy and a window."""
    text = json.dumps([asdict(policy), asdict(window)], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
