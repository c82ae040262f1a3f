"""What stands for a whole plan in a proof, and what an approval of it is bound to.

In: a chain and a plan. Out: the hash of everything that the plan does, and the rule that says that
the plan answers its question. Invariants: the hash names the question, the answer, and each step
that the answer needs, those of earlier questions included, with the very text that runs; the rule
holds this hash in its id, so that an approval of the rule is one of the plan; a rule that a model's
plan stands for is proposed until somebody has approved it. Example: a changed threshold in one step
changes the hash, and the approval is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse_or_raise
from constat.explore.texts import one_line
from constat.explore.writing import step_json
from constat.library.reviewing.hashes import Hashes
from constat.logic import Atom, Column, Kind, Positive, Predicate, Program, Rule, Variable
from constat.proof.canonical import canonical, sha256
from constat.proof.encoding import APPROVALS, rule_digest

if TYPE_CHECKING:
    from constat.explore.chain import Chain
    from constat.explore.plan import Plan

ANSWER: Final = "explored_answer"
ROWS: Final = "explored_rows"
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class PlanWord:
    """Whose word a plan is: models that drafted steps of it, and approvals that count.

    `approvals` are records as certificates carry them, one line each.
    """

    authors: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()

    @property
    def proposed(self) -> bool:
        """Whether the plan is a draft that nobody has approved."""
        return bool(self.authors) and not self.approvals


def plan_digest(chain: Chain, plan: Plan) -> str:
    """Name everything that a plan does: `sha256:` and 64 digits."""
    steps = [step_json(one.step) for one in chain.below([plan.answer])]
    return sha256(canonical({"question": plan.question, "answer": plan.answer, "steps": steps}))


def plan_rule(chain: Chain, plan: Plan, word: PlanWord) -> tuple[Rule, Predicate]:
    """Write the rule that the plan answers its question, and declare what it gives."""
    digest = plan_digest(chain, plan)
    question = one_line(plan.question, _LONGEST).translate({ord("{"): "(", ord("}"): ")"})
    says = f"the plan answers the question \u201c{question}\u201d with {{rows}} rows"
    names = [_free(one, chain) for one in (ANSWER, ROWS)]
    head, body = (Atom(one, (Variable("rows"),)) for one in names)
    attributes = {"says": says}
    if word.approvals:
        attributes[APPROVALS] = "\n".join(word.approvals)
    rule = Rule(
        f"plan.{digest.removeprefix('sha256:')}",
        head,
        (Positive(body),),
        proposed=word.proposed,
        attributes=attributes,
    )
    return rule, Predicate(names[0], (Column("rows", "number", Kind.NUMBER),))


def rows_relation(chain: Chain) -> str:
    """Name the relation that the rule of a plan reads."""
    return _free(ROWS, chain)


def plan_hashes(chain: Chain, plan: Plan) -> Hashes:
    """Give what an approval of a plan is bound to: the rule that stands for it, and the plan."""
    rule, answer = plan_rule(chain, plan, PlanWord())
    rows = Predicate(rows_relation(chain), answer.columns)
    declared = {one.name: one for one in (answer, rows)}
    alone = analyse_or_raise(Program(declared, rules=(rule,)))
    return Hashes(rule_digest(alone, 0), plan_digest(chain, plan))


def _free(name: str, chain: Chain) -> str:
    while name in chain.analysed.program.predicates:
        name += "_"
    return name
