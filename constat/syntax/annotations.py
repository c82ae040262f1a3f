"""Where attributes stand in a text, and what they and the pragmas say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.frozen import frozen
from constat.syntax.lexer import lex
from constat.syntax.parser import parse_file
from constat.syntax.surface import Declaration, Port, RuleText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.diagnostics import Span
    from constat.syntax.surface import Attribute, Notes, Pragma, SurfaceItem

# Tokens alone are looked at, so nothing is resolved.


@frozen
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


# Nothing is merged: two `.output` of one predicate are two items here, while a program keeps what
# both say as one.


@frozen
class Annotated:
    """An item and its attributes; `subject` is the predicate it is about."""

    subject: str
    attributes: tuple[Attribute, ...]
    span: Span


@frozen
class Annotations:
    """The annotated items of a text, in order, and its pragmas."""

    items: tuple[Annotated, ...]
    pragmas: tuple[Pragma, ...]


def read_annotations(text: str, source_name: str) -> Annotations:
    """Read the annotations of a text; its mistakes are not reported here."""
    file = parse_file(text, source_name, [])
    found = (_annotated(item) for item in file.items)
    return Annotations(tuple(one for one in found if one is not None), file.pragmas)


def _annotated(item: SurfaceItem) -> Annotated | None:
    match item:
        case (
            Declaration(name=name, notes=notes, span=span) | Port(name=name, notes=notes, span=span)
        ):
            return _with(name, notes, span)
        case RuleText(heads=heads, notes=notes, span=span):
            return _with(heads[0].predicate, notes, span)
        case _:
            return None


def _with(subject: str, notes: Notes, span: Span) -> Annotated | None:
    return Annotated(subject, notes.attributes, span) if notes.attributes else None
