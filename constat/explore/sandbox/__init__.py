"""The sandbox: Python code that nobody has read runs away from the machine.

In: `Code` with its tables. Out: `Run`. Invariant: code runs without network, without files of the
machine and within bounds, or it does not run at all, unless a person has said that it may.
"""

from constat.explore.sandbox.sandbox import Sandbox, choose_level, unavailable
from constat.explore.sandbox.step import (
    Code,
    ErrorKind,
    Level,
    Plot,
    QueryRun,
    Run,
    StepError,
    StepLimits,
)

__all__ = [
    "Code",
    "ErrorKind",
    "Level",
    "Plot",
    "QueryRun",
    "Run",
    "Sandbox",
    "StepError",
    "StepLimits",
    "choose_level",
    "unavailable",
]
