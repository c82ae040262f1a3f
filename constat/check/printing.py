"""Rules, goals and values as text in the surface syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from . import functions
from .rules import (
    Aggregate,
    Call,
    Comparison,
    Constant,
    Literal,
    Negative,
    Positive,
    Term,
    Variable,
    Wildcard,
)
from .values import (
    HIDDEN,
    NONE,
    NUMERIC,
    QUOTED,
    RECORD,
    STRUCTURE,
    UNREAD,
    Hole,
    Label,
    Null,
    Value,
    is_hidden,
    parse,
)

if TYPE_CHECKING:
    from .certificate import Goal
    from .rules import Atom, Program, Rule

# The pattern says all that these literals say, and nothing more.  FORMAT.md, section 9.

# So many fields at most: a short literal must not become a long line.
_INDICATOR: Final = re.compile(r"(?:nil/0|(\[\]|\$[A-Za-z_][A-Za-z0-9_]*)/(0|[1-9][0-9]?))\Z")


@dataclass(frozen=True, slots=True)
class Opened:
    """``end`` is the place behind the literals; a field that none of them names is ``None``."""

    whole: Variable
    constructor: str
    fields: tuple[Term | None, ...]
    end: int


def opened_at(body: tuple[Literal, ...], place: int) -> Opened | None:
    """Return the structure that the literals from a place on take apart."""
    found = _asked_constructor(body[place])
    if found is None:
        return None
    whole, constructor, count = found
    fields: list[Term | None] = [None] * count
    end = place + 1
    least = 0
    while end < len(body):
        asked = _asked_field(body[end], whole)
        if asked is None or not least <= asked[0] < count:
            break
        least = asked[0] + 1
        fields[asked[0]] = asked[1]
        end += 1
    return Opened(whole, constructor, tuple(fields), end)


def _asked_constructor(literal: Literal) -> tuple[Variable, str, int] | None:
    match literal:
        case Comparison("=", Call("constructor_of", (Variable() as whole,)), Constant(text)) if (
            isinstance(text, str) and (found := _INDICATOR.match(text))
        ):
            return whole, found[1] or "nil", int(found[2] or 0)
        case _:
            return None


def _asked_field(literal: Literal, whole: Variable) -> tuple[int, Term] | None:
    match literal:
        case Comparison("=", left, Call("field_of", (Variable() as asked, Constant(place)))) if (
            asked == whole
        ):
            return int(str(place)), left
        case _:
            return None


# The text is made from the checked rule alone, so a sentence beside it cannot make it say
# something else; control characters are escaped, so a certificate cannot repaint the terminal.

_INFIX: Final = frozenset({"+", "-", "*", "/", "%", "^"}) | functions.BINARY
_NAMED: Final = frozenset({"match", "contains"})
_TEXT_OR_FLOAT: Final = re.compile(rf"{QUOTED}|-?0x[0-9a-f.]++p[-+][0-9]++")


def printable(text: str) -> str:
    """Return the text with every character that does not print escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(text: str) -> str:
    """Return the text between quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def show_value(kind: str, value: Value) -> str:
    """Return a value as it stands in a rule; ``_`` for a hole."""
    if isinstance(value, Hole):
        return "_"
    if isinstance(value, Label):
        return show_label(value)
    if isinstance(value, Null):
        return "none" if value == NONE else "(not read)" if value == UNREAD else "maybe"
    text = str(value)
    if is_hidden(text):
        return f"hidden({text[len(HIDDEN) + len('sha256:') :][:8]})"
    if kind == "float":
        return repr(parse(kind, text))
    if kind == STRUCTURE:
        return printable(_TEXT_OR_FLOAT.sub(lambda found: _short(found[0]), text))
    return text if kind in NUMERIC else quoted(text)


def show_label(label: Label) -> str:
    """Return a label as its number, within the function that made it."""
    unknown = f"unknown({label.number})"
    if label.made is None:
        return unknown
    function, given = label.made
    return f"{function}({', '.join([unknown if one is None else quoted(one) for one in given])})"


def _short(part: str) -> str:
    return part if part[0] == '"' else repr(parse("float", part))


def show_row(predicate: str, kinds: tuple[str, ...], row: tuple[Value, ...]) -> str:
    """Return an atom of values."""
    return f"{predicate}({', '.join(map(show_value, kinds, row))})"


def show_goal(goal: Goal, program: Program) -> str:
    """Return the goal; its variables are ``_``."""
    return show_row(goal.predicate, program.declarations[goal.predicate].kinds, goal.pattern)


def show_literal(rule: Rule, place: int) -> str:
    """Return one literal of the rule's body."""
    return _printer(rule).literal(rule.body[place])


def show_rule(rule: Rule) -> str:
    """Return the rule, ending with a full stop."""
    printer = _printer(rule)
    head = printer.atom(rule.head)
    if not rule.body:
        return f"{head}."
    return f"{head} :- {printer.body(rule.body)}."


def _printer(rule: Rule) -> _Printer:
    return _Printer(tuple(n if n[0] in "?_" else f"?{n}" for n, _ in rule.variables))


def _made(constructor: str, fields: list[str]) -> str:
    """Return a structure as it is written; a branch without fields is its name.

    What is not a record is written as any function is.
    """
    inner = ", ".join(fields)
    if constructor == RECORD:
        return f"[{inner}]"
    return f"{constructor}({inner})" if fields else constructor


class _Printer:
    """Prints with the names of one rule's variables."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def atom(self, atom: Atom) -> str:
        return f"{atom.predicate}({', '.join(map(self.term, atom.args))})"

    def term(self, term: Term) -> str:
        match term:
            case Variable(position):
                return self.names[position]
            case Wildcard():
                return "_"
            case Constant(value, kind):
                return show_value(kind, value)
            case Call():
                return self.call(term)

    def call(self, term: Call) -> str:
        args = [self.term(inner) for inner in term.args]
        if term.function in _INFIX:
            return f"({args[0]} {term.function} {args[1]})"
        if term.function == "neg":
            return f"(-{args[0]})"
        if term.function in functions.UNARY:
            return f"({term.function} {args[0]})"
        if term.function == "as":
            return f"as({args[0]}, {term.kind})"
        return _made(term.function, args)

    def body(self, literals: tuple[Literal, ...]) -> str:
        shown: list[str] = []
        place = 0
        while place < len(literals):
            opened = opened_at(literals, place)
            shown.append(self.literal(literals[place]) if opened is None else self.opened(opened))
            place = place + 1 if opened is None else opened.end
        return ", ".join(shown)

    def opened(self, opened: Opened) -> str:
        fields = ["_" if field is None else self.term(field) for field in opened.fields]
        return f"{self.term(opened.whole)} = {_made(opened.constructor, fields)}"

    def literal(self, literal: Literal) -> str:
        match literal:
            case Positive(atom):
                return self.atom(atom)
            case Negative(atom):
                return f"!{self.atom(atom)}"
            case Comparison():
                return self.comparison(literal)
            case Aggregate():
                return self.aggregate(literal)

    def comparison(self, test: Comparison) -> str:
        left, right = self.term(test.left), self.term(test.right)
        if test.operator.removeprefix("!") in _NAMED:
            return f"{test.operator}({left}, {right})"
        return f"{left} {test.operator} {right}"

    def aggregate(self, literal: Aggregate) -> str:
        target = "" if literal.target is None else f" {self.term(literal.target)}"
        result = self.names[literal.result.position]
        return f"{result} = {literal.function}{target} : {{ {self.body(literal.body)} }}"
