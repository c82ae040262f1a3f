"""What the declared types mean: a base kind each, and which types lie below which.

In: type definitions. Out: a `TypeTable`. Invariant: every name in the table leads to one kind,
without cycles. A type is seen as the set of declared types below it, itself included; two types
have a common subtype exactly when these sets meet, as in Souffle. Example: `.type A <: symbol`
and `.type U = A | B` put `A` below `U` and below `symbol`. Records and algebraic data types lie
below nothing but their aliases: each is a type of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from constat.logic import RECORD, Branch, Column, Kind, Structures, TypeDefinition

BASE_KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.value: kind for kind in Kind if kind is not Kind.STRUCTURE}
)

Below = frozenset[str] | None
"""The declared types below a type; `None` for a base type, above everything of its kind."""


MAX_DEPTH = 100
"""How many steps a type may be away from its base type."""


@dataclass(slots=True)
class TypeTable:
    """The kind of every type that could be resolved, and the order of types."""

    kinds: dict[str, Kind] = field(default_factory=lambda: dict(BASE_KINDS))
    depths: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BASE_KINDS, 0))
    _children: dict[str, list[str]] = field(default_factory=dict)
    _below: dict[str, Below] = field(default_factory=dict)
    _branches: dict[str, tuple[Branch, ...]] = field(default_factory=dict)
    _structures: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, tuple[str, Branch]] = field(default_factory=dict)
    _made: Structures = field(init=False)

    def __post_init__(self) -> None:
        # The types refer to each other, so all share one mapping that grows.
        self._made = Structures(self._branches)

    @property
    def structures(self) -> Structures:
        """What the records and algebraic data types are made of; one object for all columns."""
        return self._made

    def structure(self, name: str) -> str:
        """Give the type that a name of a structure type stands for; empty for other types."""
        return self._structures.get(name, "")

    def owner(self, constructor: str) -> tuple[str, Branch] | None:
        """Give the algebraic data type that has a branch, and the branch."""
        return self._owners.get(constructor)

    def branch(self, name: str, constructor: str) -> Branch | None:
        """Give a branch of a structure type, at once however many there are."""
        if constructor == RECORD:
            branches = self._branches.get(name, ())
            return branches[0] if branches and branches[0].constructor == RECORD else None
        found = self._owners.get(constructor)
        return found[1] if found is not None and found[0] == self.structure(name) else None

    @property
    def constructors(self) -> tuple[str, ...]:
        """The constructors of all branches, each with its dollar sign."""
        return tuple(self._owners)

    def add_structure(self, definition: TypeDefinition) -> None:
        """Add a record or an algebraic data type; its fields are typed by `fill`."""
        self.kinds[definition.name] = Kind.STRUCTURE
        self.depths[definition.name] = 1
        self._structures[definition.name] = definition.name

    def fill(self, name: str, branches: tuple[Branch, ...]) -> None:
        """Say what a structure type is made of, once all types are known."""
        self._branches[name] = branches
        if self._structures[name] == name:
            for branch in branches:
                if branch.constructor != RECORD:
                    self._owners.setdefault(branch.constructor, (name, branch))

    def typed(self, column: Column) -> Column:
        """Give a column or a field with its kind, and with the structures where it is one."""
        kind = self.kinds.get(column.type_name)
        if kind is Kind.STRUCTURE:
            return replace(column, kind=kind, structures=self._made)
        return column if kind is None or kind is column.kind else replace(column, kind=kind)

    def add(self, definition: TypeDefinition, kind: Kind) -> None:
        """Add a type whose members are in the table."""
        name = definition.name
        self.kinds[name] = kind
        self.depths[name] = 1 + max(self.depths[member] for member in definition.members)
        if kind is Kind.STRUCTURE:
            self._structures[name] = self._structures[definition.members[0]]
        for member in definition.members:
            if definition.form != "subtype":
                self._children.setdefault(name, []).append(member)
            if definition.form != "union":
                # An alias is another name for the same type, so each lies below the other.
                self._children.setdefault(member, []).append(name)

    def below(self, name: str) -> Below:
        """Give the types below a type; `None` also for a name that could not be resolved."""
        if name in BASE_KINDS or name not in self.kinds:
            return None
        if name not in self._below:
            self._below[name] = self._reachable(name)
        return self._below[name]

    def _reachable(self, name: str) -> Below:
        found = {name}
        stack = [name]
        while stack:
            for child in self._children.get(stack.pop(), ()):
                if child in BASE_KINDS:
                    return None
                if child not in found:
                    found.add(child)
                    stack.append(child)
        return frozenset(found)


def common(left: Below, right: Below) -> Below:
    """Give what lies below both; both have one kind."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def is_below(lower: Below, upper: Below) -> bool:
    """Tell whether everything of the lower set lies in the upper one."""
    return upper is None or (lower is not None and lower <= upper)


def definition_order(definitions: Mapping[str, TypeDefinition]) -> Iterator[list[str]]:
    """Yield the names so that members come first: lists of one, or the path of a cycle.

    Depth first on a stack of our own: a chain of types may be as long as a file. What lies on
    a cycle is yielded once, as the cycle.
    """
    done: set[str] = set(BASE_KINDS)
    for start in definitions:
        path: list[str] = []
        waiting: list[Iterator[str]] = [iter((start,))]
        on_path: set[str] = set()
        while waiting:
            name = next(waiting[-1], None)
            if name is None:
                waiting.pop()
                if path:
                    finished = path.pop()
                    on_path.discard(finished)
                    if finished not in done:
                        done.add(finished)
                        yield [finished]
            elif name in on_path:
                cycle = path[path.index(name) :]
                if not done.intersection(cycle):
                    yield cycle
                done.update(cycle)
            elif name not in done and name in definitions:
                path.append(name)
                on_path.add(name)
                waiting.append(iter(definitions[name].members))
