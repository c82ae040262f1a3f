r"""Texts from data and steps, made harmless to look at.

In: any text. Out: one line, or lines, without control characters and bounded in length. Invariant:
what is left neither moves a cursor nor hides. Example: `one_line("a\x1b[2J\nb")` is `a [2J b`.
"""

from __future__ import annotations

_ELLIPSIS = "…"


def one_line(text: str, most: int = 0) -> str:
    """Give a text as one line, cut to so many characters where `most` is given."""
    shown = text if text.isprintable() else "".join(_shown(one) for one in text)
    return shown if not most or len(shown) <= most else shown[: most - 1] + _ELLIPSIS


def lines(text: str, most: int) -> str:
    """Give a text with its line ends, cut to so many characters."""
    cut = text[:most]
    return "".join(one if one == "\n" else _shown(one) for one in cut)


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else " "
