"""Rules and what they are made of: terms, atoms, literals.

In: the members ``declarations`` and ``rules``.  Out: a ``Program`` in which every variable is a
position, every term has a kind and every atom fits its declaration.  Invariant: what is a
``Program`` can be evaluated without a further check of kinds.  FORMAT.md, section 4.

Example: ``["+", ["p", [["v", "x"]]]]`` becomes ``Positive(Atom("p", (Variable(0, "number"),)))``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from .values import Hole, Value


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable at ``position`` in the rule's list."""

    position: int
    kind: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value, spelled."""

    value: str
    kind: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of terms."""

    function: str
    args: tuple[Term, ...]
    kind: str


Term: TypeAlias = Variable | Constant | Call


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate of terms."""

    predicate: str
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Positive:
    """The atom is true."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative:
    """The atom is absent."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms of one kind compare so."""

    operator: str
    left: Term
    right: Term


Test: TypeAlias = Positive | Negative | Comparison


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``result`` is the fold of ``target`` over the body.

    ``inner`` are the positions of the local variables, ``outer`` those of the outer variables that
    occur in the body or the target: they name the group.
    """

    function: str
    result: Variable
    target: Term | None
    body: tuple[Test, ...]
    inner: tuple[int, ...]
    outer: tuple[int, ...]


Literal: TypeAlias = Test | Aggregate


@dataclass(frozen=True, slots=True)
class Declaration:
    """A predicate: its columns, and whether rows may come from outside."""

    name: str
    columns: tuple[tuple[str, str], ...]
    external: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each column."""
        return tuple(kind for _, kind in self.columns)


@dataclass(frozen=True, slots=True)
class Rule:
    """A head that follows from a body.

    ``variables`` are (name, kind); the first ``outer`` of them are the outer ones.
    ``confidence`` is in millionths.
    """

    name: str
    head: Atom
    body: tuple[Literal, ...]
    variables: tuple[tuple[str, str], ...]
    outer: int
    confidence: int
    says: str | None
    assumption: int | None


@dataclass(frozen=True, slots=True)
class Program:
    """What the certificate's logic is: declarations by name, rules in order."""

    declarations: dict[str, Declaration]
    rules: tuple[Rule, ...]
    derived: dict[str, tuple[int, ...]]


def positions(term: Term) -> set[int]:
    """Return the positions of the variables in a term."""
    match term:
        case Variable(position):
            return {position}
        case Call(_, args):
            return set().union(*map(positions, args))
        case Constant():
            return set()


def atom_positions(atom: Atom) -> set[int]:
    """Return the positions of the variables in an atom."""
    return set().union(*map(positions, atom.args))


def test_positions(test: Test) -> set[int]:
    """Return the positions of the variables in a literal that is no aggregate."""
    match test:
        case Positive(atom) | Negative(atom):
            return atom_positions(atom)
        case Comparison(_, left, right):
            return positions(left) | positions(right)


def free_positions(rule: Rule) -> frozenset[int]:
    """Return the variables that occur once in the rule, as an argument of a negated atom."""
    found: list[int] = [place for term in rule.head.args for place in _occurrences(term)]
    free: set[int] = set()
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            found += [literal.result.position, *literal.outer, *literal.inner]
        elif isinstance(literal, Comparison):
            found += [*_occurrences(literal.left), *_occurrences(literal.right)]
        else:
            found += [place for term in literal.atom.args for place in _occurrences(term)]
        if isinstance(literal, Negative):
            free |= {term.position for term in literal.atom.args if isinstance(term, Variable)}
    times = Counter(found)
    return frozenset(position for position in free if times[position] == 1)


def _occurrences(term: Term) -> list[int]:
    match term:
        case Variable(position):
            return [position]
        case Call(_, args):
            return [position for inner in args for position in _occurrences(inner)]
        case Constant():
            return []


Binding: TypeAlias = list[Value]


def unbound(rule: Rule) -> Binding:
    """Return the binding that binds nothing."""
    return [Hole.UNBOUND] * len(rule.variables)
