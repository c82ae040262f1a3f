"""Rule libraries: which files belong to a project or a folder, and whether they are right.

In: a project, or paths. Out: an analysed program, or all mistakes with their places. Invariant:
nothing but rule files is read, and none outside the folders that the project or the caller names.
Example: `check_rules([Path("rules")]).diagnostics` is empty for a library without mistakes.
"""

from __future__ import annotations

from constat.library.cases import CasesRun, run_cases, to_junit
from constat.library.checking import Checked, check_rules
from constat.library.files import rule_files
from constat.library.listing import ListedPredicate, ListedRule, Listing, list_rules, read_listing
from constat.library.loading import load_rules
from constat.library.portability import portability_notes
from constat.library.rewriting import Rewritten, rewrite

__all__ = [
    "CasesRun",
    "Checked",
    "ListedPredicate",
    "ListedRule",
    "Listing",
    "Rewritten",
    "check_rules",
    "list_rules",
    "load_rules",
    "portability_notes",
    "read_listing",
    "rewrite",
    "rule_files",
    "run_cases",
    "to_junit",
]
