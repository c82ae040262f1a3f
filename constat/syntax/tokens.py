"""Tokens of one text as parallel lists, and the places they stand at.

In: what the lexer found. Out: kinds, spellings and offsets by index; spans and closing brackets
on demand. The kind of a punctuation mark or operator is its spelling; other kinds are `name`,
`variable`, `wild`, `number`, `text`, `date`, `directive` and `end`. Invariant: the last token is
`end`, and it is the only one of its kind.

Lists rather than token objects: a file of two thousand rules has fifty thousand tokens, most of
them never shown.
"""

from __future__ import annotations

from bisect import bisect_right
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Span

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
