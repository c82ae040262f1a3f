"""The checker, as sessions ask it, and the tier of proved facts through them.

In: a certificate, and the rules it may have. Out: the checker's report. Invariant: tiers never see
the checker; it is handed in where both are known. Example:
`checked(content, None, ()).accepted`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.check import Report


def checked(certificate: bytes, pin: str | None, trusted: Sequence[str]) -> Report:
    """Check a certificate; with a pin its rules are these, and those of nested ones trusted."""
    # A goal is proved without the checker, which takes a twentieth of a cold start to load.
    checker = importlib.import_module("constat.check")
    report: Report = checker.check_certificate(certificate, pin=pin, trusted=trusted)
    return report
