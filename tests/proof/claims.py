"""Ask the engine about the claims of a refutation, which are literals in the notation of rules.

In: a program, external predicates, and literals as texts.  Out: how strongly their conjunction
holds.  Invariant: nothing of the explanation is reused; the text is parsed and evaluated anew.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram, analyse_or_raise
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.logic import Atom, Predicate
from constat.syntax import parse_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.diagnostics import Diagnostic
    from constat.evaluation import Externals

CLAIM = "claim_0"


def strength_of(program: AnalysedProgram, externals: Externals, literals: Sequence[str]) -> int:
    """Evaluate a conjunction of claims."""
    if not literals:
        return 3
    analysed, goal = _with_rule(program, literals)
    return LazyEngine().evaluate(analysed, goal, externals, Limits(), exhaust=True).strength(goal)


def _with_rule(program: AnalysedProgram, literals: Sequence[str]) -> tuple[AnalysedProgram, Atom]:
    body = ", ".join(literals)
    # What a claim leaves open may stand in it once: then it means any value.
    seen = Counter(re.findall(r"\?\w+", body))
    for name, times in seen.items():
        if times == 1:
            body = re.sub(rf"\{name}\b", f"_{name[1:]}", body)
    declared = "\n".join(
        f".decl {one.name}({', '.join(f'{c.name}: {c.kind.value}' for c in one.columns)})"
        for one in program.program.predicates.values()
    )
    text = f'.pragma "constat" "0.1"\n{declared}\n.decl {CLAIM}()\n{CLAIM}() :- {body}.\n'
    diagnostics: list[Diagnostic] = []
    parsed = parse_text(text, "claims.dl", diagnostics)
    assert diagnostics == [], (body, diagnostics)
    (rule,) = (one for one in parsed.rules if one.head.predicate == CLAIM)
    base = program.program
    predicates = {**base.predicates, CLAIM: Predicate(CLAIM, ())}
    return (
        analyse_or_raise(replace(base, predicates=predicates, rules=(*base.rules, rule))),
        rule.head,
    )
