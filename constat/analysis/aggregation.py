"""What people get wrong in aggregates and divisions, and other engines answer without a word."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.analysed import as_warning
from constat.diagnostics import Diagnostic, Related, Severity
from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    NullPolicy,
    Positive,
    Variable,
    is_wildcard,
    literal_variables,
    null_policies,
    outer_names,
    term_variables,
)
from constat.syntax import Mode, print_literal, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis.analysed import Draft
    from constat.logic import Atom, Literal, Predicate, Rule, Term

# Afterwards the target of an aggregate is local to it, and in a body of several atoms every column
# that tells rows apart has a name, but for columns that may be null: a name would read them, and
# rows without a value would drop out.

# One value of several equal ones is as good as another.
_BLIND = frozenset({"min", "max"})


def check_aggregates(draft: Draft) -> None:
    """Report aggregated variables used outside, and `_` where rows would be lost."""
    for rule in draft.program.rules:
        for literal in rule.body:
            if isinstance(literal, Aggregate):
                draft.diagnostics.extend(_used_outside(rule, literal))
                if literal.function not in _BLIND:
                    draft.diagnostics.extend(_wildcards(draft, literal))


def without_shadows(rule: Rule, diagnostics: list[Diagnostic]) -> Rule:
    """Give the rule with every aggregated variable renamed that is used outside, too.

    That is what Souffle means by it; each is a warning, with what strict mode says.
    """
    outer = set(outer_names(rule))
    body: list[Literal] = []
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            diagnostics.extend(map(as_warning, _used_outside(rule, literal)))
            changed = literal
            for variable in dict.fromkeys(_aggregated(literal)):
                if variable.name in outer:
                    inside = Variable(_fresh_name(rule, variable.name), variable.span)
                    changed = replace(_renamed(changed, variable, inside), result=literal.result)
            body.append(changed)
        else:
            body.append(literal)
    return replace(rule, body=tuple(body))


def _fresh_name(rule: Rule, name: str) -> str:
    taken = {one.name for literal in rule.body for one in literal_variables(literal)}
    taken.update(outer_names(rule))
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def shadowed_names(rule: Rule, outer: set[str]) -> set[str]:
    """Give the aggregated variables of a rule that are used outside, too."""
    return {
        variable.name
        for literal in rule.body
        if isinstance(literal, Aggregate)
        for variable in _aggregated(literal)
        if variable.name in outer
    }


def _aggregated(aggregate: Aggregate) -> Iterator[Variable]:
    """Yield what an aggregate ranges over: the target, or its variables that the body has, too.

    `sum ?v * ?rate : { sale(?v) }` does not range over `?rate`.
    """
    target = aggregate.target
    if isinstance(target, Variable):
        yield target
    elif target is not None:
        inside = {one.name for inner in aggregate.body for one in literal_variables(inner)}
        yield from (one for one in term_variables(target) if one.name in inside)


def _used_outside(rule: Rule, aggregate: Aggregate) -> Iterator[Diagnostic]:
    outer = set(outer_names(rule))
    seen: set[str] = set()
    for variable in _aggregated(aggregate):
        if variable.name in outer and variable.name not in seen:
            seen.add(variable.name)
            yield _shadowed(rule, aggregate, variable)


def _shadowed(rule: Rule, aggregate: Aggregate, variable: Variable) -> Diagnostic:
    shown = print_term(variable)
    renamed = _renamed(aggregate, variable, Variable(f"each_{variable.name.strip('_')}"))
    outside = next((one for one in _outside(rule) if one == variable and one.span), None)
    place = outside.span if outside else None
    return Diagnostic(
        "C0207",
        f"aggregated variable `{shown}` is also used outside the aggregate",
        variable.span or aggregate.span or rule.span,
        label="aggregated here",
        note="outside an aggregate a variable has one value, inside it ranges over many",
        help=f"rename it inside: `{print_literal(renamed)}`",
        related=() if place is None else (Related(place, "used outside here"),),
    )


def _outside(rule: Rule) -> Iterator[Variable]:
    for term in rule.head.terms:
        yield from term_variables(term)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            yield literal.result
        else:
            yield from literal_variables(literal)


def _wildcards(draft: Draft, aggregate: Aggregate) -> Iterator[Diagnostic]:
    atoms = [one.atom for one in aggregate.body if isinstance(one, Positive | Negative)]
    found = [one.atom for one in aggregate.body if isinstance(one, Positive)]
    if len(atoms) < 2:  # noqa: PLR2004 - in one atom each row is one assignment
        return
    # In an atom that is denied `_` is a mistake of its own.
    for atom in found:
        nameless = list(_nameless(draft.predicates.get(atom.predicate), atom))
        if nameless:
            yield _to_be_named(draft.predicates, aggregate, nameless)


def _nameless(predicate: Predicate | None, atom: Atom) -> Iterator[tuple[str, Variable]]:
    """Yield each `_` that is to be named, after its column.

    Where the key is named, no two rows agree in all that is named. A name would read a column that
    may be null, and rows without a value would drop out: there `_` is a binding of its own.
    """
    terms = enumerate(atom.terms)
    wild = [(place, v) for place, term in terms for v in term_variables(term) if is_wildcard(v)]
    if predicate is None or predicate.arity != len(atom.terms):
        yield from (("id", one) for _, one in wild)
        return
    # That rows of a derived predicate have one key is nobody's promise.
    key = predicate.key if predicate.source else ()
    nulls = null_policies(predicate)
    for place, one in wild:
        reads = nulls[place] is not None and is_wildcard(atom.terms[place])
        if not reads and (not key or place in key):
            yield predicate.columns[place].name, one


def _to_be_named(
    known: Mapping[str, Predicate], aggregate: Aggregate, nameless: list[tuple[str, Variable]]
) -> Diagnostic:
    named = aggregate
    for column, one in nameless:
        named = _renamed(named, one, Variable(f"_{_fresh(named, column)}"))
    return Diagnostic(
        "C0209",
        "`_` in an aggregate over several atoms can lose rows",
        nameless[0][1].span or aggregate.span,
        label="two rows that differ only here could count once",
        note="an aggregate ranges over the bindings of its variables; other engines merge rows "
        "that agree in the named ones, and no test shows it before two rows have equal values",
        help=f"name the column: `{print_literal(named, known)}`",
    )


def _fresh(aggregate: Aggregate, name: str) -> str:
    taken = {variable.name for variable in literal_variables(aggregate)}
    number, fresh = 1, name
    while f"_{fresh}" in taken:
        number += 1
        fresh = f"{name}{number}"
    return fresh


def _renamed(aggregate: Aggregate, old: Variable, new: Variable) -> Aggregate:
    """Give the aggregate with one variable renamed in target and body, for showing only."""

    def term(one: Term) -> Term:
        if isinstance(one, Variable):
            return new if one == old else one
        if isinstance(one, Apply) and old in set(term_variables(one)):
            # Printing it recurses as deep; the parser bounds how deep a term is.
            return replace(one, arguments=tuple(map(term, one.arguments)))
        return one

    def atom(one: Atom) -> Atom:
        return replace(one, terms=tuple(map(term, one.terms)))

    body: list[Positive | Negative | Comparison] = []
    for inner in aggregate.body:
        match inner:
            case Positive(one):
                body.append(Positive(atom(one)))
            case Negative(one):
                body.append(Negative(atom(one)))
            case _:
                body.append(replace(inner, left=term(inner.left), right=term(inner.right)))
    target = None if aggregate.target is None else term(aggregate.target)
    return replace(aggregate, target=target, body=tuple(body))


# A rule that means it says `@[floor]`. Souffle mode stays silent: its programs are written for it.

FLOOR = "floor"
_CODE = "C0228"
_WHOLE = frozenset({Kind.NUMBER, Kind.UNSIGNED})


def check_divisions(draft: Draft) -> None:
    """Warn of every `/` whose result is a whole number and whose divisor is not the constant 1."""
    if draft.mode is Mode.SOUFFLE:
        return
    for rule in draft.rules:
        if rule.attributes.get(FLOOR) != "true":
            draft.diagnostics.extend(_cut_short(one, rule) for one in _divisions(rule))


def check_constant_comparisons(draft: Draft) -> None:
    """Warn of a comparison of two constants, which is so for every row or for none."""
    if draft.mode is Mode.SOUFFLE:
        return
    for rule in draft.rules:
        for literal in rule.body:
            inner = literal.body if isinstance(literal, Aggregate) else (literal,)
            for one in inner:
                if isinstance(one, Comparison) and one.span is not None and _is_settled(one):
                    draft.diagnostics.append(_settled(one))


def _is_settled(comparison: Comparison) -> bool:
    left, right = comparison.left, comparison.right
    # Two kinds are an error already, and so are structures that nothing gives a type.
    if not isinstance(left, Constant) or not isinstance(right, Constant):
        return False
    return left.kind is right.kind is not Kind.STRUCTURE


def _settled(comparison: Comparison) -> Diagnostic:
    return Diagnostic(
        "C0252",
        f"`{print_literal(comparison)}` compares two constants",
        comparison.span,
        label="the same for every row",
        note="what stands in quotes is a text and no column",
        help="compare a variable: `?x` in the place of a column, and `?x` here; or leave it out",
        severity=Severity.WARNING,
    )


def refused_in_drafts(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Give those warnings as errors that a draft of a model must not leave in."""
    return [replace(one, severity=Severity.ERROR) for one in diagnostics if one.code == _CODE]


def _divisions(rule: Rule) -> Iterator[Apply]:
    waiting: list[Term] = [*rule.head.terms]
    for literal in rule.body:
        waiting += _terms(literal)
    while waiting:
        term = waiting.pop()
        if not isinstance(term, Apply):
            continue
        waiting += term.arguments
        if term.function != "/" or term.kind not in _WHOLE:
            continue
        divisor = term.arguments[1]
        if not (isinstance(divisor, Constant) and divisor.value == 1):
            yield term


def _terms(literal: Literal) -> Iterator[Term]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield from atom.terms
        case Comparison(left=left, right=right):
            yield from (left, right)
        case _:
            if literal.target is not None:
                yield literal.target
            for inner in literal.body:
                yield from _terms(inner)


# `_o` reads its column, as every name does, so a row without a value there does not match.

_DROPPED = "C0251"


def check_dropped_rows(draft: Draft) -> None:
    """Warn of a name that nothing uses, and that leaves rows out of an aggregate."""
    for rule in draft.rules:
        for literal in rule.body:
            if isinstance(literal, Aggregate):
                draft.diagnostics.extend(_dropping(draft, rule, literal))


def _dropping(draft: Draft, rule: Rule, aggregate: Aggregate) -> Iterator[Diagnostic]:
    occurrences = [one.name for term in rule.head.terms for one in term_variables(term)]
    occurrences += [one.name for literal in rule.body for one in literal_variables(literal)]
    used = Counter(occurrences)
    for inner in aggregate.body:
        declared = (
            draft.predicates.get(inner.atom.predicate) if isinstance(inner, Positive) else None
        )
        if declared is None or not isinstance(inner, Positive):
            continue
        # Another number of terms than of columns is told where arities are looked at.
        terms = zip(inner.atom.terms, declared.columns, null_policies(declared), strict=False)
        for term, column, policy in terms:
            if not isinstance(term, Variable) or policy is not NullPolicy.NONE:
                continue
            if term.name.startswith("_") and not is_wildcard(term) and used[term.name] == 1:
                yield _dropped(inner.atom, column.name, print_term(term), aggregate, rule)


def _dropped(atom: Atom, column: str, name: str, aggregate: Aggregate, rule: Rule) -> Diagnostic:
    return Diagnostic(
        _DROPPED,
        f"rows of {atom.predicate} that have no {column} are left out of this {aggregate.function}",
        atom.span or rule.span,
        label=f"`{name}` asks for a value of {column}",
        note=f"{column} is `null = none`: where there is no value, a name matches nothing",
        help=f"write `_` in place of `{name}`; or, if these rows are to be left out, say so: "
        f"add `{name} = {name}`",
        severity=Severity.WARNING,
    )


def _cut_short(division: Apply, rule: Rule) -> Diagnostic:
    left, right = division.arguments
    exact = Apply("as", (left,), Kind.DECIMAL)
    other = right if isinstance(right, Constant) else Apply("as", (right,), Kind.DECIMAL)
    edit = print_term(Apply("/", (exact, other)))
    return Diagnostic(
        _CODE,
        f"`{print_term(division)}` divides whole numbers, so its fraction is cut off",
        division.span or rule.span,
        label="7 / 2 is 3 here, and -7 / 2 is -3",
        note="a share, a mean or a rate computed so is too small, and nothing shows it",
        help=f"write `{edit}` where a Decimal may stand, or `@[{FLOOR}]` before the rule if whole "
        "numbers are meant",
        severity=Severity.WARNING,
    )
