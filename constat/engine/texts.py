"""The texts that one evaluation makes: structures taken apart, and a bound on all of them.

In: values as rules compute them. Out: the same values, each long text once. Invariant: what long
texts take in memory stays below the limit, whatever a rule does: lists that grow by a cell in each
round would fill any memory long before rows are counted. Example: 2 GB of lists end in a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from constat.evaluation import LimitReachedError
from constat.logic import Kind, Parts, Value, implementation

_SHORT: Final = 1024
"""Shorter texts are bounded by the limit of rows."""
_MEGABYTE: Final = 1_000_000
_GROW: Final = frozenset({"cat"})


class Texts:
    """What one evaluation remembers of the texts it made."""

    def __init__(self, most: float = math.inf) -> None:
        self._parts = Parts()
        self._most = most
        self._made = 0
        self._known: dict[str, str] = {}

    def function(
        self, function: str, parameters: tuple[Kind, ...], result: Kind
    ) -> Callable[..., Value]:
        """Give the implementation of a function; it may raise `LimitReachedError`."""
        found = implementation(function, parameters, result, self._parts)
        if result is not Kind.STRUCTURE and function not in _GROW:
            return found
        return lambda *values: self._kept(found(*values))

    def unbind(self) -> None:
        """Take the bound away: what was evaluated is looked at again, and nothing grows."""
        self._most = math.inf

    def _kept(self, value: Value) -> Value:
        """Give a value, or the same text as it was made before: it is kept once."""
        if not isinstance(value, str) or len(value) <= _SHORT:
            return value
        known = self._known.setdefault(value, value)
        if known is value:
            self._made += value.__sizeof__()
            if self._made > self._most:
                megabytes = int(self._most) // _MEGABYTE
                raise LimitReachedError(f"the limit of {megabytes:,} MB of long texts was reached")
        return known
