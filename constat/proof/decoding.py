"""Certificates back into the values of the logic, so that they can be said and drawn.

In: the members of a certificate.  Out: an ``AnalysedProgram`` with the declarations and rules it
carries, rows, and instances of rules.  Invariant: only the certificate speaks; nothing is taken
from a project or an engine, and what was printed from the result is what a checker reads.
``ValueError`` for what is no certificate.

Example: ``["c", "Decimal", "10.5"]`` is ``Constant(Decimal("10.5"), Kind.DECIMAL)``.  The notation
is that of check/FORMAT.md, sections 2 and 4; ``encoding`` writes it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from constat.analysis import AnalysedProgram
from constat.logic import (
    OPEN,
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Variable,
    parse_decimal,
    parse_value,
)
from constat.proof.sentences import Instance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.logic import Literal, OpenRow, Slot, Term, Value

Members = dict[str, Any]

# As deep as a checker reads (FORMAT.md, section 9): the depth of terms is the depth of recursion.
_DEEPEST: Final = 64


def decode_program(members: Members) -> AnalysedProgram:
    """Return the program a certificate carries, typed as it says."""
    try:
        return _program(members)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("this is no certificate: its program has another shape") from None


def decode_value(text: str, kind: Kind) -> Value:
    """Read a value in the spelling of certificates."""
    if kind is Kind.FLOAT:
        return float.fromhex(text)
    return parse_value(text, kind)


def decode_row(texts: Sequence[str | None], kinds: Sequence[Kind]) -> OpenRow:
    """Read a row or a pattern; ``null`` becomes ⋆."""
    return tuple(
        OPEN if text is None else decode_value(text, kind)
        for text, kind in zip(texts, kinds, strict=True)
    )


def decode_instance(program: AnalysedProgram, node: Members) -> Instance:
    """Return the rule of a rule node with the values of its substitution."""
    number = node["rule"]
    rule, kinds = program.rules[number], program.variable_kinds[number]
    values: dict[str, Slot] = {
        name: decode_value(text, kind)
        for (name, kind), text in zip(kinds.items(), node["bind"], strict=True)
        if text is not None
    }
    return Instance(rule, values, kinds, program.program.predicates)


def _program(members: Members) -> AnalysedProgram:
    scalars = _configured(members)
    predicates = {
        one["name"]: _predicate(one, configured=one["name"] in scalars)
        for one in members["declarations"]
    }
    kinds = tuple(
        {name: Kind(kind) for name, kind in rule["variables"]} for rule in members["rules"]
    )
    reached = _dependencies(members["rules"])
    rules = tuple(_rule(rule, reached) for rule in members["rules"])
    external = frozenset(one["name"] for one in members["declarations"] if one["external"])
    return AnalysedProgram(Program(predicates, rules), rules, kinds, (), external)


def _configured(members: Members) -> frozenset[str]:
    """Return the predicates whose rows the configuration gave: they read as settings."""
    sources = members["sources"]
    found: set[str] = set()
    others: set[str] = set()
    for group in members["facts"]:
        configured = sources[group["source"]]["origin"] == "CONFIG"
        (found if configured else others).add(group["predicate"])
    return frozenset(found - others)


def _predicate(declared: Members, *, configured: bool) -> Predicate:
    columns = tuple(Column(name, kind, Kind(kind)) for name, kind in declared["columns"])
    source = Source({"source": "config"}) if configured else None
    return Predicate(declared["name"], columns, source, _attributes(declared))


def _attributes(stated: Members) -> Mapping[str, str]:
    return {} if stated["says"] is None else {"says": stated["says"]}


def _rule(stated: Members, reached: Mapping[str, frozenset[str]]) -> Rule:
    head = _atom(stated["head"])
    confidence = parse_decimal(stated["confidence"])
    return Rule(
        stated["id"],
        head,
        tuple(_literal(literal, head.predicate, reached) for literal in stated["body"]),
        confidence,
        proposed=stated["assumption"] is not None and confidence == Decimal(1),
        attributes=_attributes(stated),
    )


def _literal(stated: list[Any], head: str, reached: Mapping[str, frozenset[str]]) -> Literal:
    if stated[0] != "a":
        return _test(stated)
    _, function, result, target, body = stated
    inner = tuple(_test(one) for one in body)
    recursive = any(
        isinstance(one, Positive) and head in reached.get(one.atom.predicate, ()) for one in inner
    )
    folded = None if target is None else _term(target)
    variable = _term(result)
    if not isinstance(variable, Variable):
        raise TypeError(result)
    return Aggregate(function, variable, folded, inner, recursive=recursive)


def _test(stated: list[Any]) -> Positive | Negative | Comparison:
    match stated:
        case ["+", atom]:
            return Positive(_atom(atom))
        case ["-", atom]:
            return Negative(_atom(atom))
        case ["?", str(operator), left, right]:
            return Comparison(operator, _term(left), _term(right))
        case _:
            raise TypeError(stated)


def _atom(stated: list[Any]) -> Atom:
    predicate, terms = stated
    return Atom(predicate, tuple(_term(term) for term in terms))


def _term(stated: list[Any], depth: int = 0) -> Term:
    if depth > _DEEPEST:
        raise TypeError("a term is nested too deeply")
    match stated:
        case ["v", str(name)]:
            return Variable(name)
        case ["c", str(kind), str(text)]:
            return Constant(decode_value(text, Kind(kind)), Kind(kind))
        case ["f", str(function), str(kind), list(arguments)]:
            inner = tuple(_term(one, depth + 1) for one in arguments)
            return Apply(function, inner, Kind(kind))
        case _:
            raise TypeError(stated)


def _dependencies(rules: Sequence[Members]) -> Mapping[str, frozenset[str]]:
    """Return what the rules of each predicate reach that some aggregate is over."""
    direct: dict[str, set[str]] = {}
    folded: set[str] = set()
    for rule in rules:
        below = direct.setdefault(rule["head"][0], set())
        for literal in rule["body"]:
            inner = literal[4] if literal[0] == "a" else [literal]
            names = {one[1][0] for one in inner if one[0] in {"+", "-"}}
            below |= names
            folded |= names if literal[0] == "a" else set()
    return {name: _reached(name, direct) for name in sorted(folded & set(direct))}


def _reached(name: str, direct: Mapping[str, set[str]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(direct[name])
    while waiting:
        below = waiting.pop()
        if below not in found:
            found.add(below)
            waiting += direct.get(below, ())
    return frozenset(found)
