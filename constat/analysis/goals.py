"""Type a goal against an analysed program.

In: an atom whose constants look like something. Out: the atom with constants of its columns'
kinds. Invariant: what is given back names a declared predicate, has one constant or variable per
column, and binds what sources require. Example: `vip_threshold(5)` with a Decimal column becomes
the constant `Decimal(5)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis import kind_mistakes as mistakes
from constat.analysis.constants import fit
from constat.analysis.fences import fence_mistakes
from constat.analysis.kind_classes import Origin
from constat.analysis.modes import cannot_bind, required_inputs
from constat.analysis.names import name_mistake
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Constant, Positive, Term, Variable, is_of_type
from constat.syntax import print_atom, print_term

if TYPE_CHECKING:
    from constat.analysis.analysed import AnalysedProgram
    from constat.logic import Atom, Predicate


def check_goal(goal: Atom, analysed: AnalysedProgram) -> Atom:
    """Give the goal with typed constants. Raises `ConstatError` with everything that is wrong."""
    predicates = analysed.program.predicates
    predicate = predicates.get(goal.predicate)
    if predicate is None or len(predicate.columns) != len(goal.terms):
        raise ConstatError([name_mistake(goal, predicates)])
    if predicate.given:
        raise ConstatError([_needs_rule(goal, predicate)])
    diagnostics = list(fence_mistakes([Positive(goal)], analysed, goal.span))
    terms: list[Term] = []
    for place, term in enumerate(goal.terms):
        match term:
            case Constant():
                origin = Origin(term=term, predicate=predicate, column=place, atom=goal)
                value = fit(term, predicate.columns[place].kind)
                if value is None or not is_of_type(value, predicate.columns[place]):
                    kind = predicate.columns[place].kind
                    diagnostics.append(mistakes.misfit(term, kind, origin, predicates))
                else:
                    terms.append(replace(term, value=value, kind=predicate.columns[place].kind))
            case Variable():
                terms.append(term)
            case _:
                diagnostics.append(_calculated(goal, term))
    required = required_inputs(analysed.rules, predicates).get(goal.predicate, set())
    diagnostics += [
        cannot_bind(goal, predicate, place)
        for place in sorted(required)
        if isinstance(goal.terms[place], Variable)
    ]
    if diagnostics:
        raise ConstatError(diagnostics)
    return replace(goal, terms=tuple(terms))


def _needs_rule(goal: Atom, predicate: Predicate) -> Diagnostic:
    names = " and ".join(f"`{predicate.columns[place].name}`" for place in predicate.given)
    return Diagnostic(
        "C0249",
        f"`{predicate.name}` is asked for here, and its rules are given {names}",
        goal.span,
        label="`prove` and `query` ask for such a predicate, and rules do",
        note="the rules compare or calculate with these columns, and bind them by nothing",
        help=f"write a rule, and ask for its head: `asked() :- {print_atom(goal)}.`",
    )


def _calculated(goal: Atom, term: Term) -> Diagnostic:
    return Diagnostic(
        "C0227",
        f"the goal calculates `{print_term(term)}`",
        term.span or goal.span,
        label="a value or a variable stands here",
        note="a goal asks for facts: its terms are values and variables",
        help="write the value itself, for example `12`",
    )
