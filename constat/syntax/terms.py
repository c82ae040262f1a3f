"""Read terms: constants, variables, functions, arithmetic, aggregates, structures."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final, NoReturn

from constat.diagnostics import Diagnostic, Span
from constat.logic import (
    FUNCTIONS,
    NIL,
    RECORD,
    Constant,
    Kind,
    Variable,
    canonical_float,
    is_constructor,
)
from constat.syntax.cursor import Cursor, Mode, ResyncError, read_number, read_text
from constat.syntax.lexer import Tokens
from constat.syntax.mistakes import habits, records, refusals, spelling
from constat.syntax.surface import AggregateTerm, Call, SurfaceLiteral, SurfaceTerm, Wildcard
from constat.syntax.words import (
    AGGREGATE_HABITS,
    AGGREGATE_WORDS,
    COMPARISON_HABITS,
    COMPARISON_SIGNS,
    DOUBLED,
    INFIX,
    PREFIX_POWER,
    PREFIX_WORDS,
    REFUSED_FUNCTIONS,
    SIGN_HABITS,
    UNARY,
    WORD_HABITS,
)

# Nothing here reads a term, so nothing recurses.

_NAMES: Final = frozenset({"name", "variable"})


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
            self.fail(records.no_branch(self.since(start)))
        name = self.word.removeprefix("?")
        if name in self.reserved:
            self.report(habits.reserved_word(self.here, name, "branch"))
        self.refuse_qualified()
        self.advance()
        if self.kind in {"{", "["}:
            self.fail(records.branch_brackets(self.here, name))
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
            self.fail(records.nil_arguments(self.tokens.span(self.position, self.position + 1)))

    def refuse_field_name(self) -> None:
        """Refuse `x:` and `x =` before the value of a field."""
        named = self.kind in {"name", "variable"} and self.ahead() in {":", "="}
        if named and self.word not in AGGREGATE_WORDS:
            span = self.tokens.span(self.position, self.position + 1)
            self.fail(records.named_field(span, self.word.removeprefix("?")))

    def refuse_habit(self, function: str, opener: int) -> None:
        """Refuse what other languages write between fields, behind a field that has been read."""
        if function == RECORD and self.kind == "|":
            self.fail(records.list_habit(self.here))
        if function or self.kind != ",":
            return
        if self._is_balanced(opener):
            closer = self.tokens.closer(opener) or opener
            self.fail(records.tuple_habit(self.tokens.span(opener, closer)))
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
            self.fail(records.no_field(self.here, self.kind))
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
            self.report(habits.bare_name(span, word))
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
            self.fail(records.braces_habit(self.here))
        if kind == "@":
            twice = self.ahead() == "@"
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
