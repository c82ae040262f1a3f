"""Results that stay current: rows of inputs come and go, and what follows is brought up to date.

Everything is evaluated once in bulk; afterwards a change is followed through the rules, row by
row. What touches too much of what is kept, errs or is not settled is evaluated anew as a whole.
"""

import constat.evaluation.processor as _processor

_processor.load_numpy()

from constat.incremental.maintaining import (  # noqa: E402  numpy is loaded above, in the right way
    Changed,
    Fact,
    Maintained,
    NotKeptError,
    Update,
)
from constat.incremental.relations import StateBusyError, StateFile  # noqa: E402  as above

__all__ = [
    "Changed",
    "Fact",
    "Maintained",
    "NotKeptError",
    "StateBusyError",
    "StateFile",
    "Update",
]
