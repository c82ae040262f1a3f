"""Structures in a search for missing facts: made of values, or taken apart where they are known.

In: an equation of a structure and its pattern, and a state.  Out: the state in which both are one,
or nothing.  Invariant: what a structure is made of is bound, or becomes a value to be chosen;
where nobody knows the kind of a field that a pattern leaves out, it makes none.

Example: ``?p = [?x, ?y]`` binds ``?x`` where ``?p`` is ``[1, 2]``, and ``?p`` where 1 and 2 are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Comparison,
    EvaluationError,
    Kind,
    Variable,
    implementation,
)
from constat.proof.abduction_state import Made, unified
from constat.proof.symbolic import Hole, UnsolvedError, evaluated, is_value, kind_of
from constat.proof.written import LEFT_OUT, pattern_sides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.logic import Apply, Column, Literal, Structures, Term
    from constat.proof.abduction_state import State
    from constat.proof.symbolic import Binding, Cell


def completed(
    body: Sequence[Literal], structures: Structures | None
) -> tuple[list[Literal], dict[str, Kind]]:
    """Give names to the fields that patterns leave out, and the kinds of these names."""
    named: dict[str, Kind] = {}
    found: list[Literal] = []
    for place, literal in enumerate(body):
        sides = pattern_sides(literal) if isinstance(literal, Comparison) else None
        fields = None if sides is None else _fields(sides[1], structures)
        if sides is None or fields is None or not isinstance(literal, Comparison):
            found.append(literal)
            continue
        terms = list(sides[1].arguments)
        for at, (term, field) in enumerate(zip(terms, fields, strict=True)):
            if term == LEFT_OUT:
                terms[at] = Variable(f".{place}.{field.name}")
                named[f".{place}.{field.name}"] = field.kind
        pattern = replace(sides[1], arguments=tuple(terms))
        found.append(replace(literal, left=sides[0], right=pattern))
    return found, named


def _fields(pattern: Apply, structures: Structures | None) -> tuple[Column, ...] | None:
    """Return the fields of a pattern, where all branches that it may be have the same kinds."""
    branches = [
        branch
        for found in ({} if structures is None else structures.branches).values()
        for branch in found
        if (branch.constructor, len(branch.fields)) == (pattern.function, len(pattern.arguments))
    ]
    kinds = {tuple(field.kind for field in one.fields) for one in branches}
    return branches[0].fields if len(kinds) == 1 else None


def is_matchable(structure: Term, pattern: Apply, env: Mapping[str, int], binding: Binding) -> bool:
    """Tell whether an equation can be done: one of its sides is known, as far as it must be."""
    cells = _parts(pattern, env, binding)
    if _is_known(evaluated(structure, env, binding)):
        left_out = [one == LEFT_OUT for one in pattern.arguments]
        return all(out or cell is not None for out, cell in zip(left_out, cells, strict=True))
    return all(map(_is_known, cells))


def matched(structure: Term, pattern: Apply, env: Mapping[str, int], state: State) -> State | None:
    """Take a known structure apart, or make one of known values."""
    whole = evaluated(structure, env, state.binding)
    if whole is None:
        raise UnsolvedError("a structure before its variables are bound")
    if is_value(whole):
        return _taken_apart(str(whole), pattern, env, state)
    if not all(map(_is_known, _parts(pattern, env, state.binding))):
        return _made(whole, pattern, env, state)
    cells = _parts(pattern, env, state.binding)
    kinds = tuple(kind_of(one, env, state.binding) for one in pattern.arguments)
    try:
        made = implementation(pattern.function, kinds, Kind.STRUCTURE)(*cells)
    except EvaluationError as problem:
        raise UnsolvedError(str(problem)) from None
    return unified(state, (whole,), (made,))


def is_makeable(structure: Term, pattern: Apply, env: Mapping[str, int], state: State) -> bool:
    """Tell whether a structure that is to be chosen can be made of values to be chosen."""
    whole = evaluated(structure, env, state.binding)
    parts = _parts(pattern, env, state.binding)
    made = {one.hole for one in state.made}
    fresh = isinstance(whole, Hole) and whole.number not in made
    return fresh and None not in parts


def _made(whole: Cell, pattern: Apply, env: Mapping[str, int], state: State) -> State:
    """Leave the parts of a structure to be chosen, each by itself."""
    parts = tuple(one for one in _parts(pattern, env, state.binding) if one is not None)
    if not isinstance(whole, Hole) or len(parts) < len(pattern.arguments):
        raise UnsolvedError("a structure that is to be chosen")
    kinds = tuple(kind_of(one, env, state.binding) for one in pattern.arguments)
    names = tuple(_name(one) for one in pattern.arguments)
    free = state.free | {one.number for one in (whole, *parts) if isinstance(one, Hole)}
    made = Made(whole.number, pattern.function, parts, kinds, names)
    return replace(state, free=free, made=(*state.made, made))


def _name(term: Term) -> str:
    return term.name.rpartition(".")[2] if isinstance(term, Variable) else ""


def _parts(pattern: Apply, env: Mapping[str, int], binding: Binding) -> list[Cell | None]:
    return [None if one == LEFT_OUT else evaluated(one, env, binding) for one in pattern.arguments]


def _taken_apart(whole: str, pattern: Apply, env: Mapping[str, int], state: State) -> State | None:
    constructor_of = implementation(CONSTRUCTOR_OF, (Kind.STRUCTURE,), Kind.SYMBOL)
    if constructor_of(whole) != f"{pattern.function}/{len(pattern.arguments)}":
        return None
    found: State | None = state
    for place, part in enumerate(pattern.arguments):
        if found is None or part == LEFT_OUT:
            continue
        cell = evaluated(part, env, found.binding)
        if cell is None:
            raise UnsolvedError("a function before its variables are bound")
        kind = kind_of(part, env, found.binding)
        field_of = implementation(FIELD_OF, (Kind.STRUCTURE, Kind.NUMBER), kind)
        found = unified(found, (cell,), (field_of(whole, place),))
    return found


def _is_known(cell: Cell | None) -> bool:
    return cell is not None and is_value(cell)
