"""Cut a goal into its predicate and arguments.

In: the text of a goal. Out: the predicate's name and `Argument` values. Invariant: reading is
linear in the text and bounded in its length; an argument is a variable, a quoted text or a bare
token up to a comma, bracket or blank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.syntax.constants import read_text
from constat.syntax.mistakes import goals, spelling
from constat.syntax.tokens import Tokens

MAX_LENGTH: Final = 100_000
_BLANK: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NAMED: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*=(?!=)\s*")
_TEXT: Final = re.compile(r'"[^"\\\n\r]*(?:\\[^\n\r][^"\\\n\r]*)*"')
_SINGLE: Final = re.compile(r"'[^'\n\r]*'")
_TOKEN: Final = re.compile(r"""[^\s,()"']+""")
_VARIABLE: Final = re.compile(r"(?:\?[A-Za-z]|_[0-9]*[A-Za-z])[A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; `form` is `variable`, `wild`, `text` or `token`, `name` a column's or empty."""

    form: str
    text: str
    span: Span
    name: str = ""


class GoalScanner:
    """A position in the text of a goal."""

    def __init__(self, text: str, source: str, diagnostics: list[Diagnostic]) -> None:
        self.text = text
        self.tokens = Tokens(text, source)
        self.diagnostics = diagnostics
        self.position = 0
        self.variables: set[str] = set()
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
            if name == "not":
                edit = "write the atom alone; DISPROVED means that it is false"
            self.fail(goals.malformed(self.here(), "`(` is missing behind the predicate", edit))
        self.position += 1
        return name, span

    def _no_predicate(self) -> NoReturn:
        if self.position >= len(self.text):
            self.fail(
                goals.malformed(
                    self.here(), "the goal is empty", "write, for example, `is_vip(C001)`"
                )
            )
        if self.text.startswith(("!", "\\+", "~"), self.position):
            edit = "write the atom alone; DISPROVED means that it is false"
            self.fail(goals.malformed(self.here(), "a goal is not negated", edit))
        edit = "write the predicate first: `is_vip(C001)`"
        self.fail(goals.malformed(self.here(), "a goal begins with a predicate", edit))

    def arguments(self) -> list[Argument]:
        """Read the arguments, the closing bracket and what may follow it."""
        found: list[Argument] = []
        self.skip_blank()
        if self.text.startswith(")", self.position):
            self.position += 1
        else:
            found.append(self._argument())
            while self._comma():
                found.append(self._argument())
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
        reason = "`,` or `)` is missing behind this value"
        edit = 'write a comma between two values; a value with a blank is quoted: `"J. Doe"`'
        self.fail(goals.malformed(self.here(), reason, edit))

    def _end(self) -> None:
        self.skip_blank()
        if self.text.startswith(".", self.position):
            self.position += 1
            self.skip_blank()
        if self.position < len(self.text):
            edit = "write a rule with these literals as its body, and prove its head"
            rest = self.tokens.stretch(self.position, len(self.text))
            self.fail(goals.malformed(rest, "the goal goes on behind its closing bracket", edit))

    def _argument(self) -> Argument:
        self.skip_blank()
        start, name = self.position, ""
        named = _NAMED.match(self.text, start)
        if named is not None:
            name, self.position = named.group(1), named.end()
        begin = self.position
        form, text = self._value()
        place = start if name else begin
        return Argument(form, text, self.tokens.stretch(place, self.position), name)

    def _value(self) -> tuple[str, str]:
        start = self.position
        found = _TEXT.match(self.text, start)
        if found is not None:
            self.position = found.end()
            text, wrong = read_text(found.group())
            if wrong is not None:
                span = self.tokens.stretch(start, found.end())
                self.diagnostics.append(spelling.bad_escape(span, wrong))
            return "text", text
        found = _TOKEN.match(self.text, start)
        if found is None:
            self._no_value()
        self.position = found.end()
        return self._token(found.group(), self.tokens.stretch(start, found.end()))

    def _no_value(self) -> NoReturn:
        start = self.position
        single = _SINGLE.match(self.text, start)
        if single is not None:
            span = self.tokens.stretch(start, single.end())
            self.fail(spelling.single_quotes(span, single.group()[1:-1]))
        if self.text.startswith('"', start):
            self.fail(spelling.open_text(self.tokens.stretch(start, len(self.text))))
        reason = "a value is missing here"
        self.fail(goals.malformed(self.here(), reason, "write a value, or `?x` for any value"))

    def _token(self, token: str, span: Span) -> tuple[str, str]:
        """Tell variables from constants."""
        if token in {"_", "?"}:
            return "wild", token
        if token[0] in "?_":
            if not _VARIABLE.match(token):
                self.diagnostics.append(spelling.odd_variable(span, token))
            name = token.removeprefix("?")
            self.variables.add(name)
            return "variable", name
        if "=" in token:
            self.diagnostics.append(goals.needs_quotes(span, token))
        return "token", token
