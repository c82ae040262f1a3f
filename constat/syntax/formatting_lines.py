"""Lay a statement out over lines.

In: tokens and the shape of a stretch of them. Out: lines of text. Invariants: tokens and comments
come out in the order they came in; a group that fits into 100 columns with what follows it stays
on one line; what is laid out again comes out the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.syntax.formatting_gaps import EMPTY, Gap
from constat.syntax.formatting_groups import find_groups
from constat.syntax.formatting_spacing import spaced

if TYPE_CHECKING:
    from constat.syntax.formatting_groups import Shape
    from constat.syntax.tokens import Tokens

WIDTH: Final = 100
_STEP: Final = 2


class Lines:
    """The lines written so far and the one that is being written."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self._parts: list[str] = []
        self._column = 0

    @property
    def column(self) -> int:
        """The width of the line that is being written."""
        return self._column

    @property
    def at_start(self) -> bool:
        """Whether nothing has been written at all."""
        return not self.done and not self._parts

    def write(self, text: str) -> None:
        """Go on on this line; a text over several lines goes on behind its last."""
        self._parts.append(text)
        last = text.rfind("\n")
        self._column = self._column + len(text) if last < 0 else len(text) - last - 1

    def trail(self, comments: tuple[str, ...]) -> None:
        """Write comments behind what stands on this line."""
        for place, comment in enumerate(comments):
            self.write(f"{' ' if place else '  '}{comment}")

    def lead(self, comments: tuple[str, ...]) -> None:
        """Write comments before what will stand on this line."""
        for comment in comments:
            self.write(f"{comment} ")

    def end(self) -> None:
        """End this line, if there is anything on it."""
        if self._parts:
            self.done.append("".join(self._parts))
            self._parts.clear()
            self._column = 0

    def blank(self) -> None:
        """Leave one line empty, unless it is the first."""
        self.end()
        if self.done and self.done[-1]:
            self.done.append("")

    def begin(self, indent: int) -> None:
        """Start a new line."""
        self.end()
        if indent:
            self.write(" " * indent)


@dataclass(slots=True)
class _Level:
    """An open group: whether it is broken, and how far its lines are indented."""

    broken: bool
    indent: int
    outer: int


def lay_out(tokens: Tokens, shape: Shape, lines: Lines) -> None:
    """Write a stretch of tokens from the present line on."""
    if not shape.gaps and lines.column + shape.ends[-1] <= WIDTH:
        _write_flat(tokens, shape, lines)
        return
    find_groups(shape, tokens)
    levels = [_Level(broken=False, indent=0, outer=0)]
    for place in range(shape.first, shape.last):
        closes = tokens.kinds[place] in {")", "}", "]"}
        if place > shape.first:
            _step(tokens, shape, lines, levels[-1], place)
        lines.write(tokens.word(place))
        if closes and len(levels) > 1:
            levels.pop()
        elif place in shape.groups:
            levels.append(_open(shape, lines, levels[-1], place))


def _write_flat(tokens: Tokens, shape: Shape, lines: Lines) -> None:
    """Write what fits on the line and holds no comment: nearly every statement."""
    starts, ends, text = tokens.starts, tokens.ends, tokens.text
    parts: list[str] = []
    column = 0
    for place, begin, end in zip(
        range(shape.first, shape.last), shape.starts, shape.ends, strict=True
    ):
        if begin > column:
            parts.append(" ")
        parts.append(text[starts[place] : ends[place]])
        column = end
    lines.write("".join(parts))


def _open(shape: Shape, lines: Lines, outer: _Level, place: int) -> _Level:
    group = shape.groups[place]
    width = lines.column + shape.width_behind(place, group.reach)
    broken = group.breakable and width > WIDTH
    indent = outer.indent + _STEP if broken else outer.indent
    return _Level(broken, indent, outer.indent)


def _step(tokens: Tokens, shape: Shape, lines: Lines, level: _Level, place: int) -> None:
    """Write what stands between two tokens."""
    gap = shape.gaps.get(place, EMPTY)
    turns = level.broken and place in shape.turns
    if turns:
        closes = tokens.kinds[place] in {")", "}", "]"}
        indent = level.outer if closes else level.indent
        _turn(lines, gap, indent, level.indent)
    elif gap.breaks:
        indent = level.indent + _STEP
        _turn(lines, gap, indent, indent)
    else:
        if spaced(tokens, place, in_rule=shape.in_rule, commented=bool(gap.leading)):
            lines.write(" ")
        lines.lead(gap.leading)


def _turn(lines: Lines, gap: Gap, indent: int, inner: int) -> None:
    """Go on on a new line; comments of their own stand before it, at the depth `inner`."""
    lines.trail(gap.trailing)
    for comment in gap.own:
        if comment:
            lines.begin(inner)
            lines.write(comment)
    lines.begin(indent)
    lines.lead(gap.leading)
