"""A place in the tokens, and what every part of the parser does there.

In: tokens. Out: the current token, and errors. Invariant: `position` never passes the final
`end`. An error that the parser can read past is reported; one that it cannot is reported and
raised as `ResyncError`, which the statement loop catches: it is control flow inside this package
and never leaves it.
"""

from __future__ import annotations

from typing import Final, NoReturn

from constat.diagnostics import Diagnostic, Span
from constat.syntax.mistakes import structure
from constat.syntax.modes import Mode, reserved_words, softened
from constat.syntax.tokens import Tokens

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
            self.fail(structure.stray_bracket(self.here, self.kind))
        self.fail(structure.unexpected(self.here, self.word, expected, edit))

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
        self.fail(structure.open_bracket(place, self.tokens.span(opener, opener), bracket, closer))

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
