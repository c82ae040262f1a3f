"""Import a file: read, find kinds, translate, print, and read back what was printed.

In: the text of a Python file. Out: `Imported`. Invariant: the text is given only when all of the
file was understood; it is checked like any rule file, and what the check finds is given with it.
Example: `import_rules("+ p(1)", "facts.py").text` ends in `p(1).`
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis import analyse
from constat.diagnostics import Diagnostic, Severity
from constat.library.pydatalog_rules.clauses import Clause, Expression, Operation, Value
from constat.library.pydatalog_rules.kinds import Kinds
from constat.library.pydatalog_rules.naming import Names
from constat.library.pydatalog_rules.reading import read_clauses
from constat.library.pydatalog_rules.translating import Translation
from constat.logic import Program
from constat.syntax import parse_text, print_program

if TYPE_CHECKING:
    from collections.abc import Sequence

WRITTEN = "<imported>"
"""The name under which diagnostics speak of the text that was written."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The rules as text (empty after errors in the file), and what was found in both texts."""

    text: str
    predicates: int
    rules: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What keeps the rules from being used."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)


def import_rules(text: str, source: str) -> Imported:
    """Import the text of a Python file; `source` is its name in diagnostics."""
    diagnostics: list[Diagnostic] = []
    clauses = _latest(read_clauses(text, source, diagnostics), diagnostics)
    kinds = Kinds(diagnostics)
    kinds.learn(clauses)
    translation = Translation(Names(), kinds, diagnostics)
    if not _has_errors(diagnostics):
        translation.translate(clauses)
    if _has_errors(diagnostics):
        return Imported("", 0, 0, _sorted(diagnostics))
    program = Program(translation.predicates, tuple(translation.rules))
    written = print_program(program)
    found: list[Diagnostic] = []
    analyse(parse_text(written, WRITTEN, found), found)
    return Imported(
        written,
        len(program.predicates),
        len(program.rules),
        (*_sorted(diagnostics), *_sorted(found)),
    )


def _latest(clauses: Sequence[Clause], diagnostics: list[Diagnostic]) -> list[Clause]:
    """Keep the last value of a function's fact, as pyDatalog does.

    A function that several rules give has one value there and may have several here.
    """
    kept: dict[object, Clause] = {}
    rules = Counter(_name(one) for one in clauses if one.head.function and not _is_fact(one))
    warned: set[tuple[str, int]] = set()
    for number, clause in enumerate(clauses):
        name = _name(clause)
        place: object = number
        if clause.head.function and _is_fact(clause):
            place = (name, tuple(map(_shown, clause.head.arguments[:-1])))
            kept.pop(place, None)
        elif rules[name] > 1 and name not in warned:
            warned.add(name)
            message = f"several rules give `{name[0]}` a value; there the first one counts"
            found = Diagnostic("C0463", message, clause.head.span, severity=Severity.WARNING)
            diagnostics.append(found)
        kept[place] = clause
    return list(kept.values())


def _name(clause: Clause) -> tuple[str, int]:
    return clause.head.predicate, len(clause.head.arguments) + (clause.fold is not None)


def _is_fact(clause: Clause) -> bool:
    return not clause.body and clause.fold is None


def _shown(expression: Expression) -> object:
    match expression:
        case Value(value=value):
            return type(value), value
        case Operation(operator=operator, operands=operands):
            return operator, tuple(map(_shown, operands))
        case _:
            return expression.name


def _has_errors(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(one.severity is Severity.ERROR for one in diagnostics)


def _sorted(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda one: one.place))
