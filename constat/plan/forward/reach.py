"""Keep what the wanted relations rest on; everything else is not planned.

In: a draft. Out: the draft's rules without those that no wanted relation needs. Invariant: the
order of the rules and of the components stays. Where every rule is needed nothing changes, so
that a rule's number is the one of the original program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError
from constat.plan.adornment import not_bound
from constat.plan.costs import predicates_of, rules_by_head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.analysis import AnalysedProgram
    from constat.plan.forward.draft import Draft


def keep_reachable(draft: Draft) -> None:
    """Drop rules and components that no wanted relation needs."""
    program = draft.program
    needed = reachable(program, [one.relation for one in draft.wanted])
    declared = (program.program.predicates.get(name) for name in sorted(needed))
    open_columns = [not_bound(one) for one in declared if one is not None and one.given]
    if open_columns:
        raise ConstatError(open_columns)
    kept = [number for number, r in enumerate(program.rules) if r.head.predicate in needed]
    if len(kept) == len(program.rules):
        return
    rules = tuple(program.rules[number] for number in kept)
    draft.program = replace(
        program,
        program=replace(program.program, rules=rules),
        rules=rules,
        variable_kinds=tuple(program.variable_kinds[number] for number in kept),
        components=tuple(one for one in program.components if needed & set(one.predicates)),
    )
    dropped = len(program.rules) - len(kept)
    draft.note("dead rules", f"{dropped} rules", "no wanted relation needs them", applied=True)


def reachable(program: AnalysedProgram, wanted: Iterable[str]) -> set[str]:
    """The predicates that some derivation of a wanted predicate can use, these included."""
    heads = rules_by_head(program)
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        predicate = waiting.pop()
        if predicate in found:
            continue
        found.add(predicate)
        for number in heads.get(predicate, ()):
            for literal in program.rules[number].body:
                waiting.extend(predicates_of(literal))
    return found


def settled(draft: Draft, wanted: Iterable[str]) -> bool:
    """Whether nothing that these predicates rest on is open or assumed."""
    program = draft.program
    needed = reachable(program, wanted)
    if needed & draft.options.open:
        return False
    return not any(one.assumed for one in program.rules if one.head.predicate in needed)
