"""One thing to tell a person: what is wrong, where, why, and an edit that works.

Takes nothing, gives the value `Diagnostic` and the one exception that carries diagnostics. The
invariant: a diagnostic names its code, and the code is in the catalogue. Example:

>>> Diagnostic("C0203", "variable `?rate` in the head is never bound").severity
<Severity.ERROR: 'error'>
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from constat.frozen import frozen

_MOST_NOTES = 8


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one source, from `line`:`column` up to but not including the end.

    Lines and columns count from 1, columns in characters.
    `source` is the name people know the text by: a path relative to the project, `<goal>`.
    """

    source: str
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """Give the stretch from the start of this span to the end of the other one."""
        return Span(self.source, self.line, self.column, other.end_line, other.end_column)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


class Severity(Enum):
    """How much a diagnostic matters: errors stop, warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@frozen
class Related:
    """A second place that belongs to a diagnostic, with what it shows."""

    span: Span
    label: str


@frozen
class Diagnostic:
    """A fact in the user's words. `help` shows an edit that parses, `label` stands at the caret.

    `about` is the name that it is about, for programs that choose by code what else to say.
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    note: str = ""
    help: str = ""
    related: tuple[Related, ...] = ()
    severity: Severity = Severity.ERROR
    about: str = ""

    @property
    def place(self) -> tuple[bool, Span | str, str]:
        """The key that sorts diagnostics by place, those without a place last."""
        return (self.span is None, self.span or "", self.code)


class ConstatError(Exception):
    """What a user can mend. Carries diagnostics sorted by place.

    The exit code is 2 (bad usage, configuration, rules or goal), or 78 where every error is a
    construct refused on purpose.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], *, exit_code: int = 2) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=lambda one: one.place))
        self.exit_code = exit_code
        super().__init__("; ".join(f"{one.code}: {one.message}" for one in self.diagnostics))
        # A program that does not render them shows places and edits below its traceback.
        for one in self.diagnostics[:_MOST_NOTES]:
            self.add_note(_told(one))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it as it is: a pool of processes whose worker's error cannot be read breaks."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


def _told(one: Diagnostic) -> str:
    place = f" at {one.span}" if one.span else ""
    parts = (f"note: {one.note}" if one.note else "", f"help: {one.help}" if one.help else "")
    return "\n".join([f"{one.code}{place}", *(f"  {part}" for part in parts if part)])


# Find the name somebody probably meant, and write a count with its noun.

_LONGEST = 64


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate within a third of the name's length in edits, or `None`.

    One letter is no misspelling of another: only its case may differ.
    """
    folded = name[:_LONGEST].casefold()
    limit = max(len(folded) // 3, min(1, len(folded) - 1))
    best: tuple[int, str] | None = None
    for candidate in candidates:
        if abs(len(candidate) - len(folded)) > limit or candidate == name:
            continue
        distance = _edits(folded, candidate.casefold(), limit)
        if distance <= limit and (best is None or (distance, candidate) < best):
            best = (distance, candidate)
    return None if best is None else best[1]


def counted(count: int, noun: str) -> str:
    """Write a count with what is counted: `1 row`, `2,000 rows`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _edits(left: str, right: str, limit: int) -> int:
    """Count insertions, deletions, replacements, swaps of neighbours; not exact above `limit`."""
    before, row = [0] * (len(right) + 1), list(range(len(right) + 1))
    for place, letter in enumerate(left, 1):
        older, before, row = before, row, [place] + [0] * len(right)
        for other, partner in enumerate(right, 1):
            row[other] = min(
                before[other] + 1, row[other - 1] + 1, before[other - 1] + (letter != partner)
            )
            swapped = place > 1 and other > 1 and letter == right[other - 2]
            if swapped and left[place - 2] == partner:
                row[other] = min(row[other], older[other - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return row[-1]


# Diagnostics as JSON values, for editors and other programs.

JsonObject = dict[str, object]


def to_json(diagnostics: Iterable[Diagnostic]) -> list[JsonObject]:
    """Give one object per diagnostic."""
    return [_diagnostic(one) for one in sorted(diagnostics, key=lambda one: one.place)]


def _diagnostic(one: Diagnostic) -> JsonObject:
    return {
        "code": one.code,
        "severity": one.severity.value,
        "message": one.message,
        "span": None if one.span is None else _span(one.span),
        "label": one.label,
        "note": one.note,
        "help": one.help,
        "related": [{"span": _span(other.span), "label": other.label} for other in one.related],
    }


def _span(span: Span) -> JsonObject:
    return {
        "source": span.source,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
