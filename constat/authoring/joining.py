"""Put a draft into the form in which it is kept, and find what of it a goal needs.

In: what a draft declares and derives. Out: the same with each query behind a predicate of its own.
Invariant: a query of a draft ends in `p_as_queried` and reaches `p` by a proposed rule alone, so
presence and absence through it both rest on assumptions that the checker sees; no new kind of
evidence is needed. Example: `.input gold(source = "sales", query = "...")` becomes
`.input gold_as_queried(...)` and `gold(?c) :- gold_as_queried(?c).`
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis import QUERIED
from constat.library.reviewing.beyond import bridge, sentence, used

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.logic import Predicate, Program, Rule


def bridged(fragment: Program) -> Program:
    """Give a fragment in which each query has a predicate of its own."""
    predicates: dict[str, Predicate] = {}
    bridges: list[Rule] = []
    for name, predicate in fragment.predicates.items():
        if predicate.source is None:
            predicates[name] = predicate
            continue
        attributes = {k: v for k, v in predicate.attributes.items() if k == "key"}
        said = sentence("a query that was drafted gives", predicate.columns)
        predicates[name + QUERIED] = replace(
            predicate,
            name=name + QUERIED,
            attributes={**attributes, "says": said},
            description="",
        )
        plain = tuple(replace(column, attributes={}) for column in predicate.columns)
        predicates[name] = replace(predicate, source=None, columns=plain)
        bridges.append(bridge(predicate, name + QUERIED, ""))
    rules = tuple(_numbered((*bridges, *fragment.rules)))
    return replace(fragment, predicates=predicates, rules=rules)


def _numbered(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Give rules the ids that they have when they are read again: none is written out."""
    counts: dict[str, int] = {}
    for rule in rules:
        name = rule.head.predicate
        counts[name] = counts.get(name, 0) + 1
        yield replace(rule, id=f"{name}.{counts[name]}")


def derived(fragment: Program) -> tuple[str, ...]:
    """Name what a fragment derives, in order."""
    return tuple(dict.fromkeys(rule.head.predicate for rule in fragment.rules))


def reachable(rules: Sequence[Rule], names: Iterable[str]) -> frozenset[str]:
    """Name the predicates that some predicates rest on by rules, these included."""
    uses: dict[str, set[str]] = {}
    for rule in rules:
        uses.setdefault(rule.head.predicate, set()).update(used(rule.body))
    found = set(names)
    waiting = list(found)
    while waiting:
        for name in sorted(uses.get(waiting.pop(), ())):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)
