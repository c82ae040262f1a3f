"""How many rows and rounds a program has, roughly, and the order of a body by that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final

from constat.analysis import AnalysedProgram, Component
from constat.analysis.strata import components_of
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    term_variables,
)
from constat.plan.compilation import compile_rule
from constat.plan.forward.operators import (
    Pipeline,
    PlanOptions,
    Relation,
    Rewriting,
    Stage,
    Statistics,
    Wanted,
)
from constat.plan.operators import (
    Absence,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    RulePlan,
    Slot,
    Step,
    slots_of,
)

# Estimates are finite and never below zero. The model is System R's: columns are independent,
# values are spread evenly, and the smaller set of values is contained in the greater.
# See Selinger et al., Access path selection in a relational database management system (1979).

UNKNOWN_ROWS = 1000.0
MOST_ROWS = 1e18
_KEYNESS = 0.85
_KEPT: Final = MappingProxyType({"!=": 0.9, "<": 0.33, "<=": 0.33, ">": 0.33, ">=": 0.33})
_KEPT_BY_TEXT = 0.25
_KEPT_BY_ABSENCE = 0.7
_KEPT_BY_THRESHOLD = 0.5


@slotted
class Estimates:
    """Rows by relation, distinct values by relation and column."""

    counts: dict[str, float] = field(default_factory=dict)
    values: dict[tuple[str, int], float] = field(default_factory=dict)

    def rows(self, predicate: str) -> float:
        """How many rows a relation has."""
        return self.counts.get(predicate, UNKNOWN_ROWS)

    def distinct(self, predicate: str, column: int) -> float:
        """How many distinct values a column has; at least one."""
        known = self.values.get((predicate, column))
        return max(1.0, self.rows(predicate) ** _KEYNESS if known is None else known)

    def values_of(self, predicate: str, column: int, met: float) -> float:
        """How many distinct values a column has, when it is met with so many others.

        A single value that is looked up is more often a category than a key.
        """
        if met <= 1.0 and (predicate, column) not in self.values:
            return max(1.0, math.sqrt(self.rows(predicate)))
        return max(met, self.distinct(predicate, column))

    def take(self, predicate: str, arity: int, statistics: Statistics) -> None:
        """Take what is known of a given relation."""
        rows = statistics.rows(predicate)
        self.counts[predicate] = rows = UNKNOWN_ROWS if rows is None else max(0.0, rows)
        for column in range(arity):
            known = statistics.distinct(predicate, column)
            if known is not None:
                self.values[predicate, column] = max(1.0, min(known, max(rows, 1.0)))

    def add(self, predicate: str, rows: float, values: Sequence[float]) -> None:
        """Unite a relation with rows that have so many distinct values in each column."""
        before = self.counts.get(predicate, 0.0)
        merged = [
            max(self.distinct(predicate, column) if before else 0.0, found)
            for column, found in enumerate(values)
        ]
        most = math.prod(merged)
        self.counts[predicate] = min(before + rows, most, MOST_ROWS)
        for column, found in enumerate(merged):
            self.values[predicate, column] = max(1.0, min(found, self.counts[predicate]))

    def fan_out(self, step: Join, values: Mapping[int, float] | Sequence[float]) -> float:
        """How many rows a join finds for each binding."""
        found = self.rows(step.predicate)
        for column, slot in zip(step.columns, step.key, strict=True):
            found /= self.values_of(step.predicate, column, values[slot])
        for one, other in step.same:
            found /= max(self.distinct(step.predicate, one), self.distinct(step.predicate, other))
        return found


@slotted
class Bindings:
    """Bindings under estimation: how many, and how many distinct values in each slot."""

    rows: float
    values: list[float]

    def of(self, expression: Expression) -> float:
        """How many distinct values an expression has."""
        found = math.prod(self.values[slot] for slot in slots_of(expression))
        return max(1.0, min(found, self.rows))

    def distinct(self, slots: Sequence[int]) -> float:
        """How many bindings are left when only these slots are looked at."""
        return distinct_of(self.rows, math.prod(self.of(Slot(slot)) for slot in slots))


def distinct_of(rows: float, domain: float) -> float:
    """How many different ones are among `rows` draws from `domain` values.

    >>> distinct_of(10.0, 1e9)
    10.0
    """
    if domain <= 1.0:
        return min(rows, 1.0)
    if rows <= domain / 1000:
        return rows
    return domain * -math.expm1(-rows / domain)


def follow(plan: RulePlan, estimates: Estimates) -> tuple[tuple[float, ...], Bindings]:
    """Estimate the bindings after each step, and what is known of the last ones."""
    bindings = Bindings(1.0, [1.0] * len(plan.constants))
    counts = []
    for step in plan.steps:
        advance(bindings, step, estimates)
        counts.append(bindings.rows)
    return tuple(counts), bindings


def head_values(plan: RulePlan, bindings: Bindings) -> list[float]:
    """How many distinct values each column of the head gets."""
    return [bindings.of(expression) for expression in plan.head]


def advance(bindings: Bindings, step: Step, estimates: Estimates) -> None:
    """Take a step."""
    match step:
        case Join(predicate=predicate, columns=columns, key=key, kept=kept):
            bindings.rows = min(bindings.rows * estimates.fan_out(step, bindings.values), MOST_ROWS)
            for column, slot in zip(columns, key, strict=True):
                found = estimates.distinct(predicate, column)
                bindings.values[slot] = min(bindings.values[slot], found)
            bindings.values.extend(estimates.distinct(predicate, column) for column in kept)
        case Absence():
            bindings.rows *= _KEPT_BY_ABSENCE
        case Filter():
            bindings.rows *= _kept(bindings, step)
        case Compute(expression=expression):
            bindings.values.append(bindings.of(expression))
        case Fold(threshold=threshold):
            bindings.values.append(max(1.0, bindings.rows))
            bindings.rows *= 1.0 if threshold is None else _KEPT_BY_THRESHOLD


def _kept(bindings: Bindings, step: Filter) -> float:
    if step.operator == "=":
        return 1 / max(bindings.of(step.left), bindings.of(step.right))
    return _KEPT.get(step.operator, _KEPT_BY_TEXT)


# An estimate for a choice, never a bound.

_FILLED = 0.5
_MOST_ROUNDS = 1e7
_FADING = 0.95
_STEADY = 1.05


def grow(draft: Draft, stage: StageDraft) -> float:
    """Estimate a stage in place; give its rounds."""
    names = stage.component.predicates
    if not stage.recursive:
        return 1.0
    _spread_domains(draft, stage)
    start = max(1.0, sum(draft.estimates.rows(name) for name in names))
    growth = _one_round(draft, stage) / start
    room = {name: domain(draft, name) for name in names}
    most = min(sum(room.values()), MOST_ROWS)
    if growth < _FADING:
        total = min(start / (1 - growth), most)
        rounds = math.log(start + 1) / -math.log(max(growth, 1e-3)) + 1
    else:
        total = max(start, most * _FILLED)
        rounds = _rounds(start, total, growth, linear=stage.linear)
    for name in names:
        share = total * room[name] / max(sum(room.values()), 1.0)
        draft.estimates.counts[name] = max(draft.estimates.rows(name), min(share, MOST_ROWS))
    return min(max(rounds, 1.0), _MOST_ROUNDS)


def domain(draft: Draft, name: str) -> float:
    """How many rows a relation can have: the product of its columns' distinct values."""
    arity = draft.program.program.predicates[name].arity
    found = math.prod(draft.estimates.distinct(name, column) for column in range(arity))
    return min(found, MOST_ROWS)


def _rounds(start: float, total: float, growth: float, *, linear: bool) -> float:
    if not linear:
        return math.log2(max(total / start, 1.0)) + 2
    if growth <= _STEADY:
        return total / start
    return math.log(1 + total / start * (growth - 1)) / math.log(growth) + 1


def _one_round(draft: Draft, stage: StageDraft) -> float:
    made = 0.0
    for pipeline in stage.recursive:
        counts, _ = follow(pipeline.plan, draft.estimates)
        made += counts[-1] if counts else 1.0
    return made


def _spread_domains(draft: Draft, stage: StageDraft) -> None:
    """Let the values that recursive rules bring into a column count, without adding rows."""
    estimates = draft.estimates
    for name in stage.component.predicates:
        estimates.counts[name] = max(1.0, estimates.rows(name))
    for _ in range(2):
        for pipeline in stage.recursive:
            _, bindings = follow(pipeline.plan, estimates)
            roomy = Bindings(MOST_ROWS, bindings.values)
            for column, found in enumerate(head_values(pipeline.plan, roomy)):
                key = pipeline.head, column
                estimates.values[key] = max(estimates.values.get(key, 1.0), found)


# An estimate for a choice between two forms of a program, never a bound.


def work_of(compiled: Draft) -> float:
    """The bindings that all steps of a compiled draft make."""
    return sum(
        _pipeline(pipeline)
        for stage in compiled.drafts
        for pipeline in (*stage.base, *stage.recursive)
    )


def _pipeline(pipeline: Pipeline) -> float:
    return 1.0 + sum(pipeline.rows)


# After each rewriting the program is safe, typed and stratified, and gives the wanted relations
# the same rows.

TypedRule = tuple[Rule, Mapping[str, Kind]]


@slotted
class StageDraft:
    """A component under planning."""

    component: Component
    stated: list[int] = field(default_factory=list)
    base: list[Pipeline] = field(default_factory=list)
    recursive: list[Pipeline] = field(default_factory=list)
    linear: bool = True
    rounds: float = 1.0
    rows: float = 0.0


@slotted
class Draft:
    """A forward plan under construction.

    `estimates` and `drafts` belong to the program `compiled`, which need not be the present one.
    """

    original: AnalysedProgram
    program: AnalysedProgram
    wanted: list[Wanted]
    statistics: Statistics
    options: PlanOptions
    made_by: dict[str, str] = field(default_factory=dict)
    notes: list[Rewriting] = field(default_factory=list)
    estimates: Estimates = field(default_factory=Estimates)
    drafts: list[StageDraft] = field(default_factory=list)
    compiled: AnalysedProgram | None = None
    relations: dict[str, Relation] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    def revise(
        self, rules: Sequence[TypedRule], made: Mapping[str, Predicate], made_by: str
    ) -> None:
        """Take other rules and more predicates; components are found anew."""
        predicates = {**self.program.program.predicates, **made}
        typed = tuple(rule for rule, _ in rules)
        program = replace(self.program.program, predicates=predicates, rules=typed)
        self.program = replace(
            self.program,
            program=program,
            rules=typed,
            variable_kinds=tuple(kinds for _, kinds in rules),
            components=components_of(program),
        )
        self.made_by.update(dict.fromkeys(made, made_by))

    def typed_rules(self) -> list[TypedRule]:
        """The rules with the kinds of their variables."""
        return list(zip(self.program.rules, self.program.variable_kinds, strict=True))

    def note(self, name: str, subject: str, why: str, *, applied: bool) -> None:
        """Say what was done, or why not."""
        self.notes.append(Rewriting(name, subject, applied, why))


Pass = Callable[[Draft], None]


# Comparisons and absences come as soon as their slots exist; a join without any bound column comes
# only when every other one is without, too. Greedy by the rows that a join adds to each binding;
# where nothing says which atom is first and relations are large, each is tried and the order with
# the fewest bindings is kept. See Selinger et al. (1979), and Swami, Optimization of large join
# queries (1989), for greedy orders.

MOST_STARTS = 6
WORTH_TRYING = 10_000.0


@frozen
class JoinOrder:
    """Ranks the literals of one rule; `first` is the literal to begin with."""

    estimates: Estimates
    domains: Mapping[str, float]
    first: Literal | None = None

    def __call__(self, literal: Literal, known: set[str]) -> tuple[float, ...]:
        """Rank a literal that is ready when these variables are bound."""
        if literal is self.first:
            return (-1.0,)
        match literal:
            case Comparison() | Negative():
                return (0.0,)
            case Positive(atom):
                return self._rank(atom, known)
            case Aggregate():
                return (3.0,)

    def total(self, start: Positive, atoms: Sequence[Positive]) -> float:
        """Estimate the bindings of all joins in the greedy order that begins with an atom."""
        known: set[str] = set()
        left = list(atoms)
        rows, total = 1.0, 0.0
        chosen = start
        while True:
            rows = min(rows * self._rank(chosen.atom, known)[1], MOST_ROWS)
            total += rows
            left.remove(chosen)
            if not left:
                return total
            known.update(term.name for term in chosen.atom.terms if isinstance(term, Variable))
            chosen = min(left, key=lambda one: self._rank(one.atom, known))

    def _rank(self, atom: Atom, known: set[str]) -> tuple[float, ...]:
        found = self.estimates.rows(atom.predicate)
        joined = not known
        seen: set[str] = set()
        for column, term in enumerate(atom.terms):
            match term:
                case Variable(name) if name not in known and name not in seen:
                    seen.add(name)
                    continue
                case Variable(name):
                    domain = self.domains.get(name, 1.0)
                    joined = joined or name in known
                case _:
                    domain = 1.0
                    joined = joined or (isinstance(term, Apply) and bool(known))
            found /= self.estimates.values_of(atom.predicate, column, domain)
        # A row that is certain to be one, such as a fact with constants only, multiplies nothing.
        return (1.0 if joined or not seen else 2.0, found)


def domains_of(rule: Rule, estimates: Estimates) -> dict[str, float]:
    """How many distinct values each variable of a body can have, at most."""
    found: dict[str, float] = {}
    for literal in rule.body:
        if isinstance(literal, Positive):
            for column, term in enumerate(literal.atom.terms):
                if isinstance(term, Variable):
                    values = estimates.distinct(literal.atom.predicate, column)
                    found[term.name] = max(found.get(term.name, 1.0), values)
    return found


def plan_rule(
    number: int,
    rule: Rule,
    kinds: Mapping[str, Kind],
    estimates: Estimates,
    first: Literal | None = None,
) -> RulePlan:
    """Order and compile a rule."""
    order = JoinOrder(estimates, domains_of(rule, estimates), first)
    if first is None:
        order = replace(order, first=_start(rule, order))
    return compile_rule(number, rule, (), kinds, order)


def _start(rule: Rule, order: JoinOrder) -> Positive | None:
    """The atom to begin with, where it is worth asking; else the order decides as everywhere."""
    atoms = [one for one in rule.body if isinstance(one, Positive)]
    # Of two atoms the smaller one is first in any case.
    if not 2 < len(atoms) <= MOST_STARTS:  # noqa: PLR2004
        return None
    if max(order.estimates.rows(one.atom.predicate) for one in atoms) < WORTH_TRYING:
        return None
    starts = [one for one in atoms if _may_start(one.atom)] or atoms
    return min(starts, key=lambda start: order.total(start, atoms))


def _may_start(atom: Atom) -> bool:
    return not any(
        isinstance(term, Apply) and next(term_variables(term), None) is not None
        for term in atom.terms
    )
