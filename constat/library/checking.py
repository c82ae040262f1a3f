"""Check rule files without a project.

In: paths of files and folders. Out: what they declare, and all diagnostics with the texts they
speak of. Invariant: files are read as one program and may include only what lies beside or below a
named path. Example: `check_rules([Path("rules/customer-value")]).rules` counts the rules.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from constat.analysis.sentences import incomplete_sentences
from constat.diagnostics import Diagnostic, Severity
from constat.library.files import rule_files
from constat.library.loading import read_rules
from constat.syntax import exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. `predicates` and `rules` are 0 where there are errors."""

    files: tuple[Path, ...]
    predicates: int
    rules: int
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    incomplete: tuple[Diagnostic, ...] = ()
    """Sentences that leave out a value."""
    portability: tuple[Diagnostic, ...] | None = None
    """What stock Souffle would not load or answer differently; `None` where it was not asked."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are errors."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)

    @property
    def exit_code(self) -> int:
        """0 without errors, 78 where all errors are constructs refused on purpose, else 2.

        1 where there are no errors, but a sentence leaves out a value, or the rules are not
        portable, when that was asked.
        """
        if self.errors:
            return exit_code(self.errors)
        return 1 if self.incomplete or self.portability else 0


def check_rules(
    paths: Sequence[Path], roots: Sequence[Path] = (), *, portable: bool = False
) -> Checked:
    """Check files together. `roots` are further folders that includes may reach.

    With `portable`, also what stock Souffle would make of them.
    """
    diagnostics: list[Diagnostic] = []
    texts: dict[str, str] = {}
    files = rule_files(paths, diagnostics)
    analysed = None
    if not diagnostics:
        folders = [path if path.is_dir() else path.parent for path in paths]
        analysed = read_rules(files, [*folders, *roots], diagnostics, texts)
    return Checked(
        files,
        len(analysed.program.predicates) if analysed else 0,
        len(analysed.rules) if analysed else 0,
        tuple(sorted(diagnostics, key=lambda one: one.place)),
        texts,
        tuple(incomplete_sentences(analysed)) if analysed else (),
        _portability(analysed, texts) if portable and analysed else None,
    )


def _portability(analysed: AnalysedProgram, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    # Only this needs what is known about Souffle.
    known = importlib.import_module("constat.library.portability")
    notes: tuple[Diagnostic, ...] = known.portability_notes(analysed, texts)
    return notes
