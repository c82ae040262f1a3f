"""The body of a rule as its text has it: patterns one literal again, projections as denied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Apply,
    Atom,
    Comparison,
    Constant,
    Negative,
    Positive,
    Variable,
    is_constructor,
    is_wildcard,
    null_policies,
)
from constat.syntax.printing import regrouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Literal, OpenRow, Program, Rule, Term

# Every place belongs to one literal, in the order of the body, and the literals say what the body
# says; a literal that was not opened is the body's own.

LEFT_OUT: Final = Variable("_0")
"""Stands for a field that a pattern leaves out; no rule has it, wildcards count from 1."""


@frozen
class Written:
    """A literal as people read it; ``places`` are those of the body that it stands for.

    Where ``opened`` is true it is a pattern: the first place asks for the constructor, the others
    for fields.
    """

    literal: Literal
    places: tuple[int, ...]
    opened: bool = False


def written_body(body: Sequence[Literal]) -> tuple[Written, ...]:
    """Return the literals of a body as people read them."""
    found: list[Written] = []
    place = 0
    for literal, size in regrouped(body):
        places = tuple(range(place, place + size))
        if isinstance(literal, Comparison) and literal is not body[place]:
            pattern = _without(literal.right, body[place + 1 : place + size])
            found.append(Written(replace(literal, right=pattern), places, opened=True))
        else:
            found.append(Written(body[place], places))
        place += size
    return tuple(found)


def as_written(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """Return the literals alone."""
    return tuple(one.literal for one in written_body(body))


def pattern_sides(literal: Comparison) -> tuple[Term, Apply] | None:
    """Return what an equation takes apart or makes, and its pattern; ``None`` for others."""
    if literal.operator != "=":
        return None
    for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
        is_pattern = isinstance(other, Apply) and is_constructor(other.function)
        if isinstance(other, Apply) and is_pattern and not isinstance(side, Apply):
            return side, other
    return None


def _without(pattern: Term, fields: Sequence[Literal]) -> Term:
    """Mark the fields of a pattern that no literal asks for."""
    if not isinstance(pattern, Apply):
        return pattern
    asked = set(map(_number_asked, fields))
    arguments = enumerate(pattern.arguments)
    kept = tuple(one if place in asked else LEFT_OUT for place, one in arguments)
    return replace(pattern, arguments=kept)


def _number_asked(literal: Literal) -> int | None:
    match literal:
        case Comparison(right=Apply(arguments=(_, Constant(value=int() as number)))):
            return number
        case _:
            return None


# What is said is equivalent: some row has these columns exactly where the projection has the row.

PROJECTION = ".some"


def original_literal(program: AnalysedProgram, literal: Literal) -> Literal:
    """Return a literal as the rule has it; only negated atoms are projected."""
    return written_literal(program.program, literal)


def written_literal(program: Program, literal: Literal) -> Literal:
    """Return a literal as the rule has it; the program has the rules of the projections.

    A column that may hold null cells and is read has a name of its own.
    """
    if not isinstance(literal, Negative) or PROJECTION not in literal.atom.predicate:
        return literal
    inner, terms = _projected(program.rules, literal.atom.predicate)
    declared = program.predicates[inner]
    policies = null_policies(declared)
    written: list[Term] = []
    for column, term in enumerate(terms):
        if isinstance(term, int):
            written.append(literal.atom.terms[term])
        elif is_wildcard(term) or policies[column] is None:
            written.append(Variable(f"_{column + 1}"))
        else:
            written.append(_own_name(declared.columns[column].name, literal.atom.terms))
    return Negative(Atom(inner, tuple(written), literal.atom.span))


def _own_name(column: str, terms: Sequence[Term]) -> Variable:
    """Return a variable for a column that is read, and is none of those terms."""
    found = Variable(f"_{column}")
    while found in terms:
        found = Variable(f"{found.name}_")
    return found


def original_row(program: AnalysedProgram, predicate: str, row: OpenRow) -> tuple[str, OpenRow]:
    """Return the predicate and shape that a row is about."""
    if PROJECTION not in predicate:
        return predicate, row
    inner, terms = _projected(program.program.rules, predicate)
    return inner, tuple(row[term] if isinstance(term, int) else OPEN for term in terms)


def _projected(rules: Sequence[Rule], predicate: str) -> tuple[str, Sequence[int | Term]]:
    """Return what a predicate projects, and for each column of that its place here, or its term."""
    rule = next(rule for rule in rules if rule.head.predicate == predicate)
    (literal,) = rule.body
    if not isinstance(literal, Positive):
        raise TypeError(literal)
    kept = {term: place for place, term in enumerate(rule.head.terms)}
    return literal.atom.predicate, [kept.get(term, term) for term in literal.atom.terms]
