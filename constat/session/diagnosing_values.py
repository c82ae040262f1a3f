"""What a look at a project finds.

In: nothing. Out: `Finding`, and diagnostics turned into findings. Invariant: a finding that is an
error or a warning says what to do. Example: `Finding("rules", "ok", "3 files")`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Severity

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic

OK: Final = "ok"
NOTE: Final = "note"
WARNING: Final = "warning"
ERROR: Final = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, and what mends it."""

    check: str
    state: str
    message: str
    help: str = ""
    code: str = ""


def told(check: str, one: Diagnostic) -> Finding:
    """Give a diagnostic as a finding, with its place."""
    place = f"{one.span.source}:{one.span.line}: " if one.span else ""
    state = {Severity.ERROR: ERROR, Severity.WARNING: WARNING}.get(one.severity, NOTE)
    hint = one.help or one.note or f"`constat explain {one.code}` shows a right example"
    return Finding(check, state, f"{place}{one.message}", hint, one.code)


def counted(count: int, noun: str) -> str:
    """Write a count with what is counted: `1 rule`, `2 rules`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
