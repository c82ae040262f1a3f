"""Where the meaning of a placeholder would depend on the order of literals.

In: a body, one way in which it holds, what the reference engine asks for. Out: nothing, or
`UnfitError`. The reference engine loses correlation where a placeholder meets a literal before the
one that knows its value (semantics 7 allows it), so the same rule says more or less in another
order. Invariant: a way that passes is one where every order of the reference engine says the same,
and in which the bulk reading says it too. Example: of `owner(?c, ?o), person(?o), ?o != "x"` with
an open owner the reference engine may compare before it joins; the predicate is left to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.engine.state import FAR
from constat.forward.ways import Graded, UnfitError, Way, pins
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Literal,
    Negative,
    Positive,
    Term,
    Variable,
    literal_variables,
    term_variables,
)
from constat.plan import Absence, Fold, Join, plan_program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.analysis import AnalysedProgram
    from constat.plan import Step

Columns = tuple[int, ...]


@dataclass(slots=True)
class Asked:
    """What the reference engine asks for, by predicate, in order to answer some atoms.

    `keys` are the columns that a demand binds in some procedure. `joined` and `tested` are the
    columns by which rows are looked up: to extend bindings, and to see whether there is any.
    `near` are the predicates it may ask for more than a key.
    """

    keys: dict[str, set[int]] = field(default_factory=dict)
    joined: dict[str, set[Columns]] = field(default_factory=dict)
    tested: dict[str, set[Columns]] = field(default_factory=dict)
    near: set[str] = field(default_factory=set)

    def take(self, steps: Iterable[Step]) -> None:
        """Note what steps look up."""
        for step in steps:
            match step:
                case Join(predicate=name, columns=columns, arity=arity):
                    found = self.joined if len(columns) < arity else self.tested
                    found.setdefault(name, set()).add(columns)
                case Absence(predicate=name, columns=columns):
                    self.tested.setdefault(name, set()).add(columns)
                case Fold(steps=inner):
                    self.take(inner)
                case _:
                    pass

    def narrows(self, name: str, columns: Columns) -> bool:
        """Whether rows that are open in these columns may be met in several shapes.

        A demand that binds an open column brings a narrower shape, which another way of looking
        rows up would list beside the wider one.
        """
        joined = self.joined.get(name, set())
        every = joined | self.tested.get(name, set())
        binding = any(set(one) & set(columns) for one in every)
        return binding and bool(joined) and len(every) > 1


def asked_for(program: AnalysedProgram, wanted: Iterable[Atom], costs: Mapping[str, int]) -> Asked:
    """Say what the reference engine asks for to answer atoms of a program."""
    found = Asked()
    derived = {rule.head.predicate for rule in program.rules}
    found.near = {name for name, cost in costs.items() if cost < FAR and name not in derived}
    for atom in wanted:
        bound = tuple(n for n, term in enumerate(atom.terms) if isinstance(term, Constant))
        looked_up = found.joined if len(bound) < len(atom.terms) else found.tested
        looked_up.setdefault(atom.predicate, set()).add(bound)
        for (name, columns), procedure in plan_program(program, atom, costs).procedures.items():
            found.keys.setdefault(name, set()).update(columns)
            for rule in procedure.rules:
                found.take(rule.steps)
    return found


@dataclass(frozen=True, slots=True)
class Placeholders:
    """Checks the ways of one body; `head` is empty inside an aggregate, `keyed` are its columns."""

    literals: Sequence[Literal]
    graded: Graded
    near: frozenset[str]
    head: tuple[Term, ...] = ()
    keyed: frozenset[int] = frozenset()

    def check(self, way: Way) -> None:
        """Raise `UnfitError` where the order of literals matters."""
        for name in self.doubted(way):
            raise UnfitError(f"an unknown ?{name} meets several literals of a rule")

    def doubted(self, way: Way) -> list[str]:
        """Name the variables for which the order of literals matters."""
        return [name for name in sorted(way.open | way.met) if not self._is_fit(name, way)]

    def _is_fit(self, name: str, way: Way) -> bool:
        atoms = [one.atom for one in self.literals if isinstance(one, Positive)]
        if any(_computes(atom, name) for atom in atoms):
            return False
        binding = [atom for atom in atoms if Variable(name) in atom.terms]
        results = sum(
            isinstance(one, Aggregate) and one.result.name == name for one in self.literals
        )
        equal = sum(isinstance(one, Comparison) and name in pins(one) for one in self.literals)
        reads = self._is_read(name)
        match len(binding) + results, equal:
            case (1, 0) | (0, 1):
                return name in way.open and not (reads and self._is_keyed(name))
            case (1, 1) if name in way.met:
                # An equality may compute it from what is open, before its literal is asked.
                return not results and not reads and self._is_asked_widely(binding)
            case (1, 1):
                return not results and not reads and not self._is_shown(name)
            case (_, 0):
                return (
                    not results and not reads and name in way.met and self._may_widen(binding, way)
                )
            case _:
                return False

    def _may_widen(self, binding: Sequence[Atom], way: Way) -> bool:
        """Whether all that bind the variable, but for one that is open, can be asked without it."""
        opened = [atom for atom in binding if Positive(atom) not in way.literals]
        others = [atom for atom in binding if Positive(atom) in way.literals]
        return len(opened) == 1 and self._is_asked_widely(others)

    def _is_asked_widely(self, atoms: Iterable[Atom]) -> bool:
        return all(
            atom.predicate in self.near and not self.graded.of(atom.predicate) for atom in atoms
        )

    def _is_shown(self, name: str) -> bool:
        return any(name in _names(term) for term in self.head)

    def _is_keyed(self, name: str) -> bool:
        return any(
            place in self.keyed and term == Variable(name) for place, term in enumerate(self.head)
        )

    def _is_read(self, name: str) -> bool:
        """Whether anything but what binds the variable looks at its value."""
        shown = [term for term in self.head if name in _names(term)]
        if len(shown) > 1 or any(isinstance(term, Apply) for term in shown):
            return True
        return any(_reads(literal, name) for literal in self.literals)


def _reads(literal: Literal, name: str) -> bool:
    match literal:
        case Positive():
            return False
        case Negative(atom):
            return any(name in _names(term) for term in atom.terms)
        case Comparison():
            return name not in pins(literal) and any(
                one.name == name for one in literal_variables(literal)
            )
        case Aggregate(result=result):
            inside = {one.name for one in literal_variables(literal)}
            return name != result.name and name in inside


def _computes(atom: Atom, name: str) -> bool:
    return any(isinstance(term, Apply) and name in _names(term) for term in atom.terms)


def _names(term: Term) -> set[str]:
    return {variable.name for variable in term_variables(term)}
