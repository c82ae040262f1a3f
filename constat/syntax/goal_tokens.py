"""Cut a goal into its predicate and arguments.

In: the text of a goal. Out: the predicate's name and `Argument` values. Invariant: reading is
linear in the text and bounded in its length; an argument is a variable, a quoted text or a bare
token up to a comma, bracket or blank, or a structure up to the end of its brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from constat.diagnostics import Diagnostic, Span
from constat.syntax.goal_structures import StructureScanner
from constat.syntax.goal_text import VARIABLE
from constat.syntax.mistakes import goals, spelling

# The atom alone is another question: whoever is told to drop the `!` has a "yes" for a "no".
_DERIVED: Final = (
    "derive what is not so, and ask for that: `not_so(?x) :- all(?x), !p(?x).`, then `not_so(A)`"
)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NAMED: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*=(?!=)\s*")
_TOKEN: Final = re.compile(r"""[^\s,()"']+""")

IsText = Callable[[int, str], bool]


@dataclass(frozen=True, slots=True)
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
            if name == "not":
                edit = _DERIVED
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
            edit = _DERIVED
            self.fail(goals.malformed(self.here(), "a goal is not negated", edit))
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
