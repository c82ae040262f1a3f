r"""Regular expressions of the `match` subset, in time linear in the text.

In: a pattern and a text.  Out: whether the whole text matches; ``None`` where the pattern is
outside the subset or too large.  Invariant: the work is at most (tests of the pattern) times
(characters + 1), because all states advance together and none is visited twice for one character.
Thompson, "Regular expression search algorithm", CACM 11 (1968).

Example: ``full_match("C[0-9]{3}", "C001")`` is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

MAX_TESTS: Final = 10_000
MAX_WORK: Final = 10_000_000
MAX_COUNT: Final = 100
MAX_GROUPS: Final = 64

_SPECIAL: Final = frozenset("^$()[]{}*+?|\\")
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CONTROLS: Final = (("t", "\t"), ("n", "\n"), ("r", "\r"), ("f", "\f"), ("v", "\v"))
_SETS: Final = (
    ("d", (("0", "9"),)),
    ("w", (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))),
    ("s", (("\t", "\r"), (" ", " "))),
)
_LAST: Final = chr(0x10FFFF)

Ranges: TypeAlias = tuple[tuple[str, str], ...]


class _OutsideSubset(Exception):  # noqa: N818  leads to "no value", not to an error
    """The pattern is none of ours."""


@dataclass(frozen=True, slots=True)
class Single:
    """One character within the ranges."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts, one after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The part ``least`` times or more, up to ``most`` (``None``: without end)."""

    part: Expression
    least: int
    most: int | None


Expression: TypeAlias = Single | Sequence | Choice | Repeat


def complement(ranges: Ranges) -> Ranges:
    """Return the characters outside the ranges."""
    result: list[tuple[str, str]] = []
    start = 0
    for low, high in sorted(ranges):
        if ord(low) > start:
            result.append((chr(start), chr(ord(low) - 1)))
        start = max(start, ord(high) + 1)
    if start <= ord(_LAST):
        result.append((chr(start), _LAST))
    return tuple(result)


def size(expression: Expression) -> int:
    """Count the single-character tests once every repetition is written out."""
    match expression:
        case Single():
            return 1
        case Repeat(part, least, most):
            total = size(part) * max(1, most if most is not None else least)
        case _:
            total = sum(map(size, expression.parts)) or 1
    if total > MAX_TESTS:
        raise _OutsideSubset
    return total


class _Reader:
    """A recursive-descent reader; only groups recurse, and their depth is bounded."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        character = self.peek()
        self.at += 1
        return character

    def whole(self) -> Expression:
        expression = self.choice()
        if self.peek():
            raise _OutsideSubset
        return expression

    def choice(self) -> Expression:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self.sequence())
        return Choice(tuple(parts))

    def sequence(self) -> Expression:
        parts: list[Expression] = []
        while self.peek() not in {"", "|", ")"}:
            parts.append(self.repeated())
        return Sequence(tuple(parts))

    def repeated(self) -> Expression:
        part = self.single()
        match self.peek():
            case "*":
                least, most = 0, None
            case "+":
                least, most = 1, None
            case "?":
                least, most = 0, 1
            case "{":
                least, most = self.bounds()
                return Repeat(part, least, most)
            case _:
                return part
        self.at += 1
        return Repeat(part, least, most)

    def bounds(self) -> tuple[int, int | None]:
        self.at += 1
        least = self.count()
        most: int | None = least
        if self.peek() == ",":
            self.at += 1
            most = None if self.peek() == "}" else self.count()
        if self.take() != "}" or (most is not None and most < least):
            raise _OutsideSubset
        return least, most

    def count(self) -> int:
        digits = ""
        while self.peek().isascii() and self.peek().isdigit() and len(digits) < len("100"):
            digits += self.take()
        if not digits or int(digits) > MAX_COUNT:
            raise _OutsideSubset
        return int(digits)

    def single(self) -> Expression:
        match self.take():
            case "(":
                return self.group()
            case "[":
                return Single(self.character_class())
            case ".":
                return Single(complement((("\n", "\n"),)))
            case "\\":
                return Single(self.escape())
            case character if character in _SPECIAL:
                raise _OutsideSubset
            case character:
                return Single(((character, character),))

    def group(self) -> Expression:
        self.groups += 1
        if self.groups > MAX_GROUPS:
            raise _OutsideSubset
        inner = self.choice()
        self.groups -= 1
        if self.take() != ")":
            raise _OutsideSubset
        return inner

    def escape(self) -> Ranges:
        letter = self.take()
        for name, ranges in _SETS:
            if letter.lower() == name:
                return ranges if letter == name else complement(ranges)
        for name, control in _CONTROLS:
            if letter == name:
                return ((control, control),)
        if letter not in _PUNCTUATION:
            raise _OutsideSubset
        return ((letter, letter),)

    def character_class(self) -> Ranges:
        negated = self.peek() == "^"
        self.at += negated
        ranges: list[tuple[str, str]] = []
        first = True
        while self.peek() != "]":
            ranges += self.class_part(first=first)
            first = False
        self.at += 1
        if not ranges:
            raise _OutsideSubset
        return complement(tuple(ranges)) if negated else tuple(ranges)

    def class_part(self, *, first: bool) -> Ranges:
        opens_with_dash = self.peek() == "-"
        low = self.class_character()
        if opens_with_dash and not first and self.peek() != "]":
            raise _OutsideSubset
        if self.peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in {"]", ""}:
            return low
        self.at += 1
        high = self.class_character()
        if not (is_one(low) and is_one(high)) or high[0][0] < low[0][0]:
            raise _OutsideSubset
        return ((low[0][0], high[0][0]),)

    def class_character(self) -> Ranges:
        character = self.take()
        if character == "\\":
            return self.escape()
        if character in {"", "[", "]"}:
            raise _OutsideSubset
        return ((character, character),)


def is_one(ranges: Ranges) -> bool:
    """Tell whether the ranges hold a single character."""
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


@dataclass(frozen=True, slots=True)
class Machine:
    """States in a row: a test of one character, or jumps that cost nothing.

    ``tests[i]`` is the test of state i or ``None``; ``jumps[i]`` are the states reached from it.
    The last state accepts.
    """

    tests: tuple[Ranges | None, ...]
    jumps: tuple[tuple[int, ...], ...]
    size: int


class _Builder:
    """Write the states of an expression; every fragment runs from its start to the next state."""

    def __init__(self) -> None:
        self.tests: list[Ranges | None] = []
        self.jumps: list[tuple[int, ...]] = []

    def state(self, test: Ranges | None = None) -> int:
        self.tests.append(test)
        self.jumps.append((len(self.tests),))
        return len(self.tests) - 1

    def write(self, expression: Expression) -> None:
        match expression:
            case Single(ranges):
                self.state(ranges)
            case Sequence(parts):
                for part in parts:
                    self.write(part)
            case Choice(parts):
                self.write_choice(parts)
            case Repeat(part, least, most):
                self.write_repeat(part, least, most)

    def write_choice(self, parts: tuple[Expression, ...]) -> None:
        fork = self.state()
        starts: list[int] = []
        exits: list[int] = []
        for part in parts:
            starts.append(len(self.tests))
            self.write(part)
            exits.append(self.state())
        self.jumps[fork] = tuple(starts)
        for leaving in exits:
            self.jumps[leaving] = (len(self.tests),)

    def write_repeat(self, part: Expression, least: int, most: int | None) -> None:
        for _ in range(least - (most is None and least > 0)):
            self.write(part)
        if most is None:
            self.write_loop(part, at_least_once=least > 0)
            return
        skips: list[int] = []
        for _ in range(most - least):
            skips.append(self.state())
            self.write(part)
        for skip in skips:
            self.jumps[skip] = (skip + 1, len(self.tests))

    def write_loop(self, part: Expression, *, at_least_once: bool) -> None:
        enter = self.state()
        self.write(part)
        back = self.state()
        self.jumps[back] = (enter + 1, back + 1)
        if not at_least_once:
            self.jumps[enter] = (enter + 1, back + 1)


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Machine | None:
    """Return the machine of the pattern, ``None`` where it is outside the subset."""
    try:
        expression = _Reader(pattern).whole()
        tests = size(expression)
    except _OutsideSubset:
        return None
    builder = _Builder()
    builder.write(expression)
    builder.state()
    return Machine(tuple(builder.tests), tuple(builder.jumps), tests)


def work(pattern: str, text: str) -> int:
    """Return a bound of the tests that a match makes, reading the pattern included."""
    machine = compile_pattern(pattern)
    tests = 0 if machine is None else machine.size * (len(text) + 1)
    return len(pattern) + (tests if tests <= MAX_WORK else 0)


def full_match(pattern: str, text: str) -> bool | None:
    """Tell whether the whole text matches; ``None`` where the question has no answer."""
    machine = compile_pattern(pattern)
    if machine is None or machine.size * (len(text) + 1) > MAX_WORK:
        return None
    final = len(machine.tests) - 1
    states = _closure(machine, [0])
    for character in text:
        reached = [state + 1 for state in states if _admits(machine.tests[state], character)]
        if not reached:
            return False
        states = _closure(machine, reached)
    return final in states


def _admits(test: Ranges | None, character: str) -> bool:
    return test is not None and any(low <= character <= high for low, high in test)


def _closure(machine: Machine, states: list[int]) -> set[int]:
    """Follow the free jumps; the final state is reached and left alone."""
    seen: set[int] = set()
    waiting = states
    final = len(machine.tests) - 1
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        if state != final and machine.tests[state] is None:
            waiting.extend(machine.jumps[state])
    return seen
