"""Whole relations at scale: a program, wanted atoms and inputs in, relations out.

Plans, loads the inputs, computes stage by stage with the strategy of each, and falls back to the
reference engine for what is open or what a fast strategy cannot say exactly.

Example: `evaluate(program, [goal], {"edge": Rows(((1, 2), (2, 3)))}).count(0)`.
"""

from constat.forward.evaluating import evaluate
from constat.forward.inputs import Files, Frame, Input, Options, Outside, Rows, Serving
from constat.forward.results import Results

__all__ = [
    "Files",
    "Frame",
    "Input",
    "Options",
    "Outside",
    "Results",
    "Rows",
    "Serving",
    "evaluate",
]
