"""Whether texts spell decimals as tables do: the only spelling of each.

In: texts. Out: a truth value. Invariant: no value has two spellings that pass, so equal tables have
equal bytes. All texts are looked at in one pass, because a table has millions. Also runs inside the
sandbox. Example: `-0.5` passes; `-0`, `0.50`, `.5`, `1e3` and ` 1` do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# One line for each. Nothing is tried twice, so a million lines take a million steps.
_LINES: Final = re.compile(
    r"(?>(?:-?(?>0|[1-9][0-9]*)\.[0-9]*[1-9]|-?[1-9][0-9]*|0)\n)*+\Z", re.ASCII
)


def are_decimals(texts: Sequence[str], most_digits: int) -> bool:
    """Tell whether each text spells a decimal of so many digits at most."""
    # Only texts with more characters can have more digits.
    if any(sum(map(str.isdigit, one)) > most_digits for one in texts if len(one) > most_digits):
        return False
    lines = "\n".join([*texts, ""])
    return lines.count("\n") == len(texts) and bool(_LINES.match(lines))
