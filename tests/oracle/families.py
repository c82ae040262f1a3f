"""Small programs that use every construct, and all their databases of at most three rows.

Each program reads `e(a, b)` and `f(a)` over the values 0 and 1; null cells are of one policy in a
database. Example: `p(?x) :- e(?x, _y).` over `e(0, null)` under `maybe` makes `p(0)` possible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING, Final

from constat.evaluation import Assumption
from constat.logic import OPEN, NullPolicy, OpenRow, Row, Value, with_null_cells
from tests.oracle.naive import World

if TYPE_CHECKING:
    from collections.abc import Iterator

DECLARATIONS: Final = """
.decl e(a: number, b: number)
.decl f(a: number)
"""

PROGRAMS: Final = {
    "copy": "p(?x, ?y) :- e(?x, ?y).",
    "not read": "p(?x) :- e(?x, _).",
    "read": "p(?x) :- e(?x, _y).",
    "nothing read": "p() :- e(_, _).",
    "constant": "p(?x) :- e(?x, 1).",
    "join": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z).",
    "join with one column": "p(?x) :- e(?x, ?y), f(?y).",
    "diagonal": "p(?x) :- e(?x, ?x).",
    "same column twice": "p(?x) :- e(?x, ?y), e(_, ?y), f(?x).",
    "carried": "q(?y) :- e(_, ?y).  p(?x) :- q(?x), f(?x).",
    "carried and joined with itself": "q(?y) :- e(_, ?y).  p() :- q(?y), e(_, ?y).",
    "two rules": "p(?x) :- e(?x, _y).  p(?x) :- f(?x).",
    "negation, not read": "p(?x) :- f(?x), !e(?x, _).",
    "negation, read": "p(?x) :- f(?x), !q(?x).  q(?x) :- e(?x, _y).",
    "negation, bound": "p(?x) :- e(?x, ?y), !f(?y).",
    "negation, constant": "p(?x) :- f(?x), !e(?x, 1).",
    "negation of what carries": "q(?y) :- e(_, ?y).  p(?y) :- e(?y, _), !q(?y).",
    "negation twice": "q(?x) :- f(?x), !e(?x, 0).  p(?x) :- f(?x), !q(?x).",
    "equal": "p(?x) :- e(?x, ?y), ?y = 1.",
    "unequal": "p(?x) :- e(?x, ?y), ?y != 1.",
    "less": "p(?x) :- e(?x, ?y), ?y < 1.",
    "compared with another": "p(?x) :- e(?x, ?y), f(?z), ?y <= ?z.",
    "equal to itself": "p(?x) :- e(?x, ?y), e(?x, ?z), ?y = ?z.",
    "unequal to itself": "p(?x) :- e(?x, ?y), e(?x, ?z), ?y != ?z.",
    "bound by an equation": "p(?z) :- e(_, ?y), ?z = ?y.",
    "function in the head": "p(?x, ?y + 1) :- e(?x, ?y).",
    "function in a test": "p(?x) :- e(?x, ?y), ?y * ?y = ?y.",
    "function in an atom": "p(?x) :- e(?x, ?y), f(1 - ?y).",
    "function in a negation": "p(?x) :- e(?x, ?y), !f(1 - ?y).",
    "error in a test": "p(?x) :- e(?x, ?y), 1 / ?y = 1.",
    "error in the head": "p(?x, 1 / ?y) :- e(?x, ?y).",
    "error beside a false test": "p(?x) :- e(?x, ?y), ?y > 0, 1 / ?y = 1.",
    "error in a negation": "p(?x) :- f(?x), !f(1 / ?x).",
    "count of all": "p(?n) :- ?n = count : { e(_, _) }.",
    "count of a group": "p(?x, ?n) :- f(?x), ?n = count : { e(?x, _) }.",
    "count, read": "p(?x, ?n) :- f(?x), ?n = count : { e(?x, _y) }.",
    "count of the other column": "p(?n) :- ?n = count : { e(_x, _) }.",
    "sum of a null column": "p(?x, ?s) :- f(?x), ?s = sum ?y : { e(?x, ?y) }.",
    "sum beside a null column": "p(?s) :- ?s = sum ?x : { e(?x, _) }.",
    "mean beside a null column": "p() :- ?s = mean ?x : { e(?x, _) }, ?s > 0.4.",
    "least": "p(?x, ?m) :- f(?x), ?m = min ?y : { e(?x, ?y) }.",
    "greatest beside a null column": "p(?m) :- ?m = max ?x : { e(?x, _) }.",
    "row of the greatest": "p(?x) :- e(?x, ?y), ?y = max ?z : { e(_, ?z) }.",
    "row of the least of its group": (
        "p(?x, ?y) :- e(?x, ?y), ?m = min ?z : { e(?x, ?z) }, ?y = ?m."
    ),
    "row from the greatest on": "p(?x) :- e(?x, ?y), ?m = max ?z : { e(_, ?z) }, ?y >= ?m.",
    "row before the least": "p(?x) :- f(?x), ?m = min ?y : { e(_, ?y) }, ?m > ?x.",
    "sum beyond the greatest": "p(?x) :- f(?x), ?m = max ?y : { e(_, ?y) }, ?x + 1 > ?m.",
    "greatest of what carries": "q(?y) :- e(_, ?y).  p(?x) :- f(?x), ?x = max ?y : { q(?y) }.",
    "greatest of a rule in doubt": (
        "q(?y) :- e(_, ?y).  @[confidence = 0.8] q(?x) :- e(?x, _)."
        "  p(?x) :- f(?x), ?x = max ?y : { q(?y) }."
    ),
    "error in an aggregate": "p(?s) :- ?s = sum 1 / ?x : { e(?x, _) }.",
    "aggregate of a join": "p(?n) :- ?n = count : { e(_x, ?y), f(?y) }.",
    "aggregate of a join beside a null column": "p(?n) :- ?n = count : { e(?x, _), f(?x) }.",
    "sum of a join beside two null columns": (
        "p(?s) :- ?s = sum ?x : { e(?x, _), e(_, ?x), f(?x) }."
    ),
    "greatest of a join": "p(?m) :- ?m = max ?x : { e(?x, _), e(_, ?x) }.",
    "aggregate with a test": "p(?n) :- ?n = count : { e(_x, ?y), ?y > 0 }.",
    "label as a group": "p(?y, ?n) :- e(_, ?y), ?n = count : { e(_, ?y) }.",
    "count of what carries": "q(?y) :- e(_, ?y).  p(?n) :- ?n = count : { q(_y) }.",
    "aggregate that is compared": "p(?x) :- f(?x), ?n = count : { e(?x, _) }, ?n > 1.",
    "aggregate over a negation": "p(?n) :- ?n = count : { f(?x), !e(?x, ?x) }.",
    "recursion": "p(?x, ?y) :- e(?x, ?y).  p(?x, ?z) :- p(?x, ?y), e(?y, ?z).",
    "negation of a recursion": (
        "q(?x) :- f(?x).  q(?y) :- q(?x), e(?x, ?y).  p(?x) :- e(?x, _), !q(?x)."
    ),
    "threshold of a count": (
        "p(0) :- f(_).  p(?x) :- e(?x, _), ?n = count : { p(?y), e(?y, _z) }, ?n >= 2."
    ),
    "threshold of a sum": (
        "p(0) :- f(_).  p(?x) :- e(?x, _), ?s = sum ?w : { p(?y), e(?y, ?w) }, ?s > 0."
    ),
    "threshold with a guard": (
        "p(0) :- f(_).  p(?x) :- e(?x, _), ?s = sum ?w : { p(?y), e(?y, ?w), ?w >= 0 }, ?s > 0."
    ),
    "threshold below zero": (
        "p(0) :- f(_).  p(?x) :- e(?x, _), ?s = sum ?w - 1 + ?y : { p(?y), e(?y, ?w) }, ?s >= 1."
    ),
    "range of ends": "p(?x) :- e(?y, ?z), ?x = range(?y, ?z + 2).",
    "total function in the head": "p(?x, max(?y, 1)) :- e(?x, ?y).",
    "total function carried": (
        "q(?z) :- e(_, ?y), ?z = max(?y, 1).  p(?x) :- e(?x, ?y), q(max(?y, 1))."
    ),
    "total function and another": (
        "q(?z) :- e(_, ?y), ?z = max(?y, 1).  p(?x) :- e(?x, ?y), q(min(?y, 1))."
    ),
    "total function compared with itself": (
        "p(?x) :- e(?x, ?y), e(?x, ?z), min(?y, ?x) <= min(?z, ?x)."
    ),
    "total function of a total function": (
        "q(?z) :- e(_, ?y), ?z = max(?y, 1).  p(?w) :- q(?z), ?w = min(?z, 5)."
    ),
    "total function of two labels": "p(?w) :- e(?y, ?z), ?w = max(?y, ?z).",
    "total function in a negation": (
        "q(?z) :- e(_, ?y), ?z = max(?y, 1).  p(?x) :- e(?x, ?y), !q(max(?y, 1))."
    ),
    "total function in an aggregate": "p(?s) :- ?s = sum max(?y, 0) : { e(_, ?y) }.",
    "total function in a count": (
        "q(?x, max(?y, 1)) :- e(?x, ?y).  p(?n) :- ?n = count : { q(_x, _y) }."
    ),
    "rule in doubt": "p(?x) :- e(?x, _).  @[confidence = 0.8] p(?x) :- f(?x).",
    "negation of a rule in doubt": (
        "@[confidence = 0.8] q(?x) :- e(?x, _y).  p(?x) :- f(?x), !q(?x)."
    ),
}

_HEAD: Final = re.compile(r"(?:^|\.\s+|] )(\w)\(((?:[^()]|\([^()]*\))*)\)")


def text_of(name: str) -> str:
    """Give a program with its declarations; what a null means the cells of a database say."""
    columns = re.sub(r"\b([ab]):", r"@[null = maybe] \1:", DECLARATIONS)
    return columns + declared(PROGRAMS[name])


def declared(rules: str) -> str:
    """Give rules behind the declarations of their heads: all columns are numbers."""
    widths = {
        head: len(re.findall(r"(?:[^,()]|\([^()]*\))+", terms))
        for head, terms in _HEAD.findall(rules)
    }
    columns = {head: ", ".join(f"c{n}: number" for n in range(w)) for head, w in widths.items()}
    lines = "".join(f".decl {head}({found})\n" for head, found in columns.items())
    return lines + rules


POLICIES: Final = (NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN)
WORD: Final = Assumption("fact", "a fact", "alice says so")
CLOSED: Final = Assumption("closure", "f", "f is complete")
_EACH: Final = 367
Item = tuple[str, str, tuple[Value | None, ...]]
"""A predicate, what is said of it (`row`, `assumed`, `open`, `declared`), cells with `None`."""

ROWS: Final[tuple[Item, ...]] = (
    *(("e", "row", (a, b)) for a in (0, 1, None) for b in (0, 1, None)),
    *(("f", "row", (a,)) for a in (0, 1, None)),
)
DOUBTS: Final[tuple[Item, ...]] = (
    ("e", "assumed", (0, 1)),
    ("e", "assumed", (0, None)),
    ("e", "open", (0, None)),
    ("f", "assumed", (0,)),
    ("f", "open", (None,)),
    ("f", "declared", (None,)),
)


@dataclass(frozen=True, slots=True)
class Database:
    """What is said, and the policy of null cells."""

    items: tuple[Item, ...]
    policy: NullPolicy

    @property
    def has_nulls(self) -> bool:
        return any(None in cells for _, how, cells in self.items if how in {"row", "assumed"})

    def world(self) -> World:
        rows: dict[str, tuple[tuple[Row, Assumption | None], ...]] = {"e": (), "f": ()}
        openings: dict[str, tuple[tuple[OpenRow, Assumption | None], ...]] = {"e": (), "f": ()}
        seen: dict[tuple[str, tuple[Value | None, ...]], int] = {}
        for name, how, cells in self.items:
            if how in {"open", "declared"}:
                pattern = tuple(OPEN if cell is None else cell for cell in cells)
                openings[name] += ((pattern, CLOSED if how == "declared" else None),)
                continue
            ordinal = seen.get((name, cells), 0)
            seen[name, cells] = ordinal + 1
            row = with_null_cells(name, cells, [self.policy] * len(cells), ordinal)
            found = (row, WORD if how == "assumed" else None)
            if found not in rows[name]:
                rows[name] += (found,)
        return World(rows, openings)


def sample(name: str) -> list[Database]:
    """Give some of the databases, others for each program; all of them are for the slow tests."""
    return list(databases())[list(PROGRAMS).index(name) * 41 % _EACH :: _EACH]


def told_apart(name: str) -> list[Database]:
    """Give all databases, but one alone of those that differ in what no rule of a program reads."""
    read = read_by(name)
    return [one for one in databases() if all(item[0] in read for item in one.items)]


def read_by(name: str) -> set[str]:
    """Name the relations from outside that a program reads."""
    return {relation for relation in ("e", "f") if re.search(rf"\b{relation}\(", PROGRAMS[name])}


def databases() -> Iterator[Database]:
    """Yield all databases of at most three rows, one of which may be in doubt."""
    for policy in POLICIES:
        for size in range(4):
            for items in combinations_with_replacement(ROWS, size):
                if _is_distinct(items, policy):
                    yield Database(items, policy)
        for size in range(3):
            for items in combinations_with_replacement(ROWS, size):
                if _is_distinct(items, policy):
                    yield from (Database((*items, doubt), policy) for doubt in DOUBTS)


def _is_distinct(items: tuple[Item, ...], policy: NullPolicy) -> bool:
    """Tell whether only rows with labels come twice, and nulls matter for the policy."""
    twice = [left for left, right in pairwise(items) if left == right]
    if policy is NullPolicy.NONE and twice:
        return False
    nulls = any(None in cells for _, _, cells in items)
    return (nulls or policy is NullPolicy.NONE) and all(None in one[2] for one in twice)


BOUNDED: Final = (
    "row of the greatest",
    "row of the least of its group",
    "row from the greatest on",
    "row before the least",
    "sum beyond the greatest",
    "greatest of what carries",
)
"""Programs in which members that are known decide for most rows against an open extreme."""
