"""What the declared types mean: a base kind each, and which types lie below which.

In: type definitions. Out: a `TypeTable`. Invariant: every name in the table leads to one kind,
without cycles. A type is seen as the set of declared types below it, itself included; two types
have a common subtype exactly when these sets meet, as in Souffle. Example: `.type A <: symbol`
and `.type U = A | B` put `A` below `U` and below `symbol`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from constat.logic import Kind, TypeDefinition

BASE_KINDS: Mapping[str, Kind] = MappingProxyType({kind.value: kind for kind in Kind})

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

    def add(self, definition: TypeDefinition, kind: Kind) -> None:
        """Add a type whose members are in the table."""
        name = definition.name
        self.kinds[name] = kind
        self.depths[name] = 1 + max(self.depths[member] for member in definition.members)
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
