"""Run the passes of analysis, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.aggregation import (
    check_aggregates,
    check_constant_comparisons,
    check_divisions,
    check_dropped_rows,
    without_shadows,
)
from constat.analysis.analysed import AnalysedProgram, Draft
from constat.analysis.attributes import check_attributes
from constat.analysis.destructuring import (
    make_ranges,
    name_ranges,
    open_structures,
    with_equations,
    with_projections,
)
from constat.analysis.kinds import infer_kinds
from constat.analysis.modes import check_given, check_modes
from constat.analysis.names import check_names
from constat.analysis.safety import check_nulls, check_safety, check_singletons
from constat.analysis.strata import find_strata
from constat.analysis.types import check_subtypes, resolve_types
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.syntax import Mode

if TYPE_CHECKING:
    from constat.logic import Program

Pass = Callable[[Draft], None]

PASSES: tuple[Pass, ...] = (
    resolve_types,  # needs declarations only; gives types and the kinds of columns
    check_names,  # needs declarations
    check_attributes,  # needs declarations
    check_safety,  # needs declarations, for its help
    check_given,  # needs declarations; where something is unbound it would say it twice
    check_singletons,  # needs safety's diagnostics: what these say is not said twice
    check_aggregates,  # needs declarations, for its help
    infer_kinds,  # needs the kinds of columns; gives typed rules
    check_subtypes,  # needs typed rules: constructors that know their types
    check_divisions,  # needs typed rules, as they were written
    check_constant_comparisons,  # needs typed rules, as they were written
    check_nulls,  # needs declarations
    check_dropped_rows,  # needs declarations and typed rules
    open_structures,  # needs typed rules, and all that looks at them as they were written before
    make_ranges,  # needs opened rules and their kinds; what follows knows no range
    check_modes,  # needs opened rules; assumes safety, but does not rely on it
    find_strata,  # needs rules only; gives components
)


def analyse(
    program: Program, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
) -> AnalysedProgram | None:
    """Analyse a program. Appends what is wrong; gives nothing when an error is in the list."""
    named: list[Diagnostic] = []
    draft = Draft(with_equations(name_ranges(program, named)), named, mode=mode)
    if mode is Mode.SOUFFLE:
        rules = tuple(without_shadows(rule, draft.diagnostics) for rule in draft.program.rules)
        draft.program = with_projections(replace(draft.program, rules=rules), draft.diagnostics)
    for run in PASSES:
        run(draft)
    diagnostics.extend(_distinct(draft.diagnostics))
    if any(one.severity is Severity.ERROR for one in diagnostics):
        return None
    derived = {rule.head.predicate for rule in draft.rules}
    external = frozenset(
        name
        for name, predicate in draft.predicates.items()
        if predicate.source is not None or name not in derived
    )
    rules = tuple(draft.rules)
    typed = replace(draft.program, predicates=draft.predicates, rules=rules)
    kinds = tuple(draft.variable_kinds)
    return AnalysedProgram(typed, rules, kinds, draft.components, external)


def analyse_or_raise(program: Program) -> AnalysedProgram:
    """Analyse a program, or raise `ConstatError` with all that is wrong."""
    diagnostics: list[Diagnostic] = []
    found = analyse(program, diagnostics)
    if found is None:
        raise ConstatError(diagnostics)
    return found


def _distinct(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Keep one of equal diagnostics: rules lowered from one rule of the text repeat them."""
    kept = {(one.code, one.span, one.message): one for one in reversed(diagnostics)}
    return sorted(kept.values(), key=lambda one: one.place)
