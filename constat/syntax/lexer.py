"""Cut a text into tokens, kept as parallel lists with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Span
from constat.patterns import regex
from constat.syntax.mistakes import refusals, spelling
from constat.syntax.words import DIRECTIVES, MACROS, REFUSED_DIRECTIVES

# The last token is `end`, and it is the only one of its kind.
# Lists rather than token objects: a file of two thousand rules has fifty thousand tokens, most of
# them never shown.

_CLOSING: Final = MappingProxyType({"(": ")", "[": "]", "{": "}", "@[": "]", "@![": "]"})
_CLOSERS: Final = frozenset(")]}")


class Tokens:
    """The tokens of a text. Indices count from 0; offsets count characters."""

    __slots__ = (
        "_closers",
        "descriptions",
        "ends",
        "kinds",
        "line_starts",
        "source",
        "starts",
        "text",
    )

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.descriptions: list[tuple[int, str, int, int]] = []
        """`///` texts: the index of the token they stand before, the text, and its offsets."""
        self.line_starts = [0]
        offset = text.find("\n")
        while offset >= 0:
            self.line_starts.append(offset + 1)
            offset = text.find("\n", offset + 1)
        self._closers: dict[int, int] | None = None

    def add(self, kind: str, start: int, end: int) -> None:
        """Append a token."""
        self.kinds.append(kind)
        self.starts.append(start)
        self.ends.append(end)

    def drop(self, number: int) -> None:
        """Take the last tokens away."""
        for listed in (self.kinds, self.starts, self.ends):
            del listed[-number:]

    def word(self, index: int) -> str:
        """The spelling of a token."""
        return self.text[self.starts[index] : self.ends[index]]

    def span(self, first: int, last: int) -> Span:
        """The stretch from the start of one token to the end of another."""
        return self.stretch(self.starts[first], self.ends[last])

    def stretch(self, start: int, end: int) -> Span:
        """The span between two offsets."""
        starts = self.line_starts
        line = bisect_right(starts, start)
        column = start - starts[line - 1] + 1
        if line == len(starts) or end <= starts[line]:
            return Span(self.source, line, column, line, column + end - start)
        end_line = bisect_right(starts, end)
        return Span(self.source, line, column, end_line, end - starts[end_line - 1] + 1)

    def after(self, index: int) -> Span:
        """The empty place just behind a token, where something is missing."""
        return self.stretch(self.ends[index], self.ends[index])

    def column(self, index: int) -> int:
        """The column a token starts in, counted from 1."""
        start = self.starts[index]
        return start - self.line_starts[bisect_right(self.line_starts, start) - 1] + 1

    def begins_line(self, index: int) -> bool:
        """Whether no token stands before a token on its line."""
        line = self.line_starts[bisect_right(self.line_starts, self.starts[index]) - 1]
        return index == 0 or self.ends[index - 1] <= line

    def line_is_empty(self, offset: int) -> bool:
        """Whether the tokens so far leave the line of an offset empty."""
        line = self.line_starts[bisect_right(self.line_starts, offset) - 1]
        return not self.ends or self.ends[-1] <= line

    def clear(self) -> None:
        """Forget every token."""
        for part in (self.kinds, self.starts, self.ends, self.descriptions):
            part.clear()

    def adjacent(self, index: int) -> bool:
        """Whether a token touches the one before it."""
        return index > 0 and self.ends[index - 1] == self.starts[index]

    def closer(self, index: int) -> int | None:
        """The index of the bracket that closes the one at `index`, within its statement."""
        if self._closers is None:
            self._closers = self._pair_brackets()
        return self._closers.get(index)

    def is_target(self, opener: int) -> bool:
        """Whether a bracket behind the name of an aggregate is its target: `max (?x) : ...`.

        `max(?x, ?y)` is a function also before a colon: in `sum max(?x, ?y) : ...` it is summed.
        """
        closer = self.closer(opener)
        if closer is None or self.kinds[closer + 1] != ":":
            return False
        place = opener + 1
        while place < closer:
            if self.kinds[place] == ",":
                return False
            place = (self.closer(place) or place) + 1
        return True

    def _pair_brackets(self) -> dict[int, int]:
        # One pass for all: looking forward from each bracket would be quadratic on "((((".
        found: dict[int, int] = {}
        stack: list[tuple[int, str]] = []
        for index, kind in enumerate(self.kinds):
            closing = _CLOSING.get(kind)
            if closing is not None:
                stack.append((index, closing))
            elif kind in _CLOSERS:
                if stack and stack[-1][1] == kind:
                    found[stack.pop()[0]] = index
            elif kind in {".", "directive"}:
                stack.clear()
        return found


# Every character of the text is in a token, blank, comment or in a reported error; a mistake
# inside one token never hides the rest of the text.

_TOKEN: Final = regex(
    r"""
    (?P<blank>[ \t\r\n\f\v]+|//(?![/!])[^\n]*|////[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)
    |(?P<variable>\?[A-Za-z][A-Za-z0-9_]*(?![\w?]))
    |(?P<name>[A-Za-z][A-Za-z0-9_]*(?![\w?]))
    |(?P<text>"[^"\\\n\r]*(?:\\[^\n\r][^"\\\n\r]*)*")
    |(?P<date>[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])
        (?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?Z?)?(?![\w?]))
    |(?P<number>(?:0x[0-9a-fA-F]+u?|0b[01]+u?|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+u?)(?![\w?]|\.[0-9]))
    |(?P<wild>_(?![\w?]))
    |(?P<local>_[0-9]*[A-Za-z][A-Za-z0-9_]*(?![\w?]))
    |(?P<percent>%)
    |(?P<dot>\.(?:[A-Za-z_]\w*|[0-9]+)?)
    |(?P<description>///[^\n]*)
    |(?P<sign>:-|\?-|<:|@!?\[|=:=|=\\=|==|=<|=>|<>|<=|>=|!=|:=|->|&&|\|\||\\\+|\\=|/(?!/)|[-+*(),;:=<>!{}\[\]|&~@$^\\≤≥≠¬∧\u2228←→⇐])
    """,
    re.VERBOSE,
)
_QUOTED: Final = regex(rf"'{spelling.IN_SINGLE}'")
_LINE: Final = regex(r"[^\n]*")
_WORD: Final = regex(r"[0-9][\w?]*(?:\.[0-9][\w?]*)*|[\w?]+")
_PERCENT: Final = regex(r"%\s*(?:[,;)}]|[.](?![0-9])|\Z)")
"""A `%` behind which no term follows: `50%`."""
_PROSE: Final = regex(r"%+[ \t]*[A-Za-z]+[ \t]+[A-Za-z]")
_MACRO: Final = regex(r"#[ \t]*([a-z]+)")
# After one of these a term has ended: `%` divides and `.` ends a rule.
_TERM_ENDS: Final = frozenset({"name", "variable", "wild", "number", "text", "date", ")", "]", "}"})
_PLAIN: Final = frozenset({"name", "variable", "number", "text", "wild", "date"})
_BEFORE_TERM: Final = frozenset("([,+-*/%^=<>") | {"<=", ">=", "!="}
_QUOTE: Final = '"'
_LOOK_AHEAD: Final = 4_000
MAX_ERRORS: Final = 200


def lex(text: str, source: str, diagnostics: list[Diagnostic], *, souffle: bool = False) -> Tokens:
    """Give the tokens of a text; report what is none.

    For Souffle `--` is a sign twice and `//!` a comment; strict takes both for habits of others.
    """
    tokens = Tokens(text, source)
    lexer = _Lexer(tokens, diagnostics, souffle=souffle)
    if not lexer.refuse_characters():
        lexer.run()
    tokens.add("end", len(text), len(text))
    return tokens


class _Lexer:
    """The state of one pass over a text: the tokens so far and where the next one starts."""

    __slots__ = ("diagnostics", "in_directive", "limit", "souffle", "text", "tokens")

    def __init__(self, tokens: Tokens, diagnostics: list[Diagnostic], *, souffle: bool) -> None:
        self.souffle = souffle
        self.tokens = tokens
        self.text = tokens.text
        self.diagnostics = diagnostics
        self.limit = len(diagnostics) + MAX_ERRORS
        self.in_directive = False

    def run(self) -> None:
        """Cut the whole text."""
        match, position, size = _TOKEN.match, 0, len(self.text)
        # Two of three tokens are plain: they are added without a call.
        kinds, starts, ends = self.tokens.kinds, self.tokens.starts, self.tokens.ends
        while position < size:
            found = match(self.text, position)
            if found is None:
                if len(self.diagnostics) >= self.limit:
                    self.give_up(position)
                    return
                position = self.mistake(position)
                continue
            end, group = found.end(), found.lastgroup
            if group in _PLAIN:
                kinds.append(str(group))
                starts.append(position)
                ends.append(end)
            elif group == "sign":
                end = self.sign(found.group(), position, end)
            elif group == "dot":
                end = self.dot(position, end)
            elif group != "blank":
                end = self.other(str(group), position, end)
            position = end

    def give_up(self, position: int) -> None:
        """Stop reading a text that is mostly mistakes: it is no rule file."""
        span = self.tokens.stretch(position, position + 1)
        self.diagnostics.append(spelling.too_many_errors(span, MAX_ERRORS))
        self.tokens.clear()

    def refuse_characters(self) -> bool:
        """Report what no text may hold. The rest of such a text is not read."""
        place = self.text.find("\0")
        if place >= 0:
            self.report(spelling.nul_character, place, place + 1)
            return True
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            self.report(spelling.half_surrogate, error.start, error.start + 1)
            return True
        return False

    def report(self, mistake: spelling.Plain, start: int, end: int) -> None:
        """Add a diagnostic for a stretch of the text."""
        self.diagnostics.append(mistake(self.tokens.stretch(start, end)))

    def ended_term(self) -> bool:
        """Whether the token before can end a term."""
        kinds = self.tokens.kinds
        return bool(kinds) and kinds[-1] in _TERM_ENDS

    def divides(self, start: int) -> bool:
        """Whether `%` divides: behind a term of a rule, and not before words on a new line."""
        if not self.ended_term() or (self.in_directive and not self.left_directive()):
            return False
        return not self.tokens.line_is_empty(start) or _PROSE.match(self.text, start) is None

    def left_directive(self) -> bool:
        """Whether a rule has begun behind a directive: a name and a bracket, first on its line."""
        kinds, place = self.tokens.kinds, len(self.tokens.kinds) - 1
        # Where nothing is found the sign is an error, and these are few: no square.
        while place > 0 and kinds[place] != "directive":
            if (
                kinds[place] == "("
                and kinds[place - 1] == "name"
                and self.tokens.begins_line(place - 1)
            ):
                self.in_directive = False
                return True
            place -= 1
        return False

    def skip_line(self, position: int) -> int:
        """The end of the line."""
        found = _LINE.match(self.text, position)
        return found.end() if found else len(self.text)

    def sign(self, mark: str, start: int, end: int) -> int:
        """Add an operator or punctuation mark; `--` starts a comment in other languages."""
        if mark == "-" and self.text.startswith("--", start) and not self.souffle:
            end = self.skip_line(start)
            self.diagnostics.append(
                spelling.comment_sign(self.tokens.stretch(start, start + 2), "--")
            )
        elif mark == "/" and self.text.startswith("/*", start):
            end = len(self.text)
            self.report(spelling.open_comment, start, start + 2)
        else:
            self.tokens.add(mark, start, end)
            if mark == ":-":
                self.in_directive = False
        return end

    def other(self, group: str, start: int, end: int) -> int:
        """Add a token that needs a look at what stands around it."""
        if group == "local":
            self.tokens.add("variable", start, end)
        elif group == "description":
            lines = self.text[start + 3 : end].strip()
            self.tokens.descriptions.append((len(self.tokens.kinds), lines, start, end))
        elif self.divides(start):
            percent = _PERCENT.match(self.text, start) and self.human_number(start)
            if percent:
                return percent
            self.tokens.add("%", start, end)
        else:
            end = self.skip_line(start)
            self.diagnostics.append(
                spelling.comment_sign(self.tokens.stretch(start, start + 1), "%")
            )
        return end

    def dot(self, start: int, end: int) -> int:
        """Tell the dot that ends a rule from a directive and from a number such as `.5`."""
        word = self.text[start + 1 : end]
        if not word:
            self.tokens.add(".", start, end)
        elif word[0].isdigit():
            return self.dot_digits(start, end)
        elif self.starts_directive(word, start):
            self.tokens.add("directive", start, end)
            self.in_directive = True
            return end
        else:
            end = start + 1
            self.tokens.add(".", start, end)
        self.in_directive = False
        return end

    def starts_directive(self, word: str, start: int) -> bool:
        """Whether `.word` is a directive: first on its line, or known and set apart by a blank."""
        if self.tokens.line_is_empty(start):
            return True
        apart = self.text[start - 1].isspace()
        return apart and (word in DIRECTIVES or word in REFUSED_DIRECTIVES)

    def dot_digits(self, start: int, end: int) -> int:
        """`.5` where a term is due is a number for its author; `p(1).5` is not."""
        kinds = self.tokens.kinds
        if kinds and kinds[-1] in _BEFORE_TERM:
            self.diagnostics.append(
                spelling.bare_fraction(self.tokens.stretch(start, end), self.text[start:end])
            )
            self.tokens.add("number", start, end)
            return end
        if kinds and kinds[-1] == "number" and self.tokens.ends[-1] == start:
            self.report(spelling.odd_number, self.tokens.starts[-1], end)
            return end
        self.tokens.add(".", start, start + 1)
        return start + 1

    def mistake(self, start: int) -> int:
        """Report what no token starts with, and give the place to go on from."""
        character = self.text[start]
        if character == _QUOTE:
            return self.open_text(start)
        if character == "'":
            return self.single_quotes(start)
        if character == "#":
            return self.hash_sign(start)
        if self.text.startswith("//!", start):
            if self.souffle:
                return self.skip_line(start)
            self.diagnostics.append(
                spelling.comment_sign(self.tokens.stretch(start, start + 3), "//!")
            )
            return self.skip_line(start)
        word = _WORD.match(self.text, start)
        if word is not None:
            return self.odd_word(start, word.end())
        end = self.human_number(start)
        if end:
            return end
        self.diagnostics.append(
            spelling.odd_character(self.tokens.stretch(start, start + 1), character)
        )
        return start + 1

    def open_text(self, start: int) -> int:
        """A text without its closing quote: on this line, or anywhere."""
        end = self.skip_line(start)
        rest = self.text[end : end + _LOOK_AHEAD].partition("\n.")[0]
        line = next((line for line in rest.split("\n", 20)[:20] if _QUOTE in line), "")
        # A line with an odd number of quotes closes a text that was opened above it.
        several = line.count(_QUOTE) % 2 == 1
        if several:
            after = self.text.index(_QUOTE, end) + 1
            self.report(spelling.text_over_lines, start, end)
            self.tokens.add("text", start, after)
            return after
        visible = start + len(self.text[start:end].rstrip())
        self.report(spelling.open_text, start, visible)
        self.tokens.add("open text", start, visible)
        return end

    def single_quotes(self, start: int) -> int:
        """A text in single quotes, as Prolog and SQL write them."""
        end = self.human_number(start)
        if end:
            return end
        found = _QUOTED.match(self.text, start)
        if found is None:
            self.diagnostics.append(
                spelling.odd_character(self.tokens.stretch(start, start + 1), "'")
            )
            return start + 1
        self.diagnostics.append(
            spelling.single_quotes(
                self.tokens.stretch(start, found.end()), found.group()[1:-1].replace("''", "'")
            )
        )
        self.tokens.add("text", start, found.end())
        return found.end()

    def hash_sign(self, start: int) -> int:
        """A macro of the C preprocessor, or a comment of the shell."""
        found = _MACRO.match(self.text, start)
        if found is not None and found.group(1) in MACROS:
            self.report(refusals.macro, start, found.end())
        else:
            self.diagnostics.append(
                spelling.comment_sign(self.tokens.stretch(start, start + 1), "#")
            )
        return self.skip_line(start)

    def human_number(self, start: int) -> int:
        """Read past `€5`, `5€` and `1'000`, from the sign in it; 0 where there is none."""
        tokens = self.tokens
        joined = bool(tokens.kinds) and tokens.kinds[-1] == "number" and tokens.ends[-1] == start
        begin = tokens.starts[-1] if joined else start
        if joined and tokens.kinds[-3:-1] == ["number", ","]:
            # `7,5€`: what stands before the comma has been read as a number.
            whole = spelling.HUMAN.match(self.text, tokens.starts[-3])
            if whole is not None and whole.end() > start and spelling.number_edit(whole[0]):
                begin = tokens.starts[-3]
                tokens.drop(2)
        found = spelling.HUMAN.match(self.text, begin)
        if found is None or found.end() <= start or not spelling.number_edit(found[0]):
            return 0
        span = tokens.stretch(begin, found.end())
        self.diagnostics.append(spelling.human_number(span, found[0]))
        if not joined:
            tokens.add("number", start, start)
        return found.end()

    def odd_word(self, start: int, end: int) -> int:
        """A word that is neither a name nor a variable nor a number."""
        word, span = self.text[start:end], self.tokens.stretch(start, end)
        if word == "?":
            self.diagnostics.append(spelling.odd_variable(span, word))
            self.tokens.add("wild", start, end)
        elif word[0] in "?_":
            # Strict keeps `_1` for the names of its own `_`.
            if not (self.souffle and word.isascii() and "?" not in word):
                self.diagnostics.append(spelling.odd_variable(span, word))
            self.tokens.add("variable", start, end)
        elif word[0].isdigit():
            self.diagnostics.append(spelling.odd_number(span, word))
            self.tokens.add("number", start, start)
        else:
            self.diagnostics.append(spelling.odd_name(span, word))
            self.tokens.add("name", start, end)
        return end
