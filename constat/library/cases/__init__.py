"""Cases of rule libraries: small worlds with expected verdicts, run by the real engine.

In: libraries with `cases/*.dl`. Out: what became of every expectation, and which rules and literals
the cases have tried. Example: `run_cases([Path("rules")]).exit_code` is 0 where all is as expected.
"""

from constat.library.cases.cases import Library, find_libraries
from constat.library.cases.coverage import Coverage, LiteralTried, RuleTried
from constat.library.cases.results import (
    CaseResult,
    CasesRun,
    ExpectationResult,
    LibraryRun,
    to_junit,
    to_sarif,
)
from constat.library.cases.running import run_cases

__all__ = [
    "CaseResult",
    "CasesRun",
    "Coverage",
    "ExpectationResult",
    "Library",
    "LibraryRun",
    "LiteralTried",
    "RuleTried",
    "find_libraries",
    "run_cases",
    "to_junit",
    "to_sarif",
]
