"""What DuckDB's errors mean for a bulk evaluation.

In: an exception of the driver. Out: `ResourceError` where a bound was reached, else
`StrategyError`: this strategy cannot give the exact answer, another one may. Invariant (semantics
29): messages of DuckDB quote values, lines and paths; none of that is repeated. Example: an
overflow becomes `StrategyError("DuckDB: a value that is out of range")`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import MemoryNeededError, ResourceError, StrategyError

if TYPE_CHECKING:
    import duckdb

_KNOWN: Final = MappingProxyType(
    {
        "OutOfRangeException": "a value that is out of range",
        "ConversionException": "a value that cannot be converted",
        "InvalidInputException": "a function that has no value there",
        "PermissionException": "a file that may not be read",
        "IOException": "a file that cannot be read",
    }
)
_ABOUT_VALUES: Final = ("OutOfRangeException", "ConversionException", "InvalidInputException")
_FULL_DISK: Final = ("failed to offload", "No space left", "Disk quota", "File too large")


class ValueFailureError(StrategyError):
    """A value could not be computed or converted; perhaps one that a later condition removes."""


def meaning(problem: duckdb.Error, limits: str) -> ResourceError | StrategyError:
    """Give the error to raise; `limits` says what memory there is."""
    kind, said = type(problem).__name__, str(problem)
    if any(word in said for word in _FULL_DISK):
        return ResourceError("the disk space for intermediate results is used up")
    if kind == "OutOfMemoryException":
        return MemoryNeededError(f"more memory is needed than there is: {limits}")
    found = ValueFailureError if kind in _ABOUT_VALUES else StrategyError
    return found(f"DuckDB: {_KNOWN.get(kind, 'it fails')} ({kind.removesuffix('Exception')})")
