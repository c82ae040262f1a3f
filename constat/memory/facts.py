"""Ground facts about what was said, each with the bytes that say it.

In: nothing.  Out: ``Fact`` values.  Invariants: a fact's span lies in one text of the archive, and
its identity is made of its content and its span alone, so that extracting twice adds nothing; who
said it is set by the message it stands in and by nothing that the text says.

Example: ``Fact("entity_value", "", "date", "2024-05-20", "date", "", Span("sha256:...", 11, 21), 4,
Author.HUMAN, "prose")``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import IntEnum


class Author(IntEnum):
    """Who says something; the greater one's word stands against a lesser one's."""

    EXTRACTED = 0
    ASSISTANT = 1
    TOOL = 2
    HUMAN = 3
    SYSTEM = 4


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a text in the archive, from ``start`` to before ``end``."""

    archive: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A predicate about a subject: ``key`` has ``value``; ``kind`` and ``unit`` say how to read it.

    ``message`` is the number of the message, ``method`` the extractor.
    """

    predicate: str
    subject: str
    key: str
    value: str
    kind: str
    unit: str
    span: Span
    message: int
    author: Author
    method: str

    @property
    def content(self) -> tuple[str | int, ...]:
        """What the fact says, and the bytes that say it: equal facts have equal contents."""
        said = (self.predicate, self.subject, self.key, self.value, self.kind, self.unit)
        return (*said, self.span.archive, self.span.start, self.span.end)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name the content."""
        text = json.dumps(self.content, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]
