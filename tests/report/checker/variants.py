"""Certificates changed in what they say, and mended in how they say it.

In: the tree of a certificate and a random generator.  Out: a tree in which rows, rules, bounds,
nodes or assumptions are others, with sorted rows and hashes that fit.  Invariant: most of what is
wrong with a variant is its logic, so both checkers must look at that to judge it.

Example: a fact row is gone, and the hash and the count of its source no longer tell.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, Final

from tests.check.writer import rows_hash

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from tests.check.writer import Tree

    Edit = Callable[[random.Random, Tree], None]

OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=")
FOLDS: Final = ("count", "sum", "min", "max", "mean")
VERDICTS: Final = ("PROVED", "PROVED_UNDER", "DISPROVED", "DISPROVED_UNDER", "UNRESOLVED")
CONFIDENCES: Final = ("1", "0.5", "0.9", "0.123457", "0")


def row_order(row: list[str | None]) -> list[tuple[bool, str]]:
    """Return what rows are sorted by: ``null`` first."""
    return [(value is not None, value or "") for value in row]


def other_value(rng: random.Random, tree: Tree, value: str | None) -> str | None:
    """Return another value: a neighbour of a number, or one that stands elsewhere."""
    if value is not None and re.fullmatch(r"-?[0-9]+", value) and rng.random() < 0.5:
        return str(int(value) + rng.choice([-1, 1, 10, -1000]))
    rows = [row for group in tree["facts"] for row in group["rows"]]
    rows += [row for _, bounds in tree["closure"]["rows"] for row in bounds]
    values = [found for row in rows for found in row if found is not None]
    return rng.choice(values) if values else value


def change_a_row(rng: random.Random, tree: Tree) -> None:
    """Change, drop or add a row of a source; nodes keep to the rows they name."""
    group = rng.choice(tree["facts"])
    rows: list[list[str]] = group["rows"]
    named = _named_rows(tree, group)
    row = rng.choice(rows)
    way = rng.randrange(3)
    if way == 0:
        rows.remove(row)
    else:
        target = row if way == 1 else list(row)
        column = rng.randrange(len(row))
        target[column] = other_value(rng, tree, target[column]) or target[column]
        if way != 1:
            rows.append(target)
    group["rows"] = sorted({tuple(one): one for one in rows}.values())
    for node, fact in named:
        if fact in group["rows"]:
            node["row"] = group["rows"].index(fact)


def _named_rows(tree: Tree, group: Any) -> list[tuple[Any, list[str]]]:  # noqa: ANN401  any JSON
    position = next(i for i, one in enumerate(tree["facts"]) if one is group)
    nodes = [n for n in tree["nodes"] if n["kind"] == "fact" and n["facts"] == position]
    return [(node, list(group["rows"][node["row"]])) for node in nodes]


def rename_a_value(rng: random.Random, tree: Tree) -> None:
    """Change one value wherever a row of a source or a node says it."""
    rows = [row for group in tree["facts"] for row in group["rows"]]
    rows += [node["fact"][1] for node in tree["nodes"]]
    rows += [node["bind"] for node in tree["nodes"] if node["kind"] == "rule"]
    old = rng.choice([value for row in rows for value in row if value is not None])
    new = other_value(rng, tree, old)
    for row in rows:
        row[:] = [new if value == old else value for value in row]


def change_what_is_open(rng: random.Random, tree: Tree) -> None:
    """Add, drop, widen or narrow a row that may exist."""
    if tree["open"] and rng.random() < 0.6:
        opened = rng.choice(tree["open"])
        if rng.random() < 0.4:
            tree["open"].remove(opened)
        elif rng.random() < 0.5:
            opened["assumption"] = _any_assumption(rng, tree)
        elif opened["row"]:
            column = rng.randrange(len(opened["row"]))
            value = opened["row"][column]
            opened["row"][column] = other_value(rng, tree, None) if value is None else None
        return
    group = rng.choice(tree["facts"])
    row = [value if rng.random() < 0.5 else None for value in rng.choice(group["rows"])]
    opened = {"predicate": group["predicate"], "row": row, "reason": "", "assumption": None}
    tree["open"].append(opened)


def _any_assumption(rng: random.Random, tree: Tree) -> int | None:
    every: list[int | None] = [None, *range(len(tree["assumptions"]))]
    return rng.choice(every)


def change_coverage(rng: random.Random, tree: Tree) -> None:
    """Drop a key or a column, or add a key."""
    coverage = rng.choice(tree["coverage"])
    way = rng.randrange(4)
    if way == 0:
        tree["coverage"].remove(coverage)
    elif way == 1:
        coverage["keys"].pop(rng.randrange(len(coverage["keys"])))
    elif way == 2:
        coverage["columns"], coverage["keys"] = [], [[]]
    else:
        key = [other_value(rng, tree, value) for value in rng.choice(coverage["keys"])]
        coverage["keys"].append(key)


def change_bounds(rng: random.Random, tree: Tree) -> None:
    """Drop, widen, narrow or add a row of the closure."""
    _, rows = rng.choice(tree["closure"]["rows"])
    row = rng.choice(rows)
    if rng.random() < 0.4:
        rows.remove(row)
    else:
        changed = list(row)
        column = rng.randrange(len(row))
        changed[column] = None if rng.random() < 0.6 else other_value(rng, tree, row[column])
        if rng.random() < 0.5:
            rows.remove(row)
        if changed not in rows:
            rows.append(changed)
    rows.sort(key=row_order)


def change_an_entry(rng: random.Random, tree: Tree) -> None:
    """Take the literals of a body in another order, or drop or add a key."""
    entry = rng.choice(tree["closure"]["entries"])
    way = rng.randrange(4)
    if way == 0:
        rng.shuffle(rng.choice(entry["orders"])[1])
    elif way == 1:
        entry["keys"].pop(rng.randrange(len(entry["keys"])))
    elif way == 2:
        tree["closure"]["entries"].remove(entry)
    else:
        key = [other_value(rng, tree, value) for value in rng.choice(entry["keys"])]
        if key not in entry["keys"]:
            entry["keys"] = sorted([*entry["keys"], key])


def change_a_rule(rng: random.Random, tree: Tree) -> None:
    """Change a term, an operator, a sign or an aggregate; or the confidence of a rule."""
    rule = rng.choice(tree["rules"])
    places = list(_literals(rule["body"]))
    if not places or rng.random() < 0.1:
        rule["confidence"] = rng.choice(CONFIDENCES)
        rule["assumption"] = _any_assumption(rng, tree)
        return
    literal = rng.choice(places)
    if literal[0] == "?":
        literal[1] = rng.choice(OPERATORS)
    elif literal[0] == "a":
        literal[1] = rng.choice(FOLDS)
        literal[3] = None if literal[1] == "count" else literal[3]
    elif rng.random() < 0.3:
        literal[0] = "-" if literal[0] == "+" else "+"
    else:
        terms = literal[1][1]
        column = rng.randrange(len(terms))
        if rng.random() < 0.5:
            terms[column] = rng.choice(terms)
        elif terms[column][0] == "c":
            terms[column][2] = other_value(rng, tree, terms[column][2])


def _literals(body: list[Any]) -> Iterator[Any]:
    for literal in body:
        yield literal
        if literal[0] == "a":
            yield from _literals(literal[4])


def change_a_constant(rng: random.Random, tree: Tree) -> None:
    """Change a constant of a comparison."""
    rule = rng.choice(tree["rules"])
    tests = [one for one in _literals(rule["body"]) if one[0] == "?"]
    side = rng.choice(rng.choice(tests)[2:4])
    if side[0] == "c":
        side[2] = other_value(rng, tree, side[2])


def swap_literals(rng: random.Random, tree: Tree) -> None:
    """Swap two literals of a body, and everything that goes by their places."""
    rule = rng.choice(tree["rules"])
    position = next(i for i, one in enumerate(tree["rules"]) if one is rule)
    one, other = rng.sample(range(len(rule["body"])), 2)
    turned = {one: other, other: one}
    lists = [rule["body"]]
    lists += [node["premises"] for node in tree["nodes"] if node.get("rule") == position]
    for changed in lists:
        changed[one], changed[other] = changed[other], changed[one]
    for entry in tree["closure"]["entries"]:
        for number, order in entry["orders"]:
            if number == position:
                order[:] = [turned.get(place, place) for place in order]


def change_the_goal(rng: random.Random, tree: Tree) -> None:
    """Ask for more, for less, or conclude something else."""
    header = tree["header"]
    goal = header["goal"][1]
    if goal and rng.random() < 0.4:
        column = rng.randrange(len(goal))
        goal[column] = None if rng.random() < 0.6 else other_value(rng, tree, goal[column])
        return
    header["verdict"] = rng.choice(VERDICTS)
    header["missing"] = tree.pop("missing")
    tree["missing"] = header.pop("missing") if header["verdict"] == "UNRESOLVED" else []


def change_what_is_accepted(rng: random.Random, tree: Tree) -> None:
    """Accept another set of assumptions, or change what one is worth."""
    assumptions = tree["assumptions"]
    if rng.random() < 0.4:
        rng.choice(assumptions)["confidence"] = rng.choice(CONFIDENCES)
        return
    under = [i for i in range(len(assumptions)) if rng.random() < 0.6]
    tree["header"]["under"] = under
    base = tree["header"]["verdict"].removesuffix("_UNDER")
    if base != "UNRESOLVED":
        tree["header"]["verdict"] = f"{base}_UNDER" if under else base


def change_what_rests_on(rng: random.Random, tree: Tree) -> None:
    """Let a group of rows rest on another assumption, or come from a weaker source."""
    if rng.random() < 0.5:
        rng.choice(tree["facts"])["assumption"] = _any_assumption(rng, tree)
    else:
        rng.choice(tree["sources"])["confidence"] = rng.choice(CONFIDENCES)


def change_a_node(rng: random.Random, tree: Tree) -> None:
    """Drop a node, or change its premises or its binding."""
    nodes = tree["nodes"]
    way = rng.randrange(3)
    if way == 0:
        nodes.pop()
        return
    node = rng.choice([one for one in nodes if one["kind"] == "rule"])
    if way == 1:
        node["premises"][rng.randrange(len(node["premises"]))] = rng.choice(
            [None, rng.randrange(len(nodes))]
        )
    else:
        place = rng.randrange(len(node["bind"]))
        node["bind"][place] = other_value(rng, tree, node["bind"][place])


EDITS: Final[tuple[Edit, ...]] = (
    change_a_row,
    change_a_row,
    rename_a_value,
    change_what_is_open,
    change_coverage,
    change_bounds,
    change_bounds,
    change_an_entry,
    change_a_rule,
    change_a_constant,
    swap_literals,
    change_the_goal,
    change_what_is_accepted,
    change_what_rests_on,
    change_a_node,
)


def variant(rng: random.Random, tree: Tree) -> Tree:
    """Return the tree with one to three changes, its rows counted and hashed again."""
    changed = copy.deepcopy(tree)
    whole = [_shown(changed, i) == source["rows"] for i, source in enumerate(changed["sources"])]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            rng.choice(EDITS)(rng, changed)
        except (IndexError, ValueError, KeyError, TypeError):
            continue  # there is nothing of this sort to change
    for position, source in enumerate(changed["sources"]):
        if whole[position] and source.get("proof") is None:
            source["rows"] = _shown(changed, position)
            source["hash"] = rows_hash(_rows(changed, position))
    return changed


def _rows(tree: Tree, source: int) -> list[list[str]]:
    groups = [group for group in tree["facts"] if group["source"] == source]
    return sorted({tuple(row): row for group in groups for row in group["rows"]}.values())


def _shown(tree: Tree, source: int) -> int:
    return len(_rows(tree, source))


def mended(tree: Tree, place: str, reason: str) -> bool:
    """Take over a confidence or a level that a checker asks for; tell whether there was one."""
    asked = re.fullmatch(r"it (?:should be|is) (\S+)", reason)
    where = re.fullmatch(r"nodes\[(\d+)\]|header(\.level)?", place)
    if asked is None or where is None:
        return False
    value = None if asked[1] == "null" else asked[1]
    if where[1] is not None:
        tree["nodes"][int(where[1])]["confidence"] = value
    else:
        tree["header"]["level" if where[2] else "confidence"] = value
    return True
