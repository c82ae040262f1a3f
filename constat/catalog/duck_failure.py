"""Say what DuckDB's errors mean, without the parts of them that quote.

In: an exception of the driver. Out: `QueryMistakeError` where the query cannot be right for this
source, `SourceFailureError` otherwise. Invariant (semantics 29): DuckDB's messages quote lines of
files, values and paths; of messages about data only the number of a line is kept. Example:
`Conversion Error: Could not convert string 'ten' to INT32` becomes "a value cannot be converted".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.catalog.failure import QueryMistakeError, SourceFailureError

if TYPE_CHECKING:
    import duckdb

_ABOUT_THE_QUERY: Final = frozenset(
    {"BinderException", "CatalogException", "ParserException", "SyntaxException"}
)
_ABOUT_VALUES: Final = frozenset(
    {"ConversionException", "OutOfRangeException", "TypeMismatchException", "InvalidInputException"}
)
_NO_COLUMN: Final = re.compile(
    r"(?:Referenced|Table) \"([^\"]{1,60})\" does not have a column named \"([^\"]{1,60})\"|"
    r"Referenced column \"([^\"]{1,60})\" (?:was )?not found"
)
_PATH: Final = re.compile(r"/|\\")
_LONGEST: Final = 160
NEEDS_MEMORY: Final = "it needs more memory than DuckDB is given here"


def trouble(
    problem: duckdb.Error, *, cancelled: bool = False, seconds: float = 0
) -> SourceFailureError | QueryMistakeError:
    """Give the error to raise for one of the driver's; `seconds` is how long the query had."""
    kind = type(problem).__name__
    if kind == "InterruptException":
        return stopped(seconds, cancelled=cancelled)
    if kind in _ABOUT_THE_QUERY:
        return QueryMistakeError(f"DuckDB says: {_about_the_query(str(problem))}")
    if kind == "PermissionException":
        return QueryMistakeError("the query does something that is not allowed", "C0516")
    if kind == "OutOfMemoryException":
        return SourceFailureError(NEEDS_MEMORY)
    if "Failed to read file" in str(problem):
        return SourceFailureError("a file of it is damaged", "C0543")
    if kind in _ABOUT_VALUES:
        reason = "DuckDB cannot convert or compute a value that the query meets"
        return SourceFailureError(reason, "C0544")
    return SourceFailureError(f"DuckDB cannot read it ({kind.removesuffix('Exception')})")


def stopped(seconds: float, *, cancelled: bool) -> SourceFailureError:
    """Give the failure of what was interrupted."""
    reason = "it was cancelled" if cancelled else f"it did not finish within {seconds:g} s"
    return SourceFailureError(reason, "C0521")


def cannot_open(problem: duckdb.Error) -> SourceFailureError:
    """Say why a file could not be opened."""
    said = str(problem)
    if "lock" in said.lower():
        return SourceFailureError("another program has it open for writing")
    if "different configuration" in said:
        return SourceFailureError("this program has it open for writing")
    if "newer" in said or "version" in said:
        return SourceFailureError("another version of DuckDB has written it")
    if "not a valid DuckDB" in said:
        return SourceFailureError("it is not a database of DuckDB")
    return SourceFailureError("it cannot be opened, or is damaged")


def _about_the_query(said: str) -> str:
    """Give the first line, with an unknown column named as for other sources."""
    first = said.partition("\n")[0].partition(": ")[2]
    found = _NO_COLUMN.search(first)
    if found is not None:
        table = f"{found[1]}." if found[1] else ""
        return f"no such column: {table}{found[2] or found[3]}"
    return "it cannot be bound" if _PATH.search(first) else first[:_LONGEST]
