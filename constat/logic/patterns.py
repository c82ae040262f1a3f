"""Regular expressions in linear time, for `match`: a full match, no back-references, no anchors.

In: a pattern. Out: a `Pattern` whose `matches` takes time proportional to the tests of the pattern
times the characters of the text. Invariant: the module `re` is not used, because it backtracks.

>>> compile_pattern("[A-Z]{2}[0-9]+").matches("AB12")
True

See Thompson, Regular expression search algorithm (1968): the automaton is in all its states at
once. The sets of states met are kept, so a text like an earlier one costs one look-up per
character.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from constat.logic.failure import EvaluationError
from constat.logic.pattern_syntax import Choice, Node, Repeat, Sequence, Test, parse_pattern

MAX_STEPS = 10_000_000
"""How many tests times characters a match may cost."""

_KEPT_TESTS = 50_000
_FINAL = 0


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern. Raises `EvaluationError` when it is outside the subset or too large."""
    return Pattern(parse_pattern(text))


@dataclass(slots=True)
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
