"""Write diagnostics for people.

In: diagnostics, the texts they speak about by source name. Out: one text. Invariant: bytes from
outside appear escaped, never raw; the order is the order of places. The form is that of rustc:

    error[C0121]: the final dot is missing
     --> rules/vip.dl:3:15
    3 | is_vip("C001")
      |               ^ expected `.` here
      = note: every rule and every fact ends with a dot
      = help: write `.` here; more: `constat explain C0121`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from constat.diagnostics.diagnostic import Diagnostic, Severity
from constat.diagnostics.excerpt import excerpt, visible
from constat.diagnostics.span import Span

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
        more = f"more: `constat explain {one.code}`"
        yield from self.remark("note", one.note, gutter)
        yield from self.remark("help", f"{one.help}; {more}" if one.help else more, gutter)

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
