"""Edit a rule file: rules added at its end, or in the place of others.

In: the text of a file and the text of rules. Out: the text afterwards. Invariants: every line that
is not part of a replaced rule stays as it is, comments included; line ends stay those of the file;
a rule goes with its description and attributes. Example: the lines of VIP2, from `/// ...` to its
full stop, become those of the rule that replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.syntax.parser import parse_file
from constat.syntax.surface import RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.logic import Rule
    from constat.syntax.surface import SurfaceItem


def joined_text(before: str, body: str) -> str:
    """Give a text with rules at its end."""
    return _with_ends_of(before, f"{_plain(before).rstrip()}\n\n{body.strip()}\n")


def replaced_text(
    before: str, source: str, replaced: Sequence[Rule], everything: Sequence[Rule], body: str
) -> str:
    """Give a text in which rules have taken the place of others; `source` is the text's name.

    Raises `ConstatError` where a replaced rule is only a part of what its statement says.
    """
    gone = {rule.id for rule in replaced}
    spans = {rule.span for rule in replaced}
    partly = [rule.id for rule in everything if rule.span in spans and rule.id not in gone]
    if partly:
        message = f"the statement of a replaced rule also gives `{partly[0]}`"
        raise _uneditable(message, f"have `{partly[0]}` replaced as well")
    lines = _plain(before).split("\n")
    items = parse_file(_plain(before), source, []).items
    stretches = [_lines_of(one, lines) for one in items if one.span in spans]
    if len(stretches) != len(spans):
        raise _uneditable("a replaced rule does not stand in the file any more")
    taken = [set(range(first, last + 1)) for first, last in stretches]
    for item in items:
        if item.span is not None and item.span not in spans:
            own = set(range(item.span.line, item.span.end_line + 1))
            if any(own & one for one in taken):
                raise _uneditable(
                    "a replaced rule shares its line with another statement",
                    "write each on lines of its own: `constat rules fmt`",
                )
    place = min(first for first, _ in stretches)
    every = set().union(*taken)
    written: list[str] = []
    for number, line in enumerate(lines, start=1):
        if number == place:
            written += body.strip().split("\n")
        if number not in every:
            written.append(line)
    return _with_ends_of(before, "\n".join(written))


def _lines_of(item: SurfaceItem, lines: Sequence[str]) -> tuple[int, int]:
    """Give the first and last line of a rule with what stands before it."""
    if not isinstance(item, RuleText):
        raise TypeError(item)
    first = min([item.span.line, *(one.span.line for one in item.notes.attributes)])
    while first > 1 and lines[first - 2].lstrip().startswith("///"):
        first -= 1
    return first, item.span.end_line


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_ends_of(before: str, text: str) -> str:
    most = 2 * before.count("\r\n") > before.count("\n")
    return text.replace("\n", "\r\n") if most else text


def _uneditable(message: str, hint: str = "") -> ConstatError:
    return ConstatError([Diagnostic("C0884", message, help=hint)])
