"""Whole relations at scale: a program, wanted atoms and inputs in, relations out.

Plans, loads the inputs, computes stage by stage with the strategy of each, and falls back to the
reference engine for what is open or what a fast strategy cannot say exactly.

Public names: `evaluate(program, wanted, inputs, options) -> Results`.
"""

from __future__ import annotations
