"""Read one text into a surface tree, reporting every mistake in it.

In: a text, its name, a list for diagnostics. Out: a `SurfaceFile`. Invariant: no text makes the
parser raise or recurse without bound; after a mistake it goes on at the next statement, so one
run reports them all. Example: of `p(?x) :- q(x), not r(?x).` it reports `x` and `not`, each with
what to write.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, assert_never

from constat.diagnostics import Diagnostic, Severity, Span
from constat.frozen import frozen, slotted
from constat.logic import (
    FUNCTIONS,
    NIL,
    RECORD,
    Branch,
    Column,
    Constant,
    Kind,
    TypeDefinition,
    Variable,
    canonical_float,
    is_constructor,
)
from constat.patterns import regex
from constat.syntax.cursor import Cursor, Mode, ResyncError, read_number, read_text
from constat.syntax.lexer import MAX_ERRORS, Tokens, lex
from constat.syntax.mistakes import declarations, habits, refusals, spelling
from constat.syntax.surface import (
    AggregateTerm,
    Attribute,
    Call,
    Choice,
    Compared,
    ConstraintText,
    Declaration,
    Include,
    Notes,
    Port,
    Pragma,
    RuleText,
    SignedAtom,
    SurfaceFile,
    SurfaceItem,
    SurfaceLiteral,
    SurfaceTerm,
    Wildcard,
)
from constat.syntax.words import (
    AGGREGATE_HABITS,
    AGGREGATE_WORDS,
    ARROW_HABITS,
    BASE_TYPES,
    COMPARISON_HABITS,
    COMPARISON_SIGNS,
    CONNECTIVE_HABITS,
    CONSTRAINT_WORDS,
    DOUBLED,
    HINTS,
    INFIX,
    LEGACY_TAGS,
    NEGATIONS,
    PREFIX_POWER,
    PREFIX_WORDS,
    REFUSED_DIRECTIVES,
    REFUSED_FUNCTIONS,
    SIGN_HABITS,
    SQL_WORDS,
    STAND_INS,
    TODAY_HABITS,
    UNARY,
    WORD_HABITS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# Read terms: constants, variables, functions, arithmetic, aggregates, structures.

# Nothing here reads a term, so nothing recurses.


class StructureParser(Cursor):
    """The part of the parser that knows how structures begin."""

    def closer_of(self, function: str) -> str:
        """What closes the brackets of a function."""
        return "]" if function == RECORD else ")"

    def refuse_qualified(self) -> None:
        """Report `component.relation`."""
        place = self.position + 1
        touching = self.tokens.adjacent(place) and self.kinds[place] == "."
        if touching and self.kinds[place + 1] == "name" and self.tokens.adjacent(place + 1):
            span = self.tokens.span(self.position, place + 1)
            # Behind the name, so that its dot is not taken for the end of the statement.
            self.position = place + 2
            self.fail(refusals.refused("component", span))

    def branch_name(self) -> str:
        """Step over `$` and the name of a branch, and give the constructor."""
        start = self.advance()
        if self.kind not in _NAMES or (self.kind != "name" and not self.souffle):
            if self.kind == "number":
                whole = f"${self.word}"
                self.fail(spelling.human_number(self.tokens.span(start, self.position), whole))
            self.fail(declarations.no_branch(self.since(start)))
        name = self.word.removeprefix("?")
        if name in self.reserved:
            self.report(habits.reserved_word(self.here, name, "branch"))
        self.refuse_qualified()
        self.advance()
        if self.kind in {"{", "["}:
            self.fail(declarations.branch_brackets(self.here, name))
        return f"${name}"

    def constant_constructor(self) -> Call:
        """Read `nil`; or `$Name`, behind which no bracket stands."""
        start = self.position
        if self.kind == "$":
            return Call(self.branch_name(), (), self.since(start))
        self.advance()
        return Call(NIL, (), self.since(start))

    def has_fields(self) -> bool:
        """Whether `(` stands behind the `$Name` here."""
        return self.ahead() in _NAMES and self.ahead(2) == "("

    def refuse_nil_arguments(self) -> None:
        """Refuse `nil(...)`."""
        if self.word == NIL:
            self.fail(
                declarations.nil_arguments(self.tokens.span(self.position, self.position + 1))
            )

    def refuse_field_name(self) -> None:
        """Refuse `x:` and `x =` before the value of a field."""
        named = self.kind in {"name", "variable"} and self.ahead() in {":", "="}
        if named and self.word not in AGGREGATE_WORDS:
            span = self.tokens.span(self.position, self.position + 1)
            self.fail(declarations.named_field(span, self.word.removeprefix("?")))

    def refuse_habit(self, function: str, opener: int) -> None:
        """Refuse what other languages write between fields, behind a field that has been read."""
        if function == RECORD and self.kind == "|":
            self.fail(declarations.list_habit(self.here))
        if function or self.kind != ",":
            return
        if self._is_balanced(opener):
            closer = self.tokens.closer(opener) or opener
            self.fail(declarations.tuple_habit(self.tokens.span(opener, closer)))
        place = self.tokens.after(self.position - 1)
        self.fail(habits.open_bracket(place, self.tokens.span(opener, opener), "(", ")"))

    def _is_balanced(self, opener: int) -> bool:
        """Whether all brackets up to here are closed: else it is one of those that is meant."""
        places = range(self.statement_start, opener + 1)
        openers = (place for place in places if self.kinds[place] in {"(", "[", "{"})
        return all(self.tokens.closer(place) is not None for place in openers)


# No recursion on brackets. Operators are reduced by precedence on an explicit stack (Dijkstra's
# shunting yard, 1961), so a term of any depth is either read or reported, never a crash.

_LEAVES: Final = frozenset({"variable", "number", "text", "wild", "name", "date", "[", "$"})
# What follows nearly every term: no operator begins so.
_ENDS: Final = frozenset({",", ")", "]", ".", ";", "}", ":", ":-", "=", "!=", "<=", ">=", "end"})
_HABITS: Final = frozenset({",", "|"})
_CALLERS: Final = frozenset({"name", "[", "$"})


class _Frame:
    """An open bracket: a group (`function` empty), or a function with the arguments read so far."""

    __slots__ = (
        "arguments",
        "depth",
        "function",
        "opener",
        "operands",
        "operators",
        "start",
        "type_name",
    )

    def __init__(self, function: str, start: int) -> None:
        self.function = function
        self.start = start
        self.opener = start + bool(function)
        self.arguments: list[SurfaceTerm] = []
        self.operands: list[tuple[SurfaceTerm, int, int]] = []
        self.operators: list[tuple[int, str, int]] = []
        self.depth = 0
        self.type_name = ""


class TermParser(StructureParser):
    """The part of the parser that reads terms."""

    in_aggregate = False
    joins_texts = False
    """Whether `||` stands between texts, and is no operator on numbers."""

    def __init__(
        self, tokens: Tokens, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
    ) -> None:
        super().__init__(tokens, diagnostics, mode)
        self.spelled: dict[str, str] = {}

    @abstractmethod
    def aggregate_body(self) -> tuple[SurfaceLiteral, ...]:
        """Read what stands behind the colon of an aggregate."""

    def term(self) -> SurfaceTerm:
        """Read one term."""
        frames = [_Frame("", self.position)]
        while True:
            self._operand(frames)
            if not self._operators(frames):
                break
        if len(frames) > 1:
            self._unclosed(frames[-1])
        self._reduce(frames[0], 0)
        return frames[0].operands[0][0]

    def _operand(self, frames: list[_Frame]) -> None:
        """Read signs and opening brackets up to a leaf."""
        while True:
            kind = self.kind
            # `-5` is one constant, so that it prints and reads back as one; `-(5)` is a function.
            if kind == "-" and not self._signed_number():
                frames[-1].operators.append((PREFIX_POWER, "neg", self.advance()))
            elif kind == "(":
                self._open(frames, "", self.advance())
            elif kind == "name" and self.word in PREFIX_WORDS:
                frames[-1].operators.append((PREFIX_POWER, self.word, self.advance()))
            elif kind == "~":
                self.report(habits.operator_habit(self.here, "~", "bnot"))
                frames[-1].operators.append((PREFIX_POWER, "bnot", self.advance()))
            elif kind in _CALLERS and self._begins_call(kind):
                self._open_call(frames) if kind == "name" else self._open_structure(frames)
                if self.kind == self.closer_of(frames[-1].function):
                    return
            else:
                start = self.position
                frames[-1].operands.append((self._leaf(), 0, start))
                return
            if len(frames[-1].operators) > habits.MAX_DEPTH:
                self.fail(habits.too_deep(self.here))

    def _begins_call(self, kind: str) -> bool:
        """Whether a function or a structure with arguments begins here."""
        if kind == "name":
            return self.ahead() == "(" and not self._at_aggregate()
        return kind == "[" or (kind == "$" and self.has_fields())

    def _open(self, frames: list[_Frame], function: str, start: int) -> None:
        if len(frames) > habits.MAX_DEPTH:
            self.fail(habits.too_deep(self.here))
        frames.append(_Frame(function, start))

    def _open_call(self, frames: list[_Frame]) -> None:
        name = self.word
        if name in REFUSED_FUNCTIONS:
            self.report(refusals.refused(REFUSED_FUNCTIONS[name], self.here))
        self.refuse_nil_arguments()
        start = self.advance()
        self.advance()
        if name.casefold() == "count" and not self.souffle:
            self._refuse_count(start)
        self._open(frames, name, start)

    def _refuse_count(self, start: int) -> None:
        """Report `count(orders(id = ?i))`, and step over the `*` of `count(*)`."""
        inner = self.tokens.closer(self.position + 1) if self.ahead() == "(" else None
        if self.kind == "name" and inner is not None and self.kinds[inner + 1] == ")":
            text = self.tokens.text[self.tokens.starts[self.position] : self.tokens.ends[inner]]
            self.fail(habits.counted_atom(self.tokens.span(start, inner + 1), text))
        if self.kind == "name" and self.ahead() == ")":
            span = self.tokens.span(start, self.position + 1)
            self.fail(habits.counted_atom(span, f"{self.word}(...)"))
        if self.kind == "*" and self.ahead() == ")":
            # Analysis knows the rest of the rule, and says how its rows are counted.
            self.advance()

    def _open_structure(self, frames: list[_Frame]) -> None:
        """Step over `[`, or over `$Name(`."""
        start = self.position
        function = RECORD if self.kind == "[" else self.branch_name()
        self.advance()
        self._open(frames, function, start)
        frames[-1].opener = self.position - 1
        self.refuse_field_name()

    def _operators(self, frames: list[_Frame]) -> bool:
        """Read what follows an operand. True when another operand must follow."""
        while True:
            start, frame, kind = self.position, frames[-1], self.kind
            if kind in _HABITS and len(frames) > 1:
                self.refuse_habit(frame.function, frame.start)
            operator = "" if kind in _ENDS else self._operator(kind, grouped=len(frames) > 1)
            if operator:
                power = INFIX[operator]
                # `a ^ b ^ c` is `a ^ (b ^ c)`: of its own kind it applies none that waits.
                self._reduce(frame, power + (operator == "^"))
                frame.operators.append((power, operator, start))
                return True
            if len(frames) == 1:
                return False
            if frame.function and kind == ",":
                self._argument(frame)
                if frame.function == "as" and self._type_argument(frame):
                    continue
                if is_constructor(frame.function):
                    self._next_field(frame)
                return True
            if frame.function and kind in _LEAVES and not self.begins_statement(self.position):
                self.report(habits.missing_comma(self.tokens.after(self.position - 1)))
                self._reduce(frame, 0)
                self._take_argument(frame)
                return True
            if kind != self.closer_of(frame.function):
                return False
            self._close_frame(frames)

    def _operator(self, kind: str, *, grouped: bool) -> str:
        """Step over an operator between two terms and give it; nothing where none stands."""
        spelled = self.word if kind == "name" else kind
        if kind in DOUBLED and self.ahead() == kind and self.tokens.adjacent(self.position + 1):
            return self._doubled(kind)
        if spelled in INFIX:
            self.advance()
            return spelled
        if kind == "||" and self.joins_texts:
            return ""
        right = SIGN_HABITS.get(kind) or (WORD_HABITS.get(spelled, "") if kind == "name" else "")
        if right and self._continues_arithmetic(grouped=grouped or kind == "name"):
            self.report(habits.operator_habit(self.here, spelled, right))
            self.advance()
            return right
        return ""

    def _doubled(self, kind: str) -> str:
        """Read `**`, `<<`, `>>` or `>>>` as the operator that its author means."""
        first, right = self.position, DOUBLED[kind]
        self.advance()
        self.advance()
        if kind == ">" and self.kind == ">" and self.tokens.adjacent(self.position):
            self.advance()
            right = "bshru"
        span = self.since(first)
        spelled = kind * (self.position - first)
        self.report(habits.operator_habit(span, spelled, right))
        return right

    def _continues_arithmetic(self, *, grouped: bool) -> bool:
        """Whether `&` and its like join two terms here, and not two literals.

        `?y = ?x & 3` calculates, `?x > 1 & ?y > 2` joins: what follows the next term tells.
        """
        if self.ahead() not in {"variable", "number"}:
            return grouped and self.ahead() in {"(", "-"}
        after = self.ahead(2)
        return grouped or (after not in COMPARISON_SIGNS and after not in COMPARISON_HABITS)

    def _argument(self, frame: _Frame) -> None:
        self._reduce(frame, 0)
        self._take_argument(frame)
        self.advance()

    def _next_field(self, frame: _Frame) -> None:
        """Look at what stands behind the comma between two fields."""
        if self.kind == self.closer_of(frame.function):
            self.fail(declarations.no_field(self.here, self.kind))
        self.refuse_field_name()

    def _take_argument(self, frame: _Frame) -> None:
        term, depth, _ = frame.operands.pop()
        frame.depth = max(frame.depth, depth)
        frame.arguments.append(term)

    def _type_argument(self, frame: _Frame) -> bool:
        """Read the type of `as(term, type)`."""
        if self.kind != "name" or frame.type_name:
            self.unexpected("the name of a type", "write, for example, `as(?x, number)`")
        frame.type_name = self.word
        self.advance()
        if self.kind != ")":
            self.close(frame.start + 1, ")")
        return True

    def _close_frame(self, frames: list[_Frame]) -> None:
        frame = frames.pop()
        if frame.operands:
            self._reduce(frame, 0)
            if not frame.function:
                frames[-1].operands.append(frame.operands[0])
                self.advance()
                return
            self._take_argument(frame)
        elif frame.operators:
            self.unexpected("a term", "write a term such as `?x` here")
        self.advance()
        if frame.function == "as" and not frame.type_name:
            self.position -= 1
            self.unexpected("`,` and a type", "write, for example, `as(?x, number)`")
        call = Call(
            frame.function, tuple(frame.arguments), self.since(frame.start), frame.type_name
        )
        self._push(frames[-1], call, frame.depth + 1, frame.start)

    def _push(self, frame: _Frame, term: SurfaceTerm, depth: int, start: int) -> None:
        # Also chains such as 1 + 1 + ... are deep trees: whoever walks them later may recurse.
        if depth > habits.MAX_DEPTH:
            self.fail(habits.too_deep(self.since(start)))
        frame.operands.append((term, depth, start))

    def _reduce(self, frame: _Frame, power: int) -> None:
        """Apply the waiting operators that bind at least as tightly."""
        while frame.operators and frame.operators[-1][0] >= max(power, 1):
            _, function, start = frame.operators.pop()
            right, depth, _ = frame.operands.pop()
            arguments: tuple[SurfaceTerm, ...] = (right,)
            if function not in UNARY:
                left, other, start = frame.operands.pop()
                depth, arguments = max(depth, other), (left, right)
            self._push(frame, Call(function, arguments, self.since(start)), depth + 1, start)

    def _unclosed(self, frame: _Frame) -> None:
        self.close(frame.opener, self.closer_of(frame.function))

    def _signed_number(self) -> bool:
        # `-2 ^ 2` is `-(2 ^ 2)`, as in Souffle and in mathematics.
        return self.ahead() == "number" and self.ahead(2) != "^"

    def _leaf(self) -> SurfaceTerm:
        """Read a term without parts, or an aggregate."""
        kind = self.kind
        if kind == "variable":
            return self._variable()
        if kind in {"number", "-"}:
            return self._number()
        if kind in {"text", "date"}:
            return self._text(kind)
        if kind == "wild":
            return Wildcard(self.tokens.span(self.advance(), self.position - 1))
        if kind == "$" or (kind == "name" and self.word == NIL):
            return self.constant_constructor()
        if kind == "name":
            return self._bare_name()
        return self._refused_leaf(kind)

    def _variable(self) -> Variable:
        """Read a variable. Souffle tells `?x` from `x`; here these are two spellings of one."""
        span, word = self.here, self.word
        name = word.removeprefix("?")
        if self.souffle and name.strip("_0123456789") == "":
            # `_1` names a `_` in the logic; no other spelling gives two underscores and a digit.
            name = f"__{name}"
        if self.souffle and self.spelled.setdefault(name, word) != word:
            self.fail(habits.bare_name(span, name))
        self.advance()
        return Variable(name, span)

    def _number(self) -> Constant:
        start = self.position
        negative = self.accept("-")
        word = self.word
        self.advance()
        try:
            value, kind = read_number(word, negative=negative)
        except ValueError as error:
            written = f"-{word}" if negative else word
            self.report(spelling.number_out_of_range(self.since(start), str(error), written))
            value, kind = 0, Kind.NUMBER
        if self.souffle and kind is Kind.DECIMAL:
            value, kind = canonical_float(float(value)), Kind.FLOAT
        return Constant(value, kind, self.since(start))

    def _text(self, kind: str) -> Constant:
        span, word = self.here, self.word
        self.advance()
        if kind == "date":
            self.report(habits.bare_date(span, word))
            return Constant(word, Kind.SYMBOL, span)
        text, wrong = read_text(word)
        if wrong is not None:
            self.report(spelling.bad_escape(span, wrong))
        return Constant(text, Kind.SYMBOL, span)

    def _at_aggregate(self) -> bool:
        """Whether the current name begins an aggregate rather than a function or a bare name."""
        if self.word not in AGGREGATE_WORDS:
            return False
        after = self.ahead()
        if after == "(":
            return self.tokens.is_target(self.position + 1)
        return after in {":", "-", "{"} or after in _LEAVES

    def _bare_name(self) -> SurfaceTerm:
        span, word = self.here, self.word
        if self._at_aggregate():
            return self.aggregate()
        target = self.ahead() == "variable"
        if not self.souffle and target and (word in AGGREGATE_HABITS or word in FUNCTIONS):
            return self._habit(span, word)
        if self.souffle:
            if word in self.reserved:
                self.fail(habits.reserved_word(span, word, "variable"))
            self.report(habits.bare_name(span, word))
            return self._variable()
        self.advance()
        if word.casefold() == "null":
            self.fail(habits.null_habit(span, word, self._column_before()))
        if word.isascii():
            before = self.kinds[self.position - 2] if self.position > 1 else ""
            compared = self.kind in COMPARISON_SIGNS and before in {",", ":-", "{", ";"}
            self.report(habits.bare_name(span, word, compared=compared))
        return Constant(word, Kind.SYMBOL, span)

    def _column_before(self) -> str:
        """Give the name before `=` and the token that was just read; nothing where none is."""
        place = self.position - 3
        named = place >= 0 and self.kinds[place : place + 2] == ["name", "="]
        return f"`{self.tokens.word(place)}`" if named else ""

    def _habit(self, span: Span, word: str) -> SurfaceTerm:
        """Report `avg ?x : { ... }` and `year ?x`, and read past."""
        if word in AGGREGATE_HABITS:
            self.report(habits.aggregate_habit(span, word, AGGREGATE_HABITS[word]))
            return self.aggregate()
        self.advance()
        self.report(habits.call_habit(span, word, self.word))
        return self._variable()

    def _refused_leaf(self, kind: str) -> NoReturn:
        """User functors stand where a term may stand, and what others write for records."""
        if kind == "{":
            self.fail(declarations.braces_habit(self.here))
        if kind == "@":
            twice = self.ahead() == "@"
            if self.ahead() == "name" and self.tokens.word(self.position + 1) in TODAY_HABITS:
                self.fail(habits.today_habit(self.here, self.tokens.word(self.position + 1)))
            self.fail(refusals.refused("user aggregate" if twice else "functor", self.here))
        self.unexpected("a term", 'write a term: `?x`, `_`, `5`, `"gold"`')

    def aggregate(self) -> AggregateTerm:
        """Read `sum ?x : { ... }`."""
        start, function = self.position, AGGREGATE_HABITS.get(self.word, self.word)
        # The only place where reading a term recurses: refusing a second level bounds it.
        if self.in_aggregate:
            self.fail(refusals.refused("nested aggregate", self.here))
        self.advance()
        self.in_aggregate = True
        try:
            target = self._target(function)
            body = self.aggregate_body()
        finally:
            self.in_aggregate = False
        return AggregateTerm(function, target, body, self.since(start))

    def _target(self, function: str) -> SurfaceTerm | None:
        target: SurfaceTerm | None = None
        if self.kind not in {":", "{"}:
            place = self.here
            distinct = self.kind == "name" and self.word.casefold() == "distinct"
            self.position += distinct
            start = self.position
            target = self.term()
            if function == "count" or distinct:
                shown = self.tokens.word(start) if self.kinds[start] == "variable" else ""
                self.report(habits.distinct_habit(place, function, shown))
                target = None if function == "count" else target
        elif function != "count":
            self.report(
                habits.odd_aggregate(
                    self.here, function, f"`{function}` needs a target before the colon"
                )
            )
        if not self.accept(":"):
            if self.kind == "open text":
                raise ResyncError
            self.fail(
                habits.odd_aggregate(
                    self.here, function, "an aggregate has a colon before its body"
                )
            )
        return target


# Read atoms, literals and bodies.

# `!` is left at atoms only, so what follows knows nothing of denied groups.

TRUTHS: Final = frozenset({"true", "false"})
_OPPOSITES: Final = MappingProxyType(
    {"=": "!=", "<": ">=", ">": "<=", "match": "!match", "contains": "!contains"}
)
_DENIED: Final = MappingProxyType({**_OPPOSITES, **{b: a for a, b in _OPPOSITES.items()}})


def denial(literal: SurfaceLiteral) -> SurfaceLiteral:
    """Give the opposite of one literal; groups nest as deep as the parser allows, 200 levels."""
    match literal:
        case SignedAtom(negative=negative):
            return replace(literal, negative=not negative)
        case Compared(operator=operator):
            return replace(literal, operator=_DENIED[operator])
        case Choice(branches=branches, span=span):
            return Choice((denied_choice(branches, span),), span)
        case _:
            assert_never(literal)


def denied_choice(
    branches: tuple[tuple[SurfaceLiteral, ...], ...], span: Span
) -> tuple[SurfaceLiteral, ...]:
    """Give the conjunction that denies alternatives: in each branch one literal fails."""
    denied = []
    for branch in branches:
        opposites = tuple((denial(literal),) for literal in branch)
        denied.append(opposites[0][0] if len(opposites) == 1 else Choice(opposites, span))
    return tuple(denied)


# Groups are read on an explicit stack, like brackets in terms. A missing comma is reported and
# read past; a missing dot ends the body.

Branches = list[list[SurfaceLiteral]]
Name = tuple[str, Span]

_ARITHMETIC: Final = frozenset("+-*/%^")
_STARTS: Final = frozenset(
    {"name", "variable", "!", "number", "text", "wild", "(", "[", "$", "date", "\\+", "~", "¬"}
)
_BARE_WORDS: Final = regex(r"\w+(?:(?:['\u2019]| ?[&.] ?| )\w+)+(?=\s*[,)])")
_ORDER_SIGNS: Final = COMPARISON_SIGNS - {"="}
_Moved: TypeAlias = tuple[int, int, str, str]
"""What stands from here to there, what is to stand in its place, and the literal behind."""
_NO_LITERAL: Final = frozenset(
    {".", ",", ";", ":-", "}", ")", "]", "end", "directive", "open text", "@[", "@!["}
)


@frozen
class _Group:
    """An open bracket around literals: what stood before it, its place, whether `!` denies it."""

    outer: Branches
    opener: int
    denied: bool


_JOINTS: Final = frozenset({",", ";", ":-", ".", "end"})
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


class BodyParser(TermParser):
    """The part of the parser that reads literals."""

    constraining = False
    """Whether the body is that of a constraint, which `=>` ends."""

    def body(self) -> tuple[tuple[SurfaceLiteral, ...], ...]:
        """Read alternatives up to what cannot continue them."""
        stack: list[_Group] = []
        branches: Branches = [[]]
        while True:
            denied = self._denials()
            while self.kind == "(" and self._opens_group():
                if len(stack) >= habits.MAX_DEPTH:
                    self.fail(habits.too_deep(self.here))
                stack.append(_Group(branches, self.advance(), denied=denied))
                branches = [[]]
                denied = self._denials()
            literal = self.literal()
            branches[-1].append(denial(literal) if denied else literal)
            while stack and self.kind == ")":
                branches = self._close_group(stack, branches)
            joined = self._connective(grouped=bool(stack))
            if joined == ";":
                branches.append([])
            elif joined != ",":
                break
        if stack:
            self.close(stack[-1].opener, ")")
        return tuple(tuple(branch) for branch in branches)

    def _denials(self) -> bool:
        """Step over the `!` before a group, a comparison or another `!`: souffle mode only.

        True where their number is odd. Before an atom `!` is left to `literal`.
        """
        denied = False
        while self.souffle and self.kind == "!" and not self._denies_atom():
            self.report(habits.odd_negation(self.here))
            self.advance()
            denied = not denied
        return denied

    def _denies_atom(self) -> bool:
        self.position += 1
        try:
            if self.kind != "name" or self.word in TRUTHS:
                return self.kind == "name" and self.word not in TRUTHS
            return self.word in CONSTRAINT_WORDS or not self._is_comparison()
        finally:
            self.position -= 1

    def _close_group(self, stack: list[_Group], branches: Branches) -> Branches:
        group = stack.pop()
        outer, opener = group.outer, group.opener
        self.advance()
        inner = tuple(tuple(branch) for branch in branches)
        if group.denied:
            outer[-1].extend(denied_choice(inner, self.since(opener)))
        elif len(inner) == 1:
            # Brackets around one conjunction mean nothing; without them there is less to expand.
            outer[-1].extend(inner[0])
        else:
            outer[-1].append(Choice(inner, self.since(opener)))
        return outer

    def _opens_group(self) -> bool:
        """Whether `(` opens a group of literals rather than a term: what follows its end tells."""
        closer = self.tokens.closer(self.position)
        if closer is None:
            return True
        return not self._continues_term(closer + 1)

    def _continues_term(self, place: int) -> bool:
        kind = self.kinds[place]
        if kind == "=>" and self.constraining:
            return False
        if kind == "name":
            word = self.tokens.word(place)
            return word in COMPARISON_HABITS or word in INFIX
        return kind in COMPARISON_SIGNS or kind in COMPARISON_HABITS or kind in _ARITHMETIC

    def _meant_by_or(self) -> tuple[Span, str]:
        """Give what is meant by `or` behind other literals: the two beside it, in brackets.

        Without brackets `;` would end all that stands before it.
        """
        first, last = self.position - 1, self.position + 1
        depth = 0
        while first > self.statement_start and (depth or self.kinds[first] not in _JOINTS):
            depth += (self.kinds[first] in _CLOSING) - (self.kinds[first] in _OPENING)
            first -= 1
        depth = 0
        while last < len(self.kinds) - 1 and (depth or self.kinds[last] not in _JOINTS):
            depth += (self.kinds[last] in _OPENING) - (self.kinds[last] in _CLOSING)
            last += 1
        if self.kinds[first] != "," or last == self.position + 1:
            return self.here, ";"
        left = self._spelled(first + 1, self.position - 1)
        right = self._spelled(self.position + 1, last - 1)
        return self.tokens.span(first + 1, last - 1), f"({left}; {right})"

    def _connective(self, *, grouped: bool) -> str:
        """Step over what joins two literals; give `,`, `;` or nothing at the end of a body."""
        kind = self.kind
        if kind in {",", ";"}:
            self.advance()
            return kind
        spelled = self.word if kind == "name" else kind
        # In SQL's capitals, unless that begins an atom.
        if kind == "name" and self.ahead() != "(":
            spelled = spelled.casefold()
        if spelled in CONNECTIVE_HABITS:
            right = CONNECTIVE_HABITS[spelled]
            place, edit = self._meant_by_or() if right == ";" else (self.here, right)
            self.report(habits.connective_habit(place, self.word, edit))
            self.advance()
            return right
        if kind not in _STARTS:
            return ""
        # Inside brackets no rule can begin, so only a comma can be missing there.
        inside = grouped or self.in_aggregate
        if not inside and self.begins_statement(self.position):
            return ""
        self.report(habits.missing_comma(self.tokens.after(self.position - 1)))
        return ","

    def literal(self) -> SurfaceLiteral:
        """Read one literal."""
        kind = self.kind
        if kind == "!":
            self.advance()
            return self._negated()
        if self.souffle and kind == "name" and self.word in TRUTHS:
            return self._truth()
        if kind in NEGATIONS or (kind == "name" and self._says_not()):
            return self._negation_habit()
        if kind == "name":
            return self._named()
        if kind in _NO_LITERAL:
            self.unexpected(
                "a literal", "write a literal such as `p(?x)`, or delete what stands before"
            )
        return self._comparison()

    def _says_not(self) -> bool:
        """Whether a name is `not`, or `NOT` before an atom."""
        if self.souffle:
            return False
        return self.word == "not" or (self.word.casefold() == "not" and self.ahead() == "name")

    def _truth(self) -> Compared:
        """Read `true` or `false` as a comparison that always or never holds."""
        span = self.here
        operator = "=" if self.word == "true" else "!="
        self.advance()
        same = Constant(0, Kind.NUMBER, span)
        return Compared(operator, same, same, span)

    def _negation_habit(self) -> SurfaceLiteral:
        place, spelled = self.here, self.word
        self.advance()
        if self.kind == "name" and self.word.casefold() == "exists":
            spelled = f"{spelled} {self.word}"
            self.advance()
        if self.kind == "(" and self.ahead() == "name" and self.ahead(2) == "(":
            self.report(habits.negation_habit(place, spelled, self._atom_text(self.position + 1)))
            opener = self.advance()
            negated = self._negated()
            self.close(opener, ")")
            return negated
        self.report(habits.negation_habit(place, spelled, self._atom_text(self.position)))
        return self._negated()

    def _atom_text(self, place: int) -> str:
        """Give the text of the atom that begins at a token; nothing where none does."""
        named = self.kinds[place] == "name" and self.kinds[place + 1] == "("
        closer = self.tokens.closer(place + 1) if named else None
        return "" if closer is None else self._spelled(place, closer)

    def _negated(self) -> SurfaceLiteral:
        if self.kind != "name":
            alone = self.kind == "variable" and self.ahead() in {",", ".", ";", "}", ")"}
            self.fail(habits.odd_negation(self.here, self.word if alone else ""))
        if self.word in CONSTRAINT_WORDS and self.ahead() == "(":
            return self._constraint("!")
        if self._is_comparison():
            self.fail(habits.odd_negation(self.here))
        return self.atom(negative=True)

    def _named(self) -> SurfaceLiteral:
        if self.word in CONSTRAINT_WORDS and self.ahead() == "(":
            return self._constraint("")
        if self._is_comparison():
            return self._comparison()
        return self.atom()

    def _is_comparison(self) -> bool:
        """Whether the current name begins a term rather than an atom."""
        word = self.word
        if word in PREFIX_WORDS or (word in AGGREGATE_WORDS and self._at_aggregate()):
            return True
        if self.ahead() != "(":
            return self._continues_term(self.position + 1)
        closer = self.tokens.closer(self.position + 1)
        return closer is not None and self._continues_term(closer + 1)

    def _constraint(self, sign: str) -> Compared:
        start, name = self.position, self.word
        self.advance()
        terms, names = self.arguments(self.advance())
        if len(terms) != 2 or names:  # noqa: PLR2004  a pattern and a text
            self.fail(
                habits.unexpected(
                    self.since(start),
                    name,
                    f"two arguments of `{name}`",
                    f'write `{name}("part", ?text)`',
                )
            )
        return Compared(sign + name, terms[0], terms[1], self.since(start))

    def _comparison(self) -> Compared:
        start = self.position
        left = self.term()
        if not self.souffle and self.kind == "name" and self._at_sql_word():
            return self._sql_comparison(start, left)
        operator = self._comparison_sign()
        if not operator:
            if self.kind == "open text":
                raise ResyncError
            self._no_literal(start, left)
        begun = self.position
        right = self.term()
        if self.kind == "||" and not self.souffle:
            right = self._joined_texts(begun, right)
        compared = Compared(operator, left, right, self.since(start))
        ends = self.kind == "=>" and self.constraining
        if not ends and (self.kind in COMPARISON_SIGNS or self.kind in COMPARISON_HABITS):
            self.fail(habits.comparison_chain(self.here))
        return compared

    def _joined_texts(self, begun: int, first: SurfaceTerm) -> SurfaceTerm:
        """Report `?a || " " || ?b` with `cat`, and read past; a comparison behind it is another."""
        sign, parts = self.here, [self._spelled(begun, self.position - 1)]
        self.joins_texts = True
        while self.kind == "||":
            before = self.position
            self.advance()
            start = self.position
            self.term()
            if self.kind in COMPARISON_SIGNS:
                self.position = before
                break
            parts.append(self._spelled(start, self.position - 1))
        self.joins_texts = False
        if len(parts) > 1:
            written = f"cat({', '.join(map(habits.in_double_quotes, parts))})"
            self.report(habits.operator_habit(sign, "||", written))
        return first

    def _at_sql_word(self) -> bool:
        """Whether `in`, `between`, `like`, one of them denied, or `is null` stands here."""
        word = self.word.casefold()
        after = self.tokens.word(self.position + 1) if self.ahead() == "name" else ""
        if word == "is":
            denied = after.casefold() == "not"
            second = self.tokens.word(self.position + 2) if denied else after
            return second.casefold() == "null"
        return (after.casefold() if word == "not" else word) in SQL_WORDS

    def _sql_comparison(self, start: int, left: SurfaceTerm) -> Compared:
        """Report `in`, `between`, `like` and `is null` with what says the same, and read past."""
        place, shown, first = self.here, self._spelled(start, self.position - 1), self.position
        denied = self.word.casefold() == "not"
        self.position += denied
        word = self.word.casefold()
        self.advance()
        edit = ""
        if word == "in" and self.kind in {"(", "["}:
            edit = self._listed(place, shown, denied=denied)
        elif word == "between":
            low = self._read_operand()
            if self.kind == "name" and self.word.casefold() == "and":
                self.advance()
                edit = habits.within(shown, low, self._read_operand(), denied=denied)
        elif word in {"like", "ilike"} and self.kind == "text":
            edit = habits.alike(shown, self._read_operand(), denied=denied, cased=word == "like")
        elif word in {"regexp", "rlike"} and self.kind == "text":
            edit = habits.searched(shown, self._read_operand(), denied=denied)
        elif word == "is":
            self.position += self.word.casefold() == "not"
            self.advance()
        self.report(habits.sql_habit(place, word, edit, shown))
        if self.position <= first:
            raise ResyncError
        return Compared("=", left, left, self.since(start))

    def _listed(self, place: Span, left: str, *, denied: bool) -> str:
        """Step over the list of `in`, in brackets of either kind; give what says the same."""
        closer = self.tokens.closer(self.position)
        opener = self.position
        if closer is None or closer == opener + 1:
            self.fail(habits.sql_habit(place, "in", ""))
        if self.kind == "(":
            self.arguments(self.advance())
        else:
            self.term()
        return habits.one_of(left, self._texts_between(opener + 1, closer), denied=denied)

    def _read_operand(self) -> str:
        start = self.position
        self.term()
        return self._spelled(start, self.position - 1)

    def _texts_between(self, first: int, closer: int | None) -> list[str]:
        """Give the texts between the commas of a list that ends at a bracket."""
        parts, start, depth = [], first, 0
        for place in range(first, closer or first):
            kind = self.kinds[place]
            depth += (kind in {"(", "["}) - (kind in {")", "]"})
            if kind == "," and not depth:
                parts.append(self._spelled(start, place - 1))
                start = place + 1
        return [*parts, self._spelled(start, (closer or first) - 1)]

    def _spelled(self, first: int, last: int) -> str:
        """Give the text of tokens as it was written."""
        return self.tokens.text[self.tokens.starts[first] : self.tokens.ends[last]]

    def _no_literal(self, start: int, left: SurfaceTerm) -> NoReturn:
        """Say what is wrong with a term that stands alone."""
        place = self.since(start)
        if isinstance(left, Constant) and left.kind is Kind.SYMBOL and self.kind == "(":
            closer = self.tokens.closer(self.position)
            arguments = "" if closer is None else self._spelled(self.position, closer)
            self.fail(habits.quoted_predicate(place, str(left.value), arguments))
        self._refuse_separators(start)
        pair = self._spelled(start - 2, start) if start > 1 else ""
        if self.kinds[start - 1] == "," and spelling.number_edit(pair):
            self.fail(spelling.human_number(self.tokens.span(start - 2, start), pair))
        variable = self._spelled(start, start) if isinstance(left, Variable) else ""
        self.fail(habits.no_literal(place, "", variable))

    def _refuse_separators(self, start: int) -> None:
        """Refuse `1,000,000.00`, of which a group stands alone here."""
        first = start
        while (
            first > 1
            and self.kinds[first - 1] == ","
            and self.kinds[first - 2] == "number"
            and self._spelled(first - 2, first).count(" ") == 0
        ):
            first -= 2
        begun = self.tokens.starts[first]
        found = habits.GROUPED.match(self.tokens.text, begun)
        if found and first < start:
            span = self.tokens.stretch(begun, found.end())
            self.fail(habits.separators(span, found[0].replace(",", "")))

    def _comparison_sign(self) -> str:
        kind = self.kind
        if kind in COMPARISON_SIGNS:
            self.advance()
            return kind
        spelled = self.word if kind == "name" else kind
        right = COMPARISON_HABITS.get(spelled, "")
        if right:
            self.report(habits.comparison_habit(self.here, spelled, right))
            self.advance()
        return right

    def atom(self, *, negative: bool = False) -> SignedAtom:
        """Read a predicate and its arguments."""
        start, name = self.position, self.word
        self.refuse_qualified()
        if self.ahead() != "(":
            if name.casefold() == "select" and not self.souffle:
                self.fail(habits.sql_statement(self.here, self.statement_text()))
            self.fail(habits.no_literal(self.here, "" if name == NIL else name))
        if name in self.reserved:
            self.report(habits.reserved_word(self.here, name, "predicate"))
        self.advance()
        terms, names = self.arguments(self.advance())
        return SignedAtom(name, terms, self.since(start), negative, names)

    def statement_text(self) -> str:
        """Give the text from here to where the rule ends."""
        place = self.position
        while self.kinds[place] not in {".", "end", "directive"}:
            place += 1
        return self._spelled(self.position, place - 1)

    def arguments(self, opener: int) -> tuple[tuple[SurfaceTerm, ...], tuple[Name, ...]]:
        """Read the arguments of an atom whose bracket has been opened, and their names."""
        terms: list[SurfaceTerm] = []
        names: dict[int, Name] = {}
        moved: list[_Moved] = []
        if self.accept(")"):
            return (), ()
        while True:
            if (
                self.kind == "name"
                and self.ahead() in {"=", "=="}
                and not (self.souffle and self.ahead() == "==")
            ):
                names[len(terms)] = self._argument_name()
                self._refuse_comma()
            elif not self.souffle and self.kind == "name" and self.ahead() in _ORDER_SIGNS:
                names[len(terms)] = self.word, self.here
            self._refuse_words()
            terms.append(self._compared_argument(moved) or self._argument_term())
            if self.accept(","):
                continue
            if self.accept(")"):
                self._refuse_moved(opener, moved)
                return tuple(terms), self._names_of(terms, names)
            if (
                self.kind not in _STARTS
                or self.kind in {"!", "("}
                or self.begins_statement(self.position)
            ):
                self.close(opener, ")")
            self.report(habits.missing_comma(self.tokens.after(self.position - 1)))

    def _compared_argument(self, moved: list[_Moved]) -> Variable | None:
        """Read past `> 99` and `total > 99` where an argument stands; nothing for anything else."""
        at = self.position
        sign = at + (self.kind in {"name", "variable"})
        shifted = self.tokens.kinds[sign + 1 : sign + 2] == [self.tokens.kinds[sign]]
        if self.souffle or shifted or self.tokens.kinds[sign] not in _ORDER_SIGNS:
            return None
        column, written = "?value", "?value"
        if self.kind == "name":
            column, written = f"?{self.word}", f"{self.word} = ?{self.word}"
        elif self.kind == "variable":
            column = written = self.word
        elif self.kinds[at - 1] == "=":
            column = written = f"?{self.tokens.word(at - 2)}"
        self.position = sign + 1
        self.term()
        last = self.position - 1
        place = self.tokens.starts[at], self.tokens.ends[last]
        right = self._spelled(sign + 1, last)
        if not right and (human := spelling.HUMAN.match(self.tokens.text, place[1])):
            # The lexer has reported a number with separators, and left no text of it.
            right, place = spelling.plain_number(human[0]), (place[0], human.end())
        sign_text = self._spelled(sign, sign)
        moved.append((*place, written, f"{column} {sign_text} {right}"))
        return Variable(column.removeprefix("?"), self.since(at))

    def _refuse_moved(self, opener: int, moved: list[_Moved]) -> None:
        """Report comparisons among the arguments of an atom, with the literals that are meant."""
        if not moved:
            return
        text, at = "", self.tokens.starts[max(opener - 1, 0)]
        for start, end, written, _ in moved:
            text, at = f"{text}{self.tokens.text[at:start]}{written}", end
        text += self.tokens.text[at : self.tokens.ends[self.position - 1]]
        behind = "".join(f", {one[3]}" for one in moved)
        self.report(habits.compared_argument(self.since(max(opener - 1, 0)), text + behind))

    def _refuse_words(self) -> None:
        """Refuse `Jane Doe` and `O'Neil` without quotes."""
        if self.souffle or self.kind != "name" or self.word in self.reserved:
            return
        start = self.tokens.starts[self.position]
        if found := _BARE_WORDS.match(self.tokens.text, start):
            self.fail(spelling.bare_words(self.tokens.stretch(start, found.end()), found[0]))

    def _refuse_comma(self) -> None:
        """Refuse `total = 7,5` and `total = 1,600,000.00`: no argument without a name follows."""
        start = self.tokens.starts[self.position]
        if self.souffle or self.kind != "number" or self.tokens.ends[self.position] == start:
            return
        found = spelling.HUMAN.match(self.tokens.text, start)
        if found and found.end() > self.tokens.ends[self.position]:
            if not spelling.number_edit(found[0]):
                return
            self.fail(spelling.human_number(self.tokens.stretch(start, found.end()), found[0]))

    def _argument_name(self) -> Name:
        """Step over `column =`; Souffle knows no such form."""
        start, name = self.position, self.word
        self.advance()
        if self.kind == "==":
            self.report(habits.comparison_habit(self.here, "==", "="))
        self.advance()
        span = self.since(start)
        if self.souffle:
            self.report(habits.named_argument(span, name))
        return name, self.tokens.span(start, start)

    def _names_of(self, terms: list[SurfaceTerm], names: dict[int, Name]) -> tuple[Name, ...]:
        """Give the name of each argument, if any has one; in souffle mode they are dropped."""
        if not names or self.souffle:
            return ()
        here = self.since(self.position - 1)
        return tuple(names.get(place, ("", one.span or here)) for place, one in enumerate(terms))

    def _argument_term(self) -> SurfaceTerm:
        # Nearly every argument is one token: those do without the stack of operators.
        kind = self.kind
        if kind in {"variable", "text", "wild"} and self.ahead() in {",", ")"}:
            return self._leaf()
        return self.term()

    def aggregate_body(self) -> tuple[SurfaceLiteral, ...]:
        """Read `{ body }`, or one atom."""
        if self.kind != "{":
            # What follows the atom belongs to the comparison that the aggregate stands in.
            bare = self.kind == "name" and self.ahead() == "("
            return (self.atom() if bare else self.literal(),)
        opener = self.advance()
        branches = self.body()
        self.close(opener, "}")
        choices = (one for branch in branches for one in branch if isinstance(one, Choice))
        if len(branches) > 1 or next(choices, None) is not None:
            self.report(habits.alternatives_in_aggregate(self.since(opener)))
            return ()
        return branches[0]


# Read directives: declarations, types, ports, includes, pragmas, and what stands before items.

# Values are kept as text, and the parts of `@[approved(by = "J. Doe")]` get keys such as
# `approved.by`.

GIVEN: Final = "given"
_VALUES: Final = frozenset({"name", "number", "text"})
_OPENERS: Final = frozenset({"@[", "@!["})


class NoteParser(BodyParser):
    """The part of the parser that reads descriptions and attributes."""

    described = 0

    def notes(self) -> Notes:
        """Read every description and attribute before the current item."""
        lines = self._descriptions()
        attributes: list[Attribute] = []
        while self.kind in _OPENERS:
            self.attribute(attributes)
            lines.extend(self._descriptions())
        return Notes("\n".join(lines), tuple(attributes))

    def _descriptions(self) -> list[str]:
        """Take the descriptions before the current token; report those inside an item."""
        lines: list[str] = []
        pending = self.tokens.descriptions
        while self.described < len(pending) and pending[self.described][0] <= self.position:
            place, line, start, end = pending[self.described]
            self.described += 1
            if place == self.position:
                lines.append(line)
            else:
                self.report(habits.misplaced_description(self.tokens.stretch(start, end)))
        return lines

    def forget_descriptions(self) -> None:
        """Skip the descriptions inside a statement that could not be read."""
        pending = self.tokens.descriptions
        while self.described < len(pending) and pending[self.described][0] < self.position:
            self.described += 1

    def attribute(self, found: list[Attribute]) -> None:
        """Read one `@[...]` and add it, unless its key is there already."""
        try:
            fresh = self._attribute()
        except ResyncError:
            self._skip_attribute()
            return
        known = {one.key for one in found}
        for one in fresh:
            if one.key in known:
                self.report(declarations.attribute_twice(one.span, one.key))
            else:
                found.append(one)
                known.add(one.key)

    def _skip_attribute(self) -> None:
        """Go on behind an attribute that could not be read: the item itself may be fine."""
        while self.kind not in {"]", "end", "directive", ":-"}:
            if self.kind == "name" and self.tokens.begins_line(self.position):
                return
            self.advance()
        self.accept("]")

    def _attribute(self) -> list[Attribute]:
        opener = self.advance()
        start = self.position
        key = self._key()
        fresh = self._parts(key) if self.kind == "(" else [self._value(key, start)]
        if self.kind == ",":
            here, why = self.here, "each attribute has its own brackets: `@[a = 1] @[b = 2]`"
            self.fail(declarations.odd_attribute(here, why, self._whole_key(key, fresh[-1].value)))
        self.close(opener, "]")
        return fresh

    def _key(self) -> str:
        if self.kind != "name":
            self.fail(declarations.odd_attribute(self.here, "an attribute begins with a name"))
        key = self.word
        self.advance()
        if self.kind in {".", ":"}:
            self.fail(declarations.odd_attribute(self.here, "the key of an attribute is one name"))
        return key

    def _value(self, key: str, start: int) -> Attribute:
        """Read `= value`; a key alone means true."""
        if self.kind == "]":
            return Attribute(key, "true", self.since(start))
        if not self.accept("="):
            self.fail(declarations.odd_attribute(self.here, "expected `=` or `]` after the key"))
        return Attribute(key, self.attribute_value(), self.since(start))

    def _parts(self, key: str) -> list[Attribute]:
        opener = self.advance()
        if key == GIVEN:
            return [self._names(key, opener)]
        parts: list[Attribute] = []
        while self.kind != ")":
            start = self.position
            name = self._key()
            if not self.accept("="):
                here = self.here
                edit = self._whole_key(key, name)
                self.fail(declarations.odd_attribute(here, "expected `name = value`", edit))
            parts.append(Attribute(f"{key}.{name}", self.attribute_value(), self.since(start)))
            if not self.accept(","):
                break
        self.close(opener, ")")
        return parts or [Attribute(key, "true", self.since(opener))]

    def _whole_key(self, key: str, first: str) -> str:
        """Give the key of several columns as it is written; another attribute has none."""
        names = [first]
        while key == "key" and self.accept(",") and self.kind == "name":
            names.append(self.word)
            self.advance()
        several = len(names) > 1 and self.kind in {")", "]"}
        return f'@[key = "{", ".join(names)}"]' if several else ""

    def _names(self, key: str, opener: int) -> Attribute:
        """Read `a, b)`: the names of columns."""
        names: list[str] = []
        while self.kind != ")":
            names.append(self._key())
            if not self.accept(","):
                break
        self.close(opener, ")")
        return Attribute(key, ",".join(names), self.since(opener))

    def attribute_value(self) -> str:
        """Read a name, number or text, and give it as text."""
        sign = "-" if self.accept("-") else ""
        if self.kind not in _VALUES:
            self.fail(declarations.odd_attribute(self.here, "expected a name, a number or a text"))
        word = self.word
        if self.kind != "text":
            self.advance()
            return sign + word
        text, wrong = read_text(word)
        if wrong is not None:
            self.report(spelling.bad_escape(self.here, wrong))
        self.advance()
        return sign + text


# What stands between the brackets of a record or branch is read to its end where that is possible,
# so one mistake gives one message.

KINDS: Final = MappingProxyType({kind.value: kind for kind in Kind if kind is not Kind.STRUCTURE})
_NAMES: Final = frozenset({"name", "variable"})


@slotted
class _Definition:
    """What stands behind `=` or `<:`."""

    form: str
    members: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()


class TypeParser(NoteParser):
    """The part of the parser that reads types."""

    def plain_name(self, what: str) -> tuple[str, Span]:
        """Read the name of a predicate, column, field, branch or type."""
        if self.kind == "variable" and not self.souffle:
            bare = self.word.lstrip("?_") or "x"
            self.report(
                habits.unexpected(self.here, self.word, f"the name of a {what}", f"write `{bare}`")
            )
        elif self.kind not in _NAMES:
            self.unexpected(f"the name of a {what}", f"write the name of the {what} here")
        elif self.word in self.reserved:
            self.report(habits.reserved_word(self.here, self.word, what))
        self.refuse_qualified()
        name, span = self.word.removeprefix("?"), self.here
        self.advance()
        return name, span

    def type_name(self) -> str:
        """Read the name of a type where one is used."""
        if self.kind != "name":
            self.unexpected(
                "a type", "write a type such as `symbol`, `number`, `Decimal` or `Date`"
            )
        self.refuse_qualified()
        name = self.own_type(self.word)
        self.advance()
        return name

    def own_type(self, name: str) -> str:
        """Give the name of a type; what is built in here only is any type's name in Souffle."""
        return f"{name}_" if self.souffle and name in STAND_INS else name

    def type_definition(self, notes: Notes) -> TypeDefinition | None:
        """Read a definition; nothing where it only repeats what is built in."""
        start = self.advance()
        if self.kind != "name":
            self.unexpected(
                "the name of a type", "write, for example, `.type CustomerId <: symbol`"
            )
        name, span = self.own_type(self.word), self.here
        if name in self.reserved:
            self.report(habits.reserved_word(span, name, "type"))
        self.refuse_qualified()
        self.advance()
        parts = self._defined(start)
        # The prelude declares what stock Souffle lacks; here these types are there already.
        if name not in BASE_TYPES:
            attributes = {one.key: one.value for one in notes.attributes}
            return TypeDefinition(
                name,
                parts.form,
                parts.members,
                span,
                attributes,
                notes.description,
                parts.branches,
            )
        if parts.form != "subtype" or STAND_INS.get(name) != parts.members[0]:
            self.report(declarations.built_in_type(span, name))
        return None

    def _defined(self, start: int) -> _Definition:
        """Read the sign and what stands behind it."""
        if self.accept("<:"):
            if self.kind in {"[", "{", "$"}:
                reason = "a record or an algebraic data type is below no other type"
                self.fail(declarations.odd_type(self.here, reason, "write `=` for `<:`"))
            return _Definition("subtype", (self.type_name(),))
        if self.accept("="):
            return self._record() if self.kind == "[" else self._alternatives()
        if not self.souffle:
            self.fail(refusals.refused("legacy", self.since(start)))
        self.report(refusals.refused("legacy", self.since(start)))
        return _Definition("subtype", ("symbol",))

    def _record(self) -> _Definition:
        opener = self.advance()
        fields = self._fields(opener, "]", "the record")
        if self.kind == "|":
            reason = "a record type has one form"
            edit = "write branches, each with a name: `Some { x: number } | None {}`"
            self.fail(declarations.odd_type(self.here, reason, edit))
        return _Definition("record", (), (Branch(RECORD, fields, self.since(opener)),))

    def _alternatives(self) -> _Definition:
        """Read names with `|` between them: branches where any of them has braces."""
        if self.kind == "|":
            edit = "delete it: `|` stands between two branches only"
            self.report(declarations.odd_type(self.here, "nothing stands before this `|`", edit))
            self.advance()
        members: list[str] = []
        branches: list[Branch] = []
        bare: list[Branch] = []
        while True:
            self._refuse_brackets()
            start = self.position
            if self.ahead() == "{":
                branches.append(self._branch())
            else:
                members.append(self.type_name())
                bare.append(Branch(f"${members[-1]}", (), self.since(start)))
            if not self._another():
                break
        if not branches:
            return _Definition("union" if len(members) > 1 else "alias", tuple(members))
        if bare:
            self.report(self._without_braces(bare[0]))
        return _Definition("algebraic", (), self._distinct([*branches, *bare]))

    def _refuse_brackets(self) -> None:
        """Refuse what other languages write for a record, a branch or its name."""
        if self.kind in {"{", "("}:
            reason = "the fields of a record type stand in square brackets"
            self.fail(declarations.odd_type(self.here, reason, "write, for example, `[x: number]`"))
        if self.kind == "[":
            reason = "a record type has a name of its own"
            edit = "define it alone, and give it a branch: `Some { p: Pair } | None {}`"
            self.fail(declarations.odd_type(self.here, reason, edit))
        if self.kind == "$":
            reason = "`$` stands before a branch in terms only"
            self.report(declarations.odd_type(self.here, reason, "delete it"))
            self.advance()
        if self.kind in _NAMES and self.ahead() in {"(", "["}:
            place = self.tokens.span(self.position + 1, self.position + 1)
            reason = "the fields of a branch stand in braces"
            edit = f"write, for example, `{self.word[:40]} {{ x: number }}`"
            self.fail(declarations.odd_type(place, reason, edit))

    def _without_braces(self, branch: Branch) -> Diagnostic:
        name = branch.constructor[1:41]
        reason = f"branch `{name}` has no braces"
        return declarations.odd_type(branch.span or self.here, reason, f"write `{name} {{}}`")

    def _branch(self) -> Branch:
        name, span = self.plain_name("branch")
        fields = self._fields(self.advance(), "}", f"branch `{name[:40]}`")
        return Branch(f"${name}", fields, span)

    def _another(self) -> bool:
        """Step over `|`, or say that it is missing between two branches."""
        if self.accept("|"):
            return True
        place = self.position + (self.kind in {",", ";"})
        goes_on = self.kinds[place] == "name" and self.kinds[place + 1] == "{"
        if not goes_on:
            return False
        reason = "`|` is missing between two branches"
        span = self.tokens.after(self.position - 1) if place == self.position else self.here
        self.report(declarations.odd_type(span, reason, "write `|` here"))
        self.position = place
        return True

    def _distinct(self, branches: list[Branch]) -> tuple[Branch, ...]:
        found: dict[str, Branch] = {}
        for branch in branches:
            first = found.setdefault(branch.constructor, branch)
            if first is not branch and branch.span is not None:
                name = branch.constructor[1:]
                self.report(declarations.branch_twice(branch.span, name, first.span))
        return tuple(found.values())

    def _fields(self, opener: int, closer: str, owner: str) -> tuple[Column, ...]:
        """Read `name: type` up to the closing bracket."""
        fields: dict[str, Column] = {}
        if self.accept(closer):
            return ()
        while True:
            one = self._field()
            first = fields.setdefault(one.name, one)
            if first is not one:
                self.report(
                    declarations.field_twice(one.span or self.here, one.name, owner, first.span)
                )
            if self.accept(","):
                if self.kind == closer:
                    self.fail(declarations.no_field(self.here, closer))
                continue
            if self.accept(closer):
                return tuple(fields.values())
            if self.kind == "|":
                place, bracket = self.tokens.after(self.position - 1), self.tokens.word(opener)
                span = self.tokens.span(opener, opener)
                self.fail(habits.open_bracket(place, span, bracket, closer))
            if self.kind not in _NAMES or self.begins_statement(self.position):
                self.close(opener, closer)
            self.report(habits.missing_comma(self.tokens.after(self.position - 1)))

    def _field(self) -> Column:
        if self.kind in {"@[", "@!["}:
            closer = self.tokens.closer(self.position) or self.position
            self.fail(declarations.field_attribute(self.tokens.span(self.position, closer)))
        name, span = self.plain_name("field")
        if name in BASE_TYPES and self.kind != ":":
            edit = f"write a name before the type, for example `x: {name}`"
            self.fail(declarations.odd_type(span, "a field has a name and a type", edit))
        if not self.accept(":"):
            self.unexpected("`:` and a type", f"write, for example, `{name[:40]}: symbol`")
        type_name = self.type_name()
        return Column(name, type_name, KINDS.get(type_name, Kind.SYMBOL), {}, span)


# A directive that is not supported is named, and the parser goes on behind it.

_LEGACY_TYPES: Final = MappingProxyType({"number_type": "number", "symbol_type": "symbol"})


class DirectiveParser(TypeParser):
    """The part of the parser that reads directives."""

    def __init__(
        self, tokens: Tokens, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
    ) -> None:
        super().__init__(tokens, diagnostics, mode)
        self.items: list[SurfaceItem] = []
        self.once = False
        self.pragmas: list[Pragma] = []
        self.hinted: set[str] = set()

    def directive(self, notes: Notes) -> None:
        """Read one directive."""
        word = self.word[1:]
        if notes.attributes and word not in {"decl", "type", "input", "output", "plan"}:
            self.report(declarations.lost_attribute(notes.attributes[0].span))
        match word:
            case "decl":
                self._declaration(notes)
            case "type":
                definition = self.type_definition(notes)
                self.items.extend([] if definition is None else [definition])
            case "input" | "output" | "printsize":
                self._ports(word, notes)
            case "include":
                self._include()
            case "once":
                self.once = True
                self.advance()
            case "pragma":
                self._pragma()
            case "plan":
                self._plan()
            case _:
                self._refused(word, notes)
        if self.kind == "." and not self.begins_statement(self.position):
            self.report(habits.stray_dot(self.here))
            self.advance()

    def _refused(self, word: str, notes: Notes) -> None:
        if self.souffle and word in _LEGACY_TYPES:
            self._legacy_type(_LEGACY_TYPES[word], notes)
            return
        if self.souffle and word == "strict":
            self._hint(self.tokens.span(self.advance(), self.position - 1), ".strict")
            return
        construct = REFUSED_DIRECTIVES.get(word)
        if construct is None:
            self.fail(declarations.unknown_directive(self.here, word))
        self.report(refusals.refused(construct, self.here))
        if word == "comp":
            self._skip_braces()
            return
        raise ResyncError

    def _skip_braces(self) -> None:
        """Step over the body of a component, whose rules end with dots like all others."""
        depth = 0
        while self.kind != "end":
            kind = self.kinds[self.advance()]
            if kind == "{":
                depth += 1
            elif kind == "}":
                depth -= 1
                if depth == 0:
                    return

    def _declaration(self, notes: Notes) -> None:
        self.advance()
        names = [self.plain_name("predicate")]
        while self.accept(","):
            names.append(self.plain_name("predicate"))
        opener = self.position
        if not self.accept("("):
            self.unexpected("`(` and the columns", f"write `.decl {names[0][0]}(x: symbol)`")
        columns = self._columns(opener)
        self.items.extend(Declaration(name, columns, notes, span) for name, span in names)
        self._tags(names)

    def _columns(self, opener: int) -> tuple[Column, ...]:
        columns: dict[str, Column] = {}
        if self.accept(")"):
            return ()
        while True:
            column = self._column()
            first = columns.setdefault(column.name, column)
            if first is not column:
                self.report(
                    declarations.column_twice(column.span or self.here, column.name, first.span)
                )
            if self.accept(","):
                continue
            if self.accept(")"):
                return tuple(columns.values())
            if self.kind not in {"name", "@[", "@!["} or self.begins_statement(self.position):
                self.close(opener, ")")
            self.report(habits.missing_comma(self.tokens.after(self.position - 1)))

    def _column(self) -> Column:
        attributes: list[Attribute] = []
        while self.kind in {"@[", "@!["}:
            self.attribute(attributes)
        name, span = self.plain_name("column")
        if not self.accept(":"):
            if self.kind in {")", ","}:
                self.report(declarations.untyped(span, name))
                return Column(name, "symbol", Kind.SYMBOL, {}, span)
            self.unexpected("`:` and a type", f"write, for example, `{name}: symbol`")
        place = self.position
        type_name = self.type_name()
        closer = self.tokens.closer(self.position) if self.kind == "(" else None
        if closer is not None:
            length = self.tokens.span(place, closer)
            self.report(declarations.type_with_length(length, type_name))
            self.position, type_name = closer + 1, "symbol"
        return Column(
            name,
            type_name,
            KINDS.get(type_name, Kind.SYMBOL),
            {one.key: one.value for one in attributes},
            span,
        )

    def _tags(self, names: list[tuple[str, Span]]) -> None:
        """Read what may follow the columns: hints are ignored, other tags refused.

        In souffle mode `input`, `output` and `printsize` say what the directives of today say.
        """
        while self.kind == "name":
            word = self.word
            if word == "choice" and self.ahead() == "-":
                self.fail(refusals.refused("choice", self.here))
            elif word in HINTS:
                self._hint(self.here, word)
            elif word in LEGACY_TAGS:
                self.report(refusals.refused("legacy", self.here))
                ports = (Port(word, name, (), Notes(), span) for name, span in names)
                self.items.extend(ports if self.souffle else ())
            elif word == "eqrel":
                self.report(refusals.refused("eqrel", self.here))
            elif word == "overridable":
                self.report(refusals.refused("component", self.here))
            else:
                return
            self.advance()

    def _legacy_type(self, base: str, notes: Notes) -> None:
        """Read `.number_type Age`, which is `.type Age <: number`."""
        start = self.advance()
        name, span = self.plain_name("type")
        self.report(refusals.refused("legacy", self.since(start)))
        attributes = {one.key: one.value for one in notes.attributes}
        self.items.append(TypeDefinition(self.own_type(name), "subtype", (base,), span, attributes))

    def _ports(self, directive: str, notes: Notes) -> None:
        self.advance()
        # Parameters belong to all the names before them, as in Souffle.
        waiting: list[tuple[str, Span]] = []
        while True:
            waiting.append(self.plain_name("predicate"))
            if self.kind != ",":
                parameters = self._parameters(self.advance()) if self.kind == "(" else []
                for name, span in waiting:
                    self.items.append(Port(directive, name, tuple(parameters), notes, span))
                waiting.clear()
            if not self.accept(","):
                return

    def _parameters(self, opener: int) -> list[Attribute]:
        """Read `key = value` pairs."""
        found: dict[str, Attribute] = {}
        while self.kind != ")":
            start = self.position
            if self.kind != "name":
                self.unexpected("the name of a parameter", 'write, for example, `source = "sales"`')
            key = self.word
            self.advance()
            if not self.accept("="):
                self.unexpected("`=`", f'write, for example, `{key} = "value"`')
            one = Attribute(key, self.attribute_value(), self.since(start))
            if key in found:
                self.report(declarations.attribute_twice(one.span, key))
            found.setdefault(key, one)
            if not self.accept(","):
                break
        self.close(opener, ")")
        return list(found.values())

    def _text_argument(self) -> str:
        text, wrong = read_text(self.word)
        if wrong is not None:
            self.report(spelling.bad_escape(self.here, wrong))
        self.advance()
        return text

    def _include(self) -> None:
        self.advance()
        if self.kind != "text":
            self.unexpected(
                "the name of a file in quotes", 'write, for example, `.include "types.dl"`'
            )
        span = self.here
        self.items.append(Include(self._text_argument(), span))

    def _pragma(self) -> None:
        start = self.advance()
        texts: list[str] = []
        while self.kind == "text":
            texts.append(self._text_argument())
        if not 1 <= len(texts) <= 2:  # noqa: PLR2004  a name and a value
            self.fail(declarations.odd_pragma(self.since(start)))
        self.pragmas.append(Pragma(tuple(texts), self.since(start)))
        if texts[0] != "constat":
            self._hint(self.since(start), f".pragma {texts[0]}")
        elif len(texts) == 1:
            self.report(declarations.odd_pragma(self.since(start)))
        elif texts[1] != declarations.LANGUAGE_VERSION:
            self.report(declarations.other_version(self.since(start), texts[1]))

    def _plan(self) -> None:
        """Step over `.plan 0: (1, 2), 1: (2, 1)`, which tells Souffle an order of joins."""
        start = self.advance()
        while self.kind in {"number", ":", "(", ")", ","}:
            self.advance()
        self._hint(self.since(start), ".plan")

    def _hint(self, span: Span, spelled: str) -> None:
        """Say once for each file that a hint is ignored."""
        if spelled not in self.hinted:
            self.hinted.add(spelled)
            self.report(declarations.hint(span, spelled))


def parse_file(
    text: str, source: str, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
) -> SurfaceFile:
    """Read a text. What could not be read is missing from the result and reported."""
    tokens = lex(text, source, diagnostics, souffle=mode is Mode.SOUFFLE)
    if mode is Mode.SOUFFLE:
        _name_underscored(tokens)
    parser = Parser(tokens, diagnostics, mode)
    parser.run()
    return SurfaceFile(tuple(parser.items), parser.once, tuple(parser.pragmas))


def _name_underscored(tokens: Tokens) -> None:
    """Take `_p` before a bracket for a predicate; strict names begin with a letter."""
    for place, kind in enumerate(tokens.kinds):
        if kind == "variable" and tokens.kinds[place + 1] == "(":
            tokens.kinds[place] = "name" if tokens.word(place)[0] == "_" else kind


class Parser(DirectiveParser):
    """Reads a whole text, statement by statement."""

    def run(self) -> None:
        """Read every statement."""
        seen, errors = len(self.diagnostics), 0
        while self.kind != "end":
            self.statement_start = self.position
            try:
                self._statement()
            except ResyncError:
                self._resync()
                self.forget_descriptions()
            errors += sum(one.severity is Severity.ERROR for one in self.diagnostics[seen:])
            seen = len(self.diagnostics)
            if errors >= MAX_ERRORS:
                self.report(spelling.too_many_errors(self.here, errors))
                return
        self.notes()

    def _statement(self) -> None:
        notes = self.notes()
        match self.kind:
            case "directive" if self.word == ".constraint" and not self.souffle:
                self._constraint_text(notes)
            case "directive":
                self.directive(notes)
            case "name":
                self._rule(notes)
            case "end":
                if notes.attributes:
                    self.report(declarations.lost_attribute(notes.attributes[0].span))
            case _:
                if self.kind == "?-":
                    self.advance()
                self.unexpected(
                    "a declaration, a rule or a fact", "write a rule: `head(?x) :- body(?x).`"
                )

    def _constraint_text(self, notes: Notes) -> None:
        """Read `.constraint name: body => literal.`, or `=> false` where nothing may be so."""
        start = self.position
        self.advance()
        named = self.kind == "name" and self.ahead() == ":"
        name, span = self.plain_name("constraint") if named else ("", self.here)
        if not self.accept(":"):
            self.fail(habits.odd_constraint(span, "has no name", named=False))
        self.constraining = True
        try:
            branches = self.body()
        finally:
            self.constraining = False
        if len(branches) > 1 or any(isinstance(one, Choice) for one in branches[0]):
            self.fail(habits.odd_constraint(self.since(start), "has alternatives"))
        if not self.accept("=>"):
            self.fail(habits.odd_constraint(self.here, "has no `=>`"))
        denied = None
        if self.kind == "name" and self.word == "false":
            self.advance()
        else:
            denied = self.literal()
        self._end_of_rule(has_body=True)
        self.items.append(ConstraintText(name, branches[0], denied, notes, self.since(start)))

    def _rule(self, notes: Notes) -> None:
        start = self.position
        self.spelled.clear()
        heads = [self._head()]
        while self.accept(","):
            heads.append(self._head())
        inner: list[Attribute] = list(notes.attributes)
        branches: tuple[tuple[SurfaceLiteral, ...], ...] = ()
        if self._arrow(heads):
            while self.kind in {"@[", "@!["}:
                self.attribute(inner)
            branches = self.body()
        self._end_of_rule(has_body=bool(branches))
        self.items.append(
            RuleText(
                tuple(heads),
                branches,
                Notes(notes.description, tuple(inner)),
                self.since(start),
            )
        )

    def _head(self) -> SignedAtom:
        if self.kind != "name":
            self.unexpected("the head of a rule", "write an atom such as `is_vip(?c)`")
        self.refuse_qualified()
        if self.ahead() != "(":
            word = self.word
            if word.casefold() == "select" and not self.souffle:
                self.fail(habits.sql_statement(self.here, self.statement_text()))
            self.advance()
            self.unexpected(f"`(` after `{word[:40]}`", f"write `{word[:40]}(...)`")
        return self.atom()

    def _arrow(self, heads: list[SignedAtom]) -> bool:
        """Step over `:-`, or over what somebody wrote for it. False at the end of a fact."""
        if self.accept(":-"):
            return True
        if self.kind == "<" and self.ahead() == "-" and self.tokens.adjacent(self.position + 1):
            self.report(
                habits.arrow_habit(self.tokens.span(self.position, self.position + 1), "<-")
            )
            self.position += 2
            return True
        spelled = self.word
        again = self.ahead() == "name" and self.tokens.word(self.position + 1)
        if spelled == "<=" and again == heads[0].predicate:
            self.fail(refusals.refused("subsumption", self.here))
        if spelled in ARROW_HABITS:
            self.report(habits.arrow_habit(self.here, spelled))
            self.advance()
            return True
        return False

    def _end_of_rule(self, *, has_body: bool) -> None:
        """Step over the final dot, or say that it is missing."""
        if self.accept("."):
            return
        fact = not has_body and self.kind == "name" and self.ahead() == "("
        if fact or self.begins_statement(self.position):
            self.report(habits.missing_dot(self.tokens.after(self.position - 1)))
            return
        self.unexpected("`.` or `,`", "end the rule with `.`, or join the next literal with `,`")

    def _resync(self) -> None:
        """Go on behind the dot of this statement, or at what looks like the next one."""
        start = self.statement_start
        self.position = max(self.position, start)
        if self.position == start:
            self.advance()
        # A dot ends the statement; a new line that starts like a rule does so where it is missing.
        while self.kind != "end":
            if self.kind == ".":
                self.advance()
                return
            if self._looks_fresh():
                return
            self.advance()

    def _looks_fresh(self) -> bool:
        kind = self.kind
        if kind == "directive":
            return True
        if kind not in {"name", "@["} or not self.tokens.begins_line(self.position):
            return False
        if self.tokens.column(self.position) > self.tokens.column(self.statement_start):
            return False
        if kind == "@[":
            return True
        if self.kinds[self.position - 1] == "open text":
            return True
        closer = self.tokens.closer(self.position + 1)
        return closer is not None and self.kinds[closer + 1] in {":-", "."}


# Where attributes stand in a text, and what they and the pragmas say.

# Tokens alone are looked at, so nothing is resolved.


@frozen
class AttributePlace:
    """An attribute as it is spelled; `in_body` where it stands behind `:-`."""

    spelling: str
    in_body: bool
    span: Span


def attribute_places(text: str, source_name: str) -> Iterator[AttributePlace]:
    """Yield every attribute of a text, in order."""
    tokens = lex(text, source_name, [])
    inside: set[int] = set()
    for place, kind in enumerate(tokens.kinds):
        closer = tokens.closer(place) if kind in {"@[", "@!["} else None
        if closer is None:
            continue
        before = place - 1
        in_body = place > 0 and (tokens.kinds[before] == ":-" or before in inside)
        if in_body:
            inside.add(closer)
        spelling = tokens.text[tokens.starts[place] : tokens.ends[closer]]
        yield AttributePlace(spelling, in_body, tokens.span(place, closer))


# Nothing is merged: two `.output` of one predicate are two items here, while a program keeps what
# both say as one.


@frozen
class Annotated:
    """An item and its attributes; `subject` is the predicate it is about."""

    subject: str
    attributes: tuple[Attribute, ...]
    span: Span


@frozen
class Annotations:
    """The annotated items of a text, in order, and its pragmas."""

    items: tuple[Annotated, ...]
    pragmas: tuple[Pragma, ...]


def read_annotations(text: str, source_name: str) -> Annotations:
    """Read the annotations of a text; its mistakes are not reported here."""
    file = parse_file(text, source_name, [])
    found = (_annotated(item) for item in file.items)
    return Annotations(tuple(one for one in found if one is not None), file.pragmas)


def _annotated(item: SurfaceItem) -> Annotated | None:
    match item:
        case (
            Declaration(name=name, notes=notes, span=span) | Port(name=name, notes=notes, span=span)
        ):
            return _with(name, notes, span)
        case RuleText(heads=heads, notes=notes, span=span):
            return _with(heads[0].predicate, notes, span)
        case _:
            return None


def _with(subject: str, notes: Notes, span: Span) -> Annotated | None:
    return Annotated(subject, notes.attributes, span) if notes.attributes else None
