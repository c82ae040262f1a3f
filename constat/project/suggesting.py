"""The help that stands below an unknown name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.diagnostics import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_NAMES: Final = 12
# Names are compared letter by letter: only so many are.
_MOST_COMPARED: Final = 2_000


def suggestion(name: str, known: Iterable[str]) -> str:
    """Give a help text that names the nearest match, or lists what is known."""
    names = sorted(known)[:_MOST_COMPARED]
    found = nearest(name, names)
    if found is not None:
        return f"write `{found}`"
    return f"known: {', '.join(names[:_MOST_NAMES])}" if names else ""
