"""Certificates changed in one place.

In: the tree of a good certificate.  Out: every tree that differs in one leaf, one missing or one
repeated element, with the path that was changed.
"""

from __future__ import annotations

import copy
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.check.writer import Tree

Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401  any JSON
    """Yield every place below the root with what stands there.

    Nested certificates are places of their own: what is changed inside one has other hashes, so
    the forger does that.
    """
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    for key, child in children:
        yield (*path, key), child
        if path[:1] != ("proofs",):
            yield from places(child, (*path, key))


def copied_along(tree: Tree, path: Path) -> Tree:
    """Copy the containers on a path; all others are shared with the tree, which stays as it is."""
    result = copy.copy(tree)
    place: Any = result
    for key in path:
        place[key] = copy.copy(place[key])
        place = place[key]
    return result


def changed(tree: Tree, path: Path, new: object) -> Tree:
    result = copied_along(tree, path[:-1])
    parent = find(result, path[:-1])
    parent[path[-1]] = new
    return result


def find(tree: Any, path: Path) -> Any:  # noqa: ANN401  any JSON
    for key in path:
        tree = tree[key]
    return tree


def removed(tree: Tree, path: Path) -> Tree:
    result = copied_along(tree, path[:-1])
    del find(result, path[:-1])[path[-1]]
    return result


def repeated(tree: Tree, path: Path) -> Tree:
    """Return the tree with an element of an array twice, or a member under a second name."""
    result = copied_along(tree, path[:-1])
    parent, last = find(result, path[:-1]), path[-1]
    again = copy.deepcopy(parent[last])
    if isinstance(parent, list):
        parent.insert(int(last), again)
    else:
        parent[f"{last}_"] = again
    return result


def replacements(value: object) -> list[object]:
    """Return values of the same and of other types that differ from this one."""
    other: list[object]
    if isinstance(value, str):
        other = [value + "0", "", "x", "1", "2", "true", "0", None, 1, [value]]
    elif isinstance(value, int):
        other = [value + 1, max(0, value - 1), 0, 1, True, -1, 2**31, 1.5, str(value), None]
    elif value is None:
        other = ["x", "1", 0, [], {}]
    else:
        other = [None, "x", 0, [], {}, [value]]
    return [new for new in other if new != value or type(new) is not type(value)]


def mutants(tree: Tree, step: int = 1) -> Iterator[tuple[Path, str, Tree]]:
    """Yield every ``step``-th single-place mutant as (path, what was done, tree)."""
    for path, what, make in islice(_makers(tree), 0, None, step):
        yield path, what, make()


def _makers(tree: Tree) -> Iterator[tuple[Path, str, Callable[[], Tree]]]:
    for path, value in places(tree):
        for new in replacements(value):
            yield path, f"={new!r}", partial(changed, tree, path, new)
        yield path, "removed", partial(removed, tree, path)
        yield path, "repeated", partial(repeated, tree, path)
