"""Where attributes stand in a text, as they are spelled.

In: a text that has been read without errors. Out: each `@[...]` with its place. Invariant: tokens
alone are looked at, so nothing is resolved. Example: in `p(?x) :- @[owner = me] q(?x).` one
attribute stands behind `:-`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.syntax.lexer import lex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.diagnostics import Span


@dataclass(frozen=True, slots=True)
class AttributePlace:
    """An attribute as it is spelled; `in_body` where it stands behind `:-`."""

    spelling: str
    in_body: bool
    span: Span


def attribute_places(text: str, source_name: str) -> Iterator[AttributePlace]:
    """Yield every attribute of a text, in order."""
    tokens = lex(text, source_name, [])
    inside: set[int] = set()
    for place, kind in enumerate(tokens.kinds):
        closer = tokens.closer(place) if kind in {"@[", "@!["} else None
        if closer is None:
            continue
        before = place - 1
        in_body = place > 0 and (tokens.kinds[before] == ":-" or before in inside)
        if in_body:
            inside.add(closer)
        spelling = tokens.text[tokens.starts[place] : tokens.ends[closer]]
        yield AttributePlace(spelling, in_body, tokens.span(place, closer))
