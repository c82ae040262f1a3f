"""Where something stands in a text. Lines and columns count from 1, columns in characters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one source, from `line`:`column` up to but not including the end.

    `source` is the name people know the text by: a path relative to the project, `<goal>`.
    """

    source: str
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """Give the stretch from the start of this span to the end of the other one."""
        return Span(self.source, self.line, self.column, other.end_line, other.end_column)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"
