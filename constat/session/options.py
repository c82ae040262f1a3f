"""How a decision is written down, proofs are ranked and bulk is checked, without what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.project.settings import OFF

if TYPE_CHECKING:
    from pathlib import Path

    from constat.session.checking import Checks


@frozen
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


# Answers in bulk are checked as a whole before they are given out, beside what comes next where
# that takes longer than rows wait for it, or never. The project says which, unless asked for.

WAIT_SECONDS: Final = 2.0
"""How long rows wait for a check that goes on beside them."""


@frozen
class BulkOptions:
    """What is done with answers in bulk as a whole.

    `check` is one of `CHECKS`; with `BACKGROUND` the check is one of `checks`, and rows wait for it
    `wait` seconds. Into a `folder` they are written with all that it takes to check them elsewhere.
    """

    check: str = OFF
    folder: Path | None = None
    checks: Checks | None = None
    wait: float = WAIT_SECONDS


UNCHECKED: Final = BulkOptions()

# A more confident proof always comes first; the ranking decides among equally confident ones.

RANKINGS: Final = ("confidence", "height", "size")
"""What proofs may be ranked by."""
SECONDS: Final = 10.0
"""How long several proofs are looked for."""
MOST: Final = 1_000
"""How many proofs the command line shows."""

SAMPLE: Final = 25
"""How many rows of a population get a certificate of their own, to be looked at."""


@frozen
class PopulationOptions:
    """What is wanted: a sample of how many of each verdict, its seed, and among whom others are.

    Without a seed it is the identity of the certificate, which nobody chooses.
    """

    sample: int = SAMPLE
    seed: str = ""
    among: str = ""
