"""Which derived predicates a goal needs, with which columns bound.

In: an analysed program and the goal's adornment. Out: a procedure for every (predicate, bound
columns) that evaluation can ask for, found by following the ordered bodies from the goal. There
are finitely many adornments, so the worklist ends. Example: the goal `path(1, ?y)` needs `path`
with column 0 bound. See Beeri and Ramakrishnan, On the power of magic (1991).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from constat.analysis import AnalysedProgram
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Constant, Predicate, Rule
from constat.plan.compilation import compile_rule
from constat.plan.costs import predicates_of, rules_by_head
from constat.plan.operators import (
    Absence,
    Fold,
    GroundFact,
    Join,
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
