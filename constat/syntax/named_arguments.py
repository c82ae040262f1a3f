"""Put arguments that are written by name into the places of their columns.

Columns that a body leaves out become `_`; `column = _` becomes a variable of its own, because what
is written is read. Heads and facts write all columns. Later passes see positions only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.logic import Constant, Variable
from constat.syntax.mistakes import goals
from constat.syntax.printing import Predicates, print_term
from constat.syntax.surface import SignedAtom, SurfaceTerm, Wildcard

if TYPE_CHECKING:
    from constat.diagnostics import Span
    from constat.logic import Predicate

_LONGEST: Final = 60
Fresh = Callable[[str, "Span | None"], Variable]


@dataclass(slots=True)
class NamedArguments:
    """The declarations that names are looked up in, and where mistakes go, each once."""

    known: Predicates
    diagnostics: list[Diagnostic]
    reported: set[SignedAtom] = field(default_factory=set)

    def placed(self, atom: SignedAtom, fresh: Fresh, *, head: bool = False) -> SignedAtom:
        """Give an atom with a term for each column.

        Where nothing declares it that is an error: terms would go into places by chance.
        """
        predicate = self.known.get(atom.predicate)
        if predicate is None:
            if atom not in self.reported:
                self.reported.add(atom)
                known = sorted(self.known)
                self.diagnostics.append(goals.unknown_predicate(atom.span, atom.predicate, known))
            return replace(atom, names=())
        if atom not in self.reported:
            found = _mistakes(atom, predicate, head=head)
            self.diagnostics.extend(found)
            if found:
                # A rule with alternatives is lowered several times.
                self.reported.add(atom)
        given = {name: term for (name, _), term in zip(atom.names, atom.terms, strict=True)}
        terms: list[SurfaceTerm] = []
        for column in predicate.columns:
            term = given.get(column.name) or Wildcard(atom.span)
            written = column.name in given and isinstance(term, Wildcard)
            terms.append(fresh(column.name, term.span) if written else term)
        return replace(atom, terms=tuple(terms), names=())


def _mistakes(atom: SignedAtom, predicate: Predicate, *, head: bool) -> list[Diagnostic]:
    """Say what is wrong with the names of an atom."""
    unnamed = next((span for name, span in atom.names if not name), None)
    if unnamed is not None:
        return [goals.mixed_arguments(unnamed, _all_named(atom, predicate))]
    columns = {column.name for column in predicate.columns}
    found: list[Diagnostic] = []
    seen: set[str] = set()
    for name, span in atom.names:
        if name not in columns:
            found.append(goals.unknown_column(span, name, predicate))
        elif name in seen:
            found.append(goals.column_again(span, name))
        seen.add(name)
    missing = [column.name for column in predicate.columns if column.name not in seen]
    if head and missing and not found:
        found.append(goals.incomplete_head(atom.span, missing))
    return found


def _all_named(atom: SignedAtom, predicate: Predicate) -> str:
    """Write an atom with the names of its arguments: those without go by their place."""
    parts = []
    for place, ((name, _), term) in enumerate(zip(atom.names, atom.terms, strict=True)):
        at_place = predicate.columns[place].name if place < predicate.arity else "column"
        parts.append(f"{name or at_place} = {_shown(term)}")
    return f"{'!' if atom.negative else ''}{atom.predicate}({', '.join(parts)})"


def _shown(term: SurfaceTerm) -> str:
    match term:
        case Variable() | Constant():
            text = print_term(term)
            return text if len(text) <= _LONGEST else "..."
        case Wildcard():
            return "_"
        case _:
            return "..."
