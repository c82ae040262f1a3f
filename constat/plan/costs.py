"""How dear each predicate is to ask.

External predicates by their tiers, derived ones by the dearest they rest on.

In: an analysed program and the costs of its external predicates. Out: a cost for every predicate.
Components come callees first, so one sweep suffices. Example: a predicate over configuration
alone costs 1, over a database 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from constat.analysis import AnalysedProgram
from constat.logic import Aggregate, Literal, Negative, Positive

UNKNOWN_COST = 50


def rules_by_head(analysed: AnalysedProgram) -> dict[str, tuple[int, ...]]:
    """The numbers of the rules that derive each predicate."""
    numbers: dict[str, list[int]] = {}
    for number, rule in enumerate(analysed.rules):
        numbers.setdefault(rule.head.predicate, []).append(number)
    return {predicate: tuple(found) for predicate, found in numbers.items()}


def predicate_costs(analysed: AnalysedProgram, external: Mapping[str, int]) -> dict[str, int]:
    """Give every predicate a cost."""
    heads = rules_by_head(analysed)
    costs = {name: external.get(name, UNKNOWN_COST) for name in analysed.external}
    for component in analysed.components:
        dearest = max(
            (
                costs.get(name, 0)
                for predicate in component.predicates
                for name in (predicate, *_used(analysed, heads.get(predicate, ())))
            ),
            default=0,
        )
        costs.update(dict.fromkeys(component.predicates, dearest))
    return costs


def _used(analysed: AnalysedProgram, numbers: Iterable[int]) -> Iterator[str]:
    for number in numbers:
        for literal in analysed.rules[number].body:
            yield from predicates_of(literal)


def predicates_of(literal: Literal) -> Iterator[str]:
    """The predicates a literal names."""
    match literal:
        case Positive(atom) | Negative(atom):
            yield atom.predicate
        case Aggregate(body=body):
            for inner in body:
                yield from predicates_of(inner)
        case _:
            return
