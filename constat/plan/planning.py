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
from constat.plan.operators import Plan
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
    every = predicate_costs(analysed, costs)
    component = {
        predicate: number
        for number, one in enumerate(analysed.components)
        for predicate in one.predicates
    }
    recursive = frozenset(n for n, one in enumerate(analysed.components) if one.recursive)
    return Plan(key, adorn(analysed, key, every), component, recursive, every)
