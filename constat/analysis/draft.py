"""What the passes of analysis hand to each other: a program that is not yet known to be right.

In: a program. Out: the same program with types, kinds and components filled in, pass by pass.
Invariant: a pass only adds diagnostics and fills its own fields; a wrong program never stops a
pass, so one run reports every cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from constat.analysis.analysed import Component
from constat.analysis.type_table import TypeTable
from constat.diagnostics import Diagnostic, Severity
from constat.logic import Kind, Predicate, Program, Rule
from constat.syntax import Mode


def as_warning(diagnostic: Diagnostic) -> Diagnostic:
    """Give what strict mode refuses and souffle mode accepts."""
    return replace(diagnostic, severity=Severity.WARNING)


@dataclass(slots=True)
class Draft:
    """A program under analysis. `rules[i]` and `variable_kinds[i]` belong to its rule i."""

    program: Program
    diagnostics: list[Diagnostic]
    types: TypeTable = field(default_factory=TypeTable)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    variable_kinds: list[Mapping[str, Kind]] = field(default_factory=list)
    components: tuple[Component, ...] = ()
    mode: Mode = Mode.STRICT
