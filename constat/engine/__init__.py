"""The in-memory engine. In: an analysed program, a goal, external predicates. Out: an `Outcome`."""

from constat.engine.goal_engine import LazyEngine, LazyOutcome
from constat.engine.relation import told_apart

__all__ = ["LazyEngine", "LazyOutcome", "told_apart"]
