"""Plan a goal over an analysed program: the passes in order.

In: an analysed program, a goal, the costs of external predicates. Out: a `Plan`. Example:
`plan_program(analysed, goal, {"tier": 10}).procedures` has one procedure for each adornment.
`PASSES` are those of plans on demand; `constat.plan.forward.PASSES` plan whole relations, from
rules that `compile_rule` compiles, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from constat.analysis import AnalysedProgram
from constat.logic import Atom, Constant
from constat.plan.adornment import adorn
from constat.plan.compilation import compile_rule
from constat.plan.costs import predicate_costs
from constat.plan.operators import Plan, Procedure, ProcedureKey
from constat.plan.order import order_body

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
