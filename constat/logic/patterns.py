"""Regular expressions in linear time, for `match`: a full match, no back-references, no anchors."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from types import MappingProxyType
from typing import TypeAlias, assert_never

from constat.frozen import frozen, slotted
from constat.logic.values import EvaluationError

# Written out, the tree has at most 10,000 tests and is at most 64 groups deep, so whoever walks it
# may recurse.

MAX_TESTS = 10_000
MAX_DEPTH = 64
MAX_COUNT = 100

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_SPECIAL = frozenset("^$()[]{}*+?|\\")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CONTROLS = MappingProxyType({"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"})
_SETS = MappingProxyType[str, Ranges](
    {
        "d": ((0x30, 0x39),),
        "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
        "s": ((0x09, 0x0D), (0x20, 0x20)),
    }
)


class Test:
    """One character of a set, kept as sorted ranges so that a look-up costs a bisection."""

    __slots__ = ("_ends", "_starts")

    size = 1

    def __init__(self, ranges: Ranges) -> None:
        merged = _merged(ranges)
        self._starts = [low for low, _ in merged]
        self._ends = [high for _, high in merged]

    def accepts(self, character: str) -> bool:
        """Tell whether the character is in the set."""
        point = ord(character)
        place = bisect_right(self._starts, point) - 1
        return place >= 0 and point <= self._ends[place]


@frozen
class Sequence:
    """Parts one after the other."""

    parts: tuple[Node, ...]
    size: int


@frozen
class Choice:
    """One of several alternatives."""

    parts: tuple[Node, ...]
    size: int


@frozen
class Repeat:
    """A part at least `low` times and at most `high` times, `None` for no bound."""

    part: Node
    low: int
    high: int | None
    size: int


Node: TypeAlias = Test | Sequence | Choice | Repeat
"""`size` is the number of tests once repetitions are written out; an empty part counts as one."""


def parse_pattern(text: str) -> Node:
    """Read a pattern. Raises `EvaluationError` for anything outside the subset, or too large."""
    parser = _Parser(text)
    node = parser.choice(0)
    if parser.place < len(text):
        raise _bad("a group is closed that was not opened")
    if node.size > MAX_TESTS:
        raise _bad(f"it has more than {MAX_TESTS} tests")
    return node


def _bad(reason: str) -> EvaluationError:
    return EvaluationError(f"the pattern of match is not allowed: {reason}")


class _Parser:
    """A reader by recursive descent; groups are at most 64 deep, so the recursion is bounded."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def _peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def _take(self) -> str:
        character = self._peek()
        self.place += 1
        return character

    def choice(self, depth: int) -> Node:
        alternatives = [self._sequence(depth)]
        while self._peek() == "|":
            self.place += 1
            alternatives.append(self._sequence(depth))
        if len(alternatives) == 1:
            return alternatives[0]
        return Choice(tuple(alternatives), sum(one.size for one in alternatives))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self._peek() not in {"", "|", ")"}:
            parts.append(self._repeated(self._part(depth)))
        if len(parts) == 1:
            return parts[0]
        return Sequence(tuple(parts), max(1, sum(one.size for one in parts)))

    def _part(self, depth: int) -> Node:
        character = self._take()
        match character:
            case "(":
                return self._group(depth + 1)
            case "[":
                return Test(self._class())
            case ".":
                return Test(_complement(((0x0A, 0x0A),)))
            case "\\":
                return Test(self._escape())
            case _ if character in _SPECIAL:
                raise _bad("a special character stands alone; put a \\ before it")
            case _:
                return Test(_single(character))

    def _group(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _bad(f"groups are more than {MAX_DEPTH} deep")
        node = self.choice(depth)
        if self._take() != ")":
            raise _bad("a group is not closed")
        return node

    def _repeated(self, part: Node) -> Node:
        match self._peek():
            case "*":
                low, high = 0, None
            case "+":
                low, high = 1, None
            case "?":
                low, high = 0, 1
            case "{":
                return self._counted(part)
            case _:
                return part
        self.place += 1
        return Repeat(part, low, high, part.size)

    def _counted(self, part: Node) -> Node:
        self.place += 1
        low = self._count()
        high: int | None = low
        if self._peek() == ",":
            self.place += 1
            high = None if self._peek() == "}" else self._count()
        if self._take() != "}":
            raise _bad("a repetition is not closed")
        if high is not None and high < low:
            raise _bad("a repetition runs backwards")
        times = low if high is None else high
        return Repeat(part, low, high, part.size * max(1, times))

    def _count(self) -> int:
        digits = ""
        while self._peek() and self._peek() in "0123456789":
            digits += self._take()
            if len(digits) > len(str(MAX_COUNT)):
                break
        if not digits or int(digits) > MAX_COUNT:
            raise _bad(f"a repetition needs a number from 0 to {MAX_COUNT}")
        return int(digits)

    def _escape(self) -> Ranges:
        character = self._take()
        if character in _CONTROLS:
            return _single(_CONTROLS[character])
        if character in _SETS:
            return _SETS[character]
        if character and character.lower() in _SETS:
            return _complement(_SETS[character.lower()])
        if character in _PUNCTUATION:
            return _single(character)
        raise _bad("there is no such escape")

    def _class(self) -> Ranges:
        negated = self._peek() == "^"
        self.place += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while self._peek() != "]":
            ranges.extend(self._class_part(first=first))
            first = False
        self.place += 1
        if first:
            raise _bad("a class is empty")
        return _complement(tuple(ranges)) if negated else tuple(ranges)

    def _class_part(self, *, first: bool) -> Ranges:
        if self._peek() == "-" and not first and self._ahead(1) != "]":
            raise _bad("a `-` stands in the middle of a class; put a \\ before it")
        low = self._class_character()
        if self._peek() != "-" or self._ahead(1) in {"]", ""}:
            return low
        self.place += 1
        high = self._class_character()
        if not _is_single(low) or not _is_single(high):
            raise _bad("a range begins or ends in a set")
        if high < low:
            raise _bad("a range runs backwards")
        return ((low[0][0], high[0][0]),)

    def _class_character(self) -> Ranges:
        character = self._take()
        if character in {"", "["}:
            raise _bad("a class is not closed, or has a `[` without a \\ before it")
        return self._escape() if character == "\\" else _single(character)

    def _ahead(self, distance: int) -> str:
        return self.text[self.place + distance : self.place + distance + 1]


def _single(character: str) -> Ranges:
    return ((ord(character), ord(character)),)


def _is_single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _merged(ranges: Ranges) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in _merged(ranges):
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        gaps.append((start, _LAST))
    return tuple(gaps)


# The module `re` is not used, because it backtracks.
# See Thompson, Regular expression search algorithm (1968): the automaton is in all its states at
# once. The sets of states met are kept, so a text like an earlier one costs one look-up per
# character.

MAX_STEPS = 10_000_000
"""How many tests times characters a match may cost."""

_KEPT_TESTS = 50_000
_FINAL = 0


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern. Raises `EvaluationError` when it is outside the subset or too large."""
    return Pattern(parse_pattern(text))


@slotted
class _Stage:
    """A set of states: the tests that may come next, each with the states behind it."""

    tests: tuple[tuple[Test, list[int]], ...]
    accepting: bool
    following: dict[str, _Stage] = field(default_factory=dict)


class Pattern:
    """A compiled pattern. What it keeps between matches is bounded."""

    __slots__ = ("_edges", "_kept", "_size", "_stages", "_start", "_tests")

    def __init__(self, node: Node) -> None:
        self._size = node.size
        # A state has a test and the state behind it, or the states reachable without a character.
        self._tests: dict[int, tuple[Test, int]] = {}
        self._edges: list[tuple[int, ...]] = [()]
        self._stages: dict[frozenset[int], _Stage] = {}
        self._kept = 0
        self._start = self._stage({self._add(node, _FINAL)})

    def matches(self, text: str) -> bool:
        """Tell whether the whole text matches; raises `EvaluationError` when it costs too much."""
        if self._size * (len(text) + 1) > MAX_STEPS:
            raise EvaluationError("the text is too long for the pattern of match")
        stage = self._start
        for character in text:
            following = stage.following.get(character)
            stage = self._step(stage, character) if following is None else following
            if not stage.tests and not stage.accepting:
                return False
        return stage.accepting

    def _step(self, stage: _Stage, character: str) -> _Stage:
        entries: set[int] = set()
        for test, targets in stage.tests:
            if test.accepts(character):
                entries.update(targets)
        following = self._stage(entries)
        self._kept += 1
        stage.following[character] = following
        if self._kept > _KEPT_TESTS:
            self._forget()
        return following

    def _forget(self) -> None:
        # Texts choose which sets are met; forgetting all of them bounds the memory.
        self._kept = 0
        self._stages.clear()
        self._start.following.clear()

    def _stage(self, reached: set[int]) -> _Stage:
        """Give the stage of these states and all others reachable without a character."""
        edges = self._edges
        stack = list(reached)
        while stack:
            for state in edges[stack.pop()]:
                if state not in reached:
                    reached.add(state)
                    stack.append(state)
        key = frozenset(reached)
        stage = self._stages.get(key)
        if stage is None:
            stage = self._stages[key] = _Stage(self._grouped(reached), _FINAL in reached)
            self._kept += len(reached)
        return stage

    def _grouped(self, reached: set[int]) -> tuple[tuple[Test, list[int]], ...]:
        # A repetition written out shares its tests, so each is asked once per character.
        groups: dict[Test, list[int]] = {}
        for state in reached & self._tests.keys():
            test, target = self._tests[state]
            groups.setdefault(test, []).append(target)
        return tuple(groups.items())

    def _add(self, node: Node, target: int) -> int:
        """Build the states of a part, in front of a target; give the state where it begins."""
        match node:
            case Test():
                state = self._state(())
                self._tests[state] = (node, target)
                return state
            case Sequence(parts=parts):
                for part in reversed(parts):
                    target = self._add(part, target)
                return target
            case Choice(parts=parts):
                return self._state(tuple(self._add(part, target) for part in parts))
            case Repeat():
                return self._repeat(node, target)
            case _:
                assert_never(node)

    def _repeat(self, node: Repeat, target: int) -> int:
        required = node.low
        if node.high is None:
            # The last required copy, or the only one, leads back to the loop.
            loop = self._state(())
            begin = self._add(node.part, loop)
            self._edges[loop] = (begin, target)
            target = begin if required else loop
            required -= 1
        else:
            end = target
            for _ in range(node.high - node.low):
                target = self._state((self._add(node.part, target), end))
        for _ in range(required):
            target = self._add(node.part, target)
        return target

    def _state(self, edges: tuple[int, ...]) -> int:
        self._edges.append(edges)
        return len(self._edges) - 1
