"""A query that is to be computed in bulk, with what it is asked of.

In: a compiled query, the external predicates, the limits. Out: `Asked`, which says what the
evaluation may use. Invariant: what is spilled goes where this machine lets us write. Example:
`Asked(compiled, tiers.externals, limits, created).resources`.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from constat.evaluation import Resources

if TYPE_CHECKING:
    from constat.evaluation import Externals, Limits
    from constat.session.querying import Compiled


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to compute in bulk."""

    compiled: Compiled
    externals: Externals
    limits: Limits
    created: str

    @property
    def resources(self) -> Resources:
        """What the evaluation may use; it spills into the machine's folder for temporary files."""
        folder = Path(tempfile.gettempdir())
        scratch = folder if os.access(folder, os.W_OK) else None
        clock = self.limits.running()
        return Resources(self.limits.seconds, rows=self.limits.rows, scratch=scratch, clock=clock)
