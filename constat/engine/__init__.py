"""The in-memory engine. In: an analysed program, a goal, external predicates. Out: an `Outcome`."""

from __future__ import annotations

from constat.engine.lazy import LazyEngine, LazyOutcome
from constat.engine.null_cells import told_apart

__all__ = ["LazyEngine", "LazyOutcome", "told_apart"]
