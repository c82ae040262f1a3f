"""What has to be known of a given predicate: all rows, or those with some constants.

In: the rules that are computed in bulk, and the wanted atoms. Out: columns and keys for each given
predicate. Invariant: a row outside of the demand matches no atom that anybody reads, so without it
every relation is the same; also where the atom is negated or aggregated over. Example: where
`tier(?c, "gold")` is the only atom of `tier`, its rows with `gold` are enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.logic import Aggregate, Constant, Negative, Positive

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, Literal, Row

MOST_KEYS: Final = 100


@dataclass(frozen=True, slots=True)
class Wish:
    """The columns that are constants in every use, and their values."""

    columns: tuple[int, ...] = ()
    keys: tuple[Row, ...] = ((),)


EVERYTHING: Final = Wish()


@dataclass(slots=True)
class _Uses:
    """The constants of the atoms of one predicate; `columns` are those that all atoms bind."""

    columns: frozenset[int]
    atoms: list[Atom] = field(default_factory=list)

    def wish(self) -> Wish:
        """Give the narrowest demand for all atoms."""
        columns = tuple(sorted(self.columns))
        keys = dict.fromkeys(
            tuple(term.value for n in columns if isinstance(term := atom.terms[n], Constant))
            for atom in self.atoms
        )
        return Wish(columns, tuple(keys)) if columns and len(keys) <= MOST_KEYS else EVERYTHING


def wishes(
    program: AnalysedProgram, derived: Collection[str], wanted: Iterable[Atom]
) -> dict[str, Wish]:
    """Give the demand for each predicate that the rules of `derived` and the wanted atoms use."""
    found: dict[str, _Uses] = {}
    atoms = list(wanted)
    for rule in program.rules:
        if rule.head.predicate in derived:
            for literal in rule.body:
                atoms += _atoms(literal)
            # A given predicate that rules derive too is read as a whole: what is given is part.
            found[rule.head.predicate] = _Uses(frozenset())
    for atom in atoms:
        constants = frozenset(n for n, term in enumerate(atom.terms) if isinstance(term, Constant))
        uses = found.setdefault(atom.predicate, _Uses(constants))
        uses.columns &= constants
        uses.atoms.append(atom)
    return {name: uses.wish() for name, uses in found.items()}


def _atoms(literal: Literal) -> Iterator[Atom]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield atom
        case Aggregate(body=body):
            for inner in body:
                yield from _atoms(inner)
        case _:
            return
