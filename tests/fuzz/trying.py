"""Try inputs one by one within bounds, and make small what goes wrong.

In: a reader, a seed, the numbers of the inputs.  Out: counts of what became of them, and findings.
A finding is any exception, an answer that is not right, more than `SECONDS` of processor time or
`MEMORY` bytes, or an answer that differs when the same input is read again.
"""

from __future__ import annotations

import resource
import signal
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

from tests.fuzz.reading import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.fuzz.reading import Input, Reader

Text = TypeVar("Text", str, bytes)

SECONDS: Final = 10.0
MEMORY: Final = 1 << 30
TWICE: Final = 8
"""One input of so many is read twice."""


class TooLongError(BaseException):
    """An input takes more processor time than any may."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that a reader does not treat as it must."""

    place: Place
    problem: str
    given: Input

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}\n    {repr(self.given)[:500]}"


@dataclass(slots=True)
class Tally:
    """What became of many inputs."""

    became: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return self.became.total() + len(self.findings)

    def add(self, other: Tally) -> None:
        self.became += other.became
        self.findings += other.findings


def made(reader: Reader, place: Place) -> Input:
    """Make the input of that name."""
    return reader.make(Random(str(place)))


def try_all(reader: Reader, name: str, seed: int, numbers: Iterable[int]) -> Tally:
    """Try inputs; goes on after a finding."""
    tally = Tally()
    for index in numbers:
        place = Place(name, seed, index)
        given = made(reader, place)
        problem = trouble(reader, given, twice=not index % TWICE)
        if problem.startswith(_GOOD):
            tally.became[problem.removeprefix(_GOOD)] += 1
        else:
            tally.findings.append(Finding(place, problem, given))
    return tally


_GOOD: Final = "ok "


def trouble(reader: Reader, given: Input, *, twice: bool) -> str:
    """Give what is wrong with how an input is read, or `ok` and what became of it."""
    try:
        with bounded(SECONDS):
            became = reader.check(given)
            if twice and reader.check(given) != became:
                return "the answer differs the second time"
    except TooLongError:
        return f"takes more than {SECONDS:g} seconds"
    except Exception as problem:  # noqa: BLE001  any exception is a finding
        return f"{type(problem).__name__}: {problem}"[:300]
    return _GOOD + became


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Bound the processor time of a block: other programs on the machine do not count."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def bound_memory() -> None:
    """Let this process have so much memory and no more."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def smallest(given: Input, is_bad: Callable[[Input], bool]) -> Input:
    """Leave out parts of a bad input while it stays bad; of a tuple, parts of its texts."""
    match given:
        case str():
            return _shortest(given, is_bad)
        case bytes():
            return _shortest(given, is_bad)
        case _:
            for place in range(len(given)):
                given = _smaller_at(given, place, is_bad)
            return given


def _smaller_at(
    given: tuple[object, ...], place: int, is_bad: Callable[[Input], bool]
) -> tuple[object, ...]:
    part = given[place]
    if not isinstance(part, str | bytes | tuple):
        return given
    before, after = given[:place], given[place + 1 :]
    return (*before, smallest(part, lambda new: is_bad((*before, new, *after))), *after)


def _shortest(given: Text, is_bad: Callable[[Input], bool]) -> Text:
    size = len(given) // 2
    while size:
        start = 0
        while start < len(given):
            shorter = given[:start] + given[start + size :]
            if is_bad(shorter):
                given = shorter
            else:
                start += size
        size //= 2
    return given
