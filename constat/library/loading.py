"""Load the rules of a project.

In: a project. Out: its analysed program. Raises `ConstatError` with every mistake of the rule
files; its exit code is 78 where all of them are constructs that are refused on purpose. Example:
`load_rules(project, texts)` leaves the text of each file that was read in `texts`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.library.configured import configured_predicates, with_configured
from constat.syntax import exit_code, load_program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.project import Project


def load_rules(
    project: Project,
    texts: dict[str, str],
    places: dict[str, Path] | None = None,
    warnings: list[Diagnostic] | None = None,
) -> AnalysedProgram:
    """Load and analyse; `texts` receives what was read, by the names that diagnostics use.

    `places` receives the files by these names, `warnings` what is wrong and no error.
    """
    diagnostics: list[Diagnostic] = []
    files, roots = project.rules, project.rule_roots
    analysed = read_rules(files, roots, diagnostics, texts, Reading(project, places))
    if analysed is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    if warnings is not None:
        warnings[:] = diagnostics
    return analysed


@dataclass(frozen=True, slots=True)
class Reading:
    """What may be told to a reader of rules: whose approvals count, and where to write places.

    Without a project every recorded approval counts: nobody has said which do not.
    """

    project: Project | None = None
    places: dict[str, Path] | None = None


def read_rules(
    files: Sequence[Path],
    roots: Sequence[Path],
    diagnostics: list[Diagnostic],
    texts: dict[str, str],
    reading: Reading | None = None,
) -> AnalysedProgram | None:
    """Read and analyse; `None` where there are errors."""
    told = reading or Reading()
    places = {} if told.places is None else told.places
    known = configured_predicates(told.project)
    program = load_program(files, roots, diagnostics, texts=texts, places=places, known=known)
    program = with_configured(program, told.project, diagnostics)
    if any(one.severity is Severity.ERROR for one in diagnostics):
        # After an error of the text, names and types would be reported that are not wrong.
        return None
    analysed = analyse(program, diagnostics)
    if analysed is None or not any(rule.proposed for rule in analysed.rules):
        return analysed
    # Few libraries hold what a model wrote: the others are read without what judges approvals.
    judging = importlib.import_module("constat.library.reviewing.standing")
    found: AnalysedProgram | None = judging.approved_program(
        analysed, places.values(), told.project, diagnostics
    )
    return found
