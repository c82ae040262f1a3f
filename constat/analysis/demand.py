"""Which values a literal is asked for: the literals of a rule that bind them.

In: a rule, and the names that a literal of it needs. Out: the other literals that bind these
names, as the body of a rule that lists the values. Asking for more values than needed is harmless.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.binding import Step, names_in, steps_of
from constat.analysis.modes import given_names, given_terms
from constat.logic import Comparison, Predicate, outer_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis.binding import Inputs
    from constat.logic import Literal, Rule


def binders(
    rule: Rule,
    predicates: Mapping[str, Predicate],
    wanted: frozenset[str],
    beside: Sequence[Literal],
) -> list[Literal] | None:
    """Return the literals that bind some names, with the comparisons that limit them.

    `None` where these literals do not bind all of them.
    """
    start = given_names(rule, predicates)
    provider = _providers(beside, set(start), set(outer_names(rule)), given_terms(predicates))
    chosen: set[int] = set()
    names = set(start)
    todo = [name for name in wanted if name not in start]
    while todo:
        name = todo.pop()
        if name in names:
            continue
        step = provider.get(name)
        if step is None:
            return None
        chosen.add(step.place)
        names |= {name, *step.gives}
        todo.extend(one for one in step.needs if one not in names)
    for place, literal in enumerate(beside):
        if isinstance(literal, Comparison) and names_in((literal.left, literal.right)) <= names:
            chosen.add(place)
    return [beside[place] for place in sorted(chosen)]


def demand_relation(predicate: Predicate) -> Predicate:
    """Return the relation of the values that a predicate with given columns is asked for."""
    plain = without_given(predicate)
    columns = tuple(plain.columns[place] for place in predicate.given)
    # Names of the language have no point, so this one is free.
    name = f"{predicate.name}.given"
    shown = " and ".join(f"{one.name} {{{one.name}}}" for one in columns)
    says = f"{predicate.name.replace('_', ' ')} is asked for with {shown}"
    return Predicate(name, columns, attributes={"says": says}, span=predicate.span)


def without_given(predicate: Predicate) -> Predicate:
    """Return a declaration that asks for no value any more."""
    if not predicate.given:
        return predicate
    attributes = {key: one for key, one in predicate.attributes.items() if key != "given"}
    columns = tuple(
        replace(one, attributes={key: v for key, v in one.attributes.items() if key != "given"})
        for one in predicate.columns
    )
    return replace(predicate, attributes=attributes, columns=columns)


def _providers(
    body: Sequence[Literal], bound: set[str], outer: set[str], inputs: Inputs
) -> dict[str, Step]:
    """Return for each name the step that binds it first, in the order of the text."""
    steps = list(steps_of(body, outer, set(), inputs))
    found: dict[str, Step] = {}
    known = set(bound)
    while True:
        ready = next((step for step in steps if step.gives - known and step.needs <= known), None)
        if ready is None:
            return found
        for name in ready.gives - known:
            found[name] = ready
        known |= ready.gives
