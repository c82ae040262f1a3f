"""A place in the text of a goal.

In: the text of a goal. Out: spans, and mistakes placed in it. Invariant: the text is short enough
and holds no character that no text may hold; `position` never passes its end. Example: of `p(1)`
the whole is the span from column 1 to 5.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.syntax.constants import read_text
from constat.syntax.mistakes import goals, spelling
from constat.syntax.tokens import Tokens

MAX_LENGTH: Final = 100_000
TEXT: Final = re.compile(r'"[^"\\\n\r]*(?:\\[^\n\r][^"\\\n\r]*)*"')
VARIABLE: Final = re.compile(r"(?:\?[A-Za-z]|_[0-9]*[A-Za-z])[A-Za-z0-9_]*\Z")
_BLANK: Final = re.compile(r"\s*")
_SINGLE: Final = re.compile(r"'[^'\n\r]*'")


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
            self.fail(spelling.single_quotes(span, single.group()[1:-1]))
        if self.text.startswith('"', start):
            self.fail(spelling.open_text(self.tokens.stretch(start, len(self.text))))
