"""Read goals and facts as people type them on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final, NoReturn

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.frozen import frozen
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
from constat.patterns import regex
from constat.syntax.cursor import read_text
from constat.syntax.lexer import Tokens
from constat.syntax.mistakes import declarations, goals, habits, spelling
from constat.syntax.printing import print_term

# The text is short enough and holds no character that no text may hold; `position` never passes
# its end.

MAX_LENGTH: Final = 100_000
TEXT: Final = regex(r'"[^"\\\n\r]*(?:\\[^\n\r][^"\\\n\r]*)*"')
VARIABLE: Final = regex(r"(?:\?[A-Za-z]|_[0-9]*[A-Za-z])[A-Za-z0-9_]*\Z")
_BLANK: Final = regex(r"\s*")
_NULLS: Final = frozenset({"NULL", "null"})
_SINGLE: Final = regex(rf"'{spelling.IN_SINGLE}'")


class GoalText:
    """A position in the text of a goal."""

    def __init__(self, text: str, source: str, diagnostics: list[Diagnostic]) -> None:
        self.text = text
        self.tokens = Tokens(text, source)
        self.diagnostics = diagnostics
        self.position = 0
        self._refuse_characters()

    def whole(self) -> Span:
        """The span of the goal."""
        return self.tokens.stretch(0, len(self.text))

    def here(self, length: int = 1) -> Span:
        """The span of the next characters."""
        return self.tokens.stretch(self.position, min(self.position + length, len(self.text)))

    def fail(self, diagnostic: Diagnostic) -> NoReturn:
        """Give up with one more mistake."""
        raise ConstatError([*self.diagnostics, diagnostic])

    def _refuse_characters(self) -> None:
        if len(self.text) > MAX_LENGTH:
            self.fail(goals.too_long(self.tokens.stretch(0, 1), MAX_LENGTH))
        place = self.text.find("\0")
        if place >= 0:
            self.fail(spelling.nul_character(self.tokens.stretch(place, place + 1)))
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            self.fail(spelling.half_surrogate(self.tokens.stretch(error.start, error.start + 1)))

    def skip_blank(self) -> None:
        """Step over blanks."""
        found = _BLANK.match(self.text, self.position)
        self.position = found.end() if found else self.position

    def quoted_text(self) -> str | None:
        """Read a text in quotes; nothing where none begins."""
        found = TEXT.match(self.text, self.position)
        if found is None:
            return None
        start, self.position = self.position, found.end()
        text, wrong = read_text(found.group())
        if wrong is not None:
            span = self.tokens.stretch(start, found.end())
            self.diagnostics.append(spelling.bad_escape(span, wrong))
        return text

    def refuse_quotes(self) -> None:
        """Refuse a text in single quotes, and one without its end."""
        start = self.position
        single = _SINGLE.match(self.text, start)
        if single is not None:
            span = self.tokens.stretch(start, single.end())
            self.fail(spelling.single_quotes(span, single.group()[1:-1].replace("''", "'")))
        if self.text.startswith('"', start):
            self.fail(spelling.open_text(self.tokens.stretch(start, len(self.text))))


# Brackets are counted, never recursed into; whether the fields are those of a type is not looked
# at.

_PIECE: Final = regex(r"""\s+|\$[A-Za-z_][A-Za-z0-9_]*|[\[\](),]|[^\s\[\](),"']+""", re.ASCII)
_CLOSERS: Final = frozenset("])")


class StructureScanner(GoalText):
    """The part of the scanner that reads structures."""

    def begins_structure(self) -> bool:
        """Whether a structure begins here."""
        return self.text.startswith(("[", "$"), self.position)

    def structure(self) -> str:
        """Step over a structure, and give its text."""
        parts: list[str] = []
        closers: list[str] = []
        before = ""
        while True:
            text = self.quoted_text()
            parts.append(self._piece(closers, before) if text is None else quoted(text))
            before = before if parts[-1].isspace() else parts[-1]
            if not closers and not self._opens_fields(before):
                return "".join(parts)

    def _piece(self, closers: list[str], before: str) -> str:
        """Step over blanks, a bracket, a constructor, a comma or a bare value."""
        start = self.position
        found = _PIECE.match(self.text, start)
        if found is None:
            self.refuse_quotes()
            if self.text.startswith("'", start):
                reason = "a text with a single quote needs quotes"
                self.fail(goals.malformed(self.here(), reason, "write it in double quotes"))
            missing = closers[-1] if closers else "]"
            reason = f"`{missing}` is missing at the end of this structure"
            self.fail(goals.malformed(self.here(), reason, f"write `{missing}`"))
        piece = found[0]
        self._refuse_gap(piece, before)
        if piece == "[":
            closers.append("]")
        elif piece == "(":
            self._open_fields(closers, before)
        elif piece in _CLOSERS:
            self._close(piece, closers)
        self.position = found.end()
        self._refuse_variable(piece, start)
        return piece

    def _refuse_gap(self, piece: str, before: str) -> None:
        """Refuse a field without a value; `""` is the empty text."""
        ends = piece == "," or piece in _CLOSERS
        if ends and (before == "," or (piece == "," and before in {"[", "("})):
            reason = f"a field is missing before `{piece}`"
            self.fail(goals.malformed(self.here(), reason, 'write it; `""` is an empty text'))

    def _opens_fields(self, piece: str) -> bool:
        """Whether fields follow a constructor."""
        place = self.position
        while place < len(self.text) and self.text[place].isspace():
            place += 1
        return piece[0] == "$" and self.text.startswith("(", place)

    def _open_fields(self, closers: list[str], before: str) -> None:
        if not before.startswith("$"):
            reason = "a function cannot stand in a goal"
            edit = "write its value, or quotes around a text with a bracket"
            self.fail(goals.malformed(self.here(), reason, edit))
        closers.append(")")

    def _close(self, piece: str, closers: list[str]) -> None:
        if closers[-1] != piece:
            reason = f"`{closers[-1]}` is missing before `{piece}`"
            self.fail(goals.malformed(self.here(), reason, f"write `{closers[-1]}` here"))
        closers.pop()

    def _refuse_variable(self, piece: str, start: int) -> None:
        if piece in {"_", "?"} or VARIABLE.match(piece):
            span = self.tokens.stretch(start, self.position)
            self.fail(declarations.open_structure(span, piece))


# Reading is linear in the text and bounded in its length; an argument is a variable, a quoted text
# or a bare token up to a comma, bracket or blank, or a structure up to the end of its brackets.

# The atom alone is another question: whoever is told to drop the `!` has a "yes" for a "no".
_DERIVED: Final = (
    "ask without it: where the goal does not hold, the verdict is DISPROVED. Or derive what is not "
    "so, and ask for that: `not_so(?x) :- all(?x), !p(?x).`, then `not_so(A)`"
)
_GROUND: Final = regex(r"([A-Za-z][A-Za-z0-9_]*)\s*\(([^?_()'$\[\]\"]*)\)[\s.]*")
"""An atom without variables, quotes and structures."""
_ONE_ATOM: Final = regex(r"[A-Za-z][A-Za-z0-9_]*\s*\([^()]*\)\s*")
_LISTED: Final = (
    "name what has the values first, and then deny: `all(?x), !{}`, with a predicate in the place "
    "of `all`"
)
_BARE_TEXT: Final = regex(r"(?<![^\s,=])(?![-\d.]+(?![^\s,]))[^\s,=]+(?=\s*(?:,|\Z))")
_NAME: Final = regex(r"[A-Za-z][A-Za-z0-9_]*")
_NAMED: Final = regex(r"([A-Za-z][A-Za-z0-9_]*)\s*=(?!=)\s*")
_TOKEN: Final = regex(r"""[^\s,()"']+""")

IsText = Callable[[int, str], bool]


@frozen
class Argument:
    """One argument; `name` is a column's or empty.

    `form` is `variable`, `wild`, `text`, `token` or `structure`.
    """

    form: str
    text: str
    span: Span
    name: str = ""


class GoalScanner(StructureScanner):
    """Cuts the text of a goal."""

    def __init__(self, text: str, source: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(text, source, diagnostics)
        self.variables: set[str] = set()

    def predicate(self) -> tuple[str, Span]:
        """Read the name and the opening bracket."""
        self.skip_blank()
        start = self.position
        found = _NAME.match(self.text, start)
        if found is None:
            self._no_predicate()
        name, self.position = found.group(), found.end()
        span = self.tokens.stretch(start, self.position)
        self.skip_blank()
        if not self.text.startswith("(", self.position):
            edit = f"write `{spelling.shown(name)}(...)`"
            if name.casefold() == "not":
                edit = self._denied_edit()
            if name.casefold() == "select":
                self.fail(habits.sql_statement(span, self.text[start:].strip()))
            self.fail(goals.malformed(self.here(), "`(` is missing behind the predicate", edit))
        self.position += 1
        return name, span

    def _denied_edit(self) -> str:
        """Say how to ask for what does not hold: by a rule, which needs quotes around texts."""
        self.skip_blank()
        found = _GROUND.fullmatch(self.text, self.position)
        if found is None:
            denied = _ONE_ATOM.fullmatch(self.text, self.position)
            return _LISTED.format(denied[0].strip()) if denied else _DERIVED
        arguments = _BARE_TEXT.sub(lambda one: quoted(one[0]), found[2])
        return (
            "ask without it: where the goal does not hold, the verdict is DISPROVED. Or derive "
            f"what is not so: write a rule, `not_so() :- !{found[1]}({arguments}).` with "
            "`.decl not_so()`, and ask for `not_so()`"
        )

    def _no_predicate(self) -> NoReturn:
        if self.position >= len(self.text):
            self.fail(
                goals.malformed(
                    self.here(), "the goal is empty", "write, for example, `is_vip(C001)`"
                )
            )
        sign = next((s for s in ("!", "\\+", "~") if self.text.startswith(s, self.position)), "")
        if sign:
            place, self.position = self.here(len(sign)), self.position + len(sign)
            self.fail(goals.malformed(place, "a goal is not negated", self._denied_edit()))
        start, named = self.position, self.quoted_text()
        if named is not None and self.text.startswith("(", self.position):
            rest = self.text[self.position :].strip()
            span = self.tokens.stretch(start, self.position)
            self.fail(habits.quoted_predicate(span, named, rest))
        edit = "write the predicate first: `is_vip(C001)`"
        self.fail(goals.malformed(self.here(), "a goal begins with a predicate", edit))

    def arguments(self, is_text: IsText) -> list[Argument]:
        """Read the arguments, the closing bracket and what may follow it.

        `is_text` tells the columns of texts, by place and name: there `[a` and `$5` are values.
        """
        found: list[Argument] = []
        self.skip_blank()
        if self.text.startswith(")", self.position):
            self.position += 1
        else:
            found.append(self._argument(0, is_text))
            while self._comma():
                found.append(self._argument(len(found), is_text))
        self._end()
        return found

    def _comma(self) -> bool:
        self.skip_blank()
        if self.text.startswith(",", self.position):
            self.position += 1
            return True
        if self.text.startswith(")", self.position):
            self.position += 1
            return False
        if self.position >= len(self.text):
            self.fail(
                goals.malformed(self.here(), "`)` is missing at the end of the goal", "write `)`")
            )
        if self.text.startswith("(", self.position):
            reason = "a function cannot stand in a goal"
            self.fail(
                goals.malformed(self.here(), reason, "write its value, or a rule that computes it")
            )
        return self._missing_comma()

    def _missing_comma(self) -> NoReturn:
        token = max(self.text.rfind(sign, 0, self.position) for sign in " ,(=") + 1
        human = spelling.HUMAN.match(self.text, token)
        if human and human.end() > self.position and spelling.number_edit(human[0]):
            self.fail(spelling.human_number(self.tokens.stretch(token, human.end()), human[0]))
        reason = "`,` or `)` is missing behind this value"
        before, behind = self.text[: self.position], self.text[self.position :]
        begun = max(before.rfind(","), before.rfind("(")) + 1
        value = (before[begun:] + re.split(r"[,()]", behind, maxsplit=1)[0]).strip()
        value = _NAMED.sub("", value, count=1)
        shown = quoted(value) if not {*value} & {*'?"=$['} else '"J. Doe"'
        edit = f"a text with a blank is quoted: `{shown}`; between two values write a comma"
        self.fail(goals.malformed(self.here(), reason, edit))

    def _end(self) -> None:
        self.skip_blank()
        if self.text.startswith(".", self.position):
            self.position += 1
            self.skip_blank()
        if self.position < len(self.text):
            edit = "write a rule with these literals as its body, and prove its head"
            rest = self.tokens.stretch(self.position, len(self.text))
            reason = "the goal goes on behind its closing bracket"
            atom = self.text[: self.position].strip()
            self.fail(goals.malformed(rest, reason, edit, atom))

    def _argument(self, count: int, is_text: IsText) -> Argument:
        self.skip_blank()
        start, name = self.position, ""
        named = _NAMED.match(self.text, start)
        if named is not None:
            name, self.position = named.group(1), named.end()
        begin = self.position
        if self.begins_structure() and not is_text(count, name):
            form, text = "structure", self.structure()
        else:
            form, text = self._value()
        place = start if name else begin
        return Argument(form, text, self.tokens.stretch(place, self.position), name)

    def _value(self) -> tuple[str, str]:
        start = self.position
        text = self.quoted_text()
        if text is not None:
            return "text", text
        found = _TOKEN.match(self.text, start)
        if found is None:
            self._no_value()
        self.position = found.end()
        return self._token(found.group(), self.tokens.stretch(start, found.end()))

    def _no_value(self) -> NoReturn:
        self.refuse_quotes()
        reason, edit = "a value is missing here", "write a value, or `?x` for any value"
        if self.text.startswith("(", self.position):
            # What is left of "p($Add(1, 2))" behind a shell that put its own variable there.
            edit += "; a goal with `$` stands in single quotes in a shell: 'p($Zero)'"
        self.fail(goals.malformed(self.here(), reason, edit))

    def _token(self, token: str, span: Span) -> tuple[str, str]:
        """Tell variables from constants."""
        if token in {"_", "?"}:
            return "wild", token
        if token[0] in "?_":
            if not VARIABLE.match(token):
                self.diagnostics.append(spelling.odd_variable(span, token))
            name = token.removeprefix("?")
            self.variables.add(name)
            return "variable", name
        if "=" in token:
            self.diagnostics.append(goals.needs_quotes(span, token))
        return "token", token


# A bare token is a constant of its column, never a variable: variables begin with `?` or `_`.
# Named columns may stand in any order, and those left out are free.

GOAL_NAME: Final = "<goal>"
FACT_NAME: Final = "<fact>"
_QUOTABLE: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
# What rules may write for an integer and sources do not: `0x1F`, `0b101`, `12u`.
_LITERAL: Final = regex(
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
    name, cells = _fact(text, program, leaves_out=False)
    return name, tuple(cell for cell in cells if cell is not None)


def parse_stated(text: str, program: Program) -> tuple[str, tuple[Value | None, ...]]:
    """Read what somebody states: a fact, or by name the cells of a row whose key it gives (26e).

    `None` stands for a column that is left out. Raises `ConstatError`, placed in `<fact>`.
    """
    return _fact(text, program, leaves_out=True)


def _fact(text: str, program: Program, *, leaves_out: bool) -> tuple[str, tuple[Value | None, ...]]:
    reader = GoalReader(text, FACT_NAME, program)
    try:
        predicate, terms = reader.read()
        reader.finish()
    except ConstatError as problem:
        told = [goals.of_fact(one, text, program.predicates) for one in problem.diagnostics]
        raise ConstatError(told, exit_code=problem.exit_code) from None
    # Only what is not written at all has no place in the text.
    left = {n for n, one in enumerate(terms) if isinstance(one, Variable) and one.span is None}
    may_leave = leaves_out and bool(predicate.key) and not left & {*predicate.key}
    open_ = [n for n, one in enumerate(terms) if not isinstance(one, Constant)]
    wrong = [n for n in open_ if n not in left or not may_leave]
    if wrong:
        given = {n: print_term(one) for n, one in enumerate(terms) if isinstance(one, Constant)}
        spans = [one.span for one in (terms[n] for n in wrong) if isinstance(one, Variable)]
        span = next((one for one in spans if one is not None), None) or reader.scanner.whole()
        reader.fail(goals.open_fact(span, predicate, given, leaves_out=leaves_out))
    return predicate.name, tuple(one.value if isinstance(one, Constant) else None for one in terms)


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
        if predicate is None and name.casefold() == "count" and len(arguments) == 1:
            table = self.program.predicates.get(habits.snake_case(arguments[0].text))
            if table is not None:
                self.fail(goals.counted_relation(span, name, table))
        if predicate is None:
            known = self.program.predicates
            self.fail(
                goals.unknown_predicate(span, name, sorted(known), _renamed(name, arguments, known))
            )
        self._refuse_nulls(predicate, arguments)
        given = self.assign(predicate, arguments, span)
        self.finish()
        matters = _where_reading_matters(predicate)
        terms = tuple(
            # By name, `column = _` reads the column.
            self.unread(place, None if argument is None else argument.span)
            if place in matters and (argument is None or _is_left_open(argument))
            else self.term(column, argument)
            for place, (column, argument) in enumerate(given)
        )
        return predicate, terms

    def _refuse_nulls(self, predicate: Predicate, arguments: list[Argument]) -> None:
        """Refuse `column = NULL`, with the goal that asks for rows without a value."""
        names = [one.name for one in predicate.columns]
        pairs = [
            (one.name or names[place], one)
            for place, one in enumerate(arguments)
            if one.name or place < len(names)
        ]
        empty = [(name, one) for name, one in pairs if one.form == "token" and one.text in _NULLS]
        if not empty:
            return
        stays = {name: _spelled(one) for name, one in pairs if (name, one) not in empty}
        key = {names[place]: stays.get(names[place], f"?{names[place]}") for place in predicate.key}
        rows = ", ".join(f"{name} = {text}" for name, text in {**key, **stays}.items())
        same = "".join(f"{name} = {text}, " for name, text in key.items())
        denied = ", ".join(f"!{predicate.name}({same}{name} = _)" for name, _ in empty)
        edit = f"{predicate.name}({rows}), {denied}" if key else ""
        for name, one in empty:
            span = replace(one.span, column=one.span.end_column - len(one.text))
            self.diagnostics.append(habits.null_habit(span, one.text, f"`{name}`", edit))
        self.finish()

    def unread(self, place: int, span: Span | None) -> Variable:
        """Give the variable of a column that is not read, the only one of its name."""
        return Variable(f"_{place + 1}", span)

    def assign(self, predicate: Predicate, arguments: list[Argument], span: Span) -> list[_Given]:
        """Give each column its argument, by name or by position."""
        named = [one for one in arguments if one.name]
        if not named:
            if len(arguments) != predicate.arity:
                written = [_spelled(one) for one in arguments]
                self.fail(goals.wrong_arity(span, predicate, written))
            return list(zip(predicate.columns, arguments, strict=True))
        if len(named) != len(arguments):
            self._refuse_comma(arguments)
            place = next(one.span for one in arguments if not one.name)
            self.fail(goals.mixed_arguments(place, _all_named(predicate, arguments)))
        pairs = [(one.name, one.span, _spelled(one)) for one in named]
        self.diagnostics.extend(goals.unknown_columns(pairs, predicate))
        found: dict[str, Argument] = {}
        columns = {column.name for column in predicate.columns}
        for one in named:
            if one.name in columns and one.name in found:
                self.diagnostics.append(goals.column_again(one.span, one.name))
            found.setdefault(one.name, one)
        self.finish()
        return [(column, found.get(column.name)) for column in predicate.columns]

    def _refuse_comma(self, arguments: list[Argument]) -> None:
        """Refuse `total = 7,5`: a number, and directly behind a comma another without a name."""
        for place, one in enumerate(arguments):
            whole, end = one.text, one.span
            for after in arguments[place + 1 :] if one.name else ():
                if after.name or after.span.column != end.end_column + 1:
                    break
                whole, end = f"{whole},{after.text}", after.span
            if end is not one.span and spelling.number_edit(whole):
                span = replace(end, column=one.span.end_column - len(one.text))
                self.fail(spelling.human_number(span, whole))

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
            self.diagnostics.append(
                goals.quoted_number(argument.span, column, argument.text, argument.name)
            )
            return Constant(argument.text, Kind.SYMBOL, argument.span)
        try:
            value = _value(argument, column)
        except ValueError as error:
            self.diagnostics.append(
                goals.wrong_value(argument.span, column, str(error), argument.text, argument.name)
            )
            value = argument.text
        return Constant(value, column.kind, argument.span)


def _renamed(name: str, arguments: list[Argument], known: Mapping[str, Predicate]) -> str:
    """Write an atom with the names that are declared; nothing where none is near."""
    near = habits.near_name(name, known)
    if near is None or not all(one.name for one in arguments):
        return ""
    columns = [one.name for one in known[near].columns]
    parts = []
    for one in arguments:
        column = one.name if one.name in columns else habits.near_name(one.name, columns)
        if column is None:
            return ""
        parts.append(f"{column} = {_spelled(one)}")
    return f"{near}({', '.join(parts)})"


def _where_reading_matters(predicate: Predicate) -> frozenset[int]:
    """Return the columns of which it matters that a goal does not read them.

    A cell there may be null, or a source need not send the column (semantics 26, 50).
    """
    policies = enumerate(null_policies(predicate))
    found = {place for place, policy in policies if policy is not None}
    if predicate.source is not None:
        found |= {*range(predicate.arity)} - {*predicate.key}
    return frozenset(found)


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
    taken = {one.name for one in arguments}
    for place, one in enumerate(arguments):
        columns = [
            each.name for each in (*predicate.columns[place : place + 1], *predicate.columns)
        ]
        name = one.name or next((each for each in columns if each not in taken), "column")
        value = _spelled(one)
        if not one.name and one.form == "token" and one.text in columns:
            # The name of a column alone asks whether it is true.
            name = one.text
            value = "true" if _is_bool(predicate, name) else f"?{name}"
        taken.add(name)
        parts.append(f"{name} = {value}")
    return f"{predicate.name}({', '.join(parts)})"


def _is_bool(predicate: Predicate, name: str) -> bool:
    return any(one.name == name and one.kind is Kind.BOOL for one in predicate.columns)


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
