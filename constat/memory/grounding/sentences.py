"""Where sentences begin and end.

In: a text.  Out: the spans of its sentences, in order, without blanks around them.  Invariant: a
line of a list or a log is a sentence of its own; a point within ``3.5``, ``a.com`` or ``St. Louis``
ends none.  Where it is in doubt a sentence is rather too short: what is then missing in it is
refused, while a sentence that is too long would lend its names to others.

Example: ``Pay $3.50. Thanks`` has two sentences.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_END: Final = re.compile(
    r"(?P<mark>[.!?\u2026]+[\"')\]\u201d\u2019]*(?=\s|\Z)|[\u3002\uff01\uff1f]+"
    r"|(?<=[a-z0-9])[.!?](?=[A-Z][a-z]))"
    r"|(?P<line>\n)(?![ \t]*[a-z])|(?P<blank>\n[ \t]*\n)"
)
# A point behind these is part of the word, whatever follows, or where a number follows.
_TITLE: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|mt|ft|vs|approx|e\.g|i\.e)|(?<![\w'])(?-i:[A-HJ-Z]))\.\Z",
    re.IGNORECASE,
)
_BEFORE_NUMBER: Final = re.compile(
    r"\b(?:no|nr|art|sec|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.\Z", re.IGNORECASE
)
_LOOK_BACK: Final = 12


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences."""
    start = 0
    for found in _END.finditer(text):
        if found["mark"] and _goes_on(text, found.end()):
            continue
        yield from _trimmed(text, start, found.end())
        start = found.end()
    yield from _trimmed(text, start, len(text))


def _goes_on(text: str, end: int) -> bool:
    follows = text[end : end + 3].lstrip(" \t")[:1]
    if not follows or follows.islower():
        return bool(follows)
    before = max(0, end - _LOOK_BACK)
    short = _BEFORE_NUMBER.search(text, before, end) if follows.isdecimal() else None
    return bool(short or _TITLE.search(text, before, end))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    inner = part.strip()
    if inner:
        begin = start + len(part) - len(part.lstrip())
        yield begin, begin + len(inner)
