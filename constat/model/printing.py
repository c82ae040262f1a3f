"""Foreign text in one line that a terminal can take.

In: a text of a provider or a model. Out: at most so many printable characters, without the key.
Example: the escape in front of a colour becomes a space.
"""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 200


def printable(text: str, key: str = "") -> str:
    """Give foreign text as one bounded printable line without the key."""
    if key:
        text = text.replace(key, "***")
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * _LONGEST])
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
