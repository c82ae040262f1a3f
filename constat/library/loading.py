"""Load the rules of a project.

In: a project. Out: its analysed program. Raises `ConstatError` with every mistake of the rule
files; its exit code is 78 where all of them are constructs that are refused on purpose. Example:
`load_rules(project, texts)` leaves the text of each file that was read in `texts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.syntax import exit_code, load_program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.project import Project


def load_rules(project: Project, texts: dict[str, str]) -> AnalysedProgram:
    """Load and analyse; `texts` receives what was read, by the names that diagnostics use."""
    diagnostics: list[Diagnostic] = []
    analysed = read_rules(project.rules, project.rule_roots, diagnostics, texts)
    if analysed is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    return analysed


def read_rules(
    files: Sequence[Path],
    roots: Sequence[Path],
    diagnostics: list[Diagnostic],
    texts: dict[str, str],
) -> AnalysedProgram | None:
    """Read and analyse; `None` where there are errors."""
    program = load_program(files, roots, diagnostics, texts=texts)
    if any(one.severity is Severity.ERROR for one in diagnostics):
        # After an error of the text, names and types would be reported that are not wrong.
        return None
    return analyse(program, diagnostics)
