"""Give predicates and variables names that this language accepts.

In: the names of clauses. Out: names, each predicate of one name and arity its own. Invariant: two
predicates, or two variables of a clause, never share a name. Example: `p(X)` and `p(X, Y)` become
`p` and `p_2`; the variable `X` becomes `?x`, and one that stands alone `_`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from constat.library.pydatalog_rules.clauses import (
    Clause,
    Comparison,
    Expression,
    Literal,
    Membership,
    Name,
    Operation,
)
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


class Names:
    """The names of predicates, given out in the order in which they are first met."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, int], str] = {}
        self._taken: set[str] = set()

    def predicate(self, name: str, arity: int) -> str:
        """Give the name of a predicate with that arity."""
        if (name, arity) not in self._given:
            plain = name if name.isascii() else name.encode("ascii", "ignore").decode()
            plain = plain if _PLAIN.match(plain) else f"p{plain}"
            second = f"{plain}_{arity}"
            self._given[name, arity] = self.fresh(second if plain in self._taken else plain)
        return self._given[name, arity]

    def fresh(self, wish: str) -> str:
        """Give a name that nobody has, close to the wish."""
        name, number = wish, 1
        while name in self._taken or name in RESERVED:
            number += 1
            name = f"{wish}_{number}" if name in self._taken else f"{name}_"
        self._taken.add(name)
        return name


def variable_names(clause: Clause) -> dict[str, str]:
    """Give each variable of a clause its name; one that occurs once becomes `_`."""
    counts = Counter(_occurrences(clause))
    names: dict[str, str] = {}
    alone = 0
    for name, count in counts.items():
        if count == 1:
            alone += 1
            names[name] = f"_{alone}"
            continue
        wish = re.sub(r"[^a-z0-9_]", "", name.lower()).lstrip("_0123456789") or "v"
        taken = set(names.values())
        made, number = wish, 1
        while made in taken or (made == "value" and clause.fold is not None):
            number += 1
            made = f"{wish}_{number}"
        names[name] = made
    return names


def _occurrences(clause: Clause) -> Iterator[str]:
    expressions: list[Expression] = list(clause.head.arguments)
    for goal in clause.body:
        match goal:
            case Literal(atom=atom):
                expressions += atom.arguments
            case Comparison(left=left, right=right):
                expressions += (left, right)
            case Membership(member=member):
                # The list may stand for several comparisons, or none.
                expressions += (member, member)
    if clause.fold is not None:
        expressions += (clause.fold.target, *clause.fold.each)
    expressions.reverse()
    while expressions:
        match expressions.pop():
            case Name(name=name):
                yield name
            case Operation(operands=operands):
                expressions += reversed(operands)
            case _:
                pass
