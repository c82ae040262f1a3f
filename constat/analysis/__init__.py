"""Is the program right? Names, types, safety, modes, strata.

In: a `constat.logic.Program` as lowered from text. Out: an `AnalysedProgram`, and diagnostics
C02xx. Invariant: a program that is given back is safe, typed and stratified, and every constant
and function carries its final kind. `PASSES` is the order of the passes.
"""

from constat.analysis.aggregation import (
    FLOOR,
    refused_in_drafts,
)
from constat.analysis.analysed import (
    AnalysedProgram,
    Component,
)
from constat.analysis.demand import (
    without_given,
)
from constat.analysis.goals import (
    QUERIED,
    check_goal,
    fence_mistakes,
)
from constat.analysis.passes import (
    PASSES,
    Pass,
    analyse,
    analyse_or_raise,
)

__all__ = [
    "FLOOR",
    "PASSES",
    "QUERIED",
    "AnalysedProgram",
    "Component",
    "Pass",
    "analyse",
    "analyse_or_raise",
    "check_goal",
    "fence_mistakes",
    "refused_in_drafts",
    "without_given",
]
