"""What the passes of the forward planner hand to each other.

In: an analysed program, the wanted atoms, statistics. Out: the same, rewritten and filled in pass
by pass, until `ForwardPlan` can be read from it. Invariant: after each rewriting the program is
safe, typed and stratified, and gives the wanted relations the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from constat.analysis import AnalysedProgram, Component
from constat.analysis.strata import components_of
from constat.logic import Kind, Predicate, Rule
from constat.plan.forward.estimates import Estimates
from constat.plan.forward.operators import Pipeline, Relation, Rewriting, Stage, Wanted
from constat.plan.forward.options import PlanOptions
from constat.plan.forward.statistics import Statistics

TypedRule = tuple[Rule, Mapping[str, Kind]]


@dataclass(slots=True)
class StageDraft:
    """A component under planning."""

    component: Component
    stated: list[int] = field(default_factory=list)
    base: list[Pipeline] = field(default_factory=list)
    recursive: list[Pipeline] = field(default_factory=list)
    linear: bool = True
    rounds: float = 1.0
    rows: float = 0.0


@dataclass(slots=True)
class Draft:
    """A forward plan under construction.

    `estimates` and `drafts` belong to the program `compiled`, which need not be the present one.
    """

    original: AnalysedProgram
    program: AnalysedProgram
    wanted: list[Wanted]
    statistics: Statistics
    options: PlanOptions
    made_by: dict[str, str] = field(default_factory=dict)
    notes: list[Rewriting] = field(default_factory=list)
    estimates: Estimates = field(default_factory=Estimates)
    drafts: list[StageDraft] = field(default_factory=list)
    compiled: AnalysedProgram | None = None
    relations: dict[str, Relation] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    def revise(
        self, rules: Sequence[TypedRule], made: Mapping[str, Predicate], made_by: str
    ) -> None:
        """Take other rules and more predicates; components are found anew."""
        predicates = {**self.program.program.predicates, **made}
        typed = tuple(rule for rule, _ in rules)
        program = replace(self.program.program, predicates=predicates, rules=typed)
        self.program = replace(
            self.program,
            program=program,
            rules=typed,
            variable_kinds=tuple(kinds for _, kinds in rules),
            components=components_of(program),
        )
        self.made_by.update(dict.fromkeys(made, made_by))

    def typed_rules(self) -> list[TypedRule]:
        """The rules with the kinds of their variables."""
        return list(zip(self.program.rules, self.program.variable_kinds, strict=True))

    def note(self, name: str, subject: str, why: str, *, applied: bool) -> None:
        """Say what was done, or why not."""
        self.notes.append(Rewriting(name, subject, applied, why))


Pass = Callable[[Draft], None]
