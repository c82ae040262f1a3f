"""The constants that a draft brings along: values that nobody has asked for or stored.

In: rules, and the texts in which a value may have been seen. Out: the constants that are in none of
them. Invariant: 0 and 1 never count, nor values that approved rules hold. Example: `?t > 100000` is
reported where neither the question nor what was looked up has 100,000: a model that does not know a
threshold writes one that looks right.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    display_value,
)
from constat.logic.structures import leaves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic import Atom, Literal, Rule, Term

_NUMBER: Final = re.compile(r"[0-9][0-9,_]*(?:\.[0-9]+)?")
_SQL_TEXT: Final = re.compile(r"'((?:[^']|'')*)'")
_SQL_NUMBER: Final = re.compile(r"(?<![\w.\"`])[0-9]{1,40}(?:\.[0-9]{1,40})?(?![\w\"`])")
_SCALES: Final = (
    ("thousand", 10**3),
    ("million", 10**6),
    ("billion", 10**9),
)
_END_OF_YEAR: Final = re.compile(r"[0-9]{4}-(?:01-01|12-31)\Z")
_PLAIN: Final = frozenset({Decimal(0), Decimal(1)})


def constants_of(rules: Iterable[Rule]) -> dict[str, Constant]:
    """Give the constants of rules by how they are shown, in order."""
    found: dict[str, Constant] = {}
    for rule in rules:
        for constant in _of_rule(rule):
            found.setdefault(display_value(constant.value, constant.kind), constant)
    return found


def query_constants(query: str) -> dict[str, Constant]:
    """Give the texts and numbers that stand in a query; a guess may stand there as well."""
    found: dict[str, Constant] = {}
    for text in _SQL_TEXT.findall(query):
        found.setdefault(text, Constant(text, Kind.SYMBOL))
    for number in _SQL_NUMBER.findall(_SQL_TEXT.sub(" ", query)):
        found.setdefault(number, Constant(Decimal(number), Kind.DECIMAL))
    return found


def unseen(constants: Iterable[Constant], texts: Iterable[str]) -> list[Constant]:
    """Give the constants that stand in none of the texts."""
    seen = "\n".join(texts).casefold()
    numbers = _numbers(seen)
    return [one for one in constants if not _stands(one, seen, numbers)]


def without_echo(text: str, said: Iterable[str]) -> str:
    """Give what a tool has told without what it was asked: an echo shows nothing.

    Otherwise a model could look a number up nowhere, and call it seen.
    """
    words = [one for one in said if one.strip()]
    numbers = _numbers("\n".join(words).casefold())
    # A number is taken out as a number: 5 is no part of 2025.
    plain = [one for one in words if not _NUMBER.fullmatch(one)]
    for word in sorted(plain, key=len, reverse=True):
        text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
    return _NUMBER.sub(lambda found: " " if _numbers(found[0]) & numbers else found[0], text)


def atom_constants(atom: Atom) -> Iterator[Constant]:
    """Yield the constants of an atom."""
    for term in atom.terms:
        yield from _of_term(term)


def _stands(constant: Constant, seen: str, numbers: frozenset[Decimal]) -> bool:
    if constant.kind.numeric:
        value = abs(Decimal(str(constant.value)))
        return value in _PLAIN or value in numbers
    text = str(constant.value)
    if _END_OF_YEAR.match(text):
        # "in 2025" is from its first day to its last.
        return Decimal(text[:4]) in numbers
    return text.casefold() in seen


def _numbers(text: str) -> frozenset[Decimal]:
    found: set[Decimal] = set()
    for match in _NUMBER.finditer(text):
        try:
            value = Decimal(match[0].replace(",", "").replace("_", ""))
        except InvalidOperation:
            continue
        found.add(value)
        behind = text[match.end() :].lstrip(" -")
        # "1 million" is 1000000, and "5 %" may be written 5 or 0.05.
        found.update(value * scale for word, scale in _SCALES if behind.startswith(word))
        if behind.startswith(("%", "percent", "per cent")):
            found.add(value / 100)
    return frozenset(found)


def _of_rule(rule: Rule) -> Iterator[Constant]:
    yield from atom_constants(rule.head)
    for literal in rule.body:
        yield from _of_literal(literal)


def _of_literal(literal: Literal) -> Iterator[Constant]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield from atom_constants(atom)
        case Comparison(left=left, right=right):
            if not (isinstance(left, Apply) and left.function == CONSTRUCTOR_OF):
                yield from _of_term(left)
                yield from _of_term(right)
        case Aggregate(target=target, body=body):
            if target is not None:
                yield from _of_term(target)
            for inner in body:
                yield from _of_literal(inner)


def _of_term(term: Term) -> Iterator[Constant]:
    waiting = [term]
    while waiting:
        match waiting.pop():
            case Constant(value=value, kind=Kind.STRUCTURE, span=span):
                # A structure is made up of what stands in it.
                for leaf, kind in leaves_of(str(value)):
                    yield Constant(leaf, kind, span)
            case Constant() as constant:
                yield constant
            case Apply(function=function, arguments=arguments) if function == FIELD_OF:
                # Which field it is says the type, and nobody else.
                waiting.append(arguments[0])
            case Apply(arguments=arguments):
                waiting.extend(reversed(arguments))
            case _:
                pass
