"""Make a fact of a piece of a passage.

In: a passage, a piece by its characters, what it says.  Out: a ``Fact``.  Invariant: author and
message are those of the passage, and so is the subject, unless the piece is about something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.memory.facts import Fact

if TYPE_CHECKING:
    from constat.memory.facts import Span
    from constat.memory.passages import Passage


@dataclass(frozen=True, slots=True)
class Said:
    """What a piece says: ``key`` has ``value``; ``about`` is the subject if it is not the call."""

    predicate: str
    key: str
    value: str
    kind: str = "text"
    unit: str = ""
    about: str | None = None


def fact(passage: Passage, said: Said, start: int, end: int, method: str) -> Fact:
    """Return the fact that characters ``start`` to ``end`` of the passage say."""
    return fact_at(passage, said, passage.span(start, end), method)


def fact_at(passage: Passage, said: Said, span: Span, method: str) -> Fact:
    """Return the fact that a span says."""
    return Fact(
        said.predicate,
        passage.subject if said.about is None else said.about,
        said.key,
        said.value,
        said.kind,
        said.unit,
        span,
        passage.message,
        passage.author,
        method,
    )
