"""Write terms, literals, rules and rows as text.

In: values of `constat.logic`. Out: text that reads back as the same values. Invariant (a law of
the tests): reading what was printed gives what was printed. Patterns that analysis has opened are
put back. Example: `Variable("x")` is `?x`, `Variable("_1")` is `_`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate
from types import MappingProxyType
from typing import Final, assert_never

from constat.logic import (
    NIL,
    RECORD,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    NullCell,
    NullPolicy,
    Open,
    OpenRow,
    Positive,
    Predicate,
    Rule,
    Term,
    Value,
    Variable,
    canonical_decimal,
    display_value,
    is_constructor,
    unquoted,
)
from constat.syntax.operators import ATOMIC, INFIX, PREFIX_POWER, UNARY
from constat.syntax.regrouping import regrouped
from constat.syntax.words import CONSTRAINT_WORDS

_WILDCARD: Final = re.compile(r"_[0-9]+\Z")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_BARE_VALUE: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9_]*|[0-9]{1,18}(?:\.[0-9]{1,18})?)\Z")
_BARE_TOKEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+@/-]*\Z")
_ESCAPES: Final = MappingProxyType(
    str.maketrans(
        {
            "\\": "\\\\",
            '"': '\\"',
            "\a": "\\a",
            "\b": "\\b",
            "\f": "\\f",
            "\n": "\\n",
            "\r": "\\r",
            "\t": "\\t",
            "\v": "\\v",
        }
    )
)
WIDTH: Final = 96
MOST_UNNAMED: Final = 5
"""So many columns are told apart by their places; atoms of more are written with names."""
Predicates = Mapping[str, Predicate]
UNDECLARED: Final[Predicates] = MappingProxyType({})
# A name first, so that a number in it is none; then what rules spell in another way.
_PART: Final = re.compile(
    r'\$\w+|"[^"\\]*(?:\\.[^"\\]*)*"|-?0x[0-9a-f.]+p[+-][0-9]+|-?[0-9]+(?:\.[0-9]+)?',
    re.ASCII | re.DOTALL,
)
_NUMBERS: Final = range(-(1 << 63), 1 << 63)
_UNSIGNED: Final = range(1 << 64)


def print_text(text: str) -> str:
    """Write a text in quotes."""
    return f'"{text.translate(_ESCAPES)}"'


def print_term(term: Term) -> str:
    """Write a term."""
    return _term(term, 0)


def _term(term: Term, power: int) -> str:
    """Write a term, in brackets where it binds less tightly than `power`."""
    match term:
        case Variable(name=name):
            if name.startswith("_"):
                return "_" if _WILDCARD.match(name) else name
            return f"?{name}"
        case Constant(value=value, kind=kind):
            return print_value(value, kind)
        case Apply():
            text, own = _apply(term)
            return f"({text})" if own < power else text
        case _:
            assert_never(term)


def _apply(term: Apply) -> tuple[str, int]:
    """Write a function and say how tightly it binds."""
    function, arguments = term.function, term.arguments
    power = INFIX.get(function)
    if function in UNARY:
        return _prefixed(function, arguments[0]), PREFIX_POWER
    if power is None:
        parts = [_term(argument, 0) for argument in arguments]
        if function == RECORD:
            return f"[{', '.join(parts)}]", ATOMIC
        if function == NIL or (is_constructor(function) and not parts):
            return function, ATOMIC
        if function == "as":
            parts.append(term.type_name or (term.kind.value if term.kind else ""))
        return f"{function}({', '.join(parts)})", ATOMIC
    left, right = arguments
    if function == "^":
        # It binds from the right, and `-2 ^ 2` is `-(2 ^ 2)`.
        return f"{_base(left)} ^ {_term(right, power)}", power
    return f"{_term(left, power)} {function} {_term(right, power + 1)}", power


def _prefixed(function: str, argument: Term) -> str:
    """Write an operator before its term."""
    inner = _term(argument, ATOMIC)
    if function != "neg":
        return f"{function} {inner}"
    # `-5` is one constant, and `--` would start a comment elsewhere: both need brackets here.
    plain = isinstance(argument, Variable) or inner[-1:] == ")"
    return f"-{inner}" if plain else f"-({inner})"


def _base(term: Term) -> str:
    """Write what is raised to a power."""
    text = _term(term, ATOMIC)
    return f"({text})" if text.startswith("-") else text


def print_value(value: Value, kind: Kind) -> str:
    """Write a constant."""
    match kind:
        case Kind.NUMBER:
            return str(value)
        case Kind.UNSIGNED:
            return f"{value}u"
        case Kind.DECIMAL:
            return _pointed(Decimal(value))
        case Kind.FLOAT:
            return _float(float(value))
        case Kind.STRUCTURE:
            return _structure(str(value), typed=False)
        case _:
            return print_text(str(value))


def _structure(structure: str, *, typed: bool) -> str:
    """Write a structure; where its type is `typed` by what reads it, integers need no sign of it.

    Else they are as rules spell those that are no number: an unsigned or a decimal.
    """

    def written(found: re.Match[str]) -> str:
        part = found[0]
        if part[0] == "$":
            return part
        if part[0] == '"':
            return print_text(unquoted(part))
        if "0x" in part:
            return _float(float.fromhex(part))
        if typed or "." in part or int(part) in _NUMBERS:
            return part
        return f"{part}u" if int(part) in _UNSIGNED else f"{part}.0"

    return _PART.sub(written, structure)


def _pointed(value: Decimal) -> str:
    text = f"{value:f}"
    return text if "." in text else text + ".0"


def _float(value: float) -> str:
    try:
        return _pointed(canonical_decimal(Decimal(repr(value))))
    except ValueError:
        mantissa, _, exponent = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"


def is_wide(predicate: Predicate) -> bool:
    """Whether atoms of a predicate are written with the names of their columns."""
    return predicate.arity > MOST_UNNAMED


def print_atom(atom: Atom, predicates: Predicates = UNDECLARED) -> str:
    """Write an atom, with the names of its columns where it is declared with more than five.

    Columns that hold `_` are left out then.
    """
    predicate = predicates.get(atom.predicate)
    if predicate is not None and is_wide(predicate) and len(atom.terms) == predicate.arity:
        written = [
            f"{column.name} = {print_term(term)}"
            for column, term in zip(predicate.columns, atom.terms, strict=True)
            if not (isinstance(term, Variable) and _WILDCARD.match(term.name))
        ]
        if written:
            return f"{atom.predicate}({', '.join(written)})"
    return f"{atom.predicate}({', '.join(map(print_term, atom.terms))})"


def print_literal(literal: Literal, predicates: Predicates = UNDECLARED) -> str:
    """Write a literal of a body."""
    match literal:
        case Positive(atom):
            return print_atom(atom, predicates)
        case Negative(atom):
            return f"!{print_atom(atom, predicates)}"
        case Comparison(operator=operator, left=left, right=right):
            if operator.lstrip("!") in CONSTRAINT_WORDS:
                return f"{operator}({print_term(left)}, {print_term(right)})"
            return f"{print_term(left)} {operator} {print_term(right)}"
        case Aggregate(function=function, result=result, target=target, body=body):
            inner = ", ".join(print_literal(one, predicates) for one, _ in regrouped(body))
            over = "" if target is None else f" {_target(target)}"
            return f"{print_term(result)} = {function}{over} : {{ {inner} }}"
        case _:
            assert_never(literal)


def _target(target: Term) -> str:
    # `sum (?x + 1) * 2 : ...` would read as a call of `sum`: operators stand in brackets.
    return _term(target, ATOMIC)


def print_rule(rule: Rule, predicates: Predicates = UNDECLARED) -> str:
    """Write a rule with its attributes; an id that is only its number is left out."""
    numbered = rule.id.startswith(rule.head.predicate + ".")
    plain = numbered and rule.id[len(rule.head.predicate) + 1 :].isdigit()
    return print_rule_as(rule, predicates, with_id=not plain)


def print_rule_as(rule: Rule, predicates: Predicates = UNDECLARED, *, with_id: bool) -> str:
    """Write a rule, with its id or without."""
    attributes: dict[str, str] = {"id": rule.id} if with_id else {}
    if rule.confidence != 1:
        attributes["confidence"] = f"{rule.confidence:f}"
    attributes.update(rule.attributes)
    if "reasons" in attributes:
        attributes["reasons"] = _reasons(rule)
    description = attributes.pop("description", "")
    lines = [*print_description(description), *print_attributes(attributes)]
    return "\n".join([*lines, _rule_body(rule, predicates)])


def _reasons(rule: Rule) -> str:
    """Give the reason codes of the literals as they are printed: a pattern is one of them."""
    codes = rule.attributes["reasons"].split(",")
    counts = [count for _, count in regrouped(rule.body)]
    if len(codes) != len(rule.body) or len(counts) == len(codes):
        return rule.attributes["reasons"]
    return ",".join(
        codes[end - count] for count, end in zip(counts, accumulate(counts), strict=True)
    )


def _rule_body(rule: Rule, predicates: Predicates) -> str:
    if not rule.body:
        # Facts are tables: names would be the same in every line.
        return f"{print_atom(rule.head)}."
    head = print_atom(rule.head, predicates)
    literals = [print_literal(literal, predicates) for literal, _ in regrouped(rule.body)]
    line = f"{head} :- {', '.join(literals)}."
    if len(line) <= WIDTH:
        return line
    return f"{head} :-\n  " + ",\n  ".join(literals) + "."


def print_description(description: str) -> list[str]:
    """The lines of a description."""
    return [f"/// {line}".rstrip() for line in description.split("\n")] if description else []


def print_attributes(attributes: dict[str, str]) -> list[str]:
    """The lines of the attributes: several on a line where they fit."""
    lines: list[str] = []
    for text in attribute_texts(attributes):
        if lines and len(lines[-1]) + 1 + len(text) <= WIDTH:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


def attribute_texts(attributes: dict[str, str]) -> list[str]:
    """Each attribute as text; `approved.by` and `approved.on` become one."""
    groups: dict[str, list[str]] = {}
    for key, value in attributes.items():
        name, _, part = key.partition(".")
        if "." in part:
            # Set by the program, not by a text: it has no spelling.
            continue
        label = f"{name}(" if part else name
        groups.setdefault(label, []).append(f"{part or name} = {attribute_value(value)}")
    return [
        f"@[{label}{', '.join(parts)})]" if label.endswith("(") else f"@[{parts[0]}]"
        for label, parts in groups.items()
    ]


def attribute_value(value: str) -> str:
    """Write the value of an attribute or parameter: bare where it is a name or a number."""
    return value if _BARE_VALUE.match(value) else print_text(value)


def print_row(predicate: Predicate, row: OpenRow) -> str:
    """Write a row as a goal to paste back: `tier(C001, ?t)`.

    No goal says that a cell has no value; it is written in words.
    """
    parts = []
    cells: tuple[object, ...] = row
    for column, slot, cell in zip(predicate.columns, row, cells, strict=True):
        if isinstance(cell, NullCell) and cell.policy is NullPolicy.NONE:
            parts.append("no value")
        elif isinstance(slot, Open) or isinstance(cell, NullCell):
            parts.append("_" if column.name == "_" else f"?{column.name}")
        else:
            parts.append(_goal_value(slot, column.kind))
    return f"{predicate.name}({', '.join(parts)})"


def _goal_value(value: Value, kind: Kind) -> str:
    if kind is Kind.STRUCTURE:
        return _structure(str(value), typed=True)
    text = display_value(value, kind)
    if kind.numeric or _BARE_TOKEN.match(text):
        return text
    return print_text(text)
