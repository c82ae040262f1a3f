"""The catalogue of codes: what each means, with a wrong and a right example.

In: nothing. Out: entries by code. Invariant: a code stands in it once, and never changes its
meaning. It is loaded by `constat explain` and by tests, not by those who make diagnostics.
Example: `catalogue()["C0121"].right` is a rule file.
"""

from __future__ import annotations

from collections.abc import Mapping

from constat.diagnostics.catalogue import analysis, evaluation, external, syntax
from constat.diagnostics.entry import Entry

__all__ = ["analysis", "catalogue", "evaluation", "external", "syntax"]


def catalogue() -> Mapping[str, Entry]:
    """Every entry by code, in the order of codes."""
    parts = (syntax.ENTRIES, analysis.ENTRIES, evaluation.ENTRIES, external.ENTRIES)
    entries = sorted((entry for part in parts for entry in part), key=lambda entry: entry.code)
    return {entry.code: entry for entry in entries}
