"""What the annotations and pragmas of one text say, with their places.

In: a text that has been read without errors. Out: for each item its attributes, and the pragmas.
Invariant: nothing is merged: two `.output` of one predicate are two items here, while a program
keeps what both say as one. Example: the item of `@[expect(proved = "p(1)")] .output p` is `p`
with the attribute `expect.proved`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.syntax.parser import parse_file
from constat.syntax.surface import Declaration, Port, RuleText

if TYPE_CHECKING:
    from constat.diagnostics import Span
    from constat.syntax.surface import Attribute, Notes, Pragma, SurfaceItem


@dataclass(frozen=True, slots=True)
class Annotated:
    """An item and its attributes; `subject` is the predicate it is about."""

    subject: str
    attributes: tuple[Attribute, ...]
    span: Span


@dataclass(frozen=True, slots=True)
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
