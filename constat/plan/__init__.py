"""From analysed logic to relational operators: `AnalysedProgram` and a goal in, `Plan` out.

Every back end of ours executes this plan; nothing below it evaluates raw logic.
"""

from constat.plan.compilation import (
    compile_rule,
    expression_of,
    order_body,
    predicate_costs,
    rules_by_head,
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
    GroundFact,
    Join,
    Literally,
    Plan,
    Procedure,
    ProcedureKey,
    RulePlan,
    Slot,
    Step,
    slots_of,
)
from constat.plan.planning import PASSES, adorn, plan_program, unproductive

__all__ = [
    "PASSES",
    "Absence",
    "Beyond",
    "Call",
    "Columns",
    "Compute",
    "Expression",
    "Filter",
    "Fold",
    "GroundFact",
    "Join",
    "Literally",
    "Plan",
    "Procedure",
    "ProcedureKey",
    "RulePlan",
    "Slot",
    "Step",
    "adorn",
    "compile_rule",
    "expression_of",
    "order_body",
    "plan_program",
    "predicate_costs",
    "rules_by_head",
    "slots_of",
    "unproductive",
]
