"""Plan a goal over an analysed program: which predicates it needs, with which columns bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from constat.analysis import AnalysedProgram
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Atom, Constant, Positive, Predicate, Rule
from constat.plan.compilation import (
    compile_rule,
    order_body,
    predicate_costs,
    predicates_of,
    rules_by_head,
)
from constat.plan.operators import (
    Absence,
    Fold,
    GroundFact,
    Join,
    Plan,
    Procedure,
    ProcedureKey,
    RulePlan,
    Step,
)


def adorn(
    analysed: AnalysedProgram,
    goal: ProcedureKey,
    costs: Mapping[str, int],
    known: Mapping[ProcedureKey, Procedure] | None = None,
    planned: dict[ProcedureKey, Procedure] | None = None,
) -> dict[ProcedureKey, Procedure]:
    """Plan every procedure reachable from the goal, and give them with those that are known.

    What is planned already, with the same costs, is taken from `planned`; what is new goes there.
    """
    heads = analysed.remembered("heads", lambda: rules_by_head(analysed))
    planned = {} if planned is None else planned
    procedures: dict[ProcedureKey, Procedure] = dict(known or {})
    waiting = [goal]
    while waiting:
        key = waiting.pop()
        if key in procedures or key[0] not in heads:
            continue
        if key not in planned:
            planned[key] = _procedure(analysed, key, heads[key[0]], costs)
        procedures[key] = planned[key]
        for rule in procedures[key].rules:
            waiting.extend(demanded(rule.steps))
    return procedures


def demanded(steps: Iterable[Step]) -> Iterator[ProcedureKey]:
    """The predicates steps ask for, with the columns they bind."""
    for step in steps:
        match step:
            case (
                Join(predicate=predicate, columns=columns)
                | Absence(predicate=predicate, columns=columns)
            ):
                yield (predicate, columns)
            case Fold(steps=inner):
                yield from demanded(inner)
            case _:
                pass


def _procedure(
    analysed: AnalysedProgram,
    key: ProcedureKey,
    numbers: tuple[int, ...],
    costs: Mapping[str, int],
) -> Procedure:
    predicate, columns = key
    declared = analysed.program.predicates.get(predicate)
    if declared is not None and declared.given:
        raise ConstatError([not_bound(declared)])
    rules = [
        compile_rule(
            number, analysed.rules[number], columns, analysed.variable_kinds[number], costs
        )
        for number in numbers
        if ground_fact(number, analysed.rules[number]) is None
    ]
    facts = [ground_fact(number, analysed.rules[number]) for number in numbers]

    def rank(rule: RulePlan) -> tuple[bool, int, int]:
        # Rules without assumptions come first, then cheap ones (semantics 13).
        body = analysed.rules[rule.rule].body
        names = (name for literal in body for name in predicates_of(literal))
        return (rule.assumed, max((costs.get(name, 0) for name in names), default=0), rule.rule)

    stated = tuple(fact for fact in facts if fact is not None)
    return Procedure(predicate, columns, stated, tuple(sorted(rules, key=rank)))


def not_bound(predicate: Predicate) -> Diagnostic:
    """Report a predicate whose given columns nobody binds in a program that is run as it is."""
    return Diagnostic(
        "C0249",
        f"the rules of `{predicate.name}` are given values, and nobody gives them here",
        predicate.span,
        label="declared with `given`",
        note="whole relations have no goal that binds a column",
        help="leave this predicate to `constat prove` and `constat query`",
    )


def ground_fact(number: int, rule: Rule) -> GroundFact | None:
    """The row a rule states outright, or `None` for a rule that has something to evaluate."""
    if rule.body:
        return None
    values = tuple(term.value for term in rule.head.terms if isinstance(term, Constant))
    if len(values) < len(rule.head.terms):
        return None
    return GroundFact(values, number, rule.assumed)


def unproductive(analysed: AnalysedProgram) -> frozenset[str]:
    """Give the derived predicates of which no rule can make a first row, whatever sources say.

    Each of their rules needs a row of such a predicate: in the least fixpoint they are empty.
    """

    def find() -> frozenset[str]:
        declared = analysed.program.predicates
        left = {rule.head.predicate for rule in analysed.rules} - analysed.external
        # What is given to rules is no relation, not even an empty one.
        left = {name for name in left if not declared[name].given}
        waiting = [rule for rule in analysed.rules if rule.head.predicate in left]
        while True:
            found = {rule.head.predicate for rule in waiting if left.isdisjoint(_joined(rule))}
            if not found:
                return frozenset(left)
            left -= found
            waiting = [rule for rule in waiting if rule.head.predicate in left]

    return analysed.remembered("unproductive", find)


def _joined(rule: Rule) -> Iterator[str]:
    """Yield the predicates of which a rule needs a row, those in its aggregates left out."""
    return (one.atom.predicate for one in rule.body if isinstance(one, Positive))


PASSES = (
    predicate_costs,  # needs the external predicates' costs
    order_body,  # needs costs and what the adornment binds
    compile_rule,  # needs an order and the variables' kinds
    adorn,  # needs compiled rules, to see what they ask for
)


def plan_program(analysed: AnalysedProgram, goal: Atom, costs: Mapping[str, int]) -> Plan:
    """Plan a goal over an analysed program. `costs` are those of the external predicates."""
    columns = tuple(place for place, term in enumerate(goal.terms) if isinstance(term, Constant))
    key = (goal.predicate, columns)
    given = frozenset(costs.items())
    every = analysed.remembered(("costs", given), lambda: predicate_costs(analysed, costs))
    planned = analysed.remembered(("procedures", given), dict[ProcedureKey, Procedure])
    component, recursive = analysed.remembered("components", lambda: _components(analysed))
    procedures = adorn(analysed, key, every, planned=planned)
    return Plan(key, procedures, component, recursive, every)


def _components(analysed: AnalysedProgram) -> tuple[Mapping[str, int], frozenset[int]]:
    numbered = list(enumerate(analysed.components))
    component = {predicate: number for number, one in numbered for predicate in one.predicates}
    return component, frozenset(number for number, one in numbered if one.recursive)
