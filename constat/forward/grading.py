"""Compile a program over open inputs into a closed program: a relation for each strength and shape.

In: an analysed program, the grades of its inputs, what the reference engine asks for. Out: a
`GradedProgram`, whose rules derive the certain rows of a predicate under its own name and the
others under the names of their grades. Invariants: a predicate in `grades` means in bulk exactly
what the reference engine says of it; one in `unfit` is left to that engine, with a reason; where
nothing is open a predicate keeps its rules, and nothing is added. As long as every guard is empty:
a row of a guard means that the relation named with it needs the reference engine after all.

Example: where `risk` is possible for some customers beside the certain ones, the rule
`safe(?c) :- customer(?c), !risk(?c).` becomes `safe(?c) :- customer(?c), !risk(?c),
!risk.possible(?c).` and `safe.possible(?c) :- customer(?c), risk.possible(?c), !risk(?c).`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, Component
from constat.analysis.strata import components_of
from constat.forward.grades import Grade, graded_atom, graded_name, graded_predicate
from constat.forward.rule_grading import Around, Made, RuleGrading
from constat.forward.ways import Graded, UnfitError
from constat.plan.costs import predicates_of, rules_by_head

if TYPE_CHECKING:
    from constat.forward.erring import Erring
    from constat.forward.placeholders import Asked
    from constat.logic import Atom

MOST_GRADES: Final = 12


@dataclass(frozen=True, slots=True)
class GradedProgram:
    """A closed program.

    `grades` are those of each predicate that is not closed, `unfit` what is left to the reference
    engine and why. `guards` names for each guard the predicate that it speaks of, `origin` for
    each relation that was made the predicate it belongs to. `erring` names the relations that list
    the instances that err. `loose` are the predicates of which the reference engine may decide
    more, with reasons.
    """

    program: AnalysedProgram
    grades: Mapping[str, tuple[Grade, ...]] = field(hash=False)
    unfit: Mapping[str, str] = field(hash=False)
    guards: Mapping[str, str] = field(hash=False)
    origin: Mapping[str, str] = field(hash=False)
    erring: Mapping[str, Erring] = field(default_factory=dict, hash=False)
    loose: Mapping[str, str] = field(default_factory=dict, hash=False)

    def atoms(self, wanted: Atom) -> dict[Grade, Atom]:
        """Give the atoms that read the grades of a wanted atom."""
        predicate = self.program.program.predicates[wanted.predicate]
        grades = self.grades.get(wanted.predicate, ())
        return {grade: graded_atom(predicate, grade, wanted) for grade in grades}


def grade_program(
    program: AnalysedProgram,
    inputs: Mapping[str, tuple[Grade, ...]],
    asked: Asked,
    erring: Sequence[Erring] = (),
    *,
    loose: bool = False,
) -> GradedProgram:
    """Compile a program.

    `inputs` are the grades of the inputs that are open, `erring` the instances that err. With
    `loose` a predicate of which the reference engine's words depend on the order of its questions
    is loosened (see `loosening`), and not left to that engine.
    """
    grading = _Grading(program, inputs, asked, tuple(erring), may_loosen=loose)
    for component in program.components:
        grading.grade(component)
    return grading.result()


class _Grading:
    """A program under compilation."""

    def __init__(
        self,
        program: AnalysedProgram,
        inputs: Mapping[str, tuple[Grade, ...]],
        asked: Asked,
        erring: tuple[Erring, ...],
        *,
        may_loosen: bool,
    ) -> None:
        self.may_loosen = may_loosen
        self.loose: dict[str, str] = {}
        self.program = program
        self.erring = erring
        self.asked = asked
        self.inputs = inputs
        self.heads = rules_by_head(program)
        self.grades: dict[str, tuple[Grade, ...]] = {}
        self.graded = Graded(program.program.predicates, self.grades)
        self.unfit: dict[str, str] = {}
        self.made = Made()
        for name, grades in inputs.items():
            if name not in self.heads:
                self._give(name, grades)

    def _give(self, name: str, grades: tuple[Grade, ...]) -> None:
        """Take the grades of an input that no rule derives."""
        try:
            self._take_grades(name, grades)
            self._check(name, recursive=False)
        except UnfitError as problem:
            if self.may_loosen and len(grades) <= MOST_GRADES:
                # Its rows are what they are; it is only told more narrowly when asked by key.
                self.loose[name] = str(problem)
                return
            self.unfit[name] = str(problem)
            self.grades.pop(name, None)

    def result(self) -> GradedProgram:
        """Put the program together."""
        errors = {one.predicate.name: one.predicate for one in self.erring}
        predicates = {**self.program.program.predicates, **self.made.predicates, **errors}
        rules = tuple(rule for rule, _ in self.made.rules)
        program = replace(self.program.program, predicates=predicates, rules=rules)
        given = {
            graded_name(predicates[name], grade)
            for name, grades in self.inputs.items()
            for grade in grades
            if name in self.grades
        }
        analysed = AnalysedProgram(
            program,
            rules,
            tuple(kinds for _, kinds in self.made.rules),
            components_of(program),
            self.program.external | given | errors.keys(),
        )
        made = self.made
        return GradedProgram(
            analysed, self.grades, self.unfit, made.guards, made.origin, made.erring, self.loose
        )

    def grade(self, component: Component) -> None:
        """Compile the rules of a component, or leave it to the reference engine."""
        numbers = [n for name in component.predicates for n in self.heads.get(name, ())]
        try:
            made = self._fitting(component, numbers)
        except UnfitError as problem:
            self.unfit.update(dict.fromkeys(component.predicates, str(problem)))
            self._forget(component)
            made = Made([(self.program.rules[n], self.program.variable_kinds[n]) for n in numbers])
        known = set(self.made.predicates)
        self.made.rules += [
            one for one in made.rules if one[0].head.predicate not in known & made.shared
        ]
        self.made.predicates |= made.predicates
        self.made.origin |= made.origin
        self.made.guards |= made.guards
        self.made.erring |= made.erring

    def _fitting(self, component: Component, numbers: list[int]) -> Made:
        """Compile a component exactly, or loosely where that may be and has to be."""
        try:
            return self._component(component, numbers)
        except UnfitError as problem:
            if not self.may_loosen:
                raise
            self._forget(component)
            made = self._component(component, numbers, loose=True)
            self.loose.update(dict.fromkeys(component.predicates, str(problem)))
            return made

    def _forget(self, component: Component) -> None:
        for name in component.predicates:
            self.grades.pop(name, None)

    def _component(self, component: Component, numbers: list[int], *, loose: bool = False) -> Made:
        below = {
            name
            for n in numbers
            for one in self.program.rules[n].body
            for name in predicates_of(one)
        }
        for name in sorted(below & self.unfit.keys()):
            raise UnfitError(f"it rests on {name}")
        for name in component.predicates:
            if name in self.inputs:
                self._take_grades(name, self.inputs[name])
        around = Around(self.program, self.graded, self.asked, self.erring, loose)
        while True:
            made = Made()
            for number in numbers:
                RuleGrading(around, number, made).run()
            if not self._grow(made):
                break
        if not loose:
            for name in component.predicates:
                self._check(name, recursive=component.recursive)
        return made

    def _grow(self, made: Made) -> bool:
        """Add the grades that rules gave; whether any is new, so that readers must see it."""
        grown = False
        for name, grades in made.grades.items():
            known = self.grades.get(name, ())
            if not grades <= set(known):
                self._take_grades(name, (*known, *grades))
                grown = True
        return grown

    def _take_grades(self, name: str, grades: Iterable[Grade]) -> None:
        found = tuple(sorted(set(grades)))
        if len(found) > MOST_GRADES:
            raise UnfitError(f"its rows are open in more than {MOST_GRADES} ways")
        self.grades[name] = found
        predicate = self.program.program.predicates[name]
        for grade in found:
            one = graded_predicate(predicate, grade)
            self.made.predicates[one.name] = one
            self.made.origin[one.name] = name

    def _check(self, name: str, *, recursive: bool) -> None:
        for grade in self.grades.get(name, ()):
            if grade.open and recursive:
                raise UnfitError("its recursion has rows with unknown columns")
            if grade.open and self.asked.narrows(name, grade.open):
                raise UnfitError(f"{name} is asked for in several ways, one by an unknown column")
