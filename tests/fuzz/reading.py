"""What a reader of outside input must do with anything at all.

In: an input made from a chance.  Out: a word that says what became of it.  Invariant: a reader
answers with a value or with diagnostics whose codes are known, whose places lie inside the text
and which print; whatever else happens is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeAlias

from constat.diagnostics import render, to_json
from constat.diagnostics.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from random import Random

    from constat.diagnostics import Diagnostic, Span

Input: TypeAlias = str | bytes | tuple[object, ...]

# A text of a few kilobytes gives at most this many diagnostics: reporting is bounded.
MOST_DIAGNOSTICS = 2_000


class Reader(Protocol):
    """One way into the program."""

    def make(self, chance: Random) -> Input:
        """Make an input."""
        ...

    def check(self, given: Input) -> str:
        """Read the input; raises `AssertionError` where the answer is not right."""
        ...


class OpenReader(Protocol):
    """Gives a reader that may write below a folder of its own."""

    def __call__(self, folder: Path) -> Reader: ...


@dataclass(frozen=True, slots=True)
class Place:
    """An input by its name: the same three words give the same input."""

    reader: str
    seed: int
    index: int

    def __str__(self) -> str:
        return f"{self.reader} {self.seed} {self.index}"


@cache
def known_codes() -> frozenset[str]:
    return frozenset(catalogue())


def check_diagnostics(found: Iterable[Diagnostic], texts: Mapping[str, str]) -> None:
    """Check that diagnostics are few enough, have codes that are known, and print."""
    listed = list(found)
    assert len(listed) <= MOST_DIAGNOSTICS
    assert all(one.code in known_codes() for one in listed)
    shown = render(listed, texts, colour=False)
    assert all(letter == "\n" or letter.isprintable() for letter in shown)
    shown.encode()
    assert len(to_json(listed)) == len(listed)


def check_places(found: Iterable[Diagnostic], texts: Mapping[str, str]) -> None:
    """Check that places lie inside the texts."""
    for one in found:
        for span in (one.span, *(related.span for related in one.related)):
            if span is not None and span.source in texts:
                check_span(span, texts[span.source])


def check_span(span: Span, text: str) -> None:
    """Check that a place lies inside the text; a line's end is the last place in it."""
    lines = text.split("\n")
    assert (span.line, span.column) <= (span.end_line, span.end_column), repr(span)
    for line, column in ((span.line, span.column), (span.end_line, span.end_column)):
        assert 1 <= line <= len(lines), repr(span)
        # The end stands behind the last character, which may be the break of the line.
        assert 1 <= column <= len(lines[line - 1]) + 1 + (line < len(lines)), repr(span)
