"""Read declarations and rules, and check that they are safe and stratified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from . import values
from .canonical import Rejected, each, inside
from .functions import operator_holds, signature_holds
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
    Threshold,
    Variable,
    Wildcard,
    atom_positions,
    free_positions,
    occurrences,
    positions,
    test_positions,
    unread_positions,
)
from .values import (
    KINDS,
    NUMERIC,
    ORDERED,
    STRUCTURE,
    is_spelled,
    parse,
    read_structure,
)

if TYPE_CHECKING:
    from .canonical import Json
    from .values import Known, Structures

# After this pass each negated or aggregated predicate lies in a lower stratum than the head, which
# is what makes absence of a fact well-defined (Apt, Blair and Walker, 1988).  Thresholds may lie
# in the head's own stratum: they are monotone (see `thresholds`).


def check_program(program: Program) -> None:
    """Check safety of every rule, then stratification of all."""
    each("rules", program.rules, lambda rule: _check_safety(rule, program))
    _check_strata(program)


def _check_safety(rule: Rule, program: Program) -> None:
    called = [rule.head.args[place] for place in program.declarations[rule.head.predicate].given]
    given = {term.position for term in called if isinstance(term, Variable)}
    missing = set(range(rule.outer)) - bound_by(rule.body, given) - free_positions(rule)
    missing -= unread_positions(rule)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            outer = set(range(rule.outer))
            missing |= set(literal.inner) - bound_by(literal.body, outer)
    if missing:
        name = rule.variables[min(missing)][0]
        raise Rejected("safety", f"nothing binds the variable {name}")


def bound_by(body: tuple[Literal, ...], given: set[int]) -> set[int]:
    """Return the variables that the body binds when those of ``given`` are bound."""
    bound = set(given)
    for literal in body:
        match literal:
            case Positive(atom):
                bound |= {t.position for t in atom.args if isinstance(t, Variable | Wildcard)}
            case _:
                pass
    _follow_equations(body, bound)
    return bound


def _follow_equations(body: tuple[Literal, ...], bound: set[int]) -> None:
    """Add what equations and aggregates bind, in turn; each is looked at once per variable.

    An aggregate gives a value for a group: its result cannot be what binds the group.
    """
    waiting: dict[int, list[_Direction]] = {}
    ready: list[int] = []
    for target, needed in _equations(body):
        direction = _Direction(target, needed - bound)
        for position in direction.missing:
            waiting.setdefault(position, []).append(direction)
        if not direction.missing:
            ready.append(target)
    while ready:
        position = ready.pop()
        bound.add(position)
        for direction in waiting.pop(position, []):
            direction.missing.discard(position)
            if not direction.missing:
                ready.append(direction.target)


def _equations(body: tuple[Literal, ...]) -> Iterator[tuple[int, set[int]]]:
    """Yield each variable that a literal gives a value, with what must be bound for that."""
    for literal in body:
        match literal:
            case Comparison("=", left, right):
                for side, other in ((left, right), (right, left)):
                    if isinstance(side, Variable):
                        yield side.position, positions(other)
            case Aggregate(result=result, outer=outer):
                yield result.position, set(outer)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class _Direction:
    """One way to read an equation or aggregate: ``target`` is bound once nothing is missing."""

    target: int
    missing: set[int]


def dependencies(rules: Iterable[Rule]) -> dict[str, dict[str, bool]]:
    """Return for each head the predicates below it, and whether one lies strictly below."""
    below: dict[str, dict[str, bool]] = {}
    for rule in rules:
        found = below.setdefault(rule.head.predicate, {})
        for literal in rule.body:
            for predicate, strict in _mentions(literal):
                found[predicate] = found.get(predicate, False) or strict
    return below


def _mentions(literal: Literal) -> list[tuple[str, bool]]:
    match literal:
        case Positive(atom):
            return [(atom.predicate, False)]
        case Negative(atom):
            return [(atom.predicate, True)]
        case Aggregate():
            strict = literal.threshold is None
            inside = [pair for test in literal.body for pair in _mentions(test)]
            return [(predicate, strict or negated) for predicate, negated in inside]
        case Comparison():
            return []


def _check_strata(program: Program) -> None:
    below = dependencies(program.rules)
    component = components({head: list(found) for head, found in below.items()})
    for head, found in below.items():
        for predicate, strict in found.items():
            if strict and component[head] == component.get(predicate):
                reason = f"{head} depends on the absence or the aggregate of {predicate} and back"
                raise Rejected("strata", reason, "rules")


def components(graph: dict[str, list[str]]) -> dict[str, int]:
    """Return a number for each strongly connected component (Tarjan, 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    component: dict[str, int] = {}
    path: list[str] = []
    for root, first in graph.items():
        waiting = [(root, iter(first))] if root not in order else []
        while waiting:
            node, successors = waiting[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
            following = next(successors, None)
            if following is None:
                waiting.pop()
                if waiting:
                    caller = waiting[-1][0]
                    lowest[caller] = min(lowest[caller], lowest[node])
                if lowest[node] == order[node]:
                    _number(node, path, component)
            elif following not in order:
                waiting.append((following, iter(graph.get(following, []))))
            elif following not in component:
                lowest[node] = min(lowest[node], order[following])
    return component


def _number(node: str, path: list[str], component: dict[str, int]) -> None:
    number = len(component)
    while True:
        member = path.pop()
        component[member] = number
        if member == node:
            return


# Such a rule is monotone as long as no summand is negative, so a least model exists (Ross and
# Sagiv, 1992); all other aggregates over the own stratum are left to the pass that rejects them.
# FORMAT.md, section 4.

_TURNED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})
_ABOVE: Final = MappingProxyType({">": 1, ">=": 0})


def with_thresholds(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules with the thresholds of their recursive aggregates."""
    below = dependencies(rules)
    component = components({head: list(found) for head, found in below.items()})

    def marked(rule: Rule, literal: Literal) -> Literal:
        if not isinstance(literal, Aggregate) or literal.function not in {"sum", "count"}:
            return literal
        own = component[rule.head.predicate]
        inside = [test.atom.predicate for test in literal.body if isinstance(test, Positive)]
        if all(component.get(predicate) != own for predicate in inside):
            return literal
        return replace(literal, threshold=_threshold(rule, literal))

    return tuple(
        replace(rule, body=tuple([marked(rule, literal) for literal in rule.body]))
        for rule in rules
    )


def _threshold(rule: Rule, literal: Aggregate) -> Threshold | None:
    """Return the one comparison in which the result occurs, if it asks for a lower bound."""
    result = literal.result
    # A float total is rounded: whether it exceeds a bound may depend on what else was added.
    if occurrences(rule, result.position) != 2 or result.kind == "float":  # noqa: PLR2004
        return None
    for place, test in enumerate(rule.body):
        if isinstance(test, Comparison) and test.operator in _TURNED:
            if test.left == result and test.operator in _ABOVE:
                return Threshold(place, _ABOVE[test.operator], test.right, is_proven(literal))
            turned = _TURNED[test.operator]
            if test.right == result and turned in _ABOVE:
                return Threshold(place, _ABOVE[turned], test.left, is_proven(literal))
    return None


def is_proven(literal: Aggregate) -> bool:
    """Tell whether the text alone shows that no summand is negative."""
    if literal.target is None:
        return True
    guarded = _guarded(literal)
    waiting: list[Term] = [literal.target]
    while waiting:
        term = waiting.pop()
        if term.kind == "unsigned" or (isinstance(term, Variable) and term.position in guarded):
            continue
        if isinstance(term, Constant) and _is_floor(term):
            continue
        if not isinstance(term, Call) or term.function not in {"+", "*"}:
            return False
        waiting += term.args
    return True


def _guarded(literal: Aggregate) -> set[int]:
    """Return the variables that a comparison of the body keeps from being negative."""
    found: set[int] = set()
    for test in literal.body:
        if isinstance(test, Comparison) and test.operator in _TURNED:
            if test.operator in _ABOVE and isinstance(test.left, Variable):
                found |= {test.left.position} if _is_floor(test.right) else set()
            if _TURNED[test.operator] in _ABOVE and isinstance(test.right, Variable):
                found |= {test.right.position} if _is_floor(test.left) else set()
    return found


def _is_floor(term: Term) -> bool:
    if not isinstance(term, Constant) or term.kind not in {"number", "unsigned", "Decimal"}:
        return False
    return parse(term.kind, term.value) >= 0


# A variable is local to an aggregate exactly when the format says so, so inner and outer variables
# cannot be confused.

_DIGITS: Final = frozenset("0123456789")
_NAME: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_?.$#@~")


NULLS: Final = ("none", "maybe", "unknown", "unread")
"""What a cell without a value can mean, where the row is certain all the same.

The last one says that nobody reads the column, so that its values are not there at all.
"""


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
    declared = each("declarations", values.array(declarations), read_one)
    names = {declaration.name: declaration for declaration in declared}
    if len(names) < len(declared):
        raise Rejected("declaration", "a predicate is declared twice", "declarations")
    reader = _RuleReader(names, assumption_kinds, structures, second=second)
    read = with_thresholds(tuple(each("rules", values.array(rules), reader.rule)))
    if len({rule.name for rule in read}) < len(read):
        raise Rejected("rule", "two rules have the same id", "rules")
    derived: dict[str, list[int]] = {}
    for position, rule in enumerate(read):
        derived.setdefault(rule.head.predicate, []).append(position)
    return Program(names, read, {name: tuple(found) for name, found in derived.items()})


def _name(value: Json) -> str:
    found = values.text(value)
    if not found or not set(found) <= _NAME:
        raise Rejected("schema", "a name has letters, digits and _?.$#@~ only")
    return found


def _declaration_of_first(value: Json) -> Declaration:
    name, columns, external, says = values.members(value, ("name", "columns", "external", "says"))
    return replace(_declared(name, columns, external), texts=_said(says))


def _declaration(value: Json) -> Declaration:
    name, columns, external, says, texts, nulls, given = values.members(
        value, ("name", "columns", "external", "says", "texts", "nulls", "given")
    )
    said = _said(says) + inside("texts", texts, _texts)
    found = _declared(name, columns, external)
    width = len(found.columns)
    policies = tuple(each("nulls", values.array(nulls, width), _policy))
    if any(policies) and not found.external:
        raise Rejected("declaration", "only rows from outside have cells without a value", "nulls")
    places = [values.index(place, width) for place in values.array(given)]
    if places != sorted(set(places)):
        raise Rejected("schema", "columns are ascending and distinct", "given")
    return replace(found, nulls=policies, given=tuple(places), texts=said)


def _policy(value: Json) -> str | None:
    return None if value is None else values.one_of(value, NULLS)


def _said(says: Json) -> tuple[tuple[str, str], ...]:
    """Read the sentence of a declaration or a rule, which is none of the other texts."""
    found = values.text_or_null(says)
    return () if found is None else ((_SAYS, found),)


def _text(pair: Json) -> tuple[str, str]:
    name, text = values.array(pair, 2)
    return values.text(name), values.text(text)


def _texts(value: Json) -> tuple[tuple[str, str], ...]:
    """Read the other sentences, reason codes and units: sorted by their names, each once."""
    found = each("", values.array(value), _text)
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
        tuple(each("columns", values.array(columns), _typed_name)),
        values.index(external, 2) == 1,
    )


def _typed_name(value: Json) -> tuple[str, str]:
    name, kind = values.array(value, 2)
    return _name(name), values.one_of(kind, KINDS)


def _name_of_people(value: Json) -> str | None:
    """Read whose rule it is, or which version: a text that is not empty, or null."""
    found = values.text_or_null(value)
    if found == "":
        raise Rejected("schema", "nobody has an empty name")
    return found


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
        name, head, body, variables, confidence, says, assumption, *more = values.members(
            value, members
        )
        said = _said(says)
        for texts in more[:1]:
            said += inside("texts", texts, _texts)
        people: list[tuple[str, str]] = []
        for role, named in zip(_RULE_OF_SECOND[1:], more[1:], strict=False):
            who = inside(role, named, _name_of_people)
            people += [] if who is None else [(role, who)]
        listed = each("variables", values.array(variables), _typed_name)
        if len({name.removeprefix("?") for name, _ in listed}) < len(listed):
            raise Rejected("rule", "two variables have the same name", "variables")
        self.variables = {
            name: Variable(position, kind) for position, (name, kind) in enumerate(listed)
        }
        first = self.atom(head)
        literals = each("body", values.array(body), self.literal)
        rule = Rule(
            values.text(name),
            first,
            self.with_scopes(first, literals),
            tuple(listed),
            len(_outer(first, literals)),
            values.confidence(confidence),
            said,
            values.index_or_null(assumption, len(self.assumption_kinds)),
            tuple(people),
        )
        self.check_scopes(rule)
        self.check_unread(rule)
        self.check_assumption(rule)
        return rule

    def check_assumption(self, rule: Rule) -> None:
        if rule.assumption is not None and self.assumption_kinds[rule.assumption] != "rule":
            raise Rejected("assumption", "the assumption of a rule is of kind rule")
        if rule.confidence == 0 or (rule.assumption is None and rule.confidence < values.MILLION):
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
        name, args = values.array(value, 2)
        declaration = self.declared.get(values.text(name))
        if declaration is None:
            raise Rejected("declaration", f"{values.text(name)[:40]!r} is not declared")
        terms = each("args", values.array(args), self.argument)
        if tuple(term.kind for term in terms) != declaration.kinds:
            raise Rejected("kind", f"the arguments of {name} are not of the declared kinds")
        for policy, term in zip(declaration.nulls, terms, strict=False):
            if policy == "unread" and type(term) is not Wildcard:
                raise Rejected("declaration", f"a rule reads a column of {name} that nobody reads")
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
        parts = values.array(value)
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
        parts = values.array(value)
        if parts and parts[0] == "a":
            return self.aggregate(values.array(parts, 5))
        return self.test(value)

    def test(self, value: Json) -> Test:
        parts = values.array(value)
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
        name = values.one_of(function, ("count", "sum", "min", "max", "mean"))
        variable = self.term(result)
        folded = None if target is None else self.term(target)
        if not isinstance(variable, Variable) or variable.kind != _fold_kind(name, folded):
            raise Rejected("kind", f"the result of this {name} has another kind")
        tests = tuple(each("body", values.array(body), self.test))
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
