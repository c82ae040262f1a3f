"""Write the inputs of the workloads: the same rows on every machine.

In: a workload's name, a folder and a size. Out: for each relation a tab-separated `NAME.facts`
without a header, which Datalog engines read, and a `NAME.parquet`, which columnar ones read.
Invariant: seeded; at `Size.FULL` the cardinalities are those that `workloads.py` states.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np

from tests.bench.peers import shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.random import Generator
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Table = Mapping[str, NDArray[np.generic]]
    Tables = Mapping[str, Table]

REGIONS: Final = ("north", "south", "east", "west", "emea", "apac", "latam", "anz")
TIERS: Final = ("bronze", "silver", "gold")


class Size(Enum):
    """How much: `SMALL` for tests, `FULL` for figures."""

    SMALL = "small"
    FULL = "full"


def write(name: str, folder: Path, size: Size, factor: float = 1.0) -> None:
    """Write the inputs of a workload; `factor` scales those whose size is linear in it."""
    folder.mkdir(parents=True, exist_ok=True)
    if name == "rules":
        # What answers is what the small program has as well.
        count = shapes.RULES if size is Size.FULL else shapes.FEW_RULES
        (folder / "program.dl").write_text(shapes.layered(count), encoding="utf-8")
    with duckdb.connect() as connection:
        for relation, table in _GENERATORS[name](size, factor).items():
            connection.register("rows", dict(table))
            for ending, form in (
                ("facts", "format csv, delimiter '\t', header false"),
                ("parquet", "format parquet"),
            ):
                target = str(folder / f"{relation}.{ending}").replace("'", "''")
                connection.execute(f"COPY (FROM rows) TO '{target}' ({form})")
            connection.unregister("rows")


def _chain(size: Size, factor: float) -> Tables:
    nodes = int((2_000 if size is Size.FULL else 60) * factor)
    return {"edge": {"a": np.arange(nodes - 1), "b": np.arange(1, nodes)}}


def _sparse_graph(size: Size, factor: float) -> Tables:
    random = np.random.default_rng(2)
    nodes, edges = (3_500, 7_000) if size is Size.FULL else (60, 110)
    nodes, edges = int(nodes * factor), int(edges * factor)
    start, end = _distinct(random.integers(0, nodes, edges), random.integers(0, nodes, edges))
    return {"edge": {"a": start, "b": end}}


def _addresses(size: Size, factor: float) -> Tables:
    def named(column: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.array([f"https://example.org/node/{node:06d}" for node in column.tolist()])

    edge = _sparse_graph(size, factor)["edge"]
    return {"edge": {column: named(values) for column, values in edge.items()}}


def _layers(size: Size, factor: float) -> Tables:
    """A layered graph: each node has one parent in the layer above, a fifth of them a second."""
    del factor  # the layers double; there is no size between
    random = np.random.default_rng(3)
    children: list[Integers] = []
    parents: list[Integers] = []
    for layer in range(1, (10 if size is Size.FULL else 5) + 1):
        first, above, width = 2**layer - 1, 2 ** (layer - 1) - 1, 2**layer
        nodes = first + np.arange(width)
        chosen = random.random(width) < 0.2
        second = above + random.integers(0, width // 2, int(chosen.sum()))
        children += [nodes, nodes[chosen]]
        parents += [above + np.arange(width) // 2, second]
    child, parent = _distinct(np.concatenate(children), np.concatenate(parents))
    return {"parent": {"c": child, "p": parent}}


def _wide_graph(size: Size, factor: float) -> Tables:
    random = np.random.default_rng(4)
    nodes, edges = (1_000_000, 5_000_000) if size is Size.FULL else (1_000, 3_000)
    nodes, edges = int(nodes * factor), int(edges * factor)
    more = edges + edges // 1000  # a few are drawn twice
    start, end = _distinct(random.integers(0, nodes, more), random.integers(0, nodes, more))
    return {
        "edge": {"a": start[:edges], "b": end[:edges]},
        "source": {"a": np.array([0])},
    }


def _shop(size: Size, factor: float) -> Tables:
    """Orders with a number each, so that sets and bags agree; amounts are in cents."""
    random = np.random.default_rng(5)
    orders, customers = (5_000_000, 200_000) if size is Size.FULL else (5_000, 200)
    orders, customers = int(orders * factor), int(customers * factor)
    weight = random.pareto(1.5, customers) + 0.3
    who = random.choice(customers, orders, p=weight / weight.sum())
    home = random.integers(0, len(REGIONS), customers)
    away = random.random(orders) >= 0.85
    region = np.where(~away, home[who], random.integers(0, len(REGIONS), orders))
    amount = random.integers(100, 9_000, orders)
    day = np.datetime64("2023-01-01") + random.integers(0, 730, orders)
    tier = random.choice(len(TIERS), customers, p=[0.7, 0.25, 0.05])
    blocked = np.sort(random.choice(customers, customers // 50, replace=False))
    return {
        "orders": {
            "id": np.arange(orders),
            "c": who,
            "amt": amount,
            "reg": np.array(REGIONS)[region],
            "d": np.datetime_as_string(day),
        },
        "customer": {"c": np.arange(customers), "tier": np.array(TIERS)[tier]},
        "blocked": {"c": blocked},
    }


def _points_to(size: Size, factor: float) -> Tables:
    """Assignments between variables that lie near each other, so that the sets stay moderate."""
    del factor  # these inputs have a sharp phase transition: only two sizes are known to end
    random = np.random.default_rng(7)
    full = size is Size.FULL
    variables, objects = (20_000, 1_500) if full else (200, 40)
    counts = (24_000, 800, 800) if full else (200, 30, 30)
    tables: dict[str, Table] = {
        "new": {
            "v": random.choice(variables, objects, replace=False),
            "h": np.arange(objects),
        }
    }
    spreads = (variables / 60, variables / 30, variables / 30)
    for relation, count, spread in zip(("assign", "load", "store"), counts, spreads, strict=True):
        left = random.integers(0, variables, count)
        step = np.rint(random.normal(0, spread, count)).astype(int)
        start, end = _distinct(left, np.clip(left + step, 0, variables - 1))
        tables[relation] = {"y": start, "x": end}
    return tables


def _holdings(size: Size, factor: float) -> Tables:
    """Shares in whole percent, at most 100 of each company; half of them have a majority owner."""
    random = np.random.default_rng(8)
    companies = int((20_000 if size is Size.FULL else 60) * factor)
    rows: list[tuple[int, int, int]] = []
    for company in range(1, companies):
        rows += _owners(random, company)
    owner, owned, share = (np.array(column) for column in zip(*rows, strict=True))
    return {"own": {"x": owner, "y": owned, "w": share}}


def _owners(random: Generator, company: int) -> list[tuple[int, int, int]]:
    drawn = random.integers(1, 5)
    owners = np.unique(random.integers(max(0, company - 40), company, drawn)).tolist()
    rows, left = [], 100
    if random.random() < 0.55:
        share = int(random.integers(51, 90))
        rows.append((owners.pop(0), company, share))
        left -= share
    for owner in owners:
        share = min(int(random.integers(5, 40)), left)
        if share <= 0:
            break
        rows.append((owner, company, share))
        left -= share
    return rows


def _distinct(left: Integers, right: Integers) -> tuple[Integers, Integers]:
    """Give the distinct pairs in an order that helps nobody."""
    pairs = np.unique(left.astype(np.int64) * (1 << 32) + right)
    np.random.default_rng(9).shuffle(pairs)
    return pairs >> 32, pairs & 0xFFFFFFFF


def _shaped(make: Callable[[bool, float], Tables]) -> Callable[[Size, float], Tables]:
    return lambda size, factor: make(size is Size.FULL, factor)


_GENERATORS: Final[dict[str, Callable[[Size, float], Tables]]] = {
    **{name: _shaped(make) for name, make in shapes.SHAPES.items()},
    "w1": _chain,
    "w2": _sparse_graph,
    "w2s": _addresses,
    "w3": _layers,
    "w4": _wide_graph,
    "w5": _shop,
    "w6": _shop,
    "w7": _points_to,
    "w8": _holdings,
}
