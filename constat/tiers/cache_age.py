"""How long an answer may be used: `max_age` of an `.input`, and how evidence names the cache."""

from __future__ import annotations

import re
import time
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.tiers.config import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.evaluation import Evidence
    from constat.logic import Predicate

# What is no such text is never taken for "for ever".

MAX_AGE: Final = "max_age"
_AGE: Final = re.compile(r"([0-9]{1,9})([smhd]?)\Z")
_SECONDS: Final = MappingProxyType({"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400})
_LONGEST: Final = 3_650 * 86_400
_PEOPLE: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def parse_age(text: str) -> int:
    """Read a duration; raises `ValueError`."""
    found = _AGE.match(text.strip())
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST:
        raise ValueError("is not a duration such as 90, 10m, 24h or 7d, above 0 and at most 3650d")
    return seconds


def age_allowed(predicate: Predicate) -> int:
    """Give how old an answer may be, in seconds; 0 where none is kept."""
    written = predicate.source.parameters.get(MAX_AGE) if predicate.source else None
    return 0 if written is None else parse_age(written)


def check_age(predicate: Predicate, diagnostics: list[Diagnostic]) -> None:
    """Report a `max_age` that means nothing."""
    source = predicate.source
    if source is None or MAX_AGE not in source.parameters:
        return
    name = predicate.name
    if source.name in {"", CONFIG}:
        message = f"`{name}` has a `max_age` and no source that is asked"
        hint = "leave `max_age` out; the configuration is read each time"
        diagnostics.append(Diagnostic("C0560", message, source.span, help=hint))
        return
    try:
        parse_age(source.parameters[MAX_AGE])
    except ValueError as reason:
        message = f"the `max_age` of `{name}` {reason}"
        hint = 'write `max_age="10m"`, or leave it out so that nothing is kept'
        diagnostics.append(Diagnostic("C0560", message, source.span, help=hint))


def age_in_words(seconds: float) -> str:
    """Give an age for people: `3 minutes`."""
    for size, noun in _PEOPLE:
        count = int(seconds // size)
        if count:
            return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
    return "less than a second"


# The origin, which says whose word a row is, stands beside it and is never one of these (semantics
# 18).

CACHE: Final = "cache"
UNREACHED: Final = "cache, source not reached"


def is_cached(tier: str) -> bool:
    """Tell whether the tier of an evidence says that it came from the cache."""
    return tier in {CACHE, UNREACHED}


# What is no time has none, and whoever asks decides.


def seconds_now() -> float:
    """Give the present time."""
    return time.time()


def seconds_of(text: str) -> float | None:
    """Read a time; `None` where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def moments(evidences: Iterable[Evidence]) -> list[float]:
    """Give when evidences were fetched, of those that say so."""
    found = (seconds_of(one.executed_at) for one in evidences)
    return [one for one in found if one is not None]
