"""What one certificate says about facts, ready to be held against another.

In: a ``Document``.  Out: a ``Side``: the leaves it shows, the facts it derives, and what it knows
about any other row.  Invariant: "gone" is never read off silence: a row counts as not there only
where the certificate says that everything of its shape is shown.

Example: a certificate with the tier of C1 and nothing else says nothing about the tier of C2.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.proof.export.document import Document, Members

TextRow = tuple[str | None, ...]
Key = tuple[str, TextRow]
"""A predicate and a row as certificates spell it; ``None`` stands for a value nobody knows."""

UNSEEN: Final = "unseen"
ABSENT: Final = "absent"
HOLDS: Final = "holds"


@dataclass(frozen=True, slots=True)
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
