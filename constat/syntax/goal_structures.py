r"""Cut a structure out of a goal: `[1, a]`, `$Add($Number(1), $Zero)`.

In: the text of a goal before `[` or `$`. Out: the text of the structure, its texts in the quotes of
structures. Invariant: brackets are counted, never recursed into; whether the fields are those of
a type is not looked at. Example: `["a\tb", c]` keeps `c` as it is, and has a tab in its first.
"""

from __future__ import annotations

import re
from typing import Final

from constat.logic import quoted
from constat.syntax.goal_text import VARIABLE, GoalText
from constat.syntax.mistakes import goals, records

_PIECE: Final = re.compile(r"""\s+|\$[A-Za-z_][A-Za-z0-9_]*|[\[\](),]|[^\s\[\](),"']+""", re.ASCII)
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
            self.fail(records.open_structure(span, piece))
