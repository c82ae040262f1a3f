"""Random plans whose steps read each other in every way, and what they mean, evaluated naively.

Every relation has the columns `a` and `b`, whole numbers. A `Graph` is a plan in JSON with the rows
that each relation has; what evaluates it here are comprehensions over sets and nothing of ours.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.explore.planned import step

Rows = frozenset[tuple[int, int]]
ORDERS: Final[Rows] = frozenset({(1, 10), (2, 20), (3, 20), (4, 35), (5, 35), (6, 50), (7, 10)})
# Names that the proof, the store, a source or another step use as well.
NAMES: Final = ("sales", "stated_sales", "whole_sales", "explored_rows", "s1", "base", "today_")
_COLUMNS: Final = "(a: number, b: number)"


@dataclass
class Graph:
    """Steps, and the rows of each relation by name; `orders` is the project's."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, Rows] = field(default_factory=lambda: {"orders": ORDERS})
    reads: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, rows: Rows, read: list[str], **work: Any) -> None:  # noqa: ANN401  any part of a step
        number = len(self.steps) + 1
        self.steps.append(step(f"{name}{_COLUMNS}", name=f"s{number}", **work))
        self.rows[name] = rows
        self.reads.update(read)


def random_graph(seed: int, *, code: bool, steps: int = 6) -> Graph:
    """Make a graph in which most relations are read more than once."""
    chance, graph = random.Random(seed), Graph()
    kinds = [by_rules, by_rules, by_ranking, by_select, by_select, by_source]
    kinds += [by_code] if code else []
    names = [*chance.sample(NAMES, 3), *(f"r{number}" for number in range(steps))]
    for name in names[:steps]:
        # What is there early is read often: fans and diamonds are the rule.
        known = list(graph.rows)
        first, second = chance.choice(known[: 1 + len(known) // 2]), chance.choice(known)
        chance.choice(kinds)(graph, name, first, second, chance)
    last = list(graph.rows)[-1]
    others = [one for one in graph.rows if one not in {last, "orders"} and not graph.reads[one]]
    _together(graph, "everything", [last, *others[:3]], chance.random() < 0.5)
    return graph


def by_source(graph: Graph, name: str, _f: str, _s: str, chance: random.Random) -> None:
    least = chance.choice([0, 20, 60])
    query = f"SELECT id, amount FROM orders WHERE amount >= {least}"
    rows = frozenset(row for row in ORDERS if row[1] >= least)
    graph.add(name, rows, [], source="sales", sql=query)


def by_rules(graph: Graph, name: str, first: str, second: str, chance: random.Random) -> None:
    one, other = graph.rows[first], graph.rows[second]
    texts: dict[str, Callable[[], Rows]] = {
        f"{name}(?a, ?b) :- {first}(?a, ?b), ?b < 40.": lambda: frozenset(
            row for row in one if row[1] < 40
        ),
        f"{name}(?a, ?c) :- {first}(?a, ?b), {second}(?c, ?b).": lambda: frozenset(
            (a, c) for a, b in one for c, d in other if b == d
        ),
        f"{name}(?a, ?b) :- {first}(?a, ?b), !{second}(?a, _).": lambda: frozenset(
            row for row in one if row[0] not in {a for a, _ in other}
        ),
        f"{name}(?a, ?b) :- {first}(?a, ?b).\n{name}(?b, ?a) :- {second}(?a, ?b).": lambda: (
            one | frozenset((b, a) for a, b in other)
        ),
        f"{name}(?b, ?n) :- {first}(_, ?b), ?n = count : {{ {second}(_a, _b) }}.": lambda: (
            frozenset((b, len(other)) for _, b in one)
        ),
        f"{name}(?b, ?n) :- {first}(_, ?b), ?n = sum ?a : {{ {first}(?a, ?b) }}.": lambda: (
            frozenset((b, sum(a for a, c in one if c == b)) for _, b in one)
        ),
    }
    text = chance.choice(list(texts))
    graph.add(name, texts[text](), [first, second], rules=text)


def by_ranking(graph: Graph, name: str, first: str, _: str, chance: random.Random) -> None:
    rows, top = graph.rows[first], chance.choice([0, 1, 2, 4])
    rank: dict[str, Any] = {"of": first, "by": ["b desc"]}
    kept = rows
    if top:
        rank["top"] = top
        kept = frozenset(one for one in rows if sum(two[1] > one[1] for two in rows) < top)
    graph.add(name, kept, [first], rank=rank)


def by_select(graph: Graph, name: str, first: str, second: str, chance: random.Random) -> None:
    one, other = graph.rows[first], graph.rows[second]
    texts: dict[str, Callable[[], Rows]] = {
        f"SELECT a, b FROM {first} ORDER BY b DESC, a": lambda: one,
        f"SELECT x.b, x.a FROM {first} AS x ORDER BY 1": lambda: frozenset((b, a) for a, b in one),
        f"SELECT DISTINCT x.a, y.b FROM {first} x JOIN {second} y ON x.b = y.b": lambda: frozenset(
            (a, b) for a, b in one for _, d in other if b == d
        ),
        f"SELECT x.a, max(y.b) FROM {first} x JOIN {first} y ON x.a >= y.a GROUP BY x.a": lambda: (
            frozenset((a, max(d for c, d in one if a >= c)) for a, _ in one)
        ),
        f"SELECT b, count(*) FROM {second} GROUP BY b": lambda: frozenset(
            Counter(b for _, b in other).items()
        ),
    }
    text = chance.choice(list(texts))
    graph.add(name, texts[text](), [first, second], inputs=_both(first, second), sql=text)


def by_code(graph: Graph, name: str, first: str, second: str, chance: random.Random) -> None:
    one, other = graph.rows[first], graph.rows[second]
    least = chance.choice([0, 3])
    # The frames are changed in place: no other step may see that.
    text = (
        f"f, s = store.load_dataframe('{first}'), store.get('{second}')\n"
        f"f['b'] = f['b'] + len(s)\ns['a'] = 0\n"
        f"store.save_dataframe('{name}', f[f['a'] >= {least}], step=1)"
    )
    rows = frozenset((a, b + len(other)) for a, b in one if a >= least)
    graph.add(name, rows, [first, second], inputs=_both(first, second), python=text)


def _together(graph: Graph, name: str, read: list[str], ordered: bool) -> None:  # noqa: FBT001
    """Have an answer below which everything lies, so that all of it has to be proved."""
    text = "\n".join(f"{name}(?a, ?b) :- {one}(?a, ?b)." for one in read)
    graph.add(name, frozenset().union(*(graph.rows[one] for one in read)), read, rules=text)
    if ordered:
        graph.add("shown", graph.rows[name], [name], rank={"of": name, "by": ["b", "a desc"]})


def _both(first: str, second: str) -> list[str]:
    return list(dict.fromkeys((first, second)))
