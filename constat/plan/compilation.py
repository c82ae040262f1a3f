"""From an ordered rule to steps over slots, cheap and selective literals first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import assert_never

from constat.analysis import AnalysedProgram
from constat.analysis.attributes import NO_REASON, reason_codes
from constat.analysis.modes import required_inputs
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

# External predicates by their tiers, derived ones by the dearest they rest on.

UNKNOWN_COST = 50


def rules_by_head(analysed: AnalysedProgram) -> dict[str, tuple[int, ...]]:
    """The numbers of the rules that derive each predicate."""
    numbers: dict[str, list[int]] = {}
    for number, rule in enumerate(analysed.rules):
        numbers.setdefault(rule.head.predicate, []).append(number)
    return {predicate: tuple(found) for predicate, found in numbers.items()}


class Costs(dict[str, int]):
    """What a demand of each predicate costs, and the columns that have to be bound for one."""

    __slots__ = ("required",)

    def __init__(self, costs: Mapping[str, int], required: Mapping[str, Collection[int]]) -> None:
        super().__init__(costs)
        self.required = required


def predicate_costs(analysed: AnalysedProgram, external: Mapping[str, int]) -> Costs:
    """Give every predicate a cost."""
    heads = rules_by_head(analysed)
    costs = {name: external.get(name, UNKNOWN_COST) for name in analysed.external}
    for component in analysed.components:
        dearest = max(
            (
                costs.get(name, 0)
                for predicate in component.predicates
                for name in (predicate, *_used(analysed, heads.get(predicate, ())))
            ),
            default=0,
        )
        costs.update(dict.fromkeys(component.predicates, dearest))
    predicates = analysed.program.predicates
    required = analysed.remembered("required", lambda: required_inputs(analysed.rules, predicates))
    return Costs(costs, required)


def _used(analysed: AnalysedProgram, numbers: Iterable[int]) -> Iterator[str]:
    for number in numbers:
        for literal in analysed.rules[number].body:
            yield from predicates_of(literal)


def predicates_of(literal: Literal) -> Iterator[str]:
    """The predicates a literal names."""
    match literal:
        case Positive(atom) | Negative(atom):
            yield atom.predicate
        case Aggregate(body=body):
            for inner in body:
                yield from predicates_of(inner)
        case _:
            return


def predicates_below(analysed: AnalysedProgram, name: str) -> set[str]:
    """The predicates that a predicate rests on, itself among them."""
    heads = rules_by_head(analysed)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _used(analysed, heads.get(one, ()))
    return found


# When a literal's turn comes, everything it must read is bound. Greedy: among the literals that
# are ready, comparisons first, then by cost of the predicate, then by how bound the atom is
# (sideways information passing). Ties keep the order written, so that an author can steer.

_FULLY, _PARTLY, _FREE = 0, 1, 2

Rank = Callable[[Literal, set[str]], tuple[float, ...]]
"""How early a literal is taken among those that are ready, given the variables that are bound."""


def order_body(
    body: Sequence[Literal], bound: set[str], outer: set[str], costs: Mapping[str, int] | Rank
) -> tuple[int, ...]:
    """Order a body. `outer` names the variables that are not local to an aggregate.

    `costs` are those of the predicates, or a rank that knows more.
    """
    rank: Rank = partial(_rank, costs=costs) if isinstance(costs, Mapping) else costs
    known = set(bound)
    names = [{variable.name for variable in literal_variables(literal)} for literal in body]
    binds = [_binds(literal, found) for literal, found in zip(body, names, strict=True)]
    shared = _shared_names(body, binds, bound, outer)
    needs = [
        _needs(literal, found, outer, shared, body)
        for literal, found in zip(body, names, strict=True)
    ]
    left = list(range(len(body)))
    order: list[int] = []
    while left:
        # Analysis has refused unsafe rules; what is never ready waits only for a mode that cannot
        # be met.
        ready = [n for n in left if any(one <= known for one in needs[n])] or left[:1]
        best = ready[0]
        if len(ready) > 1:
            best = min(ready, key=lambda place: (*rank(body[place], known), place))
        left.remove(best)
        order.append(best)
        known |= binds[best]
    return tuple(order)


def _shared_names(
    body: Sequence[Literal], binds: Sequence[set[str]], bound: set[str], outer: set[str]
) -> set[str]:
    """Variables that some literal other than a negated one can bind.

    A negated atom waits for these only.
    """
    names = set(bound)
    for literal, found in zip(body, binds, strict=True):
        names |= found & outer if isinstance(literal, Aggregate) else found
    return names


def _needs(
    literal: Literal, names: set[str], outer: set[str], shared: set[str], body: Sequence[Literal]
) -> list[set[str]]:
    """Sets of variables, any of which is enough for a literal with these names to be taken."""
    match literal:
        case Comparison(operator, left, right):
            # An equation gives one side's variable from the other side.
            found = [names]
            if operator == "=":
                found += [_names(right)] if isinstance(left, Variable) else []
                found += [_names(left)] if isinstance(right, Variable) else []
            return found
        case Positive(atom):
            return [_applied_names(atom)]
        case Negative(atom):
            return [(names & shared) | _applied_names(atom)]
        case Aggregate(result=result):
            return [((names & outer) - {result.name}) | _bound_of(literal, body)]


def _bound_of(literal: Aggregate, body: Sequence[Literal]) -> set[str]:
    """The variables that a recursive aggregate is compared with: its step decides that, too."""
    if not literal.recursive:
        return set()
    compared = (one for one in body if isinstance(one, Comparison))
    sides = (side for one in compared for side in ((one.left, one.right), (one.right, one.left)))
    return {name for one, other in sides if one == literal.result for name in _names(other)}


def _rank(literal: Literal, known: set[str], costs: Mapping[str, int]) -> tuple[int, int, int]:
    match literal:
        case Comparison():
            return (0, 0, 0)
        case Positive(atom) | Negative(atom) if _is_early(atom, known, costs):
            return (2, costs.get(atom.predicate, 0), 0)
        case Positive(atom):
            return (1, costs.get(atom.predicate, 0), _boundness(atom, known))
        case Negative(atom):
            return (1, costs.get(atom.predicate, 0), _FULLY)
        case Aggregate():
            dearest = max((costs.get(name, 0) for name in predicates_of(literal)), default=0)
            return (1, dearest, _PARTLY)


def _is_early(atom: Atom, known: set[str], costs: Mapping[str, int]) -> bool:
    """Tell whether the source of an atom cannot be asked yet: a column that it needs is open."""
    required = costs.required.get(atom.predicate, ()) if isinstance(costs, Costs) else ()
    return any(not _names(atom.terms[place]) <= known for place in required)


def coded_last(
    rule: Rule, columns: Columns, costs: Mapping[str, int] | Rank
) -> Mapping[str, int] | Rank:
    """Return a rank that takes tests with a reason code last, where one instance is asked for.

    Whoever is refused is told every reason, so that what they compare is read although the first
    decides; comparisons come behind absences, and then nothing is left to ask.  What binds stays.
    """
    codes = reason_codes(rule.attributes)
    if len(codes) != len(rule.body) or len(set(columns)) < len(rule.head.terms):
        return costs
    rank: Rank = partial(_rank, costs=costs) if isinstance(costs, Mapping) else costs
    late = {
        id(literal): 2 if isinstance(literal, Comparison) else 1
        for literal, code in zip(rule.body, codes, strict=True)
        if code != NO_REASON
        and (isinstance(literal, Negative) or getattr(literal, "operator", "=") != "=")
    }

    def coded_rank(literal: Literal, known: set[str]) -> tuple[float, ...]:
        return (late.get(id(literal), 0), *rank(literal, known))

    return coded_rank


def _boundness(atom: Atom, known: set[str]) -> int:
    bound = sum(_names(term) <= known for term in atom.terms)
    if bound == len(atom.terms):
        return _FULLY
    return _PARTLY if bound else _FREE


def _binds(literal: Literal, names: set[str]) -> set[str]:
    match literal:
        case Negative():
            return set()
        case Aggregate(result=result):
            return {result.name}
        case _:
            return names


def _names(term: object) -> set[str]:
    if isinstance(term, Variable):
        return {term.name}
    if isinstance(term, Apply):
        return {variable.name for variable in term_variables(term)}
    return set()


def _applied_names(atom: Atom) -> set[str]:
    return {name for term in atom.terms if isinstance(term, Apply) for name in _names(term)}


# Every variable of the rule that anything reads has exactly one slot; with `keep_all` every outer
# variable has one, so that a binding is a full substitution.


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
    ranked = coded_last(rule, columns, costs)
    order = order_body(rule.body, bound, set(outer_names(rule)), ranked)
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
