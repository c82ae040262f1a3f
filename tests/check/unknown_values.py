"""Certificates of the second format about unknown values, and forgeries of them, for both checkers.

The world is four orders whose customer may be unknown, whose region may be missing and whose parent
may be none.  Each case is a tree and what is said about it: a verdict, or the code of a rejection.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tests.check.second import upgraded
from tests.check.writer import Writer, agg, canonical, cmp, con, fun, neg, pos, seal, sha256

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.check.writer import Tree

    Case = Callable[[], tuple[Tree, str]]

MAYBE: Final = ["maybe", 0]
NONE: Final = ["none"]
FIRST: Final = ["unknown", 0]
SECOND: Final = ["unknown", 1]
ROWS: Final[tuple[list[Any], ...]] = (
    ["1", "ann", "EU", NONE],
    ["2", FIRST, "EU", "1"],
    ["3", "bob", MAYBE, "1"],
    ["4", SECOND, MAYBE, NONE],
)
BY_ALICE: Final = {"source": 1, "assumption": 0}
LABELS: Final[tuple[list[Any], ...]] = (
    ["orders", ["2", None, "EU", "1"], 1, 0],
    ["orders", ["4", None, None, None], 1, 0],
)


def any_(name: str) -> str:
    """Return a variable that `done` makes one that is not read."""
    return name


def unread(body: Any) -> Any:  # noqa: ANN401  JSON
    """Return JSON of a body in which variables whose names say so are not read."""
    if not isinstance(body, list):
        return body
    if len(body) == 2 and body[0] == "v" and body[1].startswith("_"):
        return ["_", body[1]]
    return [unread(part) for part in body]


class World:
    """Rules over the orders; ``tree`` is of the second format once ``done`` was called."""

    def __init__(self, *shown: int) -> None:
        self.w = Writer()
        self.w.outside("orders", "o:number c:symbol r:symbol p:number")
        self.shown = shown or (1, 2, 3, 4)

    def done(self, verdict: str, predicate: str, *goal: object) -> Tree:
        """Conclude, and put the rows with their null cells in."""
        self.w.facts("orders", [], covers=([], [[]]))
        self.w.conclude(verdict, predicate, *goal)  # type: ignore[arg-type]  # wildcards, too
        tree = upgraded(self.w.tree)
        for rule in tree["rules"]:
            rule["body"] = unread(rule["body"])
        tree["declarations"][0]["nulls"] = [None, "unknown", "maybe", "none"]
        rows = [copy.deepcopy(ROWS[number - 1]) for number in self.shown]
        bare = [[cell if isinstance(cell, str) else None for cell in row] for row in rows]
        labels = [number for number, row in enumerate((2, 4)) if row in self.shown]
        tree["labels"] = [copy.deepcopy(LABELS[number]) for number in labels]
        for row in rows:
            if isinstance(row[1], list):
                row[1] = ["unknown", labels.index(row[1][1])]
        tree["facts"][-1]["rows"] = rows
        tree["sources"][-1]["rows"] = len(rows)
        tree["sources"][-1]["hash"] = sha256("".join(canonical(row) + "\n" for row in bare))
        needs = verdict != "PROVED" or tree["closure"]["entries"] or _reads_all(tree)
        if not needs:
            tree["coverage"] = []
        tree["header"]["level"] = _level(tree)
        return tree

    def node(self, number: int) -> int:
        """Add the node of a row of a source."""
        row = copy.deepcopy(ROWS[number - 1])
        if isinstance(row[1], list):
            row[1] = ["unknown", [2, 4].index(number) if len(self.shown) > 1 else 0]
        node: Tree = {"kind": "fact", "fact": ["orders", row], "facts": 0, "confidence": "1"}
        self.w.tree["nodes"].append(node | {"row": self.shown.index(number)})
        return len(self.w.tree["nodes"]) - 1

    def derived(
        self, rule: int, predicate: str, row: list[Any], bind: list[Any], *on: object
    ) -> int:
        """Add the node of a conclusion."""
        node: Tree = {"kind": "rule", "fact": [predicate, row], "rule": rule, "bind": bind}
        self.w.tree["nodes"].append(node | {"premises": list(on), "confidence": "1"})
        return len(self.w.tree["nodes"]) - 1


def _reads_all(tree: Tree) -> bool:
    return any(literal[0] in "-a" for rule in tree["rules"] for literal in rule["body"])


def _level(tree: Tree) -> str | None:
    return "C3" if tree["coverage"] else ("C4" if tree["closure"]["entries"] else None)


def placed() -> Tree:
    """Order 4 was placed, whatever is unknown of it."""
    w = World()
    w.w.declare("placed", "o:number")
    rule = w.w.rule("r", pos("placed", "o"), pos("orders", "o", any_("_1"), any_("_2"), any_("_3")))
    w.derived(rule, "placed", ["4"], ["4", None, None, None], w.node(4))
    return w.done("PROVED", "placed", "4")


def bought(number: int = 2, *goal: object) -> Tree:
    """Somebody bought the order: the label is the value that the rule carries."""
    w = World()
    w.w.declare("bought", "o:number c:symbol")
    body = pos("orders", "o", "c", any_("_1"), any_("_2"))
    rule = w.w.rule("r", pos("bought", "o", "c"), body)
    who = copy.deepcopy(ROWS[number - 1][1])
    key = str(number)
    w.derived(rule, "bought", [key, who], [key, who, None, None], w.node(number))
    return w.done("PROVED", "bought", *(goal or (key, None)))


def size(row: Any = None, bind: Any = None, *, plus: str = "") -> Tree:  # noqa: ANN401  cells
    """The length of what nobody knows is a label of its own; of a sum nobody knows anything."""
    w = World()
    w.w.declare("size", "o:number n:number")
    length = fun("strlen", "number", "c")
    if plus:
        length = fun("+", "number", length, con("number", plus))
    body = pos("orders", "o", "c", any_("_1"), any_("_2"))
    rule = w.w.rule("r", pos("size", "o", "n"), body, cmp("=", "n", length), n="number")
    made = ["unknown", 0, "strlen", [None]]
    cells = ["2", copy.deepcopy(row or made)]
    bound = ["2", copy.deepcopy(bind or row or made), copy.deepcopy(FIRST), None, None]
    w.derived(rule, "size", cells, bound, w.node(2), None)
    return w.done("PROVED", "size", "2", None)


def least() -> Tree:
    """The earlier of a name that nobody knows and a known one is a label of both."""
    w = World()
    w.w.declare("least", "o:number c:symbol")
    body = pos("orders", "o", "c", any_("_1"), any_("_2"))
    less = fun("min", "symbol", "c", con("symbol", "cid"))
    rule = w.w.rule("r", pos("least", "o", less), body)
    made = ["unknown", 0, "min", [None, "cid"]]
    w.derived(rule, "least", ["2", made], ["2", FIRST, None, None], w.node(2))
    return w.done("PROVED", "least", "2", None)


def same(left: int = 2, right: int = 2) -> Tree:
    """Two orders have one customer for certain only where it is one label."""
    w = World()
    w.w.declare("same", "a:number b:number")
    first = pos("orders", "a", "c", any_("_1"), any_("_2"))
    second = pos("orders", "b", "c", any_("_3"), any_("_4"))
    rule = w.w.rule("r", pos("same", "a", "b"), first, second)
    bind = [str(left), str(right), copy.deepcopy(ROWS[left - 1][1]), None, None, None, None]
    nodes = dict.fromkeys((left, right))
    places = {number: w.node(number) for number in nodes}
    row = [str(left), str(right)]
    w.derived(rule, "same", row, bind, places[left], places[right])
    return w.done("PROVED", "same", *row)


def counted(said: str = "4", columns: tuple[Any, ...] = ("o",)) -> Tree:
    """Four orders are four: their numbers tell them apart, so null cells do not matter."""
    w = World()
    w.w.declare("many", "n:number")
    read = [*columns, *(any_(f"_{place}") for place in range(len(columns), 4))]
    group = agg("count", "n", None, pos("orders", *read))
    rule = w.w.rule("r", pos("many", "n"), group)
    for number in (1, 2, 3, 4):
        w.node(number)
    locals_ = len(w.w.tree["rules"][0]["variables"]) - 1
    w.derived(rule, "many", [said], [said, *[None] * locals_], None)
    return w.done("PROVED", "many", said)


def may_be_one(said: str = "2") -> Tree:
    """Orders 2 and 4, counted by their customer alone, may be of one: nobody knows how many."""
    w = World(2, 4)
    w.w.declare("many", "n:number")
    w.w.declare("by", "c:symbol")
    by = pos("orders", any_("_1"), "c", any_("_2"), any_("_3"))
    first = w.w.rule("by", pos("by", "c"), by)
    rule = w.w.rule("r", pos("many", "n"), agg("count", "n", None, pos("by", "c")))
    for place, number in enumerate((2, 4)):
        label = ["unknown", place]
        w.derived(first, "by", [label], [label, None, None, None], w.node(number))
    w.w.tree["closure"] = {
        "entries": [{"predicate": "by", "columns": [], "orders": [[0, [0]]], "keys": [[]]}],
        "rows": [["by", [["unknown", 0], ["unknown", 1]]]],
    }
    w.w.tree["closure"]["rows"] = [["by", [[["unknown", 0]], [["unknown", 1]]]]]
    w.derived(rule, "many", [said], [said, None], None)
    return w.done("PROVED", "many", said)


def root(number: int = 1) -> Tree:
    """Order 1 has no parent: where there is none, nothing that reads it matches."""
    w = World()
    w.w.declare("root", "o:number")
    first = pos("orders", "o", any_("_1"), any_("_2"), any_("_3"))
    none = neg("orders", "o", any_("_4"), any_("_5"), "p")
    rule = w.w.rule("r", pos("root", "o"), first, none)
    key = str(number)
    w.derived(rule, "root", [key], [key, *[None] * 6], w.node(number), None)
    tree = w.done("PROVED", "root", key)
    tree["coverage"][0] |= {"columns": [0], "keys": [[key]]}
    return tree


def goal(verdict: str, *pattern: object, missing: tuple[Any, ...] = ()) -> Tree:
    """A goal over the orders themselves."""
    w = World()
    if verdict == "PROVED":
        w.node(int(str(pattern[0])))
    tree = w.done(verdict, "orders", *pattern)
    tree["missing"] = [["orders", list(row)] for row in missing]
    if verdict != "PROVED":
        tree["coverage"][0] |= {"columns": [0], "keys": [[pattern[0]]]}
    return tree


def negated(*row: str | list[str]) -> Tree:
    """Nothing is known to be of customer cid: an unknown customer may be anybody."""
    w = World(1, 3)
    w.w.declare("nobody", "c:symbol")
    rule = w.w.rule("r", pos("nobody", con("symbol", "cid")), neg("orders", *row))
    count = len(w.w.tree["rules"][0]["variables"])
    w.derived(rule, "nobody", ["cid"], [None] * count, None)
    return w.done("PROVED", "nobody", "cid")


def filled(verdict: str = "PROVED_UNDER") -> Tree:
    """Alice says who bought order 2; who accepts that knows it."""
    tree = bought(2)
    told = copy.deepcopy(tree["sources"][0])
    told |= {"tier": "user", "origin": "USER_PROVIDED", "author": "alice", "confidence": "0.9"}
    tree["sources"].append(told | {"rows": 1, "hash": sha256("\n")})
    tree["record"]["executed"].append(None)
    told = {"kind": "fact", "text": "alice says so", "confidence": "0.9", "attestations": []}
    tree["assumptions"] = [told]
    tree["filled"] = [
        {"facts": 0, "row": 1, "column": 1, "value": "ann", "source": 1, "assumption": 0}
    ]
    tree["nodes"][0] |= {"fact": ["orders", ["2", "ann", "EU", "1"]], "confidence": "0.9"}
    tree["nodes"][1] |= {"fact": ["bought", ["2", "ann"]], "bind": ["2", "ann", None, None]}
    tree["nodes"][1]["confidence"] = "0.9"
    tree["header"] |= {"verdict": verdict, "under": [0], "confidence": "0.9"}
    tree["header"]["goal"] = ["bought", ["2", "ann"]]
    return tree


def totals(*listed: list[Any]) -> Tree:
    """Two shares that nobody can tell apart are no two summands of a recursive total."""
    w = Writer()
    w.outside("own", "x:symbol y:symbol w:unsigned")
    w.declare("holds", "x:symbol v:symbol y:symbol w:unsigned")
    w.declare("controls", "x:symbol y:symbol")
    w.rule("own", pos("holds", "x", "x", "y", "w"), pos("own", "x", "y", "w"))
    others = pos("controls", "x", "z"), pos("own", "z", "y", "w")
    w.rule("via", pos("holds", "x", "z", "y", "w"), *others, cmp("!=", "x", "z"))
    total = agg("sum", "s", "w", pos("holds", "v", "u", con("symbol", "Y"), "w"))
    bound = cmp(">", "s", con("unsigned", "50"))
    w.rule(
        "sum", pos("controls", con("symbol", "X"), con("symbol", "Y")), total, bound, s="unsigned"
    )
    rows: list[list[Any]] = [["A", "Y", "30"], [FIRST, "Y", "30"]]
    w.facts("own", [])
    for number, row in enumerate(rows):
        who = copy.deepcopy(row[0])
        fact = {"kind": "fact", "fact": ["own", copy.deepcopy(row)], "facts": 0, "row": number}
        w.tree["nodes"].append(fact | {"confidence": "1"})
        held = {"kind": "rule", "fact": ["holds", [who, who, "Y", "30"]], "rule": 0}
        w.tree["nodes"].append(
            held | {"bind": [who, "Y", "30"], "premises": [2 * number], "confidence": "1"}
        )
    summands = [[copy.deepcopy(values), [premise]] for *values, premise in listed]
    w.tree["nodes"].append(
        {
            "kind": "rule",
            "fact": ["controls", ["X", "Y"]],
            "rule": 2,
            "bind": [None, None, None, None],
            "premises": [summands, None],
            "confidence": "1",
        }
    )
    w.conclude("PROVED", "controls", "X", "Y")
    tree = upgraded(w.tree)
    tree["declarations"][0]["nulls"] = ["unknown", None, None]
    tree["labels"] = [["own", [None, "Y", "30"], 0, 0]]
    order = sorted(range(2), key=lambda place: isinstance(rows[place][0], str))
    tree["facts"][0]["rows"] = [rows[place] for place in order]
    for number in range(2):
        tree["nodes"][2 * number]["row"] = order.index(number)
    bare = [[None, "Y", "30"], ["A", "Y", "30"]]
    tree["sources"][0] |= {
        "rows": 2,
        "hash": sha256("".join(canonical(row) + "\n" for row in bare)),
    }
    return tree


def walk(cells: int = 3) -> Tree:
    """A walk over a list: the rest is said by its place in the table."""
    texts = ["nil"]
    for number in range(cells):
        texts.append(f"[{number}, {texts[-1]}]")
    w = Writer()
    w.outside("given", "l:structure")
    w.declare("walk", "l:structure")
    w.rule("start", pos("walk", "l"), pos("given", "l"))
    rest = cmp("=", "t", fun("field_of", "structure", "l", con("number", "1")))
    is_pair = cmp("=", fun("constructor_of", "symbol", "l"), con("symbol", "[]/2"))
    w.rule("on", pos("walk", "t"), pos("walk", "l"), is_pair, rest, t="structure")
    w.facts("given", [[texts[-1]]])
    w.given("given", texts[-1])
    w.derived(0, [texts[-1]], {"l": texts[-1]}, [0])
    for number, text in enumerate(reversed(texts[:-1]), 1):
        previous = texts[-number]
        w.derived(1, [text], {"t": text, "l": previous}, [number, None, None])
    w.conclude("PROVED", "walk", "nil")
    tree = upgraded(w.tree)
    tree["values"] = [
        ["[]", str(number), "nil" if number == 0 else number - 1] for number in range(cells)
    ]
    places: dict[str, Any] = {text: place for place, text in enumerate(texts[1:])}
    for node in tree["nodes"]:
        node["fact"][1] = [places.get(text, text) for text in node["fact"][1]]
        if "bind" in node:
            node["bind"] = [places.get(text, text) for text in node["bind"]]
    for group in tree["facts"]:
        group["rows"] = [[places.get(text, text) for text in row] for row in group["rows"]]
    return tree


def later() -> Tree:
    """An order came after the one that was asked about: the second column is given."""
    w = World()
    w.w.declare("later", "o:number than:number")
    body = pos("orders", "o", any_("_1"), any_("_2"), any_("_3"))
    rule = w.w.rule("r", pos("later", "o", "than"), body, cmp(">", "o", "than"))
    bind: list[Any] = ["4", "2", None, None, None]
    w.derived(rule, "later", ["4", "2"], bind, w.node(4), None)
    tree = w.done("PROVED", "later", "4", "2")
    tree["declarations"][1]["given"] = [1]
    return tree


def by_api(operation: str = "GET /orders", pages: int = 2, level: str = "C1") -> Tree:
    """Order 4 has no parent: an API gave all orders, and is declared to."""
    tree = goal("DISPROVED", "4", ["_"], ["_"], None)
    authority = {"operation": operation, "pages": pages}
    tree["sources"][0] |= {"origin": "API", "authority": authority}
    tree["header"]["level"] = level
    return tree


SPAN: Final = {"document": "orders.pdf", "hash": None, "start": 7, "end": 14, "text": "order 4"}


def by_document(**change: object) -> Tree:
    """A document says that there are these orders: whoever accepts that has order 4."""
    tree = placed()
    tree["sources"][0] |= {"origin": "DOCUMENT", "span": {**SPAN, **change}}
    tree["assumptions"] = [
        {"kind": "fact", "text": "the list is right", "confidence": "1", "attestations": []}
    ]
    tree["facts"][0]["assumption"] = 0
    tree["header"] |= {"verdict": "PROVED_UNDER", "under": [0]}
    return tree


UNREAD: Final = ["unread"]


def projected(make: Callable[[], Tree] = placed) -> Tree:
    """The same where only the number of an order is read: the other cells are not there."""
    tree = make()
    tree["declarations"][0]["nulls"] = [None, "unread", "unread", "unread"]
    tree["labels"] = []
    rows = [[row[0], UNREAD, UNREAD, UNREAD] for row in tree["facts"][-1]["rows"]]
    tree["facts"][-1]["rows"] = copy.deepcopy(rows)
    bare = "".join(canonical([row[0], None, None, None]) + "\n" for row in rows)
    tree["sources"][-1]["hash"] = sha256(bare)
    for node in tree["nodes"]:
        if node["kind"] == "fact":
            node["fact"][1] = copy.deepcopy(rows[node["row"]])
    return tree


def late(*shown: list[str], goal: str = "some_late", total: int = 9) -> Tree:
    """Nothing of nine rows is late by what is shown for the literal of one rule, and its tests.

    Only rows that pass are shown: a day above 5, and no row for `?a` in two columns.
    """
    w = Writer()
    w.outside("orders", "o:number d:number")
    w.declare("late", "o:number")
    w.declare("some_late", "")
    w.declare("early", "o:number")
    w.rule("L", pos("late", "o"), cmp(">", "d", con("number", "5")), pos("orders", "o", "d"))
    w.rule("S", pos("some_late"), pos("late", "o"))
    w.rule("E", pos("early", "o"), pos("orders", "o", "d"), cmp("<", "d", con("number", "5")))
    source = w.source(list(shown), count=total)
    rows = sorted(shown)
    w.tree["facts"] = [{"predicate": "orders", "source": source, "assumption": None, "rows": rows}]
    w.cover("orders", [], [[]], source)
    reader = 2 if goal == "early" else 0
    order = [1, 0] if reader == 0 else [0, 1]
    inner = "early" if goal == "early" else "late"
    entries = [{"predicate": inner, "columns": [], "orders": [[reader, order]], "keys": [[]]}]
    heads = [[row[0]] for row in rows if (int(row[1]) > 5) == (reader == 0)]
    listed = [[inner, heads]] if heads else []
    if goal == "some_late":
        key = {"predicate": goal, "columns": [], "orders": [[1, [0]]], "keys": [[]]}
        entries.append(key)
        listed += [[goal, [[]]]] if heads else []
    w.tree["closure"] = {"entries": entries, "rows": listed}
    verdict = "UNRESOLVED" if heads else "DISPROVED"
    w.conclude(verdict, goal, *([None] if goal == "early" else []))
    tree = upgraded(w.tree)
    tree["coverage"][0]["for"] = [0, 1]
    tree["header"]["level"] = "C1"
    return tree


def put(make: Callable[[], Tree], said: str, *changes: tuple[str, Any]) -> tuple[Tree, str]:
    """Return a tree with changes at places written as ``nodes.0.bind.1``."""
    tree = make()
    for place, value in changes:
        *path, last = place.split(".")
        at: Any = tree
        for step in path:
            at = at[int(step) if isinstance(at, list) else step]
        if isinstance(at, list) and last == "+":
            at.append(value)
        elif isinstance(at, list):
            at[int(last)] = value
        else:
            at[last] = value
    return tree, said


CASES: Final[dict[str, Case]] = {
    # What is not read matters to nobody.
    "a_row_is_there": partial(put, placed, "PROVED"),
    "a_label_is_carried": partial(put, bought, "PROVED"),
    "one_label_is_one_value": partial(put, same, "PROVED"),
    "rows_told_apart_are_counted": partial(put, counted, "PROVED"),
    "a_total_function_makes_a_label": partial(put, size, "PROVED"),
    "a_total_function_of_a_label_and_a_value": partial(put, least, "PROVED"),
    "what_is_none_matches_nothing_that_reads": partial(put, root, "PROVED"),
    "a_goal_that_does_not_read": partial(
        put, partial(goal, "PROVED", "4", ["_"], ["_"], ["_"]), "PROVED"
    ),
    "a_goal_that_reads_a_label": partial(
        put, partial(goal, "PROVED", "4", None, ["_"], ["_"]), "PROVED"
    ),
    "a_goal_that_reads_what_is_none": partial(
        put, partial(goal, "DISPROVED", "4", ["_"], ["_"], None), "DISPROVED"
    ),
    "a_goal_that_reads_what_may_be_none": partial(
        put,
        partial(goal, "UNRESOLVED", "4", ["_"], None, ["_"], missing=(("4", None, None, None),)),
        "UNRESOLVED",
    ),
    "a_goal_about_an_unknown_value": partial(
        put, partial(goal, "UNRESOLVED", "2", "ann", ["_"], ["_"]), "UNRESOLVED"
    ),
    "nobody_is_cid": partial(
        put, partial(negated, any_("_1"), con("symbol", "cid"), any_("_2"), any_("_3")), "PROVED"
    ),
    "somebody_says_the_value": partial(put, filled, "PROVED_UNDER"),
    "a_list_is_shared": partial(put, walk, "PROVED"),
    # Columns that nobody reads.
    "a_row_without_what_nobody_reads": partial(put, projected, "PROVED"),
    "a_count_over_what_is_read": partial(put, partial(projected, counted), "PROVED"),
    "a_wrong_count_over_what_is_read": partial(
        put, partial(projected, partial(counted, "3")), "aggregate"
    ),
    "a_value_that_nobody_reads": partial(put, projected, "cell", ("facts.0.rows.3.2", "EU")),
    "nothing_where_nobody_reads": partial(put, projected, "cell", ("facts.0.rows.3.2", NONE)),
    "a_cell_called_unread": partial(put, placed, "cell", ("facts.0.rows.3.3", UNREAD)),
    "a_rule_that_reads_what_nobody_reads": partial(
        put,
        projected,
        "declaration",
        ("rules.0.body.0.1.1.2", ["v", "_2"]),
        ("nodes.1.bind.2", "EU"),
    ),
    "a_goal_that_reads_what_nobody_reads": partial(
        put,
        partial(projected, partial(goal, "PROVED", "4", ["_"], ["_"], ["_"])),
        "declaration",
        ("header.goal.1.2", None),
    ),
    "a_goal_that_names_what_nobody_reads": partial(
        put,
        partial(projected, partial(goal, "PROVED", "4", ["_"], ["_"], ["_"])),
        "declaration",
        ("header.goal.1.2", "EU"),
    ),
    "a_key_that_nobody_reads": partial(
        put,
        partial(projected, counted),
        "declaration",
        ("coverage.0.columns", [1]),
        ("coverage.0.keys", [["ann"]]),
    ),
    # Marks.
    "a_mark_from_maybe_to_none": partial(put, placed, "cell", ("facts.0.rows.3.2", NONE)),
    "a_mark_from_none_to_maybe": partial(put, placed, "cell", ("facts.0.rows.3.3", MAYBE)),
    "a_mark_from_maybe_to_unknown": partial(put, placed, "cell", ("facts.0.rows.3.2", SECOND)),
    "a_mark_where_no_null_may_be": partial(put, placed, "cell", ("facts.0.rows.3.0", NONE)),
    "a_policy_changed_under_the_marks": partial(
        put, placed, "cell", ("declarations.0.nulls", [None, "unknown", "none", "none"])
    ),
    "a_policy_of_what_rules_derive": partial(
        put, placed, "declaration", ("declarations.1.nulls", ["maybe"])
    ),
    "a_policy_that_is_none": partial(
        put, placed, "schema", ("declarations.0.nulls", [None, "error", "maybe", "none"])
    ),
    "a_value_where_a_null_was": partial(put, placed, "cell", ("facts.0.rows.3.2", "EU")),
    "a_null_where_a_value_was": partial(put, placed, "source", ("facts.0.rows.0.2", MAYBE)),
    "two_ordinals_in_a_row": partial(put, placed, "cell", ("facts.0.rows.3.2", ["maybe", 1])),
    # Labels.
    "labels_swapped": partial(
        put, bought, "cell", ("facts.0.rows.1.1", SECOND), ("facts.0.rows.3.1", FIRST)
    ),
    "one_label_for_two_rows": partial(put, bought, "cell", ("facts.0.rows.3.1", FIRST)),
    "a_label_of_another_row": partial(
        put, bought, "cell", ("labels.0", ["orders", ["3", None, "EU", "1"], 1, 0])
    ),
    "a_label_of_another_column": partial(
        put, bought, "cell", ("labels.1", ["orders", ["4", None, None, None], 2, 0])
    ),
    "a_label_of_what_is_known": partial(
        put, bought, "cell", ("labels.0", ["orders", ["2", "ann", "EU", "1"], 1, 0])
    ),
    "a_label_that_nothing_has": partial(
        put, bought, "unused", ("labels.+", ["orders", ["5", None, "EU", "1"], 1, 0])
    ),
    "labels_out_of_order": partial(put, bought, "order", ("labels", [LABELS[1], LABELS[0]])),
    "a_label_that_is_not_there": partial(put, bought, "schema", ("nodes.1.bind.1", ["unknown", 9])),
    "a_function_that_is_not_total": partial(
        put, size, "cell", ("nodes.1.fact.1.1", ["unknown", 0, "to_number", [None]])
    ),
    "a_function_that_there_is_not": partial(
        put, size, "cell", ("nodes.1.fact.1.1", ["unknown", 0, "reverse", [None]])
    ),
    "a_function_of_another_kind": partial(
        put, size, "kind", ("nodes.1.fact.1.1", ["unknown", 0, "to_string", [None]])
    ),
    "a_function_of_no_label": partial(
        put, least, "cell", ("nodes.1.fact.1.1", ["unknown", 0, "min", ["ann", "cid"]])
    ),
    "a_function_of_two_labels": partial(
        put, least, "cell", ("nodes.1.fact.1.1", ["unknown", 0, "min", [None, None]])
    ),
    "a_function_with_another_argument": partial(
        put, least, "head", ("nodes.1.fact.1.1", ["unknown", 0, "min", [None, "bob"]])
    ),
    "a_function_with_its_arguments_turned": partial(
        put, least, "head", ("nodes.1.fact.1.1", ["unknown", 0, "min", ["cid", None]])
    ),
    "a_function_of_too_few": partial(
        put, least, "kind", ("nodes.1.fact.1.1", ["unknown", 0, "min", [None]])
    ),
    "a_function_over_another_label": partial(
        put,
        partial(size, ["unknown", 1, "strlen", [None]]),
        "comparison",
    ),
    "a_function_that_is_left_out": partial(put, least, "head", ("nodes.1.fact.1.1", FIRST)),
    "a_label_of_a_sum": partial(put, partial(size, plus="1"), "comparison"),
    "a_function_in_a_row_of_a_source": partial(
        put, least, "cell", ("facts.0.rows.1.1", ["unknown", 0, "min", [None, "cid"]])
    ),
    "a_label_of_another_kind": partial(put, bought, "kind", ("nodes.1.bind.0", FIRST)),
    "a_mark_that_a_variable_has": partial(put, bought, "schema", ("nodes.1.bind.1", MAYBE)),
    # Matches.
    "another_label_in_the_conclusion": partial(put, bought, "head", ("nodes.1.fact.1.1", SECOND)),
    "a_match_claimed_over_a_label": partial(
        put,
        partial(bought, 2, "2", "ann"),
        "premise",
        ("nodes.1.fact.1.1", "ann"),
        ("nodes.1.bind.1", "ann"),
    ),
    "a_value_claimed_to_be_a_label": partial(
        put,
        partial(bought, 1, "1", None),
        "premise",
        ("nodes.1.fact.1.1", FIRST),
        ("nodes.1.bind.1", FIRST),
    ),
    "two_labels_claimed_to_be_one": partial(put, partial(same, 2, 4), "premise"),
    "a_label_that_proves_a_value": partial(
        put, bought, "verdict", ("header.goal", ["bought", ["2", "ann"]])
    ),
    "what_may_be_none_is_read": partial(
        put, placed, "premise", ("rules.0.body.0.1.1.2", ["v", "_2"]), ("nodes.1.bind.2", "EU")
    ),
    "a_wildcard_read_without_a_value": partial(
        put, placed, "schema", ("rules.0.body.0.1.1.2", ["v", "_2"])
    ),
    "a_variable_that_is_not_read": partial(
        put, bought, "rule", ("rules.0.body.0.1.1.1", ["_", "c"])
    ),
    "a_wildcard_with_a_value": partial(put, placed, "schema", ("nodes.1.bind.2", "EU")),
    "a_wildcard_twice": partial(
        put,
        placed,
        "rule",
        ("rules.0.body.0.1.1.2", ["_", "_1"]),
        ("rules.0.variables", [["o", "number"], ["_1", "symbol"], ["_3", "number"]]),
        ("nodes.1.bind", ["4", None, None]),
    ),
    "a_wildcard_in_the_head": partial(put, bought, "rule", ("rules.0.head.1.1", ["_", "c"])),
    "a_goal_that_reads_what_its_proof_does_not": partial(
        put,
        partial(goal, "PROVED", "4", ["_"], ["_"], ["_"]),
        "verdict",
        ("header.goal.1.2", None),
    ),
    "a_refuted_goal_that_does_not_read": partial(
        put,
        partial(goal, "DISPROVED", "4", ["_"], ["_"], None),
        "verdict",
        ("header.goal.1.3", ["_"]),
    ),
    "what_may_be_there_called_absent": partial(
        put, partial(goal, "DISPROVED", "4", ["_"], None, ["_"]), "verdict"
    ),
    "an_unknown_value_called_another": partial(
        put, partial(goal, "DISPROVED", "2", "ann", ["_"], ["_"]), "verdict"
    ),
    "what_is_certain_called_open": partial(
        put, partial(goal, "UNRESOLVED", "4", None, ["_"], ["_"]), "verdict"
    ),
    "what_is_none_called_missing": partial(
        put,
        partial(goal, "UNRESOLVED", "4", ["_"], None, ["_"]),
        "missing",
        ("missing", [["orders", ["1", None, None, None]]]),
    ),
    "a_parent_that_is_there": partial(put, partial(root, 3), "negation"),
    "who_may_be_cid_called_nobody": partial(
        put,
        partial(negated, any_("_1"), con("symbol", "cid"), any_("_2"), any_("_3")),
        "negation",
        ("labels", [LABELS[1]]),
        ("facts.0.rows.+", ["4", FIRST, MAYBE, NONE]),
        ("sources.0.rows", 3),
        (
            "sources.0.hash",
            sha256('["1","ann","EU",null]\n["3","bob",null,"1"]\n["4",null,null,null]\n'),
        ),
    ),
    # Totals.
    "rows_that_may_be_one_counted_as_two": partial(put, may_be_one, "aggregate"),
    "rows_that_may_be_two_counted_as_one": partial(put, partial(may_be_one, "1"), "aggregate"),
    "a_row_too_few": partial(put, partial(counted, "3"), "aggregate"),
    "rows_that_read_what_may_be_none": partial(
        put, partial(counted, "4", ("o", "c", "r")), "aggregate"
    ),
    "summands_that_may_be_one": partial(
        put,
        partial(totals, ["30", FIRST, FIRST, 3], ["30", "A", "A", 1]),
        "threshold",
    ),
    # Fillings.
    "a_filling_that_nobody_accepts": partial(
        put,
        filled,
        "node",
        ("header.under", []),
        ("header.verdict", "PROVED"),
    ),
    "a_filling_of_what_is_known": partial(put, filled, "cell", ("filled.0.row", 0)),
    "a_filling_of_what_is_none": partial(
        put, filled, "cell", ("filled.0.row", 3), ("filled.0.column", 3), ("filled.0.value", "1")
    ),
    "a_filling_of_another_kind": partial(
        put,
        filled,
        "assumption",
        ("assumptions.0.kind", "closure"),
    ),
    "a_filling_by_the_database": partial(put, filled, "assumption", ("filled.0.source", 0)),
    "a_cell_filled_twice": partial(
        put,
        filled,
        "order",
        (
            "filled.+",
            {"facts": 0, "row": 1, "column": 1, "value": "bob"} | {"source": 1, "assumption": 0},
        ),
    ),
    "a_label_beside_its_filling": partial(put, filled, "node", ("nodes.0.fact.1.1", FIRST)),
    "a_filling_of_full_confidence": partial(
        put,
        filled,
        "confidence",
        ("nodes.0.confidence", "1"),
        ("nodes.1.confidence", "1"),
        ("header.confidence", "1"),
    ),
    # The table of structures.
    "a_structure_written_out_beside_its_place": partial(
        put, walk, "value", ("nodes.2.fact.1.0", "[1, [0, nil]]")
    ),
    "a_structure_twice_in_the_table": partial(put, walk, "value", ("values.+", ["[]", "0", "nil"])),
    "a_structure_that_nothing_is": partial(put, walk, "unused", ("values.+", ["[]", "9", "nil"])),
    "a_structure_of_a_later_one": partial(put, walk, "schema", ("values.0", ["[]", "0", 1])),
    "a_structure_of_itself": partial(put, walk, "schema", ("values.1", ["[]", "1", 1])),
    "a_part_written_out": partial(put, walk, "value", ("values.1", ["[]", "1", "[0, nil]"])),
    "a_structure_without_fields": partial(put, walk, "schema", ("values.+", ["$A"])),
    "a_field_that_is_none": partial(put, walk, "value", ("values.0", ["[]", "00", "nil"])),
    "another_place": partial(put, walk, "premise", ("nodes.2.bind.1", 1)),
    "a_place_that_is_not_there": partial(put, walk, "schema", ("nodes.2.bind.1", 7)),
    "a_place_for_a_text": partial(put, placed, "schema", ("facts.0.rows.0.1", 0)),
    # What is not filled yet.
    "a_redaction": partial(put, placed, "schema", ("redaction", {})),
    "who_asked": partial(put, placed, "PROVED", ("header.asked_by", "eve")),
    "an_asker_who_is_no_name": partial(put, placed, "schema", ("header.asked_by", ["eve"])),
    "an_author": partial(put, placed, "PROVED", ("rules.0.author", "eve")),
    "an_owner_and_a_version": partial(
        put, placed, "PROVED", ("rules.0.owner", "finance"), ("rules.0.version", "3")
    ),
    "an_author_without_a_name": partial(put, placed, "schema", ("rules.0.author", "")),
    "an_owner_that_is_no_name": partial(put, placed, "schema", ("rules.0.owner", 1)),
    "texts_out_of_order": partial(
        put, placed, "order", ("declarations.0.texts", [["unit.o", "EUR"], ["says_not", "no"]])
    ),
    "an_authority_that_is_no_api": partial(
        put, placed, "source", ("sources.0.authority", {"operation": "GET", "pages": 1})
    ),
    "a_span_of_no_document": partial(
        put,
        placed,
        "source",
        ("sources.0.span", {"document": "d", "hash": None, "start": 0, "end": 1, "text": "x"}),
    ),
    "an_api_that_gave_all_there_is": partial(put, by_api, "DISPROVED"),
    "an_api_that_is_no_authority": partial(
        put, by_api, "assumption", ("sources.0.authority", None)
    ),
    "an_api_that_showed_all_its_rows": partial(put, partial(by_api, level="C3"), "level"),
    "an_operation_without_a_name": partial(put, partial(by_api, ""), "source"),
    "an_operation_without_a_page": partial(put, partial(by_api, pages=0), "source"),
    "an_authority_of_a_model": partial(
        put, by_api, "source", ("sources.0.origin", "LLM_KNOWLEDGE")
    ),
    "a_document_says_so": partial(put, by_document, "PROVED_UNDER"),
    "a_document_that_nobody_accepts": partial(
        put, by_document, "assumption", ("header.under", []), ("header.verdict", "PROVED")
    ),
    "a_document_without_an_assumption": partial(
        put, by_document, "assumption", ("facts.0.assumption", None)
    ),
    "a_document_without_a_place": partial(put, by_document, "source", ("sources.0.span", None)),
    "a_place_of_another_length": partial(put, partial(by_document, end=15), "attestation"),
    "a_document_that_closes_a_key": partial(
        put,
        partial(goal, "DISPROVED", "4", ["_"], ["_"], None),
        "coverage",
        ("sources.0.origin", "DOCUMENT"),
        ("sources.0.span", SPAN),
        ("assumptions", by_document()["assumptions"]),
        ("facts.0.assumption", 0),
    ),
    "a_column_that_is_given": partial(put, later, "PROVED"),
    "a_column_that_nobody_gives": partial(put, later, "safety", ("declarations.1.given", [])),
    "another_column_given": partial(put, later, "safety", ("declarations.1.given", [0])),
    "rows_that_do_not_pass_are_left_out": partial(put, late, "DISPROVED"),
    "rows_that_pass_are_shown": partial(put, partial(late, ["7", "6"]), "verdict"),
    "left_out_for_another_rule": partial(put, partial(late, goal="early"), "unserved"),
    "left_out_for_this_rule": partial(
        put, partial(late, goal="early"), "DISPROVED", ("coverage.0.for", [2, 0])
    ),
    "left_out_for_a_rule_that_reads_otherwise": partial(
        put, late, "coverage", ("coverage.0.for", [1, 0])
    ),
    "left_out_for_a_comparison": partial(put, late, "coverage", ("coverage.0.for", [0, 0])),
    "left_out_for_no_literal": partial(put, late, "schema", ("coverage.0.for", [0, 2])),
    "left_out_for_no_rule": partial(put, late, "schema", ("coverage.0.for", [3, 0])),
    "left_out_for_nothing": partial(put, late, "schema", ("coverage.0.for", None)),
    "left_out_for_too_much": partial(put, late, "schema", ("coverage.0.for", [0, 1, 0])),
    "left_out_and_called_inline": partial(put, late, "level", ("header.level", "C3")),
    "left_out_by_nobody": partial(put, late, "coverage", ("coverage.0.sources", [])),
    "a_negation_of_rows_left_out": partial(
        put, late, "unserved", ("header.goal", ["orders", [None, None]])
    ),
    "a_sentence_among_the_texts": partial(
        put, placed, "order", ("declarations.0.texts", [["says", "no"]])
    ),
    "a_given_column_without_a_key": partial(
        put, may_be_one, "closure", ("declarations.2.given", [0])
    ),
}


def case(name: str) -> tuple[bytes, str]:
    """Return the bytes of a case and what is said about it."""
    tree, said = CASES[name]()
    return seal(tree), said
