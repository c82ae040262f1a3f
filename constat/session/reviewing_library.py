"""The rules of a project as a reviewer sees them: which a model wrote, where, and what was said.

In: a project. Out: numbers of rules, files, records. Invariant: it is one reading: after a decision
another is made. Example: `ReviewedLibrary(project).named("DRAFT1")` gives that rule's number.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.library.loading import load_rules
from constat.library.reviewing.approvals import Approval, read_approvals
from constat.library.reviewing.hashes import Hashes, hashes_of
from constat.library.reviewing.placing import Library
from constat.library.reviewing.standing import DRAFT, Standing, Trust, project_trust, standing
from constat.session.reviewing_words import Subject
from constat.store.clock import now
from constat.syntax.lowering import is_proposed, letters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.logic import Rule
    from constat.project import Project

Numbers = tuple[int, ...]


class ReviewedLibrary:
    """One reading of a project's rules, with the records beside them."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.texts: dict[str, str] = {}
        places: dict[str, Path] = {}
        self.program: AnalysedProgram = load_rules(project, self.texts, places)
        self.library = Library(project, self.program, places)
        self._records: dict[Path, tuple[Approval, ...]] = {}

    @cached_property
    def trust(self) -> Trust:
        """What makes an approval count."""
        return project_trust(self.project, now())

    @cached_property
    def written_by_models(self) -> Numbers:
        """The numbers of the rules that models wrote, approved or not."""
        rules = enumerate(self.program.rules)
        return tuple(number for number, rule in rules if is_proposed(dict(rule.attributes)))

    @cached_property
    def landed(self) -> dict[str, Numbers]:
        """The drafts that are approved and in a file, with the numbers of their rules."""
        found: dict[str, Numbers] = {}
        for number in self.written_by_models:
            for identity in self.program.rules[number].attributes.get(DRAFT, "").split():
                found[identity] = (*found.get(identity, ()), number)
        return found

    def named(self, name: str) -> Numbers:
        """Find the rules of models with an id, or those of a statement with alternatives."""
        rules = self.program.rules
        exact = tuple(n for n in self.written_by_models if rules[n].id == name)
        if exact:
            return exact
        lettered = {f"{name}{letters(place)}" for place in range(len(rules))} if name else set()
        return tuple(n for n in self.written_by_models if rules[n].id in lettered)

    def rules(self, numbers: Numbers) -> tuple[Rule, ...]:
        """Give the rules of these numbers."""
        return tuple(self.program.rules[number] for number in numbers)

    def file(self, number: int) -> Path:
        """Give the file that a rule is in."""
        rule = self.program.rules[number]
        found = None if rule.span is None else self.library.places.get(rule.span.source)
        if found is None:
            message = f"the rule `{rule.id}` lies in no file of the project"
            raise ConstatError([Diagnostic("C0884", message)])
        return found

    def shown(self, file: Path) -> str:
        """Give a file as people know it: from the project, or by the name diagnostics use."""
        for name, path in self.library.places.items():
            if path == file:
                return name
        folder = self.project.folder
        if file.is_relative_to(folder):
            return file.relative_to(folder).as_posix()
        return f"{file.parent.name}/{file.name}"

    def records(self, number: int) -> tuple[Approval, ...]:
        """Give the records beside a rule."""
        folder = self.file(number).parent
        if folder not in self._records:
            self._records[folder] = read_approvals(folder)
        return self._records[folder]

    def hashes(self, number: int) -> Hashes:
        """Give what an approval of a rule is bound to."""
        return hashes_of(self.program, number)

    def standing(self, number: int) -> Standing:
        """Say what the records make of a rule."""
        return standing(self.records(number), self.hashes(number), self.trust)

    def subject(self, number: int) -> Subject:
        """Say what a word about a rule is about; who asked is known from earlier records."""
        rule = self.program.rules[number]
        earlier = [one for one in self.records(number) if one.rule == rule.id]
        draft = next((one.draft for one in reversed(earlier) if one.draft), "")
        asked_by = next((one.asked_by for one in reversed(earlier) if one.asked_by), "")
        return Subject(rule.id, self.hashes(number), draft, asked_by)

    def subjects(self, numbers: Sequence[int]) -> tuple[Subject, ...]:
        """Say what words about rules are about."""
        return tuple(self.subject(number) for number in numbers)
