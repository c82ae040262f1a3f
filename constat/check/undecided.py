"""Check that what a certificate shows does not decide a goal that it calls unresolved.

In: a certificate that has passed every other check.  Out: nothing, or ``Rejected``.  Invariant:
rows are taken for true only as nodes are, and rows for false only as the closure says; so whoever
empties the nodes of a decided goal does not hide the decision.  What is not shown stays the
writer's word, and so does what takes more steps than this may.  FORMAT.md, section 6.

Example: with the three shares in the facts, a sum that passes its bound needs no node to do so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from .aggregates import Aggregates, Group, some_may_be_one
from .canonical import Rejected
from .closure import Bound, Closure, Growth, assigned, covers, exceeds, unified
from .levels import Levels
from .program import components, dependencies
from .rows import Entry, Joins, Rows, is_assignment, unify
from .rules import Aggregate, Comparison, Negative, Positive
from .values import MILLION, Hole, OpenRow, Row, surely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .certificate import Certificate, ClosureEntry
    from .rules import Binding, Literal, Rule, Threshold

_NOT_KNOWN: Final = frozenset({"unserved", "unbound"})
"""Why a look-up says nothing: the certificate does not show all that matches."""


@dataclass(slots=True)
class _Known:
    """Rows of one predicate that are true, found by any columns."""

    rows: dict[OpenRow, None] = field(default_factory=dict)
    indexes: dict[tuple[int, ...], dict[OpenRow, list[OpenRow]]] = field(default_factory=dict)

    def add(self, row: OpenRow) -> bool:
        """Add a row; tell whether it is new."""
        if row in self.rows:
            return False
        self.rows[row] = None
        for columns, index in self.indexes.items():
            index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        return True

    def find(self, pattern: OpenRow) -> list[OpenRow]:
        """Return the rows that match a pattern."""
        columns = tuple([c for c, value in enumerate(pattern) if not isinstance(value, Hole)])
        index = self.indexes.get(columns)
        if index is None:
            index = self.indexes[columns] = {}
            for row in self.rows:
                index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        found = index.get(tuple([pattern[column] for column in columns]), ())
        return [row for row in found if surely(pattern, row)]


def check_undecided(certificate: Certificate, steps: int) -> None:
    """Reject a certificate whose goal follows, or cannot hold, by what it shows."""
    rows = Rows(certificate, steps)
    try:
        _Deciding(certificate, rows).run()
        _Bounding(certificate, rows).run()
    except Rejected as rejected:
        # Knowing more may ask for more than is shown; whatever else stops this decides nothing.
        if rejected.code == "verdict":
            raise


class _Deciding:
    """Finds all that is certain for the keys of the closure, rule by rule until nothing is new."""

    def __init__(self, certificate: Certificate, rows: Rows) -> None:
        self.certificate = certificate
        self.rows = rows
        self.known: dict[str, _Known] = {}
        self.aggregates = Aggregates(certificate, rows, MILLION)
        self.growth = Growth(self.aggregates, rows)
        self.joins = Joins(rows, self.find)
        for predicate, row in (*rows.groups, *rows.nodes):
            self.known.setdefault(predicate, _Known()).add(row)

    def run(self) -> None:
        """Reject where the goal becomes certain."""
        goal = self.certificate.header.goal
        new = True
        while new:
            new = False
            self.aggregates = Aggregates(self.certificate, self.rows, MILLION)
            self.growth = Growth(self.aggregates, self.rows)
            for predicate, row in self._heads():
                self.rows.groups.setdefault((predicate, row), (MILLION, ()))
                new |= self.known.setdefault(predicate, _Known()).add(row)
                if predicate == goal.predicate and surely(goal.pattern, row):
                    raise Rejected("verdict", "what is shown makes the goal true", "header.verdict")

    def find(self, predicate: str, pattern: OpenRow) -> list[OpenRow]:
        """Return the rows that are certain and match a pattern."""
        known = self.known.get(predicate)
        found = [] if known is None else known.find(pattern)
        self.rows.spend(1 + len(found))
        return found

    def _heads(self) -> Iterator[tuple[str, OpenRow]]:
        for entry in self.certificate.entries:
            for number, order in entry.orders:
                rule = self.certificate.program.rules[number]
                if self.rows.holds(rule.assumption):
                    for key in entry.keys:
                        start = unified(rule, entry.columns, key)
                        self.rows.spend(1 + len(rule.body))
                        if start is not None:
                            yield from self._heads_of(entry, key, (number, rule, order), start)

    def _heads_of(
        self,
        entry: ClosureEntry,
        key: OpenRow,
        ordered: tuple[int, Rule, tuple[int, ...]],
        start: Binding,
    ) -> Iterator[tuple[str, OpenRow]]:
        number, rule, order = ordered
        for binding in self._bindings(number, rule, order, start):
            head = self.rows.evaluator.instance(rule.head, binding)
            known = not any(isinstance(value, Hole) for value in head)
            if known and all(head[c] == v for c, v in zip(entry.columns, key, strict=True)):
                yield entry.predicate, head

    def _bindings(
        self, number: int, rule: Rule, order: tuple[int, ...], start: Binding
    ) -> list[Binding]:
        """Return the bindings under which a body is true."""
        decided = {one.threshold.place for _, one in rule.growing if one.threshold}
        found = [start]
        for at in order:
            literal = rule.body[at]
            if at not in decided and not isinstance(literal, Negative):
                found = [more for one in found for more in self._true(number, at, literal, one)]
        # Taken last: by now all is bound but what means "any".
        negated = [literal for literal in rule.body if isinstance(literal, Negative)]
        return [one for one in found if all(self._is_absent(literal, one) for literal in negated)]

    def _true(self, number: int, at: int, literal: Literal, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which a literal that negates nothing is true as well."""
        self.rows.spend(1)
        if isinstance(literal, Positive):
            pattern = self.rows.evaluator.instance(literal.atom, binding)
            rows = self.find(literal.atom.predicate, pattern)
            extended = (unify(literal.atom, pattern, row, binding) for row in rows)
            return [one for one in extended if one is not None]
        if isinstance(literal, Comparison):
            return self._compared(literal, binding)
        try:
            if isinstance(literal, Aggregate) and literal.threshold is not None:
                return self._exceeding(number, at, literal, literal.threshold, binding)
            if isinstance(literal, Aggregate):
                return self._folded(number, at, literal, binding)
        except Rejected as rejected:
            if rejected.code not in _NOT_KNOWN:
                raise
        return ()

    def _compared(self, test: Comparison, binding: Binding) -> tuple[Binding, ...]:
        truth = self.rows.evaluator.truth(test, binding)
        if truth is not Hole.UNBOUND:
            return (binding,) if truth is True else ()
        for side, other in ((test.left, test.right), (test.right, test.left)):
            value = self.rows.evaluator.value(other, binding)
            if is_assignment(test, side, binding) and not isinstance(value, Hole):
                extended = list(binding)
                extended[side.position] = value  # type: ignore[union-attr]  # it is a variable
                return (extended,)
        return ()

    def _folded(
        self, number: int, at: int, literal: Aggregate, binding: Binding
    ) -> tuple[Binding, ...]:
        value = self.aggregates.exact(number, at, literal, binding).value
        known = binding[literal.result.position]
        if value is None or isinstance(value, Hole):
            return ()
        if not isinstance(known, Hole):
            return (binding,) if known == value else ()
        extended = list(binding)
        extended[literal.result.position] = value
        return (extended,)

    def _exceeding(
        self, number: int, at: int, literal: Aggregate, threshold: Threshold, binding: Binding
    ) -> tuple[Binding, ...]:
        """Return the binding where the summands that are certain pass the bound."""
        group = Group(self.aggregates, literal, Joins(self.rows, self.find))
        group.only_inline = True
        total = Fraction()
        start = list(binding)
        for variable in literal.inner:
            start[variable] = Hole.UNBOUND
        counted: list[Row] = []
        for values in group.found(start):
            inner = assigned(literal, start, values)
            added = self.growth.summand(literal, inner)
            if added is not None and added >= 0 and self._all_true(literal, inner):
                total += added
                counted.append(values)  # type: ignore[arg-type]  # no hole is left
        if some_may_be_one(counted, self.rows.spend):
            return ()
        bound = self.growth.bound(threshold, binding)
        if bound is None or not exceeds(total, threshold, bound):
            return ()
        if threshold.proven or self.growth.top(number, at, literal, binding).grows:
            return (binding,)
        return ()

    def _all_true(self, literal: Aggregate, inner: Binding) -> bool:
        """Tell whether a summand's tests hold; its positive literals were found among what is."""
        for test in literal.body:
            if isinstance(test, Negative) and not self._is_absent(test, inner):
                return False
            if isinstance(test, Comparison) and self.rows.evaluator.truth(test, inner) is not True:
                return False
        return not any(isinstance(inner[variable], Hole) for variable in literal.inner)

    def _is_absent(self, literal: Negative, binding: Binding) -> bool:
        row = self.rows.evaluator.instance(literal.atom, binding)
        if Hole.STAR in row or Hole.ERROR in row:
            return False
        try:
            return not self.rows.possible(literal.atom.predicate, row)
        except Rejected as rejected:
            if rejected.code not in _NOT_KNOWN:
                raise
            return False


class _Bounding(Closure):
    """Finds which rows of the closure anything gives: the others are there to hide something."""

    def __init__(self, certificate: Certificate, rows: Rows) -> None:
        super().__init__(certificate, rows, Aggregates(certificate, rows, MILLION), Levels())
        self.new = False
        for part in rows.derived.values():
            part.rows.clear()
            part.indexes.clear()

    def run(self) -> None:
        """Reject where no row that matches the goal is given."""
        below = dependencies(self.certificate.program.rules)
        # The least numbers are those of the lowest predicates.
        component = components({head: list(found) for head, found in below.items()})
        for number in sorted(set(component.values())):
            entries = [e for e in self.certificate.entries if component[e.predicate] == number]
            self.new = bool(entries)
            while self.new:
                self._round(entries)
        goal = self.certificate.header.goal
        if not self.rows.possible(goal.predicate, goal.pattern):
            raise Rejected("verdict", "what is shown makes the goal false", "header.verdict")

    def _round(self, entries: Sequence[ClosureEntry]) -> None:
        self.new = False
        self.aggregates = Aggregates(self.certificate, self.rows, MILLION)
        self.growth = Growth(self.aggregates, self.rows)
        for entry in entries:
            bound = Bound(self.certificate.closure_rows.get(entry.predicate, ()))
            for rule, order in entry.orders:
                self.check_rule(entry, bound, rule, order)

    def take(self, predicate: str, row: OpenRow) -> None:
        """Add the row of the closure that is this head, or else all that cover it."""
        listed = self.certificate.closure_rows.get(predicate, ())
        part = self.rows.derived[predicate]
        self.rows.spend(len(part.rows))
        given = {entry.row for entry in part.rows}
        if row in given:
            return
        self.rows.spend(len(listed))
        found = [row] if row in listed else [one for one in listed if covers(one, row)]
        for one in found:
            if one not in given:
                part.rows.append(Entry(one))
                part.indexes.clear()
                self.new = True
