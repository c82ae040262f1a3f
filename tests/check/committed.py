"""Good certificates whose rows are opened in roots that their sources committed to: level C2.

In: rows of whole relations.  Out: certificates that show some of them, each with its neighbours and
its path.  The trees are made here, from RFC 6962, without the code of writer, reader and checker.
``MORE`` lists them all, as ``certificates.BASIC`` does.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.check.certificates import Make, customer
from tests.check.writer import (
    Tree,
    Writer,
    agg,
    canonical,
    cmp,
    con,
    level_of,
    neg,
    pos,
    rows_hash,
    seal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = list[str]


def leaf(row: Row) -> bytes:
    return hashlib.sha256(b"\0" + canonical(row).encode()).digest()


def tree_hash(rows: list[Row]) -> bytes:
    """Return the hash over rows, straight from the definition."""
    if not rows:
        return hashlib.sha256().digest()
    if len(rows) == 1:
        return leaf(rows[0])
    half = 1
    while 2 * half < len(rows):
        half *= 2
    return hashlib.sha256(b"\1" + tree_hash(rows[:half]) + tree_hash(rows[half:])).digest()


def named(digest: bytes) -> str:
    return f"sha256:{digest.hex()}"


@dataclass(frozen=True)
class Relation:
    """All rows of a predicate, and the columns by which they are sorted."""

    predicate: str
    rows: list[Row]
    order: list[int]

    @property
    def ordered(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: [row[column] for column in self.order])

    def path(self, start: int, end: int) -> list[str]:
        return [named(one) for one in _beside(self.ordered, 0, start, end)]

    def opening(self, columns: list[int], key: Row) -> Tree:
        """Return the opening of a key: the rows themselves stand among the facts."""
        rows = self.ordered
        first = self.order[: len(columns)]
        wanted = [key[columns.index(column)] for column in first]
        parts = [[row[column] for column in first] for row in rows]
        start = sum(part < wanted for part in parts)
        end = start + parts.count(wanted)
        return {
            "columns": columns,
            "key": key,
            "start": start,
            "before": rows[start - 1] if start else None,
            "after": rows[end] if end < len(rows) else None,
            "path": self.path(max(start - 1, 0), min(end + 1, len(rows))),
        }

    def commitment(self, *keys: tuple[list[int], Row]) -> Tree:
        return {
            "predicate": self.predicate,
            "root": named(tree_hash(self.ordered)),
            "rows": len(self.rows),
            "order": self.order,
            "openings": [self.opening(*one) for one in sorted(keys)],
        }


def _beside(rows: list[Row], low: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the hashes of the largest parts that have none of the places, left first."""
    high = low + len(rows)
    if rows and (end <= low or high <= start):
        yield tree_hash(rows)
    elif len(rows) > 1 and not (start <= low and high <= end):
        half = 1
        while 2 * half < len(rows):
            half *= 2
        yield from _beside(rows[:half], low, start, end)
        yield from _beside(rows[half:], low + half, start, end)


def commit(tree: Tree, relation: Relation, *lone: Row) -> Tree:
    """Open a relation in all sources that speak of it; ``lone`` rows are under no coverage."""
    keys = [
        (entry["columns"], key)
        for entry in tree["coverage"]
        if entry["predicate"] == relation.predicate
        for key in entry["keys"]
    ]
    keys += [(list(range(len(relation.order))), row) for row in lone]
    spoken = {
        group["source"] for group in tree["facts"] if group["predicate"] == relation.predicate
    }
    for entry in tree["coverage"]:
        spoken |= set(entry["sources"]) if entry["predicate"] == relation.predicate else set()
    vouched = {place for place in spoken if tree["sources"][place]["origin"] != "USER_PROVIDED"}
    first, *others = sorted(vouched)
    tree["sources"][first]["commitment"] = relation.commitment(*keys)
    for other in others:
        tree["sources"][other]["commitment"] = relation.commitment()
    return tree


def answered_more(w: Writer, predicate: str, relation: Relation) -> None:
    """Let the source of a predicate have answered the whole relation, so that it is not inline."""
    entries = [*w.tree["facts"], *w.tree["coverage"]]
    for entry in entries:
        if entry["predicate"] == predicate:
            for place in entry.get("sources", [entry.get("source")]):
                source = w.tree["sources"][place]
                source["rows"], source["hash"] = len(relation.rows), rows_hash(relation.rows)


def orders(who: str, rng: random.Random, count: int = 3) -> Relation:
    """Return a table of orders by customer: some before, some of, and some behind one of them."""
    rows = [
        [f"O{n}", customer_, str(rng.randrange(300, 900))]
        for n, customer_ in enumerate(["A", "B", "B", *[who] * count, "Z", "Z"])
    ]
    return Relation("order", rows, [1, 0, 2])


def blocked(rng: random.Random, count: int = 6) -> Relation:
    rows = sorted({f"{rng.choice('ABXYZ')}{rng.randrange(1000):03}" for _ in range(count)})
    return Relation("blocked", [[one] for one in rows], [0])


def good_customer(w: Writer) -> int:
    """Return the rule that a member with enough orders, who is not blocked, is good."""
    w.outside("member", "c:symbol n:symbol")
    w.outside("order", "o:symbol c:symbol a:number")
    w.outside("blocked", "c:symbol")
    w.declare("good", "c:symbol")
    total = agg("sum", "s", "a", pos("order", "o", "c", "a"))
    more = cmp(">", "s", con("number", "100"))
    body = (pos("member", "c", "n"), total, more, neg("blocked", "c"))
    return w.rule("good", pos("good", "c"), *body, s="number")


def shown(rng: random.Random, *, whole: tuple[str, ...] = ()) -> tuple[Writer, list[Relation]]:
    """Return a proof, and the relations of which it shows parts; ``whole`` ones are inline."""
    w, who = Writer(), customer(rng)
    rule = good_customer(w)
    table, bad = orders(who, rng), blocked(rng)
    own = [row for row in table.rows if row[1] == who]
    members = Relation("member", [["A", "1"], [who, "2"], ["Z", "3"]], [0, 1])
    w.facts("member", [[who, "2"]])
    w.facts("order", own, covers=([1], [[who]]))
    w.cover("blocked", [0], [[who]], w.source([]))
    for one in (members, table, bad):
        if one.predicate not in whole:
            answered_more(w, one.predicate, one)
    given = w.given("member", who, "2")
    total = str(sum(int(row[2]) for row in own))
    w.derived(rule, [who], {"c": who, "n": "2", "s": total}, [given, None, None, None])
    w.conclude("PROVED", "good", who)
    return w, [members, table, bad]


def sealed(w: Writer, *relations: Relation) -> Writer:
    """Commit to relations; rows under no coverage are opened each by itself."""
    for one in relations:
        covered = any(e["predicate"] == one.predicate for e in w.tree["coverage"])
        groups = [g for g in w.tree["facts"] if g["predicate"] == one.predicate]
        lone = [] if covered else [row for group in groups for row in group["rows"]]
        commit(w.tree, one, *lone)
    w.tree["header"]["level"] = level_of(w.tree)
    w.tree = json.loads(seal(w.tree))
    return w


def committed(rng: random.Random) -> Writer:
    w, relations = shown(rng)
    return sealed(w, *relations)


def committed_in_part(rng: random.Random) -> Writer:
    """The blocked are in no root: what rests on them is re-runnable."""
    w, (_, table, _) = shown(rng)
    return sealed(w, table)


def committed_beside_a_query(rng: random.Random) -> Writer:
    """Of two sources that say who is blocked one has a root; the other one's query stands alone."""
    w, relations = shown(rng)
    sealed(w, *relations)
    archive = w.source([], count=3)
    w.tree["sources"][archive]["name"] = "archive"
    covered = next(one for one in w.tree["coverage"] if one["predicate"] == "blocked")
    covered["sources"].append(archive)
    return sealed(w)


def committed_beside_inline(rng: random.Random) -> Writer:
    """All rows of the orders are shown, the blocked are opened."""
    w, (_, _, bad) = shown(rng, whole=("order",))
    return sealed(w, bad)


def committed_and_inline(rng: random.Random) -> Writer:
    """What is shown whole is C3, opened or not; of no rows the root is that of nothing."""
    w, (_, table, _) = shown(rng, whole=("blocked",))
    return sealed(w, table, Relation("blocked", [], [0]))


def committed_at_both_ends(rng: random.Random) -> Writer:
    """The key begins the one relation and ends the other: there is no neighbour."""
    w, (_, table, bad) = shown(rng)
    who = w.tree["header"]["goal"][1][0]
    own = [row for row in table.rows if row[1] <= who]
    low = [row for row in bad.rows if row[0] > who] or [["Z"]]
    return sealed(w, Relation("order", own, [1, 2, 0]), Relation("blocked", low, [0]))


def committed_whole(rng: random.Random) -> Writer:
    """A coverage of all rows, by no column, beside one that serves nobody."""
    w, who = Writer(), customer(rng)
    w.outside("blocked", "c:symbol")
    w.outside("tier", "c:symbol t:symbol")
    w.declare("fine", "c:symbol")
    rule = w.rule("fine", pos("fine", "c"), pos("tier", "c", "t"), neg("blocked", "c"))
    bad = blocked(rng, rng.randrange(1, 9))
    w.facts("blocked", bad.rows, covers=([], [[]]))
    w.tree["sources"][0]["rows"] += 1
    w.facts("tier", [[who, "gold"]], origin="CONFIG")
    given = w.given("tier", who, "gold")
    w.derived(rule, [who], {"c": who, "t": "gold"}, [given, None])
    w.conclude("PROVED", "fine", who)
    return sealed(w, bad)


def committed_by_two_sources(rng: random.Random) -> Writer:
    """Two queries of one relation: what is opened stands with the first of them."""
    w, (_, table, bad) = shown(rng)
    w.cover("order", [1], [["B"]], w.source([]))
    last = len(w.tree["sources"]) - 1
    own = [row for row in table.rows if row[1] == "B"]
    group = {"predicate": "order", "source": last, "assumption": None, "rows": sorted(own)}
    w.tree["facts"].append(group)
    answered_more(w, "order", table)
    return sealed(w, table, bad)


def committed_with_a_word(rng: random.Random) -> Writer:
    """A row on somebody's word lies under the key as well, and in no root."""
    w, (members, table, bad) = shown(rng)
    who = w.tree["header"]["goal"][1][0]
    assumption = w.assume("fact", "so it is said")
    w.facts("member", [[who, "9"]], origin="USER_PROVIDED", assumption=assumption)
    w.cover("member", [0], [[who]], 0, len(w.tree["sources"]) - 1)
    return sealed(w, members, table, bad)


def committed_to_one_row(rng: random.Random) -> Writer:
    """A relation of one row: its root is that row's hash, and the path is empty."""
    w, (_, table, bad) = shown(rng)
    own = [row for row in table.rows if row[1] == w.tree["header"]["goal"][1][0]][:1]
    w.tree["facts"][1]["rows"] = own
    w.tree["nodes"][1]["bind"][2] = own[0][2]
    w.tree["sources"][1].update(rows=1, hash=rows_hash(own))
    return sealed(w, Relation("order", own, [1, 0, 2]), bad)


def committed_inside_nested(rng: random.Random) -> Writer:
    """A nested certificate with openings of its own counts for the outer level."""
    w, inner = Writer(), committed(rng)
    who = inner.tree["header"]["goal"][1][0]
    w.outside("good", "c:symbol")
    w.declare("nice", "c:symbol")
    rule = w.rule("nice", pos("nice", "c"), pos("good", "c"))
    w.proved(inner)
    given = w.given("good", who)
    w.derived(rule, [who], {"c": who}, [given])
    return w.conclude("PROVED", "nice", who)


def wide(lists: int) -> Writer:
    """Return a proof of a row that is opened under each of so many lists of its columns."""
    w = Writer()
    w.outside("wide", " ".join(f"c{n}:symbol" for n in range(lists)))
    row = [f"v{n:02}" for n in range(lists)]
    w.facts("wide", [row])
    source = w.tree["facts"][0]["source"]
    for width in range(1, lists + 1):
        w.cover("wide", list(range(width)), [row[:width]], source)
    w.given("wide", *row)
    w.conclude("PROVED", "wide", *row)
    return sealed(w, Relation("wide", [row], list(range(lists))))


def committed_under_sixteen_lists(_: random.Random) -> Writer:
    return wide(16)


MORE: Final[tuple[Make, ...]] = (
    committed,
    committed_and_inline,
    committed_at_both_ends,
    committed_beside_a_query,
    committed_beside_inline,
    committed_by_two_sources,
    committed_in_part,
    committed_inside_nested,
    committed_to_one_row,
    committed_under_sixteen_lists,
    committed_whole,
    committed_with_a_word,
)
