"""Write a rule file in the canonical layout, with every comment in its place.

In: a text. Out: the same tokens and comments, laid out anew, or nothing where the text has errors.
Laws (of the tests): what was laid out reads as the same program; laying it out again changes
nothing; no comment is lost, doubled or moved past another. Rules that fit into 100 columns stand on
one line, others have one literal per line; of blank lines in a row one stays.
Example: `p( ?x ):-q(?x) ,!r(?x).` becomes `p(?x) :- q(?x), !r(?x).`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Severity, Span
from constat.syntax.formatting_gaps import Gap, read_edge
from constat.syntax.formatting_groups import measure
from constat.syntax.formatting_lines import Lines, lay_out
from constat.syntax.lexer import lex
from constat.syntax.loading import MAX_FILE
from constat.syntax.mistakes import spelling
from constat.syntax.parser import Parser

if TYPE_CHECKING:
    from constat.syntax.tokens import Tokens


def format_text(text: str, source_name: str, diagnostics: list[Diagnostic]) -> str | None:
    """Give the text in the canonical layout; `None` where it has errors, which are reported.

    Lines end in a line feed in the result, whatever they end in before.
    """
    if len(text) > MAX_FILE:
        diagnostics.append(spelling.too_large(Span(source_name, 1, 1, 1, 1), "4 MiB"))
        return None
    plain = text.replace("\r\n", "\n")
    found: list[Diagnostic] = []
    tokens = lex(plain, source_name, found)
    parser = _Statements(tokens, found)
    parser.run()
    diagnostics.extend(found)
    if any(one.severity is Severity.ERROR for one in found):
        return None
    written = _write(tokens, parser.ranges)
    _compare(tokens, written)
    return written


class _Statements(Parser):
    """A parser that notes where each statement begins and ends."""

    def __init__(self, tokens: Tokens, diagnostics: list[Diagnostic]) -> None:
        super().__init__(tokens, diagnostics)
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
