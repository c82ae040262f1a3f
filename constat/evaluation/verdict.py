"""The five verdicts and their exit codes (semantics 1)."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType


class Verdict(Enum):
    """What became of a goal. The value is how certificates write it."""

    PROVED = "PROVED"
    PROVED_UNDER = "PROVED_UNDER"
    UNRESOLVED = "UNRESOLVED"
    DISPROVED = "DISPROVED"
    DISPROVED_UNDER = "DISPROVED_UNDER"

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict."""
        return _EXIT_CODES[self]

    @property
    def label(self) -> str:
        """The verdict in words: `PROVED UNDER assumptions`."""
        return self.value.replace("_UNDER", " UNDER assumptions")


_EXIT_CODES = MappingProxyType(dict(zip(Verdict, (0, 3, 4, 5, 6), strict=True)))
