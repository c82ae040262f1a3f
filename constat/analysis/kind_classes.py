"""Classes of terms that must have one kind and, where they are structures, one type.

In: terms, equations between their classes, kinds and types with the place that says so. Out: the
kind of each class, and its structure type. Invariant: a conflict is reported once per class;
afterwards the class is broken and draws nothing more. Example: `?x = 1` joins the class of `?x`
with that of the constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from constat.frozen import frozen
from constat.logic import Kind

if TYPE_CHECKING:
    from constat.diagnostics import Span
    from constat.logic import (
        Aggregate,
        Apply,
        Atom,
        Branch,
        Comparison,
        Constant,
        Predicate,
        Term,
    )


@frozen
class Origin:
    """Why a class has its kind: a term in a column, a comparison, a function or an aggregate.

    With a `branch`, `column` is the number of its field; `within` is the constructor written there.
    `role` tells whether a function `gives` the kind or `takes` it; a column of the head `gets` it.
    """

    term: Term | None = None
    predicate: Predicate | None = None
    column: int = 0
    atom: Atom | None = None
    comparison: Comparison | None = None
    aggregate: Aggregate | None = None
    role: str = "gives"
    branch: Branch | None = None
    within: Apply | None = None

    @property
    def declared(self) -> Span | None:
        """Where the column or the field is declared that gives the kind."""
        if self.branch is not None:
            return self.branch.fields[self.column].span or self.branch.span
        if self.predicate is None:
            return None
        return self.predicate.columns[self.column].span or self.predicate.span

    @property
    def used(self) -> Span | None:
        """Where in the rule the kind comes in."""
        for node in (self.term, self.within, self.atom, self.comparison, self.aggregate):
            if node is not None and node.span is not None:
                return node.span
        return None


Conflict = Callable[[tuple[Kind, Kind], tuple[str, str], Origin | None, Origin | None], None]
"""What reports two kinds or, where both are structures, two types."""


@frozen
class Construction:
    """A constructor with the classes of its arguments and of the structure."""

    term: Apply
    arguments: tuple[int, ...]
    result: int


# Where only constants tell the kind, the widest of them wins: 1 and 1.5 are Decimals.
_WIDTH = (Kind.SYMBOL, Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL, Kind.FLOAT)


class Classes:
    """Union-find over the terms of one rule."""

    __slots__ = (
        "_broken",
        "_conflict",
        "_constants",
        "_kinds",
        "_origins",
        "_parents",
        "_released",
        "_types",
        "_watching",
        "variables",
    )

    def __init__(self, conflict: Conflict) -> None:
        self.variables: dict[str, int] = {}
        self._conflict = conflict
        self._parents: list[int] = []
        self._kinds: list[Kind | None] = []
        self._origins: list[Origin | None] = []
        self._broken: list[bool] = []
        self._constants: dict[int, list[Constant]] = {}
        self._types: dict[int, str] = {}
        self._watching: dict[int, list[Construction]] = {}
        self._released: list[Construction] = []

    def new(self) -> int:
        """Give a fresh class."""
        self._parents.append(len(self._parents))
        self._kinds.append(None)
        self._origins.append(None)
        self._broken.append(False)
        return len(self._parents) - 1

    def variable(self, name: str) -> int:
        """Give the class of a variable."""
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = self.new()
        return found

    def constant(self, constant: Constant) -> int:
        """Give a fresh class that holds a constant."""
        found = self.new()
        self._constants[found] = [constant]
        return found

    def find(self, one: int) -> int:
        """Give the representative of a class."""
        parents = self._parents
        while parents[one] != one:
            parents[one] = parents[parents[one]]
            one = parents[one]
        return one

    def kind(self, one: int) -> Kind | None:
        """Give the kind of a class, if anything tells it."""
        return self._kinds[self.find(one)]

    def origin(self, one: int) -> Origin | None:
        """Give what told the kind of a class."""
        return self._origins[self.find(one)]

    def broken(self, one: int) -> bool:
        """Tell whether a conflict of this class was reported."""
        return self._broken[self.find(one)]

    def spoil(self, one: int) -> None:
        """Mark a class as reported."""
        self._broken[self.find(one)] = True

    def constants(self, one: int) -> list[Constant]:
        """Give the constants of a class."""
        return self._constants.get(self.find(one), [])

    def structure(self, one: int) -> str:
        """Give the structure type of a class; empty while nothing tells it."""
        return self._types.get(self.find(one), "")

    def watch(self, construction: Construction) -> None:
        """Keep a construction until the type of its structure is known."""
        one = self.find(construction.result)
        if one in self._types:
            self._released.append(construction)
        else:
            self._watching.setdefault(one, []).append(construction)

    def released(self) -> list[Construction]:
        """Give the constructions whose types have become known since the last call."""
        found, self._released = self._released, []
        return found

    def bind(self, one: int, kind: Kind, origin: Origin, structure: str = "") -> None:
        """Say which kind a class has and, for structures, which type if it is known."""
        one = self.find(one)
        known = self._kinds[one]
        if known is None:
            self._kinds[one] = kind
            self._origins[one] = origin
        elif known is not kind or self._differ(self._types.get(one, ""), structure):
            if not self._broken[one]:
                self._broken[one] = True
                types = self._types.get(one, ""), structure
                self._conflict((known, kind), types, self._origins[one], origin)
            return
        if structure and one not in self._types:
            self._origins[one] = origin
            self._tell(one, structure)

    @staticmethod
    def _differ(known: str, structure: str) -> bool:
        return bool(known and structure and known != structure)

    def _tell(self, one: int, structure: str) -> None:
        self._types[one] = structure
        self._released.extend(self._watching.pop(one, ()))

    def join(self, one: int, other: int, origin: Origin) -> None:
        """Say that two classes have one kind."""
        one, other = self.find(one), self.find(other)
        if one == other:
            return
        kinds = self._kinds[one], self._kinds[other]
        types = self._types.get(one, ""), self._types.get(other, "")
        broken = self._broken[one] or self._broken[other]
        clash = kinds[0] is not kinds[1] or self._differ(*types)
        if kinds[0] is not None and kinds[1] is not None and clash:
            if not broken:
                first, second = self._origins[one], self._origins[other]
                self._conflict((kinds[0], kinds[1]), types, first, second)
            self._broken[one] = self._broken[other] = True
            # Both keep their kinds: joined, one mistake would spread to everything behind it.
            return
        if kinds[0] is None or (types[1] and not types[0]):
            one, other = other, one
        self._merge(one, other)
        self._broken[one] = broken
        if self._kinds[one] is None:
            self._origins[one] = self._origins[one] or origin
        merged = self._constants.pop(other, None)
        if merged:
            self._constants.setdefault(one, []).extend(merged)

    def _merge(self, one: int, other: int) -> None:
        """Let one class stand for another; it knows the type if either does."""
        self._parents[other] = one
        waiting = self._watching.pop(other, [])
        if one in self._types:
            self._released.extend(waiting)
        elif waiting:
            self._watching.setdefault(one, []).extend(waiting)

    def settle_constants(self, mixed: Callable[[Constant, Constant], None]) -> None:
        """Give classes that only constants tell about the widest kind among these."""
        for one, constants in self._constants.items():
            if self._kinds[one] is not None:
                continue
            texts = [constant for constant in constants if not constant.kind.numeric]
            numbers = [constant for constant in constants if constant.kind.numeric]
            if texts and numbers:
                self._broken[one] = True
                mixed(texts[0], numbers[0])
            kinds = {constant.kind for constant in numbers or texts}
            self._kinds[one] = next(
                (kind for kind in reversed(_WIDTH) if kind in kinds), constants[0].kind
            )
