"""What a project asks of an approval.

Invariant: without a configuration an approval is one person's recorded word. Example:
`review: {four_eyes: true}` wants the word of somebody other than whoever asked for the draft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

APPROVER: Final = "approver"
"""The role in which rules are approved."""


@dataclass(frozen=True, slots=True)
class ReviewSetting:
    """How many different approvers a rule needs, and whether they may have asked for it.

    With `four_eyes` whoever asked does not count. With `signed` only signatures by keys that the
    project trusts as approver count; `None` means so where there is such a key.
    """

    four_eyes: bool = False
    approvers: int = 1
    signed: bool | None = None
