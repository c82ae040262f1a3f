"""The colours of reports and pictures, for light and dark.

In: nothing.  Out: names and colours, and style sheets in which they are used.  Invariant: every
colour of text has a contrast of at least 4.5 to 1 on the ground it stands on, and no colour is the
only bearer of a meaning.  See WCAG 2.2, 1.4.1 and 1.4.3.

Example: ``resolved("a{color:var(--ink)}", LIGHT) == "a{color:#1c2127}"``.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LIGHT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "paper": "#ffffff",
        "sheet": "#f5f6f8",
        "ink": "#1c2127",
        "quiet": "#555f6b",
        "line": "#d3d8de",
        "edge": "#818b96",
        "link": "#0b57a4",
        "focus": "#b3007d",
        "good": "#12663a",
        "good-ground": "#e6f4eb",
        "warn": "#7d4a00",
        "warn-ground": "#fdf2dd",
        "bad": "#9a1b2f",
        "bad-ground": "#fbe9ec",
        "open": "#4a3f9a",
        "open-ground": "#eeecfb",
        "rule": "#0b57a4",
        "rule-ground": "#eaf2fb",
        "fact": "#4b5560",
        "fact-ground": "#ffffff",
        "absence": "#6b3fa0",
        "absence-ground": "#f5effb",
        "aggregate": "#00625c",
        "aggregate-ground": "#e5f4f2",
        "source": "#4b5560",
        "source-ground": "#eceff2",
    }
)
DARK: Final[Mapping[str, str]] = MappingProxyType(
    {
        "paper": "#15181c",
        "sheet": "#1d2126",
        "ink": "#e7eaed",
        "quiet": "#a3adb8",
        "line": "#373e46",
        "edge": "#7d8894",
        "link": "#82b8f2",
        "focus": "#ff8ad8",
        "good": "#7ad6a1",
        "good-ground": "#12301f",
        "warn": "#f0bd6a",
        "warn-ground": "#382708",
        "bad": "#ff9ba8",
        "bad-ground": "#3d161c",
        "open": "#bdb4ff",
        "open-ground": "#27224a",
        "rule": "#82b8f2",
        "rule-ground": "#15283c",
        "fact": "#b3bcc6",
        "fact-ground": "#1d2126",
        "absence": "#d0aef5",
        "absence-ground": "#2b1f3a",
        "aggregate": "#75d0c8",
        "aggregate-ground": "#0f2e2b",
        "source": "#b3bcc6",
        "source-ground": "#2a3037",
    }
)
_USED: Final = re.compile(r"var\(--([a-z-]+)\)")


def variables(colours: Mapping[str, str]) -> str:
    """Return the colours as declarations of a style sheet."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def resolved(style: str, colours: Mapping[str, str]) -> str:
    """Return a style sheet without variables, for readers that know none."""
    return _USED.sub(lambda found: colours[found.group(1)], style)
