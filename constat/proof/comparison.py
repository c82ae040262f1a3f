"""What differs between two proofs: the leaves first, then what follows from them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.proof.comparison_sides import UNSEEN, Pairs, Side
from constat.proof.export.document import Document
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.proof.comparison_sides import Key
    from constat.proof.export.document import Members

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
                if kind not in {"shape", "source"}:
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

KINDS: Final = ("data", "rule", "assumption", "source", "conclusion", "shape", "verdict")
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
