"""The in-memory engine. In: an analysed program, a goal, external predicates. Out: an `Outcome`."""

from __future__ import annotations

from constat.engine.lazy import LazyEngine, LazyOutcome

__all__ = ["LazyEngine", "LazyOutcome"]
