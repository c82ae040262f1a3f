"""What two certificates say about facts, and which rows of them are the same thing."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.proof.export.document import Document, Members

# "gone" is never read off silence: a row counts as not there only where the certificate says that
# everything of its shape is shown.

TextRow = tuple[str | None, ...]
Key = tuple[str, TextRow]
"""A predicate and a row as certificates spell it; ``None`` stands for a value nobody knows."""

UNSEEN: Final = "unseen"
ABSENT: Final = "absent"
HOLDS: Final = "holds"


@frozen
class Leaf:
    """A row that came from outside: ``holds``, or the assumption it waits for; and from where."""

    state: str
    sources: frozenset[str]


class Side:
    """One certificate."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.members: Members = document.members
        self.goal: Key = (document.header["goal"][0], tuple(document.header["goal"][1]))
        self.external = {
            one["name"] for one in self.members["declarations"] if one["external"] == 1
        }

    @cached_property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """The kinds of the columns of each declared predicate."""
        return {
            one["name"]: tuple(kind for _, kind in one["columns"])
            for one in self.members["declarations"]
        }

    # ------------------------------------------------------------------ what came from outside

    @cached_property
    def leaves(self) -> Mapping[Key, Leaf]:
        """The rows that sources gave."""
        found: dict[Key, Leaf] = {}
        for group in self.document.facts:
            assumption = group["assumption"]
            state = HOLDS
            if assumption is not None:
                state = f"assumed: {self.document.assumptions[assumption]['text']}"
            source = self._source(group["source"])
            for row in group["rows"]:
                key = (group["predicate"], tuple(row))
                known = found.get(key, Leaf(state, frozenset()))
                # Of several reasons the one without an assumption counts.
                best = HOLDS if HOLDS in {known.state, state} else min(known.state, state)
                found[key] = Leaf(best, known.sources | {source})
        return found

    def _source(self, number: int) -> str:
        """Name a source and its question; how the rows were fetched does not matter."""
        source = self.document.sources[number]
        said = f" by {source['author']}" if source["author"] else ""
        query = f": {source['query']}" if source["query"] and not said else ""
        return f"{source['origin']} {source['name']}{said}{_marks(source['attestation'])}{query}"

    @cached_property
    def openings(self) -> Mapping[Key, str]:
        """The shapes of rows that may exist, each with the reason; what is accepted counts not."""
        under = set(self.document.header["under"])
        return {
            (one["predicate"], tuple(one["row"])): one["reason"]
            for one in self.members["open"]
            if one["assumption"] not in under
        }

    @cached_property
    def _covered(self) -> Mapping[str, list[tuple[tuple[int, ...], set[TextRow]]]]:
        found: dict[str, list[tuple[tuple[int, ...], set[TextRow]]]] = {}
        for one in (*self.members["coverage"], *self.members["closure"]["entries"]):
            if "for" in one:
                continue
            keys = {tuple(key) for key in one["keys"]}
            found.setdefault(one["predicate"], []).append((tuple(one["columns"]), keys))
        return found

    def covers(self, key: Key) -> bool:
        """Tell whether all rows of the key's shape are shown."""
        predicate, row = key
        return any(
            tuple([row[column] for column in columns]) in keys
            for columns, keys in self._covered.get(predicate, ())
            if all(column < len(row) for column in columns)
        )

    def is_configured(self, key: Key) -> bool:
        """Tell whether the configuration, which has one table of a predicate, gave the row."""
        leaf = self.leaves.get(key)
        return leaf is not None and all(one.startswith("CONFIG ") for one in leaf.sources)

    # ------------------------------------------------------------------ what follows

    @cached_property
    def derived(self) -> Mapping[Key, Members]:
        """The conclusions that are known to hold, each with its node."""
        return {
            (node["fact"][0], tuple(node["fact"][1])): node
            for node in self.document.nodes
            if node["kind"] == "rule"
        }

    @cached_property
    def possible(self) -> frozenset[Key]:
        """The conclusions that the certificate does not rule out."""
        return frozenset(
            (name, tuple(row)) for name, rows in self.members["closure"]["rows"] for row in rows
        )

    def state(self, key: Key) -> str:
        """Say what the certificate knows of a row: it holds, may hold, is absent, or is unseen."""
        if key in self.derived:
            return HOLDS
        leaf = self.leaves.get(key)
        if leaf is not None:
            return leaf.state
        if key in self.openings:
            return f"not known: {self.openings[key]}"
        if key in self.possible:
            return "possible"
        if not self.covers(key):
            return UNSEEN
        return "possible" if self._may_be(key) else ABSENT

    def _may_be(self, key: Key) -> bool:
        """Tell whether some open row stands for the key."""
        return any(_stands_for(row, key[1]) for row in self._open_rows.get(key[0], ()))

    @cached_property
    def _open_rows(self) -> Mapping[str, list[TextRow]]:
        found: dict[str, list[TextRow]] = {}
        for name, row in (*self.openings, *self.possible):
            if None in row:
                found.setdefault(name, []).append(row)
        return found

    # ------------------------------------------------------------------ rules

    @cached_property
    def contents(self) -> tuple[str, ...]:
        """What each rule means: head, body, kinds, confidence, and whether it is proposed."""
        return tuple(_content(rule) for rule in self.document.rules)

    def rule_of(self, node: Members) -> str:
        """Return the id of the rule of a node."""
        return str(self.document.rules[node["rule"]]["id"])

    def premises(self, node: Members) -> list[Key]:
        """Return the facts that a node names as premises."""
        below: dict[int, None] = {}
        for place in range(len(node["premises"])):
            below.update(dict.fromkeys(self.document.premises(node, place)))
        facts = (self.document.nodes[one]["fact"] for one in below)
        return [(name, tuple(row)) for name, row in facts]

    def looked_at(self, node: Members) -> Iterator[str]:
        """Yield the predicates whose rows as a whole a node rests on: negated or aggregated."""
        for literal in self.document.rules[node["rule"]]["body"]:
            if literal[0] == "-":
                yield literal[1][0]
            elif literal[0] == "a":
                yield from (inner[1][0] for inner in literal[4] if inner[0] != "?")

    @cached_property
    def mentions(self) -> Mapping[str, frozenset[str]]:
        """For each derived predicate those that its rules mention."""
        found: dict[str, set[str]] = {}
        for rule in self.document.rules:
            below = found.setdefault(rule["head"][0], set())
            for literal in rule["body"]:
                inner = literal[4] if literal[0] == "a" else [literal]
                below |= {one[1][0] for one in inner if one[0] != "?"}
        return {name: frozenset(below) for name, below in found.items()}

    def result_columns(self, predicate: str) -> frozenset[int] | None:
        """Return the columns that aggregates fill in every rule; ``None`` without rules."""
        found: frozenset[int] | None = None
        for rule in self.document.rules:
            name, terms = rule["head"]
            if name == predicate:
                results = {one[2][1] for one in rule["body"] if one[0] == "a"}
                filled = frozenset(
                    place
                    for place, term in enumerate(terms)
                    if term[0] == "v" and term[1] in results
                )
                found = filled if found is None else found & filled
        return found

    def text(self, key: Key) -> str:
        """Write a fact for people."""
        return self.document.atom(*key)

    def rule_text(self, number: int) -> str:
        """Write a rule for people, on one line."""
        return printable(" ".join(self.document.rule_texts[number].split()))


def _marks(attestation: Members | None) -> str:
    """Name the version that spoke and the hashes of what went to it and came back."""
    if attestation is None:
        return ""
    agent = attestation["agent"]
    told = (agent["version"], agent["digest"], attestation["prompt"], attestation["response"])
    marks = ", ".join(one for one in told if one)
    return f" ({marks})" if marks else ""


def _content(rule: Members) -> str:
    proposed = rule["assumption"] is not None
    parts = [rule["head"], rule["body"], rule["variables"], rule["confidence"], proposed]
    return json.dumps(parts, sort_keys=True)


def _stands_for(open_row: Sequence[str | None], row: Sequence[str | None]) -> bool:
    pairs = zip(open_row, row, strict=True)
    return len(open_row) == len(row) and all(one is None or one == other for one, other in pairs)


_NOT_LOOKED_AT: Final = "the other certificate does not look at this row"
_PERHAPS: Final = "rows that may correspond; neither certificate says that the other is not there"

Columns = tuple[int, ...]


@frozen
class Pair:
    """A row before and after; ``known`` unless one side says nothing about the other's row."""

    keys: tuple[Key | None, Key | None]
    subject: str
    known: bool = True


class Pairs:
    """The aligned leaves and conclusions; ``alone`` are leaves of one side with the reason."""

    def __init__(self, before: Side, after: Side, keys: Mapping[str, Columns]) -> None:
        self._sides = (before, after)
        self._keys = keys
        self._partner: tuple[dict[Key, Key], dict[Key, Key]] = ({}, {})
        self.alone: list[tuple[Key, str, str]] = []
        self.leaves = self._leaves()
        self.conclusions = self._conclusions()

    def name(self, side: Side, key: Key) -> tuple[str, ...]:
        """Return the same name for the two rows of a pair."""
        place = 0 if side is self._sides[0] else 1
        partner = self._partner[place].get(key, key)
        return tuple(sorted((str(key), str(partner))))

    def _pair(self, first: Key, second: Key) -> Pair:
        self._partner[0][first] = second
        self._partner[1][second] = first
        common = [
            one if one == other else None for one, other in zip(first[1], second[1], strict=True)
        ]
        subject = self._sides[0].document.atom(first[0], common)
        return Pair((first, second), subject)

    def _leaves(self) -> list[Pair]:
        before, after = self._sides
        found = [Pair((key, key), before.text(key)) for key in before.leaves if key in after.leaves]
        left = [key for key in before.leaves if key not in after.leaves]
        right = [key for key in after.leaves if key not in before.leaves]
        matched = self._matched(left, right)
        for first, second in matched.items():
            if self._is_known(first, second):
                found.append(self._pair(first, second))
            else:
                self.alone += [(first, "before", _PERHAPS), (second, "after", _PERHAPS)]
        seconds = set(matched.values())
        found += self._single([key for key in left if key not in matched], place=0)
        found += self._single([key for key in right if key not in seconds], place=1)
        return found

    def _single(self, keys: Iterable[Key], place: int) -> list[Pair]:
        """Return the rows of one side that the other knows about; note the rest."""
        mine, other = self._sides[place], self._sides[1 - place]
        found = []
        for key in keys:
            if other.state(key) == UNSEEN:
                self.alone.append((key, ("before", "after")[place], _NOT_LOOKED_AT))
            else:
                # The other side may know it to be absent, or only not know it.
                absent = other.state(key) == ABSENT
                both = (key, None) if place == 0 else (None, key)
                if absent:
                    found.append(Pair(both, mine.text(key)))
        return found

    def _is_known(self, first: Key, second: Key) -> bool:
        """Tell whether one row took the place of the other."""
        before, after = self._sides
        if first[0] in self._keys or (before.is_configured(first) and after.is_configured(second)):
            return True
        return ABSENT in {after.state(first), before.state(second)}

    def _matched(self, left: Iterable[Key], right: Iterable[Key]) -> dict[Key, Key]:
        """Pair rows by the declared key, or else by all columns but one."""
        found: dict[Key, Key] = {}
        kinds = tuple(side.columns for side in self._sides)
        rows: dict[str, tuple[list[Key], list[Key]]] = defaultdict(lambda: ([], []))
        for place, keys in enumerate((left, right)):
            for key in keys:
                if kinds[0].get(key[0]) == kinds[1].get(key[0]):
                    rows[key[0]][place].append(key)
        for predicate, (first, second) in rows.items():
            declared = self._keys.get(predicate)
            arity = len(kinds[0][predicate])
            ways = (
                [declared]
                if declared is not None
                else [tuple(c for c in range(arity) if c != one) for one in range(arity)]
            )
            found.update(_unique(first, second, ways))
        return found

    def _conclusions(self) -> list[Pair]:
        before, after = self._sides
        every = {*before.derived, *after.derived, *before.possible, *after.possible}
        goals = {side.goal for side in self._sides}
        paired = self._by_results()
        seconds = set(paired.values())
        found = [self._pair(first, second) for first, second in paired.items()]
        for key in every:
            if key in paired or key in seconds or key in goals:
                continue
            # An upper bound shows rows that hold, too: only what one side rules out has changed.
            states = [side.state(key) for side in self._sides]
            if states.count(ABSENT) == 1 and UNSEEN not in states:
                found.append(Pair((key, key), before.text(key)))
        return found

    def _by_results(self) -> dict[Key, Key]:
        """Pair conclusions that differ only in what an aggregate gave."""
        before, after = self._sides
        found: dict[Key, Key] = {}
        names = {key[0] for key in before.derived} & {key[0] for key in after.derived}
        for name in names:
            filled = [side.result_columns(name) or frozenset() for side in self._sides]
            results = filled[0] & filled[1]
            if not results or before.columns[name] != after.columns[name]:
                continue
            columns = tuple(c for c in range(len(before.columns[name])) if c not in results)
            first = [key for key in before.derived if key[0] == name and key not in after.derived]
            second = [key for key in after.derived if key[0] == name and key not in before.derived]
            found.update(_unique(first, second, [columns]))
        return found


def _unique(first: Iterable[Key], second: Iterable[Key], ways: Iterable[Columns]) -> dict[Key, Key]:
    """Pair rows that agree in some columns, where that names one row on each side."""
    partners: dict[Key, set[Key]] = defaultdict(set)
    backwards: dict[Key, set[Key]] = defaultdict(set)
    for columns in ways:
        left, right = _grouped(first, columns), _grouped(second, columns)
        for values in left.keys() & right.keys():
            for one in left[values]:
                partners[one].update(right[values])
            for other in right[values]:
                backwards[other].update(left[values])
    return {
        one: other
        for one, others in partners.items()
        if len(others) == 1
        for other in others
        if len(backwards[other]) == 1
    }


def _grouped(keys: Iterable[Key], columns: Columns) -> dict[TextRow, list[Key]]:
    found: dict[TextRow, list[Key]] = defaultdict(list)
    for key in keys:
        found[tuple([key[1][column] for column in columns])].append(key)
    return found
