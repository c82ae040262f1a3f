"""How a decision is written down, proofs are ranked and bulk is checked, without what does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LogAs:
    """How a decision is written down.

    `by` is who decides, by default the user of this process; `retention` is a class of the
    project's; `supersedes` is the number of an earlier decision, or the identity of its proof.
    Unless `asked`, the project must have a log of its own.
    """

    by: str | None = None
    retention: str | None = None
    supersedes: str | None = None
    asked: bool = True

    @property
    def only_names(self) -> bool:
        """Whether it says who asks, and nothing of a log."""
        return not self.asked and self.retention is None and self.supersedes is None


# How answers in bulk are checked as a whole: each, those that were computed in a short time, none.

ALWAYS: Final = "always"
SHORT: Final = "short"
OFF: Final = "off"
CHECKS: Final = (ALWAYS, SHORT, OFF)
SHORT_SECONDS: Final = 2.0
"""How long computing may take of what is checked without being asked for."""


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """What is done with answers in bulk as a whole.

    `check` is one of `CHECKS`. Into a `folder` they are written with all that it takes to check
    them elsewhere.
    """

    check: str = OFF
    folder: Path | None = None


UNCHECKED: Final = BulkOptions()

# A more confident proof always comes first; the ranking decides among equally confident ones.

RANKINGS: Final = ("confidence", "height", "size")
"""What proofs may be ranked by."""
SECONDS: Final = 10.0
"""How long several proofs are looked for."""
MOST: Final = 1_000
"""How many proofs the command line shows."""
