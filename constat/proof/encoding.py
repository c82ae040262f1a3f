"""Declarations, rules and values in the notation of certificates (FORMAT.md, sections 3 and 4).

In: the program and a goal's predicate.  Out: the declarations and rules of everything reachable
from it, as JSON, with the index of each rule.  Invariant: two goals on one predicate give the same
rules in the same order, so that the pinned hash names the rules and not the question.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Negative,
    Positive,
    Variable,
    format_value,
    local_names,
    null_policies,
    outer_names,
    unread_variables,
)
from constat.proof.canonical import canonical, clean, object_form, sha256
from constat.proof.confidence import millionths, spell
from constat.proof.reading import rule_assumption
from constat.proof.speech import style_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption
    from constat.logic import Atom, Column, Literal, Predicate, Rule, Term
    from constat.proof.canonical import Json


APPROVALS: Final = "approved.by.records"
"""The attribute of an approved rule that holds its records, each in canonical form on a line.

No text can set it: the name of an attribute in a rule file has at most one point.
"""


_SAID: Final = ("id", "head", "body", "variables", "confidence", "says")
# Sentences in all forms and languages, and reason codes.
_TOLD: Final = re.compile(r"says(?:_not|_unknown)?(?:\..+)?|reasons")


@dataclass(frozen=True, slots=True)
class EncodedProgram:
    """Declarations and rules as JSON; ``place_of_rule`` maps program numbers to indices here."""

    declarations: list[Json]
    rules: list[Json]
    place_of_rule: dict[int, int]
    assumptions: tuple[Assumption, ...]
    approvals: list[Json]

    @property
    def pin(self) -> str:
        """Return the hash that names the rules."""
        parts = {"declarations": canonical(self.declarations), "rules": canonical(self.rules)}
        return sha256(object_form(parts))


def encode_program(program: AnalysedProgram, predicate: str) -> EncodedProgram:
    """Encode what is reachable from a predicate, in the order of declaration."""
    reached = reachable(program, predicate)
    numbers = [n for n, rule in enumerate(program.rules) if rule.head.predicate in reached]
    assumptions: dict[Assumption, int] = {}
    rules: list[Json] = []
    for number in numbers:
        assumption = rule_assumption(program, number)
        place = None
        if assumption is not None:
            place = assumptions.setdefault(assumption, len(assumptions))
        rules.append(_rule(program, number, place))
    declared = [
        _declaration(one, external=one.name in program.external)
        for one in program.program.predicates.values()
        if one.name in reached
    ]
    places = {number: place for place, number in enumerate(numbers)}
    approvals = _approvals(program.rules[number] for number in numbers)
    return EncodedProgram(declared, rules, places, tuple(assumptions), approvals)


def _approvals(rules: Iterable[Rule]) -> list[Json]:
    """Encode who approved rules of models, from the records that were found to count."""
    lines = {
        line
        for rule in rules
        for line in rule.attributes.get(APPROVALS, "").splitlines()
        if not rule.proposed
    }
    return [json.loads(line) for line in sorted(lines)]


def reachable(program: AnalysedProgram, predicate: str) -> frozenset[str]:
    """Return the predicates that a predicate's rules speak about, itself included."""
    mentions: dict[str, set[str]] = {}
    for rule in program.rules:
        mentions.setdefault(rule.head.predicate, set()).update(_mentioned(rule))
    found: set[str] = set()
    waiting = [predicate]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += mentions.get(name, ())
    return frozenset(found)


def _mentioned(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        inner = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            if not isinstance(one, Comparison | Aggregate):
                yield one.atom.predicate


def _declaration(predicate: Predicate, *, external: bool) -> Json:
    says = predicate.attributes.get("says")
    policies = null_policies(predicate) if external else (None,) * predicate.arity
    return {
        "name": predicate.name,
        "columns": [[column.name, column.kind.value] for column in predicate.columns],
        "external": int(external),
        "says": None if says is None else clean(says),
        "texts": _texts(predicate.attributes, predicate.columns),
        "nulls": [None if policy is None else policy.value for policy in policies],
        "given": list(predicate.given) if not external else [],
    }


def _texts(attributes: Mapping[str, str], columns: Iterable[Column] = ()) -> list[Json]:
    """Encode what is said of a predicate or a rule besides its sentence: sorted by name.

    How the values of a column are written has the name of the style and that of the column.
    """
    told = {name: text for name, text in attributes.items() if _TOLD.fullmatch(name)}
    told.pop("says", None)
    for column in columns:
        told |= {f"{style}.{column.name}": text for style, text in style_of(column).items()}
    return [[clean(name), clean(told[name])] for name in sorted(told)]


def _rule(program: AnalysedProgram, number: int, assumption: int | None) -> dict[str, Json]:
    rule = program.rules[number]
    kinds = program.variable_kinds[number]
    names = dict.fromkeys(outer_names(rule))
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            names.update(dict.fromkeys(local_names(rule, literal)))
    says = rule.attributes.get("says")
    unread = unread_variables(rule)
    return {
        "id": clean(rule.id),
        "head": atom_json(rule.head),
        "body": [_literal(literal, unread) for literal in rule.body],
        "variables": [[name, kinds[name].value] for name in names],
        "confidence": spell(millionths(rule.confidence)),
        "says": None if says is None else clean(says),
        "assumption": assumption,
        "texts": _texts(rule.attributes),
        "author": None,
        "owner": None,
        "version": None,
    }


def rule_digest(program: AnalysedProgram, number: int) -> str:
    """Return the hash of what a rule says (FORMAT.md, 3)."""
    return said_digest(_rule(program, number, None))


def said_digest(rule: Mapping[str, Json]) -> str:
    """Return the hash of what a rule of a certificate says: that in which approvals name it."""
    # Texts count where there are any: a rule without keeps the hash that the first format gave it.
    names = (*_SAID, "texts") if rule.get("texts") else _SAID
    return sha256(canonical({name: rule[name] for name in names}))


def atom_json(atom: Atom, unread: Container[str] = ()) -> Json:
    """Encode an atom; ``unread`` are the variables that are written ``_``."""
    return [
        atom.predicate,
        [
            ["_", term.name] if isinstance(term, Variable) and term.name in unread else _term(term)
            for term in atom.terms
        ],
    ]


def _term(term: Term) -> Json:
    match term:
        case Variable(name=name):
            return ["v", name]
        case Constant(value=value, kind=kind):
            return ["c", kind.value, format_value(value, kind)]
        case Apply(function=function, arguments=arguments, kind=kind):
            if kind is None:
                raise TypeError("a function without a kind was not analysed")
            return ["f", function, kind.value, [_term(argument) for argument in arguments]]
        case _:
            assert_never(term)


def _literal(literal: Literal, unread: Container[str]) -> Json:
    match literal:
        case Positive(atom):
            return ["+", atom_json(atom, unread)]
        case Negative(atom):
            return ["-", atom_json(atom, unread)]
        case Comparison(operator=operator, left=left, right=right):
            return ["?", operator, _term(left), _term(right)]
        case Aggregate(function=function, result=result, target=target, body=body):
            folded = None if target is None else _term(target)
            inside = [_literal(inner, unread) for inner in body]
            return ["a", function, _term(result), folded, inside]
        case _:
            assert_never(literal)
