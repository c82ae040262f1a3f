"""Where a statement may be broken over lines, and how wide each part is on one line.

In: a stretch of tokens. Out: a `Shape`: widths, the brackets and bodies that may be broken
(*groups*), and how far each group reaches before the next place to break. Invariant: one pass from
the left and one from the right, without recursion, so the time is linear in the text. The model is
that of Oppen, Pretty printing (1980): a group that does not fit is broken, the outermost first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.syntax.formatting_gaps import EMPTY, Gap, read_gap
from constat.syntax.formatting_spacing import spaced

if TYPE_CHECKING:
    from constat.syntax.tokens import Tokens

TOO_WIDE: Final = 1_000_000
_BRACKETS: Final = frozenset({"(", "[", "{", "@[", "@!["})
_ATTRIBUTES: Final = frozenset({"@[", "@!["})
_CLOSERS: Final = frozenset({")", "}", "]"})
_SEPARATORS: Final = frozenset({",", ";"})


@dataclass(slots=True)
class Group:
    """A bracket, or the body of a rule or type, by its first token; `-1` is the stretch itself."""

    opener: int
    breakable: bool = False
    reach: int = 0
    """The first token behind the group that may start a new line."""


@dataclass(slots=True)
class Shape:
    """A stretch of tokens, `first` to `last` exclusive."""

    first: int
    last: int
    in_rule: bool
    gaps: dict[int, Gap] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    """The column of each token when all stand on one line; a forced line end is `TOO_WIDE`."""
    ends: list[int] = field(default_factory=list)
    groups: dict[int, Group] = field(default_factory=dict)
    turns: set[int] = field(default_factory=set)
    """The tokens that start a line when the group they stand in is broken."""

    def width_behind(self, place: int, last: int) -> int:
        """The width on one line of what stands behind a token, up to `last` exclusive."""
        return self.ends[last - 1 - self.first] - self.ends[place - self.first]


def measure(tokens: Tokens, first: int, last: int, *, in_rule: bool) -> Shape:
    """Give the shape of a stretch; the gap before its first token belongs to whoever asks.

    Its groups are not looked for yet: most statements fit on a line.
    """
    shape = Shape(first, last, in_rule)
    _measure_widths(shape, tokens)
    return shape


def find_groups(shape: Shape, tokens: Tokens) -> None:
    """Find where a stretch may be broken."""
    _find_groups(shape, tokens)
    _find_reaches(shape, tokens)


def _measure_widths(shape: Shape, tokens: Tokens) -> None:
    column = 0
    for place in range(shape.first, shape.last):
        if place > shape.first:
            gap = read_gap(tokens.text, tokens.ends[place - 1], tokens.starts[place])
            if gap is not EMPTY:
                shape.gaps[place] = gap
                column += _gap_width(gap)
            commented = bool(gap.leading)
            column += spaced(tokens, place, in_rule=shape.in_rule, commented=commented)
        shape.starts.append(column)
        column += tokens.ends[place] - tokens.starts[place]
        shape.ends.append(column)


def _gap_width(gap: Gap) -> int:
    several = any("\n" in comment for comment in gap.leading)
    if gap.breaks or several:
        return TOO_WIDE
    return sum(len(comment) + 1 for comment in gap.leading)


def _find_groups(shape: Shape, tokens: Tokens) -> None:
    """Find the groups, and where their lines would begin."""
    kinds = tokens.kinds
    stack = [Group(-1)]
    body = _body(shape, tokens)
    for place in range(shape.first, shape.last):
        kind = kinds[place]
        if kind in _BRACKETS:
            stack.append(Group(place))
            shape.groups[place] = stack[-1]
        elif place == body:
            stack.append(Group(place, breakable=True))
            shape.groups[place] = stack[-1]
            shape.turns.add(place + 1)
        elif kind == "|" and stack[-1].opener == body:
            shape.turns.add(place)
        elif kind in _SEPARATORS:
            _separate(shape, stack[-1], kinds[stack[-1].opener], place)
        elif kind in _CLOSERS:
            closed = stack.pop()
            if closed.breakable:
                shape.turns.update((closed.opener + 1, place))
            if kinds[closed.opener] in _ATTRIBUTES and stack[-1].breakable:
                # An attribute behind `:-` stands on a line of its own.
                shape.turns.add(place + 1)


def _body(shape: Shape, tokens: Tokens) -> int:
    """The `:-` of a rule, or the `=` of a type with branches; no token where there is neither."""
    if shape.in_rule:
        return _first(":-", shape, tokens)
    if tokens.word(shape.first) != ".type" or tokens.kinds[shape.last - 1] != "}":
        return -1
    return _first("=", shape, tokens)


def _first(kind: str, shape: Shape, tokens: Tokens) -> int:
    places = range(shape.first, shape.last)
    return next((place for place in places if tokens.kinds[place] == kind), -1)


def _separate(shape: Shape, group: Group, opener: str, place: int) -> None:
    """Note a separator. `@[` itself is never broken, only the list of parts in it."""
    if group.opener >= 0 and opener not in _ATTRIBUTES:
        group.breakable = True
        shape.turns.add(place + 1)


def _find_reaches(shape: Shape, tokens: Tokens) -> None:
    """From the right: for each group, where the next line could begin behind it."""
    openers = _openers_by_closer(shape, tokens)
    nexts = [shape.last]
    body = _body(shape, tokens)
    nexts.extend([shape.last] * (body in shape.groups))
    for place in range(shape.last - 1, shape.first - 1, -1):
        if place in openers:
            group = shape.groups[openers[place]]
            group.reach = nexts[-1]
            nexts.append(place if group.breakable else nexts[-1])
        elif place in shape.groups:
            nexts.pop()
            group = shape.groups[place]
            if place == body:
                group.reach = shape.last
            if group.breakable:
                # What stands before need not share a line with what stands in the bracket.
                nexts[-1] = place + 1
        if place in shape.turns or (place in shape.gaps and shape.gaps[place].breaks):
            nexts[-1] = place


def _openers_by_closer(shape: Shape, tokens: Tokens) -> dict[int, int]:
    found: dict[int, int] = {}
    for opener in shape.groups:
        closer = tokens.closer(opener)
        if closer is not None:
            found[closer] = opener
    return found
