"""Rule libraries: which files belong to a project or a folder, and whether they are right.

In: a project, or paths. Out: an analysed program, or all mistakes with their places. Invariant:
nothing but rule files is read, and none outside the folders that the project or the caller names.
Example: `check_rules([Path("rules")]).diagnostics` is empty for a library without mistakes. What
goals are proved without stands in modules of its own: `cases`, `listing`, `portability`,
`pydatalog_rules`, `rewriting`.
"""

from constat.library.loading import Checked, check_rules, load_rules, rule_files

__all__ = ["Checked", "check_rules", "load_rules", "rule_files"]
