"""Put environment variables in the place of `${NAME}`.

In: a text and the environment. Out: `Expanded`, which says which names were used and which are
missing. Invariant: an expanded text is complete or `None`, never half filled. `$${NAME}` stands
for the characters `${NAME}`. Example: `expand("${A}/x", {"A": "1"}).text == "1/x"`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE: Final = re.compile(r"\$(\$\{)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|(\$\{)")


@dataclass(frozen=True, slots=True)
class Expanded:
    """A text after expansion. `text` is `None` where a variable is missing; it may be a secret."""

    text: str | None = field(repr=False)
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    malformed: bool = False


def expand(text: str, environment: Mapping[str, str]) -> Expanded:
    """Replace every `${NAME}`. A `${` that begins no reference makes the text malformed."""
    names: dict[str, None] = {}
    malformed = False

    def replacement(found: re.Match[str]) -> str:
        nonlocal malformed
        if found[1]:
            return "${"
        if found[3]:
            malformed = True
            return ""
        names[found[2]] = None
        return environment.get(found[2], "")

    result = _REFERENCE.sub(replacement, text)
    missing = tuple(name for name in names if name not in environment)
    usable = not missing and not malformed
    return Expanded(result if usable else None, tuple(names), missing, malformed)
