"""Inputs of the shapes that the literature has, and the program of many rules.

In: a size and a factor. Out: tables by relation. Invariant: seeded, so that all engines and all
machines meet the same rows. The programs lie in `programs/`, but for the one that is generated.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.random import Generator
    from numpy.typing import NDArray

    Table = Mapping[str, NDArray[np.generic]]
    Tables = Mapping[str, Table]

RULES: Final = 2_000
FEW_RULES: Final = 40


def _table(names: str, rows: Iterable[tuple[int | str, ...]]) -> Table:
    """Give the distinct rows as columns with one-letter names."""
    columns = zip(*sorted(set(rows)), strict=True)
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


def _drawn(random: Generator, count: int, *highest: int) -> list[tuple[int, ...]]:
    """Draw rows, each column below its bound."""
    columns = [random.integers(0, high, count).tolist() for high in highest]
    return list(zip(*columns, strict=True))


def graspan(full: bool, factor: float) -> Tables:  # noqa: FBT001  the size, as everywhere here
    """Assignments between variables that lie near each other, and pointers between any."""
    drawn = np.random.default_rng(101)
    variables = int((30_000 if full else 300) * factor)
    heads = drawn.integers(1, variables, int(variables * 0.47))
    steps = drawn.integers(1, 60 if full else 12, len(heads))
    assign = zip(heads.tolist(), np.maximum(0, heads - steps).tolist(), strict=True)
    pointers = _drawn(drawn, int(variables * 0.17), variables, variables)
    return {"assign": _table("yx", assign), "deref": _table("yx", pointers)}


def el(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """A taxonomy of classes with definitions, roles and chains of roles."""
    drawn = np.random.default_rng(102)
    classes, roles = int((1_000 if full else 80) * factor), 8
    above = [(n, int(drawn.integers(max(0, n - 60), n))) for n in range(1, classes)]
    above += [(n, m) for n, m in _drawn(drawn, classes // 6, classes, classes) if m < n]
    return {
        "class": {"x": np.arange(classes)},
        "below": _table("ab", above),
        "both": _table("abc", _drawn(drawn, classes // 2, classes, classes, classes)),
        "gives": _table("apb", _drawn(drawn, classes // 3, classes, roles, classes)),
        "needs": _table("pab", _drawn(drawn, classes // 3, roles, classes, classes)),
        "role": _table("pq", [(n, n // 2) for n in range(1, roles)]),
        "chain": _table("pqt", [(7, 6, 5), (5, 5, 5), (6, 4, 3)]),
    }


def doop(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """A program of an object-oriented language, as relations."""
    drawn = np.random.default_rng(103)
    n = int((9_000 if full else 90) * factor)
    objects, calls, methods, types, fields = n // 4, n // 6, n // 10, 60, 40
    wide: dict[str, tuple[str, int, tuple[int, ...]]] = {
        "alloc": ("vo", objects, (n, objects)),
        "move": ("ab", n * 6 // 10, (n, n)),
        "load": ("abf", n * 12 // 100, (n, n, fields)),
        "store": ("afb", n * 12 // 100, (n, fields, n)),
        "sload": ("af", n // 50, (n, fields)),
        "sstore": ("fb", n // 50, (fields, n)),
        "aload": ("ab", n // 50, (n, n)),
        "astore": ("ab", n // 50, (n, n)),
        "cast": ("abt", n // 20, (n, n, types)),
        "vcall": ("vsi", calls, (n, 30, calls)),
        "scall": ("im", calls // 3, (calls, methods)),
        "within": ("im", calls, (calls, methods)),
        "param": ("mnv", methods, (methods, 3, n)),
        "arg": ("inv", calls, (calls, 3, n)),
        "ret": ("mv", methods, (methods, n)),
        "result": ("iv", calls // 2, (calls, n)),
        "this": ("mv", methods, (methods, n)),
        "throw": ("mv", methods // 8, (methods, n)),
        "catch": ("mtv", methods // 8, (methods, types, n)),
    }
    tables = {
        name: _table(columns, _drawn(drawn, count, *highest))
        for name, (columns, count, highest) in wide.items()
    }
    kinds = drawn.integers(0, types, objects).tolist()
    slots = [(t, s, int(drawn.integers(0, methods))) for t in range(types) for s in range(30)]
    return {
        **tables,
        "otype": _table("ot", enumerate(kinds)),
        "lookup": _table("tsm", slots),
        "extends": _table("tu", [(t, t // 3) for t in range(1, types)]),
        "main": {"m": np.array([0, 1, 2])},
    }


def kin(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """Trees with a long spine and broad tufts: few parents have most of the children."""
    drawn = np.random.default_rng(104)
    people = int((6_000 if full else 120) * factor)
    rows = []
    for child in range(1, people):
        near = drawn.random() < 0.7
        parent = child - 1 - int(drawn.pareto(1.2)) if near else int(child * drawn.random() ** 4)
        rows.append((child, max(0, parent)))
    return {"parent": _table("cp", rows)}


def bom(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """Parts made of parts further down; some are used nearly everywhere."""
    drawn = np.random.default_rng(105)
    parts = int((12_000 if full else 150) * factor)
    rows = []
    for part in range(parts * 2 // 3):
        for _ in range(int(drawn.integers(1, 5))):
            span = parts - part - 1
            step = 1 + int(span * drawn.random() ** 6)
            rows.append((part, min(parts - 1, part + step), int(drawn.integers(1, 9))))
    prices = list(zip(range(parts), drawn.integers(1, 500, parts).tolist(), strict=True))
    return {"part": _table("pc", prices), "made": _table("psq", rows)}


def near(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """A road map: near places are joined, at a distance; from some of them paths are wanted."""
    drawn = np.random.default_rng(106)
    places = int((3_000 if full else 60) * factor)
    starts = drawn.integers(0, places, places * 3)
    ends = (starts + drawn.integers(1, 40, len(starts))) % places
    far = drawn.integers(1, 12, len(starts))
    edges = zip(starts.tolist(), ends.tolist(), far.tolist(), strict=True)
    return {
        "edge": _table("abw", edges),
        "start": {"a": np.arange(0, places, 15 if full else 6)},
    }


def texts(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """Packages by name that need versions of others."""
    drawn = np.random.default_rng(107)
    count = int((4_000 if full else 60) * factor)
    names = [f"pkg/{'abcdefghij'[n % 10]}/{n:05d}" for n in range(count)]
    rows = _drawn(drawn, count * 3 // 2, count, count, 4, 10)
    needs = [(names[a], names[b], f">={major}.{minor}") for a, b, major, minor in rows]
    return {"needs": _table("abv", needs)}


def lists(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """A graph whose walks become lists."""
    drawn = np.random.default_rng(108)
    nodes = int((700 if full else 20) * factor)
    return {"edge": _table("ab", _drawn(drawn, nodes * 5 // 2, nodes, nodes))}


def rules(full: bool, factor: float) -> Tables:  # noqa: FBT001  as above
    """The only relation below the generated rules."""
    drawn = np.random.default_rng(109)
    nodes = int((700 if full else 60) * factor)
    return {"e": _table("ab", _drawn(drawn, int(nodes * 3.5), nodes, nodes))}


def layered(count: int) -> str:
    """Write so many rules: layers of five relations in a cycle, with negation between layers."""
    drawn = random.Random(109)
    relations = count * 2 // 5
    lines = [".decl e(a: number, b: number)", ".input e"]
    lines += [f".decl q{n}(a: number, b: number)" for n in range(relations)]
    for n in range(relations):
        low = n - n % 5
        inside = low + drawn.randrange(5) if n % 5 else min(low + 4, relations - 1)
        lines.append(f"q{n}(a, b) :- e(a, b), a % {drawn.randrange(3, 40)} = 0.")
        lines.append(f"q{n}(a, c) :- q{inside}(a, b), e(b, c), c % {drawn.randrange(4, 30)} = 1.")
        if low and n % 2:
            one, other = (drawn.randrange(max(0, low - 10), low) for _ in range(2))
            lines.append(f"q{n}(b, a) :- q{one}(a, b), !q{other}(b, a).")
    for name, n in (("middle", relations // 2), ("last", relations - 1)):
        lines += [f".decl {name}(a: number, b: number)", f"{name}(a, b) :- q{n}(a, b)."]
        lines.append(f".printsize {name}")
    return "\n".join([*lines, ""])


SHAPES: Final[Mapping[str, Callable[[bool, float], Tables]]] = {
    "graspan": graspan,
    "el": el,
    "doop": doop,
    "kin": kin,
    "bom": bom,
    "near": near,
    "texts": texts,
    "rules": rules,
    "lists": lists,
}
