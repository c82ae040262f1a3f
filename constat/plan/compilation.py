"""From an ordered rule to steps over slots.

In: a rule, its adornment, the order of its body. Out: a `RulePlan`. Invariant: every variable of
the rule that anything reads has exactly one slot; with `keep_all` every outer variable has one,
so that a binding is a full substitution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import assert_never

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Threshold,
    Value,
    Variable,
    is_never_negative,
    is_wildcard,
    literal_variables,
    local_names,
    outer_names,
    term_variables,
    threshold_of,
)
from constat.plan.operators import (
    Absence,
    Beyond,
    Call,
    Columns,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    RulePlan,
    Slot,
    Step,
)
from constat.plan.order import Rank, order_body


def compile_rule(  # noqa: PLR0913  costs may differ inside of aggregates
    number: int,
    rule: Rule,
    columns: Columns,
    kinds: Mapping[str, Kind],
    costs: Mapping[str, int] | Rank,
    *,
    keep_all: bool = False,
    inside: Mapping[str, int] | None = None,
) -> RulePlan:
    """Plan one rule for the head columns that are bound; `costs` as `order_body` takes them.

    `inside` are the costs inside of aggregates, where they differ.
    """
    body = _Body(rule, kinds, costs if inside is None else inside, keep_all=keep_all)
    checks = body.start(columns, rule)
    bound = set(body.slots)
    order = order_body(rule.body, bound, set(outer_names(rule)), costs)
    for place in order:
        body.add(rule.body[place], place)
    return RulePlan(
        rule=number,
        columns=columns,
        constants=body.constants,
        checks=checks,
        steps=tuple(body.steps),
        head=tuple(body.expression(term) for term in rule.head.terms),
        order=order,
        assumed=rule.assumed,
        variables=dict(body.slots),
    )


class _Body:
    """Steps under construction: which variable stands where, and how wide a binding is by now."""

    def __init__(
        self,
        rule: Rule,
        kinds: Mapping[str, Kind],
        costs: Mapping[str, int] | Rank,
        *,
        keep_all: bool,
        fixed: int = 0,
    ) -> None:
        self.fixed = fixed
        self.rule = rule
        self.kinds = kinds
        self.costs = costs
        self.keep_all = keep_all
        self.steps: list[Step] = []
        self.slots: dict[str, int] = {}
        self.width = 0
        self.constants: tuple[Value, ...] = ()
        self.constant_slots: dict[tuple[Kind, Value], int] = {}
        self.uses = _uses(rule)
        self.thresholds = recursive_thresholds(rule)
        self.decided = {threshold.place for threshold in self.thresholds.values()}

    def start(self, columns: Columns, rule: Rule) -> tuple[tuple[int, int], ...]:
        """Lay out the key and the constants; give the pairs of slots that must be equal."""
        self.width = len(columns)
        atoms = [
            rule.head,
            *(one.atom for one in rule.body if isinstance(one, Positive | Negative)),
        ]
        self._lay_constants([term for atom in atoms for term in atom.terms])
        checks: list[tuple[int, int]] = []
        for place, column in enumerate(columns):
            match rule.head.terms[column]:
                case Variable(name) if name in self.slots:
                    checks.append((place, self.slots[name]))
                case Variable(name):
                    self.slots[name] = place
                case Constant() as constant:
                    checks.append((place, self._constant_slot(constant)))
                case Apply():
                    # The key cannot be turned into the arguments; rows beyond the demand are true
                    # all the same.
                    pass
        return tuple(checks)

    def start_group(self, group: Sequence[str], literals: Sequence[Literal]) -> None:
        """Lay out the group variables and the constants of an aggregate's body."""
        for name in group:
            self.slots[name] = self.width
            self.width += 1
        atoms = [one.atom for one in literals if isinstance(one, Positive | Negative)]
        self._lay_constants([term for atom in atoms for term in atom.terms])

    def _lay_constants(self, terms: Sequence[Term]) -> None:
        values: list[Value] = []
        for term in terms:
            if isinstance(term, Constant) and (term.kind, term.value) not in self.constant_slots:
                self.constant_slots[term.kind, term.value] = self.width
                self.width += 1
                values.append(term.value)
        self.constants = tuple(values)

    def _constant_slot(self, constant: Constant) -> int:
        return self.constant_slots[constant.kind, constant.value]

    def add(self, literal: Literal, place: int) -> None:
        """Append the steps of one literal."""
        match literal:
            case Positive(atom):
                self._add_join(atom, place)
            case Negative(atom):
                self._add_absence(atom)
            case Comparison():
                # What a threshold is compared with is a part of its step.
                if place not in self.decided:
                    self._add_comparison(literal)
            case Aggregate():
                self._add_fold(literal, place)
            case _:
                assert_never(literal)

    def _add_join(self, atom: Atom, place: int) -> None:
        bound = self._bound_columns(atom)
        new: dict[str, int] = {}
        kept: list[int] = []
        same: list[tuple[int, int]] = []
        for column, term in enumerate(atom.terms):
            if column in bound or not isinstance(term, Variable):
                continue
            if term.name in new:
                same.append((new[term.name], column))
                continue
            new[term.name] = column
            if self.keep_all or self.uses[term.name] > 1:
                kept.append(column)
        columns = tuple(bound)
        self.steps.append(
            Join(
                atom.predicate,
                columns,
                tuple(bound.values()),
                tuple(kept),
                tuple(same),
                len(atom.terms),
                place,
                _read(atom, bound),
                self.fixed,
            )
        )
        for column in kept:
            term = atom.terms[column]
            if isinstance(term, Variable):
                self.slots[term.name] = self.width
                self.width += 1

    def _add_absence(self, atom: Atom) -> None:
        bound = self._bound_columns(atom)
        read = _read(atom, bound)
        self.steps.append(
            Absence(atom.predicate, tuple(bound), tuple(bound.values()), len(atom.terms), read)
        )

    def _bound_columns(self, atom: Atom) -> dict[int, int]:
        """The columns that are bound now, each with its slot; functions get a slot computed."""
        bound: dict[int, int] = {}
        for column, term in enumerate(atom.terms):
            match term:
                case Constant():
                    bound[column] = self._constant_slot(term)
                case Variable(name):
                    if name in self.slots:
                        bound[column] = self.slots[name]
                case Apply():
                    bound[column] = self._compute(term)
        return bound

    def _compute(self, term: Term) -> int:
        self.steps.append(Compute(self.expression(term)))
        self.width += 1
        return self.width - 1

    def _add_comparison(self, literal: Comparison) -> None:
        left, right = literal.left, literal.right
        if literal.operator == "=":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Variable) and one.name not in self.slots:
                    self.slots[one.name] = self._compute(other)
                    return
        kind = self.kind(left)
        self.steps.append(
            Filter(literal.operator, self.expression(left), self.expression(right), kind)
        )

    def _add_fold(self, literal: Aggregate, place: int) -> None:
        local = local_names(self.rule, literal)
        names = dict.fromkeys(
            variable.name for part in literal.body for variable in literal_variables(part)
        )
        if literal.target is not None:
            names.update(dict.fromkeys(v.name for v in term_variables(literal.target)))
        group = tuple(name for name in names if name not in local)
        inner = _Body(self.rule, self.kinds, self.costs, keep_all=True, fixed=len(group))
        inner.start_group(group, literal.body)
        for number in order_body(literal.body, set(group), set(names), self.costs):
            inner.add(literal.body[number], -1)
        bound = tuple(name for name in names if name in inner.slots)
        step = Fold(
            function=literal.function,
            kind=None if literal.target is None else self.kind(literal.target),
            group=tuple(self.slots[name] for name in group),
            constants=inner.constants,
            steps=tuple(inner.steps),
            target=None if literal.target is None else inner.expression(literal.target),
            distinct=tuple(inner.slots[name] for name in bound),
            threshold=self._beyond(literal, self.thresholds.get(place)),
            names=bound,
        )
        self.steps.append(step)
        self.width += 1
        self._bind_result(literal.result, self.width - 1)

    def _beyond(self, literal: Aggregate, threshold: Threshold | None) -> Beyond | None:
        if threshold is None:
            return None
        proven = is_never_negative(literal, self.kinds)
        return Beyond(threshold.operator, self.expression(threshold.bound), proven)

    def _bind_result(self, result: Variable, place: int) -> None:
        if result.name in self.slots:
            known = Slot(self.slots[result.name])
            self.steps.append(Filter("=", known, Slot(place), self.kinds[result.name]))
        else:
            self.slots[result.name] = place

    def expression(self, term: Term) -> Expression:
        """Turn a term whose variables are bound into an expression."""
        return expression_of(term, self.slots, self.kinds)

    def kind(self, term: Term) -> Kind:
        """The kind of a typed term."""
        return kind_of(term, self.kinds)


def _read(atom: Atom, bound: Mapping[int, int]) -> Columns:
    """The columns that an atom reads and nothing binds: those where it does not write `_`."""
    terms = enumerate(atom.terms)
    return tuple(place for place, term in terms if place not in bound and not is_wildcard(term))


def expression_of(term: Term, slots: Mapping[str, int], kinds: Mapping[str, Kind]) -> Expression:
    """Turn a typed term into an expression over the slots of its variables."""
    match term:
        case Variable(name):
            return Slot(slots[name])
        case Constant(value, kind):
            return Literally(value, kind)
        case Apply(function, arguments):
            parameters = tuple(kind_of(one, kinds) for one in arguments)
            inner = tuple(expression_of(one, slots, kinds) for one in arguments)
            return Call(function, inner, parameters, kind_of(term, kinds))


def kind_of(term: Term, kinds: Mapping[str, Kind]) -> Kind:
    """The kind of a typed term."""
    match term:
        case Variable(name):
            return kinds[name]
        case Constant(kind=kind):
            return kind
        case Apply(kind=kind):
            if kind is None:
                raise AssertionError("analysis gives every function its kind")
            return kind


def recursive_thresholds(rule: Rule) -> dict[int, Threshold]:
    """The aggregates over the rule's own component, by place, with what each must exceed."""
    found = {
        place: threshold_of(rule, place)
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Aggregate) and literal.recursive
    }
    return {place: one for place, one in found.items() if one is not None}


def _uses(rule: Rule) -> Counter[str]:
    """How often each variable occurs: one that occurs once need not be carried."""
    uses = Counter(v.name for term in rule.head.terms for v in term_variables(term))
    for literal in rule.body:
        uses.update(variable.name for variable in literal_variables(literal))
    return uses
