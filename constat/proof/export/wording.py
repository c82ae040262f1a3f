"""How texts of data are written where people read them.

In: texts of a certificate.  Out: texts that are printable and not endless.  Invariant: nothing
hides or turns what stands around it, and what is cut off is counted.

Example: ``counted(2, "row") == "2 rows"``.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.proof.render import printable

if TYPE_CHECKING:
    from constat.proof.export.document import Members

LONGEST: Final = 600

ORIGINS: Final = MappingProxyType(
    {
        "CONFIG": "configuration",
        "DATABASE": "database",
        "USER_PROVIDED": "a person's word",
        "LLM_KNOWLEDGE": "a model's word",
        "LLM_HEURISTIC": "a model's guess",
        "SUB_PLAN": "a drafted plan",
        "API": "a service's word",
        "DERIVED": "another certificate",
    }
)
"""What people call the origins of rows."""

_RIGHT: Final = (
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_RIGHT_TO_LEFT: Final = re.compile(f"{_RIGHT}+(?:[ ._'-]+{_RIGHT}+)*")


def shortened(text: str, most: int = LONGEST) -> str:
    """Return printable text that is not endless; what is cut off is counted."""
    if len(text) <= most:
        return printable(text)
    return f"{printable(text[:most])}… ({len(text):,} characters)"


def shortened_lines(text: str, most: int = LONGEST) -> str:
    """Return text of several lines, each printable and none endless."""
    return "\n".join(shortened(line, most) for line in text.split("\n"))


def isolated(text: str) -> str:
    """Set words of right-to-left scripts apart, so that figures beside them stay where they are.

    Without it a name in Hebrew and a figure behind it would be shown exchanged.  For what is
    written out last: ``printable`` would escape the marks.  See Unicode Standard Annex 9, 2.4.
    """
    return text if text.isascii() else _RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", text)


def counted(number: int, one: str) -> str:
    """Return a number with its noun: ``1 row``, ``2 rows``."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def origin_of(source: Members) -> str:
    """Return where the rows of a source come from, in words."""
    return ORIGINS.get(source["origin"], shortened(source["origin"]))
