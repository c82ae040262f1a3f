"""Cases as text, so that a failing example can be read and pasted into a language case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Open,
    OpenRow,
    Positive,
    Rule,
    Term,
    Variable,
    format_value,
    null_cells,
)

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption
    from tests.oracle.naive import World

_OPERATORS = ("+", "-", "*", "/", "%", "^", "band", "bxor", "bshl")


def show_case(program: AnalysedProgram, world: World, goal: Atom) -> str:
    """Write a case: declarations, rules, rows, openings, goal."""
    lines = []
    for predicate in program.program.predicates.values():
        columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
        lines.append(f".decl {predicate.name}({columns})")
        if predicate.source is not None:
            lines.append(f'.input {predicate.name}(source="memory")')
    lines += [show_rule(rule) for rule in program.rules]
    for name, rows in world.rows.items():
        lines += [f"row     {show_row(name, row)}{_word(word)}" for row, word in rows]
    for name, openings in world.openings.items():
        lines += [f"opening {show_row(name, row)}{_word(word)}" for row, word in openings]
    return "\n" + "\n".join([*lines, f"goal    {show_atom(goal)}"]) + "\n"


def _word(assumption: Assumption | None) -> str:
    return "" if assumption is None else f"   [{assumption.kind}]"


def show_rule(rule: Rule) -> str:
    """Write a rule, with what makes it an assumption."""
    marks = "@[proposed] " * rule.proposed
    if rule.confidence < 1:
        marks += f"@[confidence = {rule.confidence}] "
    body = ", ".join(map(show_literal, rule.body))
    return f"{marks}{show_atom(rule.head)}{' :- ' * bool(body)}{body}."


def show_row(name: str, row: OpenRow) -> str:
    """Write a row with ⋆ where it is open."""
    kinds = {int: Kind.NUMBER, str: Kind.SYMBOL, float: Kind.FLOAT}
    slots = [
        "⋆"
        if isinstance(slot, Open)
        else f"{slot}({', '.join(map(str, null_cells((slot,))[0].known))})"
        if null_cells((slot,))
        else show_term(Constant(slot, kinds[type(slot)]))
        for slot in row
    ]
    return f"{name}({', '.join(slots)})"


def show_atom(atom: Atom) -> str:
    """Write an atom."""
    return f"{atom.predicate}({', '.join(map(show_term, atom.terms))})"


def show_term(term: Term) -> str:
    """Write a term."""
    match term:
        case Variable(name):
            return name if name.startswith("_") else f"?{name}"
        case Constant(value, Kind.SYMBOL):
            return f'"{value}"'
        case Constant(value, Kind.FLOAT):
            return repr(value)
        case Constant(value, kind):
            return format_value(value, kind)
        case Apply(function, (left, right)) if function in _OPERATORS:
            return f"({show_term(left)} {function} {show_term(right)})"
        case Apply(function, arguments):
            return f"{function}({', '.join(map(show_term, arguments))})"


def show_literal(literal: Literal) -> str:
    """Write a literal."""
    match literal:
        case Positive(atom):
            return show_atom(atom)
        case Negative(atom):
            return "!" + show_atom(atom)
        case Comparison(operator, left, right):
            return f"{show_term(left)} {operator} {show_term(right)}"
        case Aggregate(function, result, target, body):
            inner = ", ".join(map(show_literal, body))
            of = "" if target is None else f" {show_term(target)}"
            return f"{show_term(result)} = {function}{of} : {{ {inner} }}"
