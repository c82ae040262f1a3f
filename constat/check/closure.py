"""Check the closure: its rows bound the derived predicates from above, totals included."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .aggregates import Group
from .canonical import Rejected
from .levels import Lookups
from .rows import Joins, search
from .rules import Aggregate, Constant, Variable, free_positions, unbound
from .values import Hole, Label, OpenRow, Row, Value, is_hidden, is_known, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .aggregates import Aggregates
    from .certificate import Certificate, ClosureEntry
    from .levels import Levels
    from .rows import Rows
    from .rules import Binding, Literal, Rule, Threshold

# Every possible assignment of the group is looked at, and what is unknown counts as enough; so
# where a total is said not to exceed the bound, no model has one that does.  FORMAT.md, section 6.


@dataclass(frozen=True, slots=True)
class Top:
    """The greatest total a group may have, ``None`` where nobody knows one.

    ``grows`` tells that every summand is known not to be negative.
    """

    total: Fraction | None
    grows: bool
    consulted: frozenset[int]
    lookups: Lookups


class Growth:
    """Evaluates groups of thresholds; each is evaluated once."""

    def __init__(self, owner: Aggregates, rows: Rows) -> None:
        self.owner = owner
        self.rows = rows
        self.evaluator = rows.evaluator
        self.known: dict[tuple[int, int, OpenRow], Top] = {}

    def top(self, rule: int, at: int, literal: Aggregate, binding: Binding) -> Top:
        """Return what the possible rows of the binding's group may add up to."""
        group = tuple([binding[variable] for variable in literal.outer])
        if Hole.UNBOUND in group:
            raise Rejected("unbound", "an aggregate comes before what binds its group")
        if not all(map(is_known, group)):
            return Top(None, grows=False, consulted=frozenset(), lookups=Lookups())
        key = (rule, at, group)
        known = self.known.get(key)
        if known is None:
            noted, self.rows.lookups = self.rows.lookups, Lookups()
            known = self.known[key] = self._top(literal, self.owner.start(key, literal))
            self.rows.lookups = noted
        self.rows.lookups.add(known.lookups)
        return known

    def may_exceed(self, threshold: Threshold, top: Top, binding: Binding) -> bool:
        """Tell whether the total may exceed the bound under a binding."""
        bound = self.bound(threshold, binding)
        return top.total is None or bound is None or exceeds(top.total, threshold, bound)

    def bound(self, threshold: Threshold, binding: Binding) -> Fraction | None:
        """Return the value of the bound; ``None`` where nobody knows it."""
        value = self.evaluator.value(threshold.bound, binding)
        if value is Hole.UNBOUND:
            raise Rejected("unbound", "a threshold comes before what binds its bound")
        return _fraction(threshold.bound.kind, value)

    def summand(self, literal: Aggregate, binding: Binding) -> Fraction | None:
        """Return what an assignment adds; ``None`` where nobody knows it."""
        if literal.target is None:
            return Fraction(1)
        value = self.evaluator.value(literal.target, binding)
        return _fraction(literal.target.kind, value)

    def _top(self, literal: Aggregate, start: Binding) -> Top:
        group = Group(self.owner, literal, Joins(self.rows, self.rows.possible))
        total: Fraction | None = Fraction()
        grows = True
        for found in group.found(start):
            self.rows.spend(1)
            value = self.summand(literal, assigned(literal, start, found))
            grows &= value is not None and value >= 0
            # A row with ⋆ stands for any number of rows.
            if value is None or any(isinstance(cell, Hole) for cell in found):
                total = None
            elif total is not None:
                total += max(value, Fraction())
        return Top(total, grows, frozenset(group.joins.consulted), self.rows.lookups)


def _fraction(kind: str, value: Value) -> Fraction | None:
    """Return a number; ``None`` where nobody knows it, or where it is hidden."""
    shown = type(value) is str and not is_hidden(value)
    return Fraction(parse(kind, str(value))) if shown else None


def assigned(literal: Aggregate, start: Binding, values: Iterable[Value]) -> Binding:
    """Return the binding with the local variables of an aggregate bound."""
    binding = list(start)
    for variable, value in zip(literal.inner, values, strict=True):
        binding[variable] = value
    return binding


def exceeds(total: Fraction, threshold: Threshold, bound: Fraction) -> bool:
    """Tell whether a total is beyond the bound."""
    return total > bound or (total == bound and not threshold.above)


# The least model is inside every set that is closed under the rules (Tarski, 1955), so what is
# outside these rows is false.


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
            return self.joins.extend(literal, binding, (position, at))

        for key in entry.keys:
            place = (entry.predicate, entry.columns, key)
            self.rows.lookups = self.levels.closure.setdefault(place, Lookups())
            start = unified(rule, entry.columns, key)
            self.rows.spend(1 + len(rule.body))
            if start is None:
                continue
            for binding in search(start, literals, lambda _, left: self._first(left), extend):
                self._check_covered(position, entry, bound, key, binding)

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
        # A label may be any value, this one too.
        may_be = isinstance(exact.value, Hole) or isinstance(known, Label) or exact.value == known
        return (binding,) if may_be else ()

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
        self, number: int, entry: ClosureEntry, bound: Bound, key: Row, binding: Binding
    ) -> None:
        rule = self.certificate.program.rules[number]
        head = list(self.rows.evaluator.instance(rule.head, binding))
        for column, value in zip(entry.columns, key, strict=True):
            if isinstance(head[column], Hole):
                head[column] = value
            elif head[column] != value and is_known(head[column]):
                return
        row = tuple(Hole.STAR if isinstance(value, Hole) else value for value in head)
        self.rows.spend(len(bound.by_stars))
        ruled_out, consulted = self.aggregates.rules_out(number, binding)
        self.consulted |= consulted
        if bound.covers(row):
            self.take(entry.predicate, row)
        elif not ruled_out:
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
