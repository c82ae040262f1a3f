"""A place in the tokens, the two dialects, constants: what every part of the parser needs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from enum import Enum
from types import MappingProxyType
from typing import Final, NoReturn

from constat.diagnostics import Diagnostic, Severity, Span
from constat.logic import Kind, Value, canonical_decimal, canonical_float, check_integer
from constat.syntax.lexer import Tokens, lex
from constat.syntax.mistakes import habits
from constat.syntax.words import RESERVED

# A number with a point is a `Decimal` where 38 digits hold it, and a float only with an exponent
# beyond that, so that printing and reading give the same constant.

_ESCAPES: Final = MappingProxyType(
    {
        '"': '"',
        "'": "'",
        "\\": "\\",
        "a": "\a",
        "b": "\b",
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
        "v": "\v",
    }
)
_LONGEST_INTEGER: Final = 70
_LONGEST_DECIMAL: Final = 400
_BASES: Final = MappingProxyType({"0x": 16, "0b": 2})


def read_number(spelling: str, *, negative: bool) -> tuple[Value, Kind]:
    """Read a number token. Raises `ValueError` with the range where the number is too large."""
    if "." in spelling:
        return _fraction(("-" if negative else "") + spelling)
    unsigned = spelling.endswith("u")
    kind = Kind.UNSIGNED if unsigned else Kind.NUMBER
    digits = spelling[:-1] if unsigned else spelling
    base = _BASES.get(digits[:2], 10)
    digits = digits[2:] if base != 10 else digits  # noqa: PLR2004  the base of plain numbers
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError("a number has at most 64 bits")
    value = int(digits or "0", base)
    try:
        return check_integer(-value if negative else value, kind), kind
    except ValueError as error:
        raise ValueError(f"a {kind.value} {error}".replace("is outside", "lies within")) from None


def _fraction(spelling: str) -> tuple[Value, Kind]:
    if len(spelling) > _LONGEST_DECIMAL:
        raise ValueError("a decimal has at most 38 digits")
    try:
        return canonical_decimal(Decimal(spelling)), Kind.DECIMAL
    except (ValueError, InvalidOperation):
        if "e" not in spelling.casefold():
            raise ValueError("a decimal has at most 38 digits") from None
    try:
        value = canonical_float(float(spelling))
    except ValueError:
        raise ValueError("a float is at most 1.7976931348623157e308") from None
    return (value, Kind.FLOAT) if value else (Decimal(0), Kind.DECIMAL)


def read_text(spelling: str) -> tuple[str, str | None]:
    """Give the text between the quotes, and the first escape that has no meaning."""
    inner = spelling[1:-1]
    if "\\" not in inner:
        return inner, None
    parts: list[str] = []
    wrong: str | None = None
    position = 0
    while True:
        place = inner.find("\\", position)
        if place < 0 or place + 1 >= len(inner):
            parts.append(inner[position:])
            return "".join(parts), wrong
        escape = inner[place + 1]
        if escape not in _ESCAPES:
            wrong = wrong or escape
        parts.extend((inner[position:place], _ESCAPES.get(escape, escape)))
        position = place + 2


# The parser is one; the mode only tells it which of its errors are warnings, because the text
# still has one meaning in Souffle.


class Mode(Enum):
    """How a file is read. The value is how users write it."""

    STRICT = "strict"
    SOUFFLE = "souffle"


# What strict refuses and Souffle reads in one way: bare names, declarations in the old form, an
# aggregate as an argument, a negated group, a comment with three strokes inside a rule.
_ACCEPTED: Final = frozenset({"C0116", "C0134", "C0135", "C0137", "C0175"})

NOT_RESERVED: Final = frozenset({"and", "if", "is", "not", "or"})
"""Words that strict reserves for its help on habits of other languages; Souffle does not."""


def reserved_words(mode: Mode) -> frozenset[str]:
    """Give the words that cannot be names."""
    return RESERVED - NOT_RESERVED if mode is Mode.SOUFFLE else RESERVED


def softened(diagnostic: Diagnostic, mode: Mode) -> Diagnostic:
    """Give the diagnostic, as a warning where the mode accepts what strict refuses."""
    if mode is Mode.SOUFFLE and diagnostic.code in _ACCEPTED:
        return replace(diagnostic, severity=Severity.WARNING)
    return diagnostic


def mode_of(text: str, source: str) -> Mode:
    """Tell the mode of a file by its pragma `constat`."""
    tokens = lex(text, source, [])
    for place, kind in enumerate(tokens.kinds):
        if kind == "directive" and tokens.word(place) == ".pragma":
            after = place + 1
            named = tokens.kinds[after] == "text" and read_text(tokens.word(after))[0]
            if named == "constat":
                return Mode.STRICT
    return Mode.SOUFFLE


# `position` never passes the final `end`. An error that the parser can read past is reported; one
# that it cannot is reported and raised as `ResyncError`, which the statement loop catches: it is
# control flow inside this package and never leaves it.

_BOUNDARIES: Final = frozenset({":-", ".", ";", ")", "]", "}", "end", "directive"})


class ResyncError(Exception):
    """The rest of this statement cannot be read. Its cause has been reported."""


class Cursor:
    """A position in the tokens of one text."""

    def __init__(
        self, tokens: Tokens, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
    ) -> None:
        self.tokens = tokens
        self.mode = mode
        self.reserved = reserved_words(mode)
        self.kinds = tokens.kinds
        self.diagnostics = diagnostics
        self.position = 0
        self.statement_start = 0

    @property
    def souffle(self) -> bool:
        """Whether the text is read as Souffle reads it."""
        return self.mode is Mode.SOUFFLE

    @property
    def kind(self) -> str:
        """The kind of the current token."""
        return self.kinds[self.position]

    def ahead(self, distance: int = 1) -> str:
        """The kind of a later token; `end` past the end."""
        place = self.position + distance
        return self.kinds[place] if place < len(self.kinds) else "end"

    @property
    def word(self) -> str:
        """The spelling of the current token."""
        return self.tokens.word(self.position)

    @property
    def here(self) -> Span:
        """The span of the current token."""
        return self.tokens.span(self.position, self.position)

    def since(self, first: int) -> Span:
        """The span from a token to the one before the current."""
        return self.tokens.span(first, max(first, self.position - 1))

    def advance(self) -> int:
        """Step over a token and give its index."""
        position = self.position
        if self.kinds[position] != "end":
            self.position += 1
        return position

    def accept(self, kind: str) -> bool:
        """Step over a token of that kind, if it is the current one."""
        if self.kinds[self.position] != kind:
            return False
        self.advance()
        return True

    def report(self, diagnostic: Diagnostic) -> None:
        """Record an error that can be read past; in souffle mode some are only warnings."""
        self.diagnostics.append(softened(diagnostic, self.mode))

    def fail(self, diagnostic: Diagnostic) -> NoReturn:
        """Record an error and give up this statement."""
        self.diagnostics.append(diagnostic)
        raise ResyncError

    def unexpected(self, expected: str, edit: str) -> NoReturn:
        """Give up because the current token cannot stand here."""
        if self.kind == "open text":
            # The lexer has said what is wrong; a second message would hide it.
            raise ResyncError
        if self.kind in {")", "]", "}"}:
            self.fail(habits.stray_bracket(self.here, self.kind))
        self.fail(habits.unexpected(self.here, self.word, expected, edit))

    def close(self, opener: int, closer: str) -> None:
        """Step over a closing bracket, or say which bracket is open."""
        if self.accept(closer):
            return
        if self.kind == "open text":
            raise ResyncError
        if self.kind not in _BOUNDARIES and not self.begins_statement(self.position):
            self.unexpected(
                f"`,` or `{closer}`", f"write `,` or `{closer}` before it, or delete it"
            )
        bracket = self.tokens.word(opener)
        place = self.tokens.after(max(0, self.position - 1))
        self.fail(habits.open_bracket(place, self.tokens.span(opener, opener), bracket, closer))

    def begins_statement(self, position: int) -> bool:
        """Whether a token looks like the start of the next rule.

        This tells a missing dot from a missing comma.
        """
        kind = self.kinds[position]
        if kind in {"end", "directive"}:
            return True
        if not self.tokens.begins_line(position):
            return False
        if kind in {"@[", "@!["}:
            return True
        if kind != "name" or self.kinds[position + 1] != "(":
            return False
        closer = self.tokens.closer(position + 1)
        if closer is None:
            return False
        if self.kinds[closer + 1] == ":-":
            return True
        return self.tokens.column(position) <= self.tokens.column(self.statement_start)
