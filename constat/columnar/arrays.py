"""The array types of the columnar back end, and sets of keys as sorted arrays.

A set of keys is an int64 array in rising order without repetition. Invariant: no function here
changes an array it was given. Example: `distinct([3, 1, 3])` is `[1, 3]`; `missing([1, 3], [3])`
is `[1]`. Sorting and comparing neighbours is more than ten times faster than `numpy.unique`, a
binary search faster than `numpy.isin`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
Columns = tuple[Array, ...]

EMPTY: Final[Array] = np.empty(0, np.int64)
EMPTY.setflags(write=False)


def neighbours_differ(keys: Array) -> Mask:
    """For sorted keys: which are the first of their kind."""
    first = np.empty(len(keys), np.bool_)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def distinct(keys: Array) -> Array:
    """The set of keys in any order, repetitions allowed."""
    if len(keys) <= 1:
        return keys
    ordered = np.sort(keys)
    return ordered[neighbours_differ(ordered)]


def union(runs: Sequence[Array]) -> Array:
    """The sorted union of disjoint sets. A stable sort finds the runs and only merges them."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        return EMPTY
    merged = np.concatenate(runs)
    merged.sort(kind="stable")
    return merged


def missing(keys: Array, known: Array) -> Array:
    """The keys that are not in the set `known`, in the order given."""
    if not len(known) or not len(keys):
        return keys
    return keys[~contains(known, keys)]


def contains(known: Array, keys: Array) -> Mask:
    """For each key whether it is in the set `known`."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    place = np.searchsorted(known, keys)
    np.minimum(place, len(known) - 1, out=place)
    found: Mask = known[place] == keys
    return found
