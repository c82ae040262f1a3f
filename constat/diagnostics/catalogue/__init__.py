"""The catalogue of codes: what each means, with a wrong and a right example.

In: nothing. Out: entries by code. Invariant: a code stands in it once, and never changes its
meaning. It is loaded by `constat explain` and by tests, not by those who make diagnostics. Example:
`catalogue()["C0121"].right` is a rule file.
"""

from __future__ import annotations

from constat.diagnostics.catalogue.collection import catalogue

__all__ = ["catalogue"]
