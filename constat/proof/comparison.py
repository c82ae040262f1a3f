"""What differs between two proofs: the leaves first, then what follows from them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from constat.frozen import frozen
from constat.proof.export.document import Document
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from constat.proof.export.document import Members

# What two certificates say about facts, and which rows of them are the same thing.

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
        spoken = said and source["origin"] not in {"CONFIG", "DATABASE"}
        query = f": {source['query']}" if source["query"] and not spoken else ""
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


_EFFECTS: Final = frozenset({"conclusion", "shape", "verdict"})
_VERDICT: Final = "verdict"

About = tuple[str, tuple["Key", ...], str]
"""A change: its kind, the facts it is about, and their predicate."""


class Causes:
    """Finds what effects follow from."""

    def __init__(self, sides: tuple[Side, Side], changes: Sequence[About]) -> None:
        self._sides = sides
        self._changes = changes
        self._of_fact: dict[Key, set[int]] = defaultdict(set)
        self._of_predicate: dict[str, set[int]] = defaultdict(set)
        self._of_rules: dict[str, set[int]] = defaultdict(set)
        self._assumptions: set[int] = set()
        for number, (kind, facts, predicate) in enumerate(changes):
            if kind == "rule":
                self._of_rules[predicate].add(number)
            elif kind == "assumption":
                self._assumptions.add(number)
            elif kind != _VERDICT:
                # The shape of a proof is no reason for what follows from the fact.
                if kind not in {"shape", "source", "wording"}:
                    self._of_predicate[predicate].add(number)
                for fact in facts:
                    self._of_fact[fact].add(number)

    def of(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the changes that a change follows from; none for a cause."""
        kind, facts, predicate = self._changes[number]
        if kind not in _EFFECTS:
            return ()
        found: set[int] = set()
        for side in self._sides:
            nodes = [
                side.derived[fact]
                for pattern in facts
                for fact in _matching(side, pattern, any_row=kind == _VERDICT)
            ]
            found |= self._below(side, nodes)
            if not nodes:
                found |= self._near(side, side.mentions.get(predicate, ()))
                found |= self._of_rules[predicate]
        if kind == _VERDICT:
            found |= self._assumptions
            for fact in facts:
                found |= self._of_fact.get(fact, set())
        return tuple(sorted(found - {number}))

    def _below(self, side: Side, nodes: Iterable[Members]) -> set[int]:
        """Return the nearest changes below some nodes of a side."""
        found: set[int] = set()
        met: set[Key] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            found |= self._of_rules.get(node["fact"][0], set())
            found |= self._near(side, side.looked_at(node))
            for premise in side.premises(node):
                if premise in met:
                    continue
                met.add(premise)
                changed = self._of_fact.get(premise)
                if changed:
                    found |= changed
                elif premise in side.derived:
                    waiting.append(side.derived[premise])
        return found

    def _near(self, side: Side, predicates: Iterable[str]) -> set[int]:
        """Return the changes of predicates, or else of the nearest ones below."""
        found: set[int] = set()
        met: set[str] = set()
        waiting = list(predicates)
        while waiting:
            name = waiting.pop()
            if name in met:
                continue
            met.add(name)
            changed = self._of_predicate.get(name, set()) | self._of_rules.get(name, set())
            if changed:
                found |= changed
            else:
                waiting += side.mentions.get(name, ())
        return found


def _matching(side: Side, pattern: Key, *, any_row: bool) -> list[Key]:
    """Return the derived facts of a side that a pattern stands for."""
    if pattern in side.derived:
        return [pattern]
    if not any_row or None not in pattern[1]:
        return []
    name, slots = pattern
    return [
        key
        for key in side.derived
        if key[0] == name
        and all(slot is None or slot == text for slot, text in zip(slots, key[1], strict=True))
    ]


# Rows are aligned by predicate and key: the declared key where the caller knows it, for
# conclusions the columns that no aggregate fills, and otherwise all columns but one, where that
# names one row on each side.

KINDS: Final = ("data", "rule", "assumption", "source", "conclusion", "shape", "verdict", "wording")
CAUSES: Final = KINDS[:4]


@frozen
class Change:
    """One difference.

    ``kind`` is one of ``KINDS``; ``before`` and ``after`` say what there was, ``None`` where there
    was nothing.  ``because`` numbers the changes that it follows from, by their place.
    """

    kind: str
    subject: str
    before: str | None
    after: str | None
    because: tuple[int, ...] = ()

    def inverted(self) -> Change:
        """Return the change the other way round."""
        return replace(self, before=self.after, after=self.before)


@frozen
class Unaligned:
    """Something that stands on one side and that the other says nothing about."""

    text: str
    side: str
    reason: str

    def inverted(self) -> Unaligned:
        """Return it for the comparison the other way round."""
        other = {"before": "after", "after": "before"}
        return replace(self, side=other.get(self.side, self.side))


@frozen
class Comparison:
    """The changes, causes before effects, and what could not be aligned.

    ``goals`` are the goal before and after, which should be the same.
    """

    goals: tuple[str, str]
    changes: tuple[Change, ...] = ()
    unaligned: tuple[Unaligned, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the two are the same but for when and where they were made."""
        return not self.changes and not self.unaligned

    def of(self, *kinds: str) -> tuple[tuple[int, Change], ...]:
        """Return the changes of some kinds with their numbers."""
        return tuple((n, one) for n, one in enumerate(self.changes) if one.kind in kinds)

    def inverted(self) -> Comparison:
        """Return the comparison the other way round."""
        return Comparison(
            (self.goals[1], self.goals[0]),
            tuple(one.inverted() for one in self.changes),
            tuple(sorted((one.inverted() for one in self.unaligned), key=_unaligned_order)),
        )


def compare(
    before: bytes, after: bytes, keys: Mapping[str, tuple[int, ...]] | None = None
) -> Comparison:
    """Compare two certificates; ``keys`` are the key columns of predicates that have declared some.

    Raises ``ValueError`` where one is no certificate.
    """
    comparing = _Comparing(Side(Document(before)), Side(Document(after)), keys or {})
    return comparing.comparison()


@frozen
class _Found:
    """A change, and the facts or rules it is about."""

    change: Change
    facts: tuple[Key, ...] = ()
    predicate: str = ""


class _Comparing:
    """Compares two sides."""

    def __init__(self, before: Side, after: Side, keys: Mapping[str, tuple[int, ...]]) -> None:
        self._sides = (before, after)
        self._before, self._after = before, after
        self._pairs = Pairs(before, after, keys)

    def comparison(self) -> Comparison:
        found = [
            *self._data(),
            *self._summaries(),
            *self._rules(),
            *self._assumptions(),
            *self._sources(),
            *self._conclusions(),
            *self._shapes(),
            *self._verdict(),
            *self._wording(),
        ]
        found.sort(key=lambda one: (KINDS.index(one.change.kind), _change_order(one.change)))
        causes = Causes(self._sides, [(one.change.kind, one.facts, one.predicate) for one in found])
        changes = tuple(
            replace(one.change, because=causes.of(number)) for number, one in enumerate(found)
        )
        unaligned = tuple(sorted(self._unaligned(), key=_unaligned_order))
        goals = (self._before.document.goal(), self._after.document.goal())
        return Comparison(goals, changes, unaligned)

    # ------------------------------------------------------------------ causes

    def _data(self) -> Iterator[_Found]:
        for pair in self._pairs.leaves:
            texts = [
                None if key is None else self._told(side, key)
                for side, key in zip(self._sides, pair.keys, strict=True)
            ]
            if pair.known and texts[0] != texts[1]:
                keys = tuple(key for key in pair.keys if key is not None)
                yield _Found(Change("data", pair.subject, texts[0], texts[1]), keys, keys[0][0])
        openings = (self._before.openings, self._after.openings)
        for key in {*openings[0], *openings[1]}:
            states = [side.state(key) for side in self._sides]
            if (key in openings[0]) != (key in openings[1]) and UNSEEN not in states:
                subject = self._before.text(key)
                told = [_state_text(subject, state) for state in states]
                if told[0] != told[1]:
                    yield _Found(Change("data", subject, told[0], told[1]), (key,), key[0])

    @staticmethod
    def _told(side: Side, key: Key) -> str:
        return _state_text(side.text(key), side.leaves[key].state) or ""

    def _summaries(self) -> Iterator[_Found]:
        told = tuple(_summaries(side) for side in self._sides)
        for name in {*told[0], *told[1]}:
            one, other = (side.get(name) for side in told)
            if one is not None and other is not None and one != other:
                predicate = next(
                    rule["head"][0] for rule in self._before.document.rules if rule["id"] == name[0]
                )
                subject = f"rows that rule {printable(name[0])} adds up"
                yield _Found(Change("data", subject, one, other), (), predicate)

    def _rules(self) -> Iterator[_Found]:
        before, after = (_rules_by_id(side) for side in self._sides)
        for name in {*before, *after}:
            old = dict(before.get(name, {}))
            new = dict(after.get(name, {}))
            for same in old.keys() & new.keys():
                del old[same], new[same]
            texts = [
                " ".join(sorted(text for text, _ in one.values())) or None for one in (old, new)
            ]
            heads = sorted({head for one in (old, new) for _, head in one.values()})
            if heads:
                yield _Found(Change("rule", printable(name), texts[0], texts[1]), (), heads[0])

    def _assumptions(self) -> Iterator[_Found]:
        before, after = (
            {
                printable(side.document.assumptions[place]["text"])
                for place in side.document.header["under"]
            }
            for side in self._sides
        )
        for text in before ^ after:
            told = (text, None) if text in before else (None, text)
            yield _Found(Change("assumption", text, *told))

    def _sources(self) -> Iterator[_Found]:
        for pair in self._pairs.leaves:
            first, second = pair.keys
            if first is None or first != second:
                continue
            told = [
                "; ".join(sorted(map(printable, side.leaves[first].sources)))
                for side in self._sides
            ]
            if told[0] != told[1]:
                change = Change("source", self._before.text(first), told[0], told[1])
                yield _Found(change, (first,), first[0])

    # ------------------------------------------------------------------ effects

    def _conclusions(self) -> Iterator[_Found]:
        for pair in self._pairs.conclusions:
            texts: list[str | None] = []
            for side, key, other in zip(self._sides, pair.keys, reversed(pair.keys), strict=True):
                shown = key if key is not None else other
                if shown is not None:
                    texts.append(_state_text(side.text(shown), side.state(shown)))
            if texts[0] != texts[1]:
                keys = tuple(dict.fromkeys(key for key in pair.keys if key is not None))
                yield _Found(
                    Change("conclusion", pair.subject, texts[0], texts[1]), keys, keys[0][0]
                )

    def _shapes(self) -> Iterator[_Found]:
        for key in self._before.derived.keys() & self._after.derived.keys():
            told = [self._shape(side, key) for side in self._sides]
            if told[0][0] != told[1][0]:
                change = Change("shape", self._before.text(key), told[0][1], told[1][1])
                yield _Found(change, (key,), key[0])

    def _shape(self, side: Side, key: Key) -> tuple[object, str]:
        """Return what makes a derivation this one, aligned rows taken as one, and a text of it."""
        node = side.derived[key]
        premises = side.premises(node)
        named = ", ".join(side.text(one) for one in premises)
        text = f"by rule {printable(side.rule_of(node))}" + (f" from {named}" if named else "")
        # A rule whose text changed is a change of its own, not of the proof's shape.
        aligned = frozenset(self._pairs.name(side, one) for one in premises)
        return (side.rule_of(node), aligned), text

    def _verdict(self) -> Iterator[_Found]:
        if self._before.goal != self._after.goal:
            return
        told = [_verdict_text(side) for side in self._sides]
        if told[0] != told[1]:
            goal = self._before.goal
            change = Change("verdict", self._before.document.goal(), told[0], told[1])
            yield _Found(change, (goal,), goal[0])

    def _wording(self) -> Iterator[_Found]:
        before, after = (_said(side) for side in self._sides)
        for key in before.keys() & after.keys():
            whose, predicate, _ = key
            for what, old, new in said_otherwise(before[key], after[key]):
                yield _Found(Change("wording", f"the {what} of {whose}", old, new), (), predicate)

    # ------------------------------------------------------------------ what stands alone

    def _unaligned(self) -> Iterator[Unaligned]:
        if self._before.goal != self._after.goal:
            for side, name in zip(self._sides, ("before", "after"), strict=True):
                yield Unaligned(side.document.goal(), name, "the goals differ")
        times = [side.document.header["as_of"] for side in self._sides]
        if times[0] != times[1]:
            for told, name in zip(times, ("before", "after"), strict=True):
                shown = "the present" if told is None else printable(str(told))
                yield Unaligned(f"as of {shown}", name, "the certificates speak of different times")
        for name in sorted(self._before.columns.keys() & self._after.columns.keys()):
            if self._before.columns[name] != self._after.columns[name]:
                kinds = (", ".join(side.columns[name]) for side in self._sides)
                for text, side_name in zip(kinds, ("before", "after"), strict=True):
                    reason = "the predicate has other columns"
                    yield Unaligned(f"{printable(name)}({text})", side_name, reason)
        for key, side_name, reason in self._pairs.alone:
            side = self._before if side_name == "before" else self._after
            yield Unaligned(side.text(key), side_name, reason)


def _state_text(text: str, state: str) -> str | None:
    match state:
        case "absent":
            return None
        case "holds":
            return text
        case _:
            return f"{text}, {printable(state)}"


def _verdict_text(side: Side) -> str:
    header = side.document.header
    sign = "" if header["search"] == "exhausted" or header["confidence"] in {"0", "1"} else ">= "
    told = header["verdict"].replace("_UNDER", " UNDER assumptions")
    return (
        told if header["confidence"] == "0" else f"{told}, confidence {sign}{header['confidence']}"
    )


def _rules_by_id(side: Side) -> dict[str, dict[str, tuple[str, str]]]:
    """Return for each id what its rules mean, each with its text and predicate."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for number, rule in enumerate(side.document.rules):
        told = (side.rule_text(number), rule["head"][0])
        found.setdefault(rule["id"], {})[side.contents[number]] = told
    return found


def _said(side: Side) -> dict[tuple[str, str, str], Members]:
    """Return the declarations and rules that may say something, by name and by what they mean."""
    declared = {
        (printable(one["name"]), one["name"], json.dumps(side.columns[one["name"]])): one
        for one in side.members["declarations"]
    }
    rules = zip(side.document.rules, side.contents, strict=True)
    named = {
        (f"rule {printable(one['id'])}", one["head"][0], content): one for one, content in rules
    }
    return declared | named


def _summaries(side: Side) -> dict[tuple[str, str], str]:
    """Return for each summary, by rule and group, a text of what was added up."""
    found: dict[tuple[str, str], str] = {}
    for one in side.members["summaries"]:
        rule = side.document.rules[one["rule"]]["id"]
        group = f"{one['literal']}: {', '.join(map(str, one['group']))}"
        found[rule, group] = f"{one['count']:,} rows, {one['hash']}"
    return found


def _change_order(change: Change) -> tuple[str, str]:
    # The two texts without regard to their order: the same whichever certificate comes first.
    return change.subject, str(sorted((change.before or "", change.after or "")))


def _unaligned_order(one: Unaligned) -> tuple[str, str, str]:
    return one.text, one.side, one.reason


# What rules and declarations say to people, of those that mean the same.

_TEXTS: Final = (
    ("says", "sentence"),
    ("says_not", "sentence for what is false"),
    ("says_unknown", "sentence for what is open"),
    ("reasons", "list of reason codes"),
    ("reason", "text of reason"),
    ("cites", "citation"),
    ("column", "name of column"),
)
_ORDINAL: Final = re.compile(r"\.[0-9]+\Z")


def said_by(one: Mapping[str, Any], form: Container[str]) -> dict[str, str]:
    """Give what a declaration or rule says to people, of the members that a format has.

    A rule without an id is numbered, and so are alternatives: their numbers say nothing.
    """
    said = {name: one[name] for name in ("says", "author", "owner", "version") if name in form}
    said |= dict(one["texts"]) if "texts" in form else {}
    said |= {f"column.{at}": column for at, (column, _) in enumerate(one.get("columns", ()), 1)}
    if "id" in one:
        said["id"] = _ORDINAL.sub("", one["id"])
    return {name: text for name, text in said.items() if text is not None}


def said_otherwise(
    then: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each text that is another one: what it is, and both in quotes, ``None`` for nothing."""
    form = then.keys() & now.keys()
    known, present = said_by(then, form), said_by(now, form)
    for name in sorted({*known, *present}):
        if known.get(name) != present.get(name):
            yield _kind_of(name), _quoted(known.get(name)), _quoted(present.get(name))


def _kind_of(name: str) -> str:
    """Tell what a text is for: `says.de` is the sentence in de."""
    first, _, rest = printable(name).partition(".")
    kind = dict(_TEXTS).get(first, first)
    if not rest:
        return kind
    if first.startswith("says"):
        return f"{kind} in {rest}"
    return f"{kind} {rest}" if first in dict(_TEXTS) else f"{kind} of column {rest}"


def _quoted(text: str | None) -> str | None:
    return None if text is None else json.dumps(text, ensure_ascii=not text.isprintable())
