"""Whole numbers that Souffle types apart from the variable that they are the value of.

In: a rule as written and as typed. Out: a warning C0229 where the two readings differ. Souffle
puts the value of `x = 5` in the place of `x` before it types the rule, so that each place tells the
type of its own 5; here the variable has one type, which a column of the head may tell. Example: in
`o(x) :- x = 5, x - 6 > 0.` with an unsigned column, `5 - 6 > 0` is about numbers in Souffle and
holds for none. Written `5u` it is the same in both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Severity
from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
    term_variables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from constat.diagnostics import Span
    from constat.logic import Atom, Literal, Rule, Term

_MOST_ROUNDS = 20
_OTHERS = frozenset({Kind.UNSIGNED, Kind.FLOAT})


def typed_apart(written: Rule, typed: Rule, infer: Callable[[Rule], Rule]) -> Iterator[Diagnostic]:
    """Warn of the first number of a rule that Souffle takes for one of another type.

    `infer` types a rule, and keeps to itself what is wrong with it.
    """
    given = {
        one.span: one for one in _constants(typed) if one.kind in _OTHERS and one.span is not None
    }
    whole = {one.span for one in _constants(written) if one.kind is Kind.NUMBER}
    aliases = _aliases(written)
    if not aliases or not whole & given.keys():
        return
    resolved = infer(_resolved(written, aliases))
    apart = {one.span for one in _computed_from(resolved) if one.kind is Kind.NUMBER}
    found = [given[span] for span in apart & whole & given.keys() if span is not None]
    named = {one.span for term in aliases.values() for one in _parts(term)}
    for one in sorted(found, key=lambda one: (one.span not in named, _place(one.span)))[:1]:
        yield _warning(one)


def _place(span: Span | None) -> tuple[int, int]:
    return (0, 0) if span is None else (span.line, span.column)


def _warning(constant: Constant) -> Diagnostic:
    unsigned = constant.kind is Kind.UNSIGNED
    number = int(constant.value) if not isinstance(constant.value, str) else 0
    edit = f"{number}u" if unsigned else f"{number}.0"
    return Diagnostic(
        "C0229",
        f"Souffle takes this `{number}` for number here, for {constant.kind.value} there",
        constant.span,
        note="it puts the value in place of the variable and types each place by itself; here the "
        f"variable is {constant.kind.value} everywhere, so the rows may be others",
        help=f"write `{edit}`, which is {constant.kind.value} in both",
        severity=Severity.WARNING,
    )


def _aliases(rule: Rule) -> dict[str, Term]:
    """Give the values that equations say of variables, as far as these are without variables."""
    found: dict[str, Term] = {}
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                names = {variable.name for variable in term_variables(other)}
                if isinstance(one, Variable) and one.name not in found and one.name not in names:
                    found[one.name] = other
                    break
    for _ in range(min(len(found), _MOST_ROUNDS)):
        found = {name: _put(term, found) for name, term in found.items()}
    return {n: term for n, term in found.items() if not any(True for _ in term_variables(term))}


def _resolved(rule: Rule, aliases: Mapping[str, Term]) -> Rule:
    body = tuple(_literal(one, aliases) for one in rule.body if not _is_alias(one, aliases))
    return replace(rule, head=_atom(rule.head, aliases), body=body)


def _is_alias(literal: Literal, aliases: Mapping[str, Term]) -> bool:
    if not isinstance(literal, Comparison) or literal.operator != "=":
        return False
    sides = ((literal.left, literal.right), (literal.right, literal.left))
    return any(
        isinstance(one, Variable)
        and one.name in aliases
        and _put(other, aliases) == aliases[one.name]
        for one, other in sides
    )


def _literal(literal: Literal, aliases: Mapping[str, Term]) -> Literal:
    match literal:
        case Positive(atom):
            return Positive(_atom(atom, aliases))
        case Negative(atom):
            return Negative(_atom(atom, aliases))
        case Comparison(left=left, right=right):
            return replace(literal, left=_put(left, aliases), right=_put(right, aliases))
        case Aggregate(body=body, target=target):
            inner = tuple(_literal(one, aliases) for one in body)
            over = None if target is None else _put(target, aliases)
            return replace(literal, body=inner, target=over)  # type: ignore[arg-type]  # the same kinds


def _atom(atom: Atom, aliases: Mapping[str, Term]) -> Atom:
    return replace(atom, terms=tuple(_put(term, aliases) for term in atom.terms))


def _put(term: Term, aliases: Mapping[str, Term]) -> Term:
    match term:
        case Variable(name):
            return aliases.get(name, term)
        case Apply(arguments=arguments):
            return replace(term, arguments=tuple(_put(one, aliases) for one in arguments))
        case _:
            return term


def _terms(literals: Iterable[Literal]) -> Iterator[tuple[Term, ...]]:
    """Yield the terms that stand together, those of aggregates too."""
    for literal in literals:
        match literal:
            case Positive(atom) | Negative(atom):
                yield from ((one,) for one in atom.terms)
            case Comparison(left=left, right=right):
                yield left, right
            case Aggregate(body=body, target=target):
                yield from _terms(body)
                if target is not None:
                    yield (target,)


def _parts(term: Term) -> Iterator[Constant]:
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Constant):
            yield one
        elif isinstance(one, Apply):
            waiting += one.arguments


def _constants(rule: Rule) -> Iterator[Constant]:
    for together in ((one,) for one in rule.head.terms), _terms(rule.body):
        for terms in together:
            for term in terms:
                yield from _parts(term)


def _computed_from(rule: Rule) -> Iterator[Constant]:
    """Yield the constants that stand together with a function: only these tell types apart."""
    for together in ((one,) for one in rule.head.terms), _terms(rule.body):
        for terms in together:
            if any(isinstance(term, Apply) for term in terms):
                for term in terms:
                    yield from _parts(term)
