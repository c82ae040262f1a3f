"""Read goals and facts as people type them on the command line.

In: a text such as `is_vip(C001)` and a program whose columns have kinds. Out: an atom with typed
constants. Invariant: a bare token is a constant of its column, never a variable: variables begin
with `?` or `_`. Named columns may stand in any order, and those left out are free. Examples:
`is_vip(?c)`, `is_vip(customer = C001)`, `hired(2024-01-01, "J. Doe")`.
"""

from __future__ import annotations

import re
from functools import partial
from types import MappingProxyType
from typing import Final, NoReturn

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.logic import (
    Atom,
    Column,
    Constant,
    Kind,
    Predicate,
    Program,
    Row,
    Term,
    Value,
    Variable,
    check_integer,
    null_policies,
    parse_value,
    quoted,
    read_as,
)
from constat.syntax.goal_tokens import Argument, GoalScanner
from constat.syntax.mistakes import goals

GOAL_NAME: Final = "<goal>"
FACT_NAME: Final = "<fact>"
_QUOTABLE: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
# What rules may write for an integer and sources do not: `0x1F`, `0b101`, `12u`.
_LITERAL: Final = re.compile(
    r"(-?)(0x(?=[0-9a-fA-F]+u?\Z)|0b(?=[01]+u?\Z)|(?=[0-9]+u?\Z))([0-9a-fA-F]{1,70})(u?)\Z"
)
_BASES: Final = MappingProxyType({"0x": 16, "0b": 2, "": 10})

# A column with its argument, or without where the goal names others.
_Given = tuple[Column, Argument | None]


def parse_goal(text: str, program: Program) -> Atom:
    """Read a goal. Raises `ConstatError` with every mistake of it, placed in `<goal>`."""
    reader = GoalReader(text, GOAL_NAME, program)
    predicate, terms = reader.read()
    reader.finish()
    return Atom(predicate.name, terms, reader.scanner.whole())


def parse_fact(text: str, program: Program) -> tuple[str, Row]:
    """Read a ground atom as a predicate and a row. Raises `ConstatError`, placed in `<fact>`."""
    reader = GoalReader(text, FACT_NAME, program)
    predicate, terms = reader.read()
    row = []
    for column, term in zip(predicate.columns, terms, strict=True):
        if isinstance(term, Constant):
            row.append(term.value)
        else:
            name = f"?{term.name}" if isinstance(term, Variable) and term.span else column.name
            span = (term.span if isinstance(term, Variable) else None) or reader.scanner.whole()
            reader.diagnostics.append(goals.open_fact(span, name))
    reader.finish()
    return predicate.name, tuple(row)


class GoalReader:
    """Reads one goal against the declared predicates."""

    def __init__(self, text: str, source: str, program: Program) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.scanner = GoalScanner(text, source, self.diagnostics)
        self.program = program
        self.names: dict[str, None] = {}

    def finish(self) -> None:
        """Raise what has been found."""
        if self.diagnostics:
            raise ConstatError(self.diagnostics)

    def fail(self, diagnostic: Diagnostic) -> NoReturn:
        """Give up with one more mistake."""
        raise ConstatError([*self.diagnostics, diagnostic])

    def read(self) -> tuple[Predicate, tuple[Term, ...]]:
        """Read the whole atom."""
        name, span = self.scanner.predicate()
        predicate = self.program.predicates.get(name)
        arguments = self.scanner.arguments(partial(_is_text, predicate))
        self.finish()
        if predicate is None:
            self.fail(goals.unknown_predicate(span, name, sorted(self.program.predicates)))
        given = self.assign(predicate, arguments, span)
        nullable = zip(given, null_policies(predicate), strict=True)
        terms = tuple(
            # Where a cell may be null it matters that the goal does not read it; by name it does.
            self.unread(place, None if argument is None else argument.span)
            if policy is not None and (argument is None or _is_left_open(argument))
            else self.term(column, argument)
            for place, ((column, argument), policy) in enumerate(nullable)
        )
        return predicate, terms

    def unread(self, place: int, span: Span | None) -> Variable:
        """Give the variable of a column that is not read, the only one of its name."""
        return Variable(f"_{place + 1}", span)

    def assign(self, predicate: Predicate, arguments: list[Argument], span: Span) -> list[_Given]:
        """Give each column its argument, by name or by position."""
        named = [one for one in arguments if one.name]
        if not named:
            if len(arguments) != predicate.arity:
                self.fail(goals.wrong_arity(span, predicate, len(arguments)))
            return list(zip(predicate.columns, arguments, strict=True))
        if len(named) != len(arguments):
            place = next(one.span for one in arguments if not one.name)
            self.fail(goals.mixed_arguments(place, _all_named(predicate, arguments)))
        found: dict[str, Argument] = {}
        columns = {column.name for column in predicate.columns}
        for one in named:
            if one.name not in columns:
                self.diagnostics.append(goals.unknown_column(one.span, one.name, predicate))
            elif one.name in found:
                self.diagnostics.append(goals.column_again(one.span, one.name))
            found.setdefault(one.name, one)
        self.finish()
        return [(column, found.get(column.name)) for column in predicate.columns]

    def term(self, column: Column, argument: Argument | None) -> Term:
        """Turn an argument into a variable or a constant of the column's kind."""
        if argument is None:
            return Variable(self.fresh(column.name))
        match argument.form:
            case "variable":
                if argument.text in self.names:
                    self.diagnostics.append(goals.repeated_variable(argument.span, argument.text))
                self.names[argument.text] = None
                return Variable(argument.text, argument.span)
            case "wild":
                return Variable(self.fresh(column.name), argument.span)
            case _:
                return self.constant(column, argument)

    def fresh(self, wanted: str) -> str:
        """A variable's name that the goal does not use."""
        taken = {*self.names, *self.scanner.variables}
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        self.names[name] = None
        return name

    def constant(self, column: Column, argument: Argument) -> Constant:
        """Read a constant of a column's kind."""
        # `"5"` for a number is a type error in rules; it must not mean something else here.
        if argument.form == "text" and column.kind not in _QUOTABLE:
            self.diagnostics.append(goals.quoted_number(argument.span, column, argument.text))
            return Constant(argument.text, Kind.SYMBOL, argument.span)
        try:
            value = _value(argument, column)
        except ValueError as error:
            self.diagnostics.append(goals.wrong_value(argument.span, column, str(error)))
            value = argument.text
        return Constant(value, column.kind, argument.span)


def _is_left_open(argument: Argument) -> bool:
    """Whether an argument is `_` at its place; `column = _` writes the column."""
    return argument.form == "wild" and not argument.name


def _is_text(predicate: Predicate | None, place: int, name: str) -> bool:
    """Whether an argument goes to a column of texts, by its name or its place."""
    columns = predicate.columns if predicate else ()
    mine = [one for one in columns if one.name == name] if name else columns[place : place + 1]
    return any(one.kind is Kind.SYMBOL for one in mine)


def _all_named(predicate: Predicate, arguments: list[Argument]) -> str:
    """Write a goal with the names of its arguments: those without go by their place."""
    parts = []
    for place, one in enumerate(arguments):
        name = one.name or (predicate.columns[place].name if place < predicate.arity else "column")
        parts.append(f"{name} = {_spelled(one)}")
    return f"{predicate.name}({', '.join(parts)})"


def _spelled(argument: Argument) -> str:
    match argument.form:
        case "variable":
            return argument.text if argument.text.startswith("_") else f"?{argument.text}"
        case "text":
            return quoted(argument.text)
        case _:
            return argument.text


def _value(argument: Argument, column: Column) -> Value:
    """Read a bare token as a value; integers also in the spellings of rules."""
    text, kind = argument.text, column.kind
    if kind is Kind.STRUCTURE:
        return read_as(text, column)
    if argument.form == "structure":
        raise ValueError("is a structure")
    literal = _LITERAL.match(text) if kind in _INTEGERS else None
    if literal is None:
        return parse_value(text, kind)
    if literal[4] and kind is not Kind.UNSIGNED:
        raise ValueError("is unsigned, as its `u` says")
    return check_integer(int(literal[1] + literal[3], _BASES[literal[2]]), kind)
