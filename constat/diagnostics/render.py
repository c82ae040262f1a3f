"""A diagnostic as text: message, place with its lines, notes and help."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from constat.diagnostics.diagnostic import Diagnostic, Severity, Span

# No control, bidirectional or half character of the text gets through as itself; the mark stands
# under what it means, also behind tabs and wide characters.

TAB: Final = 4
WIDEST: Final = 100
_BEFORE: Final = 40
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def visible(text: str) -> str:
    """Escape what a terminal would obey or hide."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_cell, text))


def _cell(character: str) -> str:
    """One character as it is shown."""
    if character == "\t":
        return " " * TAB
    if character.isascii():
        return character if character.isprintable() else f"\\x{ord(character):02x}"
    if unicodedata.category(character) in _INVISIBLE:
        return f"\\u{{{ord(character):x}}}"
    return character


def _width(cell: str) -> int:
    """The number of columns a shown character takes."""
    if cell.isascii():
        return len(cell)
    if unicodedata.combining(cell):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in {"W", "F"} else 1


def excerpt(line: str, start: int, end: int, sign: str) -> tuple[str, str]:
    """Give the line, cut around `start` (from 0), and `sign` repeated under it up to `end`."""
    first = max(0, min(start, len(line)) - WIDEST)
    cells = [_cell(character) for character in line[first : first + 3 * WIDEST]]
    start, end = start - first, end - first
    widths = [_width(cell) for cell in cells]
    left, before = _left_edge(widths, min(start, len(cells))), ""
    if left or first:
        before = "…"
    shown, used, right = [], 0, left
    while right < len(cells) and used + widths[right] <= WIDEST:
        shown.append(cells[right])
        used += widths[right]
        right += 1
    after = "…" if right < len(cells) or first + len(cells) < len(line) else ""
    indent = len(before) + sum(widths[left:start])
    marked = sum(widths[start : max(start, min(end, right))])
    text = before + "".join(shown).rstrip() + after
    return text, " " * indent + sign * max(1, marked)


def _left_edge(widths: list[int], start: int) -> int:
    """The first character to show, so that the mark is not far to the right."""
    if sum(widths) <= WIDEST:
        return 0
    left, distance = start, 0
    while left > 0 and distance + widths[left - 1] <= _BEFORE:
        left -= 1
        distance += widths[left]
    return left


# Bytes from outside appear escaped, never raw; the order is the order of places. The form is that
# of rustc:

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_BLUE: Final = "\x1b[1;34m"
_COLOURS: Final = MappingProxyType(
    {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;36m"}
)


def render(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str], *, colour: bool) -> str:
    """Write diagnostics, sorted by place, and how many there are. Empty when there are none."""
    ordered = sorted(diagnostics, key=lambda one: one.place)
    if not ordered:
        return ""
    writer = _Writer(texts, colour=colour)
    blocks = ["\n".join(writer.block(one)) for one in ordered]
    return "\n\n".join([*blocks, _closing(ordered)]) + "\n"


def _closing(diagnostics: list[Diagnostic]) -> str:
    counts = Counter(one.severity for one in diagnostics)
    parts = [
        f"{counts[severity]} {severity.value}{'' if counts[severity] == 1 else 's'}"
        for severity in Severity
        if counts[severity]
    ]
    return ", ".join(parts)


class _Writer:
    """The texts, split into lines when first needed, and whether to colour."""

    def __init__(self, texts: Mapping[str, str], *, colour: bool) -> None:
        self.texts = texts
        self.lines: dict[str, list[str]] = {}
        self.colour = colour

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}{_RESET}" if self.colour else text

    def block(self, one: Diagnostic) -> Iterator[str]:
        """The lines of one diagnostic."""
        tone = _COLOURS[one.severity]
        label = self.paint(f"{one.severity.value}[{one.code}]", tone)
        yield f"{label}{self.paint(': ' + visible(one.message), _BOLD)}"
        spans = [span for span in (one.span, *(other.span for other in one.related)) if span]
        gutter = max((len(str(span.line)) for span in spans), default=0)
        if one.span is not None:
            yield from self.snippet(one.span, one.label, gutter, "-->", ("^", tone))
        for other in one.related:
            yield from self.snippet(other.span, other.label, gutter, ":::", ("-", _BLUE))
        more = f"`constat explain {one.code}`"
        told = f"{one.help}; more: {more}" if one.help else f"{more} says more"
        yield from self.remark("note", one.note, gutter)
        yield from self.remark("help", told, gutter)

    def snippet(
        self, span: Span, label: str, gutter: int, arrow: str, mark: tuple[str, str]
    ) -> Iterator[str]:
        """The place of a span, its line, and a mark under it."""
        sign, tone = mark
        yield f"{' ' * gutter}{self.paint(arrow, _BLUE)} {visible(str(span))}"
        line = self.line(span)
        if line is None:
            if label:
                yield f"{' ' * gutter} {self.paint('=', _BLUE)} {visible(label)}"
            return
        end = span.end_column if span.end_line == span.line else len(line) + 1
        text, marked = excerpt(line, span.column - 1, end - 1, sign)
        yield f"{self.paint(f'{span.line:>{gutter}} |', _BLUE)} {text}".rstrip()
        under = f"{marked} {visible(label)}".rstrip()
        yield f"{self.paint(' ' * gutter + ' |', _BLUE)} {self.paint(under, tone)}"

    def line(self, span: Span) -> str | None:
        """The line a span starts on, where its text is known."""
        if span.source not in self.lines:
            text = self.texts.get(span.source)
            self.lines[span.source] = [] if text is None else text.split("\n")
        lines = self.lines[span.source]
        return lines[span.line - 1].rstrip("\r") if 0 < span.line <= len(lines) else None

    def remark(self, word: str, text: str, gutter: int) -> Iterator[str]:
        """A note or help, its further lines under the first."""
        if not text:
            return
        first, *rest = text.split("\n")
        start = f"{' ' * gutter} {self.paint('=', _BLUE)} {self.paint(word, _BOLD)}: "
        yield start + visible(first)
        for line in rest:
            yield " " * (gutter + len(word) + 5) + visible(line)
