"""Check the closure: its rows are an upper bound of the derived predicates for its keys.

In: a certificate and its rows.  Out: nothing, or ``Rejected`` at the entry and rule that derive
more.  Invariant: the least model is inside every set that is closed under the rules (Tarski, 1955),
so what is outside these rows is false.

Example: a closure of ``reach("a", ?y)`` without the row that a rule adds is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .growth import Growth
from .joins import Joins, search
from .levels import Lookups
from .rejection import Rejected
from .rules import Aggregate, Constant, Variable, free_positions, unbound
from .values import Hole, OpenRow, Row, is_known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .aggregates import Aggregates
    from .certificate import Certificate, ClosureEntry
    from .levels import Levels
    from .rows import Rows
    from .rules import Binding, Literal, Rule, Threshold


class Bound:
    """The closure's rows of one predicate, ready for "is this head covered"."""

    def __init__(self, rows: tuple[OpenRow, ...]) -> None:
        self.by_stars: dict[tuple[int, ...], set[OpenRow]] = {}
        for row in rows:
            stars = tuple(c for c, value in enumerate(row) if value is Hole.STAR)
            self.by_stars.setdefault(stars, set()).add(row)

    def covers(self, head: OpenRow) -> bool:
        """Tell whether a row equals the head wherever the row is not ⋆."""
        for stars, rows in self.by_stars.items():
            masked = list(head)
            for column in stars:
                masked[column] = Hole.STAR
            if tuple(masked) in rows:
                return True
        return False


class Closure:
    """Runs every rule of every entry for every key."""

    def __init__(
        self, certificate: Certificate, rows: Rows, aggregates: Aggregates, levels: Levels
    ) -> None:
        self.certificate = certificate
        self.levels = levels
        self.rows = rows
        self.aggregates = aggregates
        self.growth = Growth(aggregates, rows)
        self.joins = Joins(rows, rows.possible)
        self.consulted: set[int] = set()
        self.bounds: dict[str, Bound] = {}

    def check(self) -> None:
        """Reject the certificate unless every head obtained is covered."""
        for position, entry in enumerate(self.certificate.entries):
            bound = Bound(self.certificate.closure_rows.get(entry.predicate, ()))
            for rule, order in entry.orders:
                try:
                    self.check_rule(entry, bound, rule, order)
                except Rejected as rejected:
                    rejected.within(f"closure.entries[{position}] rule {rule}")
                    raise
        self.consulted |= self.joins.consulted
        self.levels.settle()

    def take(self, predicate: str, row: OpenRow) -> None:
        """Note a head that is covered; the check itself needs none."""

    def check_rule(
        self, entry: ClosureEntry, bound: Bound, position: int, order: tuple[int, ...]
    ) -> None:
        """Reject the certificate where a rule gives a head for a key that nothing covers."""
        rule = self.certificate.program.rules[position]
        literals = tuple((at, rule.body[at]) for at in order)
        self.joins.free = free_positions(rule)

        def extend(placed: tuple[int, Literal], binding: Binding) -> Iterable[Binding]:
            at, literal = placed
            if isinstance(literal, Aggregate):
                return self._aggregate(position, at, literal, binding)
            return self.joins.extend(literal, binding)

        for key in entry.keys:
            place = (entry.predicate, entry.columns, key)
            self.rows.lookups = self.levels.closure.setdefault(place, Lookups())
            start = unified(rule, entry.columns, key)
            self.rows.spend(1 + len(rule.body))
            if start is None:
                continue
            for binding in search(start, literals, lambda _, left: self._first(left), extend):
                self._check_covered(rule, entry, bound, key, binding)

    def _first(self, left: tuple[tuple[int, Literal], ...]) -> int:
        self.rows.spend(len(left) // 8)
        return 0

    def _aggregate(
        self, position: int, at: int, literal: Aggregate, binding: Binding
    ) -> tuple[Binding, ...]:
        self.rows.spend(1)
        if literal.threshold is not None:
            return self._threshold(position, at, literal, literal.threshold, binding)
        exact = self.aggregates.exact(position, at, literal, binding)
        self.consulted |= exact.consulted
        if exact.value is None:
            return ()
        known = binding[literal.result.position]
        if isinstance(known, Hole):
            extended = list(binding)
            extended[literal.result.position] = exact.value
            return (extended,)
        return (binding,) if isinstance(exact.value, Hole) or exact.value == known else ()

    def _threshold(
        self, position: int, at: int, literal: Aggregate, threshold: Threshold, binding: Binding
    ) -> tuple[Binding, ...]:
        top = self.growth.top(position, at, literal, binding)
        self.consulted |= top.consulted
        if not self.growth.may_exceed(threshold, top, binding):
            return ()
        extended = list(binding)
        # Its comparison is decided here: whatever stands there, ⋆ passes it.
        extended[literal.result.position] = Hole.STAR
        return (extended,)

    def _check_covered(
        self, rule: Rule, entry: ClosureEntry, bound: Bound, key: Row, binding: Binding
    ) -> None:
        head = list(self.rows.evaluator.instance(rule.head, binding))
        for column, value in zip(entry.columns, key, strict=True):
            if isinstance(head[column], Hole):
                head[column] = value
            elif head[column] != value and is_known(head[column]):
                return
        row = tuple(Hole.STAR if isinstance(value, Hole) else value for value in head)
        self.rows.spend(len(bound.by_stars))
        if bound.covers(row):
            self.take(entry.predicate, row)
        else:
            shown = ", ".join("?" if isinstance(v, Hole) else str(v)[:40] for v in row)
            raise Rejected("not-covered", f"{entry.predicate}({shown}) is derivable but not listed")


def covers(bound: OpenRow, row: OpenRow) -> bool:
    """Tell whether a row of the closure equals a head wherever it is not ⋆."""
    return all(mine in (Hole.STAR, value) for mine, value in zip(bound, row, strict=True))


def unified(rule: Rule, columns: tuple[int, ...], key: Row) -> Binding | None:
    """Return the binding of the head's variables to the key, ``None`` where they clash."""
    binding = unbound(rule)
    for column, value in zip(columns, key, strict=True):
        term = rule.head.args[column]
        if isinstance(term, Constant) and term.value != value:
            return None
        if isinstance(term, Variable):
            known = binding[term.position]
            if known is not Hole.UNBOUND and known != value:
                return None
            binding[term.position] = value
    return binding
