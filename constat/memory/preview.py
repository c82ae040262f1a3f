"""Long texts by their ends, and in pieces: without a model, and never within a word.

In: a text.  Out: its head, middle and tail, or chunks.  Invariants: chunks put together are the
text; a chunk ends behind a line, a sentence or a word, unless one word is longer than a chunk; no
preview is longer than it was told.

Example: ``sandwich("a" * 10_000, 200)`` has 200 characters, of which the first and last are of the
text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_GAP: Final = "\n[... {left:,} characters ...]\n"
_ENDS: Final = (re.compile(r"\n+"), re.compile(r"[.!?]['\")\]]*\s+"), re.compile(r"\s+"))


def sandwich(text: str, characters: int) -> str:
    """Return a text's head, a piece from its middle, and its tail, together so long at most."""
    if len(text) <= characters:
        return text
    gap = len(_GAP.format(left=len(text)))
    part = (characters - 2 * gap) // 3
    if part < 1:
        return text[:characters]
    middle = (len(text) - part) // 2
    first, second = middle - part, len(text) - 2 * part - middle
    return "".join(
        (
            text[:part],
            _GAP.format(left=first),
            text[middle : middle + part],
            _GAP.format(left=second),
            text[len(text) - part :],
        )
    )


def ends(text: str, characters: int, gap: str) -> str:
    """Return the first and the last characters of a text, with a gap between them."""
    if len(text) <= 2 * characters:
        return text
    return f"{text[:characters]}{gap}{text[len(text) - characters :]}"


def chunks(text: str, characters: int) -> Iterator[str]:
    """Yield a text in pieces that end where something ends."""
    if characters < 1:
        raise ValueError("a chunk has at least one character")
    start = 0
    while start < len(text):
        end = _cut(text, start, start + characters)
        yield text[start:end]
        start = end


def _cut(text: str, start: int, most: int) -> int:
    """Return where a piece ends: behind the last line, sentence or word of its second half."""
    if most >= len(text):
        return len(text)
    half = start + (most - start) // 2
    for kind in _ENDS:
        found = [one.end() for one in kind.finditer(text, half, most)]
        if found:
            return found[-1]
    # Before the half any word's end will do: a piece that is too short is better than half a word.
    found = [one.end() for one in _ENDS[-1].finditer(text, start, most)]
    return found[-1] if found else most
