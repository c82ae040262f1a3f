"""Write a rule file in the canonical layout, with every comment in its place."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity, Span
from constat.frozen import frozen, slotted
from constat.syntax.argument_styles import ArgumentStyle, AtomParser, restyled, spelled_rules
from constat.syntax.cursor import Mode
from constat.syntax.lexer import lex
from constat.syntax.loading import MAX_FILE
from constat.syntax.mistakes import spelling
from constat.syntax.printing import UNDECLARED, Predicates
from constat.syntax.words import AGGREGATE_WORDS, INFIX

if TYPE_CHECKING:
    from constat.syntax.lexer import Tokens

# Every comment of the gap is in it, once and in order; what follows a token on its line trails it,
# what stands on the next token's line leads it.

_PART: Final = re.compile(r"\n|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")
_BLANKS: Final = " \t\r\f\v"


@frozen
class Gap:
    """Comments by where they stand; `own` has an empty text for each blank line."""

    trailing: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    breaks: bool = False
    """Whether a comment ends a line here, so that the next token cannot stay on it."""


EMPTY: Final = Gap()


def read_gap(text: str, start: int, end: int) -> Gap:
    """Read a gap between two tokens."""
    if text.find("/", start, end) < 0:
        return EMPTY
    lines = _lines(text, start, end)
    if len(lines) == 1:
        return Gap(leading=tuple(lines[0]))
    return Gap(tuple(lines[0]), _own(lines[1:-1]), tuple(lines[-1]), breaks=True)


def read_edge(text: str, start: int, end: int) -> Gap:
    """Read the gap before a statement or before the end, with its blank lines."""
    lines = _lines(text, start, end)
    if start == 0:
        # Nothing stands before the first token, so nothing can trail it.
        lines.insert(0, [])
    if end == len(text) and lines[-1]:
        # Nor does anything stand behind the end.
        lines.append([])
    if len(lines) == 1:
        return Gap(leading=tuple(lines[0]))
    return Gap(tuple(lines[0]), _own(lines[1:-1]), tuple(lines[-1]), breaks=True)


def _lines(text: str, start: int, end: int) -> list[list[str]]:
    """Give the comments of each line; a comment over several lines counts for its first."""
    lines: list[list[str]] = [[]]
    for found in _PART.finditer(text, start, end):
        part = found.group()
        if part == "\n":
            lines.append([])
        else:
            lines[-1].append(part if part[1] == "*" else part.rstrip(_BLANKS))
    return lines


def _own(lines: list[list[str]]) -> tuple[str, ...]:
    """Join the comments of each line; a blank line gives an empty text."""
    return tuple(" ".join(line) for line in lines)


# Two tokens that touch are still two when they are read again: signs that could join, such as `-`
# and `-`, stay apart.

_OPEN: Final = frozenset({"(", "[", "$", "@[", "@![", "!"})
_TOUCHES: Final = frozenset({")", "]", ",", ";", "."})
_TERM_ENDS: Final = frozenset({"variable", "number", "text", "wild", "date", ")", "]", "}"})


def spaced(tokens: Tokens, place: int, *, in_rule: bool, commented: bool = False) -> bool:
    """Whether a space stands before the token at `place`, on one line with the token before it.

    With `commented`, whether one stands before the comments between the two.
    """
    kinds = tokens.kinds
    before, kind = kinds[place - 1], kinds[place]
    if commented:
        return before not in _OPEN
    if before in _OPEN or kind in _TOUCHES or (before == "{" and kind == "}"):
        return False
    if before == "-" and kinds[place - 2] not in _TERM_ENDS:
        return kind == "-"
    if kind == ":":
        # `x: symbol` in a declaration, `sum ?x : { ... }` in a rule.
        return in_rule
    if kind == "(" and before == "name":
        return tokens.word(place - 1) in INFIX or _is_aggregate(tokens, place)
    return True


def _is_aggregate(tokens: Tokens, opener: int) -> bool:
    """Whether a bracket behind a word is the target of an aggregate and no list of arguments."""
    return tokens.word(opener - 1) in AGGREGATE_WORDS and tokens.is_target(opener)


# One pass from the left and one from the right, without recursion, so the time is linear in the
# text. The model is that of Oppen, Pretty printing (1980): a group that does not fit is broken,
# the outermost first.

TOO_WIDE: Final = 1_000_000
_BRACKETS: Final = frozenset({"(", "[", "{", "@[", "@!["})
_ATTRIBUTES: Final = frozenset({"@[", "@!["})
_CLOSERS: Final = frozenset({")", "}", "]"})
_SEPARATORS: Final = frozenset({",", ";"})


@slotted
class Group:
    """A bracket, or the body of a rule or type, by its first token; `-1` is the stretch itself."""

    opener: int
    breakable: bool = False
    reach: int = 0
    """The first token behind the group that may start a new line."""


@slotted
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


@slotted
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


def format_text(
    text: str,
    source_name: str,
    diagnostics: list[Diagnostic],
    *,
    known: Predicates = UNDECLARED,
    style: ArgumentStyle = ArgumentStyle.WIDE_NAMED,
) -> str | None:
    """Give the text in the canonical layout; `None` where it has errors, which are reported.

    Lines end in a line feed in the result, whatever they end in before. Arguments are written in
    the style, where the text or `known` declares the predicate.
    """
    if len(text) > MAX_FILE:
        diagnostics.append(spelling.too_large(Span(source_name, 1, 1, 1, 1), "4 MiB"))
        return None
    plain = text.replace("\r\n", "\n")
    found: list[Diagnostic] = []
    parser = _read(plain, source_name, found)
    if _is_right(found):
        parser = _in_style(parser, known, style, found)
    diagnostics.extend(found)
    if not _is_right(found):
        return None
    written = _write(parser.tokens, parser.ranges)
    _compare(parser.tokens, written)
    return written


def _read(text: str, source_name: str, diagnostics: list[Diagnostic]) -> _Statements:
    parser = _Statements(lex(text, source_name, diagnostics), diagnostics, Mode.STRICT)
    parser.run()
    return parser


def _in_style(
    parser: _Statements, known: Predicates, style: ArgumentStyle, diagnostics: list[Diagnostic]
) -> _Statements:
    """Write the arguments in a style, and read the text again; rules must stay what they are."""
    changed = restyled(parser, known, style, diagnostics)
    if changed == parser.tokens.text or not _is_right(diagnostics):
        return parser
    # Places cannot be given to names that are wrong; what is by position already stays as it is.
    found = diagnostics if style is ArgumentStyle.POSITIONAL else []
    before = spelled_rules(parser, known, found)
    if not _is_right(found):
        return parser
    again = _read(changed, parser.tokens.source, diagnostics)
    if spelled_rules(again, known, []) != before:
        raise AssertionError("the names of arguments changed what the text says")
    return again


def _is_right(diagnostics: list[Diagnostic]) -> bool:
    return not any(one.severity is Severity.ERROR for one in diagnostics)


class _Statements(AtomParser):
    """A parser that notes where each statement begins and ends."""

    def __init__(self, tokens: Tokens, diagnostics: list[Diagnostic], mode: Mode) -> None:
        super().__init__(tokens, diagnostics, mode)
        self.ranges: list[tuple[int, int]] = []

    def _statement(self) -> None:
        start = self.position
        super()._statement()
        if self.position > start:
            self.ranges.append((start, self.position))


def _write(tokens: Tokens, ranges: list[tuple[int, int]]) -> str:
    lines = Lines()
    behind = 0
    for first, last in ranges:
        _edge(lines, read_edge(tokens.text, behind, tokens.starts[first]))
        _statement(tokens, first, last, lines)
        behind = tokens.ends[last - 1]
    _edge(lines, read_edge(tokens.text, behind, len(tokens.text)))
    lines.end()
    while lines.done and not lines.done[-1]:
        lines.done.pop()
    return "\n".join([*lines.done, ""])


def _edge(lines: Lines, gap: Gap) -> None:
    """Write what stands before a statement or before the end of the file."""
    if not lines.at_start:
        lines.trail(gap.trailing)
    lines.end()
    for comment in gap.own:
        if comment:
            lines.begin(0)
            lines.write(comment)
        else:
            lines.blank()
    lines.end()
    lines.lead(gap.leading)


def _statement(tokens: Tokens, first: int, last: int, lines: Lines) -> None:
    """Write a statement; each attribute before it has a line of its own."""
    place = first
    while tokens.kinds[place] in {"@[", "@!["}:
        closer = tokens.closer(place)
        if closer is None:
            break
        lay_out(tokens, measure(tokens, place, closer + 1, in_rule=False), lines)
        place = closer + 1
        _between(lines, read_edge(tokens.text, tokens.ends[closer], tokens.starts[place]))
    in_rule = tokens.kinds[place] != "directive"
    lay_out(tokens, measure(tokens, place, last, in_rule=in_rule), lines)


def _between(lines: Lines, gap: Gap) -> None:
    """Write what stands between an attribute and what it belongs to: no blank lines."""
    lines.trail(gap.trailing)
    for comment in gap.own:
        if comment:
            lines.begin(0)
            lines.write(comment)
    lines.begin(0)
    lines.lead(gap.leading)


def _compare(tokens: Tokens, written: str) -> None:
    """Make sure that nothing but the layout has changed: a file is about to be overwritten."""
    again = lex(written, tokens.source, [])
    same = again.kinds == tokens.kinds and _words(again) == _words(tokens)
    described = [one[:2] for one in tokens.descriptions]
    if not same or described != [one[:2] for one in again.descriptions]:
        raise AssertionError("the layout changed what the text says")


def _words(tokens: Tokens) -> list[str]:
    text = tokens.text
    return [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
