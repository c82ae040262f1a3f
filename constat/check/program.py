"""Read declarations and rules, checking names, kinds and arities on the way.

In: parsed JSON.  Out: a ``Program``, or ``Rejected``.  Invariant: a variable is local to an
aggregate exactly when the format says so, so inner and outer variables cannot be confused.

Example: a rule whose variable occurs nowhere is rejected with code ``rule``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from . import shapes
from .functions import operator_holds, signature_holds
from .rejection import Rejected, each, inside
from .rules import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Declaration,
    Literal,
    Negative,
    Positive,
    Program,
    Rule,
    Term,
    Test,
    Variable,
    Wildcard,
    atom_positions,
    occurrences,
    positions,
    test_positions,
    unread_positions,
)
from .thresholds import with_thresholds
from .values import KINDS, NUMERIC, ORDERED, STRUCTURE, is_spelled, read_structure

if TYPE_CHECKING:
    from .canonical import Json
    from .structures import Structures
    from .values import Known

_DIGITS: Final = frozenset("0123456789")
_NAME: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_?.$#@~")


NULLS: Final = ("none", "maybe", "unknown")
"""What a cell without a value can mean, where the row is certain all the same."""


def read_program(
    declarations: Json,
    rules: Json,
    assumption_kinds: list[str],
    structures: Structures,
    *,
    second: bool,
) -> Program:
    """Read both members, of the second format or of the first.

    ``assumption_kinds`` are the kinds of the certificate's assumptions.
    """
    read_one = _declaration if second else _declaration_of_first
    declared = each("declarations", shapes.array(declarations), read_one)
    names = {declaration.name: declaration for declaration in declared}
    if len(names) < len(declared):
        raise Rejected("declaration", "a predicate is declared twice", "declarations")
    reader = _RuleReader(names, assumption_kinds, structures, second=second)
    read = with_thresholds(tuple(each("rules", shapes.array(rules), reader.rule)))
    if len({rule.name for rule in read}) < len(read):
        raise Rejected("rule", "two rules have the same id", "rules")
    derived: dict[str, list[int]] = {}
    for position, rule in enumerate(read):
        derived.setdefault(rule.head.predicate, []).append(position)
    return Program(names, read, {name: tuple(found) for name, found in derived.items()})


def _name(value: Json) -> str:
    found = shapes.text(value)
    if not found or not set(found) <= _NAME:
        raise Rejected("schema", "a name has letters, digits and _?.$#@~ only")
    return found


def _declaration_of_first(value: Json) -> Declaration:
    name, columns, external, says = shapes.members(value, ("name", "columns", "external", "says"))
    return replace(_declared(name, columns, external), texts=_said(says))


def _declaration(value: Json) -> Declaration:
    name, columns, external, says, texts, nulls, given = shapes.members(
        value, ("name", "columns", "external", "says", "texts", "nulls", "given")
    )
    said = _said(says) + inside("texts", texts, _texts)
    found = _declared(name, columns, external)
    width = len(found.columns)
    policies = tuple(each("nulls", shapes.array(nulls, width), _policy))
    if any(policies) and not found.external:
        raise Rejected("declaration", "only rows from outside have cells without a value", "nulls")
    places = [shapes.index(place, width) for place in shapes.array(given)]
    if places != sorted(set(places)):
        raise Rejected("schema", "columns are ascending and distinct", "given")
    return replace(found, nulls=policies, given=tuple(places), texts=said)


def _policy(value: Json) -> str | None:
    return None if value is None else shapes.one_of(value, NULLS)


def _said(says: Json) -> tuple[tuple[str, str], ...]:
    """Read the sentence of a declaration or a rule, which is none of the other texts."""
    found = shapes.text_or_null(says)
    return () if found is None else ((_SAYS, found),)


def _text(pair: Json) -> tuple[str, str]:
    name, text = shapes.array(pair, 2)
    return shapes.text(name), shapes.text(text)


def _texts(value: Json) -> tuple[tuple[str, str], ...]:
    """Read the other sentences, reason codes and units: sorted by their names, each once."""
    found = each("", shapes.array(value), _text)
    names = [name for name, _ in found]
    if names != sorted(set(names)) or _SAYS in names:
        raise Rejected("order", "names are sorted and distinct, and none is that of the sentence")
    return tuple(found)


def _declared(name: Json, columns: Json, external: Json) -> Declaration:
    predicate = _name(name)
    if predicate[0] in _DIGITS | {"?"}:
        raise Rejected("schema", "the name of a predicate begins with a letter", "name")
    return Declaration(
        predicate,
        tuple(each("columns", shapes.array(columns), _typed_name)),
        shapes.index(external, 2) == 1,
    )


def _typed_name(value: Json) -> tuple[str, str]:
    name, kind = shapes.array(value, 2)
    return _name(name), shapes.one_of(kind, KINDS)


_SAYS: Final = "says"
_RULE: Final = ("id", "head", "body", "variables", "confidence", "says", "assumption")
_RULE_OF_SECOND: Final = ("texts", "author", "owner", "version")


class _RuleReader:
    """Reads rules against the declarations."""

    def __init__(
        self,
        declared: dict[str, Declaration],
        assumption_kinds: list[str],
        structures: Structures,
        *,
        second: bool,
    ) -> None:
        self.declared = declared
        self.structures = structures
        self.second = second
        self.assumption_kinds = assumption_kinds
        self.variables: dict[str, Variable] = {}

    def rule(self, value: Json) -> Rule:
        members = _RULE + (_RULE_OF_SECOND if self.second else ())
        name, head, body, variables, confidence, says, assumption, *more = shapes.members(
            value, members
        )
        said = _said(says)
        for texts in more[:1]:
            said += inside("texts", texts, _texts)
        shapes.nothing(more[1:])
        listed = each("variables", shapes.array(variables), _typed_name)
        if len({name.removeprefix("?") for name, _ in listed}) < len(listed):
            raise Rejected("rule", "two variables have the same name", "variables")
        self.variables = {
            name: Variable(position, kind) for position, (name, kind) in enumerate(listed)
        }
        first = self.atom(head)
        literals = each("body", shapes.array(body), self.literal)
        rule = Rule(
            shapes.text(name),
            first,
            self.with_scopes(first, literals),
            tuple(listed),
            len(_outer(first, literals)),
            shapes.confidence(confidence),
            said,
            shapes.index_or_null(assumption, len(self.assumption_kinds)),
        )
        self.check_scopes(rule)
        self.check_unread(rule)
        self.check_assumption(rule)
        return rule

    def check_assumption(self, rule: Rule) -> None:
        if rule.assumption is not None and self.assumption_kinds[rule.assumption] != "rule":
            raise Rejected("assumption", "the assumption of a rule is of kind rule")
        if rule.confidence == 0 or (rule.assumption is None and rule.confidence < shapes.MILLION):
            raise Rejected("assumption", "a confidence below 1 needs an assumption, and is not 0")

    def check_unread(self, rule: Rule) -> None:
        """Reject a wildcard that occurs twice, or in the head."""
        unread = unread_positions(rule)
        if any(isinstance(term, Wildcard) for term in rule.head.args):
            raise Rejected("rule", "a wildcard stands in the head", "head")
        if any(occurrences(rule, position) > 1 for position in unread):
            raise Rejected("rule", "a wildcard occurs twice", "body")

    def check_scopes(self, rule: Rule) -> None:
        inner = {
            p for literal in rule.body if isinstance(literal, Aggregate) for p in literal.inner
        }
        if inner != set(range(rule.outer, len(rule.variables))):
            raise Rejected("rule", "outer variables are listed first, then local ones", "variables")

    def with_scopes(self, head: Atom, literals: list[Literal]) -> tuple[Literal, ...]:
        """Give each aggregate its local and its outer variables."""
        outer = _outer(head, literals)
        scoped: list[Literal] = []
        for literal in literals:
            if isinstance(literal, Aggregate):
                used = _used_inside(literal)
                scoped.append(
                    Aggregate(
                        literal.function,
                        literal.result,
                        literal.target,
                        literal.body,
                        tuple(sorted(used - outer)),
                        tuple(sorted(used & outer)),
                    )
                )
            else:
                scoped.append(literal)
        return tuple(scoped)

    def atom(self, value: Json) -> Atom:
        name, args = shapes.array(value, 2)
        declaration = self.declared.get(shapes.text(name))
        if declaration is None:
            raise Rejected("declaration", f"{shapes.text(name)[:40]!r} is not declared")
        terms = each("args", shapes.array(args), self.argument)
        if tuple(term.kind for term in terms) != declaration.kinds:
            raise Rejected("kind", f"the arguments of {name} are not of the declared kinds")
        return Atom(declaration.name, tuple(terms))

    def argument(self, value: Json) -> Term:
        """Read an argument of an atom: a term, or a wildcard."""
        match value:
            case ["_", str(name)] if self.second and name in self.variables:
                return Wildcard(self.variables[name].position, self.variables[name].kind)
            case _:
                return self.term(value)

    def value(self, kind: str, text: str) -> Known:
        found = read_structure(self.structures, text) if kind == STRUCTURE else text
        if found is None or not (kind == STRUCTURE or is_spelled(kind, text)):
            raise Rejected("value", f"{text[:40]!r} is not the spelling of a {kind}")
        return found

    def term(self, value: Json) -> Term:
        parts = shapes.array(value)
        match parts:
            case ["v", str(name)] if name in self.variables:
                return self.variables[name]
            case ["c", str(kind), str(found)] if kind in KINDS:
                return Constant(self.value(kind, found), kind)
            case ["f", str(function), str(kind), list(args)]:
                return self.call(function, kind, args)
            case _:
                raise Rejected("schema", "this is no term, or its variable is not listed")

    def call(self, function: str, kind: str, args: list[Json]) -> Term:
        terms = tuple(each("args", args, self.term))
        kinds = tuple(term.kind for term in terms)
        if not terms or not signature_holds(function, kinds, kind):
            raise Rejected("kind", f"{function[:40]!r} does not take {kinds[:4]} to {kind[:40]!r}")
        return Call(function, terms, kind)

    def literal(self, value: Json) -> Literal:
        parts = shapes.array(value)
        if parts and parts[0] == "a":
            return self.aggregate(shapes.array(parts, 5))
        return self.test(value)

    def test(self, value: Json) -> Test:
        parts = shapes.array(value)
        match parts:
            case ["+", atom]:
                return Positive(self.atom(atom))
            case ["-", atom]:
                return Negative(self.atom(atom))
            case ["?", str(operator), left, right]:
                return self.comparison(operator, self.term(left), self.term(right))
            case _:
                raise Rejected("schema", "this is no literal that may stand here")

    def comparison(self, operator: str, left: Term, right: Term) -> Comparison:
        if left.kind != right.kind or not operator_holds(operator, left.kind):
            raise Rejected("kind", f"{left.kind} {operator[:40]!r} {right.kind} has no meaning")
        return Comparison(operator, left, right)

    def aggregate(self, parts: list[Json]) -> Aggregate:
        _, function, result, target, body = parts
        name = shapes.one_of(function, ("count", "sum", "min", "max", "mean"))
        variable = self.term(result)
        folded = None if target is None else self.term(target)
        if not isinstance(variable, Variable) or variable.kind != _fold_kind(name, folded):
            raise Rejected("kind", f"the result of this {name} has another kind")
        tests = tuple(each("body", shapes.array(body), self.test))
        return Aggregate(name, variable, folded, tests, (), ())


def _fold_kind(name: str, target: Term | None) -> str:
    """Return the kind of an aggregate's result; no kind where it cannot take the target."""
    if target is None or name == "count":
        return "number" if target is None and name == "count" else ""
    if name in {"min", "max"}:
        return target.kind if target.kind in ORDERED else ""
    if target.kind not in NUMERIC:
        return ""
    return target.kind if name == "sum" or target.kind == "Decimal" else "float"


def _used_inside(literal: Aggregate) -> set[int]:
    target = set() if literal.target is None else positions(literal.target)
    return target.union(*map(test_positions, literal.body))


def _outer(head: Atom, literals: tuple[Literal, ...] | list[Literal]) -> set[int]:
    """Return the variables of the head, of the plain literals and of the results."""
    found = atom_positions(head)
    for literal in literals:
        if isinstance(literal, Aggregate):
            found.add(literal.result.position)
        else:
            found |= test_positions(literal)
    return found
