"""Say a projected negation as the rule has it: ``!controls(_, ?head)``, not its helping predicate.

In: literals and rows of a program whose negated atoms are projected (`projection`).  Out: the same
about the predicates that rules name.  Invariant: what is said is equivalent: some row has these
columns exactly where the projection has the row.

Example: the row ``(C001)`` of ``controls.some.owned`` is the shape ``controls(?owner, C001)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import OPEN, Atom, Negative, Positive, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Literal, OpenRow, Rule

_MARK = ".some"


def original_literal(program: AnalysedProgram, literal: Literal) -> Literal:
    """Return a literal as the rule has it; only negated atoms are projected."""
    return written_literal(program.program.rules, literal)


def written_literal(rules: Sequence[Rule], literal: Literal) -> Literal:
    """Return a literal as the rule has it; ``rules`` has those of the projections."""
    if not isinstance(literal, Negative) or _MARK not in literal.atom.predicate:
        return literal
    inner, places = _projected(rules, literal.atom.predicate)
    terms = tuple(
        Variable(f"_{column + 1}") if place is None else literal.atom.terms[place]
        for column, place in enumerate(places)
    )
    return Negative(Atom(inner, terms, literal.atom.span))


def original_row(program: AnalysedProgram, predicate: str, row: OpenRow) -> tuple[str, OpenRow]:
    """Return the predicate and shape that a row is about."""
    if _MARK not in predicate:
        return predicate, row
    inner, places = _projected(program.program.rules, predicate)
    return inner, tuple(OPEN if place is None else row[place] for place in places)


def _projected(rules: Sequence[Rule], predicate: str) -> tuple[str, Sequence[int | None]]:
    """Return what a predicate projects, and for each column of that its place here."""
    rule = next(rule for rule in rules if rule.head.predicate == predicate)
    (literal,) = rule.body
    if not isinstance(literal, Positive):
        raise TypeError(literal)
    kept = {term: place for place, term in enumerate(rule.head.terms)}
    return literal.atom.predicate, [kept.get(term) for term in literal.atom.terms]
