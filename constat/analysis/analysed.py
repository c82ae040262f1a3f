"""The result of analysis, and what its passes hand to each other before it is known to be right."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from typing import TypeVar, cast

from constat.analysis.types import TypeTable
from constat.diagnostics import Diagnostic, Severity
from constat.frozen import frozen, slotted
from constat.logic import Kind, Predicate, Program, Rule
from constat.syntax import Mode

# Every constant and function carries its final kind; every rule is safe; no component negates or
# aggregates over itself. `components` are the strongly connected components of the dependency
# graph of derived predicates, callees first.

_Made = TypeVar("_Made")


@frozen
class Component:
    """Derived predicates that depend on each other.

    `recursive` is false for one predicate that does not use itself.
    """

    predicates: tuple[str, ...]
    recursive: bool


@frozen
class AnalysedProgram:
    """A program ready to be planned.

    `rules` are the program's rules, and a rule's index here is its number everywhere.

    `variable_kinds[i]` gives the kind of every variable of rule i. `external` holds the
    predicates whose rows may come from outside:
    those with an `.input`, and those declared that no rule derives.
    """

    program: Program
    rules: tuple[Rule, ...]
    variable_kinds: tuple[Mapping[str, Kind], ...]
    components: tuple[Component, ...]
    external: frozenset[str]
    _remembered: dict[Hashable, object] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def remembered(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Give what was made for a key before; it has to follow from the program and the key.

        Many goals are planned over one program. A program that is changed remembers nothing.
        """
        if key not in self._remembered:
            self._remembered[key] = make()
        return cast("_Made", self._remembered[key])

    @property
    def kinds(self) -> Mapping[str, tuple[Kind, ...]]:
        """The base kinds of the columns of each predicate."""
        return self.remembered(
            "kinds", lambda: {name: one.kinds for name, one in self.program.predicates.items()}
        )

    @property
    def has_structures(self) -> bool:
        """Whether a column holds structures."""
        return self.remembered(
            "has structures", lambda: any(Kind.STRUCTURE in one for one in self.kinds.values())
        )

    def rule_numbers(self, predicate: str) -> tuple[int, ...]:
        """The numbers of the rules that derive a predicate, ascending."""
        return tuple(
            number for number, rule in enumerate(self.rules) if rule.head.predicate == predicate
        )


# A pass only adds diagnostics and fills its own fields; a wrong program never stops a pass, so one
# run reports every cause.


def as_warning(diagnostic: Diagnostic) -> Diagnostic:
    """Give what strict mode refuses and souffle mode accepts."""
    return replace(diagnostic, severity=Severity.WARNING)


@slotted
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
