"""Rules and what they are made of: terms, atoms, literals.

In: the members ``declarations`` and ``rules``.  Out: a ``Program`` in which every variable is a
position, every term has a kind and every atom fits its declaration.  Invariant: what is a
``Program`` can be evaluated without a further check of kinds.  FORMAT.md, section 4.

Example: ``["+", ["p", [["v", "x"]]]]`` becomes ``Positive(Atom("p", (Variable(0, "number"),)))``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from .values import Hole, Known, Value


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable at ``position`` in the rule's list."""

    position: int
    kind: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """An argument that is not read; its place is that of a variable that occurs only here."""

    position: int
    kind: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value, spelled."""

    value: Known
    kind: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of terms."""

    function: str
    args: tuple[Term, ...]
    kind: str


Term: TypeAlias = Variable | Wildcard | Constant | Call


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
class Threshold:
    """What a recursive total has to exceed: the comparison at ``place`` in the rule's body.

    ``above`` is 1 where the bound itself is not enough (``>``).  With ``proven`` the text of the
    rule shows that no summand is negative.
    """

    place: int
    above: int
    bound: Term
    proven: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``result`` is the fold of ``target`` over the body.

    ``inner`` are the positions of the local variables, ``outer`` those of the outer variables that
    occur in the body or the target: they name the group.  ``threshold`` is set where the body
    depends on the rule's head.
    """

    function: str
    result: Variable
    target: Term | None
    body: tuple[Test, ...]
    inner: tuple[int, ...]
    outer: tuple[int, ...]
    threshold: Threshold | None = None


Literal: TypeAlias = Test | Aggregate


@dataclass(frozen=True, slots=True)
class Declaration:
    """A predicate: its columns, and whether rows may come from outside.

    ``nulls`` says of each column what a cell without a value means, ``given`` are the columns that
    callers bind, ``texts`` the sentences, reason codes and units that belong to it.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    external: bool
    nulls: tuple[str | None, ...] = ()
    given: tuple[int, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()

    kinds: tuple[str, ...] = field(init=False)
    """The kind of each column."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(kind for _, kind in self.columns))


@dataclass(frozen=True, slots=True)
class Rule:
    """A head that follows from a body.

    ``variables`` are (name, kind); the first ``outer`` of them are the outer ones.
    ``confidence`` is in millionths, ``texts`` are the sentences and reason codes, ``people`` say
    whose rule it is: author, owner and version.
    """

    name: str
    head: Atom
    body: tuple[Literal, ...]
    variables: tuple[tuple[str, str], ...]
    outer: int
    confidence: int
    texts: tuple[tuple[str, str], ...]
    assumption: int | None
    people: tuple[tuple[str, str], ...] = ()
    growing: tuple[tuple[int, Aggregate], ...] = field(init=False)
    """The aggregates that depend on the rule's head, with their places."""

    def __post_init__(self) -> None:
        found = enumerate(self.body)
        grows = ((p, one) for p, one in found if isinstance(one, Aggregate) and one.threshold)
        object.__setattr__(self, "growing", tuple(grows))


@dataclass(frozen=True, slots=True)
class Program:
    """What the certificate's logic is: declarations by name, rules in order."""

    declarations: dict[str, Declaration]
    rules: tuple[Rule, ...]
    derived: dict[str, tuple[int, ...]]


def positions(term: Term) -> set[int]:
    """Return the positions of the variables in a term."""
    match term:
        case Variable(position) | Wildcard(position):
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


def unread_positions(rule: Rule) -> frozenset[int]:
    """Return the wildcards of a rule, those of its aggregates included."""
    tests: list[Test] = []
    for literal in rule.body:
        tests += literal.body if isinstance(literal, Aggregate) else [literal]
    atoms = [test.atom for test in tests if not isinstance(test, Comparison)]
    terms = [term for atom in atoms for term in atom.args]
    return frozenset(term.position for term in terms if isinstance(term, Wildcard))


def _occurrences(term: Term) -> list[int]:
    match term:
        case Variable(position) | Wildcard(position):
            return [position]
        case Call(_, args):
            return [position for inner in args for position in _occurrences(inner)]
        case Constant():
            return []


def occurrences(rule: Rule, position: int) -> int:
    """Return how often a variable occurs in a rule, as the result of an aggregate included."""
    found: list[int] = [place for term in rule.head.args for place in _occurrences(term)]
    for literal in rule.body:
        tests: tuple[Test, ...]
        if isinstance(literal, Aggregate):
            found.append(literal.result.position)
            found += [] if literal.target is None else _occurrences(literal.target)
            tests = literal.body
        else:
            tests = (literal,)
        found += [place for test in tests for place in _in_test(test)]
    return found.count(position)


def _in_test(test: Test) -> list[int]:
    match test:
        case Positive(atom) | Negative(atom):
            return [place for term in atom.args for place in _occurrences(term)]
        case Comparison(_, left, right):
            return [*_occurrences(left), *_occurrences(right)]


Binding: TypeAlias = list[Value]


def unbound(rule: Rule) -> Binding:
    """Return the binding that binds nothing."""
    return [Hole.UNBOUND] * len(rule.variables)
