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
from constat.syntax.argument_styles import (
    ArgumentStyle,
    AtomParser,
    restyled,
    spelled_rules,
)
from constat.syntax.formatting_gaps import Gap, read_edge
from constat.syntax.formatting_groups import measure
from constat.syntax.formatting_lines import Lines, lay_out
from constat.syntax.lexer import lex
from constat.syntax.loading import MAX_FILE
from constat.syntax.mistakes import spelling
from constat.syntax.modes import Mode
from constat.syntax.printing import UNDECLARED, Predicates

if TYPE_CHECKING:
    from constat.syntax.tokens import Tokens


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
