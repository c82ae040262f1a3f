"""Regular expressions that are compiled when they are first used.

A command loads hundreds of them and uses a few; compiling all took a sixth of its time.
"""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Give a regular expression that is compiled at its first use; a mistake in it shows then."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))


class _Later(Generic[AnyStr]):
    """Stands for a regular expression, and keeps what was asked of it."""

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        found: object = getattr(re.compile(self._text, self._flags), name)
        self.__dict__[name] = found
        return found
