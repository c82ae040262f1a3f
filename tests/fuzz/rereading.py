"""The meaning of an accepted certificate, found without the checker.

In: the tree of a certificate.  Out: whether its verdict is so in two worlds that its reading
allows: the one in which nothing unsaid holds, and the one in which every row and rule that it
lists holds.  A verdict is about all worlds, so that one counterexample shows a mistake.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constat.analysis import AnalysedProgram
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Term,
    Value,
    Variable,
    literal_variables,
    term_variables,
    threshold_of,
)
from constat.tiers.tier import read_canonical
from tests.oracle.worlds import Completion, Facts, holds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.check.writer import Tree

_SECONDS = 1.0


class UndecidedError(Exception):
    """The certificate uses what this judge does not evaluate, or takes it too long."""


def verdict_is_so(tree: Tree) -> bool:
    """Tell whether the verdict is so in both worlds; raises `UndecidedError`."""
    header = tree["header"]
    if header["verdict"] == "UNRESOLVED" or tree["summaries"]:
        raise UndecidedError
    program, goal = _program(tree), _goal(tree)
    wanted = header["verdict"].startswith("PROVED")
    listed = frozenset(range(len(tree["assumptions"])))
    circular = [rule.id for rule in program.rules if _is_circular(rule)]
    assert not circular, f"the rule {circular[0]} rests on itself"
    with _bounded():
        return all(
            holds(program, _completion(tree, reading), goal, {}) == wanted
            for reading in (frozenset(header["under"]), listed)
        )


@contextmanager
def _bounded() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise UndecidedError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _completion(tree: Tree, reading: frozenset[int]) -> Completion:
    """Give the world in which what rests on these assumptions holds, and nothing unsaid."""
    kinds = _kinds(tree)
    facts: Facts = {name: set() for name in kinds}
    for group in tree["facts"]:
        if group["assumption"] is None or group["assumption"] in reading:
            name = group["predicate"]
            facts[name] |= {tuple(map(_value, row, kinds[name])) for row in group["rows"]}
    rules = frozenset(
        number
        for number, rule in enumerate(tree["rules"])
        if rule["assumption"] is None or rule["assumption"] in reading
    )
    return Completion(facts, rules, erring=False)


def _kinds(tree: Tree) -> dict[str, tuple[Kind, ...]]:
    return {
        one["name"]: tuple(Kind(kind) for _, kind in one["columns"]) for one in tree["declarations"]
    }


def _value(text: str, kind: Kind) -> Value:
    return read_canonical(text, Column("", kind.value, kind))


def _goal(tree: Tree) -> Atom:
    name, pattern = tree["header"]["goal"]
    kinds = _kinds(tree)[name]
    return Atom(
        name,
        tuple(
            Variable(f"v{place}") if text is None else Constant(_value(text, kind), kind)
            for place, (text, kind) in enumerate(zip(pattern, kinds, strict=True))
        ),
    )


def _program(tree: Tree) -> AnalysedProgram:
    predicates = {
        one["name"]: Predicate(
            one["name"],
            tuple(Column(name, kind, Kind(kind)) for name, kind in one["columns"]),
            Source({}) if one["external"] else None,
        )
        for one in tree["declarations"]
    }
    rules = _marked(tuple(map(_rule, tree["rules"])))
    variables = tuple(
        {name: Kind(kind) for name, kind in rule["variables"]} for rule in tree["rules"]
    )
    external = frozenset(one["name"] for one in tree["declarations"] if one["external"])
    return AnalysedProgram(Program(predicates, rules), rules, variables, (), external)


def _marked(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Mark the aggregates inside their own recursion: they are thresholds."""
    below = {rule.head.predicate: set[str]() for rule in rules}
    for _ in range(len(below) + 1):
        for rule in rules:
            for name in _used(rule.body):
                below[rule.head.predicate] |= {name} | below.get(name, set())
    return tuple(
        replace(rule, body=tuple(_mark(rule, literal, below) for literal in rule.body))
        for rule in rules
    )


def _mark(rule: Rule, literal: Literal, below: Mapping[str, set[str]]) -> Literal:
    if not isinstance(literal, Aggregate):
        return literal
    reached = {name for used in _used(literal.body) for name in {used} | below.get(used, set())}
    if rule.head.predicate not in reached:
        return literal
    if threshold_of(rule, rule.body.index(literal)) is None:
        raise UndecidedError
    return replace(literal, recursive=True)


def _used(body: tuple[Literal, ...]) -> Iterator[str]:
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom.predicate
            case Aggregate(body=inner):
                yield from _used(inner)


def _rule(tree: Any) -> Rule:  # noqa: ANN401  JSON that the checker has accepted
    rule = Rule(tree["id"], _atom(tree["head"]), tuple(map(_literal, tree["body"])))
    seen = [variable.name for one in rule.body for variable in literal_variables(one)]
    seen += list(_names(tree["head"][1]))
    for literal in rule.body:
        # A variable that occurs once in a negated atom means "any", which the oracle does not know.
        names = [one.name for one in literal_variables(literal)]
        if isinstance(literal, Negative) and any(seen.count(name) == 1 for name in names):
            raise UndecidedError
    return rule


def _is_circular(rule: Rule) -> bool:
    """Tell whether aggregates of the rule need each other's results, so that none has a value."""
    results = {one.result.name: one for one in rule.body if isinstance(one, Aggregate)}
    needs = {name: {v.name for v in _inside(one)} & set(results) for name, one in results.items()}
    while True:
        ready = [name for name, needed in needs.items() if not needed & set(needs)]
        if not ready:
            return bool(needs)
        for name in ready:
            del needs[name]


def _inside(aggregate: Aggregate) -> Iterator[Variable]:
    for literal in aggregate.body:
        yield from literal_variables(literal)
    if aggregate.target is not None:
        yield from term_variables(aggregate.target)


def _names(terms: Any) -> Iterator[str]:  # noqa: ANN401  JSON that the checker has accepted
    for term in terms:
        if term[0] == "v":
            yield term[1]
        elif term[0] == "f":
            yield from _names(term[3])


def _atom(tree: Any) -> Atom:  # noqa: ANN401  JSON that the checker has accepted
    return Atom(tree[0], tuple(map(_term, tree[1])))


def _term(tree: Any) -> Term:  # noqa: ANN401  JSON that the checker has accepted
    match tree:
        case ["v", name]:
            return Variable(name)
        case ["c", kind, text]:
            return Constant(_value(text, Kind(kind)), Kind(kind))
        case ["f", function, kind, arguments]:
            return Apply(function, tuple(map(_term, arguments)), Kind(kind))
    raise AssertionError(tree)


def _literal(tree: Any) -> Literal:  # noqa: ANN401  JSON that the checker has accepted
    match tree:
        case ["+", atom]:
            return Positive(_atom(atom))
        case ["-", atom]:
            return Negative(_atom(atom))
        case ["?", operator, left, right]:
            return Comparison(operator, _term(left), _term(right))
        case ["a", function, result, target, body]:
            inner = tuple(_literal(one) for one in body)
            folded = None if target is None else _term(target)
            return Aggregate(function, _term(result), folded, inner)  # type: ignore[arg-type]
    raise AssertionError(tree)


def confidence_is_possible(tree: Tree) -> bool:
    """Tell whether the header's confidence lies between nothing and one."""
    return 0 <= Decimal(tree["header"]["confidence"]) <= 1
