"""Kept answers as values: what goes in, what comes out, and how often.

In: texts, counts and times (seconds since 1970, UTC). Out: frozen values. Invariant: `concerns`,
which says what an answer depends on, goes in and never comes out; only its keyed hash is kept.
Example: `Counted("tier", hits=3, misses=1)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fresh:
    """An answer to keep. `pattern` tells the bound columns, `tables` the tables that were read."""

    concerns: str = field(repr=False)
    predicate: str
    source: str
    pattern: str
    rows: int
    fetched_at: float
    max_age: int
    tables: str
    body: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that is kept; `whole` is false where its text is not what was written."""

    id: int
    predicate: str
    source: str
    pattern: str
    keys: int
    rows: int
    fetched_at: float
    max_age: int
    tables: str
    size: int
    served: int
    scope: str
    body: str = field(default="", repr=False)
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Counted:
    """How many keys of a predicate were served, and how many had to be asked for."""

    predicate: str
    hits: int
    misses: int
