"""Write terms, literals, rules, rows and whole programs as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate
from types import MappingProxyType
from typing import Final, assert_never

from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    NIL,
    RECORD,
    Aggregate,
    Apply,
    Atom,
    Branch,
    Column,
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
    Program,
    Rule,
    Slot,
    Term,
    TypeDefinition,
    Value,
    Variable,
    canonical_decimal,
    display_value,
    is_constructor,
    null_words,
    unquoted,
)
from constat.patterns import regex
from constat.syntax.mistakes.declarations import LANGUAGE_VERSION
from constat.syntax.words import ATOMIC, CONSTRAINT_WORDS, INFIX, PREFIX_POWER, STAND_INS, UNARY

# The numbers add up to the length of the body, and opening the patterns again gives the same
# literals.

# What has more fields than any type was not made by analysis.
_COUNT: Final = regex(r"[0-9]{1,4}\Z")
_WILDCARD: Final = Variable("_1")


def regrouped(body: Sequence[Literal]) -> Iterator[tuple[Literal, int]]:
    """Yield the literals of a body with each group of functions as one pattern.

    An aggregate comes as it is: its body is another.
    """
    place = 0
    while place < len(body):
        literal, size = _pattern(body, place)
        yield literal, size
        place += size


def _pattern(body: Sequence[Literal], place: int) -> tuple[Literal, int]:
    """Read the group that begins at a place; the literal there alone where none does."""
    first = body[place]
    begun = _constructor(first)
    if begun is None:
        return first, 1
    structure, constructor, count = begun
    fields: dict[int, Term] = {}
    end = place + 1
    while end < len(body):
        found = _field(body[end], structure.name)
        if found is None or not max(fields, default=-1) < found[0] < count:
            break
        fields[found[0]] = found[1]
        end += 1
    arguments = tuple(fields.get(index, _WILDCARD) for index in range(count))
    made = Apply(constructor, arguments, Kind.STRUCTURE)
    span = first.span if isinstance(first, Comparison) else None
    return Comparison("=", structure, made, span), end - place


def _constructor(literal: Literal) -> tuple[Variable, str, int] | None:
    """Read `constructor_of(?r) = "$Add/2"` as the variable, the constructor and its fields."""
    match literal:
        case Comparison(
            operator="=",
            left=Apply(function=function, arguments=(Variable() as structure,)),
            right=Constant(value=str() as indicator),
        ) if function == CONSTRUCTOR_OF:
            constructor, _, count = indicator.rpartition("/")
            known = constructor == NIL or is_constructor(constructor)
            if known and _COUNT.match(count):
                return structure, constructor, int(count)
    return None


def _field(literal: Literal, structure: str) -> tuple[int, Term] | None:
    """Read `?l = field_of(?r, 0)` as the number of the field and the term."""
    match literal:
        case Comparison(
            operator="=",
            left=term,
            right=Apply(
                function=function,
                arguments=(Variable(name=name), Constant(value=int() as index)),
            ),
        ) if function == FIELD_OF and name == structure:
            return index, term
    return None


# Reading what was printed gives what was printed. Patterns that analysis has opened are put back.

_PRINTING_WILDCARD: Final = regex(r"_[0-9]+\Z")
_NAME: Final = regex(r"[A-Za-z][A-Za-z0-9_]*\Z")
_BARE_VALUE: Final = regex(r"(?:[A-Za-z][A-Za-z0-9_]*|[0-9]{1,18}(?:\.[0-9]{1,18})?)\Z")
_BARE_TOKEN: Final = regex(r"[A-Za-z0-9][A-Za-z0-9_.:+@/-]*\Z")
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
_PART: Final = regex(
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
                return "_" if _PRINTING_WILDCARD.match(name) else name
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
            if not (isinstance(term, Variable) and _PRINTING_WILDCARD.match(term.name))
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
        if isinstance(cell, NullCell) and cell.policy is NullPolicy.UNREAD:
            parts.append("_")
        elif isinstance(cell, NullCell) and cell.policy is NullPolicy.NONE:
            parts.append("no value")
        elif isinstance(slot, Open) or isinstance(cell, NullCell):
            parts.append("_" if column.name == "_" else f"?{column.name}")
        else:
            parts.append(_goal_value(slot, column.kind))
    return f"{predicate.name}({', '.join(parts)})"


def print_wanted(predicate: Predicate, row: OpenRow) -> str:
    """Write a row that somebody may ask for or state: `customer(customer_id = 2, state = ?state)`.

    By name where the predicate has many columns. What nobody reads is left out, or is `_`.
    """
    unread = frozenset(predicate.unread)
    if predicate.arity <= MOST_UNNAMED:
        columns = (
            replace(column, name="_") if place in unread else column
            for place, column in enumerate(predicate.columns)
        )
        return print_row(replace(predicate, columns=tuple(columns)), row)
    cells = zip(predicate.columns, row, strict=True)
    parts = (
        f"{column.name} = {print_cell(slot, column)}"
        for place, (column, slot) in enumerate(cells)
        if place not in unread or not isinstance(slot, Open | NullCell)
    )
    return f"{predicate.name}({', '.join(parts)})"


def print_cell(slot: Slot, column: Column) -> str:
    """Write a value as goals have it, or the variable of its column."""
    if isinstance(slot, Open | NullCell):
        return f"?{column.name}"
    return _goal_value(slot, column.kind)


def print_stated(predicate: Predicate, cells: Sequence[object]) -> str:
    """Write what is stated of a row, to paste back: `tier(c = C001, t = gold)`.

    By name where it leaves columns out: `None`, or a null cell.
    """
    known: list[tuple[Column, Value]] = [
        (column, cell)
        for column, cell in zip(predicate.columns, cells, strict=True)
        if isinstance(cell, int | float | str | Decimal)
    ]
    if len(known) == len(cells):
        return print_row(predicate, tuple(cell for _, cell in known))
    parts = (f"{column.name} = {_goal_value(cell, column.kind)}" for column, cell in known)
    return f"{predicate.name}({', '.join(parts)})"


def _goal_value(value: Value, kind: Kind) -> str:
    if kind is Kind.STRUCTURE:
        return _structure(str(value), typed=True)
    text = display_value(value, kind)
    if kind.numeric or _BARE_TOKEN.match(text):
        return text
    return print_text(text)


# `parse_text(print_program(p))` gives `p`. Order: marker, types, each predicate with its input and
# output, the sizes to print, then the rules in their order, a blank line where the predicate
# changes.

PRELUDE_NAME = "constat/prelude.dl"


def print_program(program: Program) -> str:
    """Write a program."""
    header = [f'.pragma "constat" "{LANGUAGE_VERSION}"']
    if _needs_prelude(program):
        header.append(f'.include "{PRELUDE_NAME}"')
    blocks = ["\n".join(header)]
    if program.types:
        blocks.append("\n".join(map(_type, program.types.values())))
    blocks.extend(_predicate(one, program) for one in program.predicates.values())
    if program.sizes:
        blocks.append("\n".join(f".printsize {name}" for name in program.sizes))
    blocks.extend(_rules(program.rules, program.predicates))
    return "\n\n".join(blocks) + "\n"


def _needs_prelude(program: Program) -> bool:
    used = {column.type_name for one in program.predicates.values() for column in one.columns}
    used.update(member for one in program.types.values() for member in one.members)
    branches = (branch for one in program.types.values() for branch in one.branches)
    used.update(column.type_name for branch in branches for column in branch.fields)
    return not used.isdisjoint(STAND_INS)


def _type(definition: TypeDefinition) -> str:
    lines = [
        *print_description(definition.description),
        *print_attributes(dict(definition.attributes)),
        print_type(definition),
    ]
    return "\n".join(lines)


def print_type(definition: TypeDefinition) -> str:
    """Write a type definition without what stands before it."""
    sign = "<:" if definition.form == "subtype" else "="
    start = f".type {definition.name} {sign}"
    parts = [*definition.members, *map(_branch, definition.branches)]
    line = f"{start} {' | '.join(parts)}"
    if len(line) <= WIDTH or not definition.branches:
        return line
    if definition.form == "record":
        fields = ",\n  ".join(map(_column, definition.branches[0].fields))
        return f"{start} [\n  {fields}\n]"
    return f"{start}\n  " + "\n  | ".join(parts)


def _branch(branch: Branch) -> str:
    fields = ", ".join(map(_column, branch.fields))
    if branch.constructor == RECORD:
        return f"[{fields}]"
    name = branch.constructor.removeprefix("$")
    return f"{name} {{ {fields} }}" if fields else f"{name} {{}}"


def _predicate(predicate: Predicate, program: Program) -> str:
    attributes = dict(predicate.attributes)
    lines = [*print_description(predicate.description), *print_attributes(attributes)]
    columns = ", ".join(map(_column, predicate.columns))
    lines.append(f".decl {predicate.name}({columns})")
    if predicate.source is not None:
        lines.append(f".input {predicate.name}{_parameters(dict(predicate.source.parameters))}")
    if predicate.name in program.outputs:
        given = program.outputs[predicate.name]
        # `expect.proved` cannot be a parameter: it came from `@[expect(proved = ...)]`.
        lines.extend(print_attributes({k: v for k, v in given.items() if "." in k}))
        plain = {k: v for k, v in given.items() if "." not in k}
        lines.append(f".output {predicate.name}{_parameters(plain)}")
    return "\n".join(lines)


def _column(column: Column) -> str:
    attributes = attribute_texts(dict(column.attributes))
    return " ".join([*attributes, f"{column.name}: {column.type_name}"])


def print_signature(predicate: Predicate) -> str:
    """Write a predicate with the types of its columns, and which cells may have no value."""
    columns = zip(predicate.columns, null_words(predicate), strict=True)
    listed = ", ".join(print_column(column, word) for column, word in columns)
    return f"{predicate.name}({listed})"


def print_column(column: Column, word: str) -> str:
    """Write a column with its type; `word` is the one for its nulls."""
    return f"{column.name}: {column.type_name}{missing_note(word)}"


def missing_note(word: str) -> str:
    """Say what the word for the nulls of a column means to who asks about it; often nothing."""
    held = {policy.value for policy in NullPolicy}
    return " (may be missing)" if word in held else ""


def _parameters(parameters: dict[str, str]) -> str:
    if not parameters:
        return ""
    written = (f"{key}={attribute_value(value)}" for key, value in parameters.items())
    return f"({', '.join(written)})"


def _rules(rules: tuple[Rule, ...], predicates: Predicates) -> list[str]:
    """The rules, those of one predicate that follow each other in one block."""
    blocks: list[str] = []
    counts: dict[str, int] = {}
    before = ""
    for rule in rules:
        name = rule.head.predicate
        counts[name] = counts.get(name, 0) + 1
        text = print_rule_as(rule, predicates, with_id=rule.id != f"{name}.{counts[name]}")
        if blocks and name == before:
            blocks[-1] += f"\n{text}"
        else:
            blocks.append(text)
        before = name
    return blocks
