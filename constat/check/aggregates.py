"""The exact value of an aggregate, or the news that it has none.

In: an aggregate literal and a binding of its group.  Out: ``Exact``: a value, ⋆, or nothing (the
least of no rows).  Invariant: a value is given only where every possible assignment is certain, so
the certain and the possible rows of the group coincide.  FORMAT.md, section 6.

Example: a sum over the possible rows 3 and ⋆ is ⋆; over the certain rows 3 and 4 it is 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .canonical import Rejected, canonical, sha256
from .functions import compare, round_to_places
from .levels import CLOSING, RERUNNABLE, Lookups
from .redaction import spelled
from .rows import Joins, is_assignment, is_starred, search
from .rules import Aggregate, Binding, Comparison, Negative, Positive, Test, Variable
from .values import (
    DIGITS,
    MILLION,
    NONE,
    UNREAD,
    Hole,
    Null,
    OpenRow,
    Row,
    Value,
    is_hidden,
    is_known,
    parse,
    spell,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .canonical import Json
    from .certificate import Certificate
    from .rows import Rows
    from .rules import Rule
    from .summaries import Summary
    from .values import Cell

_WIDE: Final = Context(prec=10**4)


_TURNED: Final = MappingProxyType(str.maketrans("<>", "><"))
_FURTHER: Final = MappingProxyType(
    {
        ("max", "="): ">",
        ("max", "<="): ">",
        ("max", "<"): ">=",
        ("min", "="): "<",
        ("min", ">="): "<",
        ("min", ">"): "<=",
    }
)
"""How a member stands to a value that its extreme cannot compare with as the operator says."""


@dataclass(frozen=True, slots=True)
class Exact:
    """``value`` is ``None`` where the fold of nothing has no value, ⋆ where it is not exact."""

    value: Value | None
    confidence: int
    consulted: frozenset[int]
    lookups: Lookups


@dataclass(frozen=True, slots=True)
class Totals:
    """What every fold is made from; ``total`` is ``None`` where nothing is added up."""

    count: int
    total: Fraction | None
    least: str | None
    greatest: str | None
    targets: tuple[str, ...] = ()
    """All of them, where one is hidden and nothing else is made of them."""


class Aggregates:
    """Evaluates aggregates; each group is evaluated once."""

    def __init__(self, certificate: Certificate, rows: Rows, absence: int) -> None:
        self.rules = certificate.program.rules
        self.rows = rows
        self.absence = absence
        self.sources = certificate.evidence.sources
        self.known: dict[tuple[int, int, OpenRow], Exact] = {}
        self.members: dict[tuple[int, int, OpenRow], tuple[str | None, frozenset[int]]] = {}
        self.used_summaries: set[int] = set()
        self.summaries: dict[tuple[int, int, OpenRow], int] = {}
        self.summary_list = certificate.summaries
        for position, summary in enumerate(certificate.summaries):
            key = (summary.rule, summary.literal, summary.group)
            if key in self.summaries:
                raise Rejected("summary", "this group has two", f"summaries[{position}]")
            self.summaries[key] = position

    def exact(self, rule: int, position: int, literal: Aggregate, binding: Binding) -> Exact:
        """Return the value for the group that the binding names."""
        group = tuple([binding[variable] for variable in literal.outer])
        if Hole.UNBOUND in group:
            raise Rejected("unbound", "an aggregate comes before what binds its group")
        # Nobody knows which group it is where a label names it.
        if not all(map(is_known, group)):
            return Exact(Hole.STAR, 0, frozenset(), Lookups())
        key = (rule, position, group)
        known = self.known.get(key)
        if known is None:
            noted, self.rows.lookups = self.rows.lookups, Lookups()
            known = (
                self._summarised(key, literal)
                if key in self.summaries
                else self._inline(literal, self.start(key, literal))
            )
            self.known[key] = known
            self.rows.lookups = noted
        self.rows.lookups.add(known.lookups)
        return known

    def rules_out(self, number: int, binding: Binding) -> tuple[bool, frozenset[int]]:
        """Tell whether a whole instance holds an open least or greatest for what it cannot be.

        Of a group that has no exact value the greatest is at least the target of each member that
        is certain, and the least at most that.  With it come the nodes that say so.
        """
        found, consulted = False, frozenset[int]()
        rule = self.rules[number]
        for position, literal in enumerate(rule.body):
            if not isinstance(literal, Aggregate) or not _is_bounded(literal):
                continue
            if self.exact(number, position, literal, binding).value is not Hole.STAR:
                continue
            group = tuple([binding[variable] for variable in literal.outer])
            if not all(map(is_known, group)):
                continue
            member, used = self._member((number, position, group), literal)
            consulted |= used
            if member is not None:
                kind, held = literal.result.kind, self._held(rule, literal, binding)
                found |= any(
                    is_known(value)
                    and not is_hidden(value)
                    and compare(_FURTHER[literal.function, operator], kind, member, str(value))
                    for operator, value in held
                )
        return found, consulted

    def _held(
        self, rule: Rule, literal: Aggregate, binding: Binding
    ) -> Iterator[tuple[str, Value]]:
        """Yield what an instance holds a result for; it stands on the left of the operator."""
        yield "=", binding[literal.result.position]
        for one in rule.body:
            if isinstance(one, Comparison):
                sides = ((one.left, one.right, False), (one.right, one.left, True))
                for side, other, turned in sides:
                    operator = one.operator.translate(_TURNED) if turned else one.operator
                    if side == literal.result and (literal.function, operator) in _FURTHER:
                        yield operator, self.rows.evaluator.value(other, binding)

    def _member(
        self, key: tuple[int, int, OpenRow], literal: Aggregate
    ) -> tuple[str | None, frozenset[int]]:
        """Return the target furthest out of a group's members that are certain."""
        known = self.members.get(key)
        if known is None:
            group = Group(self, literal, Joins(self.rows, self.rows.possible))
            targets = group.certain_targets(self.start(key, literal))
            furthest = None
            if targets:
                totals = totals_of(literal.result.kind, len(targets), targets)
                furthest = totals.least if literal.function == "min" else totals.greatest
            known = self.members[key] = furthest, frozenset(group.joins.consulted)
        return known

    def start(self, key: tuple[int, int, OpenRow], literal: Aggregate) -> Binding:
        """Return the binding of a group: of a rule, a literal and the values of its variables."""
        # Only the group goes in: the value must not depend on what else is bound.
        binding: Binding = [Hole.UNBOUND] * len(self.rules[key[0]].variables)
        for variable, value in zip(literal.outer, key[2], strict=True):
            binding[variable] = value
        return binding

    def _inline(self, literal: Aggregate, start: Binding) -> Exact:
        group = Group(self, literal, Joins(self.rows, self.rows.possible))
        totals = group.totals(group.assignments(start), start)
        value = Hole.STAR if totals is None else self._folded(literal, totals)
        return Exact(value, group.confidence, frozenset(group.joins.consulted), self.rows.lookups)

    def _folded(self, literal: Aggregate, totals: Totals) -> Value | None:
        """Return the aggregate's value; over hidden values what is told of it."""
        redaction, target = self.rows.evaluator.redaction, literal.target
        if redaction is None or target is None or not totals.targets:
            return fold(literal, totals)

        def compute(real: Sequence[str]) -> str | None:
            found = fold(literal, totals_of(target.kind, totals.count, list(real)))
            return found if isinstance(found, str) else None

        listed = sha256(canonical([spelled(one) for one in sorted(totals.targets)]))
        question: list[Json] = ["a", literal.function, literal.result.kind, target.kind, listed]
        found = redaction.value(question, totals.targets, compute)
        return Hole.STAR if found is Hole.ERROR else found

    def _summarised(self, key: tuple[int, int, OpenRow], literal: Aggregate) -> Exact:
        position = self.summaries[key]
        summary = self.summary_list[position]
        self.used_summaries.add(position)
        start = self.start(key, literal)
        try:
            self._check_inline(summary, literal, start)
            return self._enumerated(summary, literal, start)
        except Rejected as rejected:
            if rejected.code != "unserved":
                raise
        confidence = min(self.sources[source].confidence for source in summary.sources)
        totals = Totals(summary.count, summary.sum, summary.least, summary.greatest)
        lookups = Lookups(min(RERUNNABLE, self.rows.lookups.weakest))
        return Exact(fold(literal, totals), confidence, frozenset(), lookups)

    def _enumerated(self, summary: Summary, literal: Aggregate, start: Binding) -> Exact:
        """Where the rows are inline they decide, and the summary must not say otherwise."""
        group = Group(self, literal, Joins(self.rows, self.rows.possible))
        totals = group.totals(group.assignments(start), start)
        told = Totals(summary.count, summary.sum, summary.least, summary.greatest)
        if totals != told:
            raise Rejected("summary", "the rows inline say otherwise")
        value = fold(literal, told)
        return Exact(value, group.confidence, frozenset(group.joins.consulted), self.rows.lookups)

    def _check_inline(self, summary: Summary, literal: Aggregate, start: Binding) -> None:
        group = Group(self, literal, Joins(self.rows, self.rows.inline))
        totals = group.totals(group.assignments(start), start)
        if totals is None:
            raise Rejected("summary", "a row that is not certain may belong to the group")
        if totals.targets:
            raise Rejected("summary", "a value in it is hidden")
        if totals.count > summary.count:
            raise Rejected("summary", "more rows are inline than the summary counts")
        if literal.target is None or totals.count == 0:
            return
        kind = literal.target.kind
        below = compare("<", kind, str(totals.least), str(summary.least))
        above = compare(">", kind, str(totals.greatest), str(summary.greatest))
        if below or above:
            raise Rejected("summary", "a row inline lies outside the summary's bounds")


class Group:
    """The assignments of one group: enumerated as possible, then examined for certainty."""

    def __init__(self, owner: Aggregates, literal: Aggregate, joins: Joins) -> None:
        self.rows = owner.rows
        self.evaluator = owner.rows.evaluator
        self.literal = literal
        self.joins = joins
        self.confidence = owner.absence
        self.only_inline = joins.lookup == owner.rows.inline

    def assignments(self, start: Binding) -> list[Row] | None:
        """Return the distinct assignments, ``None`` if one has a hole or two may be one."""
        found = list(self.found(start))
        if any(isinstance(value, Hole) for one in found for value in one):
            return None
        distinct: list[Row] = found  # type: ignore[assignment]  # no hole is left
        # The least and the greatest are the same whether two are one or not.
        counts = self.literal.function not in {"min", "max"}
        return None if counts and some_may_be_one(distinct, self.rows.spend) else distinct

    def certain_targets(self, start: Binding) -> list[str]:
        """Return the targets of the assignments that are certain, where somebody knows them."""
        targets: list[str] = []
        for assignment in self.found(start):
            self.rows.spend(1 + len(self.literal.body))
            binding = list(start)
            for variable, value in zip(self.literal.inner, assignment, strict=True):
                binding[variable] = value
            # Every row is consulted, as for totals: its node counts as used.
            holds = [self._holds(test, binding) for test in self.literal.body]
            target = self.evaluator.value(self.literal.target, binding)  # type: ignore[arg-type]
            if all(holds) and type(target) is str and not is_hidden(target):
                targets.append(target)
        return targets

    def found(self, start: Binding) -> dict[OpenRow, None]:
        """Return the distinct cells of the local variables and of what is not read."""
        inner = self.literal.inner
        bindings = search(start, self.literal.body, self._choose, self.joins.extend)
        return dict.fromkeys(tuple([one[variable] for variable in inner]) for one in bindings)

    def _choose(self, binding: Binding, left: tuple[Test, ...]) -> int:
        """Choose tests first, then the served atom with the fewest unbound columns."""
        self.rows.spend(len(left))
        best, fewest = -1, 0
        for position, test in enumerate(left):
            if not isinstance(test, Positive):
                if self._is_ready(test, binding):
                    return position
                continue
            pattern = self.evaluator.instance(test.atom, binding)
            unbound = sum(value is Hole.UNBOUND or value is Hole.ANY for value in pattern)
            if (best < 0 or unbound < fewest) and self._can_match(test, binding):
                best, fewest = position, unbound
        if best < 0:
            raise Rejected("unserved", "nothing tells all rows of the aggregate's body")
        return best

    def _is_ready(self, test: Test, binding: Binding) -> bool:
        if isinstance(test, Comparison):
            if self.evaluator.truth(test, binding) is not Hole.UNBOUND:
                return True
            sides = ((test.left, test.right), (test.right, test.left))
            return any(
                is_assignment(test, side, binding)
                and self.evaluator.value(other, binding) is not Hole.UNBOUND
                for side, other in sides
            )
        return Hole.UNBOUND not in self.evaluator.instance(test.atom, binding)

    def _can_match(self, test: Positive, binding: Binding) -> bool:
        pattern = self.evaluator.instance(test.atom, binding)
        for term, value in zip(test.atom.args, pattern, strict=True):
            if value is Hole.UNBOUND and not isinstance(term, Variable):
                return False
        # A pattern with ⋆ is answered by a ⋆ row where nothing serves it.
        if self.only_inline or is_starred(pattern):
            return True
        return self.rows.is_served(test.atom.predicate, pattern)

    def totals(self, assignments: list[Row] | None, start: Binding) -> Totals | None:
        """Add the assignments up; ``None`` unless every one of them is certain."""
        if assignments is None:
            return None
        certain = True
        targets: list[str] = []
        for assignment in assignments:
            self.rows.spend(1 + len(self.literal.body))
            binding = list(start)
            for variable, value in zip(self.literal.inner, assignment, strict=True):
                binding[variable] = value
            # Every row is consulted, also after one that is not certain: its node counts as used.
            for test in self.literal.body:
                certain &= self._holds(test, binding)
            if self.literal.target is not None:
                target = self.evaluator.value(self.literal.target, binding)
                certain &= type(target) is str
                targets.append(str(target))
        return self._added(len(assignments), targets) if certain else None

    def _holds(self, test: Test, binding: Binding) -> bool:
        if isinstance(test, Comparison):
            return self.evaluator.truth(test, binding) is True
        row = self.evaluator.instance(test.atom, binding)
        if any(isinstance(value, Hole) for value in row):
            return False
        if isinstance(test, Negative):
            return not self.joins.lookup(test.atom.predicate, row)
        found = self.joins.certain(test.atom.predicate, row)
        if found is None:
            return False
        self.confidence = min(self.confidence, found.confidence)
        return True

    def _added(self, count: int, targets: list[str]) -> Totals:
        if self.literal.target is None:
            return Totals(count, None, None, None)
        if any(map(is_hidden, targets)):
            return Totals(count, None, None, None, tuple(targets))
        return totals_of(self.literal.target.kind, count, targets)


def _is_bounded(literal: Aggregate) -> bool:
    """Tell whether members bound the result: the target is a variable, and nothing is denied."""
    plain = not any(isinstance(test, Negative) for test in literal.body)
    extreme = literal.function in {"min", "max"} and literal.threshold is None
    return extreme and plain and isinstance(literal.target, Variable)


def some_may_be_one(assignments: Sequence[Row], spend: Callable[[int], None]) -> bool:
    """Tell whether two of these distinct assignments differ in nothing that is known."""
    by_form: dict[tuple[object, ...], list[Row]] = {}
    for one in assignments:
        by_form.setdefault(tuple(map(_form, one)), []).append(one)
    forms = list(by_form)
    for number, form in enumerate(forms):
        for other in forms[: number + 1]:
            if form == other and all(cell in {True, NONE, UNREAD} for cell in form):
                continue
            if _may_overlap(form, other, by_form, spend):
                return True
    return False


def _form(cell: Cell) -> object:
    """Return what tells rows of cells apart that are compared at once."""
    return True if is_known(cell) else cell if cell in {NONE, UNREAD} else type(cell)


def _may_overlap(
    form: tuple[object, ...],
    other: tuple[object, ...],
    by_form: dict[tuple[object, ...], list[Row]],
    spend: Callable[[int], None],
) -> bool:
    """Tell whether a row of one form and another of the other agree in all that both know."""
    pairs = list(zip(form, other, strict=True))
    # Nothing is what a value or a label stands for; what is perhaps none may be either.
    if any(NONE in pair and Null not in pair and pair != (NONE, NONE) for pair in pairs):
        return False
    both = [column for column, pair in enumerate(pairs) if pair == (True, True)]
    spend(len(by_form[form]) + len(by_form[other]))
    keys = [tuple([row[column] for column in both]) for row in by_form[form]]
    if form == other:
        return len(set(keys)) < len(keys)
    return not {tuple([row[column] for column in both]) for row in by_form[other]}.isdisjoint(keys)


def totals_of(kind: str, count: int, targets: list[str]) -> Totals:
    """Return sum, least and greatest of spelled values of one kind."""
    if kind in {"number", "unsigned", "float", "Decimal"}:
        values = {text: parse(kind, text) for text in targets}
        total = sum((Fraction(values[text]) for text in targets), Fraction())
        least = min(targets, key=values.__getitem__, default=None)
        greatest = max(targets, key=values.__getitem__, default=None)
        return Totals(count, total, least, greatest)
    return Totals(count, None, min(targets, default=None), max(targets, default=None))


def fold(literal: Aggregate, totals: Totals) -> Value | None:
    """Return the aggregate's value, ``None`` for the least of nothing, ⋆ for ⚡."""
    if literal.target is None:
        return str(totals.count)
    if literal.function == "sum":
        return _or_star(_spell_sum(literal.target.kind, totals.total or Fraction()))
    if not totals.count:
        return None
    if literal.function == "mean":
        return _or_star(_spell_mean(literal.result.kind, totals))
    return totals.least if literal.function == "min" else totals.greatest


def _or_star(text: str | None) -> Value:
    return Hole.STAR if text is None else text


def _spell_sum(kind: str, total: Fraction) -> str | None:
    if kind == "float":
        return _spell_float(total)
    if kind == "Decimal":
        # Every sum of Decimals has at most 38 places.
        scaled = Decimal(int(total * 10**DIGITS))
        return spell(kind, scaled.scaleb(-DIGITS, _WIDE))
    return spell(kind, int(total))


def _spell_mean(kind: str, totals: Totals) -> str | None:
    mean = (totals.total or Fraction()) / totals.count
    return _spell_float(mean) if kind == "float" else spell(kind, round_to_places(mean))


def _spell_float(exact: Fraction) -> str | None:
    try:
        # Division of integers is correctly rounded: the exact sum is rounded once.
        return spell("float", exact.numerator / exact.denominator)
    except OverflowError:
        return None


def absence_confidence(certificate: Certificate) -> int:
    """Return what an absence is worth: the least confidence of what was accepted to close it."""
    evidence = certificate.evidence
    filling = {one.assumption for one in evidence.filled}
    closing = [
        evidence.assumptions[index].confidence
        for index in certificate.header.under
        if index in filling or evidence.assumptions[index].kind in CLOSING
    ]
    return min(closing, default=MILLION)
